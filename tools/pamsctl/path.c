// SPDX-License-Identifier: GPL-2.0
/* path - report paths to the module, and show what was reported */
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <net/if.h>
#include <string.h>

#include <linux/mptcp_pams.h>

#include "pamsctl.h"

#define US_PER_MS	1000

static int open_module(struct pams_nl **nl)
{
	int err = pams_nl_open(nl);

	if (!err)
		return DONE;
	err = refuse_kernel(*nl, "the module can't be asked", err);
	pams_nl_close(*nl);
	return err;
}

/* --- set --- */

/* Parse the time that follows a keyword, in ms. */
static int parse_ms(const char *what, const char *text, uint64_t min_ms,
		    uint64_t *ms)
{
	uint64_t us;

	if (parse_time(what, text, min_ms * US_PER_MS,
		       (uint64_t)MPTCP_PAMS_TIME_MAX_MS * US_PER_MS, &us))
		return USAGE;
	*ms = us / US_PER_MS;
	return DONE;
}

static int parse_value(const char *what, const char *text,
		       struct pams_path *path)
{
	uint64_t number;

	if (!strcmp(what, "pipe-rate")) {
		path->has_pipe = true;
		return parse_rate(what, text, &path->rate_byteps);
	}
	if (!strcmp(what, "hs-rate"))
		return parse_rate(what, text, &path->hs_rate_byteps);
	if (!strcmp(what, "backlog"))
		return parse_size(what, text, &path->backlog_bytes);
	if (!strcmp(what, "delay")) {
		if (parse_time(what, text, 0, MPTCP_PAMS_DELAY_MAX_US,
			       &number))
			return USAGE;
		path->has_delay = true;
		path->delay_us = number;
		return DONE;
	}
	if (!strcmp(what, "loss-time")) {
		if (parse_ms(what, text, 0, &number))
			return USAGE;
		path->has_loss = true;
		path->loss_ms = number;
		return DONE;
	}
	if (!strcmp(what, "loss-spread")) {
		if (parse_ms(what, text, 0, &number))
			return USAGE;
		path->loss_spread_ms = number;
		return DONE;
	}
	if (!strcmp(what, "cost")) {
		if (parse_number(what, text, 0, MPTCP_PAMS_COST_MAX, &number))
			return USAGE;
		path->has_cost = true;
		path->cost = number;
		return DONE;
	}
	if (parse_ms(what, text, 1, &number))
		return USAGE;
	path->ttl_ms = number;
	path->until_deleted = false;
	return DONE;
}

const char path_values[] =
	"VALUE  pipe-rate RATE [backlog SIZE] [delay TIME] [hs-rate RATE]\n"
	"       loss-time TIME [loss-spread TIME] | no-loss | cost 0-15 | ttl "
	"TIME\n";

/* In the order of parse_values()'s words: which one is given. */
enum { PIPE_RATE, BACKLOG, DELAY, HS_RATE, LOSS_TIME, LOSS_SPREAD, NO_LOSS,
       COST, TTL };

/* What is missing for what is given, or contradicts it. */
static int check_values(const char * const *known, unsigned int given)
{
	static const struct {
		unsigned int value, needs;
	} rules[] = {
		{ LOSS_SPREAD, LOSS_TIME }, { BACKLOG, PIPE_RATE },
		{ DELAY, PIPE_RATE }, { HS_RATE, PIPE_RATE },
	};
	size_t i;

	if (given & 1 << LOSS_TIME && given & 1 << NO_LOSS)
		return refuse(USAGE,
			      "loss-time and no-loss exclude each other");
	for (i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
		if (given & 1 << rules[i].value &&
		    !(given & 1 << rules[i].needs))
			return refuse(USAGE, "%s needs %s, too",
				      known[rules[i].value],
				      known[rules[i].needs]);
	if (!(given & (1 << PIPE_RATE | 1 << LOSS_TIME | 1 << NO_LOSS |
		       1 << COST)))
		return refuse(USAGE, "nothing to report: give pipe-rate, "
				     "loss-time, no-loss or cost");
	return DONE;
}

static int refuse_value(const char * const *known, size_t count,
			const char *what)
{
	char names[256] = "";
	size_t at = 0;

	for (size_t i = 0; i < count; i++)
		at += snprintf(names + at, sizeof(names) - at, "%s%s",
			       !i ? "" : i + 1 < count ? ", " : " or ",
			       known[i]);
	return refuse(USAGE, "'%s' is not a value: %s", what, names);
}

static int parse_values(struct words *words, struct pams_path *path)
{
	static const char * const known[] = {
		"pipe-rate", "backlog", "delay", "hs-rate", "loss-time",
		"loss-spread", "no-loss", "cost", "ttl",
	};
	const size_t count = sizeof(known) / sizeof(known[0]);
	unsigned int seen = 0;
	const char *what, *text;
	size_t i;

	path->until_deleted = true;	/* unless a ttl is given */
	while ((what = next_word(words))) {
		for (i = 0; i < count && strcmp(what, known[i]); i++)
			;
		if (i == count)
			return refuse_value(known, count, what);
		if (seen & 1 << i)
			return refuse(USAGE, "'%s' is given twice", what);
		seen |= 1 << i;
		if (i == NO_LOSS) {
			path->no_loss = true;
			continue;
		}
		text = next_word(words);
		if (!text)
			return refuse(USAGE, "'%s' lacks its value", what);
		if (parse_value(what, text, path))
			return USAGE;
	}
	return check_values(known, seen);
}

/* --- show --- */

static int collect(const struct pams_path *path, void *arg)
{
	if (options.json)
		return append(arg, path_json(path));
	path_print(path);
	return 0;
}

static int show_all(struct pams_nl *nl)
{
	json_t *list = json_array();
	int err = pams_nl_path_dump(nl, collect, list);

	if (err < 0) {
		json_decref(list);
		return refuse_kernel(nl, "path show", err);
	}
	if (err)
		fprintf(stderr, "pamsctl: the paths changed all the time: some "
				"may be missing\n");
	if (options.json)
		return print_json(list);
	json_decref(list);
	return DONE;
}

static int show_one(struct pams_nl *nl, struct pams_path *path)
{
	int err = pams_nl_path_get(nl, path);

	if (err)
		return refuse_kernel(nl, "path show", err);
	if (options.json)
		return print_json(path_json(path));
	path_print(path);
	return DONE;
}

/* --- the command --- */

int path_show(struct words *words)
{
	struct pams_path path = { };
	bool all = !words->left;
	struct pams_nl *nl;
	int status;

	if (!all && (parse_key(words, &path) || no_more_words(words)))
		return USAGE;
	status = open_module(&nl);
	if (status)
		return status;
	status = all ? show_all(nl) : show_one(nl, &path);
	pams_nl_close(nl);
	return status;
}

static int change(const char *what, const struct pams_path *path,
		  int (*call)(struct pams_nl *nl, const struct pams_path *path))
{
	struct pams_nl *nl;
	int status = open_module(&nl);
	int err;

	if (status)
		return status;
	err = call(nl, path);
	status = err ? refuse_kernel(nl, what, err) : DONE;
	pams_nl_close(nl);
	if (!status && options.json)
		return print_json(json_object());
	return status;
}

static int flush(struct pams_nl *nl, const struct pams_path *path)
{
	(void)path;
	return pams_nl_path_flush(nl);
}

int path_command(struct words *words)
{
	static const char * const names[] = { "show", "set", "del", "flush",
					      "monitor", NULL };
	int chosen = choose(words, "path", names, 0);
	struct pams_path path = { };

	if (chosen >= 0 && chosen != 4 && (options.count || options.timeout_us))
		return refuse(USAGE, "--count and --timeout are for path "
			      "monitor");
	switch (chosen) {
	case 0:
		return path_show(words);
	case 1:
		if (parse_key(words, &path) || parse_values(words, &path))
			return USAGE;
		snprintf(path.origin, sizeof(path.origin), "pamsctl");
		return change("path set", &path, pams_nl_path_set);
	case 2:
		if (parse_key(words, &path) || no_more_words(words))
			return USAGE;
		return change("path del", &path, pams_nl_path_del);
	case 3:
		if (no_more_words(words))
			return USAGE;
		return change("path flush", &path, flush);
	case 4:
		return path_monitor(words);
	}
	return USAGE;
}
