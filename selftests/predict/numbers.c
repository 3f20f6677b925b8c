// SPDX-License-Identifier: GPL-2.0
/*
 * numbers - tests of what pams-predict reckons, on values worked out by hand
 */
#include <math.h>
#include <string.h>

#include "predict.h"
#include "tap.h"

/* that a double can tell */
#define EXACT	0.000001

static const struct pathloss model = PATHLOSS_DEFAULT;
static const struct errors no_errors;

static bool near(double value, double right, double off)
{
	return fabs(value - right) <= off;
}

/* The level at that share of the range. */
static double level(double share)
{
	return model.threshold_dbm - 10 * model.exponent * log10(share);
}

/* --- pathloss.c --- */

/* (20 + 91 - 40) / 30 = 2.3667; 10 to that is 232.6 */
static void range_of_power(void)
{
	const struct pathloss free_space = { -91, 2, 40 };

	check(near(pathloss_range_m(&model, 20), 232.6, 0.05));
	/* PLAMA's 70 m are 4.35 dBm: -51 + 30 * 1.8451 */
	check(near(pathloss_range_m(&model, 4.353), 70, 0.01));
	/* 71 / 20 = 3.55 */
	check(near(pathloss_range_m(&free_space, 20), 3548.1, 0.1));
}

static void share_of_level(void)
{
	check(near(pathloss_share(&model, -91), 1, EXACT));
	check(near(pathloss_share(&model, -61), 0.1, EXACT));
	check(near(pathloss_share(&model, -91 + 9.031), 0.5, 0.0001));
	check(pathloss_share(&model, -92) > 1);
}

/* --- trend.c --- */

/*
 * t    -0.4 -0.3 -0.2 -0.1  0	mean -0.2	Sxx 0.1
 * x     0.5  0.6  0.6  0.8  0.8	mean 0.66	Sxy 0.08	Syy 0.072
 *
 * b = 0.8, a = 0.66 + 0.2 * 0.8 = 0.82; the last two are 0.06 above the line and
 * 0.02 below it, so r = 0.02, and 0.82 + 0.8 T + 0.02 exp(-5 T) reaches 1 between 0.21
 * and T_L = 0.22 (0.225 without the fade)
 * s^2 = (0.072 - 0.8 * 0.08) / 3 = 0.0026667, se(b) = sqrt(s^2 / 0.1) = 0.1633
 * spread^2 = s^2 (1 + 1/5 + 0.42^2 / 0.1) / 0.64 = 0.01235
 */
static void five_samples_by_hand(void)
{
	static const double shares[] = { 0.5, 0.6, 0.6, 0.8, 0.8 };
	struct trend trend;
	struct trend_fit fit;

	trend_init(&trend, &model, TREND_WINDOW_MS);
	for (unsigned int i = 0; i < 4; i++)
		trend_add(&trend, 10000 + 100 * i, level(shares[i]));
	check(!trend_fit(&trend, 10300, &fit));
	trend_add(&trend, 10400, level(shares[4]));
	check(trend_fit(&trend, 10400, &fit));
	check(near(fit.share_per_s, 0.8, EXACT));
	check(near(fit.share, 0.82, EXACT));
	check(near(fit.growth_error, 0.16330, 0.0001));
	check(fit.grows);
	check(near(fit.loss_s, 0.22, EXACT));
	check(near(fit.spread_s, 0.11113, 0.0001));
	/* the same half a second later, though nothing new has come */
	check(trend_fit(&trend, 10500, &fit));
	check(near(fit.loss_s, 0.12, EXACT));
	check(near(fit.spread_s, 0.11113, 0.0001));
}

/*
 * At 95 % of the range, 10 % more each second, a fade of 6 % is the end of it; at 40 %
 * it isn't told from none, nor is a level that is as much better.
 */
static void fade_near_the_end(void)
{
	for (unsigned int i = 0; i < 3; i++) {
		double share = i == 1 ? 0.4 : 0.95, fade = i == 2 ? -0.06 : 0.06;
		struct trend trend;
		struct trend_fit fit;

		trend_init(&trend, &model, TREND_WINDOW_MS);
		for (int64_t ms = 0; ms < 2000; ms += 50)
			trend_add(&trend, ms, level(share - (2000 - ms) * 0.0001 +
						    (ms >= 1800 ? fade : 0)));
		check(trend_fit(&trend, 1950, &fit) && fit.grows);
		if (i)
			check(near(fit.loss_s, (1 - fit.share) / fit.share_per_s,
				   EXACT));
		else
			check(fit.loss_s < 0.05);
	}
}

/* 40 % of the range, and 20 % more each second: lost after 3 s. */
static void even_speed(void)
{
	struct estimate estimate;
	struct trend trend;
	struct trend_fit fit;

	trend_init(&trend, &model, TREND_WINDOW_MS);
	for (int64_t ms = 0; ms <= 2500; ms += 50) {
		trend_add(&trend, ms, level(0.4 + 0.2 * ms / 1000));
		if (ms < 1000 || !check(trend_estimate(&trend, ms, &estimate, &fit)))
			continue;
		check(estimate.known && !estimate.lost);
		check(near(estimate.at_ms, 3000, 5));
		check(estimate.spread_ms == 10);
	}
}

/* PLAMA's drive: 13 m/s, past at 10 m, range 70 m: lost at sqrt(4800) / 13 */
static void past_at_10_m(void)
{
	struct estimate estimate;
	struct trend trend;
	struct trend_fit fit;

	trend_init(&trend, &model, TREND_WINDOW_MS);
	for (int64_t ms = 10000; ms <= 15000; ms += 50) {
		trend_add(&trend, ms, level(hypot(10, 13 * (ms - 10000) / 1000.0) / 70));
		trend_estimate(&trend, ms, &estimate, &fit);
	}
	check(estimate.known);
	check(near(estimate.at_ms, 15329, 20));
}

static void steady_signal_is_not_lost(void)
{
	struct estimate estimate;
	struct trend trend;
	struct trend_fit fit;

	trend_init(&trend, &model, TREND_WINDOW_MS);
	for (int64_t ms = 0; ms < 5000; ms += 50)
		trend_add(&trend, ms, ms / 100 % 2 ? -80 : -84);
	check(trend_estimate(&trend, 5000, &estimate, &fit));
	check(!estimate.known);
	check(near(fit.level_dbm, -82, 1));
	/* and one that gets better isn't, either */
	for (int64_t ms = 5000; ms < 8000; ms += 50)
		trend_add(&trend, ms, -82 + (ms - 5000) / 200.0);
	check(trend_estimate(&trend, 8000, &estimate, &fit));
	check(!estimate.known);
}

static void weak_signal_is_lost_now(void)
{
	struct estimate estimate;
	struct trend trend;
	struct trend_fit fit;

	trend_init(&trend, &model, TREND_WINDOW_MS);
	for (int64_t ms = 0; ms <= 1000; ms += 50)
		trend_add(&trend, ms, -91.5);
	check(trend_estimate(&trend, 1000, &estimate, &fit));
	check(estimate.known && estimate.lost && estimate.at_ms == 1000);
}

/* Old levels are forgotten, time doesn't run back, and a gap leaves nothing. */
static void window(void)
{
	struct trend trend;
	struct trend_fit fit;

	trend_init(&trend, &model, TREND_WINDOW_MS);
	for (int64_t ms = 0; ms <= 20000; ms += 20)
		trend_add(&trend, ms, ms < 18000 ? -60 : -70);
	check(trend.count == TREND_WINDOW_MS / TREND_BIN_MS);
	trend_add(&trend, 19000, -10);
	check(trend_fit(&trend, 20000, &fit));
	check(near(fit.level_dbm, -70, EXACT));
	check(!trend_fit(&trend, 22000, &fit));
	trend_add(&trend, 30000, -70);
	check(trend.count == 1);
}

/* --- walk.c --- */

/*
 * -80 dBm, and -82 after 0.1 s, in the first model (W = 0.3, Q = 1) with tau = 2 s:
 *
 *	left of a slope		exp(-0.05) = 0.951229, so 1 dB/s adds 2 (1 - 0.951229) = 0.097541 dB
 *	variances until then	level 4 + 0.097541^2 * 4 + 0.3^2 * 0.1 = 4.047057
 *				both 0.951229 * 0.097541 * 4 = 0.371139
 *	sample			4.047057 + 4 + 0.1 = 8.147057
 *	level			-80 - 2 * 4.047057 / 8.147057 = -80.993502
 *	slope			-2 * 0.371139 / 8.147057 = -0.091110
 *	its variance		0.904837 * 4 + 0.095163 - 0.371139^2 / 8.147057 = 3.697604
 *	of samples		less of what it was by a 20th: 3.8
 *	merit			-(log(8.147057) + 4 / 8.147057) / 2 = -1.294316
 */
static void two_samples_by_hand(void)
{
	const struct walk_filter *filter;
	struct walk walk;

	walk_init(&walk, model.threshold_dbm);
	check(walk_chance(&walk) == 0);
	walk_add(&walk, 10000, -80);
	walk_add(&walk, 10100, -82);
	filter = &walk.filters[1];
	check(near(filter->level_dbm, -80.993502, EXACT));
	check(near(filter->slope, -0.091110, EXACT));
	check(near(filter->slope_variance, 3.6976, 0.0001));
	check(near(filter->sample_variance, 3.8, EXACT));
	check(near(filter->merit, -1.294316, 0.00001));
	/* time doesn't run back */
	walk_add(&walk, 10050, -10);
	check(near(filter->level_dbm, -80.993502, EXACT));
}

/* Near when a loss is likely, and until the level is 3 dB above the threshold. */
static void near_and_not_any_more(void)
{
	int64_t first_ms = 0, last_ms = 0;
	struct walk walk;

	walk_init(&walk, model.threshold_dbm);
	for (int64_t ms = 0; ms < 10000; ms += 50) {
		/* 12 dB above the threshold, down by 4 dB/s, and 10 dB above it from 3.5 s on */
		walk_add(&walk, ms, ms < 3500 ? -79 - 4 * ms / 1000.0 : -81);
		if (!walk.near)
			continue;
		if (!first_ms)
			first_ms = ms;
		last_ms = ms;
	}
	check(first_ms >= 2400 && first_ms <= 2800);
	check(last_ms >= 3500 && last_ms <= 3700);
	/* a silence leaves nothing */
	walk_add(&walk, 20000, -60);
	check(near(walk.filters[0].level_dbm, -60, EXACT) && walk_chance(&walk) < 0.001);
}

/* Somebody sits 7 dB above the threshold, with shadows of 2 dB and fades of 8: never near. */
static void sits_in_shadows(void)
{
	struct walk walk;

	walk_init(&walk, model.threshold_dbm);
	for (int64_t ms = 0; ms < 30000; ms += 50) {
		walk_add(&walk, ms, -84 + 2 * sin(ms / 1500.0) + (ms / 50 % 2 ? 2 : -2) -
			 (ms % 5000 < 100 ? 8 : 0));
		check(!walk.near);
	}
}

/*
 * A normal number, the sum of twelve even ones, that keeps 0.86 of the one before: fading where
 * people walk past, 0.3 m/s.
 */
static double fade(uint32_t *seed, double before)
{
	double sum = -6;

	for (int i = 0; i < 12; i++) {
		*seed = *seed * 1664525 + 1013904223;
		sum += *seed / 4294967296.0;
	}
	return 0.86 * before + 0.51 * sum;
}

/*
 * Fades that last, of 3 dB, 8 dB above the threshold, for an hour: now and then 0.3 s of them are
 * below it, and no loss is near.
 */
static void sits_in_fades_that_last(void)
{
	unsigned int weak = 0, near = 0;
	double now = 0, mean = 0;
	uint32_t seed = 1;
	struct walk walk;

	walk_init(&walk, model.threshold_dbm);
	for (int64_t ms = 0; ms < 3600000; ms += 50) {
		bool was = walk.near;

		now = fade(&seed, now);
		mean += (now - mean) / 6;
		weak += 3 * mean < -6;
		walk_add(&walk, ms, round(-83 + 3 * now));
		near += walk.near && !was;
	}
	check(weak > 100);
	check(near <= 5);
}

/* Silences that begin at that level: the bar rises to it from the third on, and falls again. */
static void losses_raise_the_bar(void)
{
	int64_t ms = 0, near_ms = 0;
	struct walk walk;

	walk_init(&walk, model.threshold_dbm);
	for (int loss = 0; loss < 3; loss++, ms += 1000) {
		for (int64_t end_ms = ms + 5000; ms < end_ms; ms += 50)
			walk_add(&walk, ms, -80);
		check(!walk.near && near(walk_above_db(&walk), 11, 0.5));
	}
	walk_add(&walk, ms, -80);
	check(near(walk_above_db(&walk), 0, 0.5));
	/* but nothing more is lost: after so many seconds the path is used again, and goes on so */
	for (int64_t end_ms = ms + 600000; ms < end_ms; ms += 50) {
		walk_add(&walk, ms, -80);
		near_ms += walk.near ? 50 : 0;
	}
	check(near_ms > 1000 && near_ms < 600000 / 20);
	/* that access point's lesson outlasts a new beginning */
	walk_restart(&walk, &(struct walk_learned){ .shown_db = 11 });
	check(isnan(walk_above_db(&walk)));
	walk_add(&walk, ms, -80);
	check(near(walk_above_db(&walk), 0, EXACT));
}

/* A loss that the level doesn't show teaches nothing. */
static void loss_far_above_the_bar(void)
{
	struct walk walk;

	walk_init(&walk, model.threshold_dbm);
	for (int64_t ms = 0; ms < 60000; ms += ms % 5000 ? 50 : 1000)
		walk_add(&walk, ms, -60);
	walk_lost(&walk);
	check(!walk.learned.losses && near(walk_above_db(&walk), 31, EXACT));
}

/* The line's estimate: put off while nothing is near, made sooner when something is. */
static void line_is_corrected(void)
{
	struct estimate line = { .known = true, .at_ms = 1200, .spread_ms = 400 }, none = { };
	struct estimate lost = { .known = true, .lost = true, .at_ms = 1000 };
	struct walk walk;

	walk_init(&walk, model.threshold_dbm);
	walk_correct(&walk, 1000, &line);
	/* a second and 7/4 of 400 ms */
	check(line.known && line.at_ms == 2700 && line.spread_ms == 400);
	walk_correct(&walk, 1000, &line);
	check(line.at_ms == 2700);
	walk_correct(&walk, 1000, &none);
	check(!none.known);
	for (int64_t ms = 0; ms <= 1000; ms += 50)
		walk_add(&walk, ms, -95);
	check(walk.near && walk_chance(&walk) > 0.9);
	walk_correct(&walk, 1000, &none);
	check(none.known && none.at_ms == 1000 && none.spread_ms == 1);
	line.at_ms = 2000;
	walk_correct(&walk, 1000, &line);
	check(line.at_ms == 1000 && line.spread_ms == 400);
	walk_correct(&walk, 1000, &lost);
	check(lost.lost && lost.at_ms == 1000);
	/* with --avoid it is told so far ahead that nothing is stopped, whatever the line says */
	walk.avoids = true;
	walk_correct(&walk, 1000, &lost);
	check(!lost.lost && lost.at_ms == 3500 && lost.spread_ms == 1000);
	walk_restart(&walk, &(struct walk_learned){ });
	check(walk.avoids);
}

/* --- choice.c --- */

static void smaller_spread_is_used(void)
{
	struct estimate signal = { .known = true, .at_ms = 3000, .spread_ms = 200 };
	struct estimate route = { .known = true, .at_ms = 4000, .spread_ms = 100 };
	struct estimate none = { };
	struct choice choice = { };

	check(choice_make(&choice, &signal, 0.8, &route, 0) == &route);
	/* the other one has to be clearly better */
	route.spread_ms = 250;
	check(choice_make(&choice, &signal, 0.8, &route, 0) == &route);
	route.spread_ms = 300;
	check(choice_make(&choice, &signal, 0.8, &route, 0) == &signal);
	route.spread_ms = 150;
	check(choice_make(&choice, &signal, 0.8, &route, 0) == &signal);
	check(choice.used == SOURCE_SIGNAL);
	check(choice_make(&choice, &none, 0.8, &route, 0) == &route);
	check(choice_make(&choice, &signal, 0.8, &none, 0) == &signal);
	check(choice_make(&choice, &none, 0.8, &none, 0) == &none);
	check(choice.used == SOURCE_NONE);
}

static void signal_overrules_route(void)
{
	struct estimate lost = { .known = true, .lost = true, .at_ms = 1000 };
	struct estimate route = { .known = true, .at_ms = 1050, .spread_ms = 100 };
	struct estimate none = { };
	struct choice choice = { };

	check(choice_make(&choice, &lost, 1.1, &route, 1000) == &lost);
	/* at a third of the range the map can't be right */
	check(choice_make(&choice, &none, 0.33, &route, 1000) == &none);
	check(choice_make(&choice, &none, 0.9, &route, 1000) == &route);
	check(choice_make(&choice, &none, NAN, &route, 1000) == &route);
}

/* --- warning.c --- */

static enum warning_act update(struct warning *warning, int64_t at_ms,
			       int64_t now_ms)
{
	struct estimate estimate = {
		.known = at_ms >= 0, .at_ms = at_ms, .spread_ms = 100,
	};

	return warning_update(warning, &estimate, 10, now_ms);
}

static void same_time_is_said_once(void)
{
	unsigned int said = 0, corrected = 0;
	struct warning warning;

	warning_init(&warning);
	check(update(&warning, 6000, 500) == WARNING_NOTHING);
	for (int64_t ms = 1000; ms < 6000; ms += 10)
		said += update(&warning, 6000 + ms % 30, ms) == WARNING_LOSS;
	check(said == 1);
	/* it moves all the time: not a hundred times a second */
	for (int64_t ms = 6000; ms < 7000; ms += 10)
		corrected += update(&warning, ms + 60 + (ms / 10 % 2) * 900, ms) ==
			     WARNING_LOSS;
	check(corrected <= 20);
	check(corrected > 0);
}

/* The kernel stops sending 7/4 of the spread before the loss. */
static void another_spread_is_said(void)
{
	struct estimate estimate = { .known = true, .at_ms = 4000, .spread_ms = 800 };
	struct warning warning;
	unsigned int said = 0;

	warning_init(&warning);
	check(warning_update(&warning, &estimate, 10, 1000) == WARNING_LOSS);
	for (int64_t ms = 1050; ms < 2000; ms += 50) {
		estimate.spread_ms = 750 + ms % 200;
		said += warning_update(&warning, &estimate, 10, ms) == WARNING_LOSS;
	}
	check(!said);
	estimate.spread_ms = 100;
	check(warning_update(&warning, &estimate, 10, 2000) == WARNING_LOSS);
	check(warning_update(&warning, &estimate, 10, 2100) == WARNING_NOTHING);
	estimate.spread_ms = 800;
	check(warning_update(&warning, &estimate, 10, 2200) == WARNING_LOSS);
}

static void taken_back_only_for_good(void)
{
	struct warning warning;

	warning_init(&warning);
	check(update(&warning, 3000, 1000) == WARNING_LOSS);
	/* a trend that is there and not there again */
	for (int64_t ms = 1000; ms <= 2000; ms += 50)
		check(update(&warning, ms / 50 % 5 ? -1 : 3000, ms) ==
		      WARNING_NOTHING);
	for (int64_t ms = 2050; ms < 2300; ms += 50)
		check(update(&warning, -1, ms) == WARNING_NOTHING);
	check(update(&warning, -1, 2300) == WARNING_NO_LOSS);
	check(update(&warning, -1, 2350) == WARNING_NOTHING);
	check(update(&warning, 4000, 2650) == WARNING_LOSS);
	/* the trend ends with the frames */
	warning.silent = true;
	for (int64_t ms = 3000; ms < 9000; ms += 50)
		check(update(&warning, -1, ms) == WARNING_NOTHING);
	warning.silent = false;
	check(update(&warning, -1, 9100) == WARNING_NOTHING);
	check(update(&warning, -1, 9300) == WARNING_NO_LOSS);
}

/* It is over already: now. */
static void past_time_is_said_once(void)
{
	struct warning warning;

	warning_init(&warning);
	check(update(&warning, 2000, 1000) == WARNING_LOSS);
	for (int64_t ms = 1050; ms < 4000; ms += 50)
		check(update(&warning, 2000, ms) == WARNING_NOTHING);
}

static void lost_until_it_recovers(void)
{
	struct estimate lost = { .known = true, .lost = true, .at_ms = 1000 };
	struct estimate none = { };
	struct warning warning;

	warning_init(&warning);
	check(warning_update(&warning, &lost, -1, 1000) == WARNING_LOSS);
	for (int64_t ms = 1010; ms < 9000; ms += 10) {
		lost.at_ms = ms;
		check(warning_update(&warning, ms / 10 % 2 ? &lost : &none,
				     ms / 10 % 2 ? -1 : 2, ms) ==
		      WARNING_NOTHING);
	}
	lost.at_ms = 31000;
	check(warning_update(&warning, &lost, -1, 31000) == WARNING_LOSS);
	/* above the threshold, but not by enough: a report expires after a minute */
	check(warning_update(&warning, &none, 2.9, 60999) == WARNING_NOTHING);
	check(warning_update(&warning, &none, 2.9, 61000) == WARNING_LOSS);
	check(warning.loss_at_ms == 61000);
	check(warning_update(&warning, &none, 3, 61100) == WARNING_NOTHING);
	check(warning_update(&warning, &none, 2.9, 61500) == WARNING_NOTHING);
	check(warning_update(&warning, &none, 3, 61600) == WARNING_NOTHING);
	check(warning_update(&warning, &none, 3, 62100) == WARNING_NO_LOSS);
}

/* --- geo.c, coverage.c, route.c --- */

static void distances(void)
{
	const struct position a = { 0, 0 }, b = { 1, 0 }, c = { 60, 10 },
			      d = { 60, 11 }, e = { 0, 179.5 }, f = { 0, -179.5 };

	check(near(geo_distance_m(&a, &b), 111195, 1));
	check(near(geo_distance_m(&c, &d), 55597, 1));
	check(near(geo_distance_m(&e, &f), 111195, 1));
	check(near(geo_velocity(13, 90).x, 13, EXACT));
	check(near(geo_velocity(13, 180).y, -13, EXACT));
}

/* Metres to the east and north of 0, 0. */
static struct position place(double x, double y)
{
	return (struct position) { y / 111194.93, x / 111194.93 };
}

/*
 * From 100 m west of the access point to 100 m east, 10 m north of it, at
 * 10 m/s: in range from -sqrt(4800) = -69.28 m to 69.28 m. It leaves with
 * 10 * 69.28 / 70 = 9.897 m/s.
 */
static void way_past(void)
{
	const struct errors errors = { .position_m = 5, .range_share = 0.1 };
	struct ap ap = { .range_m = 70, .ssid = "a" };
	struct position from = place(-100, 10), to = place(100, 10);
	struct crossing crossing;
	struct estimate estimate;
	struct route route = { };

	route_add(&route, &from, 0);
	route_add(&route, &to, 20000);
	check(coverage_crossing(&route, &ap, 0, &no_errors, &crossing));
	check(near(crossing.enter_ms, 3072, 1));
	check(near(crossing.leave_ms, 16928, 1));
	check(near(crossing.nearest_m, 10, 0.01));
	check(crossing.spread_ms == 0);
	/* sqrt(5^2 + 7^2) / 9.897 */
	check(coverage_crossing(&route, &ap, 9000, &errors, &crossing));
	check(near(crossing.spread_ms, 869, 1));
	coverage_estimate(&crossing, &ap, 2000, &estimate);
	check(!estimate.known);
	coverage_estimate(&crossing, &ap, 9000, &estimate);
	check(estimate.known && near(estimate.at_ms, 16928, 1));
	check(!coverage_crossing(&route, &ap, 17000, &errors, &crossing));
	check(coverage_straight(&from, 10, 90, &ap, 0, &no_errors, &crossing));
	check(near(crossing.leave_ms, 16928, 1));
	check(!coverage_straight(&from, 10, 270, &ap, 0, &no_errors, &crossing));
	check(!coverage_straight(&from, 0.1, 90, &ap, 0, &no_errors, &crossing));
	route_free(&route);
}

/* In at the start, a stop in range, out, and in again until the end. */
static void way_with_turns(void)
{
	static const struct { double x, y; int64_t ms; } points[] = {
		{ 0, 0, 0 }, { 50, 0, 5000 }, { 50, 0, 9000 }, { 150, 0, 19000 },
		{ 150, 50, 24000 }, { 0, 50, 39000 },
	};
	struct ap ap = { .range_m = 70 };
	struct crossing crossing;
	struct route route = { }, rest;
	struct position at;

	for (unsigned int i = 0; i < ARRAY_SIZE(points); i++) {
		at = place(points[i].x, points[i].y);
		route_add(&route, &at, points[i].ms);
	}
	check(coverage_crossing(&route, &ap, 0, &no_errors, &crossing));
	check(crossing.enter_ms == 0 && near(crossing.leave_ms, 11000, 2));
	check(coverage_crossing(&route, &ap, 12000, &no_errors, &crossing));
	/* sqrt(70^2 - 50^2) = 48.99 */
	check(near(crossing.enter_ms, 24000 + 10101, 2) && !crossing.leaves);
	at = route_at(&route, 14000);
	check(near(at.longitude, place(100, 0).longitude, EXACT));
	/* at twice the speed from 100 m on, 3 m beside the way */
	at = place(100, 3);
	check(route_resume(&route, &at, 20, NAN, 50, 60000, &rest));
	check(rest.count == 4 && rest.points[0].ms == 60000);
	check(near(rest.points[1].ms, 62500, 2));
	check(near(rest.points[3].ms, 72500, 2));
	route_free(&rest);
	at = place(100, 25.5);
	check(!route_resume(&route, &at, 20, NAN, 20, 60000, &rest));
	route_free(&route);
}

/*
 * Out to 500 m east of the access point and back; at 80 m east the range, 100 m, ends
 * after 20 m outbound and after 180 m on the way back.
 */
static void out_and_back(void)
{
	static const struct { double speed, heading, leave_m; } fixes[] = {
		{ 10, 270, 180 },	/* on the way back */
		{ 10, 315, 180 },
		{ 10, 90, 20 },
		{ 10, NAN, 20 },	/* the first of two that are as near */
		{ 10, 0, 20 },		/* across both */
		{ 0.4, 270, 20 },	/* noise */
	};
	const struct position east = place(500, 0), at = place(80, 3);
	const struct position west = place(-500, 0);
	struct ap ap = { .range_m = 100 };
	struct crossing crossing;
	struct route route = { }, rest;

	route_add(&route, &west, 0);
	route_add(&route, &east, 100000);
	route_add(&route, &west, 200000);
	for (unsigned int i = 0; i < ARRAY_SIZE(fixes); i++) {
		check(route_resume(&route, &at, fixes[i].speed, fixes[i].heading, 50, 0,
				   &rest));
		check(coverage_crossing(&rest, &ap, 0, &no_errors, &crossing));
		check(near(crossing.leave_ms, fixes[i].leave_m / fixes[i].speed * 1000, 10));
		route_free(&rest);
	}
	route_free(&route);
}

/* The circle is crossed between two points of one time. */
static void no_time_between_two_points(void)
{
	static const struct { double x; int64_t ms; } points[] = {
		{ 0, 0 }, { 50, 5000 }, { 60, 6000 }, { 75, 6000 }, { 85, 7000 },
	};
	struct ap ap = { .range_m = 70 };
	struct crossing crossing;
	struct route route = { };

	for (unsigned int i = 0; i < ARRAY_SIZE(points); i++) {
		struct position at = place(points[i].x, 0);

		route_add(&route, &at, points[i].ms);
	}
	check(coverage_crossing(&route, &ap, 0, &no_errors, &crossing));
	check(crossing.leaves && crossing.leave_ms == 6000);
	check(!coverage_crossing(&route, &ap, 6000, &no_errors, &crossing));
	route_free(&route);
}

static void times(void)
{
	int64_t ms;

	check(!route_time("1970-01-02T00:00:01.25Z", &ms) && ms == 86401250);
	check(!route_time("1970-01-01T01:00:00+01:00", &ms) && ms == 0);
	check(!route_time("1969-12-31T22:30:00-01:30", &ms) && ms == 0);
	check(route_time("1970-01-01", &ms));
	check(route_time("1970-01-01T00:00:00 in the morning", &ms));
	/* which zone's it is isn't known */
	check(route_time("1970-01-01T00:00:00", &ms));
	check(route_time("1970-01-01T00:00:00.5", &ms));
}

static void which_access_point(void)
{
	struct ap list[] = {
		{ .position = place(0, 0), .range_m = 50, .ssid = "bus" },
		{ .position = place(100, 0), .range_m = 100, .ssid = "bus" },
		{ .position = place(0, 0), .range_m = 50, .ssid = "bus",
		  .bssid = { 2, 0, 0, 0, 0, 1 }, .has_bssid = true },
	};
	const uint8_t third[] = { 2, 0, 0, 0, 0, 1 };
	const uint8_t other[] = { 2, 0, 0, 0, 0, 2 };
	struct aps aps = { list, ARRAY_SIZE(list) };
	struct position at = place(45, 0);

	/* 45 / 50 against 55 / 100 */
	check(aps_find(&aps, other, "bus", &at) == &list[1]);
	check(aps_find(&aps, third, "bus", &at) == &list[2]);
	check(!aps_find(&aps, other, "tram", &at));
}

int main(void)
{
	run(range_of_power);
	run(share_of_level);
	run(five_samples_by_hand);
	run(fade_near_the_end);
	run(even_speed);
	run(past_at_10_m);
	run(steady_signal_is_not_lost);
	run(weak_signal_is_lost_now);
	run(window);
	run(two_samples_by_hand);
	run(near_and_not_any_more);
	run(sits_in_shadows);
	run(sits_in_fades_that_last);
	run(losses_raise_the_bar);
	run(loss_far_above_the_bar);
	run(line_is_corrected);
	run(smaller_spread_is_used);
	run(signal_overrules_route);
	run(same_time_is_said_once);
	run(another_spread_is_said);
	run(taken_back_only_for_good);
	run(past_time_is_said_once);
	run(lost_until_it_recovers);
	run(distances);
	run(way_past);
	run(way_with_turns);
	run(out_and_back);
	run(no_time_between_two_points);
	run(times);
	run(which_access_point);
	return tap_end();
}
