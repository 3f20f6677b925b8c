/* SPDX-License-Identifier: GPL-2.0 */
/*
 * tap - cases and their results as TAP, for the tests in C
 */
#ifndef PAMSD_TAP_H
#define PAMSD_TAP_H

#include <stdbool.h>
#include <stdio.h>

static unsigned int tap_number, tap_failed;
static bool tap_bad;	/* something in the case under way was */

/* True if it is as it should be; else says what wasn't. */
static inline bool check_at(bool right, const char *text, int line)
{
	if (!right) {
		printf("# line %d: %s\n", line, text);
		tap_bad = true;
	}
	return right;
}

#define check(condition)	check_at(condition, #condition, __LINE__)

static inline void run_case(const char *name, void (*function)(void))
{
	tap_bad = false;
	function();
	tap_failed += tap_bad;
	printf("%sok %u - %s\n", tap_bad ? "not " : "", ++tap_number, name);
}

#define run(function)		run_case(#function, function)

#define skip(function, reason)	\
	printf("ok %u - %s # SKIP %s\n", ++tap_number, #function, reason)

static inline int tap_end(void)
{
	printf("1..%u\n", tap_number);
	return tap_failed > 0;
}

#endif /* PAMSD_TAP_H */
