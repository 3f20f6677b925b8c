/* SPDX-License-Identifier: GPL-2.0 */
/* Units: data that an application says is of use only as a whole; see unit.c. */
#ifndef _MPTCP_PAMS_UNIT_H
#define _MPTCP_PAMS_UNIT_H

#include <linux/types.h>

/**
 * struct unit_marks - where an application's units end
 * @end:	end of the first unit that isn't all sent; low half of a data sequence
 *		number; 0: there is no unit
 * @next:	end of the last unit behind that one; 0: there is none
 */
struct unit_marks {
	u32 end;
	u32 next;
};

void unit_mark(struct unit_marks *marks, u64 write_seq, u64 snd_nxt, u32 bytes);
void unit_follow(struct unit_marks *marks, u64 snd_nxt);
u32 unit_left_bytes(const struct unit_marks *marks, u64 snd_nxt);
u64 unit_unscheduled_bytes(const struct unit_marks *marks, u64 write_seq, u64 snd_nxt,
			   u64 unscheduled_bytes);

#endif /* _MPTCP_PAMS_UNIT_H */
