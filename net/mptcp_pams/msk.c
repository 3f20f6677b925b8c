// SPDX-License-Identifier: GPL-2.0
/* Looks at a connection and its subflows, and asks for a push: MPTCP's private structures behind
 * plain numbers. msk_send.c carries out decisions, msk_queue.c and msk_resend.c have data sent
 * again, msk_retrans.c is about the kernel's own retransmission; all share msk_private.h.
 *
 * Context: the msk is owned (process), or its data lock is held and nobody owns it
 * (softirq). TCP state of subflows is read without their locks; a torn read makes one choice
 * less good. Functions that lock a subflow say so.
 */
#include <crypto/sha2.h>

#include "msk_private.h"
#include "compat/tcp.h"

/* How long a netlink request waits for owned sockets: for one, and for all together. */
#define MSK_WAIT_EACH		(HZ / 10UL)
#define MSK_WAIT_ALL		(1UL * HZ)

/**
 * msk_may_send - is a connection or a subflow established, and not closed by this end?
 * @sk:	its socket
 */
bool msk_may_send(const struct sock *sk)
{
	return (1 << inet_sk_state_load(sk)) & (TCPF_ESTABLISHED | TCPF_CLOSE_WAIT);
}

/* --- looking --- */

static bool subflow_is_stale(const struct mptcp_subflow_context *subflow)
{
	/* Who has the subflow's lock writes other bits of this word, with each packet that brings
	 * data. READ_ONCE() can't read a bit field.
	 */
	return data_race(!!subflow->stale);
}

static bool subflow_is_backup(const struct mptcp_subflow_context *subflow)
{
	/* as above */
	return data_race(subflow->backup || subflow->request_bkup);
}

/* Does the kernel consider the subflow usable? The kernel itself is asked only for a stale
 * subflow, and makes that usable again if something was received on it since.
 */
static bool subflow_usable(struct mptcp_subflow_context *subflow)
{
	if (unlikely(subflow_is_stale(subflow)))
		return pams_subflow_active(subflow);

	/* a joining subflow may not send before the peer has confirmed it */
	if (data_race(subflow->request_join && !subflow->fully_established))
		return false;

	return msk_may_send(subflow->tcp_sock);
}

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

/* How many bytes are pending while the kernel sends data again from the middle of its queue,
 * before snd_nxt. Only the first MSK_SEARCH_MAX fragments are looked at; all data in later
 * fragments counts as unsent.
 */
static u64 recovery_unscheduled_bytes(struct mptcp_sock *msk)
{
	struct mptcp_data_frag *dfrag = msk->first_pending;
	unsigned int fragments = MSK_SEARCH_MAX;
	u64 bytes = 0;

	list_for_each_entry_from(dfrag, &msk->rtx_queue, list) {
		if (!fragments--)
			return bytes + (msk->write_seq - dfrag->data_seq);
		bytes += dfrag->data_len - dfrag->already_sent;
	}
	return bytes;
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

/**
 * msk_look - read a connection's own numbers and find its usable subflows
 * @msk:	the connection
 * @window:	the receive window's true end, while msk->wnd_end is lowered
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
	look->fallback = msk_is_fallback(msk);
	look->several = !list_is_singular(&msk->conn_list);
}

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
 * msk_reset_timeout - set that time from the subflows' TCP timers, as a decision does
 * @msk:	the connection
 */
void msk_reset_timeout(struct mptcp_sock *msk)
{
	struct msk_look look;

	look_at_subflows(msk, &look);
	msk_set_timeout(msk, look.timeout);
}

/* --- small questions, and asking for a push --- */

bool msk_is_pending(const struct mptcp_sock *msk)
{
	return READ_ONCE(msk->first_pending);
}

/* Is the range in @resend what the kernel sends next? */
bool msk_is_resending(const struct mptcp_sock *msk, const struct msk_resend *resend)
{
	const struct mptcp_data_frag *next = msk->first_pending;
	u64 bytes = resend->end - resend->start;

	return bytes && next &&
	       next->data_seq + next->already_sent - resend->start < bytes;
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
	return READ_ONCE(msk->sched);
}

u32 msk_token(const struct mptcp_sock *msk)
{
	return READ_ONCE(msk->token);
}

/**
 * msk_peer_token - the token that the connection has at its peer
 * @msk:	the connection
 * @token:	set to the token, which MPTCP makes of the peer's key
 *
 * Return: false if the peer's key isn't known (yet).
 */
bool msk_peer_token(const struct mptcp_sock *msk, u32 *token)
{
	__be64 key = cpu_to_be64(msk_read_u64(&msk->remote_key));
	__be32 digest[SHA256_DIGEST_SIZE / sizeof(__be32)];

	sha256((const u8 *)&key, sizeof(key), (u8 *)digest);
	*token = be32_to_cpu(digest[0]);
	return key;
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
 * For netlink requests, in process context. They must not wait for as long as the socket is owned,
 * perhaps by a send() that waits for memory: meanwhile generic netlink can neither register nor
 * unregister families, and all users' further requests wait for those who try.
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
 * @wait:	put into the socket's wait queue if somebody else owns the socket, unless it is
 *		there already. release_sock() calls its function once, with the data lock held;
 *		that function has to take @wait out of the queue
 * @hold:	called before @wait is queued: takes the references that @wait needs there
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
 * The kernel sends a DATA_FIN after a push that has sent something. If the data that was pending
 * again was acknowledged before, there is no such push; so the kernel's worker is scheduled.
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

/* The first of all subflows, usable or not, if @ssk is NULL, else the next; NULL at the end. */
struct sock *msk_next_subflow(struct mptcp_sock *msk, struct sock *ssk)
{
	struct list_head *node = ssk ? &subflow_of(ssk)->node : &msk->conn_list;

	if (list_is_last(node, &msk->conn_list))
		return NULL;
	return list_entry(node->next, struct mptcp_subflow_context, node)->tcp_sock;
}

u32 msk_subflow_id(const struct sock *ssk)
{
	return subflow_id(subflow_of(ssk));
}

/* The subflow of this number, usable or not; NULL if there is none. */
struct sock *msk_subflow_find(struct mptcp_sock *msk, u32 id)
{
	struct sock *ssk = NULL;

	while ((ssk = msk_next_subflow(msk, ssk))) {
		if (msk_subflow_id(ssk) == id)
			return ssk;
	}
	return NULL;
}

/* A usable backup of this number, or NULL. A look has no backups while a regular subflow is usable;
 * but a subflow that has just become a backup may still hold data.
 */
struct sock *msk_backup_find(struct mptcp_sock *msk, u32 id)
{
	struct sock *ssk = msk_subflow_find(msk, id);

	return ssk && msk_subflow_is_backup(ssk) && msk_subflow_is_usable(ssk) ? ssk : NULL;
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
	return subflow_is_stale(subflow_of(ssk));
}
