/* SPDX-License-Identifier: GPL-2.0 */
/*
 * netlink - a client of the module mptcp_pams
 *
 * It speaks the generic-netlink family of
 * Documentation/netlink/specs/mptcp_pams.yaml. A handle stays valid while the
 * module is unloaded and loaded again: in between every call returns -ENOENT.
 *
 * Units: rates in bytes per second, sizes in bytes, delays in us, times in ms;
 * numbers in the host's byte order, addresses as on the wire. Limits are those
 * of <linux/mptcp_pams.h>; the kernel checks them, not this library.
 *
 * Functions that return an int return 0 or a negative errno, unless noted
 * otherwise. Errors of the kernel are:
 *
 *	-ENOENT		no such path or connection, or the module isn't loaded,
 *			which pams_nl_loaded() tells apart
 *	-EINVAL		a value is missing, superfluous or wrong; -ERANGE: out of
 *			range; -EOPNOTSUPP: the module is older than this client
 *	-ENOSPC		the namespace has as many paths as it may have
 *	-EPERM		the caller lacks CAP_NET_ADMIN
 *	-ENOMEM		no memory, here or in the kernel
 *
 * pams_nl_error() has a text. A handle belongs to one thread and to the network
 * namespace in which it was opened.
 */
#ifndef PAMS_NETLINK_H
#define PAMS_NETLINK_H

#include <stdbool.h>
#include <stdint.h>

struct pams_nl;

#define PAMS_ORIGIN_MAX	16	/* with the terminating zero */

enum pams_key {
	PAMS_KEY_ADDRESS,
	PAMS_KEY_TOKEN,
	PAMS_KEY_IFINDEX,
};

/*
 * A path: its key, then the values reported about it. In a request, values without a has_
 * are left out if 0.
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

	/* PAMS_KEY_IFINDEX: all that leaves through this interface, 1 to 2^31 - 1 */
	uint32_t ifindex;

	/* the pipe, if has_pipe; a request replaces all of it */
	bool has_pipe;
	bool has_delay;
	uint64_t rate_byteps;	/* 125 to 12500000000 */
	uint32_t backlog_bytes;	/* up to 2^31 */
	uint32_t delay_us;	/* if has_delay, up to 60000000 */
	uint64_t hs_rate_byteps; /* of the way to the helper; 0: unknown */

	/* the loss: has_loss, or no_loss to delete it */
	bool has_loss;
	bool no_loss;
	int32_t loss_ms;	/* time until the loss; < 0 in answers: it is in the past */
	uint32_t loss_spread_ms; /* standard deviation of loss_ms */

	/* the cost of using the path, if has_cost, 0 to 15 */
	bool has_cost;
	uint8_t cost;

	/* the program that reports, or reported last: printable ASCII, or "" */
	char origin[PAMS_ORIGIN_MAX];

	/* only in requests */
	uint32_t ttl_ms;	/* 0: the module's default, or no lifetime for a cost */
	bool until_deleted;	/* instead of ttl_ms: the values never expire */

	/* only in answers */
	uint32_t pipe_age_ms;	/* time since the pipe was reported */
	bool pipe_stays;	/* the pipe never expires */
	bool loss_stays;
	uint32_t pipe_expires_ms; /* unless it stays */
	uint32_t loss_expires_ms;
	bool cost_stays;
	uint32_t cost_expires_ms;
};

/* A subflow, as the scheduler would see it now. Unknown values are 0. */
struct pams_subflow {
	uint32_t id;		/* subflow's number in the connection, never reused */
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
	uint64_t rate_byteps;	/* Th, the lower one of the path's and the pipe's */
	uint32_t owd_us;
	uint64_t pad_ns;	/* if has_pad */
	bool has_pad;
	bool idle;		/* the window has room */
	bool stopped;		/* nothing is scheduled here */
	bool backup;
	bool unusable;		/* stale, joining or closing */
	bool pipe;		/* the PAD is that of a path through a helper */
	bool has_loss;
	int32_t loss_ms;	/* time until the loss, < 0: it is in the past */
	uint64_t reinjected_bytes;
	uint32_t stops;
	uint8_t cost;		/* of its path */
};

#define PAMS_SCHEDULER_MAX	32	/* with the terminating zero */

/* Instead of a number of bytes: the send buffer is full, and the application waits. */
#define PAMS_UNSCHEDULED_FULL	UINT64_MAX

/* A connection that has one of the module's schedulers. */
struct pams_conn {
	uint32_t token;		/* as ss -M shows */
	char scheduler[PAMS_SCHEDULER_MAX];
	uint64_t unscheduled_bytes; /* or PAMS_UNSCHEDULED_FULL */
	uint64_t decisions;
	uint64_t deferrals;
	uint64_t kicks;
	uint64_t stops;
	uint64_t reinjected_bytes;
	bool has_rule;		/* the rules chose the scheduler */
	uint32_t rule;		/* number of the rule; 0: the default */
	uint64_t unit_left_bytes; /* rest of the application's unit; 0: no unit */
	unsigned int subflows;	/* number of elements of subflow */
	struct pams_subflow *subflow;
};

/* When a connection uses its costlier paths; never if both numbers are 0, and said is set. */
struct pams_overflow {
	bool said;		/* if not set, the sysctls apply */
	uint32_t delay_ms;	/* for data that cheaper paths would deliver later than this */
	uint32_t percent;	/* or later than this percentage of all paths' completion time */
	bool copies;		/* for copies of data that was sent already, too */
};

#define PAMS_CGROUP_MAX	512	/* with the terminating zero */

/* A rule: the conditions, all of which a connection has to match, and the scheduler it gets. */
struct pams_rule {
	uint32_t number;	/* only in answers; counts from 1 */
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
	bool client;		/* only connections that this host has opened */
	bool server;		/* only connections that this host has accepted */
	char scheduler[PAMS_SCHEDULER_MAX];
	uint32_t first_bytes;	/* parameter of redundant; 0: the sysctl's */
	struct pams_overflow overflow;
};

/* The table of rules. */
struct pams_rules {
	uint32_t generation;	/* in a request the expected one; 0: any */
	char scheduler[PAMS_SCHEDULER_MAX]; /* the default; "": the module's default */
	uint32_t first_bytes;
	struct pams_overflow overflow;
	unsigned int nr;
	struct pams_rule *rule;	/* the caller calls free() */
};

#define PAMS_DESCRIPTION_MAX	128	/* with the terminating zero; longer text is cut */

/* One of the module's schedulers. */
struct pams_scheduler {
	char name[PAMS_SCHEDULER_MAX];
	char description[PAMS_DESCRIPTION_MAX];
	bool first_bytes;	/* a rule may set first_bytes for it */
	bool by_rules;		/* it makes rules choose the scheduler; no rule may name it */
	uint32_t fd;		/* of a question only */
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
	PAMS_EVENT_PATH_SET,		/* path: the values of the request */
	PAMS_EVENT_PATH_DEL,		/* path: its key; NULL: all paths */
	PAMS_EVENT_PATH_EXPIRED,	/* path: its values before it expired */
	PAMS_EVENT_PATH_STOPPED,	/* conn with only this subflow */
	PAMS_EVENT_SUBFLOW_REMOVED,	/* conn with only this subflow */
	PAMS_EVENT_REINJECT,		/* conn with only this subflow */
	PAMS_EVENT_LOADED,		/* the module was loaded: it has no paths */
	PAMS_EVENT_UNLOADED,		/* the module was unloaded */
	PAMS_EVENT_LOST,		/* the socket's buffer overflowed, so
					 * events are missing
					 */
};

struct pams_event {
	enum pams_event_kind kind;
	const struct pams_path *path;	/* or NULL */
	const struct pams_conn *conn;	/* or NULL */
};

/*
 * Callbacks for each answer or event. The pointed-to data is only valid during the call. If a
 * callback doesn't return 0, it isn't called again, and the function that called it returns
 * the same value, which should be below 0. A callback must not use the handle.
 */
typedef int (*pams_path_fn)(const struct pams_path *path, void *arg);
typedef int (*pams_conn_fn)(const struct pams_conn *conn, void *arg);
typedef int (*pams_scheduler_fn)(const struct pams_scheduler *scheduler, void *arg);
typedef int (*pams_event_fn)(const struct pams_event *event, void *arg);

/*
 * Open a handle. Needs no privilege. -ENOENT: the module isn't loaded; *nl is a handle all
 * the same, which works once the module is loaded, and has to be closed. After any other
 * error *nl is NULL.
 */
int pams_nl_open(struct pams_nl **nl);

/* Free the handle and its sockets. nl may be NULL. */
void pams_nl_close(struct pams_nl *nl);

/* Did the last call find the module? Sends no request. */
bool pams_nl_loaded(const struct pams_nl *nl);

/*
 * The error of the last call, as one line without a newline: the attribute's name, the
 * kernel's text and the allowed range, as far as known. Valid until the next call; "" after
 * success.
 */
const char *pams_nl_error(const struct pams_nl *nl);

/* The name of the attribute that was wrong or missing, or NULL. */
const char *pams_nl_bad_attribute(const struct pams_nl *nl);

/*
 * Report a path: create it, or update the given values. A pipe needs a rate. Like all calls
 * this waits only for the kernel's answer, which comes at once.
 */
int pams_nl_path_set(struct pams_nl *nl, const struct pams_path *path);

/* Delete the path with path's key. */
int pams_nl_path_del(struct pams_nl *nl, const struct pams_path *path);

/* One of several changes: values of a path that are set, or a path that is deleted. */
struct pams_change {
	bool del;
	struct pams_path path;
};

#define PAMS_CHANGES_MAX	64

typedef void (*pams_refused_fn)(const struct pams_change *change, int error, void *arg);

/*
 * Make changes in this order, PAMS_CHANGES_MAX at most, with one question to the kernel and its
 * one answer. Call refused() for each that the kernel refuses; pams_nl_error() says why. A path to
 * be deleted that isn't there is none of them.
 */
int pams_nl_path_batch(struct pams_nl *nl, const struct pams_change *changes, unsigned int count,
		       pams_refused_fn refused, void *arg);

/* Delete all paths of the namespace. */
int pams_nl_path_flush(struct pams_nl *nl);

/* Read the path with path's key. If that returns 0, all of *path is filled in. */
int pams_nl_path_get(struct pams_nl *nl, struct pams_path *path);

/*
 * Call fn for all paths, in no particular order. The dump is read completely before the first
 * call, and again if it changes meanwhile; returns 1 if it changed each time, so that paths may
 * be missing or duplicate. Needs about 200 bytes of memory per path.
 */
int pams_nl_path_dump(struct pams_nl *nl, pams_path_fn fn, void *arg);

/* Call fn once for the connection with this token, if there is one. */
int pams_nl_conn_get(struct pams_nl *nl, uint32_t token, pams_conn_fn fn,
		     void *arg);

/* The same for somebody who says to be its peer: -EACCES unless the peer has this token. */
int pams_nl_conn_get_as(struct pams_nl *nl, uint32_t token, uint32_t peer_token,
			pams_conn_fn fn, void *arg);

/*
 * Call fn for all connections. One that comes or goes meanwhile, or whose socket is busy, may be
 * missed or come twice.
 */
int pams_nl_conn_dump(struct pams_nl *nl, pams_conn_fn fn, void *arg);

/* Read the rules. Needs CAP_NET_ADMIN. If that returns 0, all of *rules is filled in. */
int pams_nl_rules_get(struct pams_nl *nl, struct pams_rules *rules);

/*
 * Replace all rules, or none after an error. -EBUSY: the table has another generation by now;
 * -ENOSPC: too many rules.
 */
int pams_nl_rules_set(struct pams_nl *nl, const struct pams_rules *rules);

/* Call fn for each of the module's schedulers. -EOPNOTSUPP: module 0.1.0 has no such list. */
int pams_nl_sched_dump(struct pams_nl *nl, pams_scheduler_fn fn, void *arg);
/*
 * The scheduler that an MPTCP socket of this process has, also a listening one or one with the
 * kernel's. -EOPNOTSUPP: the module is older and doesn't tell.
 */
int pams_nl_sched_of(struct pams_nl *nl, int fd, char name[PAMS_SCHEDULER_MAX]);

/* Read the namespace's totals. */
int pams_nl_stats(struct pams_nl *nl, struct pams_stats *stats);

/*
 * Receive events from now on; the module need not be loaded. A second call for the same handle
 * returns -EALREADY.
 */
int pams_nl_subscribe(struct pams_nl *nl);

/* The file descriptor to poll for reading, or -1 if not subscribed. */
int pams_nl_event_fd(const struct pams_nl *nl);

/*
 * Call fn for each waiting event; never blocks. Returns the number of events, a negative errno,
 * or the value of fn that isn't 0. Reads at most 64 datagrams, so poll again. Skips unknown
 * events.
 */
int pams_nl_receive(struct pams_nl *nl, pams_event_fn fn, void *arg);

/* Set the key to a host's address of 4 or 16 bytes; port 0: any. */
void pams_path_key_address(struct pams_path *path, int family,
			   const void *address, uint16_t port);

/* Set the key to one subflow of a connection. */
void pams_path_key_token(struct pams_path *path, uint32_t token,
			 uint8_t local_id, uint8_t remote_id);

/* Set the key to an interface. */
void pams_path_key_ifindex(struct pams_path *path, uint32_t ifindex);

/* The event's name: "path-expired", "loaded", ... */
const char *pams_event_name(enum pams_event_kind kind);

#endif
