/* SPDX-License-Identifier: GPL-2.0 */
/* metrics - the module's totals and pamsd's counts, in the OpenMetrics format */
#ifndef PAMS_METRICS_H
#define PAMS_METRICS_H

#include <stdio.h>

struct json_t;
struct pams_stats;

/*
 * stats: the module's, or NULL if it isn't loaded; status: what pamsd answers to "status", or NULL
 * if it doesn't run. The metrics of what isn't there are left out, and pams_up is 0 for it.
 */
void metrics_write(FILE *out, const struct pams_stats *stats, struct json_t *status);

#endif /* PAMS_METRICS_H */
