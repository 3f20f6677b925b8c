// SPDX-License-Identifier: GPL-2.0
/*
 * geojson - reads routes and access points from GeoJSON files
 *
 * A route is a LineString feature whose properties have "coordTimes", "times" or
 * "coordinateProperties": {"times"}, a time for each of its points; or a MultiLineString,
 * with an array of times for each line; or Point features with "time". An access point
 * is a Point feature with the properties that aps.c names.
 */
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "aps.h"
#include "predict.h"

static int complain(const char *file, size_t number, const char *what)
{
	fprintf(stderr, "pams-predict: %s: feature %zu: %s\n", file, number,
		what);
	return -1;
}

/* The file's value; jansson refuses a byte order mark. NULL after a message. */
static json_t *load(const char *name)
{
	FILE *file = fopen(name, "re");
	json_t *root = NULL;
	json_error_t error;
	char begin[3];

	if (!file) {
		perror(name);
		return NULL;
	}
	if (fread(begin, 1, sizeof(begin), file) != sizeof(begin) ||
	    memcmp(begin, BYTE_ORDER_MARK, sizeof(begin)))
		rewind(file);
	root = json_loadf(file, JSON_REJECT_DUPLICATES, &error);
	if (!root)
		fprintf(stderr, "pams-predict: %s:%d: %s\n", name, error.line, error.text);
	fclose(file);
	return root;
}

/* An array of a FeatureCollection's features, or of a single Feature; the caller releases it. */
static json_t *features_of(const char *file)
{
	json_t *root = load(file), *features;
	const char *type;

	if (!root)
		return NULL;
	type = json_string_value(json_object_get(root, "type"));
	features = json_object_get(root, "features");
	if (type && !strcmp(type, "Feature"))
		features = json_pack("[O]", root);
	else
		json_incref(features);
	json_decref(root);
	if (json_is_array(features))
		return features;
	json_decref(features);
	fprintf(stderr, "pams-predict: %s: this is not a FeatureCollection\n",
		file);
	return NULL;
}

static bool is_position(json_t *value, struct position *position)
{
	json_t *longitude = json_array_get(value, 0);
	json_t *latitude = json_array_get(value, 1);

	if (!json_is_number(longitude) || !json_is_number(latitude))
		return false;
	position->longitude = json_number_value(longitude);
	position->latitude = json_number_value(latitude);
	return true;
}

static bool has_type(json_t *geometry, const char *type)
{
	const char *is = json_string_value(json_object_get(geometry, "type"));

	return is && !strcmp(is, type);
}

static const char *add_point(struct route *route, json_t *position, json_t *time, bool begins)
{
	struct position at;

	if (!is_position(position, &at))
		return "a position is not [LONGITUDE, LATITUDE]";
	if (!time)
		return "a point has no time";
	if (!json_is_string(time))
		return "a time is not a text like \"2026-11-22T06:30:00Z\"";
	return route_add_text(route, &at, json_string_value(time), begins);
}

static const char *add_line(struct route *route, json_t *coordinates, json_t *times)
{
	const char *fault = NULL;
	json_t *value;
	size_t i;

	if (!json_is_array(coordinates))
		return "a line's coordinates are no array";
	json_array_foreach(coordinates, i, value) {
		fault = add_point(route, value, json_array_get(times, i), !i);
		if (fault)
			return fault;
	}
	return json_array_size(times) > i ? "a line has more times than points" : NULL;
}

/* An array: of times, or of a MultiLineString's arrays of times; NULL: there is none. */
static json_t *times_of(json_t *properties)
{
	json_t *places[] = {
		json_object_get(properties, "coordTimes"),
		json_object_get(properties, "times"),
		json_object_get(json_object_get(properties, "coordinateProperties"), "times"),
	};

	for (size_t i = 0; i < ARRAY_SIZE(places); i++)
		if (places[i])
			return places[i];
	return NULL;
}

static const char *add_feature(struct route *route, json_t *feature)
{
	json_t *geometry = json_object_get(feature, "geometry"), *line;
	json_t *properties = json_object_get(feature, "properties");
	json_t *coordinates = json_object_get(geometry, "coordinates");
	json_t *times = times_of(properties);
	const char *fault;
	size_t i;

	if (has_type(geometry, "Point"))
		return add_point(route, coordinates, json_object_get(properties, "time"), false);
	if (has_type(geometry, "LineString"))
		return add_line(route, coordinates, times);
	if (!has_type(geometry, "MultiLineString"))
		return NULL;
	if (!json_is_array(json_array_get(coordinates, 0)))
		return "a line's coordinates are no array";
	json_array_foreach(coordinates, i, line) {
		fault = add_line(route, line, json_array_get(times, i));
		if (fault)
			return fault;
	}
	return NULL;
}

int geojson_route_read(struct route *route, const char *file)
{
	json_t *features = features_of(file), *feature;
	const char *fault = NULL;
	size_t i;

	if (!features)
		return -1;
	json_array_foreach(features, i, feature) {
		fault = add_feature(route, feature);
		if (fault)
			break;
	}
	json_decref(features);
	return fault ? complain(file, i + 1, fault) : 0;
}

static const char *add_ap(struct aps *aps, json_t *feature,
			  const struct pathloss *model)
{
	json_t *geometry = json_object_get(feature, "geometry"), *value;
	json_t *properties = json_object_get(feature, "properties");
	struct ap_text text = { };
	const char *name, *fault;
	struct position at;
	char number[32];

	if (!has_type(geometry, "Point"))
		return NULL;
	if (!is_position(json_object_get(geometry, "coordinates"), &at))
		return "a position is not [LONGITUDE, LATITUDE]";
	json_object_foreach(properties, name, value) {
		const char *is = json_string_value(value);

		if (json_is_number(value)) {
			snprintf(number, sizeof(number), "%.17g",
				 json_number_value(value));
			is = number;
		}
		if (!is)
			continue;
		fault = ap_text_set(&text, name, is);
		if (fault)
			return fault;
	}
	text.ap.position = at;
	text.has_latitude = true;
	text.has_longitude = true;
	return aps_add(aps, &text, model);
}

int geojson_aps_read(struct aps *aps, const char *file,
		     const struct pathloss *model)
{
	json_t *features = features_of(file), *feature;
	const char *fault = NULL;
	size_t i;

	if (!features)
		return -1;
	json_array_foreach(features, i, feature) {
		fault = add_ap(aps, feature, model);
		if (fault)
			break;
	}
	json_decref(features);
	return fault ? complain(file, i + 1, fault) : 0;
}
