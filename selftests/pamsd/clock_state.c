// SPDX-License-Identifier: GPL-2.0
/*
 * clock_state - another date, and a clock that is synchronised or isn't
 *
 * Preloaded into a program. The file that CLOCK_STATE names has a word, "synced" or
 * another one, and the seconds since 1970 that time() says, which stand still.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timex.h>
#include <time.h>

static void look(char word[16], long long *seconds)
{
	const char *name = getenv("CLOCK_STATE");
	FILE *file = name ? fopen(name, "re") : NULL;

	*word = 0;
	*seconds = 0;
	if (file && fscanf(file, "%15s %lld", word, seconds) != 2)
		*word = 0;
	if (file)
		fclose(file);
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
	if (!strcmp(word, "synced"))
		return TIME_OK;
	timex->status = STA_UNSYNC;
	return TIME_ERROR;
}
