// SPDX-License-Identifier: GPL-2.0
/*
 * geojson - reads routes and access points from GeoJSON files
 *
 * A route is a LineString feature whose properties have "coordTimes" (or
 * "times"), a time for each of its points; or Point features with "time". An
 * access point is a Point feature with the properties that aps.c names.
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

/* An array of a FeatureCollection's features, or of a single Feature; the caller releases it. */
static json_t *features_of(const char *file)
{
	json_error_t error;
	json_t *root = json_load_file(file, JSON_REJECT_DUPLICATES, &error);
	json_t *features;
	const char *type;

	if (!root) {
		fprintf(stderr, "pams-predict: %s:%d: %s\n", file, error.line,
			error.text);
		return NULL;
	}
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

static const char *add_point(struct route *route, json_t *position, json_t *time)
{
	struct position at;
	int64_t ms;

	if (!is_position(position, &at))
		return "a position is not [LONGITUDE, LATITUDE]";
	if (!json_is_string(time))
		return "a point has no time";
	if (!route_time(json_string_value(time), &ms))
		return "a time is not like 2026-11-22T06:30:00Z";
	return route_add(route, &at, ms) ? "out of memory" : NULL;
}

static const char *add_feature(struct route *route, json_t *feature)
{
	json_t *geometry = json_object_get(feature, "geometry"), *value;
	json_t *properties = json_object_get(feature, "properties");
	json_t *coordinates = json_object_get(geometry, "coordinates");
	json_t *times = json_object_get(properties, "coordTimes");
	const char *fault;
	size_t i;

	if (has_type(geometry, "Point"))
		return add_point(route, coordinates,
				 json_object_get(properties, "time"));
	if (!has_type(geometry, "LineString"))
		return NULL;
	if (!times)
		times = json_object_get(properties, "times");
	json_array_foreach(coordinates, i, value) {
		fault = add_point(route, value, json_array_get(times, i));
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
