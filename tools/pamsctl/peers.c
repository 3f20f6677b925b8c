// SPDX-License-Identifier: GPL-2.0
/*
 * peers - the peers that report to pamsd, and the servers that it reports to
 *
 * Members of pamsd's answer that this version of pamsctl doesn't know are shown
 * with --json only.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "pamsctl.h"

#define US_PER_MS	1000

static int64_t number(const json_t *object, const char *name)
{
	return json_integer_value(json_object_get(object, name));
}

static const char *string(const json_t *object, const char *name)
{
	return json_string_value(json_object_get(object, name)) ?: "?";
}

static bool has(const json_t *object, const char *name)
{
	return json_object_get(object, name);
}

/* Refused reports by reason: "12 (10 cookie, 2 rate)", or "none". */
static void print_refused(json_t *dropped)
{
	json_int_t total = 0;
	const char *why, *gap = " (";
	json_t *count;

	json_object_foreach(dropped, why, count)
		total += json_integer_value(count);
	if (!total) {
		puts("none");
		return;
	}
	printf("%" JSON_INTEGER_FORMAT, total);
	json_object_foreach(dropped, why, count) {
		printf("%s%" JSON_INTEGER_FORMAT " %s", gap,
		       json_integer_value(count), why);
		gap = ", ";
	}
	puts(")");
}

static void print_loss(const json_t *object)
{
	int64_t loss_us = number(object, "loss_ms") * US_PER_MS;
	char text[QUANTITY_MAX];

	if (!has(object, "loss_ms"))
		return;
	printf(", %s %s%s", loss_us > 0 ? "lost in" : "lost",
	       show_time(text, loss_us > 0 ? loss_us : -loss_us),
	       loss_us > 0 ? "" : " ago");
	if (has(object, "spread_ms"))
		printf(", +- %s",
		       show_time(text, number(object, "spread_ms") * US_PER_MS));
}

static void print_pipe(const json_t *object)
{
	char text[QUANTITY_MAX];

	if (has(object, "rate_byteps"))
		printf(", pipe %s, backlog %" PRId64 " bytes",
		       show_rate(text, number(object, "rate_byteps")),
		       number(object, "backlog_bytes"));
	if (has(object, "rate_from"))
		printf(" (%s)", string(object, "rate_from"));
}

/* Name a path by its address, or by the local kernel's token and address ids of a subflow. */
static void print_name(const json_t *path)
{
	char token[TOKEN_TEXT_MAX];

	if (has(path, "token"))
		printf("  path: token %s, ids %" PRId64 ">%" PRId64,
		       show_token(token, number(path, "token")),
		       number(path, "local_id"), number(path, "remote_id"));
	else
		printf("  path: %s", string(path, "prefix"));
}

static void print_peer(const json_t *peer)
{
	char text[QUANTITY_MAX];
	json_t *path;
	size_t i;

	printf("peer: %s\n", string(peer, "name"));
	if (has(peer, "from"))
		printf("  address: %s\n  last report: %s ago\n",
		       string(peer, "from"),
		       show_time(text, number(peer, "age_ms") * US_PER_MS));
	else
		puts("  last report: none yet");
	printf("  reports: %" PRId64 "\n  refused: ", number(peer, "accepted"));
	print_refused(json_object_get(peer, "dropped"));
	json_array_foreach(json_object_get(peer, "paths"), i, path) {
		print_name(path);
		if (has(path, "port"))
			printf(" port %" PRId64, number(path, "port"));
		print_pipe(path);
		print_loss(path);
		putchar('\n');
	}
}

/* Print each element of the list, with an empty line after it. */
static void print_each(const json_t *list, void (*print)(const json_t *one))
{
	json_t *one;
	size_t i;

	json_array_foreach(list, i, one) {
		print(one);
		putchar('\n');
	}
}

static void print_server(const json_t *server)
{
	print_each(json_object_get(server, "peers"), print_peer);
	printf("datagrams that are no peer's: ");
	print_refused(json_object_get(server, "dropped"));
}

static void print_target(const json_t *target)
{
	int64_t waits_ms = number(target, "unanswered_ms");
	char text[QUANTITY_MAX];

	printf("server: %s\n  address: %s\n", string(target, "name"),
	       string(target, "address"));
	if (waits_ms)
		printf("  answers: none for %s\n",
		       show_time(text, waits_ms * US_PER_MS));
	else
		printf("  answers: yes\n");
	printf("  reports: %" PRId64 ", %" PRId64 " could not be sent\n",
	       number(target, "sent"), number(target, "errors"));
}

static void print_interface(const json_t *interface)
{
	printf("interface: %s\n  link: %s\n  measured by: %s",
	       string(interface, "name"),
	       json_is_true(json_object_get(interface, "up")) ? "up" : "down",
	       string(interface, "measure"));
	if (has(interface, "failed"))
		printf(", which fails: %s", string(interface, "failed"));
	print_pipe(interface);
	print_loss(interface);
	putchar('\n');
}

static void print_reporter(const json_t *reporter)
{
	json_t *one;
	size_t i;

	print_each(json_object_get(reporter, "to"), print_target);
	json_array_foreach(json_object_get(reporter, "interfaces"), i, one)
		print_interface(one);
}

int peers_command(struct words *words)
{
	json_t *status, *server, *reporter;
	int err = pamsd_ask(words, &status);

	if (err)
		return err;
	if (options.json)
		return print_json(status);
	server = json_object_get(status, "server");
	reporter = json_object_get(status, "reporter");
	if (server)
		print_server(server);
	if (server && reporter)
		putchar('\n');
	if (reporter)
		print_reporter(reporter);
	json_decref(status);
	return DONE;
}
