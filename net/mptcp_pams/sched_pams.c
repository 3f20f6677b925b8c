// SPDX-License-Identifier: GPL-2.0
/* PAMS, the pipe-aware multipath scheduler (MPBond, section 4, algorithm 1).
 *
 *   target = the idle subflow with the lowest PAD
 *   Diff   = sum of (PAD[target] - PAD[i]) * Th[i]
 *            over the busy subflows i with PAD[i] < PAD[target]
 *   send nothing now if Diff > the unscheduled bytes, else send on target
 *
 * Diff is what the busy but faster subflows deliver before the target would
 * deliver its first byte: if that is all there is to send, handing the target
 * anything only makes the transfer end later.
 *
 * A busy subflow counts only while it has data in flight, because its
 * acknowledgment is what brings the next decision; glue.c bounds the wait by
 * the target's PAD besides.
 *
 * Ignores: windows that grow while waiting, loss, the receive window.
 * Reinjection (algorithm 1, line 1) is in reinject.c.
 */
#include "pad.h"
#include "pick.h"

int pams_pick_pams(const struct pams_view *view, u32 *bytes)
{
	int target = pams_lowest_pad(view);
	u64 diff_bytes = 0;
	unsigned int i;

	if (target < 0)
		return target;

	for (i = 0; i < view->nr; i++) {
		const struct pams_subflow_view *sub = &view->sub[i];
		u64 target_ns = view->sub[target].pad_ns;

		if (!sub->idle && sub->in_flight && sub->pad_ns < target_ns)
			diff_bytes += pad_carried_bytes(target_ns - sub->pad_ns,
							sub->rate_byteps);
	}

	return diff_bytes > view->unscheduled_bytes ? PAMS_PICK_DEFER : target;
}
