// SPDX-License-Identifier: GPL-2.0
/*
 * read - reads routes and access points from files, whose names' suffixes tell the formats
 */
#include <math.h>
#include <string.h>
#include <strings.h>

#include "predict.h"

#define SECOND_MS	1000

static bool ends_with(const char *text, const char *end)
{
	size_t len = strlen(text), end_len = strlen(end);

	return len >= end_len && !strcasecmp(text + len - end_len, end);
}

static const char *fault_of(const struct route *route)
{
	if (route->count < 2)
		return "a route needs two points with times";
	for (unsigned int i = 0; i < route->count; i++) {
		const struct position *position = &route->points[i].position;

		if (!(fabs(position->latitude) <= 90 &&
		      fabs(position->longitude) <= 180))
			return "a position is not on the earth";
		if (i && route->points[i].ms < route->points[i - 1].ms)
			return "the times of the points do not ascend";
	}
	return NULL;
}

/*
 * Times may be whole seconds, with several points in each second. Points with the same time are
 * spread evenly over the second that begins then, or over the time to the next point if that is
 * less. Points with the route's last time keep it.
 */
static void spread_times(struct route *route)
{
	struct waypoint *points = route->points;
	unsigned int next;

	for (unsigned int first = 0; first < route->count; first = next) {
		int64_t room_ms;

		next = first + 1;
		while (next < route->count && points[next].ms == points[first].ms)
			next++;
		if (next == route->count)
			return;
		room_ms = points[next].ms - points[first].ms;
		if (room_ms > SECOND_MS)
			room_ms = SECOND_MS;
		for (unsigned int i = first + 1; i < next; i++)
			points[i].ms += room_ms * (i - first) / (next - first);
	}
}

int route_read(struct route *route, const char *file)
{
	const char *fault;
	int err;

	memset(route, 0, sizeof(*route));
	err = ends_with(file, ".gpx") ? gpx_read(route, file) :
					geojson_route_read(route, file);
	if (!err) {
		fault = fault_of(route);
		if (!fault) {
			spread_times(route);
			return 0;
		}
		fprintf(stderr, "pams-predict: %s: %s\n", file, fault);
	}
	route_free(route);
	return -1;
}

int aps_read(struct aps *aps, const char *file, const struct pathloss *model)
{
	int err;

	memset(aps, 0, sizeof(*aps));
	err = ends_with(file, ".csv") ? csv_aps_read(aps, file, model) :
					geojson_aps_read(aps, file, model);
	if (!err && aps->count)
		return 0;
	if (!err)
		fprintf(stderr, "pams-predict: %s: it has no access point\n",
			file);
	aps_free(aps);
	return -1;
}
