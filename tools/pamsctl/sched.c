// SPDX-License-Identifier: GPL-2.0
/* sched - which scheduler new MPTCP sockets of this network namespace get */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "pamsctl.h"

#define FILE_NAME	"/proc/sys/net/mptcp/scheduler"

static int no_choice(void)
{
	if (!mptcp_is_there())
		return refuse(FAILED, "this kernel has no MPTCP, or this "
				      "namespace none of its settings");
	return refuse(FAILED, "this kernel has no choice of MPTCP schedulers");
}

static json_t *list_json(const char *names)
{
	json_t *list = json_array();

	while (*names) {
		size_t length = strcspn(names, " ");

		json_array_append_new(list, json_stringn(names, length));
		names += length + strspn(names + length, " ");
	}
	return list;
}

static int show(void)
{
	char chosen[SCHEDULERS_MAX], names[SCHEDULERS_MAX];
	bool there;

	if (!scheduler_chosen(chosen, sizeof(chosen)))
		return no_choice();
	scheduler_list(names, sizeof(names));
	there = scheduler_is_there(chosen);
	if (options.json)
		return print_json(json_pack("{s:s, s:b, s:s, s:o, s:b}",
					    "chosen", chosen, "there", there,
					    "in_use",
					    there ? chosen : "default",
					    "available", list_json(names),
					    "module_loaded",
					    module_is_loaded()));
	printf("%s: new sockets of this network namespace use it; others keep "
	       "theirs\n",
	       there ? chosen : "default");
	if (!there)
		printf("'%s' is chosen but NOT LOADED: the kernel quietly uses "
		       "default instead%s\n",
		       chosen, is_ours(chosen) ? ": see pamsctl load" : "");
	printf("available: %s\n", names);
	return DONE;
}

static int refuse_name(const char *name, const char *names)
{
	if (is_ours(name) && !module_is_loaded())
		return refuse(NOT_LOADED, "scheduler '%s' is part of the "
					  "module mptcp_pams, which is not "
					  "loaded: see pamsctl load",
			      name);
	return refuse(FAILED, "scheduler '%s' is not there: available: %s",
		      name, names);
}

static int set(const char *name)
{
	char names[SCHEDULERS_MAX];
	int err;

	if (!mptcp_is_there() || access(FILE_NAME, F_OK))
		return no_choice();
	if (!*name || strpbrk(name, " \t\n"))
		return refuse(USAGE, "'%s' is not the name of a scheduler",
			      name);
	if (scheduler_list(names, sizeof(names)) && !in_list(names, name))
		return refuse_name(name, names);

	err = scheduler_choose(name);
	if (err == -EACCES || err == -EPERM || err == -EROFS)
		return refuse(NOT_PERMITTED, "the scheduler can't be set: %s "
					     "(run it as root)",
			      strerror(-err));
	if (err == -ENOENT)
		return refuse_name(name, names);
	if (err)
		return refuse(FAILED, "the scheduler can't be set: %s",
			      strerror(-err));
	if (options.json)
		return print_json(json_pack("{s:s}", "chosen", name));
	printf("%s: for sockets made from now on; restart servers that are to "
	       "use it\n",
	       name);
	return DONE;
}

/* --- the module's list --- */

static int add_scheduler(const struct pams_scheduler *scheduler, void *arg)
{
	return append(arg, json_pack("{s:s, s:s, s:b, s:b}",
				     "name", scheduler->name,
				     "description", scheduler->description,
				     "first_bytes", scheduler->first_bytes,
				     "by_rules", scheduler->by_rules));
}

/* List the names that the kernel has, for a module too old to describe its schedulers. */
static void add_available(json_t *list)
{
	char names[SCHEDULERS_MAX];
	json_t *available, *name;
	size_t i;

	scheduler_list(names, sizeof(names));
	available = list_json(names);
	json_array_foreach(available, i, name)
		append(list, json_pack("{s:O}", "name", name));
	json_decref(available);
}

static void print_scheduler(json_t *scheduler)
{
	const char *name = "", *description = "";
	int first_bytes = 0, by_rules = 0;

	json_unpack(scheduler, "{s:s, s?s, s?b, s?b}", "name", &name,
		    "description", &description, "first_bytes", &first_bytes,
		    "by_rules", &by_rules);
	printf("%-*s%s%s%s\n", *description ? 12 : 0, name, description,
	       first_bytes ? "; takes first" : "",
	       by_rules ? "; not in a rule" : "");
}

static int list(void)
{
	json_t *schedulers = json_array(), *one;
	struct pams_nl *nl = NULL;
	int err = pams_nl_open(&nl);
	size_t i;

	if (!err)
		err = pams_nl_sched_dump(nl, add_scheduler, schedulers);
	if (err == -EOPNOTSUPP) {
		fprintf(stderr, "pamsctl: the module is older than this pamsctl "
				"and doesn't tell its schedulers: these are all "
				"that the kernel has\n");
		add_available(schedulers);
	} else if (err) {
		json_decref(schedulers);
		err = refuse_kernel(nl, "the schedulers can't be read", err);
		pams_nl_close(nl);
		return err;
	}
	pams_nl_close(nl);
	if (options.json)
		return print_json(schedulers);
	json_array_foreach(schedulers, i, one)
		print_scheduler(one);
	json_decref(schedulers);
	return DONE;
}

int sched_command(struct words *words)
{
	static const char * const names[] = { "show", "set", "list", NULL };
	const char *name;

	switch (choose(words, "sched", names, 0)) {
	case 0:
		return no_more_words(words) ? USAGE : show();
	case 1:
		name = next_word(words);
		if (!name)
			return refuse(USAGE, "sched set: the scheduler's name "
				      "is missing: see pamsctl sched show");
		return no_more_words(words) ? USAGE : set(name);
	case 2:
		return no_more_words(words) ? USAGE : list();
	}
	return USAGE;
}
