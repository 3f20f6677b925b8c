// SPDX-License-Identifier: GPL-2.0
/*
 * caps - limits on the use of interfaces
 *
 * A cap is active while at least one of its reasons holds: the quota of a day or month is
 * used up, the battery is low, it is a certain time of the day, or NetworkManager calls the
 * interface metered. A cap without reasons is always active. An active cap gives its
 * interface a cost, makes it a backup or forbids it; a cap on pamsplit makes it lend
 * nothing, and its quota counts the lent bytes. All active caps of an interface apply.
 * With costs-as-backup but no caps, this only makes backups of costly interfaces.
 *
 * The counters are read once a second, and more often when a quota is nearly used up
 * (quota.c).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <event2/event.h>
#include <jansson.h>

#include "cap.h"

#define LOOK_MS		1000
#define BATTERY_US	5000000
#define METERED_US	5000000
#define TELL_US	3000000
#define SAVE_US		60000000
/* Hysteresis in percent: the battery is low until it is this much above the threshold. */
#define BATTERY_MARGIN	3

/* --- reasons --- */

static bool is_in_hours(const struct cap_config *config, const struct tm *now)
{
	unsigned int min = now->tm_hour * 60 + now->tm_min;

	for (unsigned int i = 0; i < config->hours_count; i++) {
		const struct hours *hours = &config->hours[i];
		bool after = min >= hours->from_min, before = min < hours->to_min;

		if (hours->from_min < hours->to_min ? after && before :
						      after || before)
			return true;
	}
	return false;
}

static bool is_low(const struct cap *cap, const struct battery *battery)
{
	unsigned int below = cap->config->battery_below;

	if (!below || !battery->there || !battery->discharging)
		return false;
	return battery->percent < below + (cap->low ? BATTERY_MARGIN : 0);
}

static void say_change(const struct cap *cap)
{
	const struct effect *then = &cap->config->then;
	const char *why = cap->used_up ? "its quota is used up" :
			  cap->low ? "the battery is low" :
			  cap->in_hours ? "it is its time of the day" :
			  cap->metered ? "it is metered" :
					  "always";

	if (!cap->active)
		say("cap '%s': %s is given back", cap->config->name,
		    cap->on->name);
	else if (then->lend_nothing)
		say("cap '%s': nothing is lent: %s", cap->config->name, why);
	else if (then->forbid || then->backup)
		say("cap '%s': %s is %s: %s", cap->config->name, cap->on->name,
		    then->forbid ? "forbidden" : "a backup", why);
	else
		say("cap '%s': %s costs %u: %s", cap->config->name,
		    cap->on->name, then->cost, why);
}

/* Update the cap's period and find out whether the cap is active. */
static void judge(struct caps *caps, struct cap *cap, const struct tm *now,
		  bool synced)
{
	const struct cap_config *config = cap->config;
	bool was = cap->active, needs_none;

	if (config->quota_bytes) {
		bool was_synced = cap->usage.synced;
		bool new = usage_turn(&cap->usage,
				      period_begin(now, config->period,
						   config->from_day), synced);

		if (new || cap->usage.synced != was_synced)
			cap->saved_bytes = UINT64_MAX;
	}
	cap->used_up = config->quota_bytes &&
		       (cap->usage.unknown ||
			cap->usage.now.used >= config->quota_bytes);
	cap->low = is_low(cap, &caps->battery);
	cap->in_hours = is_in_hours(config, now);
	cap->metered = config->metered && cap->on->metering == METERING_YES;
	needs_none = !config->quota_bytes && !config->battery_below &&
		     !config->hours_count && !config->metered;
	cap->active = cap->used_up || cap->low || cap->in_hours ||
		      cap->metered || needs_none;
	if (cap->active != was)
		say_change(cap);
}

/* --- counting --- */

/* Read how many bytes pamsplit has lent since it was started, and its pid. */
static int read_lent(const char *path, unsigned int *pid, uint64_t *bytes)
{
	char *answer;
	int err = pamsplit_ask(path, &answer, pid);

	/* pamsplit isn't running */
	if (err == -ENOENT || err == -ECONNREFUSED)
		return -ENODEV;
	if (!err)
		*bytes = pamsplit_number(answer, " lent=");
	return err;
}

static void count(struct caps *caps, struct capped *capped, uint64_t us)
{
	unsigned int ifindex = 0;
	uint64_t bytes, moved, rate;
	int err = capped->lends ? read_lent(capped->name, &ifindex, &bytes) :
				  counter_read(capped->name, &ifindex, &bytes);

	if (err == -ENODEV) {
		capped->ifindex = 0;
		return;
	}
	/* the interface still exists, so its caps stay as they are */
	if (err) {
		say_seldom(&caps->unread, "the counters of %s can't be read: %s",
			   capped->name, strerror(-err));
		return;
	}
	if (capped->ifindex != ifindex)
		caps->told_us = 0;
	/* a new interface of the same name: nobody has set its cost */
	if (capped->counter.ifindex != ifindex)
		capped->lasting_cost = 0;
	capped->ifindex = ifindex;
	moved = counter_take(&capped->counter, ifindex, bytes);
	if (capped->counted_us && us > capped->counted_us) {
		rate = moved * 1000000 / (us - capped->counted_us);
		if (rate > capped->rate_byteps)
			capped->rate_byteps = rate;
	}
	capped->counted_us = us;
	for (unsigned int i = 0; i < caps->config->cap_count; i++)
		if (caps->caps[i].on == capped)
			caps->caps[i].usage.now.used += moved;
}

/* --- effects --- */

static struct effect effect_of(const struct caps *caps,
			       const struct capped *capped)
{
	struct effect effect = { };

	for (unsigned int i = 0; i < caps->config->cap_count; i++) {
		const struct cap *cap = &caps->caps[i];
		const struct effect *then = &cap->config->then;

		if (cap->on != capped || !cap->active)
			continue;
		effect.forbid |= then->forbid;
		effect.backup |= then->backup;
		effect.lend_nothing |= then->lend_nothing;
		if (then->cost > effect.cost)
			effect.cost = then->cost;
	}
	return effect;
}

static void apply(struct caps *caps, uint64_t us)
{
	bool holds = caps->held_count || caps->config->costs_as_backup;
	bool changed = false, news = false;

	for (unsigned int i = 0; i < caps->capped_count; i++) {
		struct capped *capped = &caps->capped[i];
		struct effect effect = effect_of(caps, capped);

		news |= effect.forbid != capped->effect.forbid ||
			effect.cost != capped->effect.cost;

		changed |= effect.cost != capped->effect.cost ||
			   effect.lend_nothing != capped->effect.lend_nothing;
		capped->effect = effect;
		holds |= effect.backup || effect.forbid;
	}
	/* the kernel doesn't notify of new endpoints, so look each time */
	if (holds)
		caps_settle_endpoints(caps);
	if (changed || !caps->told_us || us - caps->told_us >= TELL_US)
		caps_tell(caps);
	if (news && caps->news)
		caps->news(caps->news_arg);
}

void caps_on_change(struct caps *caps, void (*news)(void *arg), void *arg)
{
	caps->news = news;
	caps->news_arg = arg;
}

/* Has enough changed to save it? A crash of the machine may lose less than the slack. */
static bool has_to_be_saved(const struct caps *caps, uint64_t us)
{
	bool changed = false;

	for (unsigned int i = 0; i < caps->config->cap_count; i++) {
		const struct cap *cap = &caps->caps[i];
		uint64_t used = cap->usage.now.used;

		if (!cap->config->quota_bytes || cap->saved_bytes == used)
			continue;
		changed = true;
		if (cap->saved_bytes > used ||
		    (cap->saved_bytes < cap->config->quota_bytes &&
		     used - cap->saved_bytes >=
		     quota_slack(cap->config->quota_bytes) / 4))
			return true;
	}
	return changed && us - caps->saved_us >= SAVE_US;
}

static void ask_metered(struct caps *caps)
{
	for (unsigned int i = 0; i < caps->capped_count; i++)
		if (caps->capped[i].asks_metered && caps->metered)
			metered_ask(caps->metered, caps->capped[i].name);
}

/*
 * Bring the state up to date; what isn't known stays as it was, since a link that costs is used at
 * once if it counts as free for a moment. Returns whether one has changed.
 */
static bool take_metering(struct caps *caps)
{
	bool changed = false;

	for (unsigned int i = 0; i < caps->capped_count; i++) {
		struct capped *capped = &caps->capped[i];
		enum metering was = capped->metering;
		enum metering is = capped->asks_metered ? metered_is(caps->metered, capped->name) :
							  METERING_AWAY;

		if (is != METERING_UNKNOWN)
			capped->metering = is == METERING_AWAY ? METERING_UNKNOWN : is;
		changed |= capped->metering != was;
	}
	return changed;
}

static void look(struct caps *caps)
{
	uint64_t us = now_us();
	time_t seconds;
	bool synced = clock_read(&seconds), changed;
	struct tm now;

	tzset();
	localtime_r(&seconds, &now);
	if (!caps->battery_us || us - caps->battery_us >= BATTERY_US) {
		battery_read(&caps->battery);
		caps->battery_us = us;
	}
	if (!caps->metered_us || us - caps->metered_us >= METERED_US) {
		ask_metered(caps);
		caps->metered_us = us;
	}
	changed = take_metering(caps);
	for (unsigned int i = 0; i < caps->capped_count; i++)
		count(caps, &caps->capped[i], us);
	for (unsigned int i = 0; i < caps->config->cap_count; i++)
		judge(caps, &caps->caps[i], &now, synced);
	apply(caps, us);
	if (changed || has_to_be_saved(caps, us))
		caps_save(caps);
}

static unsigned int next_look_ms(const struct caps *caps)
{
	unsigned int ms = LOOK_MS;

	for (unsigned int i = 0; i < caps->config->cap_count; i++) {
		const struct cap *cap = &caps->caps[i];
		uint64_t quota = cap->config->quota_bytes, one;

		if (!quota || cap->used_up || !cap->on->ifindex)
			continue;
		one = quota_look_ms(quota - cap->usage.now.used,
				    quota_slack(quota), cap->on->rate_byteps);
		if (one < ms)
			ms = one;
	}
	return ms;
}

static void on_time(evutil_socket_t fd, short what, void *arg)
{
	struct caps *caps = arg;
	struct timeval after;
	unsigned int ms;

	(void)fd;
	(void)what;
	look(caps);
	ms = next_look_ms(caps);
	after = (struct timeval){ .tv_sec = ms / 1000,
				  .tv_usec = ms % 1000 * 1000 };
	evtimer_add(caps->timer, &after);
}

/* --- life --- */

static struct capped *find_capped(struct caps *caps,
				  const struct cap_config *config)
{
	const char *name = config->socket ?: config->interface;

	for (unsigned int i = 0; i < caps->capped_count; i++)
		if (!strcmp(caps->capped[i].name, name))
			return &caps->capped[i];
	caps->capped[caps->capped_count].name = name;
	caps->capped[caps->capped_count].lends = config->socket;
	return &caps->capped[caps->capped_count++];
}

/* Restore the lasting costs of interfaces that have no cap any more, from the state file. */
static void give_back_costs(struct caps *caps)
{
	const char *name;
	json_t *object;

	json_object_foreach(caps->kept_interfaces, name, object) {
		json_t *cost = json_object_get(object, "cost");
		unsigned int ifindex =
			json_integer_value(json_object_get(object, "ifindex"));

		if (cost && ifindex && if_nametoindex(name) == ifindex)
			caps_give_back_cost(caps, ifindex,
					    json_integer_value(cost));
		json_object_del(object, "cost");
	}
}

struct caps *caps_new(struct event_base *base, const struct config *config,
		      struct kernel *kernel)
{
	struct caps *caps = calloc(1, sizeof(*caps));

	if (!caps)
		return NULL;
	caps->config = config;
	caps->kernel = kernel;
	caps->caps = calloc(config->cap_count + 1, sizeof(*caps->caps));
	caps->capped = calloc(config->cap_count + 1, sizeof(*caps->capped));
	caps->timer = evtimer_new(base, on_time, caps);
	caps->metered = metered_new(base);
	if (!caps->caps || !caps->capped || !caps->timer) {
		caps_free(caps);
		return NULL;
	}
	for (unsigned int i = 0; i < config->cap_count; i++) {
		caps->caps[i].config = &config->caps[i];
		caps->caps[i].on = find_capped(caps, &config->caps[i]);
		caps->caps[i].on->asks_metered |= config->caps[i].metered;
		if (config->caps[i].then.cost)
			kernel_wanted(kernel);
	}
	caps_restore(caps);
	give_back_costs(caps);
	on_time(-1, 0, caps);
	caps_save(caps);
	return caps;
}

void caps_feed(struct caps *caps)
{
	caps_tell(caps);
}

void caps_release(struct caps *caps)
{
	unsigned int before = caps->held_count;

	caps->released = true;
	for (unsigned int i = 0; i < caps->capped_count; i++)
		caps->capped[i].effect = (struct effect){ };
	caps_tell(caps);
	if (caps->held_count)
		caps_settle_endpoints(caps);
	if (caps->held_count < before)
		caps_save(caps);
}

void caps_free(struct caps *caps)
{
	if (!caps)
		return;
	if (caps->capped_count || caps->held_count)
		caps_save(caps);
	if (caps->timer)
		event_free(caps->timer);
	metered_free(caps->metered);
	counter_close();
	endpoints_close();
	json_decref(caps->kept_quotas);
	json_decref(caps->kept_interfaces);
	free(caps->capped);
	free(caps->caps);
	free(caps);
}

/* --- status --- */

static json_t *date_json(uint32_t date)
{
	return json_sprintf("%04u-%02u-%02u", date / 10000, date / 100 % 100,
			    date % 100);
}

static json_t *then_json(const struct effect *then)
{
	if (then->lend_nothing)
		return json_string("lend nothing");
	if (then->forbid || then->backup)
		return json_string(then->forbid ? "forbid" : "backup");
	return json_sprintf("cost %u", then->cost);
}

static void add_quota(json_t *object, const struct cap *cap)
{
	uint64_t quota = cap->config->quota_bytes, used = cap->usage.now.used;

	if (cap->usage.unknown)
		used = quota;
	json_object_set_new(object, "quota_bytes", json_integer(quota));
	json_object_set_new(object, "used_bytes", json_integer(used));
	json_object_set_new(object, "left_bytes",
			    json_integer(used < quota ? quota - used : 0));
	json_object_set_new(object, "since", date_json(cap->usage.now.begin));
	json_object_set_new(object, "until",
			    date_json(period_end(cap->usage.now.begin,
						 cap->config->period)));
	if (cap->usage.unknown)
		json_object_set_new(object, "unknown", json_true());
}

static json_t *hours_json(const struct cap_config *config)
{
	json_t *list = json_array(), *text;

	for (unsigned int i = 0; i < config->hours_count; i++) {
		const struct hours *hours = &config->hours[i];

		text = json_sprintf("%02u:%02u-%02u:%02u",
				    hours->from_min / 60, hours->from_min % 60,
				    hours->to_min / 60, hours->to_min % 60);
		json_array_append_new(list, text);
	}
	return list;
}

static json_t *metered_json(const struct cap *cap)
{
	enum metering is = cap->on->metering;

	return is == METERING_UNKNOWN ? json_null() :
					json_boolean(is == METERING_YES);
}

static json_t *cap_json(const struct caps *caps, const struct cap *cap)
{
	const struct cap_config *config = cap->config;
	json_t *because = json_array();
	json_t *object = json_pack("{s:s, s:s, s:b, s:o, s:b, s:o}",
				   "name", config->name,
				   config->socket ? "socket" : "interface",
				   cap->on->name,
				   "there", cap->on->ifindex != 0,
				   "then", then_json(&config->then),
				   "active", cap->active, "because", because);

	if (cap->used_up)
		json_array_append_new(because, json_string("quota"));
	if (cap->low)
		json_array_append_new(because, json_string("battery"));
	if (cap->in_hours)
		json_array_append_new(because, json_string("hours"));
	if (cap->metered)
		json_array_append_new(because, json_string("metered"));
	if (config->quota_bytes)
		add_quota(object, cap);
	if (config->battery_below) {
		json_object_set_new(object, "battery_below",
				    json_integer(config->battery_below));
		if (caps->battery.there) {
			json_t *percent = json_integer(caps->battery.percent);

			json_object_set_new(object, "battery", percent);
		}
	}
	if (config->hours_count)
		json_object_set_new(object, "hours", hours_json(config));
	if (config->metered)
		json_object_set_new(object, "metered", metered_json(cap));
	return object;
}

json_t *caps_status(const struct caps *caps)
{
	json_t *list = json_array();

	for (unsigned int i = 0; i < caps->config->cap_count; i++)
		json_array_append_new(list, cap_json(caps, &caps->caps[i]));
	return list;
}
