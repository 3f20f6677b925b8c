// SPDX-License-Identifier: GPL-2.0
/* Data goes where it arrives first, as minfct's model has it. Once all was given away, data that
 * would arrive after twice the time that another subflow takes is sent again there.
 */
#include "pams.bpf.h"

/* the subflow with room where that much data arrives first */
static int earliest(const struct pams_view *view, u32 bytes)
{
	const struct pams_model *sub;
	int best = PAMS_PICK_NONE;
	u32 i, us, best_us = ~0U;

	for (i = 0; (sub = pams_nth(view, i)); i++) {
		us = pams_arrival_us(view, i, bytes);
		if (pams_is(sub, idle) && us < best_us) {
			best = i;
			best_us = us;
		}
	}
	return best;
}

/* the subflow that holds data, and delivers the last of it last */
static int latest(const struct pams_view *view)
{
	const struct pams_model *sub;
	int worst = PAMS_PICK_NONE;
	u32 i, us, worst_us = 0;

	for (i = 0; (sub = pams_nth(view, i)); i++) {
		us = pams_arrival_us(view, i, 0);
		if (sub->once_bytes && us > worst_us) {
			worst = i;
			worst_us = us;
		}
	}
	return worst;
}

SEC("struct_ops")
int BPF_PROG(pick, const struct pams_view *view, struct pams_answer *answer)
{
	return earliest(view, view->fragment_bytes);
}

SEC("struct_ops")
int BPF_PROG(late, const struct pams_view *view, struct pams_answer *answer)
{
	int from = latest(view), to = earliest(view, 0);
	u32 in_us = pams_arrival_us(view, from, 0) / 2;

	if (from < 0 || to < 0 || from == to)
		return PAMS_PICK_NONE;
	answer->bytes = pams_carried_bytes(view, to, in_us);
	return answer->bytes ? from : PAMS_PICK_NONE;
}

PAMS_SCHEDULER(soonest, .pick = (void *)pick, .late = (void *)late);
