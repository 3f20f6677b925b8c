// SPDX-License-Identifier: GPL-2.0
/* The kernel's own retransmission: when it is due, its subflow, and what it makes pending. */
#include "msk_private.h"

/* Does the subflow hold this byte unacknowledged? Only its oldest data is searched. */
static bool subflow_holds(struct sock *ssk, u64 data_seq)
{
	unsigned int skbs = MSK_SEARCH_MAX;
	struct msk_range range;
	struct sk_buff *skb;
	bool holds = false;

	lock_sock(ssk);
	for (skb = msk_queue_first(ssk); skb && skbs-- && !holds;
	     skb = msk_queue_next(ssk, skb))
		holds = msk_skb_range(ssk, skb, &range) &&
			!before64(data_seq, range.start) &&
			before64(data_seq, range.end);
	release_sock(ssk);
	return holds;
}

/**
 * msk_head_is_due - may the kernel send the first missing byte again?
 * @msk:	the connection, owned in process context
 * @due_us:	returns how long until a subflow's acknowledgment is overdue; 0 if it already is
 * @wait_us:	set to how long to wait otherwise
 *
 * Return: false while a subflow that holds the byte is expected to answer.
 */
bool msk_head_is_due(struct mptcp_sock *msk, u32 (*due_us)(const struct sock *ssk),
		     u32 *wait_us)
{
	struct mptcp_subflow_context *subflow;

	*wait_us = 0;
	list_for_each_entry(subflow, &msk->conn_list, node) {
		struct sock *ssk = subflow->tcp_sock;
		u32 us = READ_ONCE(tcp_sk(ssk)->packets_out) ? due_us(ssk) : 0;

		if (us && (!*wait_us || us < *wait_us) &&
		    subflow_holds(ssk, snd_una_of(msk)))
			*wait_us = us;
	}
	return !*wait_us;
}

/**
 * msk_nothing_again - mark all data before snd_nxt as sent, so that only new data is pending
 * @msk:	the connection, owned in process context
 */
void msk_nothing_again(struct mptcp_sock *msk)
{
	struct mptcp_data_frag *dfrag;

	list_for_each_entry(dfrag, &msk->rtx_queue, list) {
		if (!before64(dfrag->data_seq, msk->snd_nxt))
			break;
		dfrag->already_sent = min_t(u64, dfrag->data_len,
					    msk->snd_nxt - dfrag->data_seq);
		if (dfrag->already_sent < dfrag->data_len)
			break;
	}
	WRITE_ONCE(msk->first_pending,
		   list_entry_is_head(dfrag, &msk->rtx_queue, list) ? NULL : dfrag);
}

/**
 * msk_stale_check - have the kernel check for subflows that don't answer, and are stale
 * @msk:	the connection, owned in process context
 * @anyway:	do it though data is pending again: all subflows that could take it are silent
 *
 * When the kernel marks a subflow as stale it makes all unacknowledged data pending again, even
 * data under way on other subflows. Nothing is done while the kernel sends data again for a
 * subflow that was closed.
 *
 * Return: has this call made data pending again?
 */
bool msk_stale_check(struct mptcp_sock *msk, bool anyway)
{
	if (!anyway && is_pending_again(msk))
		return false;
	/* 6.12 checks in the first function, 7.3 in the second */
	pams_subflow_get_retrans(msk);
	pams_pm_chk_stale(msk);
	return is_pending_again(msk);
}
