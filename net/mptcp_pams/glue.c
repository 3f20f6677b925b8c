// SPDX-License-Identifier: GPL-2.0
/* Where schedulers meet MPTCP: the ops of both kernel ABIs around one decision,
 * and all that this module writes into MPTCP's structures.
 *
 * What the kernel expects of a decision (and what goes wrong otherwise):
 *  - timer_ival is set each time; left at 0 the MPTCP timer fires every jiffy
 *    and sends the head of the queue again and again;
 *  - 0 is returned only with exactly one subflow marked scheduled; with none
 *    the softirq push loops for ever, and a mark left over suppresses the next
 *    decision;
 *  - snd_burst bounds what follows on that subflow before it asks again. It is
 *    looked at between whole fragments, so up to 32 KB less one byte go beyond;
 *  - a retransmission has an op of its own, which keeps to subflows that have
 *    nothing outstanding and runs the kernel's stale check.
 *
 * Context: the msk is owned (process), or its data lock is held and nobody
 * owns it (softirq). No subflow is locked here.
 */
#include <linux/kernel.h>

#include "pams.h"
#include "trace.h"

/* Of a DSS option: header, and a map with a 64-bit data sequence number. */
#define GLUE_DSS_BYTES		(4 + 14)
/* The kernel's own limit for one burst, a bit under 64 KB. */
#define GLUE_BURST_MAX_BYTES	(64 * 1024 - 107)

static void glue_set_timeout(struct mptcp_sock *msk, long timeout)
{
	msk->timer_ival = timeout > 0 ? timeout : TCP_RTO_MIN;
}

static void glue_schedule(struct mptcp_subflow_context *subflow)
{
	WRITE_ONCE(subflow->scheduled, true);
}

/* Tell the kernel a nearer end of the receive window, or the one that the peer said
 * again; the data lock is held.
 */
static void window_set(struct mptcp_sock *msk, struct pams_conn *conn,
		       bool narrow, u64 end)
{
	if (!narrow && before64(msk->wnd_end, conn->window_end))
		WRITE_ONCE(msk->wnd_end, conn->window_end);

	conn->narrowed = narrow && before64(end, msk->wnd_end);
	if (conn->narrowed) {
		conn->window_end = msk->wnd_end;
		WRITE_ONCE(msk->wnd_end, end);
	}
}

/* In softirq the data lock is held. */
static void window_move(struct mptcp_sock *msk, struct pams_conn *conn,
			bool narrow, u64 end)
{
	struct sock *sk = (struct sock *)msk;

	if (!sock_owned_by_user_nocheck(sk)) {
		window_set(msk, conn, narrow, end);
		return;
	}
	spin_lock_bh(&sk->sk_lock.slock);
	window_set(msk, conn, narrow, end);
	spin_unlock_bh(&sk->sk_lock.slock);
}

/**
 * pams_window_widen - the receive window is what the peer said again
 * @msk:	the connection, owned or with its data lock held
 * @conn:	its state
 *
 * Within a fragment the kernel keeps to nothing but the receive window, so with a
 * decision it is told a nearer end, until the next one: of new data never below
 * snd_nxt, of late data its end. An acknowledgment may set it right before: then
 * more is handed over.
 */
void pams_window_widen(struct mptcp_sock *msk, struct pams_conn *conn)
{
	if (conn->narrowed)
		window_move(msk, conn, false, 0);
}

/* Is what comes next new to all subflows? */
static bool glue_is_new(const struct mptcp_sock *msk)
{
	const struct mptcp_data_frag *next = msk->first_pending;

	return next && next->data_seq + next->already_sent == msk->snd_nxt;
}

/* What a packet of the subflow carries: a DSS option takes its part. */
static u32 glue_packet_bytes(const struct mptcp_sock *msk, const struct sock *ssk)
{
	u32 dss = GLUE_DSS_BYTES + (msk->use_64bit_ack ? 8 : 4) +
		  (msk->csum_enabled ? 2 : 0);
	u32 mss = tcp_sk(ssk)->mss_cache;

	dss = round_up(dss, 4);
	return mss > 2 * dss ? mss - dss : mss;
}

/* Whole packets: what is left of one is sent as a small one, or waits. Returns how
 * much to hand over of what is unscheduled.
 */
static u32 glue_whole(u32 bytes, u32 packet_bytes, u64 unscheduled_bytes)
{
	bytes = max(rounddown(bytes, packet_bytes), packet_bytes);
	return unscheduled_bytes < bytes + packet_bytes ? unscheduled_bytes : bytes;
}

/* How much of that the receive window takes: whole packets while something is
 * outstanding, whose acknowledgments open it further and bring the next decision.
 * Small packets take as much of a receiver's memory as whole ones, and a window full
 * of them that came out of order stops some kernels (6.12) for ever.
 */
static s64 glue_window_bytes(const struct mptcp_sock *msk,
			     const struct sock *ssk, u32 bytes)
{
	s64 window_bytes = pams_window_end(msk) - msk->snd_nxt;

	/* a fallback to TCP has none, and nobody keeps count of it */
	if (msk->flags & PAMS_FLAG_FALLBACK_DONE)
		return bytes;
	if (window_bytes >= bytes || msk->snd_una == msk->snd_nxt)
		return window_bytes;
	return rounddown((u32)max_t(s64, window_bytes, 0),
			 glue_packet_bytes(msk, ssk));
}

/* Stop where what is late ends; the rest of the fragment went elsewhere. Only where
 * the push follows at once: until then nothing else may send from beyond that end.
 */
static void glue_reinject_to_end(struct mptcp_sock *msk, struct pams_conn *conn)
{
	const struct mptcp_data_frag *dfrag = msk->first_pending;
	u64 next = dfrag->data_seq + dfrag->already_sent;

	if (!before64(conn->reinject_end, conn->reinject_sent_end) ||
	    !sock_owned_by_user_nocheck((struct sock *)msk))
		return;
	msk->snd_burst = conn->reinject_end - next;
	window_move(msk, conn, true, conn->reinject_end);
}

static int glue_send_on(struct mptcp_sock *msk, struct pams_conn *conn,
			const struct pams_snapshot *snap, unsigned int target,
			u32 bytes)
{
	const struct sock *ssk = snap->subflow[target]->tcp_sock;
	bool cuts = pams_sched(msk)->cuts, new = glue_is_new(msk);
	s64 window_bytes;

	bytes = min3(bytes, snap->view.sub[target].room_bytes,
		     (u32)GLUE_BURST_MAX_BYTES);
	if (cuts)
		bytes = glue_whole(bytes, glue_packet_bytes(msk, ssk),
				   snap->view.unscheduled_bytes);
	window_bytes = glue_window_bytes(msk, ssk, bytes);
	if (new && window_bytes <= 0 && msk->snd_una != msk->snd_nxt)
		return -EAGAIN;

	if (!new) {
		msk->snd_burst = bytes;
		if (conn && pams_reinjecting(msk, conn))
			glue_reinject_to_end(msk, conn);
	} else if (window_bytes > 0) {
		/* with a closed window the kernel sends a probe and wants no burst */
		cuts |= window_bytes < bytes;
		bytes = min_t(s64, bytes, window_bytes);
		msk->snd_burst = bytes;
		if (conn && cuts && !(msk->flags & PAMS_FLAG_FALLBACK_DONE) &&
		    snap->view.unscheduled_bytes > bytes)
			window_move(msk, conn, true, msk->snd_nxt + bytes);
	}
	glue_schedule(snap->subflow[target]);
	return 0;
}

/* The lowest PAD, but not on the subflow that the data is late on, unless there
 * is no other.
 */
static int glue_pick_elsewhere(struct pams_view *view, u32 origin)
{
	unsigned int i;

	for (i = 0; i < view->nr && view->nr > 1; i++) {
		if (view->sub[i].id == origin)
			view->sub[i].idle = false;
	}
	return pams_lowest_pad(view);
}

/* What was reinjected is dealt with; false if nothing else is pending. */
static bool glue_after_reinjection(struct mptcp_sock *msk,
				   struct pams_conn *conn)
{
	pams_reinject_skip_sent(msk, conn);
	if (msk->first_pending)
		return true;

	pams_conn_finish(msk);
	return false;
}

static int glue_defer(struct mptcp_sock *msk, struct pams_conn *conn,
		      const struct pams_view *view)
{
	int target = pams_lowest_pad(view);

	if (!pams_conn_defer(conn, view->sub[target].pad_ns))
		return target;

	trace_mptcp_pams_deferral(msk->token, view->sub[target].id,
				  view->sub[target].pad_ns,
				  view->unscheduled_bytes);
	return PAMS_PICK_DEFER;
}

static void glue_trace(const struct mptcp_sock *msk,
		       const struct pams_view *view, int target)
{
	unsigned int i;

	for (i = 0; trace_mptcp_pams_pad_enabled() && i < view->nr; i++)
		trace_mptcp_pams_pad(msk->token, &view->sub[i]);
	trace_mptcp_pams_decision(msk->token,
				  target < 0 ? 0 : view->sub[target].id,
				  view->nr, view->unscheduled_bytes);
}

/* Little is left that was written and that the receiver takes. */
static bool glue_stops_soon(const struct mptcp_sock *msk)
{
	s64 written = msk->write_seq - msk->snd_nxt;
	s64 window = pams_window_end(msk) - msk->snd_nxt;

	return min(written, window) <= GLUE_BURST_MAX_BYTES;
}

static int glue_decide(struct mptcp_sock *msk)
{
	const struct pams_sched *sched = pams_sched(msk);
	struct pams_conn *conn = pams_conn_get(msk);
	/* zeroing it would cost as much as the decision; filled in up to .nr */
	struct pams_snapshot snap __uninitialized;
	u32 bytes = U32_MAX;
	int target;

	if (conn)
		pams_window_widen(msk, conn);
	if (conn && conn->counts.reinjected_bytes &&
	    !glue_after_reinjection(msk, conn))
		return -EAGAIN;

	pams_snapshot_take(msk, conn, sched->detail, &snap);
	glue_set_timeout(msk, snap.timeout);
	if (conn)
		conn->counts.decisions++;

	if (conn && pams_reinjecting(msk, conn))
		target = glue_pick_elsewhere(&snap.view, conn->reinject_origin);
	else
		target = sched->pick(&snap.view, &bytes);
	if (target == PAMS_PICK_DEFER) {
		target = glue_defer(msk, conn, &snap.view);
		bytes = U32_MAX;	/* waiting gained nothing */
	}
	glue_trace(msk, &snap.view, target);
	if (target == PAMS_PICK_DEFER)
		return -EAGAIN;
	if (conn)
		conn->deferring = false;
	if (target < 0)
		return -EAGAIN;

	if (sched->reinject && conn) {
		pams_conn_watch(conn);
		if (sched->late && glue_stops_soon(msk))
			pams_conn_watch_closely(conn);
	}
	return glue_send_on(msk, conn, &snap, target, bytes);
}

/* How long until an acknowledgment is overdue: one and a half round trips since
 * data was sent last, or since some was acknowledged; 0 if it is, or if TCP has
 * given up on some.
 */
static u32 glue_due_us(const struct sock *ssk)
{
	const struct tcp_sock *tp = tcp_sk(ssk);
	u32 srtt_us = pams_rate_srtt_us(tp);
	u32 heard_us = (u32)tcp_clock_us() - (u32)READ_ONCE(tp->delivered_mstamp);
	u32 sent_us = jiffies_to_usecs(tcp_jiffies32 - READ_ONCE(tp->lsndtime));
	u32 since_us = min(heard_us, sent_us);
	u32 due_us = srtt_us + srtt_us / 2;

	if (inet_csk(ssk)->icsk_ca_state >= TCP_CA_Loss || since_us >= due_us)
		return 0;
	return due_us - since_us;
}

/* How long all that is outstanding can still be on its way; 0 if nothing is, or
 * some is overdue. The kernel's timer was set for the subflows that were in use
 * then: of data given to a far path later it knows nothing.
 */
static u32 glue_on_its_way_us(const struct mptcp_sock *msk)
{
	const struct mptcp_subflow_context *subflow;
	u32 least_us = U32_MAX;

	list_for_each_entry(subflow, &msk->conn_list, node) {
		const struct sock *ssk = subflow->tcp_sock;

		if (tcp_sk(ssk)->packets_out)
			least_us = min(least_us, glue_due_us(ssk));
	}
	return least_us == U32_MAX ? 0 : least_us;
}

/* The kernel's choice, but for a path that is lost, while there is another. From a
 * scheduler that decides itself what is late, within a budget, nothing before it is
 * time: refused, the timer runs until then.
 */
static int glue_retransmit(struct mptcp_sock *msk)
{
	struct sock *ssk = pams_subflow_get_retrans(msk);
	struct pams_conn *conn = pams_conn_get(msk);
	u32 wait_us = pams_sched(msk)->late ? glue_on_its_way_us(msk) : 0;
	struct mptcp_subflow_context *subflow;

	if (conn)
		pams_window_widen(msk, conn);
	if (!ssk)
		return -EINVAL;
	if (wait_us) {
		glue_set_timeout(msk, usecs_to_jiffies(wait_us));
		return -EINVAL;
	}

	/* RCU guards this pointer for readers that don't own the msk */
	subflow = (__force void *)inet_csk(ssk)->icsk_ulp_data;
	if (conn && unlikely(pams_reported_any(conn)) &&
	    pams_conn_memo(conn, subflow->subflow_id)->stopped &&
	    !list_is_singular(&msk->conn_list))
		return -EINVAL;

	glue_schedule(subflow);
	return 0;
}

#ifdef PAMS_HAVE_GET_SUBFLOW
static int glue_get_subflow(struct mptcp_sock *msk,
			    struct mptcp_sched_data *data)
{
	return data->reinject ? glue_retransmit(msk) : glue_decide(msk);
}

#define GLUE_OPS	.get_subflow = glue_get_subflow
#else
#define GLUE_OPS	.get_send = glue_decide, .get_retrans = glue_retransmit
#endif

#define GLUE_SCHED(_name, ...) {					\
	.ops = {							\
		GLUE_OPS,						\
		.name		= #_name,				\
		.owner		= THIS_MODULE,				\
		.init		= pams_conn_add,			\
		.release	= pams_conn_del,			\
	},								\
	.pick		= pams_pick_##_name,				\
	__VA_ARGS__							\
}

static struct pams_sched glue_scheds[] = {
	GLUE_SCHED(minrtt),
	GLUE_SCHED(minpad, .detail = PAMS_DETAIL_PAD),
	GLUE_SCHED(pams, .detail = PAMS_DETAIL_PAD, .reinject = true,
		   .window_shift = 4),
	GLUE_SCHED(minfct, .detail = PAMS_DETAIL_FLOW, .reinject = true,
		   .late = pams_late_minfct, .cuts = true, .window_shift = 3),
};

static void glue_unregister_first(unsigned int nr)
{
	while (nr--)
		pams_unregister_scheduler(&glue_scheds[nr].ops);
	/* a lookup that is under way may still hold one of them */
	synchronize_rcu();
}

int __init pams_glue_register(void)
{
	unsigned int i;
	int err;

	for (i = 0; i < ARRAY_SIZE(glue_scheds); i++) {
		err = pams_register_scheduler(&glue_scheds[i].ops);
		if (err) {
			pr_err("mptcp_pams: scheduler %s: %pe\n",
			       glue_scheds[i].ops.name, ERR_PTR(err));
			glue_unregister_first(i);
			return err;
		}
	}
	return 0;
}

void pams_glue_unregister(void)
{
	glue_unregister_first(ARRAY_SIZE(glue_scheds));
}
