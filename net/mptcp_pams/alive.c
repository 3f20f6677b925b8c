// SPDX-License-Identifier: GPL-2.0
/* Finds subflows that don't answer, that were closed, or that may send again since the receive
 * window has opened. The timer checks for them (watch.c); its kick, which owns the socket, acts.
 *
 * A subflow is silent if it has data outstanding and for
 *
 *   srtt + max(4 * RTT variance, 50 ms)
 *
 * nothing was acknowledged, counted from the last acknowledgment, or from the first packet
 * that was sent after a pause. If its path is about to be lost (report.c), acknowledgments
 * must follow closely. The subflow is then silent if none came for max(4 * RTT variance,
 * 50 ms), and the packet acknowledged last, or the first packet after a pause, was sent at
 * least srtt plus this time ago.
 *
 * A subflow that has data and no route is silent at once.
 *
 * The data of a silent subflow is sent again elsewhere, and the subflow is given nothing
 * more until its peer acknowledges something (learn.c). The kernel checks for stale subflows
 * only when it retransmits, which then is rare; so this file calls that check, as often as the
 * kernel's own timer would.
 *
 * The subflows share one receive window. When a subflow sends a window probe or data again, the
 * window may be closed by then. TCP sends these bytes again, with a timer that backs off to two
 * minutes, and sends nothing new before. Once the window has opened the kick restarts that timer.
 */
#include <linux/jiffies.h>
#include <net/sock.h>

#include "pams.h"
#include "tell.h"

static bool older_than(u32 stamp, u32 limit_us)
{
	u32 age = tcp_jiffies32 - stamp;

	/* a stamp of the next moment was set meanwhile */
	return age < (u32)-HZ && age > usecs_to_jiffies(limit_us);
}

/* Does the subflow seem silent, when read without its lock? After an idle time the last
 * acknowledgment is old, so TCP starts delivered_mstamp and first_tx_mstamp anew with the
 * first packet. TCP's own retransmission on a timeout changes none of these times.
 */
static bool seems_silent(const struct pams_subflow *sub, const struct tcp_sock *tp)
{
	u32 answer_us, now_us;

	if (sub->silent)
		return false;
	if (!READ_ONCE(tp->packets_out))
		return peek_is_cut_off((const struct sock *)tp);

	answer_us = pams_answer_limit_us(sub, tp);
	now_us = (u32)tcp_clock_us();
	return model_since_us(now_us, READ_ONCE(tp->delivered_mstamp)) > answer_us &&
	       model_since_us(now_us, READ_ONCE(tp->first_tx_mstamp)) >
	       pams_silence_limit_us(sub, tp) &&
	       older_than(READ_ONCE(tp->rcv_tstamp), answer_us);
}

/**
 * pams_alive_any_silent - has another subflow become silent?
 * @conn:	the connection, with its data lock held
 * @view:	the usable subflows
 * @look:	the look that @view was made from
 *
 * Return: true if one seems silent, which a kick has to confirm with that subflow's lock.
 */
bool pams_alive_any_silent(struct pams_conn *conn, const struct pams_view *view,
			   const struct msk_look *look)
{
	struct sock *ssk;
	unsigned int i;

	for (i = 0; i < view->nr; i++) {
		if (seems_silent(pams_subflow_of(view->sub[i]), tcp_sk(look->ssk[i])))
			return true;
	}
	while ((ssk = pams_next_beyond(conn, &i))) {
		if (seems_silent(pams_subflow_at(conn, ssk), tcp_sk(ssk)))
			return true;
	}
	return false;
}

/* Mark the subflow as silent if it still seems so with its lock held. Taking the lock processes
 * the segments that waited in its backlog.
 */
static void silence_confirm(struct pams_conn *conn, struct pams_subflow *sub,
			    struct sock *ssk)
{
	lock_sock(ssk);
	if (seems_silent(sub, tcp_sk(ssk))) {
		sub->silent_tstamp = READ_ONCE(tcp_sk(ssk)->rcv_tstamp);
		sub->silent = true;
		sub->cut_off = !READ_ONCE(tcp_sk(ssk)->packets_out);
		conn->silent = true;
	}
	release_sock(ssk);
}

/**
 * pams_alive_find_silent - mark the subflows that are silent
 * @conn:	the connection, owned
 */
void pams_alive_find_silent(struct pams_conn *conn)
{
	struct sock *ssk = NULL;

	while ((ssk = msk_next_subflow(conn->msk, ssk))) {
		struct pams_subflow *sub = pams_subflow_at(conn, ssk);

		if (sub && seems_silent(sub, tcp_sk(ssk)))
			silence_confirm(conn, sub, ssk);
	}
}

/* Is there a subflow on which the data of the silent ones can be sent again? A backup doesn't
 * count while a regular subflow is usable; a silent regular subflow is usable until the kernel
 * marks it stale.
 */
static bool any_alive(struct pams_conn *conn)
{
	bool regular = false, alive[2] = {};
	struct sock *ssk = NULL;

	while ((ssk = msk_next_subflow(conn->msk, ssk))) {
		const struct pams_subflow *sub = pams_subflow_at(conn, ssk);
		bool backup = msk_subflow_is_backup(ssk);

		if (!msk_subflow_is_usable(ssk))
			continue;
		regular |= !backup;
		alive[backup] |= sub && !sub->stopped;
	}
	return alive[!regular];
}

/* Does lost data wait to be sent again? */
static bool lost_waits(const struct pams_conn *conn)
{
	return conn->resend.keep || conn->lost_id;
}

/**
 * pams_alive_check_is_due - is it time for the kernel's stale check?
 * @conn:	the connection, owned or with its data lock held
 *
 * The check counts how often in a row a subflow hasn't answered. After some times the kernel
 * marks the subflow stale and doesn't use it until it answers. It is no time while lost data waits
 * to be sent again, unless all subflows that could take it are silent.
 */
bool pams_alive_check_is_due(struct pams_conn *conn)
{
	return pams_watches(conn) && conn->silent && !msk_is_fallback(conn->msk) &&
	       tcp_jiffies32 - conn->stale_at >= TCP_RTO_MIN &&
	       (!lost_waits(conn) || !any_alive(conn));
}

/* Was the data of all stale subflows sent again? The kernel counts for all subflows that hold data
 * whether they answer, and one may be stale before it is silent: its limit is longer after false
 * alarms. It may be stale before its turn to be sent again, and hold what was sent again for
 * another one.
 */
static bool all_stale_are_done(struct pams_conn *conn)
{
	struct sock *ssk = NULL;

	while ((ssk = msk_next_subflow(conn->msk, ssk))) {
		const struct pams_subflow *sub = pams_subflow_at(conn, ssk);

		if (msk_subflow_is_stale(ssk) && !tcp_rtx_and_write_queues_empty(ssk) &&
		    !(sub && pams_resend_is_done(conn, sub, ssk)))
			return false;
	}
	return true;
}

/**
 * pams_alive_check - have the kernel check for stale subflows, if it is time
 * @conn:	the connection, owned
 *
 * What the kernel then makes pending again is marked as sent if that was sent again before.
 */
void pams_alive_check(struct pams_conn *conn)
{
	if (!pams_alive_check_is_due(conn))
		return;
	conn->stale_at = tcp_jiffies32;
	/* while lost data waits, the check is due only since no subflow is alive */
	conn->refusing = !lost_waits(conn) && any_alive(conn);
	if (msk_stale_check(conn->msk, !conn->refusing) && conn->refusing &&
	    all_stale_are_done(conn))
		msk_nothing_again(conn->msk);
	pams_resend_repair_stale(conn);
	conn->refusing = false;
}

/* Is the subflow still open? The kernel keeps the first subflow in its list after closing it, so
 * being in the list isn't enough.
 */
static bool is_open(struct mptcp_sock *msk, u32 id)
{
	const struct sock *ssk = msk_subflow_find(msk, id);

	return ssk && msk_may_send(ssk);
}

/**
 * pams_alive_any_gone - does @conn keep the state of a subflow that was closed?
 * @conn:	the connection, owned or with its data lock held
 * @usable:	number of usable subflows, whose states come first and aren't checked
 */
bool pams_alive_any_gone(const struct pams_conn *conn, unsigned int usable)
{
	unsigned int i;

	for (i = usable; i < conn->nr; i++) {
		if (!is_open(conn->msk, conn->sub[i]->model.id))
			return true;
	}
	return false;
}

/**
 * pams_alive_drop_gone - drop the states of subflows that were closed
 * @conn:	the connection, owned
 */
void pams_alive_drop_gone(struct pams_conn *conn)
{
	unsigned int i = conn->nr;

	while (i--) {
		if (is_open(conn->msk, conn->sub[i]->model.id))
			continue;
		pams_tell_removed(conn, conn->sub[i]);
		msk_resend_repair(conn->msk, &conn->resend);
		pams_subflow_drop(conn, i);
	}
}

/**
 * pams_alive_reopened - has the receive window opened for a subflow whose TCP doesn't send?
 * @conn:	the connection, owned or with its data lock held
 * @look:	the last look at the connection
 *
 * Return: true if a kick has to call pams_alive_let_in().
 */
bool pams_alive_reopened(struct pams_conn *conn, const struct msk_look *look)
{
	struct sock *ssk = NULL;

	if (!conn->shut || !before64(look->snd_nxt, look->window_end))
		return false;

	/* each subflow learns of the open window from its own acknowledgments */
	conn->shut = false;
	while ((ssk = msk_next_subflow(conn->msk, ssk))) {
		if (peek_is_let_in(ssk))
			conn->reopened = true;
		else if (peek_has_backed_off(ssk))
			conn->shut = true;	/* or its answer is still under way */
	}
	return conn->reopened;
}

/* Restart a subflow's retransmission timer: until it fires, perhaps in two minutes, TCP sends
 * nothing new. It backed off because of the closed window, not of congestion, so the back-off
 * ends.
 */
static void timer_begin_anew(struct sock *ssk)
{
	struct inet_connection_sock *icsk = inet_csk(ssk);

	lock_sock(ssk);
	if (peek_is_let_in(ssk)) {
		icsk->icsk_backoff = 0;
		/* learn.c reads it without the lock */
		WRITE_ONCE(icsk->icsk_rto,
			   min_t(u32, __tcp_set_rto(tcp_sk(ssk)), TCP_RTO_MAX));
		inet_csk_reset_xmit_timer(ssk, ICSK_TIME_RETRANS, 1, TCP_RTO_MAX);
	}
	release_sock(ssk);
}

/**
 * pams_alive_let_in - have subflows send again for which the receive window has opened
 * @conn:	the connection, owned
 */
void pams_alive_let_in(struct pams_conn *conn)
{
	struct sock *ssk = NULL;

	if (!conn->reopened)
		return;
	conn->reopened = false;
	while ((ssk = msk_next_subflow(conn->msk, ssk))) {
		if (peek_is_let_in(ssk))
			timer_begin_anew(ssk);
	}
}
