// SPDX-License-Identifier: GPL-2.0
/*
 * log - what the daemon has to say: lines on standard error
 *
 * Nothing is said per datagram or per sample; those are counted.
 */
#include <stdarg.h>
#include <stdio.h>

#include "pamsd.h"

void say(const char *format, ...)
{
	va_list args;

	fputs("pamsd: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
}

void say_line(const char *line)
{
	say("%s", line);
}
