/* SPDX-License-Identifier: GPL-2.0 */
/* Access to MPTCP's private structures, in plain numbers: only msk*.c know these structures. */
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
struct wait_queue_entry;

#define PAMS_FIRST_SUBFLOW	1	/* subflow_id of a connection's first subflow */

/**
 * struct msk_look - a connection's own numbers, and its usable subflows
 * @write_seq:	data sequence number behind what the application wrote
 * @snd_nxt:	data sequence number of the first byte that was never sent
 * @snd_una:	data sequence number of the first byte that isn't acknowledged
 * @window_end:	data sequence number of the receive window's end
 * @unscheduled_bytes: bytes given to no subflow yet; U64_MAX while the application waits
 *		for buffer space
 * @fragment_bytes: bytes left to send of the next fragment
 * @token:	MPTCP's local token
 * @timeout:	jiffies until the latest TCP timer of the usable subflows, or 0
 * @nr:		number of usable subflows in @ssk and @id; backups are among them only if no
 *		other subflow is usable
 * @mss_bytes:	the largest MSS of these subflows
 * @pending:	data is to be sent
 * @pending_again: the next data was sent before: the kernel is in a recovery, or struct
 *		msk_resend has a range
 * @fallback:	the connection fell back to TCP
 * @several:	the connection has more than one subflow, usable or not
 * @behind:	an acknowledgment is being processed: @snd_una may be older than TCP's own numbers.
 *		pams_look() fills this in
 * @ssk:	TCP socket of each subflow
 * @id:		subflow_id of each: numbers from 1 on, never used again
 */
struct msk_look {
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
	bool behind;
	struct sock *ssk[PAMS_SUBFLOWS_MAX];
	u32 id[PAMS_SUBFLOWS_MAX];
};

/**
 * struct msk_window - the end of the receive window, while msk->wnd_end is lowered
 * @end:	the end that the peer advertised, while msk->wnd_end is lowered; else 0
 *
 * Within a fragment only msk->wnd_end stops the kernel from sending more than was decided.
 *
 * An acknowledgment on another subflow may restore the peer's end before the push has come to
 * the lowered one. Then the rest of the fragment is handed over, too: up to 32 KB less one
 * byte beyond the decision, and never beyond the peer's end.
 *
 * The acknowledgment takes the data lock. A push in softirq to the subflow that the
 * decision was asked for holds that lock from the decision on, so the end stays lowered. The end
 * may be restored early if the push runs with the msk owned, which doesn't hold that lock, or if
 * softirq leaves the push to another subflow's turn (MPTCP_DELEGATE_SEND). The module can't
 * prevent that, but sees afterwards what the push sent: the next look finds new data in TCP's
 * numbers, msk_resend_excess() finds data that was sent again.
 */
struct msk_window {
	u64 end;
};

/**
 * struct msk_resend - the range of data that is pending again, within one fragment
 * @start:	data sequence number where the range begins
 * @end:	its end, exclusive; equal to @start: nothing is pending again
 * @sent_end:	data of the fragment from @end up to here was sent before, and isn't sent again
 * @origin:	subflow_id of the subflow that was given the range before, and isn't given it
 *		again
 * @target:	subflow_id of the subflow that has to send the range; 0: any but @origin
 * @handed_end:	write_seq that @handed_id's TCP has when it was given exactly the range; bytes
 *		beyond were given in excess
 * @handed_id:	low half of the subflow_id of the subflow that is given the range, where
 *		msk->wnd_end was lowered for it; 0: none, or its excess was counted
 * @keep:	the range waits for room, and goes before other pending data
 */
struct msk_resend {
	u64 start;
	u64 end;
	u64 sent_end;
	u32 origin;
	u32 target;
	u32 handed_end;
	u16 handed_id;
	bool keep;
};

/**
 * struct msk_order - what a decision asks the kernel to do
 * @ssk:		the subflow to give data to
 * @bytes:		how much at most
 * @window_bytes:	room in the receive window; may be negative
 * @unscheduled_bytes:	how much data there is
 * @cuts:		hand over no more than @bytes, though a fragment has more
 * @alone:		hand over the range that is sent again, but no new data behind it.
 *			New data takes another decision, which knows if more data of a lost
 *			path has to go first, and where the window ends: a receiver drops
 *			data beyond its window, even data that a helper has acknowledged
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

/* Read a u64 field of MPTCP or TCP that softirq writes on another CPU. On 32 bits, where a read
 * takes two loads, read until two readings agree.
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
void msk_reset_timeout(struct mptcp_sock *msk);
int msk_hand_over(struct mptcp_sock *msk, struct msk_window *window,
		  struct msk_resend *resend, const struct msk_order *order);
void msk_window_restore(struct mptcp_sock *msk, struct msk_window *window);

bool msk_is_pending(const struct mptcp_sock *msk);
bool msk_is_resending(const struct mptcp_sock *msk, const struct msk_resend *resend);
bool msk_is_acknowledged(const struct mptcp_sock *msk);
bool msk_is_fallback(const struct mptcp_sock *msk);
bool msk_is_server(const struct mptcp_sock *msk);
u64 msk_write_seq(const struct mptcp_sock *msk);
u64 msk_snd_una(const struct mptcp_sock *msk);
u64 msk_snd_nxt(const struct mptcp_sock *msk);
u64 msk_local_key(const struct mptcp_sock *msk);
const struct mptcp_sched_ops *msk_sched(const struct mptcp_sock *msk);
u32 msk_token(const struct mptcp_sock *msk);
bool msk_peer_token(const struct mptcp_sock *msk, u32 *token);
int msk_run_unowned(struct mptcp_sock *msk, unsigned long *waited, int (*run)(void *arg),
		    void *arg);
bool msk_lock_or_wait(struct mptcp_sock *msk, struct wait_queue_entry *wait,
		      void (*hold)(struct wait_queue_entry *wait));
void msk_push(struct mptcp_sock *msk);
void msk_finish(struct mptcp_sock *msk);
void msk_schedule(const struct sock *ssk);
bool msk_head_is_due(struct mptcp_sock *msk, u32 (*due_us)(const struct sock *ssk),
		     u32 *wait_us);

bool msk_may_send(const struct sock *sk);
struct sock *msk_next_subflow(struct mptcp_sock *msk, struct sock *ssk);
struct sock *msk_subflow_find(struct mptcp_sock *msk, u32 id);
struct sock *msk_backup_find(struct mptcp_sock *msk, u32 id);
u32 msk_subflow_id(const struct sock *ssk);
void msk_subflow_ids(const struct sock *ssk, u8 *local_id, u8 *remote_id);
bool msk_subflow_is_backup(const struct sock *ssk);
bool msk_subflow_is_usable(const struct sock *ssk);
bool msk_subflow_is_stale(const struct sock *ssk);

u32 msk_resend_excess(struct mptcp_sock *msk, struct msk_resend *resend);
void msk_resend_skip(struct mptcp_sock *msk, const struct msk_resend *resend);
void msk_resend_settle(struct mptcp_sock *msk, struct msk_resend *resend);
void msk_resend_yield(struct mptcp_sock *msk, struct msk_resend *resend);
void msk_resend_repair(struct mptcp_sock *msk, struct msk_resend *resend);
u32 msk_resend_tail(struct mptcp_sock *msk, struct sock *ssk,
		    struct msk_sent_again *again, u64 max_bytes,
		    struct msk_resend *resend);
u32 msk_resend_data(struct mptcp_sock *msk, const struct sock *ssk, u64 start, u64 end,
		    u64 max_bytes, bool first, struct msk_resend *resend);
u32 msk_resend_copy(struct mptcp_sock *msk, const struct sock *ssk, u32 from, u32 max_bytes,
		    u32 room, struct msk_resend *resend);
u32 msk_resend_head(struct mptcp_sock *msk, struct sock *ssk,
		    struct msk_sent_again *again, bool silent, struct msk_resend *resend);

bool msk_stale_check(struct mptcp_sock *msk, bool anyway);
void msk_nothing_again(struct mptcp_sock *msk);
int msk_check(struct socket *sock);

#endif /* _MPTCP_PAMS_MSK_H */
