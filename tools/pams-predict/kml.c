// SPDX-License-Identifier: GPL-2.0
/*
 * kml - reads tracks from KML files
 *
 * <gx:Track> has <when> and <gx:coord> in turn, or all of the ones before all of the
 * others. What else KML has, as <LineString>, has no times.
 */
#include <stdlib.h>
#include <string.h>

#include "xml.h"

#define FIELD_TEXT	64

struct reading {
	struct xml xml;		/* the first one: it is what the calls get */
	struct route *route;
	bool in_track;
	unsigned int line_string;	/* line of the first one; 0: there is none */
	char **whens;
	size_t count, used;	/* those that have had their coord */
};

static void forget(struct reading *reading)
{
	while (reading->count)
		free(reading->whens[--reading->count]);
	free(reading->whens);
	reading->whens = NULL;
	reading->used = 0;
}

static void on_start(struct xml *xml, const char *name, const char **attributes)
{
	struct reading *reading = (struct reading *)xml;

	(void)attributes;
	if (!strcmp(name, "Track"))
		reading->in_track = true;
	else if (!strcmp(name, "LineString") && !reading->line_string)
		reading->line_string = xml->line;
}

static const char *add_when(struct reading *reading, const char *text)
{
	char **more = realloc(reading->whens, (reading->count + 1) * sizeof(*more));

	if (!more)
		return "out of memory";
	reading->whens = more;
	more[reading->count] = strdup(text);
	if (!more[reading->count])
		return "out of memory";
	reading->count++;
	return NULL;
}

/* "139.76 35.68 12": longitude, latitude and height. */
static const char *add_coord(struct reading *reading, const char *text)
{
	char longitude[FIELD_TEXT], latitude[FIELD_TEXT];
	struct position at;

	if (reading->used == reading->count)
		return "a gx:coord has no when before it";
	if (sscanf(text, "%63s %63s", longitude, latitude) != 2 ||
	    !geo_number(longitude, &at.longitude) || !geo_number(latitude, &at.latitude))
		return "a gx:coord is not like 139.76 35.68 12";
	reading->used++;
	return route_add_text(reading->route, &at, reading->whens[reading->used - 1],
			      reading->used == 1);
}

static void on_end(struct xml *xml, const char *name, const char *text)
{
	struct reading *reading = (struct reading *)xml;

	if (!reading->in_track)
		return;
	if (!strcmp(name, "when")) {
		xml->fault = add_when(reading, text);
	} else if (!strcmp(name, "coord")) {
		xml->fault = add_coord(reading, text);
	} else if (!strcmp(name, "Track")) {
		if (reading->used < reading->count)
			xml->fault = "a gx:Track has fewer gx:coord than when";
		forget(reading);
		reading->in_track = false;
	}
}

int kml_read(struct route *route, const char *file)
{
	struct reading reading = {
		.xml = { .begins = on_start, .ends = on_end }, .route = route,
	};
	int err = xml_read(&reading.xml, file);

	forget(&reading);
	if (err || route->count || !reading.line_string)
		return err;
	reading.xml.line = reading.line_string;
	reading.xml.fault = "a LineString of KML has no times; a gx:Track has";
	return xml_complain(&reading.xml, file);
}
