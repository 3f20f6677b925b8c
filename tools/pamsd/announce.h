/* SPDX-License-Identifier: GPL-2.0 */
/*
 * announce - the reporter's side of a session, as numbers
 *
 * What is to be known at the server goes in, and datagrams come out, for the
 * caller to send. No socket and no clock in here: ways are numbers, and times
 * are in ms since boot.
 */
#ifndef PAMSD_ANNOUNCE_H
#define PAMSD_ANNOUNCE_H

#include "../lib/report.h"

#define ANNOUNCE_WAYS_MAX	32
#define ANNOUNCE_NAMES_MAX	160	/* of a path: they fit into a report */
#define ANNOUNCE_SENT_MAX	64
#define ANNOUNCE_NEVER		UINT64_MAX

/* All that there is to know of a path. */
struct announce_path {
	bool has_pipe, has_delay;
	uint64_t rate_byteps;
	uint32_t backlog_bytes;
	uint32_t pipe_ttl_ms;	/* 0: the usual */
	uint32_t delay_us;
	bool loss;
	bool lasting;		/* lost now, and as long as it isn't unsaid */
	uint64_t loss_at_ms;	/* of a loss that isn't lasting, */
	uint32_t loss_spread_ms; /* and its standard deviation */
	uint32_t loss_ttl_ms;	/* 0: the usual */
	uint8_t cost;		/* what using the path costs */
	bool by_source;		/* named by its source address, too */
	uint16_t port;		/* with the source address */
	unsigned int name_count;
	struct report_name names[ANNOUNCE_NAMES_MAX];
};

struct announce_way {
	bool up;		/* reports can be sent over it */
	bool lost;		/* but only as the last one */
	uint64_t moved_us;	/* when it carried data last: best first */
	uint32_t own;		/* bits of the paths that it is the source of */
	/* the announcer's own */
	uint8_t cookie[REPORT_COOKIE_BYTES];
	bool has_cookie;
	bool taught;		/* the server knows the source address */
	uint64_t answered;	/* counter of the report answered last */
	uint64_t heard_ms;	/* when; 0: never */
};

/* A report that was sent, for its answer. */
struct announce_sent {
	uint64_t counter;	/* 0: none */
	uint64_t revision;
	uint32_t paths;		/* bits of those in it */
	uint8_t way;
	bool teaches;
};

struct announcer {
	struct report_keys keys;
	uint8_t session[REPORT_SESSION_BYTES];
	uint64_t counter;	/* of the last report */
	uint64_t echo;		/* the newest answer's stamp, */
	uint64_t echo_counter;	/* and which report it answered */
	uint64_t revision;	/* counts changes */
	struct announce_path paths[REPORT_PATHS_MAX];
	uint64_t changed[REPORT_PATHS_MAX]; /* revision, 0: nothing to say */
	uint64_t acked[REPORT_PATHS_MAX];   /* revision that the server has */
	/* at the last change */
	uint64_t loss_at_ms[REPORT_PATHS_MAX];
	uint32_t loss_spread_ms[REPORT_PATHS_MAX];
	struct announce_way ways[ANNOUNCE_WAYS_MAX];
	unsigned int way_count;
	struct announce_sent sent[ANNOUNCE_SENT_MAX];
	uint64_t since_ms;	/* the last change */
	uint64_t pause_ms;	/* until the next repetition */
	uint64_t next_ms;	/* when it is, or ANNOUNCE_NEVER */
	uint64_t last_ms;	/* when anything was last sent; 0: never */
	uint64_t asked_ms;	/* since when no answer came; 0: one did */
	uint64_t heard_ms;	/* when the last answer came */
	uint64_t reports, answers, dropped;
};

typedef void (*announce_send_fn)(unsigned int way, const uint8_t *buf,
				 size_t len, void *arg);

/* The session is drawn by the caller. */
void announce_init(struct announcer *announcer, const struct report_keys *keys,
		   const uint8_t session[REPORT_SESSION_BYTES]);
/* From now on that is what is known of path id. */
void announce_set(struct announcer *announcer, unsigned int id,
		  const struct announce_path *path, uint64_t ms);
/* Send what is due: restate what isn't acknowledged, over every way. */
void announce_run(struct announcer *announcer, uint64_t ms,
		  announce_send_fn send, void *arg);
/* Send everything over the best way; an answer is asked for now and then. */
void announce_periodic(struct announcer *announcer, uint64_t ms,
		       announce_send_fn send, void *arg);
/* A way has come up, or is another: what isn't known is sent at once. */
void announce_hurry(struct announcer *announcer, uint64_t ms);
/* Take what came; then announce_run() may have something to do at once. */
bool announce_answer(struct announcer *announcer, const uint8_t *buf,
		     size_t len, uint64_t ms);
/* Has the server everything? */
bool announce_is_known(const struct announcer *announcer);

#endif /* PAMSD_ANNOUNCE_H */
