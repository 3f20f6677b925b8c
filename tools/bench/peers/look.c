// SPDX-License-Identifier: GPL-2.0
/* Plain numbers of every usable subflow. Called with the msk owned, or with its
 * data lock held and no owner; other subflows' TCP is read without their locks.
 */
#include "peers.h"

static void look_at(struct peer_subflow *sub, struct sock *ssk)
{
	const struct tcp_sock *tp = tcp_sk(ssk);
	u32 unsent = READ_ONCE(tp->write_seq) - READ_ONCE(tp->snd_nxt);

	sub->srtt_us = max(READ_ONCE(tp->srtt_us) >> 3, 1U);
	sub->rttvar_us = READ_ONCE(tp->rttvar_us) >> 2;
	sub->cwnd = max(READ_ONCE(tp->snd_cwnd), 1U);
	sub->mss_bytes = max_t(u32, READ_ONCE(tp->mss_cache), 1);
	sub->in_flight = tcp_packets_in_flight(tp) +
			 DIV_ROUND_UP(unsent, sub->mss_bytes);
	/* as the schedulers of their time saw it: room for a packet */
	sub->idle = sub->in_flight < sub->cwnd &&
		    READ_ONCE(ssk->sk_wmem_queued) < READ_ONCE(ssk->sk_sndbuf);
}

void peers_look(struct mptcp_sock *msk, struct peer_view *view)
{
	struct mptcp_subflow_context *subflow;
	bool regular = false;

	view->nr = 0;
	view->timeout = 0;
	list_for_each_entry(subflow, &msk->conn_list, node) {
		bool backup = subflow->backup || subflow->request_bkup;
		struct sock *ssk = subflow->tcp_sock;

		if (!pams_subflow_active(subflow))
			continue;
		view->timeout = max(view->timeout,
				    compat_tcp_timeout_left(ssk));
		if (backup && regular)
			continue;
		if (!backup && !regular) {
			regular = true;
			view->nr = 0;
		}
		if (view->nr == PEERS_MAX)
			continue;
		look_at(&view->sub[view->nr], ssk);
		view->sub[view->nr++].subflow = subflow;
	}
	view->window_bytes = READ_ONCE(msk->wnd_end) - msk->snd_una;
	view->unscheduled_bytes = msk->write_seq - msk->snd_nxt -
				  msk->snd_data_fin_enable;
}

/* The least smoothed RTT, of all or of those with room; -1 if there is none. */
int peers_fastest(const struct peer_view *view, bool idle_only)
{
	int fastest = -1;
	unsigned int i;

	for (i = 0; i < view->nr; i++) {
		const struct peer_subflow *sub = &view->sub[i];

		if (idle_only && !sub->idle)
			continue;
		if (fastest < 0 || sub->srtt_us < view->sub[fastest].srtt_us)
			fastest = i;
	}
	return fastest;
}
