// SPDX-License-Identifier: GPL-2.0
/*
 * timeline - follows a route through the ranges of access points, without a radio
 *
 * A station that isn't associated joins, of the access points in range, the one
 * that is nearest relative to its range, and stays until its range ends. Real
 * stations roam before that where they can.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <time.h>

#include <jansson.h>

#include "predict.h"

#define TIMELINE_FORMAT	1

struct stay {
	const struct ap *ap;
	struct crossing crossing;
};

/* The next stay in range that begins at from_ms or later; false if there is none. */
static bool next_stay(const struct route *route, const struct aps *aps,
		      int64_t from_ms, const struct errors *errors,
		      struct stay *stay)
{
	double share, least = INFINITY;
	int64_t first_ms = INT64_MAX;

	for (unsigned int i = 0; i < aps->count; i++) {
		struct crossing crossing;
		struct position at;

		if (!coverage_crossing(route, &aps->aps[i], from_ms, errors,
				       &crossing))
			continue;
		if (crossing.enter_ms < from_ms)
			crossing.enter_ms = from_ms;
		at = route_at(route, crossing.enter_ms);
		share = geo_distance_m(&aps->aps[i].position, &at) /
			aps->aps[i].range_m;
		if (crossing.enter_ms > first_ms ||
		    (crossing.enter_ms == first_ms && share >= least))
			continue;
		first_ms = crossing.enter_ms;
		least = share;
		stay->ap = &aps->aps[i];
		stay->crossing = crossing;
	}
	return first_ms != INT64_MAX;
}

static double since_s(const struct route *route, int64_t ms)
{
	return (ms - route->points[0].ms) / 1000.0;
}

static json_t *as_json(const struct route *route, const struct stay *stay)
{
	const struct crossing *crossing = &stay->crossing;
	char name[SSID_BYTES];
	json_t *object;

	ap_name(stay->ap, name);
	object = json_pack("{s:s, s:f, s:f, s:f}", "ap", name,
			   "from_s", since_s(route, crossing->enter_ms),
			   "range_m", stay->ap->range_m,
			   "nearest_m", crossing->nearest_m);
	if (crossing->leaves) {
		json_t *loss_s = json_real(since_s(route, crossing->leave_ms));

		json_object_set_new(object, "loss_s", loss_s);
		json_object_set_new(object, "spread_ms",
				    json_integer(crossing->spread_ms));
	}
	return object;
}

static void as_text(const struct route *route, const struct stay *stay,
		    FILE *out)
{
	const struct crossing *crossing = &stay->crossing;
	char name[SSID_BYTES];

	ap_name(stay->ap, name);
	fprintf(out, "%9.1f  ", since_s(route, crossing->enter_ms));
	if (crossing->leaves)
		fprintf(out, "%9.1f  %6.1f", since_s(route, crossing->leave_ms),
			crossing->spread_ms / 1000.0);
	else
		fprintf(out, "%9s  %6s", "-", "-");
	fprintf(out, "  %9.0f  %7.0f  %s\n", crossing->nearest_m,
		stay->ap->range_m, name);
}

int timeline_print(const struct route *route, const struct aps *aps,
		   const struct errors *errors, bool json, FILE *out)
{
	const struct waypoint *last = &route->points[route->count - 1];
	int64_t from_ms = route->points[0].ms;
	json_t *stays = json_array();
	struct stay stay = { 0 };

	if (!json)
		fprintf(out, "%9s  %9s  %6s  %9s  %7s  %s\n", "from s",
			"lost at s", "+- s", "nearest m", "range m",
			"access point");
	while (next_stay(route, aps, from_ms, errors, &stay)) {
		if (json)
			json_array_append_new(stays, as_json(route, &stay));
		else
			as_text(route, &stay, out);
		if (!stay.crossing.leaves)
			break;
		from_ms = stay.crossing.leave_ms;
	}
	if (json) {
		json_t *root = json_pack("{s:i, s:f, s:o}", "format",
					 TIMELINE_FORMAT, "end_s",
					 since_s(route, last->ms), "timeline",
					 stays);

		json_dumpf(root, out, JSON_INDENT(1) | JSON_REAL_PRECISION(9));
		fputc('\n', out);
		json_decref(root);
	} else {
		json_decref(stays);
	}
	return fflush(out) ? -1 : 0;
}
