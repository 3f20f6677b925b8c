// SPDX-License-Identifier: GPL-2.0
/* Path memory: what connections learned of a path serves later connections over it, and those
 * that run at the same time.
 *
 * For each path it keeps
 *
 *   C        the capacity that one of its subflows measured last
 *   P        the highest rate that one carried since
 *   m        the round-trip time
 *   join     how long after the first decision of a connection it could be used
 *   others   the paths that join connections which begin on this one
 *
 * All this is a hint. It helps to choose between subflows, those that are expected to join among
 * them; it never limits what TCP may send on one. Where a subflow has measured no capacity, it
 * takes C for it, and P in place of the constant for an unknown path, if P is more. A connection
 * that begins on a path knows which paths will join, when, and what they carry.
 *
 * What keeps data off a path must not need data on that path to end, and a path may have
 * changed, or be another one: many hosts may be behind one address, and one address may be at
 * home in many networks. So
 *
 *   - a path is named by both addresses, the interface, and the round-trip time of its handshake
 *     within a factor of two: hosts at unlike distances behind one address share nothing;
 *   - C is forgotten by the first sample that contradicts it, and doubles with every ten seconds
 *     in which nobody measures it;
 *   - a path that was expected and didn't join is expected again only after it has joined four
 *     times as many connections, one after the other, as it had to before;
 *   - what nobody has measured for ten minutes is forgotten.
 *
 * A namespace has at most 1,024 paths; the one that was used longest ago is dropped first.
 * One lock guards them all. It is taken when a subflow or a connection comes or goes, when a
 * subflow's capacity changes by an eighth or its highest rate grows by an eighth, when a sample
 * contradicts C, and every five seconds for each subflow that knows its capacity. The figures
 * are read without it, so they may be of different moments.
 *
 * A path is made in atomic context: with the msk owned on behalf of the task that sends,
 * whose memory cgroup is charged, or in softirq, where no cgroup is. The bound holds in
 * both cases: 1,024 paths of 192 bytes, and a table of 2 KB.
 */
#include <linux/jhash.h>
#include <linux/mm.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <linux/time64.h>
#include <linux/timekeeping.h>

#include "pams.h"

/* long enough for a series of requests, short enough for a laptop that is carried elsewhere */
#define MEMORY_AGE_S		600
/* After each such time without a measurement twice the capacity is believed. */
#define MEMORY_DOUBLE_S		10
/* A path that takes longer to join isn't waited for. */
#define MEMORY_JOIN_MAX_US	(500 * USEC_PER_MSEC)
/* While nothing changes, a path's time of measurement is renewed at most this often. */
#define MEMORY_REFRESH_S	5
/* A path that didn't join is expected again after 4 joins, then 16, then 64. */
#define MEMORY_JOINS_SHIFT	2
#define MEMORY_JOINS_MAX	64
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

/* Are these round-trip times of one path, as far as a factor of two tells? */
static bool memory_is_near(u32 rtt_us, u32 other_us)
{
	return rtt_us / 2 <= other_us && other_us / 2 <= rtt_us;
}

static struct pams_remembered *memory_find(struct pams_memory *memory,
					   const struct pams_memory_key *key, u32 rtt_us)
{
	struct pams_remembered *path;

	lockdep_assert_held(&memory->lock);
	if (!memory->table)
		return NULL;
	hlist_for_each_entry(path, memory_bucket(memory, key), bucket) {
		if (!memcmp(&path->key, key, sizeof(*key)) &&
		    memory_is_near(path->rtt_us, rtt_us))
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
	return (u32)ktime_get_boottime_seconds() - READ_ONCE(path->told_s);
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
	WRITE_ONCE(path->told_s, ktime_get_boottime_seconds());
	WRITE_ONCE(path->limit_byteps, 0);
	WRITE_ONCE(path->proven_byteps, 0);
	WRITE_ONCE(path->join_us, 0);
	path->joins = 0;
	path->joins_needed = 1;
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
					  const struct pams_memory_key *key, u32 rtt_us)
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
	path->rtt_us = rtt_us;
	path->told_s = ktime_get_boottime_seconds();
	path->joins_needed = 1;
	hlist_add_head(&path->bucket, memory_bucket(memory, key));
	list_add(&path->list, &memory->list);
	memory->nr++;
	memory->generation++;
	return path;
}

/* The key of a subflow's path. The same addresses may be on several links, so the interface that
 * the subflow leaves through is part of it.
 */
static void memory_key(const struct sock *ssk, struct pams_memory_key *key)
{
	rcu_read_lock();
	key->ifindex = pams_path_ifindex(ssk);
	rcu_read_unlock();
	peek_peer(ssk, &key->peer);
#if IS_ENABLED(CONFIG_IPV6)
	if (ssk->sk_family == AF_INET6) {
		key->local = ssk->sk_v6_rcv_saddr;
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
 * Return: the path, until pams_memory_leave(); NULL if memory is switched off or full, or if the
 * handshake told no round-trip time.
 */
struct pams_remembered *pams_memory_get(struct pams_net *net, const struct sock *ssk)
{
	u32 rtt_us = READ_ONCE(tcp_sk(ssk)->srtt_us) ? peek_min_rtt_us(tcp_sk(ssk)) : 0;
	struct pams_memory *memory = &net->memory;
	struct pams_remembered *path;
	struct pams_memory_key key;

	if (!rtt_us)
		return NULL;
	memory_key(ssk, &key);
	spin_lock_bh(&memory->lock);
	path = !READ_ONCE(net->path_memory) ? NULL :
	       memory_find(memory, &key, rtt_us) ?: memory_add(net, &key, rtt_us);
	if (path) {
		memory_forget_old(path);
		path->users++;
		path->flows++;
		list_move(&path->list, &memory->list);
	}
	spin_unlock_bh(&memory->lock);
	return path;
}

static void memory_release(struct pams_remembered *path)
{
	lockdep_assert_held(&path->net->memory.lock);
	path->users--;
	if (!path->users && hlist_unhashed(&path->bucket))
		kmem_cache_free(memory_cache, path);
}

/**
 * pams_memory_put - a connection no longer expects this path: give it back
 * @path:	the path, may be NULL
 */
void pams_memory_put(struct pams_remembered *path)
{
	struct pams_memory *memory;

	if (!path)
		return;
	memory = &path->net->memory;
	spin_lock_bh(&memory->lock);
	memory_release(path);
	spin_unlock_bh(&memory->lock);
}

/**
 * pams_memory_leave - a subflow uses its path no more: give back pams_memory_get()'s path
 * @path:	the path, may be NULL
 */
void pams_memory_leave(struct pams_remembered *path)
{
	struct pams_memory *memory;

	if (!path)
		return;
	memory = &path->net->memory;
	spin_lock_bh(&memory->lock);
	path->flows--;
	/* the list is in the order of use, which ends only now */
	if (!hlist_unhashed(&path->bucket))
		list_move(&path->list, &memory->list);
	memory_release(path);
	spin_unlock_bh(&memory->lock);
}

/**
 * pams_memory_hint - what is known of a path
 * @path:	the path, may be NULL
 *
 * Reads without the lock.
 *
 * Return: the hint; all 0 if nothing is known, or it is too old.
 */
struct pams_memory_hint pams_memory_hint(const struct pams_remembered *path)
{
	u32 age_s = path ? memory_age_s(path) : MEMORY_AGE_S;
	unsigned int shift = age_s / MEMORY_DOUBLE_S;

	if (age_s >= MEMORY_AGE_S)
		return (struct pams_memory_hint){};
	shift = min(shift, 31U);
	return (struct pams_memory_hint){
		.limit_byteps = min((u64)READ_ONCE(path->limit_byteps) << shift,
				    MODEL_RATE_UNKNOWN - 1),
		.proven_byteps = READ_ONCE(path->proven_byteps),
		.rtt_us = READ_ONCE(path->rtt_us),
		.join_us = READ_ONCE(path->join_us),
	};
}

/**
 * pams_memory_learn - take what a subflow has learned of its path
 * @path:	the path, may be NULL
 * @told_byteps: the capacity that the subflow told last
 * @limit_byteps: the capacity that it has measured; 0 if it doesn't know
 * @proven_byteps: the highest rate that it has carried
 * @rtt_us:	least round-trip time
 *
 * A small change isn't taken, to spare the lock.
 *
 * Return: the capacity that the subflow has told by now, for the next call's @told_byteps.
 */
u32 pams_memory_learn(struct pams_remembered *path, u32 told_byteps, u32 limit_byteps,
		      u32 proven_byteps, u32 rtt_us)
{
	u32 change = limit_byteps > told_byteps ? limit_byteps - told_byteps :
						  told_byteps - limit_byteps;
	u32 was_proven = path ? READ_ONCE(path->proven_byteps) : 0;
	bool news = change > told_byteps / 8;

	if (!path || (!news && proven_byteps <= was_proven + was_proven / 8 &&
		      (!limit_byteps || memory_age_s(path) < MEMORY_REFRESH_S)))
		return told_byteps;

	spin_lock_bh(&path->net->memory.lock);
	memory_forget_old(path);
	if (limit_byteps || proven_byteps > path->limit_byteps)
		WRITE_ONCE(path->limit_byteps, limit_byteps);
	WRITE_ONCE(path->proven_byteps,
		   limit_byteps ? proven_byteps : max(path->proven_byteps, proven_byteps));
	WRITE_ONCE(path->rtt_us, rtt_us);
	WRITE_ONCE(path->told_s, ktime_get_boottime_seconds());
	spin_unlock_bh(&path->net->memory.lock);
	return limit_byteps;
}

/**
 * pams_memory_doubt - a sample contradicts the path's capacity: forget it
 * @path:	the path
 */
void pams_memory_doubt(struct pams_remembered *path)
{
	spin_lock_bh(&path->net->memory.lock);
	WRITE_ONCE(path->limit_byteps, 0);
	WRITE_ONCE(path->proven_byteps, 0);
	spin_unlock_bh(&path->net->memory.lock);
}

/**
 * pams_memory_missed - note that an expected path didn't join in time
 * @path:	the path
 */
void pams_memory_missed(struct pams_remembered *path)
{
	spin_lock_bh(&path->net->memory.lock);
	path->joins = 0;
	path->joins_needed = min(path->joins_needed << MEMORY_JOINS_SHIFT, MEMORY_JOINS_MAX);
	spin_unlock_bh(&path->net->memory.lock);
}

/* Note among @first's others that @path joins, in the place of the same addresses' entry, or of the
 * oldest.
 */
static void memory_note_other(struct pams_remembered *first,
			      const struct pams_remembered *path)
{
	struct pams_memory_other *others = first->others;
	unsigned int i = 0;

	while (i < PAMS_MEMORY_OTHERS - 1 &&
	       memcmp(&others[i].key, &path->key, sizeof(path->key)))
		i++;
	memmove(others + 1, others, i * sizeof(*others));
	others[0] = (struct pams_memory_other){ .key = path->key, .rtt_us = path->rtt_us };
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
	if (path->joins)
		after_us = (path->join_us + (u32)after_us) / 2;
	WRITE_ONCE(path->join_us, after_us);
	path->joins = min(path->joins + 1, MEMORY_JOINS_MAX);
	memory_note_other(first, path);
	spin_unlock_bh(&path->net->memory.lock);
}

/* Is the path likely to join soon, and is it known what it carries? */
static bool memory_is_expected(const struct pams_remembered *path)
{
	return path->joins >= path->joins_needed && path->proven_byteps &&
	       path->join_us < MEMORY_JOIN_MAX_US && memory_is_fresh(path);
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
	for (i = 0; i < PAMS_MEMORY_OTHERS && nr < max; i++) {
		struct pams_remembered *path =
			memory_find(memory, &first->others[i].key,
				    first->others[i].rtt_us);

		if (!path || !memory_is_expected(path))
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
		.limit_byteps = path->limit_byteps,
		.proven_byteps = path->proven_byteps,
		.rtt_us = path->rtt_us,
		.join_us = path->join_us,
		.joined = path->joins,
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
