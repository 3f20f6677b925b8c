// SPDX-License-Identifier: GPL-2.0
/*
 * kernel - sends paths and rules to the module mptcp_pams
 *
 * The module may be loaded and unloaded at any time. While it isn't loaded, callers keep
 * their paths and rules, and set them again when again() is called.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <event2/event.h>
#include <jansson.h>

#include "base.h"

/* If the event of the module's loading is lost, look for it at most this often. */
#define RETRY_MS	250
/* The origin that the module stores with what this daemon sets; it outlives a restart. */
#define ORIGIN		"pamsd"
/* More interfaces than that have no cost while the module isn't loaded. */
#define COSTS_MAX	64
/* A path is full if so much waits before it. */
#define QUEUE_BYTES	8192

struct kernel {
	struct pams_nl *nl;
	struct event *event;
	void (*again)(void *arg);
	void *arg;
	void (*costs)(void *arg);
	void *costs_arg;
	struct {
		unsigned int ifindex;
		uint8_t cost;
	} asked[COSTS_MAX];	/* what the module would have; of interfaces */
	unsigned int asked_next;
	bool out;		/* the module isn't loaded */
	bool wanted;		/* somebody has something to tell the module */
	bool said;		/* it was logged that the module isn't loaded */
	struct seldom refused;
	uint64_t asked_ms;	/* when the module was last looked for */
	uint64_t sets, errors;
	struct pams_change queue[PAMS_CHANGES_MAX];
	unsigned int queued;
	unsigned int refusals;	/* of what was queued, since kernel_flush() */
	uint64_t batches;
};

static void module_gone(struct kernel *kernel)
{
	kernel->asked_ms = now_ms();
	kernel->out = true;
	if (!kernel->wanted || kernel->said)
		return;
	kernel->said = true;
	say("the module mptcp_pams isn't loaded: reports are "
	    "received, but have no effect until it is");
}

static void module_came(struct kernel *kernel)
{
	if (!kernel->out)
		return;
	kernel->out = false;
	if (kernel->said)
		say("the module mptcp_pams is there");
	kernel->said = false;
	kernel->again(kernel->arg);
}

struct seen {
	int module;	/* 1: it was loaded, -1: it was unloaded */
	bool cost;	/* a path's cost may have changed */
};

static bool is_about_cost(const struct pams_event *event)
{
	switch (event->kind) {
	case PAMS_EVENT_PATH_SET:
	case PAMS_EVENT_PATH_EXPIRED:
		return event->path->has_cost;
	case PAMS_EVENT_PATH_DEL:
	case PAMS_EVENT_LOST:
		return true;
	default:
		return false;
	}
}

static int take_event(const struct pams_event *event, void *arg)
{
	struct seen *seen = arg;

	if (event->kind == PAMS_EVENT_LOADED)
		seen->module = 1;
	else if (event->kind == PAMS_EVENT_UNLOADED)
		seen->module = -1;
	seen->cost |= is_about_cost(event);
	return 0;
}

/* Read all pending events; the last one about the module's loading counts. */
static void on_event(evutil_socket_t fd, short what, void *arg)
{
	struct kernel *kernel = arg;
	struct seen seen = { };

	(void)fd;
	(void)what;
	if (pams_nl_receive(kernel->nl, take_event, &seen) < 0)
		return;
	if (seen.module < 0)
		module_gone(kernel);
	if (seen.module > 0) {
		kernel->out = true;	/* a new module, without any paths */
		module_came(kernel);
	}
	if (kernel->costs && (seen.cost || seen.module))
		kernel->costs(kernel->costs_arg);
}

struct kernel *kernel_new(struct event_base *base, void (*again)(void *arg),
			  void *arg)
{
	struct kernel *kernel = calloc(1, sizeof(*kernel));
	int err;

	if (!kernel)
		return NULL;
	kernel->again = again;
	kernel->arg = arg;
	err = pams_nl_open(&kernel->nl);
	if (err && err != -ENOENT) {
		say("netlink: %s", strerror(-err));
		free(kernel);
		return NULL;
	}
	if (err)
		module_gone(kernel);
	err = pams_nl_subscribe(kernel->nl);
	if (err) {
		say("netlink: the module's events can't be received, it is "
		    "asked instead: %s", pams_nl_error(kernel->nl));
		return kernel;
	}
	kernel->event = event_new(base, pams_nl_event_fd(kernel->nl),
				  EV_READ | EV_PERSIST, on_event, kernel);
	if (!kernel->event || event_add(kernel->event, NULL)) {
		kernel_free(kernel);
		return NULL;
	}
	return kernel;
}

void kernel_wanted(struct kernel *kernel)
{
	kernel->wanted = true;
	if (kernel->out)
		module_gone(kernel);
}

void kernel_free(struct kernel *kernel)
{
	if (!kernel)
		return;
	if (kernel->event)
		event_free(kernel->event);
	pams_nl_close(kernel->nl);
	free(kernel);
}

static int set_path(struct pams_nl *nl, const void *path)
{
	return pams_nl_path_set(nl, path);
}

static int del_path(struct pams_nl *nl, const void *path)
{
	return pams_nl_path_del(nl, path);
}

static int set_rules(struct pams_nl *nl, const void *rules)
{
	return pams_nl_rules_set(nl, rules);
}

/* Call function with what. Returns 0 or -errno; -ENOENT: the module isn't loaded. */
static int call_module(struct kernel *kernel,
		       int (*function)(struct pams_nl *nl, const void *what),
		       const void *what)
{
	bool was_out = kernel->out;
	int err;

	if (was_out && now_ms() - kernel->asked_ms < RETRY_MS)
		return -ENOENT;
	err = function(kernel->nl, what);
	if (!pams_nl_loaded(kernel->nl)) {
		module_gone(kernel);
		return -ENOENT;
	}
	if (was_out)
		module_came(kernel);
	return err;
}

static int get_stats(struct pams_nl *nl, const void *stats)
{
	return pams_nl_stats(nl, (void *)stats);
}

int kernel_stats(struct kernel *kernel, struct pams_stats *stats)
{
	return call_module(kernel, get_stats, stats);
}

static void count_refusal(struct kernel *kernel)
{
	kernel->errors++;
	say_seldom(&kernel->refused, "the kernel refuses a report: %s",
		   pams_nl_error(kernel->nl));
}

/* Where the cost that pamsd asked for is kept; a new interface takes the oldest one's place. */
static uint8_t *cost_asked(struct kernel *kernel, unsigned int ifindex, bool add)
{
	unsigned int i;

	for (i = 0; i < COSTS_MAX; i++)
		if (kernel->asked[i].ifindex == ifindex)
			return &kernel->asked[i].cost;
	if (!add)
		return NULL;
	i = kernel->asked_next++ % COSTS_MAX;
	kernel->asked[i].ifindex = ifindex;
	kernel->asked[i].cost = 0;
	return &kernel->asked[i].cost;
}

/* Servers are told of costs by a client without the module, too. */
static void keep_cost(struct kernel *kernel, const struct pams_path *path)
{
	uint8_t *asked = cost_asked(kernel, path->ifindex, path->cost);
	bool changed = asked && *asked != path->cost;

	if (asked)
		*asked = path->cost;
	if (changed && kernel->out && kernel->costs)
		kernel->costs(kernel->costs_arg);
}

int kernel_set(struct kernel *kernel, const struct pams_path *path)
{
	struct pams_path told = *path;
	int err;

	snprintf(told.origin, sizeof(told.origin), ORIGIN);
	err = call_module(kernel, set_path, &told);
	if (path->has_cost && path->key == PAMS_KEY_IFINDEX)
		keep_cost(kernel, path);
	if (kernel->out)
		return -ENOENT;
	kernel->sets++;
	if (err)
		count_refusal(kernel);
	return err;
}

/* -ENOENT may also mean that the path has expired, which callers ignore. */
int kernel_del(struct kernel *kernel, const struct pams_path *path)
{
	return call_module(kernel, del_path, path);
}

static void on_refused(const struct pams_change *change, int error, void *arg)
{
	struct kernel *kernel = arg;

	(void)error;
	kernel->refusals++;
	if (!change->del)
		count_refusal(kernel);
}

/* If the module is gone, what waits is dropped: it is set again in the next one. */
static void send_queue(struct kernel *kernel)
{
	unsigned int count = kernel->queued;
	int err;

	if (!count)
		return;
	kernel->queued = 0;
	err = pams_nl_path_batch(kernel->nl, kernel->queue, count, on_refused, kernel);
	if (!pams_nl_loaded(kernel->nl)) {
		module_gone(kernel);
		return;
	}
	kernel->batches++;
	for (unsigned int i = 0; i < count; i++)
		kernel->sets += !kernel->queue[i].del;
	if (!err)
		return;
	kernel->refusals += count;
	count_refusal(kernel);
}

int kernel_queue(struct kernel *kernel, const struct pams_path *path, bool del)
{
	struct pams_change *change;

	if (kernel->out)
		return del ? kernel_del(kernel, path) : kernel_set(kernel, path);
	change = &kernel->queue[kernel->queued++];
	change->del = del;
	change->path = *path;
	if (!del)
		snprintf(change->path.origin, sizeof(change->path.origin), ORIGIN);
	if (kernel->queued == PAMS_CHANGES_MAX)
		send_queue(kernel);
	return 0;
}

unsigned int kernel_flush(struct kernel *kernel)
{
	unsigned int refusals;

	send_queue(kernel);
	refusals = kernel->refusals;
	kernel->refusals = 0;
	return refusals;
}

/* A rule whose cgroup doesn't exist gives -ENOENT, too: don't take it for a missing module. */
int kernel_set_rules(struct kernel *kernel, const struct pams_rules *rules)
{
	int err = call_module(kernel, set_rules, rules);

	return err == -ENOENT && !kernel->out ? -EINVAL : err;
}

const char *kernel_error(const struct kernel *kernel)
{
	return pams_nl_error(kernel->nl);
}

void kernel_on_costs(struct kernel *kernel, void (*costs)(void *arg), void *arg)
{
	kernel->costs = costs;
	kernel->costs_arg = arg;
}

int kernel_get(struct kernel *kernel, struct pams_path *path)
{
	int err = kernel->out ? -EAGAIN : pams_nl_path_get(kernel->nl, path);

	return err && !pams_nl_loaded(kernel->nl) ? -EAGAIN : err;
}

uint8_t kernel_cost(struct kernel *kernel, unsigned int ifindex)
{
	struct pams_path path = { };
	uint8_t *asked;

	pams_path_key_ifindex(&path, ifindex);
	if (!kernel_get(kernel, &path))
		return path.has_cost ? path.cost : 0;
	asked = kernel->out ? cost_asked(kernel, ifindex, false) : NULL;
	return asked ? *asked : 0;
}

/* A cost without a lifetime doesn't count: pamsd only restores those, which others have set. */
bool kernel_has_cost(struct kernel *kernel, const struct pams_path *key)
{
	struct pams_path path = *key;

	if (kernel_get(kernel, &path))
		return false;
	return path.has_cost && !path.cost_stays && !strcmp(path.origin, ORIGIN);
}

struct search {
	const struct pams_path *key;
	bool whole;		/* any subflow will do */
	uint32_t proof;
	bool *found;
};

static int find_ids(const struct pams_conn *conn, void *arg)
{
	const struct search *search = arg;

	*search->found |= search->whole;
	for (unsigned int i = 0; i < conn->subflows; i++)
		*search->found |=
			conn->subflow[i].local_id == search->key->local_id &&
			conn->subflow[i].remote_id == search->key->remote_id;
	return 0;
}

static int find_subflow(struct pams_nl *nl, const void *what)
{
	const struct search *search = what;

	return pams_nl_conn_get_as(nl, search->key->token, search->proof,
				   find_ids, (void *)search);
}

static int find(struct kernel *kernel, const struct search *search)
{
	int err = call_module(kernel, find_subflow, search);

	if (kernel->out)
		return -EAGAIN;
	/* the token was right; the subflows can't be looked at, or not before something is sent */
	if (err == -EBUSY || err == -ENODATA || *search->found)
		return 0;
	if (err == -EACCES)
		return err;
	if (err && err != -ENOENT)
		say_seldom(&kernel->refused, "the module doesn't tell whose a connection "
			   "is (it may be older than pamsd): %s", pams_nl_error(kernel->nl));
	return -ENOENT;
}

int kernel_find_subflow(struct kernel *kernel, const struct pams_path *key,
			uint32_t proof)
{
	bool found = false;

	return find(kernel, &(struct search){ key, false, proof, &found });
}

int kernel_find_conn(struct kernel *kernel, uint32_t token, uint32_t proof)
{
	const struct pams_path key = { .token = token };
	bool found = false;

	return find(kernel, &(struct search){ &key, true, proof, &found });
}

struct measured {
	struct flow_rate *rates;
	unsigned int count;
};

/*
 * What is under way arrives within a round trip. That is what the path carries if data waits, and
 * the window isn't half empty as at a transfer's end; else 0.
 */
static uint64_t carried_byteps(const struct pams_subflow *flow)
{
	uint64_t queue_us = flow->srtt_us > flow->min_rtt_us ? flow->srtt_us - flow->min_rtt_us : 0;
	uint64_t byteps;

	if (!flow->srtt_us || flow->in_flight < flow->cwnd / 2)
		return 0;
	byteps = (uint64_t)flow->in_flight * flow->mss_bytes * 1000000 / flow->srtt_us;
	if (byteps > flow->rate_byteps)
		byteps = flow->rate_byteps;
	return byteps * queue_us / 1000000 >= QUEUE_BYTES ? byteps : 0;
}

static int take_rates(const struct pams_conn *conn, void *arg)
{
	struct measured *measured = arg;

	for (unsigned int i = 0; i < conn->subflows && measured->count < FLOW_RATES_MAX; i++) {
		const struct pams_subflow *flow = &conn->subflow[i];
		uint64_t byteps = carried_byteps(flow);

		if (byteps)
			measured->rates[measured->count++] = (struct flow_rate){
				flow->local_id, flow->remote_id, byteps };
	}
	return 0;
}

unsigned int kernel_rates(struct kernel *kernel, uint32_t token, uint32_t proof,
			  struct flow_rate rates[FLOW_RATES_MAX])
{
	struct measured measured = { rates, 0 };

	if (!kernel->out)
		pams_nl_conn_get_as(kernel->nl, token, proof, take_rates, &measured);
	return measured.count;
}

json_t *kernel_status(const struct kernel *kernel)
{
	return json_pack("{s:b, s:I, s:I, s:I}", "loaded", !kernel->out,
			 "sets", (json_int_t)kernel->sets,
			 "batches", (json_int_t)kernel->batches,
			 "refused", (json_int_t)kernel->errors);
}
