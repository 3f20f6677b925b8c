/* SPDX-License-Identifier: GPL-2.0 */
/* Units: what an application says is complete only as a whole; see unit.c. */
#ifndef _MPTCP_PAMS_UNIT_H
#define _MPTCP_PAMS_UNIT_H

#include <linux/types.h>

/**
 * struct unit_marks - where an application's units end; 0: there is none
 * @end:	of the first one that wasn't sent yet; low half of a data sequence number
 * @next:	of the last one behind it
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
