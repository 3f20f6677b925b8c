// SPDX-License-Identifier: GPL-2.0
/*
 * conns - the connections of a peer, and which of their subflows goes over which path
 *
 * A reporter says once of each connection which path each subflow takes; what it
 * says of a path later counts for all of them. So a report of a lost link is small,
 * however many connections there are, and the module is asked once for each. They
 * are found by the server's token, and belong to the session that named them last.
 */
#include <stdlib.h>
#include <string.h>

#include "session.h"

#define CONNS_MAX	16384	/* of a peer */
#define BUCKETS		8192
/* So many connections are measured, those that were named last, and so often. */
#define MEASURED_MAX	16
#define MEASURE_MS	1000

/* A subflow, and what was set in the module under its name. */
struct flow {
	uint8_t id;		/* of the path */
	uint8_t local_id, remote_id;
	struct told told;
};

struct conn {
	LIST_ENTRY(conn) in_table, in_session;
	struct session *session;
	uint32_t token, proof;
	uint64_t counter;	/* of the report that this is from */
	int64_t sent_ms;	/* when that was sent, by our clock */
	bool unsure;		/* the module has to be asked whose it is */
	uint8_t count;
	struct flow flows[];
};

/* --- the table --- */

/* Tokens are anything that a peer likes, so the hash has a key. */
static struct conn_list *bucket_of(const struct peer *peer, uint32_t token)
{
	uint64_t hash;

	static_assert(sizeof(hash) == crypto_shorthash_BYTES, "hash");
	crypto_shorthash((uint8_t *)&hash, (const uint8_t *)&token, sizeof(token),
			 peer->conn_key);
	return &peer->conns[hash % BUCKETS];
}

static struct conn *find(const struct peer *peer, uint32_t token)
{
	struct conn *conn;

	if (!peer->conns)
		return NULL;
	LIST_FOREACH(conn, bucket_of(peer, token), in_table)
		if (conn->token == token)
			return conn;
	return NULL;
}

static void unlink_conn(struct peer *peer, struct conn *conn)
{
	LIST_REMOVE(conn, in_table);
	LIST_REMOVE(conn, in_session);
	peer->conn_count--;
}

static void link_conn(struct peer *peer, struct conn *conn)
{
	struct session *session = conn->session;

	LIST_INSERT_HEAD(bucket_of(peer, conn->token), conn, in_table);
	LIST_INSERT_HEAD(conn->unsure ? &session->unsure : &session->conns, conn, in_session);
	peer->conn_count++;
}

static bool open_table(struct peer *peer)
{
	if (peer->conns)
		return true;
	peer->conns = calloc(BUCKETS, sizeof(*peer->conns));
	randombytes_buf(peer->conn_key, sizeof(peer->conn_key));
	return peer->conns;
}

/* --- telling the module --- */

static void key_of(struct pams_path *key, const struct conn *conn, const struct flow *flow)
{
	memset(key, 0, sizeof(*key));
	pams_path_key_token(key, conn->token, flow->local_id, flow->remote_id);
}

static void tell(struct peer *peer, const struct peers_env *env, struct conn *conn,
		 struct flow *flow, uint64_t ms)
{
	struct pams_path key;

	if (conn->unsure)
		return;
	key_of(&key, conn, flow);
	told_update(peer, env, &key, &flow->told, &conn->session->paths[flow->id], ms);
}

static void tell_all(struct peer *peer, const struct peers_env *env, struct conn *conn,
		     uint64_t ms)
{
	for (unsigned int i = 0; i < conn->count; i++)
		tell(peer, env, conn, &conn->flows[i], ms);
}

static void withdraw(struct peer *peer, const struct peers_env *env, const struct conn *conn,
		     const struct flow *flow, uint64_t ms)
{
	struct pams_path key;

	key_of(&key, conn, flow);
	told_withdraw(peer, env, &key, &flow->told, ms);
}

static void drop(struct peer *peer, const struct peers_env *env, struct conn *conn, uint64_t ms)
{
	unlink_conn(peer, conn);
	for (unsigned int i = 0; i < conn->count; i++)
		withdraw(peer, env, conn, &conn->flows[i], ms);
	free(conn);
}

/* --- a report --- */

/* Is this older than what is known of the connection? */
static bool is_overtaken(const struct conn *conn, const struct session *session,
			 uint64_t counter, int64_t sent_ms)
{
	if (conn->session == session)
		return counter <= conn->counter;
	return session_overtook(conn->sent_ms, sent_ms);
}

/* Forget a connection of the session that was silent the longest, but not of this one. */
static bool make_room(struct peer *peer, const struct peers_env *env,
		      const struct session *session, uint64_t ms)
{
	struct session *oldest = NULL, *other;

	for (unsigned int i = 0; i < SESSIONS_MAX; i++) {
		other = peer->sessions[i];
		if (!other || other == session ||
		    (LIST_EMPTY(&other->conns) && LIST_EMPTY(&other->unsure)))
			continue;
		if (!oldest || other->heard_ms < oldest->heard_ms)
			oldest = other;
	}
	if (oldest)
		drop(peer, env, LIST_FIRST(&oldest->conns) ?: LIST_FIRST(&oldest->unsure), ms);
	return oldest;
}

static struct flow *find_flow(struct conn *conn, uint8_t local_id, uint8_t remote_id)
{
	for (unsigned int i = 0; i < conn->count; i++)
		if (conn->flows[i].local_id == local_id && conn->flows[i].remote_id == remote_id)
			return &conn->flows[i];
	return NULL;
}

static struct conn *make(const struct report_conn *said, struct session *session, uint64_t counter,
			 int64_t sent_ms)
{
	struct conn *conn = calloc(1, sizeof(*conn) + said->count * sizeof(conn->flows[0]));

	if (!conn)
		return NULL;
	conn->session = session;
	conn->token = said->token;
	conn->proof = said->proof;
	conn->counter = counter;
	conn->sent_ms = sent_ms;
	for (unsigned int i = 0; i < said->count; i++) {
		struct flow *flow = &conn->flows[conn->count];

		if (find_flow(conn, said->flows[i].local_id, said->flows[i].remote_id))
			continue;
		flow->id = said->flows[i].id;
		flow->local_id = said->flows[i].local_id;
		flow->remote_id = said->flows[i].remote_id;
		conn->count++;
	}
	return conn;
}

/* Put a connection's new state in the place of the old one, with what the module was told. */
static void replace(struct peer *peer, const struct peers_env *env, struct conn *old,
		    struct conn *conn, uint64_t ms)
{
	struct flow *flow;

	unlink_conn(peer, old);
	for (unsigned int i = 0; i < old->count; i++) {
		const struct flow *was = &old->flows[i];

		flow = find_flow(conn, was->local_id, was->remote_id);
		if (flow)
			flow->told = was->told;
		else
			withdraw(peer, env, old, was, ms);
	}
	free(old);
}

/* May the peer say that? The module is asked only once for each connection. */
static enum owned ownership(struct peer *peer, const struct peers_env *env,
			    const struct report_conn *said, uint64_t ms)
{
	const struct conn *conn = find(peer, said->token);

	if (conn && conn->proof == said->proof && !conn->unsure)
		return OWNED_YES;
	return owned_conn(peer, env, said->token, said->proof, ms);
}

static bool has_room(struct peer *peer, const struct peers_env *env,
		     const struct session *session, const struct conn *old, uint64_t ms)
{
	return old || (open_table(peer) &&
		       (peer->conn_count < CONNS_MAX || make_room(peer, env, session, ms)));
}

static void put(struct peer *peer, const struct peers_env *env, struct session *session,
		const struct report_conn *said, uint64_t counter, int64_t sent_ms, uint64_t ms)
{
	enum owned owned = OWNED_NO;
	struct conn *conn = NULL;

	if (has_room(peer, env, session, find(peer, said->token), ms)) {
		owned = ownership(peer, env, said, ms);
		if (owned == OWNED_NO)
			return;
		conn = make(said, session, counter, sent_ms);
	}
	if (!conn) {
		peer->drops[DROP_TOO_MANY_PATHS]++;
		return;
	}
	conn->unsure = owned == OWNED_UNSURE;
	/* only now: a module that was just loaded may have made conns_feed() forget it */
	if (find(peer, said->token))
		replace(peer, env, find(peer, said->token), conn, ms);
	link_conn(peer, conn);
	tell_all(peer, env, conn, ms);
}

static void take(struct peer *peer, const struct peers_env *env, struct session *session,
		 const struct report_conn *said, uint64_t counter, int64_t sent_ms, uint64_t ms)
{
	struct conn *conn = find(peer, said->token);

	if (conn && is_overtaken(conn, session, counter, sent_ms))
		return;
	if (said->count)
		put(peer, env, session, said, counter, sent_ms, ms);
	else if (conn && conn->proof == said->proof)
		drop(peer, env, conn, ms);
}

/* Ask the module again for a connection. Returns whether it gave an answer. */
static bool settle(struct peer *peer, const struct peers_env *env, struct conn *conn, uint64_t ms)
{
	uint32_t token = conn->token;
	enum owned owned = owned_conn(peer, env, token, conn->proof, ms);

	/* a module that was just loaded, and conns_feed() has settled it */
	conn = find(peer, token);
	if (owned == OWNED_UNSURE || !conn || !conn->unsure)
		return owned != OWNED_UNSURE;
	if (owned == OWNED_NO) {
		unlink_conn(peer, conn);
		free(conn);
		return true;
	}
	LIST_REMOVE(conn, in_session);
	conn->unsure = false;
	LIST_INSERT_HEAD(&conn->session->conns, conn, in_session);
	tell_all(peer, env, conn, ms);
	return true;
}

static void settle_all(struct peer *peer, const struct peers_env *env, struct session *session,
		       uint64_t ms)
{
	while (!LIST_EMPTY(&session->unsure))
		if (!settle(peer, env, LIST_FIRST(&session->unsure), ms))
			return;
}

void conns_take(struct peer *peer, const struct peers_env *env, struct session *session,
		const struct report *report, uint64_t counter, int64_t age_ms, uint64_t ms)
{
	for (unsigned int i = 0; i < report->conn_count; i++)
		take(peer, env, session, &report->conns[i], counter, (int64_t)ms - age_ms, ms);
	settle_all(peer, env, session, ms);
}

/* --- all connections of a session --- */

static int ignore(const struct pams_path *path, void *arg)
{
	(void)path;
	(void)arg;
	return 0;
}

static bool has_none(const struct pams_path *key, void *arg)
{
	(void)key;
	(void)arg;
	return false;
}

/*
 * path->conns is what the module would have been told under a name of this path since it was
 * reported first. As long as that is current, so is what it was told under all of them.
 */
static bool is_news(struct peer *peer, struct held_path *path, uint64_t ms)
{
	static const struct peers_env nobody = { .path_set = ignore, .has_cost = has_none };
	const struct pams_path key = { .key = PAMS_KEY_TOKEN };

	if (told_is_current(&path->conns, path, ms))
		return false;
	told_update(peer, &nobody, &key, &path->conns, path, ms);
	return true;
}

void conns_tell(struct peer *peer, const struct peers_env *env, struct session *session,
		uint8_t id, uint64_t ms)
{
	struct conn *conn;

	if (!is_news(peer, &session->paths[id], ms))
		return;
	LIST_FOREACH(conn, &session->conns, in_session)
		for (unsigned int i = 0; i < conn->count; i++)
			if (conn->flows[i].id == id)
				tell(peer, env, conn, &conn->flows[i], ms);
}

void conns_drop(struct peer *peer, const struct peers_env *env, struct session *session,
		uint64_t ms)
{
	while (!LIST_EMPTY(&session->conns))
		drop(peer, env, LIST_FIRST(&session->conns), ms);
	while (!LIST_EMPTY(&session->unsure))
		drop(peer, env, LIST_FIRST(&session->unsure), ms);
}

void conns_feed(struct peer *peer, const struct peers_env *env, struct session *session,
		uint64_t ms)
{
	struct conn *conn;

	LIST_FOREACH(conn, &session->conns, in_session) {
		for (unsigned int i = 0; i < conn->count; i++)
			told_forget(&conn->flows[i].told);
		tell_all(peer, env, conn, ms);
	}
	settle_all(peer, env, session, ms);
}

/* The peer has proved that they are its own, and does so again to the module at each look. */
void conns_measure(struct session *session, const struct peers_env *env, uint64_t ms)
{
	uint64_t sums[REPORT_PATHS_MAX] = { };
	struct flow_rate rates[FLOW_RATES_MAX];
	unsigned int left = MEASURED_MAX;
	struct conn *conn;

	if (!session->wants_rates || LIST_EMPTY(&session->conns) ||
	    ms - session->measured_ms < MEASURE_MS)
		return;
	session->measured_ms = ms;
	LIST_FOREACH(conn, &session->conns, in_session) {
		unsigned int count;

		if (!left--)
			break;
		count = env->rates(conn->token, conn->proof, rates, env->arg);
		for (unsigned int i = 0; i < count; i++) {
			const struct flow *flow = find_flow(conn, rates[i].local_id,
							    rates[i].remote_id);

			if (flow)
				sums[flow->id] += rates[i].byteps;
		}
	}
	for (unsigned int i = 0; i < REPORT_PATHS_MAX; i++)
		if (sums[i]) {
			session->paths[i].rate_byteps = sums[i];
			session->paths[i].rate_ms = ms;
		}
}

unsigned int conns_over(const struct session *session, uint8_t id)
{
	const struct conn *conn;
	unsigned int over = 0;

	LIST_FOREACH(conn, &session->conns, in_session)
		for (unsigned int i = 0; i < conn->count; i++)
			over += conn->flows[i].id == id;
	return over;
}

static void free_list(struct conn_list *list)
{
	struct conn *conn;

	while ((conn = LIST_FIRST(list))) {
		LIST_REMOVE(conn, in_session);
		free(conn);
	}
}

void conns_free(struct peer *peer)
{
	for (unsigned int i = 0; i < SESSIONS_MAX; i++) {
		if (!peer->sessions[i])
			continue;
		free_list(&peer->sessions[i]->conns);
		free_list(&peer->sessions[i]->unsure);
	}
	free(peer->conns);
}
