// SPDX-License-Identifier: GPL-2.0
/* A connection of xfer: its socket, its content, moving bytes. */
#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "xfer.h"

#ifndef IPPROTO_MPTCP
#define IPPROTO_MPTCP 262
#endif

long long now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * US_PER_S + ts.tv_nsec / 1000;
}

/* splitmix64: a bijection that looks random (Steele, Lea, Flood, 2014). */
uint64_t mix(uint64_t x)
{
	x += 0x9e3779b97f4a7c15;
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
	x = (x ^ x >> 27) * 0x94d049bb133111eb;
	return x ^ x >> 31;
}

/* Write the pattern's bytes offset .. offset + len - 1. */
static void fill(char *to, size_t len, uint64_t seed, long long offset)
{
	while (len) {
		uint64_t word = mix(seed + offset / 8);
		size_t skip = offset % 8;
		size_t part = 8 - skip < len ? 8 - skip : len;

		memcpy(to, (char *)&word + skip, part);
		to += part;
		offset += part;
		len -= part;
	}
}

int new_socket(void)
{
	int fd, one = 1;

	fd = socket(opt.addr.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC,
		    opt.tcp ? IPPROTO_TCP : IPPROTO_MPTCP);
	if (fd < 0)
		die(1, "no %s socket: %s%s", opt.tcp ? "TCP" : "MPTCP",
		    strerror(errno),
		    errno == EPROTONOSUPPORT || errno == ENOPROTOOPT ?
		    "; is net.mptcp.enabled 1?" : "");
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	if (opt.mark &&
	    setsockopt(fd, SOL_SOCKET, SO_MARK, &opt.mark, sizeof(int)))
		die(1, "SO_MARK: %s", strerror(errno));
	if (opt.sndbuf &&
	    setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &opt.sndbuf, sizeof(int)))
		setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &opt.sndbuf, sizeof(int));
	if (opt.rcvbuf &&
	    setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &opt.rcvbuf, sizeof(int)))
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &opt.rcvbuf, sizeof(int));
	return fd;
}

/* Connection id leaves by the interface of that place in the list. */
void bind_device(int fd, int id)
{
	const char *dev = opt.devs;
	size_t len;

	while (id-- && dev)
		dev = strchr(dev, ',') ? strchr(dev, ',') + 1 : NULL;
	if (!dev)
		return;
	len = strcspn(dev, ",");
	if (setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, dev, len))
		die(1, "interface %.*s: %s", (int)len, dev, strerror(errno));
}

/* Numeric addresses only, so that the program can be linked statically. */
/* An IPv6 address, link-local ones with their link behind a '%'. */
static bool resolve_v6(const char *host, struct sockaddr_in6 *to)
{
	const char *link = strchr(host, '%');
	char address[INET6_ADDRSTRLEN];

	snprintf(address, sizeof(address), "%.*s", (int)strcspn(host, "%"),
		 host);
	to->sin6_scope_id = link ? if_nametoindex(link + 1) : 0;
	return inet_pton(AF_INET6, address, &to->sin6_addr) == 1 &&
	       (!link || to->sin6_scope_id);
}

void resolve(const char *host)
{
	struct sockaddr_in6 *v6 = (void *)&opt.addr;
	struct sockaddr_in *v4 = (void *)&opt.addr;
	char *end;
	long port = strtol(opt.port, &end, 10);

	if (*end || port < 1 || port > 65535)
		die(2, "port '%s': a number from 1 to 65535", opt.port);
	if (opt.v6) {
		v6->sin6_family = AF_INET6;
		v6->sin6_port = htons(port);
		opt.addr_len = sizeof(*v6);
		if (!resolve_v6(host ?: "::", v6))
			die(2, "'%s' is not an IPv6 address", host);
	} else {
		v4->sin_family = AF_INET;
		v4->sin_port = htons(port);
		opt.addr_len = sizeof(*v4);
		if (inet_pton(AF_INET, host ? host : "0.0.0.0", &v4->sin_addr) != 1)
			die(2, "'%s' is not an IPv4 address%s", host,
			    strchr(host, ':') ? "; use -6" : "");
	}
}

void hang_up(struct conn *c)
{
	if (c->fd >= 0)
		close(c->fd);
	c->fd = -1;
	c->line_len = c->out_len = c->out_pos = 0;
}

void begin(struct conn *c, bool sending, long long bytes)
{
	c->state = sending ? SEND : RECV;
	c->bytes = c->left = bytes;
	c->offset = 0;
	c->start_us = now_us();
	c->gap_us = c->gap_at_us = c->late_us = 0;
	c->ok = true;
}

int flush_out(struct conn *c)
{
	while (c->out_pos < c->out_len) {
		ssize_t n = send(c->fd, c->out + c->out_pos,
				 c->out_len - c->out_pos, MSG_NOSIGNAL);
		if (n < 0)
			return errno == EAGAIN || errno == EINTR ? 0 : -1;
		c->out_pos += n;
	}
	c->out_pos = c->out_len = 0;
	return 1;
}

/* What may be sent by now: what was due at the last tick, so that it is one piece, not
 * one and then those of the microseconds that writing it took.
 */
static long long due_bytes(const struct conn *c)
{
	long long due, ticks_us;

	if (!c->rate_byteps)
		return c->left;
	ticks_us = (now_us() - c->start_us) / TICK_US * TICK_US;
	due = ticks_us * c->rate_byteps / US_PER_S - c->offset;
	return due < c->left ? due : c->left;
}

int send_pattern(struct conn *c)
{
	for (;;) {
		long long part = due_bytes(c), room = CHUNK_BYTES - c->out_len;
		int sent;

		if (part > room)
			part = room;
		if (opt.web && !c->offset && part > WEB_HEAD_BYTES)
			part = WEB_HEAD_BYTES;
		/* A request line still waits in out: data goes behind it. */
		if (part > 0 && c->out_pos == 0) {
			fill(c->out + c->out_len, part, c->seed, c->offset);
			c->out_len += part;
			c->offset += part;
			c->left -= part;
		}
		sent = flush_out(c);
		if (sent <= 0)
			return sent;
		if (!c->left)
			return 1;
		if (due_bytes(c) <= 0)
			return 0;
	}
}

static void note_receipt(struct conn *c)
{
	long long now = now_us(), gap_us = now - c->receipt_us;

	if (c->offset && gap_us > c->gap_us) {
		c->gap_us = gap_us;
		c->gap_at_us = c->receipt_us - c->start_us;
	}
	if (opt.rate_byteps) {
		long long late_us = now - c->start_us -
				    c->offset * US_PER_S / opt.rate_byteps;

		if (late_us > c->late_us)
			c->late_us = late_us;
	}
	c->receipt_us = now;
}

int recv_pattern(struct conn *c)
{
	static char got[CHUNK_BYTES], want[CHUNK_BYTES];

	while (c->left) {
		size_t part = c->left < CHUNK_BYTES ? c->left : CHUNK_BYTES;
		ssize_t n = recv(c->fd, got, part, 0);

		if (n < 0)
			return errno == EAGAIN || errno == EINTR ? 0 : -1;
		if (n == 0)
			return -1;
		fill(want, n, c->seed, c->offset);
		if (memcmp(got, want, n))
			c->ok = false;
		note_receipt(c);
		c->offset += n;
		c->left -= n;
	}
	return 1;
}
