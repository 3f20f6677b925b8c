// SPDX-License-Identifier: GPL-2.0
/* What is remembered of each connection, and the kick.
 *
 * Lifetime: an entry is made when the kernel gives the socket our scheduler
 * (socket(), accept(), in softirq too) and goes when it takes it back; nothing
 * is allocated on the send path. The table is read under RCU; an entry is
 * freed after a grace period by whoever drops its last reference. A pending
 * kick holds one reference on the entry and one on the socket. Without an
 * entry (no memory) a scheduler works on instantaneous values and never waits.
 *
 * A socket that fails right after it was made may never be given back: an old
 * entry under the same address is replaced. disconnect() keeps the socket and
 * its scheduler: the entry starts anew when the connection's key changes.
 *
 * The kick is the backstop of a deferral: acknowledgments on the subflows
 * waited for bring the next decision, and where they don't, it does. No wait
 * is longer than what the scheduler said it would gain by waiting. It also
 * looks after the tail, when all is scheduled and not all acknowledged: the
 * kernel asks a scheduler nothing then, and reinjection (reinject.c) begins.
 */
#include <linux/hashtable.h>
#include <linux/jiffies.h>
#include <linux/spinlock.h>
#include <net/sock.h>

#include "compat/slab.h"
#include "netlink.h"
#include "pams.h"

#include "compat/hrtimer.h"	/* what the kernel has is in pams.h */

/* the longest wait whatever the PAD: TCP gives up hope of an ACK about then */
#define CONN_WAIT_MAX		(2 * HZ)
/* how often it is looked at in the end, and how much is done at once at most */
#define CONN_TICK_MAX		HZ
#define CONN_FRAGMENTS_MAX	16
/* The first pause of a close watch: less than most round trips, and hardly
 * noticed among what a packet costs. Each that finds nothing new makes the next
 * a quarter longer.
 */
#define CONN_PAUSE_US		1000

/* 64 KB; at 10,000 connections a lookup still meets hardly more than one entry */
#define CONN_TABLE_BITS		13

static DEFINE_HASHTABLE(conn_table, CONN_TABLE_BITS);
static DEFINE_SPINLOCK(conn_table_lock);	/* for writers; readers use RCU */
static struct workqueue_struct *conn_wq;

static void conn_put(struct pams_conn *conn)
{
	if (refcount_dec_and_test(&conn->refs))
		kfree_rcu(conn, rcu);
}

/* A socket that was asked for a decision will be released, so while its entry is
 * in the table it is there. One that failed at birth may have gone.
 */
static bool conn_is_live(const struct pams_conn *conn)
{
	return READ_ONCE(conn->counts.decisions);
}

static void conn_push(struct mptcp_sock *msk)
{
	struct sock *sk = (struct sock *)msk;

	spin_lock_bh(&sk->sk_lock.slock);
	msk->cb_flags |= PAMS_CB_PUSH_PENDING;
	spin_unlock_bh(&sk->sk_lock.slock);
}

/* The earliest of what was asked for counts. Two who ask at once may be served
 * at the later time, which is a tick at most: only pams_conn_wake_all() isn't
 * the owner.
 */
static void conn_kick_arm(struct pams_conn *conn, unsigned long delay)
{
	struct sock *sk = (struct sock *)conn->msk;
	unsigned long at = jiffies + delay;

	if (delayed_work_pending(&conn->kick) &&
	    !time_before(at, READ_ONCE(conn->kick_at)))
		return;

	WRITE_ONCE(conn->kick_at, at);
	sock_hold(sk);
	refcount_inc(&conn->refs);
	if (mod_delayed_work(conn_wq, &conn->kick, delay)) {
		/* it was pending, with its references */
		refcount_dec(&conn->refs);
		__sock_put(sk);
	}
}

static void conn_watch(struct pams_conn *conn, unsigned int tick)
{
	conn->watching = true;
	conn->tick = tick;
	conn_kick_arm(conn, tick);
}

/* Softirq: what is to be done locks sockets, so it needs a process. */
static enum hrtimer_restart conn_timer(struct hrtimer *timer)
{
	struct pams_conn *conn = container_of(timer, struct pams_conn, timer);

	conn_kick_arm(conn, 0);
	pams_conn_put(conn);
	return HRTIMER_NORESTART;
}

static void conn_pause(struct pams_conn *conn, u32 pause_us)
{
	conn->watching = true;
	conn->pause_us = pause_us;
	if (hrtimer_is_queued(&conn->timer))
		return;

	sock_hold((struct sock *)conn->msk);
	refcount_inc(&conn->refs);
	hrtimer_start(&conn->timer, ns_to_ktime((u64)pause_us * NSEC_PER_USEC),
		      HRTIMER_MODE_REL_SOFT);
}

/**
 * pams_conn_finish - nothing is pending any more: send a DATA_FIN that waited
 * @msk: the connection, owned or with its data lock held
 *
 * The kernel does so after a push that sent something. If reinjected data was
 * acknowledged before it was pushed, there is none: its worker sends it.
 */
void pams_conn_finish(struct mptcp_sock *msk)
{
	struct sock *sk = (struct sock *)msk;

	if (!msk->snd_data_fin_enable || msk->snd_nxt + 1 != msk->write_seq)
		return;

	sock_hold(sk);
	if (!schedule_work(&msk->work))
		__sock_put(sk);
}

/* Packets that arrived, on all subflows. */
static u32 conn_delivered(const struct mptcp_sock *msk)
{
	const struct mptcp_subflow_context *subflow;
	u32 delivered = 0;

	list_for_each_entry(subflow, &msk->conn_list, node)
		delivered += READ_ONCE(tcp_sk(subflow->tcp_sock)->delivered);
	return delivered;
}

/* Look again soon while there is something to do or something arrives, else
 * less and less often.
 */
static void conn_watch_on(struct pams_conn *conn, const struct mptcp_sock *msk,
			  bool reinjected)
{
	u32 delivered = conn_delivered(msk);
	bool moving = reinjected || delivered != conn->delivered;
	unsigned int tick = moving || !conn->tick ?
			    PAMS_TICK : min(2 * conn->tick, CONN_TICK_MAX);

	if (conn->pause_us)
		conn_pause(conn, moving ? CONN_PAUSE_US :
				 conn->pause_us + conn->pause_us / 4);
	conn->delivered = delivered;
	conn_watch(conn, tick);
}

/* The msk is owned; it may be released and taken again, which pushes. */
static void conn_tick(struct pams_conn *conn, struct mptcp_sock *msk)
{
	struct sock *sk = (struct sock *)msk;
	unsigned int fragments = CONN_FRAGMENTS_MAX;
	bool watching = conn->watching | READ_ONCE(conn->wake);
	bool reinjected = false;

	conn->watching = false;
	WRITE_ONCE(conn->wake, false);
	pams_window_widen(msk, conn);
	if (inet_sk_state_load(sk) == TCP_CLOSE)
		return;

	if (conn->deferring && msk->first_pending &&
	    time_after_eq(jiffies, conn->defer_end))
		conn->counts.kicks++;	/* a wait that is over */
	if (watching)
		pams_silence_look(msk, conn);

	pams_reinject_settle(msk, conn);
	while (watching && fragments-- && !conn->reinject_keep &&
	       before64(msk->snd_una, msk->snd_nxt) &&
	       pams_reinject(msk, conn)) {
		reinjected = true;
		release_sock(sk);
		lock_sock(sk);
		if (READ_ONCE(conn->dead))
			return;
		pams_window_widen(msk, conn);
		pams_reinject_settle(msk, conn);
	}
	pams_netlink_events(msk, conn);

	if (msk->first_pending)
		conn_push(msk);
	else
		pams_conn_finish(msk);
	if (watching && before64(msk->snd_una, msk->snd_nxt))
		conn_watch_on(conn, msk, reinjected);
	else
		conn->pause_us = 0;
}

/* Process context, holding the references that conn_kick_arm() took. */
static void conn_kick(struct work_struct *work)
{
	struct pams_conn *conn = container_of(to_delayed_work(work),
					      struct pams_conn, kick);
	struct mptcp_sock *msk = conn->msk;
	struct sock *sk = (struct sock *)msk;

	lock_sock(sk);
	if (!READ_ONCE(conn->dead))
		conn_tick(conn, msk);
	release_sock(sk);	/* pushes */

	pams_conn_put(conn);
}

static void counts_add(struct pams_counts *sum, const struct pams_counts *counts)
{
	sum->decisions += counts->decisions;
	sum->deferrals += counts->deferrals;
	sum->kicks += counts->kicks;
	sum->stops += counts->stops;
	sum->reinjected_bytes += counts->reinjected_bytes;
}

/* Out of the table; conn_release() has to follow. */
static void conn_unhash(struct pams_conn *conn)
{
	lockdep_assert_held(&conn_table_lock);
	counts_add(&conn->net->gone, &conn->counts);
	hash_del_rcu(&conn->node);
}

/* Once, when it was taken out of the table. */
static void conn_release(struct pams_conn *conn)
{
	struct sock *sk = (struct sock *)conn->msk;

	WRITE_ONCE(conn->dead, true);
	if (hrtimer_try_to_cancel(&conn->timer) == 1) {
		refcount_dec(&conn->refs);
		__sock_put(sk);
	}
	if (cancel_delayed_work(&conn->kick)) {
		refcount_dec(&conn->refs);
		__sock_put(sk);
	}
	conn_put(conn);
}

/* Inlined: a decision begins with it. */
static __always_inline
struct pams_conn *conn_find(const struct mptcp_sock *msk)
{
	struct pams_conn *conn;

	hash_for_each_possible_rcu(conn_table, conn, node, (unsigned long)msk,
				   lockdep_is_held(&conn_table_lock))
		if (conn->msk == msk)
			return conn;
	return NULL;
}

/**
 * pams_conn_del - forget a connection
 * @msk: the socket; any context
 */
void pams_conn_del(struct mptcp_sock *msk)
{
	struct pams_conn *conn;

	spin_lock_bh(&conn_table_lock);
	conn = conn_find(msk);
	if (conn)
		conn_unhash(conn);
	spin_unlock_bh(&conn_table_lock);

	if (conn)
		conn_release(conn);
}

/**
 * pams_conn_add - remember a connection
 * @msk: a socket that just got one of our schedulers; any context
 */
void pams_conn_add(struct mptcp_sock *msk)
{
	struct pams_conn *conn;

	pams_conn_del(msk);

	conn = kzalloc_obj(*conn, GFP_ATOMIC | __GFP_NOWARN);
	if (!conn)
		return;

	conn->net = pams_net(sock_net((struct sock *)msk));
	conn->msk = msk;
	refcount_set(&conn->refs, 1);
	INIT_DELAYED_WORK(&conn->kick, conn_kick);
	compat_hrtimer_setup_soft(&conn->timer, conn_timer);

	spin_lock_bh(&conn_table_lock);
	hash_add_rcu(conn_table, &conn->node, (unsigned long)msk);
	spin_unlock_bh(&conn_table_lock);
}

/**
 * pams_conn_get - what is remembered of a connection
 * @msk: the connection, owned or with its data lock held
 *
 * Return: valid until the socket is released, or NULL.
 */
struct pams_conn *pams_conn_get(struct mptcp_sock *msk)
{
	struct pams_conn *conn;

	rcu_read_lock();
	conn = conn_find(msk);
	rcu_read_unlock();

	if (conn && unlikely(conn->local_key != msk->local_key)) {
		conn->local_key = msk->local_key;
		conn->first_seq = msk->snd_nxt;
		conn->deferring = false;
		conn->reinject_end = conn->reinject_start;
		conn->reinject_sent_end = conn->reinject_start;
		conn->reinject_keep = false;
		conn->narrowed = false;
		memset(conn->memo, 0, sizeof(conn->memo));
	}
	return conn;
}

/**
 * pams_conn_defer - may this connection wait, and if so see that it wakes
 * @conn:	its state, may be NULL
 * @wait_ns:	what the scheduler's choice says a wait can gain at most
 *
 * Return: false if the wait is over and data has to be sent now.
 */
bool pams_conn_defer(struct pams_conn *conn, u64 wait_ns)
{
	unsigned long now = jiffies;

	if (!conn)
		return false;

	if (!conn->deferring) {
		conn->deferring = true;
		conn->defer_end = now + 1 +
			min_t(u64, nsecs_to_jiffies64(wait_ns), CONN_WAIT_MAX);
	}
	if (time_after_eq(now, conn->defer_end))
		return false;

	conn->counts.deferrals++;
	conn_kick_arm(conn, conn->defer_end - now);
	return true;
}

/**
 * pams_conn_watch_begin - look at the connection again in a tick
 * @conn: its state
 */
void pams_conn_watch_begin(struct pams_conn *conn)
{
	conn_watch(conn, PAMS_TICK);
}

/**
 * pams_conn_watch_closely - look at the connection again within a millisecond
 * @conn: its state
 */
void pams_conn_watch_closely(struct pams_conn *conn)
{
	conn_pause(conn, CONN_PAUSE_US);
}

/**
 * pams_conn_kick_now - look at the connection as soon as may be
 * @conn: its state
 */
void pams_conn_kick_now(struct pams_conn *conn)
{
	conn->watching = true;
	conn_kick_arm(conn, 0);
}

/**
 * pams_conn_wake_all - have all connections look at what was reported
 * @net: their namespace
 */
void pams_conn_wake_all(struct pams_net *net)
{
	struct pams_conn *conn;
	unsigned int bucket;

	spin_lock_bh(&conn_table_lock);
	hash_for_each(conn_table, bucket, conn, node) {
		if (conn->net == net && conn_is_live(conn)) {
			WRITE_ONCE(conn->wake, true);
			conn_kick_arm(conn, 0);
		}
	}
	spin_unlock_bh(&conn_table_lock);
}

/**
 * pams_conn_next - walk over a namespace's connections, one at a time
 * @net:	the namespace
 * @bucket:	0 at first
 * @skip:	0 at first
 *
 * Connections that come or go meanwhile may be missed or met twice.
 *
 * Return: with a reference on its socket (sock_put) and one on itself
 * (pams_conn_put), or NULL at the end.
 */
struct pams_conn *pams_conn_next(const struct pams_net *net,
				 unsigned long *bucket, unsigned long *skip)
{
	struct pams_conn *conn;

	spin_lock_bh(&conn_table_lock);
	for (; *bucket < HASH_SIZE(conn_table); (*bucket)++, *skip = 0) {
		unsigned long nr = 0;

		hlist_for_each_entry(conn, &conn_table[*bucket], node) {
			if (conn->net != net || !conn_is_live(conn) ||
			    nr++ < *skip)
				continue;
			(*skip)++;
			sock_hold((struct sock *)conn->msk);
			refcount_inc(&conn->refs);
			spin_unlock_bh(&conn_table_lock);
			return conn;
		}
	}
	spin_unlock_bh(&conn_table_lock);
	return NULL;
}

/**
 * pams_conn_put - give back what pams_conn_next() returned
 * @conn: the connection, its socket not owned
 */
void pams_conn_put(struct pams_conn *conn)
{
	struct mptcp_sock *msk = conn->msk;

	conn_put(conn);
	sock_put((struct sock *)msk);
}

/**
 * pams_conn_sum - the totals of a namespace's connections
 * @net:	the namespace
 * @sum:	of those that are there, and that have gone
 *
 * Return: how many are there.
 */
u32 pams_conn_sum(const struct pams_net *net, struct pams_counts *sum)
{
	const struct pams_conn *conn;
	unsigned int bucket;
	u32 nr = 0;

	spin_lock_bh(&conn_table_lock);
	*sum = net->gone;
	hash_for_each(conn_table, bucket, conn, node) {
		if (conn->net != net || !conn_is_live(conn))
			continue;
		counts_add(sum, &conn->counts);
		nr++;
	}
	spin_unlock_bh(&conn_table_lock);
	return nr;
}

/**
 * pams_conn_forget - a namespace goes: drop what sockets left that failed at birth
 * @net: the namespace
 */
void pams_conn_forget(const struct pams_net *net)
{
	struct hlist_node *next;
	struct pams_conn *conn;
	unsigned int bucket;

	spin_lock_bh(&conn_table_lock);
	hash_for_each_safe(conn_table, bucket, next, conn, node) {
		if (conn->net == net) {
			conn_unhash(conn);
			conn_release(conn);
		}
	}
	spin_unlock_bh(&conn_table_lock);
}

int __init pams_conn_init(void)
{
	conn_wq = alloc_workqueue("mptcp_pams", WQ_MEM_RECLAIM | WQ_UNBOUND, 0);
	return conn_wq ? 0 : -ENOMEM;
}

/* No socket has our schedulers any more and every namespace has forgotten: no
 * kick is armed; one may still be on its last lines.
 */
void pams_conn_exit(void)
{
	destroy_workqueue(conn_wq);
	rcu_barrier();
}
