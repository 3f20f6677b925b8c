/* SPDX-License-Identifier: ((GPL-2.0 WITH Linux-syscall-note) OR BSD-3-Clause) */
/* Do not edit directly, auto-generated from: */
/*	Documentation/netlink/specs/mptcp_pams.yaml */
/* YNL-GEN kernel header */

#ifndef _LINUX_MPTCP_PAMS_GEN_H
#define _LINUX_MPTCP_PAMS_GEN_H

#include <net/netlink.h>
#include <net/genetlink.h>

#include <uapi/linux/mptcp_pams.h>

/* Common nested types */
extern const struct nla_policy mptcp_pams_rule_nl_policy[MPTCP_PAMS_A_RULE_COSTLY_COPIES + 1];

int mptcp_pams_nl_path_set_doit(struct sk_buff *skb, struct genl_info *info);
int mptcp_pams_nl_path_del_doit(struct sk_buff *skb, struct genl_info *info);
int mptcp_pams_nl_path_flush_doit(struct sk_buff *skb, struct genl_info *info);
int mptcp_pams_nl_path_get_doit(struct sk_buff *skb, struct genl_info *info);
int mptcp_pams_nl_path_get_dumpit(struct sk_buff *skb,
				  struct netlink_callback *cb);
int mptcp_pams_nl_conn_get_doit(struct sk_buff *skb, struct genl_info *info);
int mptcp_pams_nl_conn_get_dumpit(struct sk_buff *skb,
				  struct netlink_callback *cb);
int mptcp_pams_nl_stats_get_doit(struct sk_buff *skb, struct genl_info *info);
int mptcp_pams_nl_rules_set_doit(struct sk_buff *skb, struct genl_info *info);
int mptcp_pams_nl_rules_get_dumpit(struct sk_buff *skb,
				   struct netlink_callback *cb);
int mptcp_pams_nl_unit_set_doit(struct sk_buff *skb, struct genl_info *info);
int mptcp_pams_nl_sched_get_doit(struct sk_buff *skb, struct genl_info *info);
int mptcp_pams_nl_sched_get_dumpit(struct sk_buff *skb,
				   struct netlink_callback *cb);

enum {
	MPTCP_PAMS_NLGRP_EVENTS,
};

extern struct genl_family mptcp_pams_nl_family;

#endif /* _LINUX_MPTCP_PAMS_GEN_H */
