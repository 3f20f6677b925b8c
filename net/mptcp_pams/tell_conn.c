// SPDX-License-Identifier: GPL-2.0
/* Sends netlink events about connections, and puts connections and subflows into messages,
 * for netlink_conn.c, too. watch.c says when to send an event.
 */
#include <net/genetlink.h>

#include "netlink-gen.h"
#include "pams.h"
#include "peek.h"
#include "tell.h"

/* The report whose loss time counts for the subflow, or NULL; under RCU. */
static const struct pams_report *loss_report(const struct pams_conn *conn,
					     const struct pams_subflow *sub,
					     u64 now_ns)
{
	if (!pams_report_is_current(conn, sub) || !sub->loss ||
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
			   peek_min_rtt_us(tp)) ?:
	       nla_put_u32(skb, MPTCP_PAMS_A_SUBFLOW_CWND,
			   READ_ONCE(tp->snd_cwnd)) ?:
	       nla_put_u32(skb, MPTCP_PAMS_A_SUBFLOW_IN_FLIGHT,
			   peek_in_flight(tp)) ?:
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

static int put_state(struct sk_buff *skb, const struct pams_conn *conn,
		     const struct pams_subflow *sub)
{
	const struct pams_report *report;
	u64 now_ns = ktime_get_boottime_ns();
	int err = 0;

	rcu_read_lock();
	report = loss_report(conn, sub, now_ns);
	if (report)
		err = nla_put_s32(skb, MPTCP_PAMS_A_SUBFLOW_LOSS_TIME,
				  pams_tell_until_ms(report->loss.ns, now_ns));
	rcu_read_unlock();

	return err ?: put_flag(skb, MPTCP_PAMS_A_SUBFLOW_STOPPED, sub->stopped) ?:
		      nla_put_uint(skb, MPTCP_PAMS_A_SUBFLOW_REINJECTED,
				   sub->again_bytes) ?:
		      nla_put_u32(skb, MPTCP_PAMS_A_SUBFLOW_STOPS, sub->stops);
}

/**
 * pams_tell_put_subflow - put what is known of a subflow into a message
 * @skb:	the message
 * @conn:	the connection, owned
 * @ssk:	the subflow's TCP socket
 * @sub:	the subflow's state, or NULL if it has none
 * @model:	the subflow's model, just updated; NULL if the subflow is in no view, since it
 *		isn't usable, or is a backup that isn't needed
 *
 * Return: 0 or a negative error.
 */
int pams_tell_put_subflow(struct sk_buff *skb, const struct pams_conn *conn,
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
	      put_flag(skb, MPTCP_PAMS_A_SUBFLOW_UNUSABLE,
		       !msk_subflow_is_usable(ssk)) ?:
	      (model ? put_model(skb, model) : 0) ?:
	      (sub ? put_state(skb, conn, sub) : 0);
	if (err)
		nla_nest_cancel(skb, nest);
	else
		nla_nest_end(skb, nest);
	return err;
}

/**
 * pams_tell_put_name - put a connection's token and scheduler into a message
 * @skb:	the message
 * @conn:	the connection, owned
 *
 * Return: 0 or a negative error.
 */
int pams_tell_put_name(struct sk_buff *skb, const struct pams_conn *conn)
{
	return nla_put_u32(skb, MPTCP_PAMS_A_CONN_TOKEN, msk_token(conn->msk)) ?:
	       nla_put_string(skb, MPTCP_PAMS_A_CONN_SCHEDULER,
			      conn->sched->name);
}

/* Tell of a subflow, which is described from its socket @ssk, or by its number alone if @ssk is
 * NULL.
 */
static void tell(struct pams_conn *conn, u8 cmd, const struct sock *ssk,
		 const struct pams_subflow *sub)
{
	struct sk_buff *skb = pams_tell_begin(conn->net, cmd);
	struct nlattr *nest;
	int err;

	if (!skb)
		return;
	err = pams_tell_put_name(skb, conn) ?:
	      nla_put_uint(skb, MPTCP_PAMS_A_CONN_STOPS,
			   conn->counts.stops) ?:
	      nla_put_uint(skb, MPTCP_PAMS_A_CONN_REINJECTED,
			   conn->counts.reinjected_bytes);
	if (!err && ssk) {
		err = pams_tell_put_subflow(skb, conn, ssk, sub, NULL);
	} else if (!err) {
		nest = nla_nest_start(skb, MPTCP_PAMS_A_CONN_SUBFLOW);
		err = nest ? nla_put_u32(skb, MPTCP_PAMS_A_SUBFLOW_ID,
					 sub->model.id) : -EMSGSIZE;
		if (!err)
			nla_nest_end(skb, nest);
	}
	pams_tell_end(conn->net, skb, err);
}

/**
 * pams_tell_removed - tell listeners that a subflow was closed
 * @conn:	the connection, owned
 * @sub:	the subflow's state
 */
void pams_tell_removed(struct pams_conn *conn, const struct pams_subflow *sub)
{
	tell(conn, MPTCP_PAMS_CMD_SUBFLOW_REMOVED_NTF, NULL, sub);
}

/**
 * pams_tell_events - tell listeners of the events that are noted in the subflows' @events
 * @conn:	the connection, owned
 *
 * Process context.
 */
void pams_tell_events(struct pams_conn *conn)
{
	struct sock *ssk = NULL;

	if (!conn->events)
		return;

	conn->events = false;
	while ((ssk = msk_next_subflow(conn->msk, ssk))) {
		struct pams_subflow *sub = pams_subflow_at(conn, ssk);
		u8 events = sub ? sub->events : 0;

		if (events & PAMS_EVENT_STOPPED)
			tell(conn, MPTCP_PAMS_CMD_PATH_STOPPED_NTF, ssk, sub);
		if (events & PAMS_EVENT_REINJECT)
			tell(conn, MPTCP_PAMS_CMD_REINJECT_NTF, ssk, sub);
		if (sub)
			sub->events = 0;
	}
}
