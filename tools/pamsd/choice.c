// SPDX-License-Identifier: GPL-2.0
/* choice - on which path connections begin: the cheapest that lives, and then by time */
#include <string.h>

#include "paths.h"

/* A short answer, by which paths are compared. */
#define ANSWER_BYTES	65536
#define ANSWER_RTTS	4
/* From so long before a predicted loss on no connection begins on the path. */
#define LOSS_NEAR_MS	5000

struct path *path_at(const struct list *paths, const struct prefix *address)
{
	for_each(struct path, path, paths)
		if (!memcmp(&path->address, address, sizeof(*address)))
			return path;
	return NULL;
}

static bool is_dead(const struct path *path, uint64_t ms)
{
	return path->dead_ms && ms < path->again_ms;
}

/* Lower is better: paths that can't be used now, or soon, then what costs more. */
static unsigned int rank_of(const struct path *path, uint64_t ms)
{
	bool lost = path->lost_ms && ms + LOSS_NEAR_MS >= path->lost_ms &&
		    ms < path->lost_until_ms;

	return (!path->up ? 3 : is_dead(path, ms) ? 2 : lost) * 256 + path->cost;
}

/* The time of a short answer in us, 0: unknown. */
static uint64_t answer_us(const struct path *path)
{
	if (!path->rtt_us)
		return 0;
	return ANSWER_RTTS * (uint64_t)path->rtt_us +
	       (path->rate_byteps ? ANSWER_BYTES * 1000000ULL / path->rate_byteps : 0);
}

static bool is_sooner(const struct path *one, const struct path *than, unsigned int percent)
{
	uint64_t one_us = answer_us(one), than_us = answer_us(than);

	return one_us && than_us && one_us * 100 < than_us * percent;
}

static bool is_better(const struct path *one, const struct path *than, uint64_t ms)
{
	unsigned int rank = rank_of(one, ms), than_rank = rank_of(than, ms);

	if (rank != than_rank)
		return rank < than_rank;
	/* of dead ones each has its turn: the one that failed last was tried last */
	if (is_dead(one, ms) && is_dead(than, ms))
		return one->dead_ms < than->dead_ms;
	return is_sooner(one, than, 100);
}

const struct path *choose_path(const struct list *paths, int family,
			       const struct prefix *before, unsigned int percent, uint64_t ms)
{
	const struct path *kept = NULL, *best = NULL;

	for_each(const struct path, path, paths) {
		if (path->address.family != family)
			continue;
		if (!memcmp(&path->address, before, sizeof(*before)))
			kept = path;
		if (!best || is_better(path, best, ms))
			best = path;
	}
	if (kept && rank_of(kept, ms) == rank_of(best, ms) && !is_dead(kept, ms) &&
	    !is_sooner(best, kept, percent))
		return kept;
	return best;
}
