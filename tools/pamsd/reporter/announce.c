// SPDX-License-Identifier: GPL-2.0
/*
 * announce - repeats a report until the server acknowledges it
 *
 * Every report has the whole state of its paths, so a later report makes up for
 * all earlier ones that were lost. Each change gets a revision number; each report
 * is stored with the current revision, and its answer acknowledges all changes up
 * to that. Until then everything is sent again over every way, after growing
 * pauses, over lost ways last. Once all changes are acknowledged, only those ways
 * are used whose source address the server has yet to learn.
 *
 * Connections are sent apart from the paths, and over one way: each one once, and again
 * if no answer comes, or if the server has forgotten them.
 */
#include <stdlib.h>
#include <string.h>

#include <linux/mptcp_pams.h>

#include "announce.h"

/* Least time between reports, and the first pause; each later pause is twice as long. */
#define PAUSE_MS	20
/*
 * The longest pause: in the minute after a change; later, when the server may be gone or the
 * network lets no UDP pass, while connections come or data flows; and else, to let a radio sleep.
 */
#define PAUSE_SOON_MS	500
#define SOON_MS		60000
#define PAUSE_USED_MS	30000
#define PAUSE_MAX_MS	600000
/*
 * A loss time, or its spread, that moves by no more than this plus an eighth of the time left
 * isn't a change.
 */
#define NEAR_MS		10
/*
 * A loss that is set again is a change if nothing was sent for this time, since the server may
 * have forgotten it.
 */
#define REPEAT_MS	200
/* While data flows, request an answer this often, to notice a server that is silent. */
#define ASK_MS		5000
/* A way that owes an answer for longer than two such requests is silent: others are better. */
#define SILENT_MS	(ASK_MS + 1000)
/* After a longer time without reports, the time of the server's silence starts anew. */
#define ASK_PAUSE_MS	1500
/* A connection waits so long for others. */
#define TOGETHER_MS	5
/* So many reports with connections may be unanswered: ANNOUNCE_SENT_MAX has to hold them, too. */
#define CONN_REPORTS_MAX	16
#define CONN_BUCKETS	4096
/* With those that are closed, while the server doesn't answer; it keeps half as many of a peer. */
#define CONNS_MAX	32768
/* After a "not taken" answer, repeat everything at once only this often. */
#define AGAIN_MS	100

struct announce_conn {
	LIST_ENTRY(announce_conn) in_table;
	TAILQ_ENTRY(announce_conn) in_queue;
	bool known;		/* the server has it; if not, it waits */
	bool sent;		/* the server may have it, in this state or another */
	uint64_t counter;	/* of the report that has its present state; 0: none yet */
	uint64_t sent_ms;	/* when that was sent */
	struct report_conn said;
};

/* Reports with connections may arrive. */
static void forget_pauses(struct announcer *announcer)
{
	announcer->conn_reports = 0;
	announcer->conns_pause_ms = PAUSE_SOON_MS;
}

void announce_init(struct announcer *announcer, const struct report_keys *keys,
		   const uint8_t session[REPORT_SESSION_BYTES])
{
	memset(announcer, 0, sizeof(*announcer));
	announcer->keys = *keys;
	memcpy(announcer->session, session, REPORT_SESSION_BYTES);
	announcer->news_ms = ANNOUNCE_NEVER;
	announcer->next_ms = ANNOUNCE_NEVER;
	forget_pauses(announcer);
	TAILQ_INIT(&announcer->waiting);
}

/* --- changes --- */

static bool has_name(const struct announce_path *path,
		     const struct report_name *name)
{
	for (unsigned int i = 0; i < path->name_count; i++)
		if (!memcmp(&path->names[i], name, sizeof(*name)))
			return true;
	return false;
}

/* A server that takes connections needs no subflows as names. */
static bool is_sent(const struct announcer *announcer, const struct report_name *name)
{
	return !announcer->takes_conns || name->kind != REPORT_NAME_SUBFLOW;
}

static uint64_t distance(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

static bool loss_changed(const struct announcer *announcer, unsigned int id,
			 const struct announce_path *new, uint64_t ms)
{
	const struct announce_path *old = &announcer->paths[id];
	uint64_t old_at_ms = announcer->loss_at_ms[id];
	uint64_t near_ms = NEAR_MS;

	if (old->loss != new->loss || old->lasting != new->lasting)
		return true;
	if (!new->loss || new->lasting)
		return false;
	if (old_at_ms > ms)
		near_ms += (old_at_ms - ms) / 8;
	return distance(old_at_ms, new->loss_at_ms) > near_ms ||
	       distance(announcer->loss_spread_ms[id],
			new->loss_spread_ms) > near_ms ||
	       old->loss_ttl_ms != new->loss_ttl_ms;
}

/* Is the new state worth a report at once? A removed name isn't: its path is gone, too. */
static bool is_change(const struct announcer *announcer, unsigned int id,
		      const struct announce_path *new, uint64_t ms)
{
	const struct announce_path *old = &announcer->paths[id];

	if (!announcer->changed[id] || loss_changed(announcer, id, new, ms))
		return true;
	if (new->cost != old->cost ||
	    (new->loss && new->loss_sets != old->loss_sets &&
	     ms - announcer->last_ms >= REPEAT_MS))
		return true;
	if (!new->loss && !new->has_pipe && !new->cost)
		return false;
	for (unsigned int i = 0; i < new->name_count; i++)
		if (is_sent(announcer, &new->names[i]) && !has_name(old, &new->names[i]))
			return true;
	return new->by_source && !old->by_source;
}

static void send_soon(struct announcer *announcer, uint64_t ms)
{
	uint64_t earliest_ms = announcer->last_ms ?
			       announcer->last_ms + PAUSE_MS : 0;

	announcer->pause_ms = PAUSE_MS;
	announcer->news_ms = earliest_ms > ms ? earliest_ms : ms;
}

/* --- connections --- */

/* The tokens are the server's kernel's, which are random. */
static struct announce_conns *bucket_of(const struct announcer *announcer, uint32_t token)
{
	return &announcer->conns[token % CONN_BUCKETS];
}

static struct announce_conn *find_conn(const struct announcer *announcer, uint32_t token)
{
	struct announce_conn *conn;

	if (!announcer->conns)
		return NULL;
	LIST_FOREACH(conn, bucket_of(announcer, token), in_table)
		if (conn->said.token == token)
			return conn;
	return NULL;
}

static struct announce_conn *add_conn(struct announcer *announcer, uint32_t token)
{
	struct announce_conn *conn;

	if (!announcer->conns)
		announcer->conns = calloc(CONN_BUCKETS, sizeof(*announcer->conns));
	if (!announcer->conns || announcer->conn_count == CONNS_MAX)
		return NULL;
	conn = calloc(1, sizeof(*conn));
	if (!conn)
		return NULL;
	conn->known = true;
	conn->said.token = token;
	LIST_INSERT_HEAD(bucket_of(announcer, token), conn, in_table);
	announcer->conn_count++;
	return conn;
}

/* It has to be sent, before those that are repeated. */
static void queue_conn(struct announcer *announcer, struct announce_conn *conn)
{
	if (!conn->known)
		TAILQ_REMOVE(&announcer->waiting, conn, in_queue);
	conn->known = false;
	conn->counter = 0;
	TAILQ_INSERT_HEAD(&announcer->waiting, conn, in_queue);
}

/* The server knows it. Of one that is closed nothing is left to be known. */
static void settle_conn(struct announcer *announcer, struct announce_conn *conn)
{
	TAILQ_REMOVE(&announcer->waiting, conn, in_queue);
	conn->known = true;
	if (conn->said.count)
		return;
	LIST_REMOVE(conn, in_table);
	announcer->conn_count--;
	free(conn);
}

static uint64_t conns_next_ms(const struct announcer *announcer)
{
	const struct announce_conn *first = TAILQ_FIRST(&announcer->waiting);
	uint64_t next_ms = announcer->conns_ms + PAUSE_MS;

	if (!first || !announcer->takes_conns)
		return ANNOUNCE_NEVER;
	if (announcer->conn_reports >= CONN_REPORTS_MAX)
		next_ms = announcer->conns_ms + announcer->conns_pause_ms;
	if (first->counter && first->sent_ms + announcer->conns_pause_ms > next_ms)
		next_ms = first->sent_ms + announcer->conns_pause_ms;
	return next_ms;
}

static void set_next(struct announcer *announcer)
{
	uint64_t conns_ms = conns_next_ms(announcer);

	announcer->next_ms = announcer->news_ms < conns_ms ? announcer->news_ms : conns_ms;
}

static bool is_same_conn(const struct report_conn *a, const struct report_conn *b)
{
	return a->proof == b->proof && a->count == b->count &&
	       !memcmp(a->flows, b->flows, a->count * sizeof(*a->flows));
}

/* The network is used now: nothing waits longer than while it is. */
static void shorten_pauses(struct announcer *announcer, uint64_t ms)
{
	if (announcer->conns_pause_ms > PAUSE_USED_MS)
		announcer->conns_pause_ms = PAUSE_USED_MS;
	if (announcer->news_ms == ANNOUNCE_NEVER || announcer->news_ms <= ms + PAUSE_USED_MS)
		return;
	announcer->pause_ms = PAUSE_USED_MS;
	announcer->news_ms = ms + PAUSE_USED_MS;
}

void announce_conn(struct announcer *announcer, const struct report_conn *said, uint64_t ms)
{
	struct announce_conn *conn = find_conn(announcer, said->token);

	if (conn ? is_same_conn(&conn->said, said) : !said->count)
		return;
	conn = conn ?: add_conn(announcer, said->token);
	if (!conn)
		return;
	conn->said = *said;
	queue_conn(announcer, conn);
	if (!conn->said.count && !conn->sent)
		settle_conn(announcer, conn);
	/* those that begin together go together */
	if (announcer->conn_reports < CONN_REPORTS_MAX && announcer->conns_ms + PAUSE_MS <= ms)
		announcer->conns_ms = ms - PAUSE_MS + TOGETHER_MS;
	shorten_pauses(announcer, ms);
	set_next(announcer);
}

void announce_end(struct announcer *announcer)
{
	struct announce_conn *conn;

	for (unsigned int i = 0; announcer->conns && i < CONN_BUCKETS; i++)
		while ((conn = LIST_FIRST(&announcer->conns[i]))) {
			LIST_REMOVE(conn, in_table);
			free(conn);
		}
	free(announcer->conns);
	announcer->conns = NULL;
	TAILQ_INIT(&announcer->waiting);
}

/* --- what the server has to know --- */

void announce_set(struct announcer *announcer, unsigned int id,
		  const struct announce_path *path, uint64_t ms)
{
	bool change = is_change(announcer, id, path, ms);

	announcer->paths[id] = *path;
	if (!change)
		return;
	announcer->loss_at_ms[id] = path->loss_at_ms;
	announcer->loss_spread_ms[id] = path->loss_spread_ms;
	announcer->changed[id] = ++announcer->revision;
	announcer->since_ms = ms;
	send_soon(announcer, ms);
	set_next(announcer);
}

/* Does the server have to learn this way's source address, as the name of a path? */
static bool must_teach(const struct announcer *announcer,
		       const struct announce_way *way)
{
	if (!way->up || way->taught)
		return false;
	for (unsigned int i = 0; i < REPORT_PATHS_MAX; i++)
		if (way->own >> i & 1 && announcer->changed[i] &&
		    announcer->paths[i].by_source)
			return true;
	return false;
}

/* Is there a change that the server hasn't acknowledged? */
static bool has_news(const struct announcer *announcer)
{
	for (unsigned int i = 0; i < REPORT_PATHS_MAX; i++)
		if (announcer->acked[i] != announcer->changed[i])
			return true;
	return false;
}

static bool has_to_teach(const struct announcer *announcer)
{
	for (unsigned int i = 0; i < announcer->way_count; i++)
		if (must_teach(announcer, &announcer->ways[i]))
			return true;
	return false;
}

static bool has_all_paths(const struct announcer *announcer)
{
	return !has_news(announcer) && !has_to_teach(announcer);
}

bool announce_is_known(const struct announcer *announcer)
{
	return has_all_paths(announcer) &&
	       (!announcer->takes_conns || TAILQ_EMPTY(&announcer->waiting));
}

/* --- reports --- */

static int32_t from_now(uint64_t at_ms, uint64_t ms)
{
	int64_t ahead_ms = (int64_t)(at_ms - ms);

	if (ahead_ms > MPTCP_PAMS_TIME_MAX_MS)
		return MPTCP_PAMS_TIME_MAX_MS;
	return ahead_ms < -MPTCP_PAMS_TIME_MAX_MS ?
	       -MPTCP_PAMS_TIME_MAX_MS : ahead_ms;
}

static void add_path(const struct announcer *announcer, struct report *report,
		     const struct announce_path *path, unsigned int id, bool teach, uint64_t ms)
{
	struct report_path *entry = &report->paths[report->path_count++];
	struct report_name *name;

	memset(entry, 0, sizeof(*entry));
	entry->id = id;
	entry->flags = path->by_source ? REPORT_BY_SOURCE : 0;
	if (path->has_pipe) {
		entry->flags |= REPORT_PIPE;
		entry->rate_byteps = path->rate_byteps;
		entry->backlog_bytes = path->backlog_bytes;
		entry->pipe_ttl_ms = path->pipe_ttl_ms;
	}
	if (path->has_pipe && path->has_delay) {
		entry->flags |= REPORT_DELAY;
		entry->delay_us = path->delay_us;
	}
	if (path->loss) {
		entry->flags |= REPORT_LOSS;
		entry->loss_ms = path->lasting ? 0 :
				 from_now(path->loss_at_ms, ms);
		entry->loss_ttl_ms = path->loss_ttl_ms;
	}
	if (path->loss && !path->lasting && path->loss_spread_ms) {
		entry->flags |= REPORT_SPREAD;
		entry->loss_spread_ms = path->loss_spread_ms;
	}
	if (path->cost) {
		entry->flags |= REPORT_COST;
		entry->cost = path->cost;
	}
	for (unsigned int i = 0; i < path->name_count; i++) {
		if (!is_sent(announcer, &path->names[i]))
			continue;
		name = &report->names[report->name_count++];
		*name = path->names[i];
		name->id = id;
	}
	if (!teach)
		return;
	name = &report->names[report->name_count++];
	memset(name, 0, sizeof(*name));
	name->kind = REPORT_NAME_SOURCE;
	name->id = id;
	name->port = path->port;
}

static void seal_and_send(struct announcer *announcer, struct report *report,
			  unsigned int way, uint32_t paths, bool teaches,
			  announce_send_fn send, void *arg)
{
	struct announce_sent *sent;
	uint8_t buf[REPORT_BYTES_MAX];
	size_t len;

	len = report_seal(buf, &announcer->keys, announcer->session,
			  ++announcer->counter, report);
	if (!len)
		return;
	sent = &announcer->sent[announcer->counter % ANNOUNCE_SENT_MAX];
	sent->counter = announcer->counter;
	sent->revision = announcer->revision;
	sent->paths = paths;
	sent->way = way;
	sent->teaches = teaches;
	sent->conns = report->conn_count;
	if (report->acknowledge && !announcer->ways[way].asked_ms)
		announcer->ways[way].asked_ms = report->sent_ms;
	announcer->reports++;
	send(way, buf, len, arg);
}

static void begin_report(const struct announcer *announcer,
			 struct report *report, const struct announce_way *way,
			 bool acknowledge, uint64_t ms)
{
	report->path_count = 0;
	report->name_count = 0;
	report->conn_count = 0;
	report->skipped = 0;
	memcpy(report->cookie, way->cookie, REPORT_COOKIE_BYTES);
	report->sent_ms = ms;
	report->echo = announcer->echo;
	report->acknowledge = acknowledge;
	report->rates_max = 0;
	for (unsigned int i = 0; acknowledge && announcer->wants_rates && i < REPORT_PATHS_MAX; i++)
		report->rates_max += announcer->changed[i] && announcer->paths[i].by_source;
}

/* Add a path to the report if it fits. Returns whether it did; if not, the report is unchanged. */
static bool try_path(const struct announcer *announcer, struct report *report,
		     const struct announce_path *path, unsigned int id, bool teach, uint64_t ms)
{
	unsigned int names = report->name_count;

	if (names + path->name_count + 1 > REPORT_NAMES_MAX)
		return false;
	add_path(announcer, report, path, id, teach, ms);
	if (report_bytes(report) <= REPORT_BYTES_MAX)
		return true;
	report->path_count--;
	report->name_count = names;
	return false;
}

/* Send all paths over one way, in as many reports as they need. */
static void send_over(struct announcer *announcer, unsigned int index,
		      bool acknowledge, uint64_t ms, announce_send_fn send,
		      void *arg)
{
	const struct announce_way *way = &announcer->ways[index];
	bool teach = must_teach(announcer, way), teaches = false, own;
	struct report report;
	uint32_t paths = 0;

	begin_report(announcer, &report, way, acknowledge, ms);
	for (unsigned int i = 0; i < REPORT_PATHS_MAX; i++) {
		const struct announce_path *path = &announcer->paths[i];

		if (!announcer->changed[i])
			continue;
		own = teach && way->own >> i & 1 && path->by_source;
		if (!try_path(announcer, &report, path, i, own, ms)) {
			seal_and_send(announcer, &report, index, paths,
				      teaches, send, arg);
			begin_report(announcer, &report, way, acknowledge, ms);
			try_path(announcer, &report, path, i, own, ms);
			teaches = false;
			paths = 0;
		}
		teaches |= own && way->has_cookie;
		paths |= 1U << i;
	}
	if (paths)
		seal_and_send(announcer, &report, index, paths, teaches, send,
			      arg);
}

/* Some networks let no UDP pass. */
static bool is_silent(const struct announce_way *way, uint64_t ms)
{
	return way->asked_ms && ms - way->asked_ms >= SILENT_MS;
}

/*
 * Ways that aren't lost come first, of these the ones that aren't silent, of these the one that
 * carried data or got an answer last.
 */
static bool is_better(const struct announce_way *a, const struct announce_way *b, uint64_t ms)
{
	if (a->lost != b->lost)
		return b->lost;
	if (is_silent(a, ms) != is_silent(b, ms))
		return is_silent(b, ms);
	if (a->moved_us != b->moved_us)
		return a->moved_us > b->moved_us;
	return a->heard_ms > b->heard_ms;
}

static unsigned int by_quality(const struct announcer *announcer,
			       unsigned int ways[ANNOUNCE_WAYS_MAX], uint64_t ms)
{
	unsigned int count = 0, at;

	for (unsigned int i = 0; i < announcer->way_count; i++) {
		if (!announcer->ways[i].up)
			continue;
		for (at = count++; at; at--) {
			if (!is_better(&announcer->ways[i],
				       &announcer->ways[ways[at - 1]], ms))
				break;
			ways[at] = ways[at - 1];
		}
		ways[at] = i;
	}
	return count;
}

static void grow(uint64_t *pause_ms, uint64_t most_ms)
{
	*pause_ms = *pause_ms < most_ms / 2 ? *pause_ms * 2 : most_ms;
}

static void run_paths(struct announcer *announcer, uint64_t ms,
		      announce_send_fn send, void *arg)
{
	unsigned int ways[ANNOUNCE_WAYS_MAX], count;
	bool news = has_news(announcer);
	uint64_t most_ms;

	if (!news && !has_to_teach(announcer)) {
		announcer->news_ms = ANNOUNCE_NEVER;
		return;
	}
	if (announcer->news_ms == ANNOUNCE_NEVER)
		send_soon(announcer, ms);
	if (ms < announcer->news_ms)
		return;
	count = by_quality(announcer, ways, ms);
	for (unsigned int i = 0; i < count; i++)
		if (news || must_teach(announcer, &announcer->ways[ways[i]]))
			send_over(announcer, ways[i], true, ms, send, arg);
	/* a server that only has to learn one way's address isn't silent as a whole */
	if (count && news && !announcer->asked_ms)
		announcer->asked_ms = ms;
	announcer->last_ms = ms;
	announcer->news_ms = ms + announcer->pause_ms;
	most_ms = ms - announcer->since_ms < SOON_MS ? PAUSE_SOON_MS :
						      PAUSE_MAX_MS;
	grow(&announcer->pause_ms, most_ms);
}

/* Add those that are due, as far as they fit. */
static void add_conns(struct announcer *announcer, struct report *report, uint64_t ms)
{
	struct announce_conn *conn;

	while ((conn = TAILQ_FIRST(&announcer->waiting)) && report->conn_count < REPORT_CONNS_MAX) {
		if (conn->counter && conn->sent_ms + announcer->conns_pause_ms > ms)
			return;
		report->conns[report->conn_count++] = conn->said;
		if (report_bytes(report) > REPORT_BYTES_MAX) {
			report->conn_count--;
			return;
		}
		conn->counter = announcer->counter + 1;
		conn->sent = true;
		conn->sent_ms = ms;
		TAILQ_REMOVE(&announcer->waiting, conn, in_queue);
		TAILQ_INSERT_TAIL(&announcer->waiting, conn, in_queue);
	}
}

/*
 * Send connections over the best way, or over one after the other if nothing is answered. Then the
 * pauses grow.
 */
static void run_conns(struct announcer *announcer, uint64_t ms, announce_send_fn send, void *arg)
{
	unsigned int ways[ANNOUNCE_WAYS_MAX], count, way;
	bool again = announcer->conn_reports >= CONN_REPORTS_MAX;
	struct report report;

	if (ms < conns_next_ms(announcer))
		return;
	count = by_quality(announcer, ways, ms);
	announcer->conns_ms = ms;
	if (!count) {
		/* announce_hurry() comes sooner */
		announcer->conn_reports = CONN_REPORTS_MAX;
		announcer->conns_pause_ms = PAUSE_MAX_MS;
		return;
	}
	again |= TAILQ_FIRST(&announcer->waiting)->counter;
	way = ways[again ? announcer->conn_reports % count : 0];
	begin_report(announcer, &report, &announcer->ways[way], true, ms);
	add_conns(announcer, &report, ms);
	seal_and_send(announcer, &report, way, 0, false, send, arg);
	announcer->conn_reports++;
	if (again)
		grow(&announcer->conns_pause_ms, PAUSE_MAX_MS);
	if (!announcer->asked_ms)
		announcer->asked_ms = ms;
}

void announce_run(struct announcer *announcer, uint64_t ms,
		  announce_send_fn send, void *arg)
{
	run_paths(announcer, ms, send, arg);
	run_conns(announcer, ms, send, arg);
	set_next(announcer);
}

void announce_hurry(struct announcer *announcer, uint64_t ms)
{
	if (!has_all_paths(announcer))
		send_soon(announcer, ms);
	forget_pauses(announcer);
	set_next(announcer);
}

void announce_periodic(struct announcer *announcer, uint64_t ms,
		       announce_send_fn send, void *arg)
{
	unsigned int ways[ANNOUNCE_WAYS_MAX], count = by_quality(announcer, ways, ms);
	const struct announce_way *best, *way;
	bool ask;

	if (!count)
		return;
	best = &announcer->ways[ways[0]];
	shorten_pauses(announcer, ms);
	set_next(announcer);
	ask = ms - announcer->heard_ms >= ASK_MS;
	send_over(announcer, ways[0], ask, ms, send, arg);
	/* those that would be better may answer again */
	for (unsigned int i = 1; ask && i < count; i++) {
		way = &announcer->ways[ways[i]];
		if (is_silent(way, ms) && !way->lost && way->moved_us > best->moved_us)
			send_over(announcer, ways[i], true, ms, send, arg);
	}
	/* The server isn't silent during a time in which it was asked for no answer. */
	if (ask && (!announcer->asked_ms ||
		    (ms - announcer->last_ms >= ASK_PAUSE_MS &&
		     announce_is_known(announcer))))
		announcer->asked_ms = ms;
	announcer->last_ms = ms;
}

/* --- answers --- */

static void take_cookie(struct announcer *announcer, struct announce_way *way,
			const struct report_answer *answer, uint64_t ms)
{
	way->answered = answer->counter;
	way->heard_ms = ms;
	way->asked_ms = 0;
	announcer->heard_ms = ms;
	announcer->asked_ms = 0;
	announcer->takes_conns = answer->conns;
	forget_pauses(announcer);
	if (answer->counter > announcer->echo_counter) {
		announcer->echo_counter = answer->counter;
		announcer->echo = answer->stamp;
	}
	if (!way->has_cookie ||
	    memcmp(way->cookie, answer->cookie, REPORT_COOKIE_BYTES)) {
		memcpy(way->cookie, answer->cookie, REPORT_COOKIE_BYTES);
		way->has_cookie = true;
		way->taught = false;
	}
}

static void settle_conns(struct announcer *announcer, uint64_t counter)
{
	struct announce_conn *conn, *next;

	for (conn = TAILQ_FIRST(&announcer->waiting); conn; conn = next) {
		next = TAILQ_NEXT(conn, in_queue);
		if (conn->counter == counter)
			settle_conn(announcer, conn);
	}
}

static void on_taken(struct announcer *announcer,
		     const struct announce_sent *sent)
{
	for (unsigned int i = 0; i < REPORT_PATHS_MAX; i++)
		if (sent->paths >> i & 1 &&
		    sent->revision >= announcer->changed[i])
			announcer->acked[i] = announcer->changed[i];
	if (sent->teaches)
		announcer->ways[sent->way].taught = true;
	if (sent->conns)
		settle_conns(announcer, sent->counter);
}

/* The server has forgotten what it knew before this report: what was sent later it may know. */
static void forget_conns(struct announcer *announcer, uint64_t counter)
{
	struct announce_conn *conn;

	for (unsigned int i = 0; announcer->conns && i < CONN_BUCKETS; i++)
		LIST_FOREACH(conn, &announcer->conns[i], in_table)
			if (conn->counter <= counter)
				queue_conn(announcer, conn);
}

/*
 * The server refused the report, as it doesn't know the session or the report's age: send all
 * paths again, with the cookie and the stamp of its answer.
 */
static void on_not_taken(struct announcer *announcer, uint64_t counter, bool news,
			 uint64_t ms)
{
	forget_conns(announcer, counter);
	for (unsigned int i = 0; i < REPORT_PATHS_MAX; i++)
		if (announcer->changed[i])
			announcer->changed[i] = ++announcer->revision;
	announcer->since_ms = ms;
	if (news || ms - announcer->last_ms >= AGAIN_MS) {
		announcer->pause_ms = PAUSE_MS;
		announcer->news_ms = ms;
	}
}

bool announce_answer(struct announcer *announcer, const uint8_t *buf,
		     size_t len, uint64_t ms)
{
	const struct announce_sent *sent;
	struct report_header header;
	struct report_answer answer;
	struct announce_way *way;
	bool news, had;

	if (report_peek(buf, len, &header) ||
	    header.type != REPORT_TYPE_ANSWER ||
	    memcmp(header.id, announcer->keys.id, REPORT_ID_BYTES) ||
	    report_open_answer(buf, len, &announcer->keys, &answer) ||
	    memcmp(answer.session, announcer->session, REPORT_SESSION_BYTES))
		goto drop;
	sent = &announcer->sent[answer.counter % ANNOUNCE_SENT_MAX];
	if (!answer.counter || sent->counter != answer.counter)
		goto drop;
	way = &announcer->ways[sent->way];
	if (answer.counter <= way->answered)
		goto drop;
	had = way->has_cookie;
	news = !had || memcmp(way->cookie, answer.cookie, REPORT_COOKIE_BYTES);
	announcer->answers++;
	announcer->rate_count = answer.rate_count;
	memcpy(announcer->rates, answer.rates, answer.rate_count * sizeof(answer.rates[0]));
	take_cookie(announcer, way, &answer, ms);
	if (answer.taken && news) {
		/* the report had a wrong cookie, so its source address wasn't learnt */
		on_taken(announcer, &(struct announce_sent){
			   .paths = sent->paths, .revision = sent->revision,
			   .conns = sent->conns, .counter = sent->counter });
	} else if (answer.taken) {
		on_taken(announcer, sent);
	} else {
		on_not_taken(announcer, answer.counter, news, ms);
	}
	if (has_all_paths(announcer))
		announcer->news_ms = ANNOUNCE_NEVER;
	else if (announcer->news_ms == ANNOUNCE_NEVER ||
		 (news && announcer->news_ms > ms + PAUSE_MS))
		send_soon(announcer, ms);
	set_next(announcer);
	return true;
drop:
	announcer->dropped++;
	return false;
}
