// SPDX-License-Identifier: GPL-2.0
/*
 * peer - those who report to this server: sessions, limits, what they may say
 *
 * A session is known once one of its reports has brought the cookie that this
 * process has made up for it. So nothing has to be stored over a restart, and
 * no clock to be right: what was recorded before fails on the cookie.
 */
#include <errno.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>
#include <sodium.h>

#include <linux/mptcp_pams.h>

#include "../lib/netlink.h"
#include "pamsd.h"

/* What a peer may have the server remember. */
#define FED_MAX		64
#define LEARNT_MAX	REPORT_PATHS_MAX

/*
 * Answers to unknown sessions. A replayed report can call for one, too; ten a
 * second leave room for the peer's own beside those.
 */
#define CHALLENGES_PS	10

/* A path that the kernel was told of. */
struct fed {
	struct prefix prefix;
	uint16_t port;
	uint64_t pipe_until_ms;		/* 0: no pipe */
	uint64_t loss_until_ms;		/* 0: no loss */
	uint64_t loss_at_ms;
	uint32_t loss_ttl_ms;		/* as it was said, 0 for the default */
	struct report_path pipe;
};

struct learnt {
	bool used;
	uint8_t id;
	struct prefix prefix;
};

struct peer {
	const struct peer_config *config;
	struct report_keys keys;
	uint8_t secret[crypto_generichash_KEYBYTES];	/* of cookies */
	bool established;
	uint8_t session[REPORT_SESSION_BYTES];
	uint8_t cookie[REPORT_COOKIE_BYTES];
	struct report_window window;
	struct bucket reports, challenges;
	struct learnt learnt[LEARNT_MAX];
	unsigned int learnt_next;	/* is given away when all are used */
	struct fed *fed;
	unsigned int fed_count;
	union address from;		/* of the last report */
	uint64_t accepted, challenged, sessions, accepted_ms;
	uint64_t drops[DROPS];
};

struct peers {
	struct kernel *kernel;
	struct peer *peers;		/* sorted by keys.id */
	unsigned int count;
	uint64_t received;
	uint64_t drops[DROPS];		/* of nobody in particular */
	struct seldom unknown;
};

static const char *drop_name(enum drop drop)
{
	static const char * const names[DROPS] = {
		[DROP_UNKNOWN_PEER] = "unknown-peer",
		[DROP_NOT_FOR_US] = "not-for-a-server",
		[DROP_REPLAY] = "replay",
		[DROP_COOKIE] = "cookie",
		[DROP_RATE] = "rate",
		[DROP_CHALLENGE_RATE] = "challenge-rate",
		[DROP_NOT_ITS_PATH] = "not-its-path",
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

static struct peer *find(struct peers *peers, const uint8_t *id)
{
	struct peer key;

	memcpy(key.keys.id, id, REPORT_ID_BYTES);
	return bsearch(&key, peers->peers, peers->count, sizeof(key), compare);
}

struct peers *peers_new(const struct config *config, struct kernel *kernel)
{
	struct peers *peers = calloc(1, sizeof(*peers));

	if (!peers)
		return NULL;
	peers->kernel = kernel;
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
	for (unsigned int i = 0; i < peers->count; i++)
		free(peers->peers[i].fed);
	sodium_memzero(peers->peers, peers->count * sizeof(struct peer));
	free(peers->peers);
	free(peers);
}

/* --- sessions --- */

/* The cookie of a session; a function, so that a flood stores nothing. */
static void cookie_of(const struct peer *peer, const uint8_t *session,
		      uint8_t cookie[REPORT_COOKIE_BYTES])
{
	crypto_generichash(cookie, REPORT_COOKIE_BYTES, session,
			   REPORT_SESSION_BYTES, peer->secret,
			   sizeof(peer->secret));
}

static size_t challenge(struct peer *peer, const struct report_header *header,
			uint64_t us, uint8_t answer[REPORT_CHALLENGE_BYTES])
{
	struct report_challenge challenge = { .counter = header->counter };
	uint8_t nonce[REPORT_SESSION_BYTES];
	uint64_t nonce_counter;

	if (!bucket_take(&peer->challenges, CHALLENGES_PS, CHALLENGES_PS, us)) {
		peer->drops[DROP_CHALLENGE_RATE]++;
		return 0;
	}
	memcpy(challenge.session, header->session, REPORT_SESSION_BYTES);
	cookie_of(peer, header->session, challenge.cookie);
	randombytes_buf(nonce, sizeof(nonce));
	randombytes_buf(&nonce_counter, sizeof(nonce_counter));
	peer->challenged++;
	return report_seal_challenge(answer, &peer->keys, nonce, nonce_counter,
				     &challenge);
}

/*
 * Cookies of other sessions that were given out until now become worthless: of
 * all that was recorded nothing can start a session again.
 */
static void establish(struct peer *peer, const struct report_header *header,
		      const uint8_t cookie[REPORT_COOKIE_BYTES])
{
	peer->established = true;
	peer->sessions++;
	memcpy(peer->session, header->session, REPORT_SESSION_BYTES);
	memcpy(peer->cookie, cookie, REPORT_COOKIE_BYTES);
	randombytes_buf(peer->secret, sizeof(peer->secret));
	peer->window.top = header->counter;
	peer->window.seen = ~0ULL;
	memset(peer->learnt, 0, sizeof(peer->learnt));
}

static bool is_session(const struct peer *peer, const uint8_t *session)
{
	return peer->established &&
	       !memcmp(peer->session, session, REPORT_SESSION_BYTES);
}

/*
 * Is this authentic report's cookie the one of its session? If it is of a new
 * session, that is the peer's from now on.
 */
static bool check_cookie(struct peer *peer, const struct report_header *header,
			 const uint8_t cookie[REPORT_COOKIE_BYTES])
{
	uint8_t right[REPORT_COOKIE_BYTES];

	if (is_session(peer, header->session))
		return !sodium_memcmp(peer->cookie, cookie,
				      REPORT_COOKIE_BYTES);
	cookie_of(peer, header->session, right);
	if (sodium_memcmp(right, cookie, REPORT_COOKIE_BYTES))
		return false;
	establish(peer, header, cookie);
	return true;
}

/* --- which path is meant, and may it be? --- */

static void learn(struct peer *peer, uint8_t id, const struct prefix *prefix)
{
	struct learnt *free_one = NULL;

	for (unsigned int i = 0; i < LEARNT_MAX; i++) {
		struct learnt *learnt = &peer->learnt[i];

		if (learnt->used && learnt->id == id) {
			learnt->prefix = *prefix;
			return;
		}
		if (!learnt->used && !free_one)
			free_one = learnt;
	}
	if (!free_one)
		free_one = &peer->learnt[peer->learnt_next++ % LEARNT_MAX];
	free_one->used = true;
	free_one->id = id;
	free_one->prefix = *prefix;
}

static bool learnt(const struct peer *peer, uint8_t id, struct prefix *prefix)
{
	for (unsigned int i = 0; i < LEARNT_MAX; i++) {
		if (!peer->learnt[i].used || peer->learnt[i].id != id)
			continue;
		*prefix = peer->learnt[i].prefix;
		return true;
	}
	return false;
}

/* Its own are: where its reports come from, and what the configuration says. */
static bool resolve(struct peer *peer, const struct report_path *path,
		    const union address *from, struct prefix *prefix)
{
	struct prefix source;

	prefix_of(&source, from);
	switch (path->key) {
	case REPORT_KEY_SOURCE:
		learn(peer, path->id, &source);
		*prefix = source;
		return true;
	case REPORT_KEY_LEARNT:
		return learnt(peer, path->id, prefix);
	}
	memset(prefix, 0, sizeof(*prefix));
	prefix->family = path->key == REPORT_KEY_ADDRESS4 ? AF_INET : AF_INET6;
	prefix->len = path->prefix_len;
	memcpy(prefix->address, path->address, sizeof(prefix->address));
	if (prefix_contains(&source, prefix))
		return true;
	for (unsigned int i = 0; i < peer->config->prefix_count; i++)
		if (prefix_contains(&peer->config->prefixes[i], prefix))
			return true;
	return false;
}

/* --- what the kernel was told --- */

static bool holds(const struct fed *fed, uint64_t ms)
{
	return fed->pipe_until_ms > ms || fed->loss_until_ms > ms;
}

/* The entry of that path, a new one, or NULL if there are too many. */
static struct fed *fed_of(struct peer *peer, const struct prefix *prefix,
			  uint16_t port, uint64_t ms)
{
	struct fed *fed, *unused = NULL;

	for (unsigned int i = 0; i < peer->fed_count; i++) {
		fed = &peer->fed[i];
		if (fed->port == port && fed->prefix.len == prefix->len &&
		    fed->prefix.family == prefix->family &&
		    !memcmp(fed->prefix.address, prefix->address, 16))
			return fed;
		if (!holds(fed, ms))
			unused = fed;
	}
	if (!unused) {
		if (peer->fed_count == FED_MAX)
			return NULL;
		fed = realloc(peer->fed,
			      (peer->fed_count + 1) * sizeof(*peer->fed));
		if (!fed)
			return NULL;
		peer->fed = fed;
		unused = &fed[peer->fed_count++];
	}
	memset(unused, 0, sizeof(*unused));
	unused->prefix = *prefix;
	unused->port = port;
	return unused;
}

static void key_of(struct pams_path *path, const struct fed *fed)
{
	memset(path, 0, sizeof(*path));
	path->key = PAMS_KEY_ADDRESS;
	path->family = fed->prefix.family;
	memcpy(path->address, fed->prefix.address, sizeof(path->address));
	path->prefix_len = fed->prefix.len;
	path->port = fed->port;
}

static int feed_pipe(struct kernel *kernel, const struct fed *fed, uint64_t ms)
{
	struct pams_path path;

	key_of(&path, fed);
	path.has_pipe = true;
	path.rate_byteps = fed->pipe.rate_byteps;
	path.hs_rate_byteps = fed->pipe.hs_rate_byteps;
	path.backlog_bytes = fed->pipe.backlog_bytes;
	path.has_delay = fed->pipe.flags & REPORT_DELAY;
	path.delay_us = fed->pipe.delay_us;
	path.ttl_ms = fed->pipe_until_ms - ms;
	return kernel_set(kernel, &path);
}

/* Said late, a loss time is nearer; the path may be lost by now. */
static int feed_loss(struct kernel *kernel, const struct fed *fed, uint64_t ms)
{
	struct pams_path path;

	key_of(&path, fed);
	path.has_loss = true;
	path.loss_ms = fed->loss_at_ms > ms ? fed->loss_at_ms - ms : 0;
	path.ttl_ms = fed->loss_at_ms > ms ? fed->loss_ttl_ms :
					     fed->loss_until_ms - ms;
	return kernel_set(kernel, &path);
}

static int feed_no_loss(struct kernel *kernel, const struct fed *fed)
{
	struct pams_path path;

	key_of(&path, fed);
	path.no_loss = true;
	return kernel_set(kernel, &path);
}

/* Remember what is said of a path and tell the kernel; 0 or its error. */
static int feed(struct kernel *kernel, struct fed *fed,
		const struct report_path *path, uint64_t ms)
{
	int err = 0, loss_err = 0;
	uint32_t ttl_ms;

	if (path->flags & REPORT_PIPE) {
		ttl_ms = path->pipe_ttl_ms ?: MPTCP_PAMS_TTL_DEFAULT_MS;
		fed->pipe = *path;
		fed->pipe_until_ms = ms + ttl_ms;
		err = feed_pipe(kernel, fed, ms);
	}
	if (path->flags & REPORT_LOSS) {
		ttl_ms = path->loss_ttl_ms ?: MPTCP_PAMS_LOSS_TTL_DEFAULT_MS;
		fed->loss_at_ms = ms + path->loss_ms;
		fed->loss_ttl_ms = ttl_ms;
		fed->loss_until_ms = fed->loss_at_ms + ttl_ms;
		loss_err = feed_loss(kernel, fed, ms);
	} else if (path->flags & REPORT_NO_LOSS) {
		fed->loss_until_ms = 0;
		loss_err = feed_no_loss(kernel, fed);
	}
	return err ?: loss_err;
}

void peers_feed(struct peers *peers)
{
	uint64_t ms = now_ms();

	for (unsigned int i = 0; i < peers->count; i++) {
		struct peer *peer = &peers->peers[i];

		for (unsigned int j = 0; j < peer->fed_count; j++) {
			struct fed *fed = &peer->fed[j];

			if (fed->pipe_until_ms > ms)
				feed_pipe(peers->kernel, fed, ms);
			if (fed->loss_until_ms > ms)
				feed_loss(peers->kernel, fed, ms);
		}
	}
}

static void take_paths(struct peers *peers, struct peer *peer,
		       const struct report *report, const union address *from,
		       uint64_t ms)
{
	for (unsigned int i = 0; i < report->count; i++) {
		const struct report_path *path = &report->paths[i];
		struct prefix prefix;
		struct fed *fed;
		int err;

		if (!resolve(peer, path, from, &prefix)) {
			peer->drops[DROP_NOT_ITS_PATH]++;
			continue;
		}
		if (!path->flags)
			continue;
		fed = fed_of(peer, &prefix, path->port, ms);
		if (!fed) {
			peer->drops[DROP_TOO_MANY_PATHS]++;
			continue;
		}
		err = feed(peers->kernel, fed, path, ms);
		if (err && err != -ENOENT)
			peer->drops[DROP_KERNEL]++;
	}
}

/* --- the way of a datagram: the cheap checks first, the key before all --- */

size_t peers_receive(struct peers *peers, const uint8_t *buf, size_t len,
		     const union address *from,
		     uint8_t answer[REPORT_CHALLENGE_BYTES])
{
	struct report_header header;
	struct report report;
	enum report_error error;
	char text[ADDRESS_TEXT];
	struct peer *peer;
	uint64_t us = now_us();

	peers->received++;
	error = report_peek(buf, len, &header);
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
	if (is_session(peer, header.session) &&
	    !report_window_fresh(&peer->window, header.counter)) {
		peer->drops[DROP_REPLAY]++;
		return 0;
	}
	error = report_open(buf, len, &peer->keys, &report);
	if (error) {
		peer->drops[error]++;
		return 0;
	}
	if (!check_cookie(peer, &header, report.cookie)) {
		peer->drops[DROP_COOKIE]++;
		return challenge(peer, &header, us, answer);
	}
	report_window_take(&peer->window, header.counter);
	if (!bucket_take(&peer->reports, peer->config->rate_ps,
			 peer->config->rate_ps, us)) {
		peer->drops[DROP_RATE]++;
		return 0;
	}
	peer->accepted++;
	peer->accepted_ms = us / 1000;
	peer->from = *from;
	take_paths(peers, peer, &report, from, us / 1000);
	return 0;
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

static json_t *fed_status(const struct fed *fed, uint64_t ms)
{
	char text[ADDRESS_TEXT];
	json_t *object = json_pack("{s:s}", "prefix",
				   prefix_text(text, &fed->prefix));

	if (fed->port)
		json_object_set_new(object, "port", json_integer(fed->port));
	if (fed->pipe_until_ms > ms) {
		json_object_set_new(object, "rate_byteps",
				    json_integer(fed->pipe.rate_byteps));
		json_object_set_new(object, "backlog_bytes",
				    json_integer(fed->pipe.backlog_bytes));
	}
	if (fed->loss_until_ms > ms)
		json_object_set_new(object, "loss_ms",
				    json_integer((json_int_t)fed->loss_at_ms -
						 (json_int_t)ms));
	return object;
}

static json_t *peer_status(const struct peer *peer)
{
	json_t *paths = json_array(), *object;
	char text[ADDRESS_TEXT];
	uint64_t ms = now_ms();

	for (unsigned int i = 0; i < peer->fed_count; i++)
		if (holds(&peer->fed[i], ms))
			json_array_append_new(paths,
					      fed_status(&peer->fed[i], ms));
	object = json_pack("{s:s, s:I, s:I, s:I, s:o, s:o}",
			   "name", peer->config->name,
			   "sessions", (json_int_t)peer->sessions,
			   "challenged", (json_int_t)peer->challenged,
			   "accepted", (json_int_t)peer->accepted,
			   "dropped", drops_status(peer->drops),
			   "paths", paths);
	if (peer->accepted) {
		json_object_set_new(object, "from",
				    json_string(address_text(text,
							     &peer->from)));
		json_object_set_new(object, "age_ms",
				    json_integer(ms - peer->accepted_ms));
	}
	return object;
}

json_t *peers_status(const struct peers *peers)
{
	json_t *list = json_array();

	for (unsigned int i = 0; i < peers->count; i++)
		json_array_append_new(list, peer_status(&peers->peers[i]));
	return json_pack("{s:I, s:o, s:o}",
			 "received", (json_int_t)peers->received,
			 "dropped", drops_status(peers->drops),
			 "peers", list);
}
