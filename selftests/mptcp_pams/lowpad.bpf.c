// SPDX-License-Identifier: GPL-2.0
/* sched_minpad.c in BPF, whose decision bpf.sh compares with it in time. */
#include "../../examples/bpf/pams.bpf.h"

SEC("struct_ops")
int BPF_PROG(pick, const struct pams_view *view, struct pams_answer *answer)
{
	const struct pams_model *sub;
	int best = PAMS_PICK_NONE;
	u64 best_ns = ~0ULL;
	u32 i;

	for (i = 0; (sub = pams_nth(view, i)); i++) {
		if (pams_is(sub, idle) && sub->pad_ns < best_ns) {
			best = i;
			best_ns = sub->pad_ns;
		}
	}
	return best;
}

PAMS_SCHEDULER(lowpad, .pick = (void *)pick);
