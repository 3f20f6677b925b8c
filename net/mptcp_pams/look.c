// SPDX-License-Identifier: GPL-2.0
/* One look at a connection: updates the models of its usable subflows from their TCP, and makes
 * the view that a scheduler chooses from. look_stages(), behind one test, puts in what only some
 * connections have: units, copies, reports and silent subflows, banks of helpers, costs.
 *
 * Called with the msk owned, or with its data lock held and no owner.
 */
#include <linux/time64.h>

#include "pams.h"
#include "trace.h"

/* This part of the receive window stays free, 1/16: what comes out of order takes more memory
 * than it counts.
 */
#define LOOK_WINDOW_SHIFT	4

/* The data sequence number up to which data may be sent. With several subflows a part of the
 * receive window stays free. A receiver computes its window for full packets; the last packet of
 * a fragment isn't full, which wastes 1/24 of the memory. So a receiver that holds a whole
 * window out of order may have no memory left for the missing byte, even when that byte is sent
 * again. Some kernels (6.12) then accept nothing more from any subflow, for ever.
 */
static u64 window_end(const struct pams_conn *conn, const struct msk_look *look)
{
	u8 shift = conn->sched->window_shift ?: LOOK_WINDOW_SHIFT;

	if (!look->several)
		return look->window_end;
	return look->window_end - ((look->window_end - look->snd_una) >> shift);
}

/* Limit a subflow's room to what its congestion window lets TCP send now. Until a burst's first
 * acknowledgment, data beyond the window would only wait in TCP, and couldn't be given to a
 * subflow that joins meanwhile.
 */
static void model_keep_to_window(struct pams_model *model)
{
	u32 held = model->flight_bytes + model->backlog_bytes;
	u32 left = model->cwnd_bytes > held ? model->cwnd_bytes - held : 0;

	model->room_bytes = min(model->room_bytes, left);
	model->idle &= model->room_bytes > 0;
}

/* Set the models' pad_ns, in the way that the scheduler wants (@detail). */
static void view_set_pads(struct pams_view *view, enum pams_detail detail)
{
	unsigned int i;

	if (detail == PAMS_DETAIL_ROOM && !trace_mptcp_pams_pad_enabled())
		return;
	for (i = 0; i < view->nr; i++) {
		struct pams_model *model = view->sub[i];
		struct pams_subflow *sub = pams_subflow_of(model);

		/* if nothing has changed since the last look this saves a division or two */
		if (sub->pad_of_bytes && sub->pad_of_bytes == view->fragment_bytes)
			continue;
		sub->pad_of_bytes = view->fragment_bytes;
		model->pad_ns = detail == PAMS_DETAIL_ARRIVAL ?
			(u64)model_arrival_us(model, view->fragment_bytes) * NSEC_PER_USEC :
			model_pad_ns(model, view->fragment_bytes);
	}
}

/* Fill in what a view tells of the connection itself, without its subflows. */
static void view_begin(struct pams_conn *conn, const struct msk_look *look,
		       struct pams_view *view)
{
	const struct sock *sk = (struct sock *)conn->msk;

	view->unscheduled_bytes = look->unscheduled_bytes;
	view->left_bytes = look->unscheduled_bytes;
	/* PADs are computed for the rest of the next fragment. But minfct, which cuts fragments,
	 * compares the other subflows' PADs with the arrival of a full packet on its target. So
	 * its PADs are computed for a full packet, too; those of a smaller rest might have it
	 * wait for an idle subflow.
	 */
	view->fragment_bytes = conn->sched->cuts ? PICK_PACKET_BYTES : look->fragment_bytes;
	view->sent_bytes = look->snd_nxt - conn->first_seq;
	view->first_bytes = 0;
	view->snd_nxt = look->snd_nxt;
	view->snd_una = look->snd_una;
	view->now_ms = jiffies64_to_msecs(get_jiffies_64());
	view->state = &conn->state;
	/* Two thirds of the send buffer, since the application is woken up once a third is
	 * free. Half of the window, since data that arrives ahead of its turn fills the
	 * receiver's memory (window_end()).
	 */
	view->buffer_bytes = min(READ_ONCE(sk->sk_sndbuf) / 3 * 2ULL,
				 (look->window_end - look->snd_una) / 2);
}

/* Update the subflows' models from their TCP and put them into the view. Subflows for whose state
 * there is no memory are left out, of @look, too.
 */
static void view_learn(struct pams_conn *conn, struct msk_look *look, struct pams_view *view,
		       bool arrival)
{
	u32 ahead_us = READ_ONCE(conn->net->queue_ahead_us);
	unsigned int i, nr = 0;
	u32 now_us = 0;

	for (i = 0; i < look->nr; i++) {
		struct pams_subflow *sub = pams_subflow_get(conn, nr, look->id[i]);

		if (unlikely(!sub))
			continue;
		if (unlikely(!sub->model.rtt_us))
			pams_report_new(sub, look->ssk[i]);
		look->ssk[nr] = look->ssk[i];
		look->id[nr] = look->id[i];
		pams_learn(sub, look->ssk[i], ahead_us, arrival ? &now_us : NULL);
		/* a subflow that becomes usable again may still be silent */
		if (unlikely(sub->silent))
			conn->silent = true;
		view->sub[nr++] = &sub->model;
	}
	look->nr = nr;
	view->nr = nr;
}

/* Limit what subflows are given of a stream, or lift that bound. */
static void view_bound_stream(struct pams_conn *conn, const struct msk_look *look,
			      struct pams_view *view)
{
	unsigned int i;

	for (i = 0; i < view->nr; i++) {
		if (view->stream)
			stream_bound(view->sub[i], READ_ONCE(tcp_sk(look->ssk[i])->mss_cache));
		else	/* the bound is lifted, though TCP's numbers may not change */
			pams_learn_anew(pams_subflow_of(view->sub[i]));
	}
	conn->stream.bounds = view->stream;
}

/* Limit what subflows are given: to the congestion window until a burst's first acknowledgment,
 * and to a stream's bound.
 */
static void view_bound(struct pams_conn *conn, const struct msk_look *look,
		       struct pams_view *view)
{
	unsigned int i;

	for (i = 0; conn->sched->keeps_to_window && i < view->nr; i++) {
		if (view->sub[i]->unanswered)
			model_keep_to_window(view->sub[i]);
	}
	view->stream = stream_follow(&conn->stream, look->write_seq, look->snd_nxt,
				     look->unscheduled_bytes == U64_MAX, view->now_ms);
	if (unlikely(view->stream || conn->stream.bounds))
		view_bound_stream(conn, look, view);
}

/* End the silence of backups outside the view that have answered. Backups that are still silent
 * keep @conn's @silent set; stale or closed ones don't.
 */
static void look_beyond(struct pams_conn *conn, unsigned int nr)
{
	struct sock *ssk;

	while ((ssk = pams_next_beyond(conn, &nr))) {
		struct pams_subflow *sub = pams_subflow_at(conn, ssk);

		if (sub->silent)
			pams_learn_answer(sub, ssk);
		conn->silent |= sub->silent;
	}
}

/* Take costlier paths out of the view, by the connection's rule, or else the sysctls. */
static void view_spare(struct pams_conn *conn, const struct msk_look *look,
		       struct pams_view *view, bool again)
{
	struct cost_overflow overflow = conn->overflow;

	if (!overflow.said) {
		overflow.delay_ms = READ_ONCE(conn->net->overflow_ms);
		overflow.percent = READ_ONCE(conn->net->overflow_percent);
	}
	conn->costly = cost_follow(view, &overflow, &conn->cost, look->write_seq - look->snd_nxt,
				   again);
}

/* Add to a view what the connection's stages know; PADs and a stream's bound come after that. */
static noinline void look_stages(struct pams_conn *conn, const struct msk_look *look,
				 struct pams_view *view, bool again)
{
	if (conn->units) {
		unit_follow(&conn->unit, look->snd_nxt);
		conn->units = !!conn->unit.end;
		view->left_bytes = unit_unscheduled_bytes(&conn->unit, look->write_seq,
							  look->snd_nxt,
							  look->unscheduled_bytes);
	}
	if (conn->copies)
		view->first_bytes = conn->first_bytes ?:
				    READ_ONCE(conn->net->redundant_bytes) ?: U64_MAX;
	/* A subflow was closed, so the kernel sends all unacknowledged data again. That data
	 * needs no copies any more, and new data doesn't wait for them.
	 */
	if (conn->copies && look->pending_again && !again)
		conn->state.copied = look->snd_nxt;
	if (READ_ONCE(conn->net->paths.nr) || conn->silent || conn->reported)
		pams_report_apply(conn, look, view);
	look_beyond(conn, view->nr);
	if (conn->banks)
		pams_split_look(conn, look, view);
	if (conn->reported || conn->costly)
		view_spare(conn, look, view, again);
}

/**
 * pams_look - look at every usable subflow once
 * @conn:	the connection, owned or with its data lock held
 * @detail:	how the models' @pad_ns is computed
 * @look:	filled in
 * @view:	filled in; its models are the connection's own, valid until the next look
 * @again:	the view is for data that is sent again
 * @behind:	as in struct msk_look
 */
void pams_look(struct pams_conn *conn, enum pams_detail detail,
	       struct msk_look *look, struct pams_view *view, bool again, bool behind)
{
	msk_look(conn->msk, &conn->window, look);
	look->behind = behind;
	look->window_end = window_end(conn, look);
	if (unlikely(!before64(look->snd_nxt, look->window_end)))
		conn->shut = true;
	view_begin(conn, look, view);
	view_learn(conn, look, view, detail == PAMS_DETAIL_ARRIVAL);
	if (!conn->banks)
		pams_split_find(conn, look, view);
	if (unlikely(conn->stages || READ_ONCE(conn->net->paths.nr) || conn->nr > view->nr))
		look_stages(conn, look, view, again);
	view_set_pads(view, detail);
	view_bound(conn, look, view);
}
