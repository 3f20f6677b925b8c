// SPDX-License-Identifier: GPL-2.0
/*
 * line - writes the lines that pamsd reads
 *
 *	{"loss_ms": 800, "spread_ms": 90}
 *	{"no_loss": true}
 *
 * "loss_ms" is the best estimate, without a safety margin: the reader decides about
 * one, as it knows what reacting late costs.
 */
#include <inttypes.h>

#include "predict.h"

/* Begin a line. "at_ms" is only for a replay: pamsd doesn't know this name. */
static void begin(FILE *out, int64_t at_ms)
{
	fputc('{', out);
	if (at_ms >= 0)
		fprintf(out, "\"at_ms\": %" PRId64 ", ", at_ms);
}

int line_loss(FILE *out, const struct estimate *estimate, int64_t now_ms,
	      int64_t at_ms)
{
	int64_t left_ms = estimate->at_ms - now_ms;

	begin(out, at_ms);
	fprintf(out, "\"loss_ms\": %" PRId64 ", \"spread_ms\": %" PRIu32 "}\n",
		left_ms > 0 ? left_ms : 0, estimate->spread_ms);
	return fflush(out);
}

int line_no_loss(FILE *out, int64_t at_ms)
{
	begin(out, at_ms);
	fputs("\"no_loss\": true}\n", out);
	return fflush(out);
}
