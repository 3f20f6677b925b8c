// SPDX-License-Identifier: GPL-2.0
/* Round robin: each piece of data goes to the next subflow that has room. */
#include "pams.bpf.h"

SEC("struct_ops")
int BPF_PROG(pick, const struct pams_view *view, struct pams_answer *answer)
{
	u32 last = view->state->lead;	/* the id of the subflow that was given data last */
	const struct pams_model *sub;
	int first = PAMS_PICK_NONE;
	bool passed = false;
	u32 i;

	for (i = 0; (sub = pams_nth(view, i)); i++) {
		if (pams_is(sub, idle) && passed)
			return i;
		if (pams_is(sub, idle) && first < 0)
			first = i;
		passed |= sub->id == last;
	}
	return first;
}

PAMS_SCHEDULER(roundrobin, .pick = (void *)pick);
