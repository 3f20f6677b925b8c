// SPDX-License-Identifier: ((GPL-2.0 WITH Linux-syscall-note) OR BSD-3-Clause)
/* Do not edit directly, auto-generated from: */
/*	Documentation/netlink/specs/mptcp_pams.yaml */
/* YNL-GEN kernel source */

#include <net/netlink.h>
#include <net/genetlink.h>

#include "netlink-gen.h"

#include <uapi/linux/mptcp_pams.h>

/* Integer value ranges */
static struct netlink_range_validation mptcp_pams_a_path_ifindex_range = {
	.min	= 1ULL,
	.max	= S32_MAX,
};

static struct netlink_range_validation mptcp_pams_a_path_pipe_rate_range = {
	.min	= MPTCP_PAMS_RATE_MIN_BYTEPS,
	.max	= MPTCP_PAMS_RATE_MAX_BYTEPS,
};

static struct netlink_range_validation mptcp_pams_a_path_pipe_backlog_range = {
	.max	= MPTCP_PAMS_BACKLOG_MAX_BYTES,
};

static struct netlink_range_validation mptcp_pams_a_path_pipe_delay_range = {
	.max	= MPTCP_PAMS_DELAY_MAX_US,
};

static struct netlink_range_validation mptcp_pams_a_path_hs_rate_range = {
	.min	= MPTCP_PAMS_RATE_MIN_BYTEPS,
	.max	= MPTCP_PAMS_RATE_MAX_BYTEPS,
};

static struct netlink_range_validation mptcp_pams_a_path_ttl_range = {
	.max	= MPTCP_PAMS_TIME_MAX_MS,
};

static struct netlink_range_validation mptcp_pams_a_path_loss_spread_range = {
	.max	= MPTCP_PAMS_TIME_MAX_MS,
};

static struct netlink_range_validation mptcp_pams_a_rule_overflow_ms_range = {
	.max	= MPTCP_PAMS_OVERFLOW_MAX_MS,
};

static struct netlink_range_validation mptcp_pams_a_rules_overflow_ms_range = {
	.max	= MPTCP_PAMS_OVERFLOW_MAX_MS,
};

/* Common nested types */
const struct nla_policy mptcp_pams_rule_nl_policy[MPTCP_PAMS_A_RULE_COSTLY_COPIES + 1] = {
	[MPTCP_PAMS_A_RULE_NUMBER] = { .type = NLA_U32, },
	[MPTCP_PAMS_A_RULE_CGROUP] = { .type = NLA_NUL_STRING, .len = MPTCP_PAMS_CGROUP_MAX, },
	[MPTCP_PAMS_A_RULE_MARK] = { .type = NLA_U32, },
	[MPTCP_PAMS_A_RULE_MASK] = { .type = NLA_U32, },
	[MPTCP_PAMS_A_RULE_UID] = { .type = NLA_U32, },
	[MPTCP_PAMS_A_RULE_LOCAL_PORT_MIN] = { .type = NLA_U16, },
	[MPTCP_PAMS_A_RULE_LOCAL_PORT_MAX] = { .type = NLA_U16, },
	[MPTCP_PAMS_A_RULE_REMOTE_PORT_MIN] = { .type = NLA_U16, },
	[MPTCP_PAMS_A_RULE_REMOTE_PORT_MAX] = { .type = NLA_U16, },
	[MPTCP_PAMS_A_RULE_ADDRESS4] = { .type = NLA_U32, },
	[MPTCP_PAMS_A_RULE_ADDRESS6] = NLA_POLICY_EXACT_LEN(16),
	[MPTCP_PAMS_A_RULE_PREFIX_LEN] = NLA_POLICY_MAX(NLA_U8, 128),
	[MPTCP_PAMS_A_RULE_CLIENT] = { .type = NLA_FLAG, },
	[MPTCP_PAMS_A_RULE_SERVER] = { .type = NLA_FLAG, },
	[MPTCP_PAMS_A_RULE_SCHEDULER] = { .type = NLA_NUL_STRING, .len = MPTCP_PAMS_SCHEDULER_MAX, },
	[MPTCP_PAMS_A_RULE_FIRST_BYTES] = NLA_POLICY_MIN(NLA_U32, 1),
	[MPTCP_PAMS_A_RULE_OVERFLOW_MS] = NLA_POLICY_FULL_RANGE(NLA_U32, &mptcp_pams_a_rule_overflow_ms_range),
	[MPTCP_PAMS_A_RULE_OVERFLOW_PERCENT] = NLA_POLICY_RANGE(NLA_U32, 100, MPTCP_PAMS_OVERFLOW_MAX_PERCENT),
	[MPTCP_PAMS_A_RULE_COSTLY_COPIES] = { .type = NLA_FLAG, },
};

/* MPTCP_PAMS_CMD_PATH_SET - do */
static const struct nla_policy mptcp_pams_path_set_nl_policy[MPTCP_PAMS_A_PATH_COST + 1] = {
	[MPTCP_PAMS_A_PATH_ADDRESS4] = { .type = NLA_U32, },
	[MPTCP_PAMS_A_PATH_ADDRESS6] = NLA_POLICY_EXACT_LEN(16),
	[MPTCP_PAMS_A_PATH_PREFIX_LEN] = NLA_POLICY_MAX(NLA_U8, 128),
	[MPTCP_PAMS_A_PATH_PORT] = NLA_POLICY_MIN(NLA_U16, 1),
	[MPTCP_PAMS_A_PATH_TOKEN] = { .type = NLA_U32, },
	[MPTCP_PAMS_A_PATH_LOCAL_ID] = { .type = NLA_U8, },
	[MPTCP_PAMS_A_PATH_REMOTE_ID] = { .type = NLA_U8, },
	[MPTCP_PAMS_A_PATH_IFINDEX] = NLA_POLICY_FULL_RANGE(NLA_U32, &mptcp_pams_a_path_ifindex_range),
	[MPTCP_PAMS_A_PATH_PIPE_RATE] = NLA_POLICY_FULL_RANGE(NLA_UINT, &mptcp_pams_a_path_pipe_rate_range),
	[MPTCP_PAMS_A_PATH_PIPE_BACKLOG] = NLA_POLICY_FULL_RANGE(NLA_U32, &mptcp_pams_a_path_pipe_backlog_range),
	[MPTCP_PAMS_A_PATH_PIPE_DELAY] = NLA_POLICY_FULL_RANGE(NLA_U32, &mptcp_pams_a_path_pipe_delay_range),
	[MPTCP_PAMS_A_PATH_HS_RATE] = NLA_POLICY_FULL_RANGE(NLA_UINT, &mptcp_pams_a_path_hs_rate_range),
	[MPTCP_PAMS_A_PATH_LOSS_TIME] = NLA_POLICY_MIN(NLA_S32, 0),
	[MPTCP_PAMS_A_PATH_NO_LOSS] = { .type = NLA_FLAG, },
	[MPTCP_PAMS_A_PATH_TTL] = NLA_POLICY_FULL_RANGE(NLA_U32, &mptcp_pams_a_path_ttl_range),
	[MPTCP_PAMS_A_PATH_ORIGIN] = { .type = NLA_NUL_STRING, .len = MPTCP_PAMS_ORIGIN_MAX, },
	[MPTCP_PAMS_A_PATH_LOSS_SPREAD] = NLA_POLICY_FULL_RANGE(NLA_U32, &mptcp_pams_a_path_loss_spread_range),
	[MPTCP_PAMS_A_PATH_COST] = NLA_POLICY_MAX(NLA_U8, MPTCP_PAMS_COST_MAX),
};

/* MPTCP_PAMS_CMD_PATH_DEL - do */
static const struct nla_policy mptcp_pams_path_del_nl_policy[MPTCP_PAMS_A_PATH_IFINDEX + 1] = {
	[MPTCP_PAMS_A_PATH_ADDRESS4] = { .type = NLA_U32, },
	[MPTCP_PAMS_A_PATH_ADDRESS6] = NLA_POLICY_EXACT_LEN(16),
	[MPTCP_PAMS_A_PATH_PREFIX_LEN] = NLA_POLICY_MAX(NLA_U8, 128),
	[MPTCP_PAMS_A_PATH_PORT] = NLA_POLICY_MIN(NLA_U16, 1),
	[MPTCP_PAMS_A_PATH_TOKEN] = { .type = NLA_U32, },
	[MPTCP_PAMS_A_PATH_LOCAL_ID] = { .type = NLA_U8, },
	[MPTCP_PAMS_A_PATH_REMOTE_ID] = { .type = NLA_U8, },
	[MPTCP_PAMS_A_PATH_IFINDEX] = NLA_POLICY_FULL_RANGE(NLA_U32, &mptcp_pams_a_path_ifindex_range),
};

/* MPTCP_PAMS_CMD_PATH_GET - do */
static const struct nla_policy mptcp_pams_path_get_nl_policy[MPTCP_PAMS_A_PATH_IFINDEX + 1] = {
	[MPTCP_PAMS_A_PATH_ADDRESS4] = { .type = NLA_U32, },
	[MPTCP_PAMS_A_PATH_ADDRESS6] = NLA_POLICY_EXACT_LEN(16),
	[MPTCP_PAMS_A_PATH_PREFIX_LEN] = NLA_POLICY_MAX(NLA_U8, 128),
	[MPTCP_PAMS_A_PATH_PORT] = NLA_POLICY_MIN(NLA_U16, 1),
	[MPTCP_PAMS_A_PATH_TOKEN] = { .type = NLA_U32, },
	[MPTCP_PAMS_A_PATH_LOCAL_ID] = { .type = NLA_U8, },
	[MPTCP_PAMS_A_PATH_REMOTE_ID] = { .type = NLA_U8, },
	[MPTCP_PAMS_A_PATH_IFINDEX] = NLA_POLICY_FULL_RANGE(NLA_U32, &mptcp_pams_a_path_ifindex_range),
};

/* MPTCP_PAMS_CMD_CONN_GET - do */
static const struct nla_policy mptcp_pams_conn_get_nl_policy[MPTCP_PAMS_A_CONN_PEER_TOKEN + 1] = {
	[MPTCP_PAMS_A_CONN_TOKEN] = { .type = NLA_U32, },
	[MPTCP_PAMS_A_CONN_PEER_TOKEN] = { .type = NLA_U32, },
};

/* MPTCP_PAMS_CMD_RULES_SET - do */
static const struct nla_policy mptcp_pams_rules_set_nl_policy[MPTCP_PAMS_A_RULES_COSTLY_COPIES + 1] = {
	[MPTCP_PAMS_A_RULES_GENERATION] = { .type = NLA_U32, },
	[MPTCP_PAMS_A_RULES_SCHEDULER] = { .type = NLA_NUL_STRING, .len = MPTCP_PAMS_SCHEDULER_MAX, },
	[MPTCP_PAMS_A_RULES_FIRST_BYTES] = NLA_POLICY_MIN(NLA_U32, 1),
	[MPTCP_PAMS_A_RULES_RULE] = NLA_POLICY_NESTED(mptcp_pams_rule_nl_policy),
	[MPTCP_PAMS_A_RULES_OVERFLOW_MS] = NLA_POLICY_FULL_RANGE(NLA_U32, &mptcp_pams_a_rules_overflow_ms_range),
	[MPTCP_PAMS_A_RULES_OVERFLOW_PERCENT] = NLA_POLICY_RANGE(NLA_U32, 100, MPTCP_PAMS_OVERFLOW_MAX_PERCENT),
	[MPTCP_PAMS_A_RULES_COSTLY_COPIES] = { .type = NLA_FLAG, },
};

/* MPTCP_PAMS_CMD_UNIT_SET - do */
static const struct nla_policy mptcp_pams_unit_set_nl_policy[MPTCP_PAMS_A_CONN_UNIT + 1] = {
	[MPTCP_PAMS_A_CONN_TOKEN] = { .type = NLA_U32, },
	[MPTCP_PAMS_A_CONN_UNIT] = { .type = NLA_UINT, },
};

/* MPTCP_PAMS_CMD_SCHED_GET - do */
static const struct nla_policy mptcp_pams_sched_get_nl_policy[MPTCP_PAMS_A_SCHED_FD + 1] = {
	[MPTCP_PAMS_A_SCHED_FD] = { .type = NLA_U32, },
};

/* Ops table for mptcp_pams */
static const struct genl_split_ops mptcp_pams_nl_ops[] = {
	{
		.cmd		= MPTCP_PAMS_CMD_PATH_SET,
		.doit		= mptcp_pams_nl_path_set_doit,
		.policy		= mptcp_pams_path_set_nl_policy,
		.maxattr	= MPTCP_PAMS_A_PATH_COST,
		.flags		= GENL_UNS_ADMIN_PERM | GENL_CMD_CAP_DO,
	},
	{
		.cmd		= MPTCP_PAMS_CMD_PATH_DEL,
		.doit		= mptcp_pams_nl_path_del_doit,
		.policy		= mptcp_pams_path_del_nl_policy,
		.maxattr	= MPTCP_PAMS_A_PATH_IFINDEX,
		.flags		= GENL_UNS_ADMIN_PERM | GENL_CMD_CAP_DO,
	},
	{
		.cmd	= MPTCP_PAMS_CMD_PATH_FLUSH,
		.doit	= mptcp_pams_nl_path_flush_doit,
		.flags	= GENL_UNS_ADMIN_PERM | GENL_CMD_CAP_DO,
	},
	{
		.cmd		= MPTCP_PAMS_CMD_PATH_GET,
		.doit		= mptcp_pams_nl_path_get_doit,
		.policy		= mptcp_pams_path_get_nl_policy,
		.maxattr	= MPTCP_PAMS_A_PATH_IFINDEX,
		.flags		= GENL_CMD_CAP_DO,
	},
	{
		.cmd	= MPTCP_PAMS_CMD_PATH_GET,
		.dumpit	= mptcp_pams_nl_path_get_dumpit,
		.flags	= GENL_CMD_CAP_DUMP,
	},
	{
		.cmd		= MPTCP_PAMS_CMD_CONN_GET,
		.doit		= mptcp_pams_nl_conn_get_doit,
		.policy		= mptcp_pams_conn_get_nl_policy,
		.maxattr	= MPTCP_PAMS_A_CONN_PEER_TOKEN,
		.flags		= GENL_UNS_ADMIN_PERM | GENL_CMD_CAP_DO,
	},
	{
		.cmd	= MPTCP_PAMS_CMD_CONN_GET,
		.dumpit	= mptcp_pams_nl_conn_get_dumpit,
		.flags	= GENL_UNS_ADMIN_PERM | GENL_CMD_CAP_DUMP,
	},
	{
		.cmd	= MPTCP_PAMS_CMD_STATS_GET,
		.doit	= mptcp_pams_nl_stats_get_doit,
		.flags	= GENL_CMD_CAP_DO,
	},
	{
		.cmd		= MPTCP_PAMS_CMD_RULES_SET,
		.doit		= mptcp_pams_nl_rules_set_doit,
		.policy		= mptcp_pams_rules_set_nl_policy,
		.maxattr	= MPTCP_PAMS_A_RULES_COSTLY_COPIES,
		.flags		= GENL_UNS_ADMIN_PERM | GENL_CMD_CAP_DO,
	},
	{
		.cmd	= MPTCP_PAMS_CMD_RULES_GET,
		.dumpit	= mptcp_pams_nl_rules_get_dumpit,
		.flags	= GENL_UNS_ADMIN_PERM | GENL_CMD_CAP_DUMP,
	},
	{
		.cmd		= MPTCP_PAMS_CMD_UNIT_SET,
		.doit		= mptcp_pams_nl_unit_set_doit,
		.policy		= mptcp_pams_unit_set_nl_policy,
		.maxattr	= MPTCP_PAMS_A_CONN_UNIT,
		.flags		= GENL_CMD_CAP_DO,
	},
	{
		.cmd		= MPTCP_PAMS_CMD_SCHED_GET,
		.doit		= mptcp_pams_nl_sched_get_doit,
		.policy		= mptcp_pams_sched_get_nl_policy,
		.maxattr	= MPTCP_PAMS_A_SCHED_FD,
		.flags		= GENL_CMD_CAP_DO,
	},
	{
		.cmd	= MPTCP_PAMS_CMD_SCHED_GET,
		.dumpit	= mptcp_pams_nl_sched_get_dumpit,
		.flags	= GENL_CMD_CAP_DUMP,
	},
};

static const struct genl_multicast_group mptcp_pams_nl_mcgrps[] = {
	[MPTCP_PAMS_NLGRP_EVENTS] = { "events", .flags = GENL_MCAST_CAP_NET_ADMIN, },
};

struct genl_family mptcp_pams_nl_family __ro_after_init = {
	.name		= MPTCP_PAMS_FAMILY_NAME,
	.version	= MPTCP_PAMS_FAMILY_VERSION,
	.netnsok	= true,
	.parallel_ops	= true,
	.module		= THIS_MODULE,
	.split_ops	= mptcp_pams_nl_ops,
	.n_split_ops	= ARRAY_SIZE(mptcp_pams_nl_ops),
	.mcgrps		= mptcp_pams_nl_mcgrps,
	.n_mcgrps	= ARRAY_SIZE(mptcp_pams_nl_mcgrps),
};
