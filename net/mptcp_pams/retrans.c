// SPDX-License-Identifier: GPL-2.0
/* Chooses the subflow for MPTCP's own retransmission, which sends the first missing data again.
 *
 * Context: process, the msk is owned. Subflows are locked while their data is searched.
 */
#include "pams.h"
#include "peek.h"

/* How long until the subflow's acknowledgment is overdue: until one and a half round trips after
 * data was last sent or acknowledged. 0 if it is overdue, or if TCP's retransmission timer has
 * fired. Unlike learn.c's due_us() this takes the smoothed round trip.
 */
static u32 head_due_us(const struct sock *ssk)
{
	const struct tcp_sock *tp = tcp_sk(ssk);
	u32 srtt_us = max(READ_ONCE(tp->srtt_us) >> 3, 1U);
	u32 heard_us = model_since_us(tcp_clock_us(), READ_ONCE(tp->delivered_mstamp));
	u32 sent_us = jiffies_to_usecs(tcp_jiffies32 - READ_ONCE(tp->lsndtime));
	u32 since_us = min(heard_us, sent_us);
	u32 due_us = srtt_us + srtt_us / 2;

	if (peek_in_loss(ssk) || since_us >= due_us)
		return 0;
	return due_us - since_us;
}

/* The state of the subflow if it is usable, and its path isn't lost; else NULL. */
static const struct pams_subflow *alive(struct pams_conn *conn, struct sock *ssk)
{
	const struct pams_subflow *sub = pams_subflow_at(conn, ssk);

	return sub && !sub->stopped && msk_subflow_is_usable(ssk) ? sub : NULL;
}

/* A subflow that is alive and costs less than @cost, or NULL. */
static struct sock *cheaper_than(struct pams_conn *conn, u32 cost)
{
	const struct pams_subflow *sub;
	struct sock *other = NULL;

	while (cost && (other = msk_next_subflow(conn->msk, other))) {
		sub = alive(conn, other);
		if (sub && sub->model.cost < cost)
			return other;
	}
	return NULL;
}

/* Keep a retransmission off costlier paths: choose a cheaper subflow that holds no data. NULL if
 * the cheaper subflow holds data: nothing is sent then, since its TCP will deliver that data.
 */
static struct sock *cheapest(struct pams_conn *conn, struct sock *ssk)
{
	struct sock *other;
	u32 cost;

	while (ssk && conn->costly && !conn->overflow.copies) {
		const struct pams_subflow *sub = pams_subflow_at(conn, ssk);

		cost = sub ? sub->model.cost : 0;
		other = cheaper_than(conn, cost);
		if (!other)
			break;
		ssk = tcp_rtx_and_write_queues_empty(other) ? other : NULL;
	}
	return ssk;
}

/* An alive subflow other than @id, a backup only if there is no other; with @idle one that holds no
 * data. NULL if there is none.
 */
static struct sock *any_alive(struct pams_conn *conn, u32 id, bool idle)
{
	struct sock *ssk = NULL, *backup = NULL;

	while ((ssk = msk_next_subflow(conn->msk, ssk))) {
		if (msk_subflow_id(ssk) == id || !alive(conn, ssk) ||
		    (idle && !tcp_rtx_and_write_queues_empty(ssk)))
			continue;
		if (!msk_subflow_is_backup(ssk))
			return ssk;
		backup = backup ?: ssk;
	}
	return backup;
}

/* Keep a retransmission off a lost path, and off the subflow @banked, where it would wait behind
 * all data that the helper has banked: choose an alive subflow, for a lost path's data one that
 * holds no data. NULL if all alive subflows hold data: then nothing is sent now.
 */
static struct sock *not_lost(struct pams_conn *conn, struct sock *ssk, u32 banked)
{
	const struct pams_subflow *sub = pams_subflow_at(conn, ssk);
	struct sock *other;

	if (msk_subflow_id(ssk) == banked)
		return any_alive(conn, banked, false) ?: ssk;
	if (!sub || !sub->stopped)
		return ssk;
	other = any_alive(conn, banked, true);
	return other || any_alive(conn, banked, false) ? other : ssk;
}

/* A usable subflow that holds no data, isn't stopped, and wasn't used for a retransmission since
 * data was last acknowledged; of several one that costs least. NULL if there is none.
 */
static struct sock *untried(struct pams_conn *conn)
{
	struct sock *other = NULL, *found = NULL;
	const struct pams_subflow *sub;
	u32 cost, least = 0;

	while ((other = msk_next_subflow(conn->msk, other))) {
		sub = pams_subflow_at(conn, other);
		cost = sub ? sub->model.cost : 0;
		if ((sub && (sub->stopped || sub->retrans)) || !msk_subflow_is_usable(other) ||
		    !tcp_rtx_and_write_queues_empty(other) || (found && cost >= least))
			continue;
		found = other;
		least = cost;
	}
	return found;
}

static void forget_tried(struct pams_conn *conn)
{
	unsigned int i;

	for (i = 0; i < conn->nr; i++)
		conn->sub[i]->retrans = false;
}

static u16 retrans_una(const struct pams_conn *conn)
{
	return msk_snd_una(conn->msk) >> 6;
}

/* Choose another subflow than @ssk if a retransmission on @ssk brought no DATA_ACK: a middlebox
 * that removes options lets TCP's acknowledgments pass, but no DATA_ACK. All subflows have their
 * turn; those without a state, which are backups, every other time.
 */
static struct sock *not_tried(struct pams_conn *conn, struct sock *ssk)
{
	u16 una = retrans_una(conn);
	struct pams_subflow *sub;
	struct sock *other;

	if (conn->retrans_una != una)
		forget_tried(conn);
	conn->retrans_una = una;
	conn->retrans_at = tcp_jiffies32;

	sub = pams_subflow_at(conn, ssk);
	if (sub && sub->retrans) {
		other = untried(conn);
		if (other)
			ssk = other;
		else
			forget_tried(conn);
		sub = pams_subflow_at(conn, ssk);
	}
	if (sub)
		sub->retrans = true;
	return ssk;
}

/* Does the kernel ask for the second or a later fragment of one retransmission? In 7.x its timer
 * resends fragment after fragment while get_retrans finds an idle subflow.
 */
static bool is_further(const struct pams_conn *conn)
{
	return conn->retrans_una == retrans_una(conn) &&
	       conn->retrans_at == (u16)tcp_jiffies32;
}

/**
 * pams_retransmit - choose a subflow for the kernel's retransmission
 * @msk:	the connection, owned in process context
 * @of_socket:	the scheduler that its socket has
 *
 * The kernel's own choice is taken, with the exceptions that the functions above make. A scheduler
 * that itself sends late data again, within a budget, lets the kernel do so only once the first
 * missing byte is overdue on the subflow that holds it, or no subflow answers.
 *
 * No state is made here: a timer that disconnect() left running may call this before the
 * next connection is established. If that connection falls back to TCP, no decision is ever
 * made, and nothing would use the state.
 *
 * Return: 0 if a subflow is marked to send, or -EINVAL if nothing is sent now.
 */
int pams_retransmit(struct mptcp_sock *msk, const struct pams_sched *of_socket)
{
	struct pams_conn *conn = pams_conn_known(msk);
	const struct pams_sched *sched = of_socket;
	u32 wait_us, banked_id = 0;
	struct sock *ssk, *own;

	if (conn) {
		pams_rules_follow(conn, of_socket);
		sched = conn->sched;
		msk_window_restore(msk, &conn->window);
		pams_resend_count_excess(conn);
		pams_resend_repair_stale(conn);
	}
	if (sched->owns_retransmission && (!conn || any_alive(conn, 0, false)) &&
	    !msk_head_is_due(msk, head_due_us, &wait_us)) {
		msk_set_timeout(msk, usecs_to_jiffies(wait_us));
		return -EINVAL;
	}
	wait_us = conn ? pams_split_head_wait_us(conn, &banked_id) : 0;
	if (wait_us) {
		msk_set_timeout(msk, usecs_to_jiffies(wait_us));
		return -EINVAL;
	}
	/* An earlier call that returned -EINVAL, to wait, may have set a shorter timeout, by
	 * which the kernel would take subflows for stale too soon.
	 */
	msk_reset_timeout(msk);
	/* it may also count subflows that don't answer, and make a stale one's data pending */
	own = pams_subflow_get_retrans(msk);
	if (conn)
		pams_resend_repair_stale(conn);
	ssk = own;
	if (ssk && conn)
		ssk = cheapest(conn, not_lost(conn, ssk, banked_id));
	/* the exceptions are for the first fragment: a further one goes where the kernel would
	 * send it, or waits
	 */
	if (ssk && conn && is_further(conn))
		ssk = ssk == own ? ssk : NULL;
	else if (ssk && conn)
		ssk = not_tried(conn, ssk);
	if (!ssk)
		return -EINVAL;

	if (conn)
		msk_resend_yield(msk, &conn->resend);
	msk_schedule(ssk);
	return 0;
}
