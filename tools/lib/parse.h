/* SPDX-License-Identifier: GPL-2.0 */
/*
 * parse - words and quantities that the programs read alike
 *
 * Parsing gives NULL, or what is wrong with the text, which is good until the next call.
 */
#ifndef PAMS_PARSE_H
#define PAMS_PARSE_H

#include <stdbool.h>
#include <stdint.h>

/* What is left of the words of a line. */
struct words {
	char **at;
	int left;
};

const char *next_word(struct words *words);		/* NULL: none is left */
bool next_is(struct words *words, const char *keyword);	/* and take it */

/* The text that parsing gives. */
const char *wrong(const char *format, ...)
	__attribute__((format(printf, 1, 2)));

/*
 * A number with or without a fraction, then its unit: 5mbit, 8ms, 120k. k, M and G are
 * powers of 1000, Ki, Mi and Gi of 1024.
 */
#define QUANTITY_MAX	32

struct unit {
	const char *name;	/* NULL after the last one */
	double factor;
};

/* The value in the unit whose factor is 1, whole, or less than 0. */
double quantity(const char *text, const struct unit *unit);

/* what: the input's name */
const char *size_parse(const char *what, const char *text, uint64_t max,
		       const char *max_text, uint64_t *bytes);
const char *time_parse(const char *what, const char *text, uint64_t min_us,
		       uint64_t max_us, uint64_t *us);
const char *show_time(char *buffer, int64_t us);
const char *number_parse(const char *what, const char *text, uint64_t min,
			 uint64_t max, uint64_t *number);

#endif /* PAMS_PARSE_H */
