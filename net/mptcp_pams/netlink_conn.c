// SPDX-License-Identifier: GPL-2.0
/* Shows connections over netlink: what a decision sees of them, and their totals.
 * (tell_conn.c sends the events.) One connection at a time is looked at, with its data lock
 * held, in the way a decision does; so the look may take a sample of Th, or find that a
 * subflow has to be stopped.
 */
#include <net/genetlink.h>

#include "compat/mptcp.h"
#include "netlink-gen.h"
#include "netlink.h"
#include "pams.h"
#include "tell.h"

static int put_counts(struct sk_buff *skb, const struct pams_counts *counts)
{
	return nla_put_uint(skb, MPTCP_PAMS_A_CONN_DECISIONS,
			    counts->decisions) ?:
	       nla_put_uint(skb, MPTCP_PAMS_A_CONN_DEFERRALS,
			    counts->deferrals) ?:
	       nla_put_uint(skb, MPTCP_PAMS_A_CONN_KICKS, counts->kicks) ?:
	       nla_put_uint(skb, MPTCP_PAMS_A_CONN_STOPS, counts->stops) ?:
	       nla_put_uint(skb, MPTCP_PAMS_A_CONN_REINJECTED,
			    counts->reinjected_bytes);
}

/* The number of the rule that chose the scheduler, if rules choose it. */
static int put_rule(struct sk_buff *skb, const struct pams_conn *conn)
{
	return conn->rules_generation ?
	       nla_put_u32(skb, MPTCP_PAMS_A_CONN_RULE, conn->rule) : 0;
}

/* How many bytes are left of the application's unit, if there is one. */
static int put_unit(struct sk_buff *skb, const struct pams_conn *conn,
		    const struct msk_look *look)
{
	u32 left_bytes = unit_left_bytes(&conn->unit, look->snd_nxt);

	return left_bytes ? nla_put_uint(skb, MPTCP_PAMS_A_CONN_UNIT_LEFT,
					 left_bytes) : 0;
}

struct put {
	struct sk_buff *skb;
	struct pams_conn *conn;
	bool alone;
};

/* Put a connection into a message. The data lock is held. If the message is alone in its
 * buffer, subflows for which there is no room are left out: there may be more subflows
 * than any buffer holds, and the dump has to go on.
 * Returns 0, a negative error, or 1 if the connection was closed.
 */
static int put_conn(void *arg)
{
	const struct put *put = arg;
	struct pams_conn *conn = put->conn;
	struct sk_buff *skb = put->skb;
	struct pams_view view __uninitialized;
	struct msk_look look __uninitialized;
	struct sock *ssk = NULL;
	int err;

	if (!pams_conn_is_current(conn) ||
	    inet_sk_state_load((struct sock *)conn->msk) == TCP_CLOSE)
		return 1;

	pams_look(conn, max(conn->sched->detail, PAMS_DETAIL_PAD), &look, &view, true, false);
	err = pams_tell_put_name(skb, conn) ?:
	      nla_put_uint(skb, MPTCP_PAMS_A_CONN_UNSCHEDULED,
			   view.unscheduled_bytes) ?:
	      put_rule(skb, conn) ?: put_unit(skb, conn, &look) ?:
	      put_counts(skb, &conn->counts);

	while (!err && (ssk = msk_next_subflow(conn->msk, ssk))) {
		int at = pick_index(&view, msk_subflow_id(ssk));

		err = pams_tell_put_subflow(skb, conn, ssk, pams_subflow_at(conn, ssk),
					    at < 0 ? NULL : view.sub[at]);
		if (err && put->alone)
			return 0;
	}
	return err;
}

/* Put a connection's whole message into a buffer. Returns 0, a negative error, -EBUSY if the
 * socket stayed owned (msk_run_unowned()), or 1 if the connection was closed.
 */
static int put_conn_msg(struct sk_buff *skb, struct pams_conn *conn, u32 portid,
			u32 seq, int flags, unsigned long *waited)
{
	struct put put = { .skb = skb, .conn = conn, .alone = !skb->len };
	void *head;
	int err;

	head = genlmsg_put(skb, portid, seq, &mptcp_pams_nl_family, flags,
			   MPTCP_PAMS_CMD_CONN_GET);
	if (!head)
		return -EMSGSIZE;

	err = msk_run_unowned(conn->msk, waited, put_conn, &put);
	if (err)
		genlmsg_cancel(skb, head);
	else
		genlmsg_end(skb, head);
	return err;
}

/* If the request says the peer's token, that has to be right. It isn't sent on the way, unless this
 * end joins subflows: a MP_JOIN shows the token of the end that it goes to. (Whoever has seen the
 * connection begin has both keys and may take it over, as MPTCP is made.)
 */
static int check_peer(struct genl_info *info, const struct mptcp_sock *msk)
{
	const struct nlattr *attr = info->attrs[MPTCP_PAMS_A_CONN_PEER_TOKEN];
	u32 token;

	if (!attr || (msk_peer_token(msk, &token) && token == nla_get_u32(attr)))
		return 0;
	NL_SET_BAD_ATTR(info->extack, attr);
	GENL_SET_ERR_MSG(info, "the connection's peer has another token");
	return -EACCES;
}

/* Answer with a connection that is held. Returns 0, a negative error, or 1 if it was closed. */
static int answer_conn(struct genl_info *info, struct pams_conn *conn)
{
	struct sk_buff *answer = genlmsg_new(NLMSG_GOODSIZE * 2, GFP_KERNEL);
	unsigned long waited = 0;
	int err;

	if (!answer)
		return -ENOMEM;
	err = put_conn_msg(answer, conn, info->snd_portid, info->snd_seq, 0, &waited);
	if (!err)
		return genlmsg_reply(answer, info);

	nlmsg_free(answer);
	if (err == -EBUSY)
		GENL_SET_ERR_MSG(info,
				 "a program is using the connection's socket: try again");
	return err;
}

/* The same for a socket, which has no state until its connection sends something. */
static int answer_msk(struct genl_info *info, struct mptcp_sock *msk)
{
	struct pams_conn *conn;
	bool ours;
	int err;

	rcu_read_lock();
	ours = pams_sched_of(msk);
	rcu_read_unlock();
	if (!ours)
		return 1;
	err = check_peer(info, msk);
	if (err)
		return err;
	conn = pams_conn_find(msk);
	if (!conn) {
		GENL_SET_ERR_MSG(info, "the connection has sent nothing yet");
		return -ENODATA;
	}
	err = answer_conn(info, conn);
	pams_conn_put(conn);
	return err;
}

int mptcp_pams_nl_conn_get_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct nlattr *token = info->attrs[MPTCP_PAMS_A_CONN_TOKEN];
	struct mptcp_sock *msk;
	int err = 1;

	if (GENL_REQ_ATTR_CHECK(info, MPTCP_PAMS_A_CONN_TOKEN)) {
		GENL_SET_ERR_MSG(info, "no token: which connection?");
		return -EINVAL;
	}

	msk = mptcp_token_get_sock(genl_info_net(info), nla_get_u32(token));
	if (msk) {
		err = answer_msk(info, msk);
		sock_put((struct sock *)msk);
	}
	if (err <= 0)
		return err;

	NL_SET_BAD_ATTR(info->extack, token);
	GENL_SET_ERR_MSG(info,
			 "no connection with this token uses one of the module's schedulers");
	return -ENOENT;
}

/* Connections whose socket stays owned for too long are left out. */
int mptcp_pams_nl_conn_get_dumpit(struct sk_buff *skb,
				  struct netlink_callback *cb)
{
	const struct pams_net *net = pams_net(sock_net(skb->sk));
	unsigned long *bucket = (unsigned long *)&cb->args[0];
	unsigned long *skip = (unsigned long *)&cb->args[1];
	unsigned long *waited = (unsigned long *)&cb->args[2];
	struct pams_conn *conn;

	while ((conn = pams_conn_next(net, bucket, skip))) {
		int err = put_conn_msg(skb, conn, NETLINK_CB(cb->skb).portid,
				       cb->nlh->nlmsg_seq, NLM_F_MULTI, waited);

		pams_conn_put(conn);
		if (err < 0 && err != -EBUSY) {
			if (!skb->len)
				return err;
			(*skip)--;	/* the next buffer begins with this connection */
			break;
		}
	}
	return skb->len;
}

static int put_stats(struct sk_buff *skb, const void *arg)
{
	const struct pams_net *net = arg;
	const struct pams_totals *totals = &net->totals;
	struct pams_counts sum;
	u32 conns = pams_conn_sum(net, &sum);

	return nla_put_u32(skb, MPTCP_PAMS_A_STATS_CONNS, conns) ?:
	       nla_put_u32(skb, MPTCP_PAMS_A_STATS_PATHS,
			   READ_ONCE(net->paths.nr)) ?:
	       nla_put_u32(skb, MPTCP_PAMS_A_STATS_PATHS_MAX,
			   READ_ONCE(net->paths_max)) ?:
	       nla_put_uint(skb, MPTCP_PAMS_A_STATS_REPORTS,
			    atomic64_read(&totals->reports)) ?:
	       nla_put_uint(skb, MPTCP_PAMS_A_STATS_REFUSED,
			    atomic64_read(&totals->refused)) ?:
	       nla_put_uint(skb, MPTCP_PAMS_A_STATS_EXPIRED,
			    atomic64_read(&totals->expired)) ?:
	       nla_put_uint(skb, MPTCP_PAMS_A_STATS_DECISIONS,
			    sum.decisions) ?:
	       nla_put_uint(skb, MPTCP_PAMS_A_STATS_DEFERRALS,
			    sum.deferrals) ?:
	       nla_put_uint(skb, MPTCP_PAMS_A_STATS_KICKS, sum.kicks) ?:
	       nla_put_uint(skb, MPTCP_PAMS_A_STATS_STOPS, sum.stops) ?:
	       nla_put_uint(skb, MPTCP_PAMS_A_STATS_REINJECTED,
			    sum.reinjected_bytes);
}

int mptcp_pams_nl_stats_get_doit(struct sk_buff *skb, struct genl_info *info)
{
	return pams_netlink_answer(info, MPTCP_PAMS_CMD_STATS_GET, put_stats,
				   pams_net(genl_info_net(info)));
}
