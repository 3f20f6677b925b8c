/* SPDX-License-Identifier: GPL-2.0 */
/* MPTCP's functions whose declarations are in a header private to the kernel's
 * net/mptcp: one that every kernel exports, and those for schedulers, for kernels
 * that export them (patches/).
 */
#ifndef _PAMS_COMPAT_MPTCP_H
#define _PAMS_COMPAT_MPTCP_H

#include <net/mptcp.h>

struct mptcp_subflow_context;

struct mptcp_sock *mptcp_token_get_sock(struct net *net, u32 token);

int mptcp_register_scheduler(struct mptcp_sched_ops *sched);
void mptcp_unregister_scheduler(struct mptcp_sched_ops *sched);
bool mptcp_subflow_active(struct mptcp_subflow_context *subflow);
struct sock *mptcp_subflow_get_retrans(struct mptcp_sock *msk);

#endif /* _PAMS_COMPAT_MPTCP_H */
