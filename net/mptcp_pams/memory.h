/* SPDX-License-Identifier: GPL-2.0 */
/* Path memory: what connections learned of a path, for later connections; see memory.c. */
#ifndef _MPTCP_PAMS_MEMORY_H
#define _MPTCP_PAMS_MEMORY_H

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
 * struct pams_memory_key - names a path with its round-trip time; all bytes are hashed, so
 *	without padding
 * @local:	our address; IPv4 as mapped into IPv6
 * @peer:	the peer's address
 * @ifindex:	index of the interface that it leaves through; 0: it had no route
 */
struct pams_memory_key {
	struct in6_addr local;
	struct in6_addr peer;
	int ifindex;
};

/* The name of a path that joined connections begun on another one. */
struct pams_memory_other {
	struct pams_memory_key key;
	u32 rtt_us;
};

/**
 * struct pams_remembered - a remembered path; the memory's @lock guards all but @key, @net
 * @bucket:	entry in the table; unhashed once the path is forgotten
 * @list:	entry in the list of all paths, the one used last first
 * @net:	its namespace
 * @key:	its key
 * @users:	number of subflows that use it now, and of connections that expect it
 * @flows:	number of subflows that it has now, idle ones among them
 * @told_s:	when a subflow told something of it last, low half of ktime_get_boottime_seconds()
 * @limit_byteps: the capacity that a subflow measured last; 0: not known
 * @proven_byteps: the highest rate that a subflow was seen to carry; 0: nothing is known
 * @rtt_us:	least round-trip time of the subflow that told of it last; never 0
 * @join_us:	how long after a connection's first decision it could be used, smoothed, if it
 *		joined one
 * @joins:	how many connections it joined since one waited for it in vain, up to 64
 * @joins_needed: it is expected once @joins is as much
 * @others:	paths that joined connections begun on this path, the last one first
 */
struct pams_remembered {
	struct hlist_node bucket;
	struct list_head list;
	struct pams_net *net;
	struct pams_memory_key key;
	u32 users;
	u32 flows;
	u32 told_s;
	u32 limit_byteps;
	u32 proven_byteps;
	u32 rtt_us;
	u32 join_us;
	u8 joins;
	u8 joins_needed;
	struct pams_memory_other others[PAMS_MEMORY_OTHERS];
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
 * @limit_byteps: its capacity; 0: not known
 * @proven_byteps: the highest rate that one subflow was seen to carry
 * @rtt_us:	least round-trip time
 * @join_us:	how long after a connection's first decision it could be used
 * @joined:	@join_us is known
 * @flows:	number of subflows that it has now
 * @age_ms:	how long ago a subflow told something of it last
 */
struct pams_memory_entry {
	struct pams_memory_key key;
	u32 limit_byteps;
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
 * struct pams_memory_hint - what a subflow that has measured nothing may believe
 * @limit_byteps: capacity of the path; 0: not known
 * @proven_byteps: rate that the path is sure to carry; 0: nothing is known
 * @rtt_us:	round-trip time of the path
 * @join_us:	how long after a connection's first decision the path joins
 */
struct pams_memory_hint {
	u32 limit_byteps;
	u32 proven_byteps;
	u32 rtt_us;
	u32 join_us;
};

int pams_memory_cache_init(void);
void pams_memory_cache_exit(void);
void pams_memory_init(struct pams_net *net);
void pams_memory_exit(struct pams_net *net);
struct pams_remembered *pams_memory_get(struct pams_net *net, const struct sock *ssk);
void pams_memory_put(struct pams_remembered *path);
void pams_memory_leave(struct pams_remembered *path);
struct pams_memory_hint pams_memory_hint(const struct pams_remembered *path);
u32 pams_memory_learn(struct pams_remembered *path, u32 told_byteps, u32 limit_byteps,
		      u32 proven_byteps, u32 rtt_us);
void pams_memory_doubt(struct pams_remembered *path);
void pams_memory_missed(struct pams_remembered *path);
void pams_memory_joined(struct pams_remembered *first,
			struct pams_remembered *path, u64 after_us);
unsigned int pams_memory_expect(struct pams_remembered *first,
				struct pams_remembered **others, unsigned int max);
bool pams_memory_next(struct pams_net *net, struct pams_memory_walk *walk,
		      struct pams_memory_entry *entry);

#endif /* _MPTCP_PAMS_MEMORY_H */
