// SPDX-License-Identifier: GPL-2.0
/*
 * codec - tests of tools/lib/report.c: what goes in comes out, nothing else
 * comes in
 */
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "report.h"
#include "tap.h"

static struct report_keys keys, other;
static uint8_t session[REPORT_SESSION_BYTES] = "a session......";

static struct report example(void)
{
	struct report report = { .count = 2 };

	report.paths[0] = (struct report_path) {
		.flags = REPORT_PIPE | REPORT_DELAY | REPORT_HS_RATE |
			 REPORT_LOSS,
		.key = REPORT_KEY_ADDRESS4, .id = 255, .prefix_len = 32,
		.port = 65535, .address = { 10, 0, 2, 1 },
		.rate_byteps = 125, .hs_rate_byteps = 12500000000,
		.backlog_bytes = 2147483648, .delay_us = 60000000,
		.loss_ms = 86400000, .pipe_ttl_ms = 86400000,
		.loss_ttl_ms = 86400000,
	};
	report.paths[1] = (struct report_path) {
		.flags = REPORT_NO_LOSS, .key = REPORT_KEY_LEARNT, .id = 7,
	};
	memcpy(report.cookie, "a cookie.......", REPORT_COOKIE_BYTES);
	return report;
}

/* Sealed and opened again, as a server does. */
static enum report_error through(const struct report *in, struct report *out)
{
	uint8_t buf[REPORT_BYTES_MAX];
	struct report_header header;
	enum report_error error;
	size_t len;

	memset(out, 0, sizeof(*out));
	len = report_seal(buf, &keys, session, 42, in);
	error = report_peek(buf, len, &header);
	return error ?: report_open(buf, len, &keys, out);
}

static void what_goes_in_comes_out(void)
{
	struct report in = example(), out;

	check(through(&in, &out) == REPORT_OK);
	check(!memcmp(&in, &out, sizeof(in)));
	in.count = REPORT_PATHS_MAX;
	for (unsigned int i = 2; i < REPORT_PATHS_MAX; i++)
		in.paths[i] = in.paths[0];
	check(through(&in, &out) == REPORT_OK);
	check(!memcmp(&in, &out, sizeof(in)));
}

static void header_is_what_was_sealed(void)
{
	struct report in = example();
	uint8_t buf[REPORT_BYTES_MAX];
	struct report_header header;
	size_t len = report_seal(buf, &keys, session, ~0ULL, &in);

	check(len == REPORT_BYTES(2));
	check(report_peek(buf, len, &header) == REPORT_OK);
	check(header.type == REPORT_TYPE_REPORT);
	check(header.counter == ~0ULL);
	check(!memcmp(header.id, keys.id, sizeof(keys.id)));
	check(!memcmp(header.session, session, sizeof(session)));
}

static void challenge_goes_through(void)
{
	struct report_challenge in = { .counter = 1ULL << 63 }, out;
	uint8_t buf[REPORT_CHALLENGE_BYTES];
	struct report_header header;
	size_t len;

	memcpy(in.session, session, sizeof(session));
	memset(in.cookie, 0xee, sizeof(in.cookie));
	len = report_seal_challenge(buf, &keys, session, 7, &in);
	check(len == REPORT_CHALLENGE_BYTES);
	check(report_peek(buf, len, &header) == REPORT_OK);
	check(header.type == REPORT_TYPE_CHALLENGE);
	check(report_open_challenge(buf, len, &keys, &out) == REPORT_OK);
	check(!memcmp(&in, &out, sizeof(in)));
	check(report_open_challenge(buf, len, &other, &out) == REPORT_AUTH);
}

static enum report_error take(const uint8_t *buf, size_t len)
{
	struct report_header header;
	struct report report;
	enum report_error error = report_peek(buf, len, &header);

	if (!error && header.type == REPORT_TYPE_CHALLENGE)
		return REPORT_TYPE_UNKNOWN;
	return error ?: report_open(buf, len, &keys, &report);
}

static void every_bit_counts(void)
{
	struct report in = example();
	uint8_t buf[REPORT_BYTES_MAX];
	size_t len = report_seal(buf, &keys, session, 42, &in);
	unsigned int taken = 0;

	for (size_t bit = 0; bit < len * 8; bit++) {
		buf[bit / 8] ^= 1 << bit % 8;
		taken += take(buf, len) == REPORT_OK;
		buf[bit / 8] ^= 1 << bit % 8;
	}
	/* the key's name is of the pair that opens it, and of nobody else */
	check(taken == 0);
	check(take(buf, len) == REPORT_OK);
}

/* In memory of exactly that size, so that a sanitizer sees a step too far. */
static void every_length_but_one_is_refused(void)
{
	struct report in = example();
	uint8_t buf[REPORT_BYTES_MAX + 1] = { };
	size_t len = report_seal(buf, &keys, session, 42, &in);

	for (size_t cut = 0; cut <= sizeof(buf); cut++) {
		uint8_t *exact = malloc(cut + !cut);

		memcpy(exact, buf, cut);
		if (cut != len)
			check(take(exact, cut) == REPORT_SHORT);
		free(exact);
	}
}

static void first_bytes_tell_why(void)
{
	struct report in = example();
	uint8_t buf[REPORT_BYTES_MAX], *changed[] = { buf, buf + 4, buf + 5 };
	static const enum report_error errors[] = {
		REPORT_MAGIC, REPORT_VERSION_UNKNOWN, REPORT_TYPE_UNKNOWN,
	};
	size_t len = report_seal(buf, &keys, session, 42, &in);

	for (unsigned int i = 0; i < 3; i++) {
		*changed[i] += 8;
		check(take(buf, len) == errors[i]);
		*changed[i] -= 8;
	}
	check(!strcmp(report_error_name(REPORT_VERSION_UNKNOWN), "version"));
}

static void other_key_opens_nothing(void)
{
	struct report in = example(), out;
	uint8_t buf[REPORT_BYTES_MAX];
	size_t len = report_seal(buf, &other, session, 42, &in);

	check(report_open(buf, len, &keys, &out) == REPORT_AUTH);
	check(report_open(buf, len, &other, &out) == REPORT_OK);
	check(memcmp(keys.id, other.id, sizeof(keys.id)));
	check(memcmp(keys.report, keys.challenge, sizeof(keys.report)));
}

/* A report with one value wrong, authentic all the same. */
#define refuses(field, value) do {					\
	struct report in = example(), out;				\
	in.paths[0].field = (value);					\
	check_at(through(&in, &out) == REPORT_MALFORMED,		\
		 #field " = " #value, __LINE__);			\
} while (0)

static void values_out_of_range_are_refused(void)
{
	refuses(flags, REPORT_PIPE | REPORT_LOSS | 0x20);
	refuses(flags, REPORT_PIPE | REPORT_LOSS | REPORT_NO_LOSS);
	refuses(flags, REPORT_PIPE | REPORT_LOSS);	/* has a delay */
	refuses(flags, REPORT_LOSS);			/* has a rate */
	refuses(flags, REPORT_DELAY | REPORT_LOSS);
	refuses(flags, REPORT_PIPE | REPORT_DELAY | REPORT_HS_RATE);
	refuses(key, 2);
	refuses(key, 5);
	refuses(key, REPORT_KEY_SOURCE);		/* has an address */
	refuses(prefix_len, 33);
	refuses(address[4], 1);
	refuses(rate_byteps, 124);
	refuses(rate_byteps, 12500000001);
	refuses(hs_rate_byteps, 0);
	refuses(hs_rate_byteps, 12500000001);
	refuses(backlog_bytes, 2147483649);
	refuses(delay_us, 60000001);
	refuses(loss_ms, 86400001);
	refuses(pipe_ttl_ms, 86400001);
	refuses(loss_ttl_ms, 86400001);
}

/* Reserved fields and the count can't be set wrong but by hand. */
static void seal_raw(uint8_t *buf, size_t len, const uint8_t *clear)
{
	uint8_t *at = buf + REPORT_HEADER_BYTES;
	size_t clear_len = len - REPORT_HEADER_BYTES - REPORT_TAG_BYTES;

	crypto_aead_xchacha20poly1305_ietf_encrypt(at, NULL, clear, clear_len,
						   buf, REPORT_HEADER_BYTES,
						   NULL, buf + 16,
						   keys.report);
}

static void reserved_fields_are_zero(void)
{
	static const unsigned int reserved[] = {
		16, 17, 23,		/* the count, and what follows it */
		24 + 6, 24 + 7, 24 + 60, 24 + 63,
	};
	uint8_t clear[REPORT_FIXED_BYTES + REPORT_PATH_BYTES] = { };
	struct report in = { .count = 1 };
	uint8_t buf[REPORT_BYTES_MAX];
	size_t len = report_seal(buf, &keys, session, 42, &in);

	clear[16] = 1;
	seal_raw(buf, len, clear);
	check(take(buf, len) == REPORT_OK);
	for (unsigned int i = 0; i < sizeof(reserved) / sizeof(int); i++) {
		clear[reserved[i]] ^= 2;
		seal_raw(buf, len, clear);
		check(take(buf, len) == REPORT_MALFORMED);
		clear[reserved[i]] ^= 2;
	}
}

static void window_takes_each_once(void)
{
	struct report_window window = { .top = 1000, .seen = ~0ULL };
	bool seen[200] = { };

	check(!report_window_fresh(&window, 1000));
	check(!report_window_fresh(&window, 937));
	check(!report_window_fresh(&window, 0));
	for (unsigned int i = 0; i < 2000; i++) {
		unsigned int n = randombytes_uniform(200);
		bool fresh = report_window_fresh(&window, 1001 + n);

		if (seen[n])
			check(!fresh);
		if (!fresh)
			continue;
		report_window_take(&window, 1001 + n);
		seen[n] = true;
	}
}

static void window_is_64_wide(void)
{
	struct report_window window = { .top = 1, .seen = ~0ULL };

	report_window_take(&window, 100);
	check(report_window_fresh(&window, 37));
	check(!report_window_fresh(&window, 36));
	report_window_take(&window, 37);
	check(!report_window_fresh(&window, 37));
	report_window_take(&window, ~0ULL);
	check(!report_window_fresh(&window, 100));
	check(report_window_fresh(&window, ~0ULL - 1));
	check(!report_window_fresh(&window, ~0ULL));
}

int main(void)
{
	uint8_t key[REPORT_KEY_BYTES] = { 1 };

	report_keys_derive(&keys, key);
	key[0] = 2;
	report_keys_derive(&other, key);
	run(what_goes_in_comes_out);
	run(header_is_what_was_sealed);
	run(challenge_goes_through);
	run(every_bit_counts);
	run(every_length_but_one_is_refused);
	run(first_bytes_tell_why);
	run(other_key_opens_nothing);
	run(values_out_of_range_are_refused);
	run(reserved_fields_are_zero);
	run(window_takes_each_once);
	run(window_is_64_wide);
	return tap_end();
}
