/* SPDX-License-Identifier: GPL-2.0 */
/* The generic-netlink family: its registration, and the messages of its dumps. */
#ifndef _MPTCP_PAMS_NETLINK_H
#define _MPTCP_PAMS_NETLINK_H

#include <linux/types.h>

struct netlink_callback;
struct sk_buff;

int pams_netlink_init(void);
void pams_netlink_exit(void);
void *pams_netlink_part_begin(struct sk_buff *skb, struct netlink_callback *cb, u8 cmd);
int pams_netlink_part_end(struct sk_buff *skb, struct netlink_callback *cb,
			  void *head, int err);

#endif /* _MPTCP_PAMS_NETLINK_H */
