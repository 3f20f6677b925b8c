/* SPDX-License-Identifier: GPL-2.0 */
/*
 * session - declarations shared by the files of the server's core
 *
 *	peer.c (a datagram's checks) -> session.c (sessions, cookies, ages)
 *	                             -> held.c (paths and their names)
 *	                             -> conns.c (connections over these paths)
 *	                             -> told.c (what the module knows)
 *
 * The core uses no sockets and no clock: the caller passes times, in ms since boot
 * unless noted otherwise, and struct peers_env has the calls to the module.
 */
#ifndef PAMSD_SESSION_H
#define PAMSD_SESSION_H

#include <sys/queue.h>

#include <sodium.h>

#include "peers.h"

#define SESSIONS_MAX	4	/* of a peer */
/* Of a peer at most 4096 sessions are remembered whose reports were refused. */
#define ASKERS_PLACES	8	/* where each of them may be: a group */
#define ASKERS_GROUPS_MAX	512
#define REFUSED_MAX	16
#define SECRET_BYTES	32
#define AGE_MAX_MS	5000	/* of a report */

static_assert(crypto_generichash_KEYBYTES == SECRET_BYTES, "secret");

/* Lifetime of a cost. Each report renews it, but there are none while no data flows. */
#define COST_MS		600000

/* What was set in the module under a name. */
struct told {
	bool any;
	uint8_t cost;
	uint32_t spread_ms;
	uint64_t pipe_until_ms;
	int64_t loss_at_ms;
	uint64_t loss_until_ms;	/* 0: no loss */
	uint64_t cost_until_ms;	/* 0: no cost */
};

/* A path's state, from the newest report of a session. */
struct held_path {
	uint64_t counter;		/* of that report; 0: none yet */
	int64_t sent_ms;		/* when that report was sent, by our clock */
	struct report_path state;
	uint64_t pipe_until_ms;		/* 0: no pipe */
	int64_t loss_at_ms;		/* may be before this machine's boot */
	uint64_t loss_until_ms;		/* 0: no loss */
	uint64_t cost_until_ms;		/* 0: no cost */
	uint64_t source_counter;	/* of the report that source is from; 0: none */
	struct pams_path source;	/* only the key is set */
	struct told conns;		/* under the subflows of all connections over it */
	union address refused;		/* source address that the peer may not name */
	uint64_t rate_byteps;		/* measured here, of what was sent over it; 0: never */
	uint64_t rate_ms;		/* when that was */
};

LIST_HEAD(conn_list, conn);

struct session {
	uint8_t id[REPORT_SESSION_BYTES];
	uint8_t secret[SECRET_BYTES];	/* key of the session's cookies */
	struct report_window window;
	int64_t least_ms;	/* lowest difference of our clock and sent_ms, see session.c */
	uint64_t established_ms;
	uint64_t heard_ms;	/* when the last report was accepted */
	bool wants_rates;	/* a report wanted them in its answer */
	uint64_t measured_ms;	/* when what its connections carry was looked at */
	union address from;	/* of that report */
	struct held_path paths[REPORT_PATHS_MAX];
	struct conn_list conns;		/* whose connections are the peer's */
	struct conn_list unsure;	/* of which the module couldn't be asked yet */
};

/* One name of a path. */
struct held {
	struct pams_path key;		/* only the key is set */
	struct session *session;	/* of the path; NULL: this place is free */
	uint8_t id;			/* of the path in the session */
	uint64_t named_ms;		/* by the newest report that has this name */
	bool marked;			/* the current report doesn't have this name */
	bool unsure;			/* the module isn't loaded, to ask for the subflow */
	uint32_t proof;			/* of a subflow */
	struct told told;
};

/* A subflow that the kernel was asked for and doesn't have, or not with this proof. */
struct refused {
	uint32_t token, proof;
	uint8_t local_id, remote_id;
	enum drop why;
	uint64_t until_ms;		/* don't ask again until then */
};

/* Which reports of a session were refused. Each is answered once, so that a replay isn't. */
struct asker {
	uint8_t session[REPORT_SESSION_BYTES];
	struct report_window window;
	uint64_t asked_ms;		/* 0: this place is free */
};

struct askers {
	struct asker *list;		/* groups of ASKERS_PLACES */
	unsigned int groups;
};

struct peer {
	const struct peer_config *config;
	struct report_keys keys;
	uint8_t secret[SECRET_BYTES];	/* the sessions' secrets are derived from this */
	struct session *sessions[SESSIONS_MAX];
	struct askers askers;
	struct bucket reports, answers, guesses, late;
	struct refused refused[REFUSED_MAX];
	unsigned int refused_next;
	struct held *held;
	unsigned int held_count;
	struct conn_list *conns;	/* hash table by token; NULL: there was none yet */
	unsigned int conn_count;
	uint8_t conn_key[crypto_shorthash_KEYBYTES];	/* of the hash */
	union address from;		/* of the last report */
	uint64_t accepted, challenged, acknowledged, established, accepted_ms;
	uint64_t version_said_ms, two_said_ms, source_said_ms, unproven_said_ms;
	uint64_t drops[DROPS];
};

/* --- session.c --- */

struct session *session_find(const struct peer *peer, const uint8_t *id);
/*
 * Compute the cookie of the session with this id for this source address. session is NULL if it
 * isn't established.
 */
void session_cookie(const struct peer *peer, const struct session *session,
		    const uint8_t *id, const union address *from,
		    uint8_t cookie[REPORT_COOKIE_BYTES]);
/* The session that the next new one will replace, or NULL. */
struct session *session_replaced(const struct peer *peer);
/* Establish the session of this report, whose cookie and age were checked. */
struct session *session_establish(struct peer *peer,
				  const struct report_header *header,
				  const struct report *report, uint64_t ms);
/* Does the report echo the stamp of a recent answer? */
bool session_echoes(const struct report *report, uint64_t ms);
/* Returns the age of a report in ms, or -1 if it is too old or its age is unknown. */
int64_t session_age(struct session *session, const struct report *report,
		    uint64_t ms);
/*
 * Was what another session said sent after this? A reporter that was started anew has a new
 * session, and reports of its life before come up to AGE_MAX_MS late.
 */
bool session_overtook(int64_t other_ms, int64_t sent_ms);
/* Was this report refused before? Not if it is of one of too many sessions. */
bool session_was_refused(const struct peer *peer, const struct report_header *header);
/* Remember a report as refused. May it be answered now? Answers are rate limited. */
bool session_may_ask(struct peer *peer, const struct report_header *header, uint64_t us);
/* Log once an hour if two hosts seem to use the peer's key at the same time. */
void session_watch(struct peer *peer, const struct session *session,
		   int64_t age_ms, uint64_t ms);

/* --- held.c --- */

/* Process the paths and names of a report, which was sent age_ms before ms. */
void held_take(struct peer *peer, const struct peers_env *env,
	       struct session *session, const struct report *report,
	       uint64_t counter, const union address *from, bool verified,
	       int64_t age_ms, uint64_t ms);
/* Remove the names and connections of that session, here and in the module. */
void held_drop(struct peer *peer, const struct peers_env *env,
	       struct session *session, uint64_t ms);
/* Remove all of them, here and in the module. */
void held_drop_all(struct peer *peer, const struct peers_env *env, uint64_t ms);
/* Set everything in the module again. */
void held_feed(struct peer *peer, const struct peers_env *env, uint64_t ms);
struct json_t *held_status(const struct peer *peer, uint64_t ms);

/* --- conns.c --- */

/* Take a report's connections. */
void conns_take(struct peer *peer, const struct peers_env *env, struct session *session,
		const struct report *report, uint64_t counter, int64_t age_ms, uint64_t ms);
/* Tell the module the state of path id, if it is new, under the subflows of all connections. */
void conns_tell(struct peer *peer, const struct peers_env *env, struct session *session,
		uint8_t id, uint64_t ms);
/* Forget the session's connections, here and in the module. */
void conns_drop(struct peer *peer, const struct peers_env *env, struct session *session,
		uint64_t ms);
/* Set everything in the module again. */
void conns_feed(struct peer *peer, const struct peers_env *env, struct session *session,
		uint64_t ms);
/* Measure what the session's connections carry over each path, once a second at most. */
void conns_measure(struct session *session, const struct peers_env *env, uint64_t ms);
/* How many subflows of the session's connections go over path id? */
unsigned int conns_over(const struct session *session, uint8_t id);
/* Free what is left, without telling the module. */
void conns_free(struct peer *peer);

/* --- told.c --- */

/* Has the module everything of that path's state? */
bool told_is_current(const struct told *told, const struct held_path *path, uint64_t ms);
/*
 * Set what has changed under a name. A previous pamsd may have left a loss or a cost there, so
 * the first time this takes back both, unless they are reported now.
 */
void told_update(struct peer *peer, const struct peers_env *env, const struct pams_path *key,
		 struct told *told, const struct held_path *path, uint64_t ms);
/* The module was loaded anew, and has nothing. */
void told_forget(struct told *told);
void told_withdraw(struct peer *peer, const struct peers_env *env, const struct pams_path *key,
		   const struct told *told, uint64_t ms);

enum owned {
	OWNED_NO,	/* counted among the drops */
	OWNED_YES,
	OWNED_UNSURE,	/* ask again later: the module isn't loaded, or too much was guessed */
};

/*
 * Does the kernel have this subflow, or this connection, and is it the peer's? Each join shows the
 * server's token to everybody on its way, but not the client's, which proves that the connection is
 * the peer's. The rate limit keeps a peer from guessing tokens; another peer's guesses don't count
 * for it. A subflow beyond the limit isn't the peer's: reports name it again.
 */
enum owned owned_subflow(struct peer *peer, const struct peers_env *env,
			 const struct pams_path *key, uint32_t proof, uint64_t ms);
enum owned owned_conn(struct peer *peer, const struct peers_env *env, uint32_t token,
		      uint32_t proof, uint64_t ms);

#endif /* PAMSD_SESSION_H */
