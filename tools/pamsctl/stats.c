// SPDX-License-Identifier: GPL-2.0
/* stats - the module's totals for the network namespace */
#include <inttypes.h>

#include "pamsctl.h"

json_t *stats_json(const struct pams_stats *s)
{
	return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, "
			 "s:I}",
			 "conns", (json_int_t)s->conns,
			 "paths", (json_int_t)s->paths,
			 "paths_max", (json_int_t)s->paths_max,
			 "reports", (json_int_t)s->reports,
			 "refused", (json_int_t)s->refused,
			 "expired", (json_int_t)s->expired,
			 "decisions", (json_int_t)s->decisions,
			 "deferrals", (json_int_t)s->deferrals,
			 "kicks", (json_int_t)s->kicks,
			 "stops", (json_int_t)s->stops,
			 "reinjected_bytes", (json_int_t)s->reinjected_bytes);
}

static void print(const struct pams_stats *s)
{
	printf("connections    %" PRIu32 "\n", s->conns);
	printf("paths          %" PRIu32 " of at most %" PRIu32 "\n", s->paths,
	       s->paths_max);
	printf("reports        %" PRIu64 ", %" PRIu64 " refused, %" PRIu64
	       " expired\n", s->reports, s->refused, s->expired);
	printf("decisions      %" PRIu64 ", %" PRIu64 " to wait, %" PRIu64
	       " kicks\n", s->decisions, s->deferrals, s->kicks);
	printf("stops          %" PRIu64 "\n", s->stops);
	printf("reinjected     %" PRIu64 " bytes\n", s->reinjected_bytes);
}

int stats_command(struct words *words)
{
	struct pams_nl *nl = NULL;
	struct pams_stats stats;
	int err, status = DONE;

	if (no_more_words(words))
		return USAGE;
	err = pams_nl_open(&nl);
	if (!err)
		err = pams_nl_stats(nl, &stats);
	if (err)
		status = refuse_kernel(nl, "stats", err);
	else if (options.json)
		status = print_json(stats_json(&stats));
	else
		print(&stats);
	pams_nl_close(nl);
	return status;
}
