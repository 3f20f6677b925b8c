// SPDX-License-Identifier: GPL-2.0
/*
 * pace - print each line of a file at its time
 *
 *	pace FILE
 *
 * A line is "AT_US TEXT"; TEXT is printed AT_US microseconds after the start, by
 * CLOCK_MONOTONIC. Before `tc -batch -` one process changes a link's rate hundreds
 * of times. Exit code: 0, or 1 where the file can't be read.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

int main(int argc, char **argv)
{
	struct timespec start, at;
	char line[512], *text;
	long long at_ns;
	FILE *lines;

	lines = argc == 2 ? fopen(argv[1], "r") : NULL;
	if (!lines) {
		fputs("usage: pace FILE\n", stderr);
		return 1;
	}
	clock_gettime(CLOCK_MONOTONIC, &start);
	while (fgets(line, sizeof(line), lines)) {
		at_ns = strtoll(line, &text, 10) * 1000 + start.tv_nsec;
		at.tv_sec = start.tv_sec + at_ns / 1000000000;
		at.tv_nsec = at_ns % 1000000000;
		while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at,
				       NULL) == EINTR)
			;
		fputs(text + (*text == ' '), stdout);
		fflush(stdout);
	}
	return 0;
}
