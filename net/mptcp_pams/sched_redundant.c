// SPDX-License-Identifier: GPL-2.0
/* redundant: sends the first bytes of a connection, or all, on two paths.
 *
 *   new data    goes to the idle subflow with the lowest PAD, which leads
 *   its copy    goes to the best other subflow, in order, as far as that has room:
 *
 *     from   the end of the last copy, or the first unacknowledged byte if that is later
 *     to     the end of what was sent
 *
 * Data that is acknowledged before its turn comes isn't copied: it has arrived. And only
 * as much is copied as the subflow has room for, so hardly anything waits in a subflow's queue,
 * where it can't be recalled. So a slower path holds up nothing: a bulk transfer takes as long
 * as over the faster path alone, and costs in addition the bytes that the slower path really
 * carries.
 *
 * Another subflow may lead as soon as everything was copied, or if the leading one is lost:
 * then the data that only the lost one was given is copied first. So no data is on a lost
 * path alone, and resend.c doesn't have to send lost data again.
 *
 * After the first bytes new data is scheduled as by pams (sched_pams.c).
 *
 * Ignores: that a copy takes capacity from other connections on that path.
 */
#include <linux/minmax.h>

#include "pick.h"

/* How many bytes were sent on the leading subflow alone and aren't acknowledged. */
static u32 redundant_alone(const struct pams_view *view)
{
	struct pick_state *state = view->state;

	if ((s32)(view->snd_una - state->copied) > 0)
		state->copied = view->snd_una;
	return view->snd_nxt - state->copied;
}

/* How many of the bytes that redundant_alone() counts are to be copied. */
static u32 redundant_left(const struct pams_view *view)
{
	u32 alone = redundant_alone(view);
	u64 copied = view->sent_bytes - alone;

	return copied < view->first_bytes ?
	       min_t(u64, alone, view->first_bytes - copied) : 0;
}

static bool redundant_is_alive(const struct pams_view *view, int i)
{
	return i >= 0 && !view->sub[i]->stopped;
}

/* The subflow that copies go to, or PAMS_PICK_NONE. It stays the same while its path is alive.
 * When another subflow takes its place, copying begins anew at the first unacknowledged byte.
 */
static int redundant_other(const struct pams_view *view, int lead)
{
	struct pick_state *state = view->state;
	int other = pick_index(view, state->other);
	unsigned int i;

	if (other != lead && redundant_is_alive(view, other))
		return other;

	other = PAMS_PICK_NONE;
	for (i = 0; i < view->nr; i++) {
		if (i != lead && redundant_is_alive(view, i) &&
		    (other < 0 || view->sub[i]->pad_ns < view->sub[other]->pad_ns))
			other = i;
	}
	if (state->other)
		state->copied = view->snd_una;
	state->other = other < 0 ? 0 : view->sub[other]->id;
	return other;
}

static int redundant_pick(const struct pams_sched *sched, const struct pams_view *view, u32 *bytes)
{
	int lead = pick_index(view, view->state->lead);

	if (!redundant_left(view)) {
		view->state->other = 0;
		if (view->sent_bytes < view->first_bytes)
			return pams_lowest_pad(view);
		return pams_sched_pams.pick(&pams_sched_pams, view, bytes);
	}
	if (redundant_is_alive(view, lead))
		return view->sub[lead]->idle ? lead : PAMS_PICK_NONE;
	/* the copy goes first, if there is a subflow to take it */
	return redundant_other(view, lead) < 0 ? pams_lowest_pad(view) : PAMS_PICK_NONE;
}

static int redundant_copy(const struct pams_view *view, u32 *bytes)
{
	int lead = pick_index(view, view->state->lead);
	u32 left = redundant_left(view);
	int other;

	if (!left)
		return PAMS_PICK_NONE;
	other = redundant_other(view, lead);
	if (other < 0 || !view->sub[other]->idle)
		return PAMS_PICK_NONE;
	*bytes = redundant_left(view);
	return other;
}

/* Data that is sent on two subflows is never late. */
static int redundant_late(const struct pams_sched *sched, const struct pams_view *view,
			  u32 eta_percent, u64 *bytes)
{
	return view->sent_bytes <= view->first_bytes ? PAMS_PICK_NONE :
	       pams_sched_pams.late(&pams_sched_pams, view, eta_percent, bytes);
}

const struct pams_sched pams_sched_redundant = {
	.name		= "redundant",
	.text		= "everything, or the first bytes, on two paths",
	.pick		= redundant_pick,
	.copy		= redundant_copy,
	.late		= redundant_late,
	.late_share	= PICK_LATE_SHARE,
	.detail		= PAMS_DETAIL_PAD,
	.closely	= true,
	.watches	= true,
};
