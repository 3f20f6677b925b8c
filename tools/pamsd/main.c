// SPDX-License-Identifier: GPL-2.0
/*
 * pamsd - tells the scheduler about paths: their throughput, and losses to come
 *
 * This file has the options, the signals, set-up and tear-down. pamsd(8) documents
 * what the daemon does.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <event2/event.h>
#include <sodium.h>

#include "base.h"
#include "caps/caps.h"
#include "notify.h"
#include "output.h"
#include "pamsd.h"
#include "paths/paths.h"
#include "reporter/reporter.h"
#include "server/server.h"

#define EXIT_USAGE	2

/* All that depends on the configuration, and is replaced when that is reloaded. */
struct roles {
	struct config *config;
	struct server *server;
	struct reporter *reporter;
	struct rules *rules;
	struct caps *caps;
	struct paths *paths;
	struct plugins *plugins;
	struct control *control;
	struct http *http;
};

static struct {
	const char *file;
	const char *user;	/* to change to, or NULL */
	struct event_base *base;
	struct kernel *kernel;
	struct roles roles;
	struct lines lines;
	struct event *signals[3];
	struct event *reload;	/* is activated by SIGHUP */
	bool unprivileged;	/* CAP_NET_ADMIN was dropped */
	bool broken;		/* exit with a failure */
} pamsd;

static void feed_all(void *arg)
{
	(void)arg;
	if (pamsd.roles.server)
		server_feed(pamsd.roles.server);
	if (pamsd.roles.reporter)
		reporter_feed(pamsd.roles.reporter);
	if (pamsd.roles.rules)
		rules_feed(pamsd.roles.rules);
	if (pamsd.roles.caps)
		caps_feed(pamsd.roles.caps);
	if (pamsd.roles.paths)
		paths_feed(pamsd.roles.paths);
}

/*
 * Free all roles but the caps, whose changes stay until the next caps take over. What the paths
 * have made stays, too.
 */
static void tear_down(struct roles *roles)
{
	paths_free(roles->paths);
	roles->paths = NULL;
	http_free(roles->http);
	control_free(roles->control);
	plugins_free(roles->plugins);
	rules_free(roles->rules);
	reporter_free(roles->reporter);
	server_free(roles->server);
	memset(&pamsd.lines, 0, sizeof(pamsd.lines));
	roles->http = NULL;
	roles->control = NULL;
	roles->plugins = NULL;
	roles->rules = NULL;
	roles->reporter = NULL;
	roles->server = NULL;
}

/* Does the configuration need caps.c? */
static bool has_caps(const struct config *config)
{
	return config->cap_count || config->costs_as_backup;
}

/* Set up all roles but the caps. On a failure, which is logged, frees them again. */
static int set_up(struct roles *roles)
{
	const struct config *config = roles->config;

	if (config->server) {
		roles->server = server_new(pamsd.base, config, pamsd.kernel);
		if (!roles->server)
			goto fail;
	}
	if (config->reporter) {
		roles->reporter = reporter_new(pamsd.base, config,
					       pamsd.kernel);
		if (!roles->reporter)
			goto fail;
	}
	if (config->rules_file) {
		roles->rules = rules_new(pamsd.base, config, pamsd.kernel);
		if (!roles->rules)
			goto fail;
	}
	pamsd.lines.kernel = pamsd.kernel;
	pamsd.lines.server = roles->server;
	pamsd.lines.reporter = roles->reporter;
	pamsd.lines.rules = roles->rules;
	pamsd.lines.caps = roles->caps;
	pamsd.lines.unprivileged = pamsd.unprivileged;
	roles->plugins = plugins_new(pamsd.base, config, &pamsd.lines);
	if (!roles->plugins)
		goto fail;
	if (config->control) {
		roles->control = control_new(pamsd.base, config->control,
					     &pamsd.lines);
		if (!roles->control)
			goto fail;
	}
	if (config->http.sa.sa_family) {
		roles->http = http_new(pamsd.base, &config->http, &pamsd.lines);
		if (!roles->http)
			goto fail;
	}
	return 0;
fail:
	tear_down(roles);
	return -1;
}

/* Needs the caps. */
static int set_up_paths(struct roles *roles)
{
	if (!roles->config->paths.kept)
		return 0;
	roles->paths = paths_new(pamsd.base, roles->config, pamsd.kernel, roles->caps);
	pamsd.lines.paths = roles->paths;
	if (roles->paths && roles->reporter)
		reporter_on_rate(roles->reporter, paths_rate, roles->paths);
	return roles->paths ? 0 : -1;
}

/* Set up caps and paths last, once everything else works: they take effect at once. */
static int set_up_last(struct roles *roles)
{
	if (has_caps(roles->config)) {
		roles->caps = caps_new(pamsd.base, roles->config, pamsd.kernel);
		pamsd.lines.caps = roles->caps;
		if (!roles->caps) {
			say("there is no memory for caps");
			return -1;
		}
	}
	return set_up_paths(roles);
}

static void give_up(void)
{
	pamsd.broken = true;
	event_base_loopbreak(pamsd.base);
}

/* Does pamsd have to read subflows' tokens from the kernel, to report about this interface? */
static bool names_subflows(const struct interface_config *interface)
{
	for (unsigned int i = 0; i < interface->about_count; i++)
		if (interface->abouts[i].source)
			return true;
	return false;
}

/* Does the configuration need CAP_NET_ADMIN, for the module or for subflows' tokens? */
static bool needs_privilege(const struct config *config)
{
	for (unsigned int i = 0; i < config->interface_count; i++) {
		const struct interface_config *interface =
			&config->interfaces[i];

		if (interface->local ||
		    (config->target_count && names_subflows(interface)))
			return true;
	}
	return config->server || config->rules_file || has_caps(config) ||
	       config->paths.kept;
}

/* Replace the roles by new ones, which work, and set up their caps and paths. */
static void replace(struct roles *new)
{
	/* only a common state file tells the new caps what the old ones changed: else undo that */
	if (pamsd.roles.caps &&
	    (!has_caps(new->config) ||
	     strcmp(new->config->state, pamsd.roles.config->state)))
		caps_release(pamsd.roles.caps);
	caps_free(pamsd.roles.caps);
	config_free(pamsd.roles.config);
	pamsd.roles = *new;
	if (set_up_last(&pamsd.roles))
		give_up();
	else
		say("the configuration was read again");
}

/* Switch to the new configuration if it works, else keep the old one. */
static void reload(void)
{
	struct roles new = { .config = config_read(pamsd.file, say_line) };

	if (!new.config) {
		say("the old configuration is kept");
		return;
	}
	if (pamsd.unprivileged && needs_privilege(new.config)) {
		say("%s needs CAP_NET_ADMIN, which pamsd gave up when it "
		    "started: restart pamsd", pamsd.file);
		say("the old configuration is kept");
		config_free(new.config);
		return;
	}
	if (pamsd.roles.server)
		server_revoke(pamsd.roles.server, new.config);
	if (pamsd.roles.paths &&
	    (!new.config->paths.kept ||
	     strcmp(new.config->state, pamsd.roles.config->state)))
		paths_release(pamsd.roles.paths);
	tear_down(&pamsd.roles);
	if (!set_up(&new)) {
		replace(&new);
		return;
	}
	config_free(new.config);
	if (!set_up(&pamsd.roles) && !set_up_paths(&pamsd.roles)) {
		say("the old configuration is kept");
		return;
	}
	say("neither the new nor the old configuration works: pamsd ends");
	give_up();
}

static void on_reload(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	(void)arg;
	notify("RELOADING=1");
	reload();
	notify("READY=1");
}

/* Is called for each signal, but all that came during a reload call for one more. */
static void obey_signal(evutil_socket_t number, short what, void *arg)
{
	(void)what;
	(void)arg;
	if (number == SIGHUP)
		event_active(pamsd.reload, EV_TIMEOUT, 1);
	else
		event_base_loopbreak(pamsd.base);
}

static int catch_signals(void)
{
	static const int numbers[] = { SIGHUP, SIGTERM, SIGINT };

	signal(SIGPIPE, SIG_IGN);
	pamsd.reload = event_new(pamsd.base, -1, 0, on_reload, NULL);
	if (!pamsd.reload)
		return -1;
	for (unsigned int i = 0; i < ARRAY_SIZE(numbers); i++) {
		struct event *event = evsignal_new(pamsd.base, numbers[i],
						   obey_signal, NULL);

		pamsd.signals[i] = event;
		if (!event || event_add(event, NULL))
			return -1;
	}
	return 0;
}

static int run(void)
{
	int status = EXIT_FAILURE;

	if (!strcmp(pamsd.file, PAMSD_CONFIG) && access(pamsd.file, F_OK) && errno == ENOENT) {
		say("there is no " PAMSD_CONFIG ": pamsctl up writes one that keeps this "
		    "machine's paths, pamsctl pair one for reports; or give --config FILE");
		return EXIT_FAILURE;
	}
	pamsd.roles.config = config_read(pamsd.file, say_line);
	if (!pamsd.roles.config)
		return EXIT_FAILURE;
	if (!pamsd.roles.config->paths.kept)
		paths_clean(pamsd.roles.config->state, false);
	pamsd.unprivileged = !needs_privilege(pamsd.roles.config);
	if (pamsd.roles.config->reporter)
		traffic_open();
	if (pamsd.roles.config->server)
		marks_open();
	if (pamsd.roles.config->paths.first)
		begin_open();
	if (privilege_drop(pamsd.user, !pamsd.unprivileged))
		goto free_config;
	pamsd.base = base_new();
	if (!pamsd.base)
		goto free_config;
	pamsd.kernel = kernel_new(pamsd.base, feed_all, NULL);
	if (!pamsd.kernel)
		goto free_base;
	if (catch_signals() || set_up(&pamsd.roles))
		goto free_signals;
	if (set_up_last(&pamsd.roles))
		goto free_roles;
	notify("READY=1");
	event_base_dispatch(pamsd.base);
	notify("STOPPING=1");
	if (pamsd.roles.paths)
		paths_end(pamsd.roles.paths);
	if (pamsd.roles.caps)
		caps_release(pamsd.roles.caps);
	status = pamsd.broken ? EXIT_FAILURE : EXIT_SUCCESS;
free_roles:
	tear_down(&pamsd.roles);
	caps_free(pamsd.roles.caps);
free_signals:
	for (unsigned int i = 0; i < ARRAY_SIZE(pamsd.signals); i++)
		if (pamsd.signals[i])
			event_free(pamsd.signals[i]);
	if (pamsd.reload)
		event_free(pamsd.reload);
	kernel_free(pamsd.kernel);
	resolvers_end(pamsd.base);
free_base:
	event_base_free(pamsd.base);
free_config:
	begin_close();
	marks_close();
	traffic_close();
	config_free(pamsd.roles.config);
	return status;
}

/* --- the other tasks of the command line --- */

static void print_line(const char *line)
{
	fprintf(stderr, "%s\n", line);
}

static int check(const char *file)
{
	struct config *config = config_read(file, print_line);

	if (!config)
		return EXIT_FAILURE;
	printf("%s: is in order\n", file);
	config_free(config);
	return EXIT_SUCCESS;
}

static int generate_key(void)
{
	char text[KEY_TEXT];

	key_generate(text);
	puts(text);
	sodium_memzero(text, sizeof(text));
	return EXIT_SUCCESS;
}

/* There need be no configuration any more. */
static int clean(void)
{
	struct config *config = access(pamsd.file, F_OK) ? NULL : config_read(pamsd.file, say_line);
	int left = paths_clean(config ? config->state : PAMSD_STATE, true);

	config_free(config);
	return left ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* A user who may use the socket need not be able to read the configuration. */
static int tell_running(const char *line)
{
	char *control = NULL;
	int status = EXIT_FAILURE;

	if (strcmp(pamsd.file, PAMSD_CONFIG) || !access(pamsd.file, R_OK))
		control = config_read_control(pamsd.file, say_line);
	else
		control = strdup(PAMSD_CONTROL);
	if (control && *control)
		status = control_tell(control, line);
	else if (control)
		say("%s: control is empty: there is no socket", pamsd.file);
	free(control);
	return status;
}

static const char help[] =
"usage: pamsd [--config FILE] [--user NAME]\n"
"       pamsd --check [FILE]                check a configuration\n"
"       pamsd [--config FILE] --tell LINE   send a line to a running pamsd\n"
"       pamsd [--config FILE] --clean       take away what an ended pamsd left of paths\n"
"       pamsd --genkey                      print a new key\n"
"       pamsd --help, --version\n"
"\n"
"FILE is " PAMSD_CONFIG " if none is given; pamsd.conf(5), pamsd(8).\n";

static int usage(void)
{
	fputs(help, stderr);
	return EXIT_USAGE;
}

enum task { RUN = 0, CHECK = 256, TELL, CLEAN, GENKEY, VERSION, HELP };

static int carry_out(enum task task, const char *line)
{
	switch (task) {
	case CHECK:
		return check(pamsd.file);
	case TELL:
		return tell_running(line);
	case CLEAN:
		return clean();
	case GENKEY:
		return generate_key();
	case HELP:
		fputs(help, stdout);
		return EXIT_SUCCESS;
	case VERSION:
		puts("pamsd " PAMS_VERSION);
		return EXIT_SUCCESS;
	case RUN:
		break;
	}
	return run();
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "config", required_argument, NULL, 'c' },
		{ "user", required_argument, NULL, 'u' },
		{ "check", no_argument, NULL, CHECK },
		{ "tell", required_argument, NULL, TELL },
		{ "clean", no_argument, NULL, CLEAN },
		{ "genkey", no_argument, NULL, GENKEY },
		{ "help", no_argument, NULL, HELP },
		{ "version", no_argument, NULL, VERSION },
		{ }
	};
	enum task task = RUN;
	const char *line = NULL;
	int option;

	pamsd.file = PAMSD_CONFIG;
	/* Line buffered, even if a test reads it from a file or a pipe. */
	setvbuf(stderr, NULL, _IOLBF, 0);
	while ((option = getopt_long(argc, argv, "c:u:hV", options,
				     NULL)) >= 0) {
		if (option == '?')
			return usage();
		if (option == 'c') {
			pamsd.file = optarg;
			continue;
		}
		if (option == 'u') {
			pamsd.user = optarg;
			continue;
		}
		if (option == 'h')
			option = HELP;
		if (option == 'V')
			option = VERSION;
		if (option == TELL)
			line = optarg;
		if (task != RUN && task != (enum task)option) {
			say("one of --check, --tell, --clean, --genkey, --help and --version at "
			    "a time");
			return usage();
		}
		task = option;
	}
	if (task == CHECK && optind < argc)
		pamsd.file = argv[optind++];
	if (optind < argc) {
		say("'%s' is one argument too many", argv[optind]);
		return usage();
	}
	if (sodium_init() < 0) {
		say("libsodium can't be used here");
		return EXIT_FAILURE;
	}
	return output_end("pamsd", carry_out(task, line));
}
