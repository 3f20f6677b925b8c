// SPDX-License-Identifier: GPL-2.0
/*
 * attributes - converts between the family's messages and the structs of netlink.h
 *
 * There is a table for each attribute set, generated from the specification, with each
 * attribute's name, its encoding and its offset in the struct. Attributes of a newer
 * module, which the tables don't have, are skipped.
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
	WIRE_STRING,	/* cut if it is too long */
};

struct field {
	const char *name;
	enum wire wire;
	size_t offset;
	size_t size;	/* of a string */
};

#include "attributes-gen.h"

/* read_fields() returns the attributes that it has found as bits of an int64_t. */
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

/* Returns 0, or -EMSGSIZE if the message has no room. */
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

/* Copy size bytes. Returns false if the attribute is shorter. */
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

static bool read_field(void *to, const struct field *field,
		       const struct nlattr *attr)
{
	switch (field->wire) {
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
	case WIRE_STRING:
		nla_strlcpy(to, attr, field->size);
		return true;
	case WIRE_OTHER:
		break;
	}
	return true;
}

/* Read the attributes from head on into a struct. Returns those found, as bits, or -1. */
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
				&fields[type], attr))
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
