/* SPDX-License-Identifier: GPL-2.0 */
/* Netlink events, and what their messages have in common; see tell.c, tell_conn.c. */
#ifndef _MPTCP_PAMS_TELL_H
#define _MPTCP_PAMS_TELL_H

#include <linux/types.h>

#include "told.h"

struct genl_family;
struct pams_conn;
struct pams_model;
struct pams_net;
struct pams_subflow;
struct sk_buff;
struct sock;

/* tell.c */
void pams_tell_start(const struct genl_family *family);
void pams_tell_stop(void);
struct sk_buff *pams_tell_begin(struct pams_net *net, u8 cmd);
void pams_tell_end(struct pams_net *net, struct sk_buff *skb, int err);
int pams_tell_put_key(struct sk_buff *skb, const struct pams_path_key *key);
s32 pams_tell_ms(u64 from_ns, u64 to_ns);
s32 pams_tell_until_ms(u64 at_ns, u64 now_ns);
void pams_tell_expired(struct pams_net *net, const struct pams_path_key *key,
		       const struct pams_report *report, u64 now_ns);

/* tell_conn.c */
int pams_tell_put_name(struct sk_buff *skb, const struct pams_conn *conn);
int pams_tell_put_subflow(struct sk_buff *skb, const struct pams_conn *conn,
			  const struct sock *ssk, const struct pams_subflow *sub,
			  const struct pams_model *model);
void pams_tell_removed(struct pams_conn *conn, const struct pams_subflow *sub);
void pams_tell_events(struct pams_conn *conn);

#endif /* _MPTCP_PAMS_TELL_H */
