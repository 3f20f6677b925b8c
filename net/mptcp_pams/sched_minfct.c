// SPDX-License-Identifier: GPL-2.0
/* minfct: minimise the time to completion, and never be worse than the best
 * subflow alone.
 *
 *   target = the idle subflow where the next packet arrives first
 *   A(n)   = when n bytes have arrived there
 *   n      = the room it has, halved while with it there is nothing left to do
 *            for the others, whether they move or could, and while that takes
 *            more than 250 us longer than a packet:
 *
 *     n + sum of carried[i](A(n)) >= min(left, buffer)
 *         over the other subflows i with arrival[i] < A(n)
 *
 *   wait if a packet is too much: those that move carry all until it arrives.
 *
 * That is PAMS' rule (sched_pams.c) with another model of a subflow (model.c), with
 * as much handed over as brings all to an end together, and with one more
 * reason to wait: no more than the send buffer and the receive window hold can be
 * on its way. If the faster subflows fill those before the packet arrives, they
 * stand still until it does, whatever there is to send. But both grow with the round
 * trips of the subflows that carry data, so each gets a first packet as soon as that
 * costs little.
 *
 * Any such rule errs, since what a path carries is known only afterwards. So the
 * last word has reinjection: as soon as all is scheduled, or the buffer is full,
 * and a subflow has room, it is given again what arrives later elsewhere. It
 * is then where it had been alone, but for what the others have delivered.
 */
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/time64.h>

#include "pick.h"

/* What differs by less is noise: eta of PAMS, 20 %. While the window is full and not
 * all is scheduled yet, what is late may be in time for what follows: twice as late.
 */
#define MINFCT_LATE_SHARE	5
#define MINFCT_LATE_TIMES	2
/* A burst that is over in less time isn't divided: that costs more decisions than it
 * gains.
 */
#define MINFCT_BURST_US		250U
/* What the others stand still for is at most this part of what was sent. */
#define MINFCT_TRY_SHARE	16

/* What the subflows that are faster carry until @bytes have arrived on @target: those
 * that move, or also those that can be made to; and those that are expected to join.
 */
static u64 minfct_carried(const struct pams_view *view, int target, u32 bytes,
			  bool idle_too)
{
	u32 arrival_us = model_arrival_us(view->sub[target], bytes);
	u64 carried = 0;
	unsigned int i;

	for (i = 0; i < view->nr + view->nr_expected; i++) {
		const struct pams_model *sub = view->sub[i];

		if (i != target && !sub->stopped &&
		    (sub->moving || (idle_too && sub->idle)) &&
		    sub->pad_ns < (u64)arrival_us * NSEC_PER_USEC)
			carried += model_carried_bytes(sub, arrival_us);
	}
	return carried;
}

/* A first packet there, though the others, which carry so much until it arrives, will
 * have filled the buffer: does it cost little?
 */
static bool minfct_tries(const struct pams_view *view, int target, u64 carried)
{
	return view->sub[target]->untried && carried < view->left_bytes &&
	       carried - view->buffer_bytes <= view->sent_bytes / MINFCT_TRY_SHARE;
}

/* Does it take so long that a part of it on another subflow could gain something? */
static bool minfct_divides(const struct pams_model *target, u32 bytes)
{
	return bytes > PICK_PACKET_BYTES &&
	       (u64)model_arrival_us(target, bytes) * NSEC_PER_USEC >
	       target->pad_ns + MINFCT_BURST_US * NSEC_PER_USEC;
}

static int minfct_pick(const struct pams_view *view, u32 *bytes)
{
	u64 wanted = min(view->left_bytes, view->buffer_bytes);
	int target = pams_lowest_pad(view);
	u64 carried;

	if (target < 0)
		return target;

	*bytes = min_t(u64, view->sub[target]->room_bytes, wanted);
	while (minfct_divides(view->sub[target], *bytes)) {
		carried = minfct_carried(view, target, *bytes, true);
		if (!carried || carried + *bytes < wanted)
			return target;
		*bytes /= 2;
	}
	*bytes = max(*bytes, PICK_PACKET_BYTES);
	carried = minfct_carried(view, target, PICK_PACKET_BYTES, false);
	if (!carried || carried < wanted || minfct_tries(view, target, carried))
		return target;
	return PAMS_PICK_DEFER;
}

/* The idle subflow where a packet arrives first, and when. Of one that doesn't
 * answer nobody knows.
 */
static int minfct_best(const struct pams_view *view, u32 *best_us)
{
	int best = PAMS_PICK_NONE;
	unsigned int i;

	for (i = 0; i < view->nr; i++) {
		const struct pams_model *sub = view->sub[i];
		u32 us;

		if (!sub->idle || (model_overdue_us(sub) && !sub->alone))
			continue;
		us = model_arrival_us(sub, PICK_PACKET_BYTES);
		if (best < 0 || us < *best_us) {
			best = i;
			*best_us = us;
		}
	}
	return best;
}

/* When the last of what is waited for arrives there: at the end, what wasn't sent again
 * elsewhere. Under a full window it is the first byte that everybody waits for, so all
 * of it is late, unless all of it was sent again.
 */
static u32 minfct_latest_us(const struct pams_view *view, const struct pams_model *sub)
{
	u32 once = view->unscheduled_bytes ? U32_MAX : sub->once_bytes;
	struct pams_model model = *sub;

	if (!sub->once_bytes)
		return 0;
	model_trust_guess(&model);
	model.flight_bytes = min(model.flight_bytes, once);
	model.backlog_bytes = min(model.backlog_bytes, once - model.flight_bytes);
	model.pipe_backlog_bytes = min(model.pipe_backlog_bytes, once);
	return model_arrival_us(&model, 0) + model_overdue_us(&model);
}

/**
 * minfct_late - whose data would arrive earlier if it was sent again?
 * @view:		of now
 * @eta_percent:	not used: minfct has a share of its own
 * @bytes:		all of it
 *
 * A subflow whose acknowledgments are overdue is expected to stay silent for as
 * long again.
 *
 * Return: an index into @sub, or PAMS_PICK_NONE.
 */
static int minfct_late(const struct pams_view *view, u32 eta_percent, u64 *bytes)
{
	u32 best_us = 0, latest_us = 0, late_us;
	int best = minfct_best(view, &best_us);
	int latest = PAMS_PICK_NONE;
	unsigned int i;

	*bytes = U64_MAX;
	for (i = 0; best >= 0 && i < view->nr; i++) {
		u32 us;

		if (i == best || !view->sub[i]->outstanding)
			continue;
		us = minfct_latest_us(view, view->sub[i]);
		if (us <= latest_us)
			continue;
		latest_us = us;
		latest = i;
	}
	late_us = view->left_bytes ? MINFCT_LATE_TIMES * best_us :
				     best_us + best_us / MINFCT_LATE_SHARE;
	return latest_us > late_us ? latest : PAMS_PICK_NONE;
}

const struct pams_sched pams_sched_minfct = {
	.name		= "minfct",
	.pick		= minfct_pick,
	.late		= minfct_late,
	.detail		= PAMS_DETAIL_ARRIVAL,
	.window_shift	= 3,
	.cuts		= true,
	.keeps_to_window = true,
	.closely	= true,
	.watches	= true,
	.owns_retransmission = true,
};
