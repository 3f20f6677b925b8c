// SPDX-License-Identifier: GPL-2.0
/* Lists the module's schedulers (scheds.h) over netlink, so that programs need no list of
 * their own and know a newer module's schedulers, too. Tells which one a socket has: a listening
 * socket has no connection, and the kernel itself doesn't tell.
 */
#include <linux/file.h>
#include <linux/net.h>
#include <net/genetlink.h>
#include <net/sock.h>

#include "netlink-gen.h"
#include "netlink.h"
#include "pams.h"

/* What a scheduler does, or more, if it has more to tell. */
static int put_text(struct sk_buff *skb, const struct pams_sched *sched)
{
	char text[192];

	if (!sched->tell)
		return nla_put_string(skb, MPTCP_PAMS_A_SCHED_DESCRIPTION, sched->text);
	sched->tell(sched, text, sizeof(text));
	return nla_put_string(skb, MPTCP_PAMS_A_SCHED_DESCRIPTION, text);
}

static int put_sched(struct sk_buff *skb, const void *arg)
{
	const struct pams_sched *sched = arg;

	return nla_put_string(skb, MPTCP_PAMS_A_SCHED_NAME, sched->name) ?:
	       put_text(skb, sched) ?:
	       (sched->copy ? nla_put_flag(skb, MPTCP_PAMS_A_SCHED_FIRST_BYTES) : 0) ?:
	       (sched->pick ? 0 : nla_put_flag(skb, MPTCP_PAMS_A_SCHED_BY_RULES));
}

int mptcp_pams_nl_sched_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	unsigned long *sent = (unsigned long *)&cb->args[0];
	const struct pams_sched *sched;
	int err = 0;

	/* a constant: the list only grows while the module is loaded, at its end */
	cb->seq = 1;
	while (!err && (sched = pams_sched_nth(*sent))) {
		err = pams_netlink_part(skb, cb, MPTCP_PAMS_CMD_SCHED_GET, put_sched, sched);
		if (!err)
			++*sent;
	}
	return err && !skb->len ? err : skb->len;
}

/* A raw socket may have MPTCP's number, too, and is no connection. */
static bool is_msk(const struct sock *sk)
{
	return sk && sk_is_inet(sk) && sk->sk_type == SOCK_STREAM &&
	       sk->sk_protocol == IPPROTO_MPTCP;
}

/* A socket keeps its scheduler until it is closed, which it isn't while this holds its file. The
 * name is copied, since the scheduler's module may be unloaded then.
 */
static int name_of(struct genl_info *info, u32 fd, char name[MPTCP_SCHED_NAME_MAX])
{
	const struct mptcp_sched_ops *ops;
	struct socket *sock;
	int err;

	sock = sockfd_lookup(fd, &err);
	if (!sock)
		return err;
	if (is_msk(sock->sk)) {
		ops = msk_sched((struct mptcp_sock *)sock->sk);
		strscpy(name, ops ? ops->name : "default", MPTCP_SCHED_NAME_MAX);
		err = 0;
	} else {
		GENL_SET_ERR_MSG(info, "this is no MPTCP socket");
		err = -EOPNOTSUPP;
	}
	sockfd_put(sock);
	return err;
}

static int put_name(struct sk_buff *skb, const void *name)
{
	return nla_put_string(skb, MPTCP_PAMS_A_SCHED_NAME, name);
}

/* The sender's file descriptors: netlink requests are carried out by who sends them. */
int mptcp_pams_nl_sched_get_doit(struct sk_buff *skb, struct genl_info *info)
{
	char name[MPTCP_SCHED_NAME_MAX];
	int err;

	if (GENL_REQ_ATTR_CHECK(info, MPTCP_PAMS_A_SCHED_FD)) {
		GENL_SET_ERR_MSG(info, "no fd: of which socket?");
		return -EINVAL;
	}
	err = name_of(info, nla_get_u32(info->attrs[MPTCP_PAMS_A_SCHED_FD]), name);
	return err ?: pams_netlink_answer(info, MPTCP_PAMS_CMD_SCHED_GET, put_name, name);
}
