/* SPDX-License-Identifier: GPL-2.0 */
/* MPTCP's functions for schedulers, for kernels that export them (patches/).
 * Their declarations are in a header private to the kernel's net/mptcp.
 */
#ifndef _PAMS_COMPAT_MPTCP_H
#define _PAMS_COMPAT_MPTCP_H

#include <net/mptcp.h>

struct mptcp_subflow_context;

int mptcp_register_scheduler(struct mptcp_sched_ops *sched);
void mptcp_unregister_scheduler(struct mptcp_sched_ops *sched);
bool mptcp_subflow_active(struct mptcp_subflow_context *subflow);
struct sock *mptcp_subflow_get_retrans(struct mptcp_sock *msk);

#endif /* _PAMS_COMPAT_MPTCP_H */
