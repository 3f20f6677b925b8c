// SPDX-License-Identifier: GPL-2.0
/*
 * caps_keep - the state file of the caps, which outlives restarts and reboots
 *
 * After a reboot all counters begin at 0, and the system has set up its endpoints anew, so
 * the file's saved endpoints are dropped. If the file can't be read, bytes were used but
 * nobody knows how many, so all quotas count as used up.
 *
 * A cap that the configuration doesn't name stays in the file until its period is over: it
 * may be configured again, or the new configuration may be refused. Each quota has the
 * counter up to which it was counted, since other caps of its interface may count on.
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include <linux/mptcp_pams.h>

#include "cap.h"

#define VERSION		1
#define BOOT_ID		"/proc/sys/kernel/random/boot_id"

static void read_boot(char boot[64])
{
	FILE *file = fopen(BOOT_ID, "re");

	if (!file || !fgets(boot, 64, file))
		*boot = 0;
	boot[strcspn(boot, "\n")] = 0;
	if (file)
		fclose(file);
}

/* --- to JSON --- */

static json_t *spell_json(const struct spell *spell)
{
	return json_pack("{s:I, s:I}", "begin", (json_int_t)spell->begin,
			 "used", (json_int_t)spell->used);
}

static json_t *counter_json(const struct counter *counter)
{
	return json_pack("{s:I, s:I}", "ifindex", (json_int_t)counter->ifindex,
			 "bytes", (json_int_t)counter->bytes);
}

static json_t *interface_json(const struct capped *capped)
{
	json_t *object = counter_json(&capped->counter);

	if (capped->lasting_cost)
		json_object_set_new(object, "cost",
				    json_integer(capped->lasting_cost));
	if (capped->metering == METERING_YES)
		json_object_set_new(object, "metered", json_true());
	return object;
}

static json_t *quota_json(const struct cap *cap)
{
	json_t *object = json_pack("{s:o, s:o, s:b, s:b}",
				   "now", spell_json(&cap->usage.now),
				   "before", spell_json(&cap->usage.before),
				   "synced", cap->usage.synced,
				   "unknown", cap->usage.unknown);

	if (cap->on->counter.known)
		json_object_set_new(object, "counter",
				    counter_json(&cap->on->counter));
	return object;
}

static json_t *held_json(const struct held *held)
{
	const struct endpoint *endpoint = &held->endpoint;
	char address[INET6_ADDRSTRLEN];

	inet_ntop(endpoint->family, endpoint->address, address,
		  sizeof(address));
	return json_pack("{s:b, s:s, s:s, s:b, s:i, s:i, s:I, s:I}",
			 "removed", held->removed, "address", address,
			 "interface", endpoint->interface,
			 "local", endpoint->local,
			 "id", endpoint->id, "port", endpoint->port,
			 "flags", (json_int_t)endpoint->flags,
			 "ifindex", (json_int_t)endpoint->ifindex);
}

void caps_save(struct caps *caps)
{
	json_t *quotas = json_copy(caps->kept_quotas);
	/* only kept quotas need kept counters */
	json_t *interfaces = json_object_size(quotas) ?
			     json_copy(caps->kept_interfaces) : json_object();
	json_t *held = json_array(), *state;
	char boot[64];
	int err;

	for (unsigned int i = 0; i < caps->capped_count; i++) {
		const struct capped *capped = &caps->capped[i];

		if (capped->counter.known)
			json_object_set_new(interfaces, capped->name,
					    interface_json(capped));
	}
	for (unsigned int i = 0; i < caps->config->cap_count; i++) {
		const struct cap *cap = &caps->caps[i];

		if (cap->config->quota_bytes)
			json_object_set_new(quotas, cap->config->name,
					    quota_json(cap));
	}
	for (unsigned int i = 0; i < caps->held_count; i++)
		json_array_append_new(held, held_json(&caps->held[i]));
	read_boot(boot);
	state = json_pack("{s:i, s:s, s:o, s:o, s:o}", "version", VERSION,
			  "boot", boot, "interfaces", interfaces,
			  "quotas", quotas, "held", held);
	err = keep_write(caps->config->state, state);
	json_decref(state);
	caps->saved_us = now_us();
	if (err) {
		say_seldom(&caps->unsaved, "%s can't be written: what is used "
			   "until pamsd or the machine is started again may be "
			   "forgotten then: %s",
			   caps->config->state, strerror(-err));
		return;
	}
	for (unsigned int i = 0; i < caps->config->cap_count; i++)
		caps->caps[i].saved_bytes = caps->caps[i].usage.now.used;
}

/* --- from JSON --- */

static bool take_spell(struct spell *spell, json_t *object)
{
	json_t *begin = json_object_get(object, "begin");
	json_t *used = json_object_get(object, "used");

	if (!json_is_integer(begin) || json_integer_value(begin) < 0 ||
	    json_integer_value(begin) > UINT32_MAX || !json_is_integer(used) ||
	    json_integer_value(used) < 0)
		return false;
	spell->begin = json_integer_value(begin);
	spell->used = json_integer_value(used);
	return true;
}

static bool take_usage(struct usage *usage, json_t *object)
{
	usage->synced = json_is_true(json_object_get(object, "synced"));
	usage->unknown = json_is_true(json_object_get(object, "unknown"));
	return take_spell(&usage->now, json_object_get(object, "now")) &&
	       take_spell(&usage->before, json_object_get(object, "before")) &&
	       is_date(usage->now.begin) &&
	       (!usage->before.begin || is_date(usage->before.begin));
}

static bool take_counter(struct counter *counter, json_t *object)
{
	json_t *ifindex = json_object_get(object, "ifindex");
	json_t *bytes = json_object_get(object, "bytes");

	if (!json_is_integer(ifindex) || !json_is_integer(bytes) ||
	    json_integer_value(bytes) < 0)
		return false;
	counter->known = true;
	counter->ifindex = json_integer_value(ifindex);
	counter->bytes = json_integer_value(bytes);
	return true;
}

/* Bytes that other caps of its interface counted while this cap wasn't configured. */
static uint64_t missed(const struct cap *cap, const struct counter *seen)
{
	const struct counter *now = &cap->on->counter;

	if (!seen->known || !now->known || seen->ifindex != now->ifindex ||
	    seen->bytes > now->bytes)
		return 0;
	return now->bytes - seen->bytes;
}

/* Is the period over? Its length is unknown, but at most a month. */
static bool is_over(const struct usage *usage)
{
	time_t seconds;
	bool synced = clock_read(&seconds);
	struct tm now;

	localtime_r(&seconds, &now);
	return synced && period_end(usage->now.begin, PERIOD_MONTH) <=
			 period_begin(&now, PERIOD_DAY, 1);
}

static struct cap *find_quota(struct caps *caps, const char *name)
{
	for (unsigned int i = 0; i < caps->config->cap_count; i++)
		if (caps->caps[i].config->quota_bytes &&
		    !strcmp(caps->caps[i].config->name, name))
			return &caps->caps[i];
	return NULL;
}

static bool take_quota(struct caps *caps, const char *name, json_t *object)
{
	struct cap *cap = find_quota(caps, name);
	json_t *counter = json_object_get(object, "counter");
	struct counter seen = { };
	struct usage usage = { };

	if (!take_usage(&usage, object) ||
	    (counter && !take_counter(&seen, counter)))
		return false;
	if (cap) {
		usage.now.used += missed(cap, &seen);
		cap->usage = usage;
	} else if (!is_over(&usage)) {
		json_object_set(caps->kept_quotas, name, object);
	}
	return true;
}

static bool take_interface(struct caps *caps, const char *name, json_t *object,
			   bool booted)
{
	json_t *cost = json_object_get(object, "cost"), *kept;
	struct counter counter = { };

	if (!take_counter(&counter, object) ||
	    (cost && (json_integer_value(cost) < 1 ||
		      json_integer_value(cost) > MPTCP_PAMS_COST_MAX)))
		return false;
	if (booted)
		counter = (struct counter){ .known = true };
	for (unsigned int i = 0; i < caps->capped_count; i++) {
		struct capped *capped = &caps->capped[i];

		if (strcmp(capped->name, name))
			continue;
		capped->counter = counter;
		capped->lasting_cost = json_integer_value(cost);
		if (json_is_true(json_object_get(object, "metered")))
			capped->metering = METERING_YES;
		/* makes caps_tell() restore the cost even if no cap is active */
		capped->told = cost;
		return true;
	}
	kept = counter_json(&counter);
	if (cost)
		json_object_set(kept, "cost", cost);
	json_object_set_new(caps->kept_interfaces, name, kept);
	return true;
}

static bool take_held(struct caps *caps, json_t *object)
{
	const char *address, *interface;
	struct held held = { };
	json_int_t flags, ifindex;
	int removed, id, port, local = false;

	/* an older pamsd wrote no "local" */
	if (json_unpack(object, "{s:b, s:s, s:s, s?b, s:i, s:i, s:I, s:I}",
			"removed", &removed, "address", &address,
			"interface", &interface, "local", &local,
			"id", &id, "port", &port,
			"flags", &flags, "ifindex", &ifindex) ||
	    caps->held_count == ENDPOINTS_MAX)
		return false;
	held.removed = removed;
	held.endpoint.family = strchr(address, ':') ? AF_INET6 : AF_INET;
	if (inet_pton(held.endpoint.family, address,
		      held.endpoint.address) != 1)
		return false;
	snprintf(held.endpoint.interface, IF_NAMESIZE, "%.*s", IF_NAMESIZE - 1,
		 interface);
	held.endpoint.local = local;
	held.endpoint.id = id;
	held.endpoint.port = port;
	held.endpoint.flags = flags;
	held.endpoint.ifindex = ifindex;
	caps->held[caps->held_count++] = held;
	return true;
}

/* Load the state. Returns false if any part of it is wrong. */
static bool take(struct caps *caps, json_t *state)
{
	json_t *version = json_object_get(state, "version");
	const char *was = json_string_value(json_object_get(state, "boot"));
	json_t *held = json_object_get(state, "held"), *value;
	bool fine = json_integer_value(version) == VERSION && was;
	char boot[64];
	const char *name;
	bool booted;
	size_t i;

	read_boot(boot);
	booted = !was || !*boot || strcmp(was, boot);
	json_object_foreach(json_object_get(state, "interfaces"), name, value)
		fine = fine && take_interface(caps, name, value, booted);
	/* take_quota() needs the interfaces' counters */
	json_object_foreach(json_object_get(state, "quotas"), name, value)
		fine = fine && take_quota(caps, name, value);
	if (!booted)
		json_array_foreach(held, i, value)
			fine = fine && take_held(caps, value);
	return fine;
}

void caps_restore(struct caps *caps)
{
	const char *why;
	json_t *state = keep_read(caps->config->state, &why);
	bool fine;

	caps->kept_quotas = json_object();
	caps->kept_interfaces = json_object();
	fine = !why && (!state || take(caps, state));
	/* keep a file that pamsd didn't write, for whoever did */
	if (state && !fine)
		keep_put_aside(caps->config->state, "corrupt");
	json_decref(state);
	for (unsigned int i = 0; i < caps->config->cap_count; i++) {
		struct cap *cap = &caps->caps[i];

		if (!fine) {
			memset(&cap->usage, 0, sizeof(cap->usage));
			cap->usage.unknown = true;
		}
		cap->saved_bytes = cap->usage.now.used;
	}
	if (!fine)
		say("%s: %s: all quotas are taken as used up until their periods "
		    "end, or the file is removed and pamsd started again",
		    caps->config->state, why ?: "is not what pamsd wrote");
}
