// SPDX-License-Identifier: GPL-2.0
/* Looks at a connection by timer, for events at which the kernel doesn't call the scheduler: a
 * wait ends, all data is scheduled but not all acknowledged, a path is lost or goes silent.
 *
 * The timer runs in softirq and takes the socket's spinlock, as an acknowledgment
 * does. It looks (look.c), and is armed for the next look. It queues a work item, the kick,
 * only for what needs process context: data has to be sent again, a wait is over, netlink
 * listeners have to be told of an event. So a transfer without trouble costs a few timers
 * a round trip, and no kick.
 *
 * When the next look is due:
 *   closely  after a quarter of the least round trip, 1 to 10 ms, if the scheduler asks for
 *            it and several subflows hold the last data; the pause grows by a quarter each
 *            time that nothing has arrived, and beyond 10 ms begins anew
 *   a tick   after 10 ms, if several subflows hold data; the pause doubles each time that
 *            nothing has arrived, but ends within a second, and before a subflow is silent
 *   else     when a subflow will be overdue or silent
 *
 * A kick has to own the socket. If a process owns it, perhaps for long since that process waits
 * for memory, the kick ends at once, and release_sock() queues it again. Waiting would occupy
 * a worker of the workqueue, which runs a few hundred items at once for all connections. The
 * timer asks for the socket less and less often meanwhile, and has such a kick queued.
 *
 * Lifetime: the timer while it is armed or runs, a queued kick, and a kick that waits for the
 * socket each hold a reference on the connection's state and on its socket (conn.c).
 */
#include <linux/jiffies.h>
#include <net/sock.h>

#include "features.h"
#include "compat/hrtimer.h"
#include "pams.h"
#include "tell.h"

/* No wait is longer, whatever the PAD: by then TCP doesn't expect an acknowledgment any more. */
#define WATCH_WAIT_MAX_NS	(2ULL * NSEC_PER_SEC)
/* the longest pause between looks at a tail while nothing arrives */
#define WATCH_PAUSE_MAX_US	(1U * USEC_PER_SEC)
/* While a process owns the socket the timer tries again, after PAMS_CLOSE_US at first and twice
 * as long each time, up to 2^7 times PAMS_CLOSE_US.
 */
#define WATCH_OWNED_SHIFT_MAX	7
/* After so many tries in vain a kick is queued, which runs as soon as the socket is released. */
#define WATCH_OWNED_KICK	4
/* A kick sends this many ranges again, each within one fragment, and one more when it ends and
 * releases the socket; the next kick sends the others.
 */
#define WATCH_FRAGMENTS_MAX	16

static struct workqueue_struct *watch_wq;

/* Queue the kick, with references that the caller has taken for it. */
static void kick_queue(struct pams_conn *conn)
{
	if (queue_work(watch_wq, &conn->kick))
		return;
	/* The queued kick holds references of its own, so these aren't the last ones. */
	refcount_dec(&conn->refs);
	__sock_put((struct sock *)conn->msk);
}

/**
 * pams_watch_kick - queue the connection's kick
 * @conn:	the connection; any context
 */
void pams_watch_kick(struct pams_conn *conn)
{
	pams_conn_hold(conn);
	kick_queue(conn);
}

/* Arm the timer, unless it fires earlier anyway. The caller owns the msk, or holds its data lock
 * while nobody owns it; the timer's function writes @timed only while nobody owns the msk. The
 * timer holds one reference, however often it is armed.
 */
static void watch_arm(struct pams_conn *conn, u32 pause_us)
{
	ktime_t expires = ktime_add_us(ktime_get(), pause_us);

	if (conn->timed) {
		/* The timer's function runs now, or will before @expires, and arms it again. If it
		 * has begun after the first test, and moves the timer on since the msk is owned, it
		 * doesn't matter which time is read: it runs now, or is armed again here.
		 */
		if (!hrtimer_is_queued(&conn->timer) ||
		    /* see above */
		    data_race(ktime_compare(hrtimer_get_expires(&conn->timer), expires) <= 0))
			return;
		if (unlikely(hrtimer_try_to_cancel(&conn->timer) != 1)) {
			/* The function may have begun meanwhile, and wait for the lock: then it
			 * looks soon. If it has armed the timer for later already, only a kick
			 * looks soon enough.
			 */
			if (hrtimer_is_queued(&conn->timer))
				pams_watch_kick(conn);
			return;
		}
	} else {
		conn->timed = true;
		pams_conn_hold(conn);
	}
	hrtimer_start(&conn->timer, expires, HRTIMER_MODE_ABS_SOFT);
}

/**
 * pams_watch - have the timer look at a connection
 * @conn:	the connection
 * @pause_us:	after this time at the latest
 */
void pams_watch(struct pams_conn *conn, u32 pause_us)
{
	conn->pause_us = pause_us;
	conn->backed_off = false;
	watch_arm(conn, pause_us);
}

/**
 * pams_watch_defer - begin or continue a wait for a faster subflow, which the timer ends
 * @conn:	the connection
 * @wait_ns:	the longest wait that can gain something, as the scheduler reckons
 *
 * Return: false if the wait is over and data has to be sent now.
 */
bool pams_watch_defer(struct pams_conn *conn, u64 wait_ns)
{
	u64 now_ns = ktime_get_ns();
	u32 left_us;

	if (!conn->deferring) {
		conn->deferring = true;
		conn->defer_end_ns = now_ns + min(wait_ns, WATCH_WAIT_MAX_NS);
	}
	if (now_ns >= conn->defer_end_ns)
		return false;

	pams_count(conn, &conn->counts.deferrals, 1);
	left_us = div_u64(conn->defer_end_ns - now_ns, NSEC_PER_USEC) + 1;
	watch_arm(conn, left_us);
	return true;
}

static bool any_on_path(struct mptcp_sock *msk, const struct pams_path_key *key)
{
	struct sock *ssk = NULL;

	while ((ssk = msk_next_subflow(msk, ssk))) {
		if (pams_path_may_be_of(key, msk_token(msk), ssk))
			return true;
	}
	return false;
}

/* Does the connection have a subflow on this path? Also true if the subflows can't be looked at
 * right now. Softirqs are off. This only tries to take the data lock, since the caller holds
 * the lock of the connections' table, which is taken within the data lock elsewhere.
 */
static bool is_about(struct pams_conn *conn, const struct pams_path_key *key)
{
	struct sock *sk = (struct sock *)conn->msk;
	bool about;

	if (!spin_trylock(&sk->sk_lock.slock))
		return true;
	about = sock_owned_by_user(sk) || any_on_path(conn->msk, key);
	bh_unlock_sock(sk);
	return about;
}

/* Have one connection act on a report, unless it has no data to send and none outstanding: then
 * its next decision reads the reports.
 */
static void wake(struct pams_conn *conn, const void *key)
{
	if (!msk_is_pending(conn->msk) && msk_is_acknowledged(conn->msk))
		return;
	/* the owner may write it: then it looks, too */
	if (key ? !is_about(conn, key) : data_race(!conn->reported))
		return;
	WRITE_ONCE(conn->wake, true);
	pams_watch_kick(conn);
}

/**
 * pams_watch_wake - have connections that transfer data act on a report
 * @net:	their namespace
 * @key:	the path that was reported; NULL: all reports were removed
 */
void pams_watch_wake(struct pams_net *net, const struct pams_path_key *key)
{
	/* one after the other, ten thousand subflows may be reported */
	if (key && key->kind == PAMS_PATH_SUBFLOW)
		pams_conn_for_token(net, key->number, wake, key);
	else
		pams_conn_for_each(net, wake, key);
}

static void join(struct pams_conn *conn, const void *arg)
{
	pams_watch_kick(conn);
}

/**
 * pams_watch_join - have the connections that are there follow rules
 * @net: their namespace, where pams_rules_replace() has just set the first that say something
 *
 * The kicks do it, since a connection's owner alone may change its @rules. After that function's
 * grace period a connection that this doesn't find was added by who has seen @any set.
 */
void pams_watch_join(struct pams_net *net)
{
	pams_conn_for_each(net, join, NULL);
}

/* Microseconds since a segment was received or data was sent, whichever was later. */
static u32 quiet_us(const struct tcp_sock *tp)
{
	s32 age = tcp_jiffies32 - READ_ONCE(tp->rcv_tstamp);
	s32 sent = tcp_jiffies32 - READ_ONCE(tp->lsndtime);

	age = max(min(age, sent), 0);
	return age ? jiffies_to_usecs(age - 1) : 0;
}

static u32 delivered_packets(const struct msk_look *look)
{
	u32 delivered = 0;
	unsigned int i;

	for (i = 0; i < look->nr; i++)
		delivered += READ_ONCE(tcp_sk(look->ssk[i])->delivered);
	return delivered;
}

/* Do several subflows hold data, so that one of them may be late? */
static bool is_at_stake(const struct pams_view *view)
{
	unsigned int i, holders = 0;

	for (i = 0; i < view->nr; i++)
		holders += view->sub[i]->outstanding;
	return holders > 1;
}

static u32 least_rtt_us(const struct pams_view *view)
{
	u32 rtt_us = WATCH_PAUSE_MAX_US;
	unsigned int i;

	for (i = 0; i < view->nr; i++)
		rtt_us = min(rtt_us, view->sub[i]->rtt_us);
	return rtt_us;
}

/* Does a backup outside the view hold unacknowledged data? The times of the next look, which are
 * computed from the view, don't account for that subflow.
 */
static bool is_held_beyond(struct pams_conn *conn, unsigned int nr)
{
	struct sock *ssk;

	while ((ssk = pams_next_beyond(conn, &nr))) {
		if (!pams_subflow_at(conn, ssk)->silent && READ_ONCE(tcp_sk(ssk)->packets_out))
			return true;
	}
	return false;
}

/* How long until one of the subflows is overdue or silent; 0 if one already is. */
static u32 quiet_left_us(const struct pams_conn *conn, const struct pams_view *view,
			 const struct msk_look *look)
{
	u32 id, least_us;
	unsigned int i;

	/* what a helper holds is overdue though TCP has nothing outstanding */
	least_us = pams_split_head_wait_us(conn, &id) ?: WATCH_PAUSE_MAX_US;
	for (i = 0; i < view->nr; i++) {
		const struct tcp_sock *tp = tcp_sk(look->ssk[i]);
		struct pams_subflow *sub = pams_subflow_of(view->sub[i]);
		u32 limit_us = pams_answer_limit_us(sub, tp), us;

		if (!READ_ONCE(tp->packets_out) || sub->silent)
			continue;
		if (conn->sched->owns_retransmission)
			limit_us = min(limit_us, 2 * sub->model.rtt_us + PAMS_TICK_US);
		us = quiet_us(tp);
		least_us = min(least_us, limit_us > us ? limit_us - us : 0);
	}
	return least_us;
}

static u32 view_pause_us(struct pams_conn *conn, const struct pams_view *view,
			 const struct msk_look *look)
{
	u32 delivered = delivered_packets(look);
	/* a helper may deliver what it holds though TCP has nothing outstanding */
	bool moved = delivered != conn->delivered || conn->bank;
	u32 close_us, pause_us, left_us = quiet_left_us(conn, view, look);

	conn->delivered = delivered;
	if (!is_at_stake(view))
		return max(left_us, PAMS_TICK_US);

	if (conn->sched->closely && pams_nothing_new(look)) {
		close_us = clamp(least_rtt_us(view) / 4, PAMS_CLOSE_US, PAMS_TICK_US);
		return moved || !conn->pause_us || conn->pause_us > PAMS_TICK_US ?
		       close_us : max(conn->pause_us + conn->pause_us / 4, close_us);
	}
	/* a reported path may be lost at any time, whether something arrives or not */
	if (moved || conn->reported)
		return PAMS_TICK_US;
	conn->backed_off = true;
	pause_us = 2 * conn->pause_us;
	/* 0: a subflow is past its limit, but not silent yet; when it will be isn't known */
	if (left_us)
		pause_us = min(pause_us, left_us);
	return clamp(pause_us, PAMS_TICK_US, WATCH_PAUSE_MAX_US);
}

static u32 next_pause_us(struct pams_conn *conn, const struct pams_view *view,
			 const struct msk_look *look)
{
	u32 pause_us = view_pause_us(conn, view, look);

	return pams_watches(conn) && is_held_beyond(conn, view->nr) ?
	       min(pause_us, PAMS_TICK_US) : pause_us;
}

/* Is there new data that could be sent, and nothing under way that would lead to a decision? The
 * kernel found no memory for it when it was pushed, and sets no timer then.
 */
static bool is_forgotten(const struct pams_conn *conn, const struct pams_view *view,
			 const struct msk_look *look)
{
	return look->pending && msk_is_acknowledged(conn->msk) && !conn->deferring &&
	       before64(look->snd_nxt, look->window_end) && pams_lowest_pad(view) >= 0;
}

static bool wait_is_over(const struct pams_conn *conn)
{
	return conn->deferring && msk_is_pending(conn->msk) &&
	       ktime_get_ns() >= conn->defer_end_ns;
}

/* Has the range that waited for room been sent or acknowledged? If so a kick is needed, which
 * makes the next lost data pending.
 */
static bool kept_has_gone(const struct pams_conn *conn)
{
	return conn->resend.keep && !msk_is_resending(conn->msk, &conn->resend);
}

/* The timer's look. The data lock is held, nobody owns the msk. Returns true if a kick is
 * needed.
 */
static bool watch_look(struct pams_conn *conn)
{
	unsigned int known = conn->nr;
	struct pams_view view __uninitialized;
	struct msk_look look __uninitialized;
	bool late;

	if (inet_sk_state_load((struct sock *)conn->msk) == TCP_CLOSE ||
	    !pams_conn_is_current(conn))
		return false;
	if (msk_is_acknowledged(conn->msk) && !msk_is_pending(conn->msk))
		return conn->events;
	/* In fallback the kernel asks for no decisions; a kick ends a wait that began before. */
	if (msk_is_fallback(conn->msk))
		return conn->deferring || conn->events;

	pams_look(conn, conn->sched->detail, &look, &view, true, false);
	late = pams_resend_wanted(conn, &view, &look);
	if (pams_alive_reopened(conn, &look) || wait_is_over(conn) ||
	    READ_ONCE(conn->wake) || conn->events || late ||
	    (conn->deferring && conn->nr > known) || pams_alive_check_is_due(conn) ||
	    (pams_watches(conn) && pams_alive_any_silent(conn, &view, &look)) ||
	    kept_has_gone(conn) || pams_alive_any_gone(conn, view.nr) ||
	    is_forgotten(conn, &view, &look))
		return true;

	conn->pause_us = next_pause_us(conn, &view, &look);
	if (conn->deferring)
		conn->pause_us = min(conn->pause_us, PAMS_CLOSE_US);
	watch_arm(conn, conn->pause_us);
	return false;
}

static enum hrtimer_restart watch_timer(struct hrtimer *timer)
{
	struct pams_conn *conn = container_of(timer, struct pams_conn, timer);
	struct sock *sk = (struct sock *)conn->msk;
	bool kick = false;
	u32 pause_us;

	bh_lock_sock(sk);
	/* @timed belongs to the owner, who may be arming the timer right now */
	if (sock_owned_by_user(sk) && !READ_ONCE(conn->dead)) {
		pause_us = PAMS_CLOSE_US << conn->owned;
		if (conn->owned < WATCH_OWNED_SHIFT_MAX)
			kick = ++conn->owned == WATCH_OWNED_KICK;
		hrtimer_forward_now(timer, ns_to_ktime((u64)pause_us * NSEC_PER_USEC));
		bh_unlock_sock(sk);
		if (kick)
			pams_watch_kick(conn);
		return HRTIMER_RESTART;
	}
	conn->owned = 0;
	conn->timed = false;
	if (!READ_ONCE(conn->dead))
		kick = watch_look(conn);
	bh_unlock_sock(sk);

	if (kick)
		pams_watch_kick(conn);
	pams_conn_put(conn);
	return HRTIMER_NORESTART;
}

/* Called when the socket's owner releases it: queue the kick again. The data lock is held, so a
 * kick that was queued before can't get beyond kick_lock(), and keeps its references until this
 * function has returned.
 */
static int kick_wake(struct wait_queue_entry *wait, unsigned int mode, int flags, void *key)
{
	list_del_init(&wait->entry);
	kick_queue(container_of(wait, struct pams_conn, wait));
	return 0;
}

static void kick_hold(struct wait_queue_entry *wait)
{
	pams_conn_hold(container_of(wait, struct pams_conn, wait));
}

/* Take ownership of the msk for a kick. Returns false, without ownership, if the kick has to
 * end: either the connection is closed, or somebody else owns the msk. In the second case the
 * kick is queued again when that owner releases the msk.
 */
static bool kick_lock(struct pams_conn *conn)
{
	struct sock *sk = (struct sock *)conn->msk;

	if (!msk_lock_or_wait(conn->msk, &conn->wait, kick_hold))
		return false;
	if (pams_conn_is_current(conn) && inet_sk_state_load(sk) != TCP_CLOSE)
		return true;
	release_sock(sk);
	return false;
}

/* Send all late or lost data again. The caller owns the msk. For each range this releases the
 * msk, which pushes the range, and takes ownership again. Returns false if that fails: the msk
 * isn't owned, and the kick has to end.
 */
static bool resend_all(struct pams_conn *conn)
{
	struct sock *sk = (struct sock *)conn->msk;
	unsigned int fragments = WATCH_FRAGMENTS_MAX;

	msk_resend_settle(conn->msk, &conn->resend);
	while (!conn->resend.keep && !msk_is_acknowledged(conn->msk) &&
	       pams_resend(conn)) {
		if (!fragments--) {
			pams_watch_kick(conn);
			break;
		}
		release_sock(sk);
		if (!kick_lock(conn))
			return false;
		msk_window_restore(conn->msk, &conn->window);
		pams_resend_count_excess(conn);
		pams_alive_drop_gone(conn);
		msk_resend_settle(conn->msk, &conn->resend);
	}
	return true;
}

/* Do a kick's work. The caller owns the msk; this releases it, which pushes pending data. */
static void kick_run(struct pams_conn *conn)
{
	struct mptcp_sock *msk = conn->msk;

	pams_count(conn, &conn->counts.kicks, 1);
	WRITE_ONCE(conn->wake, false);
	conn->rules |= READ_ONCE(conn->net->rules.any);
	msk_window_restore(msk, &conn->window);
	pams_resend_count_excess(conn);
	pams_resend_repair_stale(conn);
	pams_alive_drop_gone(conn);
	pams_alive_let_in(conn);
	if (!msk_is_resending(msk, &conn->resend))
		conn->lost_id = 0;
	if (pams_watches(conn))
		pams_alive_find_silent(conn);
	if (!resend_all(conn))
		return;
	pams_alive_check(conn);
	pams_tell_events(conn);

	if (msk_is_pending(msk))
		msk_push(msk);
	else
		msk_finish(msk);
	if (msk_is_fallback(msk))
		conn->deferring = false;
	else if (!msk_is_acknowledged(msk) || msk_is_pending(msk))
		pams_watch(conn, conn->sched->closely ? PAMS_CLOSE_US : PAMS_TICK_US);
	release_sock((struct sock *)msk);
}

/* The work item: process context, with the references that pams_watch_kick() took. */
static void watch_kick(struct work_struct *work)
{
	struct pams_conn *conn = container_of(work, struct pams_conn, kick);

	if (kick_lock(conn))
		kick_run(conn);
	pams_conn_put(conn);
}

/**
 * pams_watch_setup - prepare a new connection's timer and kick
 * @conn: the connection
 */
void pams_watch_setup(struct pams_conn *conn)
{
	INIT_WORK(&conn->kick, watch_kick);
	init_waitqueue_func_entry(&conn->wait, kick_wake);
	INIT_LIST_HEAD(&conn->wait.entry);
	compat_hrtimer_setup_soft(&conn->timer, watch_timer, CLOCK_MONOTONIC);
}

int __init pams_watch_init(void)
{
	watch_wq = alloc_workqueue("mptcp_pams", WQ_MEM_RECLAIM | WQ_UNBOUND, 0);
	return watch_wq ? 0 : -ENOMEM;
}

/* No connection is left (pams_conn_wait()), but a kick's last instructions may still run. */
void pams_watch_exit(void)
{
	destroy_workqueue(watch_wq);
}
