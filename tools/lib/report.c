// SPDX-License-Identifier: GPL-2.0
/*
 * report - the codec of Documentation/pamsd-report.md
 *
 *	 0  magic "PAMS"
 *	 4  version, type, length of the datagram (2)
 *	 8  key id (8)
 *	16  session (16), counter (8): the nonce of XChaCha20-Poly1305, see hedge()
 *	40  mark (8): SipHash-2-4 of what is before it
 *	48  encrypted part, then the tag (16)
 *
 * The tag authenticates the header, too. The encrypted part has fixed fields, then
 * entries of kind, length and contents. A receiver skips entries of unknown kinds, and
 * bytes at the end of an entry that it doesn't know.
 */
#include <assert.h>
#include <string.h>

#include <sodium.h>

#include <linux/mptcp_pams.h>

#include "report.h"

#define NONCE_AT	16
#define MARK_AT		40
#define CLEAR_BYTES_MAX	(REPORT_BYTES_MAX - REPORT_HEADER_BYTES - \
			 REPORT_TAG_BYTES)
#define ANSWER_CLEAR	(REPORT_ANSWER_MAX - REPORT_HEADER_BYTES - \
			 REPORT_TAG_BYTES)

#define ENTRY_HEADER	2	/* kind and length */
#define SUBFLOW_BYTES	6
#define PROOF_BYTES	4
#define PREFIX4_BYTES	8
#define PREFIX6_BYTES	20
#define SOURCE_BYTES	4
#define CONN_BYTES	9	/* without its subflows */
#define FLOW_BYTES	3
#define RATE_BYTES	13
#define ENTRY_MAX	255

#define FLAG_ACKNOWLEDGE	1
#define FLAG_RATES		2
#define FLAG_TAKEN		1
#define FLAG_CONNS		2

/* Kinds of entries in addition to those of enum report_name_kind. */
#define ENTRY_PADDING	0
#define ENTRY_PATH	1
#define ENTRY_PROOFS	5
#define ENTRY_CONNS	6
#define ENTRY_RATES	7	/* of an answer */

static_assert(crypto_kdf_KEYBYTES == REPORT_KEY_BYTES, "key");
static_assert(crypto_aead_xchacha20poly1305_ietf_KEYBYTES == REPORT_KEY_BYTES,
	      "key");
static_assert(crypto_aead_xchacha20poly1305_ietf_NPUBBYTES ==
	      MARK_AT - NONCE_AT, "nonce");
static_assert(crypto_shorthash_KEYBYTES ==
	      sizeof(((struct report_keys *)NULL)->mark), "key of the mark");
static_assert(crypto_shorthash_BYTES == REPORT_MARK_BYTES, "mark");
static_assert(crypto_aead_xchacha20poly1305_ietf_ABYTES == REPORT_TAG_BYTES,
	      "tag");

static_assert(REPORT_RATES_BYTES(1) == ENTRY_HEADER + RATE_BYTES, "a rate");
static_assert(REPORT_RATES_BYTES(REPORT_PATHS_MAX) <= ENTRY_MAX, "all rates");
static_assert(REPORT_NAMES_MAX * SUBFLOW_BYTES > CLEAR_BYTES_MAX, "names");
static_assert(REPORT_CONNS_MAX * CONN_BYTES > CLEAR_BYTES_MAX, "connections");
static_assert(CONN_BYTES + REPORT_FLOWS_MAX * FLOW_BYTES <= ENTRY_MAX, "a connection's subflows");

static const uint8_t magic[4] = { 'P', 'A', 'M', 'S' };

/* put() and take_number() write and read a big-endian number, and advance the pointer. */
static void put(uint8_t **at, uint64_t value, unsigned int bytes)
{
	while (bytes--)
		*(*at)++ = value >> (8 * bytes);
}

static uint64_t take_number(const uint8_t **at, unsigned int bytes)
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

/*
 * All versions derive the key id as version 1 does, so that a receiver of another version can
 * tell which peer has sent a datagram that it can't decrypt.
 */
int report_keys_derive(struct report_keys *keys,
		       const uint8_t key[REPORT_KEY_BYTES])
{
	static const char context[crypto_kdf_CONTEXTBYTES + 1] = "pamsd v2";
	static const char first[crypto_kdf_CONTEXTBYTES + 1] = "pamsd v1";
	uint8_t id[crypto_kdf_BYTES_MIN];

	if (sodium_init() < 0)
		return -1;
	crypto_kdf_derive_from_key(keys->report, sizeof(keys->report),
				   1, context, key);
	crypto_kdf_derive_from_key(keys->answer, sizeof(keys->answer),
				   2, context, key);
	crypto_kdf_derive_from_key(keys->mark, sizeof(keys->mark),
				   4, context, key);
	crypto_kdf_derive_from_key(keys->nonce, sizeof(keys->nonce),
				   5, context, key);
	crypto_kdf_derive_from_key(id, sizeof(id), 3, first, key);
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

/* A report's number is the upper half of its counter; reporters of 0.1.0 send the number alone. */
static uint64_t number_of(uint64_t counter)
{
	return counter >> 32 ?: counter;
}

enum report_error report_peek(const uint8_t *buf, size_t len,
			      struct report_header *header)
{
	const uint8_t *at = buf + sizeof(magic);
	unsigned int version, said;

	if (len < REPORT_HEADER_BYTES + REPORT_TAG_BYTES)
		return REPORT_SHORT;
	if (memcmp(buf, magic, sizeof(magic)))
		return REPORT_MAGIC;
	version = take_number(&at, 1);
	header->type = take_number(&at, 1);
	said = take_number(&at, 2);
	take_bytes(&at, header->id, sizeof(header->id));
	take_bytes(&at, header->session, sizeof(header->session));
	header->counter = number_of(take_number(&at, 8));
	if (version != REPORT_VERSION)
		return REPORT_VERSION_UNKNOWN;
	if (header->type != REPORT_TYPE_REPORT &&
	    header->type != REPORT_TYPE_ANSWER)
		return REPORT_TYPE_UNKNOWN;
	if (said != len || len < REPORT_BYTES_MIN || len > REPORT_BYTES_MAX)
		return REPORT_SHORT;
	return REPORT_OK;
}

/*
 * A nonce that depends on what it is for. Both copies of a virtual machine that is restored twice
 * go on with the same session and number, and may draw the same: if they say different things,
 * their nonces differ all the same.
 */
static void hedge(uint8_t nonce[REPORT_NONCE_BYTES], const struct report_keys *keys,
		  const uint8_t *session, uint64_t counter, const uint8_t *clear,
		  size_t clear_bytes)
{
	crypto_generichash_state state;
	uint8_t number[8], *at = number;

	put(&at, counter, 8);
	crypto_generichash_init(&state, keys->nonce, sizeof(keys->nonce), REPORT_NONCE_BYTES);
	crypto_generichash_update(&state, session, REPORT_SESSION_BYTES);
	crypto_generichash_update(&state, number, sizeof(number));
	crypto_generichash_update(&state, clear, clear_bytes);
	crypto_generichash_final(&state, nonce, REPORT_NONCE_BYTES);
}

static size_t seal(uint8_t *buf, enum report_type type,
		   const struct report_keys *keys, const uint8_t nonce[REPORT_NONCE_BYTES],
		   const uint8_t *clear, size_t clear_bytes)
{
	size_t len = REPORT_HEADER_BYTES + clear_bytes + REPORT_TAG_BYTES;
	const uint8_t *key = type == REPORT_TYPE_REPORT ? keys->report :
							  keys->answer;
	uint8_t *at = buf;

	put_bytes(&at, magic, sizeof(magic));
	put(&at, REPORT_VERSION, 1);
	put(&at, type, 1);
	put(&at, len, 2);
	put_bytes(&at, keys->id, sizeof(keys->id));
	put_bytes(&at, nonce, REPORT_NONCE_BYTES);
	crypto_shorthash(at, buf, MARK_AT, keys->mark);
	at += REPORT_MARK_BYTES;
	crypto_aead_xchacha20poly1305_ietf_encrypt(at, NULL, clear, clear_bytes,
						   buf, REPORT_HEADER_BYTES,
						   NULL, buf + NONCE_AT, key);
	return len;
}

/*
 * Check the mark, then decrypt. The mark costs a twentieth of the tag, so that a flood of forged
 * datagrams costs little.
 */
static bool unseal(uint8_t *clear, const uint8_t *buf, size_t len,
		   const struct report_keys *keys, const uint8_t *key)
{
	uint8_t mark[REPORT_MARK_BYTES];

	crypto_shorthash(mark, buf, MARK_AT, keys->mark);
	if (sodium_memcmp(mark, buf + MARK_AT, sizeof(mark)))
		return false;
	return !crypto_aead_xchacha20poly1305_ietf_decrypt(clear, NULL, NULL,
			buf + REPORT_HEADER_BYTES, len - REPORT_HEADER_BYTES,
			buf, REPORT_HEADER_BYTES, buf + NONCE_AT, key);
}

/* --- ranges of values --- */

static bool rate_valid(uint64_t byteps)
{
	return byteps >= MPTCP_PAMS_RATE_MIN_BYTEPS &&
	       byteps <= MPTCP_PAMS_RATE_MAX_BYTEPS;
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
		return !(path->flags & REPORT_SPREAD) && !path->loss_ms &&
		       !path->loss_ttl_ms && !path->loss_spread_ms;
	if (!(path->flags & REPORT_SPREAD) && path->loss_spread_ms)
		return false;
	return path->loss_ms <= MPTCP_PAMS_TIME_MAX_MS &&
	       path->loss_ms >= -MPTCP_PAMS_TIME_MAX_MS &&
	       path->loss_ttl_ms <= MPTCP_PAMS_TIME_MAX_MS &&
	       path->loss_spread_ms <= MPTCP_PAMS_TIME_MAX_MS;
}

static bool cost_valid(const struct report_path *path)
{
	return path->cost <= (path->flags & REPORT_COST ?
			      MPTCP_PAMS_COST_MAX : 0);
}

bool report_path_valid(const struct report_path *path)
{
	return path->id < REPORT_PATHS_MAX && pipe_valid(path) &&
	       loss_valid(path) && cost_valid(path);
}

bool report_name_valid(const struct report_name *name)
{
	if (name->id >= REPORT_PATHS_MAX)
		return false;
	return name->kind != REPORT_NAME_PREFIX ||
	       name->prefix_len <= (name->ipv6 ? 128 : 32);
}

bool report_conn_valid(const struct report_conn *conn)
{
	if (conn->count > REPORT_FLOWS_MAX)
		return false;
	for (unsigned int i = 0; i < conn->count; i++)
		if (conn->flows[i].id >= REPORT_PATHS_MAX)
			return false;
	return true;
}

bool report_rate_valid(const struct report_rate *rate)
{
	return rate->id < REPORT_PATHS_MAX && rate_valid(rate->byteps) &&
	       rate->age_ms <= MPTCP_PAMS_TIME_MAX_MS;
}

/* --- entries --- */

static void put_path(uint8_t **at, const struct report_path *path)
{
	uint8_t *begin = *at;

	put(at, ENTRY_PATH, 1);
	put(at, 0, 1);
	put(at, path->id, 1);
	put(at, path->flags, 1);
	if (path->flags & REPORT_PIPE) {
		put(at, path->rate_byteps, 8);
		put(at, path->backlog_bytes, 4);
		put(at, path->pipe_ttl_ms, 4);
	}
	if (path->flags & REPORT_DELAY)
		put(at, path->delay_us, 4);
	if (path->flags & REPORT_HS_RATE)
		put(at, path->hs_rate_byteps, 8);
	if (path->flags & REPORT_LOSS) {
		put(at, (uint32_t)path->loss_ms, 4);
		put(at, path->loss_ttl_ms, 4);
	}
	if (path->flags & REPORT_SPREAD)
		put(at, path->loss_spread_ms, 4);
	if (path->flags & REPORT_COST)
		put(at, path->cost, 1);
	begin[1] = *at - begin - ENTRY_HEADER;
}

static size_t path_bytes(const struct report_path *path)
{
	return ENTRY_HEADER + 2 + (path->flags & REPORT_PIPE ? 16 : 0) +
	       (path->flags & REPORT_DELAY ? 4 : 0) +
	       (path->flags & REPORT_HS_RATE ? 8 : 0) +
	       (path->flags & REPORT_LOSS ? 8 : 0) +
	       (path->flags & REPORT_SPREAD ? 4 : 0) +
	       (path->flags & REPORT_COST ? 1 : 0);
}

/* How many of these names fit into one entry: consecutive subflows of one path do. */
static unsigned int run_of(const struct report_name *names, unsigned int count)
{
	unsigned int run = 1;

	if (names->kind != REPORT_NAME_SUBFLOW)
		return 1;
	while (run < count && run < REPORT_SUBFLOWS_MAX &&
	       names[run].kind == REPORT_NAME_SUBFLOW &&
	       names[run].id == names->id && names[run].proven == names->proven)
		run++;
	return run;
}

/* The length of the entry with the names, and of the entry with their proofs behind it. */
static size_t named_bytes(const struct report_name *name, unsigned int run)
{
	switch (name->kind) {
	case REPORT_NAME_SOURCE:
		return ENTRY_HEADER + SOURCE_BYTES;
	case REPORT_NAME_PREFIX:
		return ENTRY_HEADER +
		       (name->ipv6 ? PREFIX6_BYTES : PREFIX4_BYTES);
	default:
		return ENTRY_HEADER + 1 + run * SUBFLOW_BYTES;
	}
}

static size_t proofs_bytes(const struct report_name *name, unsigned int run)
{
	return name->proven ? ENTRY_HEADER + 1 + run * PROOF_BYTES : 0;
}

static void put_proofs(uint8_t **at, const struct report_name *name,
		       unsigned int run)
{
	put(at, ENTRY_PROOFS, 1);
	put(at, proofs_bytes(name, run) - ENTRY_HEADER, 1);
	put(at, name->id, 1);
	for (; run--; name++)
		put(at, name->proof, 4);
}

static void put_names(uint8_t **at, const struct report_name *name,
		      unsigned int run)
{
	put(at, name->kind, 1);
	put(at, named_bytes(name, run) - ENTRY_HEADER, 1);
	put(at, name->id, 1);
	switch (name->kind) {
	case REPORT_NAME_SOURCE:
		put(at, 0, 1);
		put(at, name->port, 2);
		break;
	case REPORT_NAME_PREFIX:
		put(at, name->prefix_len, 1);
		put(at, name->port, 2);
		put_bytes(at, name->address, name->ipv6 ? 16 : 4);
		break;
	default:
		for (unsigned int i = 0; i < run; i++) {
			put(at, name[i].token, 4);
			put(at, name[i].local_id, 1);
			put(at, name[i].remote_id, 1);
		}
	}
	if (name->proven)
		put_proofs(at, name, run);
}

static size_t conn_bytes(const struct report_conn *conn)
{
	return CONN_BYTES + conn->count * FLOW_BYTES;
}

/* How many of these connections fit into one entry, which is so long. */
static unsigned int conns_run(const struct report_conn *conns, unsigned int count,
			      size_t *bytes)
{
	unsigned int run = 0;

	for (*bytes = 0; run < count; run++) {
		if (*bytes + conn_bytes(&conns[run]) > ENTRY_MAX)
			break;
		*bytes += conn_bytes(&conns[run]);
	}
	return run;
}

static void put_conn(uint8_t **at, const struct report_conn *conn)
{
	put(at, conn->token, 4);
	put(at, conn->proof, PROOF_BYTES);
	put(at, conn->count, 1);
	for (unsigned int i = 0; i < conn->count; i++) {
		put(at, conn->flows[i].id, 1);
		put(at, conn->flows[i].local_id, 1);
		put(at, conn->flows[i].remote_id, 1);
	}
}

static void put_conns(uint8_t **at, const struct report_conn *conns, unsigned int count)
{
	unsigned int run;
	size_t bytes;

	for (; count; count -= run) {
		run = conns_run(conns, count, &bytes);
		put(at, ENTRY_CONNS, 1);
		put(at, bytes, 1);
		for (unsigned int i = 0; i < run; i++)
			put_conn(at, conns++);
	}
}

static size_t conns_bytes(const struct report_conn *conns, unsigned int count)
{
	size_t bytes, sum = 0;
	unsigned int run;

	for (; count; count -= run, conns += run) {
		run = conns_run(conns, count, &bytes);
		sum += ENTRY_HEADER + bytes;
	}
	return sum;
}

static bool take_path(const uint8_t *at, size_t left, struct report *report)
{
	struct report_path *path = &report->paths[report->path_count];

	if (left < 2 || report->path_count == REPORT_PATHS_MAX)
		return false;
	memset(path, 0, sizeof(*path));
	path->id = take_number(&at, 1);
	path->flags = take_number(&at, 1) & (REPORT_PIPE | REPORT_DELAY |
					     REPORT_HS_RATE | REPORT_LOSS |
					     REPORT_BY_SOURCE | REPORT_SPREAD |
					     REPORT_COST);
	if (left + ENTRY_HEADER < path_bytes(path))
		return false;
	if (path->flags & REPORT_PIPE) {
		path->rate_byteps = take_number(&at, 8);
		path->backlog_bytes = take_number(&at, 4);
		path->pipe_ttl_ms = take_number(&at, 4);
	}
	if (path->flags & REPORT_DELAY)
		path->delay_us = take_number(&at, 4);
	if (path->flags & REPORT_HS_RATE)
		path->hs_rate_byteps = take_number(&at, 8);
	if (path->flags & REPORT_LOSS) {
		path->loss_ms = (int32_t)(uint32_t)take_number(&at, 4);
		path->loss_ttl_ms = take_number(&at, 4);
	}
	if (path->flags & REPORT_SPREAD)
		path->loss_spread_ms = take_number(&at, 4);
	if (path->flags & REPORT_COST)
		path->cost = take_number(&at, 1);
	for (unsigned int i = 0; i < report->path_count; i++)
		if (report->paths[i].id == path->id)
			return false;
	report->path_count++;
	return report_path_valid(path);
}

static bool take_name(unsigned int kind, const uint8_t *at, size_t left,
		      struct report *report)
{
	struct report_name name;

	memset(&name, 0, sizeof(name));
	name.kind = kind;
	switch (kind) {
	case REPORT_NAME_SOURCE:
		if (left < SOURCE_BYTES)
			return false;
		name.id = take_number(&at, 1);
		take_number(&at, 1);
		name.port = take_number(&at, 2);
		break;
	case REPORT_NAME_PREFIX:
		if (left < PREFIX4_BYTES)
			return false;
		name.id = take_number(&at, 1);
		name.prefix_len = take_number(&at, 1);
		name.port = take_number(&at, 2);
		name.ipv6 = left >= PREFIX6_BYTES;
		take_bytes(&at, name.address, name.ipv6 ? 16 : 4);
		break;
	}
	if (report->name_count == REPORT_NAMES_MAX || !report_name_valid(&name))
		return false;
	report->names[report->name_count++] = name;
	return true;
}

static bool take_subflows(const uint8_t *at, size_t left, struct report *report)
{
	struct report_name name;

	memset(&name, 0, sizeof(name));
	name.kind = REPORT_NAME_SUBFLOW;
	if (left < 1 + SUBFLOW_BYTES || (left - 1) % SUBFLOW_BYTES)
		return false;
	name.id = take_number(&at, 1);
	for (left--; left; left -= SUBFLOW_BYTES) {
		name.token = take_number(&at, 4);
		name.local_id = take_number(&at, 1);
		name.remote_id = take_number(&at, 1);
		if (report->name_count == REPORT_NAMES_MAX ||
		    !report_name_valid(&name))
			return false;
		report->names[report->name_count++] = name;
	}
	return true;
}

/* Proofs belong to the subflows that were named last, as many and in the same order. */
static bool take_proofs(const uint8_t *at, size_t left, struct report *report)
{
	size_t count = (left - 1) / PROOF_BYTES;
	struct report_name *name;
	unsigned int id;

	if (left < 1 + PROOF_BYTES || (left - 1) % PROOF_BYTES ||
	    count > report->name_count)
		return false;
	id = take_number(&at, 1);
	name = &report->names[report->name_count - count];
	for (; count--; name++) {
		if (name->kind != REPORT_NAME_SUBFLOW || name->id != id ||
		    name->proven)
			return false;
		name->proven = true;
		name->proof = take_number(&at, PROOF_BYTES);
	}
	return true;
}

/* Returns how many bytes the connection had, 0 if it is malformed. */
static size_t take_conn(const uint8_t *at, size_t left, struct report *report)
{
	struct report_conn *conn = &report->conns[report->conn_count];

	if (left < CONN_BYTES || report->conn_count == REPORT_CONNS_MAX)
		return 0;
	memset(conn, 0, sizeof(*conn));
	conn->token = take_number(&at, 4);
	conn->proof = take_number(&at, PROOF_BYTES);
	conn->count = take_number(&at, 1);
	if (conn->count > REPORT_FLOWS_MAX || left < conn_bytes(conn))
		return 0;
	for (unsigned int i = 0; i < conn->count; i++) {
		conn->flows[i].id = take_number(&at, 1);
		conn->flows[i].local_id = take_number(&at, 1);
		conn->flows[i].remote_id = take_number(&at, 1);
	}
	report->conn_count++;
	return report_conn_valid(conn) ? conn_bytes(conn) : 0;
}

static bool take_conns(const uint8_t *at, size_t left, struct report *report)
{
	size_t bytes;

	if (!left)
		return false;
	for (; left; left -= bytes, at += bytes) {
		bytes = take_conn(at, left, report);
		if (!bytes)
			return false;
	}
	return true;
}

static bool take_entry(unsigned int kind, const uint8_t *at, size_t left, void *arg)
{
	struct report *report = arg;

	switch (kind) {
	case ENTRY_PADDING:
		return true;
	case ENTRY_PATH:
		return take_path(at, left, report);
	case REPORT_NAME_SOURCE:
	case REPORT_NAME_PREFIX:
		return take_name(kind, at, left, report);
	case REPORT_NAME_SUBFLOW:
		return take_subflows(at, left, report);
	case ENTRY_PROOFS:
		return take_proofs(at, left, report);
	case ENTRY_CONNS:
		return take_conns(at, left, report);
	}
	report->skipped++;
	return true;
}

/* Take all entries of a datagram, each by take(). */
static enum report_error take_entries(const uint8_t *at, const uint8_t *end,
				      bool (*take)(unsigned int kind, const uint8_t *at,
						   size_t left, void *arg), void *arg)
{
	while (at < end) {
		unsigned int kind, left;

		if (end - at < ENTRY_HEADER)
			return REPORT_MALFORMED;
		kind = take_number(&at, 1);
		left = take_number(&at, 1);
		if (left > (size_t)(end - at) || !take(kind, at, left, arg))
			return REPORT_MALFORMED;
		at += left;
	}
	return REPORT_OK;
}

/* --- datagrams --- */

/* The least length, with room for the rates of the answer. */
static size_t least_bytes(const struct report *report)
{
	return REPORT_BYTES_MIN + (report->rates_max ? REPORT_RATES_BYTES(report->rates_max) : 0);
}

/* Pad to this length. A padding entry has at least two bytes, so it may be one more. */
static void pad(uint8_t **at, const uint8_t *begin, size_t least)
{
	size_t missing = least - (*at - begin);

	if (missing < ENTRY_HEADER)
		missing = ENTRY_HEADER;
	put(at, ENTRY_PADDING, 1);
	put(at, missing - ENTRY_HEADER, 1);
	memset(*at, 0, missing - ENTRY_HEADER);
	*at += missing - ENTRY_HEADER;
}

size_t report_bytes(const struct report *report)
{
	size_t bytes = REPORT_HEADER_BYTES + REPORT_FIXED_BYTES +
		       REPORT_TAG_BYTES;
	size_t least = least_bytes(report);
	unsigned int run;

	for (unsigned int i = 0; i < report->path_count; i++)
		bytes += path_bytes(&report->paths[i]);
	for (unsigned int i = 0; i < report->name_count; i += run) {
		run = run_of(&report->names[i], report->name_count - i);
		bytes += named_bytes(&report->names[i], run) +
			 proofs_bytes(&report->names[i], run);
	}
	bytes += conns_bytes(report->conns, report->conn_count);
	if (bytes + ENTRY_HEADER > least)
		return bytes >= least ? bytes : bytes + ENTRY_HEADER;
	return least;
}

/* How many rates fit into the answer to a report of that length. */
static unsigned int rates_room(size_t len)
{
	size_t room = len < REPORT_ANSWER_BYTES + REPORT_RATES_BYTES(1) ? 0 :
		      (len - REPORT_ANSWER_BYTES - ENTRY_HEADER) / RATE_BYTES;

	return room < REPORT_PATHS_MAX ? room : REPORT_PATHS_MAX;
}

size_t report_seal(uint8_t buf[REPORT_BYTES_MAX],
		   const struct report_keys *keys,
		   const uint8_t session[REPORT_SESSION_BYTES],
		   uint64_t number, const struct report *report)
{
	size_t least = least_bytes(report) - REPORT_HEADER_BYTES - REPORT_TAG_BYTES;
	uint8_t hash[REPORT_NONCE_BYTES], nonce[REPORT_NONCE_BYTES];
	uint8_t clear[CLEAR_BYTES_MAX], *at = clear;
	size_t clear_bytes;
	unsigned int run;

	if (!number || number > UINT32_MAX || report_bytes(report) > REPORT_BYTES_MAX)
		return 0;
	put_bytes(&at, report->cookie, sizeof(report->cookie));
	put(&at, report->sent_ms, 8);
	put(&at, report->echo, 8);
	put(&at, (report->acknowledge ? FLAG_ACKNOWLEDGE : 0) |
		 (report->rates_max ? FLAG_RATES : 0), 1);
	put(&at, 0, 7);
	for (unsigned int i = 0; i < report->path_count; i++)
		put_path(&at, &report->paths[i]);
	for (unsigned int i = 0; i < report->name_count; i += run) {
		run = run_of(&report->names[i], report->name_count - i);
		put_names(&at, &report->names[i], run);
	}
	put_conns(&at, report->conns, report->conn_count);
	if (at < clear + least)
		pad(&at, clear, least);
	clear_bytes = at - clear;
	hedge(hash, keys, session, number, clear, clear_bytes);
	at = nonce;
	put_bytes(&at, session, REPORT_SESSION_BYTES);
	put(&at, number, 4);
	put_bytes(&at, hash, 4);
	return seal(buf, REPORT_TYPE_REPORT, keys, nonce, clear, clear_bytes);
}

enum report_error report_open(const uint8_t *buf, size_t len,
			      const struct report_keys *keys,
			      struct report *report)
{
	uint8_t clear[CLEAR_BYTES_MAX];
	const uint8_t *at = clear, *end;
	unsigned int flags;

	if (!unseal(clear, buf, len, keys, keys->report))
		return REPORT_AUTH;
	end = clear + (len - REPORT_HEADER_BYTES - REPORT_TAG_BYTES);
	report->path_count = 0;
	report->name_count = 0;
	report->conn_count = 0;
	report->skipped = 0;
	take_bytes(&at, report->cookie, sizeof(report->cookie));
	report->sent_ms = take_number(&at, 8);
	report->echo = take_number(&at, 8);
	flags = take_number(&at, 1);
	report->acknowledge = flags & FLAG_ACKNOWLEDGE;
	report->rates_max = flags & FLAG_RATES ? rates_room(len) : 0;
	at += 7;
	return take_entries(at, end, take_entry, report);
}

static void put_rates(uint8_t **at, const struct report_answer *answer)
{
	if (!answer->rate_count)
		return;
	put(at, ENTRY_RATES, 1);
	put(at, answer->rate_count * RATE_BYTES, 1);
	for (unsigned int i = 0; i < answer->rate_count; i++) {
		put(at, answer->rates[i].id, 1);
		put(at, answer->rates[i].age_ms, 4);
		put(at, answer->rates[i].byteps, 8);
	}
}

static bool take_rates(const uint8_t *at, size_t left, struct report_answer *answer)
{
	struct report_rate *rate;

	if (!left || left % RATE_BYTES)
		return false;
	for (; left; left -= RATE_BYTES) {
		if (answer->rate_count == REPORT_PATHS_MAX)
			return false;
		rate = &answer->rates[answer->rate_count++];
		rate->id = take_number(&at, 1);
		rate->age_ms = take_number(&at, 4);
		rate->byteps = take_number(&at, 8);
		if (!report_rate_valid(rate))
			return false;
	}
	return true;
}

static bool take_answer_entry(unsigned int kind, const uint8_t *at, size_t left, void *answer)
{
	return kind != ENTRY_RATES || take_rates(at, left, answer);
}

size_t report_seal_answer(uint8_t buf[REPORT_ANSWER_MAX],
			  const struct report_keys *keys,
			  const uint8_t drawn[REPORT_SESSION_BYTES],
			  const struct report_answer *answer)
{
	uint8_t clear[ANSWER_CLEAR], nonce[REPORT_NONCE_BYTES], *at = clear;

	put_bytes(&at, answer->session, sizeof(answer->session));
	put(&at, answer->counter, 8);
	put_bytes(&at, answer->cookie, sizeof(answer->cookie));
	put(&at, answer->stamp, 8);
	put(&at, (answer->taken ? FLAG_TAKEN : 0) | (answer->conns ? FLAG_CONNS : 0), 1);
	put(&at, 0, 7);
	put_rates(&at, answer);
	hedge(nonce, keys, drawn, 0, clear, at - clear);
	return seal(buf, REPORT_TYPE_ANSWER, keys, nonce, clear, at - clear);
}

enum report_error report_open_answer(const uint8_t *buf, size_t len,
				     const struct report_keys *keys,
				     struct report_answer *answer)
{
	uint8_t clear[CLEAR_BYTES_MAX];
	const uint8_t *at = clear, *end;
	unsigned int flags;

	if (!unseal(clear, buf, len, keys, keys->answer))
		return REPORT_AUTH;
	take_bytes(&at, answer->session, sizeof(answer->session));
	answer->counter = number_of(take_number(&at, 8));
	take_bytes(&at, answer->cookie, sizeof(answer->cookie));
	answer->stamp = take_number(&at, 8);
	flags = take_number(&at, 1);
	answer->taken = flags & FLAG_TAKEN;
	answer->conns = flags & FLAG_CONNS;
	answer->rate_count = 0;
	at += 7;
	end = clear + (len - REPORT_HEADER_BYTES - REPORT_TAG_BYTES);
	return take_entries(at, end, take_answer_entry, answer);
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
