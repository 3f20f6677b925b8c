// SPDX-License-Identifier: GPL-2.0
/*
 * up - everything that the use of all links needs, by one command: "up", and "down" back
 *
 * up first looks at all that is to be changed, with a step for each change, and changes nothing
 * if one of them can't be. Then it carries the steps out; each is in the record before it begins.
 * If one fails, those before it are undone. down undoes what is in the record.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pamsctl.h"
#include "up.h"

#define MODULE_LINE	"mptcp_pams"
#define SYSCTL_FILE	"/etc/sysctl.d/90-mptcp-pams.conf"

static const struct kind {
	const char *what;
	int (*carry_out)(struct up *up, json_t *step);
	int (*undo)(struct up *up, json_t *step);
	bool last;		/* undone when all others are */
} kinds[] = {
	{ "module", module_carry_out, module_undo, false },
	{ "scheduler", scheduler_carry_out, scheduler_undo, false },
	{ "file", line_carry_out, line_undo, false },
	{ "conf", conf_carry_out, conf_undo, false },
	{ "uci", uci_carry_out, uci_undo, false },
	{ "unit", unit_carry_out, unit_undo, false },
	{ "gateway", gateway_carry_out, gateway_undo, false },
	{ "reader", reader_carry_out, reader_undo, true },
	{ "service", service_carry_out, service_undo, true },
};

static const struct kind *kind_of(const json_t *step)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (!strcmp(kinds[i].what, up_string(step, "what")))
			return &kinds[i];
	return NULL;
}

/* As su leaves it, PATH has no folders of root's programs. */
static void complete_path(void)
{
	static const char more[] = "/usr/local/sbin:/usr/sbin:/sbin";
	const char *path = getenv("PATH");
	char *all;

	if (asprintf(&all, "%s:%s", path ?: "/usr/local/bin:/usr/bin:/bin", more) < 0)
		return;
	setenv("PATH", all, 1);
	free(all);
}

static int prepare(struct up *up, bool make)
{
	complete_path();
	memset(up, 0, sizeof(*up));
	up->dry_run = options.given & OPT_DRY_RUN;
	up->locked = -1;
	up->lines = json_array();
	up->wrong = json_array();
	service_manager(up);
	if (geteuid())
		return up_fail(up, NOT_PERMITTED, "run it as root");
	if (!up->dry_run && up_lock(up, make))
		return up->status;
	if (up_read_record(up))
		return up->status;
	for (size_t i = 0; i < json_array_size(up_steps(up)); i++)
		if (!kind_of(json_array_get(up_steps(up), i)))
			return up_fail(up, FAILED, "the record is a newer pamsctl's");
	return DONE;
}

/* The exit status; services and findings are freed. */
static int finish(struct up *up, const char *command, int status, json_t *services,
		  json_t *findings)
{
	json_t *line;
	size_t i;

	if (up->status) {
		status = refuse(up->status, "%s: %s", command, up->why);
		json_decref(services);
		json_decref(findings);
	} else if (options.json) {
		status = print_json(json_pack("{s:O, s:O, s:o*, s:o*}", "lines", up->lines,
					      "wrong", up->wrong, "services", services,
					      "findings", findings)) ?: status;
	} else {
		json_array_foreach(up->lines, i, line)
			puts(json_string_value(line));
		fflush(stdout);
		json_array_foreach(up->wrong, i, line)
			fprintf(stderr, "pamsctl: %s: %s\n", command, json_string_value(line));
		json_decref(services);
		if (findings)
			print_findings(findings);
	}
	json_decref(up->lines);
	json_decref(up->wrong);
	json_decref(up->record);
	if (up->locked >= 0)
		close(up->locked);
	return status;
}

/* --- undoing --- */

/* A unit that was active starts again, with its files as they were. */
static bool is_last(const json_t *step)
{
	return kind_of(step)->last || up_flag(step, "active");
}

/* Undo the steps of the list, the last one first, and take those out that are undone. */
static void undo(struct up *up, json_t *steps)
{
	for (int last = 0; last < 2; last++) {
		size_t i = json_array_size(steps);

		while (i--) {
			json_t *step = json_array_get(steps, i);

			if (is_last(step) == last && !kind_of(step)->undo(up, step))
				json_array_remove(steps, i);
		}
	}
}

/*
 * Undo what was begun when one step failed, and also what the call before this one had begun if
 * that one didn't come to its end, either. "before" is the record before this call.
 */
static void roll_back(struct up *up, json_t *begun, json_t *before)
{
	json_t *old = json_object_get(before, "steps"), *steps = json_array(), *step;
	size_t i;

	/* the plan's steps lead to the state before this call, the record's to that before up */
	json_array_foreach(up->complete ? begun : up_steps(up), i, step) {
		const char *what = up_string(step, "what"), *path = up_string(step, "path");

		if (find_step(begun, what, path) || find_step(old, what, path))
			json_array_append(steps, step);
	}
	undo(up, steps);
	if (json_array_size(steps))
		snprintf(up->why + strlen(up->why), sizeof(up->why) - strlen(up->why),
			 "; not all of it could be undone: see pamsctl down");
	else if (up->complete)
		json_object_update(up->record, before);
	if (!up->complete)
		json_object_set(up->record, "steps", steps);
	if (json_array_size(up_steps(up)))
		up_write_record(up);
	else
		up_remove_record(up);
	json_decref(steps);
}

/* Not the one line only: what was undone before this failed, and what not, is said, too. */
static int say_record(struct up *up, int status)
{
	if (status) {
		up_stays(up, "%s", up->why);
		up->status = DONE;
	}
	return status;
}

static int down(struct up *up)
{
	if (!json_array_size(up_steps(up))) {
		up_note(up, "nothing to undo: pamsctl up has changed nothing here");
		return up_remove_record(up);
	}
	undo(up, up_steps(up));
	if (!json_array_size(up_steps(up))) {
		if (!json_array_size(up->lines))
			up_note(up, "nothing to undo: everything is as it was before up");
		return say_record(up, up_remove_record(up));
	}
	return say_record(up, up_write_record(up)) ?: FAILED;
}

int down_command(struct words *words)
{
	struct up up;
	int status;

	if (no_more_words(words))
		return USAGE;
	status = prepare(&up, false) ?: down(&up);
	return finish(&up, "down", status, NULL, NULL);
}

/* --- the plan --- */

static bool has_module(const char *text)
{
	while (*text) {
		size_t length = strcspn(text, "\n"), blank = strspn(text, " \t");
		size_t end = length;

		while (end > blank && strchr(" \t\r", text[end - 1]))
			end--;
		if (end - blank == strlen(MODULE_LINE) &&
		    !strncmp(text + blank, MODULE_LINE, strlen(MODULE_LINE)))
			return true;
		text += length + (text[length] == '\n');
	}
	return false;
}

/* Does the file choose one of the module's schedulers? The last line counts: sysctl.d(5). */
static bool has_scheduler(const char *text)
{
	bool ours = false;

	while (*text) {
		char line[256], key[256] = "", value[256] = "";
		size_t length = strcspn(text, "\n");

		snprintf(line, sizeof(line), "%.*s", (int)length, text);
		if (sscanf(line, " %255[^= \t] = %255s", key, value) == 2) {
			const char *name = key + (*key == '-');

			if (!strcmp(name, "net.mptcp.scheduler") ||
			    !strcmp(name, "net/mptcp/scheduler"))
				ours = is_ours(value);
		}
		text += length + (text[length] == '\n');
	}
	return ours;
}

static void add(json_t *plan, json_t *step)
{
	if (step)
		json_array_append_new(plan, step);
}

static void plan_kernel(struct up *up, json_t *plan, bool *there)
{
	char chosen[SCHEDULERS_MAX] = UP_SCHEDULER, line[SCHEDULERS_MAX + 32];
	json_t *module, *scheduler = NULL;
	bool installed;

	module = module_plan(up, options.given & OPT_SERVER, there, &installed);
	add(plan, module);
	if (!*there || up->status)
		return;
	scheduler = scheduler_plan(up);
	add(plan, scheduler);
	if (up->status)
		return;
	if (installed)
		add(plan, line_plan(up, up->procd ? "/etc/modules.d/mptcp-pams" :
				    "/etc/modules-load.d/mptcp-pams.conf", MODULE_LINE,
				    has_module));
	else
		up_note(up, "the module isn't installed, so a restart ends it: make install");
	if (!scheduler)
		scheduler_chosen(chosen, sizeof(chosen));
	snprintf(line, sizeof(line), "net.mptcp.scheduler = %s", chosen);
	add(plan, line_plan(up, SYSCTL_FILE, line, has_scheduler));
}

static void plan_paths(struct up *up, json_t *plan)
{
	size_t before = json_array_size(plan);

	if (up->procd)
		add(plan, uci_plan(up));
	if (!up->status && !uci_is_used(up))
		add(plan, conf_plan(up));
	if (!up->status)
		add(plan, service_plan(up, json_array_size(plan) > before));
}

/* --- carrying out --- */

static void keep_flag(json_t *step, const json_t *old, const char *name, bool now)
{
	json_object_set_new(step, name, json_boolean(up_flag(old, name) && now));
}

/*
 * A step that is in the record already: what it says of the state before up counts, unless the
 * user has changed that since, which then is what down leads back to.
 */
static void merge(const struct up *up, json_t *step, const json_t *old)
{
	const char *what = up_string(old, "what");

	if (json_object_get(old, "folder"))
		json_object_set(step, "folder", json_object_get(old, "folder"));
	if (!strcmp(what, "conf") && up_flag(old, "made")) {
		json_object_set_new(step, "made", json_true());
	} else if (up_flag(old, "whole")) {
		json_object_set(step, "before", json_object_get(old, "before") ?: json_null());
	} else if (!strcmp(what, "reader")) {
		keep_flag(step, old, "active", up_flag(step, "active") || !up->complete);
	} else if (!strcmp(what, "unit")) {
		keep_flag(step, old, "enabled", true);
		keep_flag(step, old, "active", true);
	} else if (!strcmp(what, "gateway")) {
		keep_flag(step, old, "before", !up->complete || up_flag(step, "before"));
	} else if (!strcmp(what, "service") && !up_flag(old, "conf_is_users")) {
		keep_flag(step, old, "enabled", up_flag(step, "enabled") || !up->complete);
		keep_flag(step, old, "active", up_flag(step, "active") || !up->complete);
	} else if (!strcmp(what, "uci")) {
		keep_flag(step, old, "paths", up_flag(step, "paths") || !up->complete);
		keep_flag(step, old, "global", true);
		if (!strcmp(up_string(step, "enabled"), "1") || !up->complete)
			json_object_set(step, "enabled", json_object_get(old, "enabled"));
	}
}

/* Put the plan into the record. */
static int begin(struct up *up, json_t *plan)
{
	json_t *planned, *step, *old;
	size_t i;

	if (!json_array_size(plan))
		return DONE;
	json_array_foreach(plan, i, planned) {
		step = json_deep_copy(planned);
		old = up_step_of(up, up_string(step, "what"), up_string(step, "path"));
		if (!old) {
			json_array_append_new(up_steps(up), step);
			continue;
		}
		merge(up, step, old);
		json_object_clear(old);
		json_object_update(old, step);
		json_decref(step);
	}
	json_object_set_new(up->record, "complete", json_false());
	return up_write_record(up);
}

/* A plan without paths leaves those open that an up which was killed had begun. */
static bool is_complete(const struct up *up)
{
	static const char * const of_paths[] = { "conf", "uci", "service" };
	json_t *step;
	size_t i;

	if (up->complete || !(options.given & OPT_SERVER))
		return true;
	json_array_foreach(up_steps(up), i, step)
		for (size_t j = 0; j < sizeof(of_paths) / sizeof(*of_paths); j++)
			if (!strcmp(up_string(step, "what"), of_paths[j]))
				return false;
	return true;
}

static int carry_out(struct up *up, json_t *plan)
{
	json_t *before = json_deep_copy(up->record), *begun = json_array(), *step;
	int status = begin(up, plan);
	size_t i;

	json_array_foreach(plan, i, step) {
		if (status)
			break;
		json_array_append(begun, step);
		status = kind_of(step)->carry_out(up, step);
	}
	if (!status && json_array_size(up_steps(up)) &&
	    (json_array_size(plan) || !up->complete)) {
		json_object_set_new(up->record, "complete", json_boolean(is_complete(up)));
		status = up_write_record(up);
	}
	if (status && !up->dry_run)
		roll_back(up, begun, before);
	else if (!status && !json_array_size(up_steps(up)))
		up_remove_record(up);
	json_decref(begun);
	json_decref(before);
	return status;
}

/* What doctor finds wrong; without a module, not that there is none. */
static json_t *find_wrong(bool module)
{
	static const char * const of_module[] = { "module", "control", "scheduler" };
	json_t *list = json_array();
	size_t i;

	look_at_all(list);
	only_wrong(list);
	for (i = json_array_size(list); !module && i--;)
		for (size_t j = 0; j < sizeof(of_module) / sizeof(*of_module); j++)
			if (!strcmp(up_string(json_array_get(list, i), "what"), of_module[j])) {
				json_array_remove(list, i);
				break;
			}
	return list;
}

int up_command(struct words *words)
{
	json_t *plan = NULL, *services = NULL, *findings = NULL;
	bool there = true, server = options.given & OPT_SERVER;
	struct up up;
	int status;

	if (no_more_words(words))
		return USAGE;
	if (options.given & OPT_RESTART && !server)
		return refuse(USAGE, "option '--restart' needs --server");
	if (options.given & OPT_NO_DHCP && !(options.given & OPT_GATEWAY))
		return refuse(USAGE, "option '--no-dhcp' needs --gateway");
	if (options.given & OPT_GATEWAY && server)
		return refuse(USAGE, "options '--gateway' and '--server' don't go together");
	status = prepare(&up, true);
	if (!status) {
		plan = json_array();
		plan_kernel(&up, plan, &there);
		if (!server && !up.status)
			plan_paths(&up, plan);
		if (!up.status)
			gateway_plan(&up, plan);
		if (!up.status)
			status = carry_out(&up, plan);
		else if (!json_array_size(up_steps(&up)))
			up_remove_record(&up);
		if (!up.status && !json_array_size(plan))
			up_note(&up, "nothing to change: all is as up makes it");
	}
	if (!up.status && server) {
		services = listen_services(&up, options.given & OPT_RESTART, &status);
		listen_print(&up, services, options.given & OPT_RESTART);
		if (options.given & OPT_RESTART)
			status = listen_restart(&up, services) ?: status;
	}
	if (!up.status && !up.dry_run)
		findings = find_wrong(there);
	json_decref(plan);
	return finish(&up, "up", status, services, findings);
}
