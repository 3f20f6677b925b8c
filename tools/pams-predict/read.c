// SPDX-License-Identifier: GPL-2.0
/*
 * read - routes and access points from files, whose names tell their formats
 */
#include <math.h>
#include <string.h>
#include <strings.h>

#include "predict.h"

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

int route_read(struct route *route, const char *file)
{
	const char *fault;
	int err;

	memset(route, 0, sizeof(*route));
	err = ends_with(file, ".gpx") ? gpx_read(route, file) :
					geojson_route_read(route, file);
	if (!err) {
		fault = fault_of(route);
		if (!fault)
			return 0;
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
