// SPDX-License-Identifier: GPL-2.0
/*
 * gpx - reads routes and tracks from GPX files
 *
 * <trkpt lat="" lon=""><time>...</time></trkpt> of all tracks, in the file's
 * order, or <rtept> if there is no track. Points without a time are left out.
 */
#include <math.h>
#include <string.h>

#include "xml.h"

#define TIME_TEXT	64

struct reading {
	struct xml xml;		/* the first one: it is what the calls get */
	struct route *route;
	const char *point;	/* "trkpt" or "rtept" */
	bool in_point;
	bool begins;		/* the next point is the first one of a track, segment or route */
	struct position position;
	char time[TIME_TEXT];
};

static void on_start(struct xml *xml, const char *name, const char **attributes)
{
	struct reading *reading = (struct reading *)xml;

	if (!strcmp(name, "trkseg") || !strcmp(name, "rte"))
		reading->begins = true;
	if (strcmp(name, reading->point))
		return;
	reading->in_point = true;
	reading->time[0] = '\0';
	reading->position = (struct position) { NAN, NAN };
	for (; attributes[0]; attributes += 2) {
		double *value = NULL;

		if (!strcmp(attributes[0], "lat"))
			value = &reading->position.latitude;
		else if (!strcmp(attributes[0], "lon"))
			value = &reading->position.longitude;
		if (value && !geo_number(attributes[1], value))
			xml->fault = "lat or lon is not a number like 35.68";
	}
}

static void on_end(struct xml *xml, const char *name, const char *text)
{
	struct reading *reading = (struct reading *)xml;

	if (reading->in_point && !strcmp(name, "time"))
		snprintf(reading->time, TIME_TEXT, "%s", text);
	if (strcmp(name, reading->point))
		return;
	reading->in_point = false;
	if (!reading->time[0])
		return;
	if (isnan(reading->position.latitude) || isnan(reading->position.longitude))
		xml->fault = "a point has no lat or no lon";
	else
		xml->fault = route_add_text(reading->route, &reading->position, reading->time,
					    reading->begins);
	reading->begins = false;
}

int gpx_read(struct route *route, const char *file)
{
	static const char * const points[] = { "trkpt", "rtept" };
	int err = 0;

	for (size_t i = 0; i < ARRAY_SIZE(points) && !err && !route->count; i++) {
		struct reading reading = {
			.xml = { .begins = on_start, .ends = on_end },
			.route = route, .point = points[i],
		};

		err = xml_read(&reading.xml, file);
	}
	return err;
}
