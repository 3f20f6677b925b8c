/* SPDX-License-Identifier: GPL-2.0 */
/* Which bytes of a subflow were sent again elsewhere, in the subflow's TCP sequence numbers.
 * Two such numbers can be compared only while they are less than 2^31 bytes apart, so ranges
 * that are acknowledged have to be forgotten (again_forget()).
 */
#ifndef _MPTCP_PAMS_AGAIN_H
#define _MPTCP_PAMS_AGAIN_H

#include <linux/minmax.h>
#include <linux/types.h>

/**
 * struct msk_sent_again - the data of a subflow that was sent again elsewhere
 * @from:	first byte of the range that was sent again
 * @to:		end of that range, exclusive; equal to @from: there is none
 * @lost_from:	while @lost: first byte of the range that was sent again since the path was
 *		lost
 * @lost_to:	end of that range, exclusive
 * @lost:	a lost path's data is being sent again: msk_resend_head() has more to do
 * @sacked:	while @lost: SACKed data is being sent again; the rest was sent again before
 * @passed_over: the last pass left out SACKed data
 * @spent:	a search found nothing left to send again, and TCP has acknowledged and
 *		transmitted nothing since
 * @stale:	the kernel has marked the subflow as stale, and made its data pending again
 */
struct msk_sent_again {
	u32 from;
	u32 to;
	u32 lost_from;
	u32 lost_to;
	u8 lost:1;
	u8 sacked:1;
	u8 passed_over:1;
	u8 spent:1;
	u8 stale:1;
};

/* A range of data on a subflow, as data sequence numbers (@start, @end) and as TCP's (@seq,
 * @seq_end); ends are exclusive.
 */
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

/* Cut the bytes from @from to @to out of a range; false if nothing is left of it. If they
 * are in the middle, the part before them stays, or with @tail the part behind them.
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

/* Cut the bytes that were sent again out of a range; false if nothing is left of it. */
static inline bool range_cut_again(struct msk_range *range,
				   const struct msk_sent_again *again, bool tail)
{
	if (again->from != again->to &&
	    !range_cut(range, again->from, again->to, tail))
		return false;
	return !again->lost || again->lost_from == again->lost_to ||
	       range_cut(range, again->lost_from, again->lost_to, tail);
}

/* How many bytes behind @handed_end, up to @most, a subflow was given in excess. */
static inline u32 range_excess(u32 write_seq, u32 handed_end, u32 most)
{
	return seq_before(handed_end, write_seq) ? min(write_seq - handed_end, most) : 0;
}

/* Forget ranges that are acknowledged, before the sequence numbers wrap around to them. */
static inline void again_forget(struct msk_sent_again *again, u32 snd_una)
{
	again->spent = false;
	if (again->from != again->to && !seq_before(snd_una, again->to))
		again->to = again->from;
	again->passed_over &= again->from != again->to || again->lost;
	if (again->lost && !seq_before(snd_una, again->lost_to)) {
		again->lost_from = snd_una;
		again->lost_to = snd_una;
	}
}

#endif /* _MPTCP_PAMS_AGAIN_H */
