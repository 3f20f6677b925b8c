// SPDX-License-Identifier: GPL-2.0
/*
 * plan - what should be there of endpoints, rules and routes, from what is
 *
 * From a path's address three rules lead: to its own table without the default, so that its
 * neighbours are reached over its own interface, though another has the same subnet; to the main
 * table without the default, for what has a route of its own there, as a VPN; to its own table.
 *
 * If the routes send everything through an interface that is no path, such as a VPN's, there are
 * no paths of that family: they would lead around it.
 */
#include <string.h>

#include <linux/if_addr.h>
#include <linux/rtnetlink.h>

#include "path.h"

/* How long a link without carrier keeps its endpoint: taking that away ends its subflows. */
#define HOLD_MS		3000

/* More destinations without a choice don't fit into the kernel's tables. */
#define LEFT_MOST	2048

static const int families[] = { AF_INET, AF_INET6 };

/* --- which interfaces are paths --- */

static bool names(char (*list)[IF_NAMESIZE], unsigned int count, const char *name)
{
	for (unsigned int i = 0; i < count; i++)
		if (!strcmp(list[i], name))
			return true;
	return false;
}

/* Bridges and tunnels lead over other interfaces. */
static bool leads_over_others(const struct scene_link *link)
{
	static const char * const kinds[] = {
		"amneziawg", "batadv", "bridge", "dummy", "erspan", "geneve", "gre", "gretap",
		"ifb", "ip6erspan", "ip6gre", "ip6gretap", "ip6tnl", "ipip", "ipvlan",
		"l2tp_eth", "openvswitch", "ovpn", "ovpn-dco", "sit", "tun", "vrf", "vti", "vti6",
		"vxlan", "wireguard", "xfrm",
	};

	for (unsigned int i = 0; i < ARRAY_SIZE(kinds); i++)
		if (!strcmp(link->kind, kinds[i]))
			return true;
	return false;
}

/* NULL, or why the interface can't be a path. */
static const char *why_never(const struct paths_config *config, const struct scene_link *link)
{
	if (link->loopback)
		return "it is this host";
	if (names(config->without, config->without_count, link->name))
		return "the configuration leaves it out";
	if (names(config->also, config->also_count, link->name))
		return NULL;
	if (link->slave)
		return "it is a part of another interface";
	if (leads_over_others(link))
		return "it leads over other interfaces, and \"also\" doesn't name it";
	return NULL;
}

const char *plan_why_not(const struct situation *now, const struct scene_link *link)
{
	const char *why = why_never(now->config, link);

	if (!why && now->caps && caps_forbid(now->caps, link->name))
		why = "a cap forbids it";
	return why;
}

/* The higher the better, below 0: not usable (yet). */
static int rank_of(const struct scene_address *address, bool temporary)
{
	bool is6 = address->address.family == AF_INET6;

	if (address->flags & (IFA_F_TENTATIVE | IFA_F_DADFAILED))
		return -1;
	return !(address->flags & IFA_F_DEPRECATED) * 16 +
	       !(is6 && (address->address.address[0] & 0xfe) == 0xfc) * 8 +
	       (is6 ? !(address->flags & IFA_F_TEMPORARY) == !temporary :
		      !(address->flags & IFA_F_SECONDARY)) * 4 + address->own * 2;
}

static const struct scene_address *best_address(const struct scene *scene,
						const struct scene_link *link, int family)
{
	bool temporary = family == AF_INET6 && link_prefers_temporary(link->name);
	const struct scene_address *best = NULL;

	for_each(const struct scene_address, address, &scene->addresses)
		if (address->ifindex == link->ifindex && address->address.family == family &&
		    rank_of(address, temporary) > (best ? rank_of(best, temporary) : -1))
			best = address;
	return best;
}

const struct scene_route *default_route(const struct scene *scene, unsigned int ifindex, int family)
{
	const struct scene_route *best = NULL;

	for_each(const struct scene_route, route, &scene->routes)
		if (route->ifindex == ifindex && route->to.family == family && !route->to.len &&
		    !route->ours && (!best || route->metric < best->metric))
			best = route;
	return best;
}

/*
 * What begins on it besides MPTCP. A UDP socket is bound to the interface, and its address isn't
 * known when its route is looked up: our rules and tables don't count.
 */
static unsigned int also_of(const struct situation *now, const struct scene_link *link, int family)
{
	for_each(const struct scene_route, route, &now->scene->routes)
		if (route->ifindex == link->ifindex && route->to.family == family &&
		    !route->to.len && !route->ours && route->table == RT_TABLE_MAIN)
			return now->config->first_also;
	return now->config->first_also & ~FIRST_UDP;
}

/* --- the plan --- */

void plan_free(struct plan *plan)
{
	list_free(&plan->routes);
	list_free(&plan->rules);
	list_free(&plan->endpoints);
	list_free(&plan->left);
}

static void plan_rule(struct plan *plan, const struct prefix *from, unsigned int nr,
		      uint32_t table, int suppress)
{
	struct scene_rule *rule = list_add(&plan->rules, sizeof(*rule));

	rule->from = *from;
	rule->priority = OUR_PRIORITY + nr;
	rule->table = table;
	rule->suppress = suppress;
}

static void plan_route(struct plan *plan, const struct prefix *to, unsigned int ifindex,
		       const struct prefix *gateway)
{
	struct scene_route *route = list_add(&plan->routes, sizeof(*route));

	route->to = *to;
	route->table = OUR_TABLE + ifindex;
	route->ifindex = ifindex;
	route->gateway = *gateway;
	/* what the kernel shows of an IPv6 route without a metric */
	route->metric = to->family == AF_INET6 ? 1024 : 0;
}

struct made *made_at(const struct list *list, const struct prefix *address)
{
	for_each(struct made, made, list)
		if (!memcmp(&made->address, address, sizeof(*address)))
			return made;
	return NULL;
}

void path_drop(struct list *paths, struct path *path)
{
	seen_forget(&path->address);
	*path = ((struct path *)paths->at)[--paths->count];
}

static struct path *list_path(const struct situation *now, const struct scene_link *link,
			      const struct prefix *address)
{
	struct path *path = path_at(now->paths, address);

	if (!path || path->ifindex != link->ifindex) {
		if (path)
			seen_forget(address);
		path = path ?: list_add(now->paths, sizeof(*path));
		memset(path, 0, sizeof(*path));
		silent_forget(address);
		path->address = *address;
		path->ifindex = link->ifindex;
	}
	memcpy(path->interface, link->name, sizeof(path->interface));
	if (path->up && !link->up)
		path->down_ms = now->ms;
	/* what was predicted has happened, and is over; what was dead may live */
	if (!path->up && link->up) {
		path->lost_ms = 0;
		path->dead_ms = 0;
		path->deaths = 0;
		silent_forget(address);
	}
	path->up = link->up;
	path->listed = true;
	return path;
}

/* Has the path been without carrier for too long? */
static bool is_gone(const struct path *path, uint64_t ms)
{
	return !path->up && (!path->down_ms || ms >= path->down_ms + HOLD_MS);
}

uint64_t plan_changes_ms(const struct situation *now)
{
	uint64_t first_ms = UINT64_MAX;

	for_each(const struct path, path, now->paths)
		if (!path->up && path->down_ms && !is_gone(path, now->ms) &&
		    path->down_ms + HOLD_MS < first_ms)
			first_ms = path->down_ms + HOLD_MS;
	return first_ms;
}

static void plan_path(const struct situation *now, struct plan *plan,
		      const struct scene_link *link, const struct scene_address *address,
		      const struct scene_route *out)
{
	const struct prefix none = { }, *from = &address->address;
	struct prefix subnet = *from, all = { .family = from->family };
	uint32_t table = OUR_TABLE + link->ifindex;
	struct made *endpoint;
	struct path *path;

	/* the first of two interfaces that have it */
	for_each(const struct scene_rule, rule, &plan->rules)
		if (!memcmp(&rule->from, from, sizeof(*from)))
			return;
	path = list_path(now, link, from);
	path->also = also_of(now, link, from->family);
	if (is_gone(path, now->ms))
		return;
	subnet.len = address->subnet;
	prefix_cut(&subnet);
	if (address->subnet && address->subnet < from->len)
		plan_route(plan, &subnet, link->ifindex, &none);
	plan_route(plan, &all, link->ifindex, &out->gateway);
	plan_rule(plan, from, 0, table, 0);
	plan_rule(plan, from, 1, RT_TABLE_MAIN, 0);
	plan_rule(plan, from, 2, table, -1);
	if (!endpoint_has(from->family))
		return;
	endpoint = list_add(&plan->endpoints, sizeof(*endpoint));
	endpoint->address = *from;
	endpoint->ifindex = link->ifindex;
}

static bool leads_around(const struct situation *now, int family)
{
	const struct scene_link *exit = scene_link(now->scene, now->exits[family == AF_INET6]);

	return now->scene->ipsec[family == AF_INET6] ||
	       (exit && !exit->loopback && why_never(now->config, exit));
}

static bool has(const struct list *prefixes, const struct prefix *one)
{
	for_each(const struct prefix, prefix, prefixes)
		if (!memcmp(prefix, one, sizeof(*one)))
			return true;
	return false;
}

/* Connections to what has a route of its own, in whichever table, begin where that says. */
static void plan_left(const struct situation *now, struct plan *plan)
{
	const struct paths_config *config = now->config;

	if (!config->first)
		return;
	for_each(const struct scene_route, route, &now->scene->routes)
		if (plan->left.count <= LEFT_MOST && route->to.len && !route->ours &&
		    !has(&plan->left, &route->to))
			*(struct prefix *)list_add(&plan->left, sizeof(route->to)) = route->to;
	for (unsigned int i = 0; i < config->not_first_count; i++)
		if (!has(&plan->left, &config->not_first[i]))
			*(struct prefix *)list_add(&plan->left, sizeof(config->not_first[i])) =
				config->not_first[i];
}

void plan_make(struct plan *plan, const struct situation *now)
{
	const struct scene *scene = now->scene;

	for_each(struct path, path, now->paths)
		path->listed = false;
	for_each(const struct scene_link, link, &scene->links)
		for (unsigned int i = 0; i < ARRAY_SIZE(families); i++) {
			const struct scene_address *address;
			const struct scene_route *out;

			if (plan_why_not(now, link) || leads_around(now, families[i]))
				continue;
			address = best_address(scene, link, families[i]);
			out = default_route(scene, link->ifindex, families[i]);
			if (address && out)
				plan_path(now, plan, link, address, out);
		}
	for (unsigned int i = now->paths->count; i--;) {
		struct path *all = now->paths->at;

		if (!all[i].listed)
			path_drop(now->paths, &all[i]);
	}
	plan_left(now, plan);
}

/* --- the difference to what is --- */

static bool same_route(const struct scene_route *a, const struct scene_route *b)
{
	return a->table == b->table && a->ifindex == b->ifindex && a->metric == b->metric &&
	       !memcmp(&a->to, &b->to, sizeof(a->to)) &&
	       !memcmp(&a->gateway, &b->gateway, sizeof(a->gateway));
}

static bool same_rule(const struct scene_rule *a, const struct scene_rule *b)
{
	return a->table == b->table && a->priority == b->priority &&
	       a->suppress == b->suppress && !memcmp(&a->from, &b->from, sizeof(a->from));
}

bool has_route(const struct list *routes, const struct scene_route *one)
{
	for_each(const struct scene_route, route, routes)
		if (same_route(route, one))
			return true;
	return false;
}

bool has_rule(const struct list *rules, const struct scene_rule *one)
{
	for_each(const struct scene_rule, rule, rules)
		if (same_rule(rule, one))
			return true;
	return false;
}
