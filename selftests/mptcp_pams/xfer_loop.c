// SPDX-License-Identifier: GPL-2.0
/* The server's and the client's loop of xfer over their connections. */
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "xfer.h"

#ifndef SOL_MPTCP
#define SOL_MPTCP 284
#endif
#ifndef MPTCP_INFO
#define MPTCP_INFO 1
#endif

static struct conn **conns;
static struct pollfd *fds;
static size_t nr_conns, nr_failed;

static struct conn *add_conn(void)
{
	struct conn *c = calloc(1, sizeof(*c));

	conns = realloc(conns, (nr_conns + 1) * sizeof(*conns));
	fds = realloc(fds, (nr_conns + 2) * sizeof(*fds));
	if (!c || !conns || !fds)
		die(1, "out of memory");
	c->fd = -1;
	conns[nr_conns++] = c;
	return c;
}

/* ---- server ---- */

static int read_request(struct conn *c)
{
	while (c->line_len < LINE_BYTES - 1) {
		char *to = c->line + c->line_len, *end, dir;
		ssize_t n;

		/* Not a byte beyond the line: what follows is content. */
		n = recv(c->fd, to, LINE_BYTES - 1 - c->line_len, MSG_PEEK);
		if (n > 0) {
			end = memchr(to, '\n', n);
			n = recv(c->fd, to, end ? end - to + 1 : n, 0);
		}
		if (n < 0)
			return errno == EAGAIN || errno == EINTR ? 0 : -1;
		if (n == 0)
			return -1;
		c->line_len += n;
		if (to[n - 1] != '\n')
			continue;
		c->line[c->line_len] = 0;
		c->line_len = 0;
		if (sscanf(c->line, "%c %lld %" SCNu64 " %lld", &dir, &c->bytes,
			   &c->seed, &c->rate_byteps) != 4 ||
		    (dir != 'D' && dir != 'U') || c->bytes < 0 ||
		    c->rate_byteps < 0)
			return -1;
		c->up = dir == 'U';
		begin(c, !c->up, c->bytes);
		if (!c->up)
			mark_unit(c);
		return 1;
	}
	return -1;
}

static bool serve(struct conn *c)
{
	for (;;) {
		int moved;

		switch (c->state) {
		case LINE:
			moved = read_request(c);
			break;
		case SEND:
			moved = send_pattern(c);
			if (moved > 0 && opt.web)
				return false;
			if (moved > 0)
				c->state = LINE;
			break;
		default:
			moved = recv_pattern(c);
			if (moved > 0) {	/* the receipt goes by SEND */
				c->out[0] = c->ok ? 'K' : 'X';
				c->out_len = 1;
				c->left = 0;
				c->state = SEND;
			}
		}
		if (moved <= 0)
			return moved == 0;
	}
}

/* A paced transfer has nothing to send before the next tick. */
static bool waits_for_tick(const struct conn *c)
{
	return c->state == SEND && c->rate_byteps && !c->out_len;
}

static short server_events(const struct conn *c)
{
	if (waits_for_tick(c))
		return 0;
	return c->state == SEND ? POLLOUT : POLLIN;
}

void run_server(void)
{
	int listener;

	resolve(opt.bind);
	listener = new_socket();
	if (bind(listener, (void *)&opt.addr, opt.addr_len) ||
	    listen(listener, 1024))
		die(1, "port %s: %s", opt.port, strerror(errno));
	fds = calloc(1, sizeof(*fds));
	for (;;) {
		size_t i, kept = 0;
		bool paced = false;
		int fd;

		fds[0] = (struct pollfd){ .fd = listener, .events = POLLIN };
		for (i = 0; i < nr_conns; i++) {
			fds[i + 1] = (struct pollfd){
				.fd = conns[i]->fd,
				.events = server_events(conns[i]),
			};
			paced = paced || waits_for_tick(conns[i]);
		}
		if (poll(fds, nr_conns + 1, paced ? TICK_US / 1000 : -1) < 0 &&
		    errno != EINTR)
			die(1, "poll: %s", strerror(errno));
		for (i = 0; i < nr_conns; i++) {
			struct conn *c = conns[i];

			if ((fds[i + 1].revents || waits_for_tick(c)) &&
			    !serve(c)) {
				hang_up(c);
				free(c);
				continue;
			}
			conns[kept++] = c;
		}
		nr_conns = kept;
		if (!(fds[0].revents & POLLIN))
			continue;
		while ((fd = accept4(listener, NULL, NULL,
				     SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
			struct conn *c = add_conn();

			c->fd = fd;
			c->state = LINE;
		}
	}
}

/* ---- client ---- */

/* Drawn evenly in the logarithm, so that small values are most. */
static long long draw(struct range r, uint64_t random)
{
	long long low = r.min ? r.min : 1, span;
	unsigned int octaves = 1;

	if (r.min == r.max)
		return r.min;
	while (octaves < 62 && r.max >> octaves > low)
		octaves++;
	low <<= random % octaves;
	span = r.max - low < low ? r.max - low + 1 : low;
	return low + mix(random) % span;
}

/* The first fields of struct mptcp_info, as in linux/mptcp.h. */
struct info_head {
	uint8_t subflows, add_addr_signal, add_addr_accepted;
	uint8_t subflows_max, add_addr_signal_max, add_addr_accepted_max;
	uint32_t flags;
};

static void report(struct conn *c, const char *error)
{
	struct info_head info = { 0 };
	socklen_t len = sizeof(info);
	long long fct_us = now_us() - c->start_us;
	bool mptcp = c->fd >= 0 && !getsockopt(c->fd, SOL_MPTCP, MPTCP_INFO,
					       &info, &len);
	bool ok = c->ok && !error;

	if (!ok)
		nr_failed++;
	if (!error)
		error = ok ? "" : "content differs";
	if (opt.json)
		printf("{\"conn\":%d,\"request\":%d,\"dir\":\"%s\",\"bytes\":%lld,"
		       "\"start_us\":%lld,\"connect_us\":%lld,\"fct_us\":%lld,"
		       "\"gap_us\":%lld,\"gap_at_us\":%lld,\"late_us\":%lld,"
		       "\"subflows\":%d,\"fallback\":%s,\"ok\":%s,\"error\":\"%s\"}\n",
		       c->id, c->request, c->up ? "up" : "down", c->bytes,
		       c->start_us, c->connect_us, fct_us, c->gap_us,
		       c->gap_at_us, c->late_us,
		       mptcp ? info.subflows + 1 : 1,
		       mptcp && !(info.flags & 1) ? "false" : "true",
		       ok ? "true" : "false", error);
	else if (!opt.quiet || !ok)
		printf("connection %d request %d: %s %lld bytes in %.6f s%s%s\n",
		       c->id, c->request, c->up ? "sent" : "received", c->bytes,
		       fct_us / 1e6, *error ? ": " : "", error);
}

static bool was_last(const struct conn *c)
{
	return opt.queued ? !opt.queue : c->request == opt.requests;
}

/* The request is over: say how, and set up the wait for the next one. */
static void finish(struct conn *c, const char *error)
{
	report(c, error);
	c->request++;
	if (error || opt.cold || was_last(c))
		hang_up(c);
	c->state = was_last(c) ? DONE : WAIT;
	c->connect_us = 0;
	c->wake_us = now_us();
	if (opt.gap_ms.max)
		c->wake_us += 1000 * draw(opt.gap_ms, mix(c->seed ^ 1));
}

static void add_line(struct conn *c, long long bytes, uint64_t seed)
{
	c->out_len += sprintf(c->out + c->out_len, "%c %lld %" PRIu64 " %lld\n",
			      c->up ? 'U' : 'D', bytes, seed, c->up ? 0 : opt.rate_byteps);
}

static uint64_t seed_of(const struct conn *c, int request)
{
	return mix(mix(opt.seed + c->id) + request);
}

static void send_request(struct conn *c)
{
	uint64_t next = seed_of(c, c->request + 1);

	begin(c, c->up, c->bytes);
	c->out_pos = c->out_len = 0;
	if (c->up)
		mark_unit(c);
	if (!opt.ahead || !c->request)
		add_line(c, c->bytes, c->seed);
	if (opt.ahead && c->request + 1 < opt.requests)
		add_line(c, draw(opt.bytes, next), next);
	if (!c->up && flush_out(c) < 0)
		finish(c, strerror(errno));
}

static void next_request(struct conn *c)
{
	c->seed = seed_of(c, c->request);
	c->bytes = draw(opt.bytes, c->seed);
	if (opt.queued) {
		if (!opt.queue) {
			hang_up(c);
			c->state = DONE;
			return;
		}
		if (c->bytes > opt.queue)
			c->bytes = opt.queue;
		opt.queue -= c->bytes;
	}
	c->up = opt.dir == UP || (opt.dir == BOTH && c->seed >> 63);
	c->ok = true;
	c->start_us = now_us();
	if (c->fd >= 0) {
		send_request(c);
		return;
	}
	c->fd = new_socket();
	bind_device(c->fd, c->id);
	c->state = CONNECT;
	if (connect(c->fd, (void *)&opt.addr, opt.addr_len) && errno != EINPROGRESS)
		finish(c, strerror(errno));
}

static void connected(struct conn *c)
{
	int error = 0;
	socklen_t len = sizeof(error);

	getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &error, &len);
	if (error) {
		finish(c, strerror(error));
		return;
	}
	c->connect_us = now_us() - c->start_us;
	send_request(c);
}

static void step(struct conn *c)
{
	char receipt;
	int moved = 0;

	if (c->state == CONNECT)
		connected(c);
	if (c->state == SEND) {
		moved = send_pattern(c);
		if (moved > 0)
			c->state = RECEIPT;
	}
	if (c->state == RECEIPT) {
		moved = recv(c->fd, &receipt, 1, 0);
		if (moved < 0 && errno == EAGAIN)
			return;
		c->ok = moved == 1 && receipt == 'K';
		finish(c, moved == 1 ? NULL : moved < 0 ? strerror(errno) : "closed by the peer");
	} else if (c->state == RECV) {
		moved = recv_pattern(c);
		if (moved > 0)
			finish(c, NULL);
	}
	if (moved < 0 && (c->state == SEND || c->state == RECV))
		finish(c, errno ? strerror(errno) : "connection lost");
}

/* The reader pauses, as a video's player does that has enough. */
static bool pauses(const struct conn *c, long long now)
{
	long long at_ms = (now - c->start_us) / 1000;

	return c->state == RECV && !c->out_len && at_ms >= opt.pause_ms.min &&
	       at_ms < opt.pause_ms.max;
}

/* Whether all transfers were intact. */
bool run_client(void)
{
	long long begin_us = now_us();

	resolve(opt.host);
	for (int i = 0; i < opt.conns; i++) {
		struct conn *c = add_conn();

		c->id = i;
		c->state = WAIT;
		c->wake_us = begin_us + i * opt.stagger_us;
	}
	for (;;) {
		long long now = now_us(), due = now + US_PER_S;
		struct timespec wait;
		size_t i, busy = 0;

		for (i = 0; i < nr_conns; i++) {
			struct conn *c = conns[i];
			long long until;

			while (c->state == WAIT && c->wake_us <= now)
				next_request(c);
			if (c->state != WAIT && c->state != DONE &&
			    now >= c->start_us + opt.timeout_us)
				finish(c, "timeout");
			fds[i] = (struct pollfd){
				.fd = c->state == WAIT ? -1 : c->fd,
				.events = c->state == CONNECT || c->state == SEND ?
					  POLLOUT : POLLIN,
			};
			if (c->out_len && c->state == RECV)
				fds[i].events |= POLLOUT;
			if (pauses(c, now)) {
				fds[i].fd = -1;
				if (c->start_us + 1000 * opt.pause_ms.max < due)
					due = c->start_us + 1000 * opt.pause_ms.max;
			}
			if (c->state == DONE)
				continue;
			busy++;
			until = c->state == WAIT ? c->wake_us :
				c->start_us + opt.timeout_us;
			if (until < due)
				due = until;
		}
		if (!busy)
			break;
		now = now_us();
		due = due > now ? due - now : 0;
		wait.tv_sec = due / US_PER_S;
		wait.tv_nsec = due % US_PER_S * 1000;
		if (ppoll(fds, nr_conns, &wait, NULL) < 0 && errno != EINTR)
			die(1, "poll: %s", strerror(errno));
		for (i = 0; i < nr_conns; i++) {
			errno = 0;
			if (!fds[i].revents)
				continue;
			if (conns[i]->out_len && conns[i]->state == RECV &&
			    flush_out(conns[i]) < 0)
				finish(conns[i], strerror(errno));
			else
				step(conns[i]);
		}
	}
	return !nr_failed;
}
