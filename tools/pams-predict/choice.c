// SPDX-License-Identifier: GPL-2.0
/*
 * choice - chooses between the signal's and the route's estimate
 *
 * The estimate with the smaller spread is used. The other estimate replaces it
 * only if its spread is less than KEEP times the spread of the one in use, so that
 * estimates with about the same spread don't alternate.
 *
 * Two cases are decided first. If the signal is too weak, the link is lost whatever
 * the route predicts. And if the route predicts a loss within its own spread, but
 * the level shows less than CONTRADICTS of the range, the route is wrong.
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
