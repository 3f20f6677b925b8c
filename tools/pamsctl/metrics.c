// SPDX-License-Identifier: GPL-2.0
/*
 * metrics - the module's totals and pamsd's counts, in the OpenMetrics format
 *
 * For a collector that reads files or runs programs. If the module isn't loaded or
 * pamsd doesn't run, its metrics are left out, and pams_up is 0 for it.
 */
#include <errno.h>
#include <inttypes.h>

#include "pamsctl.h"

static void describe(const char *name, const char *type, const char *help)
{
	printf("# TYPE %s %s\n# HELP %s %s\n", name, type, name, help);
}

static void print_gauge(const char *name, const char *help, uint64_t value)
{
	describe(name, "gauge", help);
	printf("%s %" PRIu64 "\n", name, value);
}

static void print_counter(const char *name, const char *help, uint64_t value)
{
	describe(name, "counter", help);
	printf("%s_total %" PRIu64 "\n", name, value);
}

static void print_module(const struct pams_stats *s)
{
	print_gauge("pams_connections",
		    "Connections with one of the module's schedulers.",
		    s->conns);
	print_gauge("pams_paths", "Paths that are reported.", s->paths);
	print_counter("pams_reports", "Reports of paths that were taken.",
		      s->reports);
	print_counter("pams_reports_refused",
		      "Reports of paths that were refused.", s->refused);
	print_counter("pams_reports_expired",
		      "Reports of paths that have expired.", s->expired);
	print_counter("pams_decisions", "Decisions of the schedulers.",
		      s->decisions);
	print_counter("pams_deferrals",
		      "Decisions to wait for a faster subflow.", s->deferrals);
	print_counter("pams_stops",
		      "Subflows stopped: path about to be lost, or silent.",
		      s->stops);
	print_counter("pams_reinjected_bytes",
		      "Bytes sent again on another subflow.",
		      s->reinjected_bytes);
}

/* Print NAME="VALUE", with OpenMetrics' escapes. */
static void print_label(const char *name, const char *value)
{
	printf("%s=\"", name);
	for (; *value; value++) {
		if (*value == '\n')
			fputs("\\n", stdout);
		else if (*value == '"' || *value == '\\')
			printf("\\%c", *value);
		else
			putchar(*value);
	}
	putchar('"');
}

/* Print a sample for each object of a list that has that number, labelled by its "name". */
static void print_each(const char *metric, const char *suffix,
		       const char *label, json_t *list, const char *number)
{
	json_t *one;
	size_t i;

	json_array_foreach(list, i, one) {
		json_t *value = json_object_get(one, number);

		if (!value)
			continue;
		printf("%s%s{", metric, suffix);
		print_label(label,
			    json_string_value(json_object_get(one, "name")) ?:
			    "");
		printf("} %" JSON_INTEGER_FORMAT "\n",
		       json_integer_value(value));
	}
}

static void print_refused(json_t *peers)
{
	const char *why;
	json_t *one, *count;
	size_t i;

	describe("pamsd_reports_refused", "counter",
		 "Reports of a peer that were refused.");
	json_array_foreach(peers, i, one) {
		json_object_foreach(json_object_get(one, "dropped"), why,
				    count) {
			printf("pamsd_reports_refused_total{");
			print_label("peer", json_string_value
				    (json_object_get(one, "name")) ?: "");
			putchar(',');
			print_label("reason", why);
			printf("} %" JSON_INTEGER_FORMAT "\n",
			       json_integer_value(count));
		}
	}
}

static void print_pamsd(json_t *status)
{
	json_t *peers = json_object_get(json_object_get(status, "server"),
					"peers");
	json_t *reporter = json_object_get(status, "reporter");
	json_t *to = json_object_get(reporter, "to");
	json_t *links = json_object_get(reporter, "interfaces");

	describe("pamsd_reports", "counter", "Reports of a peer.");
	print_each("pamsd_reports", "_total", "peer", peers, "accepted");
	print_refused(peers);
	describe("pamsd_report_age_milliseconds", "gauge",
		 "Time since the last report of a peer.");
	print_each("pamsd_report_age_milliseconds", "", "peer", peers,
		   "age_ms");
	describe("pamsd_sent", "counter", "Reports sent to a server.");
	print_each("pamsd_sent", "_total", "server", to, "sent");
	describe("pamsd_unanswered_milliseconds", "gauge",
		 "How long a server has not answered.");
	print_each("pamsd_unanswered_milliseconds", "", "server", to,
		   "unanswered_ms");
	describe("pamsd_pipe_bytes_per_second", "gauge",
		 "Throughput measured of an interface.");
	print_each("pamsd_pipe_bytes_per_second", "", "interface", links,
		   "rate_byteps");
	describe("pamsd_backlog_bytes", "gauge",
		 "Bytes that wait before an interface.");
	print_each("pamsd_backlog_bytes", "", "interface", links,
		   "backlog_bytes");
}

int metrics_command(struct words *words)
{
	struct pams_nl *nl = NULL;
	struct pams_stats stats;
	json_t *status;
	bool loaded;
	int err;

	if (no_more_words(words))
		return USAGE;
	loaded = !pams_nl_open(&nl) && !pams_nl_stats(nl, &stats);
	pams_nl_close(nl);
	status = pamsd_status(options.control ?: PAMSD_CONTROL, &err);
	describe("pams_up", "gauge", "Whether the part is there.");
	printf("pams_up{part=\"module\"} %d\npams_up{part=\"pamsd\"} %d\n",
	       loaded, status ? 1 : 0);
	if (loaded)
		print_module(&stats);
	if (status)
		print_pamsd(status);
	puts("# EOF");
	json_decref(status);
	return DONE;
}
