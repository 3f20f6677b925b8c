// SPDX-License-Identifier: GPL-2.0
/*
 * rules - sets the module's table of rules from the configured file
 *
 * The table is set at the start, after a reload of the configuration, when the module is
 * loaded again, and when a cgroup of a rule was created, removed or created anew: the
 * module refers to the cgroup itself, not to its path, and a restarted service has a new
 * cgroup of the same path. A rule whose cgroup doesn't exist matches nothing, so it is
 * left out until the cgroup exists.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <event2/event.h>
#include <jansson.h>

#include "cgroup.h"
#include "pamsd.h"

#define LOOK_S		5

struct rules {
	const char *file;
	const struct pams_rules *wanted;
	struct kernel *kernel;
	struct event *look;
	ino_t *cgroup;		/* inode of each rule's cgroup when it was set; 0: none */
	bool told;		/* the module has the rules */
	unsigned int left_out;
	struct seldom refused;
};

/*
 * The inode of a rule's cgroup; 0 if it doesn't exist; 1 if the rule has none, or if cgroups
 * aren't visible to this process, and root is "".
 */
static ino_t cgroup_of(const struct pams_rule *rule, const char *root)
{
	char path[PATH_MAX + PAMS_CGROUP_MAX];
	struct stat st;

	if (!rule->cgroup[0] || !*root)
		return 1;
	snprintf(path, sizeof(path), "%s%s", root, rule->cgroup);
	return stat(path, &st) ? 0 : st.st_ino;
}

/* Read the inodes of all cgroups. Returns whether one has changed. */
static bool cgroups_changed(struct rules *rules)
{
	bool changed = false, named = false;
	char root[PATH_MAX] = "";

	for (unsigned int i = 0; i < rules->wanted->nr; i++)
		named |= !!rules->wanted->rule[i].cgroup[0];
	if (named)
		cgroup_mount(root);	/* it stays "" if there is none */
	for (unsigned int i = 0; i < rules->wanted->nr; i++) {
		ino_t now = cgroup_of(&rules->wanted->rule[i], root);

		changed |= rules->cgroup[i] != now;
		rules->cgroup[i] = now;
	}
	return changed;
}

static void say_left_out(struct rules *rules, unsigned int left_out)
{
	if (left_out != rules->left_out && left_out)
		say("%s: %u of %u rules are left out until their cgroups are "
		    "there", rules->file, left_out, rules->wanted->nr);
	else if (left_out != rules->left_out)
		say("%s: all rules are in the kernel", rules->file);
	rules->left_out = left_out;
}

/* Set the whole table in one transaction: the module takes all of it, or keeps its old one. */
static void tell_kernel(struct rules *rules)
{
	struct pams_rules table = *rules->wanted;
	int err;

	cgroups_changed(rules);
	table.rule = calloc(table.nr + 1, sizeof(*table.rule));
	if (!table.rule)
		return;
	table.nr = 0;
	for (unsigned int i = 0; i < rules->wanted->nr; i++)
		if (rules->cgroup[i])
			table.rule[table.nr++] = rules->wanted->rule[i];
	err = kernel_set_rules(rules->kernel, &table);
	free(table.rule);
	rules->told = !err;
	if (!err)
		say_left_out(rules, rules->wanted->nr - table.nr);
	else if (err != -ENOENT)
		say_seldom(&rules->refused, "%s: the kernel refuses the rules, "
			   "and is asked again every %d s: %s", rules->file,
			   LOOK_S, kernel_error(rules->kernel));
}

static void on_look(evutil_socket_t fd, short what, void *arg)
{
	struct rules *rules = arg;

	(void)fd;
	(void)what;
	if (cgroups_changed(rules) || !rules->told)
		tell_kernel(rules);
}

struct rules *rules_new(struct event_base *base, const struct config *config,
			struct kernel *kernel)
{
	const struct timeval look = { .tv_sec = LOOK_S };
	struct rules *rules = calloc(1, sizeof(*rules));

	if (!rules)
		return NULL;
	rules->file = config->rules_file;
	rules->wanted = &config->rules;
	rules->kernel = kernel;
	rules->cgroup = calloc(rules->wanted->nr + 1, sizeof(*rules->cgroup));
	rules->look = event_new(base, -1, EV_PERSIST, on_look, rules);
	if (!rules->cgroup || !rules->look || event_add(rules->look, &look)) {
		rules_free(rules);
		return NULL;
	}
	kernel_wanted(kernel);
	tell_kernel(rules);
	return rules;
}

void rules_feed(struct rules *rules)
{
	tell_kernel(rules);
}

json_t *rules_status(const struct rules *rules)
{
	return json_pack("{s:s, s:i, s:i, s:b}", "file", rules->file,
			 "rules", (int)rules->wanted->nr,
			 "left_out", (int)rules->left_out,
			 "in_kernel", rules->told);
}

/* The module keeps the table, so that a restart of the daemon changes nothing. */
void rules_free(struct rules *rules)
{
	if (!rules)
		return;
	if (rules->look)
		event_free(rules->look);
	free(rules->cgroup);
	free(rules);
}
