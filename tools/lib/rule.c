// SPDX-License-Identifier: GPL-2.0
/*
 * rule - parses the text form of rules for connections
 *
 *	[NUMBER] [MATCH...] use SCHEDULER [first SIZE] [overflow 0|TIME|FACTORx [costly-copies]]
 *	default SCHEDULER ...
 *
 * A file has one rule per line; # begins a comment. The number, which "pamsctl rule show"
 * prints, is ignored: the order of the lines counts.
 */
#include <errno.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <linux/mptcp_pams.h>

#include "rule.h"

#define WORDS_MAX	64
#define BLANKS		" \t\r\n"

static const char *parse_cgroup(const char *text, struct pams_rule *rule)
{
	if (text[0] != '/')
		return wrong("cgroup '%s' is not a path below the root of "
			     "cgroups: write e.g. /user.slice", text);
	if (strlen(text) >= sizeof(rule->cgroup))
		return wrong("the cgroup's path is longer than %zu bytes",
			     sizeof(rule->cgroup) - 1);
	memcpy(rule->cgroup, text, strlen(text) + 1);
	return NULL;
}

/* Parse a number, decimal or with 0x. *end points after it. Returns false if there is none. */
static bool read_u32(const char *text, uint32_t *number, char **end)
{
	unsigned long long value;

	errno = 0;
	value = strtoull(text, end, 0);
	*number = value;
	return text[0] >= '0' && text[0] <= '9' && *end != text && !errno &&
	       value <= UINT32_MAX;
}

static const char *parse_mark(const char *text, struct pams_rule *rule)
{
	char *end;

	rule->has_mark = true;
	rule->mask = UINT32_MAX;
	if (!read_u32(text, &rule->mark, &end) ||
	    (*end && (*end != '/' || !read_u32(end + 1, &rule->mask, &end) ||
		      *end)))
		return wrong("mark '%s' is not MARK[/MASK]: write e.g. "
			     "0x10/0xf0", text);
	return NULL;
}

static const char *parse_uid(const char *text, struct pams_rule *rule)
{
	const struct passwd *user;
	char *end;

	rule->has_uid = true;
	if (read_u32(text, &rule->uid, &end) && !*end)
		return NULL;
	user = getpwnam(text);
	if (!user)
		return wrong("uid '%s' is neither a number nor a user", text);
	rule->uid = user->pw_uid;
	return NULL;
}

static const char *parse_ports(const char *what, const char *text,
			       uint16_t *min, uint16_t *max)
{
	const char *dash = strchr(text, '-'), *why;
	uint64_t low, high;
	char first[16];

	snprintf(first, sizeof(first), "%.*s",
		 dash ? (int)(dash - text) : (int)strlen(text), text);
	why = number_parse(what, first, 0, UINT16_MAX, &low);
	high = low;
	if (!why && dash)
		why = number_parse(what, dash + 1, 0, UINT16_MAX, &high);
	if (why)
		return why;
	if (low > high)
		return wrong("%s '%s' ends before it begins", what, text);
	*min = low;
	*max = high;
	return NULL;
}

static const char *parse_peer(const char *text, struct pams_rule *rule)
{
	const char *length, *why;
	uint64_t bits;

	if (!inet_parse(text, &rule->family, rule->address, &length))
		return wrong("peer '%s' is not ADDRESS[/LENGTH]", text);
	rule->prefix_len = rule->family == AF_INET ? 32 : 128;
	if (!length)
		return NULL;
	why = number_parse("prefix length", length, 0, rule->prefix_len, &bits);
	if (!why)
		rule->prefix_len = bits;
	return why;
}

static const char *parse_first(struct words *words, uint32_t *first_bytes)
{
	const char *text = next_word(words), *why;
	uint64_t bytes;

	if (!text)
		return "'first' lacks its value";
	why = size_parse("first", text, MPTCP_PAMS_BACKLOG_MAX_BYTES, "2Gi",
			 &bytes);
	if (why)
		return why;
	*first_bytes = bytes;
	return bytes ? NULL : wrong("first '%s' is nothing", text);
}

/* Parse 0, a time, or a factor like 1.5x; then optionally "costly-copies". */
static const char *parse_overflow(struct words *words,
				  struct pams_overflow *overflow)
{
	const char *text = next_word(words), *why;
	double factor;
	uint64_t us;
	char *end;

	if (!text)
		return "'overflow' lacks its value";
	overflow->said = true;
	overflow->copies = next_is(words, "costly-copies");
	if (!strcmp(text, "0"))
		return NULL;
	factor = strtod(text, &end);
	if (text[0] >= '0' && text[0] <= '9' && !strcmp(end, "x")) {
		if (!(factor >= 1 &&
		      factor <= MPTCP_PAMS_OVERFLOW_MAX_PERCENT / 100.0))
			return wrong("overflow '%s' is out of range: 1x to %ux",
				     text, MPTCP_PAMS_OVERFLOW_MAX_PERCENT / 100);
		overflow->percent = factor * 100 + 0.5;
		return NULL;
	}
	why = time_parse("overflow", text, 1000,
			 (uint64_t)MPTCP_PAMS_OVERFLOW_MAX_MS * 1000, &us);
	if (!why)
		overflow->delay_ms = us / 1000;
	return why;
}

const char *rule_choice_parse(struct words *words,
			      char scheduler[PAMS_SCHEDULER_MAX],
			      uint32_t *first_bytes,
			      struct pams_overflow *overflow)
{
	const char *name = next_word(words), *why = NULL;

	if (!name)
		return "the scheduler is missing";
	/* the module checks whether the scheduler exists, and which parameters it takes */
	if (strlen(name) >= PAMS_SCHEDULER_MAX)
		return wrong("a scheduler's name has at most %d characters",
			     PAMS_SCHEDULER_MAX - 1);
	snprintf(scheduler, PAMS_SCHEDULER_MAX, "%s", name);
	if (next_is(words, "first"))
		why = parse_first(words, first_bytes);
	if (!why && next_is(words, "overflow"))
		why = parse_overflow(words, overflow);
	if (!why && words->left)
		why = wrong("unexpected argument '%s'", *words->at);
	return why;
}

static const char *parse_value(const char *what, const char *text,
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

const char *rule_parse(struct words *words, struct pams_rule *rule)
{
	static const char * const known[] = {
		"cgroup", "mark", "uid", "local", "remote", "peer", "client",
		"server", "use",
	};
	const size_t count = sizeof(known) / sizeof(known[0]);
	const char *what, *text, *why;
	unsigned int seen = 0;
	size_t i;

	memset(rule, 0, sizeof(*rule));
	rule->local_max = UINT16_MAX;
	rule->remote_max = UINT16_MAX;
	while ((what = next_word(words))) {
		for (i = 0; i < count && strcmp(what, known[i]); i++)
			;
		if (i == count)
			return wrong("'%s' is not part of a rule: cgroup, mark, "
				     "uid, local, remote, peer, client, server, "
				     "and use at its end", what);
		if (seen & 1 << i)
			return wrong("'%s' is given twice", what);
		seen |= 1 << i;
		if (!strcmp(what, "use"))
			return rule_choice_parse(words, rule->scheduler,
						 &rule->first_bytes,
						 &rule->overflow);
		if (!strcmp(what, "client") || !strcmp(what, "server")) {
			rule->client |= what[0] == 'c';
			rule->server |= what[0] == 's';
			if (rule->client && rule->server)
				return "client and server exclude each other";
			continue;
		}
		text = next_word(words);
		if (!text)
			return wrong("'%s' lacks its value", what);
		why = parse_value(what, text, rule);
		if (why)
			return why;
	}
	return "'use SCHEDULER' is missing";
}

bool rule_number(struct words *words, uint64_t *number)
{
	const char *word = words->left ? *words->at : "";

	if (!*word || word[strspn(word, "0123456789")] || strlen(word) > 9)
		return false;
	*number = strtoul(next_word(words), NULL, 10);
	return true;
}

bool rules_insert(struct pams_rules *rules, unsigned int at,
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

static const char *read_line(char *line, struct pams_rules *rules)
{
	struct pams_rule rule;
	struct words words;
	char *word[WORDS_MAX], *rest;
	const char *why;
	uint64_t number;
	int count = 0;

	line[strcspn(line, "#")] = 0;
	for (char *at = strtok_r(line, BLANKS, &rest); at;
	     at = strtok_r(NULL, BLANKS, &rest)) {
		if (count == WORDS_MAX)
			return wrong("more than %d words", WORDS_MAX);
		word[count++] = at;
	}
	words = (struct words){ .at = word, .left = count };
	if (!count)
		return NULL;
	if (next_is(&words, "default")) {
		if (rules->scheduler[0])
			return "'default' is given twice";
		return rule_choice_parse(&words, rules->scheduler,
					 &rules->first_bytes, &rules->overflow);
	}
	rule_number(&words, &number);
	why = rule_parse(&words, &rule);
	if (why)
		return why;
	if (rules->nr == MPTCP_PAMS_RULES_MAX)
		return wrong("%u rules are too many: %u at most", rules->nr + 1,
			     MPTCP_PAMS_RULES_MAX);
	return rules_insert(rules, rules->nr, &rule) ? NULL : strerror(ENOMEM);
}

const char *rules_read(FILE *file, struct pams_rules *rules, size_t *line)
{
	const char *why = NULL;
	char *text = NULL;
	size_t room = 0;

	*line = 0;
	while (!why && getline(&text, &room, file) >= 0) {
		++*line;
		why = read_line(text, rules);
	}
	if (!why && ferror(file))
		why = strerror(errno);
	free(text);
	return why;
}
