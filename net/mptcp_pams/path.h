/* SPDX-License-Identifier: GPL-2.0 */
/* What was reported of paths to peers; see path.c. */
#ifndef _MPTCP_PAMS_PATH_H
#define _MPTCP_PAMS_PATH_H

#include <linux/hrtimer.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/rhashtable-types.h>
#include <linux/types.h>
#include <linux/workqueue.h>
#include <uapi/linux/mptcp_pams.h>

#include "told.h"

/**
 * struct pams_path - a path with a report. While it is in the table no field that readers use
 *	is changed; a new report replaces the whole path
 * @node:	entry in the table; read under RCU
 * @list:	entry in the list, in the order of arrival; under the writers' lock
 * @key:	key, with all bits beyond the prefix cleared
 * @report:	what was reported
 * @told_ns:	listeners have been told of the parts that expired up to this time; for writers
 * @origin:	who reported last, "" if the report didn't say
 * @rcu:	defers the free
 */
struct pams_path {
	struct rhash_head node;
	struct list_head list;
	struct pams_path_key key;
	struct pams_report report;
	u64 told_ns;
	char origin[MPTCP_PAMS_ORIGIN_MAX + 1];
	struct rcu_head rcu;
};

#define PAMS_PREFIX_BITS	128

/**
 * struct pams_paths - the paths of a namespace
 * @table:	struct pams_path by key; read under RCU
 * @list:	all paths, in the order of arrival
 * @lock:	held by writers of all fields, and by readers of @list, @expiry_ns
 * @generation:	grows with every change, before a removed path is freed: a reader that
 *		finds it unchanged under RCU may use a path that it found before; never 0,
 *		which is what a subflow has before its first lookup
 * @generation_high: how often @generation has wrapped
 * @nr:		number of paths
 * @nr_of:	number of paths of each kind
 * @nr_prefix:	number of addresses by prefix length, without and with a port
 * @prefixes:	bitmaps of the prefix lengths in use, without and with a port
 * @timer:	queues @expiry; it uses boot time, so it fires soon after a suspend
 * @expiry:	work item that removes expired reports
 * @expiry_ns:	the earliest expiry, which @timer is armed for; or PAMS_NEVER_NS
 */
struct pams_paths {
	struct rhashtable table;
	struct list_head list;
	struct mutex lock;	/* for writers */
	u32 generation;
	u32 generation_high;
	unsigned int nr;
	unsigned int nr_of[PAMS_PATH_INTERFACE + 1];
	u32 nr_prefix[2][PAMS_PREFIX_BITS + 1];
	DECLARE_BITMAP(prefixes[2], PAMS_PREFIX_BITS + 1);
	struct hrtimer timer;
	struct work_struct expiry;
	u64 expiry_ns;
};

/* Read the generation, under RCU, to see if a path that was found before may be used. */
static inline u64 pams_paths_generation(const struct pams_paths *paths)
{
	/* pairs with paths_changed(): a reader of the new value sees the new paths */
	u32 low = smp_load_acquire(&paths->generation);

	return (u64)READ_ONCE(paths->generation_high) << 32 | low;
}

/**
 * struct pams_path_found - the paths whose reports count for a subflow
 * @pipe:	path whose pipe counts, or NULL
 * @loss:	path whose loss time counts, or NULL
 * @cost:	path whose cost counts, or NULL
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
		      int ifindex, u64 now_ns, struct pams_path_found *found);
int pams_path_ifindex(const struct sock *ssk);
bool pams_path_may_be_of(const struct pams_path_key *key, u32 token, const struct sock *ssk);
int pams_paths_init(struct pams_net *net);
void pams_paths_exit(struct pams_net *net);

#endif /* _MPTCP_PAMS_PATH_H */
