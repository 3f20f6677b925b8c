// SPDX-License-Identifier: GPL-2.0
/* Reads and writes MPTCP's private structures; no other file knows them.
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
 * Data that was sent becomes pending again like this: a subflow's queues hold the
 * data that it was given, each skb with its data sequence number. The fragment that
 * holds the range becomes the head of the pending data, marked as sent up to where
 * the range begins, and the kernel is told that it is in recovery, so that it expects
 * acknowledgments beyond its head; releasing the socket pushes. Only one range within
 * one fragment is pending at a time: when a subflow closes, the kernel takes the first
 * unsent fragment for the end of the data to repair (see msk_resend_repair()).
 *
 * Context: the msk is owned (process), or its data lock is held and nobody owns it
 * (softirq). TCP state of subflows is read without their locks; a torn reading costs
 * one less good choice. Functions that lock a subflow say so.
 */
#include <linux/mptcp.h>
#include <linux/net.h>
#include <linux/skbuff.h>
#include <net/mptcp.h>
#include <net/tcp.h>

#include "mptcp_layout.h"	/* generated from the target kernel's BTF */
#include "compat/tcp.h"
#include "msk.h"
#include "symbols.h"

/* Bits of mptcp_sock.cb_flags and .flags. The kernel has them as macros, so they aren't in
 * its BTF; they are the same in every supported kernel, and msk_check() checks them.
 */
#define MSK_CB_PUSH_PENDING	BIT(1)
#define MSK_FLAG_FALLBACK_DONE	BIT(2)

/* Size of a DSS option: header, and a map with a 64-bit data sequence number. */
#define MSK_DSS_BYTES		(4 + 14)
/* The kernel's own limit for one burst, a bit under 64 KB. */
#define MSK_BURST_MAX_BYTES	(64 * 1024 - 107)
/* How long a netlink request waits for a socket that is owned: for one, and for all. */
#define MSK_WAIT_EACH		(HZ / 10UL)
#define MSK_WAIT_ALL		(1UL * HZ)
/* At most so many skbs of a subflow's queue are searched at once, with the subflow locked,
 * and so many fragments are counted at once while the kernel is in a recovery of its own.
 */
#define MSK_SKBS_MAX		4096
#define MSK_FRAGMENTS_MAX	64

static struct mptcp_subflow_context *subflow_of(const struct sock *ssk)
{
	/* RCU guards this pointer for readers that don't own the msk */
	return (__force void *)inet_csk(ssk)->icsk_ulp_data;
}

/**
 * msk_may_send - is a connection, or a subflow, established and not closed from here?
 * @sk:	its socket
 */
bool msk_may_send(const struct sock *sk)
{
	return (1 << inet_sk_state_load(sk)) & (TCPF_ESTABLISHED | TCPF_CLOSE_WAIT);
}

/* Is the subflow usable for the kernel? Only for a stale one is the kernel asked, which
 * revives it if something was received on it since.
 */
static bool subflow_usable(struct mptcp_subflow_context *subflow)
{
	if (unlikely(subflow->stale))
		return pams_subflow_active(subflow);

	/* a joining subflow may not send before the peer has confirmed it */
	if (subflow->request_join && !READ_ONCE(subflow->fully_established))
		return false;

	return msk_may_send(subflow->tcp_sock);
}

static bool subflow_is_backup(const struct mptcp_subflow_context *subflow)
{
	return subflow->backup || subflow->request_bkup;
}

/* The connection's number of the subflow. disconnect() clears the first subflow's number,
 * which the kernel gives to no other one.
 */
static u32 subflow_id(const struct mptcp_subflow_context *subflow)
{
	return subflow->subflow_id ?: PAMS_FIRST_SUBFLOW;
}

/* Read snd_una, which an acknowledgment moves in softirq, whoever owns the msk. */
static u64 snd_una_of(const struct mptcp_sock *msk)
{
	return msk_read_u64(&msk->snd_una);
}

/* --- looking --- */

static void look_at_subflows(struct mptcp_sock *msk, struct msk_look *look)
{
	struct mptcp_subflow_context *subflow;
	bool regular = false;
	unsigned int nr = 0;
	u32 mss_bytes = 0;
	long timeout = 0;

	list_for_each_entry(subflow, &msk->conn_list, node) {
		bool backup = subflow_is_backup(subflow);

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
			mss_bytes = 0;
		}
		if (nr < PAMS_SUBFLOWS_MAX) {
			mss_bytes = max(mss_bytes,
					READ_ONCE(tcp_sk(subflow->tcp_sock)->mss_cache));
			look->ssk[nr] = subflow->tcp_sock;
			look->id[nr++] = subflow_id(subflow);
		}
	}

	look->timeout = timeout;
	look->mss_bytes = mss_bytes;
	look->nr = nr;
}

/* How many bytes are pending while the kernel sends data again from the middle of its
 * queue, so that snd_nxt lies ahead of it. Only the first MSK_FRAGMENTS_MAX fragments are
 * looked at; the rest counts as unsent.
 */
static u64 recovery_unscheduled_bytes(struct mptcp_sock *msk)
{
	struct mptcp_data_frag *dfrag = msk->first_pending;
	unsigned int fragments = MSK_FRAGMENTS_MAX;
	u64 bytes = 0;

	list_for_each_entry_from(dfrag, &msk->rtx_queue, list) {
		if (!fragments--)
			return bytes + (msk->write_seq - dfrag->data_seq);
		bytes += dfrag->data_len - dfrag->already_sent;
	}
	return bytes;
}

/* Does the pending data begin with data that was sent before? */
static bool is_pending_again(const struct mptcp_sock *msk)
{
	const struct mptcp_data_frag *next = msk->first_pending;

	return next && next->data_seq + next->already_sent != msk->snd_nxt;
}

static u64 unscheduled_bytes(struct mptcp_sock *msk)
{
	struct socket *sock = ((struct sock *)msk)->sk_socket;
	const struct mptcp_data_frag *next = msk->first_pending;

	if (!next)
		return 0;

	/* the application has more than the buffer holds */
	if (sock && test_bit(SOCK_NOSPACE, &sock->flags))
		return U64_MAX;

	if (is_pending_again(msk))
		return recovery_unscheduled_bytes(msk);

	/* a queued DATA_FIN takes one sequence number */
	return msk->write_seq - msk->snd_nxt - msk->snd_data_fin_enable;
}

/* The end of the receive window that the peer advertised, whatever the kernel was told. */
static u64 window_true_end(const struct mptcp_sock *msk,
			   const struct msk_window *window)
{
	u64 end = msk_read_u64(&msk->wnd_end);

	return window->end && before64(end, window->end) ? window->end : end;
}

/**
 * msk_look - read a connection's own numbers and find its usable subflows
 * @msk:	the connection
 * @window:	the receive window as the kernel was told
 * @look:	filled in; @ssk and @id up to @nr
 */
void msk_look(struct mptcp_sock *msk, const struct msk_window *window,
	      struct msk_look *look)
{
	const struct mptcp_data_frag *next = msk->first_pending;

	look_at_subflows(msk, look);
	look->write_seq = msk->write_seq;
	look->snd_nxt = msk->snd_nxt;
	look->snd_una = snd_una_of(msk);
	look->window_end = window_true_end(msk, window);
	look->unscheduled_bytes = unscheduled_bytes(msk);
	look->fragment_bytes = next ? next->data_len - next->already_sent : 0;
	look->token = msk->token;
	look->pending = next;
	look->pending_again = is_pending_again(msk);
	look->fallback = READ_ONCE(msk->flags) & MSK_FLAG_FALLBACK_DONE;
	look->several = !list_is_singular(&msk->conn_list);
}

/* --- handing over --- */

/**
 * msk_set_timeout - set the time that MPTCP's retransmission timer is started with next
 * @msk:	the connection
 * @timeout:	jiffies; 0 if no TCP timer runs
 */
void msk_set_timeout(struct mptcp_sock *msk, long timeout)
{
	msk->timer_ival = timeout > 0 ? timeout : TCP_RTO_MIN;
}

/**
 * msk_reset_timeout - set that time anew, as a decision does
 * @msk:	the connection
 */
void msk_reset_timeout(struct mptcp_sock *msk)
{
	struct msk_look look;

	look_at_subflows(msk, &look);
	msk_set_timeout(msk, look.timeout);
}

static void subflow_schedule(const struct sock *ssk)
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
		subflow_schedule(look.ssk[i]);
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
 * For new data a narrowed end is never below snd_nxt; for data that is sent again it is the
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
	u32 dss = MSK_DSS_BYTES + (msk->use_64bit_ack ? 8 : 4) +
		  (msk->csum_enabled ? 2 : 0);
	u32 mss = READ_ONCE(tcp_sk(ssk)->mss_cache);

	dss = round_up(dss, 4);
	return mss > 2 * dss ? mss - dss : mss;
}

/* Round @bytes to whole packets, unless they are all of the unscheduled data, since the rest
 * would be sent as a small packet, or wait.
 */
static u32 whole_packets(u32 bytes, u32 packet, u64 unscheduled)
{
	if (bytes >= unscheduled)
		return unscheduled;
	return min_t(u64, max(rounddown(bytes, packet), packet), unscheduled);
}

/* Will an acknowledgment come? The kernel may ask for a decision while it takes one in, before
 * it moves snd_una. TCP's queues are up to date by then.
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

/* How much the receive window takes of @bytes. While an acknowledgment will come it is whole
 * packets: that will open the window further and bring the next decision. Small packets take
 * as much of a receiver's memory as whole ones, and a window full of them, out of order,
 * stops some kernels (6.12) for ever.
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

/* Hand over data that is sent again. It stops at the end of the range, as the rest of the
 * fragment was given to other subflows; so the window is narrowed to that end. The push
 * has to follow at once: until then nothing may be sent beyond that end.
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
		resend->handed_end = tcp_sk(order->ssk)->write_seq + (u32)(resend->end - next);
		window_move(msk, window, true, resend->end);
	} else {
		msk_window_restore(msk, window);
	}
}

/**
 * msk_hand_over - have the kernel give data to a subflow
 * @msk:	the connection, with something pending
 * @window:	the receive window as the kernel was told; updated
 * @resend:	the range that is pending again; the subflow that it goes to is noted
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
		bytes = whole_packets(bytes, packet_bytes(msk, order->ssk),
				      order->unscheduled_bytes);
	if (!next_is_new(msk)) {
		hand_over_again(msk, window, resend, order, bytes);
		subflow_schedule(order->ssk);
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
	subflow_schedule(order->ssk);
	return 0;
}

/* --- small questions, and asking for a push --- */

bool msk_is_pending(const struct mptcp_sock *msk)
{
	return READ_ONCE(msk->first_pending);
}

/* Is everything that was sent acknowledged? */
bool msk_is_acknowledged(const struct mptcp_sock *msk)
{
	return !before64(snd_una_of(msk), msk_read_u64(&msk->snd_nxt));
}

bool msk_is_fallback(const struct mptcp_sock *msk)
{
	return READ_ONCE(msk->flags) & MSK_FLAG_FALLBACK_DONE;
}

/* Was the connection accepted here? */
bool msk_is_server(const struct mptcp_sock *msk)
{
	return READ_ONCE(msk->pm.server_side);
}

u64 msk_write_seq(const struct mptcp_sock *msk)
{
	return msk->write_seq;
}

/* The data sequence number of the first byte that isn't acknowledged. */
u64 msk_snd_una(const struct mptcp_sock *msk)
{
	return snd_una_of(msk);
}

u64 msk_snd_nxt(const struct mptcp_sock *msk)
{
	return msk->snd_nxt;
}

u64 msk_local_key(const struct mptcp_sock *msk)
{
	return READ_ONCE(msk->local_key);
}

const struct mptcp_sched_ops *msk_sched(const struct mptcp_sock *msk)
{
	return msk->sched;
}

u32 msk_token(const struct mptcp_sock *msk)
{
	return READ_ONCE(msk->token);
}

/**
 * msk_push - ask for another decision when the socket is released
 * @msk:	the connection, owned in process context
 */
void msk_push(struct mptcp_sock *msk)
{
	struct sock *sk = (struct sock *)msk;

	spin_lock_bh(&sk->sk_lock.slock);
	msk->cb_flags |= MSK_CB_PUSH_PENDING;
	spin_unlock_bh(&sk->sk_lock.slock);
}

/**
 * msk_run_unowned - do something with a connection once nobody owns its socket
 * @msk:	the connection, under a reference
 * @waited:	jiffies that the caller has waited, 0 at first
 * @run:	what to do, as in softirq: the data lock is held
 * @arg:	its argument
 *
 * For netlink requests, in process context. They must not wait for as long as the owner likes,
 * which may be a send() that waits for the sender's memory: generic netlink lets families
 * neither come nor go meanwhile, and further requests of all users wait for those.
 *
 * Return: what @run returned, or -EBUSY if the socket was owned for MSK_WAIT_EACH, or if the
 * caller has waited for MSK_WAIT_ALL.
 */
int msk_run_unowned(struct mptcp_sock *msk, unsigned long *waited, int (*run)(void *arg),
		    void *arg)
{
	unsigned long most = MSK_WAIT_ALL - min(*waited, MSK_WAIT_ALL), start = jiffies;
	struct sock *sk = (struct sock *)msk;
	int err = -EBUSY;
	bool owned;
	long left;

	most = min(most, MSK_WAIT_EACH);
	for (;;) {
		spin_lock_bh(&sk->sk_lock.slock);
		owned = sock_owned_by_user_nocheck(sk);
		if (!owned)
			err = run(arg);
		spin_unlock_bh(&sk->sk_lock.slock);

		left = start + most - jiffies;
		if (!owned || left <= 0)
			break;
		wait_event_timeout(sk->sk_lock.wq,
				   /* a wrong value costs another try, or a wait */
				   !data_race(sock_owned_by_user_nocheck(sk)), left);
	}
	*waited += jiffies - start;
	return err;
}

/**
 * msk_lock_or_wait - lock_sock() without waiting
 * @msk:	the connection, under a reference
 * @wait:	put into the socket's queue if somebody else owns it, unless it is there. Its
 *		function is called once, by release_sock(), with the data lock held, and has to
 *		take it out
 * @hold:	called before, with @wait: takes the references that it needs in the queue
 *
 * Return: false if the socket is owned by somebody else.
 */
bool msk_lock_or_wait(struct mptcp_sock *msk, struct wait_queue_entry *wait,
		      void (*hold)(struct wait_queue_entry *wait))
{
	struct sock *sk = (struct sock *)msk;
	bool owned;

	spin_lock_bh(&sk->sk_lock.slock);
	owned = sock_owned_by_user_nocheck(sk);
	if (!owned) {
		sk->sk_lock.owned = 1;
	} else if (list_empty(&wait->entry)) {
		hold(wait);
		add_wait_queue(&sk->sk_lock.wq, wait);
	}
	spin_unlock_bh(&sk->sk_lock.slock);
	if (owned)
		return false;
	/* release_sock() tells lockdep of the release */
	mutex_acquire(&sk->sk_lock.dep_map, 0, 1, _RET_IP_);
	return true;
}

/**
 * msk_finish - have a waiting DATA_FIN sent, since nothing is pending any more
 * @msk:	the connection
 *
 * The kernel sends it after a push that has sent something. If the data that was pending
 * again was acknowledged before, there is no such push; so the kernel's worker is asked.
 */
void msk_finish(struct mptcp_sock *msk)
{
	struct sock *sk = (struct sock *)msk;

	if (!msk->snd_data_fin_enable || msk->snd_nxt + 1 != msk->write_seq)
		return;

	sock_hold(sk);
	if (!schedule_work(&msk->work))
		__sock_put(sk);
}

/**
 * msk_retransmit_on - choose the subflow for the kernel's retransmission
 * @ssk:	the subflow
 */
void msk_retransmit_on(struct sock *ssk)
{
	subflow_schedule(ssk);
}

struct sock *msk_first_subflow(struct mptcp_sock *msk)
{
	struct mptcp_subflow_context *subflow =
		list_first_entry_or_null(&msk->conn_list,
					 struct mptcp_subflow_context, node);

	return subflow ? subflow->tcp_sock : NULL;
}

/* The next of all subflows, usable or not; NULL at the end. */
struct sock *msk_next_subflow(struct mptcp_sock *msk, struct sock *ssk)
{
	struct mptcp_subflow_context *subflow = subflow_of(ssk);

	if (list_is_last(&subflow->node, &msk->conn_list))
		return NULL;
	return list_next_entry(subflow, node)->tcp_sock;
}

u32 msk_subflow_id(const struct sock *ssk)
{
	return subflow_id(subflow_of(ssk));
}

/* The subflow of this number, usable or not; NULL if there is none. */
struct sock *msk_subflow_find(struct mptcp_sock *msk, u32 id)
{
	struct sock *ssk;

	for (ssk = msk_first_subflow(msk); ssk; ssk = msk_next_subflow(msk, ssk)) {
		if (msk_subflow_id(ssk) == id)
			return ssk;
	}
	return NULL;
}

/* MPTCP's ids of the subflow's local and remote address. */
void msk_subflow_ids(const struct sock *ssk, u8 *local_id, u8 *remote_id)
{
	const struct mptcp_subflow_context *subflow = subflow_of(ssk);

	*local_id = max_t(s16, READ_ONCE(subflow->local_id), 0);
	*remote_id = READ_ONCE(subflow->remote_id);
}

bool msk_subflow_is_backup(const struct sock *ssk)
{
	return subflow_is_backup(subflow_of(ssk));
}

bool msk_subflow_is_usable(const struct sock *ssk)
{
	return subflow_usable(subflow_of(ssk));
}

bool msk_subflow_is_stale(const struct sock *ssk)
{
	return subflow_of(ssk)->stale;
}

/* --- data that was sent becomes pending again --- */

/* The range of the connection's data in a packet; false if it has none, or a FIN. */
static bool skb_range(const struct sock *ssk, const struct sk_buff *skb,
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

static struct mptcp_data_frag *fragment_of(struct mptcp_sock *msk, u64 seq)
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

/* queue_first() and queue_next() walk forwards. */
static struct sk_buff *queue_first(struct sock *ssk)
{
	return tcp_rtx_queue_head(ssk) ?: skb_peek(&ssk->sk_write_queue);
}

static struct sk_buff *queue_next(struct sock *ssk, struct sk_buff *skb)
{
	if (before(TCP_SKB_CB(skb)->seq, tcp_sk(ssk)->snd_nxt))
		return skb_rb_next(skb) ?: skb_peek(&ssk->sk_write_queue);
	if (skb_queue_is_last(&ssk->sk_write_queue, skb))
		return NULL;
	return skb_queue_next(&ssk->sk_write_queue, skb);
}

/* The last range of the subflow's data to send again: one that lies within one fragment,
 * which is returned, was not sent again yet and isn't acknowledged.
 */
static struct mptcp_data_frag *
last_range(struct mptcp_sock *msk, struct sock *ssk,
	   const struct msk_sent_again *again, struct msk_range *range)
{
	struct mptcp_data_frag *dfrag = NULL;
	unsigned int skbs = MSK_SKBS_MAX;
	struct msk_range prev;
	struct sk_buff *skb;

	for (skb = queue_last(ssk); skb && skbs--; skb = queue_prev(ssk, skb)) {
		if (!skb_range(ssk, skb, &prev) || !range_clip(msk, again, &prev, true)) {
			if (dfrag)
				break;
			continue;
		}
		if (!dfrag) {
			dfrag = fragment_of(msk, prev.end - 1);
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

/* Which of a subflow's packets are sent again */
enum msk_which {
	MSK_ALL,
	MSK_NOT_SACKED,
	MSK_SACKED,
};

static bool is_which(const struct sk_buff *skb, enum msk_which which)
{
	bool sacked = TCP_SKB_CB(skb)->sacked & TCPCB_SACKED_ACKED;

	return which == MSK_ALL || sacked == (which == MSK_SACKED);
}

/* The first such range from *@from_seq on, and its fragment. *@from_seq is set to where the
 * search ended: with the whole queue searched, that is its end.
 */
static struct mptcp_data_frag *
first_range(struct mptcp_sock *msk, struct sock *ssk,
	    const struct msk_sent_again *again, enum msk_which which, u32 *from_seq,
	    struct msk_range *range)
{
	struct mptcp_data_frag *dfrag = NULL;
	unsigned int skbs = MSK_SKBS_MAX;
	u32 from = *from_seq;
	struct msk_range next;
	struct sk_buff *skb;

	for (skb = queue_first(ssk); skb && skbs; skb = queue_next(ssk, skb)) {
		if (!after(TCP_SKB_CB(skb)->end_seq, from))
			continue;
		skbs--;
		if (!dfrag)
			*from_seq = TCP_SKB_CB(skb)->end_seq;
		if (!is_which(skb, which) || !skb_range(ssk, skb, &next)) {
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
			dfrag = fragment_of(msk, next.start);
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

	msk->first_pending = dfrag;
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
 * @max_bytes:	no more than that
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
		dfrag = last_range(msk, ssk, again, &range);
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
 * @ssk:	the subflow that it was given to
 * @start:	data sequence number of the data
 * @end:	its end, exclusive
 * @max_bytes:	no more than that, from the end
 * @resend:	set to the range that is pending now, within one fragment
 *
 * The subflow's queues don't hold the data any more, so the caller says where it is.
 *
 * Return: bytes that will be sent again; 0 if there are none.
 */
u32 msk_resend_data(struct mptcp_sock *msk, const struct sock *ssk, u64 start, u64 end,
		    u64 max_bytes, struct msk_resend *resend)
{
	struct msk_range range = { .end = end };
	u64 snd_una = snd_una_of(msk);	/* read once: it advances meanwhile */
	struct mptcp_data_frag *dfrag;
	u32 bytes;

	if (!before64(snd_una, end))
		return 0;
	dfrag = fragment_of(msk, end - 1);
	if (!dfrag)
		return 0;
	range.start = before64(start, snd_una) ? snd_una : start;
	if (before64(range.start, dfrag->data_seq))
		range.start = dfrag->data_seq;
	if (end - range.start > max_bytes)
		range.start = end - max_bytes;
	bytes = range_set_pending(msk, ssk, dfrag, &range, resend);
	if (bytes)
		resend->keep = false;
	return bytes;
}

/**
 * msk_resend_first - have data that is banked before a dead pipe sent again elsewhere
 * @msk:	the connection, owned in process context, nothing pending again
 * @ssk:	the subflow that it was given to
 * @start:	data sequence number of the data
 * @end:	its end, exclusive
 * @resend:	set to the range that is pending now: the beginning of the data, within one
 *		fragment. It waits for room elsewhere, and goes before new data
 *
 * Return: bytes that will be sent again; 0 if there are none.
 */
u32 msk_resend_first(struct mptcp_sock *msk, const struct sock *ssk, u64 start, u64 end,
		     struct msk_resend *resend)
{
	struct msk_range range = { .start = start, .end = end };
	u64 snd_una = snd_una_of(msk);	/* read once: it advances meanwhile */
	struct mptcp_data_frag *dfrag;
	u32 bytes;

	if (before64(start, snd_una))
		range.start = snd_una;
	if (!before64(range.start, end))
		return 0;
	dfrag = fragment_of(msk, range.start);
	if (!dfrag)
		return 0;
	if (before64(dfrag->data_seq + dfrag->data_len, end))
		range.end = dfrag->data_seq + dfrag->data_len;
	bytes = range_set_pending(msk, ssk, dfrag, &range, resend);
	resend->keep = bytes;
	return bytes;
}

/**
 * msk_resend_copy - have data that another subflow was given sent on this one, too
 * @msk:	the connection, owned in process context, nothing pending again
 * @ssk:	this subflow
 * @from:	low half of the data sequence number where the data begins
 * @max_bytes:	no more than that
 * @room:	how much the subflow takes; whole packets of it are used
 * @resend:	set to the range that is pending now, within one fragment
 *
 * Return: bytes that will be sent there; 0 if there are none.
 */
u32 msk_resend_copy(struct mptcp_sock *msk, const struct sock *ssk, u32 from, u32 max_bytes,
		    u32 room, struct msk_resend *resend)
{
	u64 start = msk->snd_nxt - ((u32)msk->snd_nxt - from);
	struct msk_range range = { .start = start };
	struct mptcp_data_frag *dfrag = fragment_of(msk, start);
	u32 bytes;

	if (!dfrag)
		return 0;
	bytes = min_t(u64, max_bytes, dfrag->data_seq + dfrag->data_len - start);
	if (bytes > room)
		bytes = whole_packets(room, packet_bytes(msk, ssk), bytes);
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
 * @silent:	the path doesn't answer: send again what SACK tells of, too. The peer's TCP has
 *		it, but delivers it only behind the lost packet before it, and over this path
 *		that won't come
 * @resend:	set to the range that is pending now, within one fragment. It waits for
 *		room elsewhere, and goes before new data
 *
 * Each call makes one range pending; @again->lost is set until all were.
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
			first_range(msk, ssk, &none, MSK_SACKED, &to, &range) :
			first_range(msk, ssk, again, which, &to, &range);
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

/* Is the range in @resend what the kernel sends next? */
bool msk_is_resending(const struct mptcp_sock *msk, const struct msk_resend *resend)
{
	const struct mptcp_data_frag *next = msk->first_pending;
	u64 bytes = resend->end - resend->start;

	return bytes && next &&
	       next->data_seq + next->already_sent - resend->start < bytes;
}

/**
 * msk_resend_excess - how much was sent again beyond the end of a range
 * @msk:	the connection, before anything else is handed over or pending again
 * @resend:	the range; a second call for it returns 0
 *
 * struct msk_window says how that happens. If the subflow has gone since nothing is known.
 *
 * Return: number of bytes behind the range, of the same fragment, that were sent again.
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
			return range_excess(tcp_sk(subflow->tcp_sock)->write_seq,
					    resend->handed_end,
					    resend->sent_end - resend->end);
	}
	return 0;
}

/* Mark the part of a fragment behind the range as sent, which it was before. */
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
	msk->first_pending = dfrag;
}

/**
 * msk_resend_settle - end the resending of a tail: leave no fragment of it pending
 * @msk:	the connection, owned, after a push
 * @resend:	the range that was pending again; emptied, unless it waits for room
 *
 * A fragment that found no room is marked as sent, which it was once: if it stayed pending,
 * the kernel would take it for the end of the data to repair when a subflow closes. Data
 * that the application has added to it since stays pending.
 *
 * The data of a lost path may wait for room: it stays pending, and msk_resend_repair()
 * does what the kernel would leave undone.
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
 * msk_resend_repair - make all data pending again after a subflow has gone or become stale
 * @msk:	the connection, owned in process context
 * @resend:	the range that was pending again then; emptied
 *
 * The kernel makes all unacknowledged data pending again, but only up to the first fragment
 * of which nothing is marked as sent. That may be the fragment of the range, even if a push
 * has sent it since. This does the rest. No range is left but that of a lost path, and one
 * that a kick couldn't settle, since another thread owned the socket.
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

	/* the kernel's own part may not be done yet */
	dfrag = msk->first_pending;
	if (dfrag && before64(dfrag->data_seq, first->data_seq))
		first = dfrag;
	fragment_set_pending(msk, first);
}

/**
 * msk_get_retrans - the kernel's choice of a subflow for its retransmission
 * @msk:	the connection, owned in process context
 *
 * The kernel may also count here how often a subflow did not answer, and make a stale
 * subflow's data pending again.
 *
 * Return: NULL if there is none.
 */
struct sock *msk_get_retrans(struct mptcp_sock *msk)
{
	return pams_subflow_get_retrans(msk);
}

/* Does the subflow hold this byte unacknowledged? Only its oldest data is searched. */
static bool subflow_holds(struct sock *ssk, u64 data_seq)
{
	unsigned int skbs = MSK_FRAGMENTS_MAX;
	struct msk_range range;
	struct sk_buff *skb;
	bool holds = false;

	lock_sock(ssk);
	for (skb = queue_first(ssk); skb && skbs-- && !holds;
	     skb = queue_next(ssk, skb))
		holds = skb_range(ssk, skb, &range) &&
			!before64(data_seq, range.start) &&
			before64(data_seq, range.end);
	release_sock(ssk);
	return holds;
}

/**
 * msk_head_is_due - may the kernel send the first missing byte again?
 * @msk:	the connection, owned in process context
 * @due_us:	tells how long until a subflow's acknowledgment is overdue; 0 if it is
 * @wait_us:	set to how long to wait otherwise
 *
 * It may not while a subflow that holds the byte is expected to answer.
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

/* Mark all data before snd_nxt as sent, so that only new data is pending. */
static void nothing_again(struct mptcp_sock *msk)
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
	msk->first_pending = list_entry_is_head(dfrag, &msk->rtx_queue, list) ?
			     NULL : dfrag;
}

/**
 * msk_stale_check - have the kernel check for subflows that don't answer, and are stale
 * @msk:	the connection, owned in process context
 * @sent_again:	the data of its silent subflows was sent again. Decisions meanwhile have to be
 *		refused then
 *
 * When it marks a subflow as stale the kernel makes all unacknowledged data pending again,
 * also data under way on other subflows: with @sent_again that is taken back. Nothing is
 * done while the kernel sends data again for a subflow that was closed.
 */
void msk_stale_check(struct mptcp_sock *msk, bool sent_again)
{
	if (is_pending_again(msk))
		return;
	/* 6.12 checks in the first function, 7.3 in the second */
	pams_subflow_get_retrans(msk);
	pams_pm_chk_stale(msk);
	if (sent_again && is_pending_again(msk))
		nothing_again(msk);
}

/* --- at load --- */

/* bits of snd_burst that push_bit_is_right() uses */
#define PROBE_SEND	BIT(0)
#define PROBE_RETRANS	BIT(1)

static int check_size(struct socket *sock)
{
	unsigned int size = sock->sk->sk_prot->obj_size;

	if (size == PAMS_SIZEOF_MPTCP_SOCK)
		return 0;
	pr_err("mptcp_pams: built for struct mptcp_sock of %u bytes (kernel %s), this kernel's has %u: build the module for the running kernel\n",
	       PAMS_SIZEOF_MPTCP_SOCK, PAMS_LAYOUT_RELEASE, size);
	return -ENOEXEC;
}

/* Does the kernel say "fallback" once our bit is set, and only then? */
static bool fallback_bit_is_right(struct mptcp_sock *msk)
{
	struct mptcp_info before, after;

	mptcp_diag_fill_info(msk, &before);
	set_bit(ilog2(MSK_FLAG_FALLBACK_DONE), &msk->flags);
	mptcp_diag_fill_info(msk, &after);
	clear_bit(ilog2(MSK_FLAG_FALLBACK_DONE), &msk->flags);
	return !(before.mptcpi_flags & MPTCP_INFO_FLAG_FALLBACK) &&
	       after.mptcpi_flags & MPTCP_INFO_FLAG_FALLBACK;
}

/* probe_sched is a scheduler that notes in snd_burst what the kernel asks it for. */
static int probe_send(struct mptcp_sock *msk)
{
	msk->snd_burst |= PROBE_SEND;
	return -EAGAIN;
}

static int probe_retrans(struct mptcp_sock *msk)
{
	msk->snd_burst |= PROBE_RETRANS;
	return -EAGAIN;
}

#ifdef PAMS_HAVE_GET_SUBFLOW
static int probe_get_subflow(struct mptcp_sock *msk, struct mptcp_sched_data *data)
{
	return data->reinject ? probe_retrans(msk) : probe_send(msk);
}

static struct mptcp_sched_ops probe_sched = {
	.get_subflow	= probe_get_subflow,
};
#else
static struct mptcp_sched_ops probe_sched = {
	.get_send	= probe_send,
	.get_retrans	= probe_retrans,
};
#endif

/* Does our push bit have the kernel push when the socket is released? The kernel then clears
 * each bit that it knows, and does what the bit is for. A push with data pending asks the
 * scheduler for a decision. The retransmission's bit leads to a push, too, but asks for the
 * retransmission's subflow first.
 */
static bool push_bit_is_right(struct mptcp_sock *msk)
{
	struct sock *sk = (struct sock *)msk;
	struct mptcp_sched_ops *sched;
	struct mptcp_data_frag dfrag = {};

	lock_sock(sk);
	sched = msk->sched;
	msk->sched = &probe_sched;
	msk->first_pending = &dfrag;
	msk->snd_burst = 0;
	msk_push(msk);
	release_sock(sk);

	msk->first_pending = NULL;
	msk->sched = sched;
	return msk->snd_burst == PROBE_SEND &&
	       !(READ_ONCE(msk->cb_flags) & MSK_CB_PUSH_PENDING);
}

/* Is the first subflow, which an option that only it takes makes, what the kernel writes into a
 * new one? Its pointer to the TCP socket lies behind all else that we use, so that it's another
 * one if anything has come or gone before it.
 */
static int check_subflow(struct socket *sock)
{
	struct mptcp_sock *msk = (struct mptcp_sock *)sock->sk;
	const struct mptcp_subflow_context *subflow;
	int seconds = 0;

	sock->ops->setsockopt(sock, SOL_TCP, TCP_DEFER_ACCEPT, KERNEL_SOCKPTR(&seconds),
			      sizeof(seconds));
	subflow = list_first_entry_or_null(&msk->conn_list, struct mptcp_subflow_context, node);
	if (subflow && subflow->tcp_sock && subflow->tcp_sock == msk->first &&
	    subflow->subflow_id == PAMS_FIRST_SUBFLOW)
		return 0;
	pr_err("mptcp_pams: built for another struct mptcp_subflow_context (kernel %s): build the module for the running kernel\n",
	       PAMS_LAYOUT_RELEASE);
	return -ENOEXEC;
}

/**
 * msk_check - is the running kernel what this module was built for?
 * @sock:	an MPTCP socket that was just made
 *
 * vermagic does not cover MPTCP's private structures, nor bits that are macros.
 *
 * Return: 0, or -ENOEXEC after a line in the log.
 */
int msk_check(struct socket *sock)
{
	struct mptcp_sock *msk = (struct mptcp_sock *)sock->sk;
	int err = check_size(sock);

	if (err)
		return err;
	if (!fallback_bit_is_right(msk) || !push_bit_is_right(msk)) {
		pr_err("mptcp_pams: bits of MPTCP's flags or cb_flags have another meaning in this kernel: please report it\n");
		return -ENOEXEC;
	}
	return check_subflow(sock);
}
