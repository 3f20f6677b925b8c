// SPDX-License-Identifier: GPL-2.0
/*
 * read - reads routes and access points from files, whose first bytes tell the formats
 */
#include <string.h>

#include "aps.h"
#include "predict.h"

#define SECOND_MS	1000
/* of a file, that tell its format */
#define BEGIN_BYTES	4096

enum format {
	FORMAT_UNREADABLE,	/* said */
	FORMAT_TEXT,
	FORMAT_JSON,
	FORMAT_GPX,
	FORMAT_KML,
};

static int complain(const char *file, const char *fault)
{
	fprintf(stderr, "pams-predict: %s:1: %s\n", file, fault);
	return -1;
}

static enum format format_of_text(const char *text)
{
	text += strspn(text, " \t\r\n");
	if (*text == '{' || *text == '[')
		return FORMAT_JSON;
	if (*text != '<')
		return FORMAT_TEXT;
	return strstr(text, "<kml") || strstr(text, ":kml") ? FORMAT_KML : FORMAT_GPX;
}

/* Files are named as people like it, so the first bytes tell. */
static enum format format_of(const char *name)
{
	static const struct { const char *begin, *fault; } others[] = {
		{ "PK\3\4", "this is an archive, as KMZ is: unpack it" },
		{ "\x1f\x8b", "this is compressed: unpack it" },
		{ "\xff\xfe", "this is UTF-16: save it as UTF-8" },
		{ "\xfe\xff", "this is UTF-16: save it as UTF-8" },
	};
	char begin[BEGIN_BYTES + 1] = "", *text = begin;
	FILE *file = fopen(name, "re");
	size_t len;

	if (!file) {
		perror(name);
		return FORMAT_UNREADABLE;
	}
	len = fread(begin, 1, BEGIN_BYTES, file);
	fclose(file);
	if (!len) {
		complain(name, "there is nothing in it");
		return FORMAT_UNREADABLE;
	}
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		if (!strncmp(begin, others[i].begin, strlen(others[i].begin))) {
			complain(name, others[i].fault);
			return FORMAT_UNREADABLE;
		}
	if (!strncmp(begin, BYTE_ORDER_MARK, strlen(BYTE_ORDER_MARK)))
		text += strlen(BYTE_ORDER_MARK);
	return format_of_text(text);
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
	int err = -1;

	memset(route, 0, sizeof(*route));
	switch (format_of(file)) {
	case FORMAT_GPX:
		err = gpx_read(route, file);
		break;
	case FORMAT_KML:
		err = kml_read(route, file);
		break;
	case FORMAT_JSON:
		err = geojson_route_read(route, file);
		break;
	case FORMAT_TEXT:
		complain(file, "a route is GPX, KML or GeoJSON, and this is none of them");
		break;
	case FORMAT_UNREADABLE:
		break;
	}
	if (!err && route->count >= 2) {
		spread_times(route);
		return 0;
	}
	if (!err)
		fprintf(stderr, "pams-predict: %s: a route needs two points with times\n", file);
	route_free(route);
	return -1;
}

int aps_read(struct aps *aps, const char *file, const struct pathloss *model)
{
	int err = -1;

	memset(aps, 0, sizeof(*aps));
	switch (format_of(file)) {
	case FORMAT_JSON:
		err = geojson_aps_read(aps, file, model);
		break;
	case FORMAT_TEXT:
		err = csv_aps_read(aps, file, model);
		break;
	case FORMAT_GPX:
	case FORMAT_KML:
		complain(file, "access points are read from CSV or GeoJSON, not from XML");
		break;
	case FORMAT_UNREADABLE:
		break;
	}
	if (!err && aps->count)
		return 0;
	if (!err)
		fprintf(stderr, "pams-predict: %s: it has no access point\n", file);
	aps_free(aps);
	return -1;
}
