/* SPDX-License-Identifier: GPL-2.0 */
/*
 * report - encodes, encrypts and decodes the datagrams of the report protocol
 *
 * Documentation/pamsd-report.md documents the protocol. The functions work on
 * buffers and numbers, without sockets, clocks or memory of their own. The caller
 * draws the nonce of an answer at random.
 *
 * Units: rates in bytes per second, times in ms, delays in us. Numbers are big
 * endian on the wire and the host's own in these structs.
 */
#ifndef PAMS_REPORT_H
#define PAMS_REPORT_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define REPORT_PORT		5230
#define REPORT_VERSION		2
#define REPORT_PATHS_MAX	16	/* ids are 0 to 15 */
#define REPORT_NAMES_MAX	192	/* more than fit into a report */

#define REPORT_KEY_BYTES	32	/* shared by the two peers */
#define REPORT_ID_BYTES		8
#define REPORT_SESSION_BYTES	16
#define REPORT_NONCE_BYTES	24
#define REPORT_COOKIE_BYTES	16
#define REPORT_TAG_BYTES	16

#define REPORT_MARK_BYTES	8
#define REPORT_HEADER_BYTES	48
#define REPORT_FIXED_BYTES	40
/* With 48 bytes of IPv6 and UDP headers this is less than 1280, the least MTU of IPv6. */
#define REPORT_BYTES_MAX	1200
#define REPORT_ANSWER_BYTES	(REPORT_HEADER_BYTES + 56 + REPORT_TAG_BYTES)
/* An answer must never be larger than its report, else a server would amplify traffic. */
#define REPORT_BYTES_MIN	REPORT_ANSWER_BYTES
/* What so many rates, if there are any, add to an answer. */
#define REPORT_RATES_BYTES(n)	(2 + 13 * (n))
#define REPORT_ANSWER_MAX	(REPORT_ANSWER_BYTES + REPORT_RATES_BYTES(REPORT_PATHS_MAX))
#define REPORT_SUBFLOWS_MAX	40	/* in one entry */
#define REPORT_FLOWS_MAX	16	/* of one connection */
#define REPORT_CONNS_MAX	128	/* more than fit into a report */

enum report_type {
	REPORT_TYPE_REPORT = 1,
	REPORT_TYPE_ANSWER = 2,
};

/* Why a datagram is refused. */
enum report_error {
	REPORT_OK,
	REPORT_SHORT,		/* too short or long, or its length field is wrong */
	REPORT_MAGIC,		/* not of this protocol */
	REPORT_VERSION_UNKNOWN,
	REPORT_TYPE_UNKNOWN,
	REPORT_AUTH,		/* forged, or changed on the way */
	REPORT_MALFORMED,	/* authentic, but not as documented */
};

/*
 * Derived from the key that two peers share: an encryption key for each type of datagram, one
 * for the mark, a cheap check that finds forged datagrams, one for nonces, which only the sender
 * needs, and a public id of the key.
 */
struct report_keys {
	uint8_t id[REPORT_ID_BYTES];
	uint8_t mark[16];
	uint8_t nonce[REPORT_KEY_BYTES];
	uint8_t report[REPORT_KEY_BYTES];
	uint8_t answer[REPORT_KEY_BYTES];
};

/*
 * The part that isn't encrypted. The nonce isn't used twice, not even by two copies of a machine
 * that was restored from one snapshot: it depends on what is encrypted, too.
 */
struct report_header {
	enum report_type type;
	uint8_t id[REPORT_ID_BYTES];
	uint8_t session[REPORT_SESSION_BYTES];
	uint64_t counter;	/* a report's number in its session */
};

enum report_flags {
	REPORT_PIPE = 0x01,	/* rate_byteps, backlog_bytes, pipe_ttl_ms */
	REPORT_DELAY = 0x02,	/* delay_us; with REPORT_PIPE */
	REPORT_HS_RATE = 0x04,	/* hs_rate_byteps; with REPORT_PIPE */
	REPORT_LOSS = 0x08,	/* loss_ms, loss_ttl_ms */
	REPORT_BY_SOURCE = 0x10, /* the source address is a name of the path, too */
	REPORT_SPREAD = 0x20,	/* loss_spread_ms; with REPORT_LOSS */
	REPORT_COST = 0x40,	/* cost */
};

/* The whole state of a path. Fields whose flag isn't set are 0. */
struct report_path {
	uint8_t id;		/* the reporter's number of the path */
	uint8_t flags;
	uint64_t rate_byteps;
	uint64_t hs_rate_byteps;
	uint32_t backlog_bytes;
	uint32_t delay_us;
	uint32_t pipe_ttl_ms;	/* 0: the receiver's default */
	int32_t loss_ms;	/* time of the loss after sending; negative: before */
	uint32_t loss_ttl_ms;	/* 0: the receiver's default */
	uint32_t loss_spread_ms; /* standard deviation of loss_ms */
	uint8_t cost;		/* what using the path costs the reporter */
};

/* The values are the kinds of entries on the wire. */
enum report_name_kind {
	REPORT_NAME_SOURCE = 2,	/* the source address of this datagram */
	REPORT_NAME_PREFIX = 3,	/* of the peer's address */
	REPORT_NAME_SUBFLOW = 4,
};

/* A name of a path. Fields that don't belong to the kind are 0. */
struct report_name {
	uint8_t kind;		/* enum report_name_kind */
	uint8_t id;		/* of the path */
	bool ipv6;		/* this and the next two: for REPORT_NAME_PREFIX */
	uint8_t prefix_len;
	uint8_t address[16];	/* IPv4: the first four bytes */
	uint16_t port;		/* TCP port of the peer; 0 for any */
	uint32_t token;		/* the server's; this and the next two: REPORT_NAME_SUBFLOW */
	uint8_t local_id;	/* address id of the server's side */
	uint8_t remote_id;	/* address id of the client's side */
	bool proven;		/* proof is there; REPORT_NAME_SUBFLOW */
	uint32_t proof;		/* the client's own token of the connection */
};

/* A subflow of a connection, and the path that it takes. */
struct report_flow {
	uint8_t id;		/* of the path */
	uint8_t local_id;	/* address id of the server's side */
	uint8_t remote_id;	/* address id of the client's side */
};

/* All subflows of a connection; none: there is no connection any more. */
struct report_conn {
	uint32_t token;		/* the server's */
	uint32_t proof;		/* the client's own token */
	uint8_t count;
	struct report_flow flows[REPORT_FLOWS_MAX];
};

struct report {
	uint8_t cookie[REPORT_COOKIE_BYTES];	/* zeroes: none yet */
	uint64_t sent_ms;	/* by the sender's clock */
	uint64_t echo;		/* stamp of the newest answer, 0: none yet */
	bool acknowledge;
	unsigned int rates_max;	/* so many are wanted in the answer, and fit into it */
	unsigned int path_count;
	unsigned int name_count;
	unsigned int conn_count;
	unsigned int skipped;	/* number of entries of unknown kinds */
	struct report_path paths[REPORT_PATHS_MAX];
	struct report_name names[REPORT_NAMES_MAX];
	struct report_conn conns[REPORT_CONNS_MAX];
};

/* What the server measured of the way to the reporter over one of its paths. */
struct report_rate {
	uint8_t id;		/* the reporter's number of the path */
	uint32_t age_ms;	/* time since that was measured */
	uint64_t byteps;
};

struct report_answer {
	uint8_t session[REPORT_SESSION_BYTES];	/* of the report answered */
	uint64_t counter;
	uint8_t cookie[REPORT_COOKIE_BYTES];
	uint64_t stamp;		/* the server's time */
	bool taken;
	bool conns;		/* the server takes connections */
	unsigned int rate_count;
	struct report_rate rates[REPORT_PATHS_MAX];
};

/* Returns 0, or -1 if libsodium can't be used here. */
int report_keys_derive(struct report_keys *keys,
		       const uint8_t key[REPORT_KEY_BYTES]);

const char *report_error_name(enum report_error error);

/*
 * Read the header and check it, without the key. After REPORT_VERSION_UNKNOWN the header's id
 * is valid, too.
 */
enum report_error report_peek(const uint8_t *buf, size_t len,
			      struct report_header *header);

/* The length that the report's datagram would have. */
size_t report_bytes(const struct report *report);

/*
 * Encode and encrypt. Returns the datagram's length, or 0 if the report is too large for one.
 * The caller has to pass valid values, and never the same number twice in a session, from 1 to
 * 2^32 - 1 (0 is returned for any other). drawn: random bytes.
 */
size_t report_seal(uint8_t buf[REPORT_BYTES_MAX],
		   const struct report_keys *keys,
		   const uint8_t session[REPORT_SESSION_BYTES],
		   uint64_t number, const struct report *report);
size_t report_seal_answer(uint8_t buf[REPORT_ANSWER_MAX],
			  const struct report_keys *keys,
			  const uint8_t drawn[REPORT_SESSION_BYTES],
			  const struct report_answer *answer);

/*
 * Decrypt and decode a datagram for which report_peek() has returned REPORT_OK and this type.
 * *report or *answer is valid only after REPORT_OK.
 */
enum report_error report_open(const uint8_t *buf, size_t len,
			      const struct report_keys *keys,
			      struct report *report);
enum report_error report_open_answer(const uint8_t *buf, size_t len,
				     const struct report_keys *keys,
				     struct report_answer *answer);

/* Are the values in the ranges of the protocol? */
bool report_path_valid(const struct report_path *path);
bool report_name_valid(const struct report_name *name);
bool report_conn_valid(const struct report_conn *conn);
bool report_rate_valid(const struct report_rate *rate);

/*
 * A window of the last 64 counters: a counter that it has seen, or that is older, is a replay.
 * Starts as { .top = first, .seen = ~0 }, which accepts no older counter.
 */
#define REPORT_WINDOW	64

struct report_window {
	uint64_t top;	/* the largest counter taken */
	uint64_t seen;	/* bit i: top - i was taken */
};

bool report_window_fresh(const struct report_window *window, uint64_t counter);
void report_window_take(struct report_window *window, uint64_t counter);

#endif /* PAMS_REPORT_H */
