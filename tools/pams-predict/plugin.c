// SPDX-License-Identifier: GPL-2.0
/*
 * plugin - runs the predictor as pamsd's plugin
 *
 * It reads the access point's level every NEAR_MS, or every FAR_MS while the vehicle is
 * so near that at any speed on a road the loss is seconds away, and writes to standard
 * output what warning.c decides. Without an access point it waits for one.
 *
 * While no frame arrives the signal decides nothing: the last report holds.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "predict.h"

#define NEAR_MS		50
#define FAR_MS		500
#define ABSENT_MS	5000
/* share of the range below which FAR_MS applies: 10 m of a range of 70 m */
#define FAR_SHARE	0.15
/* an older position isn't used */
#define FIX_AGE_MS	3000
#define GPSD_AGAIN_MS	10000
/* five beacons */
#define HEARD_MS	500
/* a vehicle farther away than this has left the route */
#define OFF_ROUTE_M	50
/* what so many access points have taught is remembered */
#define TEACHERS	16

struct teacher {
	uint8_t bssid[6];
	int64_t left_ms;		/* 0: unused */
	struct walk_learned learned;
};

struct plugin {
	const struct settings *settings;
	struct radio *radio;
	struct trend trend;
	struct walk walk;
	struct warning warning;
	struct choice choice;
	struct station station;
	struct teacher teachers[TEACHERS];
	char ssid[SSID_BYTES];
	bool associated, silent;
	bool gone;			/* cfg80211 was unloaded or reloaded */
	bool there;			/* the interface was, or it was said that it isn't */
	double share, above_db;		/* NAN: no level is known */
	struct gps *gps;
	int64_t gps_ms;			/* time of the last try to connect to gpsd, 0: none */
	struct fix fix;
	int64_t heard_ms;		/* when a frame arrived last */
	int64_t fix_ms;			/* when the fix arrived, 0: none yet */
	int64_t shift_ms;		/* the route's clock less now_ms() */
};

static int64_t clock_ms(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return now.tv_sec * 1000LL + now.tv_nsec / 1000000;
}

/* The same clock as pamsd's: it runs on during suspend, as the vehicle drives on. */
static int64_t now_ms(void)
{
	return clock_ms(CLOCK_BOOTTIME);
}

/* Follow the system's time, which may be set late on a machine without a clock of its own. */
static void keep_to_clock(struct plugin *plugin)
{
	if (!plugin->settings->depart_now)
		plugin->shift_ms = clock_ms(CLOCK_REALTIME) - now_ms();
}

/* --- the route's estimate --- */

static bool is_fixed(const struct plugin *plugin, int64_t ms)
{
	return plugin->fix_ms && ms - plugin->fix_ms < FIX_AGE_MS;
}

/* Find the stay in range by the route's own times, without a fix. */
static bool scheduled_crossing(const struct plugin *plugin, const struct ap *ap,
			       int64_t ms, struct crossing *crossing)
{
	const struct settings *settings = plugin->settings;
	bool found;

	found = coverage_crossing(&settings->route, ap, ms + plugin->shift_ms,
				  &settings->errors, crossing);
	crossing->enter_ms -= plugin->shift_ms;
	crossing->leave_ms -= plugin->shift_ms;
	return found;
}

/* Find the stay in range from the vehicle's position: along the route, or off it straight on. */
static bool live_crossing(const struct plugin *plugin, const struct ap *ap,
			  int64_t ms, struct crossing *crossing)
{
	const struct settings *settings = plugin->settings;
	struct errors errors = settings->errors;
	const struct fix *fix = &plugin->fix;
	struct route rest;
	bool found;

	errors.time_ms = 0;
	if (isfinite(fix->error_m))
		errors.position_m = fix->error_m;
	if (!route_resume(&settings->route, &fix->position, fix->speed_mps,
			  fix->heading_deg, OFF_ROUTE_M, plugin->fix_ms, &rest))
		return coverage_straight(&fix->position, fix->speed_mps,
					 fix->heading_deg, ap, plugin->fix_ms,
					 &errors, crossing);
	found = coverage_crossing(&rest, ap, ms, &errors, crossing);
	route_free(&rest);
	return found;
}

static void route_estimate(const struct plugin *plugin, int64_t ms,
			   struct estimate *estimate)
{
	const struct settings *settings = plugin->settings;
	bool fixed = is_fixed(plugin, ms), found;
	struct crossing crossing;
	struct position at;
	const struct ap *ap;

	memset(estimate, 0, sizeof(*estimate));
	if (!settings->aps.count || (!fixed && !settings->route.count))
		return;
	at = fixed ? plugin->fix.position :
		     route_at(&settings->route, ms + plugin->shift_ms);
	ap = aps_find(&settings->aps, plugin->station.bssid, plugin->ssid, &at);
	if (!ap)
		return;
	found = fixed ? live_crossing(plugin, ap, ms, &crossing) :
			scheduled_crossing(plugin, ap, ms, &crossing);
	if (found)
		coverage_estimate(&crossing, ap, ms, estimate);
}

/* --- the signal's estimate --- */

/* Make the signal's estimate; false if too little is known. */
static bool signal_estimate(struct plugin *plugin, int64_t ms,
			    struct estimate *estimate)
{
	struct trend_fit fit;
	bool enough;

	enough = trend_estimate(&plugin->trend, ms, estimate, &fit);
	if (enough) {
		walk_correct(&plugin->walk, ms, estimate);
		plugin->above_db = walk_above_db(&plugin->walk);
		plugin->share = pathloss_share(&plugin->settings->model,
					       fit.level_dbm);
	}
	if (!plugin->silent)
		return enough;
	estimate->known = true;
	estimate->lost = true;
	estimate->at_ms = ms;
	snprintf(estimate->why, WHY_TEXT, "no beacon arrives");
	return true;
}

/* --- decisions --- */

static void explain(const struct plugin *plugin, const struct estimate *estimate,
		    int64_t ms)
{
	if (plugin->settings->explain)
		fprintf(stderr, "pams-predict: %s: lost in %" PRId64 " ms, +- %"
			PRIu32 " ms (%s: %s)\n", plugin->settings->interface,
			estimate->at_ms - ms, estimate->spread_ms,
			source_name(plugin->choice.used), estimate->why);
}

/* Write a line to pamsd if necessary. 0, or -1 if standard output is closed. */
static int decide(struct plugin *plugin, int64_t ms)
{
	struct estimate signal, route, told;
	const struct estimate *best;
	bool enough;

	enough = signal_estimate(plugin, ms, &signal);
	route_estimate(plugin, ms, &route);
	if (!enough && !route.known)
		return 0;
	plugin->warning.silent = ms - plugin->heard_ms > HEARD_MS;
	best = choice_make(&plugin->choice, &signal, plugin->share, &route, ms);
	switch (warning_update(&plugin->warning, best, plugin->above_db, ms)) {
	case WARNING_LOSS:
		told = *best;
		warning_told(&plugin->warning, &told);
		explain(plugin, &told, ms);
		return line_loss(stdout, &told, ms, -1);
	case WARNING_NO_LOSS:
		if (plugin->settings->explain)
			fprintf(stderr, "pams-predict: %s: no loss is to come\n",
				plugin->settings->interface);
		return line_no_loss(stdout, -1);
	case WARNING_NOTHING:
		break;
	}
	return 0;
}

static void forget(struct plugin *plugin)
{
	struct walk_learned learned = plugin->walk.learned;

	trend_reset(&plugin->trend);
	walk_restart(&plugin->walk, &learned);
	memset(&plugin->choice, 0, sizeof(plugin->choice));
	plugin->silent = false;
	plugin->share = NAN;
	plugin->above_db = NAN;
}

/* Of that access point, or the one that was left first. */
static struct teacher *teacher(struct plugin *plugin, const uint8_t *bssid)
{
	struct teacher *found = plugin->teachers;

	for (unsigned int i = 0; i < TEACHERS; i++) {
		struct teacher *other = &plugin->teachers[i];

		if (other->left_ms && !memcmp(other->bssid, bssid, 6))
			return other;
		if (other->left_ms < found->left_ms)
			found = other;
	}
	return found;
}

/* Keep what the access point before has taught, and go on with what the new one has. */
static void change_teacher(struct plugin *plugin, const uint8_t *bssid)
{
	static const struct walk_learned nothing;
	struct teacher *old = teacher(plugin, plugin->station.bssid), *new;

	memcpy(old->bssid, plugin->station.bssid, 6);
	old->left_ms = now_ms();
	old->learned = plugin->walk.learned;
	new = teacher(plugin, bssid);
	walk_restart(&plugin->walk, memcmp(new->bssid, bssid, 6) ? &nothing : &new->learned);
}

/* Start with a new access point. A loss that was reported of the one before is withdrawn. */
static int join(struct plugin *plugin, const struct station *station)
{
	bool said = plugin->warning.said;

	change_teacher(plugin, station->bssid);
	forget(plugin);
	warning_forget(&plugin->warning);
	plugin->station = *station;
	plugin->associated = true;
	radio_ssid(plugin->radio, plugin->ssid);
	return said ? line_no_loss(stdout, -1) : 0;
}

/*
 * Read the level, and report if necessary. If the interface has left its access point
 * nothing is reported: the link is then down, and pamsd sees that itself.
 */
static int look(struct plugin *plugin, int64_t ms)
{
	struct station station;
	bool same, new;
	int found;

	found = radio_look(plugin->radio, &station);
	if (found == -ENOENT) {
		plugin->gone = true;
		return -1;
	}
	/* it may be plugged in later */
	if (found == -ENODEV && !plugin->there)
		fprintf(stderr, "pams-predict: there is no wireless interface %s yet\n",
			plugin->settings->interface);
	plugin->there |= found >= 0 || found == -ENODEV;
	/* no answer, as while the driver is busy, says nothing of the access point */
	if (found < 0 && found != -ENODEV)
		return 0;
	if (found != 1) {
		if (plugin->associated) {
			walk_lost(&plugin->walk);
			forget(plugin);
		}
		plugin->associated = false;
		return 0;
	}
	same = plugin->associated &&
	       !memcmp(station.bssid, plugin->station.bssid, 6);
	if (!same && join(plugin, &station))
		return -1;
	if (!*plugin->ssid)
		radio_ssid(plugin->radio, plugin->ssid);
	new = !same || station.frames != plugin->station.frames ||
	      station.level_dbm != plugin->station.level_dbm;
	if (new) {
		plugin->silent = false;
		plugin->heard_ms = ms;
		trend_add(&plugin->trend, ms, station.level_dbm);
		plugin->walk.idles = !station.beacons;
		walk_add(&plugin->walk, ms, station.level_dbm);
	}
	plugin->station = station;
	keep_to_clock(plugin);
	return decide(plugin, ms);
}

/* The time until the next look, by the last level: every FAR_MS is too rare for a trend. */
static int pause_ms(const struct plugin *plugin)
{
	double share = pathloss_share(&plugin->settings->model,
				      plugin->station.level_dbm);

	if (!plugin->associated)
		return ABSENT_MS;
	return share < FAR_SHARE && !plugin->warning.said ? FAR_MS : NEAR_MS;
}

/* --- gpsd --- */

/* While it waits for an answer no level is read, which is no silence. */
static void connect_gps(struct plugin *plugin)
{
	int64_t before_ms = now_ms();

	if (!plugin->settings->gpsd || plugin->gps ||
	    (plugin->gps_ms && now_ms() - plugin->gps_ms < GPSD_AGAIN_MS))
		return;
	plugin->gps = gps_connect(plugin->settings->gpsd);
	if (!plugin->gps && !plugin->gps_ms)
		fprintf(stderr, "pams-predict: no gpsd at %s; asked again every %d s\n",
			plugin->settings->gpsd, GPSD_AGAIN_MS / 1000);
	plugin->gps_ms = now_ms();
	if (plugin->walk.begun)
		plugin->walk.ms += plugin->gps_ms - before_ms;
}

static void read_gps(struct plugin *plugin, int64_t ms)
{
	switch (gps_fix(plugin->gps, &plugin->fix)) {
	case 1:
		plugin->fix_ms = ms;
		break;
	case -1:
		gps_disconnect(plugin->gps);
		plugin->gps = NULL;
		break;
	}
}

/* --- the loop --- */

static int run(struct plugin *plugin)
{
	int64_t next_ms = now_ms();

	for (;;) {
		struct pollfd fds[2] = {
			{ .fd = radio_fd(plugin->radio), .events = POLLIN },
			{ .fd = -1, .events = POLLIN },
		};
		enum station_event event = STATION_NOTHING;
		int64_t ms;

		connect_gps(plugin);
		ms = now_ms();
		if (plugin->gps)
			fds[1].fd = gps_descriptor(plugin->gps);
		if (poll(fds, ARRAY_SIZE(fds), next_ms > ms ? next_ms - ms : 0) < 0 &&
		    errno != EINTR)
			return -1;
		ms = now_ms();
		if (fds[0].revents)
			event = radio_event(plugin->radio);
		if (fds[1].revents)
			read_gps(plugin, ms);
		if (event == STATION_SILENT && plugin->associated)
			plugin->silent = true;
		if (event == STATION_NOTHING && ms < next_ms)
			continue;
		if (look(plugin, ms))
			return -1;
		next_ms = now_ms() + pause_ms(plugin);
	}
}

static void plugin_begin(struct plugin *plugin, const struct settings *settings)
{
	plugin->settings = settings;
	plugin->warning = settings->warning;
	/* perhaps, by one that was killed: what is joined first takes it back */
	plugin->warning.said = true;
	trend_init(&plugin->trend, &settings->model, settings->window_ms);
	walk_init(&plugin->walk, settings->model.threshold_dbm);
	plugin->walk.avoids = settings->avoids;
	forget(plugin);
	keep_to_clock(plugin);
	if (settings->depart_now && settings->route.count)
		plugin->shift_ms = settings->route.points[0].ms - now_ms();
	else if (settings->route.count && !settings->gpsd &&
		 settings->route.points[settings->route.count - 1].ms < clock_ms(CLOCK_REALTIME))
		fputs("pams-predict: the route is over by its own times, and foresees nothing: "
		      "--depart now begins it now\n", stderr);
}

int plugin_run(struct settings *settings)
{
	struct plugin *plugin = calloc(1, sizeof(*plugin));

	if (!plugin)
		return -1;
	plugin_begin(plugin, settings);
	plugin->radio = radio_open(settings->interface);
	if (!plugin->radio) {
		fputs("pams-predict: there is no nl80211, so no wireless interface\n",
		      stderr);
	} else {
		run(plugin);
		fputs(plugin->gone ?
		      "pams-predict: nl80211 isn't what it was at the start\n" :
		      "pams-predict: its standard output was closed\n", stderr);
	}
	gps_disconnect(plugin->gps);
	radio_close(plugin->radio);
	free(plugin);
	return -1;
}
