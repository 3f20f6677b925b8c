// SPDX-License-Identifier: GPL-2.0
/* single: sends everything on the one path that answers soonest.
 *
 *   answer = srtt - own queue,  own queue = max(0, F + B - W) / C
 *
 * (model.c has the symbols.) The queue of the connection's own data says nothing about the
 * path: if it counted, the path in use would look worse than an idle one, and a long
 * transfer would change between the two for ever.
 *
 * Another path is taken at once when the one in use is stopped, silent (report.c,
 * alive.c) or closed; the data that it holds is sent again on the new path (resend.c). Otherwise
 * another path is taken only if it answers clearly sooner, and does so for a second:
 *
 *   answer of the other <= 2/3 of the answer of the one in use, for a second
 *
 * The round-trip time of a path without data is as old as its last data, or its
 * handshake. So a path that was left for being slow is tried again only when the path in
 * use becomes slower still.
 *
 * Ignores: rates, and how much is to be sent. The other schedulers are for data that one
 * path can't carry.
 */
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/time64.h>

#include "pick.h"

/* So many thirds: a round trip on a busy radio path varies by a quarter and more. */
#define SINGLE_CLEAR_THIRDS	2U
/* Longer than srtt takes to forget another connection's burst, 8 round trips of 100 ms. */
#define SINGLE_LASTING_MS	1000

static u32 single_answer_us(const struct pams_model *sub)
{
	u64 held = (u64)sub->flight_bytes + sub->backlog_bytes;
	u64 queue_us;

	if (sub->limit_byteps == MODEL_RATE_UNKNOWN || held <= sub->window_bytes)
		return sub->srtt_us;
	queue_us = div_u64((held - sub->window_bytes) * USEC_PER_SEC, sub->limit_byteps);
	return max_t(s64, (s64)sub->srtt_us - (s64)queue_us, sub->rtt_us);
}

/* The subflow other than @not that answers soonest of those that aren't stopped, or
 * PAMS_PICK_NONE.
 */
static int single_best(const struct pams_view *view, int not)
{
	int best = PAMS_PICK_NONE;
	u32 best_us = U32_MAX;
	unsigned int i;

	for (i = 0; i < view->nr; i++) {
		u32 us = single_answer_us(view->sub[i]);

		if (i != not && !view->sub[i]->stopped && (best < 0 || us < best_us)) {
			best = i;
			best_us = us;
		}
	}
	return best;
}

static bool single_is_clear(const struct pams_model *other,
			    const struct pams_model *lead)
{
	return (u64)single_answer_us(other) * 3 <=
	       (u64)single_answer_us(lead) * SINGLE_CLEAR_THIRDS;
}

/* Has the other subflow been clearly better for SINGLE_LASTING_MS? */
static bool single_changes(const struct pams_view *view, int lead, int other)
{
	struct pick_state *state = view->state;

	if (other < 0 || !single_is_clear(view->sub[other], view->sub[lead])) {
		state->other = 0;
		return false;
	}
	if (state->other != view->sub[other]->id) {
		state->other = view->sub[other]->id;
		state->since_ms = view->now_ms;
	}
	return (s32)(view->now_ms - state->since_ms) >= SINGLE_LASTING_MS;
}

static int single_pick(const struct pams_sched *sched, const struct pams_view *view, u32 *bytes)
{
	int lead = pick_index(view, view->state->lead);
	int other = single_best(view, lead);

	if (lead < 0 || view->sub[lead]->stopped || single_changes(view, lead, other))
		lead = other;
	if (lead < 0)	/* all are stopped; only the least bad one is idle */
		return pams_lowest_pad(view);
	return view->sub[lead]->idle ? lead : PAMS_PICK_NONE;
}

const struct pams_sched pams_sched_single = {
	.name		= "single",
	.text		= "everything on the one path that answers soonest",
	.pick		= single_pick,
	.detail		= PAMS_DETAIL_PAD,
	.watches	= true,
};
