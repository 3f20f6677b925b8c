// SPDX-License-Identifier: GPL-2.0
/*
 * attributes - between the family's messages and the structs of netlink.h
 *
 * One table per attribute set says each attribute's name, as the specification
 * has it, how it is written and where it goes. Attributes that the tables
 * don't have, of a newer module, are passed over.
 */
#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <netlink/attr.h>
#include <netlink/genl/genl.h>

#include <linux/mptcp_pams.h>

#include "netlink-internal.h"

enum wire {
	WIRE_OTHER,	/* not read by the table */
	WIRE_U8,
	WIRE_BE16,
	WIRE_U32,
	WIRE_S32,
	WIRE_UINT,	/* 4 or 8 bytes, into 8 */
	WIRE_FLAG,
	WIRE_BYTES4,
	WIRE_BYTES16,
	WIRE_NAME,	/* of a scheduler */
	WIRE_ORIGIN,
	WIRE_CGROUP,
	WIRE_TEXT,
};

struct field {
	const char *name;
	enum wire wire;
	size_t offset;
};

#define PATH(attr, name, wire, member) \
	[MPTCP_PAMS_A_PATH_##attr] = { name, WIRE_##wire, \
				       offsetof(struct pams_path, member) }
#define SUBFLOW(attr, name, wire, member) \
	[MPTCP_PAMS_A_SUBFLOW_##attr] = { name, WIRE_##wire, \
				offsetof(struct pams_subflow, member) }
#define CONN(attr, name, wire, member) \
	[MPTCP_PAMS_A_CONN_##attr] = { name, WIRE_##wire, \
				       offsetof(struct pams_conn, member) }
#define STATS(attr, name, wire, member) \
	[MPTCP_PAMS_A_STATS_##attr] = { name, WIRE_##wire, \
					offsetof(struct pams_stats, member) }
#define RULE(attr, name, wire, member) \
	[MPTCP_PAMS_A_RULE_##attr] = { name, WIRE_##wire, \
				       offsetof(struct pams_rule, member) }
#define RULES(attr, name, wire, member) \
	[MPTCP_PAMS_A_RULES_##attr] = { name, WIRE_##wire, \
					offsetof(struct pams_rules, member) }
#define SCHED(attr, name, wire, member) \
	[MPTCP_PAMS_A_SCHED_##attr] = { name, WIRE_##wire, \
				offsetof(struct pams_scheduler, member) }

static const struct field path_fields[MPTCP_PAMS_A_PATH_MAX + 1] = {
	PATH(ADDRESS4, "address4", BYTES4, address),
	PATH(ADDRESS6, "address6", BYTES16, address),
	PATH(PREFIX_LEN, "prefix-len", U8, prefix_len),
	PATH(PORT, "port", BE16, port),
	PATH(TOKEN, "token", U32, token),
	PATH(LOCAL_ID, "local-id", U8, local_id),
	PATH(REMOTE_ID, "remote-id", U8, remote_id),
	PATH(IFINDEX, "ifindex", U32, ifindex),
	PATH(PIPE_RATE, "pipe-rate", UINT, rate_byteps),
	PATH(PIPE_BACKLOG, "pipe-backlog", U32, backlog_bytes),
	PATH(PIPE_DELAY, "pipe-delay", U32, delay_us),
	PATH(HS_RATE, "hs-rate", UINT, hs_rate_byteps),
	PATH(LOSS_TIME, "loss-time", S32, loss_ms),
	PATH(NO_LOSS, "no-loss", FLAG, no_loss),
	PATH(TTL, "ttl", U32, ttl_ms),
	PATH(PIPE_AGE, "pipe-age", U32, pipe_age_ms),
	PATH(PIPE_EXPIRES, "pipe-expires", U32, pipe_expires_ms),
	PATH(LOSS_EXPIRES, "loss-expires", U32, loss_expires_ms),
	PATH(ORIGIN, "origin", ORIGIN, origin),
	PATH(LOSS_SPREAD, "loss-spread", U32, loss_spread_ms),
	PATH(COST, "cost", U8, cost),
	PATH(COST_EXPIRES, "cost-expires", U32, cost_expires_ms),
};

static const struct field subflow_fields[MPTCP_PAMS_A_SUBFLOW_MAX + 1] = {
	SUBFLOW(ID, "id", U32, id),
	SUBFLOW(LOCAL_ID, "local-id", U8, local_id),
	SUBFLOW(REMOTE_ID, "remote-id", U8, remote_id),
	SUBFLOW(LOCAL_ADDRESS4, "local-address4", BYTES4, local),
	SUBFLOW(REMOTE_ADDRESS4, "remote-address4", BYTES4, remote),
	SUBFLOW(LOCAL_ADDRESS6, "local-address6", BYTES16, local),
	SUBFLOW(REMOTE_ADDRESS6, "remote-address6", BYTES16, remote),
	SUBFLOW(LOCAL_PORT, "local-port", BE16, local_port),
	SUBFLOW(REMOTE_PORT, "remote-port", BE16, remote_port),
	SUBFLOW(IFINDEX, "ifindex", U32, ifindex),
	SUBFLOW(SRTT, "srtt", U32, srtt_us),
	SUBFLOW(MIN_RTT, "min-rtt", U32, min_rtt_us),
	SUBFLOW(CWND, "cwnd", U32, cwnd),
	SUBFLOW(IN_FLIGHT, "in-flight", U32, in_flight),
	SUBFLOW(MSS, "mss", U32, mss_bytes),
	SUBFLOW(UNSENT, "unsent", UINT, unsent_bytes),
	SUBFLOW(OUTSTANDING, "outstanding", UINT, outstanding_bytes),
	SUBFLOW(RATE, "rate", UINT, rate_byteps),
	SUBFLOW(OWD, "owd", U32, owd_us),
	SUBFLOW(PAD_NS, "pad-ns", UINT, pad_ns),
	SUBFLOW(IDLE, "idle", FLAG, idle),
	SUBFLOW(STOPPED, "stopped", FLAG, stopped),
	SUBFLOW(BACKUP, "backup", FLAG, backup),
	SUBFLOW(UNUSABLE, "unusable", FLAG, unusable),
	SUBFLOW(PIPE, "pipe", FLAG, pipe),
	SUBFLOW(LOSS_TIME, "loss-time", S32, loss_ms),
	SUBFLOW(REINJECTED, "reinjected", UINT, reinjected_bytes),
	SUBFLOW(STOPS, "stops", U32, stops),
	SUBFLOW(COST, "cost", U8, cost),
};

static const struct field conn_fields[MPTCP_PAMS_A_CONN_MAX + 1] = {
	CONN(TOKEN, "token", U32, token),
	CONN(SCHEDULER, "scheduler", NAME, scheduler),
	CONN(UNSCHEDULED, "unscheduled", UINT, unscheduled_bytes),
	CONN(DECISIONS, "decisions", UINT, decisions),
	CONN(DEFERRALS, "deferrals", UINT, deferrals),
	CONN(KICKS, "kicks", UINT, kicks),
	CONN(STOPS, "stops", UINT, stops),
	CONN(REINJECTED, "reinjected", UINT, reinjected_bytes),
	CONN(SUBFLOW, "subflow", OTHER, subflow),
	CONN(RULE, "rule", U32, rule),
	CONN(UNIT, "unit", UINT, unit_left_bytes),
	CONN(UNIT_LEFT, "unit-left", UINT, unit_left_bytes),
};

static const struct field stats_fields[MPTCP_PAMS_A_STATS_MAX + 1] = {
	STATS(CONNS, "conns", U32, conns),
	STATS(PATHS, "paths", U32, paths),
	STATS(PATHS_MAX, "paths-max", U32, paths_max),
	STATS(REPORTS, "reports", UINT, reports),
	STATS(REFUSED, "refused", UINT, refused),
	STATS(EXPIRED, "expired", UINT, expired),
	STATS(DECISIONS, "decisions", UINT, decisions),
	STATS(DEFERRALS, "deferrals", UINT, deferrals),
	STATS(KICKS, "kicks", UINT, kicks),
	STATS(STOPS, "stops", UINT, stops),
	STATS(REINJECTED, "reinjected", UINT, reinjected_bytes),
};

static const struct field rule_fields[MPTCP_PAMS_A_RULE_MAX + 1] = {
	RULE(NUMBER, "number", U32, number),
	RULE(CGROUP, "cgroup", CGROUP, cgroup),
	RULE(MARK, "mark", U32, mark),
	RULE(MASK, "mask", U32, mask),
	RULE(UID, "uid", U32, uid),
	RULE(LOCAL_PORT_MIN, "local-port-min", BE16, local_min),
	RULE(LOCAL_PORT_MAX, "local-port-max", BE16, local_max),
	RULE(REMOTE_PORT_MIN, "remote-port-min", BE16, remote_min),
	RULE(REMOTE_PORT_MAX, "remote-port-max", BE16, remote_max),
	RULE(ADDRESS4, "address4", BYTES4, address),
	RULE(ADDRESS6, "address6", BYTES16, address),
	RULE(PREFIX_LEN, "prefix-len", U8, prefix_len),
	RULE(CLIENT, "client", FLAG, client),
	RULE(SERVER, "server", FLAG, server),
	RULE(SCHEDULER, "scheduler", NAME, scheduler),
	RULE(FIRST_BYTES, "first-bytes", U32, first_bytes),
	RULE(OVERFLOW_MS, "overflow-ms", U32, overflow.delay_ms),
	RULE(OVERFLOW_PERCENT, "overflow-percent", U32, overflow.percent),
	RULE(COSTLY_COPIES, "costly-copies", FLAG, overflow.copies),
};

static const struct field rules_fields[MPTCP_PAMS_A_RULES_MAX + 1] = {
	RULES(GENERATION, "generation", U32, generation),
	RULES(SCHEDULER, "scheduler", NAME, scheduler),
	RULES(FIRST_BYTES, "first-bytes", U32, first_bytes),
	RULES(RULE, "rule", OTHER, rule),
	RULES(OVERFLOW_MS, "overflow-ms", U32, overflow.delay_ms),
	RULES(OVERFLOW_PERCENT, "overflow-percent", U32, overflow.percent),
	RULES(COSTLY_COPIES, "costly-copies", FLAG, overflow.copies),
};

static const struct field sched_fields[MPTCP_PAMS_A_SCHED_MAX + 1] = {
	SCHED(NAME, "name", NAME, name),
	SCHED(DESCRIPTION, "description", TEXT, description),
	SCHED(FIRST_BYTES, "first-bytes", FLAG, first_bytes),
	SCHED(BY_RULES, "by-rules", FLAG, by_rules),
};

/* Sets of attributes are told as bits. */
static_assert(MPTCP_PAMS_A_SUBFLOW_MAX < 64, "a bit per attribute");

#define SEEN(seen, attr)	((seen) & UINT64_C(1) << MPTCP_PAMS_A_##attr)

enum pams_set pams_set_of(uint8_t command)
{
	switch (command) {
	case MPTCP_PAMS_CMD_PATH_SET:
	case MPTCP_PAMS_CMD_PATH_DEL:
	case MPTCP_PAMS_CMD_PATH_GET:
		return PAMS_SET_PATH;
	case MPTCP_PAMS_CMD_CONN_GET:
		return PAMS_SET_CONN;
	}
	return PAMS_SET_NONE;
}

const char *pams_attr_name(enum pams_set set, unsigned int type)
{
	if (set == PAMS_SET_PATH && type <= MPTCP_PAMS_A_PATH_MAX)
		return path_fields[type].name;
	if (set == PAMS_SET_CONN && type <= MPTCP_PAMS_A_CONN_MAX)
		return conn_fields[type].name;
	return NULL;
}

static int put_uint(struct nl_msg *msg, int type, uint64_t value)
{
	if (value > UINT32_MAX)
		return nla_put_u64(msg, type, value);
	return nla_put_u32(msg, type, value);
}

static int put_address(struct nl_msg *msg, const struct pams_path *path)
{
	bool v4 = path->family == AF_INET;
	int err;

	err = nla_put(msg, v4 ? MPTCP_PAMS_A_PATH_ADDRESS4 :
				MPTCP_PAMS_A_PATH_ADDRESS6, v4 ? 4 : 16,
		      path->address);
	if (!err && path->prefix_len != (v4 ? 32 : 128))
		err = nla_put_u8(msg, MPTCP_PAMS_A_PATH_PREFIX_LEN,
				 path->prefix_len);
	if (!err && path->port)
		err = nla_put_u16(msg, MPTCP_PAMS_A_PATH_PORT,
				  htons(path->port));
	return err;
}

/* Only room can be missing. */
int pams_put_key(struct nl_msg *msg, const struct pams_path *path)
{
	int err;

	switch (path->key) {
	case PAMS_KEY_ADDRESS:
		err = put_address(msg, path);
		break;
	case PAMS_KEY_TOKEN:
		err = nla_put_u32(msg, MPTCP_PAMS_A_PATH_TOKEN, path->token);
		err |= nla_put_u8(msg, MPTCP_PAMS_A_PATH_LOCAL_ID,
				  path->local_id);
		err |= nla_put_u8(msg, MPTCP_PAMS_A_PATH_REMOTE_ID,
				  path->remote_id);
		break;
	case PAMS_KEY_IFINDEX:
		err = nla_put_u32(msg, MPTCP_PAMS_A_PATH_IFINDEX,
				  path->ifindex);
		break;
	default:
		return -EINVAL;
	}
	return err ? -EMSGSIZE : 0;
}

int pams_put_values(struct nl_msg *msg, const struct pams_path *path)
{
	int err = 0;

	if (path->has_pipe) {
		err |= put_uint(msg, MPTCP_PAMS_A_PATH_PIPE_RATE,
				path->rate_byteps);
		err |= nla_put_u32(msg, MPTCP_PAMS_A_PATH_PIPE_BACKLOG,
				   path->backlog_bytes);
	}
	if (path->has_pipe && path->has_delay)
		err |= nla_put_u32(msg, MPTCP_PAMS_A_PATH_PIPE_DELAY,
				   path->delay_us);
	if (path->has_pipe && path->hs_rate_byteps)
		err |= put_uint(msg, MPTCP_PAMS_A_PATH_HS_RATE,
				path->hs_rate_byteps);
	if (path->has_loss)
		err |= nla_put_s32(msg, MPTCP_PAMS_A_PATH_LOSS_TIME,
				   path->loss_ms);
	if (path->has_loss && path->loss_spread_ms)
		err |= nla_put_u32(msg, MPTCP_PAMS_A_PATH_LOSS_SPREAD,
				   path->loss_spread_ms);
	if (path->no_loss)
		err |= nla_put_flag(msg, MPTCP_PAMS_A_PATH_NO_LOSS);
	if (path->has_cost)
		err |= nla_put_u8(msg, MPTCP_PAMS_A_PATH_COST, path->cost);
	if (path->ttl_ms || path->until_deleted)
		err |= nla_put_u32(msg, MPTCP_PAMS_A_PATH_TTL,
				   path->until_deleted ? 0 : path->ttl_ms);
	if (path->origin[0])
		err |= nla_put_string(msg, MPTCP_PAMS_A_PATH_ORIGIN,
				      path->origin);
	return err ? -EMSGSIZE : 0;
}

static int put_port(struct nl_msg *msg, int type, uint16_t port, uint16_t any)
{
	return port == any ? 0 : nla_put_u16(msg, type, htons(port));
}

static int put_overflow(struct nl_msg *msg, int ms_type, int percent_type,
			int copies_type, const struct pams_overflow *overflow)
{
	int err = 0;

	if (!overflow->said)
		return 0;
	if (overflow->percent)
		err |= nla_put_u32(msg, percent_type, overflow->percent);
	else
		err |= nla_put_u32(msg, ms_type, overflow->delay_ms);
	if (overflow->copies)
		err |= nla_put_flag(msg, copies_type);
	return err;
}

static int put_choice(struct nl_msg *msg, int name_type, const char *name,
		      int first_type, uint32_t first_bytes)
{
	int err = 0;

	if (name[0])
		err |= nla_put_string(msg, name_type, name);
	if (first_bytes)
		err |= nla_put_u32(msg, first_type, first_bytes);
	return err;
}

static int put_rule(struct nl_msg *msg, const struct pams_rule *rule)
{
	struct nlattr *nest = nla_nest_start(msg, MPTCP_PAMS_A_RULES_RULE |
						  NLA_F_NESTED);
	bool v4 = rule->family == AF_INET;
	int err = 0;

	if (!nest)
		return -EMSGSIZE;
	if (rule->cgroup[0])
		err |= nla_put_string(msg, MPTCP_PAMS_A_RULE_CGROUP,
				      rule->cgroup);
	if (rule->has_mark) {
		err |= nla_put_u32(msg, MPTCP_PAMS_A_RULE_MARK, rule->mark);
		err |= nla_put_u32(msg, MPTCP_PAMS_A_RULE_MASK, rule->mask);
	}
	if (rule->has_uid)
		err |= nla_put_u32(msg, MPTCP_PAMS_A_RULE_UID, rule->uid);
	err |= put_port(msg, MPTCP_PAMS_A_RULE_LOCAL_PORT_MIN, rule->local_min,
			0);
	err |= put_port(msg, MPTCP_PAMS_A_RULE_LOCAL_PORT_MAX, rule->local_max,
			UINT16_MAX);
	err |= put_port(msg, MPTCP_PAMS_A_RULE_REMOTE_PORT_MIN,
			rule->remote_min, 0);
	err |= put_port(msg, MPTCP_PAMS_A_RULE_REMOTE_PORT_MAX,
			rule->remote_max, UINT16_MAX);
	if (rule->family) {
		err |= nla_put(msg, v4 ? MPTCP_PAMS_A_RULE_ADDRESS4 :
					 MPTCP_PAMS_A_RULE_ADDRESS6,
			       v4 ? 4 : 16, rule->address);
		err |= nla_put_u8(msg, MPTCP_PAMS_A_RULE_PREFIX_LEN,
				  rule->prefix_len);
	}
	if (rule->client)
		err |= nla_put_flag(msg, MPTCP_PAMS_A_RULE_CLIENT);
	if (rule->server)
		err |= nla_put_flag(msg, MPTCP_PAMS_A_RULE_SERVER);
	err |= put_choice(msg, MPTCP_PAMS_A_RULE_SCHEDULER, rule->scheduler,
			  MPTCP_PAMS_A_RULE_FIRST_BYTES, rule->first_bytes);
	err |= put_overflow(msg, MPTCP_PAMS_A_RULE_OVERFLOW_MS,
			    MPTCP_PAMS_A_RULE_OVERFLOW_PERCENT,
			    MPTCP_PAMS_A_RULE_COSTLY_COPIES, &rule->overflow);
	nla_nest_end(msg, nest);
	return err ? -EMSGSIZE : 0;
}

int pams_put_rules(struct nl_msg *msg, const struct pams_rules *rules)
{
	unsigned int i;
	int err = 0;

	if (rules->generation)
		err |= nla_put_u32(msg, MPTCP_PAMS_A_RULES_GENERATION,
				   rules->generation);
	err |= put_choice(msg, MPTCP_PAMS_A_RULES_SCHEDULER, rules->scheduler,
			  MPTCP_PAMS_A_RULES_FIRST_BYTES, rules->first_bytes);
	err |= put_overflow(msg, MPTCP_PAMS_A_RULES_OVERFLOW_MS,
			    MPTCP_PAMS_A_RULES_OVERFLOW_PERCENT,
			    MPTCP_PAMS_A_RULES_COSTLY_COPIES, &rules->overflow);
	for (i = 0; !err && i < rules->nr; i++)
		err = put_rule(msg, &rules->rule[i]);
	return err ? -EMSGSIZE : 0;
}

/* Copies size bytes; false if the attribute is shorter. */
static bool copy(void *to, const struct nlattr *attr, int size)
{
	if (nla_len(attr) < size)
		return false;
	memcpy(to, nla_data(attr), size);
	return true;
}

static bool read_uint(uint64_t *to, const struct nlattr *attr)
{
	uint32_t small;

	if (nla_len(attr) >= 8)
		return copy(to, attr, 8);
	if (!copy(&small, attr, 4))
		return false;
	*to = small;
	return true;
}

static bool read_be16(uint16_t *to, const struct nlattr *attr)
{
	uint16_t wire;

	if (!copy(&wire, attr, 2))
		return false;
	*to = ntohs(wire);
	return true;
}

static bool read_name(char *to, const struct nlattr *attr, size_t size)
{
	nla_strlcpy(to, attr, size);
	return true;
}

static bool read_field(void *to, enum wire wire, const struct nlattr *attr)
{
	switch (wire) {
	case WIRE_U8:
		return copy(to, attr, 1);
	case WIRE_BE16:
		return read_be16(to, attr);
	case WIRE_U32:
	case WIRE_S32:
	case WIRE_BYTES4:
		return copy(to, attr, 4);
	case WIRE_UINT:
		return read_uint(to, attr);
	case WIRE_FLAG:
		*(bool *)to = true;
		return true;
	case WIRE_BYTES16:
		return copy(to, attr, 16);
	case WIRE_NAME:
		return read_name(to, attr, PAMS_SCHEDULER_MAX);
	case WIRE_ORIGIN:
		return read_name(to, attr, PAMS_ORIGIN_MAX);
	case WIRE_CGROUP:
		return read_name(to, attr, PAMS_CGROUP_MAX);
	case WIRE_TEXT:
		return read_name(to, attr, PAMS_DESCRIPTION_MAX);
	case WIRE_OTHER:
		break;
	}
	return true;
}

/* The attributes from head on into the struct; which ones, as bits, or -1. */
static int64_t read_fields(struct nlattr *head, int len, void *to,
			   const struct field *fields, int max)
{
	struct nlattr *attr;
	int64_t seen = 0;
	int left;

	nla_for_each_attr(attr, head, len, left) {
		int type = nla_type(attr);

		if (type > max || !fields[type].name)
			continue;
		if (!read_field((char *)to + fields[type].offset,
				fields[type].wire, attr))
			return -1;
		seen |= INT64_C(1) << type;
	}
	return seen;
}

static int64_t read_message(struct nlmsghdr *hdr, void *to,
			    const struct field *fields, int max)
{
	struct genlmsghdr *genl = genlmsg_hdr(hdr);

	if (!genlmsg_valid_hdr(hdr, 0))
		return -1;
	return read_fields(genlmsg_attrdata(genl, 0), genlmsg_attrlen(genl, 0),
			   to, fields, max);
}

bool pams_has_key(const struct pams_path *path)
{
	return path->key != PAMS_KEY_ADDRESS || path->family;
}

int pams_read_path(struct nlmsghdr *hdr, struct pams_path *path)
{
	int64_t seen;

	memset(path, 0, sizeof(*path));
	seen = read_message(hdr, path, path_fields, MPTCP_PAMS_A_PATH_MAX);
	if (seen < 0)
		return -EBADMSG;

	if (SEEN(seen, PATH_TOKEN))
		path->key = PAMS_KEY_TOKEN;
	else if (SEEN(seen, PATH_IFINDEX))
		path->key = PAMS_KEY_IFINDEX;
	else
		path->key = PAMS_KEY_ADDRESS;
	if (SEEN(seen, PATH_ADDRESS4))
		path->family = AF_INET;
	else if (SEEN(seen, PATH_ADDRESS6))
		path->family = AF_INET6;
	if (path->family && !SEEN(seen, PATH_PREFIX_LEN))
		path->prefix_len = path->family == AF_INET ? 32 : 128;
	path->has_pipe = SEEN(seen, PATH_PIPE_RATE);
	path->has_delay = SEEN(seen, PATH_PIPE_DELAY);
	path->has_loss = SEEN(seen, PATH_LOSS_TIME);
	path->pipe_stays = path->has_pipe && !SEEN(seen, PATH_PIPE_EXPIRES);
	path->loss_stays = path->has_loss && !SEEN(seen, PATH_LOSS_EXPIRES);
	path->has_cost = SEEN(seen, PATH_COST);
	path->cost_stays = path->has_cost && !SEEN(seen, PATH_COST_EXPIRES);
	return 0;
}

int pams_read_stats(struct nlmsghdr *hdr, struct pams_stats *stats)
{
	memset(stats, 0, sizeof(*stats));
	return read_message(hdr, stats, stats_fields,
			    MPTCP_PAMS_A_STATS_MAX) < 0 ? -EBADMSG : 0;
}

int pams_read_scheduler(struct nlmsghdr *hdr, struct pams_scheduler *scheduler)
{
	memset(scheduler, 0, sizeof(*scheduler));
	return read_message(hdr, scheduler, sched_fields,
			    MPTCP_PAMS_A_SCHED_MAX) < 0 ? -EBADMSG : 0;
}

static int read_subflow(struct nlattr *nest, struct pams_subflow *subflow)
{
	int64_t seen;

	memset(subflow, 0, sizeof(*subflow));
	seen = read_fields(nla_data(nest), nla_len(nest), subflow,
			   subflow_fields, MPTCP_PAMS_A_SUBFLOW_MAX);
	if (seen < 0)
		return -EBADMSG;

	subflow->family = AF_UNSPEC;
	if (SEEN(seen, SUBFLOW_REMOTE_ADDRESS4))
		subflow->family = AF_INET;
	else if (SEEN(seen, SUBFLOW_REMOTE_ADDRESS6))
		subflow->family = AF_INET6;
	subflow->has_pad = SEEN(seen, SUBFLOW_PAD_NS);
	subflow->has_loss = SEEN(seen, SUBFLOW_LOSS_TIME);
	return 0;
}

int pams_read_conn(struct nlmsghdr *hdr, struct pams_conn *conn)
{
	struct pams_subflow *more;
	struct nlattr *attr;
	int64_t seen;
	int left, err;

	memset(conn, 0, sizeof(*conn));
	seen = read_message(hdr, conn, conn_fields, MPTCP_PAMS_A_CONN_MAX);
	if (seen < 0)
		return -EBADMSG;

	conn->has_rule = SEEN(seen, CONN_RULE);
	nla_for_each_attr(attr, genlmsg_attrdata(genlmsg_hdr(hdr), 0),
			  genlmsg_attrlen(genlmsg_hdr(hdr), 0), left) {
		if (nla_type(attr) != MPTCP_PAMS_A_CONN_SUBFLOW)
			continue;
		more = reallocarray(conn->subflow, conn->subflows + 1,
				    sizeof(*more));
		if (!more)
			return -ENOMEM;
		conn->subflow = more;
		err = read_subflow(attr, &more[conn->subflows]);
		if (err)
			return err;
		conn->subflows++;
	}
	return 0;
}

static int read_rule(struct nlattr *nest, struct pams_rule *rule)
{
	int64_t seen;

	memset(rule, 0, sizeof(*rule));
	rule->local_max = UINT16_MAX;
	rule->remote_max = UINT16_MAX;
	seen = read_fields(nla_data(nest), nla_len(nest), rule, rule_fields,
			   MPTCP_PAMS_A_RULE_MAX);
	if (seen < 0)
		return -EBADMSG;

	rule->has_mark = SEEN(seen, RULE_MARK);
	rule->has_uid = SEEN(seen, RULE_UID);
	rule->overflow.said = SEEN(seen, RULE_OVERFLOW_MS) ||
			      SEEN(seen, RULE_OVERFLOW_PERCENT);
	rule->family = AF_UNSPEC;
	if (SEEN(seen, RULE_ADDRESS4))
		rule->family = AF_INET;
	else if (SEEN(seen, RULE_ADDRESS6))
		rule->family = AF_INET6;
	return 0;
}

int pams_read_rules(struct nlmsghdr *hdr, struct pams_rules *rules)
{
	struct pams_rule *more;
	struct nlattr *attr;
	int64_t seen;
	int left, err;

	seen = read_message(hdr, rules, rules_fields, MPTCP_PAMS_A_RULES_MAX);
	if (seen < 0)
		return -EBADMSG;
	rules->overflow.said |= SEEN(seen, RULES_OVERFLOW_MS) ||
				SEEN(seen, RULES_OVERFLOW_PERCENT);

	nla_for_each_attr(attr, genlmsg_attrdata(genlmsg_hdr(hdr), 0),
			  genlmsg_attrlen(genlmsg_hdr(hdr), 0), left) {
		if (nla_type(attr) != MPTCP_PAMS_A_RULES_RULE)
			continue;
		more = reallocarray(rules->rule, rules->nr + 1, sizeof(*more));
		if (!more)
			return -ENOMEM;
		rules->rule = more;
		err = read_rule(attr, &more[rules->nr]);
		if (err)
			return err;
		rules->nr++;
	}
	return 0;
}

void pams_path_key_address(struct pams_path *path, int family,
			   const void *address, uint16_t port)
{
	path->key = PAMS_KEY_ADDRESS;
	path->family = family;
	path->prefix_len = family == AF_INET ? 32 : 128;
	path->port = port;
	memset(path->address, 0, sizeof(path->address));
	memcpy(path->address, address, path->prefix_len / 8);
}

void pams_path_key_token(struct pams_path *path, uint32_t token,
			 uint8_t local_id, uint8_t remote_id)
{
	path->key = PAMS_KEY_TOKEN;
	path->token = token;
	path->local_id = local_id;
	path->remote_id = remote_id;
}

void pams_path_key_ifindex(struct pams_path *path, uint32_t ifindex)
{
	path->key = PAMS_KEY_IFINDEX;
	path->ifindex = ifindex;
}
