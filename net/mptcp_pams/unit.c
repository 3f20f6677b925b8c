// SPDX-License-Identifier: GPL-2.0
/* Units: an application says that the next bytes it writes are one unit, of use only as
 * a whole: a segment of video, an answer, a chunk of a file (MPBond, section 4).
 *
 * A scheduler chooses so that all data that is left arrives together. Without units that is
 * what the application wrote: too little while it still writes, and too much when the
 * next unit follows, or when the buffer is full and nobody knows what comes. With
 *
 *   E      data sequence number where the unit ends
 *   S      data sequence number of the first byte that no subflow was given
 *   W      data sequence number behind what the application wrote
 *   A      bytes before S that are to be sent again
 *
 *   left = A + E - S             whether W < E, E < W or the application waits
 *
 * Data written before the unit was marked belongs to no unit, but is sent before it, so it
 * is part of what is left. The end of a unit is kept until all of it was given to
 * subflows. If several units were marked and not sent, only the ends of the first and of
 * the last are kept: those between count as part of the last. While the application hasn't
 * written all of a unit, it may mark anew: that ends the unit, and what is written next is
 * the new unit, or, with 0 bytes, belongs to none.
 *
 * Ends are low halves of data sequence numbers: they are ahead of S by at most a buffer and
 * MPTCP_PAMS_UNIT_MAX_BYTES, 2^30, and are forgotten at the first look after S has
 * passed them.
 *
 * Ignores: that fragments may hold the end of one unit and the beginning of the next one.
 */
#include <linux/limits.h>

#include "unit.h"

/* The low half of a unit's end. 0 means that there is no unit, so an end at 0 is kept as 1. */
static u32 told(u64 end)
{
	return (u32)end ?: 1;
}

static bool is_behind(u32 end, u64 seq)
{
	return (s32)(end - (u32)seq) > 0;
}

/**
 * unit_follow - forget the ends of units that were sent
 * @marks:	the connection's marks, changed
 * @snd_nxt:	data sequence number of the first byte that no subflow was given
 */
void unit_follow(struct unit_marks *marks, u64 snd_nxt)
{
	if (!marks->end || is_behind(marks->end, snd_nxt))
		return;
	marks->end = marks->next && is_behind(marks->next, snd_nxt) ? marks->next : 0;
	marks->next = 0;
}

/**
 * unit_mark - mark the next bytes that the application writes as a unit
 * @marks:	the connection's marks, changed
 * @write_seq:	data sequence number behind what the application wrote
 * @snd_nxt:	data sequence number of the first byte that no subflow was given
 * @bytes:	size of the unit; 0: the next bytes belong to no unit
 */
void unit_mark(struct unit_marks *marks, u64 write_seq, u64 snd_nxt, u32 bytes)
{
	unit_follow(marks, snd_nxt);
	if (is_behind(marks->next, write_seq))
		marks->next = 0;
	if (is_behind(marks->end, write_seq))
		*marks = (struct unit_marks){};
	if (!bytes)
		return;
	if (marks->end)
		marks->next = told(write_seq + bytes);
	else
		marks->end = told(write_seq + bytes);
}

/**
 * unit_left_bytes - new data that is to be sent until the unit is complete
 * @marks:	the connection's marks
 * @snd_nxt:	data sequence number of the first byte that no subflow was given
 *
 * Return: bytes; 0 if there is no unit.
 */
u32 unit_left_bytes(const struct unit_marks *marks, u64 snd_nxt)
{
	return marks->end && is_behind(marks->end, snd_nxt) ?
	       marks->end - (u32)snd_nxt : 0;
}

/**
 * unit_unscheduled_bytes - the data that is left and has to arrive together
 * @marks:	the connection's marks
 * @write_seq:	data sequence number behind what the application wrote
 * @snd_nxt:	data sequence number of the first byte that no subflow was given
 * @unscheduled_bytes: bytes that no subflow was given, or that are to be sent again;
 *		U64_MAX if the application has more than the buffer holds
 *
 * Return: bytes; without a unit @unscheduled_bytes.
 */
u64 unit_unscheduled_bytes(const struct unit_marks *marks, u64 write_seq, u64 snd_nxt,
			   u64 unscheduled_bytes)
{
	u64 left_bytes = unit_left_bytes(marks, snd_nxt);
	u64 new_bytes = write_seq - snd_nxt;

	if (!left_bytes)
		return unscheduled_bytes;
	if (unscheduled_bytes == U64_MAX || unscheduled_bytes <= new_bytes)
		return left_bytes;
	return unscheduled_bytes - new_bytes + left_bytes;
}
