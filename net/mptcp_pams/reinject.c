// SPDX-License-Identifier: GPL-2.0
/* Data that one subflow holds is sent again on another: a tail that is late, and
 * what a lost path was given.
 *
 * Late: PAD-ratio reinjection (MPBond, section 4, algorithm 1, line 1).
 *
 *   when nothing is left unscheduled and (maxPAD - minPAD) / minPAD > eta:
 *     r = (maxPAD - minPAD) * Th(maxPAD subflow)
 *     the r unacknowledged bytes with the largest sequence numbers on that
 *     subflow are scheduled again, on another one
 *
 * or whatever the scheduler calls late (sched_minfct.c). Data beyond the receive
 * window doesn't count as left once the fastest subflow is half idle: it can't be
 * scheduled, and the window stays full until what is late arrives. Looked at each
 * tick (10 ms) while anything is unacknowledged, in process context with the msk
 * owned: the kernel asks a scheduler for nothing while its queue is empty.
 *
 * Lost: all that a stopped or silent subflow (reported.c, silence.c) can't deliver,
 * at once, in its order, and before anything new: the receiver waits for it.
 *
 * How: data of a subflow is found by its own queues, from the tail; each skb
 * carries the data sequence number it maps to. The fragment that holds it
 * becomes the head of what is pending, marked as sent up to where the range
 * begins, and the kernel is told it is in recovery, which makes it expect
 * acknowledgments beyond its head; releasing the socket pushes. Of a tail one
 * fragment at a time, and only with room elsewhere: when a subflow closes, the
 * kernel takes the first unsent fragment for the end of what it has to repair.
 * What is lost stays pending, and pams_reinject_repair() does the rest then. The
 * decision keeps the range off its origin.
 *
 * Bounds: each byte once until new data follows it on its subflow; of a tail no
 * more is begun once r bytes were sent again in an RTT of it. What lies in a
 * subflow's queue can't be recalled: it arrives there too, as a duplicate, which is
 * the price.
 *
 * Nothing is done in fallback, with less than two usable subflows, or after a FIN
 * is queued on the subflow; for a tail, nothing while data is pending.
 */
#include <linux/skbuff.h>

#include "pad.h"
#include "pams.h"

/* how far a subflow's queue is searched at once, with the subflow locked */
#define REINJECT_SKBS_MAX	1024
/* Where a scheduler decides what is late: duplicates are at most a ninth of what
 * the application wrote, which makes about 3 % in the mean.
 */
#define REINJECT_SHARE		9

/* A stretch of data on a subflow, in both numberings; ends are exclusive. */
struct reinject_range {
	u64 start, end;
	u32 seq, seq_end;
};

static bool skb_range(const struct mptcp_subflow_context *subflow,
		      const struct sk_buff *skb, struct reinject_range *range)
{
	const struct mptcp_ext *ext = skb_ext_find(skb, SKB_EXT_MPTCP);
	const struct tcp_skb_cb *cb = TCP_SKB_CB(skb);
	u32 first_seq = tcp_sk(subflow->tcp_sock)->write_seq -
			subflow->rel_write_seq;

	if (!skb->len || !ext || !ext->use_map || cb->tcp_flags & TCPHDR_FIN ||
	    cb->sacked & TCPCB_SACKED_ACKED)
		return false;

	range->seq = cb->seq;
	range->seq_end = cb->end_seq;
	range->start = ext->data_seq +
		       (u32)(cb->seq - first_seq - ext->subflow_seq);
	range->end = range->start + (cb->end_seq - cb->seq);
	return true;
}

/* From the tail of what isn't sent to the head of what isn't acknowledged. */
static struct sk_buff *queue_last(struct sock *ssk)
{
	return skb_peek_tail(&ssk->sk_write_queue) ?:
	       skb_rb_last(&ssk->tcp_rtx_queue);
}

static struct sk_buff *queue_prev(struct sock *ssk, struct sk_buff *skb)
{
	if (before(TCP_SKB_CB(skb)->seq, tcp_sk(ssk)->snd_nxt))
		return skb_rb_prev(skb);
	if (skb_queue_is_first(&ssk->sk_write_queue, skb))
		return skb_rb_last(&ssk->tcp_rtx_queue);
	return skb_queue_prev(&ssk->sk_write_queue, skb);
}

static struct mptcp_data_frag *fragment_of(struct mptcp_sock *msk, u64 seq)
{
	struct mptcp_data_frag *dfrag;

	list_for_each_entry_reverse(dfrag, &msk->rtx_queue, list) {
		if (!before64(seq, dfrag->data_seq))
			return before64(seq, dfrag->data_seq +
					dfrag->data_len) ? dfrag : NULL;
	}
	return NULL;
}

/* Cut off what was reinjected before; false if nothing wanted is left. */
static bool range_clip(const struct mptcp_sock *msk,
		       const struct pams_memo *memo,
		       struct reinject_range *range)
{
	u32 from = memo->reinject_from, to = memo->reinject_to;

	if (from != to && !before(range->seq, from) && before(range->seq, to)) {
		if (!after(range->seq_end, to))
			return false;
		range->start += to - range->seq;
		range->seq = to;
	} else if (from != to && after(range->seq_end, from) &&
		   !after(range->seq_end, to)) {
		range->end -= range->seq_end - from;
		range->seq_end = from;
	}

	return before64(msk->snd_una, range->end);
}

/* Keep to the fragment; true if the range reaches beyond its head. */
static bool range_clip_head(const struct mptcp_data_frag *dfrag,
			    struct reinject_range *range)
{
	if (!before64(range->start, dfrag->data_seq))
		return false;

	range->seq += (u32)(dfrag->data_seq - range->start);
	range->start = dfrag->data_seq;
	return true;
}

/* The last stretch on the subflow that is wanted, and the one fragment that it
 * lies in. The msk is owned, the ssk locked.
 */
static struct mptcp_data_frag *
subflow_last_range(struct mptcp_sock *msk,
		   const struct mptcp_subflow_context *subflow,
		   const struct pams_memo *memo, struct reinject_range *range)
{
	struct sock *ssk = subflow->tcp_sock;
	struct mptcp_data_frag *dfrag = NULL;
	unsigned int skbs = REINJECT_SKBS_MAX;
	struct reinject_range prev;
	struct sk_buff *skb;

	for (skb = queue_last(ssk); skb && skbs--; skb = queue_prev(ssk, skb)) {
		if (!skb_range(subflow, skb, &prev) ||
		    !range_clip(msk, memo, &prev)) {
			if (dfrag)
				break;
			continue;
		}
		if (!dfrag) {
			dfrag = fragment_of(msk, prev.end - 1);
			*range = prev;
		} else if (prev.end == range->start) {
			range->start = prev.start;
			range->seq = prev.seq;
		} else {
			break;
		}
		if (dfrag && range_clip_head(dfrag, range))
			break;
	}

	return dfrag;
}

/* Send on from that fragment, of which something was sent before. */
static void fragment_set_pending(struct mptcp_sock *msk,
				 struct mptcp_data_frag *dfrag)
{
	struct mptcp_subflow_context *subflow;
	struct sock *sk = (struct sock *)msk;

	list_for_each_entry(subflow, &msk->conn_list, node)
		WRITE_ONCE(subflow->scheduled, false);

	spin_lock_bh(&sk->sk_lock.slock);
	msk->recovery_snd_nxt = msk->snd_nxt;
	WRITE_ONCE(msk->recovery, true);
	msk->cb_flags |= PAMS_CB_PUSH_PENDING;
	spin_unlock_bh(&sk->sk_lock.slock);

	msk->first_pending = dfrag;
	msk->snd_burst = 0;
}

/* A tail that is late, no more of it than @budget_bytes. Returns the bytes to be
 * sent again.
 */
static noinline_for_stack
u32 subflow_reinject(struct mptcp_sock *msk, struct pams_conn *conn,
		     struct mptcp_subflow_context *subflow,
		     struct pams_memo *memo, u64 budget_bytes)
{
	struct sock *ssk = subflow->tcp_sock;
	struct mptcp_data_frag *dfrag = NULL;
	struct reinject_range range;
	u64 sent_end;

	lock_sock(ssk);
	if (!(ssk->sk_shutdown & SEND_SHUTDOWN))
		dfrag = subflow_last_range(msk, subflow, memo, &range);
	release_sock(ssk);
	if (!dfrag)
		return 0;

	sent_end = dfrag->data_seq + dfrag->already_sent;
	if (before64(sent_end, range.end))
		range.end = sent_end;
	if (!before64(range.start, range.end))
		return 0;
	if (range.end - range.start > budget_bytes) {
		range.seq += (u32)(range.end - budget_bytes - range.start);
		range.start = range.end - budget_bytes;
	}

	/* what was done stays done, but for data that follows it */
	if (memo->reinject_from == memo->reinject_to ||
	    !before(range.seq, memo->reinject_to))
		memo->reinject_to = range.seq_end;
	memo->reinject_from = range.seq;

	dfrag->already_sent = before64(dfrag->data_seq, range.start) ?
			      range.start - dfrag->data_seq : 0;
	fragment_set_pending(msk, dfrag);
	conn->reinject_start = dfrag->data_seq + dfrag->already_sent;
	conn->reinject_end = range.end;
	conn->reinject_sent_end = sent_end;
	conn->reinject_origin = subflow->subflow_id;
	return range.end - conn->reinject_start;
}

/* What of a subflow is to be sent again.
 * @from_seq:	from there on; then, where that begins
 * @whole:	begin no fragment in the middle
 * @bytes:	how much it is
 * @first:	the fragment it begins in
 * @last:	the fragment it ends in
 */
struct reinject_mark {
	u32 from_seq;
	bool whole;
	u32 bytes;
	struct mptcp_data_frag *first, *last;
};

/* A fragment is sent to its end. Begun in the middle that would be sent once more
 * if what is before is lost, too.
 */
static void range_mark(struct mptcp_sock *msk, struct reinject_range *range,
		       struct reinject_mark *mark)
{
	struct mptcp_data_frag *dfrag = fragment_of(msk, range->start);

	if (!dfrag)
		return;

	list_for_each_entry_from(dfrag, &msk->rtx_queue, list) {
		u32 sent = before64(dfrag->data_seq, range->start) ?
			   range->start - dfrag->data_seq : 0;

		if (!before64(dfrag->data_seq, range->end))
			break;
		if (sent >= dfrag->already_sent || (mark->whole && sent))
			continue;
		if (!mark->bytes) {
			range_clip_head(dfrag, range);
			mark->from_seq = range->seq;
		}
		mark->bytes += dfrag->already_sent - sent;
		dfrag->already_sent = sent;
		if (!mark->first ||
		    before64(dfrag->data_seq, mark->first->data_seq))
			mark->first = dfrag;
		if (!mark->last ||
		    before64(mark->last->data_seq, dfrag->data_seq))
			mark->last = dfrag;
	}
}

static void skb_mark(struct mptcp_sock *msk,
		     const struct mptcp_subflow_context *subflow,
		     const struct pams_memo *memo, const struct sk_buff *skb,
		     struct reinject_mark *mark)
{
	struct reinject_range range;

	if (skb_range(subflow, skb, &range) &&
	    after(range.seq_end, mark->from_seq) &&
	    range_clip(msk, memo, &range))
		range_mark(msk, &range, mark);
}

/* What the subflow was given from there on, in its order. */
static void subflow_mark(struct mptcp_sock *msk,
			 const struct mptcp_subflow_context *subflow,
			 const struct pams_memo *memo,
			 struct reinject_mark *mark)
{
	struct sock *ssk = subflow->tcp_sock;
	unsigned int skbs = REINJECT_SKBS_MAX;
	struct sk_buff *skb;

	skb = tcp_rtx_queue_head(ssk);
	while (skb && skbs--) {
		skb_mark(msk, subflow, memo, skb, mark);
		skb = skb_rb_next(skb);
	}
	skb_queue_walk(&ssk->sk_write_queue, skb) {
		if (!skbs--)
			break;
		skb_mark(msk, subflow, memo, skb, mark);
	}
}

/* A lost path doesn't give back what it was given: all of that at once, since
 * the receiver waits for the first byte. Returns the bytes to be sent again.
 */
static noinline_for_stack
u32 subflow_give_up(struct mptcp_sock *msk, struct pams_conn *conn,
		    struct mptcp_subflow_context *subflow,
		    struct pams_memo *memo, u64 lost_bytes)
{
	struct sock *ssk = subflow->tcp_sock;
	struct tcp_sock *tp = tcp_sk(ssk);
	struct reinject_mark mark = { };

	lock_sock(ssk);
	mark.from_seq = tp->write_seq -
			min_t(u64, lost_bytes, tp->write_seq - tp->snd_una);
	mark.whole = after(mark.from_seq, tp->snd_una);
	if (!(ssk->sk_shutdown & SEND_SHUTDOWN))
		subflow_mark(msk, subflow, memo, &mark);
	if (mark.bytes) {
		if (memo->reinject_from == memo->reinject_to ||
		    before(mark.from_seq, memo->reinject_from))
			memo->reinject_from = mark.from_seq;
		memo->reinject_to = tp->write_seq;
	}
	release_sock(ssk);
	if (!mark.bytes)
		return 0;

	if (msk->first_pending &&
	    before64(msk->first_pending->data_seq, mark.first->data_seq))
		mark.first = msk->first_pending;
	fragment_set_pending(msk, mark.first);
	conn->reinject_start = mark.first->data_seq + mark.first->already_sent;
	conn->reinject_end = mark.last->data_seq + mark.last->data_len;
	conn->reinject_sent_end = conn->reinject_end;
	conn->reinject_origin = subflow->subflow_id;
	conn->reinject_keep = true;
	return mark.bytes;
}

/* Is half of what it carries in a round trip missing? */
static bool half_idle(const struct pams_subflow_view *sub)
{
	u64 srtt_ns = (u64)sub->srtt_us * NSEC_PER_USEC;

	return 2ULL * sub->room_bytes >=
	       pad_carried_bytes(srtt_ns, sub->rate_byteps);
}

/* Which subflow's data is late by PADs, if any, and by how many bytes (r)? While
 * something is left unscheduled, only if that keeps the fastest from standing still.
 */
static int view_latest(const struct pams_view *view, u32 eta_percent,
		       u64 *late_bytes)
{
	int best = pams_lowest_pad(view);
	int latest = -1;
	u64 late_ns;
	unsigned int i;

	if (best < 0 ||
	    (view->unscheduled_bytes && !half_idle(&view->sub[best])))
		return -1;
	for (i = 0; i < view->nr; i++) {
		if (view->sub[i].outstanding && i != best &&
		    (latest < 0 || view->sub[i].pad_ns > view->sub[latest].pad_ns))
			latest = i;
	}
	if (latest < 0 || view->sub[latest].pad_ns <= view->sub[best].pad_ns)
		return -1;

	late_ns = view->sub[latest].pad_ns - view->sub[best].pad_ns;
	if (late_ns * 100 <= view->sub[best].pad_ns * eta_percent)
		return -1;
	*late_bytes = pad_carried_bytes(late_ns, view->sub[latest].rate_byteps);
	return latest;
}

/* What follows in the fragment was sent before, and isn't late. */
static void fragment_skip_sent(struct mptcp_data_frag *dfrag,
			       const struct pams_conn *conn)
{
	u64 next = dfrag->data_seq + dfrag->already_sent;

	if (!before64(next, conn->reinject_end) &&
	    before64(next, conn->reinject_sent_end))
		dfrag->already_sent = conn->reinject_sent_end - dfrag->data_seq;
}

/**
 * pams_reinject_skip_sent - step over what follows what was reinjected
 * @msk:	the connection, owned or with its data lock held
 * @conn:	its state
 *
 * It was sent before. The kernel's push would step over whole fragments too, but
 * only with a subflow that has room, and DATA_FIN would wait for that.
 */
void pams_reinject_skip_sent(struct mptcp_sock *msk,
			     const struct pams_conn *conn)
{
	struct mptcp_data_frag *dfrag = msk->first_pending;

	if (dfrag)
		fragment_skip_sent(dfrag, conn);
	while (dfrag && dfrag->already_sent == dfrag->data_len)
		dfrag = list_is_last(&dfrag->list, &msk->rtx_queue) ?
			NULL : list_next_entry(dfrag, list);
	msk->first_pending = dfrag;
}

/**
 * pams_reinject_settle - leave no reinjected fragment pending
 * @msk:	the connection, owned, after a push
 * @conn:	its state
 *
 * One that found no room is marked as sent again, which it was once: were it
 * left, the kernel would take it for the end of what it has to repair when a
 * subflow closes. What the application has added to it since stays pending.
 *
 * What a lost path holds is worth waiting for room: it stays, and
 * pams_reinject_repair() does what the kernel would leave undone.
 */
void pams_reinject_settle(struct mptcp_sock *msk, struct pams_conn *conn)
{
	struct mptcp_data_frag *dfrag = msk->first_pending;

	if (!pams_reinjecting(msk, conn))
		conn->reinject_keep = false;
	if (conn->reinject_keep)
		return;
	if (pams_reinjecting(msk, conn))
		dfrag->already_sent = conn->reinject_end - dfrag->data_seq;
	pams_reinject_skip_sent(msk, conn);
	conn->reinject_start = conn->reinject_end;
	conn->reinject_sent_end = conn->reinject_end;
}

/**
 * pams_reinject_repair - a subflow has gone while something was reinjected
 * @msk:	the connection, owned
 * @conn:	its state
 *
 * The kernel makes all that was sent pending again, up to the first fragment of
 * which nothing was: that may be a reinjected one. Do the rest.
 */
void pams_reinject_repair(struct mptcp_sock *msk, struct pams_conn *conn)
{
	struct mptcp_data_frag *dfrag;

	if (!conn->reinject_keep || !msk->first_pending)
		return;

	conn->reinject_keep = false;
	conn->reinject_start = conn->reinject_end;
	dfrag = msk->first_pending;
	list_for_each_entry_from(dfrag, &msk->rtx_queue, list) {
		if (before64(dfrag->data_seq, msk->snd_nxt))
			dfrag->already_sent = 0;
	}
}

/* Which subflow's path is lost with data on it, if there is another? */
static int view_lost(struct pams_conn *conn, const struct pams_snapshot *snap,
		     u64 *lost_bytes)
{
	const struct pams_view *view = &snap->view;
	unsigned int i, alive = 0;

	for (i = 0; i < view->nr; i++)
		alive += !view->sub[i].stopped;
	for (i = 0; alive && i < view->nr; i++) {
		if (!view->sub[i].stopped || !view->sub[i].outstanding)
			continue;
		*lost_bytes =
			pams_reported_lost_bytes(conn, &view->sub[i],
						 snap->subflow[i]->tcp_sock);
		if (*lost_bytes)
			return i;
	}
	return -1;
}

/* A tail's budget is for an RTT; is any left? */
static bool budget_left(struct pams_memo *memo, u32 srtt_us, u64 late_bytes)
{
	if (time_after(jiffies, memo->reinject_epoch_end)) {
		memo->reinject_epoch_end = jiffies + usecs_to_jiffies(srtt_us);
		memo->reinjected_bytes = 0;
	}
	return late_bytes > memo->reinjected_bytes;
}

/* What the subflow holds, less what was sent again of its end. */
static u32 once_bytes(const struct pams_memo *memo, const struct tcp_sock *tp)
{
	u32 write_seq = READ_ONCE(tp->write_seq);
	u32 end = memo->reinject_to == write_seq ? memo->reinject_from : write_seq;

	return max_t(s32, end - READ_ONCE(tp->snd_una), 0);
}

/* Whose data is late, in the connection's scheduler's view, and how much of it
 * may be sent again?
 */
static int conn_late(struct mptcp_sock *msk, struct pams_conn *conn,
		     struct pams_snapshot *snap, u64 *bytes)
{
	const struct pams_sched *sched = pams_sched(msk);
	struct pams_view *view = &snap->view;
	unsigned int i;
	u64 budget;
	int from = -1;

	if (!pams_nothing_new(msk))
		return -1;
	if (sched->late) {
		budget = div_u64(msk->write_seq - conn->first_seq,
				 REINJECT_SHARE);
		for (i = 0; i < view->nr; i++)
			view->sub[i].once_bytes =
				once_bytes(pams_conn_memo(conn,
							  view->sub[i].id),
					   tcp_sk(snap->subflow[i]->tcp_sock));
		if (view->flow && budget > conn->counts.reinjected_bytes)
			from = sched->late(view);
		*bytes = budget - conn->counts.reinjected_bytes;
	} else if (sched->reinject) {
		from = view_latest(view,
				   READ_ONCE(conn->net->reinject_eta_percent),
				   bytes);
		if (from >= 0 && !budget_left(pams_conn_memo(conn,
							     view->sub[from].id),
					      view->sub[from].srtt_us, *bytes))
			return -1;
		*bytes = U64_MAX;
	}
	return from;
}

/**
 * pams_reinject - have data that is late or lost sent again on another subflow
 * @msk:	the connection, owned
 * @conn:	its state
 *
 * Of a tail at most one fragment is made pending; releasing the socket pushes.
 *
 * Return: something was made pending.
 */
bool pams_reinject(struct mptcp_sock *msk, struct pams_conn *conn)
{
	struct pams_snapshot snap __uninitialized;
	struct pams_memo *memo;
	u64 bytes = 0;
	int from;

	if (msk->flags & PAMS_FLAG_FALLBACK_DONE)
		return false;

	pams_snapshot_take(msk, conn,
			   max(pams_sched(msk)->detail, PAMS_DETAIL_PAD), &snap);
	from = view_lost(conn, &snap, &bytes);
	if (from >= 0) {
		memo = pams_conn_memo(conn, snap.view.sub[from].id);
		bytes = subflow_give_up(msk, conn, snap.subflow[from], memo,
					bytes);
		if (!bytes)
			return false;
	}

	/* what is latest may hold nothing but what others have delivered since */
	while (!bytes) {
		from = conn_late(msk, conn, &snap, &bytes);
		if (from < 0)
			return false;
		memo = pams_conn_memo(conn, snap.view.sub[from].id);
		bytes = subflow_reinject(msk, conn, snap.subflow[from], memo,
					 bytes);
		snap.view.sub[from].outstanding = false;
	}

	if (!memo->reinjected_total_bytes)
		memo->events |= PAMS_EVENT_REINJECT;
	conn->events |= !!memo->events;
	conn->counts.reinjected_bytes += bytes;
	memo->reinjected_bytes += bytes;
	memo->reinjected_total_bytes += bytes;
	return true;
}
