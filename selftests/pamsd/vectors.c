// SPDX-License-Identifier: GPL-2.0
/*
 * vectors - writes the test vectors of the report protocol, as JSON
 *
 * Each has all that goes into a datagram, and the datagram. What is drawn at
 * random by a daemon is counted up here.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "report.h"

#define fallthrough	__attribute__((__fallthrough__))

static void print_hex(const char *name, const uint8_t *bytes, size_t count)
{
	printf("\"%s\": \"", name);
	while (count--)
		printf("%02x", *bytes++);
	printf("\"");
}

static void fill(uint8_t *bytes, size_t count, uint8_t first)
{
	while (count--)
		*bytes++ = first++;
}

static void print_path(const struct report_path *path, bool last)
{
	printf("      {\"id\": %u, \"flags\": %u", path->id, path->flags);
	printf(", \"rate_byteps\": %" PRIu64, path->rate_byteps);
	printf(", \"hs_rate_byteps\": %" PRIu64, path->hs_rate_byteps);
	printf(", \"backlog_bytes\": %" PRIu32, path->backlog_bytes);
	printf(",\n       \"delay_us\": %" PRIu32, path->delay_us);
	printf(", \"pipe_ttl_ms\": %" PRIu32, path->pipe_ttl_ms);
	printf(", \"loss_ms\": %" PRId32, path->loss_ms);
	printf(", \"loss_ttl_ms\": %" PRIu32, path->loss_ttl_ms);
	printf(", \"loss_spread_ms\": %" PRIu32, path->loss_spread_ms);
	printf(", \"cost\": %u", path->cost);
	printf("}%s\n", last ? "" : ",");
}

static void print_name(const struct report_name *name, bool last)
{
	printf("      {\"kind\": %u, \"id\": %u", name->kind, name->id);
	switch (name->kind) {
	case REPORT_NAME_SUBFLOW:
		printf(", \"token\": %" PRIu32 ", \"local_id\": %u, "
		       "\"remote_id\": %u", name->token, name->local_id,
		       name->remote_id);
		if (name->proven)
			printf(", \"proof\": %" PRIu32, name->proof);
		break;
	case REPORT_NAME_PREFIX:
		printf(", \"prefix_len\": %u, ", name->prefix_len);
		print_hex("address", name->address, name->ipv6 ? 16 : 4);
		fallthrough;
	default:
		printf(", \"port\": %u", name->port);
	}
	printf("}%s\n", last ? "" : ",");
}

static void print_conn(const struct report_conn *conn, bool last)
{
	printf("      {\"token\": %" PRIu32 ", \"proof\": %" PRIu32 ", \"subflows\": [",
	       conn->token, conn->proof);
	for (unsigned int i = 0; i < conn->count; i++)
		printf("%s{\"id\": %u, \"local_id\": %u, \"remote_id\": %u}", i ? ", " : "",
		       conn->flows[i].id, conn->flows[i].local_id, conn->flows[i].remote_id);
	printf("]}%s\n", last ? "" : ",");
}

static void print_report(const char *what, const struct report_keys *keys,
			 uint64_t number, const struct report *report)
{
	uint8_t buf[REPORT_BYTES_MAX], session[REPORT_SESSION_BYTES];
	size_t len;

	fill(session, sizeof(session), 0xa0);
	len = report_seal(buf, keys, session, number, report);
	printf("    {\"what\": \"%s\",\n     ", what);
	print_hex("session", session, sizeof(session));
	printf(", \"number\": %" PRIu64 ",\n     ", number);
	print_hex("cookie", report->cookie, sizeof(report->cookie));
	printf(",\n     \"sent_ms\": %" PRIu64 ", \"echo\": %" PRIu64
	       ", \"acknowledge\": %s,\n     \"paths\": [\n",
	       report->sent_ms, report->echo,
	       report->acknowledge ? "true" : "false");
	for (unsigned int i = 0; i < report->path_count; i++)
		print_path(&report->paths[i], i + 1 == report->path_count);
	printf("     ],\n     \"names\": [\n");
	for (unsigned int i = 0; i < report->name_count; i++)
		print_name(&report->names[i], i + 1 == report->name_count);
	printf("     ],\n     \"connections\": [\n");
	for (unsigned int i = 0; i < report->conn_count; i++)
		print_conn(&report->conns[i], i + 1 == report->conn_count);
	printf("     ],\n     ");
	print_hex("datagram", buf, len);
	printf("}");
}

static void print_answer(const char *what, const struct report_keys *keys,
			 uint64_t number, bool taken, bool conns, unsigned int rates)
{
	struct report_answer answer = { .counter = number, .taken = taken, .conns = conns,
					.stamp = 86400123 + number, .rate_count = rates,
					.rates = { { 0, 400, 1250000 }, { 15, 60000, 125 } } };
	uint8_t buf[REPORT_ANSWER_MAX], drawn[REPORT_SESSION_BYTES];
	size_t len;

	fill(drawn, sizeof(drawn), 0xc0);
	fill(answer.session, sizeof(answer.session), 0xa0);
	fill(answer.cookie, sizeof(answer.cookie), 0x50);
	len = report_seal_answer(buf, keys, drawn, &answer);
	printf("    {\"what\": \"%s\",\n     ", what);
	print_hex("drawn", drawn, sizeof(drawn));
	printf(",\n     ");
	print_hex("session", answer.session, sizeof(answer.session));
	printf(", \"number\": %" PRIu64 ",\n     ", answer.counter);
	print_hex("cookie", answer.cookie, sizeof(answer.cookie));
	printf(",\n     \"stamp\": %" PRIu64 ", \"taken\": %s, "
	       "\"connections\": %s,\n     ",
	       answer.stamp, taken ? "true" : "false", conns ? "true" : "false");
	printf("\"rates\": [");
	for (unsigned int i = 0; i < rates; i++)
		printf("%s{\"id\": %u, \"age_ms\": %" PRIu32 ", \"byteps\": %" PRIu64 "}",
		       i ? ", " : "", answer.rates[i].id, answer.rates[i].age_ms,
		       answer.rates[i].byteps);
	printf("],\n     ");
	print_hex("datagram", buf, len);
	printf("}");
}

/* A path of which nothing is to be said but that it isn't lost. */
static const struct report first = {
	.sent_ms = 1000, .acknowledge = true, .path_count = 1, .name_count = 1,
	.paths = { { .id = 0, .flags = REPORT_BY_SOURCE } },
	.names = { { .kind = REPORT_NAME_SOURCE, .id = 0 } },
};

static struct report second = {
	.sent_ms = 1100, .echo = 86400124, .path_count = 2, .name_count = 2,
	.paths = {
		{ .id = 1,
		  .flags = REPORT_PIPE | REPORT_DELAY | REPORT_HS_RATE,
		  .rate_byteps = 625000, .hs_rate_byteps = 1250000,
		  .backlog_bytes = 150000, .delay_us = 2000,
		  .pipe_ttl_ms = 1000 },
		{ .id = 2,
		  .flags = REPORT_PIPE | REPORT_LOSS | REPORT_SPREAD |
			   REPORT_COST,
		  .rate_byteps = 12500000000, .backlog_bytes = 2147483648,
		  .loss_ms = 800, .loss_ttl_ms = 5000,
		  .loss_spread_ms = 90, .cost = 3 },
	},
	.names = {
		{ .kind = REPORT_NAME_PREFIX, .id = 1, .prefix_len = 24,
		  .port = 5000, .address = { 192, 0, 2, 0 } },
		{ .kind = REPORT_NAME_PREFIX, .id = 2, .ipv6 = true,
		  .prefix_len = 128,
		  .address = { 0x20, 0x01, 0x0d, 0xb8, [15] = 1 } },
	},
};

static struct report third = {
	.sent_ms = 1200, .echo = 86400124, .acknowledge = true,
	.path_count = 2, .name_count = 3,
	.paths = {
		{ .id = 0, .flags = REPORT_LOSS | REPORT_BY_SOURCE,
		  .loss_ms = -20 },
		{ .id = 15 },
	},
	.names = {
		{ .kind = REPORT_NAME_SUBFLOW, .id = 0, .token = 0x89abcdef,
		  .local_id = 0, .remote_id = 2, .proven = true, .proof = 0x76543210 },
		{ .kind = REPORT_NAME_SUBFLOW, .id = 0, .token = 0x01234567,
		  .local_id = 1, .remote_id = 3, .proven = true, .proof = 0xfedcba98 },
		{ .kind = REPORT_NAME_SUBFLOW, .id = 15, .token = 0x89abcdef,
		  .local_id = 0, .remote_id = 0 },
	},
};

static struct report fourth = {
	.sent_ms = 1300, .echo = 86400124, .acknowledge = true, .conn_count = 3,
	.conns = {
		{ .token = 0x89abcdef, .proof = 0x76543210, .count = 2,
		  .flows = { { .id = 0, .local_id = 0, .remote_id = 0 },
			     { .id = 15, .local_id = 1, .remote_id = 2 } } },
		{ .token = 0x01234567, .proof = 0xfedcba98, .count = 1,
		  .flows = { { .id = 15, .local_id = 0, .remote_id = 3 } } },
		{ .token = 0x13572468, .proof = 0xeca86420 },
	},
};

int main(void)
{
	uint8_t key[REPORT_KEY_BYTES];
	struct report_keys keys;

	fill(key, sizeof(key), 0);
	if (report_keys_derive(&keys, key))
		return 1;
	fill(second.cookie, sizeof(second.cookie), 0x50);
	fill(third.cookie, sizeof(third.cookie), 0x50);
	fill(fourth.cookie, sizeof(fourth.cookie), 0x50);
	printf("{\n  \"version\": %u,\n  ", REPORT_VERSION);
	print_hex("key", key, sizeof(key));
	printf(",\n  ");
	print_hex("id", keys.id, sizeof(keys.id));
	printf(",\n  ");
	print_hex("report_key", keys.report, sizeof(keys.report));
	printf(",\n  ");
	print_hex("answer_key", keys.answer, sizeof(keys.answer));
	printf(",\n  ");
	print_hex("mark_key", keys.mark, sizeof(keys.mark));
	printf(",\n  ");
	print_hex("nonce_key", keys.nonce, sizeof(keys.nonce));
	printf(",\n  \"reports\": [\n");
	print_report("the first of a session", &keys, 1, &first);
	printf(",\n");
	print_report("a pipe, and a loss to come", &keys, 2, &second);
	printf(",\n");
	print_report("the path of the first report is lost", &keys,
		     0x01020304, &third);
	printf(",\n");
	print_report("two connections, and one that is closed", &keys,
		     0x01020305, &fourth);
	printf("\n  ],\n  \"answers\": [\n");
	print_answer("to the first report: a cookie", &keys, 1, false, false, 0);
	printf(",\n");
	print_answer("to the last: it was taken", &keys, 0x01020305,
		     true, true, 0);
	printf(",\n");
	print_answer("to a longer one: what two paths carry", &keys, 0x01020306,
		     true, true, 2);
	printf("\n  ]\n}\n");
	return 0;
}
