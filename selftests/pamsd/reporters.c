// SPDX-License-Identifier: GPL-2.0
/*
 * reporters - many peers that report to a daemon over loopback, or one that
 * does it too often
 *
 *	reporters --config PEERS		print the daemon's configuration
 *	reporters PORT PEERS RATE SECONDS	each RATE times a second
 *	reporters --receive PORT SECONDS	takes them and looks at none: what
 *						receiving alone costs here
 *	reporters --flood PORT RATE SECONDS junk|stranger|forged
 *						datagrams that are nobody's: of no
 *						protocol, of an unknown key, or with
 *						the name of the first reporter's key
 *
 * Keys are those of --config. Each report has a pipe whose values change and
 * is about 127.0.0.1. At the end: what was sent, and challenges answered.
 */
#include <arpa/inet.h>
#include <netinet/udp.h>
#include <poll.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "report.h"

#define PEERS_MAX	1000
#define US_PER_S	1000000ULL

struct reporter {
	int fd;
	struct report_keys keys;
	uint8_t session[REPORT_SESSION_BYTES];
	uint8_t cookie[REPORT_COOKIE_BYTES];
	uint64_t counter;
	uint64_t echo;
	uint64_t next_us;
};

static struct reporter reporters[PEERS_MAX];
static uint64_t sent, challenges;

static uint64_t now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * US_PER_S + ts.tv_nsec / 1000;
}

static void key_of(uint8_t key[REPORT_KEY_BYTES], unsigned int index)
{
	crypto_generichash(key, REPORT_KEY_BYTES, (void *)&index,
			   sizeof(index), NULL, 0);
}

static int print_config(unsigned int peers)
{
	uint8_t key[REPORT_KEY_BYTES];
	char text[64];

	for (unsigned int i = 0; i < peers; i++) {
		key_of(key, i);
		sodium_bin2base64(text, sizeof(text), key, sizeof(key),
				  sodium_base64_VARIANT_ORIGINAL);
		printf("\tpeer \"p%u\" { key = \"%s\" "
		       "prefixes = {\"127.0.0.1\"} }\n", i, text);
	}
	return 0;
}

static void report(struct reporter *reporter)
{
	struct report report = { .path_count = 1, .name_count = 1 };
	struct report_path *path = report.paths;
	uint8_t buf[REPORT_BYTES_MAX];
	size_t len;

	path->flags = REPORT_PIPE;
	path->rate_byteps = 500000 + randombytes_uniform(100000);
	path->backlog_bytes = randombytes_uniform(100000);
	report.names[0].kind = REPORT_NAME_PREFIX;
	report.names[0].prefix_len = 32;
	memcpy(report.names[0].address, "\177\0\0\1", 4);
	memcpy(report.cookie, reporter->cookie, sizeof(report.cookie));
	report.sent_ms = now_us() / 1000;
	report.echo = reporter->echo;
	len = report_seal(buf, &reporter->keys, reporter->session,
			  ++reporter->counter, &report);
	if (send(reporter->fd, buf, len, 0) == (ssize_t)len)
		sent++;
}

static void answer(struct reporter *reporter)
{
	uint8_t buf[REPORT_ANSWER_MAX];
	struct report_answer answer;
	struct report_header header;
	ssize_t len;

	len = recv(reporter->fd, buf, sizeof(buf), MSG_DONTWAIT);
	if (len < 0 || report_peek(buf, len, &header) ||
	    header.type != REPORT_TYPE_ANSWER ||
	    report_open_answer(buf, len, &reporter->keys, &answer))
		return;
	challenges++;
	memcpy(reporter->cookie, answer.cookie, sizeof(answer.cookie));
	reporter->echo = answer.stamp;
	report(reporter);
}

/* A socket at that port of this machine; attach is connect() or bind(). */
static int open_socket(int port, int (*attach)(int, const struct sockaddr *, socklen_t))
{
	struct sockaddr_in address = {
		.sin_family = AF_INET,
		.sin_port = htons(port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	if (fd < 0 || attach(fd, (void *)&address, sizeof(address))) {
		perror("reporters: socket");
		exit(1);
	}
	return fd;
}

static void run(unsigned int peers, unsigned int rate_ps, unsigned int seconds)
{
	uint64_t us = now_us(), end_us = us + seconds * US_PER_S, next_us;
	uint64_t gap_us = US_PER_S / rate_ps;
	static struct pollfd fds[PEERS_MAX];

	for (unsigned int i = 0; i < peers; i++) {
		fds[i].fd = reporters[i].fd;
		fds[i].events = POLLIN;
		reporters[i].next_us = us + i * gap_us / peers;
	}
	while (us < end_us) {
		next_us = end_us;
		for (unsigned int i = 0; i < peers; i++) {
			if (reporters[i].next_us <= us) {
				report(&reporters[i]);
				reporters[i].next_us += gap_us;
			}
			if (reporters[i].next_us < next_us)
				next_us = reporters[i].next_us;
		}
		us = now_us();
		struct timespec wait = {
			.tv_nsec = next_us > us ? (next_us - us) * 1000 : 0,
		};

		if (wait.tv_nsec >= 1000000000L)
			wait.tv_nsec = 999999999L;
		if (ppoll(fds, peers, &wait, NULL) > 0)
			for (unsigned int i = 0; i < peers; i++)
				if (fds[i].revents)
					answer(&reporters[i]);
		us = now_us();
	}
}

/* What a flood of that kind sends; each is a little different. */
static void make_forged(uint8_t *buf, size_t len, const char *kind)
{
	struct report_keys keys;
	uint8_t key[REPORT_KEY_BYTES];

	randombytes_buf(buf, len);
	if (!strcmp(kind, "junk"))
		return;
	memcpy(buf, "PAMS", 4);
	buf[4] = REPORT_VERSION;
	buf[5] = REPORT_TYPE_REPORT;
	buf[6] = len >> 8;
	buf[7] = len;
	if (strcmp(kind, "forged"))
		return;
	key_of(key, 0);
	report_keys_derive(&keys, key);
	memcpy(buf + 8, keys.id, REPORT_ID_BYTES);
}

#define FLOOD_BYTES	144
#define FLOOD_BATCH	60	/* of one system call: the kernel cuts it */

static int flood(int port, unsigned int rate_ps, unsigned int seconds,
		 const char *kind)
{
	static uint8_t datagrams[FLOOD_BATCH][FLOOD_BYTES];
	uint64_t begin_us = now_us(), end_us = begin_us + seconds * US_PER_S;
	int fd = open_socket(port, connect), bytes = FLOOD_BYTES;
	uint64_t us, due, flooded = 0;

	for (unsigned int i = 0; i < FLOOD_BATCH; i++)
		make_forged(datagrams[i], FLOOD_BYTES, kind);
	if (setsockopt(fd, IPPROTO_UDP, UDP_SEGMENT, &bytes, sizeof(bytes))) {
		perror("reporters: UDP_SEGMENT");
		return 1;
	}
	while ((us = now_us()) < end_us) {
		due = (us - begin_us) * rate_ps / US_PER_S;
		for (; flooded < due; flooded += FLOOD_BATCH)
			send(fd, datagrams, sizeof(datagrams), 0);
		usleep(500);
	}
	printf("{\"sent\": %llu}\n", (unsigned long long)flooded);
	return 0;
}

static int receive(int port, unsigned int seconds)
{
	uint64_t end_us = now_us() + seconds * US_PER_S, us;
	int fd = open_socket(port, bind);
	struct pollfd waiting = { .fd = fd, .events = POLLIN };
	unsigned long long received = 0;
	uint8_t buf[REPORT_BYTES_MAX];
	struct timespec cpu;

	while ((us = now_us()) < end_us)
		if (poll(&waiting, 1, (end_us - us) / 1000 + 1) > 0)
			while (recv(fd, buf, sizeof(buf), MSG_DONTWAIT) > 0)
				received++;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
	printf("{\"received\": %llu, \"cpu_us\": %llu}\n", received,
	       cpu.tv_sec * US_PER_S + cpu.tv_nsec / 1000);
	return 0;
}

int main(int argc, char **argv)
{
	uint8_t key[REPORT_KEY_BYTES];
	unsigned int peers;

	if (sodium_init() < 0)
		return 1;
	if (argc == 3 && !strcmp(argv[1], "--config"))
		return print_config(atoi(argv[2]));
	if (argc == 4 && !strcmp(argv[1], "--receive"))
		return receive(atoi(argv[2]), atoi(argv[3]));
	if (argc == 6 && !strcmp(argv[1], "--flood"))
		return flood(atoi(argv[2]), atoi(argv[3]), atoi(argv[4]),
			     argv[5]);
	if (argc != 5 || atoi(argv[2]) < 1 || atoi(argv[2]) > PEERS_MAX ||
	    atoi(argv[3]) < 1) {
		fputs("usage: reporters PORT PEERS RATE SECONDS\n", stderr);
		return 2;
	}
	peers = atoi(argv[2]);
	for (unsigned int i = 0; i < peers; i++) {
		key_of(key, i);
		report_keys_derive(&reporters[i].keys, key);
		randombytes_buf(reporters[i].session, REPORT_SESSION_BYTES);
		reporters[i].fd = open_socket(atoi(argv[1]), connect);
	}
	run(peers, atoi(argv[3]), atoi(argv[4]));
	printf("{\"sent\": %llu, \"challenges\": %llu}\n",
	       (unsigned long long)sent, (unsigned long long)challenges);
	return 0;
}
