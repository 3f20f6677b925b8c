// SPDX-License-Identifier: GPL-2.0
/*
 * quotas - tests of what counts bytes of a day or month: counters, calendars, clocks that
 * are set, looks that come in time; and of the file that keeps it
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <jansson.h>

#include "caps/cap.h"
#include "tap.h"

#define MB	1000000ULL
#define NOBODY	65534

static void first_sight_is_no_use(void)
{
	struct counter counter = { };

	check(counter_take(&counter, 3, 500) == 0);
	check(counter_take(&counter, 3, 700) == 200);
	check(counter_take(&counter, 3, 700) == 0);
}

static void counter_that_goes_back(void)
{
	struct counter counter = { };

	counter_take(&counter, 3, 5000);
	check(counter_take(&counter, 3, 40) == 40);
	check(counter_take(&counter, 3, 50) == 10);
}

static void another_interface_of_that_name(void)
{
	struct counter counter = { };

	counter_take(&counter, 3, 5000);
	check(counter_take(&counter, 7, 9000) == 9000);
	check(counter_take(&counter, 7, 9001) == 1);
	/* as after a reboot */
	counter.ifindex = 0;
	counter.bytes = 0;
	check(counter_take(&counter, 7, 9001) == 9001);
}

static uint32_t begin_at(const char *zone, time_t seconds, enum period period,
			 unsigned int from_day)
{
	struct tm now;

	setenv("TZ", zone, 1);
	tzset();
	localtime_r(&seconds, &now);
	return period_begin(&now, period, from_day);
}

static void months_begin(void)
{
	/* 2026-12-31 23:59:59 and a second later, 2027-03-01, 2028-02-29 */
	check(begin_at("UTC", 1798761599, PERIOD_MONTH, 1) == 20261201);
	check(begin_at("UTC", 1798761600, PERIOD_MONTH, 1) == 20270101);
	check(begin_at("UTC", 1798761600, PERIOD_MONTH, 28) == 20261228);
	check(begin_at("UTC", 1798761600, PERIOD_MONTH, 2) == 20261202);
	check(begin_at("UTC", 1835395200, PERIOD_MONTH, 28) == 20280228);
	check(begin_at("UTC", 1835395200, PERIOD_DAY, 1) == 20280229);
}

static void periods_end(void)
{
	check(period_end(20261201, PERIOD_MONTH) == 20270101);
	check(period_end(20261228, PERIOD_MONTH) == 20270128);
	check(period_end(20261231, PERIOD_DAY) == 20270101);
	check(period_end(20280228, PERIOD_DAY) == 20280229);
	check(period_end(20270228, PERIOD_DAY) == 20270301);
}

/* Each second of the nights in which clocks are changed belongs to one day. */
static void daylight_saving(void)
{
	const char *zone = "CET-1CEST,M3.5.0,M10.5.0/3";
	const time_t nights[] = { 1774652400, 1792796400 };
	unsigned int changes = 0;
	uint32_t day, last = 0;

	/* 2026-03-28 0:00 on and 2026-10-24 1:00 on, for two days */
	for (unsigned int i = 0; i < ARRAY_SIZE(nights); i++) {
		last = 0;
		for (time_t at = nights[i]; at < nights[i] + 172800; at += 60) {
			day = begin_at(zone, at, PERIOD_DAY, 1);
			check(day >= last);
			changes += last && day != last;
			last = day;
		}
	}
	check(changes == 4 || changes == 3);
}

/* To the east the day begins earlier, to the west it isn't begun a second time. */
static void another_time_zone(void)
{
	struct usage usage = { };
	time_t noon = 1795348800;	/* 2026-11-22 12:00 UTC */

	usage_turn(&usage, begin_at("UTC", noon, PERIOD_DAY, 1), false);
	usage.now.used = 5;
	check(!usage_turn(&usage, begin_at("EST5", noon, PERIOD_DAY, 1), false));
	check(usage.now.used == 5);
	/* in the east it is tomorrow, and back in the west today */
	check(usage_turn(&usage, begin_at("NZDT-13", noon, PERIOD_DAY, 1),
			 false));
	usage.now.used = 2;
	usage_turn(&usage, begin_at("EST5", noon, PERIOD_DAY, 1), false);
	check(usage.now.begin == 20261122 && usage.now.used == 7);
}

static void new_period_is_empty(void)
{
	struct usage usage = { };

	check(usage_turn(&usage, 20261101, false));
	usage.now.used = 7;
	check(!usage_turn(&usage, 20261101, false));
	check(usage.now.used == 7);
	check(usage_turn(&usage, 20261201, false));
	check(usage.now.used == 0 && usage.now.begin == 20261201);
}

/* Ahead by mistake, and put right: nothing of the day is forgotten. */
static void clock_ahead_and_back(void)
{
	struct usage usage = { .now = { 20261122, 100 } };

	usage_turn(&usage, 20990101, false);
	usage.now.used += 5;
	usage_turn(&usage, 20261122, false);
	check(usage.now.begin == 20261122 && usage.now.used == 105);
	usage_turn(&usage, 20261123, false);
	check(usage.now.used == 0);
}

/* A machine without a clock begins in 1970 and then learns what time it is. */
static void clock_of_1970(void)
{
	struct usage usage = { .now = { 20261122, 100 } };

	check(!usage_turn(&usage, 19700101, false));
	usage.now.used += 5;
	check(!usage_turn(&usage, 20261122, false));
	check(usage.now.begin == 20261122 && usage.now.used == 105);
	usage.before = (struct spell){ 20261121, 50 };
	usage_turn(&usage, 19700101, false);
	check(usage.now.used == 105);
}

/* Nothing is forgotten that was counted ahead of time; a synchronised clock knows the date. */
static void period_begun_ahead_of_time(void)
{
	struct usage usage = { };

	usage_turn(&usage, 20990101, false);
	usage.now.used = 5;
	check(usage_turn(&usage, 20261101, true));
	check(usage.now.begin == 20261101 && usage.now.used == 5);
	check(!usage.before.begin && !usage.before.used);
	check(!usage_turn(&usage, 20261101, true));
	check(usage_turn(&usage, 20261201, true));
	check(usage.now.used == 0 && usage.before.used == 5);
	/* two in a row were, as after two starts with other dates */
	usage = (struct usage){ .now = { 20990101, 5 },
				.before = { 20970101, 3 } };
	check(usage_turn(&usage, 20261101, true));
	check(usage.now.begin == 20261101 && usage.now.used == 8);
	check(!usage.before.begin);
	/* what was used in a month that is over isn't used in this one */
	usage = (struct usage){ .now = { 20990101, 5 },
				.before = { 20261001, 100 } };
	check(usage_turn(&usage, 20261101, true));
	check(usage.now.begin == 20261101 && usage.now.used == 5);
	check(usage.before.begin == 20261001 && usage.before.used == 100);
}

/* Which of the two dates is right can't be known. */
static void ahead_of_time_unsynchronised(void)
{
	struct usage usage = { };

	usage_turn(&usage, 20990101, false);
	usage.now.used = 5;
	check(!usage_turn(&usage, 20261101, false));
	check(!usage_turn(&usage, 20261201, false));
	check(usage.now.begin == 20990101 && usage.now.used == 5);
	/* nor is it when it was synchronised once, and isn't any more */
	usage = (struct usage){ .now = { 20990101, 5 }, .synced = true };
	check(!usage_turn(&usage, 20261101, false));
	check(usage.now.begin == 20990101);
}

/* A boot with yesterday's clock, before it is synchronised: today's bytes stay today's. */
static void boots_with_yesterdays_clock(void)
{
	struct usage usage = { .now = { 20261122, 100 }, .before = { 20261121, 50 },
			       .synced = true };

	check(!usage_turn(&usage, 20261121, false));
	usage.now.used += 5;
	check(!usage_turn(&usage, 20261122, true));
	check(usage.now.begin == 20261122 && usage.now.used == 105);
	check(usage_turn(&usage, 20261123, true));
	check(usage.now.used == 0);
}

/* A file that can't be read: used up until a period has ended, and 1970 is none. */
static void unknown_until_a_period_ends(void)
{
	struct usage usage = { .unknown = true };

	/* the clock runs on, and nothing synchronises it */
	usage_turn(&usage, 20261101, false);
	check(usage.unknown);
	usage_turn(&usage, 20261201, false);
	check(!usage.unknown);
	/* it is set, by hand */
	usage = (struct usage){ .unknown = true };
	usage_turn(&usage, 19700101, false);
	usage_turn(&usage, 20261101, false);
	check(usage.unknown);
	usage_turn(&usage, 20261201, false);
	check(!usage.unknown);
	/* it is synchronised, from the date of the last shutdown on */
	usage = (struct usage){ .unknown = true };
	usage_turn(&usage, 20261001, false);
	usage_turn(&usage, 20261101, true);
	check(usage.unknown);
	usage_turn(&usage, 20261201, true);
	check(!usage.unknown);
	/* it is in the same period that it is synchronised */
	usage = (struct usage){ .unknown = true };
	usage_turn(&usage, 20261101, false);
	usage_turn(&usage, 20261101, true);
	usage_turn(&usage, 20261201, false);
	check(!usage.unknown);
	/* it was ahead */
	usage = (struct usage){ .unknown = true };
	usage_turn(&usage, 20990101, false);
	usage_turn(&usage, 20261101, true);
	check(usage.unknown && usage.now.begin == 20261101);
}

static void dates_are_dates(void)
{
	const uint32_t good[] = { 19691231, 19700101, 20261122, 20280229, 20990101 };
	const uint32_t bad[] = { 0, 5, 1970, 20261301, 20260001, 20261100, 20261132,
				 20270229, 20261131, UINT32_MAX };

	for (unsigned int i = 0; i < ARRAY_SIZE(good); i++)
		check(is_date(good[i]));
	for (unsigned int i = 0; i < ARRAY_SIZE(bad); i++)
		check(!is_date(bad[i]));
}

static void slack_is_the_larger(void)
{
	check(quota_slack(5 * MB) == MB);
	check(quota_slack(100 * MB) == MB);
	check(quota_slack(2000 * MB) == 20 * MB);
}

/* At any rate up to the highest that was seen the last look comes within the slack. */
static void looks_come_in_time(void)
{
	const uint64_t rates[] = { 1, 20000, MB, 12 * MB, 90 * MB, 95 * MB };

	for (unsigned int i = 0; i < ARRAY_SIZE(rates); i++) {
		for (uint64_t quota = MB; quota <= 100000 * MB; quota *= 10) {
			uint64_t used = 0, ms = 0;

			if (quota / rates[i] > 1000000)
				continue;
			while (used < quota) {
				unsigned int wait =
					quota_look_ms(quota - used,
						      quota_slack(quota), rates[i]);

				check(wait >= 10 && wait <= 1000);
				ms += wait;
				used = ms * rates[i] / 1000;
			}
			if (!check(used - quota <= quota_slack(quota)))
				printf("# %llu of %llu at %llu\n",
				       (unsigned long long)used,
				       (unsigned long long)quota,
				       (unsigned long long)rates[i]);
		}
	}
}

/* --- the file --- */

static char folder[64], file[80], aside[96];

static void write_text(const char *text)
{
	FILE *stream = fopen(file, "w");

	fputs(text, stream);
	fclose(stream);
}

static void file_is_kept(void)
{
	json_t *state = json_pack("{s:I}", "a", (json_int_t)1 << 62), *again;
	const char *why = "";

	check(!keep_read(file, &why) && !why);
	check(!keep_write(file, state));
	again = keep_read(file, &why);
	check(again && json_equal(again, state));
	json_decref(state);
	json_decref(again);
}

static void corrupt_file_is_put_aside(void)
{
	static const char * const texts[] = { "", "{", "{\"a\": 1", "\xff\x00", "{} x",
					      "{\"a\": 1, \"a\": 2}" };

	for (unsigned int i = 0; i < ARRAY_SIZE(texts); i++) {
		const char *why;

		write_text(texts[i]);
		check(!keep_read(file, &why) && why);
		check(access(file, F_OK) && !access(aside, F_OK));
		unlink(aside);
	}
}

/* As a user who has no privilege; true if there was one to give up. */
static bool become_nobody(void)
{
	return !geteuid() && !chown(folder, NOBODY, NOBODY) && !seteuid(NOBODY);
}

static void become_root(bool again)
{
	if (again)
		check(!seteuid(0) && !chown(folder, 0, 0));
}

/* What only that file knows isn't written over. */
static void unreadable_file_is_put_aside(void)
{
	json_t *state = json_pack("{s:i}", "a", 1);
	char unreadable[96];
	const char *why;
	bool was_root;

	snprintf(unreadable, sizeof(unreadable), "%s.unreadable", file);
	write_text("{\"a\": 5}");
	check(!chmod(file, 0));
	was_root = become_nobody();
	check(!keep_read(file, &why) && why && strstr(why, "Permission denied"));
	check(access(file, F_OK) && !access(unreadable, F_OK));
	check(!keep_write(file, state));
	become_root(was_root);
	unlink(unreadable);
	json_decref(state);
}

/* Root's pamsd writes for the user of the service, whose the folder is. */
static void file_is_of_the_folders_owner(void)
{
	json_t *state = json_pack("{s:i}", "a", 1), *again;
	struct stat st = { };
	const char *why;

	check(!chown(folder, NOBODY, NOBODY));
	check(!keep_write(file, state));
	check(!stat(file, &st) && st.st_uid == NOBODY && st.st_gid == NOBODY);
	check((st.st_mode & 07777) == 0600);
	check(!seteuid(NOBODY));
	again = keep_read(file, &why);
	check(again && json_equal(again, state));
	become_root(true);
	json_decref(again);
	json_decref(state);
}

/* Nothing is written through what lies where the new file comes. */
static void new_file_is_new(void)
{
	json_t *state = json_pack("{s:i}", "a", 1);
	char path[96], other[96];
	struct stat st = { };

	snprintf(path, sizeof(path), "%s.new", file);
	snprintf(other, sizeof(other), "%s.other", file);
	check(!symlink(other, path));
	check(!keep_write(file, state));
	check(access(other, F_OK) && access(path, F_OK));
	check(!lstat(file, &st) && S_ISREG(st.st_mode));
	json_decref(state);
}

/* What is there already stays when the next can't be written. */
static void failure_keeps_the_old(void)
{
	json_t *old = json_pack("{s:i}", "a", 1), *new = json_pack("{s:i}", "a", 2), *read;
	char path[96];
	const char *why;

	check(!keep_write(file, old));
	snprintf(path, sizeof(path), "%s.new", file);
	check(!mkdir(path, 0700));
	check(keep_write(file, new) == -EEXIST);
	rmdir(path);
	read = keep_read(file, &why);
	check(read && json_equal(read, old));
	json_decref(read);
	check(keep_write("/nonesuch/file", new) == -ENOENT);
	json_decref(old);
	json_decref(new);
}

/* Killed at any moment after the first one, the file is one of those that were written. */
static void killed_while_writing(void)
{
	int ends[2];
	unsigned int bad = 0, seen = 0;
	json_int_t last = 0;

	unlink(file);
	for (unsigned int i = 0; i < 100; i++) {
		const char *why;
		json_t *state;
		pid_t child;
		char byte;

		check(!pipe(ends));
		child = fork();
		if (!child) {
			for (json_int_t n = last + 1;; n++) {
				state = json_pack("{s:I, s:s}", "n", n, "text",
						  "so that it is longer than a few bytes");
				check(!keep_write(file, state));
				json_decref(state);
				if (n == last + 1 && write(ends[1], "", 1) != 1)
					_exit(1);
			}
		}
		check(read(ends[0], &byte, 1) == 1);
		usleep(i * 37);
		kill(child, SIGKILL);
		close(ends[0]);
		close(ends[1]);
		waitpid(child, NULL, 0);
		state = keep_read(file, &why);
		bad += !!why;
		if (state) {
			json_int_t n = json_integer_value(json_object_get(state, "n"));

			seen++;
			bad += n < last;
			last = n;
		}
		json_decref(state);
	}
	check(!bad);
	check(seen == 100 && last >= 100);
	printf("# %lld files in 100 lives\n", (long long)last);
}

int main(void)
{
	snprintf(folder, sizeof(folder), "/tmp/pamsd-quotas.XXXXXX");
	if (!mkdtemp(folder))
		return 1;
	snprintf(file, sizeof(file), "%s/state", folder);
	snprintf(aside, sizeof(aside), "%s.corrupt", file);
	run(first_sight_is_no_use);
	run(counter_that_goes_back);
	run(another_interface_of_that_name);
	run(months_begin);
	run(periods_end);
	run(daylight_saving);
	run(another_time_zone);
	run(new_period_is_empty);
	run(clock_ahead_and_back);
	run(clock_of_1970);
	run(period_begun_ahead_of_time);
	run(ahead_of_time_unsynchronised);
	run(boots_with_yesterdays_clock);
	run(unknown_until_a_period_ends);
	run(dates_are_dates);
	run(slack_is_the_larger);
	run(looks_come_in_time);
	run(file_is_kept);
	run(corrupt_file_is_put_aside);
	run(unreadable_file_is_put_aside);
	if (geteuid())
		skip(file_is_of_the_folders_owner, "only root can give files away");
	else
		run(file_is_of_the_folders_owner);
	run(new_file_is_new);
	run(failure_keeps_the_old);
	run(killed_while_writing);
	unlink(file);
	snprintf(aside, sizeof(aside), "%s.new", file);
	unlink(aside);
	rmdir(folder);
	return tap_end();
}
