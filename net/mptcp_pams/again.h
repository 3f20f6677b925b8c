/* SPDX-License-Identifier: GPL-2.0 */
/* Which bytes of a subflow were sent again elsewhere: plain numbers, TCP's sequence
 * numbers of the subflow. They wrap, so two of them compare only while they are less
 * than 2^31 bytes apart: what was acknowledged has to be forgotten (again_forget()).
 */
#ifndef _MPTCP_PAMS_AGAIN_H
#define _MPTCP_PAMS_AGAIN_H

#include <linux/minmax.h>
#include <linux/types.h>

/**
 * struct msk_sent_again - what of a subflow was sent again elsewhere
 * @from:	from here,
 * @to:		up to here; equal: nothing was
 * @lost_from:	of a lost path, while it is under way (@lost): from here,
 * @lost_to:	up to here
 * @lost:	msk_resend_head() has more to do
 * @spent:	nothing was left to be sent again, and since then nothing was acknowledged
 *		or transmitted
 */
struct msk_sent_again {
	u32 from;
	u32 to;
	u32 lost_from;
	u32 lost_to;
	bool lost;
	bool spent;
};

/* A stretch of data on a subflow, in both numberings; ends are exclusive. */
struct msk_range {
	u64 start, end;
	u32 seq, seq_end;
};

static inline bool seq_before(u32 a, u32 b)
{
	return (s32)(a - b) < 0;
}

static inline void range_drop_head(struct msk_range *range, u32 bytes)
{
	range->start += bytes;
	range->seq += bytes;
}

static inline void range_drop_tail(struct msk_range *range, u32 bytes)
{
	range->end -= bytes;
	range->seq_end -= bytes;
}

/* Cut off what lies from @from to @to; false if nothing is left. If that is in the
 * middle, what is before it stays, or with @tail what is behind.
 */
static inline bool range_cut(struct msk_range *range, u32 from, u32 to, bool tail)
{
	if (!seq_before(range->seq, from) && seq_before(range->seq, to)) {
		if (!seq_before(to, range->seq_end))
			return false;
		range_drop_head(range, to - range->seq);
	} else if (seq_before(range->seq, from) && seq_before(from, range->seq_end)) {
		if (tail && seq_before(to, range->seq_end))
			range_drop_head(range, to - range->seq);
		else
			range_drop_tail(range, range->seq_end - from);
	}
	return true;
}

/* Cut off what was sent again before; false if nothing is left. */
static inline bool range_cut_again(struct msk_range *range,
				   const struct msk_sent_again *again, bool tail)
{
	if (again->from != again->to &&
	    !range_cut(range, again->from, again->to, tail))
		return false;
	return !again->lost || again->lost_from == again->lost_to ||
	       range_cut(range, again->lost_from, again->lost_to, tail);
}

/* A subflow was to be given data up to @handed_end: how much more of the @most bytes that
 * follow was it given?
 */
static inline u32 range_excess(u32 write_seq, u32 handed_end, u32 most)
{
	return seq_before(handed_end, write_seq) ? min(write_seq - handed_end, most) : 0;
}

/* Drop what is acknowledged, before sequence numbers wrap around it. */
static inline void again_forget(struct msk_sent_again *again, u32 snd_una)
{
	again->spent = false;
	if (again->from != again->to && !seq_before(snd_una, again->to))
		again->to = again->from;
	if (again->lost && !seq_before(snd_una, again->lost_to)) {
		again->lost_from = snd_una;
		again->lost_to = snd_una;
	}
}

#endif /* _MPTCP_PAMS_AGAIN_H */
