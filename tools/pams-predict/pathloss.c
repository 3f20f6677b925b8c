// SPDX-License-Identifier: GPL-2.0
/*
 * pathloss - the log-distance model
 *
 *	level(d) = Pt - L0 - 10 n log10(d / d0)
 *	range    = d0 * 10^((Pt - T - L0) / (10 n))	the d of level T
 *	share    = d / range = 10^((T - level) / (10 n))
 *
 * as PLAMA has it, with T = -91 dBm and n = 3.0; d0 = 1 m, where a signal of
 * 2.4 GHz has lost L0 = 40 dB in free space. The share needs neither the
 * sender's power nor L0: from levels alone the time of the loss can be told,
 * though not the distance.
 *
 * Ignored: shadowing and fading; they are noise to trend.c.
 */
#include <math.h>

#include "predict.h"

double pathloss_range_m(const struct pathloss *model, double power_dbm)
{
	double left_db = power_dbm - model->threshold_dbm - model->reference_db;

	return pow(10, left_db / (10 * model->exponent));
}

double pathloss_share(const struct pathloss *model, double level_dbm)
{
	return pow(10, (model->threshold_dbm - level_dbm) /
		   (10 * model->exponent));
}
