// SPDX-License-Identifier: GPL-2.0
/* What was reported of the paths, put into the view of a decision.
 *
 * Pipe (MPBond, section 4; pad.c has the equations). If the helper ends TCP:
 *
 *   HS-path: what TCP shows, or hs-rate     pipe: as reported
 *   PAD = the helper's
 *
 * If TCP goes through the helper its round trip holds the pipe, and what
 * srtt exceeds minRTT by is the backlog's queueing, as old as the last
 * acknowledgment. The report knows better if it says more:
 *
 *   PAD = max(OWD + Bs/Th, minRTT/2 + (Bs + Bp)/Thp)
 *
 * The backlog drains from one report to the next: Bp(t) = Bp - Thp * t.
 *
 * Path loss (PLAMA). Nothing is scheduled on a subflow that can't arrive:
 *
 *   stopped:  now + OWD + queue drain + guard + 4 * RTT variance >= T_L
 *
 * until data that TCP sent later than T_L + RTT is acknowledged, which proves the
 * path alive, or the loss time is renewed, removed, or expires. (What was under way
 * at T_L, or already the subflow's, proves nothing.) The variance, four times as
 * in TCP's timeout, is for a path that fades: OWD is as old as the last
 * acknowledgment, and grows while the rate falls. OWD is smoothed apart, from
 * TCP's latest round trip, with RFC 6298's weights or as PLAMA prints them:
 *
 *   OWD' = a * OWD + (1 - a) * sample,  a = 7/8 (RFC 6298) or 1/8 (PLAMA)
 *
 * A subflow that went silent (silence.c) counts as lost, too. If every subflow
 * is stopped the least bad is used, the one that is lost last.
 *
 * Ignored: that a pipe is shared by several connections; clocks that drift.
 */
#include <linux/ktime.h>

#include "pad.h"
#include "pams.h"
#include "trace.h"

#define OWD_GAIN_SHIFT	3	/* one weight is 1/8, the other 7/8 */

static void reported_find(struct pams_net *net, const struct mptcp_sock *msk,
			  const struct mptcp_subflow_context *subflow,
			  struct pams_memo *memo, unsigned long generation)
{
	pams_path_lookup(net, msk, subflow, ktime_get_ns(), &memo->pipe,
			 &memo->loss);
	memo->generation = generation;
	memo->known = memo->pipe || memo->loss || memo->stopped;
}

static u64 drained(u64 bytes, u64 gone)
{
	return bytes > gone ? bytes - gone : 0;
}

static void view_pipe(struct pams_subflow_view *sub,
		      const struct pams_report *report,
		      const struct tcp_sock *tp, u64 now_ns)
{
	u64 gone = pad_carried_bytes(now_ns - report->pipe_ns,
				     report->pipe_rate_byteps);
	struct pad_hop hs = {
		.rate_byteps = report->hs_rate_byteps ?: sub->rate_byteps,
		.owd_us = sub->owd_us,
		.queued_bytes = sub->queued_bytes,
	};
	struct pad_hop pipe = {
		.rate_byteps = report->pipe_rate_byteps,
		.owd_us = report->pipe_delay_us,
		.queued_bytes = drained(report->pipe_backlog_bytes, gone),
	};
	u64 pad_ns;

	if (!report->split)
		hs.owd_us = pams_propagation_us(tp, sub->srtt_us);
	pad_ns = pad_helper_ns(&hs, &pipe);

	sub->pad_ns = report->split ? pad_ns : max(pad_ns, sub->pad_ns);
	sub->rate_byteps = min(hs.rate_byteps, pipe.rate_byteps);
	sub->piped = true;
}

/* Smoothed from each acknowledgment that a decision gets to see. */
static u32 reported_owd_us(const struct pams_net *net, struct pams_memo *memo,
			   const struct tcp_sock *tp)
{
	u32 delivered = READ_ONCE(tp->delivered);
	u32 rtt_us = READ_ONCE(tp->rack.rtt_us);
	u32 sample = pams_owd_us(tp, rtt_us);
	s32 step;

	if (!rtt_us || (memo->owd_us && memo->owd_delivered == delivered))
		return memo->owd_us;

	memo->owd_delivered = delivered;
	step = sample - memo->owd_us;
	if (READ_ONCE(net->owd_weights) == PAMS_OWD_PLAMA)
		step -= step / (1 << OWD_GAIN_SHIFT);
	else
		step /= 1 << OWD_GAIN_SHIFT;
	memo->owd_us = memo->owd_us ? memo->owd_us + step : sample;
	return memo->owd_us;
}

/* TCP remembers when what was acknowledged last had been sent. */
static bool loss_is_over(const struct pams_subflow_view *sub, u64 loss_ns,
			 const struct tcp_sock *tp)
{
	u64 sent_ns = READ_ONCE(tp->rack.mstamp) * NSEC_PER_USEC;

	return sent_ns > loss_ns + (u64)sub->srtt_us * NSEC_PER_USEC;
}

/* True if nothing that is scheduled now arrives in time. Less room, too: what a
 * decision allows is sent without another.
 */
static bool view_loss(struct pams_subflow_view *sub, u64 loss_ns,
		      const struct pams_net *net, struct pams_memo *memo,
		      const struct tcp_sock *tp, u64 now_ns)
{
	u32 owd_us = max(reported_owd_us(net, memo, tp), sub->owd_us);
	u64 guard_us = READ_ONCE(net->loss_guard_us) + READ_ONCE(tp->mdev_us);
	u64 late_us = owd_us - sub->owd_us + guard_us;
	u64 arrival_ns = now_ns + sub->pad_ns + late_us * NSEC_PER_USEC;

	if (loss_is_over(sub, loss_ns, tp))
		return false;
	if (arrival_ns >= loss_ns)
		return true;

	sub->room_bytes = min_t(u64, sub->room_bytes,
				pad_carried_bytes(loss_ns - arrival_ns,
						  sub->rate_byteps));
	return false;
}

/* An acknowledgment since then ends the silence. */
static bool reported_silent(struct pams_conn *conn, struct pams_memo *memo,
			    const struct tcp_sock *tp)
{
	if (memo->silent &&
	    (s32)(READ_ONCE(tp->rcv_tstamp) - memo->silent_at) > 0)
		memo->silent = false;
	if (memo->silent)
		conn->silent = true;
	return memo->silent;
}

static void reported_stop(struct pams_conn *conn, struct mptcp_sock *msk,
			  struct pams_subflow_view *sub,
			  struct pams_memo *memo, u64 loss_ns, u64 now_ns)
{
	sub->stopped = true;
	sub->idle = false;
	sub->in_flight = false;	/* not worth waiting for */
	if (memo->stopped)
		return;

	memo->stopped = true;
	memo->stops++;
	memo->events |= PAMS_EVENT_STOPPED;
	conn->counts.stops++;
	conn->events = true;
	trace_mptcp_pams_stop(msk->token, sub->id, (s64)(loss_ns - now_ns),
			      sub->pad_ns);
	pams_conn_kick_now(conn);	/* tells, and looks after what is queued */
}

/* The one that is lost last, and of those never heard of again the fastest. */
static void reported_use_least_bad(struct pams_view *view, const u64 *loss_ns)
{
	unsigned int i, best = 0;

	for (i = 1; i < view->nr; i++) {
		if (loss_ns[i] > loss_ns[best] ||
		    (loss_ns[i] == loss_ns[best] &&
		     view->sub[i].pad_ns < view->sub[best].pad_ns))
			best = i;
	}
	view->sub[best].idle = view->sub[best].room_bytes;
}

/* One subflow; returns when its path is lost, U64_MAX if never, and if it is to
 * be stopped.
 */
static u64 reported_view(struct mptcp_sock *msk, struct pams_conn *conn,
			 struct pams_subflow_view *sub, const struct sock *ssk,
			 u64 now_ns, bool *stop)
{
	struct pams_memo *memo = pams_conn_memo(conn, sub->id);
	const struct pams_report *report;
	u64 loss_ns = U64_MAX;

	report = memo->pipe ? &memo->pipe->report : NULL;
	if (report && pams_report_has_pipe(report, now_ns))
		view_pipe(sub, report, tcp_sk(ssk), now_ns);

	*stop = reported_silent(conn, memo, tcp_sk(ssk));
	report = memo->loss ? &memo->loss->report : NULL;
	if (*stop) {
		loss_ns = 0;
	} else if (report && pams_report_has_loss(report, now_ns)) {
		loss_ns = report->loss_ns;
		*stop = view_loss(sub, loss_ns, conn->net, memo, tcp_sk(ssk),
				  now_ns);
	}

	if (*stop)
		reported_stop(conn, msk, sub, memo, loss_ns, now_ns);
	else
		memo->stopped = false;
	return loss_ns;
}

static void reported_view_all(struct mptcp_sock *msk, struct pams_conn *conn,
			      struct pams_snapshot *snap)
{
	struct pams_view *view = &snap->view;
	u64 loss_ns[PAMS_SUBFLOWS_MAX];
	u64 now_ns = ktime_get_ns();
	unsigned int i, stopped = 0;
	bool stop;

	conn->silent = false;
	for (i = 0; i < view->nr; i++) {
		loss_ns[i] = reported_view(msk, conn, &view->sub[i],
					   snap->subflow[i]->tcp_sock, now_ns,
					   &stop);
		stopped += stop;
	}
	if (stopped && stopped == view->nr)
		reported_use_least_bad(view, loss_ns);
}

/**
 * pams_reported_apply - put what was reported into a view
 * @msk:	the connection, owned or with its data lock held
 * @conn:	its remembered state
 * @snap:	complete, with PADs
 */
void pams_reported_apply(struct mptcp_sock *msk, struct pams_conn *conn,
			 struct pams_snapshot *snap)
{
	struct pams_net *net = conn->net;
	unsigned long generation;
	unsigned int i;

	rcu_read_lock();
	generation = pams_paths_generation(&net->paths);
	for (i = 0; i < snap->view.nr; i++) {
		struct pams_memo *memo = pams_conn_memo(conn,
							snap->view.sub[i].id);

		if (memo->generation != generation)
			reported_find(net, msk, snap->subflow[i], memo,
				      generation);
	}
	reported_view_all(msk, conn, snap);
	rcu_read_unlock();
}

/**
 * pams_reported_lost_bytes - how much of what a subflow was given is lost
 * @conn:	the connection's remembered state; its socket is owned
 * @sub:	the subflow in a view, stopped
 * @ssk:	and its TCP socket
 *
 * Before the loss what the path doesn't carry any more, after it and in silence
 * everything that isn't acknowledged.
 *
 * Return: bytes, the ones with the largest sequence numbers.
 */
u64 pams_reported_lost_bytes(struct pams_conn *conn,
			     const struct pams_subflow_view *sub,
			     const struct sock *ssk)
{
	struct pams_memo *memo = pams_conn_memo(conn, sub->id);
	const struct tcp_sock *tp = tcp_sk(ssk);
	u64 given = READ_ONCE(tp->write_seq) - READ_ONCE(tp->snd_una);
	u64 now_ns = ktime_get_ns();
	u64 loss_ns = 0;

	rcu_read_lock();
	if (!memo->silent && memo->loss &&
	    memo->generation == pams_paths_generation(&conn->net->paths))
		loss_ns = memo->loss->report.loss_ns;
	rcu_read_unlock();

	if (loss_ns <= now_ns)
		return given;
	return drained(given, pad_carried_bytes(loss_ns - now_ns,
						sub->rate_byteps));
}
