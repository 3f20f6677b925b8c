// SPDX-License-Identifier: GPL-2.0
/* Weighted round robin: the next subflow with room gets as many packets as its weight says, which
 * a program changes at run time. The key is the subflow's id, from 1 to 15 (id 1 gets 8):
 *
 *	./load -m weights 1 8
 *
 * A weight of 0, as all have at first, counts as 1.
 */
#include "pams.bpf.h"

#define PACKET_BYTES	1500

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 16);
	__type(key, u32);
	__type(value, u32);
} weights SEC(".maps");

static u32 bytes_of(u32 id)
{
	u32 *weight = bpf_map_lookup_elem(&weights, &id);

	return weight ? *weight * PACKET_BYTES : 0;
}

SEC("struct_ops")
int BPF_PROG(pick, const struct pams_view *view, struct pams_answer *answer)
{
	u32 last = view->state->lead;	/* the id of the subflow that was given data last */
	const struct pams_model *sub;
	int target = PAMS_PICK_NONE;
	bool passed = false;
	u32 i, id = 0;

	for (i = 0; (sub = pams_nth(view, i)); i++) {
		if (pams_is(sub, idle) && (target < 0 || passed)) {
			target = i;
			id = sub->id;
			if (passed)
				break;
		}
		passed |= sub->id == last;
	}
	answer->bytes = bytes_of(id);	/* a packet at least */
	return target;
}

PAMS_SCHEDULER(weighted, .pick = (void *)pick);
