/* SPDX-License-Identifier: GPL-2.0 */
/* What is told over netlink without being asked (netlink_conn.c), and how. */
#ifndef _MPTCP_PAMS_NETLINK_H
#define _MPTCP_PAMS_NETLINK_H

#include <linux/types.h>

struct netlink_callback;
struct pams_conn;
struct pams_net;
struct pams_path;
struct pams_subflow;
struct sk_buff;

int pams_netlink_init(void);
void pams_netlink_exit(void);
s32 pams_netlink_until_ms(u64 at_ns, u64 now_ns);
void *pams_netlink_part_begin(struct sk_buff *skb, struct netlink_callback *cb, u8 cmd);
int pams_netlink_part_end(struct sk_buff *skb, struct netlink_callback *cb,
			  void *head, int err);
bool pams_netlink_tell_begin(struct pams_net *net);
void pams_netlink_tell_end(struct pams_net *net, struct sk_buff *skb);
void pams_netlink_path_expired(struct pams_net *net,
			       const struct pams_path *path, u64 now_ns);
void pams_netlink_events(struct pams_conn *conn);
void pams_netlink_subflow_removed(struct pams_conn *conn,
				  const struct pams_subflow *sub);

#endif /* _MPTCP_PAMS_NETLINK_H */
