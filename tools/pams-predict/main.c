// SPDX-License-Identifier: GPL-2.0
/*
 * pams-predict - predicts when a wireless path will be lost
 */
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "output.h"
#include "predict.h"

#define USAGE_STATUS	2

static const char usage[] =
	"usage: pams-predict [OPTION...]                  as pamsd's plugin\n"
	"       pams-predict --route FILE --aps FILE      print the timeline\n"
	"       pams-predict --levels FILE                replay recorded levels\n"
	"\n"
	"  -i, --interface NAME   the wireless interface ($PAMSD_INTERFACE)\n"
	"      --threshold DBM    the level at which the link is lost (-91)\n"
	"      --exponent N       exponent of the path loss (3.0)\n"
	"      --reference DB     path loss at 1 m (40)\n"
	"      --window MS        how far back the trend's levels go (2000)\n"
	"      --avoid            by the level no path is stopped, only avoided\n"
	"      --horizon MS       losses farther ahead are not reported (5000)\n"
	"      --aps FILE         access points, CSV or GeoJSON\n"
	"      --route FILE       where it will be when, GPX, KML or GeoJSON\n"
	"      --depart now       the route begins now, not at its first time\n"
	"      --gpsd HOST[:PORT] where it is, from gpsd\n"
	"      --position-error M standard deviation of a position (5)\n"
	"      --range-error %    standard deviation of a range (10)\n"
	"      --time-error MS    standard deviation of the route's times (1000)\n"
	"      --levels FILE      lines 'MS DBM', - for standard input\n"
	"      --json             the timeline as JSON\n"
	"  -v, --verbose          the reason of each prediction, on standard error\n"
	"  -h, --help\n"
	"  -V, --version\n";

enum option_id {
	OPTION_THRESHOLD = 256, OPTION_EXPONENT, OPTION_REFERENCE, OPTION_WINDOW,
	OPTION_HORIZON, OPTION_APS, OPTION_ROUTE, OPTION_DEPART, OPTION_GPSD,
	OPTION_POSITION_ERROR, OPTION_RANGE_ERROR, OPTION_TIME_ERROR,
	OPTION_LEVELS, OPTION_JSON, OPTION_AVOID,
};

static const struct option options[] = {
	{ "interface", required_argument, NULL, 'i' },
	{ "threshold", required_argument, NULL, OPTION_THRESHOLD },
	{ "exponent", required_argument, NULL, OPTION_EXPONENT },
	{ "reference", required_argument, NULL, OPTION_REFERENCE },
	{ "window", required_argument, NULL, OPTION_WINDOW },
	{ "avoid", no_argument, NULL, OPTION_AVOID },
	{ "horizon", required_argument, NULL, OPTION_HORIZON },
	{ "aps", required_argument, NULL, OPTION_APS },
	{ "route", required_argument, NULL, OPTION_ROUTE },
	{ "depart", required_argument, NULL, OPTION_DEPART },
	{ "gpsd", required_argument, NULL, OPTION_GPSD },
	{ "position-error", required_argument, NULL, OPTION_POSITION_ERROR },
	{ "range-error", required_argument, NULL, OPTION_RANGE_ERROR },
	{ "time-error", required_argument, NULL, OPTION_TIME_ERROR },
	{ "levels", required_argument, NULL, OPTION_LEVELS },
	{ "json", no_argument, NULL, OPTION_JSON },
	{ "verbose", no_argument, NULL, 'v' },
	{ "help", no_argument, NULL, 'h' },
	{ "version", no_argument, NULL, 'V' },
	{ }
};

struct arguments {
	struct settings settings;
	const char *aps, *route, *levels;
	bool json;
};

static double number(const char *name, const char *text, double min, double max)
{
	char *end;
	double value;

	errno = 0;
	value = strtod(text, &end);
	if (end != text && !*end && !errno && value >= min && value <= max)
		return value;
	fprintf(stderr, "pams-predict: --%s %s is not a number from %g to %g\n",
		name, text, min, max);
	exit(USAGE_STATUS);
}

static void depart(struct settings *settings, const char *text)
{
	if (strcmp(text, "now")) {
		fprintf(stderr, "pams-predict: --depart %s: it can only be now\n",
			text);
		exit(USAGE_STATUS);
	}
	settings->depart_now = true;
}

static void set(struct arguments *arguments, int id)
{
	struct settings *settings = &arguments->settings;

	switch (id) {
	case 'i':
		settings->interface = optarg;
		break;
	case 'v':
		settings->explain = true;
		break;
	case 'h':
		fputs(usage, stdout);
		exit(output_end("pams-predict", 0));
	case 'V':
		printf("pams-predict %s\n", PAMS_VERSION);
		exit(output_end("pams-predict", 0));
	case OPTION_THRESHOLD:
		settings->model.threshold_dbm =
			number("threshold", optarg, -120, -20);
		break;
	case OPTION_EXPONENT:
		settings->model.exponent = number("exponent", optarg, 1, 10);
		break;
	case OPTION_REFERENCE:
		settings->model.reference_db =
			number("reference", optarg, 0, 120);
		break;
	case OPTION_WINDOW:
		settings->window_ms = number("window", optarg, 500,
					     TREND_BIN_MS * TREND_BINS_MAX);
		break;
	case OPTION_HORIZON:
		settings->warning.horizon_ms =
			number("horizon", optarg, 100, 600000);
		break;
	case OPTION_POSITION_ERROR:
		settings->errors.position_m =
			number("position-error", optarg, 0, 10000);
		break;
	case OPTION_RANGE_ERROR:
		settings->errors.range_share =
			number("range-error", optarg, 0, 100) / 100;
		break;
	case OPTION_TIME_ERROR:
		settings->errors.time_ms =
			number("time-error", optarg, 0, 3600000);
		break;
	case OPTION_DEPART:
		depart(settings, optarg);
		break;
	case OPTION_GPSD:
		settings->gpsd = optarg;
		break;
	case OPTION_APS:
		arguments->aps = optarg;
		break;
	case OPTION_ROUTE:
		arguments->route = optarg;
		break;
	case OPTION_LEVELS:
		arguments->levels = optarg;
		break;
	case OPTION_AVOID:
		settings->avoids = true;
		break;
	case OPTION_JSON:
		arguments->json = true;
		break;
	default:
		fputs("pams-predict: try 'pams-predict --help'\n", stderr);
		exit(USAGE_STATUS);
	}
}

static int refuse(const char *why)
{
	fprintf(stderr, "pams-predict: %s\n", why);
	return USAGE_STATUS;
}

/* Run as pamsd's plugin or print the timeline, after all files were read. */
static int run(struct arguments *arguments)
{
	struct settings *settings = &arguments->settings;

	if (settings->interface)
		return plugin_run(settings);
	return timeline_print(&settings->route, &settings->aps,
			      &settings->errors, arguments->json, stdout);
}

int main(int argc, char **argv)
{
	struct arguments arguments = {
		.settings = {
			.model = PATHLOSS_DEFAULT,
			.errors = ERRORS_DEFAULT,
			.window_ms = TREND_WINDOW_MS,
		},
	};
	struct settings *settings = &arguments.settings;
	int id, err = 0;

	warning_init(&settings->warning);
	settings->interface = getenv("PAMSD_INTERFACE");
	while ((id = getopt_long(argc, argv, "i:hvV", options, NULL)) >= 0)
		set(&arguments, id);
	if (optind < argc)
		return refuse("it takes options only; try 'pams-predict --help'");
	if (arguments.levels)
		return replay_print(arguments.levels, settings, stdout) ? 1 : 0;
	if (!settings->interface && !(arguments.route && arguments.aps))
		return refuse("no interface: give --interface, or --route and --aps");
	if ((arguments.route || settings->gpsd) && !arguments.aps)
		return refuse("where the access points are is missing: give --aps, too");
	if (arguments.aps)
		err = aps_read(&settings->aps, arguments.aps, &settings->model);
	if (!err && arguments.route)
		err = route_read(&settings->route, arguments.route);
	if (!err)
		err = run(&arguments);
	route_free(&settings->route);
	aps_free(&settings->aps);
	return err ? 1 : 0;
}
