// SPDX-License-Identifier: GPL-2.0
/*
 * peer - checks each datagram that the server receives, and answers it
 *
 * Cheap checks come first. Nothing is stored before the datagram is authenticated
 * with the peer's key. session.c and held.c process the report afterwards.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "session.h"

#define HOUR_MS		3600000
/* What was measured of a path is told for so long. */
#define RATE_AGE_MS	600000

struct peers {
	struct peers_env env;
	struct peer *peers;		/* sorted by keys.id */
	unsigned int count;
	uint64_t received, established;
	uint64_t drops[DROPS];		/* datagrams that belong to no known peer */
	uint64_t forged;		/* datagrams that only have the name of a peer's key */
	struct seldom unknown;
};

static const char *drop_name(enum drop drop)
{
	static const char * const names[DROPS] = {
		[DROP_UNKNOWN_PEER] = "unknown-peer",
		[DROP_NOT_FOR_US] = "not-for-a-server",
		[DROP_REPLAY] = "replay",
		[DROP_COOKIE] = "cookie",
		[DROP_OLD] = "old",
		[DROP_RATE] = "rate",
		[DROP_CHALLENGE_RATE] = "challenge-rate",
		[DROP_NOT_ITS_PATH] = "not-its-path",
		[DROP_UNVERIFIED] = "unverified",
		[DROP_NO_CONNECTION] = "no-connection",
		[DROP_UNPROVEN] = "unproven",
		[DROP_GUESSES] = "guesses",
		[DROP_TOO_MANY_PATHS] = "too-many-paths",
		[DROP_KERNEL] = "kernel",
	};

	return drop <= DROP_REPORT_ERRORS ?
	       report_error_name((enum report_error)drop) : names[drop];
}

static int compare(const void *a, const void *b)
{
	return memcmp(((const struct peer *)a)->keys.id,
		      ((const struct peer *)b)->keys.id, REPORT_ID_BYTES);
}

static int compare_id(const void *id, const void *peer)
{
	return memcmp(id, ((const struct peer *)peer)->keys.id,
		      REPORT_ID_BYTES);
}

static struct peer *find(struct peers *peers, const uint8_t *id)
{
	return bsearch(id, peers->peers, peers->count, sizeof(struct peer),
		       compare_id);
}

struct peers *peers_new(const struct config *config,
			const struct peers_env *env)
{
	struct peers *peers = calloc(1, sizeof(*peers));

	if (!peers)
		return NULL;
	peers->env = *env;
	peers->peers = calloc(config->peer_count + 1, sizeof(struct peer));
	if (!peers->peers) {
		free(peers);
		return NULL;
	}
	for (unsigned int i = 0; i < config->peer_count; i++) {
		struct peer *peer = &peers->peers[peers->count++];

		peer->config = &config->peers[i];
		if (report_keys_derive(&peer->keys, peer->config->key)) {
			peers_free(peers);
			return NULL;
		}
		randombytes_buf(peer->secret, sizeof(peer->secret));
	}
	qsort(peers->peers, peers->count, sizeof(struct peer), compare);
	return peers;
}

void peers_free(struct peers *peers)
{
	if (!peers)
		return;
	for (unsigned int i = 0; i < peers->count; i++) {
		conns_free(&peers->peers[i]);
		for (unsigned int j = 0; j < SESSIONS_MAX; j++) {
			struct session *session = peers->peers[i].sessions[j];

			if (session)
				sodium_memzero(session, sizeof(*session));
			free(session);
		}
		free(peers->peers[i].held);
		free(peers->peers[i].askers.list);
	}
	sodium_memzero(peers->peers, peers->count * sizeof(struct peer));
	free(peers->peers);
	free(peers);
}

static bool has_same_rights(const struct peer_config *config,
			    const struct peer_config *next)
{
	return !sodium_memcmp(next->key, config->key, REPORT_KEY_BYTES) &&
	       next->source == config->source &&
	       next->prefix_count == config->prefix_count &&
	       !memcmp(next->prefixes, config->prefixes,
		       next->prefix_count * sizeof(*next->prefixes));
}

/* Let the module know what was set for this peer. */
static void flush(struct peers *peers, struct peer *peer)
{
	peer->drops[DROP_KERNEL] += peers->env.flush(peers->env.arg);
}

void peers_revoke(struct peers *peers, const struct config *next, uint64_t ms)
{
	for (unsigned int i = 0; i < peers->count; i++) {
		struct peer *peer = &peers->peers[i];
		bool stays = false;

		for (unsigned int j = 0; j < next->peer_count; j++)
			stays |= has_same_rights(peer->config, &next->peers[j]);
		if (!stays)
			held_drop_all(peer, &peers->env, ms);
		flush(peers, peer);
	}
}

unsigned int peers_count(const struct peers *peers)
{
	return peers->count;
}

const struct report_keys *peers_keys(const struct peers *peers, unsigned int index)
{
	return &peers->peers[index].keys;
}

uint64_t peers_junk(const struct peers *peers, bool forged)
{
	uint64_t junk = forged ? peers->forged : 0;

	for (unsigned int i = 0; i < DROPS; i++)
		junk += peers->drops[i];
	return junk;
}

uint64_t peers_established(const struct peers *peers)
{
	return peers->established;
}

unsigned int peers_sessions(const struct peers *peers, const uint8_t **ids, unsigned int most)
{
	unsigned int count = 0;

	for (unsigned int i = 0; i < peers->count; i++)
		for (unsigned int j = 0; j < SESSIONS_MAX && count < most; j++)
			if (peers->peers[i].sessions[j])
				ids[count++] = peers->peers[i].sessions[j]->id;
	return count;
}

void peers_feed(struct peers *peers, uint64_t ms)
{
	for (unsigned int i = 0; i < peers->count; i++) {
		held_feed(&peers->peers[i], &peers->env, ms);
		flush(peers, &peers->peers[i]);
	}
}

/* --- answers --- */

static void add_rates(struct report_answer *answer, const struct session *session,
		      unsigned int room, uint64_t ms)
{
	for (unsigned int id = 0; id < REPORT_PATHS_MAX && answer->rate_count < room; id++) {
		const struct held_path *path = &session->paths[id];
		struct report_rate rate = { id, ms - path->rate_ms, path->rate_byteps };

		if (ms - path->rate_ms <= RATE_AGE_MS && report_rate_valid(&rate))
			answer->rates[answer->rate_count++] = rate;
	}
}

/* report: NULL: it isn't taken */
static size_t answer(const struct peer *peer, const struct session *session,
		     const struct report_header *header, const struct report *report,
		     const union address *from, uint64_t ms,
		     uint8_t buf[REPORT_ANSWER_MAX])
{
	struct report_answer answer = {
		.counter = header->counter,
		.stamp = ms,
		.taken = report,
		.conns = true,
	};
	uint8_t drawn[REPORT_SESSION_BYTES];

	memcpy(answer.session, header->session, REPORT_SESSION_BYTES);
	session_cookie(peer, session, header->session, from, answer.cookie);
	if (report)
		add_rates(&answer, session, report->rates_max, ms);
	randombytes_buf(drawn, sizeof(drawn));
	return report_seal_answer(buf, &peer->keys, drawn, &answer);
}

/* Answer a refused report with the cookie and the stamp that its sender has to put in the next. */
static size_t challenge(struct peer *peer, const struct session *session,
			const struct report_header *header,
			const union address *from, uint64_t us,
			uint8_t buf[REPORT_ANSWER_MAX])
{
	if (!session_may_ask(peer, header, us)) {
		peer->drops[DROP_CHALLENGE_RATE]++;
		return 0;
	}
	peer->challenged++;
	return answer(peer, session, header, NULL, from, us / 1000, buf);
}

/*
 * Log once an hour that a peer speaks another version of the protocol. Its report can't be
 * decrypted, but a key has the same id in all versions, so the peer is known.
 */
static void say_version(struct peers *peers,
			const struct report_header *header, unsigned int version,
			const union address *from, uint64_t ms)
{
	struct peer *peer = find(peers, header->id);
	char text[ADDRESS_TEXT];

	if (!peer) {
		peers->drops[REPORT_VERSION_UNKNOWN]++;
		return;
	}
	peer->drops[REPORT_VERSION_UNKNOWN]++;
	peers->forged++;
	if (peer->version_said_ms && ms - peer->version_said_ms < HOUR_MS)
		return;
	peer->version_said_ms = ms;
	say("peer '%s' at %s speaks version %u of the report protocol, this is "
	    "version %u: its reports are ignored until pamsd is the same at "
	    "both ends", peer->config->name, address_text(text, from), version,
	    REPORT_VERSION);
}

/* --- processing a datagram --- */

/*
 * Establish a new session if its first authentic report has the right cookie and echoes a
 * recent stamp. Returns NULL if it hasn't.
 */
static struct session *begin(struct peers *peers, struct peer *peer,
			     const struct report_header *header,
			     const struct report *report,
			     const union address *from, uint64_t ms)
{
	uint8_t right[REPORT_COOKIE_BYTES];
	struct session *replaced;

	session_cookie(peer, NULL, header->session, from, right);
	if (sodium_memcmp(right, report->cookie, REPORT_COOKIE_BYTES)) {
		peer->drops[DROP_COOKIE]++;
		return NULL;
	}
	if (!session_echoes(report, ms)) {
		peer->drops[DROP_OLD]++;
		return NULL;
	}
	replaced = session_replaced(peer);
	if (replaced)
		held_drop(peer, &peers->env, replaced, ms);
	peers->established++;
	return session_establish(peer, header, report, ms);
}

static size_t take_report(struct peers *peers, struct peer *peer,
			  struct session *session,
			  const struct report_header *header,
			  const struct report *report,
			  const union address *from, uint64_t us,
			  uint8_t buf[REPORT_ANSWER_MAX])
{
	uint8_t right[REPORT_COOKIE_BYTES];
	uint64_t ms = us / 1000;
	int64_t age_ms;
	bool verified;

	age_ms = session_age(session, report, ms);
	if (age_ms < 0) {
		peer->drops[DROP_OLD]++;
		return challenge(peer, session, header, from, us, buf);
	}
	report_window_take(&session->window, header->counter);
	if (!bucket_take(&peer->reports, peer->config->rate_ps,
			 peer->config->rate_ps, us)) {
		peer->drops[DROP_RATE]++;
		return 0;
	}
	session_cookie(peer, session, header->session, from, right);
	verified = !sodium_memcmp(right, report->cookie, REPORT_COOKIE_BYTES);
	peer->accepted++;
	peer->accepted_ms = ms;
	peer->from = *from;
	session->heard_ms = ms;
	session->from = *from;
	session_watch(peer, session, age_ms, ms);
	held_take(peer, &peers->env, session, report, header->counter, from,
		  verified, age_ms, ms);
	flush(peers, peer);
	session->wants_rates |= report->rates_max;
	conns_measure(session, &peers->env, ms);
	if (!report->acknowledge && verified)
		return 0;
	peer->acknowledged++;
	return answer(peer, session, header, report, from, ms, buf);
}

size_t peers_receive(struct peers *peers, const uint8_t *buf, size_t len,
		     const union address *from, uint64_t us,
		     uint8_t answer_buf[REPORT_ANSWER_MAX])
{
	struct report_header header;
	struct session *session;
	struct report report;
	enum report_error error;
	char text[ADDRESS_TEXT];
	struct peer *peer;

	peers->received++;
	error = report_peek(buf, len, &header);
	if (error == REPORT_VERSION_UNKNOWN) {
		say_version(peers, &header, buf[4], from, us / 1000);
		return 0;
	}
	if (error) {
		peers->drops[error]++;
		return 0;
	}
	if (header.type != REPORT_TYPE_REPORT) {
		peers->drops[DROP_NOT_FOR_US]++;
		return 0;
	}
	peer = find(peers, header.id);
	if (!peer) {
		peers->drops[DROP_UNKNOWN_PEER]++;
		say_seldom(&peers->unknown, "a report from %s has a key that "
			   "no peer has: is it the same at both ends?",
			   address_text(text, from));
		return 0;
	}
	session = session_find(peer, header.session);
	if ((session && !report_window_fresh(&session->window, header.counter)) ||
	    session_was_refused(peer, &header)) {
		peer->drops[DROP_REPLAY]++;
		return 0;
	}
	error = report_open(buf, len, &peer->keys, &report);
	if (error) {
		peer->drops[error]++;
		peers->forged += error == REPORT_AUTH;
		return 0;
	}
	if (!session) {
		session = begin(peers, peer, &header, &report, from, us / 1000);
		if (!session)
			return challenge(peer, NULL, &header, from, us,
					 answer_buf);
	}
	return take_report(peers, peer, session, &header, &report, from, us,
			   answer_buf);
}

/* --- status --- */

static json_t *drops_status(const uint64_t drops[DROPS])
{
	json_t *object = json_object();

	for (unsigned int i = 1; i < DROPS; i++)
		if (drops[i])
			json_object_set_new(object, drop_name(i),
					    json_integer(drops[i]));
	return object;
}

static json_t *peer_status(const struct peer *peer, uint64_t ms)
{
	char text[ADDRESS_TEXT];
	json_t *object;

	object = json_pack("{s:s, s:I, s:I, s:I, s:I, s:i, s:o, s:o}",
			   "name", peer->config->name,
			   "sessions", (json_int_t)peer->established,
			   "challenged", (json_int_t)peer->challenged,
			   "acknowledged", (json_int_t)peer->acknowledged,
			   "accepted", (json_int_t)peer->accepted,
			   "connections", peer->conn_count,
			   "dropped", drops_status(peer->drops),
			   "paths", held_status(peer, ms));
	if (peer->accepted) {
		json_object_set_new(object, "from",
				    json_string(address_text(text,
							     &peer->from)));
		json_object_set_new(object, "age_ms",
				    json_integer(ms - peer->accepted_ms));
	}
	return object;
}

json_t *peers_status(const struct peers *peers, uint64_t ms)
{
	json_t *list = json_array();

	for (unsigned int i = 0; i < peers->count; i++)
		json_array_append_new(list, peer_status(&peers->peers[i], ms));
	return json_pack("{s:I, s:o, s:o}",
			 "received", (json_int_t)peers->received,
			 "dropped", drops_status(peers->drops),
			 "peers", list);
}
