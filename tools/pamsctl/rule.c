// SPDX-License-Identifier: GPL-2.0
/*
 * rule - which connections get which scheduler
 *
 *	MATCH... use SCHEDULER [first SIZE] [overflow 0|TIME|FACTORx [costly-copies]]
 *	default SCHEDULER ...
 *
 * A command changes the table as a whole: it is read, changed and set, and the kernel
 * refuses if somebody else was in between. What "rule show" prints "rule load" reads.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <linux/mptcp_pams.h>

#include "pamsctl.h"

#define WORDS_MAX	64
#define RULE_TEXT_MAX	(PAMS_CGROUP_MAX + 256)
#define BLANKS		" \t\r\n"

/* --- from words --- */

static int parse_cgroup(const char *text, struct pams_rule *rule)
{
	if (text[0] != '/')
		return refuse(USAGE, "cgroup '%s' is not a path below the root "
			      "of cgroups: write e.g. /user.slice", text);
	if (strlen(text) >= sizeof(rule->cgroup))
		return refuse(USAGE, "the cgroup's path is longer than %zu "
			      "bytes", sizeof(rule->cgroup) - 1);
	memcpy(rule->cgroup, text, strlen(text) + 1);
	return DONE;
}

/* Whole, decimal or 0x; *end is where it ends. */
static bool read_u32(const char *text, uint32_t *number, char **end)
{
	unsigned long long value;

	errno = 0;
	value = strtoull(text, end, 0);
	*number = value;
	return text[0] >= '0' && text[0] <= '9' && *end != text && !errno &&
	       value <= UINT32_MAX;
}

static int parse_mark(const char *text, struct pams_rule *rule)
{
	char *end;

	rule->has_mark = true;
	rule->mask = UINT32_MAX;
	if (!read_u32(text, &rule->mark, &end) ||
	    (*end && (*end != '/' || !read_u32(end + 1, &rule->mask, &end) ||
		      *end)))
		return refuse(USAGE, "mark '%s' is not MARK[/MASK]: write e.g. "
			      "0x10/0xf0", text);
	return DONE;
}

static int parse_uid(const char *text, struct pams_rule *rule)
{
	const struct passwd *user;
	char *end;

	rule->has_uid = true;
	if (read_u32(text, &rule->uid, &end) && !*end)
		return DONE;
	user = getpwnam(text);
	if (!user)
		return refuse(USAGE, "uid '%s' is neither a number nor a user",
			      text);
	rule->uid = user->pw_uid;
	return DONE;
}

static int parse_ports(const char *what, const char *text, uint16_t *min,
		       uint16_t *max)
{
	const char *dash = strchr(text, '-');
	uint64_t low, high;
	char first[16];

	snprintf(first, sizeof(first), "%.*s",
		 dash ? (int)(dash - text) : (int)strlen(text), text);
	if (parse_number(what, first, 0, 65535, &low))
		return USAGE;
	high = low;
	if (dash && parse_number(what, dash + 1, 0, 65535, &high))
		return USAGE;
	if (low > high)
		return refuse(USAGE, "%s '%s' ends before it begins", what,
			      text);
	*min = low;
	*max = high;
	return DONE;
}

static int parse_peer(const char *text, struct pams_rule *rule)
{
	char address[INET6_ADDRSTRLEN + 1];
	size_t length = strcspn(text, "/");
	uint64_t bits;

	rule->family = memchr(text, ':', length) ? AF_INET6 : AF_INET;
	rule->prefix_len = rule->family == AF_INET ? 32 : 128;
	snprintf(address, sizeof(address), "%.*s", (int)length, text);
	if (length >= sizeof(address) ||
	    inet_pton(rule->family, address, rule->address) != 1)
		return refuse(USAGE, "peer '%s' is not ADDRESS[/LENGTH]", text);
	if (text[length] &&
	    parse_number("prefix length", text + length + 1, 0,
			 rule->prefix_len, &bits))
		return USAGE;
	if (text[length])
		rule->prefix_len = bits;
	return DONE;
}

/* 0, a time, or a factor: 1.5x */
static int parse_overflow(const char *text, struct pams_overflow *overflow)
{
	uint64_t us;
	double factor;
	char *end;

	overflow->said = true;
	if (!strcmp(text, "0"))
		return DONE;
	factor = strtod(text, &end);
	if (text[0] >= '0' && text[0] <= '9' && !strcmp(end, "x")) {
		if (!(factor >= 1 &&
		      factor <= MPTCP_PAMS_OVERFLOW_MAX_PERCENT / 100.0))
			return refuse(USAGE, "overflow '%s' is out of range: 1x "
				      "to %ux", text,
				      MPTCP_PAMS_OVERFLOW_MAX_PERCENT / 100);
		overflow->percent = factor * 100 + 0.5;
		return DONE;
	}
	if (parse_time("overflow", text, 1000,
		       (uint64_t)MPTCP_PAMS_OVERFLOW_MAX_MS * 1000, &us))
		return USAGE;
	overflow->delay_ms = us / 1000;
	return DONE;
}

/* What may follow a scheduler: [first SIZE] [overflow 0|TIME|FACTORx [costly-copies]] */
static int parse_parameters(struct words *words, const char *name,
			    uint32_t *first_bytes, struct pams_overflow *overflow)
{
	const char *text;

	if (next_is(words, "first")) {
		text = next_word(words);
		if (!text)
			return refuse(USAGE, "'first' lacks its value");
		if (strcmp(name, "redundant"))
			return refuse(USAGE, "first is for redundant only");
		if (parse_size("first", text, first_bytes))
			return USAGE;
		if (!*first_bytes)
			return refuse(USAGE, "first '%s' is nothing", text);
	}
	if (next_is(words, "overflow")) {
		text = next_word(words);
		if (!text)
			return refuse(USAGE, "'overflow' lacks its value");
		if (parse_overflow(text, overflow))
			return USAGE;
		overflow->copies = next_is(words, "costly-copies");
	}
	return no_more_words(words);
}

/* SCHEDULER and its parameters */
static int parse_choice(struct words *words, char *scheduler,
			uint32_t *first_bytes, struct pams_overflow *overflow)
{
	const char *name = next_word(words);

	if (!name)
		return refuse(USAGE, "the scheduler is missing");
	if (!is_ours(name) || !strcmp(name, "rules"))
		return refuse(USAGE, "'%s' is not a scheduler that a rule may "
			      "choose: minrtt, minpad, pams, minfct, single or "
			      "redundant", name);
	snprintf(scheduler, PAMS_SCHEDULER_MAX, "%s", name);
	return parse_parameters(words, name, first_bytes, overflow);
}

static int parse_value(const char *what, const char *text,
		       struct pams_rule *rule)
{
	if (!strcmp(what, "cgroup"))
		return parse_cgroup(text, rule);
	if (!strcmp(what, "mark"))
		return parse_mark(text, rule);
	if (!strcmp(what, "uid"))
		return parse_uid(text, rule);
	if (!strcmp(what, "local"))
		return parse_ports(what, text, &rule->local_min,
				   &rule->local_max);
	if (!strcmp(what, "remote"))
		return parse_ports(what, text, &rule->remote_min,
				   &rule->remote_max);
	return parse_peer(text, rule);
}

/* MATCH... use SCHEDULER [first SIZE] */
static int parse_rule(struct words *words, struct pams_rule *rule)
{
	static const char * const known[] = {
		"cgroup", "mark", "uid", "local", "remote", "peer", "client",
		"server", "use",
	};
	const size_t count = sizeof(known) / sizeof(known[0]);
	unsigned int seen = 0;
	const char *what, *text;
	size_t i;

	memset(rule, 0, sizeof(*rule));
	rule->local_max = UINT16_MAX;
	rule->remote_max = UINT16_MAX;
	while ((what = next_word(words))) {
		for (i = 0; i < count && strcmp(what, known[i]); i++)
			;
		if (i == count)
			return refuse(USAGE, "'%s' is not part of a rule: "
				      "cgroup, mark, uid, local, remote, peer, "
				      "client, server, and use at its end",
				      what);
		if (seen & 1 << i)
			return refuse(USAGE, "'%s' is given twice", what);
		seen |= 1 << i;
		if (!strcmp(what, "use"))
			return parse_choice(words, rule->scheduler,
					    &rule->first_bytes,
					    &rule->overflow);
		if (!strcmp(what, "client") || !strcmp(what, "server")) {
			rule->client |= what[0] == 'c';
			rule->server |= what[0] == 's';
			if (rule->client && rule->server)
				return refuse(USAGE, "client and server exclude "
					      "each other");
			continue;
		}
		text = next_word(words);
		if (!text)
			return refuse(USAGE, "'%s' lacks its value", what);
		if (parse_value(what, text, rule))
			return USAGE;
	}
	return refuse(USAGE, "'use SCHEDULER' is missing");
}

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
	const char *otherwise = rules->scheduler[0] ? rules->scheduler :
						      "minfct";
	char text[RULE_TEXT_MAX];
	json_t *list, *table;
	unsigned int i;

	if (options.json) {
		list = json_array();
		for (i = 0; i < rules->nr; i++)
			json_array_append_new(list,
					      rule_json(&rules->rule[i]));
		table = json_pack("{s:s, s:o}", "default", otherwise, "rules",
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
	printf("default %s%s\n", otherwise, text);
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

static int set(struct pams_nl *nl, const struct pams_rules *rules)
{
	int err = pams_nl_rules_set(nl, rules);

	return err ? refuse_kernel(nl, "rule", err) : DONE;
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

/* Is the next word a number? Then take it. */
static bool next_is_number(struct words *words, uint64_t *number)
{
	const char *word = words->left ? *words->at : "";

	if (!*word || word[strspn(word, "0123456789")] || strlen(word) > 9)
		return false;
	*number = strtoul(next_word(words), NULL, 10);
	return true;
}

/* Make room at that place, from 0 on; false without memory. */
static bool insert(struct pams_rules *rules, unsigned int at,
		   const struct pams_rule *rule)
{
	struct pams_rule *more = reallocarray(rules->rule, rules->nr + 1,
					      sizeof(*more));

	if (!more)
		return false;
	rules->rule = more;
	memmove(&more[at + 1], &more[at], (rules->nr - at) * sizeof(*more));
	more[at] = *rule;
	rules->nr++;
	return true;
}

/* [NUMBER] RULE, or default SCHEDULER */
static int rule_add(struct words *words)
{
	char otherwise[PAMS_SCHEDULER_MAX] = "";
	struct pams_overflow overflow = {};
	struct pams_rules rules = {};
	struct pams_nl *nl = NULL;
	struct pams_rule rule;
	uint32_t first = 0;
	uint64_t at = 0;
	bool placed;
	int status;

	placed = next_is_number(words, &at);
	if (!placed && next_is(words, "default"))
		status = parse_choice(words, otherwise, &first, &overflow);
	else
		status = parse_rule(words, &rule);
	if (status)
		return status;

	status = get(&nl, &rules);
	if (!status && placed && (!at || at > rules.nr + 1))
		status = refuse(USAGE, "there is no place %" PRIu64 ": 1 to %u",
				at, rules.nr + 1);
	if (!status && otherwise[0]) {
		memcpy(rules.scheduler, otherwise, sizeof(otherwise));
		rules.first_bytes = first;
		rules.overflow = overflow;
	} else if (!status && !insert(&rules, placed ? at - 1 : rules.nr,
				      &rule)) {
		status = refuse(FAILED, "%s", strerror(ENOMEM));
	}
	if (!status)
		status = set(nl, &rules);
	free(rules.rule);
	pams_nl_close(nl);
	return status;
}

/* NUMBER, or all */
static int rule_del(struct words *words)
{
	struct pams_rules rules = {};
	struct pams_nl *nl = NULL;
	uint64_t at = 0;
	bool all = next_is(words, "all");
	int status;

	if (!all && !next_is_number(words, &at))
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

/* One line of a file; what follows a # isn't part of it. */
static int load_line(char *line, struct pams_rules *rules)
{
	struct pams_rule rule;
	struct words words;
	char *word[WORDS_MAX], *rest;
	uint64_t number;
	int count = 0;

	line[strcspn(line, "#")] = 0;
	for (char *at = strtok_r(line, BLANKS, &rest); at;
	     at = strtok_r(NULL, BLANKS, &rest)) {
		if (count == WORDS_MAX)
			return refuse(USAGE, "more than %d words", WORDS_MAX);
		word[count++] = at;
	}
	words = (struct words){ .at = word, .left = count };
	if (!count)
		return DONE;
	if (next_is(&words, "default")) {
		if (rules->scheduler[0])
			return refuse(USAGE, "'default' is given twice");
		return parse_choice(&words, rules->scheduler,
				    &rules->first_bytes, &rules->overflow);
	}
	next_is_number(&words, &number);	/* as rule show has it */
	if (parse_rule(&words, &rule))
		return USAGE;
	return insert(rules, rules->nr, &rule) ? DONE :
	       refuse(FAILED, "%s", strerror(ENOMEM));
}

static int load_lines(FILE *file, const char *name, struct pams_rules *rules)
{
	size_t room = 0, number = 0;
	char *line = NULL;
	int status = DONE;

	while (!status && getline(&line, &room, file) >= 0) {
		number++;
		refuse_in(name, number);
		status = load_line(line, rules);
	}
	refuse_in(NULL, 0);
	if (!status && ferror(file))
		status = refuse(FAILED, "%s: %s", name, strerror(errno));
	free(line);
	return status;
}

/* All that the file says, and nothing else, or no change at all. */
static int rule_load(struct words *words)
{
	const char *name = next_word(words);
	struct pams_rules rules = {};
	struct pams_nl *nl = NULL;
	bool input;
	FILE *file;
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
	status = load_lines(file, input ? "standard input" : name, &rules);
	if (!input)
		fclose(file);
	if (!status) {
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
