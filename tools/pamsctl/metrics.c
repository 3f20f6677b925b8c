// SPDX-License-Identifier: GPL-2.0
/* metrics - what lib/metrics.c writes, for a collector that reads files or runs programs */
#include "metrics.h"
#include "pamsctl.h"

int metrics_command(struct words *words)
{
	struct pams_nl *nl = NULL;
	struct pams_stats stats;
	json_t *status;
	bool loaded;
	int err;

	if (no_more_words(words))
		return USAGE;
	loaded = !pams_nl_open(&nl) && !pams_nl_stats(nl, &stats);
	pams_nl_close(nl);
	status = pamsd_status(options.control ?: PAMSD_CONTROL, &err);
	metrics_write(stdout, loaded ? &stats : NULL, status);
	json_decref(status);
	return DONE;
}
