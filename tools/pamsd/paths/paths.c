// SPDX-License-Identifier: GPL-2.0
/*
 * paths - keeps the host's paths: an endpoint, rules and a routing table for each
 *
 * What should be there (plan.c) follows from what is (scene.c); the difference is made whenever
 * rtnetlink tells of a change, so that a change of anybody leads to the same end. Routes and rules
 * are marked as pamsd's by their protocol. Endpoints can't be marked: those that pamsd adds are
 * written into a file first, for the case that it is killed. What others have made stays, and is
 * used: an address that has an endpoint gets no second one.
 */
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include <event2/event.h>
#include <jansson.h>
#include <linux/mptcp.h>
#include <linux/mptcp_pams.h>
#include <linux/rtnetlink.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>
#include <netlink/socket.h>

#include "../../lib/sockdiag.h"
#include "../base/diag.h"
#include "path.h"

/* After a change wait for those that come with it. */
#define SETTLE_MS	50
/* At most so often if changes don't end. */
#define SPACING_MS	250
/* What the kernel refused is tried again after so long, then twice as long, so many times. */
#define AGAIN_MS	250ULL
#define AGAIN_TIMES	8
/* A timer that is later than this stood still in suspend. */
#define LATE_MS		1000
/* Looks at the sockets after a connection has begun: how often, and until when. */
#define LOOK_OPENING_MS	100
#define LOOK_MS		250
#define LOOK_SLOW_MS	1000
#define LOOK_OPENING_FOR_MS	1000
#define LOOK_FAST_FOR_MS	3000
#define LOOK_FOR_MS	10000
/* At most so often because one has ended. */
#define CHOOSE_SPACING_MS	50
/* How much sooner another path's short answer has to be, in percent: at first, and later. */
#define FIRST_PERCENT	80
#define LATER_PERCENT	50
#define NEW_MS		60000

/* How often to look if a pamsd that may be ending has done so. */
#define ENDING_LOOKS	20
#define ENDING_LOOK_US	100000

/* The path manager's limit of further subflows. */
#define SUBFLOWS_MOST	8

static const int families[] = { AF_INET, AF_INET6 };

struct paths {
	const struct paths_config *config;
	struct caps *caps;	/* or NULL */
	struct kernel *kernel;
	char *file;
	int lock;		/* the state's folder, locked; -1: there is none */
	struct nl_sock *news;
	struct event *event, *settle, *look, *ended;
	struct scene scene;
	struct list paths;	/* of struct path */
	struct list made;	/* of struct made */
	unsigned int exits[2];
	uint64_t due_ms;	/* when settle is due, if it is pending */
	uint64_t look_ms;	/* when look is, if it is */
	uint64_t settled_ms;	/* when the plan was carried out last */
	uint64_t woken_ms;	/* when a connection began last */
	uint64_t chose_ms;	/* when the paths were compared last */
	bool unsaved;		/* the file says something else than was made */
	uint32_t limit_before;	/* of further subflows before it was raised, plus 1; or 0 */
	uint32_t limit;		/* that it was raised to: another one is another's */
	bool failed;		/* the kernel refused something of the last plan */
	unsigned int tries;	/* since then, of the plan again */
	uint64_t again_ms;	/* when the next one is due */
	struct begin *begin;	/* NULL: connections begin where the routes say */
	bool by_metric;		/* these are told where */
	int refused_metric[2];	/* -errno of metric_tell() */
	unsigned int opening;	/* connections, at the last look */
	struct prefix chosen[2];
	bool crowded;		/* too many destinations have routes of their own */
	struct list left;	/* of struct prefix: destinations for which there's no choice */
	struct list leads;	/* of struct lead */
	uint64_t compared_ms[2]; /* when a choice was made by round trips first; 0: never */
	struct lead told[2];	/* to all; family 0: nothing */
	struct seldom unread, unwritten, refused, full;
};

static struct situation situation(struct paths *paths)
{
	return (struct situation){
		.config = paths->config,
		.caps = paths->caps,
		.scene = &paths->scene,
		.exits = { paths->exits[0], paths->exits[1] },
		.ms = now_ms(),
		.paths = &paths->paths,
	};
}

static void arm(struct event *event, unsigned int ms)
{
	const struct timeval after = { ms / 1000, ms % 1000 * 1000 };

	event_add(event, &after);
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

/* Without the file paths are kept all the same; it is tried again with the next change. */
static void save(struct paths *paths)
{
	json_t *list = json_array(), *state;
	char text[ADDRESS_TEXT];
	int err;

	for_each(const struct made, made, &paths->made)
		json_array_append_new(list, json_pack("{s:s, s:i, s:i}", "address",
						      prefix_text(text, &made->address),
						      "ifindex", (int)made->ifindex,
						      "id", made->id));
	state = json_pack("{s:s, s:o, s:i, s:i}", "boot", boot_id(), "endpoints", list,
			  "limit_before", (int)paths->limit_before, "limit", (int)paths->limit);
	err = keep_write(paths->file, state);
	json_decref(state);
	paths->unsaved = err;
	if (err)
		say_seldom(&paths->unwritten, "%s can't be written: if pamsd is killed, the paths "
			   "that it adds stay: %s", paths->file, strerror(-err));
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
			made.id = json_integer_value(json_object_get(one, "id"));
			address = json_string_value(json_object_get(one, "address"));
			if (address && !prefix_parse(&made.address, address))
				*(struct made *)list_add(&paths->made, sizeof(made)) = made;
		}
		paths->limit_before = json_integer_value(json_object_get(state, "limit_before"));
		paths->limit = json_integer_value(json_object_get(state, "limit"));
	}
	json_decref(state);
}

/* --- from what is there to the plan --- */

static void complain(struct paths *paths, const char *what, const char *interface, int err)
{
	paths->failed = true;
	say_seldom(&paths->refused, "%s: the kernel refuses %s: %s", interface, what,
		   strerror(-err));
}

static const char *name_of(const struct paths *paths, unsigned int ifindex)
{
	const struct scene_link *link = scene_link(&paths->scene, ifindex);

	return link ? link->name : "an interface that is gone";
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
	save(paths);
	err = endpoint_add(&endpoint);
	if (!err) {
		say("%s: a path", name_of(paths, wanted->ifindex));
		return;
	}
	forget_made(paths, made_at(&paths->made, &wanted->address));
	complain(paths, "an endpoint", name_of(paths, wanted->ifindex), err);
}

static int read_endpoints(struct paths *paths, struct endpoint list[ENDPOINTS_MAX])
{
	int count = endpoints_read(list);

	if (count < 0) {
		paths->failed = true;
		say_seldom(&paths->unread, "the path manager's endpoints can't be read: %s",
			   strerror(-count));
	}
	return count;
}

/*
 * Forget those that somebody took away and made anew: they are theirs. The caps, too, may give
 * one back with another id.
 */
static void leave_others(struct paths *paths, const struct endpoint *list, int count)
{
	for (unsigned int i = paths->made.count; i-- && !paths->caps;) {
		struct made *made = (struct made *)paths->made.at + i;
		const struct endpoint *there = endpoint_at(list, count, &made->address);

		if (there && made->id && there->id != made->id)
			forget_made(paths, made);
	}
}

static void note_ids(struct paths *paths)
{
	struct endpoint list[ENDPOINTS_MAX];
	int count = -1;

	for_each(struct made, made, &paths->made) {
		const struct endpoint *there;

		if (made->id)
			continue;
		if (count < 0)
			count = read_endpoints(paths, list);
		there = endpoint_at(list, count, &made->address);
		if (!there)
			continue;
		made->id = there->id;
		paths->unsaved = true;
	}
}

/* Remove those that were made, but for the plan's; of the first ones, as the list has them. */
static void remove_endpoints(struct paths *paths, const struct plan *plan,
			     const struct endpoint *list, int count, unsigned int first)
{
	for (unsigned int i = first < paths->made.count ? first : paths->made.count; i--;) {
		struct made *made = (struct made *)paths->made.at + i;
		const struct endpoint *there = endpoint_at(list, count, &made->address);
		int err;

		if (made_at(&plan->endpoints, &made->address))
			continue;
		/* the caps give it back */
		if (!there && paths->caps && caps_have_taken(paths->caps, &made->address))
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
}

static void settle_endpoints(struct paths *paths, const struct plan *plan)
{
	struct endpoint list[ENDPOINTS_MAX];
	int count = read_endpoints(paths, list);
	unsigned int before;

	if (count < 0)
		return;
	leave_others(paths, list, count);
	before = paths->made.count;
	/* new ones first: connections go over to them */
	for_each(const struct made, wanted, &plan->endpoints) {
		const struct endpoint *there = endpoint_at(list, count, &wanted->address);
		struct made *made = made_at(&paths->made, &wanted->address);

		/* the address has moved to another interface */
		if (made && there && there->ifindex != wanted->ifindex && !endpoint_remove(there))
			there = NULL;
		if (there)
			continue;
		if (made)
			forget_made(paths, made);
		add_endpoint(paths, wanted);
	}
	note_ids(paths);
	remove_endpoints(paths, plan, list, count, before);
	if (paths->unsaved)
		save(paths);
}

static void raise_limit(struct paths *paths, const struct plan *plan)
{
	unsigned int wanted = plan->endpoints.count;
	uint32_t now;
	int err = endpoint_limit(&now);

	if (wanted > SUBFLOWS_MOST)
		wanted = SUBFLOWS_MOST;
	/* somebody has set another one */
	if (!err && now != paths->limit)
		paths->limit_before = 0;
	if (err || now >= wanted)
		return;
	if (!paths->limit_before)
		paths->limit_before = now + 1;
	paths->limit = wanted;
	save(paths);
	err = endpoint_set_limit(wanted);
	if (err)
		complain(paths, "a higher limit of subflows", "mptcp", err);
}

static void lower_limit(struct paths *paths)
{
	uint32_t now;

	if (paths->limit_before && !endpoint_limit(&now) && now == paths->limit)
		endpoint_set_limit(paths->limit_before - 1);
	paths->unsaved |= !!paths->limit_before;
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

static bool is_new(const struct paths *paths, unsigned int i)
{
	return !paths->compared_ms[i] || now_ms() < paths->compared_ms[i] + NEW_MS;
}

static void say_refused(struct paths *paths, unsigned int i, int err)
{
	const char *why = err == -ERANGE ? "a default route has the lowest metric that there is" :
			  err == -ENOENT ? "the main table has no default route" : strerror(-err);

	if (err && err != paths->refused_metric[i])
		say("IPv%d connections begin where the routes say: %s",
		    families[i] == AF_INET ? 4 : 6, why);
	paths->refused_metric[i] = err;
}

/* Put the choice into the kernel. Returns whether it is there. */
static bool tell_kernel(struct paths *paths, unsigned int i, const struct path *path)
{
	int err;

	if (paths->by_metric) {
		err = metric_tell(&paths->scene, families[i], path, paths->exits[i]);
		say_refused(paths, i, err);
		return !err;
	}
	err = begin_tell(paths->begin, families[i], path);
	if (err)
		complain(paths, "where connections begin", path ? path->interface : "-", err);
	return !err;
}

static struct leading leading(struct paths *paths, const struct prefix chosen[])
{
	return (struct leading){ &paths->paths, &paths->left, chosen, seen_answer(), now_ms() };
}

static void choose_one(struct paths *paths, unsigned int i)
{
	const struct leading now = leading(paths, paths->chosen);
	const struct path *path;
	struct lead tell = { };

	if (!path_at(&paths->paths, &paths->chosen[i])) {
		paths->chosen[i] = by_routes(paths, i);
		paths->compared_ms[i] = 0;
	}
	path = choose_path(&paths->paths, families[i], &paths->chosen[i], seen_answer(),
			   is_new(paths, i) ? FIRST_PERCENT : LATER_PERCENT, now_ms());
	if (path && path->rtt_us && !paths->compared_ms[i])
		paths->compared_ms[i] = now_ms();
	if (path)
		paths->chosen[i] = path->address;
	if (path && paths->by_metric)
		path = lead_along(&now, path);
	if (paths->crowded || (path && is_alone(paths, path)))
		path = NULL;
	if (path && paths->by_metric && !path->up)
		path = NULL;
	if (path) {
		tell.address = path->address;
		memcpy(tell.interface, path->interface, sizeof(tell.interface));
		tell.also = paths->by_metric ? 0 : path->also;
	}
	/* others' routes may have changed */
	if (!paths->by_metric && !memcmp(&paths->told[i], &tell, sizeof(tell)))
		return;
	if (!tell_kernel(paths, i, path)) {
		if (paths->by_metric)
			memset(&paths->told[i], 0, sizeof(tell));
		return;
	}
	if (path && memcmp(&paths->told[i], &tell, sizeof(tell)))
		say("%s: IPv%d %s here", path->interface, families[i] == AF_INET ? 4 : 6,
		    paths->by_metric ? "traffic without a route of its own leaves" :
		    "connections begin");
	paths->told[i] = tell;
}

static void lead(struct paths *paths)
{
	const struct prefix chosen[] = { paths->told[0].address, paths->told[1].address };
	const struct leading now = leading(paths, chosen);
	int err = lead_all(&paths->leads, &now);

	if (err)
		complain(paths, "where connections to one destination begin", "-", err);
}

static bool chooses(const struct paths *paths)
{
	return paths->begin || paths->by_metric;
}

static void choose(struct paths *paths)
{
	paths->chose_ms = now_ms();
	for_each(struct path, path, &paths->paths) {
		uint8_t told = kernel_cost(paths->kernel, path->ifindex);

		path->cost = paths->caps ? caps_cost(paths->caps, path->interface) : 0;
		if (told > path->cost)
			path->cost = told;
		seen_expire(path, now_us());
	}
	for (unsigned int i = 0; chooses(paths) && i < ARRAY_SIZE(families); i++)
		choose_one(paths, i);
	if (paths->begin)
		lead(paths);
}

/* Takes the plan's list, and all that is led out of the kernel's table. */
static void leave(struct paths *paths, struct plan *plan)
{
	int err = paths->begin ? begin_leave(&plan->left) : 0;

	list_free(&paths->leads);
	list_free(&paths->left);
	paths->left = plan->left;
	memset(&plan->left, 0, sizeof(plan->left));
	paths->crowded = err;
	if (!err)
		return;
	say_seldom(&paths->full, "connections begin where the routes say: %u destinations have "
		   "routes of their own: %s", paths->left.count, strerror(-err));
}

/* --- events --- */

/* Settle at this time, or sooner if that is due. */
static void arm_settle(struct paths *paths, uint64_t at_ms)
{
	uint64_t ms = now_ms();

	if (evtimer_pending(paths->settle, NULL) && paths->due_ms <= at_ms &&
	    ms < paths->due_ms + LATE_MS)
		return;
	paths->due_ms = at_ms;
	arm(paths->settle, at_ms > ms ? at_ms - ms : 0);
}

static void arm_hold(struct paths *paths)
{
	const struct situation now = situation(paths);
	uint64_t changes_ms = plan_changes_ms(&now);

	if (changes_ms != UINT64_MAX)
		arm_settle(paths, changes_ms + 1);
}

/*
 * What the kernel refuses now it may take later, as while a link comes up: nothing tells of that.
 * After the last time each change is another one.
 */
static void arm_again(struct paths *paths)
{
	if (!paths->failed) {
		paths->tries = 0;
		paths->again_ms = 0;
		return;
	}
	if (paths->settled_ms >= paths->again_ms && paths->tries < AGAIN_TIMES)
		paths->again_ms = paths->settled_ms + (AGAIN_MS << paths->tries++);
	else if (paths->settled_ms >= paths->again_ms && paths->tries++ == AGAIN_TIMES)
		say("what the kernel refuses is tried again when something changes");
	if (paths->settled_ms < paths->again_ms)
		arm_settle(paths, paths->again_ms);
}

/* Until paths can be compared, the choice is the routes'. */
static void take_exit(struct paths *paths, unsigned int i)
{
	unsigned int exit = metric_exit(&paths->scene, families[i], scene_exit(families[i]));

	if (exit != paths->exits[i] && !paths->compared_ms[i])
		memset(&paths->chosen[i], 0, sizeof(paths->chosen[i]));
	paths->exits[i] = exit;
}

static void arm_look(struct paths *paths, unsigned int ms)
{
	paths->look_ms = now_ms() + ms;
	arm(paths->look, ms);
}

/* Without BPF nothing tells of connections that begin. */
static bool has_to_look(const struct paths *paths)
{
	return paths->by_metric && (paths->told[0].address.family || paths->told[1].address.family);
}

static void settle(struct paths *paths)
{
	struct plan plan = { };
	struct situation now;
	int err = scene_read(&paths->scene);

	paths->settled_ms = now_ms();
	if (err) {
		say_seldom(&paths->unread, "addresses and routes can't be read: %s",
			   strerror(-err));
		arm_settle(paths, paths->settled_ms + SPACING_MS);
		return;
	}
	paths->failed = false;
	for (unsigned int i = 0; i < ARRAY_SIZE(families); i++)
		take_exit(paths, i);
	for_each(struct scene_address, address, &paths->scene.addresses)
		address->own = made_at(&paths->made, &address->address);
	now = situation(paths);
	plan_make(&plan, &now);
	metric_keep(&plan.routes, &paths->scene);
	settle_routes(paths, &plan);
	settle_rules(paths, &plan, true);
	raise_limit(paths, &plan);
	settle_endpoints(paths, &plan);
	settle_rules(paths, &plan, false);
	leave(paths, &plan);
	plan_free(&plan);
	choose(paths);
	arm_hold(paths);
	arm_again(paths);
	if (has_to_look(paths) && !evtimer_pending(paths->look, NULL)) {
		seen_begin(&paths->paths, &paths->left, now_us());
		arm_look(paths, LOOK_SLOW_MS);
	}
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
	int opening = seen_read(&paths->paths, &paths->left, now_us());

	(void)fd;
	(void)what;
	if (opening > 0 && (unsigned int)opening > paths->opening && paths->by_metric)
		paths->woken_ms = ms;
	paths->opening = opening > 0 ? opening : 0;
	choose(paths);
	if (opening > 0 && ms < paths->woken_ms + LOOK_OPENING_FOR_MS)
		arm_look(paths, LOOK_OPENING_MS);
	else if (ms < paths->woken_ms + LOOK_FAST_FOR_MS ||
		 (opening > 0 && ms < paths->woken_ms + LOOK_FOR_MS))
		arm_look(paths, LOOK_MS);
	else if (ms < paths->woken_ms + LOOK_FOR_MS || has_to_look(paths))
		arm_look(paths, LOOK_SLOW_MS);
}

static void on_begin(void *arg)
{
	struct paths *paths = arg;

	paths->woken_ms = now_ms();
	if (!evtimer_pending(paths->look, NULL))
		seen_begin(&paths->paths, &paths->left, now_us());
	/* each look chooses, too */
	if (evtimer_pending(paths->look, NULL) &&
	    paths->look_ms <= paths->woken_ms + LOOK_OPENING_MS)
		return;
	arm_look(paths, LOOK_OPENING_MS);
	/* paths that are dead for long enough may be tried again */
	choose(paths);
}

/* Short connections end before anybody looks. */
static void on_ended(evutil_socket_t fd, short what, void *arg)
{
	struct paths *paths = arg;

	(void)fd;
	(void)what;
	seen_ended(&paths->paths, &paths->left, now_us());
	/* thousands may end in a second: then the next look chooses */
	if (now_ms() >= paths->chose_ms + CHOOSE_SPACING_MS)
		choose(paths);
	else if (!evtimer_pending(paths->look, NULL))
		arm_look(paths, LOOK_OPENING_MS);
}

static void open_watch(struct paths *paths, struct event_base *base)
{
	int fd = seen_watch();

	if (fd >= 0)
		paths->ended = event_new(base, fd, EV_READ | EV_PERSIST, on_ended, paths);
	if (paths->ended)
		event_add(paths->ended, NULL);
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

struct news {
	struct paths *paths;
	bool any;
};

/* An address that was removed may be there again when the scene is read, of another network. */
static void take_removed(struct paths *paths, struct nlmsghdr *hdr)
{
	struct prefix address;
	struct path *path;

	if (!scene_removed(hdr, &address))
		return;
	path = path_at(&paths->paths, &address);
	if (path)
		path_drop(&paths->paths, path);
}

static int on_change(struct nl_msg *msg, void *arg)
{
	struct news *news = arg;

	take_removed(news->paths, nlmsg_hdr(msg));
	news->any |= !is_own(nlmsg_hdr(msg));
	return NL_OK;
}

static void on_news(evutil_socket_t fd, short what, void *arg)
{
	struct paths *paths = arg;
	struct news news = { .paths = paths };

	(void)fd;
	(void)what;
	nl_socket_modify_cb(paths->news, NL_CB_VALID, NL_CB_CUSTOM, on_change, &news);
	/* an error: the buffer overflowed, so anything may have changed */
	if (nl_recvmsgs_default(paths->news) < 0 || news.any)
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

/*
 * Two daemons would undo each other's work, so one locks the folder of what it has made: as a
 * service its own, which other users can't open. false: another one has it.
 */
static bool lock(struct paths *paths)
{
	char *copied = strdup(paths->file);

	if (!copied)
		return false;
	paths->lock = open(dirname(copied), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	free(copied);
	if (paths->lock < 0 || !flock(paths->lock, LOCK_EX | LOCK_NB))
		return true;
	close(paths->lock);
	paths->lock = -1;
	return false;
}

static void say_locked(void)
{
	say("another pamsd keeps this network namespace's paths");
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
	bool locked;

	if (!paths)
		return NULL;
	paths->config = &config->paths;
	paths->kernel = kernel;
	paths->caps = caps;
	paths->lock = -1;
	paths->file = file_beside(config->state);
	locked = paths->file && lock(paths);
	if (paths->file && !locked)
		say_locked();
	paths->settle = evtimer_new(base, on_settle, paths);
	paths->look = evtimer_new(base, on_look, paths);
	if (!locked || !paths->settle || !paths->look ||
	    open_news(paths, base)) {
		paths_free(paths);
		return NULL;
	}
	if (config->paths.first)
		paths->begin = begin_new(base, on_begin, paths);
	paths->by_metric = config->paths.first_by_metric && !paths->begin;
	if (chooses(paths))
		open_watch(paths, base);
	if (paths->by_metric)
		say("%s: a default route in the main table says where connections begin, for all "
		    "traffic: TCP, UDP, that of other hosts", begin_why_not());
	else if (config->paths.first && !paths->begin)
		say("connections begin where the routes say: %s; first-by-metric, pamsd.conf(5), "
		    "takes no BPF", begin_why_not());
	restore(paths);
	settle(paths);
	if (caps)
		caps_on_change(caps, on_caps, paths);
	return paths;
}

/* --- the end --- */

struct needs {
	const struct paths *paths;
	struct plan *plan;
};

static void take_need(const struct diag_socket *socket, void *arg)
{
	const struct needs *needs = arg;
	const struct made *made = made_at(&needs->paths->made, &socket->local);
	struct plan *plan = needs->plan;

	if (made && sockdiag_is_mptcp(socket->ulp) && !made_at(&plan->endpoints, &made->address))
		*(struct made *)list_add(&plan->endpoints, sizeof(*made)) = *made;
	for_each(const struct scene_rule, rule, &needs->paths->scene.rules)
		if (!memcmp(&rule->from, &socket->local, sizeof(rule->from)) &&
		    !has_rule(&plan->rules, rule))
			*(struct scene_rule *)list_add(&plan->rules, sizeof(*rule)) = *rule;
}

static bool leads_to(const struct list *rules, uint32_t table)
{
	for_each(const struct scene_rule, rule, rules)
		if (rule->table == table)
			return true;
	return false;
}

/*
 * What open connections need of what is there: an endpoint takes its subflows with it. If they
 * can't be read, nothing.
 */
static void plan_open(struct paths *paths, struct plan *plan)
{
	struct needs needs = { paths, plan };
	struct nl_sock *sock = NULL;

	diag_established(&sock, NULL, 0, take_need, &needs);
	source_close(&sock);
	for_each(const struct scene_route, route, &paths->scene.routes)
		if (route->ours && route->table != RT_TABLE_MAIN &&
		    leads_to(&plan->rules, route->table))
			*(struct scene_route *)list_add(&plan->routes, sizeof(*route)) = *route;
}

/* Endpoints go though routes can't be read. */
static void undo(struct paths *paths, bool all)
{
	struct endpoint list[ENDPOINTS_MAX];
	struct plan stays = { };
	int err = scene_read(&paths->scene), count = read_endpoints(paths, list);

	if (err) {
		say("routes can't be read, and stay: %s", strerror(-err));
		list_free(&paths->scene.rules);
		list_free(&paths->scene.routes);
	}
	if (!all)
		plan_open(paths, &stays);
	for_each(const struct made, made, &paths->made)
		if (paths->caps)
			caps_leave(paths->caps, &made->address);
	if (count >= 0) {
		leave_others(paths, list, count);
		remove_endpoints(paths, &stays, list, count, paths->made.count);
	}
	settle_rules(paths, &stays, false);
	settle_routes(paths, &stays);
	if (!paths->made.count)
		lower_limit(paths);
	/* rules may stay without an endpoint, for ordinary TCP: --clean looks for the file */
	if (!paths->made.count && !stays.rules.count)
		unlink(paths->file);
	else if (paths->unsaved || access(paths->file, F_OK))
		save(paths);
	plan_free(&stays);
}

void paths_release(struct paths *paths)
{
	undo(paths, true);
}

void paths_end(struct paths *paths)
{
	undo(paths, false);
}

int paths_clean(const char *state, bool asked)
{
	struct paths paths = { .file = file_beside(state), .lock = -1 };
	bool locked;
	int left = 0;

	if (!paths.file || (!asked && access(paths.file, F_OK)))
		goto free_file;
	locked = lock(&paths);
	for (unsigned int i = 0; asked && !locked && i < ENDING_LOOKS; i++) {
		usleep(ENDING_LOOK_US);
		locked = lock(&paths);
	}
	if (locked) {
		restore(&paths);
		paths_release(&paths);
		left = paths.made.count ? -1 : 0;
		if (paths.lock >= 0)
			close(paths.lock);
	} else if (asked) {
		say_locked();
		left = -1;
	}
	scene_free(&paths.scene);
	scene_close();
	endpoints_close();
	list_free(&paths.made);
free_file:
	free(paths.file);
	return left;
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
	if (paths->ended)
		event_free(paths->ended);
	nl_socket_free(paths->news);
	metric_forget();
	scene_free(&paths->scene);
	scene_close();
	seen_close();
	list_free(&paths->paths);
	list_free(&paths->made);
	list_free(&paths->left);
	list_free(&paths->leads);
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

/* Connections that are open already tell the round trips, which count beside the rate. */
void paths_rate(const char *interface, uint64_t byteps, uint64_t age_ms, void *arg)
{
	struct paths *paths = arg;
	bool counts = false;

	for_each(struct path, path, &paths->paths)
		if (!strcmp(path->interface, interface))
			counts |= seen_told(path, byteps, age_ms * 1000, now_us());
	if (!counts)
		return;
	if (!evtimer_pending(paths->look, NULL))
		seen_begin(&paths->paths, &paths->left, now_us());
	choose(paths);
}

/* --- the status --- */

static json_t *status_of(const struct paths *paths, const struct path *path)
{
	unsigned int i = path->address.family == AF_INET6;
	bool first = !memcmp(&paths->told[i].address, &path->address, sizeof(path->address));
	json_t *object, *also = json_array();
	char text[ADDRESS_TEXT];

	object = json_pack("{s:s, s:s, s:s, s:b, s:i, s:b, s:b}", "interface", path->interface,
			   "address", prefix_text(text, &path->address), "state",
			   !path->up ? "down" : path->dead_ms ? "dead" : "up",
			   "made", made_at(&paths->made, &path->address) ? 1 : 0,
			   "cost", path->cost, "loss_predicted",
			   path->lost_ms && now_ms() < path->lost_until_ms,
			   "first", first);
	if (first && path->also & FIRST_TCP)
		json_array_append_new(also, json_string("tcp"));
	if (first && path->also & FIRST_UDP)
		json_array_append_new(also, json_string("udp"));
	json_object_set_new(object, "first_also", also);
	if (path->rtt_us)
		json_object_set_new(object, "rtt_us", json_integer(path->rtt_us));
	if (path->rate_byteps)
		json_object_set_new(object, "rate_byteps", json_integer(path->rate_byteps));
	if (path->told_byteps)
		json_object_set_new(object, "told_byteps", json_integer(path->told_byteps));
	return object;
}

json_t *paths_status(struct paths *paths)
{
	json_t *list = json_array(), *others = json_object();
	const struct situation now = situation(paths);

	for_each(const struct path, path, &paths->paths)
		json_array_append_new(list, status_of(paths, path));
	for_each(const struct scene_link, link, &paths->scene.links) {
		const char *why = plan_why_not(&now, link);

		if (why && !link->loopback)
			json_object_set_new(others, link->name, json_string(why));
	}
	return json_pack("{s:b, s:b, s:s*, s:o, s:o}", "chooses_first", chooses(paths),
			 "first_by_metric", paths->by_metric, "first_why_not",
			 paths->config->first && !chooses(paths) ? begin_why_not() : NULL,
			 "paths", list, "others", others);
}
