// SPDX-License-Identifier: GPL-2.0
/*
 * codec - tests of tools/lib/report.c: what goes in comes out, nothing else
 * comes in
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <sodium.h>

#include "report.h"
#include "tap.h"

static struct report_keys keys, other;
static uint8_t session[REPORT_SESSION_BYTES] = "a session......";

static struct report example(void)
{
	struct report report = {
		.sent_ms = 1ULL << 40, .echo = ~0ULL, .acknowledge = true,
		.path_count = 3, .name_count = 6, .conn_count = 2,
	};

	report.paths[0] = (struct report_path) {
		.id = 15,
		.flags = REPORT_PIPE | REPORT_DELAY | REPORT_HS_RATE |
			 REPORT_LOSS | REPORT_BY_SOURCE | REPORT_SPREAD |
			 REPORT_COST,
		.rate_byteps = 125, .hs_rate_byteps = 12500000000,
		.backlog_bytes = 2147483648, .delay_us = 60000000,
		.loss_ms = 86400000, .pipe_ttl_ms = 86400000,
		.loss_ttl_ms = 86400000, .loss_spread_ms = 86400000,
		.cost = 15,
	};
	report.paths[1] = (struct report_path) { .id = 7 };
	report.paths[2] = (struct report_path) {
		.id = 0, .flags = REPORT_LOSS, .loss_ms = -86400000,
	};
	report.names[0] = (struct report_name) {
		.kind = REPORT_NAME_SOURCE, .id = 15, .port = 65535,
	};
	report.names[1] = (struct report_name) {
		.kind = REPORT_NAME_PREFIX, .id = 7, .prefix_len = 32,
		.address = { 10, 0, 2, 1 },
	};
	report.names[2] = (struct report_name) {
		.kind = REPORT_NAME_PREFIX, .id = 7, .ipv6 = true,
		.prefix_len = 128, .port = 1,
		.address = { 0x20, 1, [15] = 1 },
	};
	report.names[3] = (struct report_name) {
		.kind = REPORT_NAME_SUBFLOW, .id = 7, .token = 0xffffffff,
		.local_id = 255, .remote_id = 0, .proven = true, .proof = 0xfffffffe,
	};
	report.names[4] = (struct report_name) {
		.kind = REPORT_NAME_SUBFLOW, .id = 7, .token = 1,
		.local_id = 0, .remote_id = 255, .proven = true,
	};
	report.names[5] = (struct report_name) {
		.kind = REPORT_NAME_SUBFLOW, .id = 0, .token = 1,
	};
	report.conns[0] = (struct report_conn) {
		.token = 0xffffffff, .proof = 0xfffffffe, .count = REPORT_FLOWS_MAX,
	};
	for (unsigned int i = 0; i < REPORT_FLOWS_MAX; i++)
		report.conns[0].flows[i] = (struct report_flow) {
			.id = 15 - i, .local_id = 255 - i, .remote_id = i,
		};
	report.conns[1] = (struct report_conn) { .proof = 1 };
	memcpy(report.cookie, "a cookie.......", REPORT_COOKIE_BYTES);
	return report;
}

static bool same(const struct report *a, const struct report *b)
{
	return !memcmp(a->cookie, b->cookie, sizeof(a->cookie)) &&
	       a->sent_ms == b->sent_ms && a->echo == b->echo &&
	       a->acknowledge == b->acknowledge &&
	       a->path_count == b->path_count &&
	       a->name_count == b->name_count &&
	       !memcmp(a->paths, b->paths,
		       a->path_count * sizeof(*a->paths)) &&
	       !memcmp(a->names, b->names, a->name_count * sizeof(*a->names)) &&
	       a->conn_count == b->conn_count &&
	       !memcmp(a->conns, b->conns, a->conn_count * sizeof(*a->conns));
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
	check(len == report_bytes(in));
	error = report_peek(buf, len, &header);
	return error ?: report_open(buf, len, &keys, out);
}

static void what_goes_in_comes_out(void)
{
	struct report in = example(), out;

	check(through(&in, &out) == REPORT_OK);
	check(same(&in, &out));
	check(!out.skipped);
}

/* 130 subflows go into four entries; beyond what fits nothing is made. */
static void as_much_as_fits(void)
{
	uint8_t buf[REPORT_BYTES_MAX];
	struct report in = { }, out;

	for (unsigned int i = 0; i < REPORT_PATHS_MAX; i++) {
		in.paths[i] = example().paths[0];
		in.paths[i].flags &= ~REPORT_HS_RATE;
		in.paths[i].hs_rate_byteps = 0;
		in.paths[i].id = i;
	}
	in.path_count = REPORT_PATHS_MAX;
	check(through(&in, &out) == REPORT_OK && same(&in, &out));
	in.path_count = 1;
	in.name_count = 130;
	for (unsigned int i = 0; i < in.name_count; i++)
		in.names[i] = (struct report_name) {
			.kind = REPORT_NAME_SUBFLOW, .token = i,
		};
	check(through(&in, &out) == REPORT_OK && same(&in, &out));
	in.path_count = REPORT_PATHS_MAX;
	check(report_bytes(&in) > REPORT_BYTES_MAX);
	check(!report_seal(buf, &keys, session, 42, &in));
}

/* 120 connections that are closed, or 72 of two subflows: 28 or 17 to an entry. */
static void as_many_connections_as_fit(void)
{
	static const struct { unsigned int flows, fit; } cases[] = { { 0, 120 }, { 2, 72 } };
	uint8_t buf[REPORT_BYTES_MAX];
	struct report in = { }, out;

	for (unsigned int i = 0; i < 2; i++) {
		in.conn_count = cases[i].fit;
		for (unsigned int j = 0; j <= in.conn_count; j++)
			in.conns[j] = (struct report_conn) { .token = j, .count = cases[i].flows };
		check(through(&in, &out) == REPORT_OK && same(&in, &out));
		in.conn_count++;
		check(report_bytes(&in) > REPORT_BYTES_MAX);
		check(!report_seal(buf, &keys, session, 42, &in));
	}
}

static void header_is_what_was_sealed(void)
{
	struct report in = example();
	uint8_t buf[REPORT_BYTES_MAX];
	struct report_header header;
	size_t len = report_seal(buf, &keys, session, UINT32_MAX, &in);

	check(report_peek(buf, len, &header) == REPORT_OK);
	check(header.type == REPORT_TYPE_REPORT);
	check(header.counter == UINT32_MAX);
	check(!report_seal(buf, &keys, session, 0, &in));
	check(!report_seal(buf, &keys, session, 1ULL << 32, &in));
	check(!memcmp(header.id, keys.id, sizeof(keys.id)));
	check(!memcmp(header.session, session, sizeof(session)));
}

/* Two copies of a restored machine draw the same, and go on with the same number. */
static void copies_use_no_nonce_twice(void)
{
	uint8_t one[REPORT_BYTES_MAX], two[REPORT_BYTES_MAX];
	struct report_answer answer = { .counter = 1 };
	struct report_header header;
	struct report in = example();
	size_t len = report_seal(one, &keys, session, 42, &in);

	check(report_seal(two, &keys, session, 42, &in) == len && !memcmp(one, two, len));
	in.sent_ms++;
	report_seal(two, &keys, session, 42, &in);
	check(memcmp(one + 16, two + 16, REPORT_NONCE_BYTES));
	check(report_peek(two, len, &header) == REPORT_OK && header.counter == 42);
	report_seal_answer(one, &keys, session, &answer);
	answer.stamp++;
	report_seal_answer(two, &keys, session, &answer);
	check(memcmp(one + 16, two + 16, REPORT_NONCE_BYTES));
}

/* The first test vector of 0.1.0, whose counters are numbers alone. */
static void older_reports_are_taken(void)
{
	static const uint8_t buf[] =
		"\x50\x41\x4d\x53\x02\x01\x00\x78\x51\x51\x49\x62\xd8\xc9\x05\x56\xa0\xa1\xa2\xa3"
		"\xa4\xa5\xa6\xa7\xa8\xa9\xaa\xab\xac\xad\xae\xaf\x00\x00\x00\x00\x00\x00\x00\x01"
		"\xa8\x3d\xa0\x52\x12\x74\xb0\x14\xfd\x39\xf9\x15\xaa\x39\x71\x52\x18\x6a\xe0\x52"
		"\x80\x2e\xee\xbd\x98\x93\x47\x8d\x5d\xaa\x4b\xe4\xc0\x8b\xe9\x2f\xea\xa6\x6d\x15"
		"\x72\x4c\xa2\xa7\xd7\xba\x28\x9a\x06\x5c\x0e\x44\x59\xbf\x0c\x54\x55\xac\x4b\xd7"
		"\x6d\x08\x71\x7e\xc3\x2c\xbb\x25\x7e\x9b\x6d\x5e\xc7\xbb\x7e\x46\xe0\xba\x62\x66";
	const size_t len = sizeof(buf) - 1;
	uint8_t key[REPORT_KEY_BYTES];
	struct report_header header;
	struct report_keys counted;
	struct report report;

	for (unsigned int i = 0; i < sizeof(key); i++)
		key[i] = i;
	report_keys_derive(&counted, key);
	check(report_peek(buf, len, &header) == REPORT_OK && header.counter == 1);
	check(report_open(buf, len, &counted, &report) == REPORT_OK && report.sent_ms == 1000);
}

static void answer_goes_through(void)
{
	struct report_answer in = { .counter = 1ULL << 31, .stamp = 7,
				    .taken = true, .conns = true }, out = { };
	uint8_t buf[REPORT_ANSWER_MAX];
	struct report_header header;
	size_t len;

	memcpy(in.session, session, sizeof(session));
	memset(in.cookie, 0xee, sizeof(in.cookie));
	len = report_seal_answer(buf, &keys, session, &in);
	check(len == REPORT_ANSWER_BYTES);
	check(report_peek(buf, len, &header) == REPORT_OK);
	check(header.type == REPORT_TYPE_ANSWER);
	check(report_open_answer(buf, len, &keys, &out) == REPORT_OK);
	check(!memcmp(in.session, out.session, sizeof(in.session)));
	check(!memcmp(in.cookie, out.cookie, sizeof(in.cookie)));
	check(in.counter == out.counter && in.stamp == out.stamp);
	check(out.taken && out.conns);
	for (unsigned int i = 0; i < 3; i++) {
		in.taken = i & 1;
		in.conns = i & 2;
		report_seal_answer(buf, &keys, session, &in);
		check(report_open_answer(buf, len, &keys, &out) == REPORT_OK);
		check(out.taken == in.taken && out.conns == in.conns);
	}
	check(report_open_answer(buf, len, &other, &out) == REPORT_AUTH);
}

static bool same_rates(const struct report_answer *a, const struct report_answer *b)
{
	bool same = a->rate_count == b->rate_count;

	for (unsigned int i = 0; same && i < a->rate_count; i++)
		same = a->rates[i].id == b->rates[i].id &&
		       a->rates[i].age_ms == b->rates[i].age_ms &&
		       a->rates[i].byteps == b->rates[i].byteps;
	return same;
}

/* As many as there can be, in an answer that is no longer than a report with room for them. */
static void rates_go_through(void)
{
	struct report_answer in = { .counter = 5, .taken = true }, out;
	uint8_t buf[REPORT_BYTES_MAX];
	size_t len;

	for (unsigned int n = 1; n <= REPORT_PATHS_MAX; n++) {
		struct report report = { .path_count = 1, .rates_max = n }, opened;

		in.rates[n - 1] = (struct report_rate){ n - 1, n % 2 ? 0 : 86400000,
							n % 3 ? 125 : 12500000000 };
		in.rate_count = n;
		len = report_seal(buf, &keys, session, 1, &report);
		check(len == report_bytes(&report));
		check(report_open(buf, len, &keys, &opened) == REPORT_OK);
		check(opened.path_count == 1 && opened.rates_max == n);
		check(report_seal_answer(buf, &keys, session, &in) == len);
		check(report_open_answer(buf, len, &keys, &out) == REPORT_OK);
		check(same_rates(&in, &out) && out.taken);
	}
}

/* An answer of these entries, behind what all answers have. */
static enum report_error answer_of(struct report_answer *answer, const void *bytes, size_t count)
{
	size_t clear_len = 56 + count, len = REPORT_HEADER_BYTES + clear_len + REPORT_TAG_BYTES;
	uint8_t clear[REPORT_BYTES_MAX] = { }, buf[REPORT_BYTES_MAX] = "PAMS\2\2";

	clear[48] = 1;
	memcpy(clear + 56, bytes, count);
	buf[6] = len >> 8;
	buf[7] = len;
	memcpy(buf + 8, keys.id, sizeof(keys.id));
	crypto_shorthash(buf + REPORT_HEADER_BYTES - REPORT_MARK_BYTES, buf,
			 REPORT_HEADER_BYTES - REPORT_MARK_BYTES, keys.mark);
	crypto_aead_xchacha20poly1305_ietf_encrypt(buf + REPORT_HEADER_BYTES, NULL, clear,
						   clear_len, buf, REPORT_HEADER_BYTES, NULL,
						   buf + 16, keys.answer);
	return report_open_answer(buf, len, &keys, answer);
}

#define answers(answer, bytes)							\
	(answer_of(answer, bytes, sizeof(bytes) - 1) == REPORT_OK)

static void rates_are_checked(void)
{
	static uint8_t many[2 + 13 * 17] = { 7, 13 * 17 };
	struct report_answer out;

	for (unsigned int i = 0; i < 17; i++)
		many[2 + 13 * i + 12] = 125;
	check(answer_of(&out, many, sizeof(many)) == REPORT_MALFORMED);
	many[1] -= 13;
	check(answer_of(&out, many, sizeof(many) - 13) == REPORT_OK && out.rate_count == 16);
	/* what a later version adds is passed over */
	check(answers(&out, "\143\2xy\7\15\3\0\0\0\11\0\0\0\0\0\0\1\0\0\0"));
	check(out.rate_count == 1 && out.taken);
	check(out.rates[0].id == 3 && out.rates[0].age_ms == 9 && out.rates[0].byteps == 256);
	check(!answers(&out, "\7"));
	check(!answers(&out, "\7\0"));
	check(!answers(&out, "\7\16\3\0\0\0\11\0\0\0\0\0\0\1\0+"));
	check(!answers(&out, "\7\15\3\0\0\0\11\0\0\0\0\0\0\1"));
	/* no such path, too slow, too fast, too old */
	check(!answers(&out, "\7\15\20\0\0\0\11\0\0\0\0\0\0\1\0"));
	check(!answers(&out, "\7\15\3\0\0\0\11\0\0\0\0\0\0\0\174"));
	check(!answers(&out, "\7\15\3\0\0\0\11\0\0\0\3\0\0\0\0"));
	check(!answers(&out, "\7\15\3\6\0\0\0\0\0\0\0\0\0\1\0"));
}

/* The smallest report, of one path without anything, is an answer's size. */
static void no_answer_is_larger(void)
{
	uint8_t buf[REPORT_BYTES_MAX];
	struct report in = { .path_count = 1 }, none = { };

	check(report_seal(buf, &keys, session, 1, &in) == REPORT_ANSWER_BYTES);
	check(report_seal(buf, &keys, session, 1, &none) ==
	      REPORT_ANSWER_BYTES);
	for (unsigned int i = 1; i < 5; i++) {
		struct report out;

		in.name_count = i;
		in.names[i - 1] = (struct report_name) {
			.kind = REPORT_NAME_SUBFLOW, .token = i,
		};
		check(through(&in, &out) == REPORT_OK && same(&in, &out));
	}
}

static enum report_error take(const uint8_t *buf, size_t len)
{
	struct report_header header;
	struct report report;
	enum report_error error = report_peek(buf, len, &header);

	if (!error && header.type == REPORT_TYPE_ANSWER)
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

/* Whose datagram of another version it is can be said. */
static void the_key_has_one_name_in_every_version(void)
{
	static const uint8_t first[REPORT_ID_BYTES] = {
		0x51, 0x51, 0x49, 0x62, 0xd8, 0xc9, 0x05, 0x56,
	};
	uint8_t key[REPORT_KEY_BYTES], buf[REPORT_HEADER_BYTES + 16];
	struct report_header header;
	struct report_keys same_key;

	for (unsigned int i = 0; i < sizeof(key); i++)
		key[i] = i;
	report_keys_derive(&same_key, key);
	check(!memcmp(same_key.id, first, sizeof(first)));
	memset(buf, 0, sizeof(buf));
	memcpy(buf, "PAMS\1\1", 6);
	memcpy(buf + 8, first, sizeof(first));
	check(report_peek(buf, sizeof(buf), &header) ==
	      REPORT_VERSION_UNKNOWN);
	check(!memcmp(header.id, first, sizeof(first)));
}

static void other_key_opens_nothing(void)
{
	struct report in = example(), out;
	uint8_t buf[REPORT_BYTES_MAX];
	size_t len = report_seal(buf, &other, session, 42, &in);

	check(report_open(buf, len, &keys, &out) == REPORT_AUTH);
	check(report_open(buf, len, &other, &out) == REPORT_OK);
	check(memcmp(keys.id, other.id, sizeof(keys.id)));
	check(memcmp(keys.report, keys.answer, sizeof(keys.report)));
}

/* The least time that opening it took, of twenty times a thousand. */
static double least_ns(const uint8_t *buf, size_t len)
{
	struct timespec begin, end;
	struct report out;
	double ns, least = 1e9;

	for (int i = 0; i < 20; i++) {
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
		for (int j = 0; j < 1000; j++)
			check(report_open(buf, len, &keys, &out) == REPORT_AUTH);
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
		ns = 1e9 * (end.tv_sec - begin.tv_sec) + end.tv_nsec - begin.tv_nsec;
		least = ns < least ? ns : least;
	}
	return least / 1000;
}

/* Where no BPF program may filter, a flood is looked at: a mark each, not a tag. */
static void wrong_mark_costs_no_tag(void)
{
	struct report in = example();
	uint8_t mark[REPORT_BYTES_MAX], tag[REPORT_BYTES_MAX];
	size_t len = report_seal(mark, &keys, session, 42, &in);
	double mark_ns, tag_ns;

	memcpy(tag, mark, len);
	mark[REPORT_HEADER_BYTES - 1] ^= 1;
	tag[len - 1] ^= 1;
	mark_ns = least_ns(mark, len);
	tag_ns = least_ns(tag, len);
	printf("# %.0f ns with a wrong mark, %.0f with a wrong tag\n", mark_ns, tag_ns);
	check(4 * mark_ns < tag_ns);
}

/* A report with one value wrong, authentic all the same. */
#define refuses(field, value) do {					\
	struct report in = example(), out;				\
	in.field = (value);						\
	check_at(through(&in, &out) == REPORT_MALFORMED,		\
		 #field " = " #value, __LINE__);			\
} while (0)

static void values_out_of_range_are_refused(void)
{
	refuses(paths[0].id, 16);
	refuses(paths[0].id, 7);		/* twice */
	refuses(paths[0].flags, REPORT_DELAY | REPORT_LOSS);
	refuses(paths[0].flags, REPORT_HS_RATE);
	refuses(paths[0].rate_byteps, 124);
	refuses(paths[0].rate_byteps, 12500000001);
	refuses(paths[0].hs_rate_byteps, 0);
	refuses(paths[0].hs_rate_byteps, 12500000001);
	refuses(paths[0].backlog_bytes, 2147483649);
	refuses(paths[0].delay_us, 60000001);
	refuses(paths[0].loss_ms, 86400001);
	refuses(paths[0].loss_ms, -86400001);
	refuses(paths[0].pipe_ttl_ms, 86400001);
	refuses(paths[0].loss_ttl_ms, 86400001);
	refuses(paths[0].loss_spread_ms, 86400001);
	refuses(paths[0].cost, 16);
	refuses(paths[0].flags, REPORT_SPREAD);
	refuses(names[0].id, 16);
	refuses(names[1].prefix_len, 33);
	refuses(names[2].prefix_len, 129);
	refuses(names[3].id, 255);
	refuses(conns[0].flows[15].id, 16);
}

/* Entries that can't be made by the codec. */
static enum report_error entries(struct report *report, const void *bytes,
				 size_t count)
{
	uint8_t clear[REPORT_BYTES_MAX] = { }, buf[REPORT_BYTES_MAX] = { };
	size_t clear_len = REPORT_FIXED_BYTES + count, len;
	struct report_header header;

	memcpy(clear + REPORT_FIXED_BYTES, bytes, count);
	if (clear_len < REPORT_BYTES_MIN - REPORT_HEADER_BYTES - 16 - 2) {
		size_t pad = REPORT_BYTES_MIN - REPORT_HEADER_BYTES - 16 -
			     clear_len;

		clear[clear_len + 1] = pad - 2;
		clear_len += pad;
	}
	len = REPORT_HEADER_BYTES + clear_len + REPORT_TAG_BYTES;
	memcpy(buf, "PAMS\2\1", 6);
	buf[6] = len >> 8;
	buf[7] = len;
	memcpy(buf + 8, keys.id, sizeof(keys.id));
	crypto_shorthash(buf + REPORT_HEADER_BYTES - REPORT_MARK_BYTES, buf,
			 REPORT_HEADER_BYTES - REPORT_MARK_BYTES, keys.mark);
	crypto_aead_xchacha20poly1305_ietf_encrypt(buf + REPORT_HEADER_BYTES,
						   NULL, clear, clear_len, buf,
						   REPORT_HEADER_BYTES, NULL,
						   buf + 16, keys.report);
	check(report_peek(buf, len, &header) == REPORT_OK);
	return report_open(buf, len, &keys, report);
}

#define takes(report, bytes)						\
	(entries(report, bytes, sizeof(bytes) - 1) == REPORT_OK)

/* What a later version adds is passed over. */
static void what_is_not_known_is_skipped(void)
{
	struct report out;

	check(takes(&out, "\1\2\3\0\143\3xyz\1\2\4\0"));
	check(out.path_count == 2 && out.skipped == 1);
	check(out.paths[1].id == 4);
	/* more bytes than are known, a flag that isn't */
	check(takes(&out, "\x01\x0e\x05\x88\0\0\x03\x20\0\0\0\0more"));
	check(out.path_count == 1 && out.paths[0].loss_ms == 800);
	check(out.paths[0].flags == REPORT_LOSS);
	check(takes(&out, "\x02\x06\x05\x00\x13\x88++"));
	check(out.name_count == 1 && out.names[0].port == 5000);
	check(takes(&out, "\x03\x09\x05\x18\x00\x00\x0a\x09\x08\x00+"));
	check(out.name_count == 1 && !out.names[0].ipv6);
}

/*
 * Of a state's flags every subset, with as many fields as it says: a flag
 * without the one that it needs is refused.
 */
static void flags_that_need_others(void)
{
	static const struct {
		unsigned int flag, needs;
		const char *field;
		size_t len;
	} fields[] = {
		{ REPORT_PIPE, 0, "\0\0\0\0\0\1\0\0\0\0\0\0\0\0\0\0", 16 },
		{ REPORT_DELAY, REPORT_PIPE, "\0\0\0\1", 4 },
		{ REPORT_HS_RATE, REPORT_PIPE, "\0\0\0\0\0\1\0\0", 8 },
		{ REPORT_LOSS, 0, "\0\0\3\x20\0\0\0\0", 8 },
		{ REPORT_BY_SOURCE, 0, "", 0 },
		{ REPORT_SPREAD, REPORT_LOSS, "\0\0\0\x5a", 4 },
		{ REPORT_COST, 0, "\3", 1 },
	};

	for (unsigned int flags = 0; flags < 128; flags++) {
		uint8_t entry[64] = { 1, 2, 5, flags };
		struct report out;
		bool good = true;

		for (unsigned int i = 0; i < 7; i++) {
			if (!(flags & fields[i].flag))
				continue;
			memcpy(entry + 2 + entry[1], fields[i].field,
			       fields[i].len);
			entry[1] += fields[i].len;
			good &= (flags & fields[i].needs) == fields[i].needs;
		}
		check((entries(&out, entry, 2 + entry[1]) == REPORT_OK) == good);
		check(!good || (out.path_count == 1 &&
				out.paths[0].flags == flags));
	}
}

static void entries_that_are_cut_are_refused(void)
{
	struct report out;

	check(!takes(&out, "\x01\x01\x03"));
	check(!takes(&out, "\x01\x02\x03\x08"));	/* no loss time */
	check(!takes(&out, "\x01\x0a\x03\x28\0\0\x03\x20\0\0\0\0"));
	check(!takes(&out, "\x02\x03\x03\x00\x00"));
	check(!takes(&out, "\x03\x07\x03\x18\0\0\x0a\x09\x08"));
	check(!takes(&out, "\x04\x01\x03"));
	check(!takes(&out, "\x04\x06\x03zzzzz"));
	check(!takes(&out, "\x04\x08\x03zzzzzzz"));
	check(!takes(&out, "xx\x63\xffxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"));
	check(!takes(&out, "\x63\x10zzzzzzzzzzzzzzzz\x01"));
}

/* Proofs belong to the subflows that were named last, of the same path and without any. */
static void proofs_have_their_subflows(void)
{
#define TWO	"\x04\x0d\3tokenstokens"
	struct report out;

	check(takes(&out, TWO "\x05\x09\3onlytwos"));
	check(out.name_count == 2 && out.names[0].proven && out.names[1].proven);
	check(out.names[0].proof == 0x6f6e6c79 && out.names[1].proof == 0x74776f73);
	/* only the last has one */
	check(takes(&out, TWO "\x05\x05\3only"));
	check(!out.names[0].proven && out.names[1].proven);
	check(!takes(&out, "\x05\x05\3only"));
	check(!takes(&out, TWO "\x05\x01\3"));
	check(!takes(&out, TWO "\x05\x00"));
	check(!takes(&out, TWO "\x05\x06\3only+"));
	check(!takes(&out, TWO "\x05\x0d\3onlytwosmore"));
	check(!takes(&out, TWO "\x05\x05\4only"));
	check(!takes(&out, TWO "\x05\x05\3only\x05\x05\3only"));
	check(!takes(&out, TWO "\x02\x04\3\0\0\0\x05\x05\3only"));
}

/* One after the other, each with its subflows and nothing behind. */
static void connections_are_whole(void)
{
	uint8_t many[62] = "\x06\x3ctokenpro\x11";
	struct report out;

	check(takes(&out, "\x06\x18tokenpro\2\0\1\2\3\4\5closedpr\0"));
	check(out.conn_count == 2 && out.conns[0].count == 2 && !out.conns[1].count);
	check(out.conns[0].token == 0x746f6b65 && out.conns[0].proof == 0x6e70726f);
	check(out.conns[0].flows[1].id == 3 && out.conns[0].flows[1].local_id == 4 &&
	      out.conns[0].flows[1].remote_id == 5);
	check(takes(&out, "\x06\x09tokenpro\0\x06\x09tokenpro\0") && out.conn_count == 2);
	check(!takes(&out, "\x06\x00"));
	check(!takes(&out, "\x06\x08tokenpro"));
	check(!takes(&out, "\x06\x0btokenpro\1\0\1"));
	check(!takes(&out, "\x06\x0atokenpro\0+"));
	check(!takes(&out, "\x06\x15tokenpro\0tokenpro\1\x10\1\2"));
	/* 17 subflows, each complete */
	check(entries(&out, many, sizeof(many)) == REPORT_MALFORMED);
	many[1] = 57;
	many[10]--;
	check(entries(&out, many, sizeof(many) - 3) == REPORT_OK);
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
	run(as_much_as_fits);
	run(as_many_connections_as_fit);
	run(header_is_what_was_sealed);
	run(copies_use_no_nonce_twice);
	run(older_reports_are_taken);
	run(answer_goes_through);
	run(rates_go_through);
	run(rates_are_checked);
	run(no_answer_is_larger);
	run(every_bit_counts);
	run(every_length_but_one_is_refused);
	run(first_bytes_tell_why);
	run(the_key_has_one_name_in_every_version);
	run(other_key_opens_nothing);
	run(wrong_mark_costs_no_tag);
	run(values_out_of_range_are_refused);
	run(what_is_not_known_is_skipped);
	run(flags_that_need_others);
	run(entries_that_are_cut_are_refused);
	run(proofs_have_their_subflows);
	run(connections_are_whole);
	run(window_takes_each_once);
	run(window_is_64_wide);
	return tap_end();
}
