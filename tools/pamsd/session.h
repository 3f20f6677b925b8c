/* SPDX-License-Identifier: GPL-2.0 */
/*
 * session - what the files of the server's core share
 *
 *	peer.c (a datagram's checks) -> session.c (sessions, cookies, ages)
 *	                             -> held.c (paths, their names, the kernel)
 *
 * No sockets and no clock in here: times come in as numbers, in ms since boot
 * unless it is said, and the kernel is behind struct peers_env.
 */
#ifndef PAMSD_SESSION_H
#define PAMSD_SESSION_H

#include <sodium.h>

#include "../lib/netlink.h"
#include "pamsd.h"

#define SESSIONS_MAX	4	/* of a peer */
#define ASKERS_MAX	32
#define REFUSED_MAX	16
#define SECRET_BYTES	32

static_assert(crypto_generichash_KEYBYTES == SECRET_BYTES, "secret");

/* A path as the newest report of a session had it. */
struct held_path {
	uint64_t counter;		/* of that report; 0: none yet */
	struct report_path state;
	uint64_t pipe_until_ms;		/* 0: no pipe */
	int64_t loss_at_ms;		/* may be before this machine's boot */
	uint64_t loss_until_ms;		/* 0: no loss */
	uint64_t cost_until_ms;		/* 0: it costs nothing */
	uint64_t source_counter;	/* of the report that taught it; or 0 */
	struct pams_path source;	/* key only */
	union address refused;		/* a source that it may not name */
};

struct session {
	uint8_t id[REPORT_SESSION_BYTES];
	uint8_t secret[SECRET_BYTES];	/* of cookies */
	struct report_window window;
	int64_t least_ms;	/* our clock less the sender's: the least */
	uint64_t established_ms;
	uint64_t heard_ms;	/* when the last report was taken */
	union address from;	/* of that report */
	struct held_path paths[REPORT_PATHS_MAX];
};

/* One name of a path: what the kernel is told under it. */
struct held {
	struct pams_path key;		/* only the key is set */
	struct session *session;	/* whose path it names, NULL: free */
	uint8_t id;			/* of the path there */
	bool marked;			/* the report under way hasn't got it */
	bool unsure;			/* the kernel couldn't be asked yet */
	bool told;			/* anything, since the module came */
	uint64_t told_pipe_until_ms;
	int64_t told_loss_at_ms;
	uint32_t told_spread_ms;
	uint64_t told_loss_until_ms;	/* 0: no loss */
	uint64_t told_cost_until_ms;	/* 0: it costs nothing */
	uint8_t told_cost;
};

/* A subflow that the kernel didn't have when it was asked. */
struct refused {
	uint32_t token;
	uint8_t local_id, remote_id;
	uint64_t until_ms;		/* it isn't asked again */
};

/* A session that isn't known, and how often it is answered. */
struct asker {
	uint8_t session[REPORT_SESSION_BYTES];
	struct bucket answers;
	uint64_t asked_ms;
};

struct peer {
	const struct peer_config *config;
	struct report_keys keys;
	uint8_t secret[SECRET_BYTES];	/* makes the sessions' secrets */
	struct session *sessions[SESSIONS_MAX];
	struct asker askers[ASKERS_MAX];
	struct bucket reports, answers, guesses;
	struct refused refused[REFUSED_MAX];
	unsigned int refused_next;
	struct held *held;
	unsigned int held_count;
	union address from;		/* of the last report */
	uint64_t accepted, challenged, acknowledged, established, accepted_ms;
	uint64_t version_said_ms, two_said_ms, source_said_ms;
	uint64_t drops[DROPS];
};

/* --- session.c --- */

struct session *session_find(const struct peer *peer, const uint8_t *id);
/* The cookie for that session at that address. */
void session_cookie(const struct peer *peer, const struct session *session,
		    const uint8_t *id, const union address *from,
		    uint8_t cookie[REPORT_COOKIE_BYTES]);
/* The session that the next one replaces, or NULL. */
struct session *session_replaced(const struct peer *peer);
/* The session of this report, which has shown that it is young, is known now. */
struct session *session_establish(struct peer *peer,
				  const struct report_header *header,
				  const struct report *report, uint64_t ms);
/* Does the report echo a stamp that was given a short while ago? */
bool session_echoes(const struct report *report, uint64_t ms);
/* How old a report is, in ms, or -1: too old, or that can't be known. */
int64_t session_age(struct session *session, const struct report *report,
		    uint64_t ms);
/* May a report of a session that isn't known be answered now? */
bool session_may_ask(struct peer *peer, const uint8_t *id, uint64_t us);
/* Say once an hour that two sessions are in use at the same time. */
void session_watch(struct peer *peer, const struct session *session,
		   int64_t age_ms, uint64_t ms);

/* --- held.c --- */

/* Take over what a report says; it was sent age_ms before ms. */
void held_take(struct peer *peer, const struct peers_env *env,
	       struct session *session, const struct report *report,
	       uint64_t counter, const union address *from, bool verified,
	       int64_t age_ms, uint64_t ms);
/* Forget the names of that session, here and in the kernel. */
void held_drop(struct peer *peer, const struct peers_env *env,
	       const struct session *session, uint64_t ms);
/* Forget all names, here and in the kernel. */
void held_drop_all(struct peer *peer, const struct peers_env *env, uint64_t ms);
/* Tell the kernel everything again. */
void held_feed(struct peer *peer, const struct peers_env *env, uint64_t ms);
struct json_t *held_status(const struct peer *peer, uint64_t ms);

#endif /* PAMSD_SESSION_H */
