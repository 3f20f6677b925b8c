// SPDX-License-Identifier: GPL-2.0
/*
 * seen - what this machine's TCP sockets tell of the paths
 *
 * Round trips are compared only between connections to the same peer: another path may lead to
 * other peers only, nearer or farther. A path is dead if a connection that is being opened on it
 * waits for longer than its peers take to answer, and nothing on it was answered meanwhile. It
 * counts as living again as soon as something is, and after a while without: what keeps
 * connections off a path must not need connections on it to end.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <netlink/attr.h>

#include "diag.h"
#include "paths.h"
#include "../lib/tcpinfo.h"

/* Connections that are being opened, and for how long: by both ports, addresses are the path's. */
#define OPENING_MAX	64
/* Patience with a path whose round trip is unknown, and factor for one where it is known. */
#define PATIENCE_US	300000
#define PATIENCE_RTTS	3
/* A path's rate counts if so much was carried between two looks that are at most so far apart. */
#define RATE_BYTES	65536
#define RATE_SPAN_US	2000000
/* And so long, unless it carries more. */
#define RATE_AGE_US	600000000
/* How long a dead path stays out: doubled each time, at most 64 times. */
#define DEAD_MS		10000
#define DEATHS_MAX	6

struct opening {
	struct prefix local, peer;
	uint16_t port;
	uint64_t since_us;
	uint64_t seen_us;
};

/* The least round trip of the connections over one path to one peer. */
struct trip {
	unsigned int path;	/* index in the list */
	struct prefix peer;
	uint32_t rtt_us;
};

static struct nl_sock *sock;
static struct opening openings[OPENING_MAX];

struct look {
	const struct list *paths;
	struct list trips;
	uint64_t us;
	unsigned int opening;
};

static struct opening *find_opening(const struct diag_socket *socket, uint64_t us)
{
	struct opening *oldest = &openings[0];

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
	oldest->local = socket->local;
	oldest->peer = socket->peer;
	oldest->port = socket->local_port;
	oldest->since_us = us;
	oldest->seen_us = us;
	return oldest;
}

static void is_dead(struct path *path, uint64_t ms)
{
	if (path->dead_ms && ms < path->again_ms) {
		/* it was tried again */
		if (path->waiting_us / 1000 > path->dead_ms)
			path->dead_ms = path->waiting_us / 1000;
		return;
	}
	path->dead_ms = ms;
	path->again_ms = ms + (DEAD_MS << path->deaths);
	if (path->deaths < DEATHS_MAX)
		path->deaths++;
	say("%s: nothing is answered", path->interface);
}

static void lives(struct path *path)
{
	if (path->dead_ms)
		say("%s: answers again", path->interface);
	path->dead_ms = 0;
	path->deaths = 0;
}

static void take_opening(struct look *look, struct path *path,
			 const struct diag_socket *socket)
{
	uint32_t rtt_us = path->rtt_us > path->reach_us ? path->rtt_us : path->reach_us;
	uint64_t patience_us = (uint64_t)rtt_us * PATIENCE_RTTS;
	const struct opening *opening = find_opening(socket, look->us);

	look->opening++;
	if (patience_us < PATIENCE_US)
		patience_us = PATIENCE_US;
	if (look->us - opening->since_us >= patience_us && opening->since_us > path->waiting_us)
		path->waiting_us = opening->since_us;
}

static void take_trip(struct look *look, const struct path *path, const struct prefix *peer,
		      uint32_t rtt_us)
{
	unsigned int nr = path - (const struct path *)look->paths->at;
	struct trip *trip;

	for_each(struct trip, one, &look->trips)
		if (one->path == nr && !memcmp(&one->peer, peer, sizeof(*peer))) {
			if (rtt_us < one->rtt_us)
				one->rtt_us = rtt_us;
			return;
		}
	trip = list_add(&look->trips, sizeof(*trip));
	trip->path = nr;
	trip->peer = *peer;
	trip->rtt_us = rtt_us;
}

static void take_socket(const struct diag_socket *socket, void *arg)
{
	struct path *path;
	struct look *look = arg;
	struct tcpinfo info;
	uint64_t ago_us;

	path = path_at(look->paths, &socket->local);
	if (!path || !socket->info)
		return;
	tcpinfo_parse(&info, nla_data(socket->info), nla_len(socket->info));
	if (socket->opening) {
		take_opening(look, path, socket);
		return;
	}
	ago_us = info.acked_ms * 1000ULL;
	if (ago_us < look->us && look->us - ago_us > path->answered_us)
		path->answered_us = look->us - ago_us;
	if (path->dead_ms && path->answered_us / 1000 > path->dead_ms)
		lives(path);
	if (info.min_rtt_us > path->reach_us)
		path->reach_us = info.min_rtt_us;
	path->sum_bytes += info.received_bytes + info.acked_bytes;
	if (info.min_rtt_us)
		take_trip(look, path, &socket->peer, info.min_rtt_us);
}

static bool is_compared(const struct list *trips, const struct trip *trip)
{
	for_each(const struct trip, other, trips)
		if (other->path != trip->path &&
		    !memcmp(&other->peer, &trip->peer, sizeof(trip->peer)))
			return true;
	return false;
}

/* The mean over the peers that another path reaches, too. */
static void settle(const struct look *look)
{
	unsigned int nr = 0;

	for_each(struct path, path, look->paths) {
		uint64_t sum = 0;
		unsigned int count = 0;

		for_each(const struct trip, trip, &look->trips)
			if (trip->path == nr && is_compared(&look->trips, trip)) {
				sum += trip->rtt_us;
				count++;
			}
		if (count)
			path->rtt_us = sum / count;
		nr++;
	}
}

/* The sum falls when connections end: then nobody knows. */
static void take_rate(struct path *path, uint64_t us)
{
	uint64_t span_us = us - path->moved_us, rate_byteps;

	if (span_us && span_us <= RATE_SPAN_US &&
	    path->sum_bytes >= path->moved_bytes + RATE_BYTES) {
		rate_byteps = (path->sum_bytes - path->moved_bytes) * 1000000 / span_us;
		if (rate_byteps >= path->rate_byteps || us - path->rate_us > RATE_AGE_US) {
			path->rate_byteps = rate_byteps;
			path->rate_us = us;
		}
	}
	path->moved_bytes = path->sum_bytes;
	path->moved_us = us;
}

int seen_read(const struct list *paths, uint64_t us)
{
	struct look look = { .paths = paths, .us = us };
	int err;

	for_each(struct path, path, paths) {
		path->sum_bytes = 0;
		path->waiting_us = 0;
	}
	err = diag_open(&sock, take_socket, &look);
	if (!err) {
		settle(&look);
		for_each(struct path, path, paths) {
			take_rate(path, us);
			if (path->waiting_us > path->answered_us)
				is_dead(path, us / 1000);
		}
	}
	list_free(&look.trips);
	return err ?: (int)look.opening;
}

void seen_close(void)
{
	source_close(&sock);
}
