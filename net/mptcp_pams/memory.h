/* SPDX-License-Identifier: GPL-2.0 */
/* What connections learned of a path, for the next ones; see memory.c. */
#ifndef _MPTCP_PAMS_MEMORY_H
#define _MPTCP_PAMS_MEMORY_H

#include <linux/jiffies.h>
#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <net/ipv6.h>

struct pams_net;
struct sock;

#define PAMS_MEMORY_BITS	8	/* buckets, 4 KB with the first entry */
#define PAMS_MEMORY_MAX		1024	/* paths */
#define PAMS_MEMORY_OTHERS	2	/* that join a connection that began on one */

/**
 * struct pams_memory_key - both ends of a path; no padding, all bytes count
 * @local:	our address; IPv4 as mapped into IPv6
 * @peer:	the peer's
 * @ifindex:	of the link that link-local addresses belong to, 0 for others
 */
struct pams_memory_key {
	struct in6_addr local;
	struct in6_addr peer;
	int ifindex;
};

/**
 * struct pams_remembered - a path; all but @key is written under the namespace's @lock
 * @bucket:	in the table; unhashed once the namespace is going
 * @list:	the one that was used last is first
 * @net:	its namespace
 * @key:	what it is found by
 * @users:	subflows that use it now, and connections that expect it
 * @flows:	of these the subflows,
 * @told:	of these those that have said what the path gives them
 * @used_s:	when it was learned from last, low half of ktime_get_seconds()
 * @began:	when a connection began on it last, jiffies; they wrap after 50 days or
 *		more, so for a moment then it seems to begin again
 * @sum_byteps:	what those subflows say the path gives them
 * @total_byteps: what the path carries in all; 0: not known yet
 * @proven_byteps: the most that one subflow was seen to carry
 * @rtt_us:	least round-trip time; 0: not known yet
 * @join_us:	how long after a connection's first decision it could be used, where it
 *		joined; smoothed
 * @joined:	@join_us is known
 * @others:	paths that joined connections which began on this one
 */
struct pams_remembered {
	struct hlist_node bucket;
	struct list_head list;
	struct pams_net *net;
	struct pams_memory_key key;
	u32 users;
	u32 flows;
	u32 told;
	u32 used_s;
	unsigned long began;
	u64 sum_byteps;
	u32 total_byteps;
	u32 proven_byteps;
	u32 rtt_us;
	u32 join_us;
	bool joined;
	struct pams_memory_key others[PAMS_MEMORY_OTHERS];
};

/**
 * struct pams_memory - of a namespace
 * @lock:	for all of it; taken in softirq
 * @table:	buckets, NULL before the first path
 * @list:	all paths
 * @nr:		how many
 * @generation:	grows with every path that comes or goes
 */
struct pams_memory {
	spinlock_t lock;	/* of all below, and of each path but its key */
	struct hlist_head *table;
	struct list_head list;
	unsigned int nr;
	unsigned long generation;
};

/**
 * struct pams_memory_entry - a path as it is shown
 * @key:	what it is found by
 * @total_byteps: what it carries in all; 0: not known
 * @proven_byteps: the most that one subflow was seen to carry
 * @rtt_us:	least round-trip time; 0: not known
 * @join_us:	how long after a connection's first decision it could be used
 * @joined:	@join_us is known
 * @flows:	subflows that use it now
 * @age_ms:	since it was learned from last
 */
struct pams_memory_entry {
	struct pams_memory_key key;
	u32 total_byteps;
	u32 proven_byteps;
	u32 rtt_us;
	u32 join_us;
	bool joined;
	u32 flows;
	u32 age_ms;
};

/**
 * struct pams_memory_walk - how far a walk over all paths has come; all 0 at its start
 * @bucket:	of the table
 * @skip:	paths of it that were met
 * @generation:	of the paths, at the last step; another one than at the step before: some
 *		paths may have been missed or met twice
 */
struct pams_memory_walk {
	unsigned int bucket;
	unsigned int skip;
	unsigned long generation;
};

/**
 * struct pams_memory_hint - what a new subflow may begin with
 * @limit_byteps: its share of what the path carries; 0: not known
 * @proven_byteps: what the path is sure to carry; 0: nothing is known
 * @rtt_us:	least round-trip time
 * @join_us:	how long after the first decision the path joins
 */
struct pams_memory_hint {
	u32 limit_byteps;
	u32 proven_byteps;
	u32 rtt_us;
	u32 join_us;
};

/* Does another subflow use it, too? Without the lock: the answer may be old. */
static inline bool pams_memory_is_shared(const struct pams_remembered *path)
{
	return READ_ONCE(path->flows) > 1;
}

/* A page's connections begin one after the other, within less than that. */
#define PAMS_MEMORY_NEWCOMERS	(HZ / 4)

/* Does another subflow use it, too, and did a connection begin there just now? Without
 * the lock: the answer may be old.
 */
static inline bool pams_memory_has_newcomers(const struct pams_remembered *path)
{
	unsigned long began = READ_ONCE(path->began);	/* before jiffies */

	return pams_memory_is_shared(path) && jiffies - began < PAMS_MEMORY_NEWCOMERS;
}

/* Its least round-trip time, U32_MAX if none is known; without the lock. */
static inline u32 pams_memory_rtt_us(const struct pams_remembered *path)
{
	return READ_ONCE(path->rtt_us) ?: U32_MAX;
}

int pams_memory_cache_init(void);
void pams_memory_cache_exit(void);
void pams_memory_init(struct pams_net *net);
void pams_memory_exit(struct pams_net *net);
struct pams_remembered *pams_memory_get(struct pams_net *net, const struct sock *ssk);
void pams_memory_put(struct pams_remembered *path, u32 byteps);
void pams_memory_leave(struct pams_remembered *path, u32 byteps);
struct pams_memory_hint pams_memory_hint(const struct pams_remembered *path, bool joins);
u32 pams_memory_learn(struct pams_remembered *path, u32 old_byteps, u32 byteps,
		      u32 proven_byteps, u32 rtt_us);
void pams_memory_missed(struct pams_remembered *path);
void pams_memory_joined(struct pams_remembered *first,
			struct pams_remembered *path, u64 after_us);
unsigned int pams_memory_expect(struct pams_remembered *first,
				struct pams_remembered **others, unsigned int max);
bool pams_memory_next(struct pams_net *net, struct pams_memory_walk *walk,
		      struct pams_memory_entry *entry);

#endif /* _MPTCP_PAMS_MEMORY_H */
