// SPDX-License-Identifier: GPL-2.0
/* minPAD: the idle subflow with the lowest pipe-aware delay (MPBond,
 * section 4). Knows queues, rates and the pipe behind a helper; never waits,
 * so the last bytes may still go to a slow subflow while a fast one is busy.
 */
#include "pick.h"

int pams_pick_minpad(const struct pams_view *view, u32 *bytes)
{
	return pams_lowest_pad(view);
}
