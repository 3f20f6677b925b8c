// SPDX-License-Identifier: GPL-2.0
/* BLEST, blocking estimation (Ferlin, Alay, Mehani, Boreli: "BLEST: Blocking
 * Estimation-based MPTCP Scheduler for Heterogeneous Networks", IFIP Networking
 * 2016, section III). F and S: peers.h.
 *
 *   rtts = RTT_S / RTT_F
 *   X    = MSS_F * (CWND_F + (rtts - 1) / 2) * rtts
 *   send on S only if X * lambda <= |M| - MSS_S * (inflight_S + 1)
 *
 * X is what F could send while a segment on S takes its round trip, with a
 * window that grows by one in each of F's. Would that not fit into the send
 * window |M| besides what S holds, S would block F.
 *
 * lambda corrects X: once in an RTT of S it grows by delta if the send window
 * was full meanwhile, else it shrinks by as much.
 */
#include <linux/jiffies.h>
#include <linux/math64.h>

#include "peers.h"

#define BLEST_DELTA_PERCENT	1
#define BLEST_LAMBDA_MIN	100	/* percent; X itself */
#define BLEST_LAMBDA_MAX	200	/* a bound the paper doesn't need */
#define BLEST_RTTS_SHIFT	10	/* rtts in units of 1/1024 */

static void blest_adapt(struct peer_state *state, const struct peer_view *view,
			u32 slow_srtt_us)
{
	u64 window_bytes = view->window_bytes;
	u64 used_bytes = 0;
	unsigned int i;

	for (i = 0; i < view->nr; i++)
		used_bytes += (u64)view->sub[i].in_flight *
			      view->sub[i].mss_bytes;
	if (used_bytes >= window_bytes)
		state->blocked = true;
	if (time_before(jiffies, state->adapt_at))
		return;

	if (state->blocked)
		state->lambda_percent += BLEST_DELTA_PERCENT;
	else
		state->lambda_percent -= BLEST_DELTA_PERCENT;
	state->lambda_percent = clamp(state->lambda_percent,
				      BLEST_LAMBDA_MIN, BLEST_LAMBDA_MAX);
	state->blocked = false;
	state->adapt_at = jiffies + usecs_to_jiffies(slow_srtt_us);
}

bool peers_blest_waits(const struct peer_view *view, struct peer_state *state,
		       const struct peer_subflow *f, const struct peer_subflow *s)
{
	u64 rtts, x_bytes, held_bytes;

	blest_adapt(state, view, s->srtt_us);

	/* up to 2^22: a ratio of 4000 is as good as any above */
	rtts = min_t(u64, div_u64((u64)s->srtt_us << BLEST_RTTS_SHIFT,
				  f->srtt_us), 1U << 22);
	x_bytes = (((u64)f->cwnd << BLEST_RTTS_SHIFT) +
		   (rtts - (1U << BLEST_RTTS_SHIFT)) / 2) * rtts;
	x_bytes = (x_bytes >> (2 * BLEST_RTTS_SHIFT)) * f->mss_bytes;
	x_bytes = div_u64(x_bytes * state->lambda_percent, 100);
	held_bytes = (u64)s->mss_bytes * (s->in_flight + 1);

	return x_bytes + held_bytes > view->window_bytes;
}
