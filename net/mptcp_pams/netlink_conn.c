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
					     const struct pams_subflow *sub,
					     u64 now_ns)
{
	if (sub->generation != (u32)pams_paths_generation(&conn->net->paths) ||
	    !sub->loss ||
	    !pams_report_has_loss(&sub->loss->report, now_ns))
		return NULL;
	return &sub->loss->report;
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

static int put_model(struct sk_buff *skb, const struct pams_model *model)
{
	return nla_put_uint(skb, MPTCP_PAMS_A_SUBFLOW_RATE, model->th_byteps) ?:
	       nla_put_u32(skb, MPTCP_PAMS_A_SUBFLOW_OWD, model->owd_us) ?:
	       nla_put_uint(skb, MPTCP_PAMS_A_SUBFLOW_PAD_NS, model->pad_ns) ?:
	       put_flag(skb, MPTCP_PAMS_A_SUBFLOW_IDLE, model->idle) ?:
	       put_flag(skb, MPTCP_PAMS_A_SUBFLOW_PIPE, model->pipe_byteps) ?:
	       (model->cost ? nla_put_u8(skb, MPTCP_PAMS_A_SUBFLOW_COST,
					 model->cost) : 0);
}

static int put_remembered(struct sk_buff *skb, const struct pams_conn *conn,
			  const struct pams_subflow *sub)
{
	const struct pams_report *report;
	u64 now_ns = ktime_get_ns();
	int err = 0;

	rcu_read_lock();
	report = loss_report(conn, sub, now_ns);
	if (report)
		err = nla_put_s32(skb, MPTCP_PAMS_A_SUBFLOW_LOSS_TIME,
				  pams_netlink_until_ms(report->loss_ns,
							now_ns));
	rcu_read_unlock();

	return err ?: put_flag(skb, MPTCP_PAMS_A_SUBFLOW_STOPPED, sub->stopped) ?:
		      nla_put_uint(skb, MPTCP_PAMS_A_SUBFLOW_REINJECTED,
				   sub->again_bytes) ?:
		      nla_put_u32(skb, MPTCP_PAMS_A_SUBFLOW_STOPS, sub->stops);
}

/* @model is NULL if the subflow isn't usable, @sub if nothing is remembered of it. */
static int put_subflow(struct sk_buff *skb, const struct pams_conn *conn,
		       const struct sock *ssk, const struct pams_subflow *sub,
		       const struct pams_model *model)
{
	u8 local_id, remote_id;
	struct nlattr *nest;
	int ifindex, err;

	nest = nla_nest_start(skb, MPTCP_PAMS_A_CONN_SUBFLOW);
	if (!nest)
		return -EMSGSIZE;

	rcu_read_lock();
	ifindex = pams_path_ifindex(ssk);
	rcu_read_unlock();
	msk_subflow_ids(ssk, &local_id, &remote_id);

	err = nla_put_u32(skb, MPTCP_PAMS_A_SUBFLOW_ID, msk_subflow_id(ssk)) ?:
	      nla_put_u8(skb, MPTCP_PAMS_A_SUBFLOW_LOCAL_ID, local_id) ?:
	      nla_put_u8(skb, MPTCP_PAMS_A_SUBFLOW_REMOTE_ID, remote_id) ?:
	      put_addresses(skb, ssk) ?:
	      (ifindex ? nla_put_u32(skb, MPTCP_PAMS_A_SUBFLOW_IFINDEX,
				     ifindex) : 0) ?:
	      put_tcp(skb, tcp_sk(ssk)) ?:
	      put_flag(skb, MPTCP_PAMS_A_SUBFLOW_BACKUP,
		       msk_subflow_is_backup(ssk)) ?:
	      (model ? put_model(skb, model) :
		       put_flag(skb, MPTCP_PAMS_A_SUBFLOW_UNUSABLE, true)) ?:
	      (sub ? put_remembered(skb, conn, sub) : 0);
	if (!err)
		nla_nest_end(skb, nest);
	return err;
}

static const struct pams_model *view_find(const struct pams_view *view, u32 id)
{
	unsigned int i;

	for (i = 0; i < view->nr; i++) {
		if (view->sub[i]->id == id)
			return view->sub[i];
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

/* Which rule has chosen it, if that is how its scheduler was chosen. */
static int put_rule(struct sk_buff *skb, const struct pams_conn *conn)
{
	return conn->rules_generation ?
	       nla_put_u32(skb, MPTCP_PAMS_A_CONN_RULE, conn->rule) : 0;
}

/* What is left of the application's unit, if there is one. */
static int put_unit(struct sk_buff *skb, const struct pams_conn *conn,
		    const struct msk_look *look)
{
	u32 left_bytes = unit_left_bytes(&conn->unit, look->snd_nxt);

	return left_bytes ? nla_put_uint(skb, MPTCP_PAMS_A_CONN_UNIT_LEFT,
					 left_bytes) : 0;
}

static int put_name(struct sk_buff *skb, const struct pams_conn *conn)
{
	return nla_put_u32(skb, MPTCP_PAMS_A_CONN_TOKEN, msk_token(conn->msk)) ?:
	       nla_put_string(skb, MPTCP_PAMS_A_CONN_SCHEDULER,
			      conn->sched->name);
}

/* The msk is owned and wasn't released. */
static int put_conn(struct sk_buff *skb, struct pams_conn *conn)
{
	struct pams_view view __uninitialized;
	struct msk_look look __uninitialized;
	struct sock *ssk;
	int err;

	pams_look(conn, max(conn->sched->detail, PAMS_DETAIL_PAD), &look, &view, NULL);
	err = put_name(skb, conn) ?:
	      nla_put_uint(skb, MPTCP_PAMS_A_CONN_UNSCHEDULED,
			   view.unscheduled_bytes) ?:
	      put_rule(skb, conn) ?: put_unit(skb, conn, &look) ?:
	      put_counts(skb, &conn->counts);

	for (ssk = msk_first_subflow(conn->msk); ssk && !err;
	     ssk = msk_next_subflow(conn->msk, ssk)) {
		u32 id = msk_subflow_id(ssk);

		err = put_subflow(skb, conn, ssk, pams_subflow_find(conn, id),
				  view_find(&view, id));
	}
	return err;
}

/* The whole message; 1 if the connection has gone meanwhile. */
static int put_conn_msg(struct sk_buff *skb, struct pams_conn *conn, u32 portid,
			u32 seq, int flags)
{
	struct sock *sk = (struct sock *)conn->msk;
	int err = 1;
	void *head;

	head = genlmsg_put(skb, portid, seq, &mptcp_pams_nl_family, flags,
			   MPTCP_PAMS_CMD_CONN_GET);
	if (!head)
		return -EMSGSIZE;

	lock_sock(sk);
	if (pams_conn_is_current(conn) && inet_sk_state_load(sk) != TCP_CLOSE)
		err = put_conn(skb, conn);
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
		if (msk_token(conn->msk) == token)
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

/* Of a subflow that is there, or by what is remembered of it. NULL without memory. */
static struct sk_buff *event_msg(struct pams_conn *conn, u8 cmd, const struct sock *ssk,
				 const struct pams_subflow *sub)
{
	struct sk_buff *skb = genlmsg_new(NLMSG_DEFAULT_SIZE, GFP_KERNEL);
	struct nlattr *nest;
	void *head;
	int err;

	if (!skb)
		return NULL;

	head = genlmsg_put(skb, 0, 0, &mptcp_pams_nl_family, 0, cmd);
	err = head ? put_name(skb, conn) : -EMSGSIZE;
	err = err ?: nla_put_uint(skb, MPTCP_PAMS_A_CONN_STOPS,
				  conn->counts.stops) ?:
		     nla_put_uint(skb, MPTCP_PAMS_A_CONN_REINJECTED,
				  conn->counts.reinjected_bytes);
	if (!err && ssk) {
		err = put_subflow(skb, conn, ssk, sub, NULL);
	} else if (!err) {
		nest = nla_nest_start(skb, MPTCP_PAMS_A_CONN_SUBFLOW);
		err = nest ? nla_put_u32(skb, MPTCP_PAMS_A_SUBFLOW_ID,
					 sub->model.id) : -EMSGSIZE;
		if (!err)
			nla_nest_end(skb, nest);
	}
	if (err) {
		nlmsg_free(skb);
		return NULL;
	}
	genlmsg_end(skb, head);
	return skb;
}

static void tell(struct pams_conn *conn, u8 cmd, const struct sock *ssk,
		 const struct pams_subflow *sub)
{
	if (pams_netlink_tell_begin(conn->net))
		pams_netlink_tell_end(conn->net, event_msg(conn, cmd, ssk, sub));
}

/**
 * pams_netlink_subflow_removed - tell whoever listens
 * @conn:	the connection, owned
 * @sub:	what is remembered of the subflow
 */
void pams_netlink_subflow_removed(struct pams_conn *conn,
				  const struct pams_subflow *sub)
{
	tell(conn, MPTCP_PAMS_CMD_SUBFLOW_REMOVED_NTF, NULL, sub);
}

/**
 * pams_netlink_events - tell what looks left to be told
 * @conn:	the connection, owned
 *
 * Process context.
 */
void pams_netlink_events(struct pams_conn *conn)
{
	struct sock *ssk;

	if (!conn->events)
		return;

	conn->events = false;
	for (ssk = msk_first_subflow(conn->msk); ssk;
	     ssk = msk_next_subflow(conn->msk, ssk)) {
		struct pams_subflow *sub =
			pams_subflow_find(conn, msk_subflow_id(ssk));
		u8 events = sub ? sub->events : 0;

		if (events & PAMS_EVENT_STOPPED)
			tell(conn, MPTCP_PAMS_CMD_PATH_STOPPED_NTF, ssk, sub);
		if (events & PAMS_EVENT_REINJECT)
			tell(conn, MPTCP_PAMS_CMD_REINJECT_NTF, ssk, sub);
		if (sub)
			sub->events = 0;
	}
}
