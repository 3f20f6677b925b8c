/* SPDX-License-Identifier: GPL-2.0 */
/* Sets up a timer whose function runs in softirq, on every supported kernel. */
#ifndef _PAMS_COMPAT_HRTIMER_H
#define _PAMS_COMPAT_HRTIMER_H

#include <linux/hrtimer.h>

static inline void
compat_hrtimer_setup_soft(struct hrtimer *timer,
			  enum hrtimer_restart (*function)(struct hrtimer *), clockid_t clock)
{
#ifdef PAMS_HAVE_HRTIMER_SETUP
	hrtimer_setup(timer, function, clock, HRTIMER_MODE_REL_SOFT);
#else	/* goes when 6.12 does */
	hrtimer_init(timer, clock, HRTIMER_MODE_REL_SOFT);
	timer->function = function;
#endif
}

#endif /* _PAMS_COMPAT_HRTIMER_H */
