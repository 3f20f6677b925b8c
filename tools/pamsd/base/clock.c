// SPDX-License-Identifier: GPL-2.0
/*
 * clock - the time since boot, token buckets, and whether the wall clock is synchronised
 */
#include <sys/timex.h>
#include <time.h>

#include "base.h"

#define US_PER_S	1000000ULL

uint64_t now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_BOOTTIME, &ts);
	return ts.tv_sec * US_PER_S + ts.tv_nsec / 1000;
}

uint64_t now_ms(void)
{
	return now_us() / 1000;
}

bool clock_read(time_t *seconds)
{
	struct timex timex = { };
	int state = adjtimex(&timex);

	*seconds = state < 0 ? time(NULL) : timex.time.tv_sec;
	return state >= 0 && state != TIME_ERROR &&
	       !(timex.status & STA_UNSYNC);
}

/* Take one event's tokens if there are enough. A new bucket is full. */
bool bucket_take(struct bucket *bucket, unsigned int rate_ps,
		 unsigned int burst, uint64_t us)
{
	uint64_t cost_us = US_PER_S / rate_ps, full_us = burst * cost_us;

	if (!bucket->filled_us || us - bucket->filled_us > full_us)
		bucket->tokens_us = full_us;
	else
		bucket->tokens_us += us - bucket->filled_us;
	if (bucket->tokens_us > full_us)
		bucket->tokens_us = full_us;
	bucket->filled_us = us;
	if (bucket->tokens_us < cost_us)
		return false;
	bucket->tokens_us -= cost_us;
	return true;
}
