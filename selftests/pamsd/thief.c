// SPDX-License-Identifier: GPL-2.0
/*
 * thief - a peer with a key of its own that speaks of somebody else's connection
 *
 *	thief listen INTERFACE		wait for a join of MPTCP and print the token
 *					that its SYN shows, and its reader's guesses:
 *					the numbers that the whole handshake shows
 *	thief steal KEY ADDRESS TOKEN [PROOF...]
 *					report all subflows of that connection as
 *					lost, as before there were proofs, then with
 *					each of these proofs
 *
 * Tokens and proofs are hexadecimal. Exit code 1: nothing was seen, or the server took no report.
 */
#include <arpa/inet.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <netinet/ip.h>
#include <netinet/tcp.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "report.h"

#define WAIT_S		10
#define TRIES		20
#define TCP_OPTION_MPTCP	30
#define SUBTYPE_JOIN	1

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static void limit_wait(int fd, unsigned int ms)
{
	struct timeval limit = { ms / 1000, ms % 1000 * 1000 };

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
}

/* --- listen --- */

static uint32_t number(const uint8_t *at)
{
	return (uint32_t)at[0] << 24 | at[1] << 16 | at[2] << 8 | at[3];
}

/* The option of a join in this segment, or NULL. */
static const uint8_t *join_of(const uint8_t *packet, ssize_t len)
{
	const struct iphdr *ip = (const void *)packet;
	const uint8_t *at = packet + ip->ihl * 4, *end;
	const struct tcphdr *tcp = (const void *)at;

	if (len < 40 || ip->version != 4 || ip->protocol != IPPROTO_TCP ||
	    ip->ihl * 4 + (ssize_t)sizeof(*tcp) > len || !tcp->syn)
		return NULL;
	end = at + tcp->doff * 4;
	if (end > packet + len)
		return NULL;
	for (at += sizeof(*tcp); at + 1 < end && *at; at += *at == 1 ? 1 : at[1]) {
		if (*at != 1 && at[1] < 2)
			return NULL;
		if (*at == TCP_OPTION_MPTCP && at + at[1] <= end &&
		    at[2] >> 4 == SUBTYPE_JOIN)
			return at;
	}
	return NULL;
}

/* The SYN has the token and a nonce, the SYN/ACK a half of an HMAC and a nonce. */
static int listen_at(const char *interface)
{
	struct sockaddr_ll at = { .sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL),
				  .sll_ifindex = if_nametoindex(interface) };
	int fd = socket(AF_PACKET, SOCK_DGRAM, htons(ETH_P_ALL));
	const uint8_t *join, *syn = NULL;
	uint8_t packet[2048], kept[12];
	ssize_t len;

	if (fd < 0 || bind(fd, (void *)&at, sizeof(at)))
		die(interface);
	limit_wait(fd, WAIT_S * 1000);
	while ((len = recv(fd, packet, sizeof(packet), 0)) > 0) {
		join = join_of(packet, len);
		if (join && join[1] == 12) {
			memcpy(kept, join, sizeof(kept));
			syn = kept;
		} else if (join && join[1] == 16 && syn) {
			printf("%08x %08x %08x %08x %08x\n", number(syn + 4), number(syn + 8),
			       number(join + 4), number(join + 8), number(join + 12));
			return 0;
		}
	}
	return 1;
}

/* --- steal --- */

struct thief {
	int fd;
	struct report_keys keys;
	uint8_t session[REPORT_SESSION_BYTES];
	uint64_t counter;
	struct report report;
};

static uint64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_BOOTTIME, &ts);
	return ts.tv_sec * 1000ULL + ts.tv_nsec / 1000000;
}

/* Report, and again with the cookie that comes back. Returns whether it was taken. */
static bool say(struct thief *thief)
{
	struct report *report = &thief->report;
	uint8_t buf[REPORT_BYTES_MAX];
	struct report_answer answer;
	struct report_header header;
	ssize_t len;

	for (unsigned int i = 0; i < TRIES; i++) {
		report->sent_ms = now_ms();
		len = report_seal(buf, &thief->keys, thief->session,
				  ++thief->counter, report);
		if (send(thief->fd, buf, len, 0) != len)
			die("send");
		len = recv(thief->fd, buf, sizeof(buf), 0);
		if (len < 0 || report_peek(buf, len, &header) ||
		    report_open_answer(buf, len, &thief->keys, &answer))
			continue;
		memcpy(report->cookie, answer.cookie, sizeof(answer.cookie));
		report->echo = answer.stamp;
		if (answer.taken)
			return true;
	}
	return false;
}

/* Whatever ids its subflows have: those of two servers' addresses and five of the client. */
static void name_all(struct report *report, uint32_t token, const char *proof)
{
	report->path_count = 1;
	report->name_count = 0;
	report->paths[0] = (struct report_path){ .flags = REPORT_LOSS, .loss_ttl_ms = 60000 };
	for (unsigned int i = 0; i < 10; i++)
		report->names[report->name_count++] = (struct report_name){
			.kind = REPORT_NAME_SUBFLOW, .token = token, .local_id = i / 5,
			.remote_id = i % 5, .proven = proof,
			.proof = proof ? strtoul(proof, NULL, 16) : 0,
		};
}

static int steal(const char *key_text, const char *address, uint32_t token,
		 char **proofs)
{
	struct sockaddr_in to = { .sin_family = AF_INET,
				  .sin_port = htons(REPORT_PORT) };
	struct thief thief = { .report.acknowledge = true };
	uint8_t key[REPORT_KEY_BYTES];

	thief.fd = socket(AF_INET, SOCK_DGRAM, 0);
	if (sodium_base642bin(key, sizeof(key), key_text, strlen(key_text), NULL, NULL,
			      NULL, sodium_base64_VARIANT_ORIGINAL) ||
	    report_keys_derive(&thief.keys, key) ||
	    inet_pton(AF_INET, address, &to.sin_addr) != 1 ||
	    connect(thief.fd, (void *)&to, sizeof(to)))
		die(address);
	limit_wait(thief.fd, 500);
	randombytes_buf(thief.session, sizeof(thief.session));
	name_all(&thief.report, token, NULL);
	if (!say(&thief))
		return 1;
	for (; *proofs; proofs++) {
		name_all(&thief.report, token, *proofs);
		if (!say(&thief))
			return 1;
	}
	printf("%u reports\n", (unsigned int)thief.counter);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "listen"))
		return listen_at(argv[2]);
	if (argc >= 5 && !strcmp(argv[1], "steal"))
		return steal(argv[2], argv[3], strtoul(argv[4], NULL, 16), argv + 5);
	fprintf(stderr, "usage: thief listen INTERFACE | steal KEY ADDRESS TOKEN [PROOF...]\n");
	return 2;
}
