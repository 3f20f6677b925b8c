// SPDX-License-Identifier: GPL-2.0
/* Connections over netlink: what a decision sees of them, their totals, and what
 * happens to them. A connection is looked at as a decision would, with its socket
 * owned, one at a time; like a decision it may take a sample of Th, or notice a
 * stop.
 */
#include <net/genetlink.h>

#include "netlink-gen.h"
#include "netlink.h"
#include "pams.h"

/* The loss time that counts for the subflow, or NULL; under RCU. */
static const struct pams_report *loss_report(const struct pams_conn *conn,
					     const struct pams_memo *memo,
					     u64 now_ns)
{
	if (memo->generation != pams_paths_generation(&conn->net->paths) ||
	    !memo->loss ||
	    !pams_report_has_loss(&memo->loss->report, now_ns))
		return NULL;
	return &memo->loss->report;
}

static int put_addresses(struct sk_buff *skb, const struct sock *ssk)
{
	const struct inet_sock *inet = inet_sk(ssk);
	int err;

#if IS_ENABLED(CONFIG_IPV6)
	if (ssk->sk_family == AF_INET6 &&
	    !ipv6_addr_v4mapped(&ssk->sk_v6_daddr))
		err = nla_put_in6_addr(skb,
				       MPTCP_PAMS_A_SUBFLOW_LOCAL_ADDRESS6,
				       &ssk->sk_v6_rcv_saddr) ?:
		      nla_put_in6_addr(skb,
				       MPTCP_PAMS_A_SUBFLOW_REMOTE_ADDRESS6,
				       &ssk->sk_v6_daddr);
	else
#endif
		err = nla_put_in_addr(skb, MPTCP_PAMS_A_SUBFLOW_LOCAL_ADDRESS4,
				      inet->inet_saddr) ?:
		      nla_put_in_addr(skb, MPTCP_PAMS_A_SUBFLOW_REMOTE_ADDRESS4,
				      ssk->sk_daddr);

	return err ?: nla_put_be16(skb, MPTCP_PAMS_A_SUBFLOW_LOCAL_PORT,
				   inet->inet_sport) ?:
		      nla_put_be16(skb, MPTCP_PAMS_A_SUBFLOW_REMOTE_PORT,
				   ssk->sk_dport);
}

static int put_tcp(struct sk_buff *skb, const struct tcp_sock *tp)
{
	u32 unsent = READ_ONCE(tp->write_seq) - READ_ONCE(tp->snd_nxt);
	u32 outstanding = READ_ONCE(tp->write_seq) - READ_ONCE(tp->snd_una);

	return nla_put_u32(skb, MPTCP_PAMS_A_SUBFLOW_SRTT,
			   READ_ONCE(tp->srtt_us) >> 3) ?:
	       nla_put_u32(skb, MPTCP_PAMS_A_SUBFLOW_MIN_RTT,
			   tcp_min_rtt(tp)) ?:
	       nla_put_u32(skb, MPTCP_PAMS_A_SUBFLOW_CWND,
			   READ_ONCE(tp->snd_cwnd)) ?:
	       nla_put_u32(skb, MPTCP_PAMS_A_SUBFLOW_IN_FLIGHT,
			   tcp_packets_in_flight(tp)) ?:
	       nla_put_u32(skb, MPTCP_PAMS_A_SUBFLOW_MSS,
			   READ_ONCE(tp->mss_cache)) ?:
	       nla_put_uint(skb, MPTCP_PAMS_A_SUBFLOW_UNSENT, unsent) ?:
	       nla_put_uint(skb, MPTCP_PAMS_A_SUBFLOW_OUTSTANDING, outstanding);
}

static int put_flag(struct sk_buff *skb, int attr, bool set)
{
	return set ? nla_put_flag(skb, attr) : 0;
}

static int put_view(struct sk_buff *skb, const struct pams_subflow_view *sub)
{
	return nla_put_uint(skb, MPTCP_PAMS_A_SUBFLOW_RATE, sub->rate_byteps) ?:
	       nla_put_u32(skb, MPTCP_PAMS_A_SUBFLOW_OWD, sub->owd_us) ?:
	       nla_put_uint(skb, MPTCP_PAMS_A_SUBFLOW_PAD_NS, sub->pad_ns) ?:
	       put_flag(skb, MPTCP_PAMS_A_SUBFLOW_IDLE, sub->idle) ?:
	       put_flag(skb, MPTCP_PAMS_A_SUBFLOW_STOPPED, sub->stopped) ?:
	       put_flag(skb, MPTCP_PAMS_A_SUBFLOW_PIPE, sub->piped);
}

static int put_remembered(struct sk_buff *skb, const struct pams_conn *conn,
			  const struct pams_memo *memo)
{
	const struct pams_report *report;
	u64 now_ns = ktime_get_ns();
	int err = 0;

	rcu_read_lock();
	report = loss_report(conn, memo, now_ns);
	if (report)
		err = nla_put_s32(skb, MPTCP_PAMS_A_SUBFLOW_LOSS_TIME,
				  pams_netlink_until_ms(report->loss_ns,
							now_ns));
	rcu_read_unlock();

	return err ?: nla_put_uint(skb, MPTCP_PAMS_A_SUBFLOW_REINJECTED,
				   memo->reinjected_total_bytes) ?:
		      nla_put_u32(skb, MPTCP_PAMS_A_SUBFLOW_STOPS, memo->stops);
}

/* @sub is NULL if the subflow isn't usable. */
static int put_subflow(struct sk_buff *skb, const struct pams_conn *conn,
		       const struct mptcp_subflow_context *subflow,
		       const struct pams_subflow_view *sub)
{
	const struct pams_memo *memo = &conn->memo[subflow->subflow_id %
						   PAMS_SUBFLOWS_MAX];
	s16 local_id = max_t(s16, READ_ONCE(subflow->local_id), 0);
	const struct sock *ssk = subflow->tcp_sock;
	struct nlattr *nest;
	int ifindex, err;

	nest = nla_nest_start(skb, MPTCP_PAMS_A_CONN_SUBFLOW);
	if (!nest)
		return -EMSGSIZE;

	rcu_read_lock();
	ifindex = pams_path_ifindex(ssk);
	rcu_read_unlock();

	err = nla_put_u32(skb, MPTCP_PAMS_A_SUBFLOW_ID, subflow->subflow_id) ?:
	      nla_put_u8(skb, MPTCP_PAMS_A_SUBFLOW_LOCAL_ID, local_id) ?:
	      nla_put_u8(skb, MPTCP_PAMS_A_SUBFLOW_REMOTE_ID,
			 READ_ONCE(subflow->remote_id)) ?:
	      put_addresses(skb, ssk) ?:
	      (ifindex ? nla_put_u32(skb, MPTCP_PAMS_A_SUBFLOW_IFINDEX,
				     ifindex) : 0) ?:
	      put_tcp(skb, tcp_sk(ssk)) ?:
	      put_flag(skb, MPTCP_PAMS_A_SUBFLOW_BACKUP,
		       subflow->backup || subflow->request_bkup) ?:
	      (sub ? put_view(skb, sub) :
		     put_flag(skb, MPTCP_PAMS_A_SUBFLOW_UNUSABLE, true)) ?:
	      (memo->id == subflow->subflow_id ?
	       put_remembered(skb, conn, memo) : 0);
	if (!err)
		nla_nest_end(skb, nest);
	return err;
}

static const struct pams_subflow_view *
snapshot_find(const struct pams_snapshot *snap, u32 id)
{
	unsigned int i;

	for (i = 0; i < snap->view.nr; i++) {
		if (snap->view.sub[i].id == id)
			return &snap->view.sub[i];
	}
	return NULL;
}

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

static int put_name(struct sk_buff *skb, const struct mptcp_sock *msk)
{
	return nla_put_u32(skb, MPTCP_PAMS_A_CONN_TOKEN, msk->token) ?:
	       nla_put_string(skb, MPTCP_PAMS_A_CONN_SCHEDULER,
			      msk->sched->name);
}

/* The msk is owned and wasn't released. */
static int put_conn(struct sk_buff *skb, struct mptcp_sock *msk,
		    struct pams_conn *conn)
{
	struct pams_snapshot snap __uninitialized;
	struct mptcp_subflow_context *subflow;
	int err;

	pams_snapshot_take(msk, conn, PAMS_DETAIL_PAD, &snap);
	err = put_name(skb, msk) ?:
	      nla_put_uint(skb, MPTCP_PAMS_A_CONN_UNSCHEDULED,
			   snap.view.unscheduled_bytes) ?:
	      put_counts(skb, &conn->counts);

	list_for_each_entry(subflow, &msk->conn_list, node) {
		if (err)
			break;
		err = put_subflow(skb, conn, subflow,
				  snapshot_find(&snap, subflow->subflow_id));
	}
	return err;
}

/* The whole message; 1 if the connection has gone meanwhile. */
static int put_conn_msg(struct sk_buff *skb, struct pams_conn *conn, u32 portid,
			u32 seq, int flags)
{
	struct mptcp_sock *msk = conn->msk;
	struct sock *sk = (struct sock *)msk;
	int err = 1;
	void *head;

	head = genlmsg_put(skb, portid, seq, &mptcp_pams_nl_family, flags,
			   MPTCP_PAMS_CMD_CONN_GET);
	if (!head)
		return -EMSGSIZE;

	lock_sock(sk);
	if (!READ_ONCE(conn->dead) && inet_sk_state_load(sk) != TCP_CLOSE)
		err = put_conn(skb, msk, conn);
	release_sock(sk);

	if (err)
		genlmsg_cancel(skb, head);
	else
		genlmsg_end(skb, head);
	return err;
}

int mptcp_pams_nl_conn_get_doit(struct sk_buff *skb, struct genl_info *info)
{
	const struct pams_net *net = pams_net(genl_info_net(info));
	unsigned long bucket = 0, skip = 0;
	struct pams_conn *conn;
	struct sk_buff *answer;
	int err = 1;
	u32 token;

	if (GENL_REQ_ATTR_CHECK(info, MPTCP_PAMS_A_CONN_TOKEN)) {
		GENL_SET_ERR_MSG(info, "no token: which connection?");
		return -EINVAL;
	}
	token = nla_get_u32(info->attrs[MPTCP_PAMS_A_CONN_TOKEN]);

	answer = genlmsg_new(NLMSG_GOODSIZE * 2, GFP_KERNEL);
	if (!answer)
		return -ENOMEM;

	while (err == 1 && (conn = pams_conn_next(net, &bucket, &skip))) {
		if (READ_ONCE(conn->msk->token) == token)
			err = put_conn_msg(answer, conn, info->snd_portid,
					   info->snd_seq, 0);
		pams_conn_put(conn);
	}
	if (!err)
		return genlmsg_reply(answer, info);

	nlmsg_free(answer);
	if (err < 0)
		return err;
	NL_SET_BAD_ATTR(info->extack, info->attrs[MPTCP_PAMS_A_CONN_TOKEN]);
	GENL_SET_ERR_MSG(info,
			 "no connection with this token uses one of the module's schedulers");
	return -ENOENT;
}

int mptcp_pams_nl_conn_get_dumpit(struct sk_buff *skb,
				  struct netlink_callback *cb)
{
	const struct pams_net *net = pams_net(sock_net(skb->sk));
	unsigned long *bucket = (unsigned long *)&cb->args[0];
	unsigned long *skip = (unsigned long *)&cb->args[1];
	struct pams_conn *conn;

	while ((conn = pams_conn_next(net, bucket, skip))) {
		int err = put_conn_msg(skb, conn, NETLINK_CB(cb->skb).portid,
				       cb->nlh->nlmsg_seq, NLM_F_MULTI);

		pams_conn_put(conn);
		if (err < 0) {
			if (!skb->len)
				return err;
			(*skip)--;	/* again, in the next message */
			break;
		}
	}
	return skb->len;
}

static int put_stats(struct sk_buff *skb, const struct pams_net *net,
		     const struct pams_counts *sum, u32 conns)
{
	const struct pams_totals *totals = &net->totals;

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
			    sum->decisions) ?:
	       nla_put_uint(skb, MPTCP_PAMS_A_STATS_DEFERRALS,
			    sum->deferrals) ?:
	       nla_put_uint(skb, MPTCP_PAMS_A_STATS_KICKS, sum->kicks) ?:
	       nla_put_uint(skb, MPTCP_PAMS_A_STATS_STOPS, sum->stops) ?:
	       nla_put_uint(skb, MPTCP_PAMS_A_STATS_REINJECTED,
			    sum->reinjected_bytes);
}

int mptcp_pams_nl_stats_get_doit(struct sk_buff *skb, struct genl_info *info)
{
	const struct pams_net *net = pams_net(genl_info_net(info));
	struct sk_buff *answer;
	struct pams_counts sum;
	u32 conns;
	void *head;
	int err;

	answer = genlmsg_new(NLMSG_DEFAULT_SIZE, GFP_KERNEL);
	if (!answer)
		return -ENOMEM;

	conns = pams_conn_sum(net, &sum);
	head = genlmsg_put_reply(answer, info, &mptcp_pams_nl_family, 0,
				 MPTCP_PAMS_CMD_STATS_GET);
	err = head ? put_stats(answer, net, &sum, conns) : -EMSGSIZE;
	if (err) {
		nlmsg_free(answer);
		return err;
	}
	genlmsg_end(answer, head);
	return genlmsg_reply(answer, info);
}

/* Tell of a subflow that is there, or by what is remembered of it. */
static void tell(struct mptcp_sock *msk, struct pams_conn *conn, u8 cmd,
		 const struct mptcp_subflow_context *subflow,
		 const struct pams_memo *memo)
{
	struct net *net = conn->net->net;
	struct nlattr *nest;
	struct sk_buff *skb;
	void *head;
	int err;

	if (!genl_has_listeners(&mptcp_pams_nl_family, net,
				MPTCP_PAMS_NLGRP_EVENTS))
		return;
	skb = genlmsg_new(NLMSG_DEFAULT_SIZE, GFP_KERNEL);
	if (!skb)
		return;

	head = genlmsg_put(skb, 0, 0, &mptcp_pams_nl_family, 0, cmd);
	err = head ? put_name(skb, msk) : -EMSGSIZE;
	err = err ?: nla_put_uint(skb, MPTCP_PAMS_A_CONN_STOPS,
				  conn->counts.stops) ?:
		     nla_put_uint(skb, MPTCP_PAMS_A_CONN_REINJECTED,
				  conn->counts.reinjected_bytes);
	if (!err && subflow) {
		err = put_subflow(skb, conn, subflow, NULL);
	} else if (!err) {
		nest = nla_nest_start(skb, MPTCP_PAMS_A_CONN_SUBFLOW);
		err = nest ? nla_put_u32(skb, MPTCP_PAMS_A_SUBFLOW_ID,
					 memo->id) : -EMSGSIZE;
		if (!err)
			nla_nest_end(skb, nest);
	}
	if (err) {
		nlmsg_free(skb);
		return;
	}
	genlmsg_end(skb, head);
	genlmsg_multicast_netns(&mptcp_pams_nl_family, net, skb, 0,
				MPTCP_PAMS_NLGRP_EVENTS, GFP_KERNEL);
}

/**
 * pams_netlink_subflow_removed - tell whoever listens
 * @msk:	the connection, owned
 * @conn:	its remembered state
 * @memo:	what is remembered of the subflow
 */
void pams_netlink_subflow_removed(struct mptcp_sock *msk,
				  struct pams_conn *conn,
				  const struct pams_memo *memo)
{
	tell(msk, conn, MPTCP_PAMS_CMD_SUBFLOW_REMOVED_NTF, NULL, memo);
}

/**
 * pams_netlink_events - tell what decisions left to be told
 * @msk:	the connection, owned
 * @conn:	its remembered state
 *
 * Process context.
 */
void pams_netlink_events(struct mptcp_sock *msk, struct pams_conn *conn)
{
	struct mptcp_subflow_context *subflow;

	if (!conn->events)
		return;

	conn->events = false;
	list_for_each_entry(subflow, &msk->conn_list, node) {
		struct pams_memo *memo = pams_conn_memo(conn,
							subflow->subflow_id);
		u8 events = memo->events;

		if (memo->id != subflow->subflow_id)
			continue;
		memo->events = 0;
		if (events & PAMS_EVENT_STOPPED)
			tell(msk, conn, MPTCP_PAMS_CMD_PATH_STOPPED_NTF,
			     subflow, memo);
		if (events & PAMS_EVENT_REINJECT)
			tell(msk, conn, MPTCP_PAMS_CMD_REINJECT_NTF, subflow,
			     memo);
	}
}
