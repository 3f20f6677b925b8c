// SPDX-License-Identifier: GPL-2.0
/*
 * silent - destinations that don't answer over a path
 *
 * One that is silent says little of the path: it may be down, or refuse this path alone. So only
 * connections to it begin elsewhere, where each path has its turn. The path is dead if nothing was
 * answered on it since, and two are silent there, or one that is answered over another path. Who
 * is silent on several paths, and answered on none, is down.
 */
#include <string.h>

#include "path.h"

#define SILENT_MAX	32
/* How long what doesn't answer stays out: doubled each time, at most 64 times. */
#define DEAD_MS		10000
#define DEATHS_MAX	6

struct silent {
	struct prefix local, peer;
	uint64_t since_us;	/* when the last one began that wasn't answered */
	uint64_t again_ms;	/* connections may begin there again from then on */
	unsigned int times;	/* that this came; 0: unused */
	bool elsewhere;		/* the peer is answered over another path */
};

static struct silent silents[SILENT_MAX];

uint64_t dead_for_ms(unsigned int times)
{
	return DEAD_MS << (times < DEATHS_MAX ? times : DEATHS_MAX);
}

static bool is_of(const struct silent *one, const struct prefix *local,
		  const struct prefix *peer)
{
	return one->times && !memcmp(&one->local, local, sizeof(*local)) &&
	       !memcmp(&one->peer, peer, sizeof(*peer));
}

/* May connections not begin there now? */
static bool is_out(const struct silent *one, uint64_t ms)
{
	return one->times && ms < one->again_ms;
}

static struct silent *find(const struct prefix *local, const struct prefix *peer)
{
	for (struct silent *one = silents; one < silents + SILENT_MAX; one++)
		if (is_of(one, local, peer))
			return one;
	return NULL;
}

/* In place of the one that was silent last longest ago. */
static struct silent *add(const struct prefix *local, const struct prefix *peer)
{
	struct silent *oldest = silents;

	for (struct silent *one = silents; one < silents + SILENT_MAX; one++)
		if (one->since_us < oldest->since_us)
			oldest = one;
	memset(oldest, 0, sizeof(*oldest));
	oldest->local = *local;
	oldest->peer = *peer;
	return oldest;
}

void silent_note(const struct prefix *local, const struct prefix *peer, uint64_t since_us,
		 uint64_t ms)
{
	struct silent *one = find(local, peer) ?: add(local, peer);

	if (since_us > one->since_us)
		one->since_us = since_us;
	if (ms < one->again_ms)
		return;
	one->elsewhere = false;
	one->again_ms = ms + dead_for_ms(one->times);
	one->times++;
}

void silent_answered(const struct prefix *local, const struct prefix *peer, uint64_t us)
{
	for (struct silent *one = silents; one < silents + SILENT_MAX; one++) {
		if (!one->times || us <= one->since_us ||
		    memcmp(&one->peer, peer, sizeof(*peer)))
			continue;
		if (memcmp(&one->local, local, sizeof(*local)))
			one->elsewhere = true;
		else
			memset(one, 0, sizeof(*one));
	}
}

void silent_forget(const struct prefix *local)
{
	for (struct silent *one = silents; one < silents + SILENT_MAX; one++)
		if (!memcmp(&one->local, local, sizeof(*local)))
			memset(one, 0, sizeof(*one));
}

uint64_t silent_since_us(const struct prefix *local, const struct prefix *peer, uint64_t ms)
{
	const struct silent *one = find(local, peer);

	return one && is_out(one, ms) ? one->since_us : 0;
}

/* Is it silent on another path, too? */
static bool is_down(const struct silent *one, uint64_t ms)
{
	for (struct silent *other = silents; other < silents + SILENT_MAX; other++)
		if (other != one && is_out(other, ms) &&
		    !memcmp(&other->peer, &one->peer, sizeof(one->peer)))
			return true;
	return false;
}

bool silent_condemns(const struct prefix *local, uint64_t answered_us, uint64_t ms)
{
	unsigned int count = 0;

	for (struct silent *one = silents; one < silents + SILENT_MAX; one++) {
		if (!is_out(one, ms) || one->since_us <= answered_us ||
		    memcmp(&one->local, local, sizeof(*local)))
			continue;
		if (one->elsewhere)
			return true;
		count += !is_down(one, ms);
	}
	return count > 1;
}

const struct prefix *silent_on(const struct prefix *local, uint64_t ms, unsigned int *at)
{
	while (*at < SILENT_MAX) {
		const struct silent *one = &silents[(*at)++];

		if (is_out(one, ms) && !memcmp(&one->local, local, sizeof(*local)))
			return &one->peer;
	}
	return NULL;
}
