// SPDX-License-Identifier: GPL-2.0
/*
 * main - the table of commands, their options, and help
 *
 * Without a command, pamsctl shows the paths that were reported and the connections.
 */
#include <getopt.h>
#include <locale.h>
#include <signal.h>
#include <string.h>

#include "output.h"
#include "pamsctl.h"

struct command {
	const char *name;
	int (*run)(struct words *words);
	unsigned int options;
	const char *usage;
};

static const struct command commands[] = {
	{ "up", up_command, OPT_DRY_RUN | OPT_MODULE | OPT_SERVER | OPT_RESTART | OPT_GATEWAY |
	  OPT_NO_DHCP,
	  "up                         use all links: module, scheduler and pamsd, now and "
	  "at each boot\n"
	  "up --server                a server: module and scheduler\n"
	  "up --gateway LAN[=ADDRESS/LENGTH]   and be the gateway of that interface's LAN" },
	{ "down", down_command, OPT_DRY_RUN,
	  "down                       undo what up has changed" },
	{ "path", path_command, OPT_COUNT | OPT_TIMEOUT,
	  "path show [KEY]            what was reported\n"
	  "path set KEY VALUE...      report a path, or renew what is given of "
	  "it\n"
	  "path del KEY               forget a path\n"
	  "path flush                 forget all\n"
	  "path monitor               who sets and deletes paths, as it "
	  "happens" },
	{ "conn", conn_command, 0,
	  "conn show [TOKEN]          connections and subflows, as the "
	  "schedulers see them" },
	{ "links", links_command, OPT_INTERVAL | OPT_CONTROL,
	  "links show [INTERFACE]     links, if MPTCP can use them, and what goes "
	  "over each\n"
	  "links conn [TOKEN]         what goes over each path of a connection" },
	{ "stats", stats_command, 0,
	  "stats                      totals of the network namespace" },
	{ "monitor", monitor_command, OPT_COUNT | OPT_TIMEOUT,
	  "monitor                    what happens, as it happens" },
	{ "top", top_command,
	  OPT_ONCE | OPT_BATCH | OPT_COUNT | OPT_INTERVAL,
	  "top                        connections, live" },
	{ "sched", sched_command, 0,
	  "sched show                 which scheduler new sockets get\n"
	  "sched set NAME             choose it\n"
	  "sched list                 the module's, and what each does" },
	{ "rule", rule_command, 0,
	  "rule show                  which connections get which scheduler\n"
	  "rule add [PLACE] [MATCH...] use SCHEDULER [PARAMETER...]\n"
	  "rule add default SCHEDULER [PARAMETER...]\n"
	  "rule del NUMBER|all        forget a rule, or all\n"
	  "rule load FILE             the table, as rule show prints it" },
	{ "mptcp", mptcp_command, 0,
	  "mptcp show                 whose programs get MPTCP unasked\n"
	  "mptcp enable UNIT|CGROUP   give it to those of a unit or cgroup (v2)\n"
	  "mptcp disable UNIT|CGROUP|all" },
	{ "first", first_command, OPT_CONTROL,
	  "first show                 on which address connections begin\n"
	  "first set DESTINATION ADDRESS|none   those to an address, a prefix or default\n"
	  "first del DESTINATION|all" },
	{ "load", load_command, OPT_DRY_RUN | OPT_MODULE,
	  "load                       load the module, or say what prevents it" },
	{ "unload", unload_command, 0,
	  "unload                     unload the module" },
	{ "doctor", doctor_command, OPT_MODULE | OPT_CONTROL,
	  "doctor [HOST[:PORT]]       is MPTCP in use; does HOST speak it" },
	{ "peers", peers_command, OPT_CONTROL,
	  "peers                      who reports to pamsd here, and to whom "
	  "it reports" },
	{ "caps", caps_command, OPT_CONTROL,
	  "caps                       what is left of pamsd's caps" },
	{ "metrics", metrics_command, OPT_CONTROL,
	  "metrics                    totals of module and pamsd, as "
	  "OpenMetrics" },
	{ "pair", pair_command, OPT_READ,
	  "pair NAME SERVER [LINK...] pamsd's configuration for NAME and "
	  "SERVER, with a new key\n"
	  "pair --read END [DIR]      set up this END, server or reporter, from "
	  "pair's JSON" },
};

#define COMMANDS	(sizeof(commands) / sizeof(commands[0]))

static const char keys[] =
	"KEY    ADDRESS[/LENGTH] [port PORT] | dev INTERFACE | token TOKEN ids "
	"LOCAL REMOTE\n";
static const char parts[] =
	"MATCH  cgroup PATH | mark MARK[/MASK] | uid USER | local PORTS | "
	"remote PORTS\n"
	"       peer ADDRESS[/LENGTH] | client | server   PORTS  443 or "
	"8000-8999\n"
	"PARAMETER  first SIZE | overflow 0|TIME|FACTORx [costly-copies]\n"
	"RATE   5mbit, or bytes per second: 625000   SIZE  120k   TIME  8ms\n";

/* One after the other; those of no bit are every command's. */
static const struct {
	unsigned int bits;
	const char *text;
} option_texts[] = {
	{ 0, "-j, --json           answers and errors as JSON, on standard output" },
	{ OPT_COUNT,
	  "    --count N        monitor: end after N events; top: after N "
	  "pictures" },
	{ OPT_TIMEOUT, "    --timeout TIME   monitor: end after that time" },
	{ OPT_INTERVAL,
	  "    --interval TIME  top: from picture to picture, 1s; links: measure so "
	  "long, 500ms" },
	{ OPT_ONCE | OPT_BATCH,
	  "    --once, --batch  top: plain text, one picture or one after the "
	  "other" },
	{ OPT_DRY_RUN, "    --dry-run        up, down, load: only say what would be done" },
	{ OPT_SERVER, "    --server         up: this machine serves, and has no paths to keep" },
	{ OPT_RESTART,
	  "    --restart        up --server: restart services that listen with another "
	  "scheduler" },
	{ OPT_GATEWAY, "    --gateway LAN    up: be the gateway of that interface's LAN, too" },
	{ OPT_NO_DHCP, "    --no-dhcp        up --gateway: the LAN gets its addresses elsewhere" },
	{ OPT_MODULE, "    --module FILE    up, load, doctor: the module's file" },
	{ OPT_CONTROL,
	  "    --control PATH   links, first, peers, caps, metrics, doctor: pamsd's control "
	  "socket" },
	{ OPT_READ, "    --read END       pair: server or reporter, from standard input" },
	{ 0, "-h, --help           or help [COMMAND]" },
	{ 0, "-V, --version" },
};

/* Print each line of a command's usage behind "pamsctl". */
static void print_usage(FILE *to, const struct command *command)
{
	const char *at = command->usage;

	while (*at) {
		size_t length = strcspn(at, "\n");

		fprintf(to, "    pamsctl %.*s\n", (int)length, at);
		at += length + (at[length] == '\n');
	}
}

/* Completion takes commands and options from it. */
static int help(const struct command *only)
{
	size_t i;

	puts("usage:");
	for (i = 0; i < COMMANDS; i++)
		if (!only || only == &commands[i])
			print_usage(stdout, &commands[i]);
	printf("\n%s%s%s\n", keys, path_values, parts);
	for (i = 0; i < sizeof(option_texts) / sizeof(option_texts[0]); i++)
		if (!only || !option_texts[i].bits || option_texts[i].bits & only->options)
			puts(option_texts[i].text);
	return DONE;
}

/* What getopt_long() returns for a long option: more than any letter, and its bit. */
#define LONG_SHIFT	8
#define LONG(bit)	((bit) << LONG_SHIFT)
#define LONG_FIRST	LONG(1)

static const struct option long_options[] = {
	{ "batch", no_argument, NULL, LONG(OPT_BATCH) },
	{ "control", required_argument, NULL, LONG(OPT_CONTROL) },
	{ "count", required_argument, NULL, LONG(OPT_COUNT) },
	{ "dry-run", no_argument, NULL, LONG(OPT_DRY_RUN) },
	{ "gateway", required_argument, NULL, LONG(OPT_GATEWAY) },
	{ "help", no_argument, NULL, 'h' },
	{ "interval", required_argument, NULL, LONG(OPT_INTERVAL) },
	{ "json", no_argument, NULL, 'j' },
	{ "module", required_argument, NULL, LONG(OPT_MODULE) },
	{ "no-dhcp", no_argument, NULL, LONG(OPT_NO_DHCP) },
	{ "once", no_argument, NULL, LONG(OPT_ONCE) },
	{ "read", required_argument, NULL, LONG(OPT_READ) },
	{ "restart", no_argument, NULL, LONG(OPT_RESTART) },
	{ "server", no_argument, NULL, LONG(OPT_SERVER) },
	{ "timeout", required_argument, NULL, LONG(OPT_TIMEOUT) },
	{ "version", no_argument, NULL, 'V' },
	{ }
};

/* Look for --json before any word is parsed: an error in a word before it is JSON, too. */
static void find_json(int argc, char **argv)
{
	int i;

	for (i = 1; i < argc; i++)
		if (!strcmp(argv[i], "--json") || !strcmp(argv[i], "-j"))
			options.json = true;
}

/* Refuse a value such as "-300ms", which getopt_long() would take for options. */
static int refuse_negative(int argc, char **argv)
{
	int i;

	for (i = 1; i < argc && strcmp(argv[i], "--"); i++)
		if (argv[i][0] == '-' && strchr("0123456789.", argv[i][1]) &&
		    argv[i][1])
			return refuse(USAGE, "'%s' is negative: rates, sizes, "
				      "times and numbers are not", argv[i]);
	return DONE;
}

static int take_option(int option, bool *help_wanted, bool *version_wanted)
{
	switch (option) {
	case 'h':
		*help_wanted = true;
		return DONE;
	case 'V':
		*version_wanted = true;
		return DONE;
	case 'j':
		options.json = true;
		return DONE;
	}
	options.given |= option >> LONG_SHIFT;
	switch (option >> LONG_SHIFT) {
	case OPT_CONTROL:
		options.control = optarg;
		return DONE;
	case OPT_READ:
		options.read = optarg;
		return DONE;
	case OPT_GATEWAY:
		options.gateway = optarg;
		return DONE;
	case OPT_MODULE:
		options.module = optarg;
		return DONE;
	case OPT_COUNT:
		return parse_number("--count", optarg, 1, UINT32_MAX,
				    &options.count);
	case OPT_INTERVAL:
		return parse_time("--interval", optarg, 100000, 3600000000,
				  &options.interval_us);
	case OPT_TIMEOUT:
		return parse_time("--timeout", optarg, 1000, 86400000000,
				  &options.timeout_us);
	}
	return DONE;
}

static int option_error(int result, char **argv)
{
	if (result == ':')
		return refuse(USAGE, "option '%s' needs a value",
			      argv[optind - 1]);
	if (optopt && optopt < LONG_FIRST)
		return refuse(USAGE, "option '-%c' is unknown: see pamsctl "
			      "--help", optopt);
	if (optopt)
		return refuse(USAGE, "option '%s' takes no value",
			      argv[optind - 1]);
	return refuse(USAGE, "option '%s' is unknown: see pamsctl --help",
		      argv[optind - 1]);
}

/* Of the lowest of these bits. */
static const char *option_name(unsigned int bits)
{
	static char name[32];
	size_t i = 0;

	while (long_options[i].val != (int)LONG(bits & -bits))
		i++;
	snprintf(name, sizeof(name), "--%s", long_options[i].name);
	return name;
}

/* The command that the next word names or abbreviates; NULL when refused. */
static const struct command *find_command(struct words *words)
{
	const char *names[COMMANDS + 1] = { };
	size_t i;
	int found;

	for (i = 0; i < COMMANDS; i++)
		names[i] = commands[i].name;
	found = choose(words, "", names, -1);
	return found < 0 ? NULL : &commands[found];
}

static int run(const struct command *command, struct words *words)
{
	unsigned int other = options.given & ~command->options;

	if (other)
		return refuse(USAGE, "option '%s' is not one of pamsctl %s",
			      option_name(other), command->name);
	return command->run(words);
}

static int finish(int status)
{
	return output_end("pamsctl", status);
}

int main(int argc, char **argv)
{
	bool help_wanted = false, version_wanted = false;
	const struct command *command = NULL;
	struct words words;
	int option;

	/* a caller may ignore it, and then no program that is run tells how it ended */
	signal(SIGCHLD, SIG_DFL);
	/* the terminal's character set, but numbers with the C locale's decimal point */
	setlocale(LC_CTYPE, "");
	find_json(argc, argv);
	if (refuse_negative(argc, argv))
		return USAGE;
	opterr = 0;
	while ((option = getopt_long(argc, argv, ":hjV", long_options,
				     NULL)) != -1) {
		if (option == '?' || option == ':')
			return option_error(option, argv);
		if (take_option(option, &help_wanted, &version_wanted))
			return USAGE;
	}
	words.at = argv + optind;
	words.left = argc - optind;
	if (version_wanted) {
		puts("pamsctl " PAMS_VERSION);
		return finish(DONE);
	}
	if (words.left && !strcmp(words.at[0], "help")) {
		help_wanted = true;
		next_word(&words);
	}
	if (!words.left) {
		if (help_wanted)
			return finish(help(NULL));
		if (options.given)
			return refuse(USAGE, "option '%s' needs a command",
				      option_name(options.given));
		return finish(overview());
	}
	command = find_command(&words);
	if (!command)
		return USAGE;
	return finish(help_wanted ? help(command) : run(command, &words));
}
