// SPDX-License-Identifier: GPL-2.0
/*
 * pathloss - the log-distance model
 *
 *	level(d) = Pt - L0 - 10 n log10(d / d0)
 *	range    = d0 * 10^((Pt - T - L0) / (10 n))	the distance d where the level is T
 *	share    = d / range = 10^((T - level) / (10 n))
 *
 * as in PLAMA, with T = -91 dBm and n = 3.0; d0 = 1 m, where a signal of 2.4 GHz
 * has lost L0 = 40 dB in free space. The share depends neither on the sender's
 * power nor on L0: levels alone give the time of the loss, but not the distance.
 *
 * Ignored: shadowing and fading, which trend.c treats as noise.
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
