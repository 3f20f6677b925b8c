// SPDX-License-Identifier: GPL-2.0
/*
 * apply - carries a plan out, and remembers what was made for it
 *
 * Routes and rules are marked as pamsd's by their protocol. Endpoints can't be marked: those that
 * pamsd adds are written into a file first, for the case that it is killed.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>
#include <linux/mptcp.h>
#include <linux/rtnetlink.h>

#include "path.h"

/* The path manager's limit of further subflows. */
#define SUBFLOWS_MOST	8

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
static void save(struct applied *applied)
{
	json_t *list = json_array(), *state;
	char text[ADDRESS_TEXT];
	int err;

	for_each(const struct made, made, &applied->made)
		json_array_append_new(list, json_pack("{s:s, s:i, s:i}", "address",
						      prefix_text(text, &made->address),
						      "ifindex", (int)made->ifindex,
						      "id", made->id));
	state = json_pack("{s:s, s:o, s:i, s:i}", "boot", boot_id(), "endpoints", list,
			  "limit_before", (int)applied->limit_before,
			  "limit", (int)applied->limit);
	err = keep_write(applied->file, state);
	json_decref(state);
	applied->unsaved = err;
	if (err)
		say_seldom(&applied->unwritten, "%s can't be written: if pamsd is killed, the "
			   "paths that it adds stay: %s", applied->file, strerror(-err));
}

/* What an earlier pamsd made since the machine was started. */
void apply_restore(struct applied *applied)
{
	const char *why, *address, *boot = boot_id();
	json_t *state = keep_read(applied->file, &why), *one;
	size_t i;

	if (why)
		say("%s: %s", applied->file, why);
	if (state && !strcmp(boot, json_string_value(json_object_get(state, "boot")) ?: "")) {
		json_array_foreach(json_object_get(state, "endpoints"), i, one) {
			struct made made = { };

			made.ifindex = json_integer_value(json_object_get(one, "ifindex"));
			made.id = json_integer_value(json_object_get(one, "id"));
			address = json_string_value(json_object_get(one, "address"));
			if (address && !prefix_parse(&made.address, address))
				*(struct made *)list_add(&applied->made, sizeof(made)) = made;
		}
		applied->limit_before = json_integer_value(json_object_get(state, "limit_before"));
		applied->limit = json_integer_value(json_object_get(state, "limit"));
	}
	json_decref(state);
}

/* --- the difference between what should be there and what is --- */

void refuse(struct refused *refused, const char *what, const char *interface, int err)
{
	refused->any = true;
	say_seldom(&refused->seldom, "%s: the kernel refuses %s: %s", interface, what,
		   strerror(-err));
}

static const char *name_of(const struct applied *applied, unsigned int ifindex)
{
	const struct scene_link *link = scene_link(applied->scene, ifindex);

	return link ? link->name : "an interface that is gone";
}

/* What was taken away meanwhile need not be removed, what was added need not be added. */
static bool failed(int err, bool add)
{
	if (add)
		return err && err != -EEXIST;
	return err && err != -ENOENT && err != -ENODEV;
}

static void settle_routes(struct applied *applied, const struct plan *plan)
{
	int err;

	for_each(const struct scene_route, route, &applied->scene->routes)
		if (route->ours && !has_route(&plan->routes, route)) {
			err = scene_route(route, false);
			if (failed(err, false))
				refuse(applied->refused, "to remove a route",
				       name_of(applied, route->ifindex), err);
		}
	for_each(const struct scene_route, route, &plan->routes)
		if (!has_route(&applied->scene->routes, route)) {
			err = scene_route(route, true);
			if (failed(err, true))
				refuse(applied->refused, "a route",
				       name_of(applied, route->ifindex), err);
		}
}

static void settle_rules(struct applied *applied, const struct plan *plan, bool add)
{
	const struct list *from = add ? &plan->rules : &applied->scene->rules;
	const struct list *to = add ? &applied->scene->rules : &plan->rules;

	for_each(const struct scene_rule, rule, from) {
		int err = has_rule(to, rule) ? 0 : scene_rule(rule, add);

		if (failed(err, add))
			refuse(applied->refused, "a rule", "routing", err);
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

static void forget_made(struct applied *applied, struct made *made)
{
	*made = ((struct made *)applied->made.at)[--applied->made.count];
	applied->unsaved = true;
}

static void add_endpoint(struct applied *applied, const struct made *wanted)
{
	struct endpoint endpoint = {
		.family = wanted->address.family,
		.ifindex = wanted->ifindex,
		.flags = MPTCP_PM_ADDR_FLAG_SUBFLOW,
	};
	int err;

	memcpy(endpoint.address, wanted->address.address, sizeof(endpoint.address));
	*(struct made *)list_add(&applied->made, sizeof(*wanted)) = *wanted;
	save(applied);
	err = endpoint_add(&endpoint);
	if (!err) {
		say("%s: a path", name_of(applied, wanted->ifindex));
		return;
	}
	forget_made(applied, made_at(&applied->made, &wanted->address));
	refuse(applied->refused, "an endpoint", name_of(applied, wanted->ifindex), err);
}

static int read_endpoints(struct applied *applied, struct endpoint list[ENDPOINTS_MAX])
{
	int count = endpoints_read(list);

	if (count < 0) {
		applied->refused->any = true;
		say_seldom(&applied->unread, "the path manager's endpoints can't be read: %s",
			   strerror(-count));
	}
	return count;
}

/*
 * Forget those that somebody took away and made anew: they are theirs. The caps, too, may give
 * one back with another id.
 */
static void leave_others(struct applied *applied, const struct endpoint *list, int count)
{
	for (unsigned int i = applied->made.count; i-- && !applied->caps;) {
		struct made *made = (struct made *)applied->made.at + i;
		const struct endpoint *there = endpoint_at(list, count, &made->address);

		if (there && made->id && there->id != made->id)
			forget_made(applied, made);
	}
}

static void note_ids(struct applied *applied)
{
	struct endpoint list[ENDPOINTS_MAX];
	int count = -1;

	for_each(struct made, made, &applied->made) {
		const struct endpoint *there;

		if (made->id)
			continue;
		if (count < 0)
			count = read_endpoints(applied, list);
		there = endpoint_at(list, count, &made->address);
		if (!there)
			continue;
		made->id = there->id;
		applied->unsaved = true;
	}
}

/* Remove those that were made, but for the plan's; of the first ones, as the list has them. */
static void remove_endpoints(struct applied *applied, const struct plan *plan,
			     const struct endpoint *list, int count, unsigned int first)
{
	for (unsigned int i = first < applied->made.count ? first : applied->made.count; i--;) {
		struct made *made = (struct made *)applied->made.at + i;
		const struct endpoint *there = endpoint_at(list, count, &made->address);
		int err;

		if (made_at(&plan->endpoints, &made->address))
			continue;
		/* the caps give it back */
		if (!there && applied->caps && caps_have_taken(applied->caps, &made->address))
			continue;
		err = there ? endpoint_remove(there) : 0;
		if (failed(err, false) && err != -EINVAL) {
			refuse(applied->refused, "to remove an endpoint",
			       name_of(applied, made->ifindex), err);
			continue;
		}
		say("%s: no path any more", name_of(applied, made->ifindex));
		forget_made(applied, made);
	}
}

static void settle_endpoints(struct applied *applied, const struct plan *plan)
{
	struct endpoint list[ENDPOINTS_MAX];
	int count = read_endpoints(applied, list);
	unsigned int before;

	if (count < 0)
		return;
	leave_others(applied, list, count);
	before = applied->made.count;
	/* new ones first: connections go over to them */
	for_each(const struct made, wanted, &plan->endpoints) {
		const struct endpoint *there = endpoint_at(list, count, &wanted->address);
		struct made *made = made_at(&applied->made, &wanted->address);

		/* the address has moved to another interface */
		if (made && there && there->ifindex != wanted->ifindex && !endpoint_remove(there))
			there = NULL;
		if (there)
			continue;
		if (made)
			forget_made(applied, made);
		add_endpoint(applied, wanted);
	}
	note_ids(applied);
	remove_endpoints(applied, plan, list, count, before);
	if (applied->unsaved)
		save(applied);
}

static void raise_limit(struct applied *applied, const struct plan *plan)
{
	unsigned int wanted = plan->endpoints.count;
	uint32_t now;
	int err = endpoint_limit(&now);

	if (wanted > SUBFLOWS_MOST)
		wanted = SUBFLOWS_MOST;
	/* somebody has set another one */
	if (!err && now != applied->limit)
		applied->limit_before = 0;
	if (err || now >= wanted)
		return;
	if (!applied->limit_before)
		applied->limit_before = now + 1;
	applied->limit = wanted;
	save(applied);
	err = endpoint_set_limit(wanted);
	if (err)
		refuse(applied->refused, "a higher limit of subflows", "mptcp", err);
}

static void lower_limit(struct applied *applied)
{
	uint32_t now;

	if (applied->limit_before && !endpoint_limit(&now) && now == applied->limit)
		endpoint_set_limit(applied->limit_before - 1);
	applied->unsaved |= !!applied->limit_before;
	applied->limit_before = 0;
}

void apply(struct applied *applied, const struct plan *plan)
{
	settle_routes(applied, plan);
	settle_rules(applied, plan, true);
	raise_limit(applied, plan);
	settle_endpoints(applied, plan);
	settle_rules(applied, plan, false);
}

void apply_undo(struct applied *applied, const struct plan *stays)
{
	struct endpoint list[ENDPOINTS_MAX];
	int count = read_endpoints(applied, list);

	for_each(const struct made, made, &applied->made)
		if (applied->caps)
			caps_leave(applied->caps, &made->address,
				   made_at(&stays->endpoints, &made->address) &&
				   endpoint_at(list, count, &made->address));
	if (count >= 0) {
		leave_others(applied, list, count);
		remove_endpoints(applied, stays, list, count, applied->made.count);
	}
	settle_rules(applied, stays, false);
	settle_routes(applied, stays);
	if (!applied->made.count)
		lower_limit(applied);
	/* rules may stay without an endpoint, for ordinary TCP: --clean looks for the file */
	if (!applied->made.count && !stays->rules.count)
		unlink(applied->file);
	else if (applied->unsaved || access(applied->file, F_OK))
		save(applied);
}
