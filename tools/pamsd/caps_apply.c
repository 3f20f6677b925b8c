// SPDX-License-Identifier: GPL-2.0
/*
 * caps_apply - makes the kernel do what caps ask for, and gives it back
 *
 * A cost is told to the module for whatever leaves through the interface, for a short
 * time, again and again: it ends with the daemon. So is pamsplit told to lend nothing.
 * A path has one cost in the module. One that somebody set until it is deleted is
 * written down before a cap's takes its place, and given back afterwards.
 * An endpoint of the path manager that becomes a backup, or is removed, is written down
 * before: so it is given back also after the daemon was killed. If another one took its
 * id meanwhile it gets one that the kernel picks, after those that keep theirs.
 * A removed one waits for its address. One whose interface got another address instead is
 * forgotten at the end, or when more are to be written down than there is room for: a link
 * that dials in has a new address each time, and the kernel's list has room for few.
 *
 * With costs-as-backup also the endpoints of an interface that costs more than the
 * cheapest way out become backups: the peer is told by MP_PRIO, which any server knows.
 */
#include <errno.h>
#include <string.h>

#include <linux/mptcp.h>

#include "../lib/netlink.h"
#include "caps.h"

#define TTL_MS		10000

/* --- costs, and what is lent --- */

static void tell_cost(struct caps *caps, unsigned int ifindex, uint8_t cost,
		      unsigned int ttl_ms)
{
	struct pams_path path = {
		.has_cost = true,
		.cost = cost,
		.ttl_ms = ttl_ms,
	};

	pams_path_key_ifindex(&path, ifindex);
	kernel_set(caps->kernel, &path);
}

void caps_give_back_cost(struct caps *caps, unsigned int ifindex, uint8_t cost)
{
	/* until it is deleted; 0 is what it is when nobody says */
	tell_cost(caps, ifindex, cost, cost ? 0 : 1);
}

/* Where a cap's cost can't have expired and there is none, somebody has deleted it. */
static void learn_lasting_cost(struct caps *caps, struct capped *capped,
			       bool expired)
{
	uint8_t cost = capped->lasting_cost;
	struct pams_path path = { };
	int err;

	pams_path_key_ifindex(&path, capped->ifindex);
	err = kernel_get(caps->kernel, &path);
	if (!err && path.has_cost && path.cost_stays)
		cost = path.cost;
	else if ((err == -ENOENT || (!err && !path.has_cost)) && !expired)
		cost = 0;
	if (cost == capped->lasting_cost)
		return;
	capped->lasting_cost = cost;
	caps_save(caps);
}

static void settle_cost(struct caps *caps, struct capped *capped, bool expired)
{
	uint8_t cost = capped->effect.cost;

	learn_lasting_cost(caps, capped, expired || !capped->told);
	if (!cost) {
		caps_give_back_cost(caps, capped->ifindex, capped->lasting_cost);
		capped->lasting_cost = 0;
		return;
	}
	if (cost < capped->lasting_cost)
		cost = capped->lasting_cost;
	tell_cost(caps, capped->ifindex, cost, TTL_MS);
}

static void tell_lending(struct caps *caps, const struct capped *capped)
{
	int err = pamsplit_lend_nothing(capped->name,
					capped->effect.lend_nothing ? TTL_MS : 0);

	if (err)
		say_seldom(&caps->refused, "pamsplit at %s can't be told what to "
			   "lend: %s", capped->name, strerror(-err));
}

void caps_tell(struct caps *caps)
{
	uint64_t us = now_us();
	bool expired = us - caps->told_us >= TTL_MS * 1000;

	caps->told_us = us;
	for (unsigned int i = 0; i < caps->capped_count; i++) {
		struct capped *capped = &caps->capped[i];
		bool asks = capped->effect.cost || capped->effect.lend_nothing;

		if (!capped->ifindex || (!asks && !capped->told))
			continue;
		if (capped->lends)
			tell_lending(caps, capped);
		else
			settle_cost(caps, capped, expired);
		capped->told = asks;
	}
}

/* --- endpoints --- */

static bool is_same(const struct endpoint *a, const struct endpoint *b)
{
	return a->family == b->family && a->port == b->port &&
	       !memcmp(a->address, b->address, sizeof(a->address));
}

static struct effect effect_of_caps(const struct caps *caps,
				    const char *interface)
{
	for (unsigned int i = 0; i < caps->capped_count; i++)
		if (!strcmp(caps->capped[i].name, interface))
			return caps->capped[i].effect;
	return (struct effect){ };
}

/* By a cap, or as the module was told. */
static uint8_t cost_of(const struct caps *caps, const char *interface)
{
	uint8_t cost = effect_of_caps(caps, interface).cost;
	uint8_t told = kernel_cost(caps->kernel, if_nametoindex(interface));

	return told > cost ? told : cost;
}

static bool costs_too_much(const struct caps *caps, const char *interface)
{
	return caps->config->costs_as_backup && !caps->released &&
	       *interface && cost_of(caps, interface) > caps->least_cost;
}

static struct effect effect_on(const struct caps *caps, const char *interface)
{
	struct effect effect = effect_of_caps(caps, interface);

	effect.backup |= costs_too_much(caps, interface);
	return effect;
}

/* Of what could be used: endpoints whose interface is up, and default routes. */
static void find_least_cost(struct caps *caps, const struct endpoint *list,
			    int count)
{
	char exits[EXITS_MAX][IF_NAMESIZE];
	unsigned int exit_count = exits_read(exits);
	uint8_t least = UINT8_MAX, cost;

	for (int i = 0; i < count; i++) {
		cost = list[i].up ? cost_of(caps, list[i].interface) : least;
		if (cost < least)
			least = cost;
	}
	for (unsigned int i = 0; i < exit_count; i++) {
		cost = cost_of(caps, exits[i]);
		if (cost < least)
			least = cost;
	}
	caps->least_cost = least;
}

static struct held *find_held(struct caps *caps, const struct endpoint *endpoint)
{
	for (unsigned int i = 0; i < caps->held_count; i++)
		if (is_same(&caps->held[i].endpoint, endpoint))
			return &caps->held[i];
	return NULL;
}

static void drop(struct caps *caps, struct held *held)
{
	*held = caps->held[--caps->held_count];
}

static void complain(struct caps *caps, const struct endpoint *endpoint,
		     const char *what, int err)
{
	say_seldom(&caps->refused, "an endpoint of %s can't be %s: %s",
		   endpoint->interface, what, strerror(-err));
}

static enum presence presence_of(const struct held *held)
{
	/* behind NAT an endpoint's address is none of this machine's */
	if (!held->endpoint.local)
		return ADDRESS_THERE;
	return endpoint_presence(&held->endpoint);
}

/* Those that are removed, of an interface that has got another address. */
static void forget_replaced(struct caps *caps, const struct endpoint *by)
{
	for (unsigned int i = caps->held_count; i--;) {
		struct held *held = &caps->held[i];

		if (held->removed && held->endpoint.family == by->family &&
		    !strcmp(held->endpoint.interface, by->interface) &&
		    presence_of(held) == ADDRESS_REPLACED)
			drop(caps, held);
	}
}

/* Write down how it was, if there is room; what a cap asks for goes first. */
static void hold(struct caps *caps, const struct endpoint *endpoint,
		 bool removed)
{
	if (caps->held_count == ENDPOINTS_MAX)
		forget_replaced(caps, endpoint);
	if (caps->held_count == ENDPOINTS_MAX) {
		say_seldom(&caps->full, "more than %u endpoints are held: one "
			   "of %s won't be given back", ENDPOINTS_MAX,
			   endpoint->interface);
		return;
	}
	caps->held[caps->held_count++] = (struct held){
		.endpoint = *endpoint,
		.removed = removed,
	};
	caps_save(caps);
}

/* An endpoint that is there, as it ought to be. */
static void settle(struct caps *caps, const struct endpoint *endpoint)
{
	struct effect effect = effect_on(caps, endpoint->interface);
	struct held *held = find_held(caps, endpoint);
	int err = 0;

	if (!effect.forbid && !effect.backup) {
		if (!held)
			return;
		if (!held->removed &&
		    endpoint->flags & MPTCP_PM_ADDR_FLAG_BACKUP)
			err = endpoint_set_backup(endpoint, false);
		if (err)
			complain(caps, endpoint, "used as before", err);
		else
			drop(caps, held);
		return;
	}
	if (!held && !effect.forbid &&
	    endpoint->flags & MPTCP_PM_ADDR_FLAG_BACKUP)
		return;
	if (!held) {
		if (!effect.forbid && costs_too_much(caps, endpoint->interface))
			say("%s costs more than another way: a backup",
			    endpoint->interface);
		hold(caps, endpoint, effect.forbid);
	} else if (held->removed != effect.forbid) {
		held->removed = effect.forbid;
		caps_save(caps);
	}
	if (effect.forbid)
		err = endpoint_remove(endpoint);
	else if (!(endpoint->flags & MPTCP_PM_ADDR_FLAG_BACKUP))
		err = endpoint_set_backup(endpoint, true);
	if (err)
		complain(caps, endpoint, effect.forbid ? "removed" :
			 "made a backup", err);
}

static bool is_in(const struct endpoint *endpoint, const struct endpoint *list,
		  int count)
{
	for (int i = 0; i < count; i++)
		if (is_same(endpoint, &list[i]))
			return true;
	return false;
}

/* One that isn't there: gone without us, or removed by us. True: forget it. */
static bool restore(struct caps *caps, struct held *held)
{
	struct effect effect = effect_on(caps, held->endpoint.interface);
	struct endpoint endpoint = held->endpoint;
	enum presence presence;
	int err;

	if (!held->removed)
		return true;
	if (effect.forbid)
		return false;
	presence = presence_of(held);
	/* an interface may have others beside it, so it may come back */
	if (presence != ADDRESS_THERE && !caps->released)
		return false;
	if (presence == ADDRESS_REPLACED)
		return true;
	if (endpoint.ifindex)
		endpoint.ifindex = if_nametoindex(endpoint.interface);
	if (held->endpoint.ifindex && !endpoint.ifindex)
		return false;
	if (effect.backup)
		endpoint.flags |= MPTCP_PM_ADDR_FLAG_BACKUP;
	if (held->id_taken)
		endpoint.id = 0;
	err = endpoint_add(&endpoint);
	if (err == -EBUSY && endpoint.id) {
		held->id_taken = true;
		return false;
	}
	if (err) {
		held->id_taken = false;
		complain(caps, &endpoint, "given back", err);
		return false;
	}
	if (held->id_taken)
		say("an endpoint of %s gets another id: %u is another's now",
		    endpoint.interface, held->endpoint.id);
	held->id_taken = false;
	held->removed = false;
	if (effect.backup)
		caps_save(caps);
	return !effect.backup;
}

/* Those that aren't there; those first that can have their ids. */
static void restore_all(struct caps *caps, const struct endpoint *list,
			int count, bool id_taken)
{
	for (unsigned int i = caps->held_count; i--;)
		if (caps->held[i].id_taken == id_taken &&
		    !is_in(&caps->held[i].endpoint, list, count) &&
		    restore(caps, &caps->held[i]))
			drop(caps, &caps->held[i]);
}

void caps_settle_endpoints(struct caps *caps)
{
	struct endpoint list[ENDPOINTS_MAX];
	unsigned int before = caps->held_count;
	int count = endpoints_read(list);

	if (count < 0) {
		say_seldom(&caps->unread, "the path manager's endpoints can't be "
			   "read: %s", strerror(-count));
		return;
	}
	if (caps->config->costs_as_backup)
		find_least_cost(caps, list, count);
	for (int j = 0; j < count; j++)
		settle(caps, &list[j]);
	restore_all(caps, list, count, false);
	restore_all(caps, list, count, true);
	if (caps->held_count < before)
		caps_save(caps);
}
