// SPDX-License-Identifier: GPL-2.0
/* minfct: minimise the time to completion, and never be worse than the best
 * subflow alone.
 *
 *   target = the idle subflow where the next fragment arrives first, at A
 *   wait if what the others that are faster carry until A is all there is:
 *
 *     sum of carried[i](A) >= min(unscheduled, buffer)
 *         over the subflows i that move and have arrival[i] < A
 *
 * which is PAMS' rule (sched_pams.c) with another model of a subflow (flow.c),
 * and one more reason to wait: no more than the send buffer and the receive
 * window hold can be on its way. If the faster subflows fill those before the
 * fragment arrives, they stand still until it does, whatever there is to send.
 *
 * Any such rule errs, since what a path carries is known only afterwards. So the
 * last word has reinjection: as soon as all is scheduled, or the buffer is full,
 * and a subflow has room, it is given again what arrives later elsewhere. It
 * is then where it had been alone, but for what the others have delivered.
 */
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/time64.h>

#include "pick.h"

/* What differs by less is noise: eta of PAMS, 20 %. */
#define MINFCT_LATE_SHARE	5
/* What a reinjection is measured by: a packet. */
#define MINFCT_PACKET_BYTES	1500

int pams_pick_minfct(const struct pams_view *view)
{
	u64 wanted = min(view->unscheduled_bytes, view->buffer_bytes);
	int target = pams_lowest_pad(view);
	u64 carried = 0, arrival_ns;
	unsigned int i;

	if (target < 0 || !view->flow)
		return target;

	arrival_ns = view->sub[target].pad_ns;
	for (i = 0; i < view->nr; i++) {
		if (view->flow[i].moving && !view->sub[i].stopped &&
		    view->sub[i].pad_ns < arrival_ns)
			carried += flow_carried_bytes(&view->flow[i],
						      div_u64(arrival_ns, NSEC_PER_USEC));
	}
	return carried && carried >= wanted ? PAMS_PICK_DEFER : target;
}

/* The idle subflow where a packet arrives first, and when. */
static int minfct_best(const struct pams_view *view, u32 *best_us)
{
	int best = PAMS_PICK_NONE;
	unsigned int i;

	for (i = 0; i < view->nr; i++) {
		u32 us;

		if (!view->sub[i].idle || view->flow[i].overdue_us)
			continue;
		us = flow_arrival_us(&view->flow[i], MINFCT_PACKET_BYTES);
		if (best < 0 || us < *best_us) {
			best = i;
			*best_us = us;
		}
	}
	return best;
}

/**
 * pams_late_minfct - whose data would arrive earlier if it was sent again?
 * @view: with flows, of now
 *
 * A subflow whose acknowledgments are overdue is expected to stay silent for as
 * long again.
 *
 * Return: an index into @sub, or PAMS_PICK_NONE.
 */
int pams_late_minfct(const struct pams_view *view)
{
	u32 best_us = 0, latest_us = 0;
	int best = minfct_best(view, &best_us);
	int latest = PAMS_PICK_NONE;
	unsigned int i;

	for (i = 0; best >= 0 && i < view->nr; i++) {
		u32 us = flow_arrival_us(&view->flow[i], 0) +
			 view->flow[i].overdue_us;

		if (i == best || !view->sub[i].outstanding || us <= latest_us)
			continue;
		latest_us = us;
		latest = i;
	}
	return latest_us > best_us + best_us / MINFCT_LATE_SHARE ?
	       latest : PAMS_PICK_NONE;
}
