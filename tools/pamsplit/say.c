// SPDX-License-Identifier: GPL-2.0
/*
 * say - messages on standard error, and the clock
 */
#include <stdarg.h>
#include <stdio.h>
#include <time.h>

#include "pamsplit.h"

void say(const char *format, ...)
{
	va_list args;

	fputs("pamsplit: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
}

uint64_t now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000ULL + now.tv_nsec / 1000;
}
