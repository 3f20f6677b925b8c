// SPDX-License-Identifier: GPL-2.0
/*
 * config - reads pamsd.conf(5)
 *
 * libconfuse reads the syntax. Every value is checked while it is read, so that
 * a fault is told with the line that it is in; what is then in the tree needs
 * no second check.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <confuse.h>

#include <linux/mptcp_pams.h>

#include "pamsd.h"

#define LINE_BYTES	512
#define INTERVAL_MS	100
#define RATE_AGE_MS	10000
/* Of a peer: what its reporter sends at most, and as much again. */
#define RATE_PS		200
#define LOSS_MAX_S	60
/* Of one server. */
#define ADDRESSES_MAX	4

static void (*tell)(const char *line);
/* What validators compare with: keys seen so far in this file. */
static uint8_t (*keys)[REPORT_KEY_BYTES];
static unsigned int key_count;

static const char * const measure_names[] = {
	[MEASURE_AUTO] = "auto",
	[MEASURE_QDISC] = "qdisc",
	[MEASURE_STATION] = "station",
	[MEASURE_TCP] = "tcp",
	[MEASURE_NONE] = "none",
};

const char *measure_name(enum measure measure)
{
	return measure_names[measure];
}

static int measure_parse(const char *text)
{
	for (unsigned int i = 0; i < ARRAY_SIZE(measure_names); i++)
		if (!strcmp(text, measure_names[i]))
			return i;
	return -1;
}

static const char *about_parse(struct about *about, const char *text)
{
	memset(about, 0, sizeof(*about));
	about->source = !strcmp(text, "source");
	return about->source ? NULL : prefix_parse(&about->prefix, text);
}

/* --- faults --- */

static void print_error(cfg_t *cfg, const char *format, va_list args)
{
	char text[LINE_BYTES / 2], line[LINE_BYTES];

	vsnprintf(text, sizeof(text), format, args);
	snprintf(line, sizeof(line), "%s:%d: %s", cfg->filename, cfg->line,
		 text);
	tell(line);
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

static int check_listen(cfg_t *cfg, cfg_opt_t *opt)
{
	union address address;

	return refuse(cfg, value(opt),
		      address_parse(&address, value(opt), REPORT_PORT));
}

static int check_prefix(cfg_t *cfg, cfg_opt_t *opt)
{
	struct prefix prefix;

	return refuse(cfg, value(opt), prefix_parse(&prefix, value(opt)));
}

static int check_about(cfg_t *cfg, cfg_opt_t *opt)
{
	struct about about;

	return refuse(cfg, value(opt), about_parse(&about, value(opt)));
}

static int check_measure(cfg_t *cfg, cfg_opt_t *opt)
{
	return refuse(cfg, value(opt), measure_parse(value(opt)) < 0 ?
		      "is not auto, qdisc, station, tcp or none" : NULL);
}

static int check_ifname(cfg_t *cfg, cfg_opt_t *opt)
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

static int check_rate(cfg_t *cfg, cfg_opt_t *opt)
{
	return check_range(cfg, opt, 10, 10000);
}

static int check_interval(cfg_t *cfg, cfg_opt_t *opt)
{
	return check_range(cfg, opt, 20, 1000);
}

static int check_loss_max(cfg_t *cfg, cfg_opt_t *opt)
{
	return check_range(cfg, opt, 1, MPTCP_PAMS_TIME_MAX_MS / 1000);
}

static int check_age(cfg_t *cfg, cfg_opt_t *opt)
{
	return check_range(cfg, opt, 100, 3600000);
}

static int check_port(cfg_t *cfg, cfg_opt_t *opt)
{
	return check_range(cfg, opt, 0, UINT16_MAX);
}

static int check_delay(cfg_t *cfg, cfg_opt_t *opt)
{
	return check_range(cfg, opt, -1, MPTCP_PAMS_DELAY_MAX_US);
}

/*
 * One key for two peers would let each pass for the other, and one for both
 * directions would let a report be thrown back at who sent it.
 */
static int check_key_new(cfg_t *cfg, const uint8_t key[REPORT_KEY_BYTES])
{
	void *grown;

	for (unsigned int i = 0; i < key_count; i++) {
		if (memcmp(keys[i], key, REPORT_KEY_BYTES))
			continue;
		cfg_error(cfg, "this key is in use further up: each peer "
			  "and each direction needs its own");
		return -1;
	}
	grown = realloc(keys, (key_count + 1) * sizeof(*keys));
	if (!grown)
		return -1;
	keys = grown;
	memcpy(keys[key_count++], key, REPORT_KEY_BYTES);
	return 0;
}

/* The key itself isn't said again. */
static int check_key(cfg_t *cfg, cfg_opt_t *opt)
{
	uint8_t key[REPORT_KEY_BYTES];
	const char *why = key_parse(key, value(opt));

	return refuse(cfg, "key", why) ?: check_key_new(cfg, key);
}

static int check_key_file(cfg_t *cfg, cfg_opt_t *opt)
{
	uint8_t key[REPORT_KEY_BYTES];
	const char *why = key_read(key, value(opt));

	return refuse(cfg, value(opt), why) ?: check_key_new(cfg, key);
}

/* --- validators of sections: called at their end --- */

static cfg_t *last_section(cfg_opt_t *opt)
{
	return cfg_opt_getnsec(opt, cfg_opt_size(opt) - 1);
}

static int check_one_key(cfg_t *cfg, cfg_t *section)
{
	const char *name = cfg_name(section), *title = cfg_title(section);

	if (!cfg_size(section, "key") == !cfg_size(section, "key-file")) {
		cfg_error(cfg, "%s '%s' needs one of key and key-file", name,
			  title);
		return -1;
	}
	return 0;
}

static int check_peer(cfg_t *cfg, cfg_opt_t *opt)
{
	return check_one_key(cfg, last_section(opt));
}

static int check_to(cfg_t *cfg, cfg_opt_t *opt)
{
	cfg_t *section = last_section(opt);

	if (!cfg_size(section, "address")) {
		cfg_error(cfg, "to '%s' needs an address", cfg_title(section));
		return -1;
	}
	if (cfg_size(section, "address") > ADDRESSES_MAX) {
		cfg_error(cfg, "to '%s' has more than %d addresses",
			  cfg_title(section), ADDRESSES_MAX);
		return -1;
	}
	return check_one_key(cfg, section);
}

static int check_interface(cfg_t *cfg, cfg_opt_t *opt)
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
		cfg_error(cfg, "interface '%s' is about its source twice",
			  title);
		return -1;
	}
	for (unsigned int i = 0; i < cfg_opt_size(opt); i++)
		abouts += cfg_size(cfg_opt_getnsec(opt, i), "about");
	if (abouts > REPORT_PATHS_MAX) {
		cfg_error(cfg, "the interfaces are about %u paths, but a "
			  "report has room for %u",
			  abouts, REPORT_PATHS_MAX);
		return -1;
	}
	return 0;
}

static int check_server(cfg_t *cfg, cfg_opt_t *opt)
{
	if (cfg_size(last_section(opt), "peer"))
		return 0;
	cfg_error(cfg, "server has no peer that may report");
	return -1;
}

static int check_reporter(cfg_t *cfg, cfg_opt_t *opt)
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

/* --- from libconfuse's tree to ours --- */

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

/* It has been checked that it fits. */
static void copy_name(char name[IF_NAMESIZE], const char *text)
{
	snprintf(name, IF_NAMESIZE, "%s", text);
}

static void get_key(cfg_t *section, uint8_t key[REPORT_KEY_BYTES])
{
	if (cfg_size(section, "key"))
		key_parse(key, cfg_getstr(section, "key"));
	else
		key_read(key, cfg_getstr(section, "key-file"));
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
		address_parse(&target->addresses[i],
			      cfg_getnstr(section, "address", i), REPORT_PORT);
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
	interface->carrier = cfg_getbool(section, "carrier");
	interface->local = cfg_getbool(section, "local");
	interface->delay_us = delay_us < 0 ? UINT32_MAX : delay_us;
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

static struct config *convert(cfg_t *cfg)
{
	struct config *config = array_of(1, sizeof(*config));

	if (*cfg_getstr(cfg, "control"))
		config->control = copy(cfg_getstr(cfg, "control"));
	if (cfg_size(cfg, "server"))
		get_server(config, cfg_getsec(cfg, "server"));
	if (cfg_size(cfg, "reporter"))
		get_reporter(config, cfg_getsec(cfg, "reporter"));
	return config;
}

/* --- the grammar --- */

static void set_check(cfg_opt_t *opts, const char *name,
		      cfg_validate_callback_t check)
{
	while (strcmp(opts->name, name))
		opts++;
	opts->validcb = check;
}

struct config *config_read(const char *file, void (*say_fault)(const char *))
{
	cfg_opt_t peer[] = {
		CFG_STR("key", NULL, CFGF_NODEFAULT),
		CFG_STR("key-file", NULL, CFGF_NODEFAULT),
		CFG_STR_LIST("prefixes", "{}", CFGF_NONE),
		CFG_INT("rate", RATE_PS, CFGF_NONE),
		CFG_BOOL("source", cfg_false, CFGF_NONE),
		CFG_END()
	};
	cfg_opt_t server[] = {
		CFG_STR_LIST("listen", "{\"0.0.0.0\", \"::\"}", CFGF_NONE),
		CFG_INT("loss-max-s", LOSS_MAX_S, CFGF_NONE),
		CFG_SEC("peer", peer,
			CFGF_MULTI | CFGF_TITLE | CFGF_NO_TITLE_DUPES),
		CFG_END()
	};
	cfg_opt_t to[] = {
		CFG_STR_LIST("address", "{}", CFGF_NONE),
		CFG_STR("key", NULL, CFGF_NODEFAULT),
		CFG_STR("key-file", NULL, CFGF_NODEFAULT),
		CFG_STR_LIST("via", "{}", CFGF_NONE),
		CFG_END()
	};
	cfg_opt_t interface[] = {
		CFG_STR_LIST("about", "{\"source\"}", CFGF_NONE),
		CFG_INT("port", 0, CFGF_NONE),
		CFG_STR("measure", "auto", CFGF_NONE),
		CFG_BOOL("carrier", cfg_true, CFGF_NONE),
		CFG_BOOL("local", cfg_false, CFGF_NONE),
		CFG_INT("delay-us", -1, CFGF_NONE),
		CFG_STR_LIST("plugin", "{}", CFGF_NONE),
		CFG_END()
	};
	cfg_opt_t reporter[] = {
		CFG_INT("interval-ms", INTERVAL_MS, CFGF_NONE),
		CFG_INT("rate-age-ms", RATE_AGE_MS, CFGF_NONE),
		CFG_SEC("to", to,
			CFGF_MULTI | CFGF_TITLE | CFGF_NO_TITLE_DUPES),
		CFG_SEC("interface", interface,
			CFGF_MULTI | CFGF_TITLE | CFGF_NO_TITLE_DUPES),
		CFG_END()
	};
	cfg_opt_t root[] = {
		CFG_STR("control", PAMSD_CONTROL, CFGF_NONE),
		CFG_SEC("server", server, CFGF_NODEFAULT),
		CFG_SEC("reporter", reporter, CFGF_NODEFAULT),
		CFG_END()
	};
	struct config *config = NULL;
	char line[LINE_BYTES];
	cfg_t *cfg;
	int status;

	set_check(peer, "key", check_key);
	set_check(peer, "key-file", check_key_file);
	set_check(peer, "prefixes", check_prefix);
	set_check(peer, "rate", check_rate);
	set_check(server, "listen", check_listen);
	set_check(server, "loss-max-s", check_loss_max);
	set_check(server, "peer", check_peer);
	set_check(to, "address", check_listen);
	set_check(to, "key", check_key);
	set_check(to, "key-file", check_key_file);
	set_check(to, "via", check_ifname);
	set_check(interface, "about", check_about);
	set_check(interface, "port", check_port);
	set_check(interface, "measure", check_measure);
	set_check(interface, "delay-us", check_delay);
	set_check(reporter, "interval-ms", check_interval);
	set_check(reporter, "rate-age-ms", check_age);
	set_check(reporter, "to", check_to);
	set_check(reporter, "interface", check_interface);
	set_check(root, "server", check_server);
	set_check(root, "reporter", check_reporter);

	tell = say_fault;
	cfg = cfg_init(root, CFGF_NONE);
	if (!cfg)
		return NULL;
	cfg_set_error_function(cfg, print_error);
	status = cfg_parse(cfg, file);
	if (status == CFG_FILE_ERROR) {
		snprintf(line, sizeof(line), "%s: can't be read: %s", file,
			 strerror(errno));
		tell(line);
	} else if (status == CFG_SUCCESS && !cfg_size(cfg, "server") &&
		   !cfg_size(cfg, "reporter")) {
		snprintf(line, sizeof(line), "%s: has neither server nor "
			 "reporter: there is nothing to do", file);
		tell(line);
	} else if (status == CFG_SUCCESS) {
		config = convert(cfg);
	}
	cfg_free(cfg);
	free(keys);
	keys = NULL;
	key_count = 0;
	return config;
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
		free(interface->abouts);
	}
	free(config->peers);
	free(config->targets);
	free(config->interfaces);
	free(config->listens);
	free(config->control);
	free(config);
}
