// SPDX-License-Identifier: GPL-2.0
/*
 * caps_apply - applies the effects of caps, and restores the previous state afterwards
 *
 * A cap's cost is set in the module for all packets that leave through the interface. It
 * has a short lifetime and is set again and again, so it ends with the daemon. The same
 * holds for pamsplit's "lend nothing". The module has one cost per path: a lasting cost,
 * which somebody set without a lifetime, is saved to the state file before a cap's cost
 * replaces it, and is restored afterwards.
 *
 * An endpoint of the path manager is saved to the state file before it becomes a backup or
 * is removed, so that it is restored even if the daemon is killed. If another endpoint has
 * got its id meanwhile, the kernel picks a new id, after all endpoints that keep their ids
 * are restored. A removed endpoint is restored once its address exists again. If its
 * interface has got another address instead, the endpoint is forgotten when the caps are
 * released, or when more endpoints have to be saved than there is room for: a dial-up link
 * has a new address each time, and the kernel's list of endpoints is short.
 *
 * With costs-as-backup, endpoints of interfaces that cost more than the cheapest usable
 * interface become backups, too: MP_PRIO tells that to the peer, and any server knows it.
 */
#include <errno.h>
#include <string.h>

#include <linux/mptcp.h>

#include "../../lib/netlink.h"
#include "cap.h"

#define TTL_MS		10000

/* --- costs, and pamsplit's lending --- */

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
	/* without a lifetime, unless it is 0, the default */
	tell_cost(caps, ifindex, cost, cost ? 0 : 1);
}

/*
 * Update the interface's lasting cost from the module. If the module has no cost, although the
 * cap's can't have expired, somebody has deleted the cost, and with it the lasting one.
 */
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

bool caps_forbid(const struct caps *caps, const char *interface)
{
	return !caps->released && effect_of_caps(caps, interface).forbid;
}

/* The interface's cost: the higher one of the caps' and the module's. */
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

/*
 * Find the least cost among usable interfaces, which are those that are up and have an endpoint,
 * and those with a default route.
 */
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

static struct held *find_held(const struct caps *caps, const struct endpoint *endpoint)
{
	for (unsigned int i = 0; i < caps->held_count; i++)
		if (is_same(&caps->held[i].endpoint, endpoint))
			return (struct held *)&caps->held[i];
	return NULL;
}

static struct held *held_at(const struct caps *caps, const struct prefix *address)
{
	struct endpoint endpoint = { .family = address->family };

	memcpy(endpoint.address, address->address, sizeof(endpoint.address));
	return find_held(caps, &endpoint);
}

bool caps_have_taken(const struct caps *caps, const struct prefix *address)
{
	const struct held *held = held_at(caps, address);

	return held && held->removed;
}

static void drop(struct caps *caps, struct held *held)
{
	*held = caps->held[--caps->held_count];
}

void caps_leave(struct caps *caps, const struct prefix *address, bool stays)
{
	struct held *held = held_at(caps, address);

	if (!held)
		return;
	held->left = stays;
	if (stays)
		return;
	drop(caps, held);
	caps_save(caps);
}

static void complain(struct caps *caps, const struct endpoint *endpoint,
		     const char *what, int err)
{
	say_seldom(&caps->refused, "an endpoint of %s can't be %s: %s",
		   endpoint->interface, what, strerror(-err));
}

static enum presence presence_of(const struct held *held)
{
	/* behind NAT the endpoint's address may not be on this machine, so it can't go away */
	if (!held->endpoint.local)
		return ADDRESS_THERE;
	return endpoint_presence(&held->endpoint);
}

/*
 * Make room: forget the removed endpoints of the same interface and family as endpoint "by"
 * whose address has been replaced by another one.
 */
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

/*
 * Save the endpoint's original state, to restore it later. If there is no room, the cap is
 * applied all the same, and the endpoint won't be restored.
 */
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

/* Bring an endpoint that the kernel has into the state that the caps ask for. */
static void settle(struct caps *caps, const struct endpoint *endpoint)
{
	struct effect effect = effect_on(caps, endpoint->interface);
	struct held *held = find_held(caps, endpoint);
	int err = 0;

	if (held && held->left)
		return;
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

/*
 * Handle a saved endpoint that the kernel doesn't have now. If pamsd removed it, add it again
 * once no cap forbids it and its address exists. Returns true if the saved state isn't needed
 * any more: the endpoint is restored, or somebody else has removed it.
 */
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
	/* an address may come back beside the others: wait until the caps are released */
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

/*
 * Restore the saved endpoints with this value of id_taken that the kernel doesn't have. Those
 * with a new id come last, so that the kernel doesn't give them an id that another one keeps.
 */
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
