// SPDX-License-Identifier: GPL-2.0
/*
 * echo - how large a packet comes back from a peer
 *
 * ICMP echo requests that may not be fragmented go to it in rounds: small ones, and ones as large
 * as the path is said to carry; where only small ones came back, also those of sizes between. A
 * message that a packet was too large lowers what the path is said to carry (the kernel sees to
 * that): then the network does its work, and the next round asks with that size.
 */
#include <errno.h>
#include <net/if.h>
#include <netinet/icmp6.h>
#include <netinet/in.h>
#include <netinet/ip_icmp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "echo.h"

#define SMALL_BYTES	96
#define PACKET_MAX	9216
#define ROUNDS		3
#define ROUND_MS	500
#define HEADER_BYTES	8	/* of ICMP */

/* What links and tunnels commonly carry. */
static const unsigned int sizes[] = { 8900, 4000, 1500, 1492, 1480, 1472, 1460, 1450, 1440, 1430,
				      1420, 1412, 1400, 1380, 1360, 1340, 1320, 1300, 1280, 1200,
				      1100, 1000, 800, 576 };

/* Sent in each request, and comes back. */
struct mark {
	uint64_t run;		/* a random number: not somebody else's */
	uint32_t bytes;		/* of the packet */
};

struct asking {
	struct echo *echo;
	int fd;			/* -1: can't be asked */
	uint64_t run;
};

static size_t ip_bytes(const struct echo *echo)
{
	return echo->family == AF_INET ? 20 : 40;
}

static bool set_number(int fd, int level, int option, int number)
{
	return !setsockopt(fd, level, option, &number, sizeof(number));
}

/* The kernel's word for how large a packet to the peer may be. */
static unsigned int known_mtu(const struct asking *asking)
{
	bool v4 = asking->echo->family == AF_INET;
	socklen_t length = sizeof(int);
	int mtu = 0;

	if (getsockopt(asking->fd, v4 ? IPPROTO_IP : IPPROTO_IPV6, v4 ? IP_MTU : IPV6_MTU, &mtu,
		       &length))
		return 0;
	return mtu > PACKET_MAX ? PACKET_MAX : mtu;
}

static bool set_addresses(int fd, const struct echo *echo)
{
	struct sockaddr_in6 v6 = { .sin6_family = AF_INET6 };
	struct sockaddr_in v4 = { .sin_family = AF_INET };
	char name[IF_NAMESIZE];

	if (echo->bound && (!if_indextoname(echo->bound, name) ||
			    setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, name, strlen(name))))
		return false;
	if (echo->family == AF_INET) {
		memcpy(&v4.sin_addr, echo->local, 4);
		if (bind(fd, (struct sockaddr *)&v4, sizeof(v4)))
			return false;
		memcpy(&v4.sin_addr, echo->remote, 4);
		return set_number(fd, IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_DO) &&
		       !connect(fd, (struct sockaddr *)&v4, sizeof(v4));
	}
	memcpy(&v6.sin6_addr, echo->local, 16);
	if (bind(fd, (struct sockaddr *)&v6, sizeof(v6)))
		return false;
	memcpy(&v6.sin6_addr, echo->remote, 16);
	return set_number(fd, IPPROTO_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_DO) &&
	       set_number(fd, IPPROTO_IPV6, IPV6_DONTFRAG, 1) &&
	       !connect(fd, (struct sockaddr *)&v6, sizeof(v6));
}

static void open_socket(struct asking *asking)
{
	const struct echo *echo = asking->echo;
	int protocol = echo->family == AF_INET ? IPPROTO_ICMP : (int)IPPROTO_ICMPV6;

	/* the kind for everybody, whom a sysctl may exclude, and the kind for root */
	asking->fd = socket(echo->family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, protocol);
	if (asking->fd < 0)
		asking->fd = socket(echo->family, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC,
				    protocol);
	if (asking->fd >= 0 && !set_addresses(asking->fd, echo)) {
		close(asking->fd);
		asking->fd = -1;
	}
}

/* ICMP's checksum, which a raw socket of IPv4 doesn't fill in. */
static uint16_t checksum(const uint8_t *bytes, size_t count)
{
	uint32_t sum = 0;
	size_t i;

	for (i = 0; i + 1 < count; i += 2)
		sum += bytes[i] << 8 | bytes[i + 1];
	if (i < count)
		sum += bytes[i] << 8;
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return ~sum;
}

/* Returns false if the kernel knows by now that it is too large. */
static bool ask(const struct asking *asking, unsigned int bytes)
{
	struct mark mark = { .run = asking->run, .bytes = bytes };
	size_t count = bytes - ip_bytes(asking->echo);
	uint8_t packet[PACKET_MAX] = { };
	uint16_t sum;

	packet[0] = asking->echo->family == AF_INET ? ICMP_ECHO : ICMP6_ECHO_REQUEST;
	memcpy(packet + 4, &asking->run, 2);
	memcpy(packet + HEADER_BYTES, &mark, sizeof(mark));
	if (asking->echo->family == AF_INET) {
		sum = htons(checksum(packet, count));
		memcpy(packet + 2, &sum, sizeof(sum));
	}
	return send(asking->fd, packet, count, 0) >= 0 || errno != EMSGSIZE;
}

/* Take all answers that are there. */
static void take(const struct asking *asking)
{
	struct echo *echo = asking->echo;
	uint8_t packet[PACKET_MAX + 64];
	struct mark mark;
	ssize_t length;
	size_t at;

	while ((length = recv(asking->fd, packet, sizeof(packet), MSG_TRUNC)) > 0) {
		/* a raw socket of IPv4 gets the IP header, too */
		at = packet[0] >> 4 == 4 && echo->family == AF_INET ? (packet[0] & 15) * 4 : 0;
		if ((size_t)length < at + HEADER_BYTES + sizeof(mark) ||
		    packet[at] != (echo->family == AF_INET ? ICMP_ECHOREPLY : ICMP6_ECHO_REPLY))
			continue;
		memcpy(&mark, packet + at + HEADER_BYTES, sizeof(mark));
		if (mark.run != asking->run)
			continue;
		if (mark.bytes == SMALL_BYTES)
			echo->small = true;
		else if (mark.bytes > echo->largest)
			echo->largest = mark.bytes;
	}
}

static bool is_wanted(const struct asking *asking, bool between)
{
	const struct echo *echo = asking->echo;

	if (asking->fd < 0 || (echo->small && echo->largest >= echo->mtu))
		return false;
	return !between || echo->small;
}

static void ask_round(struct asking *asking, bool between)
{
	struct echo *echo = asking->echo;
	size_t i;

	echo->mtu = known_mtu(asking);
	if (echo->mtu <= SMALL_BYTES)
		return;
	ask(asking, SMALL_BYTES);
	if (!ask(asking, echo->mtu))
		echo->mtu = known_mtu(asking);
	for (i = 0; between && i < sizeof(sizes) / sizeof(sizes[0]); i++)
		if (sizes[i] < echo->mtu)
			ask(asking, sizes[i]);
}

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000LL + now.tv_nsec / 1000000;
}

/* Take answers until the round is over, or nothing more is wanted. */
static void wait_round(struct asking *asking, struct pollfd *polled, size_t count, bool between)
{
	int64_t end = now_ms() + ROUND_MS, left;
	size_t i;

	while ((left = end - now_ms()) > 0) {
		size_t wanted = 0;

		for (i = 0; i < count; i++) {
			polled[i].fd = asking[i].fd;
			polled[i].events = POLLIN;
			wanted += is_wanted(&asking[i], between);
		}
		if (!wanted || poll(polled, count, left) <= 0)
			return;
		for (i = 0; i < count; i++)
			if (asking[i].fd >= 0 && polled[i].revents)
				take(&asking[i]);
	}
}

void echo_ask(struct echo *all, size_t count)
{
	struct asking *asking = calloc(count, sizeof(*asking));
	struct pollfd *polled = calloc(count, sizeof(*polled));
	size_t i;

	for (i = 0; asking && polled && i < count; i++) {
		asking[i].echo = &all[i];
		if (getrandom(&asking[i].run, sizeof(asking[i].run), 0) < 0)
			asking[i].run = now_ms();
		open_socket(&asking[i]);
	}
	for (int round = 0; asking && polled && round < 2 * ROUNDS; round++) {
		bool between = round >= ROUNDS;

		for (i = 0; i < count; i++)
			if (is_wanted(&asking[i], between) || (!round && asking[i].fd >= 0))
				ask_round(&asking[i], between);
		wait_round(asking, polled, count, between);
	}
	for (i = 0; asking && i < count; i++)
		if (asking[i].fd >= 0)
			close(asking[i].fd);
	free(asking);
	free(polled);
}
