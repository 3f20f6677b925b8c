// SPDX-License-Identifier: GPL-2.0
/*
 * rules_look - finds rules that count for nothing
 *
 * Connections that don't have one of the module's schedulers follow no rules; a rule behind one
 * that fits the same connections never counts; a cgroup that was removed has no sockets; without
 * costs no path is one that data overflows to.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "pamsctl.h"

/* Is the prefix of "wide" around that of "narrow"? */
static bool holds_prefix(const struct pams_rule *wide, const struct pams_rule *narrow)
{
	unsigned int bytes = wide->prefix_len / 8, bits = wide->prefix_len % 8;

	if (wide->family != narrow->family || wide->prefix_len > narrow->prefix_len ||
	    memcmp(wide->address, narrow->address, bytes))
		return false;
	return !bits || !((wide->address[bytes] ^ narrow->address[bytes]) >> (8 - bits));
}

static bool holds_cgroup(const char *wide, const char *narrow)
{
	size_t length = strlen(wide);

	if (!strcmp(wide, "/"))
		return narrow[0];
	return !strncmp(wide, narrow, length) && (!narrow[length] || narrow[length] == '/');
}

static bool holds_mark(const struct pams_rule *wide, const struct pams_rule *narrow)
{
	return narrow->has_mark && !(wide->mask & ~narrow->mask) &&
	       !((wide->mark ^ narrow->mark) & wide->mask);
}

/* Does "wide" fit every connection that "narrow" fits? */
static bool holds(const struct pams_rule *wide, const struct pams_rule *narrow)
{
	return (!wide->cgroup[0] || holds_cgroup(wide->cgroup, narrow->cgroup)) &&
	       (!wide->has_mark || holds_mark(wide, narrow)) &&
	       (!wide->has_uid || (narrow->has_uid && wide->uid == narrow->uid)) &&
	       wide->local_min <= narrow->local_min && wide->local_max >= narrow->local_max &&
	       wide->remote_min <= narrow->remote_min && wide->remote_max >= narrow->remote_max &&
	       (!wide->family || holds_prefix(wide, narrow)) &&
	       (!wide->client || narrow->client) && (!wide->server || narrow->server);
}

static void look_at_order(json_t *list, const struct pams_rules *rules, unsigned int nr)
{
	char advice[64];

	for (unsigned int before = 0; before < nr; before++) {
		if (!holds(&rules->rule[before], &rules->rule[nr]))
			continue;
		snprintf(advice, sizeof(advice), "pamsctl rule del %u, and rule add %u ...", nr + 1,
			 before + 1);
		finding(list, NOTE, "rules", advice,
			"rule %u never counts: rule %u before it fits all that it fits", nr + 1,
			before + 1);
		return;
	}
}

static int add_cost(const struct pams_path *path, void *arg)
{
	bool *any = arg;

	*any |= path->has_cost && path->cost;
	return 0;
}

static bool anything_costs(struct pams_nl *nl)
{
	bool any = false;

	return pams_nl_path_dump(nl, add_cost, &any) < 0 || any;
}

static void look_at_overflow(json_t *list, struct pams_nl *nl, const struct pams_rules *rules)
{
	bool any = rules->overflow.said;

	for (unsigned int i = 0; i < rules->nr; i++)
		any |= rules->rule[i].overflow.said;
	if (any && !anything_costs(nl))
		finding(list, NOTE, "rules",
			"pamsctl path set dev INTERFACE cost 1, or let pamsd report it",
			"there are rules for an overflow, but no path costs anything now: all are "
			"used alike");
}

static void look_at_table(json_t *list, struct pams_nl *nl, const struct pams_rules *rules)
{
	char chosen[SCHEDULERS_MAX] = "";
	unsigned int i;
	uint64_t id;

	if (!rules->nr && !rules->scheduler[0])
		return;
	if (scheduler_chosen(chosen, sizeof(chosen)) && !is_ours(chosen))
		finding(list, NOTE, "rules", "pamsctl sched set minfct",
			"%u rules count for nothing: new sockets use %s, which follows none",
			rules->nr, chosen);
	else
		finding(list, FINE, "rules", NULL, "connections follow %u rules%s%s", rules->nr,
			rules->scheduler[0] ? " and the default " : "", rules->scheduler);
	for (i = 0; i < rules->nr; i++) {
		look_at_order(list, rules, i);
		if (rules->rule[i].cgroup[0] && cgroup_find(rules->rule[i].cgroup, &id) == -ENOENT)
			finding(list, NOTE, "rules", "set the table again once it is there; pamsd "
				"does, with rules in pamsd.conf",
				"rule %u fits nothing: the cgroup %s isn't there any more", i + 1,
				rules->rule[i].cgroup);
	}
	look_at_overflow(list, nl, rules);
}

void look_at_rules(json_t *list)
{
	struct pams_rules rules = { };
	struct pams_nl *nl = NULL;

	/* what prevents it is told of the module */
	if (!pams_nl_open(&nl) && !pams_nl_rules_get(nl, &rules)) {
		look_at_table(list, nl, &rules);
		free(rules.rule);
	}
	pams_nl_close(nl);
}
