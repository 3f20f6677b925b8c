// SPDX-License-Identifier: GPL-2.0
/*
 * rule - which connections get which scheduler
 *
 *	[MATCH...] use SCHEDULER [first SIZE] [overflow 0|TIME|FACTORx [costly-copies]]
 *	default SCHEDULER ...
 *
 * A command replaces the whole table: it reads the rules, changes them and sets them. The
 * module refuses to set them if another program has changed them since they were read.
 * "rule load" reads what "rule show" prints.
 */
#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "pamsctl.h"

#define RULE_TEXT_MAX	(PAMS_CGROUP_MAX + 256)

/* --- as text and JSON --- */

static size_t add_text(char *buffer, size_t at, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static size_t add_text(char *buffer, size_t at, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	at += vsnprintf(buffer + at, RULE_TEXT_MAX - at, format, args);
	va_end(args);
	return at < RULE_TEXT_MAX ? at : RULE_TEXT_MAX - 1;
}

static size_t add_ports(char *buffer, size_t at, const char *what,
			uint16_t min, uint16_t max)
{
	if (!min && max == UINT16_MAX)
		return at;
	if (min == max)
		return add_text(buffer, at, "%s %u ", what, min);
	return add_text(buffer, at, "%s %u-%u ", what, min, max);
}

static void add_parameters(char *buffer, size_t at, uint32_t first_bytes,
			   const struct pams_overflow *overflow)
{
	char text[QUANTITY_MAX];

	if (first_bytes)
		at = add_text(buffer, at, " first %" PRIu32, first_bytes);
	if (!overflow->said)
		return;
	if (overflow->percent)
		at = add_text(buffer, at, " overflow %gx",
			      overflow->percent / 100.0);
	else
		at = add_text(buffer, at, " overflow %s", overflow->delay_ms ?
			      show_time(text, (int64_t)overflow->delay_ms * 1000) :
			      "0");
	if (overflow->copies)
		add_text(buffer, at, " costly-copies");
}

static void show_rule(char *buffer, const struct pams_rule *rule)
{
	char address[INET6_ADDRSTRLEN];
	size_t at = 0;

	buffer[0] = 0;
	if (rule->cgroup[0])
		at = add_text(buffer, at, "cgroup %s ", rule->cgroup);
	if (rule->has_mark)
		at = add_text(buffer, at, "mark 0x%" PRIx32 "/0x%" PRIx32 " ",
			      rule->mark, rule->mask);
	if (rule->has_uid)
		at = add_text(buffer, at, "uid %" PRIu32 " ", rule->uid);
	at = add_ports(buffer, at, "local", rule->local_min, rule->local_max);
	at = add_ports(buffer, at, "remote", rule->remote_min,
		       rule->remote_max);
	if (rule->family)
		at = add_text(buffer, at, "peer %s/%u ",
			      show_address(address, rule->family,
					   rule->address), rule->prefix_len);
	if (rule->client || rule->server)
		at = add_text(buffer, at, rule->client ? "client " : "server ");
	at = add_text(buffer, at, "use %s", rule->scheduler);
	add_parameters(buffer, at, rule->first_bytes, &rule->overflow);
}

static void add_ports_json(json_t *object, const char *what, uint16_t min,
			   uint16_t max)
{
	if (min || max != UINT16_MAX)
		json_object_set_new(object, what,
				    json_pack("[i, i]", min, max));
}

static void add_parameters_json(json_t *object, uint32_t first_bytes,
				const struct pams_overflow *overflow)
{
	if (first_bytes)
		json_object_set_new(object, "first_bytes",
				    json_integer(first_bytes));
	if (!overflow->said)
		return;
	if (overflow->percent)
		json_object_set_new(object, "overflow_percent",
				    json_integer(overflow->percent));
	else
		json_object_set_new(object, "overflow_ms",
				    json_integer(overflow->delay_ms));
	json_object_set_new(object, "costly_copies",
			    json_boolean(overflow->copies));
}

static json_t *rule_json(const struct pams_rule *rule)
{
	json_t *object = json_pack("{s:I}", "number",
				   (json_int_t)rule->number);
	char address[INET6_ADDRSTRLEN];

	if (rule->cgroup[0])
		json_object_set_new(object, "cgroup",
				    json_string(rule->cgroup));
	if (rule->has_mark) {
		json_object_set_new(object, "mark", json_integer(rule->mark));
		json_object_set_new(object, "mask", json_integer(rule->mask));
	}
	if (rule->has_uid)
		json_object_set_new(object, "uid", json_integer(rule->uid));
	add_ports_json(object, "local_ports", rule->local_min,
		       rule->local_max);
	add_ports_json(object, "remote_ports", rule->remote_min,
		       rule->remote_max);
	if (rule->family) {
		show_address(address, rule->family, rule->address);
		json_object_set_new(object, "peer", json_string(address));
		json_object_set_new(object, "prefix_len",
				    json_integer(rule->prefix_len));
	}
	if (rule->client || rule->server)
		json_object_set_new(object, "side",
				    json_string(rule->client ? "client" :
							       "server"));
	json_object_set_new(object, "scheduler", json_string(rule->scheduler));
	add_parameters_json(object, rule->first_bytes, &rule->overflow);
	return object;
}

static int print_rules(const struct pams_rules *rules)
{
	const char *otherwise = rules->scheduler[0] ? rules->scheduler : NULL;
	char text[RULE_TEXT_MAX];
	json_t *list, *table;
	unsigned int i;

	if (options.json) {
		list = json_array();
		for (i = 0; i < rules->nr; i++)
			json_array_append_new(list,
					      rule_json(&rules->rule[i]));
		table = json_pack("{s:s?, s:o}", "default", otherwise, "rules",
				  list);
		add_parameters_json(table, rules->first_bytes, &rules->overflow);
		return print_json(table);
	}
	for (i = 0; i < rules->nr; i++) {
		show_rule(text, &rules->rule[i]);
		printf("%-3" PRIu32 " %s\n", rules->rule[i].number, text);
	}
	text[0] = 0;
	add_parameters(text, 0, rules->first_bytes, &rules->overflow);
	if (otherwise)
		printf("default %s%s\n", otherwise, text);
	else
		puts("# no default: other connections keep the scheduler of their socket");
	return DONE;
}

/* --- the commands --- */

static int get(struct pams_nl **nl, struct pams_rules *rules)
{
	int err = pams_nl_open(nl);

	memset(rules, 0, sizeof(*rules));
	if (!err)
		err = pams_nl_rules_get(*nl, rules);
	return err ? refuse_kernel(*nl, "the rules can't be read", err) : DONE;
}

static bool says_something(const struct pams_rules *rules)
{
	return rules->nr || rules->scheduler[0];
}

/* The table is set in any case: it counts as soon as a scheduler of the module is chosen. */
static int set(struct pams_nl *nl, const struct pams_rules *rules)
{
	char chosen[SCHEDULERS_MAX], note[SCHEDULERS_MAX + 128];
	int err = pams_nl_rules_set(nl, rules);

	if (err)
		return refuse_kernel(nl, "rule", err);
	if (!says_something(rules) || !scheduler_chosen(chosen, sizeof(chosen)) || is_ours(chosen))
		return options.json ? print_json(json_object()) : DONE;
	snprintf(note, sizeof(note), "the rules are set, but new sockets use %s, which follows "
		 "none: pamsctl sched set minfct", chosen);
	if (options.json)
		return print_json(json_pack("{s:s}", "note", note));
	fprintf(stderr, "pamsctl: %s\n", note);
	return DONE;
}

static int rule_show(struct words *words)
{
	struct pams_rules rules = {};
	struct pams_nl *nl = NULL;
	int status;

	if (no_more_words(words))
		return USAGE;
	status = get(&nl, &rules);
	if (!status)
		status = print_rules(&rules);
	free(rules.rule);
	pams_nl_close(nl);
	return status;
}

/* rule add [NUMBER] RULE, or rule add default SCHEDULER */
static int rule_add(struct words *words)
{
	char otherwise[PAMS_SCHEDULER_MAX] = "";
	struct pams_overflow overflow = {};
	struct pams_rules rules = {};
	struct pams_nl *nl = NULL;
	struct pams_rule rule;
	uint32_t first = 0;
	const char *why;
	uint64_t at = 0;
	bool placed;
	int status;

	placed = rule_number(words, &at);
	if (!placed && next_is(words, "default"))
		why = rule_choice_parse(words, otherwise, &first, &overflow);
	else
		why = rule_parse(words, &rule);
	if (why)
		return refuse(USAGE, "%s", why);

	status = get(&nl, &rules);
	if (!status && placed && (!at || at > rules.nr + 1))
		status = refuse(USAGE, "there is no place %" PRIu64 ": 1 to %u",
				at, rules.nr + 1);
	if (!status && otherwise[0]) {
		memcpy(rules.scheduler, otherwise, sizeof(otherwise));
		rules.first_bytes = first;
		rules.overflow = overflow;
	} else if (!status && !rules_insert(&rules, placed ? at - 1 : rules.nr,
					    &rule)) {
		status = refuse(FAILED, "%s", strerror(ENOMEM));
	}
	if (!status)
		status = set(nl, &rules);
	free(rules.rule);
	pams_nl_close(nl);
	return status;
}

/* rule del NUMBER, or rule del all */
static int rule_del(struct words *words)
{
	struct pams_rules rules = {};
	struct pams_nl *nl = NULL;
	uint64_t at = 0;
	bool all = next_is(words, "all");
	int status;

	if (!all && !rule_number(words, &at))
		return refuse(USAGE, "which rule? give its number, as rule show "
			      "has it, or all");
	if (no_more_words(words))
		return USAGE;
	status = get(&nl, &rules);
	if (!status && all) {
		rules.nr = 0;
		rules.scheduler[0] = 0;
		rules.first_bytes = 0;
		rules.overflow = (struct pams_overflow){};
	} else if (!status && (!at || at > rules.nr)) {
		status = refuse(FAILED, "there is no rule %" PRIu64, at);
	} else if (!status) {
		rules.nr--;
		memmove(&rules.rule[at - 1], &rules.rule[at],
			(rules.nr - at + 1) * sizeof(*rules.rule));
	}
	if (!status)
		status = set(nl, &rules);
	free(rules.rule);
	pams_nl_close(nl);
	return status;
}

/* Replace the table by the file's rules; change nothing if the file has an error. */
static int rule_load(struct words *words)
{
	const char *name = next_word(words);
	struct pams_rules rules = {};
	struct pams_nl *nl = NULL;
	const char *why;
	bool input;
	FILE *file;
	size_t line;
	int status, err;

	if (!name)
		return refuse(USAGE, "rule load: which file? - is standard "
			      "input");
	if (no_more_words(words))
		return USAGE;
	input = !strcmp(name, "-");
	file = input ? stdin : fopen(name, "re");
	if (!file)
		return refuse(FAILED, "%s: %s", name, strerror(errno));
	if (input)
		name = "standard input";
	why = rules_read(file, &rules, &line);
	if (!input)
		fclose(file);
	if (why) {
		status = refuse(USAGE, "%s:%zu: %s", name, line, why);
	} else {
		err = pams_nl_open(&nl);
		status = err ? refuse_kernel(nl, "rule", err) : set(nl, &rules);
	}
	free(rules.rule);
	pams_nl_close(nl);
	return status;
}

int rule_command(struct words *words)
{
	static const char * const names[] = { "show", "add", "del", "load",
					      NULL };

	switch (choose(words, "rule", names, 0)) {
	case 0:
		return rule_show(words);
	case 1:
		return rule_add(words);
	case 2:
		return rule_del(words);
	case 3:
		return rule_load(words);
	}
	return USAGE;
}
