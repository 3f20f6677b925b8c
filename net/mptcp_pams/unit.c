// SPDX-License-Identifier: GPL-2.0
/* Units: an application says that the next bytes it writes are one unit, of use only as
 * a whole: a segment of video, an answer, a chunk of a file (MPBond, section 4).
 *
 * A scheduler chooses so that what is left arrives together. Without units what is left
 * is what the application wrote: too little while it still writes, and too much when the
 * next unit follows, or when the buffer is full and nobody knows what comes. With
 *
 *   E      data sequence number where the unit ends
 *   S, W   where new data begins that no subflow was given; behind what was written
 *   A      what is to be sent again, before S
 *
 *   left = A + E - S             whether W < E, E < W or the application waits
 *
 * What was written before the unit was marked belongs to none; it goes before the unit,
 * so it is part of what is left. The end of a unit is known until all of it was given to
 * subflows. Of several units that were marked and not sent the ends of the first and of
 * the last are known: those between them belong to the last. Where a unit ends that the
 * application hasn't written completely, it may say anew; what it writes next then is the
 * new unit, or, with 0 bytes, none.
 *
 * Ends are low halves of data sequence numbers: at most a buffer and
 * MPTCP_PAMS_UNIT_MAX_BYTES, 2^30, ahead of S, and forgotten with the first look
 * after they were passed.
 *
 * Ignores: that fragments may hold the end of one unit and the beginning of the next one.
 */
#include <linux/limits.h>

#include "unit.h"

/* An end that falls on the number that says none is told one byte late. */
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
 * @marks:	written
 * @snd_nxt:	behind what was sent
 */
void unit_follow(struct unit_marks *marks, u64 snd_nxt)
{
	if (!marks->end || is_behind(marks->end, snd_nxt))
		return;
	marks->end = marks->next && is_behind(marks->next, snd_nxt) ? marks->next : 0;
	marks->next = 0;
}

/**
 * unit_mark - the application says what the next bytes are
 * @marks:	written
 * @write_seq:	behind what it wrote
 * @snd_nxt:	behind what was sent
 * @bytes:	that it writes next and that are one unit; 0: no unit
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
 * unit_left_bytes - what is to be sent until the unit is complete
 * @marks:	of the connection
 * @snd_nxt:	behind what was sent
 *
 * Return: 0 if there is no unit.
 */
u32 unit_left_bytes(const struct unit_marks *marks, u64 snd_nxt)
{
	return marks->end && is_behind(marks->end, snd_nxt) ?
	       marks->end - (u32)snd_nxt : 0;
}

/**
 * unit_unscheduled_bytes - what is left and has to arrive together
 * @marks:	of the connection
 * @write_seq:	behind what the application wrote
 * @snd_nxt:	behind what was sent
 * @unscheduled_bytes: what no subflow was given, or is to be sent again; U64_MAX if the
 *		application has more than the buffer holds
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
