// SPDX-License-Identifier: GPL-2.0
/*
 * where - on which path connections begin, of each family: by what was seen, or else by the
 * routes; and the kernel is told
 */
#include <errno.h>
#include <string.h>

#include "path.h"

/* How much sooner another path's short answer has to be, in percent: at first, and later. */
#define FIRST_PERCENT	80
#define LATER_PERCENT	50
#define NEW_MS		60000

static const int families[] = { AF_INET, AF_INET6 };

/* The address that the routes choose. */
static struct prefix by_routes(const struct where *where, unsigned int i)
{
	for_each(const struct path, path, where->paths)
		if (path->ifindex == where->exits[i] && path->address.family == families[i])
			return path->address;
	return (struct prefix){ };
}

/* Is it the only one, and the routes lead there? */
static bool is_alone(const struct where *where, const struct path *path)
{
	for_each(const struct path, other, where->paths)
		if (other != path && other->address.family == path->address.family)
			return false;
	return path->ifindex == where->exits[path->address.family == AF_INET6];
}

static bool is_new(const struct where *where, unsigned int i)
{
	return !where->compared_ms[i] || now_ms() < where->compared_ms[i] + NEW_MS;
}

static void say_refused(struct where *where, unsigned int i, int err)
{
	const char *why = err == -ERANGE ? "a default route has the lowest metric that there is" :
			  err == -ENOENT ? "the main table has no default route" : strerror(-err);

	if (err && err != where->refused_metric[i])
		say("IPv%d connections begin where the routes say: %s",
		    families[i] == AF_INET ? 4 : 6, why);
	where->refused_metric[i] = err;
}

/* Put the choice into the kernel. Returns whether it is there. */
static bool tell_kernel(struct where *where, unsigned int i, const struct path *path)
{
	int err;

	if (where->by_metric) {
		err = metric_tell(where->scene, families[i], path, where->exits[i]);
		say_refused(where, i, err);
		return !err;
	}
	err = begin_tell(where->begin, families[i], path);
	if (err)
		refuse(where->refused, "where connections begin",
		       path ? path->interface : "-", err);
	return !err;
}

static struct leading leading(struct where *where, const struct prefix chosen[])
{
	return (struct leading){ where->paths, &where->left, chosen, seen_answer(), now_ms() };
}

static void choose_one(struct where *where, unsigned int i)
{
	const struct leading now = leading(where, where->chosen);
	const struct path *path;
	struct lead tell = { };

	if (!path_at(where->paths, &where->chosen[i])) {
		where->chosen[i] = by_routes(where, i);
		where->compared_ms[i] = 0;
	}
	path = choose_path(where->paths, families[i], &where->chosen[i], seen_answer(),
			   is_new(where, i) ? FIRST_PERCENT : LATER_PERCENT, now_ms());
	if (path && path->rtt_us && !where->compared_ms[i])
		where->compared_ms[i] = now_ms();
	if (path)
		where->chosen[i] = path->address;
	if (path && where->by_metric)
		path = lead_along(&now, path);
	if (where->crowded || (path && is_alone(where, path)))
		path = NULL;
	if (path && where->by_metric && !path->up)
		path = NULL;
	if (path) {
		tell.address = path->address;
		memcpy(tell.interface, path->interface, sizeof(tell.interface));
		tell.also = where->by_metric ? 0 : path->also;
	}
	/* others' routes may have changed */
	if (!where->by_metric && !memcmp(&where->told[i], &tell, sizeof(tell)))
		return;
	if (!tell_kernel(where, i, path)) {
		if (where->by_metric)
			memset(&where->told[i], 0, sizeof(tell));
		return;
	}
	if (path && memcmp(&where->told[i], &tell, sizeof(tell)))
		say("%s: IPv%d %s here", path->interface, families[i] == AF_INET ? 4 : 6,
		    where->by_metric ? "traffic without a route of its own leaves" :
		    "connections begin");
	where->told[i] = tell;
}

static void lead(struct where *where)
{
	const struct prefix chosen[] = { where->told[0].address, where->told[1].address };
	const struct leading now = leading(where, chosen);
	int err = lead_all(&where->leads, &now);

	if (err)
		refuse(where->refused, "where connections to one destination begin", "-", err);
}

void where_leave(struct where *where, struct plan *plan)
{
	int err = where->begin ? begin_leave(&plan->left) : 0;

	list_free(&where->leads);
	list_free(&where->left);
	where->left = plan->left;
	memset(&plan->left, 0, sizeof(plan->left));
	where->crowded = err;
	if (!err)
		return;
	say_seldom(&where->full, "connections begin where the routes say: %u destinations have "
		   "routes of their own: %s", where->left.count, strerror(-err));
}

void where_routes_lead(struct where *where)
{
	for (unsigned int i = 0; i < ARRAY_SIZE(families); i++) {
		unsigned int exit = metric_exit(where->scene, families[i],
						scene_exit(families[i]));

		if (exit != where->exits[i] && !where->compared_ms[i])
			memset(&where->chosen[i], 0, sizeof(where->chosen[i]));
		where->exits[i] = exit;
	}
}

bool where_is_chosen(const struct where *where)
{
	return where->begin || where->by_metric;
}

void where_choose(struct where *where)
{
	for (unsigned int i = 0; where_is_chosen(where) && i < ARRAY_SIZE(families); i++)
		choose_one(where, i);
	if (where->begin)
		lead(where);
}

bool where_is(const struct where *where, const struct path *path)
{
	const struct lead *told = &where->told[path->address.family == AF_INET6];

	return !memcmp(&told->address, &path->address, sizeof(path->address));
}

bool where_is_told(const struct where *where)
{
	return where->told[0].address.family || where->told[1].address.family;
}

void where_free(struct where *where)
{
	begin_free(where->begin);
	metric_forget();
	list_free(&where->left);
	list_free(&where->leads);
}
