// SPDX-License-Identifier: GPL-2.0
/*
 * config - reads pamsd.conf(5)
 *
 * libconfuse parses the syntax. config_check.c checks every value while it is
 * parsed, so the resulting tree needs no second check. A file of a key is read only
 * once: the key that was checked is used, even if the file changes later.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <confuse.h>
#include <sodium.h>

#include "config_check.h"
#include "pamsd.h"

#define LINE_BYTES	512
#define FILE_BYTES_MAX	1048576
#define INTERVAL_MS	100
#define RATE_AGE_MS	10000
/* Default limit of a peer's reports per second: twice what a reporter sends at most. */
#define RATE_PS		200
#define LOSS_MAX_S	60

/*
 * read_tree() appends this option to every file. It is only valid outside of all sections, so
 * if a closing brace is missing, libconfuse finds it inside a section and reports that.
 */
#define END_NAME	"end-of-file"

static void (*tell)(const char *line);

/* --- faults --- */

static void print_error(cfg_t *cfg, const char *format, va_list args)
{
	char text[LINE_BYTES / 2], line[LINE_BYTES];

	vsnprintf(text, sizeof(text), format, args);
	if (strstr(text, "'" END_NAME "'"))
		snprintf(text, sizeof(text), "the file ends within %s: a '}' "
			 "is missing", cfg_name(cfg));
	snprintf(line, sizeof(line), "%s:%d: %s", cfg->filename, cfg->line,
		 text);
	tell(line);
}

/* --- from libconfuse's tree to struct config --- */

static void *array_of(unsigned int count, size_t size)
{
	void *array = calloc(count + 1, size);

	if (!array)
		abort();
	return array;
}

static char *copy(const char *text)
{
	char *copied = strdup(text);

	if (!copied)
		abort();
	return copied;
}

/* check_ifname() or check_interface() has checked that the name fits. */
static void copy_name(char name[IF_NAMESIZE], const char *text)
{
	snprintf(name, IF_NAMESIZE, "%s", text);
}

static void get_key(cfg_t *section, uint8_t key[REPORT_KEY_BYTES])
{
	const uint8_t *kept = config_key(section);

	/* can't happen: check_one_key() refuses a section without a key */
	if (!kept)
		abort();
	memcpy(key, kept, REPORT_KEY_BYTES);
}

static void get_peer(struct peer_config *peer, cfg_t *section, cfg_t *server)
{
	peer->source = cfg_getbool(section, "source");
	peer->loss_max_s = cfg_getint(server, "loss-max-s");
	peer->name = copy(cfg_title(section));
	get_key(section, peer->key);
	peer->rate_ps = cfg_getint(section, "rate");
	peer->prefix_count = cfg_size(section, "prefixes");
	peer->prefixes = array_of(peer->prefix_count, sizeof(*peer->prefixes));
	for (unsigned int i = 0; i < peer->prefix_count; i++)
		prefix_parse(&peer->prefixes[i],
			     cfg_getnstr(section, "prefixes", i));
}

static void get_server(struct config *config, cfg_t *server)
{
	config->server = true;
	config->listen_count = cfg_size(server, "listen");
	config->listens = array_of(config->listen_count,
				   sizeof(*config->listens));
	for (unsigned int i = 0; i < config->listen_count; i++)
		address_parse(&config->listens[i],
			      cfg_getnstr(server, "listen", i), REPORT_PORT);
	config->peer_count = cfg_size(server, "peer");
	config->peers = array_of(config->peer_count, sizeof(*config->peers));
	for (unsigned int i = 0; i < config->peer_count; i++)
		get_peer(&config->peers[i], cfg_getnsec(server, "peer", i),
			 server);
}

static void get_target(struct target_config *target, cfg_t *section)
{
	target->name = copy(cfg_title(section));
	get_key(section, target->key);
	target->address_count = cfg_size(section, "address");
	target->addresses = array_of(target->address_count,
				     sizeof(*target->addresses));
	for (unsigned int i = 0; i < target->address_count; i++)
		server_parse(&target->addresses[i], &target->host,
			     cfg_getnstr(section, "address", i), REPORT_PORT);
	if (*target->host.name)
		target->address_count = 0;
	target->via_count = cfg_size(section, "via");
	target->via = array_of(target->via_count, sizeof(*target->via));
	for (unsigned int i = 0; i < target->via_count; i++)
		copy_name(target->via[i], cfg_getnstr(section, "via", i));
}

static void get_interface(struct interface_config *interface, cfg_t *section)
{
	unsigned int words = cfg_size(section, "plugin");
	long delay_us = cfg_getint(section, "delay-us");

	copy_name(interface->name, cfg_title(section));
	interface->about_count = cfg_size(section, "about");
	interface->abouts = array_of(interface->about_count,
				     sizeof(*interface->abouts));
	for (unsigned int i = 0; i < interface->about_count; i++) {
		about_parse(&interface->abouts[i],
			    cfg_getnstr(section, "about", i));
		interface->abouts[i].port = cfg_getint(section, "port");
	}
	interface->measure = measure_parse(cfg_getstr(section, "measure"));
	/*
	 * Data for this machine's own address queues at the far end of the link, and
	 * this machine can only measure the other direction.
	 */
	if (interface->measure == MEASURE_AUTO &&
	    interface->about_count == 1 && interface->abouts[0].source)
		interface->measure = MEASURE_NONE;
	interface->socket = copy(cfg_getstr(section, "socket"));
	interface->carrier = cfg_getbool(section, "carrier");
	interface->local = cfg_getbool(section, "local");
	interface->delay_us = delay_us < 0 ? UINT32_MAX : (uint32_t)delay_us;
	if (!words)
		return;
	interface->plugin = array_of(words, sizeof(*interface->plugin));
	for (unsigned int i = 0; i < words; i++)
		interface->plugin[i] = copy(cfg_getnstr(section, "plugin", i));
}

static void get_reporter(struct config *config, cfg_t *reporter)
{
	config->reporter = true;
	config->interval_ms = cfg_getint(reporter, "interval-ms");
	config->rate_age_ms = cfg_getint(reporter, "rate-age-ms");
	config->target_count = cfg_size(reporter, "to");
	config->targets = array_of(config->target_count,
				   sizeof(*config->targets));
	for (unsigned int i = 0; i < config->target_count; i++)
		get_target(&config->targets[i], cfg_getnsec(reporter, "to", i));
	config->interface_count = cfg_size(reporter, "interface");
	config->interfaces = array_of(config->interface_count,
				      sizeof(*config->interfaces));
	for (unsigned int i = 0; i < config->interface_count; i++)
		get_interface(&config->interfaces[i],
			      cfg_getnsec(reporter, "interface", i));
}

static void get_paths(struct config *config, cfg_t *section)
{
	struct paths_config *paths = &config->paths;

	paths->kept = true;
	paths->first = cfg_getbool(section, "first");
	paths->first_by_metric = cfg_getbool(section, "first-by-metric");
	for (unsigned int i = 0; i < cfg_size(section, "first-also"); i++)
		paths->first_also |= first_also_parse(cfg_getnstr(section, "first-also", i));
	paths->also_count = cfg_size(section, "also");
	paths->also = array_of(paths->also_count, sizeof(*paths->also));
	for (unsigned int i = 0; i < paths->also_count; i++)
		copy_name(paths->also[i], cfg_getnstr(section, "also", i));
	paths->without_count = cfg_size(section, "without");
	paths->without = array_of(paths->without_count, sizeof(*paths->without));
	for (unsigned int i = 0; i < paths->without_count; i++)
		copy_name(paths->without[i], cfg_getnstr(section, "without", i));
	paths->not_first_count = cfg_size(section, "not-first");
	paths->not_first = array_of(paths->not_first_count, sizeof(*paths->not_first));
	for (unsigned int i = 0; i < paths->not_first_count; i++)
		prefix_parse(&paths->not_first[i], cfg_getnstr(section, "not-first", i));
}

static void get_cap(struct cap_config *cap, cfg_t *section)
{
	cap->name = copy(cfg_title(section));
	then_parse(&cap->then, cfg_getstr(section, "then"));
	if (cap->then.lend_nothing)
		cap->socket = copy(cfg_size(section, "socket") ?
				   cfg_getstr(section, "socket") :
				   PAMSPLIT_CONTROL);
	else
		copy_name(cap->interface, cfg_getstr(section, "interface"));
	if (cfg_size(section, "quota"))
		quota_parse(&cap->quota_bytes, cfg_getstr(section, "quota"));
	cap->period = period_parse(cfg_getstr(section, "per"));
	cap->from_day = cfg_size(section, "from-day") ?
			cfg_getint(section, "from-day") : 1;
	if (cfg_size(section, "battery-below"))
		cap->battery_below = cfg_getint(section, "battery-below");
	cap->metered = cfg_getbool(section, "metered");
	cap->hours_count = cfg_size(section, "hours");
	cap->hours = array_of(cap->hours_count, sizeof(*cap->hours));
	for (unsigned int i = 0; i < cap->hours_count; i++)
		hours_parse(&cap->hours[i], cfg_getnstr(section, "hours", i));
}

static struct config *convert(cfg_t *cfg)
{
	struct config *config = array_of(1, sizeof(*config));

	if (*cfg_getstr(cfg, "control"))
		config->control = copy(cfg_getstr(cfg, "control"));
	if (cfg_size(cfg, "http"))
		address_parse(&config->http, cfg_getstr(cfg, "http"), REPORT_PORT);
	if (cfg_size(cfg, "server"))
		get_server(config, cfg_getsec(cfg, "server"));
	if (cfg_size(cfg, "reporter"))
		get_reporter(config, cfg_getsec(cfg, "reporter"));
	if (cfg_size(cfg, "rules")) {
		config->rules_file = copy(cfg_getstr(cfg, "rules"));
		config_take_rules(&config->rules);
	}
	if (cfg_size(cfg, "paths"))
		get_paths(config, cfg_getsec(cfg, "paths"));
	config->state = copy(cfg_getstr(cfg, "state"));
	config->costs_as_backup = cfg_getbool(cfg, "costs-as-backup");
	config->cap_count = cfg_size(cfg, "cap");
	config->caps = array_of(config->cap_count, sizeof(*config->caps));
	for (unsigned int i = 0; i < config->cap_count; i++)
		get_cap(&config->caps[i], cfg_getnsec(cfg, "cap", i));
	return config;
}

/* --- the grammar --- */

/*
 * A row has all that the parser and --check know about an option: name, default,
 * flags and the function that checks its value, NULL if any value of the type is valid.
 * For an option without a default, cfg_size() tells whether it was given.
 */
#define OPTION(is, option, value, flag, check)		\
	{ .name = (option), .type = (is), .flags = (flag),	\
	  .def = value, .validcb = (check) }
#define STR(name, value, flag, check)			\
	OPTION(CFGT_STR, name, { .string = (value) }, flag, check)
#define STR_LIST(name, value, check)				\
	OPTION(CFGT_STR, name, { .parsed = (value) }, CFGF_LIST, check)
#define INT(name, value, flag, check)			\
	OPTION(CFGT_INT, name, { .number = (value) }, flag, check)
#define BOOL(name, value, check)				\
	OPTION(CFGT_BOOL, name, { .boolean = (value) }, CFGF_NONE, check)
#define SEC(title, options, flag, check)			\
	{ .name = (title), .type = CFGT_SEC, .flags = (flag),	\
	  .subopts = (options), .validcb = (check) }
#define MANY	(CFGF_MULTI | CFGF_TITLE | CFGF_NO_TITLE_DUPES)

/* Parse a text. Returns libconfuse's tree, or NULL after reporting a fault by tell(). */
static cfg_t *parse(const char *file, char *text)
{
	cfg_opt_t peer[] = {
		STR("key", NULL, CFGF_NODEFAULT, check_key),
		STR("key-file", NULL, CFGF_NODEFAULT, check_key_file),
		STR_LIST("prefixes", "{}", check_prefix),
		INT("rate", RATE_PS, CFGF_NONE, check_rate),
		BOOL("source", cfg_false, NULL),
		CFG_END()
	};
	cfg_opt_t server[] = {
		STR_LIST("listen", "{\"0.0.0.0\", \"::\"}", check_listen),
		INT("loss-max-s", LOSS_MAX_S, CFGF_NONE, check_loss_max),
		SEC("peer", peer, MANY, check_peer),
		CFG_END()
	};
	cfg_opt_t to[] = {
		STR_LIST("address", "{}", check_to_address),
		STR("key", NULL, CFGF_NODEFAULT, check_key),
		STR("key-file", NULL, CFGF_NODEFAULT, check_key_file),
		STR_LIST("via", "{}", check_ifname),
		CFG_END()
	};
	cfg_opt_t interface[] = {
		STR_LIST("about", "{\"source\"}", check_about),
		INT("port", 0, CFGF_NONE, check_port),
		STR("measure", "auto", CFGF_NONE, check_measure),
		STR("socket", PAMSPLIT_CONTROL, CFGF_NONE, NULL),
		BOOL("carrier", cfg_true, NULL),
		BOOL("local", cfg_false, NULL),
		INT("delay-us", -1, CFGF_NONE, check_delay),
		STR_LIST("plugin", "{}", check_plugin),
		CFG_END()
	};
	cfg_opt_t reporter[] = {
		INT("interval-ms", INTERVAL_MS, CFGF_NONE, check_interval),
		INT("rate-age-ms", RATE_AGE_MS, CFGF_NONE, check_age),
		SEC("to", to, MANY, check_to),
		SEC("interface", interface, MANY, check_interface),
		CFG_END()
	};
	cfg_opt_t cap[] = {
		STR("interface", NULL, CFGF_NODEFAULT, check_ifname),
		STR("socket", NULL, CFGF_NODEFAULT, check_control),
		STR("quota", NULL, CFGF_NODEFAULT, check_quota),
		STR("per", "month", CFGF_NONE, check_per),
		INT("from-day", 0, CFGF_NODEFAULT, check_from_day),
		INT("battery-below", 0, CFGF_NODEFAULT, check_battery),
		STR_LIST("hours", "{}", check_hours),
		BOOL("metered", cfg_false, check_metered),
		STR("then", NULL, CFGF_NODEFAULT, check_then),
		CFG_END()
	};
	cfg_opt_t paths[] = {
		STR_LIST("also", "{}", check_ifname),
		STR_LIST("without", "{}", check_ifname),
		BOOL("first", cfg_true, NULL),
		BOOL("first-by-metric", cfg_false, NULL),
		STR_LIST("first-also", "{}", check_first_also),
		STR_LIST("not-first", "{}", check_not_first),
		CFG_END()
	};
	cfg_opt_t root[] = {
		STR("control", PAMSD_CONTROL, CFGF_NONE, check_control),
		STR("http", NULL, CFGF_NODEFAULT, check_http),
		STR("rules", NULL, CFGF_NODEFAULT, check_rules),
		STR("state", PAMSD_STATE, CFGF_NONE, check_state),
		BOOL("costs-as-backup", cfg_false, NULL),
		SEC("cap", cap, MANY, check_cap),
		SEC("paths", paths, CFGF_NODEFAULT, check_paths),
		SEC("server", server, CFGF_NODEFAULT, check_server),
		SEC("reporter", reporter, CFGF_NODEFAULT, check_reporter),
		BOOL(END_NAME, cfg_false, NULL),
		CFG_END()
	};
	char stream_buffer[4096];
	cfg_t *cfg = NULL;
	FILE *stream;

	stream = fmemopen(text, strlen(text), "r");
	if (stream)
		cfg = cfg_init(root, CFGF_NONE);
	if (!cfg)
		abort();
	/* A stream buffer that is wiped below, since the text of a key passes through it. */
	setvbuf(stream, stream_buffer, _IOFBF, sizeof(stream_buffer));
	cfg_set_error_function(cfg, print_error);
	cfg->filename = copy(file);
	if (cfg_parse_fp(cfg, stream) != CFG_SUCCESS) {
		cfg_free(cfg);
		cfg = NULL;
	}
	fclose(stream);
	sodium_memzero(stream_buffer, sizeof(stream_buffer));
	return cfg;
}

static void wipe_keys(cfg_t *section, const char *of)
{
	for (unsigned int i = 0; section && i < cfg_size(section, of); i++) {
		char *key = cfg_getstr(cfg_getnsec(section, of, i), "key");

		if (key)
			sodium_memzero(key, strlen(key));
	}
}

static void free_tree(cfg_t *cfg)
{
	if (cfg_size(cfg, "server"))
		wipe_keys(cfg_getsec(cfg, "server"), "peer");
	if (cfg_size(cfg, "reporter"))
		wipe_keys(cfg_getsec(cfg, "reporter"), "to");
	cfg_free(cfg);
}

/* Parse a file. Returns libconfuse's tree, or NULL after reporting a fault by tell(). */
static cfg_t *read_tree(const char *file, bool without_keys)
{
	static const char end[] = "\n" END_NAME " = true\n";
	const char *why;
	char line[LINE_BYTES];
	mode_t mode;
	char *text;
	size_t len;
	cfg_t *cfg;

	text = file_read(file, FILE_BYTES_MAX, &mode, &why);
	if (!text) {
		snprintf(line, sizeof(line), "%s: %s", file, why);
		tell(line);
		return NULL;
	}
	len = strlen(text);
	_Static_assert(sizeof(end) <= FILE_SPARE, "room for the end");
	memcpy(text + len, end, sizeof(end));
	config_begin(mode, without_keys);
	cfg = parse(file, text);
	file_free(text);
	return cfg;
}

struct config *config_read(const char *file, void (*say_fault)(const char *))
{
	struct config *config = NULL;
	char line[LINE_BYTES];
	cfg_t *cfg;

	tell = say_fault;
	cfg = read_tree(file, false);
	if (cfg && !cfg_size(cfg, "server") && !cfg_size(cfg, "reporter") &&
	    !cfg_size(cfg, "rules") && !cfg_size(cfg, "cap") &&
	    !cfg_size(cfg, "paths") && !cfg_getbool(cfg, "costs-as-backup") &&
	    !cfg_size(cfg, "http")) {
		snprintf(line, sizeof(line), "%s: has no server, reporter, "
			 "rules, cap, paths or http: there is nothing to do", file);
		tell(line);
	} else if (cfg) {
		config = convert(cfg);
	}
	if (cfg)
		free_tree(cfg);
	config_end();
	return config;
}

char *config_read_control(const char *file, void (*say_fault)(const char *))
{
	char *control = NULL;
	cfg_t *cfg;

	tell = say_fault;
	cfg = read_tree(file, true);
	if (cfg) {
		control = copy(cfg_getstr(cfg, "control"));
		free_tree(cfg);
	}
	config_end();
	return control;
}

static void wipe_and_free(void *memory, size_t size)
{
	if (memory)
		sodium_memzero(memory, size);
	free(memory);
}

void config_free(struct config *config)
{
	if (!config)
		return;
	for (unsigned int i = 0; i < config->peer_count; i++) {
		free(config->peers[i].name);
		free(config->peers[i].prefixes);
	}
	for (unsigned int i = 0; i < config->target_count; i++) {
		free(config->targets[i].name);
		free(config->targets[i].via);
		free(config->targets[i].addresses);
	}
	for (unsigned int i = 0; i < config->interface_count; i++) {
		struct interface_config *interface = &config->interfaces[i];

		for (char **word = interface->plugin; word && *word; word++)
			free(*word);
		free(interface->plugin);
		free(interface->socket);
		free(interface->abouts);
	}
	wipe_and_free(config->peers,
		      config->peer_count * sizeof(*config->peers));
	wipe_and_free(config->targets,
		      config->target_count * sizeof(*config->targets));
	free(config->interfaces);
	free(config->listens);
	free(config->control);
	free(config->rules_file);
	free(config->rules.rule);
	for (unsigned int i = 0; i < config->cap_count; i++) {
		free(config->caps[i].name);
		free(config->caps[i].socket);
		free(config->caps[i].hours);
	}
	free(config->caps);
	free(config->paths.also);
	free(config->paths.without);
	free(config->paths.not_first);
	free(config->state);
	free(config);
}
