/* SPDX-License-Identifier: GPL-2.0 */
/* Functions of MPTCP that the kernel declares in a header private to net/mptcp: one that
 * every kernel exports, and those for schedulers, which only kernels with patches/ export.
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
void mptcp_pm_chk_stale(const struct mptcp_sock *msk);

#endif /* _PAMS_COMPAT_MPTCP_H */
