// SPDX-License-Identifier: GPL-2.0
/* Takes units over netlink: an application marks what it writes next on its connection.
 *
 * The owner of a connection is the user that made or accepted its socket, or whom fchown()
 * has named since. A connection may be marked with CAP_NET_ADMIN in the namespace, or by
 * its owner: the sender's effective uid and the netlink socket's uid must both be the
 * owner's. The socket's uid counts since any user could otherwise hand an open netlink
 * socket to a privileged program, and have that program send the message.
 */
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/netlink.h>
#include <net/genetlink.h>

#include "compat/mptcp.h"
#include "netlink-gen.h"
#include "pams.h"

static bool may_mark(struct sk_buff *skb, const struct net *net, const struct sock *sk)
{
	kuid_t owner = READ_ONCE(sk->sk_uid);

	return netlink_ns_capable(skb, net->user_ns, CAP_NET_ADMIN) ||
	       (uid_eq(owner, current_euid()) &&
		uid_eq(owner, READ_ONCE(NETLINK_CB(skb).sk->sk_uid)));
}

struct mark {
	struct mptcp_sock *msk;
	struct netlink_ext_ack *extack;
	u32 bytes;
};

/* Mark the next bytes that are written to the connection as a unit. The data lock is held. */
static int mark_unit(void *arg)
{
	const struct mark *mark = arg;
	struct netlink_ext_ack *extack = mark->extack;
	struct mptcp_sock *msk = mark->msk;
	const struct pams_sched *sched = pams_sched_of(msk);
	struct pams_conn *conn;

	if (!msk_may_send((struct sock *)msk)) {
		NL_SET_ERR_MSG(extack,
			       "the connection isn't established, or writes nothing any more");
		return -ENOTCONN;
	}
	if (msk_is_fallback(msk)) {
		NL_SET_ERR_MSG(extack, "the connection fell back to TCP");
		return -EOPNOTSUPP;
	}
	if (!sched) {
		NL_SET_ERR_MSG(extack,
			       "the connection doesn't use one of the module's schedulers");
		return -EOPNOTSUPP;
	}
	conn = pams_conn_get(msk, sched);
	if (!conn)
		return -ENOMEM;

	unit_mark(&conn->unit, msk_write_seq(msk), msk_snd_nxt(msk), mark->bytes);
	conn->units = !!conn->unit.end;
	return 0;
}

/* Mark a unit if the sender may. A reference on @msk is held. */
static int mark_own(struct sk_buff *skb, struct genl_info *info, struct mptcp_sock *msk,
		    u32 bytes)
{
	struct mark mark = { .msk = msk, .extack = info->extack, .bytes = bytes };
	unsigned long waited = 0;
	int err;

	if (!may_mark(skb, genl_info_net(info), (struct sock *)msk)) {
		NL_SET_ERR_MSG(info->extack, "the connection belongs to another user");
		return -EPERM;
	}
	err = msk_run_unowned(msk, &waited, mark_unit, &mark);
	if (err == -EBUSY)
		NL_SET_ERR_MSG(info->extack,
			       "the connection's socket is in use by another thread: try again");
	return err;
}

int mptcp_pams_nl_unit_set_doit(struct sk_buff *skb, struct genl_info *info)
{
	const struct nlattr *token = info->attrs[MPTCP_PAMS_A_CONN_TOKEN];
	const struct nlattr *unit = info->attrs[MPTCP_PAMS_A_CONN_UNIT];
	struct mptcp_sock *msk;
	int err;

	if (GENL_REQ_ATTR_CHECK(info, MPTCP_PAMS_A_CONN_TOKEN)) {
		GENL_SET_ERR_MSG(info, "no token: which connection?");
		return -EINVAL;
	}
	if (GENL_REQ_ATTR_CHECK(info, MPTCP_PAMS_A_CONN_UNIT)) {
		GENL_SET_ERR_MSG(info, "no unit: how many bytes?");
		return -EINVAL;
	}
	if (nla_get_uint(unit) > MPTCP_PAMS_UNIT_MAX_BYTES) {
		NL_SET_ERR_MSG_ATTR(info->extack, unit,
				    "a unit has at most 1073741824 bytes");
		return -ERANGE;
	}

	msk = mptcp_token_get_sock(genl_info_net(info), nla_get_u32(token));
	if (!msk) {
		NL_SET_ERR_MSG(info->extack,
			       "no connection of this network namespace has this token");
		err = -ENOENT;
	} else {
		err = mark_own(skb, info, msk, nla_get_uint(unit));
		sock_put((struct sock *)msk);
	}
	if (err)
		NL_SET_BAD_ATTR(info->extack, token);
	return err;
}
