// SPDX-License-Identifier: GPL-2.0
/* Makes, finds and frees the states of connections and of their subflows.
 *
 * A connection's state is made at its first decision, and goes when the kernel releases
 * the scheduler; listeners and connections that send nothing have none. The socket points
 * to it: an MPTCP socket has room for a congestion control's state (icsk_ca_priv), but
 * only its subflows have a congestion control. The kernel clears that room when the
 * socket is disconnected. Where the pointer doesn't help, a table finds the state: when
 * the scheduler is released, for the state that disconnect() left behind, and for walks
 * over all connections.
 *
 * The table is read under RCU. Whoever drops the last reference on a connection's state
 * frees the subflows' states and the bank at once, and the connection's after a grace period.
 * The timer and a pending kick (watch.c) hold a reference each, on the state and on the
 * socket. If there is no memory for a state, a decision takes the first subflow that accepts
 * more.
 *
 * disconnect() keeps the socket and its scheduler. If the connection's key has changed since
 * the state was made, the state is dropped and the new connection gets its own.
 */
#include <linux/hashtable.h>
#include <linux/mutex.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/wait_bit.h>
#include <net/sock.h>

#include "compat/mptcp.h"
#include "pams.h"

/* 64 KB; with 10,000 connections a lookup still meets hardly more than one of them */
#define CONN_TABLE_BITS		13

static DEFINE_HASHTABLE(conn_table, CONN_TABLE_BITS);
static DEFINE_SPINLOCK(conn_table_lock);	/* for writers; readers use RCU */
static struct kmem_cache *conn_cache;
static struct kmem_cache *subflow_cache;
static struct kmem_cache *bank_cache;
static atomic_t conn_count;	/* all states, in the table or not */

/* A sum of totals while pams_conn_sum() computes it. */
struct conn_summing {
	const struct pams_net *net;
	struct pams_counts *sum;
	unsigned int bucket;	/* the buckets before this one have been counted */
};

static DEFINE_MUTEX(conn_sum_mutex);	/* one sum at a time */
static struct conn_summing *conn_summing;	/* the current sum or NULL; under conn_table_lock */
static void (*conn_setup)(struct pams_conn *conn);	/* prepares timer and kick */

static struct pams_conn **conn_slot(struct mptcp_sock *msk)
{
	BUILD_BUG_ON(sizeof(struct pams_conn *) > ICSK_CA_PRIV_SIZE);
	return inet_csk_ca((struct sock *)msk);
}

/**
 * pams_conn_reset - prepare a socket that just got one of the module's schedulers
 * @msk:	the socket; any context
 *
 * Clears the pointer to the state: the memory may hold anything before.
 */
void pams_conn_reset(struct mptcp_sock *msk)
{
	WRITE_ONCE(*conn_slot(msk), NULL);
}

static void conn_free_rcu(struct rcu_head *rcu)
{
	kmem_cache_free(conn_cache, container_of(rcu, struct pams_conn, rcu));
	if (atomic_dec_and_test(&conn_count))
		wake_up_var(&conn_count);
}

static void conn_free(struct pams_conn *conn)
{
	unsigned int i;

	for (i = 0; i < conn->nr; i++)
		kmem_cache_free(subflow_cache, conn->sub[i]);
	if (conn->bank)
		kmem_cache_free(bank_cache, conn->bank);
	call_rcu(&conn->rcu, conn_free_rcu);
}

static void conn_unref(struct pams_conn *conn)
{
	if (refcount_dec_and_test(&conn->refs))
		conn_free(conn);
}

/* Take a reference on the state and on the socket, to come back to the connection later. */
void pams_conn_hold(struct pams_conn *conn)
{
	sock_hold((struct sock *)conn->msk);
	refcount_inc(&conn->refs);
}

/* Give back the references of pams_conn_hold(). The caller doesn't own the socket. */
void pams_conn_put(struct pams_conn *conn)
{
	struct sock *sk = (struct sock *)conn->msk;

	conn_unref(conn);
	sock_put(sk);
}

/* Add a connection's totals to a sum; start over if the owner changes them meanwhile. */
static void counts_add(struct pams_counts *sum, const struct pams_conn *conn)
{
	const struct pams_counts *counts = &conn->counts;
	struct pams_counts old = *sum;
	unsigned int start;

	do {
		start = u64_stats_fetch_begin(&conn->counting);
		sum->decisions = old.decisions + READ_ONCE(counts->decisions);
		sum->deferrals = old.deferrals + READ_ONCE(counts->deferrals);
		sum->kicks = old.kicks + READ_ONCE(counts->kicks);
		sum->stops = old.stops + READ_ONCE(counts->stops);
		sum->reinjected_bytes = old.reinjected_bytes +
					READ_ONCE(counts->reinjected_bytes);
	} while (u64_stats_fetch_retry(&conn->counting, start));
}

static struct pams_conn *conn_find(const struct mptcp_sock *msk)
{
	struct pams_conn *conn;

	hash_for_each_possible_rcu(conn_table, conn, node, (unsigned long)msk,
				   lockdep_is_held(&conn_table_lock))
		if (conn->msk == msk)
			return conn;
	return NULL;
}

/* Take a state out of the table; conn_release() has to follow. */
static void conn_unhash(struct pams_conn *conn)
{
	unsigned int bucket = hash_min((unsigned long)conn->msk, CONN_TABLE_BITS);

	lockdep_assert_held(&conn_table_lock);
	counts_add(&conn->net->gone, conn);
	if (conn_summing && conn_summing->net == conn->net &&
	    bucket >= conn_summing->bucket)
		counts_add(conn_summing->sum, conn);
	hash_del_rcu(&conn->node);
}

/* Drop the table's reference on a state that was just taken out, and those of the timer and the
 * kick. The caller still uses the socket, so their references on it aren't the last ones.
 */
static void conn_release(struct pams_conn *conn)
{
	struct sock *sk = (struct sock *)conn->msk;

	WRITE_ONCE(conn->dead, true);
	if (hrtimer_try_to_cancel(&conn->timer) == 1) {
		refcount_dec(&conn->refs);
		__sock_put(sk);
	}
	if (cancel_work(&conn->kick)) {
		refcount_dec(&conn->refs);
		__sock_put(sk);
	}
	conn_unref(conn);
}

/**
 * pams_conn_del - forget a connection
 * @msk: the socket; any context
 */
void pams_conn_del(struct mptcp_sock *msk)
{
	struct pams_conn *conn;

	WRITE_ONCE(*conn_slot(msk), NULL);

	rcu_read_lock();
	conn = conn_find(msk);
	rcu_read_unlock();
	if (!conn)
		return;

	spin_lock_bh(&conn_table_lock);
	conn = conn_find(msk);
	if (conn)
		conn_unhash(conn);
	spin_unlock_bh(&conn_table_lock);

	if (conn)
		conn_release(conn);
}

static noinline struct pams_conn *conn_add(struct mptcp_sock *msk,
					   const struct pams_sched *sched)
{
	struct sock *sk = (struct sock *)msk;
	struct pams_conn *conn;

	pams_conn_del(msk);	/* a state that disconnect() left behind */

	conn = kmem_cache_zalloc(conn_cache, GFP_ATOMIC | __GFP_NOWARN);
	if (!conn)
		return NULL;

	atomic_inc(&conn_count);
	conn->net = pams_net(sock_net(sk));
	conn->msk = msk;
	conn->sched = sched;
	conn->copies = !!sched->copy;
	conn->local_key = msk_local_key(msk);
	conn->first_seq = msk_snd_nxt(msk);
	if (conn->copies)
		conn->state.copied = conn->first_seq;
	conn->epoch_begin = tcp_jiffies32;
	conn->stale_at = tcp_jiffies32;
	u64_stats_init(&conn->counting);
	refcount_set(&conn->refs, 1);
	conn_setup(conn);

	spin_lock_bh(&conn_table_lock);
	hash_add_rcu(conn_table, &conn->node, (unsigned long)msk);
	/* either this sees @any, or whoever sets it sees this connection */
	conn->rules = sched == &pams_sched_rules || READ_ONCE(conn->net->rules.any);
	spin_unlock_bh(&conn_table_lock);
	WRITE_ONCE(*conn_slot(msk), conn);
	return conn;
}

/**
 * pams_conn_known - the state of a connection, if it has one
 * @msk:	the connection, owned or with its data lock held
 *
 * Return: the state, valid until the socket is released or disconnected; or NULL.
 */
struct pams_conn *pams_conn_known(struct mptcp_sock *msk)
{
	struct pams_conn *conn = READ_ONCE(*conn_slot(msk));

	return likely(conn && conn->local_key == msk_local_key(msk)) ? conn : NULL;
}

/**
 * pams_conn_get - the state of a connection, made if it has none yet
 * @msk:	the connection, owned or with its data lock held
 * @sched:	its scheduler
 *
 * Return: the state, valid until the socket is released or disconnected; NULL if there is no
 * memory.
 */
struct pams_conn *pams_conn_get(struct mptcp_sock *msk,
				const struct pams_sched *sched)
{
	struct pams_conn *conn = pams_conn_known(msk);

	if (unlikely(!conn))
		conn = conn_add(msk, sched);
	return conn;
}

/**
 * pams_conn_is_current - is this still the state of its socket's connection?
 * @conn:	the state; its socket is owned, or its data lock held and nobody owns it
 *
 * After disconnect() it isn't, even before the next connection has a state. Comparing keys
 * isn't enough: the next connection keeps the old key until its handshake is over, and for
 * good if it falls back to TCP.
 */
bool pams_conn_is_current(const struct pams_conn *conn)
{
	return READ_ONCE(*conn_slot(conn->msk)) == conn;
}

/**
 * pams_subflow_get - the state of a subflow, made if it has none yet
 * @conn:	its connection
 * @place:	the subflow's index among the usable ones
 * @id:		subflow_id
 *
 * Moves the state to @place: @conn->sub has the states of the usable subflows in their
 * order, and those of other subflows behind.
 *
 * Return: the state, or NULL if there is no memory.
 */
struct pams_subflow *pams_subflow_get(struct pams_conn *conn, unsigned int place, u32 id)
{
	struct pams_subflow *sub;
	unsigned int i;

	if (likely(place < conn->nr && conn->sub[place]->model.id == id))
		return conn->sub[place];

	for (i = place; i < conn->nr; i++) {
		if (conn->sub[i]->model.id == id) {
			swap(conn->sub[i], conn->sub[place]);
			return conn->sub[place];
		}
	}

	sub = kmem_cache_zalloc(subflow_cache, GFP_ATOMIC | __GFP_NOWARN);
	if (!sub)
		return NULL;
	if (conn->nr == PAMS_SUBFLOWS_MAX)
		pams_subflow_drop(conn, conn->nr - 1);

	sub->model.id = id;
	sub->model.horizon_us = MODEL_HORIZON_NONE;
	conn->sub[conn->nr++] = sub;
	swap(conn->sub[conn->nr - 1], conn->sub[place]);
	return sub;
}

/**
 * pams_subflow_drop - forget a subflow
 * @conn:	its connection
 * @place:	index of its state in @conn->sub
 */
void pams_subflow_drop(struct pams_conn *conn, unsigned int place)
{
	struct pams_subflow *sub = conn->sub[place];

	conn->sub[place] = conn->sub[--conn->nr];
	kmem_cache_free(subflow_cache, sub);
}

/* Advance *@bucket to the next bucket that isn't empty, unless *@bucket is one already. Returns
 * false at the end of the table. A walk over all connections holds the lock for one bucket at a
 * time, since there may be very many connections and the lock keeps softirqs off. May sleep.
 */
static bool conn_bucket_find(unsigned long *bucket)
{
	cond_resched();
	while (*bucket < HASH_SIZE(conn_table) && hlist_empty(&conn_table[*bucket]))
		(*bucket)++;
	return *bucket < HASH_SIZE(conn_table);
}

/**
 * pams_conn_for_each - call a function for all connections of a namespace
 * @net:	the namespace
 * @each:	the function; it may not sleep
 * @arg:	passed on to @each
 *
 * Connections that are made meanwhile may be missed. May sleep.
 */
void pams_conn_for_each(struct pams_net *net,
			void (*each)(struct pams_conn *conn, const void *arg),
			const void *arg)
{
	unsigned long bucket;
	struct pams_conn *conn;

	for (bucket = 0; conn_bucket_find(&bucket); bucket++) {
		spin_lock_bh(&conn_table_lock);
		hlist_for_each_entry(conn, &conn_table[bucket], node) {
			if (conn->net == net)
				each(conn, arg);
		}
		spin_unlock_bh(&conn_table_lock);
	}
}

/**
 * pams_conn_find - the state of any connection
 * @msk:	the connection, under a reference
 *
 * The caller neither owns the socket nor has its data lock: the connection may get its state, or
 * lose it, at the same time. The table holds a reference on each state in it, so under the table's
 * lock another one can be taken.
 *
 * Return: the state, held (pams_conn_hold()), or NULL if it has none.
 */
struct pams_conn *pams_conn_find(const struct mptcp_sock *msk)
{
	struct pams_conn *conn;

	spin_lock_bh(&conn_table_lock);
	conn = conn_find(msk);
	if (conn)
		pams_conn_hold(conn);
	spin_unlock_bh(&conn_table_lock);
	return conn;
}

/**
 * pams_conn_for_token - call a function for the connection with this token, if there is one
 * @net:	its namespace
 * @token:	MPTCP's local token
 * @each:	the function; it may not sleep
 * @arg:	passed on to @each
 *
 * MPTCP's own table of tokens is read under RCU, and gives a reference on the socket. The table's
 * lock is held around @each, as in pams_conn_for_each().
 */
void pams_conn_for_token(struct pams_net *net, u32 token,
			 void (*each)(struct pams_conn *conn, const void *arg),
			 const void *arg)
{
	struct mptcp_sock *msk = mptcp_token_get_sock(net->net, token);
	struct pams_conn *conn;

	if (!msk)
		return;
	spin_lock_bh(&conn_table_lock);
	conn = conn_find(msk);
	if (conn)
		each(conn, arg);
	spin_unlock_bh(&conn_table_lock);
	sock_put((struct sock *)msk);
}

/**
 * pams_conn_next - walk over a namespace's connections, one at a time
 * @net:	the namespace
 * @bucket:	how far the walk has come; 0 at first
 * @skip:	how many connections of @bucket were returned already; 0 at first
 *
 * If connections are made or closed meanwhile, some may be missed or returned twice. May sleep.
 *
 * Return: a connection, held (pams_conn_hold()), or NULL at the end.
 */
struct pams_conn *pams_conn_next(const struct pams_net *net,
				 unsigned long *bucket, unsigned long *skip)
{
	struct pams_conn *conn;

	for (; conn_bucket_find(bucket); (*bucket)++, *skip = 0) {
		unsigned long nr = 0;

		spin_lock_bh(&conn_table_lock);
		hlist_for_each_entry(conn, &conn_table[*bucket], node) {
			if (conn->net != net || nr++ < *skip)
				continue;
			(*skip)++;
			pams_conn_hold(conn);
			spin_unlock_bh(&conn_table_lock);
			return conn;
		}
		spin_unlock_bh(&conn_table_lock);
	}
	return NULL;
}

/* Add the totals of all connections in the table. Returns how many there are. */
static u32 conn_sum_buckets(struct conn_summing *summing)
{
	const struct pams_conn *conn;
	unsigned long bucket;
	u32 nr = 0;

	for (bucket = 0; conn_bucket_find(&bucket); bucket++) {
		spin_lock_bh(&conn_table_lock);
		hlist_for_each_entry(conn, &conn_table[bucket], node) {
			if (conn->net != summing->net)
				continue;
			counts_add(summing->sum, conn);
			nr++;
		}
		summing->bucket = bucket + 1;
		spin_unlock_bh(&conn_table_lock);
	}
	return nr;
}

/**
 * pams_conn_sum - the totals of a namespace's connections
 * @net:	the namespace
 * @sum:	set to the totals of its connections, open and closed
 *
 * If a connection is closed before its bucket was summed, conn_unhash() adds its totals to the
 * sum, so totals never fall. May sleep.
 *
 * Return: number of open connections.
 */
u32 pams_conn_sum(const struct pams_net *net, struct pams_counts *sum)
{
	struct conn_summing summing = { .net = net, .sum = sum };
	u32 nr;

	mutex_lock(&conn_sum_mutex);
	spin_lock_bh(&conn_table_lock);
	*sum = net->gone;
	conn_summing = &summing;
	spin_unlock_bh(&conn_table_lock);

	nr = conn_sum_buckets(&summing);

	spin_lock_bh(&conn_table_lock);
	conn_summing = NULL;
	spin_unlock_bh(&conn_table_lock);
	mutex_unlock(&conn_sum_mutex);
	return nr;
}

/* Allocate @conn's log of the data that its subflows are given, which is freed with @conn. Returns
 * false if there is no memory.
 */
bool pams_conn_open_bank(struct pams_conn *conn)
{
	conn->bank = kmem_cache_zalloc(bank_cache, GFP_ATOMIC | __GFP_NOWARN);
	return conn->bank;
}

/**
 * pams_conn_init - make the slab caches of connections
 * @setup:	called for each new connection, to prepare its timer and its kick
 */
int __init pams_conn_init(void (*setup)(struct pams_conn *conn))
{
	conn_setup = setup;
	conn_cache = kmem_cache_create("mptcp_pams_conn", sizeof(struct pams_conn), 0,
				       SLAB_ACCOUNT, NULL);
	subflow_cache = kmem_cache_create("mptcp_pams_subflow",
					  sizeof(struct pams_subflow), 0,
					  SLAB_ACCOUNT, NULL);
	bank_cache = kmem_cache_create("mptcp_pams_bank", sizeof(struct pams_bank), 0,
				       SLAB_ACCOUNT, NULL);
	if (conn_cache && subflow_cache && bank_cache)
		return 0;
	pams_conn_exit();
	return -ENOMEM;
}

/**
 * pams_conn_wait - wait until all states of connections are freed
 *
 * No socket uses the module's schedulers any more. But a timer whose function ran while its
 * socket was released may have been armed again, for a second at most.
 */
void pams_conn_wait(void)
{
	wait_var_event(&conn_count, !atomic_read(&conn_count));
}

void pams_conn_exit(void)
{
	rcu_barrier();
	kmem_cache_destroy(bank_cache);
	kmem_cache_destroy(subflow_cache);
	kmem_cache_destroy(conn_cache);
}
