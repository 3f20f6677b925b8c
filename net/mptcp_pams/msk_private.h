/* SPDX-License-Identifier: GPL-2.0 */
/* MPTCP's private structures, as msk*.c read and write them; no other file knows them. */
#ifndef _MPTCP_PAMS_MSK_PRIVATE_H
#define _MPTCP_PAMS_MSK_PRIVATE_H

#include <linux/mptcp.h>
#include <linux/net.h>
#include <linux/skbuff.h>
#include <net/mptcp.h>
#include <net/tcp.h>

#include "mptcp_layout.h"	/* generated from the target kernel's BTF */
#include "msk.h"
#include "symbols.h"

/* Bits of mptcp_sock.cb_flags and .flags. The kernel has them as macros, so they aren't in
 * its BTF; msk_check() checks them.
 */
#define MSK_CB_PUSH_PENDING	BIT(1)
#define MSK_FLAG_FALLBACK_DONE	BIT(2)

/* At most so many fragments are counted at a look, and skbs searched for the first missing byte. */
#define MSK_SEARCH_MAX		64

static inline struct mptcp_subflow_context *subflow_of(const struct sock *ssk)
{
	/* RCU guards this pointer for readers that don't own the msk */
	return (__force void *)inet_csk(ssk)->icsk_ulp_data;
}

/* The connection's number of the subflow. disconnect() sets the first subflow's number to 0; its
 * former number is given to no other subflow.
 */
static inline u32 subflow_id(const struct mptcp_subflow_context *subflow)
{
	return subflow->subflow_id ?: PAMS_FIRST_SUBFLOW;
}

/* Read snd_una, which an acknowledgment moves in softirq, whoever owns the msk. */
static inline u64 snd_una_of(const struct mptcp_sock *msk)
{
	return msk_read_u64(&msk->snd_una);
}

/* Does the pending data begin with data that was sent before? */
static inline bool is_pending_again(const struct mptcp_sock *msk)
{
	const struct mptcp_data_frag *next = msk->first_pending;

	return next && next->data_seq + next->already_sent != msk->snd_nxt;
}

/* The end of the receive window that the peer advertised, even while msk->wnd_end is lowered. */
static inline u64 window_true_end(const struct mptcp_sock *msk,
				  const struct msk_window *window)
{
	u64 end = msk_read_u64(&msk->wnd_end);

	return window->end && before64(end, window->end) ? window->end : end;
}

u32 msk_whole_packets(const struct mptcp_sock *msk, const struct sock *ssk, u32 bytes,
		      u64 unscheduled);

/* msk_queue.c: the data in a subflow's queues. */

/* Which of a subflow's packets are sent again */
enum msk_which {
	MSK_ALL,
	MSK_NOT_SACKED,
	MSK_SACKED,
};

bool msk_skb_range(const struct sock *ssk, const struct sk_buff *skb, struct msk_range *range);
struct mptcp_data_frag *msk_fragment_of(struct mptcp_sock *msk, u64 seq);
struct sk_buff *msk_queue_first(struct sock *ssk);
struct sk_buff *msk_queue_next(struct sock *ssk, struct sk_buff *skb);
struct mptcp_data_frag *
msk_last_range(struct mptcp_sock *msk, struct sock *ssk,
	       const struct msk_sent_again *again, struct msk_range *range);
struct mptcp_data_frag *
msk_first_range(struct mptcp_sock *msk, struct sock *ssk,
		const struct msk_sent_again *again, enum msk_which which, u32 *from_seq,
		struct msk_range *range);

#endif /* _MPTCP_PAMS_MSK_PRIVATE_H */
