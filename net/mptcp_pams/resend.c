// SPDX-License-Identifier: GPL-2.0
/* Sends data of one subflow again on another one: a late tail, the data of a lost or silent
 * path, and data that a scheduler wants on two subflows. This file decides what is sent
 * again, and keeps the budget; msk_resend.c makes the data pending.
 *
 * Late: the scheduler says which data is late, once nothing new can be sent (sched_pams.c,
 * sched_minfct.c). The end of that data is sent again first, since its beginning arrives first;
 * one fragment after the other, and only while another subflow has room. In every case
 *
 *   late bytes <= what the application wrote / the scheduler's late_share
 *
 * but for the last fragment (32 KB), see struct msk_window. How much the scheduler says is late
 * (pams' r) is the most that is sent again in a tick of 10 ms. That includes SACKed data: the
 * peer's TCP has it, but delivers it only after the lost packet before it has arrived.
 *
 * Late data of a stream (stream.c) is sent again while there is new data, too. It waits for
 * room, and goes before the new data, as data of a lost path does.
 *
 * Lost: all data that a stopped or silent subflow (report.c, alive.c) can't deliver, and what a
 * helper behind the subflow has banked (split.c); also a bank that nothing comes out of. Lost
 * data is sent again in its order, each byte once, before new data, since the receiver waits for
 * it. It isn't part of the budget: if the path is truly lost, all of it is needed. SACKed data is
 * left out until the subflow is silent: before, the lost packet in front of it may still arrive.
 * After a false alarm the subflow has to be silent for twice as long to raise the next one.
 *
 * Copied: data that was sent on one subflow only is sent on another one, too, in its order
 * (sched_redundant.c). It isn't part of the budget, either.
 *
 * Data in a subflow's queue can't be recalled. So what is sent again also arrives on its first
 * subflow, as a duplicate: that is the price.
 *
 * Nothing is sent again in fallback, with less than two usable subflows, or from a subflow with
 * a FIN queued; and nothing that is only late while new data can be sent, except a stream's.
 * Nothing is sent again either while the kernel itself sends its queue again: only one position
 * can be pending, and the kernel would leave out its data before a new position.
 */
#include <linux/math64.h>

#include "pams.h"

/* Does the subflow, or the helper behind it, hold data that has to be sent again since the path
 * is lost?
 */
static bool lost_left(struct pams_conn *conn, const struct pams_subflow *sub,
		      const struct pams_model *model, const struct tcp_sock *tp)
{
	const struct msk_sent_again *again = &sub->again;

	if (pams_split_lost_left(conn, model->id))
		return true;
	if (!model->outstanding || !(sub->stopped || sub->silent))
		return false;
	if (again->lost)
		return true;
	return pams_report_is_lost(conn, sub) &&
	       READ_ONCE(tp->snd_una) != READ_ONCE(tp->write_seq) &&
	       (again->from == again->to ||
		before(READ_ONCE(tp->snd_una), again->from) ||
		before(again->to, READ_ONCE(tp->write_seq)) ||
		(sub->silent && again->passed_over));
}

/* Is the subflow's path lost, or does nothing come out of the pipe behind it? */
static bool is_dead(const struct pams_conn *conn, struct pams_model *model)
{
	return pams_subflow_of(model)->stopped || pams_split_is_dead(conn, model->id);
}

/* Is all data of the connection sent on two subflows, so that none is on a lost path alone? Not
 * if no living subflow has anything outstanding: then both paths are lost.
 */
static bool is_copied(const struct pams_conn *conn, const struct pams_view *view)
{
	unsigned int i;

	if (!view->first_bytes || view->sent_bytes > view->first_bytes)
		return false;
	for (i = 0; i < view->nr; i++) {
		if (view->sub[i]->outstanding && !is_dead(conn, view->sub[i]))
			return true;
	}
	return false;
}

/* Find a silent backup outside the view that holds data to send again, and put it behind the
 * view's subflows. Returns its index there, or PAMS_PICK_NONE.
 */
static int beyond_lost(struct pams_conn *conn, struct pams_view *view, struct msk_look *look)
{
	unsigned int i = view->nr;
	struct sock *ssk;

	while ((ssk = pams_next_beyond(conn, &i))) {
		struct pams_subflow *sub = pams_subflow_at(conn, ssk);

		if (!sub->silent)
			continue;
		sub->model.outstanding = !tcp_rtx_and_write_queues_empty(ssk);
		if (!lost_left(conn, sub, &sub->model, tcp_sk(ssk)))
			continue;
		view->sub[view->nr] = &sub->model;
		look->ssk[view->nr] = ssk;
		look->id[view->nr] = sub->model.id;
		return view->nr;
	}
	return PAMS_PICK_NONE;
}

/* The index of a subflow whose path is lost with data on it, while another one is alive; or
 * PAMS_PICK_NONE.
 */
static int view_lost(struct pams_conn *conn, struct pams_view *view, struct msk_look *look)
{
	unsigned int i, alive = 0;

	if ((!conn->silent && !conn->reported && !conn->bank) || is_copied(conn, view))
		return PAMS_PICK_NONE;
	for (i = 0; i < view->nr; i++)
		alive += !is_dead(conn, view->sub[i]);
	for (i = 0; alive && i < view->nr; i++) {
		if (is_dead(conn, view->sub[i]) &&
		    lost_left(conn, pams_subflow_of(view->sub[i]), view->sub[i],
			      tcp_sk(look->ssk[i])))
			return i;
	}
	return alive ? beyond_lost(conn, view, look) : PAMS_PICK_NONE;
}

/* How much the subflow holds, less the part of its end that was sent again. */
static u32 once_bytes(const struct pams_subflow *sub, const struct tcp_sock *tp)
{
	u32 write_seq = READ_ONCE(tp->write_seq);
	u32 end = sub->again.to == write_seq ? sub->again.from : write_seq;

	if (sub->again.spent)
		return 0;
	return max_t(s32, end - READ_ONCE(tp->snd_una), 0);
}

/* How many late bytes the budget still allows to send again. */
static u64 late_budget(const struct pams_conn *conn, const struct msk_look *look, u8 share)
{
	u64 budget = div_u64(look->write_seq - conn->first_seq, share);

	return budget > conn->late_bytes ? budget - conn->late_bytes : 0;
}

/* How many of the @bytes that the scheduler says are late weren't sent again in this tick. */
static u64 epoch_left(struct pams_conn *conn, u64 bytes)
{
	/* unsigned: a connection may send nothing for longer than 2^31 jiffies */
	if (tcp_jiffies32 - conn->epoch_begin >= usecs_to_jiffies(PAMS_TICK_US)) {
		conn->epoch_begin = tcp_jiffies32;
		conn->epoch_bytes = 0;
	}
	return bytes > conn->epoch_bytes ? bytes - conn->epoch_bytes : 0;
}

/* The index of the subflow whose data is late, as the scheduler says; @bytes is set to how
 * much of it may be sent again. Or PAMS_PICK_NONE.
 */
static int view_late(struct pams_conn *conn, struct pams_view *view,
		     const struct msk_look *look, u64 *bytes)
{
	const struct pams_sched *sched = conn->sched;
	bool nothing_new = pams_nothing_new(look);
	u8 share = READ_ONCE(sched->late_share);
	unsigned int i;
	u64 budget;
	int from;

	if (!share || view->nr < 2 || (!view->stream && !nothing_new))
		return PAMS_PICK_NONE;
	budget = late_budget(conn, look, share);
	if (!budget)
		return PAMS_PICK_NONE;

	for (i = 0; i < view->nr; i++)
		view->sub[i]->once_bytes = once_bytes(pams_subflow_of(view->sub[i]),
						      tcp_sk(look->ssk[i])) +
					   pams_split_once_bytes(conn, look->id[i]);
	*bytes = U64_MAX;
	from = view->stream ? stream_late(view) : PAMS_PICK_NONE;
	if (from < 0 && nothing_new)
		from = sched->late(sched, view, READ_ONCE(conn->net->reinject_eta_percent), bytes);
	if (from < 0)
		return from;

	*bytes = min(budget, epoch_left(conn, *bytes));
	return *bytes ? from : PAMS_PICK_NONE;
}

/* The index of the subflow that is to send a copy, as the scheduler says, or PAMS_PICK_NONE. */
static int view_copy(const struct pams_conn *conn, const struct pams_view *view, u32 *bytes)
{
	return conn->sched->copy ? conn->sched->copy(view, bytes) : PAMS_PICK_NONE;
}

/**
 * pams_copy_wanted - is data to be copied now, or after this decision?
 * @conn:	the connection, owned or with its data lock held
 * @view:	its view
 * @target:	index of the subflow that the decision chose, or negative
 */
bool pams_copy_wanted(const struct pams_conn *conn, const struct pams_view *view,
		      int target)
{
	u32 bytes;

	if (view_copy(conn, view, &bytes) >= 0)
		return true;
	return target >= 0 && view->sent_bytes < view->first_bytes &&
	       pick_any_idle_but(view, target);
}

/**
 * pams_resend_wanted - is data to be sent again: late, lost, or to be copied?
 * @conn:	the connection, owned or with its data lock held
 * @view:	its view
 * @look:	the look that @view was made from
 */
bool pams_resend_wanted(struct pams_conn *conn, struct pams_view *view,
			struct msk_look *look)
{
	u32 copy_bytes;
	u64 bytes;

	if (look->fallback || look->pending_again || conn->resend.keep)
		return false;
	return view_lost(conn, view, look) >= 0 ||
	       view_copy(conn, view, &copy_bytes) >= 0 ||
	       view_late(conn, view, look, &bytes) >= 0;
}

/* Count data that is sent again. @sub is the subflow that was given the data before, or NULL if
 * that isn't known.
 */
static void resend_count(struct pams_conn *conn, struct pams_subflow *sub, u32 bytes)
{
	if (sub && !sub->again_bytes) {
		sub->events |= PAMS_EVENT_REINJECT;
		conn->events = true;
	}
	if (sub)
		sub->again_bytes += bytes;
	pams_count(conn, &conn->counts.reinjected_bytes, bytes);
}

/**
 * pams_resend_count_excess - count the data that was sent again beyond a range
 * @conn:	the connection, owned or with its data lock held, before anything else is sent
 *
 * Excess behind a late range is part of the budget, so the next range is smaller. Excess behind a
 * copied range counts as copied.
 */
void pams_resend_count_excess(struct pams_conn *conn)
{
	u32 bytes = msk_resend_excess(conn->msk, &conn->resend);

	if (likely(!bytes))
		return;
	if (conn->resend.target) {
		if (conn->copies && conn->state.copied == (u32)conn->resend.end)
			conn->state.copied += bytes;
	} else if (!conn->resend.keep) {
		conn->late_bytes += bytes;
		conn->epoch_bytes += bytes;
	}
	resend_count(conn, NULL, bytes);
}

/**
 * pams_resend_repair_stale - msk_resend_repair() if a subflow became stale since the last call
 * @conn: the connection, owned in process context
 *
 * The kernel treats a stale subflow like a closed one: it makes the data pending again, and
 * msk_resend_repair() has to do the rest. 6.12 marks the subflow as stale while it chooses a
 * subflow for a retransmission. 7.3 marks it earlier and pushes at once, so decisions are made
 * before this function is called. It isn't too late then: @resend keeps its range until a kick
 * ends it, no kick runs while the kernel's worker owns the socket, and the worker next calls the
 * scheduler's get_retrans, which calls this function. If the worker skips that call, since a
 * subflow is scheduled, the next kick calls this function.
 */
void pams_resend_repair_stale(struct pams_conn *conn)
{
	bool repair = false;
	struct sock *ssk = NULL;

	while ((ssk = msk_next_subflow(conn->msk, ssk))) {
		struct pams_subflow *sub = pams_subflow_at(conn, ssk);
		bool stale = msk_subflow_is_stale(ssk);

		if (!sub)
			continue;
		repair |= stale && !sub->again.stale;
		sub->again.stale = stale;
	}
	if (repair)
		msk_resend_repair(conn->msk, &conn->resend);
}

/**
 * pams_resend_is_done - was all data of a subflow sent again since it is silent?
 * @conn:	the connection, owned
 * @sub:	the subflow's state
 * @ssk:	its TCP socket
 */
bool pams_resend_is_done(struct pams_conn *conn, const struct pams_subflow *sub,
			 const struct sock *ssk)
{
	return sub->silent && !lost_left(conn, sub, &sub->model, tcp_sk(ssk));
}

static bool resend_lost(struct pams_conn *conn, struct pams_view *view,
			struct msk_look *look)
{
	unsigned int tries = view->nr + 1;
	struct pams_subflow *sub;
	u32 bytes;
	int from;

	conn->lost_id = 0;
	/* everything that the subflow holds may have arrived elsewhere: try the next */
	while (tries-- && (from = view_lost(conn, view, look)) >= 0) {
		sub = pams_subflow_of(view->sub[from]);
		bytes = pams_split_resend_lost(conn, look, look->ssk[from]);
		if (!bytes && (sub->stopped || sub->silent))
			bytes = msk_resend_head(conn->msk, look->ssk[from], &sub->again,
						sub->silent, &conn->resend);
		if (!bytes)
			continue;
		conn->lost_id = sub->model.id;
		resend_count(conn, sub, bytes);
		return true;
	}
	return false;
}

static bool resend_copy(struct pams_conn *conn, const struct pams_view *view,
			const struct msk_look *look)
{
	u32 max_bytes, bytes;
	int to = view_copy(conn, view, &max_bytes);

	if (to < 0)
		return false;

	bytes = msk_resend_copy(conn->msk, look->ssk[to], conn->state.copied, max_bytes,
				view->sub[to]->room_bytes, &conn->resend);
	/* 0: what follows is only the DATA_FIN, whose byte is in no fragment */
	conn->state.copied = bytes ? conn->state.copied + bytes : look->snd_nxt;
	if (bytes)
		resend_count(conn, pams_subflow_find(conn, conn->state.lead), bytes);
	return bytes;
}

static bool resend_late(struct pams_conn *conn, struct pams_view *view,
			struct msk_look *look)
{
	struct pams_subflow *sub;
	u64 max_bytes;
	u32 bytes;
	int from;

	/* everything that the chosen subflow holds may have arrived elsewhere: try the next */
	while ((from = view_late(conn, view, look, &max_bytes)) >= 0) {
		sub = pams_subflow_of(view->sub[from]);
		bytes = msk_resend_tail(conn->msk, look->ssk[from], &sub->again,
					max_bytes, &conn->resend);
		if (bytes) {
			pams_split_sent_again(conn);
			conn->resend.keep = view->stream;
			conn->lost_id = view->stream ? sub->model.id : 0;
		} else {
			bytes = pams_split_resend(conn, look, look->ssk[from], max_bytes);
		}
		if (bytes) {
			conn->late_bytes += bytes;
			conn->epoch_bytes += bytes;
			resend_count(conn, sub, bytes);
			return true;
		}
		/* don't search it again until its TCP changes; a bank changes without that */
		sub->again.spent = !conn->bank;
		view->nr--;
		view->sub[from] = view->sub[view->nr];
		look->ssk[from] = look->ssk[view->nr];
		look->id[from] = look->id[view->nr];
	}
	return false;
}

/**
 * pams_resend - have late or lost data sent again on another subflow, or copied
 * @conn:	the connection, owned in process context
 *
 * One range within a fragment is made pending; releasing the socket pushes.
 *
 * Return: true if a range was made pending.
 */
bool pams_resend(struct pams_conn *conn)
{
	struct pams_view view __uninitialized;
	struct msk_look look __uninitialized;

	pams_look(conn, conn->sched->detail, &look, &view, true, false);
	if (look.fallback || look.pending_again)
		return false;
	conn->again = resend_lost(conn, &view, &look) || resend_copy(conn, &view, &look) ||
		      resend_late(conn, &view, &look);
	return conn->again;
}
