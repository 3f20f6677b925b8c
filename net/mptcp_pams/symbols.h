/* SPDX-License-Identifier: GPL-2.0 */
/* The functions that MPTCP does not export; see symbols.c. */
#ifndef _MPTCP_PAMS_SYMBOLS_H
#define _MPTCP_PAMS_SYMBOLS_H

#include <linux/types.h>

struct btf;
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
struct btf *pams_btf_vmlinux(void);
s32 pams_btf_find(const struct btf *btf, const char *name, u8 kind);
const char *pams_btf_name(const struct btf *btf, u32 offset);

#endif /* _MPTCP_PAMS_SYMBOLS_H */
