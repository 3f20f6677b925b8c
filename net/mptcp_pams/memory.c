// SPDX-License-Identifier: GPL-2.0
/* Path memory: what connections learned of the path between two addresses serves later
 * connections between them, and those that run at the same time.
 *
 * For each path it keeps
 *
 *   total    the path's capacity: the sum of the shares that its subflows report. Until
 *            every active subflow has reported, it only rises
 *   m        its least round-trip time
 *   join     how long after the first decision of a connection it could be used
 *   others   the paths that join connections which begin on this one
 *
 * A new subflow begins with an equal share of the total, among those that are in use, in
 * place of a constant for all unknown paths, until its own samples say better (learn.c).
 * While one alone is in use, a higher rate that it carried raises the total at once: short
 * connections tell no capacity. A connection that begins on a path knows which paths will
 * join, when, and what they carry: minfct then sends only a little on a slow first path
 * (sched_minfct.c).
 *
 * All this is a hint only: many hosts may be behind one address, and a path may have
 * changed. So a subflow's own sample replaces it, and paths are forgotten with time.
 *
 * A namespace has at most 1,024 paths; the one that was used longest ago is dropped first.
 * One lock guards them all. It is taken when a subflow or a connection comes or goes, when a
 * capacity changes by an eighth, and once a second for each subflow that is in use. The
 * figures are read without it, as often as something is acknowledged, so they may be of
 * different moments.
 *
 * A path is made in atomic context: with the msk owned on behalf of the task that sends,
 * whose memory cgroup is charged, or in softirq, where no cgroup is. The bound holds in
 * both cases: 1,024 paths of 216 bytes, and a table of 2 KB.
 */
#include <linux/jhash.h>
#include <linux/jiffies.h>
#include <linux/mm.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <linux/time64.h>
#include <linux/timekeeping.h>

#include "pams.h"

/* What was learned holds for ten minutes: long enough for a series of requests, and short
 * enough for a laptop that is carried to another room.
 */
#define MEMORY_AGE_S		600
/* A path that takes longer to join isn't waited for. */
#define MEMORY_JOIN_MAX_US	(500 * USEC_PER_MSEC)
/* While nothing changes, a path's time of use is renewed at most this often. */
#define MEMORY_REFRESH_S	10
/* At most this many paths that are in use are passed over to make room for a new one. */
#define MEMORY_TRIES_MAX	16

static u32 memory_seed __read_mostly;
static struct kmem_cache *memory_cache;

static struct hlist_head *memory_bucket(struct pams_memory *memory,
					const struct pams_memory_key *key)
{
	net_get_random_once(&memory_seed, sizeof(memory_seed));
	return memory->table + (jhash(key, sizeof(*key), memory_seed) &
				GENMASK(PAMS_MEMORY_BITS - 1, 0));
}

static struct pams_remembered *memory_find(struct pams_memory *memory,
					   const struct pams_memory_key *key)
{
	struct pams_remembered *path;

	lockdep_assert_held(&memory->lock);
	if (!memory->table)
		return NULL;
	hlist_for_each_entry(path, memory_bucket(memory, key), bucket) {
		if (!memcmp(&path->key, key, sizeof(*key)))
			return path;
	}
	return NULL;
}

/* Seconds in 32 bits don't wrap while a machine runs: jiffies do, and an entry that nobody
 * has used for long would count as fresh again. These go on while the machine sleeps, since
 * it may wake up in another place.
 */
static u32 memory_age_s(const struct pams_remembered *path)
{
	return (u32)ktime_get_boottime_seconds() - READ_ONCE(path->used_s);
}

static bool memory_is_fresh(const struct pams_remembered *path)
{
	return memory_age_s(path) < MEMORY_AGE_S;
}

/* Forget what is too old, before something new would make it count as fresh again. */
static void memory_forget_old(struct pams_remembered *path)
{
	lockdep_assert_held(&path->net->memory.lock);
	if (memory_is_fresh(path))
		return;
	WRITE_ONCE(path->used_s, ktime_get_boottime_seconds());
	WRITE_ONCE(path->total_byteps, 0);
	WRITE_ONCE(path->proven_byteps, 0);
	WRITE_ONCE(path->rtt_us, 0);
	WRITE_ONCE(path->join_us, 0);
	path->joined = false;
	memset(path->others, 0, sizeof(path->others));
}

/* Forget a path. If it is in use, its last user frees it. */
static void memory_remove(struct pams_memory *memory, struct pams_remembered *path)
{
	hlist_del_init(&path->bucket);
	list_del(&path->list);
	memory->nr--;
	memory->generation++;
	if (!path->users)
		kmem_cache_free(memory_cache, path);
}

/* Make room for one more path. Returns false if there is no memory, or if all the paths that
 * were used longest ago are in use.
 */
static bool memory_make_room(struct pams_memory *memory)
{
	struct pams_remembered *path;
	unsigned int tries = MEMORY_TRIES_MAX;

	if (!memory->table)
		memory->table = kcalloc(BIT(PAMS_MEMORY_BITS), sizeof(*memory->table),
					GFP_ATOMIC | __GFP_ACCOUNT | __GFP_NOWARN);
	if (!memory->table)
		return false;
	if (memory->nr < PAMS_MEMORY_MAX)
		return true;

	while (tries--) {
		path = list_last_entry(&memory->list, struct pams_remembered, list);
		if (!path->users) {
			memory_remove(memory, path);
			return true;
		}
		list_move(&path->list, &memory->list);
	}
	return false;
}

static struct pams_remembered *memory_add(struct pams_net *net,
					  const struct pams_memory_key *key)
{
	struct pams_memory *memory = &net->memory;
	struct pams_remembered *path;

	if (!memory_make_room(memory))
		return NULL;
	path = kmem_cache_zalloc(memory_cache, GFP_ATOMIC | __GFP_NOWARN);
	if (!path)
		return NULL;

	path->net = net;
	path->key = *key;
	path->used_s = ktime_get_boottime_seconds();
	path->began = jiffies - PAMS_MEMORY_NEWCOMERS;
	hlist_add_head(&path->bucket, memory_bucket(memory, key));
	list_add(&path->list, &memory->list);
	memory->nr++;
	memory->generation++;
	return path;
}

/* The key of a subflow's path. The same link-local addresses may be on several links, so the
 * link is part of the key; TCP has bound the socket to it.
 */
static void memory_key(const struct sock *ssk, struct pams_memory_key *key)
{
	key->ifindex = 0;
	peek_peer(ssk, &key->peer);
#if IS_ENABLED(CONFIG_IPV6)
	if (ssk->sk_family == AF_INET6) {
		key->local = ssk->sk_v6_rcv_saddr;
		if (__ipv6_addr_needs_scope_id(__ipv6_addr_type(&key->peer)))
			key->ifindex = READ_ONCE(ssk->sk_bound_dev_if);
		return;
	}
#endif
	ipv6_addr_set_v4mapped(ssk->sk_rcv_saddr, &key->local);
}

/**
 * pams_memory_get - the path of a subflow that begins to use it
 * @net:	its namespace
 * @ssk:	its TCP socket
 *
 * Return: the path, until pams_memory_put(); NULL if memory is switched off or full.
 */
struct pams_remembered *pams_memory_get(struct pams_net *net, const struct sock *ssk)
{
	struct pams_memory *memory = &net->memory;
	struct pams_remembered *path;
	struct pams_memory_key key;

	memory_key(ssk, &key);
	spin_lock_bh(&memory->lock);
	path = !READ_ONCE(net->path_memory) ? NULL :
	       memory_find(memory, &key) ?: memory_add(net, &key);
	if (path) {
		memory_forget_old(path);
		path->users++;
		WRITE_ONCE(path->flows, path->flows + 1);
		list_move(&path->list, &memory->list);
	}
	spin_unlock_bh(&memory->lock);
	return path;
}

/**
 * pams_memory_put - a connection no longer expects this path: give it back
 * @path:	the path, may be NULL
 * @byteps:	0; pams_memory_leave(), which gives back a subflow's path by this, passes the
 *		capacity that the subflow told last
 */
void pams_memory_put(struct pams_remembered *path, u32 byteps)
{
	struct pams_memory *memory;

	if (!path)
		return;

	memory = &path->net->memory;
	spin_lock_bh(&memory->lock);
	path->users--;
	path->told -= byteps > 0;
	path->sum_byteps -= min_t(u64, path->sum_byteps, byteps);
	if (!path->users && hlist_unhashed(&path->bucket))
		kmem_cache_free(memory_cache, path);
	spin_unlock_bh(&memory->lock);
}

/**
 * pams_memory_leave - a subflow uses its path no more: give back pams_memory_get()'s path
 * @path:	the path, may be NULL
 * @byteps:	the capacity that the subflow told last
 * @used_s:	the second in which the subflow was in use last, modulo 256
 */
void pams_memory_leave(struct pams_remembered *path, u32 byteps, u8 used_s)
{
	if (!path)
		return;
	spin_lock_bh(&path->net->memory.lock);
	WRITE_ONCE(path->flows, path->flows - 1);
	if (path->busy && used_s == (u8)path->busy_s)
		WRITE_ONCE(path->busy, path->busy - 1);
	else if (path->busy_before && used_s == (u8)(path->busy_s - 1))
		WRITE_ONCE(path->busy_before, path->busy_before - 1);
	/* the list is in the order of use, which ends only now */
	if (!hlist_unhashed(&path->bucket))
		list_move(&path->list, &path->net->memory.list);
	spin_unlock_bh(&path->net->memory.lock);
	pams_memory_put(path, byteps);
}

/**
 * pams_memory_busy - how many subflows share the path
 * @path:	the path
 *
 * Reads without the lock.
 *
 * Return: the number of subflows that were in use in this second or in the one before, one at
 * least: those that only stay open, as browsers' connections do, take nothing of the path.
 */
u32 pams_memory_busy(const struct pams_remembered *path)
{
	u16 age_s = tcp_jiffies32 / HZ - READ_ONCE(path->busy_s);
	u32 busy = age_s <= 1 ? READ_ONCE(path->busy) : 0;

	if (!age_s)
		busy = max(busy, READ_ONCE(path->busy_before));
	return clamp(busy, 1U, max(READ_ONCE(path->flows), 1U));
}

/**
 * pams_memory_use - note that a subflow is in use in this second
 * @path:	the path, may be NULL
 * @now_s:	low half of TCP's clock in seconds; each subflow says it once in each
 */
void pams_memory_use(struct pams_remembered *path, u16 now_s)
{
	if (!path)
		return;
	spin_lock_bh(&path->net->memory.lock);
	if (path->busy_s != now_s) {
		WRITE_ONCE(path->busy_before, (u16)(now_s - path->busy_s) == 1 ?
					      path->busy : 0);
		WRITE_ONCE(path->busy, 0);
		WRITE_ONCE(path->busy_s, now_s);
	}
	WRITE_ONCE(path->busy, path->busy + 1);
	spin_unlock_bh(&path->net->memory.lock);
}

/**
 * pams_memory_hint - what is known of a path
 * @path:	the path, may be NULL
 * @joins:	the caller will use the path, and isn't counted among its subflows yet
 *
 * Reads without the lock.
 *
 * Return: the hint; all 0 if nothing is known, or it is too old.
 */
struct pams_memory_hint pams_memory_hint(const struct pams_remembered *path, bool joins)
{
	struct pams_memory_hint hint = {};
	u32 flows, proven_byteps, total_byteps;

	if (!path)
		return hint;

	proven_byteps = READ_ONCE(path->proven_byteps);
	if (!proven_byteps || !memory_is_fresh(path))
		return hint;

	flows = pams_memory_busy(path) + joins;
	total_byteps = READ_ONCE(path->total_byteps);
	if (total_byteps)
		hint.limit_byteps = max(total_byteps / flows, MODEL_RATE_MIN_BYTEPS);
	hint.proven_byteps = max(proven_byteps / flows, MODEL_RATE_MIN_BYTEPS);
	hint.rtt_us = READ_ONCE(path->rtt_us);
	hint.join_us = READ_ONCE(path->join_us);
	return hint;
}

/**
 * pams_memory_learn - take what a subflow has learned of its path
 * @path:	the path, may be NULL
 * @old_byteps:	the capacity that the subflow told last
 * @byteps:	the capacity that it has learned; 0 if it doesn't know
 * @proven_byteps: the highest rate that it has carried
 * @carried_byteps: the rate that its last packets were carried at: if that is more than the
 *		path's capacity, it was wrong, though nobody tells a better one
 * @rtt_us:	least round-trip time
 *
 * A small change isn't taken, to spare the lock.
 *
 * Return: the capacity that the subflow has told by now, for the next call's @old_byteps.
 */
u32 pams_memory_learn(struct pams_remembered *path, u32 old_byteps, u32 byteps,
		      u32 proven_byteps, u32 carried_byteps, u32 rtt_us)
{
	u32 change = byteps > old_byteps ? byteps - old_byteps : old_byteps - byteps;
	u32 was_proven = path ? READ_ONCE(path->proven_byteps) : 0;
	u32 total = path ? READ_ONCE(path->total_byteps) : 0;
	bool news = change > old_byteps / 8;
	u32 busy;
	u64 sum;

	if (!path || (!news &&
		      proven_byteps <= was_proven + was_proven / 8 &&
		      (!total || carried_byteps <= total) &&
		      memory_age_s(path) < MEMORY_REFRESH_S))
		return old_byteps;

	spin_lock_bh(&path->net->memory.lock);
	memory_forget_old(path);
	sum = path->sum_byteps - min_t(u64, path->sum_byteps, old_byteps) + byteps;
	path->sum_byteps = sum;
	path->told += (byteps > 0) - (old_byteps > 0);
	busy = pams_memory_busy(path);
	/* some of those that have told one rest, and left their part to those in use, if what one
	 * of these says is news
	 */
	if (path->told > busy)
		sum = byteps && news ? (u64)byteps * busy : path->total_byteps;
	/* while some of those in use haven't told a capacity, a lower sum says nothing */
	if (sum > path->total_byteps || path->told >= busy)
		WRITE_ONCE(path->total_byteps, min_t(u64, sum, MODEL_RATE_UNKNOWN - 1));
	if (busy == 1 && path->total_byteps && carried_byteps > path->total_byteps)
		WRITE_ONCE(path->total_byteps, carried_byteps);
	WRITE_ONCE(path->proven_byteps,
		   busy == 1 ? proven_byteps : max(path->proven_byteps, proven_byteps));
	/* beside other subflows it may never have met an empty queue */
	WRITE_ONCE(path->rtt_us,
		   busy == 1 ? rtt_us : min(pams_memory_rtt_us(path), rtt_us));
	WRITE_ONCE(path->used_s, ktime_get_boottime_seconds());
	spin_unlock_bh(&path->net->memory.lock);
	return byteps;
}

/**
 * pams_memory_missed - note that an expected path didn't join in time
 * @path:	the path
 *
 * The path isn't expected again before it has joined a connection.
 */
void pams_memory_missed(struct pams_remembered *path)
{
	spin_lock_bh(&path->net->memory.lock);
	path->joined = false;
	spin_unlock_bh(&path->net->memory.lock);
}

static bool memory_is_other(const struct pams_remembered *first,
			    const struct pams_memory_key *key)
{
	unsigned int i;

	for (i = 0; i < PAMS_MEMORY_OTHERS; i++) {
		if (!memcmp(&first->others[i], key, sizeof(*key)))
			return true;
	}
	return false;
}

/**
 * pams_memory_joined - note that a path joined a connection
 * @first:	the path that the connection had begun on, may be NULL
 * @path:	the path that joined, may be NULL
 * @after_us:	how long after the first decision it could be used
 */
void pams_memory_joined(struct pams_remembered *first,
			struct pams_remembered *path, u64 after_us)
{
	if (!first || !path || first == path)
		return;

	after_us = min_t(u64, after_us, MEMORY_JOIN_MAX_US);
	spin_lock_bh(&path->net->memory.lock);
	if (path->joined)
		after_us = (path->join_us + (u32)after_us) / 2;
	WRITE_ONCE(path->join_us, after_us);
	path->joined = true;
	if (!memory_is_other(first, &path->key)) {
		memmove(first->others + 1, first->others,
			(PAMS_MEMORY_OTHERS - 1) * sizeof(first->others[0]));
		first->others[0] = path->key;
	}
	spin_unlock_bh(&path->net->memory.lock);
}

/**
 * pams_memory_expect - the paths that are expected to join a connection
 * @first:	the path that the connection begins on, may be NULL
 * @others:	filled in; give each path back with pams_memory_put()
 * @max:	size of @others, up to PAMS_MEMORY_OTHERS
 *
 * Return: the number of paths. A path of which nothing fresh is known isn't among them.
 */
unsigned int pams_memory_expect(struct pams_remembered *first,
				struct pams_remembered **others, unsigned int max)
{
	struct pams_memory *memory;
	unsigned int i, nr = 0;

	if (!first)
		return 0;

	memory = &first->net->memory;
	spin_lock_bh(&memory->lock);
	WRITE_ONCE(first->began, jiffies);
	for (i = 0; i < PAMS_MEMORY_OTHERS && nr < max; i++) {
		struct pams_remembered *path =
			memory_find(memory, &first->others[i]);

		if (!path || !path->joined || !path->proven_byteps ||
		    path->join_us >= MEMORY_JOIN_MAX_US || !memory_is_fresh(path))
			continue;
		path->users++;
		others[nr++] = path;
	}
	spin_unlock_bh(&memory->lock);
	return nr;
}

static void memory_show(const struct pams_remembered *path,
			struct pams_memory_entry *entry)
{
	*entry = (struct pams_memory_entry){
		.key = path->key,
		.total_byteps = path->total_byteps,
		.proven_byteps = path->proven_byteps,
		.rtt_us = path->rtt_us,
		.join_us = path->join_us,
		.joined = path->joined,
		.flows = path->flows,
		.age_ms = min(memory_age_s(path), U32_MAX / MSEC_PER_SEC) * MSEC_PER_SEC,
	};
}

/**
 * pams_memory_next - walk over all paths that are remembered, one at a time
 * @net:	the namespace
 * @walk:	how far the walk has come, updated
 * @entry:	filled in
 *
 * The lock is held for one path at a time, so a walk keeps no decision waiting.
 *
 * Return: false at the end.
 */
bool pams_memory_next(struct pams_net *net, struct pams_memory_walk *walk,
		      struct pams_memory_entry *entry)
{
	struct pams_memory *memory = &net->memory;
	const struct pams_remembered *path;
	bool found = false;

	spin_lock_bh(&memory->lock);
	walk->generation = memory->generation;
	while (memory->table && !found && walk->bucket < BIT(PAMS_MEMORY_BITS)) {
		unsigned int skip = walk->skip;

		hlist_for_each_entry(path, &memory->table[walk->bucket], bucket) {
			if (skip--)
				continue;
			memory_show(path, entry);
			walk->skip++;
			found = true;
			break;
		}
		if (!found) {
			walk->bucket++;
			walk->skip = 0;
		}
	}
	spin_unlock_bh(&memory->lock);
	return found;
}

int __init pams_memory_cache_init(void)
{
	memory_cache = kmem_cache_create("mptcp_pams_path",
					 sizeof(struct pams_remembered), 0,
					 SLAB_ACCOUNT, NULL);
	return memory_cache ? 0 : -ENOMEM;
}

void pams_memory_cache_exit(void)
{
	kmem_cache_destroy(memory_cache);
}

void pams_memory_init(struct pams_net *net)
{
	spin_lock_init(&net->memory.lock);
	INIT_LIST_HEAD(&net->memory.list);
}

/* Sockets of user space keep their namespace alive. A socket of the kernel's may be closed
 * later in the namespace's exit, by its owner: a path that it uses stays until then.
 */
void pams_memory_exit(struct pams_net *net)
{
	struct pams_memory *memory = &net->memory;
	struct pams_remembered *path, *next;

	spin_lock_bh(&memory->lock);
	WRITE_ONCE(net->path_memory, 0);
	list_for_each_entry_safe(path, next, &memory->list, list)
		memory_remove(memory, path);
	kfree(memory->table);
	memory->table = NULL;
	spin_unlock_bh(&memory->lock);
}
