/* SPDX-License-Identifier: GPL-2.0 */
/*
 * announce - the reporter's side of a session
 *
 * The input is the state of the paths, the output are datagrams for the caller to
 * send. announce.c uses no sockets and no clock: a way (an interface to send from
 * and an address of the server) is a number, and times are in ms since boot.
 */
#ifndef PAMSD_ANNOUNCE_H
#define PAMSD_ANNOUNCE_H

#include <sys/queue.h>

#include "../../lib/report.h"

#define ANNOUNCE_WAYS_MAX	32
#define ANNOUNCE_NAMES_MAX	100	/* per path: these fit into one report, with proofs */
#define ANNOUNCE_SENT_MAX	64
#define ANNOUNCE_NEVER		UINT64_MAX

/* The state of a path, which the server is to know. */
struct announce_path {
	bool has_pipe, has_delay;
	uint64_t rate_byteps;
	uint32_t backlog_bytes;
	uint32_t pipe_ttl_ms;	/* 0: the default */
	uint32_t delay_us;
	bool loss;
	bool lasting;		/* the path is lost now, until it is set to no loss */
	uint64_t loss_at_ms;	/* time of a loss that isn't lasting */
	uint32_t loss_spread_ms; /* standard deviation of loss_at_ms */
	uint32_t loss_ttl_ms;	/* 0: the default */
	uint32_t loss_sets;	/* how often the loss was set */
	uint8_t cost;		/* of using the path */
	bool by_source;		/* the source address is a name of the path, too */
	uint16_t port;		/* TCP port that belongs to this name; 0: any */
	unsigned int name_count;
	struct report_name names[ANNOUNCE_NAMES_MAX];
};

struct announce_way {
	bool up;		/* reports can be sent over it */
	bool lost;		/* its interface's path is lost, so this way comes last */
	uint64_t moved_us;	/* when it carried data last: the latest way comes first */
	uint32_t own;		/* bits of the paths whose source address this way has */
	/* only the announcer sets the following */
	uint8_t cookie[REPORT_COOKIE_BYTES];
	bool has_cookie;
	bool taught;		/* the server knows the way's source address */
	uint64_t answered;	/* counter of the report that was answered last */
	uint64_t heard_ms;	/* when that answer came; 0: never */
	uint64_t asked_ms;	/* since when it owes an answer; 0: it owes none */
};

LIST_HEAD(announce_conns, announce_conn);
TAILQ_HEAD(announce_queue, announce_conn);

/* A report that was sent, stored until its answer comes. */
struct announce_sent {
	uint64_t counter;	/* 0: none */
	uint64_t revision;
	uint32_t paths;		/* bits of the paths in the report */
	uint8_t way;
	bool teaches;		/* the server learns the way's source address by it */
	bool conns;		/* it has connections */
};

struct announcer {
	struct report_keys keys;
	uint8_t session[REPORT_SESSION_BYTES];
	uint64_t counter;	/* of the last report */
	uint64_t echo;		/* stamp of the newest answer */
	uint64_t echo_counter;	/* counter of the report that it answered */
	uint64_t revision;	/* counts changes */
	struct announce_path paths[REPORT_PATHS_MAX];
	uint64_t changed[REPORT_PATHS_MAX]; /* revision of the last change, 0: unused path */
	uint64_t acked[REPORT_PATHS_MAX];   /* revision that the server has acknowledged */
	/* the values of the last change */
	uint64_t loss_at_ms[REPORT_PATHS_MAX];
	uint32_t loss_spread_ms[REPORT_PATHS_MAX];
	struct announce_way ways[ANNOUNCE_WAYS_MAX];
	unsigned int way_count;
	struct announce_sent sent[ANNOUNCE_SENT_MAX];
	uint64_t since_ms;	/* time of the last change */
	uint64_t pause_ms;	/* pause before the next repetition */
	uint64_t news_ms;	/* time of the next repetition, or ANNOUNCE_NEVER */
	struct announce_conns *conns;	/* hash table by token; NULL: there was none yet */
	unsigned int conn_count;	/* in the table */
	struct announce_queue waiting;	/* what the server doesn't know, in the order of sending */
	bool takes_conns;	/* the server does */
	unsigned int conn_reports;	/* sent with connections since the last answer */
	uint64_t conns_ms;	/* when the last one was */
	uint64_t conns_pause_ms;	/* before they are repeated */
	uint64_t next_ms;	/* when announce_run() has something to do, or ANNOUNCE_NEVER */
	uint64_t last_ms;	/* when anything was last sent; 0: never */
	uint64_t asked_ms;	/* since when the server owes an answer; 0: it owes none */
	uint64_t heard_ms;	/* when the last answer came */
	uint64_t reports, answers, dropped;
	bool wants_rates;	/* reports make room for them in the answer */
	unsigned int rate_count;	/* of the last answer, which announce_answer() took */
	struct report_rate rates[REPORT_PATHS_MAX];
};

typedef void (*announce_send_fn)(unsigned int way, const uint8_t *buf,
				 size_t len, void *arg);

/* The caller draws the session id at random. */
void announce_init(struct announcer *announcer, const struct report_keys *keys,
		   const uint8_t session[REPORT_SESSION_BYTES]);
/* Set the state of path id. */
void announce_set(struct announcer *announcer, unsigned int id,
		  const struct announce_path *path, uint64_t ms);
/*
 * Set a connection's subflows and their paths; none if it is closed. A server that takes no
 * connections, since it is older, needs the names of announce_set() as well.
 */
void announce_conn(struct announcer *announcer, const struct report_conn *conn, uint64_t ms);
/* Free what the announcer has. */
void announce_end(struct announcer *announcer);
/* If it is time, send everything over every way until the server has acknowledged it. */
void announce_run(struct announcer *announcer, uint64_t ms,
		  announce_send_fn send, void *arg);
/* Send everything over the best way, and request an answer now and then. */
void announce_periodic(struct announcer *announcer, uint64_t ms,
		       announce_send_fn send, void *arg);
/* Repeat at once what isn't acknowledged, since a way has come up or has changed. */
void announce_hurry(struct announcer *announcer, uint64_t ms);
/*
 * Process a received datagram. Returns whether it was an answer of the server. Call
 * announce_run() afterwards, which may have something to send at once.
 */
bool announce_answer(struct announcer *announcer, const uint8_t *buf,
		     size_t len, uint64_t ms);
/* Has the server acknowledged everything? */
bool announce_is_known(const struct announcer *announcer);

#endif /* PAMSD_ANNOUNCE_H */
