// SPDX-License-Identifier: GPL-2.0
/*
 * seen - what this machine's TCP sockets tell of the paths
 *
 * Round trips are compared only between connections to the same peer: another path may lead to
 * other peers only, nearer or farther. Connections that are over before anybody looks are seen as
 * they end. What a path carries is its rate only if data had to wait for it, by the round trips of
 * data: what it is sparsely used for says nothing.
 *
 * A destination is silent on a path if a connection that is being opened waits for longer than the
 * path's peers take to answer; silent.c says when the path is dead. It counts as living again as
 * soon as something is answered, and after a while without: what keeps connections off a path must
 * not need connections on it to end.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <netlink/attr.h>

#include "../../lib/tcpinfo.h"
#include "../base/diag.h"
#include "path.h"

/* Connections that are being opened, and for how long: by both ports, addresses are the path's. */
#define OPENING_MAX	64
/* Patience with a path whose round trip is unknown, and factor for one where it is known. */
#define PATIENCE_US	300000
#define PATIENCE_RTTS	3
/* Round trips that are remembered, for so long, as TCP does. */
#define TRIPS_MAX	128
#define TRIP_AGE_US	300000000
/* Connections that are remembered: their ports say in which group of places. */
#define FLOW_GROUPS	509
#define FLOW_PLACES	8
/*
 * A path's rate counts if so much was carried, some at each look, for so long: all behind a hole
 * in TCP's data counts at the moment that this is filled.
 */
#define RATE_BYTES	4096
#define IDLE_BYTES	1000
#define RATE_SPAN_LEAST_US 30000
#define RATE_SPAN_US	500000
/* And if so much was waiting by the round trips of data. */
#define QUEUE_BYTES	8192
/* And so long, unless it carries more. */
#define RATE_AGE_US	600000000
/* What a server says is wrong if the path, while it is full, carries less than a fourth of it. */
#define TOLD_TIMES	4
/* An answer by which paths are compared, at least and at most; of so many connections. */
#define ANSWER_BYTES	65536
#define ANSWER_MOST_BYTES 1048576
#define ANSWERS_MOST	32

struct opening {
	struct prefix local, peer;
	uint16_t port;
	uint64_t since_us;
	uint64_t seen_us;
};

/* The least round trip from an address to a peer. */
struct trip {
	struct prefix local, peer;
	uint32_t rtt_us;
	uint64_t us;		/* when that was */
	uint64_t seen_us;
};

/* What a connection had carried at the last look. */
struct flow {
	struct prefix local, peer;
	uint16_t port, peer_port;
	uint64_t bytes;
	uint64_t seen_us;
};

static struct nl_sock *sock, *watch;
/* What connections carried that have ended lately, and how many are busy at once. */
static uint64_t ended_bytes;
static struct answer answer = { ANSWER_BYTES, ANSWER_BYTES };
static unsigned int busy_x8 = 8;
static struct opening openings[OPENING_MAX];
static struct trip trips[TRIPS_MAX];
static struct flow flows[FLOW_GROUPS][FLOW_PLACES];
static uint64_t looked_us;	/* when all were looked at last */
static bool crowded;		/* a flow had no place then */

/*
 * Where there are more connections than places, those that were there at the last look keep
 * theirs, and the others tell nothing: else each would look new each time.
 */
struct look {
	const struct list *paths, *left;
	uint64_t us;
	uint64_t before_us;	/* when the last look was */
	bool crowded;		/* and whether a flow had no place then */
	unsigned int opening;
};

static bool is_kept(uint64_t seen_us, const struct look *look)
{
	return seen_us && seen_us >= look->before_us;
}

static struct opening *find_opening(const struct look *look, const struct diag_socket *socket)
{
	struct opening *oldest = &openings[0];
	uint64_t us = look->us;

	for (unsigned int i = 0; i < OPENING_MAX; i++) {
		struct opening *opening = &openings[i];

		if (opening->port == socket->local_port &&
		    !memcmp(&opening->local, &socket->local, sizeof(socket->local)) &&
		    !memcmp(&opening->peer, &socket->peer, sizeof(socket->peer)) &&
		    us - opening->seen_us < 2000000) {
			opening->seen_us = us;
			return opening;
		}
		if (opening->seen_us < oldest->seen_us)
			oldest = opening;
	}
	if (is_kept(oldest->seen_us, look))
		return NULL;
	oldest->local = socket->local;
	oldest->peer = socket->peer;
	oldest->port = socket->local_port;
	oldest->since_us = us;
	oldest->seen_us = us;
	return oldest;
}

static void declare_dead(struct path *path, uint64_t ms)
{
	if (path->dead_ms && ms < path->again_ms) {
		/* it was tried again */
		if (path->waiting_us / 1000 > path->dead_ms)
			path->dead_ms = path->waiting_us / 1000;
		return;
	}
	path->dead_ms = ms;
	path->again_ms = ms + dead_for_ms(path->deaths++);
	say("%s: nothing is answered", path->interface);
}

static void declare_alive(struct path *path)
{
	if (path->dead_ms)
		say("%s: answers again", path->interface);
	path->dead_ms = 0;
	path->deaths = 0;
	silent_forget(&path->address);
}

static void take_opening(struct look *look, struct path *path,
			 const struct diag_socket *socket)
{
	uint32_t rtt_us = path->rtt_us > path->reach_us ? path->rtt_us : path->reach_us;
	uint64_t patience_us = (uint64_t)rtt_us * PATIENCE_RTTS;
	const struct opening *opening = find_opening(look, socket);

	look->opening++;
	if (patience_us < PATIENCE_US)
		patience_us = PATIENCE_US;
	if (!opening || look->us - opening->since_us < patience_us)
		return;
	silent_note(&socket->local, &socket->peer, opening->since_us, look->us / 1000);
	if (opening->since_us > path->waiting_us)
		path->waiting_us = opening->since_us;
}

static void take_trip(const struct look *look, const struct prefix *local,
		      const struct prefix *peer, uint32_t rtt_us)
{
	struct trip *trip = &trips[0];

	for (unsigned int i = 0; i < TRIPS_MAX; i++) {
		if (!memcmp(&trips[i].local, local, sizeof(*local)) &&
		    !memcmp(&trips[i].peer, peer, sizeof(*peer))) {
			trip = &trips[i];
			break;
		}
		if (trips[i].seen_us < trip->seen_us)
			trip = &trips[i];
	}
	if (memcmp(&trip->local, local, sizeof(*local)) ||
	    memcmp(&trip->peer, peer, sizeof(*peer))) {
		trip->local = *local;
		trip->peer = *peer;
		trip->us = 0;
	}
	if (!trip->us || rtt_us <= trip->rtt_us || look->us - trip->us > TRIP_AGE_US) {
		trip->rtt_us = rtt_us;
		trip->us = look->us;
	}
	trip->seen_us = look->us;
}

static struct flow *find_flow(const struct look *look, const struct diag_socket *socket,
			      uint64_t bytes)
{
	struct flow *group = flows[(socket->local_port * 31 + socket->peer_port) % FLOW_GROUPS];
	struct flow *oldest = group;

	for (unsigned int i = 0; i < FLOW_PLACES; i++) {
		struct flow *flow = &group[i];

		if (flow->port == socket->local_port && flow->peer_port == socket->peer_port &&
		    !memcmp(&flow->local, &socket->local, sizeof(socket->local)) &&
		    !memcmp(&flow->peer, &socket->peer, sizeof(socket->peer)))
			return flow;
		if (flow->seen_us < oldest->seen_us)
			oldest = flow;
	}
	if (is_kept(oldest->seen_us, look)) {
		crowded = true;
		return NULL;
	}
	oldest->local = socket->local;
	oldest->peer = socket->peer;
	oldest->port = socket->local_port;
	oldest->peer_port = socket->peer_port;
	/* it began since, unless it had no place */
	oldest->bytes = look->crowded ? bytes : 0;
	oldest->seen_us = look->us;
	return oldest;
}

static void take_bytes(const struct look *look, struct path *path,
		       const struct diag_socket *socket, const struct tcpinfo *info)
{
	uint64_t bytes = info->received_bytes + info->acked_bytes, data_us;
	struct flow *flow = find_flow(look, socket, bytes);

	if (!flow)
		return;
	if (bytes > flow->bytes) {
		path->look_bytes += bytes - flow->bytes;
		path->busy++;
		data_us = info->acked_bytes > info->received_bytes ? look->us :
			  look->us - info->received_ms * 1000ULL;
		if (data_us > path->data_us)
			path->data_us = data_us;
	}
	flow->bytes = bytes;
	flow->seen_us = look->us;
	if (info->receive_rtt_us > info->min_rtt_us + path->queue_us)
		path->queue_us = info->receive_rtt_us - info->min_rtt_us;
}

/* What a connection says that lives, or has just ended. */
static void take_info(const struct look *look, struct path *path,
		      const struct diag_socket *socket, const struct tcpinfo *info)
{
	uint64_t ago_us = info->acked_ms * 1000ULL;
	uint64_t answered_us = ago_us < look->us ? look->us - ago_us : 0;

	if (answered_us > path->answered_us)
		path->answered_us = answered_us;
	silent_answered(&socket->local, &socket->peer, answered_us);
	if (path->dead_ms && path->answered_us / 1000 > path->dead_ms)
		declare_alive(path);
	if (info->min_rtt_us > path->reach_us)
		path->reach_us = info->min_rtt_us;
	take_bytes(look, path, socket, info);
	if (info->min_rtt_us)
		take_trip(look, &socket->local, &socket->peer, info->min_rtt_us);
}

/* The path that the socket tells something of, or NULL. */
static struct path *path_of(const struct look *look, const struct diag_socket *socket)
{
	return !socket->info || list_covers(look->left, &socket->peer) ? NULL :
	       path_at(look->paths, &socket->local);
}

static void take_socket(const struct diag_socket *socket, void *arg)
{
	struct look *look = arg;
	struct path *path = path_of(look, socket);
	struct tcpinfo info;

	if (!path)
		return;
	tcpinfo_parse(&info, nla_data(socket->info), nla_len(socket->info));
	if (socket->opening)
		take_opening(look, path, socket);
	else
		take_info(look, path, socket, &info);
}

/* One that was never answered has no round trip, and says nothing. */
static void take_ended(const struct diag_socket *socket, void *arg)
{
	const struct look *look = arg;
	struct path *path = path_of(look, socket);
	struct tcpinfo info;
	struct flow *flow;

	if (!path)
		return;
	tcpinfo_parse(&info, nla_data(socket->info), nla_len(socket->info));
	if (!info.min_rtt_us)
		return;
	take_info(look, path, socket, &info);
	flow = find_flow(look, socket, 0);
	if (flow)
		memset(flow, 0, sizeof(*flow));
	ended_bytes += info.received_bytes + info.acked_bytes;
	path->ended++;
}

static bool is_compared(const struct look *look, const struct trip *trip)
{
	for (const struct trip *other = trips; other < trips + TRIPS_MAX; other++)
		if (other->us && memcmp(&other->local, &trip->local, sizeof(trip->local)) &&
		    !memcmp(&other->peer, &trip->peer, sizeof(trip->peer)) &&
		    path_at(look->paths, &other->local))
			return true;
	return false;
}

/* A path that didn't answer before is tried again: one that isn't answered now is enough. */
static void judge(struct path *path, uint64_t us)
{
	bool waits = path->waiting_us > path->answered_us;

	if (path->dead_ms ? waits :
	    silent_condemns(&path->address, path->answered_us, us / 1000))
		declare_dead(path, us / 1000);
}

/* The mean over the peers that another path reaches, too. */
static void settle(const struct look *look)
{
	for_each(struct path, path, look->paths) {
		uint64_t sum = 0;
		unsigned int count = 0;

		for (const struct trip *trip = trips; trip < trips + TRIPS_MAX; trip++)
			if (trip->us &&
			    !memcmp(&trip->local, &path->address, sizeof(trip->local)) &&
			    is_compared(look, trip)) {
				sum += trip->rtt_us;
				count++;
			}
		if (count)
			path->rtt_us = sum / count;
	}
}

static void raise_to(uint64_t *most, uint64_t *most_us, uint64_t rate_byteps, uint64_t us)
{
	if (rate_byteps <= *most && us - *most_us <= RATE_AGE_US)
		return;
	*most = rate_byteps;
	*most_us = us;
}

bool seen_told(struct path *path, uint64_t byteps, uint64_t age_us, uint64_t us)
{
	uint64_t measured_us = us > age_us ? us - age_us : 0;

	if (age_us > RATE_AGE_US || us < path->deaf_until_us || measured_us <= path->full_us ||
	    measured_us < path->told_us)
		return false;
	path->told_byteps = byteps;
	path->told_us = measured_us;
	return true;
}

void seen_expire(struct path *path, uint64_t us)
{
	if (us - path->told_us > RATE_AGE_US)
		path->told_byteps = 0;
}

static void refute_told(struct path *path, uint64_t rate_byteps, uint64_t us)
{
	if (path->told_byteps / TOLD_TIMES > rate_byteps)
		path->deaf_until_us = us + RATE_AGE_US;
	path->told_byteps = 0;
	path->full_us = us;
}

/*
 * What was carried while it was in use is the path's rate only if more was waiting, or else a bound
 * of it. A path on which nothing ever waits counts as one of any rate. What was seen of a full path
 * replaces what a server said.
 */
static void take_rate(struct path *path, uint64_t us)
{
	uint64_t span_us = path->data_us - path->moved_us, rate_byteps;
	bool idle = path->look_bytes < IDLE_BYTES, full;

	path->sum_bytes += path->look_bytes;
	path->look_bytes = 0;
	if (!idle && us < path->moved_us + RATE_SPAN_US)
		return;
	if (path->data_us > path->moved_us + RATE_SPAN_LEAST_US &&
	    path->sum_bytes >= RATE_BYTES) {
		rate_byteps = path->sum_bytes * 1000000 / span_us;
		full = path->queue_us * rate_byteps / 1000000 >= QUEUE_BYTES;
		if (full)
			refute_told(path, rate_byteps, us);
		if (full || (path->rate_byteps && rate_byteps > path->rate_byteps))
			raise_to(&path->rate_byteps, &path->rate_us, rate_byteps, us);
		else
			raise_to(&path->floor_byteps, &path->floor_us, rate_byteps, us);
	}
	path->sum_bytes = 0;
	path->queue_us = 0;
	path->moved_us = us;
}

/* Each path has a subflow of each connection, at most. */
static void take_answers(const struct list *paths)
{
	unsigned int busy = 0, ended = 0;

	for_each(struct path, path, paths) {
		if (path->busy > busy)
			busy = path->busy;
		if (path->ended > ended)
			ended = path->ended;
		path->busy = 0;
	}
	if (busy)
		busy_x8 += busy - busy_x8 / 8;
	if (!ended)
		return;
	answer.bytes = ended_bytes / ended;
	if (answer.bytes > ANSWER_MOST_BYTES)
		answer.bytes = ANSWER_MOST_BYTES;
	answer.all_bytes = answer.bytes * busy_x8 / 8;
	if (answer.all_bytes < ANSWER_BYTES)
		answer.all_bytes = ANSWER_BYTES;
	if (answer.all_bytes > ANSWER_MOST_BYTES)
		answer.all_bytes = ANSWER_MOST_BYTES;
	if (ended < ANSWERS_MOST)
		return;
	ended_bytes /= 2;
	for_each(struct path, path, paths)
		path->ended /= 2;
}

/* Look at all that is open now, or is being opened. */
static int look_at_all(struct look *look)
{
	int err;

	look->before_us = looked_us;
	look->crowded = crowded;
	looked_us = look->us;
	crowded = false;
	err = diag_open(&sock, take_socket, look);
	if (!err)
		settle(look);
	return err;
}

void seen_forget(const struct prefix *local)
{
	for (struct trip *trip = trips; trip < trips + TRIPS_MAX; trip++)
		if (!memcmp(&trip->local, local, sizeof(*local)))
			memset(trip, 0, sizeof(*trip));
	for (struct opening *one = openings; one < openings + OPENING_MAX; one++)
		if (!memcmp(&one->local, local, sizeof(*local)))
			memset(one, 0, sizeof(*one));
}

const struct answer *seen_answer(void)
{
	return &answer;
}

int seen_read(const struct list *paths, const struct list *left, uint64_t us)
{
	struct look look = { .paths = paths, .left = left, .us = us };
	int err;

	seen_ended(paths, left, us);
	for_each(struct path, path, paths)
		path->waiting_us = 0;
	err = look_at_all(&look);
	if (!err) {
		take_answers(paths);
		for_each(struct path, path, paths) {
			take_rate(path, us);
			judge(path, us);
		}
	}
	return err ?: (int)look.opening;
}

void seen_begin(const struct list *paths, const struct list *left, uint64_t us)
{
	struct look look = { .paths = paths, .left = left, .us = us };

	/* nobody saw since when it was carried */
	look_at_all(&look);
	for_each(struct path, path, paths) {
		path->sum_bytes = 0;
		path->look_bytes = 0;
		path->queue_us = 0;
		path->busy = 0;
		/* data comes after two round trips */
		path->moved_us = us + 2 * path->rtt_us;
	}
}

int seen_watch(void)
{
	return diag_watch(&watch);
}

void seen_ended(const struct list *paths, const struct list *left, uint64_t us)
{
	struct look look = { .paths = paths, .left = left, .us = us,
			     .before_us = looked_us, .crowded = crowded };

	if (!watch)
		return;
	diag_ended(watch, take_ended, &look);
	settle(&look);
}

void seen_close(void)
{
	source_close(&sock);
	source_close(&watch);
}
