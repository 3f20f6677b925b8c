// SPDX-License-Identifier: GPL-2.0
/*
 * trend - predicts when a falling signal will be too weak
 *
 * The level falls with the logarithm of the distance, so a straight line
 * through levels in dBm is wrong by seconds. The distance itself grows linearly
 * while the speed is constant, and so does the share x of the range that
 * pathloss.c computes from a level. Hence:
 *
 *	smooth:		mean of the dBm in each bin of TREND_BIN_MS
 *	fit:		x(t) = a + b t, least squares over the window, a bin's
 *			weight being its number of samples; t = 0 is now
 *	loss:		x(T_L) = 1, so T_L = (1 - a) / b
 *
 * If the level of the last 200 ms is weaker than the line predicts, by r in x, this fade
 * decays with the time constant FADE_S, and T_L is the first t at which the sum of the
 * line and the rest of the fade reaches 1:
 *
 *	x(t) + r exp(-t / FADE_S) = 1,	r > 0
 *
 * That matters only in the last half second. A level that is momentarily stronger than
 * the line doesn't delay T_L.
 *
 * With s^2 the residual variance of a sample (its degrees of freedom are the
 * bins less two), W the sum of weights, tm the weighted mean of t, Sxx = the
 * weighted sum of (t - tm)^2, and w the mean weight of a bin:
 *
 *	var(b)   = s^2 / Sxx
 *	spread^2 = s^2 (1/w + 1/W + (T_L - tm)^2 / Sxx) / b^2
 *
 * which is the prediction interval of a bin at T_L, converted to time: the error of
 * the fit and the fading at T_L.
 *
 * Ignored: turns and changes of speed (they leave the window), fading that is
 * correlated over more than a bin (then the spread is too small), and that x
 * overstates the distance where levels scatter: by 1 % at 2 dB per bin.
 */
#include <math.h>
#include <string.h>

#include "predict.h"

#define BINS_MIN	5
/* the level is a mean over more than a fade of a quarter of a second */
#define LEVEL_MS	300
/* b counts as growth from twice its standard error on: wrong in 1 of 40 cases */
#define SURE		2
/* a fade shows in this many bins; half a second later little of it is left */
#define FADE_BINS	2
#define FADE_S		0.2
#define FADE_STEP_S	0.01
/* a radio reports whole dBm, so a smaller spread isn't credible */
#define SPREAD_MIN_S	0.01

void trend_init(struct trend *trend, const struct pathloss *model,
		unsigned int window_ms)
{
	memset(trend, 0, sizeof(*trend));
	trend->model = *model;
	trend->window_ms = window_ms;
}

void trend_reset(struct trend *trend)
{
	trend->count = 0;
}

static void forget(struct trend *trend, int64_t before)
{
	unsigned int old = 0;

	while (old < trend->count && trend->bins[old].number < before)
		old++;
	trend->count -= old;
	memmove(trend->bins, trend->bins + old,
		trend->count * sizeof(trend->bins[0]));
}

void trend_add(struct trend *trend, int64_t ms, double level_dbm)
{
	int64_t number = ms / TREND_BIN_MS;
	struct trend_bin *bin = NULL;

	if (trend->count)
		bin = &trend->bins[trend->count - 1];
	if (bin && number < bin->number)
		return;
	if (!bin || number > bin->number) {
		forget(trend, number - trend->window_ms / TREND_BIN_MS + 1);
		bin = &trend->bins[trend->count++];
		memset(bin, 0, sizeof(*bin));
		bin->number = number;
	}
	bin->samples++;
	bin->ms_sum += ms - number * TREND_BIN_MS;
	bin->dbm_sum += level_dbm;
}

static double bin_s(const struct trend_bin *bin, int64_t now_ms)
{
	return (bin->number * TREND_BIN_MS + bin->ms_sum / bin->samples -
		now_ms) / 1000;
}

static double bin_share(const struct trend *trend, const struct trend_bin *bin)
{
	return pathloss_share(&trend->model, bin->dbm_sum / bin->samples);
}

static double newest_dbm(const struct trend *trend)
{
	int64_t newest = trend->bins[trend->count - 1].number;
	unsigned int samples = 0;
	double dbm_sum = 0;

	for (unsigned int i = 0; i < trend->count; i++) {
		const struct trend_bin *bin = &trend->bins[i];

		if (bin->number <= newest - LEVEL_MS / TREND_BIN_MS)
			continue;
		samples += bin->samples;
		dbm_sum += bin->dbm_sum;
	}
	return dbm_sum / samples;
}

/* The bins in the window, and their sums. */
struct sums {
	const struct trend_bin *first;
	unsigned int bins;
	double weight, t_mean, x_mean, txx, txy, tyy;
};

static bool sum_up(const struct trend *trend, int64_t now_ms, struct sums *sums)
{
	int64_t oldest = (now_ms - trend->window_ms) / TREND_BIN_MS;
	const struct trend_bin *bin, *end = trend->bins + trend->count;

	memset(sums, 0, sizeof(*sums));
	for (bin = trend->bins; bin < end && bin->number < oldest; bin++)
		;
	sums->first = bin;
	sums->bins = end - bin;
	if (sums->bins < BINS_MIN)
		return false;
	for (bin = sums->first; bin < end; bin++) {
		sums->weight += bin->samples;
		sums->t_mean += bin->samples * bin_s(bin, now_ms);
		sums->x_mean += bin->samples * bin_share(trend, bin);
	}
	sums->t_mean /= sums->weight;
	sums->x_mean /= sums->weight;
	for (bin = sums->first; bin < end; bin++) {
		double t = bin_s(bin, now_ms) - sums->t_mean;
		double x = bin_share(trend, bin) - sums->x_mean;

		sums->txx += bin->samples * t * t;
		sums->txy += bin->samples * t * x;
		sums->tyy += bin->samples * x * x;
	}
	return true;
}

/* By how much the share in the newest bins exceeds the line; 0 if it doesn't. */
static double newest_residual(const struct trend *trend,
			      const struct trend_fit *fit, int64_t now_ms)
{
	int64_t newest = trend->bins[trend->count - 1].number;
	double sum = 0;
	unsigned int samples = 0;

	for (unsigned int i = 0; i < trend->count; i++) {
		const struct trend_bin *bin = &trend->bins[i];

		if (bin->number <= newest - FADE_BINS)
			continue;
		samples += bin->samples;
		sum += bin->samples * (bin_share(trend, bin) - fit->share -
				       fit->share_per_s * bin_s(bin, now_ms));
	}
	return fmax(0, sum / samples);
}

/* The first time at which the sum of the line and the rest of the fade reaches 1. */
static double loss_in_fade(const struct trend_fit *fit, double loss_s,
			   double residual)
{
	for (double at_s = 0; at_s < fmin(loss_s, 5 * FADE_S);
	     at_s += FADE_STEP_S)
		if (fit->share + fit->share_per_s * at_s +
		    residual * exp(-at_s / FADE_S) >= 1)
			return at_s;
	return loss_s;
}

bool trend_fit(const struct trend *trend, int64_t now_ms, struct trend_fit *fit)
{
	double variance, away_s;
	struct sums sums;

	memset(fit, 0, sizeof(*fit));
	if (!sum_up(trend, now_ms, &sums))
		return false;
	fit->level_dbm = newest_dbm(trend);
	fit->share_per_s = sums.txy / sums.txx;
	fit->share = sums.x_mean - fit->share_per_s * sums.t_mean;
	variance = fmax(0, sums.tyy - fit->share_per_s * sums.txy) /
		   (sums.bins - 2);
	fit->growth_error = sqrt(variance / sums.txx);
	fit->grows = fit->share_per_s > SURE * fit->growth_error;
	if (!fit->grows)
		return true;
	fit->loss_s = loss_in_fade(fit, (1 - fit->share) / fit->share_per_s,
				   newest_residual(trend, fit, now_ms));
	away_s = fit->loss_s - sums.t_mean;
	variance *= (sums.bins + 1) / sums.weight + away_s * away_s / sums.txx;
	fit->spread_s = fmax(SPREAD_MIN_S, sqrt(variance) / fit->share_per_s);
	return true;
}

bool trend_estimate(const struct trend *trend, int64_t now_ms,
		    struct estimate *estimate, struct trend_fit *fit)
{
	double above_db;

	memset(estimate, 0, sizeof(*estimate));
	if (!trend_fit(trend, now_ms, fit))
		return false;
	above_db = fit->level_dbm - trend->model.threshold_dbm;
	estimate->at_ms = now_ms;
	if (above_db <= 0) {
		estimate->known = true;
		estimate->lost = true;
		snprintf(estimate->why, WHY_TEXT, "%.0f dBm is too weak",
			 fit->level_dbm);
		return true;
	}
	/* a loss more than a day ahead is of no use, and might overflow */
	if (!fit->grows || fit->loss_s > 86400)
		return true;
	estimate->known = true;
	estimate->at_ms += llround(fmax(0, fit->loss_s) * 1000);
	estimate->spread_ms = lround(fmin(fit->spread_s, 86400) * 1000);
	snprintf(estimate->why, WHY_TEXT,
		 "%.0f dBm, at %.0f %% of the range, %.1f %% more each second",
		 fit->level_dbm, fit->share * 100, fit->share_per_s * 100);
	return true;
}
