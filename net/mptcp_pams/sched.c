// SPDX-License-Identifier: GPL-2.0
/* The scheduler ops of both kernel ABIs around one decision:
 *
 *   look (look.c), pick (sched_*.c), hand over (msk_send.c)
 *
 * Context: the msk is owned (process), or its data lock is held and nobody owns it
 * (softirq). Only the choice for a retransmission locks subflows.
 */
#include <linux/kernel.h>
#include <linux/string.h>

#include "pams.h"
#include "peek.h"
#include "trace.h"

/* A connection is looked at closely when this much or less is left of the data, or of the
 * receive window.
 */
#define SCHED_SOON_BYTES	(64 * 1024)

/* The rules say which of the others. */
const struct pams_sched pams_sched_rules = {
	.name		= "rules",
	.text		= "for each connection the one that the rules name",
};

/* @conn, after its scheduler was brought up to date with the rules, if rules choose it. */
static struct pams_conn *follow_rules(struct pams_conn *conn, const struct pams_sched *of_socket)
{
	if (conn && of_socket == &pams_sched_rules)
		pams_rules_follow(conn, &pams_sched_minfct);
	return conn;
}

/* Choose a subflow for the data that is sent again: @resend's target, if it has one that
 * isn't spared for its cost by now; else the best one but the data's first subflow.
 */
static int pick_again(const struct pams_view *view, const struct msk_resend *resend)
{
	int target = resend->target ? pick_index(view, resend->target) : PAMS_PICK_NONE;

	if (!resend->target ||
	    (target >= 0 && view->sub[target]->cost && view->sub[target]->stopped))
		return pams_lowest_pad_but(view, resend->origin);
	return target >= 0 && view->sub[target]->idle ? target : PAMS_PICK_NONE;
}

/* Go on after a range was sent again. Returns true if there is something to send now;
 * false if nothing is pending, or if more data of a lost path has to go first, which the
 * kick makes pending.
 */
static bool after_resend(struct pams_conn *conn)
{
	pams_resend_count_excess(conn);
	if (msk_is_resending(conn->msk, &conn->resend))
		return true;

	msk_resend_skip(conn->msk, &conn->resend);
	if (conn->lost_id) {
		/* the kick ends @resend, but first looks whether a subflow has gone */
		pams_watch_kick(conn);
		return false;
	}
	if (msk_is_pending(conn->msk))
		return true;

	msk_finish(conn->msk);
	return false;
}

static int defer(struct pams_conn *conn, const struct msk_look *look,
		 const struct pams_view *view)
{
	int target = pams_lowest_pad(view);
	u64 wait_ns = view->sub[target]->pad_ns;

	if (!pams_watch_defer(conn, wait_ns))
		return target;

	trace_mptcp_pams_deferral(look->token, view->sub[target]->id, wait_ns,
				  view->left_bytes);
	return PAMS_PICK_DEFER;
}

static void decision_trace(const struct msk_look *look, const struct pams_view *view,
			   int target)
{
	unsigned int i;

	for (i = 0; trace_mptcp_pams_pad_enabled() && i < view->nr; i++)
		trace_mptcp_pams_pad(look->token, view->sub[i]);
	trace_mptcp_pams_decision(look->token,
				  target < 0 ? 0 : view->sub[target]->id,
				  view->nr, view->left_bytes);
}

static bool others_hold_data(const struct pams_view *view, int target)
{
	int i;

	for (i = 0; i < (int)view->nr; i++) {
		if (i != target && view->sub[i]->outstanding)
			return true;
	}
	return false;
}

/* Have the timer look at the data that is handed over to @target now. It looks closely if
 * little is left to send, of what the application wrote or of the receive window, and
 * another subflow holds data, so that one of the two may be late.
 */
static void look_after(struct pams_conn *conn, const struct msk_look *look,
		       const struct pams_view *view, int target)
{
	s64 left = min_t(s64, look->write_seq - look->snd_nxt,
			 look->window_end - look->snd_nxt);

	if (!conn->sched->watches && !conn->reported)
		return;
	if (!conn->timed || conn->backed_off)
		pams_watch(conn, PAMS_TICK_US);
	if (conn->sched->closely && left <= SCHED_SOON_BYTES &&
	    conn->pause_us > PAMS_CLOSE_US &&
	    others_hold_data(view, target))
		pams_watch(conn, PAMS_CLOSE_US);
}

static int hand_over(struct pams_conn *conn, const struct msk_look *look,
		     const struct pams_view *view, int target, u32 bytes)
{
	struct msk_order order = {
		.ssk = look->ssk[target],
		.bytes = min(bytes, view->sub[target]->room_bytes),
		.window_bytes = look->window_end - look->snd_nxt,
		.unscheduled_bytes = view->unscheduled_bytes,
		/* no more than arrives before the path is lost */
		.cuts = conn->sched->cuts ||
			view->sub[target]->horizon_us != MODEL_HORIZON_NONE ||
			view->sub[target]->cost,
		.alone = conn->bank || conn->resend.target || conn->resend.keep,
	};

	return msk_hand_over(conn->msk, &conn->window, &conn->resend, &order);
}

static int decide(struct mptcp_sock *msk, const struct pams_sched *of_socket)
{
	struct pams_conn *conn = follow_rules(pams_conn_get(msk, of_socket), of_socket);
	const struct pams_sched *sched;
	/* zeroing these would cost as much as the decision; they are filled in up to .nr */
	struct pams_view view __uninitialized;
	struct msk_look look __uninitialized;
	u32 bytes = U32_MAX;
	bool again;
	int target;

	if (unlikely(!conn))
		return msk_schedule_any(msk) ? 0 : -EAGAIN;
	if (unlikely(conn->refusing))
		return -EAGAIN;
	sched = conn->sched;
	pams_count(conn, &conn->counts.decisions, 1);
	if (conn->counts.reinjected_bytes && !after_resend(conn)) {
		msk_window_restore(msk, &conn->window);
		return -EAGAIN;
	}

	again = conn->counts.reinjected_bytes && msk_is_resending(msk, &conn->resend);
	/* pick_again() compares PADs, whatever the scheduler does */
	pams_look(conn, again ? max(sched->detail, PAMS_DETAIL_PAD) : sched->detail,
		  &look, &view, again);
	if (unlikely(pams_watch_reopened(conn, &look)))
		pams_watch_kick(conn);
	/* The kernel sends all unacknowledged data again, since a subflow has gone: that data
	 * is no longer copied, and new data need not wait for copies.
	 */
	if (sched->copy && look.pending_again && !again)
		conn->state.copied = look.snd_nxt;
	/* No subflow is usable, or there was no memory for their states. Then the kernel's own
	 * choice sends, since nothing would bring another decision.
	 */
	if (unlikely(!view.nr)) {
		conn->deferring = false;
		msk_window_restore(msk, &conn->window);
		return msk_schedule_any(msk) ? 0 : -EAGAIN;
	}
	msk_set_timeout(msk, look.timeout);
	target = again ? pick_again(&view, &conn->resend) : sched->pick(&view, &bytes);
	if (target == PAMS_PICK_DEFER) {
		/* if the wait is over, @bytes is still what the scheduler said */
		target = defer(conn, &look, &view);
	}
	decision_trace(&look, &view, target);
	if (target != PAMS_PICK_DEFER)
		conn->deferring = false;
	if (sched->copy) {
		if (conn->costly && !conn->overflow.copies)
			cost_spare(&view);
		if (pams_copy_wanted(conn, &view, target))
			pams_watch_kick(conn);
	}
	if (target < 0) {
		msk_window_restore(msk, &conn->window);
		return -EAGAIN;
	}

	if (!again)
		conn->state.lead = view.sub[target]->id;
	look_after(conn, &look, &view, target);
	return hand_over(conn, &look, &view, target, bytes);
}

/* How long until the subflow's acknowledgment is overdue, which it is one and a half round
 * trips after data was last sent or acknowledged. 0 if it is overdue, or if TCP's
 * retransmission timer has fired. Unlike learn.c's due_us() it takes the smoothed round trip.
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
	const struct pams_subflow *sub = pams_subflow_find(conn, msk_subflow_id(ssk));

	return sub && !sub->stopped && msk_subflow_is_usable(ssk) ? sub : NULL;
}

/* A subflow that is alive and costs less than @cost, or NULL. */
static struct sock *cheaper_than(struct pams_conn *conn, u32 cost)
{
	const struct pams_subflow *sub;
	struct sock *other;

	for (other = cost ? msk_first_subflow(conn->msk) : NULL; other;
	     other = msk_next_subflow(conn->msk, other)) {
		sub = alive(conn, other);
		if (sub && sub->model.cost < cost)
			return other;
	}
	return NULL;
}

/* Keep a retransmission off costlier paths: it goes to a cheaper one that has nothing to
 * do. NULL if that one holds data itself, since TCP will deliver it.
 */
static struct sock *cheapest(struct pams_conn *conn, struct sock *ssk)
{
	struct sock *other;
	u32 cost;

	while (ssk && conn->costly && !conn->overflow.copies) {
		const struct pams_subflow *sub =
			pams_subflow_find(conn, msk_subflow_id(ssk));

		cost = sub ? sub->model.cost : 0;
		other = cheaper_than(conn, cost);
		if (!other)
			break;
		ssk = tcp_rtx_and_write_queues_empty(other) ? other : NULL;
	}
	return ssk;
}

/* Keep a retransmission off a lost path while another one is alive: it goes to an alive one
 * that has nothing to do. NULL if all of these hold data: then nothing is sent now.
 */
static struct sock *not_lost(struct pams_conn *conn, struct sock *ssk)
{
	const struct pams_subflow *sub = pams_subflow_find(conn, msk_subflow_id(ssk));
	bool any_alive = false;
	struct sock *other;

	if (!sub || !sub->stopped)
		return ssk;
	for (other = msk_first_subflow(conn->msk); other;
	     other = msk_next_subflow(conn->msk, other)) {
		if (!alive(conn, other))
			continue;
		if (tcp_rtx_and_write_queues_empty(other))
			return other;
		any_alive = true;
	}
	return any_alive ? NULL : ssk;
}

/* Keep a retransmission off the subflow @id, where it would wait behind all that the helper
 * has banked.
 */
static struct sock *other_than(struct mptcp_sock *msk, struct sock *ssk, u32 id)
{
	struct sock *other;

	if (msk_subflow_id(ssk) != id)
		return ssk;
	for (other = msk_first_subflow(msk); other; other = msk_next_subflow(msk, other)) {
		if (other != ssk && msk_subflow_is_usable(other))
			return other;
	}
	return ssk;
}

/* A subflow that has nothing to do and was not used for a retransmission since data was
 * acknowledged last, or NULL. Of several it is one that costs least.
 */
static struct sock *untried(struct pams_conn *conn)
{
	struct sock *other, *found = NULL;
	const struct pams_subflow *sub;
	u32 cost, least = 0;

	for (other = msk_first_subflow(conn->msk); other;
	     other = msk_next_subflow(conn->msk, other)) {
		sub = pams_subflow_find(conn, msk_subflow_id(other));
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

/* Choose another subflow than @ssk if a retransmission there brought no DATA_ACK: a
 * middlebox that removes options lets TCP acknowledge, but no DATA_ACK come. All subflows
 * have their turn; those without a state, which are backups, every other time.
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

	sub = pams_subflow_find(conn, msk_subflow_id(ssk));
	if (sub && sub->retrans) {
		other = untried(conn);
		if (other)
			ssk = other;
		else
			forget_tried(conn);
		sub = pams_subflow_find(conn, msk_subflow_id(ssk));
	}
	if (sub)
		sub->retrans = true;
	return ssk;
}

/* Does the kernel ask for a second or later fragment? In 7.x its timer resends fragment after
 * fragment while get_retrans finds an idle subflow.
 */
static bool is_further(const struct pams_conn *conn)
{
	return conn->retrans_una == retrans_una(conn) &&
	       conn->retrans_at == (u16)tcp_jiffies32;
}

/* Choose a subflow for the kernel's retransmission: the kernel's own choice, but for the
 * exceptions that the functions above make. A scheduler that itself sends late data again,
 * within a budget, lets the kernel do so only once the first missing byte is overdue on
 * the subflow that holds it. Process context.
 *
 * No state is made here: a timer that disconnect() left running may call this before the
 * next connection is established. If that one falls back to TCP no decision ever comes,
 * and nothing would use the state.
 */
static int retransmit(struct mptcp_sock *msk, const struct pams_sched *of_socket)
{
	struct pams_conn *conn = follow_rules(pams_conn_known(msk), of_socket);
	const struct pams_sched *sched = conn ? conn->sched : of_socket;
	u32 wait_us, banked_id = 0;
	struct sock *ssk, *own;

	if (conn) {
		msk_window_restore(msk, &conn->window);
		pams_resend_count_excess(conn);
		pams_resend_repair_stale(conn);
	}
	if (sched->owns_retransmission &&
	    !msk_head_is_due(msk, head_due_us, &wait_us)) {
		msk_set_timeout(msk, usecs_to_jiffies(wait_us));
		return -EINVAL;
	}
	if (conn) {
		wait_us = pams_split_head_wait_us(conn, &banked_id);
		if (wait_us) {
			msk_set_timeout(msk, usecs_to_jiffies(wait_us));
			return -EINVAL;
		}
	}
	/* An earlier call that returned -EINVAL, to wait, may have set a shorter timeout, by
	 * which the kernel would take subflows for stale too soon.
	 */
	msk_reset_timeout(msk);
	own = msk_get_retrans(msk);
	if (conn)
		pams_resend_repair_stale(conn);
	ssk = own;
	if (ssk && banked_id)
		ssk = other_than(msk, ssk, banked_id);
	if (ssk && conn)
		ssk = not_lost(conn, ssk);
	if (ssk && conn)
		ssk = cheapest(conn, ssk);
	/* the exceptions are for the first fragment: a further one goes where the kernel would
	 * send it, or waits
	 */
	if (ssk && conn && is_further(conn))
		ssk = ssk == own ? ssk : NULL;
	else if (ssk && conn)
		ssk = not_tried(conn, ssk);
	if (!ssk)
		return -EINVAL;

	msk_retransmit_on(ssk);
	return 0;
}

/* Each scheduler has functions of its own, since an op is given only the connection. */
#ifdef PAMS_HAVE_GET_SUBFLOW
#define SCHED_OPS(_name)						\
static int _name##_get_subflow(struct mptcp_sock *msk,			\
			       struct mptcp_sched_data *data);		\
static struct mptcp_sched_ops _name##_ops = {				\
	.get_subflow	= _name##_get_subflow,				\
	SCHED_OPS_COMMON(_name)						\
};									\
static int _name##_get_subflow(struct mptcp_sock *msk,			\
			       struct mptcp_sched_data *data)		\
{									\
	return data->reinject ? retransmit(msk, &pams_sched_##_name) :	\
				decide(msk, &pams_sched_##_name);	\
}
#else
#define SCHED_OPS(_name)						\
static int _name##_get_send(struct mptcp_sock *msk);			\
static int _name##_get_retrans(struct mptcp_sock *msk);			\
static struct mptcp_sched_ops _name##_ops = {				\
	.get_send	= _name##_get_send,				\
	.get_retrans	= _name##_get_retrans,				\
	SCHED_OPS_COMMON(_name)						\
};									\
static int _name##_get_send(struct mptcp_sock *msk)			\
{									\
	return decide(msk, &pams_sched_##_name);			\
}									\
static int _name##_get_retrans(struct mptcp_sock *msk)			\
{									\
	return retransmit(msk, &pams_sched_##_name);			\
}
#endif

#define SCHED_OPS_COMMON(_name)						\
	.name		= #_name,					\
	.owner		= THIS_MODULE,					\
	.init		= pams_conn_reset,				\
	.release	= pams_conn_del,

PAMS_SCHEDS(SCHED_OPS)

static struct {
	struct mptcp_sched_ops *ops;
	const struct pams_sched *sched;
	bool registered;
} scheds[] = {
#define SCHED_ENTRY(_name)	{ &_name##_ops, &pams_sched_##_name },
	PAMS_SCHEDS(SCHED_ENTRY)
};

/**
 * pams_sched_nth - the module's schedulers in turn
 * @nr: number of the scheduler, from 0 on
 *
 * Return: NULL if there are no more.
 */
const struct pams_sched *pams_sched_nth(unsigned int nr)
{
	return nr < ARRAY_SIZE(scheds) ? scheds[nr].sched : NULL;
}

/**
 * pams_sched_find - a scheduler that a rule may choose
 * @name: its name
 *
 * Return: NULL if there is none of that name.
 */
const struct pams_sched *pams_sched_find(const char *name)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(scheds); i++) {
		if (scheds[i].sched->pick && !strcmp(scheds[i].sched->name, name))
			return scheds[i].sched;
	}
	return NULL;
}

/**
 * pams_sched_of - which of our schedulers a connection has
 * @msk: the connection, owned
 *
 * Return: NULL if it has none of ours.
 */
const struct pams_sched *pams_sched_of(const struct mptcp_sock *msk)
{
	const struct mptcp_sched_ops *ops = msk_sched(msk);
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(scheds); i++) {
		if (scheds[i].ops == ops)
			return scheds[i].sched;
	}
	return NULL;
}

/* A scheduler whose name another module has isn't offered; the others are. Once one is
 * registered a socket may use it at once, so from then on the module can't fail to load.
 *
 * Return: 0 if any is registered.
 */
int __init pams_sched_register(void)
{
	bool any = false;
	unsigned int i;
	int err = 0;

	for (i = 0; i < ARRAY_SIZE(scheds); i++) {
		err = pams_register_scheduler(scheds[i].ops);
		scheds[i].registered = !err;
		any |= !err;
		if (err)
			pr_err("mptcp_pams: scheduler %s: %pe\n",
			       scheds[i].sched->name, ERR_PTR(err));
	}
	return any ? 0 : err;
}

void pams_sched_unregister(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(scheds); i++) {
		if (scheds[i].registered)
			pams_unregister_scheduler(scheds[i].ops);
	}
	/* a lookup that is under way may still use one of the schedulers */
	synchronize_rcu();
}
