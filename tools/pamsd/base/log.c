// SPDX-License-Identifier: GPL-2.0
/*
 * log - the daemon's messages: lines on standard error
 *
 * Single datagrams or samples aren't logged, they are counted.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "base.h"

#define SELDOM_MS	60000

void say(const char *format, ...)
{
	va_list args;

	fputs("pamsd: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
}

void say_seldom(struct seldom *seldom, const char *format, ...)
{
	uint64_t ms = now_ms();
	va_list args;

	if (seldom->logged_ms && ms - seldom->logged_ms < SELDOM_MS) {
		seldom->left_out++;
		return;
	}
	fputs("pamsd: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	if (seldom->left_out)
		fprintf(stderr, " (and %" PRIu64 " times since the last such "
			"line)", seldom->left_out);
	fputc('\n', stderr);
	seldom->logged_ms = ms;
	seldom->left_out = 0;
}

void say_line(const char *line)
{
	say("%s", line);
}
