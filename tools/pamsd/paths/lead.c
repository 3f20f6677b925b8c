// SPDX-License-Identifier: GPL-2.0
/*
 * lead - leads connections elsewhere whose destination is silent on the path on which connections
 * begin
 */
#include <string.h>

#include "path.h"

static struct lead *lead_to(const struct list *leads, const struct prefix *to)
{
	for_each(struct lead, lead, leads)
		if (!memcmp(&lead->to, to, sizeof(*to)))
			return lead;
	return NULL;
}

static bool is_told(const struct list *leads, const struct lead *lead)
{
	const struct lead *there = lead_to(leads, &lead->to);

	return there && !memcmp(there, lead, sizeof(*lead));
}

/* What should be there. Returns 0, or what the kernel's table says. */
static int lead_from(struct list *wanted, struct list *leads, const struct leading *leading,
		     const struct prefix *chosen)
{
	const struct prefix *to;
	unsigned int at = 0;
	int err = 0;

	while ((to = silent_on(chosen, leading->ms, &at))) {
		const struct path *path = list_covers(leading->left, to) ? NULL :
			choose_elsewhere(leading->paths, to, chosen, leading->answer, leading->ms);
		struct lead lead = { .to = *to };

		if (!path)
			continue;
		lead.address = path->address;
		memcpy(lead.interface, path->interface, sizeof(lead.interface));
		lead.also = path->also;
		err = is_told(leads, &lead) ? 0 : begin_lead(to, path);
		if (err)
			break;
		*(struct lead *)list_add(wanted, sizeof(lead)) = lead;
	}
	return err;
}

/* Has anybody been silent there since then, and the last answer? */
static bool waits(const struct path *path, uint64_t us, uint64_t ms)
{
	const struct prefix *to;
	unsigned int at = 0;

	us = us > path->answered_us ? us : path->answered_us;
	while ((to = silent_on(&path->address, ms, &at)))
		if (silent_since_us(&path->address, to, ms) > us)
			return true;
	return false;
}

/* One that is silent there, too, is down. */
const struct path *lead_along(const struct leading *leading, const struct path *chosen)
{
	const struct prefix *to;
	unsigned int at = 0;

	while ((to = silent_on(&chosen->address, leading->ms, &at))) {
		const struct path *path =
			choose_elsewhere(leading->paths, to, &chosen->address, leading->answer,
					 leading->ms);
		uint64_t since_us = silent_since_us(&chosen->address, to, leading->ms);

		if (path && since_us > chosen->answered_us &&
		    !list_covers(leading->left, to) &&
		    !silent_since_us(&path->address, to, leading->ms) &&
		    !waits(path, since_us, leading->ms))
			return path;
	}
	return chosen;
}

int lead_all(struct list *leads, const struct leading *leading)
{
	struct list wanted = { };
	int err = 0;

	for (unsigned int i = 0; i < 2; i++)
		if (leading->chosen[i].family)
			err = lead_from(&wanted, leads, leading, &leading->chosen[i]) ?: err;
	for_each(const struct lead, lead, leads)
		if (!lead_to(&wanted, &lead->to))
			begin_lead(&lead->to, NULL);
	list_free(leads);
	*leads = wanted;
	return err;
}
