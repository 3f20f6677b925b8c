// SPDX-License-Identifier: GPL-2.0
/*
 * quota - bytes of an interface in a day or month
 *
 * The kernel counts since the interface was made. A counter that is smaller than
 * before, and that of another interface of the same name, began at 0.
 *
 * A period is known by the local date that it begins with, so neither daylight
 * saving nor another time zone begins it twice. When the clock is set back to the
 * period before, the bytes of both are one period's: nobody knows in which of them
 * they were used. When it is set back further, to 1970 where there is no clock yet,
 * the period stays what it was.
 */
#include "caps.h"

#define SLACK_BYTES	1000000
#define LOOK_MIN_MS	10
#define LOOK_MAX_MS	1000
/* Before anything was seen: 100 Mbit/s. */
#define RATE_BYTEPS	12500000

uint64_t counter_take(struct counter *counter, unsigned int ifindex,
		      uint64_t bytes)
{
	bool again = counter->known && (counter->ifindex != ifindex ||
					bytes < counter->bytes);
	uint64_t moved = again ? bytes : counter->known ?
			 bytes - counter->bytes : 0;

	counter->known = true;
	counter->ifindex = ifindex;
	counter->bytes = bytes;
	return moved;
}

static uint32_t date(unsigned int year, unsigned int month, unsigned int day)
{
	return year * 10000 + month * 100 + day;
}

uint32_t period_begin(const struct tm *now, enum period period,
		      unsigned int from_day)
{
	unsigned int year = now->tm_year + 1900, month = now->tm_mon + 1;

	if (period == PERIOD_DAY)
		return date(year, month, now->tm_mday);
	if (now->tm_mday < (int)from_day && --month == 0) {
		month = 12;
		year--;
	}
	return date(year, month, from_day);
}

uint32_t period_end(uint32_t begin, enum period period)
{
	struct tm end = {
		.tm_year = begin / 10000 - 1900,
		.tm_mon = begin / 100 % 100 - 1 + (period == PERIOD_MONTH),
		.tm_mday = begin % 100 + (period == PERIOD_DAY),
		.tm_hour = 12,
	};

	/* the calendar of UTC is the same, and has no hour that isn't there */
	timegm(&end);
	return date(end.tm_year + 1900, end.tm_mon + 1, end.tm_mday);
}

bool usage_turn(struct usage *usage, uint32_t begin)
{
	if (begin == usage->now.begin)
		return false;
	if (begin > usage->now.begin) {
		usage->before = usage->now;
		usage->now = (struct spell){ .begin = begin };
		return true;
	}
	if (!usage->before.begin || begin < usage->before.begin)
		return false;
	usage->now.begin = begin;
	usage->now.used += usage->before.used;
	usage->before = (struct spell){ };
	return true;
}

uint64_t quota_slack(uint64_t quota)
{
	return quota / 100 > SLACK_BYTES ? quota / 100 : SLACK_BYTES;
}

/*
 * A quarter of the slack may pass after the quota until it is seen: what was handed
 * to the path before, and the time to act, take their part.
 */
unsigned int quota_look_ms(uint64_t left, uint64_t slack, uint64_t rate_byteps)
{
	uint64_t rate = rate_byteps > RATE_BYTEPS ? rate_byteps : RATE_BYTEPS;
	double ms = (left + slack / 4.) * 1000 / rate;

	return ms > LOOK_MAX_MS ? LOOK_MAX_MS :
	       ms < LOOK_MIN_MS ? LOOK_MIN_MS : ms;
}
