// SPDX-License-Identifier: GPL-2.0
/*
 * walk - how likely it is that a level will soon be too weak
 *
 * Shadowing moves a level by some dB and lets it come back, so trend.c's straight line foresees
 * losses that don't come. Here the level x is a walk with a slope v that is forgotten, seen
 * through fading (a Kalman filter, of which one sample is a step):
 *
 *	dx = v dt + W sqrt(dt) noise
 *	dv = -v / tau dt + Q sqrt(2 dt / tau) noise		Q: how steep slopes are
 *	sample = x + R noise
 *
 * R is learned from what the samples differ by. How much a level moves, W and Q, depends on the
 * place and the speed: of the models, which see the same samples, each has the weight that it has
 * earned lately by foreseeing the next sample. The chance that the level is below the threshold
 * at h is the weighted mean of theirs:
 *
 *	m(h) = x + v tau (1 - exp(-h / tau))		chance(h) = mean of Phi((T - m(h)) / s(h))
 *
 * with s(h)^2 the variance of x, of v until then and of what the walk adds. A loss is near from
 * when chance(AHEAD_MS) is SURE until it has been below DOUBT for HOLD_MS. Then the path may be
 * left; until then the line's time is put off so far that it isn't, but known.
 *
 * The numbers were chosen on the odd recordings of `lab foreseen` and drawn ways 1 to 20: SURE
 * trades losses for stops in vain, half or double of the others changes little.
 *
 * Ignored: fading that is correlated from sample to sample, and that a link isn't lost before the
 * level has been too weak for a while, so that a chance overstates a loss (prediction.md).
 */
#include <math.h>
#include <string.h>

#include "predict.h"

/* dB per sqrt(s), dB/s: it stands, it walks, it drives */
static const struct {
	double walk, steep;
} models[WALK_MODELS] = { { 0.3, 1 }, { 0.5, 2 }, { 0.7, 4 } };

#define AHEAD_MS	600
#define SURE		0.5
#define DOUBT		0.25
#define HOLD_MS		500
/* from so many samples' time on something is known */
#define BEGIN_MS	300
/* after a longer silence it begins anew */
#define SILENT_MS	2000
#define BEGIN_VARIANCE	4.0
#define BEGIN_STEEP	2.0
/* of R: samples are whole dBm */
#define VARIANCE_MIN	1.0
#define VARIANCE_SAMPLES 20
#define WEIGHT_S	2.0
/* a sample that is far off counts as one that is 3 standard deviations off */
#define FAR_OFF		9.0
#define STEP_MS		50
/* of the memory of slopes */
#define TAU_S		2.0
/* a time this much behind 7/4 of its spread stops nothing yet: a queue and a way there */
#define SLACK_MS	1000

void walk_init(struct walk *walk, double threshold_dbm)
{
	memset(walk, 0, sizeof(*walk));
	walk->threshold_dbm = threshold_dbm;
}

/* How the slope goes on for s seconds. */
struct ahead {
	double s;
	double slope;		/* what a slope of 1 dB/s adds, in dB */
	double left;		/* what is left of it */
	double added;		/* what new slopes add to the variance, for a Q of 1 */
};

static struct ahead ahead_of(double s)
{
	struct ahead ahead = { .s = s, .left = exp(-s / TAU_S) };

	ahead.slope = TAU_S * (1 - ahead.left);
	ahead.added = 2 * TAU_S * (s - 2 * ahead.slope +
				   TAU_S * (1 - ahead.left * ahead.left) / 2);
	return ahead;
}

static void go_on(struct walk_filter *filter, const struct ahead *ahead, unsigned int model)
{
	double walk = models[model].walk, steep = models[model].steep;

	filter->level_dbm += ahead->slope * filter->slope;
	filter->slope *= ahead->left;
	filter->level_variance += 2 * ahead->slope * filter->covariance +
				  ahead->slope * ahead->slope * filter->slope_variance +
				  walk * walk * ahead->s;
	filter->covariance = ahead->left * (filter->covariance +
					    ahead->slope * filter->slope_variance);
	filter->slope_variance = ahead->left * ahead->left * filter->slope_variance +
				 steep * steep * (1 - ahead->left * ahead->left);
}

static void take(struct walk_filter *filter, double level_dbm, double s)
{
	double variance = filter->level_variance + filter->sample_variance;
	double off = level_dbm - filter->level_dbm;
	double level = filter->level_variance / variance, slope = filter->covariance / variance;
	double more = fmax(0, off * off - filter->level_variance) - filter->sample_variance;

	filter->merit = exp(-s / WEIGHT_S) * filter->merit -
			(log(variance) + fmin(FAR_OFF, off * off / variance)) / 2;
	filter->sample_variance = fmax(VARIANCE_MIN,
				       filter->sample_variance + more / VARIANCE_SAMPLES);
	filter->level_dbm += level * off;
	filter->slope += slope * off;
	filter->slope_variance -= slope * filter->covariance;
	filter->covariance -= level * filter->covariance;
	filter->level_variance -= level * filter->level_variance;
}

static void begin(struct walk *walk, int64_t ms, double level_dbm)
{
	for (unsigned int i = 0; i < WALK_MODELS; i++)
		walk->filters[i] = (struct walk_filter) {
			.level_dbm = level_dbm, .level_variance = BEGIN_VARIANCE,
			.slope_variance = BEGIN_STEEP * BEGIN_STEEP,
			.sample_variance = BEGIN_VARIANCE,
		};
	walk->begun_ms = ms;
	walk->begun = true;
}

static void weigh(const struct walk *walk, double weights[WALK_MODELS])
{
	double best = -INFINITY, sum = 0;

	for (unsigned int i = 0; i < WALK_MODELS; i++)
		best = fmax(best, walk->filters[i].merit);
	for (unsigned int i = 0; i < WALK_MODELS; i++)
		sum += weights[i] = exp(walk->filters[i].merit - best);
	for (unsigned int i = 0; i < WALK_MODELS; i++)
		weights[i] /= sum;
}

/* The chance that the level is below the threshold so long after the newest sample. */
static double chance(const struct walk *walk, int64_t ms)
{
	struct ahead ahead = ahead_of(ms / 1000.0);
	double weights[WALK_MODELS], sum = 0;

	weigh(walk, weights);
	for (unsigned int i = 0; i < WALK_MODELS; i++) {
		struct walk_filter filter = walk->filters[i];
		double steep = models[i].steep;

		go_on(&filter, &ahead, i);
		filter.level_variance += steep * steep * ahead.added;
		sum += weights[i] * erfc((filter.level_dbm - walk->threshold_dbm) /
					 sqrt(2 * filter.level_variance)) / 2;
	}
	return sum;
}

/* Is a loss near, by the newest sample and those before? */
static void judge(struct walk *walk, int64_t ms)
{
	double now = chance(walk, AHEAD_MS);

	if (now >= DOUBT)
		walk->doubt_ms = ms;
	if (ms - walk->begun_ms < BEGIN_MS)
		return;
	if (now >= SURE)
		walk->near = true;
	else if (ms - walk->doubt_ms >= HOLD_MS)
		walk->near = false;
}

void walk_add(struct walk *walk, int64_t ms, double level_dbm)
{
	double s = (ms - walk->ms) / 1000.0;
	struct ahead ahead = ahead_of(s);

	if (walk->begun && ms < walk->ms)
		return;
	if (!walk->begun || ms - walk->ms > SILENT_MS) {
		begin(walk, ms, level_dbm);
	} else {
		for (unsigned int i = 0; i < WALK_MODELS; i++) {
			go_on(&walk->filters[i], &ahead, i);
			take(&walk->filters[i], level_dbm, s);
		}
	}
	walk->ms = ms;
	judge(walk, ms);
}

/* When the chance is even, at AHEAD_MS at the latest. */
static int64_t even_ms(const struct walk *walk)
{
	int64_t ms = 0;

	while (ms < AHEAD_MS && chance(walk, ms) < 0.5)
		ms += STEP_MS;
	return ms;
}

double walk_chance(const struct walk *walk)
{
	return walk->begun ? chance(walk, AHEAD_MS) : 0;
}

/* The time from which on the reader sends nothing that arrives later. */
static int64_t left_at_ms(const struct estimate *estimate)
{
	return estimate->at_ms - 7 * (int64_t)estimate->spread_ms / 4;
}

void walk_correct(const struct walk *walk, int64_t now_ms, struct estimate *estimate)
{
	int64_t early_ms = now_ms + SLACK_MS - left_at_ms(estimate), left_ms;

	if (estimate->lost)
		return;
	if (!walk->near) {
		if (estimate->known && early_ms > 0)
			estimate->at_ms += early_ms;
		return;
	}
	left_ms = even_ms(walk);
	if (estimate->known && left_at_ms(estimate) <= now_ms + AHEAD_MS) {
		if (estimate->at_ms > now_ms + left_ms)
			estimate->at_ms = now_ms + left_ms;
		return;
	}
	estimate->known = true;
	estimate->at_ms = now_ms + left_ms;
	/* so that the path is left now */
	estimate->spread_ms = left_ms * 4 / 7 + 1;
	snprintf(estimate->why, WHY_TEXT, "too weak in half a second with %.0f %%",
		 walk_chance(walk) * 100);
}
