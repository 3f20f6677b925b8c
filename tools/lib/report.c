// SPDX-License-Identifier: GPL-2.0
/*
 * report - the codec of Documentation/pamsd-report.md
 *
 *	 0  magic "PAMS"
 *	 4  version, type, length of the datagram (2)
 *	 8  key id (8)
 *	16  session (16), counter (8): the nonce of XChaCha20-Poly1305
 *	40  what is encrypted, then the tag (16)
 *
 * The header is authenticated with the rest. All that is encrypted has a fixed
 * place; what isn't used is zero, and refused if it isn't, so that a later
 * version can give it a meaning.
 */
#include <assert.h>
#include <string.h>

#include <sodium.h>

#include <linux/mptcp_pams.h>

#include "report.h"

#define NONCE_AT	16
#define CLEAR_BYTES	(REPORT_BYTES_MAX - REPORT_HEADER_BYTES - \
			 REPORT_TAG_BYTES)

static_assert(crypto_kdf_KEYBYTES == REPORT_KEY_BYTES, "key");
static_assert(crypto_aead_xchacha20poly1305_ietf_KEYBYTES == REPORT_KEY_BYTES,
	      "key");
static_assert(crypto_aead_xchacha20poly1305_ietf_NPUBBYTES ==
	      REPORT_HEADER_BYTES - NONCE_AT, "nonce");
static_assert(crypto_aead_xchacha20poly1305_ietf_ABYTES == REPORT_TAG_BYTES,
	      "tag");

static const uint8_t magic[4] = { 'P', 'A', 'M', 'S' };

/* A cursor that writes, and one that reads, numbers of the wire. */
static void put(uint8_t **at, uint64_t value, unsigned int bytes)
{
	while (bytes--)
		*(*at)++ = value >> (8 * bytes);
}

static uint64_t take(const uint8_t **at, unsigned int bytes)
{
	uint64_t value = 0;

	while (bytes--)
		value = value << 8 | *(*at)++;
	return value;
}

static void put_bytes(uint8_t **at, const void *from, size_t bytes)
{
	memcpy(*at, from, bytes);
	*at += bytes;
}

static void take_bytes(const uint8_t **at, void *to, size_t bytes)
{
	memcpy(to, *at, bytes);
	*at += bytes;
}

int report_keys_derive(struct report_keys *keys,
		       const uint8_t key[REPORT_KEY_BYTES])
{
	static const char context[crypto_kdf_CONTEXTBYTES + 1] = "pamsd v1";
	uint8_t id[crypto_kdf_BYTES_MIN];

	if (sodium_init() < 0)
		return -1;
	crypto_kdf_derive_from_key(keys->report, sizeof(keys->report),
				   1, context, key);
	crypto_kdf_derive_from_key(keys->challenge, sizeof(keys->challenge),
				   2, context, key);
	crypto_kdf_derive_from_key(id, sizeof(id), 3, context, key);
	memcpy(keys->id, id, sizeof(keys->id));
	return 0;
}

const char *report_error_name(enum report_error error)
{
	static const char * const names[] = {
		[REPORT_OK] = "ok",
		[REPORT_SHORT] = "length",
		[REPORT_MAGIC] = "magic",
		[REPORT_VERSION_UNKNOWN] = "version",
		[REPORT_TYPE_UNKNOWN] = "type",
		[REPORT_AUTH] = "auth",
		[REPORT_MALFORMED] = "malformed",
	};

	return names[error];
}

enum report_error report_peek(const uint8_t *buf, size_t len,
			      struct report_header *header)
{
	const uint8_t *at = buf + sizeof(magic);
	unsigned int version;

	if (len < REPORT_HEADER_BYTES + REPORT_TAG_BYTES)
		return REPORT_SHORT;
	if (memcmp(buf, magic, sizeof(magic)))
		return REPORT_MAGIC;
	version = take(&at, 1);
	if (version != REPORT_VERSION)
		return REPORT_VERSION_UNKNOWN;
	header->type = take(&at, 1);
	if (header->type != REPORT_TYPE_REPORT &&
	    header->type != REPORT_TYPE_CHALLENGE)
		return REPORT_TYPE_UNKNOWN;
	if (take(&at, 2) != len)
		return REPORT_SHORT;
	if (header->type == REPORT_TYPE_CHALLENGE) {
		if (len != REPORT_CHALLENGE_BYTES)
			return REPORT_SHORT;
	} else if (len < REPORT_BYTES(1) || len > REPORT_BYTES_MAX ||
		   (len - REPORT_BYTES(0)) % REPORT_PATH_BYTES) {
		return REPORT_SHORT;
	}
	take_bytes(&at, header->id, sizeof(header->id));
	take_bytes(&at, header->session, sizeof(header->session));
	header->counter = take(&at, 8);
	return REPORT_OK;
}

static size_t seal(uint8_t *buf, enum report_type type,
		   const struct report_keys *keys, const uint8_t *session,
		   uint64_t counter, const uint8_t *clear, size_t clear_bytes)
{
	size_t len = REPORT_HEADER_BYTES + clear_bytes + REPORT_TAG_BYTES;
	const uint8_t *key = type == REPORT_TYPE_REPORT ? keys->report :
							  keys->challenge;
	uint8_t *at = buf;

	put_bytes(&at, magic, sizeof(magic));
	put(&at, REPORT_VERSION, 1);
	put(&at, type, 1);
	put(&at, len, 2);
	put_bytes(&at, keys->id, sizeof(keys->id));
	put_bytes(&at, session, REPORT_SESSION_BYTES);
	put(&at, counter, 8);
	crypto_aead_xchacha20poly1305_ietf_encrypt(at, NULL, clear, clear_bytes,
						   buf, REPORT_HEADER_BYTES,
						   NULL, buf + NONCE_AT, key);
	return len;
}

static bool unseal(uint8_t *clear, const uint8_t *buf, size_t len,
		   const uint8_t *key)
{
	return !crypto_aead_xchacha20poly1305_ietf_decrypt(clear, NULL, NULL,
			buf + REPORT_HEADER_BYTES, len - REPORT_HEADER_BYTES,
			buf, REPORT_HEADER_BYTES, buf + NONCE_AT, key);
}

static void put_path(uint8_t **at, const struct report_path *path)
{
	put(at, path->flags, 1);
	put(at, path->key, 1);
	put(at, path->id, 1);
	put(at, path->prefix_len, 1);
	put(at, path->port, 2);
	put(at, 0, 2);
	put_bytes(at, path->address, sizeof(path->address));
	put(at, path->rate_byteps, 8);
	put(at, path->hs_rate_byteps, 8);
	put(at, path->backlog_bytes, 4);
	put(at, path->delay_us, 4);
	put(at, path->loss_ms, 4);
	put(at, path->pipe_ttl_ms, 4);
	put(at, path->loss_ttl_ms, 4);
	put(at, 0, 4);
}

/* False if a reserved field is in use. */
static bool take_path(const uint8_t **at, struct report_path *path)
{
	uint64_t reserved;

	path->flags = take(at, 1);
	path->key = take(at, 1);
	path->id = take(at, 1);
	path->prefix_len = take(at, 1);
	path->port = take(at, 2);
	reserved = take(at, 2);
	take_bytes(at, path->address, sizeof(path->address));
	path->rate_byteps = take(at, 8);
	path->hs_rate_byteps = take(at, 8);
	path->backlog_bytes = take(at, 4);
	path->delay_us = take(at, 4);
	path->loss_ms = take(at, 4);
	path->pipe_ttl_ms = take(at, 4);
	path->loss_ttl_ms = take(at, 4);
	reserved |= take(at, 4);
	return !reserved;
}

static bool rate_valid(uint64_t byteps)
{
	return byteps >= MPTCP_PAMS_RATE_MIN_BYTEPS &&
	       byteps <= MPTCP_PAMS_RATE_MAX_BYTEPS;
}

static bool zero(const uint8_t *bytes, size_t count)
{
	return sodium_is_zero(bytes, count);
}

static bool key_valid(const struct report_path *path)
{
	switch (path->key) {
	case REPORT_KEY_SOURCE:
	case REPORT_KEY_LEARNT:
		return !path->prefix_len && zero(path->address, 16);
	case REPORT_KEY_ADDRESS4:
		return path->prefix_len <= 32 && zero(path->address + 4, 12);
	case REPORT_KEY_ADDRESS6:
		return path->prefix_len <= 128;
	default:
		return false;
	}
}

static bool pipe_valid(const struct report_path *path)
{
	bool hs = path->flags & REPORT_HS_RATE;

	if (!(path->flags & REPORT_PIPE))
		return !(path->flags & (REPORT_DELAY | REPORT_HS_RATE)) &&
		       !path->rate_byteps && !path->hs_rate_byteps &&
		       !path->backlog_bytes && !path->delay_us &&
		       !path->pipe_ttl_ms;
	if (hs ? !rate_valid(path->hs_rate_byteps) : path->hs_rate_byteps)
		return false;
	if (!(path->flags & REPORT_DELAY) && path->delay_us)
		return false;
	return rate_valid(path->rate_byteps) &&
	       path->backlog_bytes <= MPTCP_PAMS_BACKLOG_MAX_BYTES &&
	       path->delay_us <= MPTCP_PAMS_DELAY_MAX_US &&
	       path->pipe_ttl_ms <= MPTCP_PAMS_TIME_MAX_MS;
}

static bool loss_valid(const struct report_path *path)
{
	if (!(path->flags & REPORT_LOSS))
		return !path->loss_ms && !path->loss_ttl_ms;
	return !(path->flags & REPORT_NO_LOSS) &&
	       path->loss_ms <= MPTCP_PAMS_TIME_MAX_MS &&
	       path->loss_ttl_ms <= MPTCP_PAMS_TIME_MAX_MS;
}

/* A path without values names itself: its address is learnt from it. */
bool report_path_valid(const struct report_path *path)
{
	return !(path->flags & ~REPORT_FLAGS_ALL) && key_valid(path) &&
	       pipe_valid(path) && loss_valid(path);
}

size_t report_seal(uint8_t buf[REPORT_BYTES_MAX],
		   const struct report_keys *keys,
		   const uint8_t session[REPORT_SESSION_BYTES],
		   uint64_t counter, const struct report *report)
{
	uint8_t clear[CLEAR_BYTES], *at = clear;

	put_bytes(&at, report->cookie, sizeof(report->cookie));
	put(&at, report->count, 1);
	put(&at, 0, 7);
	for (unsigned int i = 0; i < report->count; i++)
		put_path(&at, &report->paths[i]);
	return seal(buf, REPORT_TYPE_REPORT, keys, session, counter, clear,
		    at - clear);
}

enum report_error report_open(const uint8_t *buf, size_t len,
			      const struct report_keys *keys,
			      struct report *report)
{
	uint8_t clear[CLEAR_BYTES];
	const uint8_t *at = clear;

	if (!unseal(clear, buf, len, keys->report))
		return REPORT_AUTH;
	take_bytes(&at, report->cookie, sizeof(report->cookie));
	report->count = take(&at, 1);
	if (REPORT_BYTES(report->count) != len || take(&at, 7))
		return REPORT_MALFORMED;
	for (unsigned int i = 0; i < report->count; i++) {
		struct report_path *path = &report->paths[i];

		if (!take_path(&at, path) || !report_path_valid(path))
			return REPORT_MALFORMED;
	}
	return REPORT_OK;
}

size_t report_seal_challenge(uint8_t buf[REPORT_CHALLENGE_BYTES],
			     const struct report_keys *keys,
			     const uint8_t nonce_session[REPORT_SESSION_BYTES],
			     uint64_t nonce_counter,
			     const struct report_challenge *challenge)
{
	uint8_t clear[40], *at = clear;

	put_bytes(&at, challenge->session, sizeof(challenge->session));
	put(&at, challenge->counter, 8);
	put_bytes(&at, challenge->cookie, sizeof(challenge->cookie));
	return seal(buf, REPORT_TYPE_CHALLENGE, keys, nonce_session,
		    nonce_counter, clear, at - clear);
}

enum report_error report_open_challenge(const uint8_t *buf, size_t len,
					const struct report_keys *keys,
					struct report_challenge *challenge)
{
	uint8_t clear[40];
	const uint8_t *at = clear;

	if (!unseal(clear, buf, len, keys->challenge))
		return REPORT_AUTH;
	take_bytes(&at, challenge->session, sizeof(challenge->session));
	challenge->counter = take(&at, 8);
	take_bytes(&at, challenge->cookie, sizeof(challenge->cookie));
	return REPORT_OK;
}

bool report_window_fresh(const struct report_window *window, uint64_t counter)
{
	if (counter > window->top)
		return true;
	if (window->top - counter >= REPORT_WINDOW)
		return false;
	return !(window->seen >> (window->top - counter) & 1);
}

void report_window_take(struct report_window *window, uint64_t counter)
{
	uint64_t ahead;

	if (counter <= window->top) {
		window->seen |= 1ULL << (window->top - counter);
		return;
	}
	ahead = counter - window->top;
	window->seen = ahead < REPORT_WINDOW ? window->seen << ahead : 0;
	window->seen |= 1;
	window->top = counter;
}
