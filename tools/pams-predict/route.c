// SPDX-License-Identifier: GPL-2.0
/*
 * route - where the vehicle will be, and when
 */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "predict.h"

/* between two parts of one drive */
#define PAUSE_MAX_MS	3600000

int route_add(struct route *route, const struct position *position, int64_t ms)
{
	struct waypoint *points;

	points = realloc(route->points, (route->count + 1) * sizeof(*points));
	if (!points)
		return -1;
	route->points = points;
	points[route->count].position = *position;
	points[route->count++].ms = ms;
	return 0;
}

const char *route_time(const char *text, int64_t *ms)
{
	static const char not_a_time[] = "a time is not like 2026-11-22T06:30:00Z";
	int hours = 0, minutes = 0, used = 0;
	double fraction = 0;
	struct tm tm = { };
	const char *rest;
	char sign, *end;

	rest = strptime(text, "%Y-%m-%dT%H:%M:%S", &tm);
	if (!rest)
		return not_a_time;
	if (*rest == '.') {
		fraction = strtod(rest, &end);
		rest = end;
	}
	if (sscanf(rest, "%c%2d:%2d%n", &sign, &hours, &minutes, &used) == 3 &&
	    (sign == '+' || sign == '-')) {
		rest += used;
		if (sign == '-') {
			hours = -hours;
			minutes = -minutes;
		}
	} else if (*rest == 'Z') {
		rest++;
	} else if (!*rest) {
		return "a time has neither Z nor an offset like +09:00: of which zone is it?";
	}
	while (isspace((unsigned char)*rest))
		rest++;
	*ms = (timegm(&tm) - hours * 3600 - minutes * 60) * 1000LL +
	      llround(fraction * 1000);
	return *rest ? not_a_time : NULL;
}

const char *route_add_text(struct route *route, const struct position *position,
			   const char *time, bool begins)
{
	const struct waypoint *last = route->points + route->count - 1;
	const char *fault;
	int64_t ms;

	fault = route_time(time, &ms);
	if (fault)
		return fault;
	if (!(fabs(position->latitude) <= 90 && fabs(position->longitude) <= 180))
		return "a position is not on the earth";
	if (route->count && ms < last->ms)
		return "the times of the points do not ascend";
	if (route->count && begins && ms - last->ms > PAUSE_MAX_MS)
		return "another drive begins, over an hour after the one before: keep one";
	return route_add(route, position, ms) ? "out of memory" : NULL;
}

void route_free(struct route *route)
{
	free(route->points);
	memset(route, 0, sizeof(*route));
}

static struct position between(const struct waypoint *a,
			       const struct waypoint *b, double u)
{
	double east = remainder(b->position.longitude - a->position.longitude,
				360);

	return (struct position) {
		.latitude = a->position.latitude +
			    u * (b->position.latitude - a->position.latitude),
		.longitude = a->position.longitude + u * east,
	};
}

struct position route_at(const struct route *route, int64_t ms)
{
	const struct waypoint *points = route->points;
	unsigned int i = 0;

	while (i + 1 < route->count && points[i + 1].ms <= ms)
		i++;
	if (i + 1 == route->count || ms <= points[i].ms)
		return points[i].position;
	return between(&points[i], &points[i + 1],
		       (double)(ms - points[i].ms) /
		       (points[i + 1].ms - points[i].ms));
}

/* The place on that part of the route, 0 to 1, that is nearest to the position. */
static double nearest_on(const struct waypoint *a, const struct waypoint *b,
			 const struct position *position, double *distance_m)
{
	struct point step = geo_point(&a->position, &b->position);
	struct point away = geo_point(&a->position, position);
	double length2 = step.x * step.x + step.y * step.y, u = 0;

	if (length2 > 0)
		u = (away.x * step.x + away.y * step.y) / length2;
	u = fmin(1, fmax(0, u));
	*distance_m = hypot(away.x - u * step.x, away.y - u * step.y);
	return u;
}

static bool leads(const struct waypoint *a, const struct waypoint *b,
		  struct point velocity)
{
	struct point step = geo_point(&a->position, &b->position);

	return step.x * velocity.x + step.y * velocity.y > 0;
}

/* A place on the route. */
struct place {
	unsigned int part;	/* index of the point that the part begins with */
	double u;		/* place on the part, 0 to 1 */
	double distance_m;	/* from the position; INFINITY: there is no such place */
};

/* The place nearest to the position, on parts in the velocity's direction; NULL: on all parts. */
static struct place nearest_place(const struct route *route,
				  const struct position *position,
				  const struct point *velocity)
{
	struct place place = { .distance_m = INFINITY };
	const struct waypoint *points = route->points;
	double distance_m;

	for (unsigned int i = 0; i + 1 < route->count; i++) {
		double u = nearest_on(&points[i], &points[i + 1], position,
				      &distance_m);

		if (distance_m < place.distance_m &&
		    (!velocity || leads(&points[i], &points[i + 1], *velocity)))
			place = (struct place) { i, u, distance_m };
	}
	return place;
}

/* The place as in route_resume(). Without a heading the velocity is NAN, and leads() is false. */
static struct place where(const struct route *route,
			  const struct position *position, double speed_mps,
			  double heading_deg, double off_m)
{
	struct point velocity = geo_velocity(speed_mps, heading_deg);
	struct place place;

	if (speed_mps >= SPEED_MIN_MPS) {
		place = nearest_place(route, position, &velocity);
		if (place.distance_m <= off_m)
			return place;
	}
	return nearest_place(route, position, NULL);
}

bool route_resume(const struct route *route, const struct position *position,
		  double speed_mps, double heading_deg, double off_m,
		  int64_t now_ms, struct route *rest)
{
	struct place place = where(route, position, speed_mps, heading_deg,
				   off_m);
	const struct waypoint *points = route->points;
	struct position at;
	double gone_m = 0;

	memset(rest, 0, sizeof(*rest));
	if (!(place.distance_m <= off_m) || !(speed_mps > 0))
		return false;
	at = between(&points[place.part], &points[place.part + 1], place.u);
	if (route_add(rest, &at, now_ms))
		return false;
	for (unsigned int i = place.part + 1; i < route->count; i++) {
		gone_m += geo_distance_m(&at, &points[i].position);
		at = points[i].position;
		if (route_add(rest, &at, now_ms +
			      llround(gone_m / speed_mps * 1000))) {
			route_free(rest);
			return false;
		}
	}
	return true;
}
