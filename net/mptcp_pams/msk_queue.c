// SPDX-License-Identifier: GPL-2.0
/* The data in a subflow's TCP queues: each skb carries the data sequence number that it maps to.
 *
 * Context: the subflow is locked, and the msk owned.
 */
#include "msk_private.h"

/* At most this many skbs of a subflow's queue are searched at once, with the subflow locked. */
#define MSK_SKBS_MAX		4096

/* Find the range of the connection's data in a packet. False if the packet has none, or a FIN. */
bool msk_skb_range(const struct sock *ssk, const struct sk_buff *skb,
		   struct msk_range *range)
{
	const struct mptcp_ext *ext = skb_ext_find(skb, SKB_EXT_MPTCP);
	const struct tcp_skb_cb *cb = TCP_SKB_CB(skb);
	u32 first_seq = tcp_sk(ssk)->write_seq - subflow_of(ssk)->rel_write_seq;

	if (!skb->len || !ext || !ext->use_map || cb->tcp_flags & TCPHDR_FIN)
		return false;

	range->seq = cb->seq;
	range->seq_end = cb->end_seq;
	range->start = ext->data_seq +
		       (u32)(cb->seq - first_seq - ext->subflow_seq);
	range->end = range->start + (cb->end_seq - cb->seq);
	return true;
}

/* Cut the bytes that were sent again out of a range. Returns false if nothing is left of it,
 * or all of it is acknowledged.
 */
static bool range_clip(const struct mptcp_sock *msk,
		       const struct msk_sent_again *again, struct msk_range *range,
		       bool tail)
{
	if (!range_cut_again(range, again, tail))
		return false;
	return before64(snd_una_of(msk), range->end);
}

struct mptcp_data_frag *msk_fragment_of(struct mptcp_sock *msk, u64 seq)
{
	struct mptcp_data_frag *dfrag;

	list_for_each_entry_reverse(dfrag, &msk->rtx_queue, list) {
		if (!before64(seq, dfrag->data_seq))
			return before64(seq, dfrag->data_seq +
					dfrag->data_len) ? dfrag : NULL;
	}
	return NULL;
}

/* queue_last() and queue_prev() walk over a subflow's data backwards: from the tail of the
 * unsent data to the head of the unacknowledged data.
 */
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

/* msk_queue_first() and msk_queue_next() walk forwards. */
struct sk_buff *msk_queue_first(struct sock *ssk)
{
	return tcp_rtx_queue_head(ssk) ?: skb_peek(&ssk->sk_write_queue);
}

struct sk_buff *msk_queue_next(struct sock *ssk, struct sk_buff *skb)
{
	if (before(TCP_SKB_CB(skb)->seq, tcp_sk(ssk)->snd_nxt))
		return skb_rb_next(skb) ?: skb_peek(&ssk->sk_write_queue);
	if (skb_queue_is_last(&ssk->sk_write_queue, skb))
		return NULL;
	return skb_queue_next(&ssk->sk_write_queue, skb);
}

/* Find the last range of the subflow's data that may be sent again: it lies within one fragment,
 * wasn't sent again yet and isn't acknowledged. Returns the fragment, or NULL.
 */
struct mptcp_data_frag *
msk_last_range(struct mptcp_sock *msk, struct sock *ssk,
	       const struct msk_sent_again *again, struct msk_range *range)
{
	struct mptcp_data_frag *dfrag = NULL;
	unsigned int skbs = MSK_SKBS_MAX;
	struct msk_range prev;
	struct sk_buff *skb;

	for (skb = queue_last(ssk); skb && skbs--; skb = queue_prev(ssk, skb)) {
		if (!msk_skb_range(ssk, skb, &prev) || !range_clip(msk, again, &prev, true)) {
			if (dfrag)
				break;
			continue;
		}
		if (!dfrag) {
			dfrag = msk_fragment_of(msk, prev.end - 1);
			if (!dfrag)
				continue;
			*range = prev;
		} else if (prev.end == range->start) {
			range->start = prev.start;
			range->seq = prev.seq;
		} else {
			break;
		}
		if (before64(range->start, dfrag->data_seq)) {
			range_drop_head(range, dfrag->data_seq - range->start);
			break;
		}
	}

	return dfrag;
}

static bool is_which(const struct sk_buff *skb, enum msk_which which)
{
	bool sacked = TCP_SKB_CB(skb)->sacked & TCPCB_SACKED_ACKED;

	return which == MSK_ALL || sacked == (which == MSK_SACKED);
}

/* Find the first such range in packets of the kind @which, from *@from_seq on. Returns its
 * fragment, or NULL. *@from_seq is set to where the search ended, which is the end of the queue
 * if all of it was searched.
 */
struct mptcp_data_frag *
msk_first_range(struct mptcp_sock *msk, struct sock *ssk,
		const struct msk_sent_again *again, enum msk_which which, u32 *from_seq,
		struct msk_range *range)
{
	struct mptcp_data_frag *dfrag = NULL;
	unsigned int skbs = MSK_SKBS_MAX;
	u32 from = *from_seq;
	struct msk_range next;
	struct sk_buff *skb;

	for (skb = msk_queue_first(ssk); skb && skbs; skb = msk_queue_next(ssk, skb)) {
		if (!after(TCP_SKB_CB(skb)->end_seq, from))
			continue;
		skbs--;
		if (!dfrag)
			*from_seq = TCP_SKB_CB(skb)->end_seq;
		if (!is_which(skb, which) || !msk_skb_range(ssk, skb, &next)) {
			if (dfrag)
				break;
			continue;
		}
		if (before(next.seq, from))
			range_drop_head(&next, from - next.seq);
		if (!range_clip(msk, again, &next, false)) {
			if (dfrag)
				break;
			continue;
		}
		if (!dfrag) {
			u64 snd_una = snd_una_of(msk);

			if (before64(next.start, snd_una))
				range_drop_head(&next, snd_una - next.start);
			dfrag = msk_fragment_of(msk, next.start);
			if (!dfrag)
				continue;
			*range = next;
		} else if (next.start == range->end) {
			range->end = next.end;
			range->seq_end = next.seq_end;
		} else {
			break;
		}
		if (before64(dfrag->data_seq + dfrag->data_len, range->end)) {
			range_drop_tail(range, range->end - dfrag->data_seq -
					dfrag->data_len);
			break;
		}
	}

	if (dfrag)
		*from_seq = range->seq_end;
	return dfrag;
}
