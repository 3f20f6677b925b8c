/* SPDX-License-Identifier: GPL-2.0 */
/* What the parts of xfer share.
 *
 *   xfer.c		the command line
 *   xfer_loop.c	the server's and the client's loop over their connections
 *   xfer_conn.c	a connection: its socket, its content, moving bytes
 *   xfer_unit.c	transfers marked as units
 */
#ifndef _XFER_H
#define _XFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#define CHUNK_BYTES	(64 << 10)	/* of one send or receive */
#define LINE_BYTES	96		/* longest request line */
#define WEB_HEAD_BYTES	240		/* of an answer: a header, written apart */
#define TICK_US		2000LL		/* how often a paced transfer sends */
#define US_PER_S	1000000LL

struct range {
	long long min, max;
};

struct xfer_options {
	bool v6, tcp, json, cold, quiet, unit, ahead, web;
	enum { DOWN, UP, BOTH } dir;
	const char *host, *port, *bind, *devs;
	struct range bytes, gap_ms, pause_ms;
	int conns, requests, sndbuf, rcvbuf, mark;
	long long timeout_us, stagger_us, rate_byteps;
	long long queue;	/* bytes left that connections share, or 0 */
	bool queued;
	uint64_t seed;
	struct sockaddr_storage addr;
	socklen_t addr_len;
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
	long long receipt_us, gap_us, gap_at_us, late_us;	/* client */
	size_t out_pos, out_len; /* unsent part of out */
	size_t line_len;
	char line[LINE_BYTES];
	char out[CHUNK_BYTES];
};

/* xfer.c */
extern struct xfer_options opt;
void die(int status, const char *format, ...)
	__attribute__((noreturn, format(printf, 2, 3)));

/* xfer_loop.c */
void run_server(void);
bool run_client(void);

/* xfer_conn.c */
long long now_us(void);
uint64_t mix(uint64_t x);
void resolve(const char *host);
int new_socket(void);
void bind_device(int fd, int id);
void hang_up(struct conn *c);
void begin(struct conn *c, bool sending, long long bytes);

/* Each returns 1 done, 0 not yet, -1 failed. */
int flush_out(struct conn *c);
int send_pattern(struct conn *c);
int recv_pattern(struct conn *c);

/* xfer_unit.c */
void mark_unit(const struct conn *c);

#endif /* _XFER_H */
