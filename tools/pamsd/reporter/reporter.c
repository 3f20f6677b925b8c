// SPDX-License-Identifier: GPL-2.0
/*
 * reporter - decides when to report which state of a path
 *
 * While data flows, all interfaces are measured every TICK_MS. When data stops, traffic.c
 * waits for the next packet; if it can't, the counters are read every IDLE_TICK_MS. All
 * paths are reported as soon as one of them carries data and either its last report is
 * interval_ms old, or its values differ from what the server can extrapolate.
 *
 * A change of a loss, which includes a change of carrier, is reported at once, and
 * repeated until the server acknowledges it (announce.c). Nothing is sent while no data
 * flows and nothing changes.
 *
 * A path about the interface's source address is named by the subflows that the kernel
 * has through that interface to the server, and by the address from which the server
 * receives the interface's reports, if the server is configured to accept that.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <event2/event.h>
#include <jansson.h>

#include <linux/mptcp_pams.h>

#include "../../lib/netlink.h"
#include "measure.h"
#include "reporter.h"
#include "target.h"

#define TICK_MS		20
#define IDLE_TICK_MS	100
/* Lifetime of a reported rate, in intervals: all but one report may be lost or late. */
#define TTL_INTERVALS	3
/* Look at all subflows this often: the addresses of interfaces and servers may change. */
#define SUBFLOWS_US	1000000
/* Look before a loss is reported, too, unless that was done since. */
#define SUBFLOWS_FRESH_US	50000
/* Avoid sending reports through an interface this long before its loss. */
#define AVOID_MS	1000
/* A predicted time that moves less than this isn't news, see is_news(). */
#define SAME_MS		20
/* Data counts as flowing for this long after it was seen: longer than an idle tick. */
#define FLOW_US		150000
/* While data flows, a path with an unknown rate is reported this often, for its names. */
#define EMPTY_MS	1000
/* Servers keep a cost for ten minutes, a loss for one. */
#define COST_AGAIN_MS	240000
#define LOSS_AGAIN_MS	20000
/*
 * The server extrapolates the backlog with the rate. Report when it is off by more than the
 * pipe sends in this time.
 */
#define BACKLOG_MS	50

struct interface {
	const struct interface_config *config;
	struct link *link;
	const struct source *source;	/* NULL: none, or not chosen yet */
	unsigned int source_ifindex;	/* ifindex for which source was chosen */
	int failed;			/* the source's error that was logged last */
	struct estimate estimate;
	bool loss;			/* the path is lost, or will be */
	uint64_t loss_at_ms;		/* when, if loss */
	uint32_t loss_spread_ms;	/* standard deviation of loss_at_ms */
	uint32_t loss_ttl_ms;		/* 0: the default */
	bool lasting;			/* the loss holds until it is set to no loss */
	uint32_t loss_sets;		/* how often set_loss() was called */
	uint8_t cost;			/* as the module has it */
};

struct path {
	struct interface *interface;
	const struct about *about;
	/* the values of the last report */
	uint64_t reported_us;
	uint64_t rate_byteps;
	uint32_t backlog_bytes;
};

struct reporter {
	const struct config *config;
	struct kernel *kernel;
	struct links *links;
	struct event_base *base;
	struct event *timer;
	uint64_t woken_us;	/* when data may have begun to flow */
	bool ready;		/* set-up is done: report changes */
	bool costs_known;	/* if not, read the costs before the next report */
	struct interface *interfaces;
	struct path *paths;	/* the index is the path's id in reports */
	unsigned int path_count;
	struct target **targets;
	unsigned int target_count;
	bool sources;		/* at least one path is about its source address */
	uint64_t subflows_us;	/* when all were looked at */
	int subflows_failed;	/* the error that was logged last */
	void (*rate)(const char *interface, uint64_t byteps, uint64_t age_ms, void *arg);
	void *rate_arg;
};

/* --- the current state --- */

static bool flows(const struct interface *interface, uint64_t us)
{
	uint64_t moved_us = interface->link->moved_us;

	if (moved_us < interface->estimate.waited_us)
		moved_us = interface->estimate.waited_us;
	return moved_us && us - moved_us <= FLOW_US;
}

static uint64_t loss_until_ms(const struct interface *interface)
{
	return interface->loss_at_ms +
	       (interface->loss_ttl_ms ?: MPTCP_PAMS_LOSS_TTL_DEFAULT_MS);
}

/* A predicted loss ends with its lifetime, since its predictor may never take it back. */
static bool has_loss(const struct interface *interface, uint64_t ms)
{
	return interface->loss &&
	       (interface->lasting || ms < loss_until_ms(interface));
}

static uint64_t rate_of(const struct reporter *reporter,
			const struct interface *interface, uint64_t us)
{
	return estimate_known(&interface->estimate, us,
			      reporter->config->rate_age_ms * 1000ULL);
}

/* Do the values differ from what the server extrapolates from the last report? */
static bool changed(const struct reporter *reporter, const struct path *path,
		    uint64_t us)
{
	const struct estimate *estimate = &path->interface->estimate;
	uint64_t rate = rate_of(reporter, path->interface, us);
	uint64_t drained = rate * (us - path->reported_us) / 1000000;
	uint64_t expected, backlog = estimate->backlog_bytes, off;

	if (!rate)
		return false;
	expected = path->backlog_bytes > drained ?
		   path->backlog_bytes - drained : 0;
	off = expected > backlog ? expected - backlog : backlog - expected;
	return rate > path->rate_byteps + path->rate_byteps / 8 ||
	       rate < path->rate_byteps - path->rate_byteps / 8 ||
	       off > rate * BACKLOG_MS / 1000;
}

static bool is_due(const struct reporter *reporter, const struct path *path,
		   uint64_t us)
{
	uint64_t since_ms = (us - path->reported_us + 500) / 1000;
	const struct interface *interface = path->interface;

	/* what the server forgets after a while, though too little flows to be measured */
	if (us - reporter->woken_us <= FLOW_US &&
	    ((interface->cost && since_ms >= COST_AGAIN_MS) ||
	     (interface->lasting && since_ms >= LOSS_AGAIN_MS)))
		return true;
	if (!flows(interface, us))
		return false;
	if (!rate_of(reporter, interface, us))
		return since_ms >= EMPTY_MS;
	/* The next tick would be too late. */
	return since_ms + TICK_MS > reporter->config->interval_ms ||
	       changed(reporter, path, us);
}

/* --- reports --- */

/* Does the connection have a subflow to an address of the server? */
static bool is_to(const struct mptcp_conn *connection, const struct target *target)
{
	for (unsigned int i = 0; i < connection->count; i++)
		if (target_is_at(target, &connection->subflows[i].peer))
			return true;
	return false;
}

/* Which path a subflow takes: one about its port comes before one about all. -1: none. */
static int path_of(const struct reporter *reporter, const struct subflow *subflow)
{
	const char *interface = subflows_interface(subflow);
	int found = -1;

	for (unsigned int i = 0; interface && i < reporter->path_count; i++) {
		const struct path *path = &reporter->paths[i];

		if (!path->about->source || strcmp(path->interface->config->name, interface))
			continue;
		if (path->about->port == subflow->peer_port)
			return i;
		if (!path->about->port)
			found = i;
	}
	return found;
}

/* What the server has to know of a connection; of one that isn't its own that it is closed. */
static void describe(const struct reporter *reporter, const struct target *target,
		     const struct mptcp_conn *connection, struct report_conn *conn)
{
	memset(conn, 0, sizeof(*conn));
	conn->token = connection->token;
	conn->proof = connection->own_token;
	for (unsigned int i = 0; i < connection->count && is_to(connection, target); i++) {
		const struct subflow *subflow = &connection->subflows[i];
		int id = path_of(reporter, subflow);

		if (id < 0)
			continue;
		/* from the server's view, this machine is the remote side */
		conn->flows[conn->count++] = (struct report_flow){
			.id = id, .local_id = subflow->remote_id, .remote_id = subflow->local_id };
	}
}

static void connection_changed(const struct mptcp_conn *connection, void *arg)
{
	const struct reporter *reporter = arg;
	struct report_conn conn;

	for (unsigned int i = 0; connection->token && i < reporter->target_count; i++) {
		describe(reporter, reporter->targets[i], connection, &conn);
		target_conn(reporter->targets[i], &conn);
	}
}

/* Learn which subflows there are. all: once a second, since sock_diag may have to be dumped. */
static void read_subflows(struct reporter *reporter, bool all, uint64_t us)
{
	int err;

	if (!reporter->sources || !reporter->target_count)
		return;
	if (all) {
		reporter->subflows_us = us;
		/* read the costs now and then, in case the module's events can't be received */
		reporter->costs_known = false;
	}
	err = subflows_read(all);
	if (err && err != reporter->subflows_failed)
		say("sock_diag doesn't tell of MPTCP's subflows: %s",
		    strerror(-err));
	reporter->subflows_failed = err;
	if (all)
		links_use(reporter->links);
}

static void on_subflows(void *arg)
{
	struct reporter *reporter = arg;

	read_subflows(reporter, false, now_us());
	for (unsigned int i = 0; i < reporter->target_count; i++)
		target_run(reporter->targets[i]);
}

struct filling {
	const struct reporter *reporter;
	const struct target *target;
	struct announce_path *entry;
	unsigned int id;
};

static void fill_connection(const struct mptcp_conn *connection, void *arg)
{
	const struct filling *filling = arg;
	struct announce_path *entry = filling->entry;
	struct report_conn conn;

	if (!connection->token || entry->name_count == ANNOUNCE_NAMES_MAX)
		return;
	describe(filling->reporter, filling->target, connection, &conn);
	for (unsigned int i = 0; i < conn.count && entry->name_count < ANNOUNCE_NAMES_MAX; i++)
		if (conn.flows[i].id == filling->id)
			entry->names[entry->name_count++] = (struct report_name){
				.kind = REPORT_NAME_SUBFLOW, .token = conn.token,
				.local_id = conn.flows[i].local_id,
				.remote_id = conn.flows[i].remote_id,
				.proven = true, .proof = conn.proof };
}

/* Name the subflows in each report, for a server that takes no connections. */
static void fill_subflows(const struct reporter *reporter,
			  const struct target *target,
			  struct announce_path *entry, unsigned int id)
{
	struct filling filling = { reporter, target, entry, id };

	if (!target_takes_conns(target))
		subflows_each(fill_connection, &filling);
}

static void fill_names(const struct reporter *reporter,
		       const struct target *target, struct announce_path *entry,
		       unsigned int id)
{
	const struct about *about = reporter->paths[id].about;
	struct report_name *name = entry->names;

	entry->port = about->port;
	entry->by_source = about->source;
	if (about->source) {
		fill_subflows(reporter, target, entry, id);
		return;
	}
	name->kind = REPORT_NAME_PREFIX;
	name->ipv6 = about->prefix.family == AF_INET6;
	name->prefix_len = about->prefix.len;
	name->port = about->port;
	memcpy(name->address, about->prefix.address, sizeof(name->address));
	entry->name_count = 1;
}

static void fill_pipe(const struct reporter *reporter,
		      struct announce_path *entry,
		      const struct interface *interface, uint64_t us)
{
	unsigned int interval_ms = reporter->config->interval_ms;
	const struct estimate *estimate = &interface->estimate;
	uint64_t rate = rate_of(reporter, interface, us);

	if (!rate || !flows(interface, us))
		return;
	entry->has_pipe = true;
	entry->rate_byteps = rate;
	entry->backlog_bytes = estimate->backlog_bytes;
	if (interval_ms * TTL_INTERVALS > MPTCP_PAMS_TTL_DEFAULT_MS)
		entry->pipe_ttl_ms = interval_ms * TTL_INTERVALS;
	if (interface->config->delay_us != UINT32_MAX) {
		entry->has_delay = true;
		entry->delay_us = interface->config->delay_us;
	} else if (estimate->has_delay) {
		entry->has_delay = true;
		entry->delay_us = estimate->delay_us;
	}
}

static void set_path(const struct reporter *reporter, struct target *target,
		     unsigned int id, uint64_t us)
{
	const struct path *path = &reporter->paths[id];
	const struct interface *interface = path->interface;
	static struct announce_path entry;

	memset(&entry, 0, sizeof(entry));
	fill_names(reporter, target, &entry, id);
	/* The measured direction leads away from this machine, not to its source address. */
	if (!path->about->source)
		fill_pipe(reporter, &entry, interface, us);
	entry.loss = has_loss(interface, us / 1000);
	entry.lasting = entry.loss && interface->lasting;
	if (entry.loss) {
		entry.loss_at_ms = interface->loss_at_ms;
		entry.loss_spread_ms = interface->loss_spread_ms;
		entry.loss_ttl_ms = interface->loss_ttl_ms;
		entry.loss_sets = interface->loss_sets;
	}
	/* the cost is about this machine's own links */
	if (path->about->source)
		entry.cost = interface->cost;
	target_set(target, id, &entry);
}

/* Returns whether one is another than before. */
static bool read_costs(struct reporter *reporter)
{
	bool changed = false;

	for (unsigned int i = 0; i < reporter->config->interface_count; i++) {
		struct interface *interface = &reporter->interfaces[i];
		unsigned int ifindex = interface->link->ifindex;
		uint8_t cost = ifindex ? kernel_cost(reporter->kernel, ifindex) : 0;

		changed |= cost != interface->cost;
		interface->cost = cost;
	}
	reporter->costs_known = true;
	return changed;
}

/* Pass the current state to all targets, which report changes. */
static void update_targets(struct reporter *reporter, uint64_t us)
{
	if (!reporter->costs_known)
		read_costs(reporter);
	for (unsigned int i = 0; i < reporter->config->interface_count; i++) {
		struct interface *interface = &reporter->interfaces[i];

		interface->link->lost = has_loss(interface, us / 1000) &&
			interface->loss_at_ms <= us / 1000 + AVOID_MS +
						 interface->loss_spread_ms;
	}
	for (unsigned int i = 0; i < reporter->target_count; i++) {
		for (unsigned int j = 0; j < reporter->path_count; j++)
			if (reporter->paths[j].interface->loss_sets)
				set_path(reporter, reporter->targets[i], j, us);
		target_run(reporter->targets[i]);
	}
}

/* Report all paths if one of them is due. */
static void send_due(struct reporter *reporter, uint64_t us)
{
	bool due = false;

	for (unsigned int i = 0; i < reporter->path_count; i++)
		due |= is_due(reporter, &reporter->paths[i], us);
	if (!due)
		return;
	if (us - reporter->subflows_us >= SUBFLOWS_US)
		read_subflows(reporter, true, us);
	update_targets(reporter, us);
	for (unsigned int i = 0; i < reporter->target_count; i++)
		target_periodic(reporter->targets[i]);
	for (unsigned int i = 0; i < reporter->path_count; i++) {
		struct path *path = &reporter->paths[i];

		path->reported_us = us;
		path->rate_byteps = rate_of(reporter, path->interface, us);
		path->backlog_bytes = path->interface->estimate.backlog_bytes;
	}
}

/* --- rates of answers --- */

static void on_rate(const struct report_rate *rate, void *arg)
{
	const struct reporter *reporter = arg;

	if (rate->id < reporter->path_count && reporter->paths[rate->id].about->source)
		reporter->rate(reporter->paths[rate->id].interface->config->name, rate->byteps,
			       rate->age_ms, reporter->rate_arg);
}

void reporter_on_rate(struct reporter *reporter,
		      void (*rate)(const char *interface, uint64_t byteps, uint64_t age_ms,
				   void *arg), void *arg)
{
	reporter->rate = rate;
	reporter->rate_arg = arg;
	for (unsigned int i = 0; i < reporter->target_count; i++)
		target_on_rate(reporter->targets[i], rate ? on_rate : NULL, reporter);
}

/* --- losses --- */

static void tell_kernel(struct reporter *reporter,
			const struct interface *interface, uint64_t ms)
{
	bool loss = has_loss(interface, ms);
	struct pams_path path = { };

	if (!interface->config->local || !interface->link->ifindex)
		return;
	pams_path_key_ifindex(&path, interface->link->ifindex);
	path.no_loss = !loss;
	path.has_loss = loss;
	if (loss && interface->loss_at_ms > ms)
		path.loss_ms = interface->loss_at_ms - ms;
	if (loss) {
		path.loss_spread_ms = interface->loss_spread_ms;
		path.ttl_ms = interface->lasting ? MPTCP_PAMS_LOSS_TTL_DEFAULT_MS :
			      loss_until_ms(interface) - ms - path.loss_ms;
	}
	kernel_set(reporter->kernel, &path);
}

static void arm(struct reporter *reporter, unsigned int ms)
{
	struct timeval after = { .tv_usec = ms * 1000 };

	evtimer_add(reporter->timer, &after);
}

static void set_loss(struct reporter *reporter, struct interface *interface,
		     const struct prediction *prediction, bool lasting)
{
	uint64_t us = now_us();

	interface->loss = prediction->loss;
	interface->lasting = lasting;
	interface->loss_at_ms = us / 1000 + prediction->loss_ms;
	interface->loss_spread_ms = prediction->spread_ms;
	interface->loss_ttl_ms = prediction->ttl_ms;
	interface->loss_sets++;
	if (!reporter->ready)
		return;
	tell_kernel(reporter, interface, us / 1000);
	read_subflows(reporter, us - reporter->subflows_us >= SUBFLOWS_FRESH_US, us);
	update_targets(reporter, us);
}

/*
 * Does the prediction differ from the last one? A program may repeat its prediction often;
 * differences up to SAME_MS plus an eighth of the time until the loss don't count.
 */
static bool is_news(const struct interface *interface,
		    const struct prediction *prediction)
{
	int64_t at_ms = now_ms() + prediction->loss_ms;
	int64_t same_ms = SAME_MS + prediction->loss_ms / 8;
	int64_t wider_ms = (int64_t)prediction->spread_ms -
			   interface->loss_spread_ms;

	if (!interface->loss_sets || interface->loss != prediction->loss)
		return true;
	return prediction->loss &&
	       (interface->loss_ttl_ms != prediction->ttl_ms ||
		llabs(at_ms - (int64_t)interface->loss_at_ms) > same_ms ||
		llabs(wider_ms) > same_ms);
}

const char *reporter_predict(struct reporter *reporter, const char *name,
			     const struct prediction *prediction)
{
	for (unsigned int i = 0; i < reporter->config->interface_count; i++) {
		struct interface *interface = &reporter->interfaces[i];

		if (strcmp(interface->config->name, name))
			continue;
		/* until it is up again */
		if (interface->loss && interface->lasting)
			return "the link is down, which is said already";
		if (is_news(interface, prediction))
			set_loss(reporter, interface, prediction, false);
		return NULL;
	}
	return "this interface is not configured";
}

/* Somebody has set or deleted one in the module; caps set theirs again and again. */
static void on_costs(void *arg)
{
	struct reporter *reporter = arg;
	uint64_t us = now_us();

	if (!read_costs(reporter))
		return;
	read_subflows(reporter, us - reporter->subflows_us >= SUBFLOWS_FRESH_US, us);
	update_targets(reporter, us);
}

void reporter_feed(struct reporter *reporter)
{
	uint64_t ms = now_ms();

	for (unsigned int i = 0; i < reporter->config->interface_count; i++)
		if (has_loss(&reporter->interfaces[i], ms))
			tell_kernel(reporter, &reporter->interfaces[i], ms);
}

/* Start measuring at once, and go on for FLOW_US, in which it shows whether data flows. */
static void on_traffic(void *arg)
{
	struct reporter *reporter = arg;

	traffic_ignore();
	reporter->woken_us = now_us();
	arm(reporter, 0);
}

static bool sleep_until_traffic(struct reporter *reporter)
{
	unsigned int indices[LINKS_MAX];
	unsigned int count = links_indices(reporter->links, indices);

	return traffic_await(reporter->base, indices, count, on_traffic, reporter);
}

/* Look up servers' names that failed before, after a link came up or got an address. */
static void look_names_up(void *arg)
{
	struct reporter *reporter = arg;

	for (unsigned int i = 0; i < reporter->target_count; i++)
		target_look_up(reporter->targets[i]);
}

/* Also called for each link at the start, to replace what a previous pamsd has reported. */
static void link_changed(struct link *link, void *arg)
{
	struct prediction down = { .loss = true }, none = { };
	struct reporter *reporter = arg;

	reporter->costs_known = false;
	if (reporter->ready)
		on_traffic(reporter);
	for (unsigned int i = 0; i < reporter->config->interface_count; i++) {
		struct interface *interface = &reporter->interfaces[i];

		if (interface->link != link)
			continue;
		if (interface->config->carrier)
			set_loss(reporter, interface, link->up ? &none : &down,
				 !link->up);
		else if (!interface->loss_sets)
			set_loss(reporter, interface, &none, false);
	}
	/* Reports may leave through this link even if none is about it. */
	for (unsigned int i = 0; reporter->ready && i < reporter->target_count;
	     i++)
		target_run(reporter->targets[i]);
	if (link->up)
		look_names_up(reporter);
}

/* --- measuring --- */

static const struct source *source_for(const struct interface *interface)
{
	switch (interface->config->measure) {
	case MEASURE_QDISC:
		return &source_qdisc;
	case MEASURE_STATION:
		return &source_station;
	case MEASURE_TCP:
		return &source_tcp;
	case MEASURE_PAMSPLIT:
		return &source_pamsplit;
	case MEASURE_NONE:
		return NULL;
	case MEASURE_AUTO:
		break;
	}
	return source_station_suits(interface->link) ? &source_station :
						       &source_qdisc;
}

static void measure(struct interface *interface, uint64_t us)
{
	struct link *link = interface->link;
	int err;

	if (!link->ifindex)
		return;
	if (interface->source_ifindex != link->ifindex) {
		interface->source_ifindex = link->ifindex;
		interface->source = source_for(interface);
		interface->failed = 0;
		estimate_reset(&interface->estimate);
	}
	if (!interface->source)
		return;
	err = interface->source->sample(link, interface->config,
					&interface->estimate, us);
	if (err == interface->failed)
		return;
	interface->failed = err;
	if (err)
		say("%s: nothing can be measured with '%s': %s", link->name,
		    interface->source->name, strerror(-err));
	else
		say("%s: measured with '%s' again", link->name,
		    interface->source->name);
}

static void on_tick(evutil_socket_t fd, short what, void *arg)
{
	struct reporter *reporter = arg;
	uint64_t us = now_us();
	bool busy = false;

	(void)fd;
	(void)what;
	links_sample(reporter->links, us);
	for (unsigned int i = 0; i < reporter->config->interface_count; i++) {
		struct interface *interface = &reporter->interfaces[i];

		measure(interface, us);
		busy |= flows(interface, us);
	}
	send_due(reporter, us);
	if (busy || us - reporter->woken_us <= FLOW_US)
		arm(reporter, TICK_MS);
	else if (!sleep_until_traffic(reporter))
		arm(reporter, IDLE_TICK_MS);
}

/* --- set-up and tear-down --- */

static int add_paths(struct reporter *reporter, unsigned int index)
{
	struct interface *interface = &reporter->interfaces[index];

	interface->config = &reporter->config->interfaces[index];
	interface->link = links_watch(reporter->links, interface->config->name);
	if (!interface->link)
		return -1;
	if (interface->config->local)
		kernel_wanted(reporter->kernel);
	for (unsigned int i = 0; i < interface->config->about_count; i++) {
		struct path *path = &reporter->paths[reporter->path_count++];

		path->interface = interface;
		path->about = &interface->config->abouts[i];
		reporter->sources |= path->about->source;
	}
	return 0;
}

static int add_target(struct reporter *reporter, struct event_base *base,
		      unsigned int index)
{
	reporter->targets[index] =
		target_new(base, &reporter->config->targets[index],
			   reporter->links);
	if (!reporter->targets[index])
		return -1;
	reporter->target_count++;
	for (unsigned int i = 0; i < reporter->path_count; i++)
		if (reporter->paths[i].about->source)
			target_add_source(reporter->targets[index],
					  reporter->paths[i].interface->link,
					  i);
	return 0;
}

struct reporter *reporter_new(struct event_base *base,
			      const struct config *config,
			      struct kernel *kernel)
{
	struct reporter *reporter = calloc(1, sizeof(*reporter));

	if (!reporter)
		return NULL;
	reporter->config = config;
	reporter->base = base;
	reporter->kernel = kernel;
	reporter->links = links_new(base, link_changed, look_names_up,
				    reporter);
	reporter->timer = evtimer_new(base, on_tick, reporter);
	reporter->interfaces = calloc(config->interface_count,
				      sizeof(*reporter->interfaces));
	reporter->paths = calloc(REPORT_PATHS_MAX, sizeof(*reporter->paths));
	reporter->targets = calloc(config->target_count + 1,
				   sizeof(*reporter->targets));
	if (!reporter->links || !reporter->timer || !reporter->interfaces ||
	    !reporter->paths || !reporter->targets)
		goto fail;
	for (unsigned int i = 0; i < config->interface_count; i++)
		if (add_paths(reporter, i))
			goto fail;
	for (unsigned int i = 0; i < config->target_count; i++)
		if (add_target(reporter, base, i))
			goto fail;
	if (links_refresh(reporter->links)) {
		say("rtnetlink doesn't tell of the interfaces");
		goto fail;
	}
	reporter->ready = true;
	kernel_on_costs(kernel, on_costs, reporter);
	for (unsigned int i = 0; i < config->interface_count; i++)
		tell_kernel(reporter, &reporter->interfaces[i], now_ms());
	if (reporter->sources && reporter->target_count)
		subflows_open(base, on_subflows, connection_changed, reporter);
	read_subflows(reporter, true, now_us());
	update_targets(reporter, now_us());
	on_traffic(reporter);
	return reporter;
fail:
	reporter_free(reporter);
	return NULL;
}

void reporter_free(struct reporter *reporter)
{
	if (!reporter)
		return;
	kernel_on_costs(reporter->kernel, NULL, NULL);
	for (unsigned int i = 0; i < reporter->target_count; i++)
		target_free(reporter->targets[i]);
	traffic_ignore();
	if (reporter->timer)
		event_free(reporter->timer);
	source_qdisc.close();
	source_station.close();
	source_tcp.close();
	source_pamsplit.close();
	subflows_close();
	links_free(reporter->links);
	free(reporter->targets);
	free(reporter->paths);
	free(reporter->interfaces);
	free(reporter);
}

/* --- status --- */

static json_t *interface_status(const struct reporter *reporter,
				const struct interface *interface)
{
	uint64_t us = now_us(), ms = us / 1000;
	json_t *object = json_pack("{s:s, s:b, s:b, s:s}",
				   "name", interface->config->name,
				   "up", interface->link->up,
				   "flows", flows(interface, us), "measure",
				   interface->source ? interface->source->name :
						       "none");

	if (interface->failed)
		json_object_set_new(object, "failed",
				    json_string(strerror(-interface->failed)));
	if (rate_of(reporter, interface, us)) {
		json_object_set_new(object, "rate_byteps",
				    json_integer(rate_of(reporter, interface,
							 us)));
		json_object_set_new(object, "backlog_bytes",
				    json_integer(interface->estimate
						 .backlog_bytes));
		if (interface->estimate.from)
			json_object_set_new(object, "rate_from",
					    json_string(interface->estimate
							.from));
	}
	if (has_loss(interface, ms))
		json_object_set_new(object, "loss_ms",
				    json_integer((json_int_t)
						 interface->loss_at_ms -
						 (json_int_t)ms));
	if (has_loss(interface, ms) && interface->loss_spread_ms)
		json_object_set_new(object, "spread_ms",
				    json_integer(interface->loss_spread_ms));
	if (interface->cost)
		json_object_set_new(object, "cost",
				    json_integer(interface->cost));
	return object;
}

json_t *reporter_status(const struct reporter *reporter)
{
	json_t *targets = json_array(), *interfaces = json_array();

	for (unsigned int i = 0; i < reporter->target_count; i++)
		json_array_append_new(targets,
				      target_status(reporter->targets[i]));
	for (unsigned int i = 0; i < reporter->config->interface_count; i++) {
		const struct interface *interface = &reporter->interfaces[i];

		json_array_append_new(interfaces,
				      interface_status(reporter, interface));
	}
	return json_pack("{s:o, s:o}", "to", targets, "interfaces", interfaces);
}
