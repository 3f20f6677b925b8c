/* SPDX-License-Identifier: GPL-2.0 */
/*
 * netlink - a client of the module mptcp_pams
 *
 * It speaks the generic-netlink family of
 * Documentation/netlink/specs/mptcp_pams.yaml. A handle lives through the
 * module's unload and reload: while the module is out every call returns
 * -ENOENT, and works again when it is back.
 *
 * Units: rates in bytes per second, sizes in bytes, delays in us, times in ms;
 * numbers in the host's byte order, addresses as on the wire. Limits are those
 * of <linux/mptcp_pams.h>; the kernel checks them, not this library.
 *
 * Functions that return an int return 0 or a negative errno, unless they say
 * otherwise. Those that the kernel gives:
 *
 *	-ENOENT		no such path or connection, or the module isn't loaded:
 *			pams_nl_loaded() tells
 *	-EINVAL		a value is missing, too much or wrong; -ERANGE: out of
 *			range; -EOPNOTSUPP: the module is older than this
 *	-ENOSPC		there are as many paths as the namespace may have
 *	-EPERM		not without CAP_NET_ADMIN
 *	-ENOMEM		no memory, here or there
 *
 * pams_nl_error() says it in words. A handle belongs to one thread and to the
 * network namespace in which it was opened.
 */
#ifndef PAMS_NETLINK_H
#define PAMS_NETLINK_H

#include <stdbool.h>
#include <stdint.h>

struct pams_nl;

#define PAMS_ORIGIN_MAX	16	/* the name and its end */

enum pams_key {
	PAMS_KEY_ADDRESS,
	PAMS_KEY_TOKEN,
	PAMS_KEY_IFINDEX,
};

/*
 * A path: its key, then what is reported about it. A request's values that
 * have no has_ aren't given if 0.
 */
struct pams_path {
	enum pams_key key;

	/* PAMS_KEY_ADDRESS: the peer's */
	int family;		/* AF_INET or AF_INET6 */
	uint8_t address[16];	/* the first 4 bytes for AF_INET */
	uint8_t prefix_len;	/* bits, 0 to 32 or 128; 32 or 128: a host */
	uint16_t port;		/* 0: any */

	/* PAMS_KEY_TOKEN: one subflow of a connection */
	uint32_t token;
	uint8_t local_id;
	uint8_t remote_id;

	/* PAMS_KEY_IFINDEX: whatever leaves there, 1 to 2^31 - 1 */
	uint32_t ifindex;

	/* the pipe, if has_pipe; renewed as a whole */
	bool has_pipe;
	bool has_delay;
	uint64_t rate_byteps;	/* 125 to 12500000000 */
	uint32_t backlog_bytes;	/* up to 2^31 */
	uint32_t delay_us;	/* if has_delay, up to 60000000 */
	uint64_t hs_rate_byteps; /* of the way to the helper; 0: unknown */

	/* the loss: has_loss, or no_loss to take it away */
	bool has_loss;
	bool no_loss;
	int32_t loss_ms;	/* until the loss; < 0 in answers: it was */
	uint32_t loss_spread_ms; /* its standard deviation */

	/* what using the path costs, if has_cost, 0 to 15 */
	bool has_cost;
	uint8_t cost;

	/* who reports, or reported last: printable ASCII, or "" */
	char origin[PAMS_ORIGIN_MAX];

	/* requests */
	uint32_t ttl_ms;	/* 0: the module's default; of a cost: never expires */
	bool until_deleted;	/* instead of ttl_ms: it never expires */

	/* answers */
	uint32_t pipe_age_ms;	/* since it was reported */
	bool pipe_stays;	/* until it is deleted, it never expires */
	bool loss_stays;
	uint32_t pipe_expires_ms; /* unless it stays */
	uint32_t loss_expires_ms;
	bool cost_stays;
	uint32_t cost_expires_ms;
};

/* A subflow, as a decision would see it now. 0 where nothing is known. */
struct pams_subflow {
	uint32_t id;		/* the connection's number, never used again */
	uint8_t local_id;	/* address ids */
	uint8_t remote_id;
	int family;		/* AF_INET or AF_INET6; AF_UNSPEC: unknown */
	uint8_t local[16];	/* addresses, the first 4 bytes for AF_INET */
	uint8_t remote[16];
	uint16_t local_port;
	uint16_t remote_port;
	uint32_t ifindex;
	uint32_t srtt_us;
	uint32_t min_rtt_us;
	uint32_t cwnd;		/* packets */
	uint32_t in_flight;	/* packets */
	uint32_t mss_bytes;
	uint64_t unsent_bytes;
	uint64_t outstanding_bytes;
	uint64_t rate_byteps;	/* Th, the lower one of path and pipe */
	uint32_t owd_us;
	uint64_t pad_ns;	/* if has_pad */
	bool has_pad;
	bool idle;		/* the window has room */
	bool stopped;		/* nothing is scheduled here */
	bool backup;
	bool unusable;		/* stale, joining or closing */
	bool pipe;		/* the PAD is that of a path through a helper */
	bool has_loss;
	int32_t loss_ms;	/* until the loss, < 0: it was */
	uint64_t reinjected_bytes;
	uint32_t stops;
	uint8_t cost;		/* of its path */
};

#define PAMS_SCHEDULER_MAX	32	/* the name and its end */

/* The application waits for room in the buffer: no number of bytes. */
#define PAMS_UNSCHEDULED_FULL	UINT64_MAX

/* A connection that has one of the module's schedulers. */
struct pams_conn {
	uint32_t token;		/* as ss -M shows it */
	char scheduler[PAMS_SCHEDULER_MAX];
	uint64_t unscheduled_bytes; /* or PAMS_UNSCHEDULED_FULL */
	uint64_t decisions;
	uint64_t deferrals;
	uint64_t kicks;
	uint64_t stops;
	uint64_t reinjected_bytes;
	bool has_rule;		/* rules chose the scheduler: */
	uint32_t rule;		/* this one, or 0, the default */
	uint64_t unit_left_bytes; /* of the application's unit; 0: there is none */
	unsigned int subflows;	/* how many */
	struct pams_subflow *subflow;
};

/* What a connection's costlier paths are used for; 0 and 0, if said: nothing. */
struct pams_overflow {
	bool said;		/* else as the sysctls say */
	uint32_t delay_ms;	/* what the cheaper ones would deliver later than that */
	uint32_t percent;	/* or what takes longer than that, of the time over all */
	bool copies;		/* what is sent a second time, too */
};

#define PAMS_CGROUP_MAX	512	/* the path and its end */

/* Which connections a rule fits, all that is given, and what these get. */
struct pams_rule {
	uint32_t number;	/* in answers; from 1 on */
	char cgroup[PAMS_CGROUP_MAX]; /* or "" */
	bool has_mark;
	uint32_t mark;
	uint32_t mask;
	bool has_uid;
	uint32_t uid;
	uint16_t local_min;	/* ports; 0 to 65535: any */
	uint16_t local_max;
	uint16_t remote_min;
	uint16_t remote_max;
	int family;		/* of the peer's address, or AF_UNSPEC: any */
	uint8_t address[16];	/* the first 4 bytes for AF_INET */
	uint8_t prefix_len;
	bool client;		/* made from here only */
	bool server;		/* accepted here only */
	char scheduler[PAMS_SCHEDULER_MAX];
	uint32_t first_bytes;	/* of redundant; 0: the sysctl's */
	struct pams_overflow overflow;
};

/* The table of rules. */
struct pams_rules {
	uint32_t generation;	/* 0 in a request: whatever is there */
	char scheduler[PAMS_SCHEDULER_MAX]; /* the default; "": the module's */
	uint32_t first_bytes;
	struct pams_overflow overflow;
	unsigned int nr;
	struct pams_rule *rule;	/* free() it */
};

#define PAMS_DESCRIPTION_MAX	128	/* the line and its end; a longer one is cut */

/* One of the module's schedulers. */
struct pams_scheduler {
	char name[PAMS_SCHEDULER_MAX];
	char description[PAMS_DESCRIPTION_MAX];
	bool first_bytes;	/* a rule may give it some */
	bool by_rules;		/* the rules choose another one; none may name it */
};

/* Totals of the namespace. */
struct pams_stats {
	uint32_t conns;
	uint32_t paths;
	uint32_t paths_max;
	uint64_t reports;
	uint64_t refused;
	uint64_t expired;
	uint64_t decisions;
	uint64_t deferrals;
	uint64_t kicks;
	uint64_t stops;
	uint64_t reinjected_bytes;
};

enum pams_event_kind {
	PAMS_EVENT_PATH_SET,		/* path: what was given */
	PAMS_EVENT_PATH_DEL,		/* path: its key; NULL: all paths */
	PAMS_EVENT_PATH_EXPIRED,	/* path: as it was */
	PAMS_EVENT_PATH_STOPPED,	/* conn, with the one subflow */
	PAMS_EVENT_SUBFLOW_REMOVED,	/* conn, with the one subflow */
	PAMS_EVENT_REINJECT,		/* conn, with the one subflow */
	PAMS_EVENT_LOADED,		/* the module is in: it knows nothing */
	PAMS_EVENT_UNLOADED,		/* the module is out */
	PAMS_EVENT_LOST,		/* events came faster than they were
					 * received, some are missing
					 */
};

struct pams_event {
	enum pams_event_kind kind;
	const struct pams_path *path;	/* or NULL */
	const struct pams_conn *conn;	/* or NULL */
};

/*
 * Called for each answer; what is pointed at is only valid during the call. A
 * call that returns other than 0 is the last, and its value (choose one below
 * 0) is what the function that called it returns. Must not use the handle.
 */
typedef int (*pams_path_fn)(const struct pams_path *path, void *arg);
typedef int (*pams_conn_fn)(const struct pams_conn *conn, void *arg);
typedef int (*pams_scheduler_fn)(const struct pams_scheduler *scheduler, void *arg);
typedef int (*pams_event_fn)(const struct pams_event *event, void *arg);

/*
 * Make a handle. -ENOENT: the module isn't loaded, but *nl is a handle all the
 * same, which works as soon as it is, and is to be closed like any other. After
 * any other error *nl is NULL. Needs no privilege.
 */
int pams_nl_open(struct pams_nl **nl);

/* Free the handle and its sockets; NULL is fine. */
void pams_nl_close(struct pams_nl *nl);

/* Did the last call find the module? Asks nobody. */
bool pams_nl_loaded(const struct pams_nl *nl);

/*
 * What was wrong in the last call, one line without a newline: the attribute's
 * name, the kernel's text and the range that it allows, as far as known. Valid
 * until the next call. "" after success.
 */
const char *pams_nl_error(const struct pams_nl *nl);

/* The name of the attribute that was wrong or missing, or NULL. */
const char *pams_nl_bad_attribute(const struct pams_nl *nl);

/*
 * Report a path: make it, or renew what is given. Of a pipe the rate is
 * needed. None of the calls waits for more than the kernel's answer, which it
 * gives at once.
 */
int pams_nl_path_set(struct pams_nl *nl, const struct pams_path *path);

/* Forget the path of that key. */
int pams_nl_path_del(struct pams_nl *nl, const struct pams_path *path);

/* Forget all paths of the namespace. */
int pams_nl_path_flush(struct pams_nl *nl);

/* Fill in what is known of the path of that key: *path, whole, if 0. */
int pams_nl_path_get(struct pams_nl *nl, struct pams_path *path);

/*
 * All paths, in no order. Taken down whole before the first call of fn, and
 * again if it changed meanwhile; returns 1 if it never stood still, so that
 * some may be missing or come twice. Needs about 200 bytes per path.
 */
int pams_nl_path_dump(struct pams_nl *nl, pams_path_fn fn, void *arg);

/* The connection with this token. fn is called once, if 0. */
int pams_nl_conn_get(struct pams_nl *nl, uint32_t token, pams_conn_fn fn,
		     void *arg);

/* All connections; as pams_nl_path_dump(). */
int pams_nl_conn_dump(struct pams_nl *nl, pams_conn_fn fn, void *arg);

/* The rules. Needs CAP_NET_ADMIN. *rules is filled in, whole, if 0. */
int pams_nl_rules_get(struct pams_nl *nl, struct pams_rules *rules);

/*
 * Replace the rules as a whole, or not at all. -EBUSY: the generation is another one by
 * now; -ENOSPC: they are too many.
 */
int pams_nl_rules_set(struct pams_nl *nl, const struct pams_rules *rules);

/* The module's schedulers. -EOPNOTSUPP: a module of 0.1.0 doesn't tell them. */
int pams_nl_sched_dump(struct pams_nl *nl, pams_scheduler_fn fn, void *arg);

/* The namespace's totals. */
int pams_nl_stats(struct pams_nl *nl, struct pams_stats *stats);

/*
 * Receive events from now on, with the module in or out. Once per handle:
 * -EALREADY after that.
 */
int pams_nl_subscribe(struct pams_nl *nl);

/* The file descriptor to poll for reading, or -1 if not subscribed. */
int pams_nl_event_fd(const struct pams_nl *nl);

/*
 * Hand the events that wait to fn; never blocks. Returns how many there were,
 * at most 64 datagrams' worth, so poll again; or a negative errno, or what fn
 * returned. Events that it doesn't know are passed over.
 */
int pams_nl_receive(struct pams_nl *nl, pams_event_fn fn, void *arg);

/* Set the key: a host of that family, from its 4 or 16 bytes; port 0: any. */
void pams_path_key_address(struct pams_path *path, int family,
			   const void *address, uint16_t port);

/* Set the key: one subflow of a connection. */
void pams_path_key_token(struct pams_path *path, uint32_t token,
			 uint8_t local_id, uint8_t remote_id);

/* Set the key: an interface. */
void pams_path_key_ifindex(struct pams_path *path, uint32_t ifindex);

/* The event's name: "path-expired", "loaded", ... */
const char *pams_event_name(enum pams_event_kind kind);

#endif
