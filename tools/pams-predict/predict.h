/* SPDX-License-Identifier: GPL-2.0 */
/*
 * pams-predict - what its files share, grouped by the file that defines it
 *
 *	signal:  station.c -> trend.c, walk.c \
 *	         (or replay.c)              > choice.c -> warning.c -> line.c
 *	route:   gps.c, route.c -> coverage.c
 *	                aps.c --/  \-> timeline.c
 *
 * pathloss.c and geo.c are models that both use. trend, walk, choice, warning, coverage,
 * pathloss and geo only compute: they make no system call and read no clock.
 *
 * The map of the files; a file calls only files below it (selftests/downward):
 *
 *	main.c		options
 *	plugin.c	runs the predictor as pamsd's plugin
 *	timeline.c	predicts the losses of a route, without a radio
 *	replay.c	predicts losses from recorded levels, without a radio
 *	station.c	the radio, over nl80211
 *	gps.c		gpsd
 *	read.c		routes and access points from files ...
 *	csv.c gpx.c kml.c geojson.c
 *			... of each format
 *	xml.c		an XML file, element by element
 *	choice.c	chooses between the signal's and the route's estimate
 *	warning.c	decides when to report a loss to pamsd
 *	line.c		the lines that pamsd reads
 *	coverage.c	a path through the range of an access point
 *	route.c		where the vehicle will be, and when
 *	aps.c		the database of access points
 *	walk.c		tells from levels how likely a loss is
 *	trend.c		extrapolates levels over time
 *	geo.c		positions on the ground
 *	pathloss.c	the log-distance model
 *
 * Units: times in ms of one clock that the caller chooses, levels in dBm,
 * lengths in m, speeds in m/s, angles in degrees.
 */
#ifndef PAMS_PREDICT_H
#define PAMS_PREDICT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

#define WHY_TEXT	96

struct settings;

/* What one source, signal or route, predicts for the link to the associated access point. */
struct estimate {
	bool known;		/* false: no loss is predicted */
	bool lost;		/* the link is lost already; at_ms is now */
	int64_t at_ms;		/* when the link will be lost */
	uint32_t spread_ms;	/* standard deviation of at_ms */
	char why[WHY_TEXT];
};

/* --- pathloss.c: the log-distance model --- */

struct pathloss {
	double threshold_dbm;	/* T: below it the link is lost */
	double exponent;	/* n */
	double reference_db;	/* L0: loss at the reference distance, 1 m */
};

#define PATHLOSS_DEFAULT { \
	.threshold_dbm = -91, .exponent = 3.0, .reference_db = 40, \
}

/* Distance at which the signal of a sender with that power falls to T. */
double pathloss_range_m(const struct pathloss *model, double power_dbm);
/* The distance at which the level is received, as a share of the range; 1 and more: lost. */
double pathloss_share(const struct pathloss *model, double level_dbm);

/* --- trend.c: levels over time, extrapolated --- */

#define TREND_BIN_MS	100
#define TREND_BINS_MAX	64
#define TREND_WINDOW_MS	2000

struct trend {
	struct pathloss model;
	unsigned int window_ms;	/* at most TREND_BIN_MS * TREND_BINS_MAX */
	unsigned int count;
	struct trend_bin {
		int64_t number;		/* ms / TREND_BIN_MS */
		unsigned int samples;
		double ms_sum;		/* sum of the samples' times since the bin began */
		double dbm_sum;
	} bins[TREND_BINS_MAX];		/* the oldest one first */
};

/* A line fitted to the levels of the window. */
struct trend_fit {
	double level_dbm;	/* mean of the newest 300 ms */
	double share;		/* of the range, now */
	double share_per_s;	/* growth of the share */
	double growth_error;	/* standard error of share_per_s */
	double loss_s;		/* time from now until the loss; only if grows */
	double spread_s;	/* standard deviation of loss_s */
	bool grows;		/* share_per_s is more than twice growth_error */
};

void trend_init(struct trend *trend, const struct pathloss *model,
		unsigned int window_ms);
void trend_reset(struct trend *trend);
void trend_add(struct trend *trend, int64_t ms, double level_dbm);
/* Fit a line to the levels; false if there are too few samples. */
bool trend_fit(const struct trend *trend, int64_t now_ms,
	       struct trend_fit *fit);
/* Fit a line and make an estimate of it; false if there are too few samples. */
bool trend_estimate(const struct trend *trend, int64_t now_ms,
		    struct estimate *estimate, struct trend_fit *fit);

/* --- walk.c: how likely a loss is --- */

#define WALK_MODELS	4
#define WALK_LOSSES	15

/* What one model knows. In dBm and dB/s, and their variances. */
struct walk_filter {
	double level_dbm, slope, fade_db;
	double level_variance, covariance, slope_variance;
	double level_fade, slope_fade, fade_variance;	/* covariances with the fade */
	double sample_variance;		/* of samples, by fading */
	double merit;			/* the logarithm of its weight */
};

/* What an access point has taught. */
struct walk_learned {
	unsigned int losses;
	double above_db[WALK_LOSSES];	/* levels before the last ones, above the threshold */
	double shown_db;		/* their median, or 0: how much higher losses begin */
	double credit_s;		/* time that may be lost to stops in vain */
};

struct walk {
	double threshold_dbm;
	bool begun;
	int64_t begun_ms, ms;		/* time of the first and the newest sample */
	struct walk_filter filters[WALK_MODELS];
	bool avoids;			/* a setting: a loss that is near is told as a risk */
	bool idles;			/* without frames for a while nothing need be lost */
	bool near;			/* a loss is */
	bool vain;			/* since it is, none has come */
	int64_t weak_ms;		/* when the level was last above the threshold */
	struct walk_learned learned;
};

void walk_init(struct walk *walk, double threshold_dbm);
/* Forget the levels, with what this access point has taught before. */
void walk_restart(struct walk *walk, const struct walk_learned *learned);
void walk_add(struct walk *walk, int64_t ms, double level_dbm);
/* The access point isn't heard any more. */
void walk_lost(struct walk *walk);
/* That the level is too weak 0.6 s after the newest sample. */
double walk_chance(const struct walk *walk);
/* The level above the one at which the path is lost; NAN if none is known. */
double walk_above_db(const struct walk *walk);
/* Put off the estimate of trend.c, so that the path isn't left, or make it near. */
void walk_correct(struct walk *walk, int64_t now_ms, struct estimate *estimate);

/* --- choice.c: the better of two sources --- */

enum source {
	SOURCE_NONE,
	SOURCE_SIGNAL,
	SOURCE_ROUTE,
};

struct choice {
	enum source used;
};

/* signal_share: share of the range, computed from the level; NAN if no level is known. */
const struct estimate *choice_make(struct choice *choice,
				   const struct estimate *signal,
				   double signal_share,
				   const struct estimate *route,
				   int64_t now_ms);
const char *source_name(enum source source);

/* --- warning.c: when a loss is reported, and when the report is withdrawn --- */

struct warning {
	uint32_t horizon_ms;	/* losses farther ahead are not reported */
	double recovery_db;	/* level above T at which a reported loss is withdrawn */
	bool said;		/* a loss is reported */
	bool lost;		/* the last report was that the link is lost now */
	int64_t loss_at_ms;	/* the time of the loss in the last report */
	uint32_t spread_ms;	/* and its standard deviation */
	int64_t said_ms;	/* when that was reported */
	int64_t clear_ms;	/* since when no loss is predicted; valid if clear */
	bool clear;
	bool silent;		/* no frame arrives: nothing is withdrawn; the caller sets it */
};

enum warning_act {
	WARNING_NOTHING,
	WARNING_LOSS,		/* report the estimate */
	WARNING_NO_LOSS,	/* report that there is no loss */
};

void warning_init(struct warning *warning);
/*
 * Decide what to do with a new estimate. To be called for each estimate. above_db: the
 * level less the threshold, NAN if no level is known.
 */
enum warning_act warning_update(struct warning *warning,
				const struct estimate *estimate,
				double above_db, int64_t now_ms);
/* The time and the spread of the last report. */
void warning_told(const struct warning *warning, struct estimate *estimate);
/* Forget what was reported: the access point was left, or another one joined. */
void warning_forget(struct warning *warning);

/* --- geo.c: positions on the ground --- */

#define SPEED_MIN_MPS	0.5	/* at lower speeds a GPS receiver's heading is noise */

struct position {
	double latitude, longitude;	/* degrees */
};

struct point {
	double x, y;			/* m, to the east and to the north */
};

/* A text that is a number and nothing else. */
bool geo_number(const char *text, double *number);
struct point geo_point(const struct position *origin,
		       const struct position *position);
double geo_distance_m(const struct position *a, const struct position *b);
struct point geo_velocity(double speed_mps, double heading_deg);

/* --- aps.c: the database of access points --- */

#define SSID_BYTES	33

struct ap {
	struct position position;
	uint8_t bssid[6];
	bool has_bssid;
	char ssid[SSID_BYTES];
	double range_m;
};

struct aps {
	struct ap *aps;
	unsigned int count;
};

void aps_free(struct aps *aps);
/*
 * Of the access points with that BSSID or SSID, the nearest one relative to its range; NULL
 * if there is none.
 */
const struct ap *aps_find(const struct aps *aps, const uint8_t *bssid,
			  const char *ssid, const struct position *position);
void ap_name(const struct ap *ap, char name[SSID_BYTES]);

/* --- route.c: where the vehicle will be, and when --- */

struct waypoint {
	struct position position;
	int64_t ms;		/* since the epoch */
};

struct route {
	struct waypoint *points;
	unsigned int count;
};

void route_free(struct route *route);
int route_add(struct route *route, const struct position *position,
	      int64_t ms);
/* "2026-11-22T06:30:00.5Z" -> ms since the epoch. NULL, or a message of what is wrong. */
const char *route_time(const char *text, int64_t *ms);
/*
 * Add a point that a file has. begins: it is the first one of a track, segment or line, which
 * may be another drive than the one before. NULL, or a message of what is wrong.
 */
const char *route_add_text(struct route *route, const struct position *position,
			   const char *time, bool begins);
/* The position on the route at that time; before and after it, the first and the last point. */
struct position route_at(const struct route *route, int64_t ms);
/*
 * Make the rest of a route, from its point nearest to the position on, with times
 * for that speed. Parts of the route that lead in the direction of the heading are
 * preferred if one is within off_m and the heading is known (not NAN, nor noise).
 * False if the position is farther than off_m from the route, or without a speed.
 */
bool route_resume(const struct route *route, const struct position *position,
		  double speed_mps, double heading_deg, double off_m,
		  int64_t now_ms, struct route *rest);

/* --- read.c: routes and access points from files --- */

/* 0, or -1 after a message on standard error. */
int route_read(struct route *route, const char *file);
int aps_read(struct aps *aps, const char *file, const struct pathloss *model);

/* --- csv.c, gpx.c, kml.c, geojson.c: formats of files --- */

int csv_aps_read(struct aps *aps, const char *file,
		 const struct pathloss *model);
int gpx_read(struct route *route, const char *file);
int kml_read(struct route *route, const char *file);
int geojson_route_read(struct route *route, const char *file);
int geojson_aps_read(struct aps *aps, const char *file,
		     const struct pathloss *model);

/* --- coverage.c: a path through the range of an access point --- */

/* Standard deviations. */
struct errors {
	double position_m;	/* of a position */
	double range_share;	/* of an access point's range, as a share of the range */
	uint32_t time_ms;	/* of the route's times */
};

#define ERRORS_DEFAULT { \
	.position_m = 5, .range_share = 0.1, .time_ms = 1000, \
}

struct crossing {
	bool inside;		/* the path is in range at the time asked for, or later */
	int64_t enter_ms;
	bool leaves;		/* false: the path ends in range */
	int64_t leave_ms;
	uint32_t spread_ms;	/* standard deviation of leave_ms */
	double nearest_m;	/* least distance between enter_ms and leave_ms */
};

/* Find the first stay in range that isn't over at from_ms; false if there is none. */
bool coverage_crossing(const struct route *route, const struct ap *ap,
		       int64_t from_ms, const struct errors *errors,
		       struct crossing *crossing);
/* The same for a straight path, from that position with that speed and heading. */
bool coverage_straight(const struct position *position, double speed_mps,
		       double heading_deg, const struct ap *ap, int64_t now_ms,
		       const struct errors *errors, struct crossing *crossing);
void coverage_estimate(const struct crossing *crossing, const struct ap *ap,
		       int64_t now_ms, struct estimate *estimate);

/* --- timeline.c, replay.c: without a radio --- */

int timeline_print(const struct route *route, const struct aps *aps,
		   const struct errors *errors, bool json, FILE *out);
/* Predict from a file of lines "MS DBM"; "-" is standard input. */
int replay_print(const char *file, const struct settings *settings, FILE *out);

/* --- line.c: the lines that pamsd reads --- */

/* at_ms: printed if not negative, for a replay */
int line_loss(FILE *out, const struct estimate *estimate, int64_t now_ms,
	      int64_t at_ms);
int line_no_loss(FILE *out, int64_t at_ms);

/* --- station.c: the radio --- */

enum station_event {
	STATION_NOTHING,
	STATION_LOOK,		/* the access point's level has crossed a threshold */
	STATION_SILENT,		/* the access point's beacons don't arrive */
	STATION_CHANGED,	/* an access point was joined or left */
};

struct station {
	uint8_t bssid[6];
	int level_dbm;
	uint64_t frames;	/* received from it, including beacons */
	bool beacons;		/* these are counted */
};

struct radio;

struct radio *radio_open(const char *interface);
void radio_close(struct radio *radio);
int radio_fd(const struct radio *radio);
/*
 * 1: *station is the access point that the interface is associated with; 0: there is none;
 * -errno: no answer, and with -ENOENT there won't be one any more.
 */
int radio_look(struct radio *radio, struct station *station);
int radio_ssid(struct radio *radio, char ssid[SSID_BYTES]);
/* Read the events that have arrived on radio_fd(); the most important one. */
enum station_event radio_event(struct radio *radio);

/* --- gps.c: gpsd --- */

struct fix {
	struct position position;
	double speed_mps, heading_deg;
	double error_m;
};

struct gps;

struct gps *gps_connect(const char *where);
void gps_disconnect(struct gps *gps);
int gps_descriptor(const struct gps *gps);
/* Read the newest fix. 1: there is a new one; 0: there is none; -1: the connection has ended. */
int gps_fix(struct gps *gps, struct fix *fix);

/* --- plugin.c: as pamsd's plugin --- */

struct settings {
	const char *interface;
	struct pathloss model;
	struct errors errors;
	struct warning warning;
	unsigned int window_ms;
	const char *gpsd;	/* NULL: none */
	struct aps aps;
	struct route route;
	bool depart_now;	/* the route begins when the program starts */
	bool avoids;		/* by the level no path is stopped, only avoided */
	bool explain;
};

int plugin_run(struct settings *settings);

#endif /* PAMS_PREDICT_H */
