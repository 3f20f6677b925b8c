// SPDX-License-Identifier: GPL-2.0
/*
 * xfer - request/response transfers over MPTCP, timed and checked
 *
 * The client asks on each of its connections for one transfer after the other:
 *
 *	D BYTES SEED RATE\n	download: the server answers with BYTES bytes,
 *				RATE of them a second, or, if 0, at once
 *	U BYTES SEED 0\n...	upload: BYTES bytes follow, the server answers
 *				with one byte, 'K' (intact) or 'X'
 *
 * Content is a function of the request's seed and the byte's offset, checked
 * where it arrives. The client prints one JSON object a line for each request:
 *
 *	fct_us		from the first byte of the request sent to the last
 *			byte received (download), or to the server's answer
 *	connect_us	the handshake, for the first request of a connection
 *	start_us	when the request was sent, CLOCK_MONOTONIC
 *	gap_us		of a download: the longest time between two receipts,
 *	gap_at_us	and when it began, from start_us
 *
 * All times are in microseconds, sizes in bytes. One thread, no blocking call,
 * so that a hundred connections cost no more than their bytes.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#ifndef IPPROTO_MPTCP
#define IPPROTO_MPTCP 262
#endif
#ifndef SOL_MPTCP
#define SOL_MPTCP 284
#endif
#ifndef MPTCP_INFO
#define MPTCP_INFO 1
#endif

#define CHUNK_BYTES	(64 << 10)	/* of one send or receive */
#define LINE_BYTES	96		/* longest request line */
#define US_PER_S	1000000LL
#define TICK_MS		2		/* how often a paced transfer sends */

struct range {
	long long min, max;
};

static struct {
	bool client, v6, tcp, json, cold, quiet;
	enum { DOWN, UP, BOTH } dir;
	const char *host, *port, *bind, *devs;
	struct range bytes, gap_ms;
	int conns, requests, sndbuf, rcvbuf;
	long long timeout_us, stagger_us, rate_byteps;
	long long queue;	/* bytes left that connections share, or 0 */
	bool queued;
	uint64_t seed;
	struct sockaddr_storage addr;
	socklen_t addr_len;
} opt = {
	.port = "5000", .bytes = { 65536, 65536 }, .conns = 1, .requests = 1,
	.timeout_us = 60 * US_PER_S, .seed = 1,
};

struct conn {
	int fd;
	enum {
		WAIT,		/* client: until wake_us, then the next request */
		CONNECT,	/* client: handshake under way */
		LINE,		/* server: reading a request line */
		SEND,		/* left bytes of the pattern to send */
		RECV,		/* left bytes of the pattern to receive */
		RECEIPT,	/* client: the answer to an upload is due */
		DONE,
	} state;
	bool up, ok;
	int id, request;	/* client: which one */
	long long left;		/* bytes of the transfer not yet moved */
	long long offset;	/* of the next byte */
	long long bytes;	/* of the transfer */
	uint64_t seed;
	long long rate_byteps;	/* server: of a paced transfer, else 0 */
	long long wake_us, connect_us, start_us;
	long long receipt_us, gap_us, gap_at_us;	/* client */
	size_t out_pos, out_len; /* unsent part of out */
	size_t line_len;
	char line[LINE_BYTES];
	char out[CHUNK_BYTES];
};

static struct conn **conns;
static struct pollfd *fds;
static size_t nr_conns, nr_failed;

static void die(int status, const char *format, ...)
{
	va_list args;

	fputs("xfer: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	exit(status);
}

static long long now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * US_PER_S + ts.tv_nsec / 1000;
}

/* splitmix64: a bijection that looks random (Steele, Lea, Flood, 2014). */
static uint64_t mix(uint64_t x)
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

static int new_socket(void)
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
	if (opt.sndbuf &&
	    setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &opt.sndbuf, sizeof(int)))
		setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &opt.sndbuf, sizeof(int));
	if (opt.rcvbuf &&
	    setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &opt.rcvbuf, sizeof(int)))
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &opt.rcvbuf, sizeof(int));
	return fd;
}

/* Connection id leaves by the interface of that place in the list. */
static void bind_device(int fd, int id)
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
static void resolve(const char *host)
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
		if (inet_pton(AF_INET6, host ? host : "::", &v6->sin6_addr) != 1)
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

static void hang_up(struct conn *c)
{
	if (c->fd >= 0)
		close(c->fd);
	c->fd = -1;
	c->line_len = c->out_len = c->out_pos = 0;
}

static void begin(struct conn *c, bool sending, long long bytes)
{
	c->state = sending ? SEND : RECV;
	c->bytes = c->left = bytes;
	c->offset = 0;
	c->start_us = now_us();
	c->gap_us = c->gap_at_us = 0;
	c->ok = true;
}

/* ---- moving bytes: each returns 1 done, 0 not yet, -1 failed ---- */

static int flush_out(struct conn *c)
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

/* What may be sent by now. */
static long long due_bytes(const struct conn *c)
{
	long long due;

	if (!c->rate_byteps)
		return c->left;
	due = (now_us() - c->start_us) * c->rate_byteps / US_PER_S - c->offset;
	return due < c->left ? due : c->left;
}

static int send_pattern(struct conn *c)
{
	for (;;) {
		long long part = due_bytes(c), room = CHUNK_BYTES - c->out_len;
		int sent;

		if (part > room)
			part = room;
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
	c->receipt_us = now;
}

static int recv_pattern(struct conn *c)
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
		if (sscanf(c->line, "%c %lld %lu %lld", &dir, &c->bytes,
			   &c->seed, &c->rate_byteps) != 4 ||
		    (dir != 'D' && dir != 'U') || c->bytes < 0 ||
		    c->rate_byteps < 0)
			return -1;
		c->up = dir == 'U';
		begin(c, !c->up, c->bytes);
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

static void run_server(void)
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
		if (poll(fds, nr_conns + 1, paced ? TICK_MS : -1) < 0 &&
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
		       "\"gap_us\":%lld,\"gap_at_us\":%lld,"
		       "\"subflows\":%d,\"fallback\":%s,\"ok\":%s,\"error\":\"%s\"}\n",
		       c->id, c->request, c->up ? "up" : "down", c->bytes,
		       c->start_us, c->connect_us, fct_us, c->gap_us,
		       c->gap_at_us,
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

static void send_request(struct conn *c)
{
	begin(c, c->up, c->bytes);
	c->out_pos = 0;
	c->out_len = sprintf(c->out, "%c %lld %lu %lld\n", c->up ? 'U' : 'D',
			     c->bytes, c->seed, c->up ? 0 : opt.rate_byteps);
	if (!c->up && flush_out(c) < 0)
		finish(c, strerror(errno));
}

static void next_request(struct conn *c)
{
	c->seed = mix(mix(opt.seed + c->id) + c->request);
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
		finish(c, moved == 1 ? NULL : "connection lost");
	} else if (c->state == RECV) {
		moved = recv_pattern(c);
		if (moved > 0)
			finish(c, NULL);
	}
	if (moved < 0 && (c->state == SEND || c->state == RECV))
		finish(c, errno ? strerror(errno) : "connection lost");
}

static void run_client(void)
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
}

/* ---- command line ---- */

static const char usage[] =
"usage: xfer server [-p PORT] [-6] [--tcp] [--bind ADDRESS] [--sndbuf N] [--rcvbuf N]\n"
"       xfer client [-6] [--tcp] [options] HOST PORT\n"
"  --bytes N|MIN-MAX   size of a transfer, K, M, G = 1000, ... and Ki, Mi,\n"
"                      Gi = 1024, ... (64Ki); from a range it is drawn, evenly\n"
"                      in the logarithm\n"
"  --requests K        transfers of each connection, one after the other (1)\n"
"  --gap MS|MIN-MAX    pause between them (0)\n"
"  --dir down|up|both  direction (down); both: drawn for each request\n"
"  --conns N           connections at once (1); --stagger MS starts them apart\n"
"  --cold              a new connection for each request\n"
"  --queue N           instead of --requests: connections take their requests\n"
"                      from N bytes that they share, until all is moved\n"
"  --devices A,B,...   the interface of each connection, in their order\n"
"  --rate N            downloads of N bytes a second (as fast as it goes)\n"
"  --timeout MS        a request that takes longer has failed (60000)\n"
"  --seed N            of content and drawn sizes (1)\n"
"  --sndbuf N, --rcvbuf N   socket buffers in bytes (the kernel's choice)\n"
"  --json              one JSON object a line;  --quiet  failures only\n"
"exit code: 0 all transfers intact, 1 a failure, 2 usage\n";

static long long number(const char *name, const char *text, char **end)
{
	static const char units[] = "KMG";
	const char *unit;
	long long value, step;

	errno = 0;
	value = strtoll(text, end, 10);
	if (*end == text || errno || value < 0)
		die(2, "%s '%s': not a number", name, text);
	unit = strchr(units, **end);
	if (**end && unit) {
		step = (*end)[1] == 'i' ? 1024 : 1000;
		*end += step == 1024 ? 2 : 1;
		for (; unit >= units; unit--)
			value *= step;
	}
	return value;
}

static long long one_number(const char *name, const char *text)
{
	char *end;
	long long value = number(name, text, &end);

	if (*end)
		die(2, "%s '%s': not a number", name, text);
	return value;
}

static struct range a_range(const char *name, const char *text)
{
	char *end;
	struct range r;

	r.min = r.max = number(name, text, &end);
	if (*end == '-')
		r.max = one_number(name, end + 1);
	else if (*end)
		die(2, "%s '%s': neither N nor MIN-MAX", name, text);
	if (r.max < r.min)
		die(2, "%s '%s': the range is empty", name, text);
	return r;
}

enum { TCP = 256, BYTES, REQUESTS, GAP, DIR, CONNS, STAGGER, COLD, RATE, TIMEOUT,
       SEED, SNDBUF, RCVBUF, JSON, QUIET, BIND, QUEUE, DEVICES };

static const struct option options[] = {
	{ "port", 1, 0, 'p' }, { "ipv6", 0, 0, '6' }, { "help", 0, 0, 'h' },
	{ "tcp", 0, 0, TCP }, { "bytes", 1, 0, BYTES },
	{ "requests", 1, 0, REQUESTS }, { "gap", 1, 0, GAP },
	{ "dir", 1, 0, DIR }, { "conns", 1, 0, CONNS },
	{ "stagger", 1, 0, STAGGER }, { "cold", 0, 0, COLD },
	{ "rate", 1, 0, RATE },
	{ "timeout", 1, 0, TIMEOUT }, { "seed", 1, 0, SEED },
	{ "sndbuf", 1, 0, SNDBUF }, { "rcvbuf", 1, 0, RCVBUF },
	{ "json", 0, 0, JSON }, { "quiet", 0, 0, QUIET },
	{ "bind", 1, 0, BIND }, { "queue", 1, 0, QUEUE },
	{ "devices", 1, 0, DEVICES }, { }
};

static void read_option(int o)
{
	switch (o) {
	case 'p': opt.port = optarg; break;
	case '6': opt.v6 = true; break;
	case 'h': fputs(usage, stdout); exit(0);
	case TCP: opt.tcp = true; break;
	case BYTES: opt.bytes = a_range("--bytes", optarg); break;
	case REQUESTS: opt.requests = one_number("--requests", optarg); break;
	case GAP: opt.gap_ms = a_range("--gap", optarg); break;
	case CONNS: opt.conns = one_number("--conns", optarg); break;
	case STAGGER: opt.stagger_us = 1000 * one_number("--stagger", optarg); break;
	case COLD: opt.cold = true; break;
	case RATE: opt.rate_byteps = one_number("--rate", optarg); break;
	case TIMEOUT: opt.timeout_us = 1000 * one_number("--timeout", optarg); break;
	case SEED: opt.seed = one_number("--seed", optarg); break;
	case SNDBUF: opt.sndbuf = one_number("--sndbuf", optarg); break;
	case RCVBUF: opt.rcvbuf = one_number("--rcvbuf", optarg); break;
	case JSON: opt.json = true; break;
	case QUIET: opt.quiet = true; break;
	case BIND: opt.bind = optarg; break;
	case DEVICES: opt.devs = optarg; break;
	case QUEUE:
		opt.queue = one_number("--queue", optarg);
		opt.queued = true;
		break;
	case DIR:
		if (!strcmp(optarg, "down"))
			opt.dir = DOWN;
		else if (!strcmp(optarg, "up"))
			opt.dir = UP;
		else if (!strcmp(optarg, "both"))
			opt.dir = BOTH;
		else
			die(2, "--dir '%s': down, up or both", optarg);
		break;
	default:
		fputs(usage, stderr);
		exit(2);
	}
}

int main(int argc, char **argv)
{
	int o;

	while ((o = getopt_long(argc, argv, "p:6h", options, NULL)) != -1)
		read_option(o);
	argv += optind;
	argc -= optind;
	if (argc == 1 && !strcmp(argv[0], "server"))
		run_server();
	if (argc != 3 || strcmp(argv[0], "client"))
		die(2, "expected 'server' or 'client HOST PORT' (see --help)");
	if (opt.requests < 1 || opt.conns < 1)
		die(2, "--requests and --conns are at least 1");
	opt.host = argv[1];
	opt.port = argv[2];
	setvbuf(stdout, NULL, _IOLBF, 0);
	run_client();
	return nr_failed ? 1 : 0;
}
