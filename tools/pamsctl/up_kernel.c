// SPDX-License-Identifier: GPL-2.0
/* up_kernel - the module, and the scheduler of new sockets */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "pamsctl.h"
#include "up.h"

/* --- the module --- */

json_t *module_plan(struct up *up, bool needed, bool *there, bool *installed)
{
	json_t *advice = json_array(), *step = NULL;
	struct module module;
	const char *key;

	module_look(&module, options.module);
	module_advice(&module, advice);
	*installed = module.installed;
	*there = true;
	if (module.loaded)
		goto out;
	key = module_key_waits(&module);
	if (!json_array_size(advice) && (needed || !key)) {
		step = json_pack("{s:s, s:s}", "what", "module", "file", module.file);
		goto out;
	}
	*there = false;
	if (needed)
		up_fail(up, module.may_load ? FAILED : NOT_PERMITTED, "%s",
			json_string_value(json_array_get(advice, 0)));
	else if (!json_array_size(advice))
		up_note(up, "left out the module, whose key isn't enrolled: mokutil --import %s, "
			"restart, confirm, and repeat this", key);
	else if (module.file[0])
		up_note(up, "left out the module: %s",
			json_string_value(json_array_get(advice, 0)));
	else
		up_note(up, "there is no module here: a client that only downloads needs none");
out:
	json_decref(advice);
	return step;
}

int module_carry_out(struct up *up, json_t *step)
{
	char why[512];

	if (!up->dry_run && module_load(options.module, why, sizeof(why)))
		return up_fail(up, FAILED, "%s", why);
	up_say(up, "load", "loaded", "the module mptcp_pams: %s", up_string(step, "file"));
	return DONE;
}

int module_undo(struct up *up, json_t *step)
{
	int err = 0;

	(void)step;
	if (!module_is_loaded())
		return DONE;
	if (!up->dry_run)
		err = loader_remove();
	if (err == -EAGAIN)
		return up_stays(up, "the module mptcp_pams is in use by sockets that have one of "
				"its schedulers: end their programs (sudo ss -Map shows them), wait a "
				"minute, and repeat pamsctl down");
	if (err && err != -ENOENT)
		return up_stays(up, "the module mptcp_pams can't be unloaded: %s", strerror(-err));
	up_say(up, "unload", "unloaded", "the module mptcp_pams");
	return DONE;
}

/* --- the scheduler --- */

/* Each network namespace has its own: a step's "path" is its number, "net:[4026531840]". */
static void this_namespace(char name[64])
{
	ssize_t length = readlink("/proc/self/ns/net", name, 63);

	name[length > 0 ? length : 0] = 0;
}

static json_t *this_step(const struct up *up)
{
	char namespace[64];

	this_namespace(namespace);
	return up_step_of(up, "scheduler", namespace);
}

static bool is_this_boot(const json_t *step)
{
	char boot[64];

	return up_boot(boot) && !strcmp(boot, up_string(step, "boot"));
}

double scheduler_time(const struct up *up)
{
	const json_t *step = this_step(up);

	if (!step || !is_this_boot(step))
		return -1;
	return json_integer_value(json_object_get(step, "since"));
}

static void add_time(json_t *step)
{
	struct timespec now;

	clock_gettime(CLOCK_BOOTTIME, &now);
	json_object_set_new(step, "since", json_integer(now.tv_sec));
}

json_t *scheduler_plan(struct up *up)
{
	char chosen[SCHEDULERS_MAX], namespace[64], boot[64];
	json_t *step;

	if (!mptcp_is_there() || !scheduler_chosen(chosen, sizeof(chosen))) {
		up_fail(up, FAILED, "this kernel has no choice of MPTCP schedulers");
		return NULL;
	}
	if (!strcmp(chosen, UP_SCHEDULER))
		return NULL;
	if (is_ours(chosen)) {
		up_note(up, "left the scheduler %s, which is one of the module's: see pamsctl "
			"sched set", chosen);
		return NULL;
	}
	this_namespace(namespace);
	up_boot(boot);
	step = json_pack("{s:s, s:s, s:s, s:s, s:s}", "what", "scheduler", "path", namespace,
			 "boot", boot, "before", chosen, "after", UP_SCHEDULER);
	/* not after the choice, if this up is killed before it can tell when that was */
	add_time(step);
	return step;
}

int scheduler_carry_out(struct up *up, json_t *step)
{
	int err = up->dry_run ? 0 : scheduler_choose(UP_SCHEDULER);

	if (err)
		return up_fail(up, err == -EPERM || err == -EACCES || err == -EROFS ?
			       NOT_PERMITTED : FAILED, "the scheduler can't be set: %s",
			       err == -ENOENT ? "the module has no " UP_SCHEDULER : strerror(-err));
	/* it's in the record once up is complete */
	if (!up->dry_run)
		add_time(this_step(up));
	up_say(up, "choose", "chose", "the scheduler " UP_SCHEDULER " for new sockets, in place of "
	       "%s", up_string(step, "before"));
	return DONE;
}

int scheduler_undo(struct up *up, json_t *step)
{
	const char *before = up_string(step, "before"), *after = up_string(step, "after");
	char chosen[SCHEDULERS_MAX] = "", namespace[64];
	int err = 0;

	this_namespace(namespace);
	if (is_this_boot(step) && *up_string(step, "path") &&
	    strcmp(namespace, up_string(step, "path")))
		return up_stays(up, "the scheduler %s was chosen in another network namespace: "
				"repeat pamsctl down there", after);
	if (!scheduler_chosen(chosen, sizeof(chosen)) || !strcmp(chosen, before))
		return DONE;
	if (strcmp(chosen, after)) {
		up_note(up, "left the scheduler %s, which was chosen since", chosen);
		return DONE;
	}
	if (!up->dry_run)
		err = scheduler_choose(before);
	if (err == -ENOENT) {
		before = "default";	/* that one is gone */
		err = scheduler_choose(before);
	}
	if (err)
		return up_stays(up, "the scheduler can't be set to %s: %s", before, strerror(-err));
	up_say(up, "choose", "chose", "the scheduler %s again", before);
	return DONE;
}
