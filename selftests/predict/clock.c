// SPDX-License-Identifier: GPL-2.0
/*
 * clock - a vehicle that keeps to its route's times, on a machine whose clock is set; how
 * often gpsd is asked; what access points have taught
 *
 * The radio, gpsd and the clocks are made here.
 */
#include "../../tools/pams-predict/plugin.c"
#include "tap.h"

#define BEGIN_MS	5000
#define WALL_MS		1000000

/* What it takes to see that there is no gpsd. */
#define ATTEMPT_MS	20000

static int64_t boot_ms, wall_ms;
static unsigned int attempts;
static struct station station = { .bssid = { 2 }, .level_dbm = -50, .beacons = true };
static bool associated = true;

int clock_gettime(clockid_t clock, struct timespec *now)
{
	int64_t ms = clock == CLOCK_REALTIME ? wall_ms : boot_ms;

	now->tv_sec = ms / 1000;
	now->tv_nsec = ms % 1000 * 1000000;
	return 0;
}

struct radio *radio_open(const char *interface)
{
	(void)interface;
	return NULL;
}

void radio_close(struct radio *radio)
{
	(void)radio;
}

int radio_fd(const struct radio *radio)
{
	(void)radio;
	return -1;
}

int radio_look(struct radio *radio, struct station *found)
{
	(void)radio;
	*found = station;
	return associated;
}

int radio_ssid(struct radio *radio, char ssid[SSID_BYTES])
{
	(void)radio;
	snprintf(ssid, SSID_BYTES, "road");
	return 0;
}

enum station_event radio_event(struct radio *radio)
{
	(void)radio;
	return STATION_NOTHING;
}

struct gps *gps_connect(const char *where)
{
	(void)where;
	attempts++;
	boot_ms += ATTEMPT_MS;
	return NULL;
}

void gps_disconnect(struct gps *gps)
{
	(void)gps;
}

int gps_descriptor(const struct gps *gps)
{
	(void)gps;
	return -1;
}

int gps_fix(struct gps *gps, struct fix *fix)
{
	(void)gps;
	(void)fix;
	return -1;
}

/*
 * The route leads from an access point, whose range is half of it, to the east within
 * 200 s: the range is left after 100 s. When that is, as known after a look.
 */
static int64_t leaves_at(struct plugin *plugin)
{
	struct estimate estimate;

	check(!look(plugin, boot_ms));
	route_estimate(plugin, boot_ms, &estimate);
	check(estimate.known);
	return estimate.at_ms;
}

static bool is_near(int64_t a, int64_t b)
{
	return llabs(a - b) < 10;
}

/* As plugin_run() begins, but for the radio, which isn't needed here. */
static void clock_is_set(bool depart_now)
{
	struct ap ap = { .bssid = { 2 }, .has_bssid = true };
	struct waypoint points[] = {
		{ .ms = WALL_MS }, { .position = { .longitude = 0.01 }, .ms = WALL_MS + 200000 },
	};
	struct settings settings = {
		.model = PATHLOSS_DEFAULT, .errors = ERRORS_DEFAULT,
		.window_ms = TREND_WINDOW_MS,
		.aps = { &ap, 1 }, .route = { points, 2 }, .depart_now = depart_now,
	};
	struct plugin plugin = { };

	ap.range_m = geo_distance_m(&points[0].position, &points[1].position) / 2;
	warning_init(&settings.warning);
	boot_ms = BEGIN_MS;
	wall_ms = WALL_MS;
	plugin_begin(&plugin, &settings);
	check(is_near(leaves_at(&plugin), BEGIN_MS + 100000));
	boot_ms += 1000;
	wall_ms += 31000;
	check(is_near(leaves_at(&plugin), BEGIN_MS + (depart_now ? 100000 : 70000)));
	boot_ms += 1000;
	wall_ms -= 29000;
	check(is_near(leaves_at(&plugin), BEGIN_MS + 100000));
}

/* Its times are those of the clock, whatever that was when the program began. */
static void route_keeps_to_the_clock(void)
{
	clock_is_set(false);
}

/* Its times count from when the program began. */
static void route_that_began_with_the_program(void)
{
	clock_is_set(true);
}

/* An attempt that takes long isn't followed by the next one at once. */
static void gpsd_is_asked_again_after_a_pause(void)
{
	struct settings settings = { .model = PATHLOSS_DEFAULT, .gpsd = "gpsd.example.org" };
	struct plugin plugin = { };

	boot_ms = BEGIN_MS;
	plugin_begin(&plugin, &settings);
	attempts = 0;
	connect_gps(&plugin);
	check(attempts == 1);
	boot_ms += GPSD_AGAIN_MS - 1;
	connect_gps(&plugin);
	check(attempts == 1);
	boot_ms++;
	connect_gps(&plugin);
	check(attempts == 2);
}

/* At that level for a second, of that access point. */
static void hear(struct plugin *plugin, uint8_t ap, int level_dbm)
{
	station.bssid[0] = ap;
	station.level_dbm = level_dbm;
	associated = true;
	for (int i = 0; i < 20; i++, boot_ms += 50) {
		station.frames++;
		check(!look(plugin, boot_ms));
	}
}

/* It takes a second each time: no level is read meanwhile, but none is lost. */
static void waiting_for_gpsd_is_no_silence(void)
{
	struct settings settings = {
		.model = PATHLOSS_DEFAULT, .window_ms = TREND_WINDOW_MS,
		.gpsd = "gpsd.example.org",
	};
	struct plugin plugin = { };

	warning_init(&settings.warning);
	boot_ms = BEGIN_MS;
	plugin_begin(&plugin, &settings);
	for (int i = 0; i < 5; i++) {
		hear(&plugin, 10, -80);
		plugin.gps_ms = 0;
		connect_gps(&plugin);
	}
	hear(&plugin, 10, -80);
	check(plugin.above_db > 10);
}

/* Of a driver that counts no beacons nothing comes while nobody sends. */
static void idling_is_no_silence(void)
{
	struct settings settings = { .model = PATHLOSS_DEFAULT, .window_ms = TREND_WINDOW_MS };

	warning_init(&settings.warning);
	for (int counted = 0; counted < 2; counted++) {
		struct plugin plugin = { };

		boot_ms = BEGIN_MS;
		plugin_begin(&plugin, &settings);
		station.beacons = counted;
		for (int i = 0; i < 5; i++, boot_ms += 1000)
			hear(&plugin, 12, -80);
		hear(&plugin, 12, -80);
		check(plugin.walk.learned.losses == (counted ? 5 : 0));
	}
}

/* Left three times at 11 dB above the threshold: known when it is joined again, but of no other. */
static void each_access_point_teaches_for_itself(void)
{
	struct settings settings = { .model = PATHLOSS_DEFAULT, .window_ms = TREND_WINDOW_MS };
	struct plugin plugin = { };

	warning_init(&settings.warning);
	boot_ms = BEGIN_MS;
	plugin_begin(&plugin, &settings);
	for (int i = 0; i < 3; i++) {
		hear(&plugin, 4, -80);
		associated = false;
		check(!look(&plugin, boot_ms));
	}
	hear(&plugin, 6, -80);
	check(plugin.above_db > 10);
	hear(&plugin, 4, -80);
	check(fabs(plugin.above_db) < 1);
	/* more access points than are remembered: of the last ones it is known */
	for (int i = 0; i < TEACHERS - 1; i++)
		hear(&plugin, 8 + 2 * i, -80);
	hear(&plugin, 4, -80);
	check(fabs(plugin.above_db) < 1);
	for (int i = 0; i <= TEACHERS; i++)
		hear(&plugin, 8 + 2 * i, -80);
	hear(&plugin, 4, -80);
	check(plugin.above_db > 10);
}

int main(void)
{
	run(route_keeps_to_the_clock);
	run(route_that_began_with_the_program);
	run(gpsd_is_asked_again_after_a_pause);
	run(waiting_for_gpsd_is_no_silence);
	run(idling_is_no_silence);
	run(each_access_point_teaches_for_itself);
	return tap_end();
}
