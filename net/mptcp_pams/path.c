// SPDX-License-Identifier: GPL-2.0
/* The table of what was reported of paths to peers, in each network namespace: the pipe
 * behind a helper, the time at which a path will be lost, and what a path costs.
 *
 * A path has one key: a subflow (token and address ids), an address (prefix,
 * with or without a port) or an interface. For a subflow, pipe, loss time and cost are
 * looked up separately: each is taken from the most specific path that has a valid one. The
 * order is subflow, address (longer prefix first, with a port first), interface.
 *
 * Decisions read under RCU, without a lock. A path in the table is never changed: a report
 * replaces it, and @generation tells readers to look up again. A subflow remembers the paths
 * that were found for it, so a lookup costs nothing between two reports; after a report it
 * costs a hash for each kind and prefix length in use, however many paths there are.
 *
 * The table grows and shrinks with the number of paths, and its hash has a random
 * seed, so nobody can choose paths that share a bucket.
 *
 * The number of paths is bounded (paths_max), and reports expire: readers compare the times
 * themselves; a timer and a work item remove expired reports from the table, and tell
 * listeners, about 100 ms later at most. Time goes on while the machine is suspended.
 */
#include <linux/bitmap.h>
#include <linux/netlink.h>
#include <linux/rhashtable.h>
#include <linux/sched.h>
#include <linux/string.h>
#include <net/dst.h>

#include "features.h"
#include "compat/hrtimer.h"
#include "compat/slab.h"
#include "pams.h"
#include "tell.h"

/* the shortest time between two searches of the table for expired reports */
#define PATH_SWEEP_NS		(NSEC_PER_SEC / 10)
/* The generation's low half wraps soon, as jiffies do, so that a fault in wrapping shows early. */
#define PATH_GENERATION_FIRST	(-100U)

/**
 * pams_path_key_mask - clear the bits of the address that the prefix doesn't have
 * @key: an address key
 */
void pams_path_key_mask(struct pams_path_key *key)
{
	struct in6_addr address = key->address;

	ipv6_addr_prefix(&key->address, &address, key->prefix_len);
}

static const struct rhashtable_params path_table_params = {
	.key_len		= sizeof(struct pams_path_key),
	.key_offset		= offsetof(struct pams_path, key),
	.head_offset		= offsetof(struct pams_path, node),
	.automatic_shrinking	= true,
};

/**
 * pams_path_find - the path with exactly this key
 * @paths: the namespace's paths
 * @key: the key, masked (pams_path_key_mask())
 *
 * Called under RCU or the writers' lock.
 *
 * Return: the path, or NULL.
 */
struct pams_path *pams_path_find(struct pams_paths *paths,
				 const struct pams_path_key *key)
{
	/* all bytes are hashed and compared, so there must be no padding */
	BUILD_BUG_ON(sizeof(*key) != 28);

	return rhashtable_lookup_fast(&paths->table, key, path_table_params);
}

static void paths_count(struct pams_paths *paths, const struct pams_path *path,
			int change)
{
	const struct pams_path_key *key = &path->key;
	bool with_port = key->port;

	WRITE_ONCE(paths->nr, paths->nr + change);
	WRITE_ONCE(paths->nr_of[key->kind], paths->nr_of[key->kind] + change);
	if (key->kind != PAMS_PATH_ADDRESS)
		return;

	paths->nr_prefix[with_port][key->prefix_len] += change;
	if (paths->nr_prefix[with_port][key->prefix_len])
		set_bit(key->prefix_len, paths->prefixes[with_port]);
	else
		clear_bit(key->prefix_len, paths->prefixes[with_port]);
}

/* Change the generation, so that readers look up again. A removed path is freed only after all
 * readers that have seen the former generation. A reader that sees the high half change first
 * gets a generation that never was, and looks up again, too.
 */
static void paths_changed(struct pams_paths *paths)
{
	u32 generation = paths->generation + 1;

	if (!generation) {
		WRITE_ONCE(paths->generation_high, paths->generation_high + 1);
		generation = 1;
	}
	/* pairs with pams_paths_generation() */
	smp_store_release(&paths->generation, generation);
}

static int path_add(struct pams_paths *paths, struct pams_path *path)
{
	int err;

	err = rhashtable_insert_fast(&paths->table, &path->node,
				     path_table_params);
	if (err)
		return err;

	list_add_tail(&path->list, &paths->list);
	paths_count(paths, path, 1);
	paths_changed(paths);
	return 0;
}

static void path_remove(struct pams_paths *paths, struct pams_path *path)
{
	rhashtable_remove_fast(&paths->table, &path->node, path_table_params);
	list_del(&path->list);
	paths_count(paths, path, -1);
	paths_changed(paths);
	kfree_rcu(path, rcu);
}

/* Replace @old by @path, which has the same key. This can't fail, since @old is in the table. */
static void path_replace(struct pams_paths *paths, struct pams_path *old,
			 struct pams_path *path)
{
	rhashtable_replace_fast(&paths->table, &old->node, &path->node,
				path_table_params);
	list_replace(&old->list, &path->list);
	paths_changed(paths);
	kfree_rcu(old, rcu);
}

/* When the first part of a report expires. */
static u64 report_expires_ns(const struct pams_report *report)
{
	u64 expires_ns = report->cost.expires_ns ?: PAMS_NEVER_NS;

	if (report->pipe.rate_byteps)
		expires_ns = min(expires_ns, report->pipe.expires_ns);
	if (report->loss.ns)
		expires_ns = min(expires_ns, report->loss.expires_ns);
	return expires_ns;
}

static bool report_is_empty(const struct pams_report *report)
{
	return !report->pipe.rate_byteps && !report->loss.ns && !report->cost.expires_ns;
}

/* Replace those parts of a report that @news has: pipe, loss time or cost, each as a whole.
 * With @no_loss the loss time is forgotten.
 */
static void report_merge(struct pams_report *report,
			 const struct pams_report *news, bool no_loss)
{
	if (news->pipe.rate_byteps)
		report->pipe = news->pipe;
	if (news->loss.ns || no_loss)
		report->loss = news->loss;
	if (news->cost.expires_ns)
		report->cost = news->cost;
}

/* The parts of a report that expire later than @ns. */
static struct pams_report report_rest(const struct pams_report *report, u64 ns)
{
	struct pams_report rest = {};

	if (pams_report_has_pipe(report, ns))
		rest.pipe = report->pipe;
	if (pams_report_has_loss(report, ns))
		rest.loss = report->loss;
	if (pams_report_has_cost(report, ns))
		rest.cost = report->cost;
	return rest;
}

/* The parts of a path's report whose expiry listeners haven't been told of. */
static struct pams_report path_rest(const struct pams_path *path)
{
	return report_rest(&path->report, path->told_ns);
}

/* Store a new path, merged with what the table has under its key. The lock is held. Returns 0 if
 * the table owns @path now or @path was freed, else an error, with @path still the caller's.
 */
static int path_store(struct pams_net *net, struct pams_path *path, bool no_loss,
		      struct netlink_ext_ack *extack)
{
	struct pams_paths *paths = &net->paths;
	struct pams_report news = path->report;
	struct pams_path *old;
	int err;

	old = pams_path_find(paths, &path->key);
	if (old)
		path->report = path_rest(old);
	report_merge(&path->report, &news, no_loss);

	if (report_is_empty(&path->report)) {
		if (old)
			path_remove(paths, old);
		kfree(path);
		return 0;
	}
	if (old) {
		path_replace(paths, old, path);
		return 0;
	}
	if (paths->nr >= READ_ONCE(net->paths_max)) {
		NL_SET_ERR_MSG(extack,
			       "net.mptcp_pams.paths_max paths are known: no more are allowed");
		return -ENOSPC;
	}
	err = path_add(paths, path);
	if (err)
		NL_SET_ERR_MSG(extack,
			       "the table of paths can't grow now: try again");
	return err;
}

/* Arm the timer for a report that expires at @expires_ns, but for PATH_SWEEP_NS from now at the
 * soonest; unless it is armed for an earlier expiry already. The lock is held.
 */
static void paths_expect(struct pams_paths *paths, u64 expires_ns)
{
	u64 soonest_ns = ktime_get_boottime_ns() + PATH_SWEEP_NS;

	if (expires_ns >= paths->expiry_ns)
		return;

	paths->expiry_ns = expires_ns;
	hrtimer_start(&paths->timer, ns_to_ktime(max(expires_ns, soonest_ns)),
		      HRTIMER_MODE_ABS_SOFT);
}

/**
 * pams_path_set - store a report
 * @net:	its namespace
 * @key:	the path's key, masked
 * @report:	the report; it has no pipe if the rate is 0, no loss time if that is 0, and no
 *		cost if that expires at 0
 * @no_loss:	the path won't be lost: forget a loss time that was reported before
 * @origin:	the reporter's name
 * @extack:	set to the reason if the report is refused
 *
 * Process context.
 *
 * Return: 0, -ENOSPC if there are paths_max paths, -ENOMEM, or the error of
 * rhashtable_insert_fast().
 */
int pams_path_set(struct pams_net *net, const struct pams_path_key *key,
		  const struct pams_report *report, bool no_loss,
		  const char *origin, struct netlink_ext_ack *extack)
{
	struct pams_path *path;
	int err;

	path = kzalloc_obj(*path, GFP_KERNEL_ACCOUNT);
	if (!path)
		return -ENOMEM;

	path->key = *key;
	path->report = *report;
	strscpy(path->origin, origin, sizeof(path->origin));
	mutex_lock(&net->paths.lock);
	err = path_store(net, path, no_loss, extack);
	if (!err)
		paths_expect(&net->paths, report_expires_ns(report));
	mutex_unlock(&net->paths.lock);

	if (err)
		kfree(path);
	return err;
}

/**
 * pams_path_del - forget a path
 * @net: its namespace
 * @key: its key, masked
 *
 * Return: 0 or -ENOENT.
 */
int pams_path_del(struct pams_net *net, const struct pams_path_key *key)
{
	struct pams_path *path;

	mutex_lock(&net->paths.lock);
	path = pams_path_find(&net->paths, key);
	if (path)
		path_remove(&net->paths, path);
	mutex_unlock(&net->paths.lock);

	return path ? 0 : -ENOENT;
}

/**
 * pams_path_flush - forget all paths
 * @net: their namespace
 */
void pams_path_flush(struct pams_net *net)
{
	struct pams_path *path, *next;

	mutex_lock(&net->paths.lock);
	list_for_each_entry_safe(path, next, &net->paths.list, list) {
		path_remove(&net->paths, path);
		cond_resched();
	}
	mutex_unlock(&net->paths.lock);
}

/* If parts of a path's report have expired, tell listeners, and remove the path if no part is
 * left. Otherwise the path stays as it is, as readers compare the times. (A copy without the
 * expired parts, made by a work item, would be memory that no cgroup is charged for.) The lock
 * is held. Returns when the next part expires.
 */
static u64 path_expire(struct pams_net *net, struct pams_path *path, u64 now_ns)
{
	struct pams_report known = path_rest(path), rest;

	if (report_expires_ns(&known) > now_ns)
		return report_expires_ns(&known);

	pams_tell_expired(net, &path->key, &known, now_ns);
	atomic64_inc(&net->totals.expired);

	rest = report_rest(&known, now_ns);
	if (report_is_empty(&rest)) {
		path_remove(&net->paths, path);
		return PAMS_NEVER_NS;
	}
	path->told_ns = now_ns;
	paths_changed(&net->paths);
	return report_expires_ns(&rest);
}

static void paths_sweep(struct work_struct *work)
{
	struct pams_net *net = container_of(work, struct pams_net, paths.expiry);
	u64 now_ns, first_ns = PAMS_NEVER_NS;
	struct pams_path *path, *next;

	mutex_lock(&net->paths.lock);
	now_ns = ktime_get_boottime_ns();
	list_for_each_entry_safe(path, next, &net->paths.list, list) {
		first_ns = min(first_ns, path_expire(net, path, now_ns));
		cond_resched();
	}
	net->paths.expiry_ns = PAMS_NEVER_NS;
	paths_expect(&net->paths, first_ns);
	mutex_unlock(&net->paths.lock);
}

static enum hrtimer_restart paths_timer(struct hrtimer *timer)
{
	schedule_work(&container_of(timer, struct pams_paths, timer)->expiry);
	return HRTIMER_NORESTART;
}

/* Let @path provide those parts of a report that no more specific path has. Returns true if all
 * parts are found.
 */
static bool path_take(const struct pams_path *path, u64 now_ns,
		      struct pams_path_found *found)
{
	if (path && !found->pipe && pams_report_has_pipe(&path->report, now_ns))
		found->pipe = path;
	if (path && !found->loss && pams_report_has_loss(&path->report, now_ns))
		found->loss = path;
	if (path && !found->cost && pams_report_has_cost(&path->report, now_ns))
		found->cost = path;
	return found->pipe && found->loss && found->cost;
}

static bool lookup_prefixes(struct pams_paths *paths, const struct sock *ssk,
			    u64 now_ns, struct pams_path_found *found)
{
	struct pams_path_key key = { .kind = PAMS_PATH_ADDRESS };
	unsigned int shortest = 0;
	struct in6_addr address;
	int bits;

	peek_peer(ssk, &address);
	if (ipv6_addr_v4mapped(&address))
		shortest = 96;

	for (bits = PAMS_PREFIX_BITS; bits >= (int)shortest; bits--) {
		bool any = test_bit(bits, paths->prefixes[0]);
		bool with_port = test_bit(bits, paths->prefixes[1]);

		if (!any && !with_port)
			continue;

		key.prefix_len = bits;
		key.address = address;
		pams_path_key_mask(&key);
		key.port = ssk->sk_dport;
		if (with_port && path_take(pams_path_find(paths, &key), now_ns, found))
			return true;
		key.port = 0;
		if (any && path_take(pams_path_find(paths, &key), now_ns, found))
			return true;
	}
	return false;
}

/**
 * pams_path_ifindex - the interface that a subflow's packets leave through
 * @ssk: the subflow's TCP socket; under RCU
 *
 * Return: 0 if it isn't known.
 */
int pams_path_ifindex(const struct sock *ssk)
{
	int bound = READ_ONCE(ssk->sk_bound_dev_if);
	const struct dst_entry *dst;
	const struct net_device *dev;

	if (bound)
		return bound;
	dst = rcu_dereference(ssk->sk_dst_cache);
	/* read once: when the interface goes, another one takes its place here */
	dev = dst ? READ_ONCE(dst->dev) : NULL;
	return dev ? READ_ONCE(dev->ifindex) : 0;
}

/**
 * pams_path_may_be_of - may reports of a path apply to a subflow?
 * @key:	the path's key, masked
 * @token:	MPTCP's local token of the connection
 * @ssk:	the subflow's TCP socket
 *
 * Return: true if they may, or if that isn't known, since the subflow has no route.
 */
bool pams_path_may_be_of(const struct pams_path_key *key, u32 token, const struct sock *ssk)
{
	struct pams_path_key own = *key;
	int ifindex;

	switch (key->kind) {
	case PAMS_PATH_SUBFLOW:
		own.number = token;
		msk_subflow_ids(ssk, &own.local_id, &own.remote_id);
		break;
	case PAMS_PATH_ADDRESS:
		peek_peer(ssk, &own.address);
		pams_path_key_mask(&own);
		if (key->port)
			own.port = ssk->sk_dport;
		break;
	case PAMS_PATH_INTERFACE:
		rcu_read_lock();
		ifindex = pams_path_ifindex(ssk);
		rcu_read_unlock();
		if (ifindex)
			own.number = ifindex;
		break;
	}
	return !memcmp(&own, key, sizeof(own));
}

/**
 * pams_path_lookup - what was reported of a subflow's path
 * @net:	its namespace
 * @token:	MPTCP's local token of the connection
 * @ssk:	the subflow's TCP socket
 * @ifindex:	index of the interface that its packets leave through, 0 if that isn't known
 * @now_ns:	ktime_get_boottime_ns()
 * @found:	filled in
 *
 * Called under RCU. The paths in @found are valid in the same read-side section, and in a later
 * section if the paths' @generation still is what it was before the call.
 */
void pams_path_lookup(struct pams_net *net, u32 token, const struct sock *ssk,
		      int ifindex, u64 now_ns, struct pams_path_found *found)
{
	struct pams_paths *paths = &net->paths;
	struct pams_path_key key = {};

	*found = (struct pams_path_found){};
	if (READ_ONCE(paths->nr_of[PAMS_PATH_SUBFLOW])) {
		key.kind = PAMS_PATH_SUBFLOW;
		key.number = token;
		msk_subflow_ids(ssk, &key.local_id, &key.remote_id);
		if (path_take(pams_path_find(paths, &key), now_ns, found))
			return;
	}
	if (READ_ONCE(paths->nr_of[PAMS_PATH_ADDRESS]) &&
	    lookup_prefixes(paths, ssk, now_ns, found))
		return;
	if (READ_ONCE(paths->nr_of[PAMS_PATH_INTERFACE])) {
		memset(&key, 0, sizeof(key));
		key.kind = PAMS_PATH_INTERFACE;
		key.number = ifindex;
		path_take(pams_path_find(paths, &key), now_ns, found);
	}
}

/**
 * pams_paths_init - prepare a namespace's table of paths
 * @net: the namespace, zeroed
 *
 * Return: 0 or -ENOMEM.
 */
int pams_paths_init(struct pams_net *net)
{
	INIT_LIST_HEAD(&net->paths.list);
	mutex_init(&net->paths.lock);
	INIT_WORK(&net->paths.expiry, paths_sweep);
	compat_hrtimer_setup_soft(&net->paths.timer, paths_timer, CLOCK_BOOTTIME);
	net->paths.expiry_ns = PAMS_NEVER_NS;
	net->paths.generation = PATH_GENERATION_FIRST;

	return rhashtable_init(&net->paths.table, &path_table_params);
}

/**
 * pams_paths_exit - free a namespace's table, when the namespace ends or the module is unloaded
 * @net: the namespace; nobody looks up its paths any more
 */
void pams_paths_exit(struct pams_net *net)
{
	pams_path_flush(net);
	hrtimer_cancel(&net->paths.timer);	/* nothing arms it again: no path is left */
	cancel_work_sync(&net->paths.expiry);
	rhashtable_destroy(&net->paths.table);
}
