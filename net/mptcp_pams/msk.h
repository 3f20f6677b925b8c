/* SPDX-License-Identifier: GPL-2.0 */
/* MPTCP's private structures, behind plain numbers: msk.c is the only file that
 * knows them.
 */
#ifndef _MPTCP_PAMS_MSK_H
#define _MPTCP_PAMS_MSK_H

#include <linux/compiler.h>
#include <linux/kconfig.h>
#include <linux/types.h>

#include "again.h"
#include "pick.h"

struct mptcp_sched_ops;
struct mptcp_sock;
struct sk_buff;
struct sock;
struct socket;

#define PAMS_FIRST_SUBFLOW	1	/* the kernel counts from there */

/**
 * struct msk_look - a connection's own numbers, and its usable subflows
 * @local_key:	of the connection; another one after disconnect() and connect()
 * @write_seq:	data sequence number behind what the application wrote
 * @snd_nxt:	behind what was sent
 * @snd_una:	of the first byte that isn't acknowledged
 * @window_end:	behind what the receive window takes
 * @unscheduled_bytes: given to no subflow yet; U64_MAX while the application waits for
 *		buffer space
 * @fragment_bytes: left of the fragment that is next
 * @token:	MPTCP's local token
 * @timeout:	jiffies until the latest TCP timer of the usable subflows, or 0
 * @nr:		usable subflows in @ssk and @id; backups only if nothing else is usable
 * @mss_bytes:	of the first subflow
 * @pending:	something is to be sent
 * @pending_again: and was sent before: a recovery of the kernel's, or struct msk_resend
 * @fallback:	the connection fell back to TCP
 * @several:	it has more than one subflow, usable or not
 * @ssk:	TCP socket of each
 * @id:		the connection's number for each, from 1 on, never used again
 */
struct msk_look {
	u64 local_key;
	u64 write_seq;
	u64 snd_nxt;
	u64 snd_una;
	u64 window_end;
	u64 unscheduled_bytes;
	u32 fragment_bytes;
	u32 token;
	long timeout;
	unsigned int nr;
	u32 mss_bytes;
	bool pending;
	bool pending_again;
	bool fallback;
	bool several;
	struct sock *ssk[PAMS_SUBFLOWS_MAX];
	u32 id[PAMS_SUBFLOWS_MAX];
};

/**
 * struct msk_window - within a fragment the kernel keeps to nothing but the receive
 *		       window's end, so with a decision it is told a nearer one
 * @end:	what the peer said, while the kernel was told a nearer one; else 0
 *
 * An acknowledgment that arrives on another subflow before the push has come to that end
 * tells the kernel the peer's one again. Then the rest of the fragment is handed over
 * too: up to 32 KB less one byte beyond the decision, and never beyond the peer's end.
 *
 * The acknowledgment takes the data lock. A push in softirq to the subflow that the
 * decision was asked for holds it from the decision on, so this can't happen there. It
 * can where the push has the msk owned, which doesn't hold that lock, and where softirq
 * leaves the push to another subflow's turn (MPTCP_DELEGATE_SEND). There is no way to
 * keep the acknowledgment from it, but what a push did shows afterwards: the next look
 * finds new data in TCP's numbers, and msk_resend_excess() what was sent again.
 */
struct msk_window {
	u64 end;
};

/**
 * struct msk_resend - data that is pending again, within one fragment, and the kernel's
 *		       own retransmission
 * @start:	data sequence number; pending data from here is sent again,
 * @end:	up to here; equal: none is
 * @sent_end:	what follows up to here, in the same fragment, is not
 * @origin:	subflow_id that it is kept off
 * @target:	subflow_id that it has to go to; 0: any other
 * @handed_id:	subflow_id that it was handed over to, with a nearer end of the receive
 *		window; 0: no more, see msk_resend_excess()
 * @handed_end:	TCP's write_seq there, once all of it and no more was sent
 * @retrans_una: low half of where the kernel's retransmission began last
 * @stale:	how many subflows the kernel had taken out of use when it was looked at last
 * @keep:	it waits for room, whatever else is pending
 */
struct msk_resend {
	u64 start;
	u64 end;
	u64 sent_end;
	u32 origin;
	u32 target;
	u32 handed_id;
	u32 handed_end;
	u32 retrans_una;
	u8 stale;
	bool keep;
};

/**
 * struct msk_order - what a decision asks for
 * @ssk:		the subflow
 * @bytes:		how much at most
 * @window_bytes:	what the receive window takes; may be negative
 * @unscheduled_bytes:	how much there is
 * @cuts:		hand over no more than that, though a fragment has more
 * @alone:		what is new and comes behind what is sent again takes another
 *			decision, which knows what else of a lost path has to go first,
 *			and the window: beyond it a receiver drops what a helper has
 *			acknowledged
 */
struct msk_order {
	struct sock *ssk;
	u32 bytes;
	s64 window_bytes;
	u64 unscheduled_bytes;
	bool cuts;
	bool alone;
};

static inline bool before64(u64 a, u64 b)
{
	return (s64)(a - b) < 0;
}

/* What softirq writes on another CPU, MPTCP's or TCP's. Where a u64 takes two loads, until
 * two readings agree.
 */
static inline u64 msk_read_u64(const u64 *from)
{
	u64 value = READ_ONCE(*from);

	while (!IS_ENABLED(CONFIG_64BIT)) {
		u64 again = READ_ONCE(*from);

		if (again == value)
			break;
		value = again;
	}
	return value;
}

void msk_look(struct mptcp_sock *msk, const struct msk_window *window,
	      struct msk_look *look);
bool msk_schedule_any(struct mptcp_sock *msk);
void msk_set_timeout(struct mptcp_sock *msk, long timeout);
int msk_hand_over(struct mptcp_sock *msk, struct msk_window *window,
		  struct msk_resend *resend, const struct msk_order *order);
void msk_window_restore(struct mptcp_sock *msk, struct msk_window *window);

bool msk_is_pending(const struct mptcp_sock *msk);
bool msk_is_acknowledged(const struct mptcp_sock *msk);
bool msk_is_fallback(const struct mptcp_sock *msk);
bool msk_is_server(struct mptcp_sock *msk);
u64 msk_write_seq(const struct mptcp_sock *msk);
u64 msk_snd_una(const struct mptcp_sock *msk);
u64 msk_snd_nxt(const struct mptcp_sock *msk);
u64 msk_local_key(const struct mptcp_sock *msk);
const struct mptcp_sched_ops *msk_sched(const struct mptcp_sock *msk);
u32 msk_token(const struct mptcp_sock *msk);
void msk_push(struct mptcp_sock *msk);
void msk_finish(struct mptcp_sock *msk);
void msk_retransmit_on(struct sock *ssk);
bool msk_head_is_due(struct mptcp_sock *msk, u32 (*due_us)(const struct sock *ssk),
		     u32 *wait_us);

bool msk_may_send(const struct sock *sk);
struct sock *msk_first_subflow(struct mptcp_sock *msk);
struct sock *msk_next_subflow(struct mptcp_sock *msk, struct sock *ssk);
u32 msk_subflow_id(const struct sock *ssk);
void msk_subflow_ids(const struct sock *ssk, u8 *local_id, u8 *remote_id);
bool msk_subflow_is_backup(const struct sock *ssk);
bool msk_subflow_is_usable(const struct sock *ssk);

bool msk_is_resending(const struct mptcp_sock *msk, const struct msk_resend *resend);
u32 msk_resend_excess(struct mptcp_sock *msk, struct msk_resend *resend);
void msk_resend_skip(struct mptcp_sock *msk, const struct msk_resend *resend);
void msk_resend_settle(struct mptcp_sock *msk, struct msk_resend *resend);
void msk_resend_repair(struct mptcp_sock *msk, struct msk_resend *resend);
void msk_resend_repair_stale(struct mptcp_sock *msk, struct msk_resend *resend);
struct sock *msk_get_retrans(struct mptcp_sock *msk, struct msk_resend *resend);
u32 msk_resend_tail(struct mptcp_sock *msk, struct sock *ssk,
		    struct msk_sent_again *again, u64 max_bytes,
		    struct msk_resend *resend);
u32 msk_resend_data(struct mptcp_sock *msk, const struct sock *ssk, u64 start, u64 end,
		    u64 max_bytes, struct msk_resend *resend);
u32 msk_resend_first(struct mptcp_sock *msk, const struct sock *ssk, u64 start, u64 end,
		     struct msk_resend *resend);
u32 msk_resend_copy(struct mptcp_sock *msk, const struct sock *ssk, u32 from, u32 max_bytes,
		    u32 room, struct msk_resend *resend);
u32 msk_resend_head(struct mptcp_sock *msk, struct sock *ssk,
		    struct msk_sent_again *again, struct msk_resend *resend);

void msk_stale_check(struct mptcp_sock *msk);
int msk_check(struct socket *sock);

#endif /* _MPTCP_PAMS_MSK_H */
