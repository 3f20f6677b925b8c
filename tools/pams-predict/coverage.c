// SPDX-License-Identifier: GPL-2.0
/*
 * coverage - computes when a path leaves an access point's range
 *
 * The range is a circle around the access point. On the part of the path from
 * p0 at t0 to p1 at t1, p(u) = p0 + u (p1 - p0), the circle is crossed where
 *
 *	|p1 - p0|^2 u^2 + 2 p0 (p1 - p0) u + |p0|^2 - range^2 = 0
 *
 * The path enters the circle at the lesser root and leaves it at the greater one. With
 * the speed vr away from the access point at the place where the path leaves the circle:
 *
 *	spread^2 = (position error^2 + range error^2) / vr^2 + time error^2
 *
 * Ignored: obstacles to the signal, and height.
 */
#include <math.h>
#include <string.h>

#include "predict.h"

#define STRAIGHT_S	600	/* a straight path is followed for this time at most */
#define AWAY_MIN_MPS	0.1

/* State of the search for a stay in range, part by part of the path. */
struct stay {
	double range_m;
	int64_t from_ms;
	const struct errors *errors;
	struct crossing *crossing;
};

static double dot(struct point a, struct point b)
{
	return a.x * b.x + a.y * b.y;
}

static struct point along(struct point from, struct point step, double u)
{
	return (struct point) { from.x + u * step.x, from.y + u * step.y };
}

static void enter(struct stay *stay, int64_t ms)
{
	memset(stay->crossing, 0, sizeof(*stay->crossing));
	stay->crossing->inside = true;
	stay->crossing->enter_ms = ms;
	stay->crossing->nearest_m = stay->range_m;
}

static void approach(struct stay *stay, struct point at)
{
	stay->crossing->nearest_m = fmin(stay->crossing->nearest_m,
					 hypot(at.x, at.y));
}

/* End a stay. True if it is the one that is searched for: it isn't over at from_ms. */
static bool leave(struct stay *stay, int64_t ms, struct point at,
		  struct point velocity)
{
	double away_mps = dot(at, velocity) / stay->range_m;
	double error_m = hypot(stay->errors->position_m,
			       stay->errors->range_share * stay->range_m);
	double spread_s = error_m / fmax(AWAY_MIN_MPS, away_mps);

	stay->crossing->leaves = true;
	stay->crossing->leave_ms = ms;
	stay->crossing->spread_ms = lround(hypot(spread_s * 1000,
						 stay->errors->time_ms));
	if (ms > stay->from_ms)
		return true;
	memset(stay->crossing, 0, sizeof(*stay->crossing));
	return false;
}

/* Follow one part of the path, which may take less than 1 ms; true if the stay ends on it. */
static bool go(struct stay *stay, struct point from, int64_t from_ms,
	       struct point to, int64_t to_ms)
{
	struct point step = { to.x - from.x, to.y - from.y };
	double a = dot(step, step), b = dot(from, step), in = 0, out = 1, root;
	double c = dot(from, from) - stay->range_m * stay->range_m;
	double took_ms = to_ms - from_ms;
	struct point velocity;

	if (!stay->crossing->inside && c <= 0)
		enter(stay, from_ms);
	if (a <= 0 || b * b <= a * c) {
		if (stay->crossing->inside)
			approach(stay, from);
		return false;
	}
	root = sqrt(b * b - a * c);
	in = (-b - root) / a;
	out = (-b + root) / a;
	if (out < 0 || in >= 1)
		return false;
	if (!stay->crossing->inside)
		enter(stay, from_ms + llround(in * took_ms));
	approach(stay, along(from, step, fmin(1, fmax(0, -b / a))));
	if (out >= 1)
		return false;
	velocity = along((struct point) { }, step, 1000 / fmax(1, took_ms));
	return leave(stay, from_ms + llround(out * took_ms),
		     along(from, step, out), velocity);
}

bool coverage_crossing(const struct route *route, const struct ap *ap,
		       int64_t from_ms, const struct errors *errors,
		       struct crossing *crossing)
{
	struct stay stay = { ap->range_m, from_ms, errors, crossing };

	memset(crossing, 0, sizeof(*crossing));
	for (unsigned int i = 1; i < route->count; i++) {
		const struct waypoint *a = &route->points[i - 1], *b = a + 1;

		if (go(&stay, geo_point(&ap->position, &a->position), a->ms,
		       geo_point(&ap->position, &b->position), b->ms))
			return true;
	}
	return crossing->inside;
}

bool coverage_straight(const struct position *position, double speed_mps,
		       double heading_deg, const struct ap *ap, int64_t now_ms,
		       const struct errors *errors, struct crossing *crossing)
{
	struct stay stay = { ap->range_m, now_ms, errors, crossing };
	struct point from = geo_point(&ap->position, position), to;

	memset(crossing, 0, sizeof(*crossing));
	if (!(speed_mps >= SPEED_MIN_MPS) || isnan(heading_deg))
		return false;
	to = along(from, geo_velocity(speed_mps, heading_deg), STRAIGHT_S);
	go(&stay, from, now_ms, to, now_ms + STRAIGHT_S * 1000);
	return crossing->inside;
}

/* Make an estimate of a crossing. Without one that is in range now, no loss is predicted. */
void coverage_estimate(const struct crossing *crossing, const struct ap *ap,
		       int64_t now_ms, struct estimate *estimate)
{
	char name[SSID_BYTES];

	memset(estimate, 0, sizeof(*estimate));
	if (!crossing->inside || crossing->enter_ms > now_ms ||
	    !crossing->leaves)
		return;
	estimate->known = true;
	estimate->at_ms = crossing->leave_ms;
	estimate->spread_ms = crossing->spread_ms;
	ap_name(ap, name);
	snprintf(estimate->why, WHY_TEXT, "the route leaves the range of %s, %.0f m",
		 name, ap->range_m);
}
