// SPDX-License-Identifier: GPL-2.0
/*
 * server - the UDP sockets that receive reports
 *
 * A single datagram is read at once. Datagrams that arrive less than PACE_US
 * apart are read in batches, every PACE_US, since waking up for each of them
 * would cost several times as much as processing it. A batch ends when no
 * datagram is left or after BUDGET_US, so that the event loop can serve other
 * events. An answer leaves from the address that the report was sent to.
 *
 * Each address has two sockets: the kernel gives what belongs to a known session to the
 * second one. So a flood of datagrams that only have the name of a key may fill the first
 * one, while the daemon has to wait for a processor, and keeps no known session from
 * being heard.
 *
 * During a flood of datagrams that no peer can have sent, a BPF filter
 * (filter.c) drops them before they reach the socket.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <event2/event.h>
#include <jansson.h>

#include "peers.h"
#include "server.h"

#define BATCH		64
#define BUDGET_US	2000
/* The time between batches. Under load, the report of a lost path waits this long at most. */
#define PACE_US		4000
/* One byte more than the longest report, to detect longer datagrams. */
#define DATAGRAM_BYTES	(REPORT_BYTES_MAX + 1)
/*
 * Room for 80 ms of 200,000 datagrams per second, in which the daemon may not get the CPU:
 * the kernel charges about a kilobyte for each datagram.
 */
#define RECEIVE_BUFFER	16777216
/* Of known sessions less comes: 20 ms of all that their peers may send. */
#define KNOWN_BUFFER	(RECEIVE_BUFFER / 4)
/* Attach the filter when more datagrams per second than this can't be from a peer. */
#define JUNK_PS		5000
#define SECOND_US	1000000
/* The kernel learns of new sessions so long after the first of them: of 1,000 that takes 0.4 ms. */
#define STEER_US	100000

struct listener {
	struct server *server;
	int fd;
	struct event *event;	/* the socket is readable */
	struct event *pace;	/* timer, used instead of event under load */
	uint64_t last_us;	/* when event last fired */
};

struct server {
	struct peers *peers;
	uint64_t steered;		/* how many sessions had become known by then */
	struct event *steer;		/* timer, runs while some became known since */
	struct seldom unsteered;
	bool filtered;			/* the sockets have the filter */
	struct event *second;		/* timer, runs while they have it */
	uint64_t junk_us, junk;		/* start of this second, and the junk counter then */
	uint64_t filters;		/* how often the filter was attached */
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

/* Turn the ancillary data of a received datagram into that of its answer. */
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

/* Process a datagram and send the answer. A failure to send is ignored, like a lost answer. */
static void take_datagram(struct listener *listener, struct mmsghdr *message,
			  uint64_t us)
{
	uint8_t answer[REPORT_ANSWER_MAX];
	struct msghdr msg = message->msg_hdr;
	struct iovec iov = { .iov_base = answer };

	iov.iov_len = peers_receive(listener->server->peers,
				    msg.msg_iov->iov_base, message->msg_len,
				    msg.msg_name, us, answer);
	if (!iov.iov_len)
		return;
	turn_around(&msg);
	msg.msg_iov = &iov;
	msg.msg_flags = 0;
	sendmsg(listener->fd, &msg, MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* --- floods --- */

static uint64_t kernel_drops(const struct server *server)
{
	uint64_t drops = 0;

	for (unsigned int i = 0; i < server->count; i++)
		drops += filter_drops(server->listeners[i].fd);
	return drops;
}

static void set_filter(struct server *server, bool filtered)
{
	const struct timeval second = { .tv_sec = 1 };
	bool marks = filtered && !marks_fill(server->peers);

	for (unsigned int i = 0; i < server->count; i++) {
		int fd = server->listeners[i].fd;

		if (filtered)
			filter_attach(fd, server->peers, marks);
		else
			filter_detach(fd);
	}
	if (!marks)
		marks_forget();
	server->filtered = filtered;
	server->filters += filtered;
	server->junk_us = now_us();
	server->junk = filtered ? kernel_drops(server) :
				  peers_junk(server->peers, marks_are_open());
	if (filtered)
		evtimer_add(server->second, &second);
}

/*
 * Detach the filter when the flood is over: without it peer.c sees datagrams with unknown
 * keys, counts them and logs them.
 */
static void check_flood(evutil_socket_t fd, short what, void *arg)
{
	const struct timeval second = { .tv_sec = 1 };
	struct server *server = arg;
	uint64_t drops = kernel_drops(server);

	(void)fd;
	(void)what;
	if (drops - server->junk < JUNK_PS) {
		set_filter(server, false);
		return;
	}
	server->junk = drops;
	evtimer_add(server->second, &second);
}

static void watch_junk(struct server *server, uint64_t us)
{
	uint64_t junk = peers_junk(server->peers, marks_are_open());

	if (server->filtered)
		return;
	if (junk - server->junk > JUNK_PS) {
		set_filter(server, true);
	} else if (us - server->junk_us >= SECOND_US) {
		server->junk_us = us;
		server->junk = junk;
	}
}

/* The kernel learns which sessions are known. */
static void steer(struct server *server)
{
	int err = 0;

	server->steered = peers_established(server->peers);
	for (unsigned int i = 0; i < server->count; i += 2)
		err = filter_steer(server->listeners[i].fd, server->peers) ?: err;
	if (err)
		say_seldom(&server->unsteered, "a flood may keep known sessions from being heard: "
			   "the kernel doesn't tell them apart: %s", strerror(-err));
}

static void on_steer(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	steer(arg);
}

static void watch_sessions(struct server *server)
{
	const struct timeval after = { .tv_usec = STEER_US };

	if (peers_established(server->peers) != server->steered &&
	    !evtimer_pending(server->steer, NULL))
		evtimer_add(server->steer, &after);
}

/* --- receiving --- */

/*
 * Process waiting datagrams, for BUDGET_US at most. Sets *all if none is left. Returns how many
 * were processed.
 */
static unsigned int receive_batch(struct listener *listener, bool *all)
{
	struct server *server = listener->server;
	uint64_t begin_us = now_us(), us;
	unsigned int taken = 0;
	int count;

	do {
		prepare(server);
		count = recvmmsg(listener->fd, server->messages, BATCH,
				 MSG_DONTWAIT, NULL);
		us = now_us();
		for (int i = 0; i < count; i++)
			take_datagram(listener, &server->messages[i], us);
		taken += count > 0 ? count : 0;
		us = now_us();
		watch_junk(server, us);
		watch_sessions(server);
		*all = count < BATCH;
	} while (!*all && us - begin_us < BUDGET_US);
	return taken;
}

static const struct timeval pace = { .tv_usec = PACE_US };
static const struct timeval at_once = { };

static void receive(evutil_socket_t fd, short what, void *arg)
{
	struct listener *listener = arg;
	uint64_t us = now_us();
	bool all;

	(void)fd;
	(void)what;
	receive_batch(listener, &all);
	if (us - listener->last_us < PACE_US) {
		event_del(listener->event);
		event_add(listener->pace, all ? &pace : &at_once);
	}
	listener->last_us = us;
}

static void receive_rest(evutil_socket_t fd, short what, void *arg)
{
	struct listener *listener = arg;
	bool all;

	(void)fd;
	(void)what;
	if (receive_batch(listener, &all))
		event_add(listener->pace, all ? &pace : &at_once);
	else
		event_add(listener->event, NULL);
}

/* Without CAP_NET_ADMIN, net.core.rmem_max limits the buffer; that is no error. */
static void enlarge_buffer(int fd, int bytes)
{
	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof(bytes)))
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes));
}

static int share(int fd)
{
	int one = 1;

	return setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &one, sizeof(one));
}

/* The first socket of an address fails if others have the address, the second one joins it. */
static int open_socket(const union address *address, bool second)
{
	int family = address->sa.sa_family, one = 1;
	int fd, err;

	fd = socket(family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	enlarge_buffer(fd, second ? KNOWN_BUFFER : RECEIVE_BUFFER);
	/* At boot an interface may not have its address yet. Works for IPv6, too. */
	setsockopt(fd, IPPROTO_IP, IP_FREEBIND, &one, sizeof(one));
	if (family == AF_INET)
		err = setsockopt(fd, IPPROTO_IP, IP_PKTINFO, &one, sizeof(one));
	else
		err = setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &one,
				 sizeof(one)) ?:
		      setsockopt(fd, IPPROTO_IPV6, IPV6_RECVPKTINFO, &one,
				 sizeof(one));
	if (err || (second && share(fd)) || bind(fd, &address->sa, address_len(address)) ||
	    (!second && share(fd))) {
		err = -errno;
		close(fd);
		return err;
	}
	return fd;
}

static int listen_with(struct event_base *base, struct server *server,
		       const union address *address, bool second)
{
	struct listener *listener = &server->listeners[server->count];
	char text[ADDRESS_TEXT];

	listener->server = server;
	listener->fd = open_socket(address, second);
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
				    receive, listener);
	listener->pace = event_new(base, -1, 0, receive_rest, listener);
	if (!listener->event || !listener->pace)
		return -1;
	return event_add(listener->event, NULL);
}

static int listen_at(struct event_base *base, struct server *server, const union address *address)
{
	unsigned int before = server->count;
	int err = listen_with(base, server, address, false);

	return err || server->count == before ? err : listen_with(base, server, address, true);
}

static int path_set(const struct pams_path *path, void *arg)
{
	return kernel_queue(arg, path, false);
}

static int path_del(const struct pams_path *path, void *arg)
{
	return kernel_queue(arg, path, true);
}

static unsigned int flush(void *arg)
{
	return kernel_flush(arg);
}

static int subflow_find(const struct pams_path *key, uint32_t proof, void *arg)
{
	return kernel_find_subflow(arg, key, proof);
}

static int conn_find(uint32_t token, uint32_t proof, void *arg)
{
	return kernel_find_conn(arg, token, proof);
}

static bool has_cost(const struct pams_path *key, void *arg)
{
	return kernel_has_cost(arg, key);
}

static unsigned int rates(uint32_t token, uint32_t proof, struct flow_rate rates[FLOW_RATES_MAX],
			  void *arg)
{
	return kernel_rates(arg, token, proof, rates);
}

struct server *server_new(struct event_base *base, const struct config *config,
			  struct kernel *kernel)
{
	struct peers_env env = {
		.path_set = path_set,
		.path_del = path_del,
		.flush = flush,
		.subflow_find = subflow_find,
		.conn_find = conn_find,
		.has_cost = has_cost,
		.rates = rates,
	};
	struct server *server = calloc(1, sizeof(*server));

	if (!server)
		return NULL;
	env.arg = kernel;
	server->peers = peers_new(config, &env);
	server->second = evtimer_new(base, check_flood, server);
	server->steer = evtimer_new(base, on_steer, server);
	server->listeners = calloc(2 * config->listen_count,
				   sizeof(*server->listeners));
	if (!server->peers || !server->listeners || !server->second || !server->steer)
		goto fail;
	for (unsigned int i = 0; i < config->listen_count; i++)
		if (listen_at(base, server, &config->listens[i]))
			goto fail;
	if (server->count) {
		steer(server);
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
	if (server->second)
		event_free(server->second);
	if (server->steer)
		event_free(server->steer);
	marks_forget();
	peers_free(server->peers);
	free(server->listeners);
	free(server);
}

void server_feed(struct server *server)
{
	peers_feed(server->peers, now_ms());
}

void server_revoke(struct server *server, const struct config *next)
{
	peers_revoke(server->peers, next, now_ms());
}

json_t *server_status(const struct server *server)
{
	json_t *status = peers_status(server->peers, now_ms());

	json_object_set_new(status, "filtered", json_boolean(server->filtered));
	json_object_set_new(status, "filters",
			    json_integer((json_int_t)server->filters));
	json_object_set_new(status, "kernel_drops",
			    json_integer((json_int_t)kernel_drops(server)));
	return status;
}
