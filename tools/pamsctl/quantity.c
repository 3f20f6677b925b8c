// SPDX-License-Identifier: GPL-2.0
/*
 * quantity - rates, sizes and times as people write them
 *
 * A number with or without a fraction, then its unit: 5mbit, 8ms, 120k. k, M
 * and G are powers of 1000, Ki, Mi and Gi of 1024. A rate without a unit is in
 * bytes per second, as the module takes it; a time has to have one.
 */
#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <linux/mptcp_pams.h>

#include "pamsctl.h"

struct unit {
	const char *name;
	double factor;
};

static const struct unit rate_units[] = {
	{ "", 1 },
	{ "bit", 1 / 8. },
	{ "kbit", 1e3 / 8 },
	{ "mbit", 1e6 / 8 },
	{ "gbit", 1e9 / 8 },
	{ "B/s", 1 },
	{ "kB/s", 1e3 },
	{ "MB/s", 1e6 },
	{ "GB/s", 1e9 },
	{ }
};

static const struct unit size_units[] = {
	{ "", 1 },
	{ "b", 1 },
	{ "k", 1e3 },
	{ "kb", 1e3 },
	{ "m", 1e6 },
	{ "mb", 1e6 },
	{ "g", 1e9 },
	{ "gb", 1e9 },
	{ "ki", 1 << 10 },
	{ "kib", 1 << 10 },
	{ "mi", 1 << 20 },
	{ "mib", 1 << 20 },
	{ "gi", 1 << 30 },
	{ "gib", 1 << 30 },
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

static double rounded(double value)
{
	/* beyond that a fraction is lost anyway, and nothing is in range */
	return value < 1e15 ? (double)(uint64_t)(value + .5) : value;
}

/* The value in the unit whose factor is 1, whole, or less than 0. */
static double parse(const char *text, const struct unit *unit)
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

int parse_rate(const char *what, const char *text, uint64_t *byteps)
{
	double value = parse(text, rate_units);

	if (value < 0)
		return refuse(USAGE, "%s '%s' is not a rate: write e.g. 5mbit, "
				     "300kbit or 625000 (bytes per second)",
			      what, text);
	if (value < MPTCP_PAMS_RATE_MIN_BYTEPS ||
	    value > MPTCP_PAMS_RATE_MAX_BYTEPS)
		return refuse(USAGE, "%s '%s' is out of range: 1kbit to "
			      "100gbit%s", what, text,
			      text[strspn(text, "0123456789.")] ? "" :
			      "; a rate without a unit is in bytes per second");
	*byteps = value;
	return DONE;
}

int parse_size(const char *what, const char *text, uint32_t *bytes)
{
	double value = parse(text, size_units);

	if (value < 0)
		return refuse(USAGE, "%s '%s' is not a size: write e.g. 120k, "
				     "64Ki or 1500",
			      what, text);
	if (value > MPTCP_PAMS_BACKLOG_MAX_BYTES)
		return refuse(USAGE, "%s '%s' is out of range: 0 to 2Gi", what,
			      text);
	*bytes = value;
	return DONE;
}

int parse_time(const char *what, const char *text, uint64_t min_us,
	       uint64_t max_us, uint64_t *us)
{
	double value = strcmp(text, "0") ? parse(text, time_units) : 0;
	char min[QUANTITY_MAX], max[QUANTITY_MAX];

	if (value < 0)
		return refuse(USAGE, "%s '%s' is not a time: write e.g. 8ms, "
				     "500us or 2s",
			      what, text);
	if (value < min_us || value > max_us)
		return refuse(USAGE, "%s '%s' is out of range: %s to %s", what,
			      text, show_time(min, min_us),
			      show_time(max, max_us));
	*us = value;
	return DONE;
}

int parse_number(const char *what, const char *text, uint64_t min,
		 uint64_t max, uint64_t *number)
{
	size_t digits = strspn(text, "0123456789");

	if (!digits || text[digits])
		return refuse(USAGE, "%s '%s' is not a number", what, text);
	/* 19 digits always fit */
	*number = digits < 20 ? strtoull(text, NULL, 10) : UINT64_MAX;
	if (*number < min || *number > max)
		return refuse(USAGE, "%s '%s' is out of range: %" PRIu64
			      " to %" PRIu64, what, text, min, max);
	return DONE;
}

/* Exact up to six digits: 123456, 1.235M. */
const char *show_count(char *buffer, uint64_t number)
{
	static const char prefixes[] = "MGTPE";
	double value = number / 1e6;
	int i;

	if (number < 1000000) {
		snprintf(buffer, QUANTITY_MAX, "%" PRIu64, number);
		return buffer;
	}
	for (i = 0; value >= 1000; i++)
		value /= 1000;
	snprintf(buffer, QUANTITY_MAX, "%.4g%c", value, prefixes[i]);
	return buffer;
}

const char *show_rate(char *buffer, uint64_t byteps)
{
	static const char * const prefixes[] = { "", "k", "m", "g", "t" };
	double bits = byteps * 8.;
	size_t i = 0;

	while (bits >= 1000 && i < 4) {
		bits /= 1000;
		i++;
	}
	snprintf(buffer, QUANTITY_MAX, "%.4g%sbit", bits, prefixes[i]);
	return buffer;
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
