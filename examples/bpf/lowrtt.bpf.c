// SPDX-License-Identifier: GPL-2.0
/* Lowest round-trip time first, as sched_minrtt.c. */
#include "pams.bpf.h"

SEC("struct_ops")
int BPF_PROG(pick, const struct pams_view *view, struct pams_answer *answer)
{
	const struct pams_model *sub;
	int best = PAMS_PICK_NONE;
	u32 i, best_us = ~0U;

	for (i = 0; (sub = pams_nth(view, i)); i++) {
		if (pams_is(sub, idle) && sub->srtt_us < best_us) {
			best = i;
			best_us = sub->srtt_us;
		}
	}
	return best;
}

PAMS_SCHEDULER(lowrtt, .pick = (void *)pick);
