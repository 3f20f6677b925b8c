// SPDX-License-Identifier: GPL-2.0
/*
 * metrics - the module's totals and pamsd's counts, in the OpenMetrics format
 *
 * Users of this file have to link with jansson; the rest of libtools.a doesn't need it.
 */
#include <inttypes.h>

#include <jansson.h>

#include "metrics.h"
#include "netlink.h"

static void describe(FILE *out, const char *name, const char *type, const char *help)
{
	fprintf(out, "# TYPE %s %s\n# HELP %s %s\n", name, type, name, help);
}

static void print_gauge(FILE *out, const char *name, const char *help, uint64_t value)
{
	describe(out, name, "gauge", help);
	fprintf(out, "%s %" PRIu64 "\n", name, value);
}

static void print_counter(FILE *out, const char *name, const char *help, uint64_t value)
{
	describe(out, name, "counter", help);
	fprintf(out, "%s_total %" PRIu64 "\n", name, value);
}

static void print_module(FILE *out, const struct pams_stats *s)
{
	print_gauge(out, "pams_connections",
		    "Connections with one of the module's schedulers.",
		    s->conns);
	print_gauge(out, "pams_paths", "Paths that are reported.", s->paths);
	print_counter(out, "pams_reports", "Reports of paths that were taken.",
		      s->reports);
	print_counter(out, "pams_reports_refused",
		      "Reports of paths that were refused.", s->refused);
	print_counter(out, "pams_reports_expired",
		      "Reports of paths that have expired.", s->expired);
	print_counter(out, "pams_decisions", "Decisions of the schedulers.",
		      s->decisions);
	print_counter(out, "pams_deferrals",
		      "Decisions to wait for a faster subflow.", s->deferrals);
	print_counter(out, "pams_stops",
		      "Subflows stopped: path about to be lost, or silent.",
		      s->stops);
	print_counter(out, "pams_reinjected_bytes",
		      "Bytes sent again on another subflow.",
		      s->reinjected_bytes);
}

/* Print NAME="VALUE", with OpenMetrics' escapes. */
static void print_label(FILE *out, const char *name, const char *value)
{
	fprintf(out, "%s=\"", name);
	for (; *value; value++) {
		if (*value == '\n')
			fputs("\\n", out);
		else if (*value == '"' || *value == '\\')
			fprintf(out, "\\%c", *value);
		else
			putc(*value, out);
	}
	putc('"', out);
}

/* Print a sample for each object of a list that has that number, labelled by its "name". */
static void print_each(FILE *out, const char *metric, const char *suffix,
		       const char *label, json_t *list, const char *number)
{
	json_t *one;
	size_t i;

	json_array_foreach(list, i, one) {
		json_t *value = json_object_get(one, number);

		if (!value)
			continue;
		fprintf(out, "%s%s{", metric, suffix);
		print_label(out, label, json_string_value(json_object_get(one, "name")) ?: "");
		fprintf(out, "} %" JSON_INTEGER_FORMAT "\n", json_integer_value(value));
	}
}

static void print_refused(FILE *out, json_t *peers)
{
	const char *why;
	json_t *one, *count;
	size_t i;

	describe(out, "pamsd_reports_refused", "counter",
		 "Reports of a peer that were refused.");
	json_array_foreach(peers, i, one) {
		json_object_foreach(json_object_get(one, "dropped"), why,
				    count) {
			fprintf(out, "pamsd_reports_refused_total{");
			print_label(out, "peer", json_string_value
				    (json_object_get(one, "name")) ?: "");
			putc(',', out);
			print_label(out, "reason", why);
			fprintf(out, "} %" JSON_INTEGER_FORMAT "\n", json_integer_value(count));
		}
	}
}

static void print_pamsd(FILE *out, json_t *status)
{
	json_t *peers = json_object_get(json_object_get(status, "server"),
					"peers");
	json_t *reporter = json_object_get(status, "reporter");
	json_t *to = json_object_get(reporter, "to");
	json_t *links = json_object_get(reporter, "interfaces");

	describe(out, "pamsd_reports", "counter", "Reports of a peer.");
	print_each(out, "pamsd_reports", "_total", "peer", peers, "accepted");
	print_refused(out, peers);
	describe(out, "pamsd_report_age_milliseconds", "gauge",
		 "Time since the last report of a peer.");
	print_each(out, "pamsd_report_age_milliseconds", "", "peer", peers,
		   "age_ms");
	describe(out, "pamsd_sent", "counter", "Reports sent to a server.");
	print_each(out, "pamsd_sent", "_total", "server", to, "sent");
	describe(out, "pamsd_unanswered_milliseconds", "gauge",
		 "How long a server has not answered.");
	print_each(out, "pamsd_unanswered_milliseconds", "", "server", to,
		   "unanswered_ms");
	describe(out, "pamsd_pipe_bytes_per_second", "gauge",
		 "Throughput measured of an interface.");
	print_each(out, "pamsd_pipe_bytes_per_second", "", "interface", links,
		   "rate_byteps");
	describe(out, "pamsd_backlog_bytes", "gauge",
		 "Bytes that wait before an interface.");
	print_each(out, "pamsd_backlog_bytes", "", "interface", links,
		   "backlog_bytes");
}

void metrics_write(FILE *out, const struct pams_stats *stats, json_t *status)
{
	describe(out, "pams_up", "gauge", "Whether the part is there.");
	fprintf(out, "pams_up{part=\"module\"} %d\npams_up{part=\"pamsd\"} %d\n",
		stats ? 1 : 0, status ? 1 : 0);
	if (stats)
		print_module(out, stats);
	if (status)
		print_pamsd(out, status);
	fputs("# EOF\n", out);
}
