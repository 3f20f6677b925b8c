// SPDX-License-Identifier: GPL-2.0
/* One look at a connection: what each usable subflow's TCP says, turned into
 * the plain numbers a scheduler chooses from (struct pams_view).
 *
 *   queued = unsent + lost and not yet retransmitted      (bytes ahead of ours)
 *   window = (cwnd - in flight) * mss                     (can leave now)
 *   room   = window + ahead - queued,  ahead = max(2 mss, queue_ahead of pacing)
 *   idle   = room > 0 and the socket takes more memory
 *   Bs     = max(0, queued + next fragment - window)      (has to wait)
 *   OWD    = srtt - minRTT/2
 *   PAD    = OWD + Bs/Th
 *
 * What srtt exceeds minRTT by is queueing, and it is in the direction of the
 * data: OWD is half of the propagation plus all of the queueing. Where nothing
 * queues that is the RTT/2 of the paper. Bytes in flight aren't part of Bs: srtt
 * holds the queueing they cause, so they would be counted twice.
 *
 * The kernel hands over whole fragments of up to 32 KB whatever a scheduler
 * asks for, so PAD is that of the fragment's last byte: a fragment that
 * overshoots a small window counts as what it is.
 *
 * Called with the msk owned, or with its data lock held and no owner. Other
 * subflows' TCP state is read without their locks; a torn reading costs one
 * less good choice.
 */
#include <linux/net.h>

#include "pad.h"
#include "pams.h"

/* Usable as the kernel means it. Only a stale subflow has to be asked about: the
 * kernel revives it when something was received on it meanwhile.
 */
static bool subflow_usable(struct mptcp_subflow_context *subflow)
{
	if (unlikely(subflow->stale))
		return pams_subflow_active(subflow);

	/* one that joins may not send before it is confirmed */
	if (subflow->request_join && !READ_ONCE(subflow->fully_established))
		return false;

	return pams_tcp_can_send(subflow->tcp_sock);
}

/* A subflow that has no RTT sample yet gets TCP's timeout for one. */
static u32 subflow_srtt_us(const struct sock *ssk)
{
	u32 srtt_us = READ_ONCE(tcp_sk(ssk)->srtt_us) >> 3;

	return srtt_us ?: jiffies_to_usecs(READ_ONCE(inet_csk(ssk)->icsk_rto));
}

/* TCP restarts from a smaller window after an idle time longer than the RTO,
 * but only once data is queued, hence after the decision: reckon with it.
 */
static __always_inline u32 subflow_cwnd(const struct sock *ssk)
{
	const struct inet_connection_sock *icsk = inet_csk(ssk);
	const struct tcp_sock *tp = tcp_sk(ssk);
	u32 cwnd = READ_ONCE(tp->snd_cwnd);
	u32 rto = icsk->icsk_rto;
	u32 floor;
	s32 idle;

	if (tp->packets_out || icsk->icsk_ca_ops->cong_control ||
	    !READ_ONCE(sock_net(ssk)->ipv4.sysctl_tcp_slow_start_after_idle))
		return cwnd;

	idle = tcp_jiffies32 - tp->lsndtime;
	floor = min_t(u32, TCP_INIT_CWND, cwnd);
	while ((idle -= rto) > 0 && cwnd > floor)
		cwnd >>= 1;
	return max(cwnd, floor);
}

static u32 bytes_clamped(u64 bytes)
{
	return min_t(u64, bytes, PAD_QUEUED_MAX_BYTES);
}

static void view_pad(struct pams_subflow_view *sub, const struct tcp_sock *tp,
		     u64 rate_byteps, u64 queued_bytes)
{
	struct pad_hop path = {
		.rate_byteps = rate_byteps,
		.owd_us = pams_owd_us(tp, sub->srtt_us),
		.queued_bytes = bytes_clamped(queued_bytes),
	};

	sub->rate_byteps = rate_byteps;
	sub->owd_us = path.owd_us;
	sub->queued_bytes = path.queued_bytes;
	sub->pad_ns = pad_direct_ns(&path);
}

static void view_subflow(struct pams_subflow_view *sub, const struct sock *ssk,
			 struct pams_memo *memo, u32 fragment_bytes,
			 u32 ahead_us, bool with_pad)
{
	const struct tcp_sock *tp = tcp_sk(ssk);
	u32 cwnd = subflow_cwnd(ssk);
	u32 in_flight = min(tcp_packets_in_flight(tp), cwnd);
	u64 mss = READ_ONCE(tp->mss_cache);
	u64 window = (cwnd - in_flight) * mss;
	u32 unsent = READ_ONCE(tp->write_seq) - READ_ONCE(tp->snd_nxt);
	u64 queued = unsent;
	/* 2^20 us are a second, and a pacing rate has at most 44 bits */
	u64 ahead = max_t(u64, 2 * mss,
			  (u64)READ_ONCE(ssk->sk_pacing_rate) * ahead_us >> 20);

	if (tp->lost_out > tp->retrans_out)
		queued += (tp->lost_out - tp->retrans_out) * mss;

	sub->srtt_us = subflow_srtt_us(ssk);
	sub->room_bytes = bytes_clamped(window + ahead > queued ?
					window + ahead - queued : 0);
	sub->idle = sub->room_bytes &&
		    READ_ONCE(ssk->sk_wmem_queued) < READ_ONCE(ssk->sk_sndbuf) &&
		    unsent < tcp_notsent_lowat(tp);
	sub->outstanding = tp->packets_out || unsent;
	sub->in_flight = tp->packets_out &&
			 inet_csk(ssk)->icsk_ca_state < TCP_CA_Loss;
	sub->stopped = false;
	sub->piped = false;
	if (with_pad) {
		queued += fragment_bytes;
		view_pad(sub, tp, pams_rate_byteps(memo, sub->id, tp, cwnd),
			 queued > window ? queued - window : 0);
	}
}

/* Sum over the fragments not yet handed over. Needed only while the kernel
 * sends again from the middle of its queue: then snd_nxt lies ahead of them.
 */
static u64 recovery_unscheduled_bytes(struct mptcp_sock *msk)
{
	struct mptcp_data_frag *dfrag = msk->first_pending;
	u64 bytes = 0;

	list_for_each_entry_from(dfrag, &msk->rtx_queue, list)
		bytes += dfrag->data_len - dfrag->already_sent;
	return bytes;
}

static u64 unscheduled_bytes(struct mptcp_sock *msk)
{
	struct socket *sock = ((struct sock *)msk)->sk_socket;

	if (!msk->first_pending)
		return 0;

	/* the application has more than the buffer holds */
	if (sock && test_bit(SOCK_NOSPACE, &sock->flags))
		return U64_MAX;

	if (READ_ONCE(msk->recovery))
		return recovery_unscheduled_bytes(msk);

	/* a queued DATA_FIN takes one sequence number */
	return msk->write_seq - msk->snd_nxt - msk->snd_data_fin_enable;
}

/* The subflows that may be used: established, able to send, not stale; backups
 * only if nothing else is. Returns how many, and the latest of their timers.
 */
static unsigned int usable_subflows(struct mptcp_sock *msk,
				    struct pams_snapshot *snap)
{
	struct mptcp_subflow_context *subflow;
	bool regular = false;
	unsigned int nr = 0;
	long timeout = 0;

	list_for_each_entry(subflow, &msk->conn_list, node) {
		bool backup = subflow->backup || subflow->request_bkup;

		if (!subflow_usable(subflow))
			continue;

		if (!subflow->stale_count)
			timeout = max(timeout,
				      compat_tcp_timeout_left(subflow->tcp_sock));
		if (backup && regular)
			continue;
		if (!backup && !regular) {
			regular = true;
			nr = 0;
		}
		if (nr < PAMS_SUBFLOWS_MAX)
			snap->subflow[nr++] = subflow;
	}

	snap->timeout = timeout;
	return nr;
}

/* While nothing of a burst is acknowledged, what is handed over ahead of the window
 * keeps nothing busy, and can't be recalled when another subflow joins.
 */
static void view_keep_to_window(struct pams_subflow_view *sub,
				const struct pams_flow *flow)
{
	u32 held = flow->flight_bytes + flow->backlog_bytes;

	if (flow->cwnd_bytes <= held)
		sub->room_bytes = 0;
	else
		sub->room_bytes = min(sub->room_bytes, flow->cwnd_bytes - held);
	sub->idle &= sub->room_bytes > 0;
}

/* A flow's arrival is its PAD. Not inlined: the registers are for the others. */
static noinline void view_flows(struct mptcp_sock *msk, struct pams_conn *conn,
				u32 fragment_bytes, struct pams_snapshot *snap)
{
	const struct sock *sk = (struct sock *)msk;
	bool tail = pams_nothing_new(msk);
	unsigned int i;
	u32 now_us = 0;

	for (i = 0; i < snap->view.nr; i++) {
		const struct sock *ssk = snap->subflow[i]->tcp_sock;
		struct pams_subflow_view *sub = &snap->view.sub[i];
		struct pams_flow *flow = &conn->flow[i];

		pams_flow_learn(flow, pams_conn_memo(conn, sub->id), sub->id,
				ssk, subflow_cwnd(ssk), tail, &now_us);
		if (flow->unanswered)
			view_keep_to_window(sub, flow);
		sub->rate_byteps = flow->rate_byteps;
		sub->owd_us = flow->rtt_us / 2;
		sub->queued_bytes = flow->backlog_bytes;
		sub->pad_ns = (u64)flow_arrival_us(flow, fragment_bytes) *
			      NSEC_PER_USEC;
	}
	snap->view.flow = conn->flow;
	snap->view.sent_bytes = msk->snd_nxt - conn->first_seq;
	/* The application is woken up once a third of the send buffer is free. Half:
	 * what is ahead fills the receiver's memory, see pams_window_end().
	 */
	snap->view.buffer_bytes = min(READ_ONCE(sk->sk_sndbuf) / 3 * 2ULL,
				      (pams_window_end(msk) - msk->snd_una) / 2);
}

/**
 * pams_snapshot_take - look at every usable subflow once
 * @msk:	the connection, owned or with its data lock held
 * @conn:	its remembered state, may be NULL
 * @detail:	how much is asked for
 * @snap:	filled in
 */
void pams_snapshot_take(struct mptcp_sock *msk, struct pams_conn *conn,
			enum pams_detail detail, struct pams_snapshot *snap)
{
	const struct mptcp_data_frag *next = msk->first_pending;
	u32 fragment_bytes = next ? next->data_len - next->already_sent : 0;
	struct pams_subflow_view *sub = snap->view.sub;
	unsigned int nr = usable_subflows(msk, snap);
	u32 ahead_us = conn ? READ_ONCE(conn->net->queue_ahead_us) :
			      PAMS_QUEUE_AHEAD_US;
	bool reported = conn && unlikely(pams_reported_any(conn));
	bool with_pad = reported || detail == PAMS_DETAIL_PAD ||
			(!conn && detail == PAMS_DETAIL_FLOW);
	unsigned int i;

	if (pams_sched(msk)->cuts)
		fragment_bytes = min(fragment_bytes, PICK_PACKET_BYTES);
	for (i = 0; i < nr; i++, sub++) {
		sub->id = snap->subflow[i]->subflow_id;
		view_subflow(sub, snap->subflow[i]->tcp_sock,
			     conn ? pams_conn_memo(conn, sub->id) : NULL,
			     fragment_bytes, ahead_us,
			     with_pad);
	}

	snap->view.nr = nr;
	snap->view.unscheduled_bytes = unscheduled_bytes(msk);
	snap->view.flow = NULL;
	if (conn && detail == PAMS_DETAIL_FLOW)
		view_flows(msk, conn, fragment_bytes, snap);
	if (reported && pams_reported_known(conn, &snap->view))
		pams_reported_apply(msk, conn, snap);
}
