// SPDX-License-Identifier: GPL-2.0
/* The scheduler ops of the published schedulers; load and unload. What the
 * kernel expects of a decision is told in net/mptcp_pams/msk_send.c.
 */
#define pr_fmt(fmt) "mptcp_pams_peers: " fmt

#include <linux/module.h>

#include "peers.h"

#define BURST_MAX_BYTES	(64 * 1024 - 107)	/* the kernel's own limit */

struct peer_sched {
	struct mptcp_sched_ops ops;
	bool (*waits)(const struct peer_view *view, struct peer_state *state,
		      const struct peer_subflow *f, const struct peer_subflow *s);
};

static const struct peer_sched *sched_of(const struct mptcp_sock *msk)
{
	return container_of_const(msk->sched, struct peer_sched, ops);
}

/* The window's worth, so that no decision is made for more than was seen. */
static void set_burst(struct mptcp_sock *msk, const struct peer_subflow *sub)
{
	s64 window_bytes = READ_ONCE(msk->wnd_end) - msk->snd_nxt;
	s64 room_bytes = sub->cwnd > sub->in_flight ?
			 (s64)(sub->cwnd - sub->in_flight) * sub->mss_bytes : 1;

	if (window_bytes > 0)
		msk->snd_burst = min3(room_bytes, window_bytes,
				      (s64)BURST_MAX_BYTES);
}

/* F while it has room; else S, or -1 to wait for F. */
static int pick(const struct peer_sched *sched, const struct peer_view *view,
		struct peer_state *state)
{
	int fast = peers_fastest(view, false);
	int slow = peers_fastest(view, true);

	if (slow < 0 || slow == fast)
		return slow;
	/* only an acknowledgment on F would end the wait */
	if (!view->sub[fast].in_flight)
		return slow;
	return sched->waits(view, state, &view->sub[fast], &view->sub[slow]) ?
	       -1 : slow;
}

static int decide(struct mptcp_sock *msk)
{
	const struct peer_sched *sched = sched_of(msk);
	struct peer_state *state = peers_state_get(msk);
	struct peer_view view;
	int target;

	peers_look(msk, &view);
	msk->timer_ival = view.timeout > 0 ? view.timeout : TCP_RTO_MIN;

	if (!state || msk->flags & PEERS_FALLBACK_DONE)
		target = peers_fastest(&view, true);
	else if (sched->waits)
		target = pick(sched, &view, state);
	else
		target = peers_redundant_next(msk, &view, state);
	if (target < 0)
		return -EAGAIN;

	if (sched->waits)
		set_burst(msk, &view.sub[target]);
	WRITE_ONCE(view.sub[target].subflow->scheduled, true);
	return 0;
}

static int retransmit(struct mptcp_sock *msk)
{
	struct sock *ssk = pams_subflow_get_retrans(msk);

	if (!ssk)
		return -EINVAL;
	WRITE_ONCE(((struct mptcp_subflow_context *)(__force void *)
		    inet_csk(ssk)->icsk_ulp_data)->scheduled, true);
	return 0;
}

#ifdef PAMS_HAVE_GET_SUBFLOW
static int get_subflow(struct mptcp_sock *msk, struct mptcp_sched_data *data)
{
	return data->reinject ? retransmit(msk) : decide(msk);
}

#define OPS	.get_subflow = get_subflow
#else
#define OPS	.get_send = decide, .get_retrans = retransmit
#endif

#define SCHED(_name, _waits) {						\
	.ops = {							\
		OPS,							\
		.init		= peers_state_add,			\
		.release	= peers_state_del,			\
		.name		= _name,				\
		.owner		= THIS_MODULE,				\
	},								\
	.waits = _waits,						\
}

static struct peer_sched scheds[] = {
	SCHED("everywhere", NULL),
	SCHED("blest", peers_blest_waits),
	SCHED("ecf", peers_ecf_waits),
};

static void unregister_first(unsigned int nr)
{
	while (nr--)
		pams_unregister_scheduler(&scheds[nr].ops);
	/* a lookup that is under way may still hold one of them */
	synchronize_rcu();
}

static int __init peers_load(void)
{
	unsigned int i;
	int err = pams_symbols_resolve();

	for (i = 0; !err && i < ARRAY_SIZE(scheds); i++) {
		err = pams_register_scheduler(&scheds[i].ops);
		if (err) {
			pr_err("scheduler %s: %pe\n", scheds[i].ops.name,
			       ERR_PTR(err));
			unregister_first(i);
		}
	}
	return err;
}

static void __exit peers_unload(void)
{
	unregister_first(ARRAY_SIZE(scheds));
}

module_init(peers_load);
module_exit(peers_unload);

MODULE_DESCRIPTION("Published MPTCP schedulers to compare with (laboratory)");
MODULE_LICENSE("GPL");
