// SPDX-License-Identifier: GPL-2.0
/* One decision:
 *
 *   look (msk.c, look.c), learn (learn.c), model (model.c), pick (sched_*.c), send (msk_send.c)
 *
 * What only some connections need is a stage beside that way, behind one test: begin_stages()
 * has those before the look, look.c those of the look, end_stages() those after the choice.
 *
 * Context: the msk is owned (process), or its data lock is held and nobody owns it
 * (softirq).
 */
#include <linux/kernel.h>

#include "pams.h"
#include "trace.h"

/* Choose the subflow that sends the range of @resend again: its target, once that has room.
 * Without a target, or if the target is avoided for its cost by now, take the subflow with the
 * lowest PAD other than the one that was given the range before.
 */
static int pick_again(const struct pams_view *view, const struct msk_resend *resend)
{
	int target = resend->target ? pick_index(view, resend->target) : PAMS_PICK_NONE;

	if (!resend->target ||
	    (target >= 0 && view->sub[target]->cost && view->sub[target]->stopped))
		return pams_lowest_pad_but(view, resend->origin);
	return target >= 0 && view->sub[target]->idle ? target : PAMS_PICK_NONE;
}

/* Find out what is sent next, after a range may have been sent again. Returns true if data is
 * pending, and in @again if it is that range; false if none is, or if more data of a lost path
 * has to go first: the kick makes that data pending.
 */
static bool after_resend(struct pams_conn *conn, bool *again)
{
	pams_resend_count_excess(conn);
	*again = msk_is_resending(conn->msk, &conn->resend);
	if (*again)
		return true;

	msk_resend_skip(conn->msk, &conn->resend);
	if (conn->lost_id) {
		/* the kick ends @resend, after it has dropped subflows that were closed */
		pams_watch_kick(conn);
		return false;
	}
	if (msk_is_pending(conn->msk))
		return true;

	msk_finish(conn->msk);
	return false;
}

static int defer(struct pams_conn *conn, const struct msk_look *look,
		 const struct pams_view *view)
{
	int target = pams_lowest_pad(view);
	u64 wait_ns = view->sub[target]->pad_ns;

	if (!pams_watch_defer(conn, wait_ns)) {
		if (unlikely(conn->sched->overdue))
			conn->sched->overdue(conn->sched);
		return target;
	}

	trace_mptcp_pams_deferral(look->token, view->sub[target]->id, wait_ns,
				  view->left_bytes);
	return PAMS_PICK_DEFER;
}

static void decision_trace(const struct msk_look *look, const struct pams_view *view,
			   int target)
{
	unsigned int i;

	for (i = 0; trace_mptcp_pams_pad_enabled() && i < view->nr; i++)
		trace_mptcp_pams_pad(look->token, view->sub[i]);
	trace_mptcp_pams_decision(look->token,
				  target < 0 ? 0 : view->sub[target]->id,
				  view->nr, view->left_bytes);
}

static bool others_hold_data(const struct pams_view *view, int target)
{
	int i;

	for (i = 0; i < (int)view->nr; i++) {
		if (i != target && view->sub[i]->outstanding)
			return true;
	}
	return false;
}

/* Is the timer to look after it? A report, as of a cost, has to be followed with any scheduler. */
static bool is_watched(const struct pams_conn *conn)
{
	return conn->sched->watches || conn->reported;
}

/* Arm the timer that watches the data handed over to @target now. It fires soon if no more than a
 * burst is left to send, of the application's data or of the receive window, and another subflow
 * holds data, too: then the data of one of the two may be late.
 */
static void look_after(struct pams_conn *conn, const struct msk_look *look,
		       const struct pams_view *view, int target)
{
	s64 left = min_t(s64, look->write_seq - look->snd_nxt,
			 look->window_end - look->snd_nxt);

	if (!is_watched(conn))
		return;
	if (!conn->timed || conn->backed_off)
		pams_watch(conn, PAMS_TICK_US);
	if (conn->sched->closely && left <= PICK_BURST_BYTES &&
	    conn->pause_us > PAMS_CLOSE_US &&
	    others_hold_data(view, target))
		pams_watch(conn, PAMS_CLOSE_US);
}

static int hand_over(struct pams_conn *conn, const struct msk_look *look,
		     const struct pams_view *view, int target, u32 bytes)
{
	struct msk_order order = {
		.ssk = look->ssk[target],
		.bytes = min(bytes, view->sub[target]->room_bytes),
		.window_bytes = look->window_end - look->snd_nxt,
		.unscheduled_bytes = view->unscheduled_bytes,
		/* @bytes limits what a path gets that will be lost, or that costs something */
		.cuts = conn->sched->cuts ||
			view->sub[target]->horizon_us != MODEL_HORIZON_NONE ||
			view->sub[target]->cost,
		.alone = conn->bank || conn->resend.target || conn->resend.keep,
	};

	return msk_hand_over(conn->msk, &conn->window, &conn->resend, &order);
}

/* Send nothing now. The next acknowledgment, timer or kick leads to another decision. */
static int send_nothing(struct pams_conn *conn)
{
	msk_window_restore(conn->msk, &conn->window);
	return -EAGAIN;
}

/* Send on the first subflow that accepts data, since the view is empty and nothing would lead to
 * another decision: there was no memory for the subflows' states, or no subflow is usable.
 */
static int send_by_kernel(struct pams_conn *conn)
{
	conn->deferring = false;
	msk_window_restore(conn->msk, &conn->window);
	return msk_schedule_any(conn->msk) ? 0 : -EAGAIN;
}

/* Choose the subflow that is given data. Returns its index in the view, or a negative value if
 * no subflow is given any now. May lower @bytes, the most that the subflow is given.
 */
static int choose(struct pams_conn *conn, const struct msk_look *look, struct pams_view *view,
		  bool again, u32 *bytes)
{
	int target;

	if (unlikely(again))
		target = pick_again(view, &conn->resend);
	else
		target = conn->sched->pick(conn->sched, view, bytes);
	/* once the wait is over defer() returns a subflow; @bytes is still its limit */
	if (target == PAMS_PICK_DEFER)
		target = defer(conn, look, view);
	decision_trace(look, view, target);
	if (target != PAMS_PICK_DEFER)
		conn->deferring = false;
	return target;
}

/* The stages before the look. Returns false if nothing is sent now, and in @again whether the
 * decision is about data that is sent again.
 */
static noinline bool begin_stages(struct pams_conn *conn, const struct pams_sched *of_socket,
				  bool *again)
{
	pams_rules_follow(conn, of_socket);
	return !conn->refusing && (!conn->again || after_resend(conn, again));
}

/* The stages after the choice. Have the kick copy data to another subflow, if this decision leaves
 * some to be copied; and let subflows send again for which the receive window has opened.
 */
static noinline void end_stages(struct pams_conn *conn, const struct msk_look *look,
				struct pams_view *view, int target)
{
	bool kick = pams_alive_reopened(conn, look);

	if (conn->copies && conn->costly && !conn->overflow.copies)
		cost_spare(view);
	if (conn->copies && pams_copy_wanted(conn, view, target))
		kick = true;
	if (kick)
		pams_watch_kick(conn);
}

/**
 * pams_decide - which subflow is given data now, and how much
 * @msk:	the connection
 * @of_socket:	the scheduler that its socket has
 *
 * Return: 0 if a subflow is marked to send. -EAGAIN if nothing is sent now; the next
 * acknowledgment, timer or kick leads to another decision.
 */
int pams_decide(struct mptcp_sock *msk, const struct pams_sched *of_socket)
{
	struct pams_conn *conn = pams_conn_get(msk, of_socket);
	/* zeroing both would cost as much as the decision; pams_look() sets .nr entries */
	struct pams_view view __uninitialized;
	struct msk_look look __uninitialized;
	u32 bytes = U32_MAX;
	bool again = false;
	int target;

	if (unlikely(!conn))
		return msk_schedule_any(msk) ? 0 : -EAGAIN;
	pams_count(conn, &conn->counts.decisions, 1);
	if (unlikely(conn->begins) && !begin_stages(conn, of_socket, &again))
		return send_nothing(conn);

	/* pick_again() compares PADs, whatever the scheduler does; nobody owns the socket while
	 * an acknowledgment asks
	 */
	pams_look(conn, max(conn->sched->detail, again ? PAMS_DETAIL_PAD : PAMS_DETAIL_ROOM),
		  &look, &view, again, !sock_owned_by_user_nocheck((struct sock *)msk));
	if (unlikely(!view.nr))
		return send_by_kernel(conn);
	msk_set_timeout(msk, look.timeout);
	target = choose(conn, &look, &view, again, &bytes);
	if (unlikely(conn->copies || conn->shut))
		end_stages(conn, &look, &view, target);
	if (target < 0) {
		/* With nothing under way no acknowledgment comes: room that a bank keeps free
		 * comes back with time, and that the subflow for which all others are spared is
		 * silent is noticed by the timer.
		 */
		if (target == PAMS_PICK_NONE && (conn->bank || is_watched(conn)) &&
		    msk_is_acknowledged(msk))
			pams_watch(conn, PAMS_TICK_US);
		return send_nothing(conn);
	}

	if (!again)
		conn->state.lead = view.sub[target]->id;
	look_after(conn, &look, &view, target);
	return hand_over(conn, &look, &view, target, bytes);
}
