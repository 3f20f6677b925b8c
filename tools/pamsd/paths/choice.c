// SPDX-License-Identifier: GPL-2.0
/* choice - on which path connections begin: the cheapest that lives, and then by time */
#include <string.h>

#include "path.h"

/* TCP's first window; each round trip doubles it. */
#define WINDOW_BYTES	14480
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

/* From the connect to the end of an answer, in round trips, if the rate is no bound. */
static uint64_t rounds(uint64_t bytes)
{
	uint64_t count = 2;

	for (uint64_t window = WINDOW_BYTES; bytes > window; window *= 2) {
		bytes -= window;
		count++;
	}
	return count;
}

/* What was seen; until then what a server said, if more wasn't carried; 0: unknown. */
static uint64_t rate_of(const struct path *path)
{
	if (path->rate_byteps || path->told_byteps <= path->floor_byteps)
		return path->rate_byteps;
	return path->told_byteps;
}

/* What was never full is known to be faster only if it carried more; 0: unknown. */
static uint64_t rate_beside(const struct path *path, const struct path *other)
{
	uint64_t byteps = rate_of(path), other_byteps = rate_of(other);

	if (byteps || !other_byteps)
		return byteps;
	return path->floor_byteps > other_byteps ? path->floor_byteps : 0;
}

/* Is an answer over one so much sooner? The rates count if both are known. */
static bool is_sooner(const struct path *one, const struct path *than, const struct answer *answer,
		      unsigned int percent)
{
	uint64_t one_byteps = rate_beside(one, than), than_byteps = rate_beside(than, one);
	uint64_t one_us = one->rtt_us * rounds(answer->bytes);
	uint64_t than_us = than->rtt_us * rounds(answer->bytes);

	if (!one_us || !than_us)
		return false;
	if (one_byteps && than_byteps) {
		one_us += answer->all_bytes * 1000000 / one_byteps;
		than_us += answer->all_bytes * 1000000 / than_byteps;
	}
	return one_us * 100 < than_us * percent;
}

static bool is_better(const struct path *one, const struct path *than, const struct answer *answer,
		      uint64_t ms)
{
	unsigned int rank = rank_of(one, ms), than_rank = rank_of(than, ms);

	if (rank != than_rank)
		return rank < than_rank;
	/* of dead ones each has its turn: the one that failed last was tried last */
	if (is_dead(one, ms) && is_dead(than, ms))
		return one->dead_ms < than->dead_ms;
	return is_sooner(one, than, answer, 100);
}

const struct path *choose_path(const struct list *paths, int family,
			       const struct prefix *before, const struct answer *answer,
			       unsigned int percent, uint64_t ms)
{
	const struct path *kept = NULL, *best = NULL;

	for_each(const struct path, path, paths) {
		if (path->address.family != family)
			continue;
		if (!memcmp(&path->address, before, sizeof(*before)))
			kept = path;
		if (!best || is_better(path, best, answer, ms))
			best = path;
	}
	if (kept && rank_of(kept, ms) == rank_of(best, ms) && !is_dead(kept, ms) &&
	    !is_sooner(best, kept, answer, percent))
		return kept;
	return best;
}

/* When it was tried there in vain last; 0: never, or long ago. */
static uint64_t vain_us(const struct path *path, const struct prefix *to, uint64_t ms)
{
	uint64_t dead_us = is_dead(path, ms) ? path->dead_ms * 1000 : 0;
	uint64_t silent_us = silent_since_us(&path->address, to, ms);

	return silent_us > dead_us ? silent_us : dead_us;
}

static bool has_turn(const struct path *one, const struct path *than, const struct prefix *to,
		     const struct answer *answer, uint64_t ms)
{
	uint64_t one_us = vain_us(one, to, ms), than_us = vain_us(than, to, ms);

	return one_us != than_us ? one_us < than_us : is_better(one, than, answer, ms);
}

const struct path *choose_elsewhere(const struct list *paths, const struct prefix *to,
				    const struct prefix *chosen, const struct answer *answer,
				    uint64_t ms)
{
	const struct path *best = NULL;

	for_each(const struct path, path, paths) {
		if (path->address.family != to->family || !path->up)
			continue;
		if (!best || has_turn(path, best, to, answer, ms))
			best = path;
	}
	return best && memcmp(&best->address, chosen, sizeof(*chosen)) ? best : NULL;
}
