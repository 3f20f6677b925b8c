// SPDX-License-Identifier: GPL-2.0
/*
 * choice - the better of what the signal and the route say
 *
 * The one of the smaller spread is used. The other one takes its place at less
 * than KEEP of that spread, so that two of about the same don't alternate.
 *
 * Two cases are decided before: a signal that is too weak is lost whatever the
 * route says; and a route by which the range ends within its spread is wrong as
 * long as the level shows less than CONTRADICTS of the range.
 */
#include <math.h>

#include "predict.h"

#define KEEP		0.7
#define CONTRADICTS	0.7

const char *source_name(enum source source)
{
	static const char * const names[] = { "none", "signal", "route" };

	return names[source];
}

static const struct estimate *use(struct choice *choice, enum source source,
				  const struct estimate *estimate)
{
	choice->used = estimate->known ? source : SOURCE_NONE;
	return estimate;
}

const struct estimate *choice_make(struct choice *choice,
				   const struct estimate *signal,
				   double signal_share,
				   const struct estimate *route, int64_t now_ms)
{
	double limit = 1;

	if (signal->lost || !route->known)
		return use(choice, SOURCE_SIGNAL, signal);
	if (route->at_ms - now_ms <= route->spread_ms &&
	    !isnan(signal_share) && signal_share < CONTRADICTS)
		return use(choice, SOURCE_SIGNAL, signal);
	if (!signal->known)
		return use(choice, SOURCE_ROUTE, route);
	if (choice->used == SOURCE_SIGNAL)
		limit = KEEP;
	else if (choice->used == SOURCE_ROUTE)
		limit = 1 / KEEP;
	if (route->spread_ms < limit * signal->spread_ms)
		return use(choice, SOURCE_ROUTE, route);
	return use(choice, SOURCE_SIGNAL, signal);
}
