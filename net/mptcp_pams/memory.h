/* SPDX-License-Identifier: GPL-2.0 */
/* Path memory: what connections learned of a path, for later connections; see memory.c. */
#ifndef _MPTCP_PAMS_MEMORY_H
#define _MPTCP_PAMS_MEMORY_H

#include <linux/jiffies.h>
#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <net/ipv6.h>

struct pams_net;
struct sock;

#define PAMS_MEMORY_BITS	8	/* 2^8 buckets, allocated with the first path */
#define PAMS_MEMORY_MAX		1024	/* paths in a namespace */
#define PAMS_MEMORY_OTHERS	2	/* paths kept that join a connection begun on one */

/**
 * struct pams_memory_key - both ends of a path; all bytes are hashed, so without padding
 * @local:	our address; IPv4 as mapped into IPv6
 * @peer:	the peer's address
 * @ifindex:	index of the link, for link-local addresses; 0 for others
 */
struct pams_memory_key {
	struct in6_addr local;
	struct in6_addr peer;
	int ifindex;
};

/**
 * struct pams_remembered - a remembered path; the memory's @lock guards all but @key, @net
 * @bucket:	entry in the table; unhashed once the path is forgotten
 * @list:	entry in the list of all paths, the one used last first
 * @net:	its namespace
 * @key:	its key
 * @users:	number of subflows that use it now, and of connections that expect it
 * @flows:	number of subflows that it has now, idle ones among them
 * @busy_s:	the second that @busy counts for, low half of TCP's clock in seconds
 * @busy:	number of subflows that had data under way in that second, or acknowledged
 * @busy_before: the same of the second before
 * @told:	number of subflows that have told a capacity; @sum_byteps is the sum of these
 * @used_s:	when a subflow told something of it last, low half of ktime_get_boottime_seconds()
 * @began:	jiffies when a connection began on it last; they wrap after 50 days or more, so
 *		for a moment then one seems to begin again
 * @sum_byteps:	sum of the capacities that the subflows have told: each its own share
 * @total_byteps: capacity of the path; 0: not known yet
 * @proven_byteps: the highest rate that one subflow was seen to carry
 * @rtt_us:	least round-trip time; 0: not known yet
 * @join_us:	how long after a connection's first decision it could be used, if it joined
 *		one; smoothed
 * @joined:	@join_us is known
 * @others:	keys of paths that joined connections begun on this path
 */
struct pams_remembered {
	struct hlist_node bucket;
	struct list_head list;
	struct pams_net *net;
	struct pams_memory_key key;
	u32 users;
	u32 flows;
	u16 busy_s;
	u32 busy;
	u32 busy_before;
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
 * struct pams_memory - the path memory of a namespace
 * @lock:	guards all fields, and the paths; taken in softirq, too
 * @table:	buckets of paths by key; NULL before the first path
 * @list:	all paths, the one used last first
 * @nr:		number of paths
 * @generation:	grows with every path that comes or goes
 */
struct pams_memory {
	spinlock_t lock;	/* guards all below, and each path but its key */
	struct hlist_head *table;
	struct list_head list;
	unsigned int nr;
	unsigned long generation;
};

/**
 * struct pams_memory_entry - copy of a remembered path, to be shown
 * @key:	its key
 * @total_byteps: its capacity; 0: not known
 * @proven_byteps: the highest rate that one subflow was seen to carry
 * @rtt_us:	least round-trip time; 0: not known
 * @join_us:	how long after a connection's first decision it could be used
 * @joined:	@join_us is known
 * @flows:	number of subflows that it has now
 * @age_ms:	how long ago a subflow told something of it last
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
 * @bucket:	index of the bucket that it has come to
 * @skip:	number of paths in that bucket that were returned
 * @generation:	the memory's generation at the last step; if it differs from the step before,
 *		paths may have been missed or returned twice
 */
struct pams_memory_walk {
	unsigned int bucket;
	unsigned int skip;
	unsigned long generation;
};

/**
 * struct pams_memory_hint - what a new subflow may begin with
 * @limit_byteps: its share of the path's capacity; 0: not known
 * @proven_byteps: its share of the rate that the path is sure to carry; 0: nothing is known
 * @rtt_us:	least round-trip time of the path
 * @join_us:	how long after a connection's first decision the path joins
 */
struct pams_memory_hint {
	u32 limit_byteps;
	u32 proven_byteps;
	u32 rtt_us;
	u32 join_us;
};

u32 pams_memory_busy(const struct pams_remembered *path);

/* Do several subflows use the path? Read without the lock, so the answer may be old. */
static inline bool pams_memory_is_shared(const struct pams_remembered *path)
{
	return READ_ONCE(path->flows) > 1 && pams_memory_busy(path) > 1;
}

/* The connections of a web page begin one after the other, each within this time. */
#define PAMS_MEMORY_NEWCOMERS	(HZ / 4)

/* Do several subflows use the path, and did a connection begin on it just now? Read without
 * the lock, so the answer may be old.
 */
static inline bool pams_memory_has_newcomers(const struct pams_remembered *path)
{
	unsigned long began = READ_ONCE(path->began);	/* read before jiffies */

	return pams_memory_is_shared(path) && jiffies - began < PAMS_MEMORY_NEWCOMERS;
}

/* The path's least round-trip time, U32_MAX if none is known. Read without the lock. */
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
void pams_memory_leave(struct pams_remembered *path, u32 byteps, u8 used_s);
struct pams_memory_hint pams_memory_hint(const struct pams_remembered *path, bool joins);
void pams_memory_use(struct pams_remembered *path, u16 now_s);
u32 pams_memory_learn(struct pams_remembered *path, u32 old_byteps, u32 byteps,
		      u32 proven_byteps, u32 carried_byteps, u32 rtt_us);
void pams_memory_missed(struct pams_remembered *path);
void pams_memory_joined(struct pams_remembered *first,
			struct pams_remembered *path, u64 after_us);
unsigned int pams_memory_expect(struct pams_remembered *first,
				struct pams_remembered **others, unsigned int max);
bool pams_memory_next(struct pams_net *net, struct pams_memory_walk *walk,
		      struct pams_memory_entry *entry);

#endif /* _MPTCP_PAMS_MEMORY_H */
