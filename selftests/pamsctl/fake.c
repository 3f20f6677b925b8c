// SPDX-License-Identifier: GPL-2.0
/*
 * fake - instead of the module: two connections, three paths and two that are
 * remembered, always the same, so that pamsctl's answers can be looked at on any machine
 *
 * Linked with pamsctl in place of tools/lib/netlink.c. What is set is taken and
 * forgotten; token 0xdead is refused as the module refuses, with an attribute.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "netlink.h"

#define REFUSED	0xdead

struct pams_nl {
	const char *error;
	const char *bad;
	int fd;
	unsigned int events;
};

int pams_nl_open(struct pams_nl **nl)
{
	*nl = calloc(1, sizeof(**nl));
	if (!*nl)
		return -ENOMEM;
	(*nl)->error = "";
	(*nl)->fd = -1;
	return 0;
}

void pams_nl_close(struct pams_nl *nl)
{
	if (nl && nl->fd >= 0)
		close(nl->fd);
	free(nl);
}

bool pams_nl_loaded(const struct pams_nl *nl)
{
	(void)nl;
	return true;
}

const char *pams_nl_error(const struct pams_nl *nl)
{
	return nl->error;
}

const char *pams_nl_bad_attribute(const struct pams_nl *nl)
{
	return nl->bad;
}

static int answer(struct pams_nl *nl, const struct pams_path *path)
{
	if (path->key != PAMS_KEY_TOKEN || path->token != REFUSED)
		return 0;
	nl->bad = "token";
	nl->error = "token: no such thing";
	return -EINVAL;
}

int pams_nl_path_set(struct pams_nl *nl, const struct pams_path *path)
{
	return answer(nl, path);
}

int pams_nl_path_del(struct pams_nl *nl, const struct pams_path *path)
{
	return answer(nl, path);
}

int pams_nl_path_flush(struct pams_nl *nl)
{
	nl->error = "Operation not permitted";
	return -EPERM;
}

static void fill_path(struct pams_path *path, int kind)
{
	const uint8_t v6[16] = { 0x20, 0x01, 0x0d, 0xb8 };

	memset(path, 0, sizeof(*path));
	pams_path_key_token(path, 0x1234, 0, 255);
	if (kind == 1)
		pams_path_key_address(path, AF_INET6, v6, 443);
	if (kind == 1)
		path->prefix_len = 48;
	if (kind == 2)
		pams_path_key_ifindex(path, 1);
	path->has_pipe = kind != 2;
	path->has_delay = kind == 1;
	path->rate_byteps = 12500000000;
	path->backlog_bytes = 2147483648;
	path->delay_us = 1500;
	path->pipe_age_ms = 120;
	path->pipe_expires_ms = 86400000;
	path->has_loss = kind == 2;
	path->loss_ms = -1250;
	path->loss_expires_ms = 58750;
}

int pams_nl_path_get(struct pams_nl *nl, struct pams_path *path)
{
	int err = answer(nl, path);

	if (!err)
		fill_path(path, 1);
	return err;
}

int pams_nl_path_dump(struct pams_nl *nl, pams_path_fn fn, void *arg)
{
	struct pams_path path;
	int kind, stop = 0;

	(void)nl;
	for (kind = 0; !stop && kind < 3; kind++) {
		fill_path(&path, kind);
		stop = fn(&path, arg);
	}
	return stop;
}

static void fill_conn(struct pams_conn *conn, struct pams_subflow *subflow,
		      uint32_t token)
{
	memset(conn, 0, sizeof(*conn));
	memset(subflow, 0, 2 * sizeof(*subflow));
	conn->token = token;
	memcpy(conn->scheduler, "pams", sizeof("pams"));
	conn->unscheduled_bytes = PAMS_UNSCHEDULED_FULL;
	conn->unit_left_bytes = token == 0xfeedbeef ? 500000 : 0;
	conn->decisions = 1234567890123;
	conn->subflows = 2;
	conn->subflow = subflow;
	subflow[0].id = 1;
	subflow[0].family = AF_INET;
	inet_pton(AF_INET, "192.0.2.1", subflow[0].local);
	inet_pton(AF_INET, "192.0.2.2", subflow[0].remote);
	subflow[0].local_port = 40000;
	subflow[0].remote_port = 443;
	subflow[0].ifindex = 1;
	subflow[0].srtt_us = 10250;
	subflow[0].rate_byteps = 2500000;
	subflow[0].has_pad = true;
	subflow[0].pad_ns = 12345678;
	subflow[0].idle = true;
	subflow[0].pipe = true;
	subflow[1].id = 2;
	subflow[1].family = AF_INET6;
	subflow[1].local[15] = 1;
	subflow[1].remote[15] = 2;
	subflow[1].stopped = true;
	subflow[1].unusable = true;
	subflow[1].has_loss = true;
	subflow[1].loss_ms = 300;
}

int pams_nl_conn_get(struct pams_nl *nl, uint32_t token, pams_conn_fn fn,
		     void *arg)
{
	struct pams_subflow subflow[2];
	struct pams_conn conn;

	(void)nl;
	fill_conn(&conn, subflow, token);
	return fn(&conn, arg);
}

int pams_nl_conn_dump(struct pams_nl *nl, pams_conn_fn fn, void *arg)
{
	return pams_nl_conn_get(nl, 0x1234, fn, arg) ?:
	       pams_nl_conn_get(nl, 0xfeedbeef, fn, arg);
}

/* What is set is checked for nothing, and forgotten. */
int pams_nl_rules_set(struct pams_nl *nl, const struct pams_rules *rules)
{
	nl->error = "rule 3: there is no such cgroup";
	return rules->nr > 2 && rules->rule[2].cgroup[0] ? -EINVAL : 0;
}

/* Two rules: one of all that there is, and one that fits everything. */
int pams_nl_rules_get(struct pams_nl *nl, struct pams_rules *rules)
{
	const uint8_t v6[16] = { 0x20, 0x01, 0x0d, 0xb8 };
	struct pams_rule *rule = calloc(2, sizeof(*rule));

	(void)nl;
	memset(rules, 0, sizeof(*rules));
	if (!rule)
		return -ENOMEM;
	rules->generation = 7;
	rules->nr = 2;
	rules->rule = rule;
	memcpy(rules->scheduler, "pams", sizeof("pams"));
	rule[0] = (struct pams_rule){
		.number = 1, .cgroup = "/a/b", .has_mark = true, .mark = 0x10,
		.mask = 0xf0, .has_uid = true, .uid = 1000, .local_min = 8000,
		.local_max = 8999, .remote_min = 443, .remote_max = 443,
		.family = AF_INET6, .prefix_len = 48, .server = true,
		.scheduler = "redundant", .first_bytes = 16000,
	};
	memcpy(rule[0].address, v6, sizeof(v6));
	rule[1] = (struct pams_rule){
		.number = 2, .local_max = 65535, .remote_max = 65535,
		.scheduler = "single",
	};
	return 0;
}

/* One of each kind, a long name among them; none if the module shall be an old one. */
int pams_nl_sched_dump(struct pams_nl *nl, pams_scheduler_fn fn, void *arg)
{
	static const struct pams_scheduler schedulers[] = {
		{ .name = "roundrobin", .description = "each subflow in turn" },
		{ .name = "twice", .description = "all of it twice",
		  .first_bytes = true },
		{ .name = "chooser", .description = "another one",
		  .by_rules = true },
	};
	int stop = 0;

	if (getenv("FAKE_OLD")) {
		nl->error = "Operation not supported";
		return -EOPNOTSUPP;
	}
	for (size_t i = 0; !stop && i < 3; i++)
		stop = fn(&schedulers[i], arg);
	return stop;
}

/* Nobody's socket is the module's. */
int pams_nl_sched_of(struct pams_nl *nl, int fd, char name[PAMS_SCHEDULER_MAX])
{
	(void)fd;
	(void)name;
	nl->error = "Operation not supported";
	return -EOPNOTSUPP;
}

int pams_nl_stats(struct pams_nl *nl, struct pams_stats *stats)
{
	(void)nl;
	memset(stats, 0, sizeof(*stats));
	stats->conns = 2;
	stats->paths = 3;
	stats->paths_max = 10000;
	stats->decisions = 1234567890123;
	return 0;
}

int pams_nl_subscribe(struct pams_nl *nl)
{
	nl->fd = eventfd(1, EFD_NONBLOCK);
	return nl->fd < 0 ? -errno : 0;
}

int pams_nl_event_fd(const struct pams_nl *nl)
{
	return nl->fd;
}

/* One of each kind, then over again. */
int pams_nl_receive(struct pams_nl *nl, pams_event_fn fn, void *arg)
{
	enum pams_event_kind kind = nl->events++ % (PAMS_EVENT_LOST + 1);
	struct pams_subflow subflow[2];
	struct pams_event event = { .kind = kind };
	struct pams_path path;
	struct pams_conn conn;

	fill_path(&path, 1);
	fill_conn(&conn, subflow, 0x1234);
	conn.subflows = 1;
	if (kind <= PAMS_EVENT_PATH_EXPIRED)
		event.path = &path;
	else if (kind <= PAMS_EVENT_REINJECT)
		event.conn = &conn;
	return fn(&event, arg) ?: 1;
}

const char *pams_event_name(enum pams_event_kind kind)
{
	static const char * const names[] = {
		"path-set", "path-del", "path-expired", "path-stopped", "subflow-removed",
		"reinject", "loaded", "unloaded", "lost",
	};

	return names[kind];
}
