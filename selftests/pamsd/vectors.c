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
	printf("      {\"flags\": %u, \"key\": %u, \"id\": %u, ", path->flags,
	       path->key, path->id);
	printf("\"prefix_len\": %u, \"port\": %u,\n       ", path->prefix_len,
	       path->port);
	print_hex("address", path->address, sizeof(path->address));
	printf(",\n       \"rate_byteps\": %" PRIu64, path->rate_byteps);
	printf(", \"hs_rate_byteps\": %" PRIu64, path->hs_rate_byteps);
	printf(", \"backlog_bytes\": %" PRIu32, path->backlog_bytes);
	printf(", \"delay_us\": %" PRIu32, path->delay_us);
	printf(",\n       \"loss_ms\": %" PRIu32, path->loss_ms);
	printf(", \"pipe_ttl_ms\": %" PRIu32, path->pipe_ttl_ms);
	printf(", \"loss_ttl_ms\": %" PRIu32, path->loss_ttl_ms);
	printf("}%s\n", last ? "" : ",");
}

static void print_report(const char *what, const struct report_keys *keys,
			 uint64_t counter, const struct report *report)
{
	uint8_t buf[REPORT_BYTES_MAX], session[REPORT_SESSION_BYTES];
	size_t len;

	fill(session, sizeof(session), 0xa0);
	len = report_seal(buf, keys, session, counter, report);
	printf("    {\"what\": \"%s\",\n     ", what);
	print_hex("session", session, sizeof(session));
	printf(", \"counter\": %" PRIu64 ",\n     ", counter);
	print_hex("cookie", report->cookie, sizeof(report->cookie));
	printf(",\n     \"paths\": [\n");
	for (unsigned int i = 0; i < report->count; i++)
		print_path(&report->paths[i], i + 1 == report->count);
	printf("     ],\n     ");
	print_hex("datagram", buf, len);
	printf("}");
}

static void print_challenge(const struct report_keys *keys)
{
	uint8_t buf[REPORT_CHALLENGE_BYTES], nonce[REPORT_SESSION_BYTES];
	struct report_challenge challenge = { .counter = 1 };
	uint64_t nonce_counter = 0x1011121314151617;
	size_t len;

	fill(nonce, sizeof(nonce), 0xc0);
	fill(challenge.session, sizeof(challenge.session), 0xa0);
	fill(challenge.cookie, sizeof(challenge.cookie), 0x50);
	len = report_seal_challenge(buf, keys, nonce, nonce_counter,
				    &challenge);
	printf("    {\"what\": \"the answer to the first report\",\n     ");
	print_hex("nonce_session", nonce, sizeof(nonce));
	printf(", \"nonce_counter\": %" PRIu64 ",\n     ", nonce_counter);
	print_hex("session", challenge.session, sizeof(challenge.session));
	printf(", \"counter\": %" PRIu64 ",\n     ", challenge.counter);
	print_hex("cookie", challenge.cookie, sizeof(challenge.cookie));
	printf(",\n     ");
	print_hex("datagram", buf, len);
	printf("}\n");
}

int main(void)
{
	const struct report_path source = {
		.flags = REPORT_NO_LOSS, .key = REPORT_KEY_SOURCE,
	};
	const struct report_path pipe4 = {
		.flags = REPORT_PIPE | REPORT_DELAY | REPORT_HS_RATE,
		.key = REPORT_KEY_ADDRESS4, .id = 1, .prefix_len = 24,
		.port = 5000, .address = { 192, 0, 2, 0 },
		.rate_byteps = 625000, .hs_rate_byteps = 1250000,
		.backlog_bytes = 150000, .delay_us = 2000,
		.pipe_ttl_ms = 1000,
	};
	const struct report_path loss6 = {
		.flags = REPORT_PIPE | REPORT_LOSS,
		.key = REPORT_KEY_ADDRESS6, .id = 2, .prefix_len = 128,
		.address = { 0x20, 0x01, 0x0d, 0xb8, [15] = 1 },
		.rate_byteps = 12500000000, .backlog_bytes = 2147483648,
		.loss_ms = 800, .loss_ttl_ms = 5000,
	};
	const struct report_path learnt = {
		.flags = REPORT_LOSS, .key = REPORT_KEY_LEARNT,
	};
	struct report first = { .count = 1, .paths = { source } };
	struct report second = { .count = 2, .paths = { pipe4, loss6 } };
	struct report third = { .count = 1, .paths = { learnt } };
	uint8_t key[REPORT_KEY_BYTES];
	struct report_keys keys;

	fill(key, sizeof(key), 0);
	if (report_keys_derive(&keys, key))
		return 1;
	fill(second.cookie, sizeof(second.cookie), 0x50);
	fill(third.cookie, sizeof(third.cookie), 0x50);
	printf("{\n  \"version\": %u,\n  ", REPORT_VERSION);
	print_hex("key", key, sizeof(key));
	printf(",\n  ");
	print_hex("id", keys.id, sizeof(keys.id));
	printf(",\n  ");
	print_hex("report_key", keys.report, sizeof(keys.report));
	printf(",\n  ");
	print_hex("challenge_key", keys.challenge, sizeof(keys.challenge));
	printf(",\n  \"reports\": [\n");
	print_report("the first of a session", &keys, 1, &first);
	printf(",\n");
	print_report("a pipe, and a loss to come", &keys, 2, &second);
	printf(",\n");
	print_report("the path of the first report is lost", &keys,
		     0x0102030405060708, &third);
	printf("\n  ],\n  \"challenges\": [\n");
	print_challenge(&keys);
	printf("  ]\n}\n");
	return 0;
}
