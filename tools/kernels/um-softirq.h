/* SPDX-License-Identifier: GPL-2.0 */
/* Let virtual time pass when softirqs wait for it. Part of the laboratory's
 * kernel: tools/kernels/um includes it before run_ksoftirqd, which calls it.
 *
 * With time-travel=inf-cpu the clock moves only when the processor is idle. Softirqs
 * that raise each other until time has passed then never end: TCP, with a segment
 * marked lost whose first copy still waits in netem, and netem full, is called
 * back as often as netem drops the next one. A real processor loses some
 * milliseconds that way; here it is the end. So it costs time here, too.
 */
#include <linux/delay.h>
#include <linux/ktime.h>
#include <linux/time-internal.h>

#define UM_ROUNDS	1000	/* at one instant: no honest load has been seen to need them */
#define UM_STEP_US	100	/* a tenth of what one packet takes at 10 Mbit/s */

static void um_let_time_pass(void)
{
	static unsigned int rounds;
	static ktime_t at;
	unsigned long flags;
	ktime_t now;

	if (time_travel_mode != TT_MODE_INFCPU)
		return;

	/* with interrupts off reading the clock does not move it */
	local_irq_save(flags);
	now = ktime_get();
	local_irq_restore(flags);

	if (now != at)
		rounds = 0;
	at = now;
	if (++rounds > UM_ROUNDS)
		udelay(UM_STEP_US);
}
