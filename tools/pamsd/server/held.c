// SPDX-License-Identifier: GPL-2.0
/*
 * held - the paths that a peer has reported, and their names
 *
 * A session has up to 16 paths, each with the state of its newest report. A path
 * is identified by names: subflows, prefixes, a source address. A name belongs to
 * one path at a time, the one that a report used it for last. A reporter that has
 * learnt of it sends subflows as connections instead (conns.c).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include <linux/mptcp_pams.h>

#include "session.h"

#define HELD_MAX	128	/* names per peer */
#define PIPE_MAX_MS	60000
#define HOUR_MS		3600000
/* A name that no report had for this time makes room: while data flows one comes each second. */
#define UNNAMED_MS	1500

/* --- which names a peer may use --- */

static bool owns(const struct peer *peer, const struct pams_path *key)
{
	struct prefix prefix = { .family = key->family,
				 .len = key->prefix_len };

	memcpy(prefix.address, key->address, sizeof(prefix.address));
	for (unsigned int i = 0; i < peer->config->prefix_count; i++)
		if (prefix_contains(&peer->config->prefixes[i], &prefix))
			return true;
	return false;
}

/* --- names and their paths --- */

/* Nothing is told under a subflow's name before the module has said that it is the peer's. */
static void tell_kernel(struct peer *peer, const struct peers_env *env,
			struct held *held, uint64_t ms)
{
	if (!held->unsure)
		told_update(peer, env, &held->key, &held->told,
			    &held->session->paths[held->id], ms);
}

static void withdraw(struct peer *peer, const struct peers_env *env,
		     struct held *held, uint64_t ms)
{
	told_withdraw(peer, env, &held->key, &held->told, ms);
	memset(held, 0, sizeof(*held));
}

static struct held *find(const struct peer *peer, const struct pams_path *key)
{
	for (unsigned int i = 0; i < peer->held_count; i++)
		if (peer->held[i].session &&
		    !memcmp(&peer->held[i].key, key, sizeof(*key)))
			return &peer->held[i];
	return NULL;
}

static bool holds(const struct held_path *path, uint64_t ms)
{
	return path->pipe_until_ms > ms || path->loss_until_ms > ms ||
	       path->cost_until_ms > ms;
}

/*
 * When a name that makes room was last of use; the older, the sooner it goes. UINT64_MAX: it
 * stays. If it is named still, it goes only for a name under which a state holds.
 */
static uint64_t useful_ms(const struct held *held, const struct session *session,
			  bool with_state, uint64_t ms)
{
	if (!with_state && ms - held->named_ms < UNNAMED_MS)
		return UINT64_MAX;
	if (!holds(&held->session->paths[held->id], ms))
		return 0;
	return held->session != session ? held->session->heard_ms : UINT64_MAX;
}

/*
 * Find a place for a name of that path: one that is free, or if there is none, that of a name
 * whose path has no valid state any more, or else of the session from which no report came for
 * the longest time.
 */
static struct held *find_place(const struct peer *peer, const struct session *session,
			       uint8_t id, uint64_t ms)
{
	bool with_state = holds(&session->paths[id], ms);
	uint64_t spare_ms = UINT64_MAX, that_ms;
	struct held *spare = NULL;

	for (unsigned int i = 0; i < peer->held_count; i++) {
		struct held *held = &peer->held[i];

		if (!held->session)
			return held;
		that_ms = useful_ms(held, session, with_state, ms);
		if (that_ms >= spare_ms)
			continue;
		spare_ms = that_ms;
		spare = held;
	}
	return spare;
}

static struct held *grow(struct peer *peer)
{
	struct held *grown;

	grown = realloc(peer->held, (peer->held_count + 1) * sizeof(*grown));
	if (!grown)
		return NULL;
	peer->held = grown;
	grown = &peer->held[peer->held_count++];
	memset(grown, 0, sizeof(*grown));
	return grown;
}

/* Take a place for a name, which may push another one out. */
static struct held *take_place(struct peer *peer, const struct peers_env *env,
			       const struct session *session, uint8_t id, uint64_t ms)
{
	struct held *place = find_place(peer, session, id, ms);

	if (place && !place->session)
		return place;
	if (peer->held_count < HELD_MAX)
		return grow(peer);
	if (place)
		withdraw(peer, env, place, ms);
	return place;
}

static bool has_place(const struct peer *peer, const struct session *session, uint8_t id,
		      uint64_t ms)
{
	return peer->held_count < HELD_MAX || find_place(peer, session, id, ms);
}

/* Is this session's state of the path older than what another session has said under the name? */
static bool is_overtaken(const struct held *held, const struct session *session,
			 uint8_t id)
{
	return held->session != session &&
	       session_overtook(held->session->paths[held->id].sent_ms,
				session->paths[id].sent_ms);
}

/*
 * Make this a name of that path. proof: of a subflow, which the kernel has to confirm once, and
 * isn't asked for if there is no place.
 */
static void claim(struct peer *peer, const struct peers_env *env,
		  struct session *session, uint8_t id,
		  const struct pams_path *key, uint32_t proof, uint64_t ms)
{
	struct held *held = find(peer, key);
	enum owned owned = OWNED_YES;

	if (!held && !has_place(peer, session, id, ms)) {
		peer->drops[DROP_TOO_MANY_PATHS]++;
		return;
	}
	if (key->key == PAMS_KEY_TOKEN && (!held || held->unsure)) {
		owned = owned_subflow(peer, env, key, proof, ms);
		if (owned == OWNED_NO)
			return;
		/* a module that was just loaded, and held_feed() may have dropped it */
		held = find(peer, key);
	}
	if (held && is_overtaken(held, session, id))
		return;
	if (!held) {
		held = take_place(peer, env, session, id, ms);
		if (!held) {
			peer->drops[DROP_TOO_MANY_PATHS]++;
			return;
		}
		held->key = *key;
		held->proof = proof;
	}
	held->unsure = owned == OWNED_UNSURE;
	held->session = session;
	held->id = id;
	held->named_ms = ms;
	held->marked = false;
}

static void key_of(struct pams_path *key, const struct report_name *name)
{
	memset(key, 0, sizeof(*key));
	if (name->kind == REPORT_NAME_SUBFLOW) {
		pams_path_key_token(key, name->token, name->local_id,
				    name->remote_id);
		return;
	}
	key->key = PAMS_KEY_ADDRESS;
	key->family = name->ipv6 ? AF_INET6 : AF_INET;
	memcpy(key->address, name->address, sizeof(key->address));
	key->prefix_len = name->prefix_len;
	key->port = name->port;
}

static void source_key(struct pams_path *key, const union address *from,
		       uint16_t port)
{
	struct prefix prefix;

	prefix_of(&prefix, from);
	memset(key, 0, sizeof(*key));
	key->key = PAMS_KEY_ADDRESS;
	key->family = prefix.family;
	memcpy(key->address, prefix.address, sizeof(key->address));
	key->prefix_len = prefix.len;
	key->port = port;
}

/* Log once an hour that the peer's pamsd is older than the proof of connections. */
static void say_unproven(struct peer *peer, uint64_t ms)
{
	if (peer->unproven_said_ms && ms - peer->unproven_said_ms < HOUR_MS)
		return;
	peer->unproven_said_ms = ms;
	say("peer '%s' doesn't prove that the connections which it names are its "
	    "own, so these names don't count: its pamsd is older than this one. "
	    "Until it is updated its addresses count, with prefixes or "
	    "source = true", peer->config->name);
}

/* May the peer use this name? The kernel is asked for subflows later. */
static bool may_name(struct peer *peer, const struct report_name *name,
		     const struct pams_path *key, uint64_t ms)
{
	if (name->kind == REPORT_NAME_PREFIX && !owns(peer, key)) {
		peer->drops[DROP_NOT_ITS_PATH]++;
		return false;
	}
	if (name->kind == REPORT_NAME_SUBFLOW && !name->proven) {
		peer->drops[DROP_UNPROVEN]++;
		say_unproven(peer, ms);
		return false;
	}
	return true;
}

/* Replace the path's names by those of the report. */
static void take_names(struct peer *peer, const struct peers_env *env,
		       struct session *session, uint8_t id,
		       const struct report *report, uint64_t ms)
{
	const struct held_path *path = &session->paths[id];
	struct pams_path key;

	for (unsigned int i = 0; i < peer->held_count; i++)
		peer->held[i].marked = peer->held[i].session == session &&
				       peer->held[i].id == id;
	for (unsigned int i = 0; i < report->name_count; i++) {
		const struct report_name *name = &report->names[i];

		if (name->id != id || name->kind == REPORT_NAME_SOURCE)
			continue;
		key_of(&key, name);
		if (may_name(peer, name, &key, ms))
			claim(peer, env, session, id, &key, name->proof, ms);
	}
	if (path->state.flags & REPORT_BY_SOURCE && path->source_counter)
		claim(peer, env, session, id, &path->source, 0, ms);
	for (unsigned int i = 0; i < peer->held_count; i++)
		if (peer->held[i].marked)
			withdraw(peer, env, &peer->held[i], ms);
}

/* Log once an hour that a path with a state has no name that the peer may use. */
static void say_nameless(struct peer *peer, const struct session *session,
			 uint8_t id, uint64_t ms)
{
	const struct held_path *path = &session->paths[id];
	char text[ADDRESS_TEXT];

	if (!path->refused.sa.sa_family ||
	    !(path->state.flags & (REPORT_PIPE | REPORT_LOSS |
				    REPORT_COST)) ||
	    (peer->source_said_ms && ms - peer->source_said_ms < HOUR_MS))
		return;
	for (unsigned int i = 0; i < peer->held_count; i++)
		if (peer->held[i].session == session && peer->held[i].id == id)
			return;
	if (conns_over(session, id))
		return;
	peer->source_said_ms = ms;
	say("peer '%s' reports about a path that can't be found here: it names no "
	    "subflow of a connection, and the address it reports from, %s, "
	    "counts only with prefixes or source = true", peer->config->name,
	    address_text(text, &path->refused));
}

static void tell_path(struct peer *peer, const struct peers_env *env,
		      struct session *session, uint8_t id, uint64_t ms)
{
	for (unsigned int i = 0; i < peer->held_count; i++) {
		struct held *held = &peer->held[i];

		if (held->session == session && held->id == id)
			tell_kernel(peer, env, held, ms);
	}
	conns_tell(peer, env, session, id, ms);
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/*
 * Store the state of a report. A loss ends after the configured loss-max-s, counted from now. A
 * loss that begins later than that is ignored; later reports will repeat it.
 */
static void take_state(struct held_path *path, const struct report_path *state,
		       const struct peer_config *config, uint64_t counter,
		       int64_t age_ms, uint64_t ms)
{
	uint64_t cap_ms = ms + config->loss_max_s * 1000ULL;
	int64_t sent_ms = (int64_t)ms - age_ms, until_ms;

	path->counter = counter;
	path->sent_ms = sent_ms;
	path->state = *state;
	path->pipe_until_ms = 0;
	path->loss_until_ms = 0;
	path->cost_until_ms = state->cost ? ms + COST_MS : 0;
	if (state->flags & REPORT_PIPE)
		path->pipe_until_ms = ms +
			least(state->pipe_ttl_ms ?: MPTCP_PAMS_TTL_DEFAULT_MS,
			      PIPE_MAX_MS);
	if (!(state->flags & REPORT_LOSS))
		return;
	path->loss_at_ms = sent_ms + state->loss_ms;
	until_ms = path->loss_at_ms + (state->loss_ttl_ms ?:
				       MPTCP_PAMS_LOSS_TTL_DEFAULT_MS);
	if (until_ms > (int64_t)ms && path->loss_at_ms <= (int64_t)cap_ms)
		path->loss_until_ms = least(until_ms, cap_ms);
}

static void take_path(struct peer *peer, const struct peers_env *env,
		      struct session *session, const struct report *report,
		      const struct report_path *state, uint64_t counter,
		      int64_t age_ms, uint64_t ms)
{
	struct held_path *path = &session->paths[state->id];

	if (counter <= path->counter)
		return;
	take_state(path, state, peer->config, counter, age_ms, ms);
	take_names(peer, env, session, state->id, report, ms);
	tell_path(peer, env, session, state->id, ms);
	say_nameless(peer, session, state->id, ms);
}

/* Take the source address as a name, if it is allowed: other hosts share it behind NAT. */
static void take_source(struct peer *peer, const struct peers_env *env,
			struct session *session, const struct report_name *name,
			uint64_t counter, const union address *from,
			uint64_t ms)
{
	struct held_path *path = &session->paths[name->id];
	struct pams_path key;
	struct held *old;

	if (counter <= path->source_counter)
		return;
	source_key(&key, from, name->port);
	if (!peer->config->source && !owns(peer, &key)) {
		peer->drops[DROP_NOT_ITS_PATH]++;
		path->refused = *from;
		return;
	}
	old = path->source_counter ? find(peer, &path->source) : NULL;
	if (old && old->session == session && old->id == name->id &&
	    memcmp(&path->source, &key, sizeof(key)))
		withdraw(peer, env, old, ms);
	path->source_counter = counter;
	path->source = key;
	if (path->state.flags & REPORT_BY_SOURCE) {
		claim(peer, env, session, name->id, &key, 0, ms);
		tell_path(peer, env, session, name->id, ms);
	}
}

void held_take(struct peer *peer, const struct peers_env *env,
	       struct session *session, const struct report *report,
	       uint64_t counter, const union address *from, bool verified,
	       int64_t age_ms, uint64_t ms)
{
	for (unsigned int i = 0; i < report->name_count; i++) {
		if (report->names[i].kind != REPORT_NAME_SOURCE)
			continue;
		if (verified)
			take_source(peer, env, session, &report->names[i],
				    counter, from, ms);
		else
			peer->drops[DROP_UNVERIFIED]++;
	}
	for (unsigned int i = 0; i < report->path_count; i++)
		take_path(peer, env, session, report, &report->paths[i],
			  counter, age_ms, ms);
	conns_take(peer, env, session, report, counter, age_ms, ms);
}

void held_drop(struct peer *peer, const struct peers_env *env,
	       struct session *session, uint64_t ms)
{
	for (unsigned int i = 0; i < peer->held_count; i++)
		if (peer->held[i].session == session)
			withdraw(peer, env, &peer->held[i], ms);
	conns_drop(peer, env, session, ms);
}

void held_drop_all(struct peer *peer, const struct peers_env *env, uint64_t ms)
{
	for (unsigned int i = 0; i < peer->held_count; i++)
		withdraw(peer, env, &peer->held[i], ms);
	for (unsigned int i = 0; i < SESSIONS_MAX; i++)
		if (peer->sessions[i])
			conns_drop(peer, env, peer->sessions[i], ms);
}

/* Returns false if the subflow turned out not to be the peer's. */
static bool ask_again(struct peer *peer, const struct peers_env *env, struct held *held,
		      uint64_t ms)
{
	enum owned owned = owned_subflow(peer, env, &held->key, held->proof, ms);

	held->unsure = owned == OWNED_UNSURE;
	return owned != OWNED_NO;
}

/* A module that was just loaded has no paths; now it can also be asked for unsure subflows. */
void held_feed(struct peer *peer, const struct peers_env *env, uint64_t ms)
{
	for (unsigned int i = 0; i < peer->held_count; i++) {
		struct held *held = &peer->held[i];

		told_forget(&held->told);
		if (!held->session)
			continue;
		if (held->unsure && !ask_again(peer, env, held, ms))
			memset(held, 0, sizeof(*held));
		else
			tell_kernel(peer, env, held, ms);
	}
	for (unsigned int i = 0; i < SESSIONS_MAX; i++)
		if (peer->sessions[i])
			conns_feed(peer, env, peer->sessions[i], ms);
}

/* --- status --- */

static json_t *name_status(const struct held *held)
{
	struct prefix prefix = { .family = held->key.family,
				 .len = held->key.prefix_len };
	char text[ADDRESS_TEXT];
	json_t *object;

	if (held->key.key == PAMS_KEY_TOKEN)
		return json_pack("{s:I, s:i, s:i}", "token",
				 (json_int_t)held->key.token, "local_id",
				 held->key.local_id, "remote_id",
				 held->key.remote_id);
	memcpy(prefix.address, held->key.address, sizeof(prefix.address));
	object = json_pack("{s:s}", "prefix", prefix_text(text, &prefix));
	if (held->key.port)
		json_object_set_new(object, "port",
				    json_integer(held->key.port));
	return object;
}

static void add_number(json_t *object, const char *name, json_int_t value)
{
	json_object_set_new(object, name, json_integer(value));
}

/* Add the state of a path to the names that it has. */
static json_t *with_state(json_t *object, const struct held_path *path, uint64_t ms)
{
	if (path->pipe_until_ms > ms) {
		add_number(object, "rate_byteps", path->state.rate_byteps);
		add_number(object, "backlog_bytes", path->state.backlog_bytes);
	}
	if (path->loss_until_ms > ms)
		add_number(object, "loss_ms", path->loss_at_ms - (int64_t)ms);
	if (path->loss_until_ms > ms && path->state.loss_spread_ms)
		add_number(object, "spread_ms", path->state.loss_spread_ms);
	if (path->cost_until_ms > ms)
		add_number(object, "cost", path->state.cost);
	return object;
}

/* Of the connections only how many subflows they have over each path. */
static void add_conns(json_t *paths, const struct session *session, uint64_t ms)
{
	unsigned int count;

	for (unsigned int id = 0; id < REPORT_PATHS_MAX; id++) {
		const struct held_path *path = &session->paths[id];

		count = holds(path, ms) ? conns_over(session, id) : 0;
		if (count)
			json_array_append_new(paths,
					      with_state(json_pack("{s:i}", "subflows", count),
							 path, ms));
	}
}

json_t *held_status(const struct peer *peer, uint64_t ms)
{
	json_t *paths = json_array();

	for (unsigned int i = 0; i < peer->held_count; i++) {
		const struct held *held = &peer->held[i];
		const struct held_path *path;

		if (!held->session)
			continue;
		path = &held->session->paths[held->id];
		if (holds(path, ms))
			json_array_append_new(paths, with_state(name_status(held), path, ms));
	}
	for (unsigned int i = 0; i < SESSIONS_MAX; i++)
		if (peer->sessions[i])
			add_conns(paths, peer->sessions[i], ms);
	return paths;
}
