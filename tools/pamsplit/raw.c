// SPDX-License-Identifier: GPL-2.0
/*
 * raw - sends the packets that the core makes through raw sockets, many at a time
 *
 * Packets to the client are marked, so that the rules exempt them from connection
 * tracking: where addresses are translated, it would take them for a connection of
 * their own. Packets to the server are tracked and translated like the client's own.
 *
 * A packet may be too large for its interface after the route to the client has
 * changed to one with a smaller MTU. The core is then told that MTU, which the kernel
 * puts into the socket's error queue.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <linux/errqueue.h>

#include "pamsplit.h"

#define PACKETS		128
#define ARENA		(PACKETS * 2048)
#define BUFFER_BYTES	(4 << 20)

struct waiting {
	size_t at, len;
	union {
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
	} to;
};

/* A socket, and the packets that wait to be sent through it, in order. */
struct lane {
	int fd;
	unsigned int count;
	size_t used;
	struct waiting waiting[PACKETS];
	uint8_t arena[ARENA];
};

struct raw {
	struct lane lanes[4];	/* to client and server, IPv4 and IPv6 */
	uint64_t failed;
	raw_large_fn large;
	void *large_arg;
};

static int open_lane(bool v6, bool to_client)
{
	const int size = BUFFER_BYTES, mark = MARK_MADE, one = 1;
	int fd = socket(v6 ? AF_INET6 : AF_INET, SOCK_RAW | SOCK_CLOEXEC,
			IPPROTO_RAW);

	if (fd < 0)
		return -1;
	/* in a container's user namespace as much as net.core.wmem_max permits */
	if (setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof(size)))
		setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	if (to_client &&
	    (setsockopt(fd, SOL_SOCKET, SO_MARK, &mark, sizeof(mark)) ||
	     setsockopt(fd, v6 ? IPPROTO_IPV6 : IPPROTO_IP, v6 ? IPV6_RECVERR : IP_RECVERR,
			&one, sizeof(one)))) {
		close(fd);
		return -1;
	}
	return fd;
}

struct raw *raw_new(void)
{
	struct raw *raw = calloc(1, sizeof(*raw));

	for (unsigned int i = 0; raw && i < ARRAY_LEN(raw->lanes); i++) {
		raw->lanes[i].fd = open_lane(i & 1, i < 2);
		if (raw->lanes[i].fd >= 0 ||
		    (i & 1 && errno == EAFNOSUPPORT))
			continue;
		say("no raw socket: %s", strerror(errno));
		while (i--)
			close(raw->lanes[i].fd);
		free(raw);
		return NULL;
	}
	return raw;
}

void raw_free(struct raw *raw)
{
	for (unsigned int i = 0; raw && i < ARRAY_LEN(raw->lanes); i++)
		close(raw->lanes[i].fd);
	free(raw);
}

void raw_on_large(struct raw *raw, raw_large_fn large, void *arg)
{
	raw->large = large;
	raw->large_arg = arg;
}

/* Empty the socket's error queue. The MTU in its last EMSGSIZE error, 0 if there is none. */
static uint32_t read_mtu(int fd)
{
	union {
		struct cmsghdr header;
		char bytes[512];
	} control;
	struct msghdr message = { .msg_control = &control };
	uint32_t mtu = 0;

	for (;;) {
		struct cmsghdr *at;

		message.msg_controllen = sizeof(control);
		if (recvmsg(fd, &message, MSG_ERRQUEUE | MSG_DONTWAIT) < 0)
			return mtu;
		at = CMSG_FIRSTHDR(&message);
		for (; at; at = CMSG_NXTHDR(&message, at)) {
			struct sock_extended_err error;

			if (at->cmsg_type != IP_RECVERR &&
			    at->cmsg_type != IPV6_RECVERR)
				continue;
			memcpy(&error, CMSG_DATA(at), sizeof(error));
			if (error.ee_errno == EMSGSIZE)
				mtu = error.ee_info;
		}
	}
}

static void tell_large(const struct raw *raw, const struct lane *lane,
		       struct iovec *part)
{
	uint32_t mtu = read_mtu(lane->fd);

	if (raw->large && mtu)
		raw->large(raw->large_arg, part->iov_base, part->iov_len, mtu);
}

/* Send all waiting packets. One that can't be sent is counted; TCP takes it for a loss. */
static void flush(struct raw *raw, struct lane *lane)
{
	struct mmsghdr messages[PACKETS];
	struct iovec parts[PACKETS];
	unsigned int sent = 0;

	for (unsigned int i = 0; i < lane->count; i++) {
		struct waiting *one = &lane->waiting[i];
		bool v6 = one->to.v6.sin6_family == AF_INET6;

		parts[i].iov_base = lane->arena + one->at;
		parts[i].iov_len = one->len;
		memset(&messages[i], 0, sizeof(messages[i]));
		messages[i].msg_hdr.msg_name = &one->to;
		messages[i].msg_hdr.msg_namelen = v6 ? sizeof(one->to.v6)
						     : sizeof(one->to.v4);
		messages[i].msg_hdr.msg_iov = &parts[i];
		messages[i].msg_hdr.msg_iovlen = 1;
	}
	while (sent < lane->count) {
		int done = sendmmsg(lane->fd, messages + sent,
				    lane->count - sent, MSG_DONTWAIT);

		if (done <= 0) {
			if (done < 0 && errno == EMSGSIZE)
				tell_large(raw, lane, &parts[sent]);
			raw->failed++;
			done = 1;
		}
		sent += done;
	}
	lane->count = 0;
	lane->used = 0;
}

void raw_put(void *arg, enum split_side side, uint8_t *data, size_t len)
{
	struct raw *raw = arg;
	bool v6 = data[0] >> 4 == 6;
	struct lane *lane = &raw->lanes[2 * (side == TO_SERVER) + v6];
	struct waiting *one;

	if (lane->count == PACKETS || lane->used + len > ARENA)
		flush(raw, lane);
	one = &lane->waiting[lane->count++];
	one->at = lane->used;
	one->len = len;
	memcpy(lane->arena + lane->used, data, len);
	lane->used += len;
	memset(&one->to, 0, sizeof(one->to));
	if (v6) {
		one->to.v6.sin6_family = AF_INET6;
		memcpy(&one->to.v6.sin6_addr, data + 24, 16);
	} else {
		one->to.v4.sin_family = AF_INET;
		memcpy(&one->to.v4.sin_addr, data + 16, 4);
	}
}

void raw_flush(struct raw *raw)
{
	for (unsigned int i = 0; i < ARRAY_LEN(raw->lanes); i++)
		if (raw->lanes[i].count)
			flush(raw, &raw->lanes[i]);
}

/* Is there a packet that wasn't sent yet? */
bool raw_waits(const struct raw *raw)
{
	for (unsigned int i = 0; i < ARRAY_LEN(raw->lanes); i++)
		if (raw->lanes[i].count)
			return true;
	return false;
}

uint64_t raw_failed(const struct raw *raw)
{
	return raw->failed;
}
