// SPDX-License-Identifier: GPL-2.0
/* Weighted round robin: a subflow gets as many pieces in a row as its weight says, which a
 * program changes at run time. With its id, from 0 to 15, as the key (id 1 gets 3 pieces):
 *
 *	bpftool map update name weights key 1 0 0 0 value 3 0 0 0
 *
 * A weight of 0, as all have at first, counts as 1.
 */
#include "pams.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 16);
	__type(key, u32);
	__type(value, u32);
} weights SEC(".maps");

static u32 weight_of(u32 id)
{
	u32 *weight = bpf_map_lookup_elem(&weights, &id);

	return weight && *weight ? *weight : 1;
}

/* The first subflow with room behind the one whose turn it is, or that one if @stays. */
static int next(const struct pams_view *view, u32 turn, bool stays)
{
	const struct pams_model *sub;
	int first = PAMS_PICK_NONE;
	bool passed = false;
	u32 i;

	for (i = 0; (sub = pams_nth(view, i)); i++) {
		bool here = sub->id == turn;

		if (pams_is(sub, idle) && (passed || (here && stays)))
			return i;
		if (pams_is(sub, idle) && first < 0)
			first = i;
		passed |= here;
	}
	return first;
}

/* memory: the id of the subflow whose turn it is, and how many pieces are left of its turn */
SEC("struct_ops")
int BPF_PROG(pick, const struct pams_view *view, struct pams_answer *answer)
{
	u32 turn = answer->memory[0], left = answer->memory[1];
	int target = next(view, turn, left);
	const struct pams_model *sub = pams_sub(view, target);

	if (!sub)
		return PAMS_PICK_NONE;
	if (sub->id != turn || !left)
		left = weight_of(sub->id);
	answer->memory[0] = sub->id;
	answer->memory[1] = left - 1;
	return target;
}

PAMS_SCHEDULER(weighted, .pick = (void *)pick);
