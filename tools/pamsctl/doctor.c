// SPDX-License-Identifier: GPL-2.0
/* doctor - checks if MPTCP and the module are in use here, and says what prevents it */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <regex.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "pamsctl.h"

/* The kernels that the module was tested with, and the releases that are like them. */
static const struct tested {
	const char *pattern;	/* extended regular expression for releases like it */
	const char *machine;
	const char *release;	/* of the kernel that was tested */
} tested_kernels[] = {
#include "kernels.h"
};

static bool is_like(const struct utsname *running, const struct tested *row)
{
	regex_t pattern;
	bool like;

	if (strcmp(running->machine, row->machine) ||
	    regcomp(&pattern, row->pattern, REG_EXTENDED | REG_NOSUB))
		return false;
	like = !regexec(&pattern, running->release, 0, NULL, 0);
	regfree(&pattern);
	return like;
}

/* Find the row of Documentation/kernels.md for the running kernel. */
static void look_at_release(json_t *list)
{
	const size_t count = sizeof(tested_kernels) / sizeof(tested_kernels[0]);
	struct utsname running;
	size_t i;

	if (uname(&running))
		return;
	for (i = 0; i < count; i++) {
		if (!is_like(&running, &tested_kernels[i]))
			continue;
		finding(list, FINE, "release", NULL,
			"this kernel is %s; the module was tested with %s",
			running.release, tested_kernels[i].release);
		return;
	}
	finding(list, NOTE, "release",
		"see Documentation/kernels.md, and check with "
		"make selftests",
		"this kernel is %s on %s: the module was tested with none of "
		"its kind", running.release, running.machine);
}

static void look_at_kernel(json_t *list)
{
	FILE *f;
	int on = 0;

	f = fopen("/proc/sys/net/mptcp/enabled", "r");
	if (!f) {
		finding(list, BAD, "kernel",
			"boot one with CONFIG_MPTCP=y, 6.12 or newer",
			"this kernel has no MPTCP");
		return;
	}
	if (fscanf(f, "%d", &on) != 1)
		on = 0;
	fclose(f);
	if (on)
		finding(list, FINE, "kernel", NULL,
			"MPTCP is compiled in and switched on");
	else
		finding(list, BAD, "kernel", "sysctl -w net.mptcp.enabled=1",
			"MPTCP is compiled in, but switched off in this "
			"network namespace");
}

/* Only loading shows whether the key is refused, as another list of the firmware may have it. */
static void look_at_key(json_t *list, const struct module *module)
{
	const char *key = module_key_waits(module);
	char advice[256];

	if (!key)
		return;
	snprintf(advice, sizeof(advice), "mokutil --import %s, restart, confirm", key);
	finding(list, NOTE, "module", advice,
		"this kernel takes signed modules only, and dkms's key isn't enrolled: "
		"if loading fails with \"Key was rejected by service\", that is why");
}

/*
 * Who sends needs the module. A client that only downloads does without, and new sockets then use
 * the kernel's scheduler: unless one of the module's was chosen.
 */
static void look_at_module(json_t *list)
{
	char chosen[SCHEDULERS_MAX] = "";
	json_t *advice = json_array();
	struct module module;
	json_t *one;
	size_t i;

	module_look(&module, options.module);
	if (module.loaded) {
		finding(list, FINE, "module", NULL, "mptcp_pams is loaded");
	} else {
		scheduler_chosen(chosen, sizeof(chosen));
		module_advice(&module, advice);
		if (!json_array_size(advice))
			json_array_append_new(advice, json_string(OR_UP "pamsctl load"));
		look_at_key(list, &module);
		json_array_foreach(advice, i, one)
			finding(list, is_ours(chosen) ? BAD : NOTE, "module",
				json_string_value(one),
				"mptcp_pams is not loaded: what is sent from here goes by the kernel's "
				"own scheduler; who only downloads needs no module");
	}
	json_decref(advice);
}

static void look_at_control(json_t *list)
{
	struct pams_stats stats;
	struct pams_nl *nl;
	int err = pams_nl_open(&nl);

	if (!err)
		err = pams_nl_stats(nl, &stats);
	if (!err)
		finding(list, FINE, "control", NULL,
			"%" PRIu32 " connections have one of its schedulers, "
			"%" PRIu32
			" paths are reported (at most %" PRIu32 ")",
			stats.conns, stats.paths, stats.paths_max);
	else if (nl && pams_nl_loaded(nl))
		finding(list, BAD, "control", NULL,
			"the module doesn't answer: %s", pams_nl_error(nl));
	pams_nl_close(nl);
}

static void look_at_scheduler(json_t *list)
{
	char chosen[SCHEDULERS_MAX];

	if (!scheduler_chosen(chosen, sizeof(chosen))) {
		finding(list, BAD, "scheduler", NULL,
			"this kernel has no choice of MPTCP schedulers");
		return;
	}
	if (!scheduler_is_there(chosen))
		finding(list, BAD, "scheduler",
			is_ours(chosen) ? OR_UP "pamsctl load" :
			"pamsctl sched set default",
			"'%s' is chosen but not loaded: new sockets quietly "
			"use default",
			chosen);
	else if (is_ours(chosen))
		finding(list, FINE, "scheduler", NULL, "new sockets use %s",
			chosen);
	else
		finding(list, NOTE, "scheduler", OR_UP "pamsctl sched set minfct",
			"new sockets use %s, none of the module's", chosen);
}

void look_at_pamsd(json_t *list)
{
	const char *path = options.control ?: PAMSD_CONTROL;
	json_t *status, *server, *reporter, *one;
	const char *why_not;
	char text[QUANTITY_MAX], how[64];
	json_int_t waits_ms;
	int err;
	size_t i;

	status = pamsd_status(path, &err);
	if (!status) {
		snprintf(how, sizeof(how), OR_UP "pamsctl pair, then %s", pamsd_start());
		finding(list, NOTE, "pamsd", err == -EACCES ? "run it as root" : how, "%s: %s",
			err == -ENOENT || err == -ECONNREFUSED ?
			"pamsd doesn't run, so nothing reports paths" :
			"pamsd can't be asked", strerror(-err));
		return;
	}
	server = json_object_get(status, "server");
	reporter = json_object_get(status, "reporter");
	finding(list, FINE, "pamsd", NULL, "pamsd runs: %zu peers may report, "
		"%zu servers are reported to",
		json_array_size(json_object_get(server, "peers")),
		json_array_size(json_object_get(reporter, "to")));
	json_array_foreach(json_object_get(reporter, "to"), i, one) {
		waits_ms = json_integer_value(json_object_get(one,
							      "unanswered_ms"));
		if (waits_ms)
			finding(list, BAD, "pamsd",
				"let UDP to its port pass, and compare the keys",
				"the server '%s' hasn't answered for %s",
				json_string_value(json_object_get(one, "name")),
				show_time(text, waits_ms * 1000));
	}
	why_not = json_string_value(json_object_get(json_object_get(status, "paths"),
						    "first_why_not"));
	if (why_not)
		finding(list, NOTE, "pamsd", "first-by-metric, pamsd.conf(5), which moves all "
			"traffic", "connections begin where the routes say: %s", why_not);
	json_decref(status);
}

void look_at_all(json_t *list)
{
	look_at_release(list);
	look_at_kernel(list);
	look_at_module(list);
	look_at_control(list);
	if (mptcp_is_there()) {
		look_at_scheduler(list);
		look_at_rules(list);
		look_at_endpoints(list);
		look_at_hook(list);
		look_at_sockets(list);
		look_at_datagrams(list);
		look_at_subflows(list);
		look_at_counters(list);
	}
	look_at_buffers(list);
	look_at_pamsd(list);
	look_at_pamsplit(list);
}

int doctor_command(struct words *words)
{
	const char *peer = next_word(words);
	json_t *list;
	int status = DONE;

	if (no_more_words(words))
		return USAGE;
	list = json_array();
	look_at_all(list);
	if (peer)
		status = look_at_peer(list, peer);
	if (status) {
		json_decref(list);
		return status;
	}
	return print_findings(list);
}
