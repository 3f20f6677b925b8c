// SPDX-License-Identifier: GPL-2.0
/*
 * server - the sockets on which reports come in
 *
 * A datagram that comes alone is taken at once. When they come closer than
 * PACE_US to each other they are taken that often, all that wait at a time:
 * waking up for each would cost several times what they cost themselves. At
 * most BATCHES * BATCH are taken before the event loop looks at what else there
 * is. An answer goes out from the address that was asked.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <event2/event.h>
#include <jansson.h>

#include "pamsd.h"

#define BATCH		16
#define BATCHES		8
/* A lost path is known that much later at most, if there is much to do. */
#define PACE_US		4000
/* One more than the longest, to tell what is longer. */
#define DATAGRAM_BYTES	(REPORT_BYTES_MAX + 1)
/* For bursts: a thousand reports. */
#define RECEIVE_BUFFER	1048576

struct listener {
	struct server *server;
	int fd;
	struct event *event;	/* something waits */
	struct event *pace;	/* once, instead of it, as long as much comes */
	uint64_t last_us;	/* when it last was */
};

struct server {
	struct peers *peers;
	struct listener *listeners;
	unsigned int count;
	struct mmsghdr messages[BATCH];
	struct iovec iovs[BATCH];
	union address from[BATCH];
	union {
		struct cmsghdr align;
		char space[CMSG_SPACE(sizeof(struct in6_pktinfo))];
	} to[BATCH];
	uint8_t datagrams[BATCH][DATAGRAM_BYTES];
};

static void prepare(struct server *server)
{
	for (unsigned int i = 0; i < BATCH; i++) {
		struct msghdr *msg = &server->messages[i].msg_hdr;

		server->iovs[i].iov_base = server->datagrams[i];
		server->iovs[i].iov_len = DATAGRAM_BYTES;
		msg->msg_iov = &server->iovs[i];
		msg->msg_iovlen = 1;
		msg->msg_name = &server->from[i];
		msg->msg_namelen = sizeof(server->from[i]);
		msg->msg_control = server->to[i].space;
		msg->msg_controllen = sizeof(server->to[i].space);
	}
}

/* The ancillary data of what came says how the answer is to leave. */
static void turn_around(struct msghdr *msg)
{
	struct cmsghdr *cmsg = CMSG_FIRSTHDR(msg);
	struct in6_pktinfo *info6;
	struct in_pktinfo *info;

	if (!cmsg)
		return;
	if (cmsg->cmsg_level == IPPROTO_IP && cmsg->cmsg_type == IP_PKTINFO) {
		info = (struct in_pktinfo *)CMSG_DATA(cmsg);
		info->ipi_ifindex = 0;
	} else {
		info6 = (struct in6_pktinfo *)CMSG_DATA(cmsg);
		if (!IN6_IS_ADDR_LINKLOCAL(&info6->ipi6_addr))
			info6->ipi6_ifindex = 0;
	}
}

/* An answer that can't be sent is one that was lost. */
static void take(struct listener *listener, struct mmsghdr *message)
{
	uint8_t answer[REPORT_CHALLENGE_BYTES];
	struct msghdr msg = message->msg_hdr;
	struct iovec iov = { .iov_base = answer };

	iov.iov_len = peers_receive(listener->server->peers,
				    msg.msg_iov->iov_base, message->msg_len,
				    msg.msg_name, answer);
	if (!iov.iov_len)
		return;
	turn_around(&msg);
	msg.msg_iov = &iov;
	msg.msg_flags = 0;
	sendmsg(listener->fd, &msg, MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* Take what waits; false if nothing did. */
static bool receive(struct listener *listener)
{
	struct server *server = listener->server;
	bool any = false;
	int count;

	for (int batch = 0; batch < BATCHES; batch++) {
		prepare(server);
		count = recvmmsg(listener->fd, server->messages, BATCH,
				 MSG_DONTWAIT, NULL);
		for (int i = 0; i < count; i++)
			take(listener, &server->messages[i]);
		any |= count > 0;
		if (count < BATCH)
			break;
	}
	return any;
}

static const struct timeval pace = { .tv_usec = PACE_US };

static void has_come(evutil_socket_t fd, short what, void *arg)
{
	struct listener *listener = arg;
	uint64_t us = now_us();

	(void)fd;
	(void)what;
	receive(listener);
	if (us - listener->last_us < PACE_US) {
		event_del(listener->event);
		event_add(listener->pace, &pace);
	}
	listener->last_us = us;
}

static void is_time(evutil_socket_t fd, short what, void *arg)
{
	struct listener *listener = arg;

	(void)fd;
	(void)what;
	if (receive(listener))
		event_add(listener->pace, &pace);
	else
		event_add(listener->event, NULL);
}

static int open_socket(const union address *address)
{
	int family = address->sa.sa_family, one = 1, bytes = RECEIVE_BUFFER;
	int fd, err;

	fd = socket(family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	/* Only a wish: the system may allow less. */
	setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes));
	/* At boot an interface may get its address later. (IPv6's, too.) */
	setsockopt(fd, IPPROTO_IP, IP_FREEBIND, &one, sizeof(one));
	if (family == AF_INET)
		err = setsockopt(fd, IPPROTO_IP, IP_PKTINFO, &one, sizeof(one));
	else
		err = setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &one,
				 sizeof(one)) ?:
		      setsockopt(fd, IPPROTO_IPV6, IPV6_RECVPKTINFO, &one,
				 sizeof(one));
	if (err || bind(fd, &address->sa, address_len(address))) {
		err = -errno;
		close(fd);
		return err;
	}
	return fd;
}

static int listen_at(struct event_base *base, struct server *server,
		     const union address *address)
{
	struct listener *listener = &server->listeners[server->count];
	char text[ADDRESS_TEXT];

	listener->server = server;
	listener->fd = open_socket(address);
	if (listener->fd == -EAFNOSUPPORT) {
		say("no reports at %s: this system has no such addresses",
		    address_text(text, address));
		return 0;
	}
	if (listener->fd < 0) {
		say("can't receive at %s: %s", address_text(text, address),
		    strerror(-listener->fd));
		return -1;
	}
	server->count++;
	listener->event = event_new(base, listener->fd, EV_READ | EV_PERSIST,
				    has_come, listener);
	listener->pace = event_new(base, -1, 0, is_time, listener);
	if (!listener->event || !listener->pace)
		return -1;
	return event_add(listener->event, NULL);
}

struct server *server_new(struct event_base *base, const struct config *config,
			  struct kernel *kernel)
{
	struct server *server = calloc(1, sizeof(*server));

	if (!server)
		return NULL;
	server->peers = peers_new(config, kernel);
	server->listeners = calloc(config->listen_count,
				   sizeof(*server->listeners));
	if (!server->peers || !server->listeners)
		goto fail;
	for (unsigned int i = 0; i < config->listen_count; i++)
		if (listen_at(base, server, &config->listens[i]))
			goto fail;
	if (server->count) {
		kernel_wanted(kernel);
		return server;
	}
	say("no address to receive at is left");
fail:
	server_free(server);
	return NULL;
}

void server_free(struct server *server)
{
	if (!server)
		return;
	for (unsigned int i = 0; i < server->count; i++) {
		if (server->listeners[i].event)
			event_free(server->listeners[i].event);
		if (server->listeners[i].pace)
			event_free(server->listeners[i].pace);
		close(server->listeners[i].fd);
	}
	peers_free(server->peers);
	free(server->listeners);
	free(server);
}

void server_feed(struct server *server)
{
	peers_feed(server->peers);
}

json_t *server_status(const struct server *server)
{
	return peers_status(server->peers);
}
