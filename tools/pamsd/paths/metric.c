// SPDX-License-Identifier: GPL-2.0
/*
 * metric - where connections begin, by a default route
 *
 * For hosts without BPF: one of ours through the path, in the main table, whose metric is below
 * that of each other one's there. Where these lead to the path by themselves it takes none.
 */
#include <errno.h>
#include <string.h>

#include <linux/rtnetlink.h>

#include "path.h"

static struct scene_route own[2];	/* family 0: none */

static bool is_default(const struct scene_route *route, int family, bool ours)
{
	return route->to.family == family && !route->to.len && route->table == RT_TABLE_MAIN &&
	       route->ours == ours;
}

/* Of others. */
static const struct scene_route *lowest(const struct scene *scene, int family)
{
	const struct scene_route *found = NULL;

	for_each(const struct scene_route, route, &scene->routes)
		if (is_default(route, family, false) && (!found || route->metric < found->metric))
			found = route;
	return found;
}

unsigned int metric_exit(const struct scene *scene, int family, unsigned int exit)
{
	for_each(const struct scene_route, route, &scene->routes)
		if (is_default(route, family, true) && route->ifindex == exit)
			return lowest(scene, family) ? lowest(scene, family)->ifindex : 0;
	return exit;
}

/*
 * An eighth lower, for others number theirs in sequence: a route with ours would be refused. 0 is
 * the lowest, but IPv6 takes it for 1024.
 */
static int below(struct scene_route *route, const struct scene *scene, const struct path *path)
{
	int family = path->address.family;
	const struct scene_route *others = lowest(scene, family);
	const struct scene_route *out = default_route(scene, path->ifindex, family);
	const uint32_t least = family == AF_INET6;

	if (!others || !out)
		return -ENOENT;
	if (others->metric <= least)
		return -ERANGE;
	route->to.family = family;
	route->table = RT_TABLE_MAIN;
	route->ifindex = path->ifindex;
	route->metric = others->metric - 1 - (others->metric - 1) / 8;
	route->gateway = out->gateway;
	route->source = path->address;
	return 0;
}

int metric_tell(const struct scene *scene, int family, const struct path *path, unsigned int exit)
{
	struct scene_route *route = &own[family == AF_INET6], wanted;
	int err, refused;

	memset(&wanted, 0, sizeof(wanted));
	err = path && path->ifindex != exit ? below(&wanted, scene, path) : 0;
	if (!memcmp(route, &wanted, sizeof(wanted)))
		return err;
	if (route->to.family)
		scene_route(route, false);
	refused = wanted.to.family ? scene_route(&wanted, true) : 0;
	memset(route, 0, sizeof(*route));
	if (!refused)
		*route = wanted;
	return refused ?: err;
}

void metric_keep(struct list *routes, const struct scene *scene)
{
	for (unsigned int i = 0; i < ARRAY_SIZE(own); i++)
		if (own[i].to.family && has_route(&scene->routes, &own[i]))
			*(struct scene_route *)list_add(routes, sizeof(own[i])) = own[i];
		else
			memset(&own[i], 0, sizeof(own[i]));
}

void metric_forget(void)
{
	memset(own, 0, sizeof(own));
}
