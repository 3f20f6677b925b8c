// SPDX-License-Identifier: GPL-2.0
/*
 * gpx - reads routes and tracks from GPX files
 *
 * <trkpt lat="" lon=""><time>...</time></trkpt> of all tracks, in the file's
 * order, or <rtept> if there is no track. Points without a time are left out.
 */
#include <stdlib.h>
#include <string.h>

#include <expat.h>

#include "predict.h"

#define TIME_TEXT	64

struct reading {
	struct route *route;
	const char *element;	/* "trkpt" or "rtept" */
	bool in_point, in_time, bad;
	struct position position;
	char time[TIME_TEXT];
	size_t time_len;
};

/* An element's name without its namespace prefix. */
static const char *local(const char *name)
{
	const char *colon = strrchr(name, ':');

	return colon ? colon + 1 : name;
}

static void on_start(void *arg, const char *name, const char **attributes)
{
	struct reading *reading = arg;

	name = local(name);
	if (!strcmp(name, reading->element)) {
		reading->in_point = true;
		reading->time_len = 0;
		/* route_read() refuses this position, if lat or lon is missing */
		reading->position = (struct position) { 1000, 1000 };
		for (; attributes[0]; attributes += 2) {
			double value = strtod(attributes[1], NULL);

			if (!strcmp(attributes[0], "lat"))
				reading->position.latitude = value;
			else if (!strcmp(attributes[0], "lon"))
				reading->position.longitude = value;
		}
	}
	reading->in_time = reading->in_point && !strcmp(name, "time");
}

static void on_text(void *arg, const char *text, int len)
{
	struct reading *reading = arg;

	if (!reading->in_time)
		return;
	for (int i = 0; i < len && reading->time_len < TIME_TEXT - 1; i++)
		reading->time[reading->time_len++] = text[i];
}

static void on_end(void *arg, const char *name)
{
	struct reading *reading = arg;
	int64_t ms;

	reading->in_time = false;
	if (strcmp(local(name), reading->element))
		return;
	reading->in_point = false;
	reading->time[reading->time_len] = '\0';
	if (!reading->time_len)
		return;
	if (!route_time(reading->time + strspn(reading->time, " \t\r\n"), &ms))
		reading->bad = true;
	else if (route_add(reading->route, &reading->position, ms))
		reading->bad = true;
}

/* Parse the file line by line, so that an error's line is known. */
static int parse(struct reading *reading, FILE *file, const char *name)
{
	XML_Parser parser = XML_ParserCreate(NULL);
	enum XML_Status status = XML_STATUS_OK;
	const char *fault = NULL;
	unsigned int number = 0;
	char *line = NULL;
	size_t room = 0;
	ssize_t len = 0;

	if (!parser)
		return -1;
	XML_SetUserData(parser, reading);
	XML_SetElementHandler(parser, on_start, on_end);
	XML_SetCharacterDataHandler(parser, on_text);
	while (len >= 0 && status == XML_STATUS_OK && !reading->bad) {
		number++;
		len = getline(&line, &room, file);
		status = XML_Parse(parser, line, len > 0 ? len : 0, len < 0);
	}
	if (status != XML_STATUS_OK)
		fault = XML_ErrorString(XML_GetErrorCode(parser));
	else if (reading->bad)
		fault = "this is not a time";
	if (fault)
		fprintf(stderr, "pams-predict: %s:%u: %s\n", name, number,
			fault);
	XML_ParserFree(parser);
	free(line);
	return fault ? -1 : 0;
}

int gpx_read(struct route *route, const char *name)
{
	static const char * const elements[] = { "trkpt", "rtept" };
	FILE *file = fopen(name, "re");
	int err = 0;

	if (!file) {
		perror(name);
		return -1;
	}
	for (size_t i = 0; i < ARRAY_SIZE(elements) && !err && !route->count;
	     i++) {
		struct reading reading = {
			.route = route,
			.element = elements[i],
		};

		rewind(file);
		err = parse(&reading, file, name);
	}
	fclose(file);
	return err;
}
