// SPDX-License-Identifier: GPL-2.0
/*
 * netlink_paths - the table of paths of the family mptcp_pams
 *
 *	netlink_paths fill N		N paths of 11.0.0.0 and what follows
 *	netlink_paths changes		each change while a dump is under way
 *					has to mark that dump as interrupted
 *	netlink_paths large N		a dump of N paths shows each of them once
 *	netlink_paths collisions N	N paths that an attacker chose for one
 *					hash bucket cost no more than others
 *	netlink_paths ages ROUNDS	no report is older than it can be, while
 *					reports come and dumps are taken at once
 *
 * Prints what went wrong and, at the end, how many messages were sent and
 * refused. Exit code: 0 all as it should be, 1 not, 2 usage.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "netlink_raw.h"

#define FIRST_ADDRESS	0x0b000000u	/* 11.0.0.0 */
#define TTL_MS		3600000u

/* Attributes that give a path of this address a report of an hour. */
static void put_host(struct message *m, uint32_t number)
{
	uint32_t address = htonl(FIRST_ADDRESS + number);
	uint32_t ttl_ms = TTL_MS;

	put(m, MPTCP_PAMS_A_PATH_ADDRESS4, &address, sizeof(address));
	put_path(m, MPTCP_PAMS_A_PATH_PIPE_RATE);
	put(m, MPTCP_PAMS_A_PATH_TTL, &ttl_ms, sizeof(ttl_ms));
}

static void set_host(uint32_t number)
{
	struct answer answer;
	struct message m;

	start(&m, family, 0, MPTCP_PAMS_CMD_PATH_SET);
	put_host(&m, number);
	answer = talk(&m);
	if (answer.error)
		wrong("path %u: error %d, %s", number, answer.error,
		      answer.text);
}

static void fill(uint32_t count)
{
	uint32_t before = number_of_paths(), i;

	for (i = 0; i < count && !failed; i++)
		set_host(i);
	if (!failed && number_of_paths() != before + count)
		wrong("%u paths were set, the kernel counts %u", count,
		      number_of_paths() - before);
}

/* --- dumps that a change interrupts --- */

/*
 * The kernel writes the first part of a dump when it is asked for, and the next
 * one whenever a part is received: what changes in between has to show.
 */
static bool dump_is_interrupted(uint32_t change)
{
	static uint8_t buffer[65536];
	bool interrupted = false, done = false;
	int dump, reports = netlink;
	uint32_t parts = 0;
	struct message m;

	open_netlink();
	start(&m, family, NLM_F_DUMP, MPTCP_PAMS_CMD_PATH_GET);
	send_message(&m);
	dump = netlink;
	while (!done) {
		ssize_t got = recv(dump, buffer, sizeof(buffer), 0);
		struct nlmsghdr *hdr = (struct nlmsghdr *)buffer;

		if (got < 0)
			die("dump");
		for (; NLMSG_OK(hdr, got); hdr = NLMSG_NEXT(hdr, got)) {
			interrupted |= hdr->nlmsg_flags & NLM_F_DUMP_INTR;
			done |= hdr->nlmsg_type == NLMSG_DONE;
		}
		netlink = reports;
		if (!parts++)
			set_host(change);
		netlink = dump;
	}
	if (parts < 4)
		wrong("the dump has only %u parts: nothing is tested", parts);
	close(dump);
	netlink = reports;
	return interrupted;
}

static void changes(void)
{
	uint32_t i;

	fill(2000);
	for (i = 0; i < 8 && !failed; i++)
		if (!dump_is_interrupted(i))
			wrong("change %u was not noticed by the dump", i);
	flush_paths();
}

/* --- large dumps --- */

struct seen {
	uint32_t count;
	uint8_t *times;		/* of each number */
};

static void look_number(const struct nlmsghdr *hdr, void *arg)
{
	struct seen *seen = arg;
	uint32_t address = 0, number;

	find_attribute(hdr, MPTCP_PAMS_A_PATH_ADDRESS4, &address,
		       sizeof(address));
	number = ntohl(address) - FIRST_ADDRESS;
	if (number < seen->count)
		seen->times[number]++;
	else
		wrong("path %u was never set", number);
}

static void large(uint32_t count)
{
	struct seen seen = { .count = count, .times = calloc(count, 1) };
	struct message m;
	uint32_t i;

	if (!seen.times)
		die("calloc");
	fill(count);
	start(&m, family, NLM_F_DUMP, MPTCP_PAMS_CMD_PATH_GET);
	if (talk_look(&m, look_number, &seen).error)
		wrong("the dump failed");
	for (i = 0; i < count && !failed; i++)
		if (seen.times[i] != 1)
			wrong("path %u was shown %u times", i, seen.times[i]);
	free(seen.times);
	flush_paths();
	if (number_of_paths())
		wrong("paths are left after path-flush");
}

/* --- collisions --- */

static uint32_t rotate(uint32_t word, unsigned int bits)
{
	return word << bits | word >> (32 - bits);
}

/* One pass of Bob Jenkins' lookup3 over three words. */
static void jenkins_mix(uint32_t w[3])
{
	static const uint8_t bits[] = { 4, 6, 8, 16, 19, 4 };
	unsigned int i;

#pragma GCC unroll 6
	for (i = 0; i < 6; i++) {
		uint32_t *a = &w[i % 3], *b = &w[(i + 1) % 3],
			 *c = &w[(i + 2) % 3];

		*a -= *c;
		*a ^= rotate(*c, bits[i]);
		*c += *b;
	}
}

static uint32_t jenkins_final(uint32_t w[3])
{
	static const uint8_t bits[] = { 14, 11, 25, 16, 4, 14, 24 };
	unsigned int i;

#pragma GCC unroll 7
	for (i = 0; i < 7; i++) {
		uint32_t *to = &w[(i + 2) % 3], *from = &w[(i + 1) % 3];

		*to ^= *from;
		*to -= rotate(*from, bits[i]);
	}
	return w[2];
}

/* The hash without a seed of a path's key: an IPv6 host, any port. */
static uint32_t unseeded_hash(const uint32_t address[4])
{
	const uint32_t start = 0xdeadbeef + 28, host = 128 << 16 | 1 << 24;
	uint32_t w[3] = { start + address[0], start + address[1],
			  start + address[2] };

	jenkins_mix(w);
	w[0] += address[3];
	w[2] += host;
	jenkins_mix(w);
	return jenkins_final(w);
}

/* The CPU time of this process, including its system calls, in microseconds. */
static uint64_t cpu_us(void)
{
	struct timespec t;

	if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t))
		die("clock_gettime");
	return t.tv_sec * 1000000ull + t.tv_nsec / 1000;
}

/*
 * Set count hosts, whose unseeded hashes end in the same 12 bits or don't, and
 * return what looking up the first one of them costs, 300 times.
 */
static uint64_t lookups_cost_us(uint32_t count, uint32_t mask)
{
	uint32_t address[4] = { htonl(0x20010db8) }, first[4] = { };
	uint64_t before_us;
	struct message m;
	uint32_t set = 0;
	int i;

	for (; set < count && !failed; address[3]++) {
		if ((unseeded_hash(address) & mask) != (7 & mask))
			continue;
		if (!set++)
			memcpy(first, address, sizeof(first));
		start(&m, family, 0, MPTCP_PAMS_CMD_PATH_SET);
		put(&m, MPTCP_PAMS_A_PATH_ADDRESS6, address, sizeof(address));
		put_path(&m, MPTCP_PAMS_A_PATH_PIPE_RATE);
		put(&m, MPTCP_PAMS_A_PATH_TTL, &(uint32_t){ TTL_MS }, 4);
		if (talk(&m).error)
			wrong("a path is refused");
	}
	before_us = cpu_us();
	for (i = 0; i < 300; i++) {
		start(&m, family, 0, MPTCP_PAMS_CMD_PATH_GET);
		put(&m, MPTCP_PAMS_A_PATH_ADDRESS6, first, sizeof(first));
		if (talk(&m).error)
			wrong("a path is not found");
	}
	before_us = cpu_us() - before_us;
	flush_paths();
	return before_us;
}

/*
 * It is CPU time, so other programs don't count. 6,000 paths in one bucket cost
 * 5 times as much as 6,000 in many; twice as much is too much. In virtual time
 * both are 0.
 */
static void collisions(uint32_t count)
{
	uint64_t spread_us = lookups_cost_us(count, 0);
	uint64_t chosen_us = lookups_cost_us(count, 4095);

	printf("300 lookups among %u paths: %llu us; among chosen ones %llu us\n",
	       count, (unsigned long long)spread_us,
	       (unsigned long long)chosen_us);
	if (chosen_us > 2 * spread_us)
		wrong("chosen paths make lookups slow");
}

/* --- ages --- */

#define AGE_MAX_MS	600000u		/* more than the test can take */

static void look_age(const struct nlmsghdr *hdr, void *arg)
{
	uint32_t age_ms = 0;

	(void)arg;
	find_attribute(hdr, MPTCP_PAMS_A_PATH_PIPE_AGE, &age_ms, 4);
	if (age_ms > AGE_MAX_MS && !failed)
		wrong("a report is %u ms old", age_ms);
}

static void dump_rounds(uint32_t rounds)
{
	struct message m;

	open_netlink();
	while (rounds-- && !failed) {
		start(&m, family, NLM_F_DUMP, MPTCP_PAMS_CMD_PATH_GET);
		talk_look(&m, look_age, NULL);
	}
}

static void set_rounds(uint32_t rounds)
{
	uint32_t i;

	open_netlink();
	for (i = 0; i < rounds * 20 && !failed; i++)
		set_host(i % 20);
}

static void ages(uint32_t rounds)
{
	int i, status;

	fill(20);
	for (i = 0; i < 6; i++) {
		pid_t pid = fork();

		if (pid < 0)
			die("fork");
		if (pid)
			continue;
		(i % 2 ? set_rounds : dump_rounds)(rounds);
		fflush(stdout);
		_exit(failed > 0);
	}
	while (wait(&status) > 0)
		if (status)
			failed++;
	flush_paths();
}

int main(int argc, char **argv)
{
	uint32_t number = argc == 3 ? strtoul(argv[2], NULL, 0) : 0;
	const char *what = argc > 1 ? argv[1] : "";

	if (!strcmp(what, "changes") && argc == 2) {
		open_netlink();
		changes();
		return report();
	}
	if (!number) {
		fputs("usage: netlink_paths fill|large|collisions N, ages ROUNDS, or changes\n",
		      stderr);
		return 2;
	}
	open_netlink();
	if (!strcmp(what, "fill"))
		fill(number);
	else if (!strcmp(what, "large"))
		large(number);
	else if (!strcmp(what, "collisions"))
		collisions(number);
	else if (!strcmp(what, "ages"))
		ages(number);
	else
		return 2;
	return report();
}
