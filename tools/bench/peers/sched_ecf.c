// SPDX-License-Identifier: GPL-2.0
/* ECF, earliest completion first (Lim, Nahum, Towsley, Gibbens: "ECF: An MPTCP
 * Path Scheduler to Manage Heterogeneous Paths", CoNEXT 2017, algorithm 1).
 * F and S: peers.h. With k packets not yet scheduled,
 *
 *   n = 1 + k / CWND_F,  delta = max(sigma_F, sigma_S)
 *   if n * RTT_F < (1 + waiting * beta) * (RTT_S + delta):
 *       if k / CWND_S * RTT_S >= 2 * RTT_F + delta: waiting = 1, send nothing
 *       else send on S
 *   else waiting = 0, send on S
 *
 * n * RTT_F is the time in which F alone would be done if one waited for it;
 * sigma is the RTT's deviation; beta adds hysteresis. Both sides are multiplied
 * by the windows here instead of divided.
 */
#include <linux/math64.h>

#include "peers.h"

#define ECF_BETA_PERCENT	25	/* as in the paper */

bool peers_ecf_waits(const struct peer_view *view, struct peer_state *state,
		     const struct peer_subflow *f, const struct peer_subflow *s)
{
	u64 packets, delta_us, left, right;

	/* up to 2^21 packets of 2 GB; times an RTT below 2^32 us */
	packets = div_u64(min_t(u64, view->unscheduled_bytes, 1ULL << 31) +
			  f->mss_bytes - 1, f->mss_bytes);
	delta_us = max(f->rttvar_us, s->rttvar_us);

	left = (f->cwnd + packets) * f->srtt_us;
	right = (s->srtt_us + delta_us) * f->cwnd;
	if (state->waiting)
		right += div_u64(right * ECF_BETA_PERCENT, 100);
	if (left >= right) {
		state->waiting = false;
		return false;
	}
	if (packets * s->srtt_us < (2ULL * f->srtt_us + delta_us) * s->cwnd)
		return false;
	state->waiting = true;
	return true;
}
