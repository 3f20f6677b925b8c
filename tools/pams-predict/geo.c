// SPDX-License-Identifier: GPL-2.0
/*
 * geo - positions on the ground
 *
 * The few kilometres around an access point are treated as a plane: a degree of
 * latitude is EARTH_M * pi / 180 long, a degree of longitude is that times the
 * cosine of the latitude. At 10 km the error is less than 0.1 %.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "predict.h"

#define EARTH_M		6371008.8	/* mean radius */
#define RADIANS(degrees) ((degrees) * M_PI / 180)

/* strtod() alone takes "35,68" for 35, and knows nan, inf and hexadecimal numbers. */
bool geo_number(const char *text, double *number)
{
	char *end;

	*number = strtod(text, &end);
	return end != text && !*end && !text[strspn(text, "+-.0123456789eE")] &&
	       isfinite(*number);
}

struct point geo_point(const struct position *origin,
		       const struct position *position)
{
	double middle = (origin->latitude + position->latitude) / 2;
	double east = remainder(position->longitude - origin->longitude, 360);

	return (struct point) {
		.x = RADIANS(east) * cos(RADIANS(middle)) * EARTH_M,
		.y = RADIANS(position->latitude - origin->latitude) * EARTH_M,
	};
}

double geo_distance_m(const struct position *a, const struct position *b)
{
	struct point away = geo_point(a, b);

	return hypot(away.x, away.y);
}

/* Headings are degrees clockwise from north. */
struct point geo_velocity(double speed_mps, double heading_deg)
{
	return (struct point) {
		.x = speed_mps * sin(RADIANS(heading_deg)),
		.y = speed_mps * cos(RADIANS(heading_deg)),
	};
}
