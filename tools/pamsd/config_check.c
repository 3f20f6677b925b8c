// SPDX-License-Identifier: GPL-2.0
/*
 * config_check - checks each value and section of the configuration
 *
 * libconfuse calls these functions after it has parsed a value or a section. They
 * return 0, or -1 after reporting a fault with its line; then libconfuse stops.
 */
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

#include <confuse.h>
#include <sodium.h>

#include <linux/mptcp_pams.h>

#include "../lib/first.h"
#include "../lib/rule.h"
#include "caps/caps.h"
#include "config_check.h"

#define RULES_BYTES_MAX	1048576
#define QUOTA_MAX	1000000000000000ULL
#define QUOTA_BARE_MIN	1000000	/* fewer bytes, without a unit, are a mistake */

static const char * const measure_names[] = {
	[MEASURE_AUTO] = "auto",
	[MEASURE_QDISC] = "qdisc",
	[MEASURE_STATION] = "station",
	[MEASURE_TCP] = "tcp",
	[MEASURE_PAMSPLIT] = "pamsplit",
	[MEASURE_NONE] = "none",
};

int measure_parse(const char *text)
{
	for (unsigned int i = 0; i < ARRAY_SIZE(measure_names); i++)
		if (!strcmp(text, measure_names[i]))
			return i;
	return -1;
}

const char *about_parse(struct about *about, const char *text)
{
	memset(about, 0, sizeof(*about));
	about->source = !strcmp(text, "source");
	return about->source ? NULL : prefix_parse(&about->prefix, text);
}

/* The value that has just been read. */
static const char *value(cfg_opt_t *opt)
{
	return cfg_opt_getnstr(opt, cfg_opt_size(opt) - 1);
}

static int refuse(cfg_t *cfg, const char *text, const char *why)
{
	if (why)
		cfg_error(cfg, "'%s' %s", text, why);
	return why ? -1 : 0;
}

/* --- validators of values --- */

int check_control(cfg_t *cfg, cfg_opt_t *opt)
{
	struct sockaddr_un address;

	return refuse(cfg, value(opt),
		      strlen(value(opt)) >= sizeof(address.sun_path) ?
		      "is too long for a socket: 107 characters at most" :
		      NULL);
}

int check_to_address(cfg_t *cfg, cfg_opt_t *opt)
{
	union address address;
	struct host host;

	return refuse(cfg, value(opt),
		      server_parse(&address, &host, value(opt), REPORT_PORT));
}

int check_listen(cfg_t *cfg, cfg_opt_t *opt)
{
	union address address, other;

	if (refuse(cfg, value(opt),
		   address_parse(&address, value(opt), REPORT_PORT)))
		return -1;
	for (unsigned int i = 0; i + 1 < cfg_opt_size(opt); i++) {
		address_parse(&other, cfg_opt_getnstr(opt, i), REPORT_PORT);
		if (!memcmp(&address, &other, sizeof(address)))
			return refuse(cfg, value(opt), "is listed twice");
	}
	return 0;
}

int check_http(cfg_t *cfg, cfg_opt_t *opt)
{
	union address address;

	return refuse(cfg, value(opt), address_parse(&address, value(opt), REPORT_PORT)) ?:
	       refuse(cfg, value(opt), address_is_loopback(&address) ? NULL :
		      "is not of the loopback, as 127.0.0.1 is: http asks nobody who they are");
}

/* Refuse a prefix that has bits set after its length, or that is multicast. */
static int check_hosts(cfg_t *cfg, const char *text,
		       const struct prefix *prefix)
{
	struct prefix cut = *prefix;
	char right[ADDRESS_TEXT];

	prefix_cut(&cut);
	if (memcmp(&cut, prefix, sizeof(cut))) {
		cfg_error(cfg, "'%s' has bits set beyond its prefix length: "
			  "write %s, or a longer prefix", text,
			  prefix_text(right, &cut));
		return -1;
	}
	return refuse(cfg, text, prefix_is_multicast(prefix) ?
		      "is multicast: no peer of a connection has such an "
		      "address" : NULL);
}

int check_prefix(cfg_t *cfg, cfg_opt_t *opt)
{
	struct prefix prefix;

	return refuse(cfg, value(opt), prefix_parse(&prefix, value(opt))) ?:
	       check_hosts(cfg, value(opt), &prefix);
}

int check_about(cfg_t *cfg, cfg_opt_t *opt)
{
	struct about about;

	if (refuse(cfg, value(opt), about_parse(&about, value(opt))))
		return -1;
	return about.source ? 0 : check_hosts(cfg, value(opt), &about.prefix);
}

int check_not_first(cfg_t *cfg, cfg_opt_t *opt)
{
	struct prefix prefix;

	return refuse(cfg, value(opt), prefix_parse(&prefix, value(opt))) ?:
	       check_hosts(cfg, value(opt), &prefix) ?:
	       refuse(cfg, value(opt), prefix.len ? NULL :
		      "is every destination: write first = false");
}

unsigned int first_also_parse(const char *text)
{
	return !strcmp(text, "tcp") ? FIRST_TCP : !strcmp(text, "udp") ? FIRST_UDP : 0;
}

int check_first_also(cfg_t *cfg, cfg_opt_t *opt)
{
	return refuse(cfg, value(opt), first_also_parse(value(opt)) ? NULL :
		      "is not tcp or udp; MPTCP connections are meant anyway");
}

/* Check the first word of a command: an executable file's path, or its name in PATH. */
int check_plugin(cfg_t *cfg, cfg_opt_t *opt)
{
	const char *name = cfg_opt_getnstr(opt, 0), *at = getenv("PATH");
	char path[4096];

	if (cfg_opt_size(opt) > 1)
		return 0;
	if (strchr(name, '/'))
		return refuse(cfg, name, access(name, X_OK) ?
			      "is not a program that can be run" : NULL);
	while (at && *at) {
		size_t len = strcspn(at, ":");

		snprintf(path, sizeof(path), "%.*s/%s", (int)len, at, name);
		if (*name && !access(path, X_OK))
			return 0;
		at += len + (at[len] == ':');
	}
	return refuse(cfg, name, "is not a program in PATH");
}

int check_measure(cfg_t *cfg, cfg_opt_t *opt)
{
	return refuse(cfg, value(opt), measure_parse(value(opt)) < 0 ?
		      "is not auto, qdisc, station, tcp, pamsplit or none" : NULL);
}

int check_ifname(cfg_t *cfg, cfg_opt_t *opt)
{
	size_t len = strlen(value(opt));

	return refuse(cfg, value(opt), !len || len >= IF_NAMESIZE ?
		      "can't be an interface: 1 to 15 characters" : NULL);
}

static int check_range(cfg_t *cfg, cfg_opt_t *opt, long min, long max)
{
	long number = cfg_opt_getnint(opt, cfg_opt_size(opt) - 1);

	if (number >= min && number <= max)
		return 0;
	cfg_error(cfg, "%s is %ld, but may be %ld to %ld", opt->name, number,
		  min, max);
	return -1;
}

int check_rate(cfg_t *cfg, cfg_opt_t *opt)
{
	return check_range(cfg, opt, 10, 10000);
}

int check_interval(cfg_t *cfg, cfg_opt_t *opt)
{
	return check_range(cfg, opt, 20, 1000);
}

int check_loss_max(cfg_t *cfg, cfg_opt_t *opt)
{
	return check_range(cfg, opt, 1, MPTCP_PAMS_TIME_MAX_MS / 1000);
}

int check_age(cfg_t *cfg, cfg_opt_t *opt)
{
	return check_range(cfg, opt, 100, 3600000);
}

int check_port(cfg_t *cfg, cfg_opt_t *opt)
{
	return check_range(cfg, opt, 0, UINT16_MAX);
}

int check_delay(cfg_t *cfg, cfg_opt_t *opt)
{
	return check_range(cfg, opt, -1, MPTCP_PAMS_DELAY_MAX_US);
}

/* --- caps --- */

int period_parse(const char *text)
{
	return !strcmp(text, "day") ? PERIOD_DAY :
	       !strcmp(text, "month") ? PERIOD_MONTH : -1;
}

const char *hours_parse(struct hours *hours, const char *text)
{
	unsigned int from_h, from_m, to_h, to_m;
	int end = -1;

	if (strspn(text, "0123456789:-") != strlen(text) ||
	    sscanf(text, "%2u:%2u-%2u:%2u%n", &from_h, &from_m, &to_h, &to_m,
		   &end) != 4 || end < 0 || text[end] || from_h > 23 ||
	    from_m > 59 || to_m > 59 || to_h * 60 + to_m > 24 * 60)
		return "is not HH:MM-HH:MM, as 22:00-06:30";
	hours->from_min = from_h * 60 + from_m;
	hours->to_min = to_h * 60 + to_m;
	return hours->from_min == hours->to_min ? "ends when it begins" : NULL;
}

const char *then_parse(struct effect *then, const char *text)
{
	unsigned int cost;
	int end = -1;

	memset(then, 0, sizeof(*then));
	then->backup = !strcmp(text, "backup");
	then->forbid = !strcmp(text, "forbid");
	then->lend_nothing = !strcmp(text, "lend nothing");
	if (then->backup || then->forbid || then->lend_nothing)
		return NULL;
	if (sscanf(text, "cost %2u%n", &cost, &end) != 1 || end < 0 ||
	    text[end] || !cost || cost > MPTCP_PAMS_COST_MAX)
		return "is not backup, forbid, lend nothing or cost and "
		       "1 to 15";
	then->cost = cost;
	return NULL;
}

const char *quota_parse(uint64_t *bytes, const char *text)
{
	const char *why = size_parse("quota", text, QUOTA_MAX, "1000T", bytes);

	if (why)
		return why;
	if (!*bytes)
		return wrong("quota '%s' is nothing", text);
	if (*bytes < QUOTA_BARE_MIN && !text[strspn(text, "0123456789.")])
		return wrong("quota '%s' has no unit, and would be bytes: write e.g. %sG", text,
			     text);
	return NULL;
}

int check_per(cfg_t *cfg, cfg_opt_t *opt)
{
	return refuse(cfg, value(opt), period_parse(value(opt)) < 0 ?
		      "is not day or month" : NULL);
}

int check_hours(cfg_t *cfg, cfg_opt_t *opt)
{
	struct hours hours;

	return refuse(cfg, value(opt), hours_parse(&hours, value(opt)));
}

int check_then(cfg_t *cfg, cfg_opt_t *opt)
{
	struct effect then;

	return refuse(cfg, value(opt), then_parse(&then, value(opt)));
}

int check_quota(cfg_t *cfg, cfg_opt_t *opt)
{
	uint64_t bytes;
	const char *why = quota_parse(&bytes, value(opt));

	if (why)
		cfg_error(cfg, "%s", why);
	return why ? -1 : 0;
}

/* Only days that every month has. */
int check_from_day(cfg_t *cfg, cfg_opt_t *opt)
{
	return check_range(cfg, opt, 1, 28);
}

int check_battery(cfg_t *cfg, cfg_opt_t *opt)
{
	return check_range(cfg, opt, 1, 100);
}

int check_metered(cfg_t *cfg, cfg_opt_t *opt)
{
	if (!cfg_opt_getnbool(opt, 0) || metered_can_be_had())
		return 0;
	cfg_error(cfg, "metered: this pamsd was built without libdbus, and can't "
		  "ask NetworkManager");
	return -1;
}

int check_state(cfg_t *cfg, cfg_opt_t *opt)
{
	return refuse(cfg, value(opt), value(opt)[0] != '/' ?
		      "is not a path from the root on" : NULL);
}

/* --- keys: read once, and stored together with their section --- */

/* The key of a section "peer" or "to". */
struct section_key {
	const cfg_t *section;
	uint8_t key[REPORT_KEY_BYTES];
};

/* State of the configuration file that is being parsed. */
static struct {
	mode_t mode;
	bool without_keys;
	void *by_key, *by_section;	/* trees of tsearch(3), of struct section_key */
	struct pams_rules rules;
} reading;

static int compare_keys(const void *a, const void *b)
{
	return memcmp(((const struct section_key *)a)->key, ((const struct section_key *)b)->key,
		      REPORT_KEY_BYTES);
}

static int compare_sections(const void *a, const void *b)
{
	uintptr_t one = (uintptr_t)((const struct section_key *)a)->section;
	uintptr_t other = (uintptr_t)((const struct section_key *)b)->section;

	return (one > other) - (one < other);
}

static void free_key(void *key)
{
	sodium_memzero(key, sizeof(struct section_key));
	free(key);
}

void config_begin(mode_t mode, bool without_keys)
{
	reading.mode = mode;
	reading.without_keys = without_keys;
}

void config_end(void)
{
	while (reading.by_key) {
		struct section_key *key = *(struct section_key **)reading.by_key;

		tdelete(key, &reading.by_section, compare_sections);
		tdelete(key, &reading.by_key, compare_keys);
		free_key(key);
	}
	free(reading.rules.rule);
	memset(&reading, 0, sizeof(reading));
}

void config_take_rules(struct pams_rules *rules)
{
	*rules = reading.rules;
	memset(&reading.rules, 0, sizeof(reading.rules));
}

const uint8_t *config_key(const cfg_t *section)
{
	const struct section_key wanted = { .section = section };
	struct section_key **found = tfind(&wanted, &reading.by_section, compare_sections);

	return found ? (*found)->key : NULL;
}

/*
 * Store a section's key. All keys have to differ: with the same key two peers could impersonate
 * each other, and with one key for both directions a report could be reflected to its sender.
 */
static int keep_key(cfg_t *cfg, const uint8_t key[REPORT_KEY_BYTES])
{
	struct section_key *kept, **found;

	if (config_key(cfg)) {
		cfg_error(cfg, "%s '%s' has more than one key", cfg_name(cfg),
			  cfg_title(cfg));
		return -1;
	}
	kept = calloc(1, sizeof(*kept));
	if (!kept)
		abort();
	kept->section = cfg;
	memcpy(kept->key, key, REPORT_KEY_BYTES);
	found = tsearch(kept, &reading.by_key, compare_keys);
	if (!found)
		abort();
	if (*found != kept) {
		free_key(kept);
		cfg_error(cfg, "this key is used above, too: each peer and "
			  "each direction needs a key of its own");
		return -1;
	}
	if (!tsearch(kept, &reading.by_section, compare_sections))
		abort();
	return 0;
}

/* Messages don't show the key. */
int check_key(cfg_t *cfg, cfg_opt_t *opt)
{
	uint8_t key[REPORT_KEY_BYTES];
	int result;

	if (reading.without_keys)
		return 0;
	if (reading.mode & 0077) {
		cfg_error(cfg, "a key is in this file, whose mode %04o is open "
			  "to others: chmod 600, or use key-file",
			  reading.mode);
		return -1;
	}
	result = refuse(cfg, "key", key_parse(key, value(opt))) ?:
		 keep_key(cfg, key);
	sodium_memzero(key, sizeof(key));
	return result;
}

int check_key_file(cfg_t *cfg, cfg_opt_t *opt)
{
	uint8_t key[REPORT_KEY_BYTES];
	int result;

	if (reading.without_keys)
		return 0;
	result = refuse(cfg, value(opt), key_read(key, value(opt))) ?:
		 keep_key(cfg, key);
	sodium_memzero(key, sizeof(key));
	return result;
}

/* --- rules: their file is read once, too --- */

int check_rules(cfg_t *cfg, cfg_opt_t *opt)
{
	const char *why, *file = value(opt);
	size_t line = 0;
	FILE *stream;
	mode_t mode;
	char *text;

	if (reading.without_keys)
		return 0;
	if (!*file)
		return refuse(cfg, file, "is no file: leave 'rules' out for "
			      "none");
	text = file_read(file, RULES_BYTES_MAX, &mode, &why);
	if (!text)
		return refuse(cfg, file, why);
	free(reading.rules.rule);
	memset(&reading.rules, 0, sizeof(reading.rules));
	if (!*text) {
		file_free(text);
		return 0;
	}
	stream = fmemopen(text, strlen(text), "r");
	if (!stream)
		abort();
	why = rules_read(stream, &reading.rules, &line);
	fclose(stream);
	file_free(text);
	if (why)
		cfg_error(cfg, "%s:%zu: %s", file, line, why);
	return why ? -1 : 0;
}

/* --- validators of sections: called at the end of the section --- */

static cfg_t *last_section(cfg_opt_t *opt)
{
	return cfg_opt_getnsec(opt, cfg_opt_size(opt) - 1);
}

static int check_one_key(cfg_t *cfg, cfg_t *section)
{
	const char *name = cfg_name(section), *title = cfg_title(section);

	if (reading.without_keys)
		return 0;
	if (!cfg_size(section, "key") == !cfg_size(section, "key-file")) {
		cfg_error(cfg, "%s '%s' needs one of key and key-file", name,
			  title);
		return -1;
	}
	return 0;
}

int check_peer(cfg_t *cfg, cfg_opt_t *opt)
{
	return check_one_key(cfg, last_section(opt));
}

int check_to(cfg_t *cfg, cfg_opt_t *opt)
{
	cfg_t *section = last_section(opt);
	union address address;
	struct host host;

	if (!cfg_size(section, "address")) {
		cfg_error(cfg, "to '%s' needs an address", cfg_title(section));
		return -1;
	}
	if (cfg_size(section, "address") > ADDRESSES_MAX) {
		cfg_error(cfg, "to '%s' has more than %d addresses",
			  cfg_title(section), ADDRESSES_MAX);
		return -1;
	}
	for (unsigned int i = 0; i < cfg_size(section, "address"); i++) {
		server_parse(&address, &host,
			     cfg_getnstr(section, "address", i), REPORT_PORT);
		if (*host.name && cfg_size(section, "address") > 1) {
			cfg_error(cfg, "to '%s' has the name '%s' beside another "
				  "address: give the name alone",
				  cfg_title(section), host.name);
			return -1;
		}
	}
	return check_one_key(cfg, section);
}

int check_interface(cfg_t *cfg, cfg_opt_t *opt)
{
	cfg_t *section = last_section(opt);
	const char *title = cfg_title(section);
	unsigned int sources = 0, abouts = 0;

	if (!*title || strlen(title) >= IF_NAMESIZE)
		return refuse(cfg, title,
			      "can't be an interface: 1 to 15 characters");
	for (unsigned int i = 0; i < cfg_size(section, "about"); i++)
		sources += !strcmp(cfg_getnstr(section, "about", i), "source");
	if (sources > 1) {
		cfg_error(cfg, "interface '%s' has \"source\" twice in about",
			  title);
		return -1;
	}
	if (sources && cfg_size(section, "about") == 1 &&
	    measure_parse(cfg_getstr(section, "measure")) != MEASURE_AUTO &&
	    measure_parse(cfg_getstr(section, "measure")) != MEASURE_NONE) {
		cfg_error(cfg, "interface '%s' reports about its source "
			  "address, which the server sends to, but measure = "
			  "\"%s\" measures what leaves here: use \"none\", or "
			  "give the prefix behind the interface in about", title,
			  cfg_getstr(section, "measure"));
		return -1;
	}
	for (unsigned int i = 0; i < cfg_opt_size(opt); i++)
		abouts += cfg_size(cfg_opt_getnsec(opt, i), "about");
	if (abouts > REPORT_PATHS_MAX) {
		cfg_error(cfg, "about names %u paths in all interfaces "
			  "together, but a report has room for %u",
			  abouts, REPORT_PATHS_MAX);
		return -1;
	}
	return 0;
}

int check_cap(cfg_t *cfg, cfg_opt_t *opt)
{
	cfg_t *section = last_section(opt);
	const char *title = cfg_title(section);
	struct effect then = { };

	if (cfg_size(section, "then"))
		then_parse(&then, cfg_getstr(section, "then"));
	if (then.lend_nothing && cfg_size(section, "interface"))
		cfg_error(cfg, "cap '%s' is about what pamsplit lends, whatever "
			  "the interface: leave 'interface' out", title);
	else if (then.lend_nothing && cfg_getbool(section, "metered"))
		cfg_error(cfg, "cap '%s' is about what pamsplit lends, and only an "
			  "interface is metered", title);
	else if (!then.lend_nothing && cfg_size(section, "socket"))
		cfg_error(cfg, "cap '%s' has a socket, which is pamsplit's, but does "
			  "not say 'lend nothing'", title);
	else if (!then.lend_nothing && !cfg_size(section, "interface"))
		cfg_error(cfg, "cap '%s' has no interface", title);
	else if (!cfg_size(section, "then"))
		cfg_error(cfg, "cap '%s' does not say what happens then", title);
	else if (cfg_size(section, "from-day") &&
		 (!cfg_size(section, "quota") ||
		  period_parse(cfg_getstr(section, "per")) != PERIOD_MONTH))
		cfg_error(cfg, "cap '%s' has from-day, but no quota of a month",
			  title);
	else
		return 0;
	return -1;
}

/* An interface that is to be used and not to be used. */
int check_paths(cfg_t *cfg, cfg_opt_t *opt)
{
	cfg_t *section = cfg_opt_getnsec(opt, 0);

	for (unsigned int i = 0; i < cfg_size(section, "also"); i++)
		for (unsigned int j = 0; j < cfg_size(section, "without"); j++)
			if (!strcmp(cfg_getnstr(section, "also", i),
				    cfg_getnstr(section, "without", j)))
				return refuse(cfg, cfg_getnstr(section, "also", i),
					      "is in also and in without");
	if (cfg_getbool(section, "first-by-metric") && !cfg_getbool(section, "first")) {
		cfg_error(cfg, "first-by-metric is of no use with first = false");
		return -1;
	}
	return 0;
}

int check_server(cfg_t *cfg, cfg_opt_t *opt)
{
	if (!cfg_size(last_section(opt), "peer"))
		cfg_error(cfg, "server has no peer that may report");
	else if (!cfg_size(last_section(opt), "listen"))
		cfg_error(cfg, "server has no address to listen at: leave "
			  "'listen' out for all addresses");
	else
		return 0;
	return -1;
}

int check_reporter(cfg_t *cfg, cfg_opt_t *opt)
{
	cfg_t *section = last_section(opt);
	bool local = false;

	for (unsigned int i = 0; i < cfg_size(section, "interface"); i++)
		local |= cfg_getbool(cfg_getnsec(section, "interface", i),
				     "local");
	if (!cfg_size(section, "interface"))
		cfg_error(cfg, "reporter has no interface to report about");
	else if (!cfg_size(section, "to") && !local)
		cfg_error(cfg, "reporter has no 'to': nobody to report to");
	else
		return 0;
	return -1;
}

