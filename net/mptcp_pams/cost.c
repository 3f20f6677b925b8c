// SPDX-License-Identifier: GPL-2.0
/* Costlier paths are used only for what the cheaper ones can't deliver in time.
 *
 * This is a filter on the view before a scheduler chooses: a subflow that is spared looks
 * like one that is stopped, so no scheduler has to know of costs. With
 *
 *   span    the delay that is allowed, or the factor times a packet's arrival on the subflow
 *   surplus = waiting - sum of carried[j](span)   over the cheaper subflows j that are alive
 *
 * a subflow is spared unless surplus > 0 and each cheaper one either is busy or would
 * deliver a packet later than the span: the cheaper ones are filled first. A subflow that isn't
 * spared is given no more than the surplus. With a delay, waiting is only what the application
 * has written: how much it would write into a larger buffer isn't known.
 *
 * A delay needs no state: the surplus goes away once it is sent. A factor f of the
 * completion time needs state: where the end of the data isn't known, a completion time f
 * times as long means a rate of R / f. The costlier paths get a share of all that is sent,
 *
 *   share = 1 - f * Rc / R       Rc: rate of the cheapest paths, R: of all
 *
 * which is the least share that makes the rate of all paths together R / f. The part of their
 * share that they weren't given yet is their credit, of a fragment or two at most, so that a
 * connection that has sent little for an hour hasn't saved credit for the next minute. While
 * the rate of a costlier path is unknown, the share is everything, so that the path is tried.
 *
 * A subflow that is lost or silent isn't alive: it neither spares a costlier one nor
 * counts as a cheaper one.
 *
 * For a stream one of two paths of the same cost that is at risk (report.c) counts as the costlier,
 * with a delay of STREAM_LATE_US, but while the application waits to write more there is no end of
 * what waits. So it carries all that the others wouldn't deliver about as soon.
 *
 * Ignores: what the receive window leaves of the rates.
 */
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/time64.h>

#include "cost.h"
#include "pick.h"
#include "stream.h"

#define COST_SHARE_ONE		1024U

static u32 least_cost(const struct pams_view *view)
{
	u32 least = U32_MAX;
	unsigned int i;

	for (i = 0; i < view->nr; i++) {
		if (!view->sub[i]->stopped)
			least = min_t(u32, least, view->sub[i]->cost);
	}
	return least;
}

static bool is_cheaper(const struct pams_model *sub, const struct pams_model *than)
{
	return sub->cost < than->cost ||
	       (sub->cost == than->cost && !sub->at_risk && than->at_risk);
}

/**
 * cost_spare - take all costlier paths out of a view
 * @view:	changed: these paths look stopped
 */
void cost_spare(struct pams_view *view)
{
	u32 least = least_cost(view);
	unsigned int i;

	for (i = 0; i < view->nr; i++) {
		if (view->sub[i]->cost > least)
			model_stop(view->sub[i]);
	}
}

/* The rate that a subflow can reach, as far as known: while its window grows, the path's
 * capacity; otherwise what the window lets leave, since the first samples of a path
 * without a queue show too much capacity.
 */
static u32 rate_byteps(const struct pams_model *model)
{
	return model->growing && model->limit_byteps != MODEL_RATE_UNKNOWN ?
	       model->limit_byteps : model->rate_byteps;
}

/* The share of the data for paths that cost more than @least, in 1/COST_SHARE_ONE. */
static u32 costly_share(const struct pams_view *view, u32 least, u32 percent)
{
	u64 cheap = 0, all = 0, needed;
	unsigned int i;

	for (i = 0; i < view->nr; i++) {
		const struct pams_model *sub = view->sub[i];

		if (sub->stopped)
			continue;
		all += rate_byteps(sub);
		if (sub->cost == least)
			cheap += rate_byteps(sub);
		else if (sub->growing && sub->limit_byteps == MODEL_RATE_UNKNOWN)
			return COST_SHARE_ONE;
	}
	if (!all)	/* every path is stopped */
		return 0;
	/* fits into 64 bits: 16 rates of 32 bits, times 16 and 10 bits */
	needed = div64_u64(div_u64(cheap * percent, 100) * COST_SHARE_ONE, all);
	return needed < COST_SHARE_ONE ? COST_SHARE_ONE - needed : 0;
}

/* Bring the credit up to date: data sent since the last decision went to the leading
 * subflow, which may be a costlier one.
 */
static void credit_update(const struct pams_view *view, u32 least, u32 percent,
			  struct cost_state *state)
{
	u32 sent = min_t(u32, (u32)view->sent_bytes - state->sent_bytes, PICK_BURST_BYTES);
	s64 credit = state->credit_bytes;
	int lead = pick_index(view, view->state->lead);

	state->sent_bytes = view->sent_bytes;
	credit += (u64)sent * costly_share(view, least, percent) / COST_SHARE_ONE;
	if (lead >= 0 && view->sub[lead]->cost > least)
		credit -= sent;
	state->credit_bytes = clamp_t(s64, credit, -PICK_BURST_BYTES, PICK_BURST_BYTES);
}

/* How much of the waiting data the subflows that are cheaper than @than can't deliver within
 * the span. 0 if one of them could be given something, or if it is less than a packet; U64_MAX if
 * none is cheaper.
 */
static u64 surplus_bytes(const struct pams_view *view, const struct pams_model *than,
			 u64 span_us, u64 waiting)
{
	bool cheaper = false;
	unsigned int i;
	u64 carried = 0;

	for (i = 0; i < view->nr; i++) {
		const struct pams_model *sub = view->sub[i];

		if (sub->stopped || !is_cheaper(sub, than))
			continue;
		cheaper = true;
		if (sub->idle && model_arrival_us(sub, PICK_PACKET_BYTES) <= span_us)
			return 0;
		carried += model_carried_bytes(sub, span_us);
	}
	if (!cheaper)
		return U64_MAX;
	return waiting >= carried + PICK_PACKET_BYTES ? waiting - carried : 0;
}

/* What a costlier subflow may be given, by its owner's overflow. */
static u64 overflow_bytes(const struct pams_view *view, const struct pams_model *sub,
			  const struct cost_overflow *overflow, u64 credit, u64 waiting)
{
	u64 span_us;

	if (overflow->delay_ms)
		return surplus_bytes(view, sub, (u64)overflow->delay_ms * USEC_PER_MSEC, waiting);
	if (!credit)
		return 0;
	span_us = div_u64((u64)model_arrival_us(sub, PICK_PACKET_BYTES) * overflow->percent, 100);
	/* here left_bytes is right: U64_MAX while the application waits to write more */
	return min(credit, surplus_bytes(view, sub, span_us, view->left_bytes));
}

/* Allow costlier paths, and those at risk, only for what the others can't deliver in time. */
static void spare_but(struct pams_view *view, u32 least, const struct cost_overflow *overflow,
		      struct cost_state *state, u64 waiting_bytes)
{
	u64 allowed[PAMS_SUBFLOWS_MAX];
	u64 credit = 0;
	unsigned int i;

	if (!overflow->delay_ms && overflow->percent) {
		credit_update(view, least, overflow->percent, state);
		credit = max(state->credit_bytes, 0);
	}
	for (i = 0; i < view->nr; i++) {
		const struct pams_model *sub = view->sub[i];

		allowed[i] = U64_MAX;
		if (sub->stopped)
			continue;
		if (sub->cost > least)
			allowed[i] = overflow_bytes(view, sub, overflow, credit, waiting_bytes);
		else if (sub->at_risk)
			allowed[i] = surplus_bytes(view, sub, STREAM_LATE_US,
						   view->left_bytes);
	}
	for (i = 0; i < view->nr; i++) {
		struct pams_model *sub = view->sub[i];

		if (allowed[i])
			sub->room_bytes = min_t(u64, sub->room_bytes, allowed[i]);
		else
			model_stop(sub);
	}
}

/**
 * cost_follow - take costlier paths out of a view, by what they may be used for
 * @view:	changed: costlier paths look stopped, or have less room
 * @overflow:	what they may be used for
 * @state:	state between decisions, updated
 * @waiting_bytes: what the application has written and no subflow was given yet
 * @again:	the view is for data that is sent again. For that, and for data that is sent on two
 *		subflows, no path is at risk
 *
 * Return: does any subflow cost more than another one that is alive?
 */
bool cost_follow(struct pams_view *view, const struct cost_overflow *overflow,
		 struct cost_state *state, u64 waiting_bytes, bool again)
{
	bool costly = false, risky = false, twice = again || view->sent_bytes < view->first_bytes;
	u32 least = least_cost(view);
	unsigned int i;

	for (i = 0; i < view->nr; i++) {
		costly |= view->sub[i]->cost > least;
		risky |= view->sub[i]->at_risk;
	}
	if (costly ? overflow->copies && twice : !risky || twice)
		return costly;
	if (again)
		cost_spare(view);
	else
		spare_but(view, least, overflow, state, waiting_bytes);
	return costly;
}
