/* SPDX-License-Identifier: GPL-2.0 */
/* The generic-netlink family: its registration, answers, and the messages of dumps. */
#ifndef _MPTCP_PAMS_NETLINK_H
#define _MPTCP_PAMS_NETLINK_H

#include <linux/types.h>

struct genl_info;
struct netlink_callback;
struct sk_buff;

int pams_netlink_init(void);
void pams_netlink_exit(void);
int pams_netlink_answer(struct genl_info *info, u8 cmd,
			int (*put)(struct sk_buff *skb, const void *arg), const void *arg);
int pams_netlink_part(struct sk_buff *skb, struct netlink_callback *cb, u8 cmd,
		      int (*put)(struct sk_buff *skb, const void *arg), const void *arg);

#endif /* _MPTCP_PAMS_NETLINK_H */
