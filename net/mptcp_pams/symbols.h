/* SPDX-License-Identifier: GPL-2.0 */
/* The functions that MPTCP does not export; see symbols.c. */
#ifndef _MPTCP_PAMS_SYMBOLS_H
#define _MPTCP_PAMS_SYMBOLS_H

#include <linux/types.h>

struct mptcp_sched_ops;
struct mptcp_sock;
struct mptcp_subflow_context;
struct sock;

int pams_symbols_resolve(void);
int pams_register_scheduler(struct mptcp_sched_ops *ops);
void pams_unregister_scheduler(struct mptcp_sched_ops *ops);
void pams_pm_chk_stale(const struct mptcp_sock *msk);
bool pams_subflow_active(struct mptcp_subflow_context *subflow);
struct sock *pams_subflow_get_retrans(struct mptcp_sock *msk);

#endif /* _MPTCP_PAMS_SYMBOLS_H */
