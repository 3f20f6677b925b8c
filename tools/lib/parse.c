// SPDX-License-Identifier: GPL-2.0
/* parse - parsers of words and quantities that the programs share */
#include <arpa/inet.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "parse.h"

static const struct unit size_units[] = {
	{ "", 1 },
	{ "b", 1 },
	{ "k", 1e3 },
	{ "kb", 1e3 },
	{ "m", 1e6 },
	{ "mb", 1e6 },
	{ "g", 1e9 },
	{ "gb", 1e9 },
	{ "t", 1e12 },
	{ "tb", 1e12 },
	{ "ki", 1 << 10 },
	{ "kib", 1 << 10 },
	{ "mi", 1 << 20 },
	{ "mib", 1 << 20 },
	{ "gi", 1 << 30 },
	{ "gib", 1 << 30 },
	{ "ti", 1ULL << 40 },
	{ "tib", 1ULL << 40 },
	{ }
};

static const struct unit time_units[] = {
	{ "us", 1 },
	{ "ms", 1e3 },
	{ "s", 1e6 },
	{ "min", 60e6 },
	{ "h", 3600e6 },
	{ "d", 86400e6 },
	{ }
};

const char *next_word(struct words *words)
{
	if (!words->left)
		return NULL;
	words->left--;
	return *words->at++;
}

bool next_is(struct words *words, const char *keyword)
{
	if (!words->left || strcmp(*words->at, keyword))
		return false;
	next_word(words);
	return true;
}

bool inet_parse(const char *text, int *family, uint8_t bytes[16], const char **rest)
{
	char address[INET6_ADDRSTRLEN + 1];
	size_t length = strcspn(text, "/");

	memset(bytes, 0, 16);
	*family = memchr(text, ':', length) ? AF_INET6 : AF_INET;
	*rest = text[length] ? text + length + 1 : NULL;
	snprintf(address, sizeof(address), "%.*s", (int)length, text);
	return length < sizeof(address) && inet_pton(*family, address, bytes) == 1;
}

const char *wrong(const char *format, ...)
{
	static char text[512];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	return text;
}

static double rounded(double value)
{
	/* a larger double has hardly a fraction, and is out of every range */
	return value < 1e15 ? (double)(uint64_t)(value + .5) : value;
}

double quantity(const char *text, const struct unit *unit)
{
	size_t digits = strspn(text, "0123456789");
	size_t length = digits;
	double number;

	/* strtod() alone would take signs, hexadecimal, "inf" and "nan" */
	if (digits && text[length] == '.')
		length += 1 + strspn(text + length + 1, "0123456789");
	if (!digits || length > QUANTITY_MAX || text[length - 1] == '.')
		return -1;
	number = strtod(text, NULL);
	for (; unit->name; unit++)
		if (!strcasecmp(text + length, unit->name))
			return rounded(number * unit->factor);
	return -1;
}

const char *size_parse(const char *what, const char *text, uint64_t max,
		       const char *max_text, uint64_t *bytes)
{
	double value = quantity(text, size_units);

	if (value < 0)
		return wrong("%s '%s' is not a size: write e.g. 120k, 64Ki or "
			     "1500", what, text);
	if (value > max)
		return wrong("%s '%s' is out of range: 0 to %s", what, text,
			     max_text);
	*bytes = value;
	return NULL;
}

const char *time_parse(const char *what, const char *text, uint64_t min_us,
		       uint64_t max_us, uint64_t *us)
{
	double value = strcmp(text, "0") ? quantity(text, time_units) : 0;
	char min[QUANTITY_MAX], max[QUANTITY_MAX];

	if (value < 0)
		return wrong("%s '%s' is not a time: write e.g. 8ms, 500us or "
			     "2s", what, text);
	if (value < min_us || value > max_us)
		return wrong("%s '%s' is out of range: %s to %s", what, text,
			     show_time(min, min_us), show_time(max, max_us));
	*us = value;
	return NULL;
}

const char *show_time(char *buffer, int64_t us)
{
	double time = us < 0 ? -(double)us : us;

	if (time < 1e3)
		snprintf(buffer, QUANTITY_MAX, "%" PRId64 "us", us);
	else if (time < 1e6)
		snprintf(buffer, QUANTITY_MAX, "%.4gms", us / 1e3);
	else
		snprintf(buffer, QUANTITY_MAX, "%.*fs",
			 us % 1000000 ? 1 : 0, us / 1e6);
	return buffer;
}

const char *number_parse(const char *what, const char *text, uint64_t min,
			 uint64_t max, uint64_t *number)
{
	size_t digits = strspn(text, "0123456789");

	if (!digits || text[digits])
		return wrong("%s '%s' is not a number", what, text);
	/* 19 digits always fit */
	*number = digits < 20 ? strtoull(text, NULL, 10) : UINT64_MAX;
	if (*number < min || *number > max)
		return wrong("%s '%s' is out of range: %" PRIu64 " to %" PRIu64,
			     what, text, min, max);
	return NULL;
}
