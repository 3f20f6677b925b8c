// SPDX-License-Identifier: GPL-2.0
/* Makes data that was sent pending again, so that the kernel sends it once more.
 *
 * A subflow's queues hold the data that it was given, each skb with its data sequence number;
 * these give the range to send again. The fragment that holds the range becomes the head of the
 * pending data, marked as sent up to where the range begins. The kernel is told that it is in
 * recovery, so that it expects acknowledgments beyond that head. Releasing the socket pushes.
 * Only one range within one fragment is pending at a time: when a subflow closes, the kernel
 * takes the first unsent fragment for the end of the data to repair (see msk_resend_repair()).
 *
 * Context: as msk.c. Functions that lock a subflow say so.
 */
#include "msk_private.h"

/* Make a fragment, of which something was sent before, the first pending one. */
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
	msk->cb_flags |= MSK_CB_PUSH_PENDING;
	spin_unlock_bh(&sk->sk_lock.slock);

	WRITE_ONCE(msk->first_pending, dfrag);
	msk->snd_burst = 0;
}

/* Make a range of a fragment pending again. Returns how many bytes of it are pending; 0 if
 * none of them was sent before.
 */
static u32 range_set_pending(struct mptcp_sock *msk, const struct sock *ssk,
			     struct mptcp_data_frag *dfrag,
			     struct msk_range *range, struct msk_resend *resend)
{
	u64 sent_end = dfrag->data_seq + dfrag->already_sent;

	if (before64(sent_end, range->end))
		range_drop_tail(range, range->end - sent_end);
	if (!before64(range->start, range->end))
		return 0;

	dfrag->already_sent = range->start - dfrag->data_seq;
	fragment_set_pending(msk, dfrag);
	resend->start = range->start;
	resend->end = range->end;
	resend->sent_end = sent_end;
	resend->origin = msk_subflow_id(ssk);
	resend->target = 0;
	resend->handed_id = 0;
	return range->end - range->start;
}

/**
 * msk_resend_tail - have the last bytes that a subflow holds sent again elsewhere
 * @msk:	the connection, owned in process context, nothing pending again
 * @ssk:	the subflow; locked meanwhile
 * @again:	the subflow's data that was sent again; updated
 * @max_bytes:	the most to send again
 * @resend:	set to the range that is pending now, within one fragment
 *
 * Data that was sent again isn't sent a third time, unless new data follows it on the
 * subflow.
 *
 * Return: bytes that will be sent again; 0 if there are none.
 */
u32 msk_resend_tail(struct mptcp_sock *msk, struct sock *ssk,
		    struct msk_sent_again *again, u64 max_bytes,
		    struct msk_resend *resend)
{
	struct mptcp_data_frag *dfrag = NULL;
	struct msk_range range;
	u32 bytes;

	lock_sock(ssk);
	if (!(ssk->sk_shutdown & SEND_SHUTDOWN))
		dfrag = msk_last_range(msk, ssk, again, &range);
	release_sock(ssk);
	if (!dfrag)
		return 0;

	if (range.end - range.start > max_bytes)
		range_drop_head(&range, range.end - max_bytes - range.start);
	bytes = range_set_pending(msk, ssk, dfrag, &range, resend);
	if (!bytes)
		return 0;

	if (again->from == again->to || !before(range.seq, again->to))
		again->to = range.seq_end;
	again->from = range.seq;
	resend->keep = false;
	return bytes;
}

/**
 * msk_resend_data - have data that a helper has banked sent again elsewhere
 * @msk:	the connection, owned in process context, nothing pending again
 * @ssk:	the subflow that was given the data
 * @start:	data sequence number of the data
 * @end:	its end, exclusive
 * @max_bytes:	the most to send again
 * @first:	the pipe is dead: send the beginning of the data, which waits for room elsewhere and
 *		goes before new data; else its end
 * @resend:	set to the range that is pending now, within one fragment
 *
 * The subflow's queues don't hold the data any more, so the caller says where it is.
 *
 * Return: bytes that will be sent again; 0 if there are none.
 */
u32 msk_resend_data(struct mptcp_sock *msk, const struct sock *ssk, u64 start, u64 end,
		    u64 max_bytes, bool first, struct msk_resend *resend)
{
	struct msk_range range = { .start = start, .end = end };
	u64 snd_una = snd_una_of(msk);	/* read once: it advances meanwhile */
	struct mptcp_data_frag *dfrag;
	u32 bytes;

	if (before64(start, snd_una))
		range.start = snd_una;
	if (!before64(range.start, end))
		return 0;
	dfrag = msk_fragment_of(msk, first ? range.start : end - 1);
	if (!dfrag)
		return 0;
	if (before64(range.start, dfrag->data_seq))
		range.start = dfrag->data_seq;
	if (before64(dfrag->data_seq + dfrag->data_len, end))
		range.end = dfrag->data_seq + dfrag->data_len;
	if (range.end - range.start > max_bytes)
		range.start = range.end - max_bytes;
	bytes = range_set_pending(msk, ssk, dfrag, &range, resend);
	if (bytes)
		resend->keep = first;
	return bytes;
}

/**
 * msk_resend_copy - have data that another subflow was given sent on this one, too
 * @msk:	the connection, owned in process context, nothing pending again
 * @ssk:	this subflow
 * @from:	low half of the data sequence number where the data begins
 * @max_bytes:	the most to copy
 * @room:	the subflow's room; if it is too small for the data, whole packets are copied
 * @resend:	set to the range that is pending now, within one fragment
 *
 * Return: bytes that will be sent there; 0 if there are none.
 */
u32 msk_resend_copy(struct mptcp_sock *msk, const struct sock *ssk, u32 from, u32 max_bytes,
		    u32 room, struct msk_resend *resend)
{
	u64 start = msk->snd_nxt - ((u32)msk->snd_nxt - from);
	struct msk_range range = { .start = start };
	struct mptcp_data_frag *dfrag = msk_fragment_of(msk, start);
	u32 bytes;

	if (!dfrag)
		return 0;
	bytes = min_t(u64, max_bytes, dfrag->data_seq + dfrag->data_len - start);
	if (bytes > room)
		bytes = msk_whole_packets(msk, ssk, room, bytes);
	range.end = start + bytes;
	bytes = range_set_pending(msk, ssk, dfrag, &range, resend);
	if (bytes) {
		resend->origin = 0;
		resend->target = msk_subflow_id(ssk);
		resend->keep = false;
	}
	return bytes;
}

/**
 * msk_resend_head - have a lost path's data sent again elsewhere, in its order
 * @msk:	the connection, owned in process context, nothing pending again
 * @ssk:	the subflow; locked meanwhile
 * @again:	the subflow's data that was sent again; updated
 * @silent:	the path doesn't answer: send SACKed data again, too. The peer's TCP has that
 *		data, but delivers it only after the lost packet before it, which won't arrive
 *		over this path
 * @resend:	set to the range that is pending now, within one fragment. It waits for
 *		room elsewhere, and goes before new data
 *
 * Each call makes one range pending; @again->lost is set until all ranges were.
 *
 * Return: bytes that will be sent again; 0 if there are none now.
 */
u32 msk_resend_head(struct mptcp_sock *msk, struct sock *ssk,
		    struct msk_sent_again *again, bool silent, struct msk_resend *resend)
{
	static const struct msk_sent_again none;
	enum msk_which which = silent ? MSK_ALL : MSK_NOT_SACKED;
	struct mptcp_data_frag *dfrag = NULL;
	struct msk_range range;
	bool ended;
	u32 bytes, to;

	lock_sock(ssk);
	if (!again->lost) {
		again->lost = true;
		again->sacked = silent && again->passed_over;
		again->lost_from = tcp_sk(ssk)->snd_una;
		again->lost_to = again->lost_from;
	}
	again->passed_over = !silent || (again->passed_over && !again->sacked);
	to = again->lost_to;
	ended = ssk->sk_shutdown & SEND_SHUTDOWN;
	if (!ended) {
		dfrag = again->sacked ?
			msk_first_range(msk, ssk, &none, MSK_SACKED, &to, &range) :
			msk_first_range(msk, ssk, again, which, &to, &range);
		ended = !dfrag && !before(to, tcp_sk(ssk)->write_seq);
	}
	again->lost_to = to;
	if (ended) {
		again->lost = false;
		if (!again->sacked) {
			again->from = again->lost_from;
			again->to = tcp_sk(ssk)->write_seq;
		}
		again->sacked = false;
	}
	release_sock(ssk);
	if (!dfrag)
		return 0;

	bytes = range_set_pending(msk, ssk, dfrag, &range, resend);
	resend->keep = bytes;
	return bytes;
}

/**
 * msk_resend_excess - how much was sent again beyond the end of a range
 * @msk:	the connection, before anything else is handed over or pending again
 * @resend:	the range; a second call for it returns 0
 *
 * struct msk_window says how a push may send more than the range.
 *
 * Return: number of bytes behind the range, of the same fragment, that were sent again; 0 if the
 * subflow that was given them is closed by now.
 */
u32 msk_resend_excess(struct mptcp_sock *msk, struct msk_resend *resend)
{
	struct mptcp_subflow_context *subflow;
	u16 id = resend->handed_id;

	resend->handed_id = 0;
	if (!id)
		return 0;
	list_for_each_entry(subflow, &msk->conn_list, node) {
		if ((u16)subflow_id(subflow) == id)
			return range_excess(READ_ONCE(tcp_sk(subflow->tcp_sock)->write_seq),
					    resend->handed_end,
					    resend->sent_end - resend->end);
	}
	return 0;
}

/* Mark the part of a fragment behind the range as sent: it was, before the range was pending. */
static void fragment_skip_sent(struct mptcp_data_frag *dfrag,
			       const struct msk_resend *resend)
{
	u64 next = dfrag->data_seq + dfrag->already_sent;

	if (!before64(next, resend->end) && before64(next, resend->sent_end))
		dfrag->already_sent = resend->sent_end - dfrag->data_seq;
}

/**
 * msk_resend_skip - step over the data behind a range that was sent again
 * @msk:	the connection
 * @resend:	the range that was pending again
 *
 * That data was sent before. The kernel's push would step over whole fragments, too, but
 * only if a subflow has room, and a DATA_FIN would wait for that.
 */
void msk_resend_skip(struct mptcp_sock *msk, const struct msk_resend *resend)
{
	struct mptcp_data_frag *dfrag = msk->first_pending;

	if (dfrag)
		fragment_skip_sent(dfrag, resend);
	while (dfrag && dfrag->already_sent == dfrag->data_len)
		dfrag = list_is_last(&dfrag->list, &msk->rtx_queue) ?
			NULL : list_next_entry(dfrag, list);
	WRITE_ONCE(msk->first_pending, dfrag);
}

/**
 * msk_resend_settle - end the resending of a tail: leave no fragment of it pending
 * @msk:	the connection, owned, after a push
 * @resend:	the range that was pending again; emptied, unless it waits for room
 *
 * A fragment that found no room is marked as sent, which it was before. If it stayed pending,
 * the kernel would take it for the end of the data to repair when a subflow closes. Data that
 * the application has added to the fragment since stays pending.
 *
 * The data of a lost path may wait for room: it stays pending, and msk_resend_repair()
 * repairs what the kernel would leave out.
 */
void msk_resend_settle(struct mptcp_sock *msk, struct msk_resend *resend)
{
	struct mptcp_data_frag *dfrag = msk->first_pending;
	bool resending = msk_is_resending(msk, resend);

	if (resending && resend->keep)
		return;
	resend->keep = false;
	if (resending)
		dfrag->already_sent = resend->end - dfrag->data_seq;
	msk_resend_skip(msk, resend);
	resend->start = resend->end;
	resend->sent_end = resend->end;
}

/**
 * msk_resend_yield - leave the first fragment to the kernel's own retransmission
 * @msk:	the connection, owned in process context; the kernel sends that fragment again now
 * @resend:	the range that is pending again; emptied if it is in that fragment
 *
 * Of that fragment the kernel sends what is marked as sent. If data of it is pending again, and
 * finds no room, that is less than was sent, or nothing.
 */
void msk_resend_yield(struct mptcp_sock *msk, struct msk_resend *resend)
{
	struct mptcp_data_frag *head = msk->first_pending;

	if (!is_pending_again(msk) || !list_is_first(&head->list, &msk->rtx_queue))
		return;
	if (msk_is_resending(msk, resend)) {
		resend->keep = false;
		resend->start = resend->end;
		resend->sent_end = resend->end;
	}
	head->already_sent = min_t(u64, head->data_len, msk->snd_nxt - head->data_seq);
	msk_resend_skip(msk, resend);
}

/**
 * msk_resend_repair - make all data pending again after a subflow has gone or become stale
 * @msk:	the connection, owned in process context
 * @resend:	the range that was pending again then; emptied
 *
 * The kernel makes all unacknowledged data pending again, but only up to the first fragment
 * of which nothing is marked as sent. That may be the fragment of the range, even if a push
 * has sent the range since. This makes the data behind it pending, too. @resend still has a range
 * only if that is a lost path's, or if another thread owned the socket, so that no kick could
 * settle it.
 */
void msk_resend_repair(struct mptcp_sock *msk, struct msk_resend *resend)
{
	struct mptcp_data_frag *dfrag, *first = NULL;
	u64 from = resend->start;
	bool left = from != resend->end;

	resend->keep = false;
	resend->start = resend->end;
	resend->sent_end = resend->end;
	if (!left)
		return;

	list_for_each_entry(dfrag, &msk->rtx_queue, list) {
		if (!before64(from, dfrag->data_seq + dfrag->data_len) ||
		    !before64(dfrag->data_seq, msk->snd_nxt))
			continue;
		dfrag->already_sent = 0;
		first = first ?: dfrag;
	}
	if (!first)
		return;

	/* the kernel may still have data pending before that */
	dfrag = msk->first_pending;
	if (dfrag && before64(dfrag->data_seq, first->data_seq))
		first = dfrag;
	fragment_set_pending(msk, first);
}
