// SPDX-License-Identifier: GPL-2.0
/* ECF, earliest completion first (Lim, Nahum, Towsley, Gibbens: "ECF: An MPTCP Path Scheduler to
 * Manage Heterogeneous Paths", CoNEXT 2017, algorithm 1). F has the lowest RTT of all subflows, S
 * of those with room. If F has room it is given data. Otherwise, with k bytes to be sent,
 *
 *   if (1 + k / W_F) * RTT_F < (1 + waiting * beta) * RTT_S:
 *       if k / W_S * RTT_S >= 2 * RTT_F: waiting = 1, wait for F
 *   otherwise waiting = 0; S is given data
 *
 * The paper adds the RTT's deviation to RTT_S and to 2 * RTT_F; no view has it, so it is 0 here.
 * Both sides are multiplied by the windows W, which are in bytes.
 */
#include "pams.bpf.h"

#define BETA_PERCENT	25	/* as in the paper */

/* the subflow with the lowest RTT, of those with room if @idle */
static int lowest(const struct pams_view *view, bool idle)
{
	const struct pams_model *sub;
	int best = PAMS_PICK_NONE;
	u32 i, best_us = ~0U;

	for (i = 0; (sub = pams_nth(view, i)); i++) {
		if (idle ? !pams_is(sub, idle) : pams_is(sub, stopped))
			continue;
		if (sub->srtt_us < best_us) {
			best = i;
			best_us = sub->srtt_us;
		}
	}
	return best;
}

/* bytes to be sent; with 2^31 at most, no product below overflows */
static u64 unsent(const struct pams_view *view)
{
	return view->left_bytes < 1U << 31 ? view->left_bytes : 1U << 31;
}

SEC("struct_ops")
int BPF_PROG(pick, const struct pams_view *view, struct pams_answer *answer)
{
	int fastest = lowest(view, false), target = lowest(view, true);
	const struct pams_model *f = pams_sub(view, fastest), *s = pams_sub(view, target);
	u32 *waiting = &answer->memory[0];
	u64 percent = *waiting ? 100 + BETA_PERCENT : 100;

	if (!f || !s || f == s)
		return target;
	if ((f->cwnd_bytes + unsent(view)) * f->srtt_us >=
	    (u64)f->cwnd_bytes * s->srtt_us * percent / 100) {
		*waiting = 0;
		return target;
	}
	if (unsent(view) * s->srtt_us < 2ULL * f->srtt_us * s->cwnd_bytes)
		return target;
	*waiting = 1;
	return PAMS_PICK_DEFER;
}

PAMS_SCHEDULER(ecf, .pick = (void *)pick);
