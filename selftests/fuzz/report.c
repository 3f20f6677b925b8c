// SPDX-License-Identifier: GPL-2.0
/*
 * report - libFuzzer against the codec of reports
 *
 * The input is a datagram as it would come in: it is looked at and, with a known
 * key, opened. Since no fuzzer finds a tag, it is then taken for the part that
 * is encrypted and sealed by hand, so that what is behind the tag is reached
 * with every content. What is accepted has to be valid, and to be the same again
 * when it is sealed and opened, if it isn't larger than a sender would make it.
 */
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "report.h"

#define NONCE_AT	16

static struct report_keys keys;

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	static const uint8_t key[REPORT_KEY_BYTES] = { 1 };

	(void)argc;
	(void)argv;
	if (report_keys_derive(&keys, key))
		abort();
	return 0;
}

static void check_valid(const struct report *report)
{
	if (report->path_count > REPORT_PATHS_MAX ||
	    report->name_count > REPORT_NAMES_MAX ||
	    report->conn_count > REPORT_CONNS_MAX)
		abort();
	for (unsigned int i = 0; i < report->path_count; i++)
		if (!report_path_valid(&report->paths[i]))
			abort();
	for (unsigned int i = 0; i < report->name_count; i++)
		if (!report_name_valid(&report->names[i]))
			abort();
	for (unsigned int i = 0; i < report->conn_count; i++)
		if (!report_conn_valid(&report->conns[i]))
			abort();
}

static bool is_same(const struct report *a, const struct report *b)
{
	return a->sent_ms == b->sent_ms && a->echo == b->echo &&
	       a->acknowledge == b->acknowledge &&
	       a->path_count == b->path_count &&
	       a->name_count == b->name_count &&
	       !memcmp(a->cookie, b->cookie, sizeof(a->cookie)) &&
	       !memcmp(a->paths, b->paths,
		       a->path_count * sizeof(*a->paths)) &&
	       !memcmp(a->names, b->names, a->name_count * sizeof(*a->names)) &&
	       a->conn_count == b->conn_count &&
	       !memcmp(a->conns, b->conns, a->conn_count * sizeof(*a->conns));
}

static void open_any(const uint8_t *buf, size_t len)
{
	struct report_answer answer;
	struct report report, again;
	struct report_header header;
	uint8_t sealed[REPORT_BYTES_MAX];
	size_t sealed_len;

	if (report_peek(buf, len, &header))
		return;
	if (header.type == REPORT_TYPE_ANSWER) {
		report_open_answer(buf, len, &keys, &answer);
		return;
	}
	if (report_open(buf, len, &keys, &report))
		return;
	check_valid(&report);
	sealed_len = report_seal(sealed, &keys, header.session, header.counter,
				 &report);
	if (!sealed_len)
		return;
	if (sealed_len != report_bytes(&report) ||
	    report_open(sealed, sealed_len, &keys, &again) ||
	    !is_same(&report, &again))
		abort();
}

/* The input behind a header of its length, with a right tag. */
static void seal_and_open(const uint8_t *data, size_t size)
{
	uint8_t buf[REPORT_BYTES_MAX] = {
		'P', 'A', 'M', 'S', REPORT_VERSION, REPORT_TYPE_REPORT,
	};
	size_t len = REPORT_HEADER_BYTES + size + REPORT_TAG_BYTES;

	if (len > sizeof(buf))
		return;
	buf[6] = len >> 8;
	buf[7] = len;
	crypto_shorthash(buf + REPORT_HEADER_BYTES - REPORT_MARK_BYTES, buf,
			 REPORT_HEADER_BYTES - REPORT_MARK_BYTES, keys.mark);
	crypto_aead_xchacha20poly1305_ietf_encrypt(buf + REPORT_HEADER_BYTES,
						   NULL, data, size, buf,
						   REPORT_HEADER_BYTES, NULL,
						   buf + NONCE_AT, keys.report);
	open_any(buf, len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	open_any(data, size);
	seal_and_open(data, size);
	return 0;
}
