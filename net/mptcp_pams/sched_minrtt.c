// SPDX-License-Identifier: GPL-2.0
/* MinRTT: the idle subflow with the lowest round-trip time.
 *
 * Most papers compare with this scheduler; it was the default of MPTCP before Linux
 * had MPTCP upstream. It reads srtt and room. It ignores rates, queues and how much data is
 * left, so over unequal paths the last bytes wait on the slow one (MPBond, section 2:
 * 4.5 s between the ends of two subflows).
 */
#include "pick.h"

static int minrtt_pick(const struct pams_sched *sched, const struct pams_view *view, u32 *bytes)
{
	int target = PAMS_PICK_NONE;
	unsigned int i;

	for (i = 0; i < view->nr; i++) {
		const struct pams_model *sub = view->sub[i];

		if (!sub->idle)
			continue;
		if (target < 0 || sub->srtt_us < view->sub[target]->srtt_us)
			target = i;
	}

	return target;
}

const struct pams_sched pams_sched_minrtt = {
	.name		= "minrtt",
	.text		= "the idle subflow with the lowest round-trip time",
	.pick		= minrtt_pick,
};
