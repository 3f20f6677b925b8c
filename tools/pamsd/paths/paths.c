// SPDX-License-Identifier: GPL-2.0
/*
 * paths - keeps the host's paths: an endpoint, rules and a routing table for each
 *
 * What should be there (plan.c) follows from what is (scene.c); the difference is made whenever
 * rtnetlink tells of a change, so that a change of anybody leads to the same end. What others have
 * made stays, and is used: an address that has an endpoint gets no second one.
 */
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include <event2/event.h>
#include <jansson.h>
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

/* How often to look if a pamsd that may be ending has done so. */
#define ENDING_LOOKS	20
#define ENDING_LOOK_US	100000

struct paths {
	const struct paths_config *config;
	struct caps *caps;	/* or NULL */
	struct kernel *kernel;
	int lock;		/* the state's folder, locked; -1: there is none */
	struct nl_sock *news;
	struct event *event, *settle, *look, *ended;
	struct scene scene;
	struct list paths;	/* of struct path */
	struct applied applied;
	struct where where;
	uint64_t due_ms;	/* when settle is due, if it is pending */
	uint64_t look_ms;	/* when look is, if it is */
	uint64_t settled_ms;	/* when the plan was carried out last */
	uint64_t woken_ms;	/* when a connection began last */
	uint64_t chose_ms;	/* when the paths were compared last */
	struct refused refused;	/* of the last plan */
	unsigned int tries;	/* since then, of the plan again */
	uint64_t again_ms;	/* when the next one is due */
	unsigned int opening;	/* connections, at the last look */
	struct seldom unread;
};

static struct situation situation(struct paths *paths)
{
	return (struct situation){
		.config = paths->config,
		.caps = paths->caps,
		.scene = &paths->scene,
		.exits = { paths->where.exits[0], paths->where.exits[1] },
		.ms = now_ms(),
		.paths = &paths->paths,
	};
}

static void arm(struct event *event, unsigned int ms)
{
	const struct timeval after = { ms / 1000, ms % 1000 * 1000 };

	event_add(event, &after);
}

/* --- events --- */

static void choose(struct paths *paths)
{
	paths->chose_ms = now_ms();
	for_each(struct path, path, &paths->paths) {
		path->cost = kernel_cost(paths->kernel, path->ifindex);
		seen_expire(path, now_us());
	}
	where_choose(&paths->where);
}

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
	if (!paths->refused.any) {
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

static void arm_look(struct paths *paths, unsigned int ms)
{
	paths->look_ms = now_ms() + ms;
	arm(paths->look, ms);
}

/* Without BPF nothing tells of connections that begin. */
static bool has_to_look(const struct paths *paths)
{
	return paths->where.by_metric && where_is_told(&paths->where);
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
	paths->refused.any = false;
	where_routes_lead(&paths->where);
	for_each(struct scene_address, address, &paths->scene.addresses)
		address->own = made_at(&paths->applied.made, &address->address);
	now = situation(paths);
	plan_make(&plan, &now);
	metric_keep(&plan.routes, &paths->scene);
	apply(&paths->applied, &plan);
	where_leave(&paths->where, &plan);
	plan_free(&plan);
	choose(paths);
	arm_hold(paths);
	arm_again(paths);
	if (has_to_look(paths) && !evtimer_pending(paths->look, NULL)) {
		seen_begin(&paths->paths, &paths->where.left, now_us());
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
	int opening = seen_read(&paths->paths, &paths->where.left, now_us());

	(void)fd;
	(void)what;
	if (opening > 0 && (unsigned int)opening > paths->opening && paths->where.by_metric)
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
		seen_begin(&paths->paths, &paths->where.left, now_us());
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
	seen_ended(&paths->paths, &paths->where.left, now_us());
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
	char *copied = strdup(paths->applied.file);

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

static void say_locked(const struct paths *paths)
{
	say("another pamsd keeps paths with %s", paths->applied.file);
}

static char *file_beside(const char *state)
{
	char *copied = strdup(state), *file = NULL;

	if (copied && asprintf(&file, "%s/paths.json", dirname(copied)) < 0)
		file = NULL;
	free(copied);
	return file;
}

static void init(struct paths *paths, const char *state)
{
	paths->lock = -1;
	paths->applied.file = file_beside(state);
	paths->applied.scene = &paths->scene;
	paths->applied.refused = &paths->refused;
	paths->where.paths = &paths->paths;
	paths->where.scene = &paths->scene;
	paths->where.refused = &paths->refused;
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
	init(paths, config->state);
	paths->applied.caps = caps;
	locked = paths->applied.file && lock(paths);
	if (paths->applied.file && !locked)
		say_locked(paths);
	paths->settle = evtimer_new(base, on_settle, paths);
	paths->look = evtimer_new(base, on_look, paths);
	if (!locked || !paths->settle || !paths->look ||
	    open_news(paths, base)) {
		paths_free(paths);
		return NULL;
	}
	if (config->paths.first)
		paths->where.begin = begin_new(base, on_begin, paths);
	paths->where.by_metric = config->paths.first_by_metric && !paths->where.begin;
	if (where_is_chosen(&paths->where))
		open_watch(paths, base);
	if (paths->where.by_metric)
		say("%s: a default route in the main table says where connections begin, for all "
		    "traffic: TCP, UDP, that of other hosts", begin_why_not());
	else if (config->paths.first && !paths->where.begin)
		say("connections begin where the routes say: %s; first-by-metric, pamsd.conf(5), "
		    "takes no BPF", begin_why_not());
	apply_restore(&paths->applied);
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
	const struct made *made = made_at(&needs->paths->applied.made, &socket->local);
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
	struct plan stays = { };
	int err = scene_read(&paths->scene);

	if (err) {
		say("routes can't be read, and stay: %s", strerror(-err));
		list_free(&paths->scene.rules);
		list_free(&paths->scene.routes);
	}
	if (!all)
		plan_open(paths, &stays);
	apply_undo(&paths->applied, &stays);
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
	struct paths paths = { };
	bool locked;
	int left = 0;

	init(&paths, state);
	if (!paths.applied.file || (!asked && access(paths.applied.file, F_OK)))
		goto free_file;
	locked = lock(&paths);
	for (unsigned int i = 0; asked && !locked && i < ENDING_LOOKS; i++) {
		usleep(ENDING_LOOK_US);
		locked = lock(&paths);
	}
	if (locked) {
		apply_restore(&paths.applied);
		paths_release(&paths);
		left = paths.applied.made.count ? -1 : 0;
		if (paths.lock >= 0)
			close(paths.lock);
	} else if (asked) {
		say_locked(&paths);
		left = -1;
	}
	scene_free(&paths.scene);
	scene_close();
	endpoints_close();
	list_free(&paths.applied.made);
free_file:
	free(paths.applied.file);
	return left;
}

void paths_free(struct paths *paths)
{
	if (!paths)
		return;
	if (paths->caps)
		caps_on_change(paths->caps, NULL, NULL);
	where_free(&paths->where);
	if (paths->event)
		event_free(paths->event);
	if (paths->settle)
		event_free(paths->settle);
	if (paths->look)
		event_free(paths->look);
	if (paths->ended)
		event_free(paths->ended);
	nl_socket_free(paths->news);
	scene_free(&paths->scene);
	scene_close();
	seen_close();
	list_free(&paths->paths);
	list_free(&paths->applied.made);
	if (paths->lock >= 0)
		close(paths->lock);
	free(paths->applied.file);
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
		seen_begin(&paths->paths, &paths->where.left, now_us());
	choose(paths);
}

/* --- the status --- */

static json_t *status_of(const struct paths *paths, const struct path *path)
{
	bool first = where_is(&paths->where, path);
	json_t *object, *also = json_array();
	char text[ADDRESS_TEXT];

	object = json_pack("{s:s, s:s, s:s, s:b, s:i, s:b, s:b}", "interface", path->interface,
			   "address", prefix_text(text, &path->address), "state",
			   !path->up ? "down" : path->dead_ms ? "dead" : "up",
			   "made", made_at(&paths->applied.made, &path->address) ? 1 : 0,
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
	bool chosen = where_is_chosen(&paths->where);

	for_each(const struct path, path, &paths->paths)
		json_array_append_new(list, status_of(paths, path));
	for_each(const struct scene_link, link, &paths->scene.links) {
		const char *why = plan_why_not(&now, link);

		if (why && !link->loopback)
			json_object_set_new(others, link->name, json_string(why));
	}
	return json_pack("{s:b, s:b, s:s*, s:o, s:o}", "chooses_first", chosen,
			 "first_by_metric", paths->where.by_metric, "first_why_not",
			 paths->config->first && !chosen ? begin_why_not() : NULL,
			 "paths", list, "others", others);
}
