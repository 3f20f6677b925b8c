// SPDX-License-Identifier: GPL-2.0
/*
 * told - what was set in the module under each name, and which subflows a peer may name
 *
 * For each name, struct told remembers what was set, so that a report which repeats
 * a state costs no netlink request.
 */
#include <errno.h>
#include <stdlib.h>

#include <linux/mptcp_pams.h>

#include "session.h"

#define REFUSED_MS	5000
/* Limit of lookups of unknown tokens, per peer. */
#define GUESSES_PS	8
#define GUESSES_BURST	64
/* So many connections may have been closed before the report of them came. */
#define LATE_PS		500
#define LATE_BURST	1000
/* A loss isn't set again if its time, or the end of its lifetime, moves less than this. */
#define LOSS_NEAR_MS	5
#define UNTIL_NEAR_MS	1000

/* --- setting paths in the module --- */

static void count_error(struct peer *peer, int err)
{
	if (err && err != -ENOENT)
		peer->drops[DROP_KERNEL]++;
}

static void tell_pipe(struct peer *peer, const struct peers_env *env,
		      const struct pams_path *key, struct told *told,
		      const struct held_path *path, uint64_t ms)
{
	struct pams_path set = *key;

	set.has_pipe = true;
	set.rate_byteps = path->state.rate_byteps;
	set.hs_rate_byteps = path->state.hs_rate_byteps;
	set.backlog_bytes = path->state.backlog_bytes;
	set.has_delay = path->state.flags & REPORT_DELAY;
	set.delay_us = path->state.delay_us;
	set.ttl_ms = path->pipe_until_ms - ms;
	told->pipe_until_ms = path->pipe_until_ms;
	count_error(peer, env->path_set(&set, env->arg));
}

/* Set a loss. The module counts its time from now, not from the report; 0 if it has passed. */
static void tell_loss(struct peer *peer, const struct peers_env *env,
		      const struct pams_path *key, struct told *told,
		      const struct held_path *path, uint64_t ms)
{
	int64_t ahead_ms = path->loss_at_ms - (int64_t)ms;
	struct pams_path set = *key;

	set.has_loss = true;
	set.loss_ms = ahead_ms > 0 ? ahead_ms : 0;
	set.loss_spread_ms = path->state.loss_spread_ms;
	/* a loss at the latest time that may hold leaves 0, which means the module's default */
	set.ttl_ms = path->loss_until_ms - ms - set.loss_ms ?: 1;
	told->loss_at_ms = path->loss_at_ms;
	told->spread_ms = path->state.loss_spread_ms;
	told->loss_until_ms = path->loss_until_ms;
	count_error(peer, env->path_set(&set, env->arg));
}

static void tell_no_loss(struct peer *peer, const struct peers_env *env,
			 const struct pams_path *key, struct told *told)
{
	struct pams_path set = *key;

	set.no_loss = true;
	told->loss_until_ms = 0;
	count_error(peer, env->path_set(&set, env->arg));
}

static void tell_cost(struct peer *peer, const struct peers_env *env,
		      const struct pams_path *key, struct told *told,
		      const struct held_path *path, uint64_t ms)
{
	struct pams_path set = *key;

	set.has_cost = true;
	set.cost = path->state.cost;
	/* to take back a cost set 0, the default, for 1 ms */
	set.ttl_ms = path->cost_until_ms ? path->cost_until_ms - ms : 1;
	told->cost = path->state.cost;
	told->cost_until_ms = path->cost_until_ms;
	count_error(peer, env->path_set(&set, env->arg));
}

/* Does the module have this cost, with at least half of its lifetime left? */
static bool is_cost_told(const struct told *told, const struct held_path *path)
{
	return told->cost == path->state.cost &&
	       told->cost_until_ms + COST_MS / 2 >= path->cost_until_ms;
}

/* Both times are over, or nearly the same. */
static bool is_same_time(int64_t at_ms, int64_t told_ms, int64_t ms)
{
	return (at_ms <= ms && told_ms <= ms) || llabs(told_ms - at_ms) <= LOSS_NEAR_MS;
}

/*
 * Does the module have this loss, or nearly so? A path that is lost now is reported so ten times a
 * second, each time for a minute from then: that is told anew after an eighth of the minute.
 */
static bool is_told(const struct told *told, const struct held_path *path,
		    uint64_t ms)
{
	uint64_t until = told->loss_until_ms, renew_ms = UNTIL_NEAR_MS;

	if (until <= ms || told->spread_ms != path->state.loss_spread_ms ||
	    !is_same_time(path->loss_at_ms, told->loss_at_ms, ms))
		return false;
	if (path->loss_at_ms <= (int64_t)ms && (path->loss_until_ms - ms) / 8 > renew_ms)
		renew_ms = (path->loss_until_ms - ms) / 8;
	return path->loss_until_ms < until + renew_ms &&
	       until < path->loss_until_ms + UNTIL_NEAR_MS;
}

/* Does the module have a cost that isn't reported any more? Of this pamsd, as far as is known. */
static bool is_cost_left(const struct told *told, const struct held_path *path, uint64_t ms)
{
	return !path->cost_until_ms && told->cost_until_ms > ms;
}

/* The same for the first time: of a previous pamsd. */
static bool has_old_cost(const struct peers_env *env, const struct pams_path *key,
			 const struct told *told, const struct held_path *path)
{
	return !told->any && !path->cost_until_ms && env->has_cost(key, env->arg);
}

bool told_is_current(const struct told *told, const struct held_path *path, uint64_t ms)
{
	if (!told->any || path->pipe_until_ms > ms || is_cost_left(told, path, ms))
		return false;
	if (path->cost_until_ms > ms && !is_cost_told(told, path))
		return false;
	return path->loss_until_ms > ms ? is_told(told, path, ms) : told->loss_until_ms <= ms;
}

void told_update(struct peer *peer, const struct peers_env *env, const struct pams_path *key,
		 struct told *told, const struct held_path *path, uint64_t ms)
{
	/* ask first: setting anything makes this pamsd the origin of the cost, too */
	bool cost_left = is_cost_left(told, path, ms) || has_old_cost(env, key, told, path);

	if (path->pipe_until_ms > ms)
		tell_pipe(peer, env, key, told, path, ms);
	if (path->loss_until_ms > ms) {
		if (!is_told(told, path, ms))
			tell_loss(peer, env, key, told, path, ms);
	} else if (told->loss_until_ms > ms || !told->any) {
		tell_no_loss(peer, env, key, told);
	}
	if ((path->cost_until_ms > ms && !is_cost_told(told, path)) || cost_left)
		tell_cost(peer, env, key, told, path, ms);
	told->any = true;
}

void told_forget(struct told *told)
{
	told->pipe_until_ms = 0;
	told->loss_until_ms = 0;
	told->cost_until_ms = 0;
}

void told_withdraw(struct peer *peer, const struct peers_env *env, const struct pams_path *key,
		   const struct told *told, uint64_t ms)
{
	if (told->loss_until_ms > ms || told->pipe_until_ms > ms || told->cost_until_ms > ms)
		count_error(peer, env->path_del(key, env->arg));
}

/* --- which subflows a peer may name --- */

static struct refused *find_refused(struct peer *peer, const struct pams_path *key,
				    uint32_t proof, uint64_t ms)
{
	for (unsigned int i = 0; i < REFUSED_MAX; i++) {
		struct refused *refused = &peer->refused[i];

		if (refused->until_ms > ms && refused->token == key->token &&
		    refused->proof == proof &&
		    refused->local_id == key->local_id &&
		    refused->remote_id == key->remote_id)
			return refused;
	}
	return NULL;
}

static void keep_refused(struct peer *peer, const struct pams_path *key, uint32_t proof,
			 enum drop why, uint64_t ms)
{
	struct refused *refused = &peer->refused[peer->refused_next++ % REFUSED_MAX];

	refused->token = key->token;
	refused->proof = proof;
	refused->why = why;
	refused->local_id = key->local_id;
	refused->remote_id = key->remote_id;
	refused->until_ms = ms + REFUSED_MS;
}

/* Of a connection that isn't there: likely it was closed meanwhile, which is no guess. */
static bool is_late(struct peer *peer, bool whole, int err, uint64_t ms)
{
	return whole && err == -ENOENT &&
	       bucket_take(&peer->late, LATE_PS, LATE_BURST, ms * 1000);
}

/*
 * Ask the module, unless the peer has guessed too often. What is right isn't counted as a guess.
 * Returns 0 or -errno; -EBUSY: not asked.
 */
static int ask(struct peer *peer, const struct peers_env *env, const struct pams_path *key,
	       bool whole, uint32_t proof, uint64_t ms)
{
	struct bucket before = peer->guesses;
	int err;

	if (!bucket_take(&peer->guesses, GUESSES_PS, GUESSES_BURST, ms * 1000))
		return -EBUSY;
	err = whole ? env->conn_find(key->token, proof, env->arg) :
		      env->subflow_find(key, proof, env->arg);
	if (!err || err == -EAGAIN || is_late(peer, whole, err, ms))
		peer->guesses = before;
	return err;
}

static enum drop why_not(int err)
{
	return err == -EACCES ? DROP_UNPROVEN : DROP_NO_CONNECTION;
}

enum owned owned_subflow(struct peer *peer, const struct peers_env *env,
			 const struct pams_path *key, uint32_t proof, uint64_t ms)
{
	const struct refused *refused = find_refused(peer, key, proof, ms);
	int err;

	if (refused) {
		peer->drops[refused->why]++;
		return OWNED_NO;
	}
	err = ask(peer, env, key, false, proof, ms);
	if (!err || err == -EAGAIN)
		return err ? OWNED_UNSURE : OWNED_YES;
	if (err == -EBUSY) {
		peer->drops[DROP_GUESSES]++;
		return OWNED_NO;
	}
	keep_refused(peer, key, proof, why_not(err), ms);
	peer->drops[why_not(err)]++;
	return OWNED_NO;
}

enum owned owned_conn(struct peer *peer, const struct peers_env *env, uint32_t token,
		      uint32_t proof, uint64_t ms)
{
	const struct pams_path key = { .key = PAMS_KEY_TOKEN, .token = token };
	int err = ask(peer, env, &key, true, proof, ms);

	if (!err)
		return OWNED_YES;
	if (err == -EAGAIN || err == -EBUSY)
		return OWNED_UNSURE;
	peer->drops[why_not(err)]++;
	return OWNED_NO;
}
