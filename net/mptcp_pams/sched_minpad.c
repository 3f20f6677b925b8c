// SPDX-License-Identifier: GPL-2.0
/* minPAD: the idle subflow with the lowest pipe-aware delay (MPBond,
 * section 4). It takes queues, rates and the pipe behind a helper into account, but never
 * waits: the last bytes may go to a slow subflow while a fast one is busy.
 */
#include "pick.h"

static int minpad_pick(const struct pams_sched *sched, const struct pams_view *view, u32 *bytes)
{
	return pams_lowest_pad(view);
}

const struct pams_sched pams_sched_minpad = {
	.name		= "minpad",
	.text		= "the idle subflow with the lowest pipe-aware delay (PAD)",
	.pick		= minpad_pick,
	.detail		= PAMS_DETAIL_PAD,
};
