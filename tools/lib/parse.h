/* SPDX-License-Identifier: GPL-2.0 */
/*
 * parse - parsers of words and quantities that the programs share
 *
 * Parsers return NULL, or a text that says what is wrong, which is valid until the next
 * call.
 */
#ifndef PAMS_PARSE_H
#define PAMS_PARSE_H

#include <stdbool.h>
#include <stdint.h>

/* The remaining words of a line. */
struct words {
	char **at;
	int left;
};

/* Remove the first word and return it; NULL if none is left. */
const char *next_word(struct words *words);
/* Remove the first word if it is the keyword. Returns whether it was. */
bool next_is(struct words *words, const char *keyword);

/*
 * Take an IPv4 or IPv6 address, up to a '/' or the end of the text; 4 of the bytes for IPv4, the
 * others become 0. rest: what follows the slash, or NULL. Returns whether it is an address.
 */
bool inet_parse(const char *text, int *family, uint8_t bytes[16], const char **rest);

/* Format the text that a parser returns. */
const char *wrong(const char *format, ...)
	__attribute__((format(printf, 1, 2)));

/*
 * A quantity is a number, with or without a fraction, and its unit: 5mbit, 8ms, 120k. k, M and
 * G are powers of 1000, Ki, Mi and Gi powers of 1024.
 */
#define QUANTITY_MAX	32

struct unit {
	const char *name;	/* NULL after the last one */
	double factor;
};

/* The value in the unit whose factor is 1, rounded; less than 0 if the text isn't a quantity. */
double quantity(const char *text, const struct unit *unit);

/* what: name of the value, for the error message */
const char *size_parse(const char *what, const char *text, uint64_t max,
		       const char *max_text, uint64_t *bytes);
const char *time_parse(const char *what, const char *text, uint64_t min_us,
		       uint64_t max_us, uint64_t *us);
const char *show_time(char *buffer, int64_t us);
const char *number_parse(const char *what, const char *text, uint64_t min,
			 uint64_t max, uint64_t *number);

#endif /* PAMS_PARSE_H */
