/* SPDX-License-Identifier: GPL-2.0 */
/*
 * report - the datagrams in which paths are reported, and their protection
 *
 * Documentation/pamsd-report.md is the protocol; this is its codec: functions
 * on buffers and numbers, without sockets, clocks or memory of their own.
 * Only the nonce of a challenge is drawn, by the caller.
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
#define REPORT_VERSION		1
#define REPORT_PATHS_MAX	16

#define REPORT_KEY_BYTES	32	/* shared by the two peers */
#define REPORT_ID_BYTES		8
#define REPORT_SESSION_BYTES	16
#define REPORT_COOKIE_BYTES	16
#define REPORT_TAG_BYTES	16

#define REPORT_HEADER_BYTES	40
#define REPORT_FIXED_BYTES	24
#define REPORT_PATH_BYTES	64
#define REPORT_CHALLENGE_BYTES	(REPORT_HEADER_BYTES + 40 + REPORT_TAG_BYTES)
#define REPORT_BYTES(paths)	(REPORT_HEADER_BYTES + REPORT_FIXED_BYTES + \
				 (paths) * REPORT_PATH_BYTES + REPORT_TAG_BYTES)
#define REPORT_BYTES_MAX	REPORT_BYTES(REPORT_PATHS_MAX)

/* An answer must never be larger than what it answers. */
static_assert(REPORT_BYTES(1) >= REPORT_CHALLENGE_BYTES, "amplifies");

enum report_type {
	REPORT_TYPE_REPORT = 1,
	REPORT_TYPE_CHALLENGE = 2,
};

/* Why a datagram is refused; REPORT_OK is none. */
enum report_error {
	REPORT_OK,
	REPORT_SHORT,		/* too short, or not as long as it says */
	REPORT_MAGIC,		/* not of this protocol */
	REPORT_VERSION_UNKNOWN,
	REPORT_TYPE_UNKNOWN,
	REPORT_AUTH,		/* not by who has the key, or changed */
	REPORT_MALFORMED,	/* authentic, but not as documented */
};

/* What a peer's key gives: one key for each type, and a name for the pair. */
struct report_keys {
	uint8_t id[REPORT_ID_BYTES];
	uint8_t report[REPORT_KEY_BYTES];
	uint8_t challenge[REPORT_KEY_BYTES];
};

/*
 * The part in clear. Session and counter are the nonce, too: of a report they
 * never come twice, of a challenge both are drawn at random.
 */
struct report_header {
	enum report_type type;
	uint8_t id[REPORT_ID_BYTES];
	uint8_t session[REPORT_SESSION_BYTES];
	uint64_t counter;
};

enum report_key {
	REPORT_KEY_SOURCE = 0,	/* from where this datagram is seen to come */
	REPORT_KEY_LEARNT = 1,	/* from where a datagram came that named id */
	REPORT_KEY_ADDRESS4 = 4,
	REPORT_KEY_ADDRESS6 = 6,
};

enum report_flags {
	REPORT_PIPE = 0x01,	/* rate_byteps, backlog_bytes, pipe_ttl_ms */
	REPORT_DELAY = 0x02,	/* delay_us; with REPORT_PIPE */
	REPORT_HS_RATE = 0x04,	/* hs_rate_byteps; with REPORT_PIPE */
	REPORT_LOSS = 0x08,	/* loss_ms, loss_ttl_ms */
	REPORT_NO_LOSS = 0x10,	/* instead of REPORT_LOSS */
	REPORT_FLAGS_ALL = 0x1f,
};

struct report_path {
	uint8_t flags;
	uint8_t key;		/* enum report_key */
	uint8_t id;		/* the reporter's number for it, any */
	uint8_t prefix_len;	/* of address; 0 for the first two keys */
	uint16_t port;		/* TCP's, of the peer; 0 for any */
	uint8_t address[16];	/* IPv4: the first four bytes */
	uint64_t rate_byteps;
	uint64_t hs_rate_byteps;
	uint32_t backlog_bytes;
	uint32_t delay_us;
	uint32_t loss_ms;	/* from now on */
	uint32_t pipe_ttl_ms;	/* 0: as long as the receiver likes */
	uint32_t loss_ttl_ms;	/* likewise */
};

struct report {
	uint8_t cookie[REPORT_COOKIE_BYTES];	/* zeroes: none yet */
	unsigned int count;
	struct report_path paths[REPORT_PATHS_MAX];
};

struct report_challenge {
	uint8_t session[REPORT_SESSION_BYTES];	/* of the report answered */
	uint64_t counter;
	uint8_t cookie[REPORT_COOKIE_BYTES];
};

/* 0, or -1 if the library of ciphers can't be used here. */
int report_keys_derive(struct report_keys *keys,
		       const uint8_t key[REPORT_KEY_BYTES]);

const char *report_error_name(enum report_error error);

/* The header, if this can be a datagram of the protocol at all. */
enum report_error report_peek(const uint8_t *buf, size_t len,
			      struct report_header *header);

/*
 * Encrypt. The caller sees to it that count is 1 to REPORT_PATHS_MAX and that
 * no counter comes twice in a session. Gives the datagram's length.
 */
size_t report_seal(uint8_t buf[REPORT_BYTES_MAX],
		   const struct report_keys *keys,
		   const uint8_t session[REPORT_SESSION_BYTES],
		   uint64_t counter, const struct report *report);
size_t report_seal_challenge(uint8_t buf[REPORT_CHALLENGE_BYTES],
			     const struct report_keys *keys,
			     const uint8_t nonce_session[REPORT_SESSION_BYTES],
			     uint64_t nonce_counter,
			     const struct report_challenge *challenge);

/*
 * Decrypt what report_peek() found to be of that type; nothing is in *report
 * unless the answer is REPORT_OK.
 */
enum report_error report_open(const uint8_t *buf, size_t len,
			      const struct report_keys *keys,
			      struct report *report);
enum report_error report_open_challenge(const uint8_t *buf, size_t len,
					const struct report_keys *keys,
					struct report_challenge *challenge);

/* Is what this says of a path as documented? */
bool report_path_valid(const struct report_path *path);

/*
 * The last 64 counters that were seen: what is in it or older is a replay.
 * Starts as { .top = first, .seen = ~0 }, which takes nothing older.
 */
#define REPORT_WINDOW	64

struct report_window {
	uint64_t top;	/* the largest counter taken */
	uint64_t seen;	/* bit i: top - i was taken */
};

bool report_window_fresh(const struct report_window *window, uint64_t counter);
void report_window_take(struct report_window *window, uint64_t counter);

#endif /* PAMS_REPORT_H */
