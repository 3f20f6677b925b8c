// SPDX-License-Identifier: GPL-2.0
/*
 * clock_state - another date, and a clock that is synchronised or isn't
 *
 * Preloaded into a program. The file that CLOCK_STATE names has lines of a word,
 * "synced" or another one, and the seconds since 1970, which stand still. Each reading
 * of the clock takes a line away, but the last one: so it is set between two readings.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timex.h>
#include <time.h>

static void keep(const char *name, const char *lines)
{
	FILE *file = *lines ? fopen(name, "we") : NULL;

	if (!file)
		return;
	fputs(lines, file);
	fclose(file);
}

static void look(char word[16], long long *seconds)
{
	const char *name = getenv("CLOCK_STATE");
	FILE *file = name ? fopen(name, "re") : NULL;
	char lines[200] = "";
	int length = 0;

	*word = 0;
	*seconds = 0;
	if (!file)
		return;
	lines[fread(lines, 1, sizeof(lines) - 1, file)] = 0;
	fclose(file);
	if (sscanf(lines, "%15s %lld %n", word, seconds, &length) < 2)
		*word = 0;
	keep(name, lines + length);
}

time_t time(time_t *result)
{
	long long seconds;
	char word[16];

	look(word, &seconds);
	if (result)
		*result = seconds;
	return seconds;
}

int adjtimex(struct timex *timex)
{
	long long seconds;
	char word[16];

	look(word, &seconds);
	memset(timex, 0, sizeof(*timex));
	timex->time.tv_sec = seconds;
	if (!strcmp(word, "synced"))
		return TIME_OK;
	timex->status = STA_UNSYNC;
	return TIME_ERROR;
}
