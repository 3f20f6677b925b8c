// SPDX-License-Identifier: GPL-2.0
/*
 * walk - how likely it is that a level will soon be too weak, and for how weak a path is lost
 *
 * Shadowing moves a level by some dB and lets it come back, so trend.c's straight line foresees
 * losses that don't come. Here the level x is a walk with a slope v that is forgotten, seen
 * through fading f (a Kalman filter, of which one sample is a step):
 *
 *	dx = v dt + W sqrt(dt) noise
 *	dv = -v / tau dt + Q sqrt(2 dt / tau) noise		Q: how steep slopes are
 *	df = -f / phi dt + R sqrt(2 dt / phi) noise		phi 0: new each time
 *	sample = x + f
 *
 * R is learned from what the samples differ by. Who sits still sees fading that lasts, who moves
 * sees none that does: W, Q and phi depend on place and speed. Of the models, which see the same
 * samples, each has the weight that it has earned lately by foreseeing the next sample. The
 * chance that the level is below B at h is the weighted mean of theirs:
 *
 *	m(h) = x + v tau (1 - exp(-h / tau))		chance(h) = mean of Phi((B - m(h)) / s(h))
 *
 * with s(h)^2 the variance of x, of v until then and of what the walk adds. A loss is near from
 * when chance(AHEAD_MS) for B + MARGIN_DB is SURE, or LIKELY and the line's time is near, too, and
 * little spread, until the level is RECOVERED_DB above B. Then the path may be left; until then
 * the line's time is put off so far that it isn't, but known. With --avoid it never is: while a
 * loss is near, a time is told that is so vague that the kernel avoids the path (report.c).
 *
 * B is the threshold, or higher where losses show that the threshold is too low: nothing arrives
 * for SILENT_MS. The median of the last levels before that is how far B rises. What this costs is
 * limited: time in which the path was left, but wasn't lost, may be SHARE of the time, and a stop
 * in vain counts as STOP_S more. B falls with what is above that.
 *
 * The numbers were chosen on the odd recordings of `lab foreseen` and drawn ways 1 to 20. SURE and
 * MARGIN_DB trade losses for stops in vain, fade_s those of who sits for losses of who drives.
 *
 * Ignored: that a link isn't lost before the level has been too weak for a while, so that a
 * chance overstates a loss (prediction.md); that a pause of the machine looks like silence.
 */
#include <math.h>
#include <string.h>

#include "predict.h"

/* dB per sqrt(s), dB/s, s: it sits, it stands, it walks, it drives in shadows */
static const struct {
	double walk, steep, fade_s;
} models[WALK_MODELS] = { { 1, 0.1, 0.3 }, { 0.3, 1, 0 }, { 1, 4, 0 }, { 4, 6, 0 } };

#define AHEAD_MS	600
#define SURE		0.75
#define LIKELY		0.6
/* the spread of a line that is believed, and the time that a queue takes */
#define TIDY_MS		400
#define QUEUE_MS	200
/* the bar is so much higher for a loss that is to come */
#define MARGIN_DB	1
#define RECOVERED_DB	3
/* from so many samples' time on something is known */
#define BEGIN_MS	300
/* after a longer silence it begins anew */
#define FORGET_MS	2000
#define BEGIN_VARIANCE	4.0
#define BEGIN_STEEP	2.0
/* of what is new in a sample, which is a whole dBm */
#define VARIANCE_MIN	0.15
#define ROUNDING	0.1
#define VARIANCE_SAMPLES 20
#define WEIGHT_S	4.0
/* of a merit behind the best one */
#define BEHIND		10
/* a sample that is far off counts as one that is 3 standard deviations off */
#define FAR_OFF		9.0
#define STEP_MS		50
/* of the memory of slopes */
#define TAU_S		2.0
/* a time this much behind 7/4 of its spread stops nothing yet: a queue and a way there */
#define SLACK_MS	1000

/* a loss so far ahead, so vague, stops nothing for 750 ms, but the path is avoided (report.c) */
#define RISK_MS		2500
#define RISK_SPREAD_MS	1000

/* longer than plugin.c's rare looks */
#define SILENT_MS	700
#define WEAK_MS		500
/* a level so far above the threshold didn't show the loss */
#define SHOWN_DB	20
#define SHOWN_LEAST	3
#define BAR_DB		15
#define SHARE		0.03
#define STOP_S		1
#define DB_PER_S	2
#define CREDIT_S	5
#define DEBT_S		60
/* between two samples at most */
#define PAUSE_S		0.5

void walk_init(struct walk *walk, double threshold_dbm)
{
	memset(walk, 0, sizeof(*walk));
	walk->threshold_dbm = threshold_dbm;
}

void walk_restart(struct walk *walk, const struct walk_learned *learned)
{
	struct walk new = { .threshold_dbm = walk->threshold_dbm, .avoids = walk->avoids,
			    .learned = *learned };

	*walk = new;
}

/* How a model goes on for s seconds. */
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

/* What of the fade is left after s seconds. */
static double fade_left(unsigned int model, double s)
{
	return models[model].fade_s ? exp(-s / models[model].fade_s) : 0;
}

/* The variance of the fading of which each sample has that much new. */
static double fading_of(unsigned int model, double new)
{
	double fade = fade_left(model, STEP_MS / 1000.0);

	return new / (1 - fade * fade);
}

static void go_on(struct walk_filter *filter, const struct ahead *ahead, unsigned int model)
{
	double walk = models[model].walk, steep = models[model].steep;
	double fade = fade_left(model, ahead->s);

	filter->level_dbm += ahead->slope * filter->slope;
	filter->slope *= ahead->left;
	filter->fade_db *= fade;
	filter->level_variance += 2 * ahead->slope * filter->covariance +
				  ahead->slope * ahead->slope * filter->slope_variance +
				  walk * walk * ahead->s;
	filter->level_fade = fade * (filter->level_fade + ahead->slope * filter->slope_fade);
	filter->covariance = ahead->left * (filter->covariance +
					    ahead->slope * filter->slope_variance);
	filter->slope_fade *= ahead->left * fade;
	filter->slope_variance = ahead->left * ahead->left * filter->slope_variance +
				 steep * steep * (1 - ahead->left * ahead->left);
	filter->fade_variance = fade * fade * filter->fade_variance +
				(1 - fade * fade) * filter->sample_variance;
}

static void take(struct walk_filter *filter, unsigned int model, double level_dbm, double s)
{
	double fade = fade_left(model, s), new = (1 - fade * fade) * filter->sample_variance;
	double level_with = filter->level_variance + filter->level_fade;
	double slope_with = filter->covariance + filter->slope_fade;
	double fade_with = filter->level_fade + filter->fade_variance;
	double variance = level_with + fade_with + ROUNDING;
	double off = level_dbm - filter->level_dbm - filter->fade_db;
	double more = fmax(0, off * off - variance + new) - new;

	filter->merit = exp(-s / WEIGHT_S) * filter->merit -
			(log(variance) + fmin(FAR_OFF, off * off / variance)) / 2;
	filter->sample_variance = fmax(fading_of(model, VARIANCE_MIN),
				       filter->sample_variance + more / VARIANCE_SAMPLES);
	filter->level_dbm += level_with / variance * off;
	filter->slope += slope_with / variance * off;
	filter->fade_db += fade_with / variance * off;
	filter->level_variance -= level_with * level_with / variance;
	filter->covariance -= level_with * slope_with / variance;
	filter->level_fade -= level_with * fade_with / variance;
	filter->slope_variance -= slope_with * slope_with / variance;
	filter->slope_fade -= slope_with * fade_with / variance;
	filter->fade_variance -= fade_with * fade_with / variance;
}

static void begin(struct walk *walk, int64_t ms, double level_dbm)
{
	for (unsigned int i = 0; i < WALK_MODELS; i++)
		walk->filters[i] = (struct walk_filter) {
			.level_dbm = level_dbm, .level_variance = BEGIN_VARIANCE,
			.slope_variance = BEGIN_STEEP * BEGIN_STEEP,
			.fade_variance = BEGIN_VARIANCE,
			.sample_variance = fading_of(i, BEGIN_VARIANCE),
		};
	walk->begun_ms = ms;
	walk->weak_ms = ms;
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

/* A model that is far behind catches up within a few samples once it is the right one. */
static void bound_merits(struct walk *walk)
{
	double best = -INFINITY;

	for (unsigned int i = 0; i < WALK_MODELS; i++)
		best = fmax(best, walk->filters[i].merit);
	for (unsigned int i = 0; i < WALK_MODELS; i++)
		walk->filters[i].merit = fmax(walk->filters[i].merit, best - BEHIND);
}

/* B */
static double bar_dbm(const struct walk *walk)
{
	const struct walk_learned *learned = &walk->learned;

	return walk->threshold_dbm +
	       fmax(0, learned->shown_db - DB_PER_S * fmax(0, -learned->credit_s));
}

/* The chance that the level is below the bar so long after the newest sample. */
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
		sum += weights[i] * erfc((filter.level_dbm - bar_dbm(walk) - MARGIN_DB) /
					 sqrt(2 * filter.level_variance)) / 2;
	}
	return sum;
}

/* The level without its fading. */
static double level(const struct walk *walk)
{
	double weights[WALK_MODELS], sum = 0;

	weigh(walk, weights);
	for (unsigned int i = 0; i < WALK_MODELS; i++)
		sum += weights[i] * walk->filters[i].level_dbm;
	return sum;
}

double walk_above_db(const struct walk *walk)
{
	return walk->begun ? level(walk) - bar_dbm(walk) : NAN;
}

/* --- what losses show, and what stops cost --- */

static double median(const double *values, unsigned int count)
{
	double sorted[WALK_LOSSES];

	for (unsigned int i = 0, at; i < count; i++) {
		for (at = i; at && sorted[at - 1] > values[i]; at--)
			sorted[at] = sorted[at - 1];
		sorted[at] = values[i];
	}
	return sorted[count / 2];
}

void walk_lost(struct walk *walk)
{
	struct walk_learned *learned = &walk->learned;
	double above_db;

	if (!walk->begun)
		return;
	walk->vain = false;
	above_db = level(walk) - walk->threshold_dbm;
	if (above_db >= SHOWN_DB)
		return;
	learned->above_db[learned->losses++ % WALK_LOSSES] = above_db;
	if (learned->losses >= SHOWN_LEAST)
		learned->shown_db = fmin(BAR_DB, median(learned->above_db,
							learned->losses < WALK_LOSSES ?
							learned->losses : WALK_LOSSES));
}

static void pay(struct walk *walk, double cost_s)
{
	double *credit_s = &walk->learned.credit_s;

	*credit_s = fmax(-DEBT_S, fmin(CREDIT_S, *credit_s - cost_s));
}

static bool is_likely(const struct walk *walk, int64_t ms, double how)
{
	return walk->begun && ms - walk->begun_ms >= BEGIN_MS && chance(walk, AHEAD_MS) >= how;
}

/* Is a loss near, by the newest sample and those before? */
static void judge(struct walk *walk, int64_t ms, double s)
{
	bool weak = level(walk) < walk->threshold_dbm;

	pay(walk, (walk->near && !weak ? s : 0) - SHARE * s);
	if (!weak)
		walk->weak_ms = ms;
	else if (ms - walk->weak_ms >= WEAK_MS)
		walk->vain = false;
	if (is_likely(walk, ms, SURE)) {
		walk->vain |= !walk->near;
		walk->near = true;
	} else if (walk->near && walk_above_db(walk) >= RECOVERED_DB) {
		walk->near = false;
		if (walk->vain)
			pay(walk, STOP_S);
	}
}

void walk_add(struct walk *walk, int64_t ms, double level_dbm)
{
	double s = (ms - walk->ms) / 1000.0;
	struct ahead ahead = ahead_of(s);

	if (walk->begun && ms < walk->ms)
		return;
	if (walk->begun && ms - walk->ms >= SILENT_MS && !walk->idles)
		walk_lost(walk);
	if (!walk->begun || ms - walk->ms > FORGET_MS) {
		begin(walk, ms, level_dbm);
		s = 0;
	} else {
		for (unsigned int i = 0; i < WALK_MODELS; i++) {
			go_on(&walk->filters[i], &ahead, i);
			take(&walk->filters[i], i, level_dbm, s);
		}
	}
	bound_merits(walk);
	walk->ms = ms;
	judge(walk, ms, fmin(s, PAUSE_S));
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

static bool line_leaves(const struct estimate *estimate, int64_t now_ms)
{
	return estimate->known && estimate->spread_ms <= TIDY_MS &&
	       left_at_ms(estimate) <= now_ms + QUEUE_MS;
}

static void say_chance(const struct walk *walk, struct estimate *estimate)
{
	snprintf(estimate->why, WHY_TEXT, "too weak in half a second with %.0f %%",
		 walk_chance(walk) * 100);
}

void walk_correct(struct walk *walk, int64_t now_ms, struct estimate *estimate)
{
	int64_t early_ms = now_ms + SLACK_MS - left_at_ms(estimate), left_ms;

	if (!walk->near && line_leaves(estimate, now_ms) && is_likely(walk, now_ms, LIKELY)) {
		walk->near = true;
		walk->vain = true;
	}

	if (!walk->near) {
		if (estimate->lost)
			memset(estimate, 0, sizeof(*estimate));
		else if (estimate->known && early_ms > 0)
			estimate->at_ms += early_ms;
		return;
	}
	if (walk->avoids) {
		*estimate = (struct estimate){
			.known = true, .at_ms = now_ms + RISK_MS, .spread_ms = RISK_SPREAD_MS,
		};
		say_chance(walk, estimate);
		return;
	}
	if (estimate->lost)
		return;
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
	say_chance(walk, estimate);
}
