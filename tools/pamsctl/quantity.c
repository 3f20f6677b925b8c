// SPDX-License-Identifier: GPL-2.0
/*
 * quantity - rates, sizes and times as people write them
 *
 * lib/parse.c does the parsing. A rate without a unit is in bytes per second, as
 * the module takes it; a time needs a unit.
 */
#include <inttypes.h>
#include <string.h>

#include <linux/mptcp_pams.h>

#include "pamsctl.h"

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

int parse_rate(const char *what, const char *text, uint64_t *byteps)
{
	double value = quantity(text, rate_units);
	char shown[QUANTITY_MAX];

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
	if (!text[strspn(text, "0123456789.")] && !options.json)
		fprintf(stderr, "pamsctl: %s '%s' has no unit, so it is bytes per second: %s\n",
			what, text, show_rate(shown, *byteps));
	return DONE;
}

int parse_size(const char *what, const char *text, uint32_t *bytes)
{
	uint64_t value = 0;
	const char *why = size_parse(what, text, MPTCP_PAMS_BACKLOG_MAX_BYTES,
				     "2Gi", &value);

	*bytes = value;
	return why ? refuse(USAGE, "%s", why) : DONE;
}

int parse_time(const char *what, const char *text, uint64_t min_us,
	       uint64_t max_us, uint64_t *us)
{
	const char *why = time_parse(what, text, min_us, max_us, us);

	return why ? refuse(USAGE, "%s", why) : DONE;
}

int parse_number(const char *what, const char *text, uint64_t min,
		 uint64_t max, uint64_t *number)
{
	const char *why = number_parse(what, text, min, max, number);

	return why ? refuse(USAGE, "%s", why) : DONE;
}

/* Up to six digits exactly, more with a prefix: 123456, 1.235M. */
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
