// SPDX-License-Identifier: GPL-2.0
/* Hands data over: carries out what a decision has chosen.
 *
 * What the kernel expects of a decision (and what goes wrong otherwise):
 *  - timer_ival is set each time; left at 0 the MPTCP timer fires every jiffy
 *    and sends the head of the queue again and again;
 *  - 0 is returned only with exactly one subflow marked scheduled; with none
 *    the softirq push loops for ever, and a mark left over suppresses the next
 *    decision;
 *  - snd_burst bounds how much the kernel gives to that subflow before it asks for
 *    another decision. It is compared between whole fragments only, so up to 32 KB
 *    less one byte go beyond, unless the end of the receive window stops the kernel
 *    (struct msk_window).
 *
 * Context: as msk.c.
 */
#include "msk_private.h"

/* Size of a DSS option: header, and a map with a 64-bit data sequence number. */
#define MSK_DSS_BYTES		(4 + 14)
/* The kernel's own limit for one burst, a bit under 64 KB. */
#define MSK_BURST_MAX_BYTES	(64 * 1024 - 107)

/* Have the subflow send: new data, or the kernel's retransmission. */
void msk_schedule(const struct sock *ssk)
{
	WRITE_ONCE(subflow_of(ssk)->scheduled, true);
}

/**
 * msk_schedule_any - decide without any state: take the first subflow that accepts more
 * @msk:	the connection
 *
 * Return: false if there is none.
 */
bool msk_schedule_any(struct mptcp_sock *msk)
{
	struct msk_window window = {};
	struct msk_look look;
	unsigned int i;

	msk_look(msk, &window, &look);
	msk_set_timeout(msk, look.timeout);
	for (i = 0; i < look.nr; i++) {
		if (!sk_stream_memory_free(look.ssk[i]))
			continue;
		if (!before64(look.window_end, look.snd_nxt + 1))
			msk->snd_burst = min_t(u64, MSK_BURST_MAX_BYTES,
					       look.window_end - look.snd_nxt);
		msk_schedule(look.ssk[i]);
		return true;
	}
	return false;
}

/* Temporarily lower msk->wnd_end to @end (@narrow), or restore what the peer advertised. The
 * data lock is held.
 */
static void window_set(struct mptcp_sock *msk, struct msk_window *window,
		       bool narrow, u64 end)
{
	u64 true_end = window_true_end(msk, window);

	narrow &= before64(end, true_end);
	window->end = narrow ? true_end : 0;
	WRITE_ONCE(msk->wnd_end, narrow ? end : true_end);
}

/* window_set(), with the data lock taken if the msk is owned; in softirq it is held. */
static void window_move(struct mptcp_sock *msk, struct msk_window *window,
			bool narrow, u64 end)
{
	struct sock *sk = (struct sock *)msk;

	if (!sock_owned_by_user_nocheck(sk)) {
		window_set(msk, window, narrow, end);
		return;
	}
	spin_lock_bh(&sk->sk_lock.slock);
	window_set(msk, window, narrow, end);
	spin_unlock_bh(&sk->sk_lock.slock);
}

/**
 * msk_window_restore - restore the end of the receive window that the peer advertised
 * @msk:	the connection
 * @window:	that end, if msk->wnd_end is lowered
 *
 * For new data a lowered end is never below snd_nxt; for data that is sent again it is the
 * end of the range. An acknowledgment may restore the peer's end earlier (struct msk_window).
 */
void msk_window_restore(struct mptcp_sock *msk, struct msk_window *window)
{
	if (window->end)
		window_move(msk, window, false, 0);
}

/* Is the next pending byte one that no subflow was given yet? */
static bool next_is_new(const struct mptcp_sock *msk)
{
	return msk->first_pending && !is_pending_again(msk);
}

/* How much data a packet of the subflow carries: the MSS less a DSS option. */
static u32 packet_bytes(const struct mptcp_sock *msk, const struct sock *ssk)
{
	u32 dss = MSK_DSS_BYTES + (READ_ONCE(msk->use_64bit_ack) ? 8 : 4) +
		  (READ_ONCE(msk->csum_enabled) ? 2 : 0);
	u32 mss = READ_ONCE(tcp_sk(ssk)->mss_cache);

	dss = round_up(dss, 4);
	return mss > 2 * dss ? mss - dss : mss;
}

/**
 * msk_whole_packets - round to whole packets of a subflow
 * @msk:	the connection
 * @ssk:	the subflow
 * @bytes:	how many bytes are to be sent
 * @unscheduled: how many bytes there are; if all of them are sent nothing is rounded, since the
 *		rest would be sent as a small packet, or wait
 */
u32 msk_whole_packets(const struct mptcp_sock *msk, const struct sock *ssk, u32 bytes,
		      u64 unscheduled)
{
	u32 packet = packet_bytes(msk, ssk);

	if (bytes >= unscheduled)
		return unscheduled;
	return min_t(u64, max(rounddown(bytes, packet), packet), unscheduled);
}

/* Will an acknowledgment come? While the kernel processes one, it may ask for a decision before
 * it advances snd_una. TCP's queues are up to date by then, so they are checked, too.
 */
static bool ack_will_come(const struct mptcp_sock *msk)
{
	const struct mptcp_subflow_context *subflow;

	if (snd_una_of(msk) == msk->snd_nxt)
		return false;
	list_for_each_entry(subflow, &msk->conn_list, node) {
		if (!tcp_rtx_and_write_queues_empty(subflow->tcp_sock))
			return true;
	}
	return false;
}

/* How many of @bytes the receive window has room for: whole packets if an acknowledgment will
 * come, which opens the window further and leads to the next decision. Small packets take as much
 * of a receiver's memory as whole ones, and a window full of small packets, out of order, stops
 * some kernels (6.12) for ever.
 */
static s64 window_takes(const struct mptcp_sock *msk, const struct msk_order *order,
			u32 bytes)
{
	/* after a fallback to TCP nobody keeps MPTCP's receive window up to date */
	if (READ_ONCE(msk->flags) & MSK_FLAG_FALLBACK_DONE)
		return bytes;
	if (order->window_bytes >= bytes || !ack_will_come(msk))
		return order->window_bytes;
	return rounddown((u32)max_t(s64, order->window_bytes, 0),
			 packet_bytes(msk, order->ssk));
}

/* Hand over data that is sent again. The push has to stop at the end of the range, since the rest
 * of the fragment was given to other subflows; so msk->wnd_end is lowered to the range's end. The
 * push has to follow at once: until then nothing can be sent beyond that.
 */
static void hand_over_again(struct mptcp_sock *msk, struct msk_window *window,
			    struct msk_resend *resend, const struct msk_order *order,
			    u32 bytes)
{
	const struct mptcp_data_frag *dfrag = msk->first_pending;
	u64 next = dfrag->data_seq + dfrag->already_sent;
	bool again = msk_is_resending(msk, resend);
	bool cut = again && before64(resend->end, resend->sent_end);

	msk->snd_burst = cut || (again && order->alone) ? resend->end - next : bytes;
	if (cut) {
		resend->handed_id = msk_subflow_id(order->ssk);
		resend->handed_end = READ_ONCE(tcp_sk(order->ssk)->write_seq) +
				     (u32)(resend->end - next);
		window_move(msk, window, true, resend->end);
	} else {
		msk_window_restore(msk, window);
	}
}

/**
 * msk_hand_over - have the kernel give data to a subflow
 * @msk:	the connection, with something pending
 * @window:	the receive window's true end, while msk->wnd_end is lowered; updated
 * @resend:	the range that is pending again; notes which subflow is given it
 * @order:	the decision
 *
 * Return: 0, or -EAGAIN if the window takes less than a packet and an
 * acknowledgment will come.
 */
int msk_hand_over(struct mptcp_sock *msk, struct msk_window *window,
		  struct msk_resend *resend, const struct msk_order *order)
{
	u32 bytes = min_t(u32, order->bytes, MSK_BURST_MAX_BYTES);
	bool cuts = order->cuts;
	s64 takes;

	if (cuts)
		bytes = msk_whole_packets(msk, order->ssk, bytes,
					  order->unscheduled_bytes);
	if (unlikely(!next_is_new(msk))) {
		hand_over_again(msk, window, resend, order, bytes);
		msk_schedule(order->ssk);
		return 0;
	}

	takes = window_takes(msk, order, bytes);
	if (takes <= 0 && ack_will_come(msk)) {
		msk_window_restore(msk, window);
		return -EAGAIN;
	}
	if (takes > 0) {
		/* with a closed window the kernel sends a probe and wants no burst */
		cuts |= takes < bytes;
		bytes = min_t(s64, bytes, takes);
		msk->snd_burst = bytes;
	}
	if (takes > 0 && cuts && !(READ_ONCE(msk->flags) & MSK_FLAG_FALLBACK_DONE) &&
	    order->unscheduled_bytes > bytes)
		window_move(msk, window, true, msk->snd_nxt + bytes);
	else
		msk_window_restore(msk, window);
	msk_schedule(order->ssk);
	return 0;
}
