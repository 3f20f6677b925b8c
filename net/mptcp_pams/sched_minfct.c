// SPDX-License-Identifier: GPL-2.0
/* minfct: minimises the time to completion, and aims to be no worse than the best
 * subflow alone.
 *
 *   target = the idle subflow where the next packet arrives first
 *   A(n)   = when n bytes have arrived on the target
 *   n      = the target's room; it is halved as long as the other subflows, busy or idle,
 *            can carry the rest by A(n):
 *
 *     n + sum of carried[i](A(n)) >= min(left, buffer)
 *         over the other subflows i with arrival[i] < A(n)
 *
 *   wait if even a packet is too much: the busy subflows carry all before it arrives.
 *
 * That is PAMS' rule (sched_pams.c) with another model of a subflow (model.c), with an n
 * that lets all subflows end together, and with one more reason to wait: no more data can
 * be under way than the send buffer and the receive window hold. If the faster subflows
 * fill these before the packet arrives, they stand still until the packet does, however much
 * there is to send. For that reason alone no subflow is left out for ever: after a rest it is
 * given a packet, since what keeps it out may be true no more, and nothing else would show that.
 *
 * Any such rule errs, since what a path carries is known only afterwards. So reinjection
 * corrects it: as soon as all data is scheduled, or the receive window is full, and a subflow
 * has room, that subflow is also given the data that would arrive later elsewhere. Then the
 * transfer is no worse off than on that subflow alone, and the others have delivered their part.
 */
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/time64.h>

#include "pick.h"

/* Data is late if the best subflow could carry this many times as much before that data arrives:
 * then the time that is saved is worth the bytes that are sent twice.
 */
#define MINFCT_LATE_TIMES	4
/* At most what the application wrote, divided by this, is sent again for being late; a tenth
 * left the head of a tail out, and with it the whole gain.
 */
#define MINFCT_LATE_SHARE	4

/* How much the faster subflows carry until @bytes have arrived on @target. These are subflows for
 * whose data an acknowledgment will come (@moving), with @idle_too also idle ones.
 */
static u64 minfct_carried(const struct pams_view *view, int target, u32 bytes,
			  bool idle_too)
{
	u32 arrival_us = model_arrival_us(view->sub[target], bytes);
	u64 carried = 0;
	unsigned int i;

	for (i = 0; i < view->nr; i++) {
		const struct pams_model *sub = view->sub[i];

		if (i != target && !sub->stopped &&
		    (sub->moving || (idle_too && sub->idle)) &&
		    sub->pad_ns < (u64)arrival_us * NSEC_PER_USEC)
			carried += model_carried_bytes(sub, arrival_us);
	}
	return carried;
}

static int minfct_pick(const struct pams_sched *sched, const struct pams_view *view, u32 *bytes)
{
	u64 wanted = min(view->left_bytes, view->buffer_bytes);
	int target = pams_lowest_pad(view);
	u64 carried;

	if (target < 0)
		return target;

	*bytes = min_t(u64, view->sub[target]->room_bytes, wanted);
	while (*bytes > PICK_PACKET_BYTES) {
		carried = minfct_carried(view, target, *bytes, true);
		if (!carried || carried + *bytes < wanted)
			return target;
		*bytes /= 2;
	}
	*bytes = max(*bytes, PICK_PACKET_BYTES);
	carried = minfct_carried(view, target, PICK_PACKET_BYTES, false);
	if (!carried || carried < wanted ||
	    (view->sub[target]->rested && carried < view->left_bytes))
		return target;
	return PAMS_PICK_DEFER;
}

/* How long until the last byte that is still needed from this subflow arrives; 0 if none is. Once
 * all data is scheduled, only bytes that weren't sent again elsewhere are needed. With a full
 * receive window all subflows wait for the first missing byte, so everything that this subflow
 * holds counts, unless all of it was sent again.
 */
static u32 minfct_latest_us(const struct pams_view *view, const struct pams_model *sub)
{
	struct pams_model model = *sub;

	if (!sub->once_bytes)
		return 0;
	model_trust_guess(&model);
	return model_held_us(&model, view->unscheduled_bytes ? U32_MAX : sub->once_bytes);
}

/**
 * minfct_late - find the subflow whose data would arrive earlier if it was sent again
 * @sched:		not used
 * @view:		the connection's view
 * @eta_percent:	not used: minfct has MINFCT_LATE_TIMES
 * @bytes:		set to U64_MAX: all data that the subflow holds
 *
 * Return: an index into @sub, or PAMS_PICK_NONE.
 */
static int minfct_late(const struct pams_sched *sched, const struct pams_view *view,
		       u32 eta_percent, u64 *bytes)
{
	int best = pams_lowest_pad(view), latest = PAMS_PICK_NONE;
	u32 latest_us = 0;
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
	if (latest < 0 || model_carried_bytes(view->sub[best], latest_us) <=
			  MINFCT_LATE_TIMES * (u64)view->sub[latest]->once_bytes)
		return PAMS_PICK_NONE;
	return latest;
}

const struct pams_sched pams_sched_minfct = {
	.name		= "minfct",
	.text		= "the least time to completion, by a model of each subflow",
	.pick		= minfct_pick,
	.late		= minfct_late,
	.late_share	= MINFCT_LATE_SHARE,
	.detail		= PAMS_DETAIL_ARRIVAL,
	.window_shift	= 3,	/* 1/8 stays free, see LOOK_WINDOW_SHIFT */
	.cuts		= true,
	.keeps_to_window = true,
	.closely	= true,
	.watches	= true,
	.owns_retransmission = true,
};
