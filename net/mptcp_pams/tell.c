// SPDX-License-Identifier: GPL-2.0
/* Sends netlink events: finds out if anybody listens, and tells which reports have expired.
 * (tell_conn.c tells of connections.) Files below netlink.c call this one, which may not call
 * upward; so netlink.c passes the family to pams_tell_start().
 */
#include <linux/ktime.h>
#include <linux/rwsem.h>
#include <linux/time64.h>
#include <net/genetlink.h>

#include "netlink-gen.h"
#include "pams.h"
#include "tell.h"

/* An event is sent with this lock held for reading and tell_family set. So none is sent once the
 * family is unregistered, when another family may get its group's number.
 */
static DECLARE_RWSEM(tell_lock);
static const struct genl_family *tell_family;

/**
 * pams_tell_start - events may be sent from now on
 * @family: the family, registered
 */
void pams_tell_start(const struct genl_family *family)
{
	down_write(&tell_lock);
	tell_family = family;
	up_write(&tell_lock);
}

/**
 * pams_tell_stop - no event is sent any more: the family is about to be unregistered
 */
void pams_tell_stop(void)
{
	pams_tell_start(NULL);
}

/**
 * pams_tell_begin - begin a message, if anybody listens
 * @net:	the namespace
 * @cmd:	MPTCP_PAMS_CMD_*
 *
 * Process context.
 *
 * Return: the message, for pams_tell_end(); NULL if nobody listens, or without memory.
 */
struct sk_buff *pams_tell_begin(struct pams_net *net, u8 cmd)
{
	struct sk_buff *skb = NULL;

	down_read(&tell_lock);
	if (tell_family && genl_has_listeners(tell_family, net->net,
					      MPTCP_PAMS_NLGRP_EVENTS))
		skb = genlmsg_new(NLMSG_DEFAULT_SIZE, GFP_KERNEL);
	if (skb && genlmsg_put(skb, 0, 0, tell_family, 0, cmd))
		return skb;
	up_read(&tell_lock);
	nlmsg_free(skb);
	return NULL;
}

/**
 * pams_tell_end - send the message to all listeners
 * @net:	the namespace
 * @skb:	what pams_tell_begin() returned, not NULL
 * @err:	0, or the error of putting the message's attributes: then it isn't sent
 */
void pams_tell_end(struct pams_net *net, struct sk_buff *skb, int err)
{
	if (err) {
		nlmsg_free(skb);
	} else {
		nlmsg_end(skb, nlmsg_hdr(skb));
		genlmsg_multicast_netns(tell_family, net->net, skb, 0,
					MPTCP_PAMS_NLGRP_EVENTS, GFP_KERNEL);
	}
	up_read(&tell_lock);
}

/**
 * pams_tell_put_key - put the key of a path into a message
 * @skb:	the message
 * @key:	the key
 *
 * Return: 0 or a negative error.
 */
int pams_tell_put_key(struct sk_buff *skb, const struct pams_path_key *key)
{
	bool v4 = key->prefix_len >= 96 && ipv6_addr_v4mapped(&key->address);

	switch (key->kind) {
	case PAMS_PATH_SUBFLOW:
		return nla_put_u32(skb, MPTCP_PAMS_A_PATH_TOKEN, key->number) ?:
		       nla_put_u8(skb, MPTCP_PAMS_A_PATH_LOCAL_ID,
				  key->local_id) ?:
		       nla_put_u8(skb, MPTCP_PAMS_A_PATH_REMOTE_ID,
				  key->remote_id);
	case PAMS_PATH_INTERFACE:
		return nla_put_u32(skb, MPTCP_PAMS_A_PATH_IFINDEX, key->number);
	}

	return (v4 ? nla_put_in_addr(skb, MPTCP_PAMS_A_PATH_ADDRESS4,
				     key->address.s6_addr32[3]) :
		     nla_put_in6_addr(skb, MPTCP_PAMS_A_PATH_ADDRESS6,
				      &key->address)) ?:
	       nla_put_u8(skb, MPTCP_PAMS_A_PATH_PREFIX_LEN,
			  key->prefix_len - (v4 ? 96 : 0)) ?:
	       (key->port ? nla_put_be16(skb, MPTCP_PAMS_A_PATH_PORT,
					 key->port) : 0);
}

/**
 * pams_tell_ms - the time from one moment to a later one in whole milliseconds
 * @from_ns:	the earlier moment
 * @to_ns:	the later moment
 *
 * Return: rounded up, so that a moment to come is never 0; 0 if @to_ns isn't later than
 * @from_ns; at most S32_MAX.
 */
s32 pams_tell_ms(u64 from_ns, u64 to_ns)
{
	if (to_ns <= from_ns)
		return 0;
	return min_t(u64, DIV_ROUND_UP_ULL(to_ns - from_ns, NSEC_PER_MSEC),
		     S32_MAX);
}

/**
 * pams_tell_until_ms - a moment, relative to now, as messages have it
 * @at_ns: the moment
 * @now_ns: ktime_get_boottime_ns()
 *
 * Return: milliseconds from now, negative if the moment is past.
 */
s32 pams_tell_until_ms(u64 at_ns, u64 now_ns)
{
	return pams_tell_ms(now_ns, at_ns) - pams_tell_ms(at_ns, now_ns);
}

/**
 * pams_tell_expired - tell listeners which parts of a report have expired
 * @net:	the path's namespace
 * @key:	the path's key
 * @report:	what was reported of it: the expired parts, and what is left
 * @now_ns:	ktime_get_boottime_ns()
 *
 * Process context. Sends nothing after pams_tell_stop().
 */
void pams_tell_expired(struct pams_net *net, const struct pams_path_key *key,
		       const struct pams_report *report, u64 now_ns)
{
	struct sk_buff *skb = pams_tell_begin(net, MPTCP_PAMS_CMD_PATH_EXPIRED_NTF);
	int err;

	if (!skb)
		return;
	err = pams_tell_put_key(skb, key);
	if (!err && report->pipe.rate_byteps &&
	    !pams_report_has_pipe(report, now_ns))
		err = nla_put_uint(skb, MPTCP_PAMS_A_PATH_PIPE_RATE,
				   report->pipe.rate_byteps);
	if (!err && report->loss.ns && !pams_report_has_loss(report, now_ns))
		err = nla_put_s32(skb, MPTCP_PAMS_A_PATH_LOSS_TIME,
				  pams_tell_until_ms(report->loss.ns, now_ns));
	if (!err && report->cost.expires_ns && !pams_report_has_cost(report, now_ns))
		err = nla_put_u8(skb, MPTCP_PAMS_A_PATH_COST, report->cost.level);
	pams_tell_end(net, skb, err);
}
