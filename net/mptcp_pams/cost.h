/* SPDX-License-Identifier: GPL-2.0 */
/* What costlier paths are used for; see cost.c. */
#ifndef _MPTCP_PAMS_COST_H
#define _MPTCP_PAMS_COST_H

#include <linux/types.h>

struct pams_view;

/**
 * struct cost_overflow - what a path may be used for while one of less cost lives
 * @delay_ms:	what the cheaper ones would deliver later than that; 0: see @percent
 * @percent:	what the time to completion would be longer for than so many percent of
 *		that over all paths, at least 100; 0: nothing
 * @copies:	what is sent a second time, too
 * @said:	by a rule; else the sysctls count
 */
struct cost_overflow {
	u32 delay_ms;
	u16 percent;
	bool copies;
	bool said;
};

/**
 * struct cost_state - what is remembered between decisions, of a factor; 0 at first
 * @sent_bytes:	of the connection, at the last one; modulo 2^32
 * @credit_bytes: what the costlier paths may be given now
 */
struct cost_state {
	u32 sent_bytes;
	s32 credit_bytes;
};

bool cost_differs(const struct pams_view *view);
void cost_spare(struct pams_view *view);
void cost_spare_but(struct pams_view *view, const struct cost_overflow *overflow,
		    struct cost_state *state, u64 waiting_bytes);

#endif /* _MPTCP_PAMS_COST_H */
