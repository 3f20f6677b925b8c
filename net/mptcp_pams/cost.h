/* SPDX-License-Identifier: GPL-2.0 */
/* What costlier paths are used for; see cost.c. */
#ifndef _MPTCP_PAMS_COST_H
#define _MPTCP_PAMS_COST_H

#include <linux/types.h>

struct pams_view;

/**
 * struct cost_overflow - what a costlier path may be used for while a cheaper one is alive
 * @delay_ms:	for data that the cheaper paths would deliver later than this; 0: see
 *		@percent
 * @percent:	so that the time to completion is at most this much, 100 or more, of that
 *		over all paths; 0: for nothing
 * @copies:	also for data that is sent a second time
 * @said:	a rule sets the above; otherwise the sysctls count
 */
struct cost_overflow {
	u32 delay_ms;
	u16 percent;
	bool copies;
	bool said;
};

/**
 * struct cost_state - state between decisions, for an overflow in percent; 0 at first
 * @sent_bytes:	bytes that the connection had sent at the last decision; modulo 2^32
 * @credit_bytes: bytes that costlier paths may be given now; negative: above their share
 */
struct cost_state {
	u32 sent_bytes;
	s32 credit_bytes;
};

void cost_spare(struct pams_view *view);
bool cost_follow(struct pams_view *view, const struct cost_overflow *overflow,
		 struct cost_state *state, u64 waiting_bytes, bool again);

#endif /* _MPTCP_PAMS_COST_H */
