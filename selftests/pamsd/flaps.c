// SPDX-License-Identifier: GPL-2.0
/*
 * flaps - random schedules of links that die, come back and change addresses, in virtual time
 *
 *	flaps [COUNT [SEED]]	10,000 schedules, seed 1
 *
 * The daemon's own files keep the paths: paths.c, and most of what it calls. The
 * kernel, the event loop and the clock are played here. A schedule has three links, changes for
 * 30 s, in half of them a daemon that ends or is killed and is started again, and others who add
 * and take away endpoints, routes and rules, also those of pamsd. All the time somebody wants to
 * connect, and tries anew each 300 ms until an attempt succeeds, as happy eyeballs do; somebody
 * else tries a server that is down. What has to be:
 *
 *	- nobody waits for over a second while one path lived all the time, and for some before;
 *	  and for 0.6 s more for each further address that was tried in vain; in each fourth
 *	  schedule no BPF program runs, a default route says where connections begin, and it is a
 *	  second more for all but one in 10,000, whose destination was silent on the living path,
 *	  too, when that was dead;
 *	- no path counts as dead that has lived since something was answered over it;
 *	- 5 s after the last change each usable link has its endpoint, rules and routes, and no
 *	  other link has;
 *	- what others have made is as they left it;
 *	- what open connections use is left when the daemon ends, and nothing else;
 *	- nothing is left when it has undone all.
 *
 * Before that, what a server says of the rates of two paths, and what becomes of it if it lies.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <event2/event.h>
#include <jansson.h>
#include <linux/mptcp.h>
#include <linux/rtnetlink.h>
#include <netlink/attr.h>

#include "../lib/tcpinfo.h"
#include "base/diag.h"
#include "paths/path.h"
#include "tap.h"

#define LINKS		3
#define STEP_MS		10
#define CHANGES_MS	30000
#define QUIET_MS	15000
#define SETTLED_MS	5000
#define AGAIN_MS	300
#define WAIT_MS		1000
/*
 * Where another one has died, too, or got another address, that is found out before: a path that
 * answers nothing is noticed 0.66 s after the first attempt over it, and the next attempt comes up
 * to 0.3 s later. Schedule 3292 of seed 1: c1 dies with an attempt at 12.07 s, is noticed at
 * 12.73, c2, which nobody had used since it died, at 13.39, and c0 answers at 13.65.
 */
#define WAIT_MORE_MS	600
/* Without BPF the daemon looks so often for connections that begin. */
#define LOOK_MS		1000
/* A path counts as living if it did for so long before. */
#define BEFORE_MS	3000
#define METRIC		100	/* of the first link's default route */

static const int families[] = { AF_INET, AF_INET6 };

static uint64_t us, began_us, state, seed;
static char story[1 << 16];

static uint32_t draw(uint32_t below)
{
	state = state * 6364136223846793005ULL + 1442695040888963407ULL;
	return (state >> 33) % below;
}

static void vtell(const char *format, va_list args)
{
	size_t len = strlen(story);

	len += snprintf(story + len, sizeof(story) - len, "# %7.2f ", (us - began_us) / 1e6);
	if (len < sizeof(story))
		len += vsnprintf(story + len, sizeof(story) - len, format, args);
	if (len < sizeof(story))
		snprintf(story + len, sizeof(story) - len, "\n");
}

static void tell(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vtell(format, args);
	va_end(args);
}

/* --- the clock, and the event loop --- */

uint64_t now_us(void)
{
	return us;
}

uint64_t now_ms(void)
{
	return us / 1000;
}

struct event {
	void (*fn)(int fd, short what, void *arg);
	void *arg;
	uint64_t due_us;	/* 0: not pending */
};

static struct event *events[8];

struct event *event_new(struct event_base *base, int fd, short what, event_callback_fn fn,
			void *arg)
{
	struct event *event = calloc(1, sizeof(*event));
	unsigned int i = 0;

	(void)base;
	(void)fd;
	(void)what;
	event->fn = fn;
	event->arg = arg;
	while (events[i])
		i++;
	events[i] = event;
	return event;
}

void event_free(struct event *event)
{
	for (unsigned int i = 0; i < ARRAY_SIZE(events); i++)
		if (events[i] == event)
			events[i] = NULL;
	free(event);
}

int event_add(struct event *event, const struct timeval *after)
{
	if (after)
		event->due_us = us + after->tv_sec * 1000000ULL + after->tv_usec + 1;
	return 0;
}

int event_del(struct event *event)
{
	event->due_us = 0;
	return 0;
}

int event_pending(const struct event *event, short what, struct timeval *when)
{
	(void)what;
	(void)when;
	return event->due_us ? EV_TIMEOUT : 0;
}

static void run_events(void)
{
	for (unsigned int i = 0; i < ARRAY_SIZE(events); i++) {
		struct event *event = events[i];

		if (event && event->due_us && event->due_us <= us) {
			event->due_us = 0;
			event->fn(-1, EV_TIMEOUT, event->arg);
		}
	}
}

/* --- what the daemon says, and its file --- */

static void check_dead(const char *interface);

void say(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vtell(format, args);
	va_end(args);
	va_start(args, format);
	if (strstr(format, "nothing is answered"))
		check_dead(va_arg(args, const char *));
	va_end(args);
}

void say_seldom(struct seldom *seldom, const char *format, ...)
{
	va_list args;

	(void)seldom;
	va_start(args, format);
	vtell(format, args);
	va_end(args);
}

static json_t *kept;

int keep_write(const char *file, const json_t *value)
{
	(void)file;
	json_decref(kept);
	kept = json_deep_copy(value);
	return 0;
}

json_t *keep_read(const char *file, const char **why)
{
	(void)file;
	*why = NULL;
	return kept ? json_deep_copy(kept) : NULL;
}

int unlink(const char *file)
{
	(void)file;
	json_decref(kept);
	kept = NULL;
	return 0;
}

/* --- the links --- */

struct place {
	unsigned int ifindex;	/* 0: it isn't there */
	bool renamed;		/* "r0" to "r2", not "c0" to "c2" */
	bool up, carrier, alive;
	unsigned int host[2];	/* of its address; 0: none */
	bool way[2];		/* a default route */
	unsigned int gateway;
	unsigned int rtt_us;
	uint64_t lives_us;	/* since when a new connection could use it; 0: it can't */
	uint64_t silent_us;	/* since when nothing comes over it; 0: it does */
	bool works[2];		/* a connection began, and it has lived since */
};

static struct place places[LINKS];
static unsigned int next_ifindex;

static bool usable(const struct place *place, unsigned int i)
{
	return place->ifindex && place->up && place->carrier && place->host[i] && place->way[i];
}

static struct prefix address_of(unsigned int link, unsigned int i, unsigned int host)
{
	struct prefix prefix = { .family = families[i], .len = i ? 128 : 32 };
	static const uint8_t head[2] = { 10, 0xfd };

	prefix.address[0] = head[i];
	prefix.address[i ? 7 : 2] = link + 1;
	prefix.address[i ? 15 : 3] = host;
	return prefix;
}

static struct prefix own_address(const struct place *place, unsigned int i)
{
	return address_of(place - places, i, place->host[i]);
}

static const struct place *owner_of(const struct prefix *address)
{
	for (unsigned int n = 0; n < LINKS; n++) {
		struct prefix own = own_address(&places[n], address->family == AF_INET6);

		if (places[n].host[address->family == AF_INET6] && places[n].ifindex &&
		    !memcmp(&own, address, sizeof(own)))
			return &places[n];
	}
	return NULL;
}

/* --- routes, rules and endpoints in the kernel --- */

struct owned {
	struct endpoint endpoint;
	bool ours;
};

static struct list routes, rules;	/* ours */
static struct list others_routes;	/* of struct scene_route */
static struct owned endpoints[ENDPOINTS_MAX];
static unsigned int endpoint_count, others_endpoints, others_lost;
static uint32_t limit, limit_before;
static bool unreadable;		/* routes are */
static uint64_t refused_until_us;	/* all that is new */
static unsigned int refused;

static void take_out(struct list *list, size_t size, unsigned int nr)
{
	memcpy((char *)list->at + nr * size, (char *)list->at + --list->count * size, size);
}

int __wrap_scene_read(struct scene *scene);
int __wrap_scene_read(struct scene *scene)
{
	scene_free(scene);
	if (unreadable)
		return -EIO;
	for (unsigned int n = 0; n < LINKS; n++) {
		const struct place *place = &places[n];
		struct scene_link *link;

		if (!place->ifindex)
			continue;
		link = list_add(&scene->links, sizeof(*link));
		link->ifindex = place->ifindex;
		snprintf(link->name, sizeof(link->name), "%c%u", place->renamed ? 'r' : 'c', n);
		link->up = place->up && place->carrier;
		for (unsigned int i = 0; i < 2; i++) {
			struct scene_address *address;
			struct scene_route *route;
			struct prefix to = own_address(place, i);

			if (!place->host[i])
				continue;
			address = list_add(&scene->addresses, sizeof(*address));
			address->ifindex = place->ifindex;
			address->address = to;
			address->subnet = i ? 64 : 24;
			if (!place->way[i] || !place->up)
				continue;
			route = list_add(&scene->routes, sizeof(*route));
			route->to.family = families[i];
			route->table = RT_TABLE_MAIN;
			route->ifindex = place->ifindex;
			route->metric = METRIC * (n + 1);
			route->gateway = address_of(n, i, place->gateway);
		}
	}
	for_each(const struct scene_route, route, &routes)
		memcpy(list_add(&scene->routes, sizeof(*route)), route, sizeof(*route));
	for_each(const struct scene_route, route, &others_routes)
		memcpy(list_add(&scene->routes, sizeof(*route)), route, sizeof(*route));
	for_each(const struct scene_rule, rule, &rules)
		memcpy(list_add(&scene->rules, sizeof(*rule)), rule, sizeof(*rule));
	return 0;
}

static const struct place *place_at(unsigned int ifindex)
{
	for (unsigned int n = 0; n < LINKS; n++)
		if (places[n].ifindex == ifindex)
			return &places[n];
	return NULL;
}

int __wrap_scene_route(const struct scene_route *route, bool add);
int __wrap_scene_route(const struct scene_route *route, bool add)
{
	const struct place *place = place_at(route->ifindex);
	unsigned int nr = 0;

	if (add && us < refused_until_us)
		return -EINVAL;
	if (add && !place)
		return -ENODEV;
	if (add && !place->up)
		return -ENETDOWN;
	for_each(const struct scene_route, one, &routes) {
		if (one->table == route->table && one->metric == route->metric &&
		    !memcmp(&one->to, &route->to, sizeof(one->to)) &&
		    (add || one->ifindex == route->ifindex)) {
			if (add)
				return -EEXIST;
			take_out(&routes, sizeof(*one), nr);
			return 0;
		}
		nr++;
	}
	if (!add)
		return -ENOENT;
	*(struct scene_route *)list_add(&routes, sizeof(*route)) = *route;
	((struct scene_route *)routes.at)[routes.count - 1].ours = true;
	return 0;
}

/* Our default route beside those of others. */
static const struct scene_route *main_route(int family)
{
	for_each(const struct scene_route, route, &routes)
		if (route->table == RT_TABLE_MAIN && route->to.family == family)
			return route;
	return NULL;
}

int __wrap_scene_rule(const struct scene_rule *rule, bool add);
int __wrap_scene_rule(const struct scene_rule *rule, bool add)
{
	unsigned int nr = 0;

	for_each(const struct scene_rule, one, &rules) {
		if (!memcmp(one, rule, sizeof(*one))) {
			if (add)
				return -EEXIST;
			take_out(&rules, sizeof(*one), nr);
			return 0;
		}
		nr++;
	}
	if (!add)
		return -ENOENT;
	*(struct scene_rule *)list_add(&rules, sizeof(*rule)) = *rule;
	return 0;
}

unsigned int __wrap_scene_exit(int family);
unsigned int __wrap_scene_exit(int family)
{
	const struct scene_route *ours = main_route(family);
	unsigned int i = family == AF_INET6;

	for (unsigned int n = 0; n < LINKS; n++)
		if (places[n].ifindex && places[n].up && places[n].way[i] && places[n].host[i])
			return ours && ours->metric < METRIC * (n + 1) ? ours->ifindex :
			       places[n].ifindex;
	return ours ? ours->ifindex : 0;
}

int endpoints_read(struct endpoint list[ENDPOINTS_MAX])
{
	for (unsigned int n = 0; n < endpoint_count; n++)
		list[n] = endpoints[n].endpoint;
	return endpoint_count;
}

static int add_endpoint(const struct endpoint *endpoint, bool ours)
{
	for (unsigned int n = 0; n < endpoint_count; n++)
		if (endpoints[n].endpoint.family == endpoint->family &&
		    !memcmp(endpoints[n].endpoint.address, endpoint->address,
			    sizeof(endpoint->address)))
			return -EEXIST;
	if (endpoint_count == 8)
		return -ENOSPC;
	endpoints[endpoint_count].endpoint = *endpoint;
	endpoints[endpoint_count].endpoint.id = endpoint_count + 1 + draw(100);
	endpoints[endpoint_count++].ours = ours;
	others_endpoints += !ours;
	return 0;
}

int endpoint_add(const struct endpoint *endpoint)
{
	if (us < refused_until_us) {
		refused++;
		return -EBUSY;
	}
	return add_endpoint(endpoint, true);
}

int endpoint_remove(const struct endpoint *endpoint)
{
	for (unsigned int n = 0; n < endpoint_count; n++)
		if (!memcmp(endpoints[n].endpoint.address, endpoint->address,
			    sizeof(endpoint->address)) &&
		    endpoints[n].endpoint.family == endpoint->family) {
			others_lost += !endpoints[n].ours;
			endpoints[n] = endpoints[--endpoint_count];
			return 0;
		}
	return -EINVAL;
}

bool endpoint_has(int family)
{
	(void)family;
	return true;
}

int endpoint_limit(uint32_t *subflows)
{
	*subflows = limit;
	return 0;
}

int endpoint_set_limit(uint32_t subflows)
{
	limit = subflows;
	return 0;
}

/* --- what else the daemon asks for --- */

void caps_on_change(struct caps *caps, void (*fn)(void *arg), void *arg)
{
	(void)caps;
	(void)fn;
	(void)arg;
}

bool caps_forbid(const struct caps *caps, const char *interface)
{
	(void)caps;
	(void)interface;
	return false;
}

bool caps_have_taken(const struct caps *caps, const struct prefix *address)
{
	(void)caps;
	(void)address;
	return false;
}

void caps_leave(struct caps *caps, const struct prefix *address, bool stays)
{
	(void)caps;
	(void)address;
	(void)stays;
}

void endpoints_close(void)
{
}

uint8_t kernel_cost(struct kernel *kernel, unsigned int ifindex)
{
	(void)kernel;
	(void)ifindex;
	return 0;
}

bool __wrap_link_prefers_temporary(const char *interface);
bool __wrap_link_prefers_temporary(const char *interface)
{
	(void)interface;
	return false;
}

/* Only one daemon runs here. */
int bind(int fd, const struct sockaddr *address, socklen_t len)
{
	(void)fd;
	(void)address;
	(void)len;
	return 0;
}

int nl_connect(struct nl_sock *sock, int protocol)
{
	(void)sock;
	(void)protocol;
	return 0;
}

int nl_socket_set_nonblocking(const struct nl_sock *sock)
{
	(void)sock;
	return 0;
}

int nl_socket_add_memberships(struct nl_sock *sock, int group, ...)
{
	(void)sock;
	(void)group;
	return 0;
}

/* --- where connections begin --- */

struct begin {
	void (*woken)(void *arg);
	void *arg;
};

static struct begin begin;
static bool by_metric;		/* no BPF program runs in this schedule */
static struct prefix told[2];
static char told_interface[2][IF_NAMESIZE];
static struct list leads;	/* of struct lead */

struct begin *begin_new(struct event_base *base, void (*woken)(void *arg), void *arg)
{
	(void)base;
	begin.woken = by_metric ? NULL : woken;
	begin.arg = arg;
	return by_metric ? NULL : &begin;
}

const char *begin_why_not(void)
{
	return "it is so";
}

void begin_free(struct begin *gone)
{
	(void)gone;
	begin.woken = NULL;
	memset(told, 0, sizeof(told));
	list_free(&leads);
}

int begin_tell(struct begin *to, int family, const struct path *path)
{
	(void)to;
	memset(&told[family == AF_INET6], 0, sizeof(told[0]));
	if (path) {
		told[family == AF_INET6] = path->address;
		memcpy(told_interface[family == AF_INET6], path->interface, IF_NAMESIZE);
	}
	return 0;
}

int begin_leave(const struct list *prefixes)
{
	(void)prefixes;
	list_free(&leads);
	return 0;
}

static struct lead *lead_to(const struct prefix *to)
{
	for_each(struct lead, lead, &leads)
		if (!memcmp(&lead->to, to, sizeof(*to)))
			return lead;
	return NULL;
}

int begin_lead(const struct prefix *to, const struct path *path)
{
	struct lead *lead = lead_to(to);

	if (!path && lead)
		*lead = ((struct lead *)leads.at)[--leads.count];
	if (!path)
		return lead ? 0 : -ENOENT;
	if (!lead) {
		lead = list_add(&leads, sizeof(*lead));
		lead->to = *to;
	}
	lead->address = path->address;
	return 0;
}

/* --- connections --- */

#define CONNECTIONS	64

struct connection {
	bool used, opening, answers;
	unsigned int i;
	struct prefix local, peer;
	uint16_t port;
	uint64_t since_us, sent_us, began_us, ends_us;
	unsigned int sent;	/* SYNs */
	unsigned int rtt_us, queue_us;
	uint64_t bytes;
	uint64_t byteps;	/* 0: 50 MB/s */
};

static struct connection connections[CONNECTIONS];
static struct {
	uint64_t since_us, attempt_us;	/* 0: nobody wants to connect */
	unsigned int i, nr, host;
	struct connection *attempt[16];
} wish;

static uint64_t wishes, waited, by_metric_wishes, by_metric_waited, worst_us;
static bool bad;

void tcpinfo_parse(struct tcpinfo *tcpinfo, const void *data, size_t len)
{
	memcpy(tcpinfo, data, len < sizeof(*tcpinfo) ? len : sizeof(*tcpinfo));
}

/* When the last answer came. */
static uint64_t heard_us(const struct connection *one)
{
	const struct place *place = owner_of(&one->local);

	if (one->opening)
		return 0;
	if (place && usable(place, one->i) && place->alive)
		return us;
	return !place || place->silent_us < one->began_us ? one->began_us : place->silent_us;
}

/* Beside those many others from one address, which have carried a lot, or aren't answered. */
static struct crowd {
	struct prefix local;
	unsigned int count, first;	/* the first one's number: lower ones are gone */
	bool opening;
} crowd;

static void show_crowd(diag_fn fn, void *arg)
{
	struct {
		struct nlattr head;
		uint8_t data[sizeof(struct tcpinfo)];
	} attribute = { .head.nla_len = sizeof(attribute) };
	struct tcpinfo info = { .received_bytes = crowd.opening ? 0 : 100000000,
				.receive_rtt_us = crowd.opening ? 0 : 100000, .min_rtt_us = 10000 };

	memcpy(attribute.data, &info, sizeof(info));
	/* the newest come first */
	for (unsigned int n = crowd.first + crowd.count; n-- > crowd.first;) {
		struct diag_socket found = {
			.local = crowd.local, .peer = { AF_INET, 32, { 10, 88, 0, n % 4 } },
			.peer_port = 443, .local_port = 1000 + 2 * n, .opening = crowd.opening,
			.info = &attribute.head,
		};

		fn(&found, arg);
	}
}

int diag_open(struct nl_sock **sock, diag_fn fn, void *arg)
{
	(void)sock;
	show_crowd(fn, arg);
	for (unsigned int n = 0; n < CONNECTIONS; n++) {
		struct connection *one = &connections[n];
		struct {
			struct nlattr head;
			uint8_t data[sizeof(struct tcpinfo)];
		} attribute = { .head.nla_len = sizeof(attribute) };
		struct tcpinfo info = { };
		struct diag_socket found = {
			.local = one->local, .peer = one->peer, .peer_port = 80,
			.local_port = one->port, .opening = one->opening, .info = &attribute.head,
		};

		if (!one->used)
			continue;
		info.min_rtt_us = one->opening ? 0 : one->rtt_us;
		info.received_bytes = one->opening ? 0 :
				      (one->byteps ?: 50000000) * (us - one->sent_us) / 1000000;
		info.receive_rtt_us = one->queue_us ? one->rtt_us + one->queue_us : 0;
		info.acked_ms = (us - heard_us(one)) / 1000;
		memcpy(attribute.data, &info, sizeof(info));
		fn(&found, arg);
	}
	return 0;
}

static bool is_mptcp(const struct connection *one)
{
	return one->port % 2;
}

int diag_established(struct nl_sock **sock, const void *filter, size_t filter_len, diag_fn fn,
		     void *arg)
{
	static struct {
		struct nlattr head, name;
		char text[6];
	} ulp = { { sizeof(ulp), 0 }, { sizeof(ulp) - sizeof(ulp.head), INET_ULP_INFO_NAME },
		  "mptcp" };

	(void)sock;
	(void)filter;
	(void)filter_len;
	for (unsigned int n = 0; n < CONNECTIONS; n++) {
		const struct connection *one = &connections[n];
		const struct diag_socket found = { .local = one->local, .peer = one->peer,
						   .ulp = is_mptcp(one) ? &ulp.head : NULL };

		if (one->used && !one->opening)
			fn(&found, arg);
	}
	return 0;
}

/* What has ended tells nothing here that looks don't. */
int diag_watch(struct nl_sock **sock)
{
	(void)sock;
	return -EOPNOTSUPP;
}

void diag_ended(struct nl_sock *sock, diag_fn fn, void *arg)
{
	(void)sock;
	(void)fn;
	(void)arg;
}

static void check_dead(const char *interface)
{
	const struct place *place = &places[interface[1] - '0'];

	/* it takes a moment to hear of a new address */
	if (place->works[0] && place->works[1] && us - place->lives_us > BEFORE_MS * 1000) {
		bad = true;
		tell("VIOLATION: %s lives", interface);
	}
}

#define DOWN_HOST	9	/* never answers */

static struct connection *attempt(unsigned int i, unsigned int host)
{
	const struct prefix peer = address_of(199, i, host), *begins;
	struct connection *one = NULL;
	const struct place *from;

	for (unsigned int n = 0; n < CONNECTIONS && !one; n++)
		if (!connections[n].used)
			one = &connections[n];
	if (!one)
		return NULL;
	memset(one, 0, sizeof(*one));
	/* a program that can't bind leaves it to the routes */
	begins = told[i].family && lead_to(&peer) ? &lead_to(&peer)->address : &told[i];
	from = begins->family ? owner_of(begins) : NULL;
	if (!from || !from->up)
		from = place_at(__wrap_scene_exit(families[i]));
	if (!from || !from->ifindex || !from->host[i])
		return NULL;
	one->used = true;
	one->opening = true;
	one->i = i;
	one->local = own_address(from, i);
	one->peer = peer;
	one->answers = host != DOWN_HOST;
	one->port = 1000 + draw(60000);
	one->since_us = us;
	one->ends_us = us + 8000000;
	return one;
}

static void play(struct connection *one)
{
	struct place *place = (struct place *)owner_of(&one->local);
	bool lives = place && one->answers && usable(place, one->i) && place->alive;

	if (us >= one->ends_us) {
		one->used = false;
		return;
	}
	if (!one->opening)
		return;
	/* SYNs after 0, 1, 3 and 7 s */
	if (us >= one->since_us + ((1 << one->sent) - 1) * 1000000ULL) {
		one->sent++;
		one->sent_us = lives ? us : 0;
	}
	if (one->sent_us && lives && us >= one->sent_us + place->rtt_us) {
		one->opening = false;
		one->rtt_us = place->rtt_us;
		one->began_us = us;
		place->works[one->i] = true;
		/* not between two looks: those that end tell of themselves, but not here */
		one->ends_us = us + (by_metric ? LOOK_MS * 1000 : 100000) + draw(1000000);
	}
}

/* Did any path live from then on, for all of the time? */
static bool any_lived(unsigned int i, uint64_t from_us)
{
	for (unsigned int n = 0; n < LINKS; n++)
		if (usable(&places[n], i) && places[n].alive && places[n].lives_us &&
		    places[n].lives_us + BEFORE_MS * 1000 <= from_us)
			return true;
	return false;
}

/* On how many paths has an attempt been waiting? */
static unsigned int paths_in_vain(void)
{
	unsigned int count = 0;

	for (unsigned int n = 0, m; n < wish.nr; n++) {
		for (m = 0; m < n; m++)
			if (wish.attempt[n] && wish.attempt[m] &&
			    !memcmp(&wish.attempt[n]->local, &wish.attempt[m]->local,
				    sizeof(struct prefix)))
				break;
		count += m == n && wish.attempt[n] &&
			 us >= wish.attempt[n]->since_us + AGAIN_MS * 1000;
	}
	return count;
}

static void end_wish(bool succeeded)
{
	uint64_t took_us = us - wish.since_us;
	unsigned int in_vain = paths_in_vain();
	uint64_t most_ms = WAIT_MS + (in_vain > 1 ? in_vain - 1 : 0) * WAIT_MORE_MS +
			   (by_metric ? LOOK_MS : 0);

	if (any_lived(wish.i, wish.since_us)) {
		wishes++;
		by_metric_wishes += by_metric;
		if (took_us > worst_us)
			worst_us = took_us;
		if (took_us > most_ms * 1000) {
			waited += !by_metric;
			by_metric_waited += by_metric;
			bad |= !by_metric;
			tell("VIOLATION: somebody waited for %.2f s%s", took_us / 1e6,
			     succeeded ? "" : " and more");
		}
	}
	wish.since_us = 0;
}

static void play_wish(void)
{
	if (!wish.since_us) {
		if (draw(100) < 97)
			return;
		memset(&wish, 0, sizeof(wish));
		wish.since_us = us;
		wish.attempt_us = us;
		wish.i = draw(2);
		wish.host = 1 + draw(3);
	}
	for (unsigned int n = 0; n < wish.nr; n++)
		if (wish.attempt[n] && wish.attempt[n]->used && !wish.attempt[n]->opening) {
			end_wish(true);
			return;
		}
	if (us >= wish.since_us + 4000000) {
		end_wish(false);
		return;
	}
	if (us < wish.attempt_us || wish.nr == ARRAY_SIZE(wish.attempt))
		return;
	wish.attempt[wish.nr] = attempt(wish.i, wish.host);
	if (wish.attempt[wish.nr])
		tell("IPv%d attempt from c%u", wish.i ? 6 : 4,
		     wish.attempt[wish.nr]->local.address[wish.i ? 7 : 2] - 1);
	wish.nr++;
	wish.attempt_us = us + AGAIN_MS * 1000;
	if (begin.woken)
		begin.woken(begin.arg);
}

/* Somebody tries the server that is down. */
static void play_vain(void)
{
	if (draw(1000) || !attempt(draw(2), DOWN_HOST))
		return;
	tell("attempt at the server that is down");
	if (begin.woken)
		begin.woken(begin.arg);
}

/* --- the schedule --- */

static struct config config = { .state = (char *)"/nowhere/state", .paths = { true, true, true } };
static struct paths *paths;

static void start(void)
{
	paths = paths_new(NULL, &config, NULL, NULL);
}

/* Routes go with their link. */
static void flush_routes(unsigned int ifindex)
{
	for (unsigned int nr = routes.count; nr--;)
		if (((struct scene_route *)routes.at)[nr].ifindex == ifindex)
			take_out(&routes, sizeof(struct scene_route), nr);
}

static void change_link(struct place *place)
{
	unsigned int i = draw(2), n = place - places;

	switch (draw(9)) {
	case 0:
	case 1:
	case 2:
		place->alive = !place->alive;
		tell("c%u %s", n, place->alive ? "lives" : "is dead");
		return;		/* nobody is told */
	case 3:
		place->carrier = !place->carrier;
		tell("c%u carrier %d", n, place->carrier);
		break;
	case 4:
		place->up = !place->up;
		tell("c%u up %d", n, place->up);
		if (!place->up) {
			flush_routes(place->ifindex);
			place->way[0] = false;
			place->way[1] = false;
		}
		break;
	case 5:
		place->host[i] = draw(4) ? 1 + draw(4) : 0;
		tell("c%u IPv%d address %u", n, i ? 6 : 4, place->host[i]);
		break;
	case 6:
		place->way[i] = place->up && !place->way[i];
		tell("c%u IPv%d default route %d", n, i ? 6 : 4, place->way[i]);
		break;
	case 7:
		place->gateway = 200 + draw(3);
		tell("c%u gateway", n);
		break;
	case 8:
		flush_routes(place->ifindex);
		place->ifindex = place->ifindex ? 0 : next_ifindex++;
		tell("c%u ifindex %u", n, place->ifindex);
		break;
	}
	paths_feed(paths);
}

/* Others do as they like, also with what is pamsd's. */
static void change_others(void)
{
	unsigned int n = draw(LINKS), i = draw(2);
	struct endpoint endpoint = { .family = families[i], .flags = MPTCP_PM_ADDR_FLAG_SUBFLOW };
	struct prefix address = own_address(&places[n], i);
	struct scene_route *route;

	switch (draw(6)) {
	case 5:
		/* more than pamsd would have raised it to */
		limit = 2 * LINKS + 1 + i;
		limit_before = limit;
		tell("the limit is %u", limit);
		return;
	case 0:
		if (!places[n].host[i] || !places[n].ifindex)
			return;
		memcpy(endpoint.address, address.address, sizeof(endpoint.address));
		endpoint.ifindex = places[n].ifindex;
		if (!add_endpoint(&endpoint, false))
			tell("somebody's endpoint on c%u", n);
		return;		/* nobody is told */
	case 1:
		if (!endpoint_count)
			return;
		n = draw(endpoint_count);
		tell("an endpoint is taken away");
		others_endpoints -= !endpoints[n].ours;
		endpoints[n] = endpoints[--endpoint_count];
		paths_feed(paths);
		return;
	case 2:
		if (!rules.count)
			return;
		tell("a rule is taken away");
		take_out(&rules, sizeof(struct scene_rule), draw(rules.count));
		break;
	case 3:
		if (!routes.count)
			return;
		tell("a route is taken away");
		take_out(&routes, sizeof(struct scene_route), draw(routes.count));
		break;
	case 4:
		route = list_add(&others_routes, sizeof(*route));
		route->to = address_of(50 + draw(50), i, 0);
		route->to.len = i ? 64 : 24;
		route->table = draw(2) ? RT_TABLE_MAIN : 77;
		route->metric = 9;
		tell("somebody's route");
		break;
	}
	paths_feed(paths);
}

static void note_lives(void)
{
	for (unsigned int n = 0; n < LINKS; n++) {
		struct place *place = &places[n];
		bool any = place->ifindex && place->up && place->carrier && place->alive;
		bool all = place->ifindex && place->up && place->carrier && place->alive &&
			   place->host[0] && place->host[1] && place->way[0] && place->way[1];

		if (any)
			place->silent_us = 0;
		else if (!place->silent_us)
			place->silent_us = us;
		if (!all)
			place->lives_us = 0;
		else if (!place->lives_us)
			place->lives_us = us;
		if (!all)
			memset(place->works, 0, sizeof(place->works));
	}
}

/* Whatever changes on a path is another path. */
static void change(void)
{
	struct place *place = &places[draw(LINKS)];

	if (draw(4)) {
		change_link(place);
		place->lives_us = 0;
		memset(place->works, 0, sizeof(place->works));
	} else {
		change_others();
	}
	note_lives();
}

static void step(void)
{
	us += STEP_MS * 1000;
	for (unsigned int n = 0; n < CONNECTIONS; n++)
		if (connections[n].used)
			play(&connections[n]);
	play_wish();
	play_vain();
	run_events();
}

static void run_for(uint64_t ms)
{
	for (uint64_t end_us = us + ms * 1000; us < end_us;)
		step();
}

static void expect(bool right, const char *what)
{
	if (!right) {
		bad = true;
		tell("VIOLATION: %s", what);
	}
}

/* Each usable link has all it needs, no other one has anything. */
static void look(void)
{
	unsigned int wanted = 0, wanted_routes = 0, found = 0;

	for (unsigned int n = 0; n < LINKS; n++)
		for (unsigned int i = 0; i < 2; i++) {
			struct prefix own = own_address(&places[n], i);
			bool there = false;

			if (!usable(&places[n], i))
				continue;
			wanted++;
			for (unsigned int e = 0; e < endpoint_count; e++)
				there |= endpoints[e].endpoint.family == own.family &&
					 !memcmp(endpoints[e].endpoint.address, own.address,
						 sizeof(own.address));
			expect(there || endpoint_count == 8, "a usable link has no endpoint");
		}
	expect(rules.count == 3 * wanted, "rules are missing or left");
	for (unsigned int i = 0; i < 2; i++) {
		const struct scene_route *route = main_route(families[i]);

		expect(!route || (by_metric && usable(place_at(route->ifindex), i)),
		       "a default route is left");
		wanted_routes += route ? 1 : 0;
	}
	expect(routes.count == wanted_routes + 2 * wanted, "routes are missing or left");
	for (unsigned int e = 0; e < endpoint_count; e++)
		found += endpoints[e].ours;
	expect(found <= wanted, "endpoints of ours are left");
}

/* Is the address that of an open connection, or of one with MPTCP? */
static bool is_used(const struct prefix *address, bool mptcp)
{
	for (unsigned int n = 0; n < CONNECTIONS; n++) {
		const struct connection *one = &connections[n];

		if (one->used && !one->opening && (is_mptcp(one) || !mptcp) &&
		    !memcmp(&one->local, address, sizeof(*address)))
			return true;
	}
	return false;
}

static bool endpoint_is_used(const struct endpoint *endpoint)
{
	struct prefix address = { .family = endpoint->family,
				  .len = endpoint->family == AF_INET ? 32 : 128 };

	memcpy(address.address, endpoint->address, sizeof(address.address));
	return is_used(&address, true);
}

static unsigned int count_used(void)
{
	unsigned int count = 0;

	for_each(const struct scene_rule, rule, &rules)
		count += is_used(&rule->from, false);
	for (unsigned int e = 0; e < endpoint_count; e++)
		count += endpoints[e].ours && endpoint_is_used(&endpoints[e].endpoint);
	return count;
}

/* What open connections need stays, and nothing else. */
static void end(void)
{
	unsigned int used = count_used();

	paths_end(paths);
	expect(count_used() == used, "an open connection misses something");
	for (unsigned int e = 0; e < endpoint_count; e++)
		expect(!endpoints[e].ours || endpoint_is_used(&endpoints[e].endpoint),
		       "an endpoint is left");
	for_each(const struct scene_rule, rule, &rules)
		expect(is_used(&rule->from, false), "a rule is left");
	for_each(const struct scene_route, route, &routes)
		expect(rules.count && route->table != RT_TABLE_MAIN, "a route is left");
}

static void forget_lives(void)
{
	for (unsigned int n = 0; n < LINKS; n++) {
		places[n].lives_us = 0;
		memset(places[n].works, 0, sizeof(places[n].works));
	}
	note_lives();
}

/* Nobody chooses meanwhile, and the new one knows nothing. */
static void end_and_start(void)
{
	bool killed = draw(2);

	tell("pamsd %s", killed ? "is killed" : "ends");
	if (!killed)
		end();
	paths_free(paths);
	forget_lives();
	run_for(draw(2000));
	tell("pamsd is started");
	start();
	forget_lives();
}

static void begin_schedule(void)
{
	/* time goes on: the daemon's files may remember */
	us += 1000000000;
	began_us = us;
	next_ifindex = 10;
	memset(places, 0, sizeof(places));
	memset(connections, 0, sizeof(connections));
	memset(&wish, 0, sizeof(wish));
	story[0] = 0;
	bad = false;
	endpoint_count = 0;
	others_endpoints = 0;
	others_lost = 0;
	limit = draw(3);
	limit_before = limit;
	for (unsigned int n = 0; n < LINKS; n++)
		places[n] = (struct place){ next_ifindex++, false, true, true, true, { 1, 1 },
					    { true, true }, 200, 5000 + draw(75000), 0, 0,
					    { } };
	start();
	note_lives();
	for (unsigned int n = 0; n < LINKS; n++)
		places[n].lives_us = us;
}

/* Returns whether all was well. */
static bool schedule(void)
{
	uint32_t gap_ms = 200 + draw(6000);
	unsigned int ours = 0, others;

	begin_schedule();
	run_for(3000 + draw(5000));
	for (uint64_t end_us = us + CHANGES_MS * 1000; us < end_us;) {
		change();
		run_for(draw(gap_ms) + 10);
		if (!draw(20))
			end_and_start();
	}
	run_for(SETTLED_MS);
	look();
	run_for(QUIET_MS);
	others = others_routes.count;
	paths_release(paths);
	paths_free(paths);
	for (unsigned int e = 0; e < endpoint_count; e++)
		ours += endpoints[e].ours;
	expect(!ours && !rules.count && !routes.count, "something is left");
	expect(limit == limit_before, "the limit isn't what it was");
	expect(!others_lost && others_routes.count == others &&
	       endpoint_count == others_endpoints, "something of others is gone");
	expect(!kept, "the file is left");
	list_free(&others_routes);
	return !bad;
}

/* A link goes down, as before a suspend, and is back with another address: timers stood still. */
static void suspend_holds_nothing_up(void)
{
	const uint64_t slept_us = 3600000000;

	state = 1;
	begin_schedule();
	run_for(1000);
	places[0].carrier = false;
	paths_feed(paths);
	run_for(500);
	us += slept_us;
	for (unsigned int i = 0; i < ARRAY_SIZE(events); i++)
		if (events[i] && events[i]->due_us)
			events[i]->due_us += slept_us;
	places[0].carrier = true;
	places[0].host[0] = 3;
	paths_feed(paths);
	run_for(400);
	look();
	check(!bad);
	paths_release(paths);
	paths_free(paths);
}

/* The kernel's table has the name, by which the program binds sockets. */
static void renamed_link_is_told(void)
{
	const struct place *place;

	state = 1;
	by_metric = false;
	begin_schedule();
	/* so that there is a choice other than the routes' */
	places[0].rtt_us = 70000;
	places[1].rtt_us = 5000;
	run_for(5000);
	check(told[0].family && told[1].family);
	for (unsigned int n = 0; n < LINKS; n++)
		places[n].renamed = true;
	paths_feed(paths);
	run_for(1000);
	for (unsigned int i = 0; i < 2; i++) {
		place = owner_of(&told[i]);
		check(place && told_interface[i][0] == 'r' &&
		      told_interface[i][1] == '0' + (place - places));
	}
	paths_release(paths);
	paths_free(paths);
}

static unsigned int count_ours(void)
{
	unsigned int count = 0;

	for (unsigned int e = 0; e < endpoint_count; e++)
		count += endpoints[e].ours;
	return count;
}

static void begin_quiet(void)
{
	state = 1;
	by_metric = false;
	begin_schedule();
	run_for(1000);
	check(count_ours() == 2 * LINKS);
}

/* Its network namespace is as it was before it. */
static void end_quiet(void)
{
	paths_release(paths);
	paths_free(paths);
	check(!count_ours() && !rules.count && !routes.count && limit == limit_before && !kept);
}

/* As while a link comes up. Nothing tells that what was refused would be taken now. */
static void what_is_refused_is_tried_again(void)
{
	begin_quiet();
	places[0].host[0] = 3;
	refused_until_us = us + 10000000;
	refused = 0;
	paths_feed(paths);
	run_for(9000);
	check(refused == 6);
	run_for(7500);
	look();
	check(!bad);
	/* eight times, and with each change */
	places[0].host[0] = 4;
	refused_until_us = UINT64_MAX;
	refused = 0;
	paths_feed(paths);
	run_for(200000);
	check(refused == 9 && strstr(story, "tried again"));
	paths_feed(paths);
	run_for(200000);
	check(refused == 10);
	refused_until_us = 0;
	paths_feed(paths);
	run_for(1000);
	look();
	check(!bad);
	end_quiet();
}

static void the_limit_of_others_stays(void)
{
	begin_quiet();
	check(limit == 2 * LINKS);
	limit = 8;
	limit_before = 8;
	end_quiet();
	begin_quiet();
	limit = 1;
	limit_before = 1;
	paths_feed(paths);
	run_for(1000);
	check(limit == 2 * LINKS);
	/* over a kill, too */
	paths_free(paths);
	start();
	run_for(1000);
	end_quiet();
}

/* The path with that address, as the status has it: its round trip, 0 if it isn't known. */
static long long shown_rtt_us(const struct place *place, unsigned int i)
{
	struct prefix own = own_address(place, i);
	json_t *status = paths_status(paths), *one;
	char text[ADDRESS_TEXT];
	long long rtt_us = 0;
	size_t nr;

	json_array_foreach(json_object_get(status, "paths"), nr, one)
		if (!strcmp(json_string_value(json_object_get(one, "address")),
			    prefix_text(text, &own)))
			rtt_us = json_integer_value(json_object_get(one, "rtt_us"));
	json_decref(status);
	return rtt_us;
}

/* By another network, which gives the same address: what was measured there doesn't count here. */
static void address_given_anew_is_unknown(void)
{
	struct place *place = &places[1];

	state = 1;
	by_metric = false;
	begin_schedule();
	place->rtt_us = 5000;
	run_for(10000);
	check(shown_rtt_us(place, 0) == 5000);
	place->host[0] = 0;
	paths_feed(paths);
	run_for(1000);
	place->host[0] = 1;
	place->rtt_us = 150000;
	paths_feed(paths);
	run_for(10000);
	check(shown_rtt_us(place, 0) == 0 || shown_rtt_us(place, 0) == 150000);
	end_quiet();
}

static void endpoints_go_though_routes_cannot_be_read(void)
{
	begin_quiet();
	memset(connections, 0, sizeof(connections));
	unreadable = true;
	paths_end(paths);
	check(!count_ours() && limit == limit_before);
	paths_free(paths);
	unreadable = false;
	start();
	run_for(1000);
	end_quiet();
}

/* --- what servers say of paths --- */

static struct path two[2];	/* near, but slow; far, but fast */
static struct list both = { two, 2, 2 };

static bool begins_on(const struct path *path)
{
	static const struct answer short_one = { 65536, 65536 };
	static const struct prefix nowhere;

	for (unsigned int i = 0; i < 2; i++)
		seen_expire(&two[i], us);
	return choose_path(&both, AF_INET, &nowhere, &short_one, 100, us / 1000) == path;
}

/* For a second the near path carries that much, and data waits for so long. */
static void carry_near(uint64_t byteps, uint64_t queue_us)
{
	static const struct list nothing;

	connections[0] = (struct connection){
		.used = true, .local = two[0].address, .peer = { AF_INET, 32, { 10, 77 } },
		.port = 1, .sent_us = us - 1000000, .began_us = us, .rtt_us = 10000,
		.queue_us = queue_us, .byteps = byteps };
	seen_begin(&both, &nothing, us);
	for (unsigned int i = 0; i < 4; i++) {
		us += 250000;
		seen_read(&both, &nothing, us);
	}
	memset(connections, 0, sizeof(connections));
}

static void fill_near(uint64_t byteps)
{
	carry_near(byteps, 500000);
}

static void begin_two(void)
{
	us += 1000000000;
	for (unsigned int i = 0; i < 2; i++)
		two[i] = (struct path){ .address = { AF_INET, 32, { 10, i, 0, 1 } }, .up = true,
					.interface = { 'c', '0' + i },
					.rtt_us = i ? 40000 : 10000 };
}

static void what_is_said_counts_and_ends(void)
{
	begin_two();
	check(begins_on(&two[0]));
	check(seen_told(&two[0], 125000, 0, us) && seen_told(&two[1], 2500000, 599000000, us));
	check(begins_on(&two[1]));
	/* an answer that was overtaken, and one that is too old */
	check(!seen_told(&two[0], 12500000000, 1000000, us));
	check(!seen_told(&two[0], 12500000000, 601000000, us));
	check(begins_on(&two[1]));
	us += 2000000;
	check(begins_on(&two[0]) && !two[1].told_byteps && two[0].told_byteps);
	/* more was carried, and nothing waited */
	two[0].floor_byteps = 200000;
	check(seen_told(&two[1], 2500000, 0, us) && begins_on(&two[0]));
}

static void what_is_seen_replaces_it(void)
{
	begin_two();
	check(seen_told(&two[0], 300000, 0, us) && seen_told(&two[1], 2500000, 0, us));
	fill_near(100000);
	check(two[0].rate_byteps > 90000 && two[0].rate_byteps < 110000);
	check(!two[0].told_byteps && begins_on(&two[1]));
	/* from before that, and from after it */
	check(!seen_told(&two[0], 300000, 900000, us));
	us += 1000;
	check(seen_told(&two[0], 300000, 0, us));
	/* and it goes on counting, whatever is said */
	us += 1000;
	check(seen_told(&two[0], 12500000000, 0, us) && begins_on(&two[1]));
}

/* The most that can be said: once the path was full it doesn't count, nor what is said then. */
static void a_lie_ends(void)
{
	begin_two();
	check(seen_told(&two[1], 2500000, 0, us) && seen_told(&two[0], 12500000000, 0, us));
	check(begins_on(&two[0]));
	fill_near(100000);
	check(begins_on(&two[1]));
	for (unsigned int i = 0; i < 118; i++) {
		us += 5000000;
		check(!seen_told(&two[0], 12500000000, 0, us));
	}
	us += 15000000;
	check(seen_told(&two[0], 12500000000, 0, us));
}

/* What is carried now and then, while the path isn't full, doesn't say that it became slow. */
static void a_trickle_is_no_rate(void)
{
	begin_two();
	two[1].rate_byteps = 2500000;
	fill_near(6000000);
	us += 700000000;
	for (unsigned int i = 0; i < 20; i++)
		carry_near(20000, 0);
	check(two[0].rate_byteps > 5000000 && begins_on(&two[0]));
}

/* What they carried before is no rate, nor where others that end make room for them. */
static void many_idle_connections_carry_nothing(void)
{
	static const struct list nothing;

	for (unsigned int count = 500; count <= 8000; count *= 4) {
		begin_two();
		crowd = (struct crowd){ .local = two[0].address, .count = count };
		seen_begin(&both, &nothing, us);
		for (unsigned int i = 0; i < 20; i++) {
			us += 100000;
			crowd.count -= count / 40;
			seen_read(&both, &nothing, us);
		}
		check_at(!two[0].rate_byteps && !two[0].floor_byteps, "connections", count);
	}
	/* nor do they hide what another one carries */
	crowd.count = 1000;
	fill_near(100000);
	check(two[0].rate_byteps > 90000 && two[0].rate_byteps < 110000);
	crowd.count = 0;
}

/* However many wait for an answer, and though new ones come all the time. */
static void many_that_are_not_answered_tell_it(void)
{
	static const struct list nothing;

	for (unsigned int count = 50; count <= 800; count *= 4) {
		begin_two();
		crowd = (struct crowd){ .local = two[0].address, .count = count, .opening = true };
		seen_begin(&both, &nothing, us);
		for (unsigned int i = 0; i < 10; i++) {
			us += 100000;
			crowd.first += count / 20;
			seen_read(&both, &nothing, us);
		}
		check_at(two[0].dead_ms, "connections", count);
	}
	crowd.count = 0;
}

int main(int argc, char **argv)
{
	uint64_t count = argc > 1 ? strtoull(argv[1], NULL, 10) : 10000, failed = 0;

	run(what_is_said_counts_and_ends);
	run(what_is_seen_replaces_it);
	run(a_lie_ends);
	run(a_trickle_is_no_rate);
	run(many_idle_connections_carry_nothing);
	run(many_that_are_not_answered_tell_it);
	run(suspend_holds_nothing_up);
	run(renamed_link_is_told);
	run(what_is_refused_is_tried_again);
	run(the_limit_of_others_stays);
	run(address_given_anew_is_unknown);
	run(endpoints_go_though_routes_cannot_be_read);
	seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
	for (uint64_t nr = 0; nr < count; nr++) {
		state = (seed + nr) * 0x9e3779b97f4a7c15ULL + 1;
		by_metric = (seed + nr) % 4 == 0;
		if (schedule())
			continue;
		if (!failed++ || getenv("ALL"))
			printf("# schedule %" PRIu64 ":\n%s", seed + nr, story);
	}
	printf("# %" PRIu64 " schedules, %" PRIu64 " failed; %" PRIu64 " connections while a path "
	       "lived, the longest wait %.2f s, %" PRIu64 " too long; without BPF %" PRIu64 " of %"
	       PRIu64 "\n", count, failed, wishes, worst_us / 1e6, waited, by_metric_waited,
	       by_metric_wishes);
	failed += by_metric_waited * 10000 > by_metric_wishes;
	tap_failed += failed > 0;
	printf("%sok %u - schedules of links that die, come back and change addresses\n",
	       failed ? "not " : "", ++tap_number);
	return tap_end();
}
