/* SPDX-License-Identifier: GPL-2.0 */
/* What was reported of paths to peers; see path.c. */
#ifndef _MPTCP_PAMS_PATH_H
#define _MPTCP_PAMS_PATH_H

#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/rhashtable-types.h>
#include <linux/types.h>
#include <linux/workqueue.h>
#include <net/ipv6.h>
#include <uapi/linux/mptcp_pams.h>

/* The more specific first. */
enum pams_path_kind {
	PAMS_PATH_SUBFLOW,
	PAMS_PATH_ADDRESS,
	PAMS_PATH_INTERFACE,
};

/**
 * struct pams_path_key - what a path is found by; no padding, all bytes count
 * @address:	of the peer, the bits of the prefix; IPv4 as mapped into IPv6
 * @number:	token of a connection, or index of an interface
 * @port:	of the peer, 0 for any
 * @prefix_len:	bits of @address that count
 * @kind:	enum pams_path_kind
 * @local_id:	MPTCP's address ids of a subflow
 * @remote_id:	the peer's
 * @zero:	0
 */
struct pams_path_key {
	struct in6_addr address;
	u32 number;
	__be16 port;
	u8 prefix_len;
	u8 kind;
	u8 local_id;
	u8 remote_id;
	u16 zero;
};

/* When a report expires that holds until it is replaced or deleted. */
#define PAMS_NEVER_NS	U64_MAX

/**
 * struct pams_report - what is known of a path; times of ktime_get_ns()
 * @pipe_rate_byteps:	throughput of the pipe, 0 if none was reported
 * @hs_rate_byteps:	throughput of the way to the helper, 0: as TCP shows it
 * @pipe_ns:		when the pipe was reported
 * @pipe_expires_ns:	until when that holds
 * @loss_ns:		when the path is lost, 0 if that isn't known
 * @loss_expires_ns:	until when that holds
 * @cost_expires_ns:	until when @cost holds, 0: nobody says what the path costs
 * @pipe_backlog_bytes:	waiting before the pipe at @pipe_ns
 * @pipe_delay_us:	one-way delay of the pipe, if @split
 * @loss_spread_ms:	standard deviation of @loss_ns
 * @split:		the helper ends TCP: TCP's times don't hold the pipe
 * @cost:		what using the path costs
 */
struct pams_report {
	u64 pipe_rate_byteps;
	u64 hs_rate_byteps;
	u64 pipe_ns;
	u64 pipe_expires_ns;
	u64 loss_ns;
	u64 loss_expires_ns;
	u64 cost_expires_ns;
	u32 pipe_backlog_bytes;
	u32 pipe_delay_us;
	u32 loss_spread_ms;
	bool split;
	u8 cost;
};

/**
 * struct pams_path - never changed while known: a new report replaces it
 * @node:	in the table; read under RCU
 * @list:	in the order they came; under the writers' lock
 * @key:	masked
 * @report:	what was reported
 * @origin:	who reported last, "" if that wasn't said
 * @rcu:	defers the free
 */
struct pams_path {
	struct rhash_head node;
	struct list_head list;
	struct pams_path_key key;
	struct pams_report report;
	char origin[MPTCP_PAMS_ORIGIN_MAX + 1];
	struct rcu_head rcu;
};

#define PAMS_PREFIX_BITS	128

/**
 * struct pams_paths - the paths of a namespace
 * @table:	of struct pams_path by key; read under RCU
 * @list:	all of them
 * @lock:	for writers: all but what readers are said to read
 * @generation:	grows with every change, before what was removed is freed:
 *		whoever finds it unchanged under RCU may use a path it found
 * @nr:		how many
 * @nr_of:	of each kind
 * @nr_costly:	of those that cost something
 * @nr_prefix:	addresses with each prefix length, without and with a port
 * @prefixes:	prefix lengths that there are, without and with a port
 * @expiry:	drops what has expired
 * @expiry_ns:	the earliest expiry that @expiry is scheduled for, or
 *		PAMS_NEVER_NS
 */
struct pams_paths {
	struct rhashtable table;
	struct list_head list;
	struct mutex lock;	/* for writers */
	unsigned long generation;
	unsigned int nr;
	unsigned int nr_of[PAMS_PATH_INTERFACE + 1];
	unsigned int nr_costly;
	u32 nr_prefix[2][PAMS_PREFIX_BITS + 1];
	DECLARE_BITMAP(prefixes[2], PAMS_PREFIX_BITS + 1);
	struct delayed_work expiry;
	u64 expiry_ns;
};

/* Under RCU, before what was found at that generation is used. */
static inline unsigned long pams_paths_generation(const struct pams_paths *paths)
{
	/* pairs with paths_changed(): who sees a new value sees the new paths */
	return smp_load_acquire(&paths->generation);
}

static inline bool pams_report_has_pipe(const struct pams_report *report,
					u64 now_ns)
{
	return report->pipe_rate_byteps && now_ns < report->pipe_expires_ns;
}

static inline bool pams_report_has_loss(const struct pams_report *report,
					u64 now_ns)
{
	return report->loss_ns && now_ns < report->loss_expires_ns;
}

static inline bool pams_report_has_cost(const struct pams_report *report,
					u64 now_ns)
{
	return now_ns < report->cost_expires_ns;
}

/**
 * struct pams_path_found - what counts of a subflow's path, each NULL if nobody says
 * @pipe:	path whose pipe counts
 * @loss:	path whose loss time counts
 * @cost:	path whose cost counts
 */
struct pams_path_found {
	const struct pams_path *pipe;
	const struct pams_path *loss;
	const struct pams_path *cost;
};

struct netlink_ext_ack;
struct pams_net;
struct sock;

void pams_path_key_mask(struct pams_path_key *key);
int pams_path_set(struct pams_net *net, const struct pams_path_key *key,
		  const struct pams_report *report, bool no_loss,
		  const char *origin, struct netlink_ext_ack *extack);
int pams_path_del(struct pams_net *net, const struct pams_path_key *key);
void pams_path_flush(struct pams_net *net);
struct pams_path *pams_path_find(struct pams_paths *paths,
				 const struct pams_path_key *key);
void pams_path_lookup(struct pams_net *net, u32 token, const struct sock *ssk,
		      u64 now_ns, struct pams_path_found *found);
int pams_path_ifindex(const struct sock *ssk);
int pams_paths_init(struct pams_net *net);
void pams_paths_exit(struct pams_net *net);

#endif /* _MPTCP_PAMS_PATH_H */
