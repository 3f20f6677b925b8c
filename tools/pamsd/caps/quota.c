// SPDX-License-Identifier: GPL-2.0
/*
 * quota - the bytes that an interface has used in a day or month
 *
 * The kernel counts since the interface was created. A counter that is smaller than
 * before, or that belongs to another interface of the same name, has begun at 0.
 *
 * A period is identified by its first day in local time, so neither daylight saving
 * nor a change of the time zone begins it twice. When the clock is set back to the
 * previous period, the bytes of both periods are added up, since nobody knows in which
 * of them they were used. When the clock is set back further, as to 1970 on a machine
 * whose clock isn't set yet, the period stays the same.
 *
 * A clock that the kernel calls synchronised is trusted more. What it has begun no other
 * clock ends by going back, as after a boot with yesterday's date. If the current period
 * begins later than that clock says, a clock that was ahead has begun it: the right
 * period replaces it, with the bytes counted since. And when a clock becomes
 * synchronised, its date may have been set: a period that only an unsynchronised clock
 * has seen doesn't count as ended then.
 */
#include "cap.h"

#define SLACK_BYTES	1000000
#define LOOK_MIN_MS	10
#define LOOK_MAX_MS	1000
/* The rate that is assumed at least: 100 Mbit/s. */
#define RATE_BYTEPS	12500000
/* A clock with an earlier date was never set: pamsd didn't exist then. */
#define FIRST_DAY	20200101

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

	/* UTC has the same calendar, without hours that daylight saving skips */
	timegm(&end);
	return date(end.tm_year + 1900, end.tm_mon + 1, end.tm_mday);
}

bool is_date(uint32_t begin)
{
	struct tm day = {
		.tm_year = begin / 10000 - 1900,
		.tm_mon = begin / 100 % 100 - 1,
		.tm_mday = begin % 100,
		.tm_hour = 12,
	};

	/* timegm() turns a month or day that doesn't exist into another date */
	timegm(&day);
	return begin / 10000 >= 1900 && begin / 10000 <= 9999 &&
	       date(day.tm_year + 1900, day.tm_mon + 1, day.tm_mday) == begin;
}

/* The clock is in a later period: has the current one ended, or was the clock just set? */
static bool has_ended(const struct usage *usage, bool synced)
{
	return usage->now.begin >= FIRST_DAY && (usage->synced || !synced);
}

/* Is the clock synchronised, or set back to the previous period, and was no better one seen? */
static bool may_go_back(const struct usage *usage, uint32_t begin, bool synced)
{
	return synced ||
	       (!usage->synced && usage->before.begin && begin >= usage->before.begin);
}

bool usage_turn(struct usage *usage, uint32_t begin, bool synced)
{
	if (begin == usage->now.begin) {
		usage->synced |= synced;
		return false;
	}
	if (begin > usage->now.begin) {
		usage->unknown = usage->unknown && !has_ended(usage, synced);
		usage->before = usage->now;
		usage->now = (struct spell){ .begin = begin };
		usage->synced = synced;
		return true;
	}
	if (!may_go_back(usage, begin, synced))
		return false;
	usage->now.begin = begin;
	usage->synced = synced;
	/* the previous period ended before this one, so its bytes don't count */
	if (synced && usage->before.begin < begin)
		return true;
	usage->now.used += usage->before.used;
	usage->before = (struct spell){ };
	return true;
}

uint64_t quota_slack(uint64_t quota)
{
	return quota / 100 > SLACK_BYTES ? quota / 100 : SLACK_BYTES;
}

/*
 * Until the counter shows that the quota is used up, a quarter of the slack may be exceeded.
 * The rest is for bytes that were already handed to the path, and for the time to act.
 */
unsigned int quota_look_ms(uint64_t left, uint64_t slack, uint64_t rate_byteps)
{
	uint64_t rate = rate_byteps > RATE_BYTEPS ? rate_byteps : RATE_BYTEPS;
	double ms = (left + slack / 4.) * 1000 / rate;

	return ms > LOOK_MAX_MS ? LOOK_MAX_MS :
	       ms < LOOK_MIN_MS ? LOOK_MIN_MS : ms;
}
