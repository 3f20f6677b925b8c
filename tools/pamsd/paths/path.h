/* SPDX-License-Identifier: GPL-2.0 */
/*
 * path - declarations shared by the files that keep the host's paths
 *
 * A path is an interface with an address of one family and a default route. For each of them the
 * path manager gets an endpoint, and routing a table of its own, so that what is sent from the
 * address leaves by the interface.
 */
#ifndef PAMSD_PATH_H
#define PAMSD_PATH_H

#include "../../lib/first.h"
#include "../caps/caps.h"
#include "paths.h"

/* --- scene.c: interfaces, addresses, routes and rules, as the kernel has them now --- */

/* Marks routes and rules that pamsd made: unused by others, see rtnetlink(7), rtm_protocol. */
#define OUR_PROTOCOL	173
/* The table of an interface's paths is this plus its index. */
#define OUR_TABLE	20000
/* Priorities of our rules: this, and the next two. */
#define OUR_PRIORITY	20000

struct nlmsghdr;

struct scene_link {
	unsigned int ifindex;
	char name[IF_NAMESIZE];
	char kind[16];		/* "bridge", "tun", ... or "" */
	bool loopback;
	bool slave;		/* part of a bridge or bond, which has the addresses */
	bool up;		/* with carrier */
};

struct scene_address {
	unsigned int ifindex;
	struct prefix address;	/* a host's */
	unsigned int subnet;	/* bits of its subnet */
	uint32_t flags;		/* IFA_F_ */
	bool own;		/* pamsd has an endpoint for it */
};

struct scene_route {
	struct prefix to;
	uint32_t table;
	unsigned int ifindex;	/* 0: none, or several */
	uint32_t metric;
	struct prefix gateway;	/* family 0: none */
	struct prefix source;	/* the address that it chooses; of ours only; family 0: none */
	bool ours;
};

/* What comes from "from" looks the table up, without routes of at most "suppress" bits. */
struct scene_rule {
	struct prefix from;
	uint32_t table;
	uint32_t priority;
	int suppress;		/* -1: all routes count */
};

struct list {
	void *at;
	unsigned int count, room;
};

struct scene {
	struct list links;	/* of struct scene_link */
	struct list addresses;
	struct list routes;	/* unicast ones, and local ones of hosts */
	struct list rules;	/* ours */
	bool ipsec[2];		/* a policy of IPsec takes all of IPv4, of IPv6 */
};

/* The new last element, all zero. Ends the daemon if there is no memory. */
void *list_add(struct list *list, size_t size);
void list_free(struct list *list);
/* Is it in one of the list's prefixes? */
bool list_covers(const struct list *prefixes, const struct prefix *one);

#define for_each(type, one, list)					\
	for (type *one = (list)->at;					\
	     one && one < (type *)(list)->at + (list)->count; one++)

/* Returns 0 or -errno. Frees what *scene had before. */
int scene_read(struct scene *scene);
void scene_free(struct scene *scene);
/* Does the message tell that a host's address was removed? */
bool scene_removed(struct nlmsghdr *hdr, struct prefix *address);
struct scene_link *scene_link(const struct scene *scene, unsigned int ifindex);
/* The interface to which the routes send what isn't for any special destination; 0: none. */
unsigned int scene_exit(int family);
/* Add or remove what is ours. Return 0 or -errno. */
int scene_route(const struct scene_route *route, bool add);
int scene_rule(const struct scene_rule *rule, bool add);
void scene_close(void);

/* --- choice.c: on which path connections begin --- */

struct path {
	struct prefix address;
	unsigned int ifindex;
	char interface[IF_NAMESIZE];
	bool up;
	uint64_t down_ms;	/* when the carrier was lost; 0: it never was there */
	bool listed;		/* it was there in the last scene */
	uint8_t cost;
	unsigned int also;	/* FIRST_: what may begin on it besides MPTCP */
	uint64_t lost_ms;	/* a loss is predicted for then; 0: none */
	uint64_t lost_until_ms;	/* how long it holds */
	uint64_t dead_ms;	/* no answer came since then; 0: it lives */
	uint64_t again_ms;	/* a dead path counts as living again from then on */
	unsigned int deaths;	/* without a sign of life in between */
	uint64_t answered_us;	/* the last answer over it */
	uint64_t waiting_us;	/* since when the last overdue opening waits; 0: none does */
	uint32_t reach_us;	/* the longest least round trip to any peer; 0: unknown */
	uint32_t rtt_us;	/* to peers that another path reaches, too; 0: unknown */
	uint64_t rate_byteps;	/* the most that it carried lately; 0: it never was full */
	uint64_t rate_us;	/* when that was */
	uint64_t full_us;	/* when it was full last */
	uint64_t told_byteps;	/* what a server said that it carries; 0: nothing that holds */
	uint64_t told_us;	/* when that was measured */
	uint64_t deaf_until_us;	/* what servers say doesn't count until then: it was wrong */
	uint64_t floor_byteps;	/* the most that it carried lately without being full */
	uint64_t floor_us;	/* when that was */
	uint64_t queue_us;	/* how much longer data took meanwhile, at most */
	uint64_t look_bytes;	/* carried since the last look */
	uint64_t sum_bytes;	/* and since then */
	uint64_t moved_us;
	uint64_t data_us;	/* when data came last */
	unsigned int busy;	/* connections that have carried something since the last look */
	unsigned int ended;	/* connections, lately */
};

/* The path with this address, or NULL. */
struct path *path_at(const struct list *paths, const struct prefix *address);

/* What a new connection brings. */
struct answer {
	uint64_t bytes;
	uint64_t all_bytes;	/* with those that run beside it */
};

/*
 * Choose the path on which connections of this family begin, among those of the list; NULL: there
 * is none. before: the address chosen last, or the routes' choice. It stays while it
 * lives, costs no more than another path, and such an answer wouldn't take less than "percent" of
 * its time elsewhere.
 */
const struct path *choose_path(const struct list *paths, int family,
			       const struct prefix *before, const struct answer *answer,
			       unsigned int percent, uint64_t ms);

/*
 * The path on which connections to a destination begin that is silent on the chosen one; NULL:
 * there, too. Where none answers each has its turn.
 */
const struct path *choose_elsewhere(const struct list *paths, const struct prefix *to,
				    const struct prefix *chosen, const struct answer *answer,
				    uint64_t ms);

/* --- plan.c: what should be there, from what is --- */

/* An endpoint that pamsd has made, or will. */
struct made {
	struct prefix address;
	unsigned int ifindex;
	uint8_t id;		/* that the kernel gave it; 0: unknown yet */
};

struct plan {
	struct list routes;	/* of struct scene_route */
	struct list rules;
	struct list endpoints;	/* of struct made */
	struct list left;	/* of struct prefix: destinations with a route of their own */
};

struct situation {
	const struct paths_config *config;
	struct caps *caps;	/* or NULL */
	const struct scene *scene;
	unsigned int exits[2];	/* scene_exit() of both families */
	uint64_t ms;
	struct list *paths;	/* of struct path; plan_make() brings it up to date */
};

/* The last path takes its place. If its address comes again, it may be of another network. */
void path_drop(struct list *paths, struct path *path);
/* *plan is empty before. */
void plan_make(struct plan *plan, const struct situation *now);
void plan_free(struct plan *plan);
/* The plan will be another one then, though nothing else changes; UINT64_MAX: never. */
uint64_t plan_changes_ms(const struct situation *now);
/* The interface's default route with the lowest metric, of others, in any table; or NULL. */
const struct scene_route *default_route(const struct scene *scene, unsigned int ifindex,
					int family);
/* NULL, or why the interface is no path now. */
const char *plan_why_not(const struct situation *now, const struct scene_link *link);
struct made *made_at(const struct list *list, const struct prefix *address);
bool has_route(const struct list *routes, const struct scene_route *one);
bool has_rule(const struct list *rules, const struct scene_rule *one);

/* --- begin.c: programs in the kernel, which carry the choice out --- */

struct begin;

/* A sign from the kernel that a connection begins: calls woken(). NULL: no memory. */
struct begin *begin_new(struct event_base *base, void (*woken)(void *arg), void *arg);
/* Connections begin as the routes say from now on. */
void begin_free(struct begin *begin);

/* Why begin_new() returns NULL. */
const char *begin_why_not(void);
/* Put the choice into the kernel's table; NULL: none. 0 or -errno. */
int begin_tell(struct begin *begin, int family, const struct path *path);
/*
 * Replace the destinations for which there is no choice. Returns 0, or -errno: then there is no
 * choice for any.
 */
int begin_leave(const struct list *prefixes);
/* Connections to this destination begin on that path; NULL: as all. 0 or -errno. */
int begin_lead(const struct prefix *to, const struct path *path);

/* --- metric.c: where connections begin, by a default route --- */

/* Where others' routes lead, if ours may have led to this exit. */
unsigned int metric_exit(const struct scene *scene, int family, unsigned int exit);
/*
 * Let all of this host's traffic begin on the path; NULL, or where others' routes lead: by these.
 * 0 or -errno; there is no route of ours if -ENOENT: the main table has no default route, or
 * -ERANGE: none can have a lower metric.
 */
int metric_tell(const struct scene *scene, int family, const struct path *path, unsigned int exit);
/* Add ours that are still there. */
void metric_keep(struct list *routes, const struct scene *scene);
void metric_forget(void);

/* --- silent.c: destinations that don't answer over a path --- */

/* How long what didn't answer so many times before stays out. */
uint64_t dead_for_ms(unsigned int times);
/* One that is being opened since then has waited for too long. */
void silent_note(const struct prefix *local, const struct prefix *peer, uint64_t since_us,
		 uint64_t ms);
void silent_answered(const struct prefix *local, const struct prefix *peer, uint64_t us);
/* The path is another one now, or works again. */
void silent_forget(const struct prefix *local);
/* Since when, or 0: it isn't silent there, or may be tried again. */
uint64_t silent_since_us(const struct prefix *local, const struct prefix *peer, uint64_t ms);
/* Is the path dead, on which something was answered at answered_us last? */
bool silent_condemns(const struct prefix *local, uint64_t answered_us, uint64_t ms);
/* The next destination that is silent on this path, or NULL. *at: 0 at first */
const struct prefix *silent_on(const struct prefix *local, uint64_t ms, unsigned int *at);

/* --- lead.c: destinations that are silent where connections begin --- */

/* What the kernel's table has of a destination. */
struct lead {
	struct prefix to, address;
	char interface[IF_NAMESIZE];	/* the kernel's table has its name, which may change */
	unsigned int also;
};

struct leading {
	const struct list *paths, *left;
	const struct prefix *chosen;	/* of both families; family 0: none */
	const struct answer *answer;
	uint64_t ms;
};

/* Bring "leads", of struct lead, and the kernel's table up to date. 0 or -errno. */
int lead_all(struct list *leads, const struct leading *leading);
/*
 * Where no single one can be led elsewhere: the path to try for all, because a destination is
 * silent on the chosen one, and nothing was answered there since; or the chosen one.
 */
const struct path *lead_along(const struct leading *leading, const struct path *chosen);

/* --- apply.c: carries a plan out, and remembers what was made for it --- */

/* What the kernel refuses is logged, seldom, and tried again. */
struct refused {
	bool any;
	struct seldom seldom;
};

struct applied {
	const struct scene *scene;
	struct caps *caps;	/* or NULL */
	struct refused *refused;
	char *file;		/* of what was made */
	struct list made;	/* of struct made */
	bool unsaved;		/* the file says something else than was made */
	uint32_t limit_before;	/* of further subflows before it was raised, plus 1; or 0 */
	uint32_t limit;		/* that it was raised to: another one is another's */
	struct seldom unread, unwritten;
};

void refuse(struct refused *refused, const char *what, const char *interface, int err);
/* Take what an earlier pamsd made since the machine was started. */
void apply_restore(struct applied *applied);
/* The scene is the one that the plan was made from. */
void apply(struct applied *applied, const struct plan *plan);
/* Undo all but what the plan has. */
void apply_undo(struct applied *applied, const struct plan *stays);

/* --- where.c: on which path connections begin, and tells the kernel --- */

struct where {
	const struct list *paths;
	const struct scene *scene;
	struct refused *refused;
	struct begin *begin;	/* NULL: connections begin where the routes say */
	bool by_metric;		/* these are told where */
	unsigned int exits[2];	/* scene_exit() of both families, of others' routes */
	int refused_metric[2];	/* -errno of metric_tell() */
	struct prefix chosen[2];
	uint64_t compared_ms[2]; /* when a choice was made by round trips first; 0: never */
	struct lead told[2];	/* to all; family 0: nothing */
	struct list left;	/* of struct prefix: destinations for which there's no choice */
	bool crowded;		/* there are too many */
	struct list leads;	/* of struct lead */
	struct seldom full;
};

/* Is there any choice? */
bool where_is_chosen(const struct where *where);
/* Where do the routes lead? Until paths can be compared, that is the choice. */
void where_routes_lead(struct where *where);
/* Take the plan's list, and all that is led out of the kernel's table. */
void where_leave(struct where *where, struct plan *plan);
/* The paths, or what was seen of them, may have changed. */
void where_choose(struct where *where);
/* Is the kernel told that connections begin there, or on any path? */
bool where_is(const struct where *where, const struct path *path);
bool where_is_told(const struct where *where);
void where_free(struct where *where);

/* --- seen.c: what this machine's TCP sockets tell of the paths --- */

/*
 * Update rtt_us, rate_byteps and signs of life. Sockets to what is in the prefixes of "left" don't
 * count: they needn't leave by the path's default route. Returns how many are being opened.
 */
int seen_read(const struct list *paths, const struct list *left, uint64_t us);
/* Take what a server has measured of the path. Returns whether it counts. */
bool seen_told(struct path *path, uint64_t byteps, uint64_t age_us, uint64_t us);
/* Forget what servers said that is too old. */
void seen_expire(struct path *path, uint64_t us);
/* The address is another path's now. */
void seen_forget(const struct prefix *local);
/* The next look is at what begins now. */
void seen_begin(const struct list *paths, const struct list *left, uint64_t us);
/* Connections that end are seen, too: returns a descriptor that tells of them, or -errno. */
int seen_watch(void);
void seen_ended(const struct list *paths, const struct list *left, uint64_t us);
const struct answer *seen_answer(void);
void seen_close(void);

#endif /* PAMSD_PATH_H */
