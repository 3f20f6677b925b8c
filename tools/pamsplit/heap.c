// SPDX-License-Identifier: GPL-2.0
/*
 * heap - the flows that have a timer, the earliest first
 *
 * A binary heap whose first index is 1; flow->heap_at is a flow's index.
 */
#include <stdlib.h>

#include "flow.h"

static void put(struct split *split, unsigned int at, struct flow *flow)
{
	split->heap[at] = flow;
	flow->heap_at = at;
}

static unsigned int up(struct split *split, unsigned int at, struct flow *flow)
{
	for (; at > 1; at /= 2) {
		struct flow *parent = split->heap[at / 2];

		if (parent->timer_us <= flow->timer_us)
			break;
		put(split, at, parent);
	}
	return at;
}

static unsigned int down(struct split *split, unsigned int at,
			 struct flow *flow)
{
	unsigned int child;

	for (; (child = 2 * at) <= split->heap_count; at = child) {
		if (child < split->heap_count &&
		    split->heap[child + 1]->timer_us <
		    split->heap[child]->timer_us)
			child++;
		if (flow->timer_us <= split->heap[child]->timer_us)
			break;
		put(split, at, split->heap[child]);
	}
	return at;
}

static void place(struct split *split, unsigned int at, struct flow *flow)
{
	unsigned int to = up(split, at, flow);

	if (to == at)
		to = down(split, at, flow);
	put(split, to, flow);
}

void heap_remove(struct flow *flow)
{
	struct split *split = flow->split;
	unsigned int at = flow->heap_at;
	struct flow *last;

	if (!at)
		return;
	flow->heap_at = 0;
	last = split->heap[split->heap_count--];
	if (last != flow)
		place(split, at, last);
}

/* Set a flow's timer; NEVER_US: remove it. The heap has room for flows_max flows. */
void heap_set(struct flow *flow, uint64_t at_us)
{
	struct split *split = flow->split;

	if (at_us == NEVER_US) {
		heap_remove(flow);
		flow->timer_us = at_us;
		return;
	}
	if (flow->heap_at && flow->timer_us == at_us)
		return;
	flow->timer_us = at_us;
	place(split, flow->heap_at ? flow->heap_at : ++split->heap_count, flow);
}
