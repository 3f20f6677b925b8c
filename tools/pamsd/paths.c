// SPDX-License-Identifier: GPL-2.0
/*
 * paths - keeps the host's paths: an endpoint, rules and a routing table for each
 *
 * What should be there follows from what is (scene.c); the difference is made whenever rtnetlink
 * tells of a change, so that a change of anybody leads to the same end. Routes and rules are
 * marked as pamsd's by their protocol. Endpoints can't be marked: those that pamsd adds are
 * written into a file first, for the case that it is killed. What others have made stays, and is
 * used: an address that has an endpoint gets no second one.
 *
 * From a path's address three rules lead: to its own table without the default, so that its
 * neighbours are reached over its own interface, though another has the same subnet; to the main
 * table without the default, for what has a route of its own there, as a VPN; to its own table.
 *
 * If the routes send everything through an interface that is no path, such as a VPN's, there are
 * no paths of that family: they would lead around it.
 */
#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

#include <event2/event.h>
#include <jansson.h>
#include <linux/if_addr.h>
#include <linux/mptcp.h>
#include <linux/mptcp_pams.h>
#include <linux/rtnetlink.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>
#include <netlink/socket.h>

#include "paths.h"

/* After a change wait for those that come with it. */
#define SETTLE_MS	50
/* At most so often if changes don't end. */
#define SPACING_MS	500
/* How long a link without carrier keeps its endpoint: taking that away ends its subflows. */
#define HOLD_MS		3000
/* Looks at the sockets after a connection has begun: how often, and until when. */
#define LOOK_MS		250
#define LOOK_SLOW_MS	1000
#define LOOK_FAST_FOR_MS	3000
#define LOOK_FOR_MS	10000
/* How much sooner another path's short answer has to be, in percent: the first time, and later. */
#define FIRST_PERCENT	80
#define LATER_PERCENT	50

/* More destinations without a choice don't fit into the kernel's tables. */
#define LEFT_MOST	2048

/* The path manager's limit of further subflows. */
#define SUBFLOWS_MOST	8

static const int families[] = { AF_INET, AF_INET6 };

/* An endpoint that pamsd has made. */
struct made {
	struct prefix address;
	unsigned int ifindex;
};

/* What should be there. */
struct plan {
	struct list routes;	/* of struct scene_route */
	struct list rules;
	struct list endpoints;	/* of struct made */
	struct list left;	/* of struct prefix: destinations with a route of their own */
};

struct paths {
	const struct paths_config *config;
	struct caps *caps;	/* or NULL */
	struct kernel *kernel;
	char *file;
	int lock;		/* a name that only one pamsd of the namespace has */
	struct nl_sock *news;
	struct event *event, *settle, *look;
	struct scene scene;
	struct list paths;	/* of struct path */
	struct list made;	/* of struct made */
	unsigned int exits[2];
	uint64_t due_ms;	/* when settle is due, if it is pending */
	uint64_t settled_ms;	/* when the plan was carried out last */
	uint64_t woken_ms;	/* when a connection began last */
	bool unsaved;		/* less was made than the file says */
	uint32_t limit_before;	/* of further subflows before it was raised, plus 1; or 0 */
	struct begin *begin;	/* NULL: connections begin where the routes say */
	struct prefix chosen[2];
	bool crowded;		/* too many destinations have routes of their own */
	bool compared[2];	/* a choice was made by round trips */
	struct prefix told[2];	/* what the kernel's table has; family 0: nothing */
	struct seldom unread, refused, full;
};

static void arm(struct event *event, unsigned int ms)
{
	const struct timeval after = { ms / 1000, ms % 1000 * 1000 };

	event_add(event, &after);
}

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
		"batadv", "bridge", "dummy", "erspan", "geneve", "gre", "gretap", "ifb",
		"ip6erspan", "ip6gre", "ip6gretap", "ip6tnl", "ipip", "ipvlan",
		"l2tp_eth", "openvswitch", "ovpn", "sit", "tun", "vrf", "vti", "vti6", "vxlan",
		"wireguard", "xfrm",
	};

	for (unsigned int i = 0; i < ARRAY_SIZE(kinds); i++)
		if (!strcmp(link->kind, kinds[i]))
			return true;
	return false;
}

/* NULL, or why the interface can't be a path. */
static const char *why_never(const struct paths *paths, const struct scene_link *link)
{
	const struct paths_config *config = paths->config;

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

/* NULL, or why the interface is no path now. */
static const char *why_not(const struct paths *paths, const struct scene_link *link)
{
	const char *why = why_never(paths, link);

	if (!why && paths->caps && caps_forbid(paths->caps, link->name))
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

/* The interface's default route with the lowest metric, of others. */
static const struct scene_route *default_route(const struct scene *scene, unsigned int ifindex,
					       int family)
{
	const struct scene_route *best = NULL;

	for_each(const struct scene_route, route, &scene->routes)
		if (route->ifindex == ifindex && route->to.family == family && !route->to.len &&
		    !route->ours && (!best || route->metric < best->metric))
			best = route;
	return best;
}

/* --- the plan --- */

static void plan_free(struct plan *plan)
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

static struct made *find_made(const struct list *list, const struct prefix *address)
{
	for_each(struct made, made, list)
		if (!memcmp(&made->address, address, sizeof(*address)))
			return made;
	return NULL;
}

static struct path *find_path(const struct paths *paths, const struct prefix *address)
{
	for_each(struct path, path, &paths->paths)
		if (!memcmp(&path->address, address, sizeof(*address)))
			return path;
	return NULL;
}

static void list_path(struct paths *paths, const struct scene_link *link,
		      const struct prefix *address)
{
	struct path *path = find_path(paths, address);

	if (!path || path->ifindex != link->ifindex) {
		path = path ?: list_add(&paths->paths, sizeof(*path));
		memset(path, 0, sizeof(*path));
		path->address = *address;
		path->ifindex = link->ifindex;
		/* the kernel's table has the interface, too */
		memset(&paths->told[address->family == AF_INET6], 0, sizeof(paths->told[0]));
	}
	memcpy(path->interface, link->name, sizeof(path->interface));
	if (path->up && !link->up)
		path->down_ms = now_ms();
	/* what was predicted has happened, and is over */
	if (!path->up && link->up)
		path->lost_ms = 0;
	path->up = link->up;
	path->listed = true;
}

/* Has the path been without carrier for too long? */
static bool is_gone(const struct path *path)
{
	return !path->up && (!path->down_ms || now_ms() >= path->down_ms + HOLD_MS);
}

static void plan_path(struct paths *paths, struct plan *plan, const struct scene_link *link,
		      const struct scene_address *address, const struct scene_route *out)
{
	const struct prefix none = { }, *from = &address->address;
	struct prefix subnet = *from, all = { .family = from->family };
	uint32_t table = OUR_TABLE + link->ifindex;
	struct made *endpoint;

	/* the first of two interfaces that have it */
	if (find_made(&plan->endpoints, from))
		return;
	list_path(paths, link, from);
	if (is_gone(find_path(paths, from)))
		return;
	subnet.len = address->subnet;
	prefix_cut(&subnet);
	if (address->subnet && address->subnet < from->len)
		plan_route(plan, &subnet, link->ifindex, &none);
	plan_route(plan, &all, link->ifindex, &out->gateway);
	plan_rule(plan, from, 0, table, 0);
	plan_rule(plan, from, 1, RT_TABLE_MAIN, 0);
	plan_rule(plan, from, 2, table, -1);
	endpoint = list_add(&plan->endpoints, sizeof(*endpoint));
	endpoint->address = *from;
	endpoint->ifindex = link->ifindex;
}

static bool leads_around(const struct paths *paths, int family)
{
	const struct scene_link *exit = scene_link(&paths->scene,
						   paths->exits[family == AF_INET6]);

	return exit && !exit->loopback && why_never(paths, exit);
}

static bool has(const struct list *prefixes, const struct prefix *one)
{
	for_each(const struct prefix, prefix, prefixes)
		if (!memcmp(prefix, one, sizeof(*one)))
			return true;
	return false;
}

/* Connections to what has a route of its own, in whichever table, begin where that says. */
static void plan_left(const struct paths *paths, struct plan *plan)
{
	const struct paths_config *config = paths->config;

	if (!paths->begin)
		return;
	for_each(const struct scene_route, route, &paths->scene.routes)
		if (plan->left.count <= LEFT_MOST && route->to.len && !route->ours &&
		    !has(&plan->left, &route->to))
			*(struct prefix *)list_add(&plan->left, sizeof(route->to)) = route->to;
	for (unsigned int i = 0; i < config->not_first_count; i++)
		if (!has(&plan->left, &config->not_first[i]))
			*(struct prefix *)list_add(&plan->left, sizeof(config->not_first[i])) =
				config->not_first[i];
}

static void make_plan(struct paths *paths, struct plan *plan)
{
	struct scene *scene = &paths->scene;

	for_each(struct path, path, &paths->paths)
		path->listed = false;
	for_each(const struct scene_link, link, &scene->links)
		for (unsigned int i = 0; i < ARRAY_SIZE(families); i++) {
			const struct scene_address *address;
			const struct scene_route *out;

			if (why_not(paths, link) || leads_around(paths, families[i]))
				continue;
			address = best_address(scene, link, families[i]);
			out = default_route(scene, link->ifindex, families[i]);
			if (address && out)
				plan_path(paths, plan, link, address, out);
		}
	for (unsigned int i = paths->paths.count; i--;) {
		struct path *all = paths->paths.at;

		if (!all[i].listed)
			all[i] = all[--paths->paths.count];
	}
	plan_left(paths, plan);
}

/* --- the file of endpoints that pamsd has made --- */

static const char *boot_id(void)
{
	static char id[64];
	FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");

	if (!file || !fgets(id, sizeof(id), file))
		id[0] = 0;
	if (file)
		fclose(file);
	id[strcspn(id, "\n")] = 0;
	return id;
}

static int save(const struct paths *paths)
{
	json_t *list = json_array(), *state;
	char text[ADDRESS_TEXT];
	int err;

	for_each(const struct made, made, &paths->made)
		json_array_append_new(list, json_pack("{s:s, s:i}", "address",
						      prefix_text(text, &made->address),
						      "ifindex", (int)made->ifindex));
	state = json_pack("{s:s, s:o, s:i}", "boot", boot_id(), "endpoints", list,
			  "limit_before", (int)paths->limit_before);
	err = keep_write(paths->file, state);
	json_decref(state);
	return err;
}

/* What an earlier pamsd made since the machine was started. */
static void restore(struct paths *paths)
{
	const char *why, *address, *boot = boot_id();
	json_t *state = keep_read(paths->file, &why), *one;
	size_t i;

	if (why)
		say("%s: %s", paths->file, why);
	if (state && !strcmp(boot, json_string_value(json_object_get(state, "boot")) ?: "")) {
		json_array_foreach(json_object_get(state, "endpoints"), i, one) {
			struct made made = { };

			made.ifindex = json_integer_value(json_object_get(one, "ifindex"));
			address = json_string_value(json_object_get(one, "address"));
			if (address && !prefix_parse(&made.address, address))
				*(struct made *)list_add(&paths->made, sizeof(made)) = made;
		}
		paths->limit_before = json_integer_value(json_object_get(state, "limit_before"));
	}
	json_decref(state);
}

/* --- from what is there to the plan --- */

static void complain(struct paths *paths, const char *what, const char *interface, int err)
{
	say_seldom(&paths->refused, "%s: the kernel refuses %s: %s", interface, what,
		   strerror(-err));
}

static const char *name_of(const struct paths *paths, unsigned int ifindex)
{
	const struct scene_link *link = scene_link(&paths->scene, ifindex);

	return link ? link->name : "an interface that is gone";
}

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

static bool has_route(const struct list *routes, const struct scene_route *one)
{
	for_each(const struct scene_route, route, routes)
		if (same_route(route, one))
			return true;
	return false;
}

static bool has_rule(const struct list *rules, const struct scene_rule *one)
{
	for_each(const struct scene_rule, rule, rules)
		if (same_rule(rule, one))
			return true;
	return false;
}

/* What was taken away meanwhile need not be removed, what was added need not be added. */
static bool failed(int err, bool add)
{
	if (add)
		return err && err != -EEXIST;
	return err && err != -ENOENT && err != -ENODEV;
}

static void settle_routes(struct paths *paths, const struct plan *plan)
{
	int err;

	for_each(const struct scene_route, route, &paths->scene.routes)
		if (route->ours && !has_route(&plan->routes, route)) {
			err = scene_route(route, false);
			if (failed(err, false))
				complain(paths, "to remove a route",
					 name_of(paths, route->ifindex), err);
		}
	for_each(const struct scene_route, route, &plan->routes)
		if (!has_route(&paths->scene.routes, route)) {
			err = scene_route(route, true);
			if (failed(err, true))
				complain(paths, "a route", name_of(paths, route->ifindex), err);
		}
}

static void settle_rules(struct paths *paths, const struct plan *plan, bool add)
{
	const struct list *from = add ? &plan->rules : &paths->scene.rules;
	const struct list *to = add ? &paths->scene.rules : &plan->rules;

	for_each(const struct scene_rule, rule, from) {
		int err = has_rule(to, rule) ? 0 : scene_rule(rule, add);

		if (failed(err, add))
			complain(paths, "a rule", "routing", err);
	}
}

/* --- endpoints --- */

static const struct endpoint *endpoint_at(const struct endpoint *list, int count,
					  const struct prefix *address)
{
	for (int i = 0; i < count; i++)
		if (list[i].family == address->family && !list[i].port &&
		    !(list[i].flags & MPTCP_PM_ADDR_FLAG_IMPLICIT) &&
		    !memcmp(list[i].address, address->address, sizeof(address->address)))
			return &list[i];
	return NULL;
}

static void forget_made(struct paths *paths, struct made *made)
{
	*made = ((struct made *)paths->made.at)[--paths->made.count];
	paths->unsaved = true;
}

static void add_endpoint(struct paths *paths, const struct made *wanted)
{
	struct endpoint endpoint = {
		.family = wanted->address.family,
		.ifindex = wanted->ifindex,
		.flags = MPTCP_PM_ADDR_FLAG_SUBFLOW,
	};
	int err;

	memcpy(endpoint.address, wanted->address.address, sizeof(endpoint.address));
	*(struct made *)list_add(&paths->made, sizeof(*wanted)) = *wanted;
	err = save(paths);
	err = err ?: endpoint_add(&endpoint);
	if (!err) {
		say("%s: a path", name_of(paths, wanted->ifindex));
		return;
	}
	forget_made(paths, find_made(&paths->made, &wanted->address));
	complain(paths, "an endpoint", name_of(paths, wanted->ifindex), err);
}

static void settle_endpoints(struct paths *paths, const struct plan *plan)
{
	struct endpoint list[ENDPOINTS_MAX];
	int count = endpoints_read(list);
	unsigned int before = paths->made.count;

	if (count < 0) {
		say_seldom(&paths->unread, "the path manager's endpoints can't be read: %s",
			   strerror(-count));
		return;
	}
	/* new ones first: connections go over to them */
	for_each(const struct made, wanted, &plan->endpoints) {
		const struct endpoint *there = endpoint_at(list, count, &wanted->address);
		struct made *made = find_made(&paths->made, &wanted->address);

		/* the address has moved to another interface */
		if (made && there && there->ifindex != wanted->ifindex && !endpoint_remove(there))
			there = NULL;
		if (there)
			continue;
		if (made)
			forget_made(paths, made);
		add_endpoint(paths, wanted);
	}
	for (unsigned int i = before < paths->made.count ? before : paths->made.count; i--;) {
		struct made *made = (struct made *)paths->made.at + i;
		const struct endpoint *there = endpoint_at(list, count, &made->address);
		int err;

		if (find_made(&plan->endpoints, &made->address))
			continue;
		/* the caps give it back */
		if (!there && paths->caps &&
		    caps_forbid(paths->caps, name_of(paths, made->ifindex)))
			continue;
		err = there ? endpoint_remove(there) : 0;
		if (failed(err, false) && err != -EINVAL) {
			complain(paths, "to remove an endpoint",
				 name_of(paths, made->ifindex), err);
			continue;
		}
		say("%s: no path any more", name_of(paths, made->ifindex));
		forget_made(paths, made);
	}
	if (paths->unsaved && !save(paths))
		paths->unsaved = false;
}

static void raise_limit(struct paths *paths, const struct plan *plan)
{
	unsigned int wanted = plan->endpoints.count;
	uint32_t now;
	int err = endpoint_limit(&now);

	if (wanted > SUBFLOWS_MOST)
		wanted = SUBFLOWS_MOST;
	if (err || now >= wanted)
		return;
	if (!paths->limit_before) {
		paths->limit_before = now + 1;
		save(paths);
	}
	err = endpoint_set_limit(wanted);
	if (err)
		complain(paths, "a higher limit of subflows", "mptcp", err);
}

static void lower_limit(struct paths *paths)
{
	if (paths->limit_before)
		endpoint_set_limit(paths->limit_before - 1);
	paths->limit_before = 0;
}

/* --- where connections begin --- */

/* The address that the routes choose. */
static struct prefix by_routes(const struct paths *paths, unsigned int i)
{
	for_each(const struct path, path, &paths->paths)
		if (path->ifindex == paths->exits[i] && path->address.family == families[i])
			return path->address;
	return (struct prefix){ };
}

/* Is it the only one, and the routes lead there? */
static bool is_alone(const struct paths *paths, const struct path *path)
{
	for_each(const struct path, other, &paths->paths)
		if (other != path && other->address.family == path->address.family)
			return false;
	return path->ifindex == paths->exits[path->address.family == AF_INET6];
}

static void choose_one(struct paths *paths, unsigned int i)
{
	const struct path *path;
	struct prefix address = { };
	int err;

	if (!find_path(paths, &paths->chosen[i])) {
		paths->chosen[i] = by_routes(paths, i);
		paths->compared[i] = false;
	}
	path = begin_choose(&paths->paths, families[i], &paths->chosen[i],
			    paths->compared[i] ? LATER_PERCENT : FIRST_PERCENT, now_ms());
	if (path) {
		address = path->address;
		paths->compared[i] |= path->rtt_us;
		paths->chosen[i] = address;
	}
	if (paths->crowded || (path && is_alone(paths, path))) {
		path = NULL;
		memset(&address, 0, sizeof(address));
	}
	if (!memcmp(&paths->told[i], &address, sizeof(address)))
		return;
	err = begin_tell(paths->begin, families[i], path);
	if (err) {
		complain(paths, "where connections begin", path ? path->interface : "-", err);
		return;
	}
	paths->told[i] = address;
	if (path)
		say("%s: IPv%d connections begin here", path->interface,
		    families[i] == AF_INET ? 4 : 6);
}

static void choose(struct paths *paths)
{
	for_each(struct path, path, &paths->paths) {
		uint8_t told = kernel_cost(paths->kernel, path->ifindex);

		path->cost = paths->caps ? caps_cost(paths->caps, path->interface) : 0;
		if (told > path->cost)
			path->cost = told;
	}
	for (unsigned int i = 0; paths->begin && i < ARRAY_SIZE(families); i++)
		choose_one(paths, i);
}

static void leave(struct paths *paths, const struct plan *plan)
{
	int err = paths->begin ? begin_leave(&plan->left) : 0;

	paths->crowded = err;
	if (!err)
		return;
	say_seldom(&paths->full, "connections begin where the routes say: %u destinations have "
		   "routes of their own: %s", plan->left.count, strerror(-err));
}

/* --- events --- */

/* Settle at this time, or sooner if that is due. */
static void arm_settle(struct paths *paths, uint64_t at_ms)
{
	uint64_t ms = now_ms();

	if (evtimer_pending(paths->settle, NULL) && paths->due_ms <= at_ms)
		return;
	paths->due_ms = at_ms;
	arm(paths->settle, at_ms > ms ? at_ms - ms : 0);
}

static void arm_hold(struct paths *paths)
{
	for_each(const struct path, path, &paths->paths)
		if (!path->up && path->down_ms && !is_gone(path))
			arm_settle(paths, path->down_ms + HOLD_MS + 1);
}

/* Until paths can be compared, the choice is the routes'. */
static void take_exit(struct paths *paths, unsigned int i)
{
	unsigned int exit = scene_exit(families[i]);

	if (exit != paths->exits[i] && !paths->compared[i])
		memset(&paths->chosen[i], 0, sizeof(paths->chosen[i]));
	paths->exits[i] = exit;
}

static void settle(struct paths *paths)
{
	struct plan plan = { };
	int err = scene_read(&paths->scene);

	paths->settled_ms = now_ms();
	if (err) {
		say_seldom(&paths->unread, "addresses and routes can't be read: %s",
			   strerror(-err));
		arm_settle(paths, paths->settled_ms + SPACING_MS);
		return;
	}
	for (unsigned int i = 0; i < ARRAY_SIZE(families); i++)
		take_exit(paths, i);
	for_each(struct scene_address, address, &paths->scene.addresses)
		address->own = find_made(&paths->made, &address->address);
	make_plan(paths, &plan);
	settle_routes(paths, &plan);
	settle_rules(paths, &plan, true);
	raise_limit(paths, &plan);
	settle_endpoints(paths, &plan);
	settle_rules(paths, &plan, false);
	leave(paths, &plan);
	plan_free(&plan);
	choose(paths);
	arm_hold(paths);
}

static void on_settle(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	settle(arg);
}

static void on_look(evutil_socket_t fd, short what, void *arg)
{
	struct paths *paths = arg;
	uint64_t ms = now_ms();
	int opening = seen_read(&paths->paths, now_us());

	(void)fd;
	(void)what;
	choose(paths);
	if (ms < paths->woken_ms + LOOK_FAST_FOR_MS ||
	    (opening > 0 && ms < paths->woken_ms + LOOK_FOR_MS))
		arm(paths->look, LOOK_MS);
	else if (ms < paths->woken_ms + LOOK_FOR_MS)
		arm(paths->look, LOOK_SLOW_MS);
}

static void on_begin(void *arg)
{
	struct paths *paths = arg;

	paths->woken_ms = now_ms();
	/* each look chooses, too */
	if (evtimer_pending(paths->look, NULL))
		return;
	arm(paths->look, LOOK_MS);
	/* paths that are dead for long enough may be tried again */
	choose(paths);
}

void paths_feed(struct paths *paths)
{
	uint64_t ms = now_ms(), next = paths->settled_ms + SPACING_MS;

	arm_settle(paths, next > ms + SETTLE_MS ? next : ms + SETTLE_MS);
}

static void on_caps(void *arg)
{
	paths_feed(arg);
}

/* A route that pamsd has added itself needs no look. */
static bool is_own(struct nlmsghdr *hdr)
{
	return hdr->nlmsg_type == RTM_NEWROUTE && nlmsg_valid_hdr(hdr, sizeof(struct rtmsg)) &&
	       ((struct rtmsg *)nlmsg_data(hdr))->rtm_protocol == OUR_PROTOCOL;
}

static int on_change(struct nl_msg *msg, void *arg)
{
	if (!is_own(nlmsg_hdr(msg)))
		*(bool *)arg = true;
	return NL_OK;
}

static void on_news(evutil_socket_t fd, short what, void *arg)
{
	struct paths *paths = arg;
	bool news = false;

	(void)fd;
	(void)what;
	nl_socket_modify_cb(paths->news, NL_CB_VALID, NL_CB_CUSTOM, on_change, &news);
	/* an error: the buffer overflowed, so anything may have changed */
	if (nl_recvmsgs_default(paths->news) < 0 || news)
		paths_feed(paths);
}

/* --- begin and end --- */

static int open_news(struct paths *paths, struct event_base *base)
{
	paths->news = nl_socket_alloc();
	if (!paths->news)
		return -1;
	nl_socket_disable_seq_check(paths->news);
	if (nl_connect(paths->news, NETLINK_ROUTE) || nl_socket_set_nonblocking(paths->news) ||
	    nl_socket_add_memberships(paths->news, RTNLGRP_LINK, RTNLGRP_IPV4_IFADDR,
				      RTNLGRP_IPV6_IFADDR, RTNLGRP_IPV4_ROUTE,
				      RTNLGRP_IPV6_ROUTE, RTNLGRP_IPV4_RULE,
				      RTNLGRP_IPV6_RULE, RTNLGRP_NONE))
		return -1;
	paths->event = event_new(base, nl_socket_get_fd(paths->news), EV_READ | EV_PERSIST,
				 on_news, paths);
	return paths->event ? event_add(paths->event, NULL) : -1;
}

/* Two daemons would undo each other's work: the namespace has one such name. */
static int lock(void)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX, .sun_path = "\0mptcp-pams-paths" };
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd >= 0 && bind(fd, (struct sockaddr *)&name,
			    offsetof(struct sockaddr_un, sun_path) + 17)) {
		say("another pamsd keeps this network namespace's paths");
		close(fd);
		fd = -1;
	}
	return fd;
}

static char *file_beside(const char *state)
{
	char *copied = strdup(state), *file = NULL;

	if (copied && asprintf(&file, "%s/paths.json", dirname(copied)) < 0)
		file = NULL;
	free(copied);
	return file;
}

struct paths *paths_new(struct event_base *base, const struct config *config,
			struct kernel *kernel, struct caps *caps)
{
	struct paths *paths = calloc(1, sizeof(*paths));

	if (!paths)
		return NULL;
	paths->config = &config->paths;
	paths->kernel = kernel;
	paths->caps = caps;
	paths->lock = lock();
	paths->file = file_beside(config->state);
	paths->settle = evtimer_new(base, on_settle, paths);
	paths->look = evtimer_new(base, on_look, paths);
	if (paths->lock < 0 || !paths->file || !paths->settle || !paths->look ||
	    open_news(paths, base)) {
		paths_free(paths);
		return NULL;
	}
	if (config->paths.first)
		paths->begin = begin_new(base, on_begin, paths);
	if (config->paths.first && !paths->begin)
		say("connections begin where the routes say, until pamsd is restarted");
	restore(paths);
	settle(paths);
	if (caps)
		caps_on_change(caps, on_caps, paths);
	return paths;
}

void paths_release(struct paths *paths)
{
	struct plan nothing = { };

	if (scene_read(&paths->scene))
		return;
	settle_endpoints(paths, &nothing);
	settle_rules(paths, &nothing, false);
	settle_routes(paths, &nothing);
	lower_limit(paths);
	if (!paths->made.count)
		unlink(paths->file);
}

void paths_free(struct paths *paths)
{
	if (!paths)
		return;
	if (paths->caps)
		caps_on_change(paths->caps, NULL, NULL);
	begin_free(paths->begin);
	if (paths->event)
		event_free(paths->event);
	if (paths->settle)
		event_free(paths->settle);
	if (paths->look)
		event_free(paths->look);
	nl_socket_free(paths->news);
	scene_free(&paths->scene);
	scene_close();
	seen_close();
	list_free(&paths->paths);
	list_free(&paths->made);
	if (paths->lock >= 0)
		close(paths->lock);
	free(paths->file);
	free(paths);
}

const char *paths_predict(struct paths *paths, const char *interface,
			  const struct prediction *prediction)
{
	const char *why = "this interface is no path";

	for_each(struct path, path, &paths->paths)
		if (!strcmp(path->interface, interface)) {
			path->lost_ms = prediction->loss ? now_ms() + prediction->loss_ms + 1 : 0;
			path->lost_until_ms = path->lost_ms +
				(prediction->ttl_ms ?: MPTCP_PAMS_LOSS_TTL_DEFAULT_MS);
			why = NULL;
		}
	choose(paths);
	return why;
}

/* --- the status --- */

static json_t *status_of(const struct paths *paths, const struct path *path)
{
	unsigned int i = path->address.family == AF_INET6;
	char text[ADDRESS_TEXT];
	json_t *object;

	object = json_pack("{s:s, s:s, s:s, s:b, s:i, s:b, s:b}", "interface", path->interface,
			   "address", prefix_text(text, &path->address), "state",
			   !path->up ? "down" : path->dead_ms ? "dead" : "up",
			   "made", find_made(&paths->made, &path->address) ? 1 : 0,
			   "cost", path->cost, "loss_predicted",
			   path->lost_ms && now_ms() < path->lost_until_ms,
			   "first", !memcmp(&paths->told[i], &path->address,
					    sizeof(path->address)));
	if (path->rtt_us)
		json_object_set_new(object, "rtt_us", json_integer(path->rtt_us));
	if (path->rate_byteps)
		json_object_set_new(object, "rate_byteps", json_integer(path->rate_byteps));
	return object;
}

json_t *paths_status(const struct paths *paths)
{
	json_t *list = json_array(), *others = json_object();

	for_each(const struct path, path, &paths->paths)
		json_array_append_new(list, status_of(paths, path));
	for_each(const struct scene_link, link, &paths->scene.links) {
		const char *why = why_not(paths, link);

		if (why && !link->loopback)
			json_object_set_new(others, link->name, json_string(why));
	}
	return json_pack("{s:b, s:o, s:o}", "chooses_first", paths->begin ? 1 : 0, "paths", list,
			 "others", others);
}
