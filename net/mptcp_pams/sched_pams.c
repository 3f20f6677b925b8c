// SPDX-License-Identifier: GPL-2.0
/* PAMS, the pipe-aware multipath scheduler (MPBond, section 4, algorithm 1).
 *
 *   target = the idle subflow with the lowest PAD
 *   Diff   = sum of (PAD[target] - PAD[i]) * Th[i]
 *            over the busy subflows i with PAD[i] < PAD[target]
 *   send nothing now if Diff > the bytes that are left, else send on target
 *
 * Diff is how much the busy but faster subflows deliver before the target would
 * deliver its first byte: if no more than that is left to send, handing the target
 * anything only makes the transfer end later.
 *
 * A busy subflow counts only while it has data in flight, because only its
 * acknowledgment brings the next decision. sched.c also bounds the wait by the
 * target's PAD.
 *
 * PAD-ratio reinjection (algorithm 1, line 1):
 *
 *   when nothing is left unscheduled and (maxPAD - minPAD) / minPAD > eta:
 *     r = (maxPAD - minPAD) * Th(maxPAD subflow)
 *     the r unacknowledged bytes with the largest sequence numbers on that
 *     subflow are sent again on another one
 *
 * minPAD is the lowest PAD of a subflow that has room, maxPAD the highest PAD of those
 * with data outstanding. Data beyond the receive window doesn't count as unscheduled
 * once the fastest subflow is half idle: that data can't be scheduled, and the window
 * stays full until the late data arrives. resend.c sends the data again.
 *
 * Ignores: windows that grow while waiting, loss, the receive window.
 */
#include <linux/math64.h>
#include <linux/time64.h>

#include "pick.h"

static int pams_pick(const struct pams_sched *sched, const struct pams_view *view, u32 *bytes)
{
	int target = pams_lowest_pad(view);
	u64 diff_bytes = 0;
	unsigned int i;

	if (target < 0)
		return target;

	for (i = 0; i < view->nr; i++) {
		const struct pams_model *sub = view->sub[i];
		u64 target_ns = view->sub[target]->pad_ns;

		if (!sub->idle && sub->in_flight && sub->pad_ns < target_ns)
			diff_bytes += pad_carried_bytes(target_ns - sub->pad_ns,
							sub->th_byteps);
	}

	return diff_bytes > view->left_bytes ? PAMS_PICK_DEFER : target;
}

/* Has the subflow room for half of what it carries in a round trip? */
static bool half_idle(const struct pams_model *sub)
{
	u64 srtt_ns = (u64)sub->srtt_us * NSEC_PER_USEC;

	return 2ULL * sub->room_bytes >=
	       pad_carried_bytes(srtt_ns, sub->th_byteps);
}

/* The subflow other than @best with the highest PAD of those with outstanding data that
 * wasn't sent again; or PAMS_PICK_NONE.
 */
static int highest_pad(const struct pams_view *view, int best)
{
	int latest = PAMS_PICK_NONE;
	unsigned int i;

	for (i = 0; i < view->nr; i++) {
		if (view->sub[i]->outstanding && view->sub[i]->once_bytes && i != best &&
		    (latest < 0 || view->sub[i]->pad_ns > view->sub[latest]->pad_ns))
			latest = i;
	}
	return latest;
}

static int pams_late(const struct pams_sched *sched, const struct pams_view *view,
		     u32 eta_percent, u64 *bytes)
{
	int best = pams_lowest_pad(view);
	int latest = highest_pad(view, best);
	u64 best_ns, late_ns;

	if (best < 0 || latest < 0 ||
	    (view->left_bytes && !half_idle(view->sub[best])))
		return PAMS_PICK_NONE;

	best_ns = view->sub[best]->pad_ns;
	if (view->sub[latest]->pad_ns <= best_ns)
		return PAMS_PICK_NONE;
	late_ns = view->sub[latest]->pad_ns - best_ns;
	if (late_ns <= mul_u64_u32_div(best_ns, eta_percent, 100))
		return PAMS_PICK_NONE;

	*bytes = pad_carried_bytes(late_ns, view->sub[latest]->th_byteps);
	return latest;
}

const struct pams_sched pams_sched_pams = {
	.name		= "pams",
	.text		= "as minpad, but waits for faster subflows and sends late data again",
	.pick		= pams_pick,
	.late		= pams_late,
	.late_share	= PICK_LATE_SHARE,
	.detail		= PAMS_DETAIL_PAD,
	.watches	= true,
};
