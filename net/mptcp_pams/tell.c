// SPDX-License-Identifier: GPL-2.0
/* What is told over netlink without being asked: whether anybody listens, and what of a
 * path has expired. Of connections: tell_conn.c. This is below all that has something to
 * tell, so it knows the family only by what netlink.c hands to pams_tell_start().
 */
#include <linux/ktime.h>
#include <linux/rwsem.h>
#include <linux/time64.h>
#include <net/genetlink.h>

#include "netlink-gen.h"
#include "pams.h"
#include "tell.h"

/* Events are sent while this is held for reading and @tell_family is set: the
 * family's groups get other families' numbers when it is gone.
 */
static DECLARE_RWSEM(tell_lock);
static const struct genl_family *tell_family;

/**
 * pams_tell_start - the family is there
 * @family: registered
 */
void pams_tell_start(const struct genl_family *family)
{
	down_write(&tell_lock);
	tell_family = family;
	up_write(&tell_lock);
}

/**
 * pams_tell_stop - the family is about to go: nobody is told anything any more
 */
void pams_tell_stop(void)
{
	pams_tell_start(NULL);
}

/**
 * pams_tell_begin - does anybody listen?
 * @net:	the namespace
 *
 * Process context.
 *
 * Return: pams_tell_end() has to follow.
 */
bool pams_tell_begin(struct pams_net *net)
{
	down_read(&tell_lock);
	if (tell_family && genl_has_listeners(tell_family, net->net,
					      MPTCP_PAMS_NLGRP_EVENTS))
		return true;
	up_read(&tell_lock);
	return false;
}

/**
 * pams_tell_end - tell all who listen
 * @net:	the namespace
 * @skb:	the message; NULL: it could not be made
 */
void pams_tell_end(struct pams_net *net, struct sk_buff *skb)
{
	if (skb)
		genlmsg_multicast_netns(tell_family, net->net, skb, 0,
					MPTCP_PAMS_NLGRP_EVENTS, GFP_KERNEL);
	up_read(&tell_lock);
}

/**
 * pams_tell_msg - begin a message, between pams_tell_begin() and pams_tell_end()
 * @cmd:	what it says
 * @head:	set; for genlmsg_end()
 *
 * Return: NULL without memory.
 */
struct sk_buff *pams_tell_msg(u8 cmd, void **head)
{
	struct sk_buff *skb = genlmsg_new(NLMSG_DEFAULT_SIZE, GFP_KERNEL);

	if (!skb)
		return NULL;

	*head = genlmsg_put(skb, 0, 0, tell_family, 0, cmd);
	if (*head)
		return skb;
	nlmsg_free(skb);
	return NULL;
}

/**
 * pams_tell_put_key - put the key of a path into a message
 * @skb:	the message
 * @key:	the path's
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
 * pams_tell_ms - from one moment to a later one in whole milliseconds
 * @from_ns:	the one
 * @to_ns:	the other
 *
 * Return: rounded up, so what has not come yet is never 0; 0 if it isn't later, S32_MAX
 * if it is that or later.
 */
s32 pams_tell_ms(u64 from_ns, u64 to_ns)
{
	if (to_ns <= from_ns)
		return 0;
	return min_t(u64, DIV_ROUND_UP_ULL(to_ns - from_ns, NSEC_PER_MSEC),
		     S32_MAX);
}

/**
 * pams_tell_until_ms - a moment as it is told
 * @at_ns: the moment
 * @now_ns: ktime
 *
 * Return: milliseconds from now, negative if it is past.
 */
s32 pams_tell_until_ms(u64 at_ns, u64 now_ns)
{
	return pams_tell_ms(now_ns, at_ns) - pams_tell_ms(at_ns, now_ns);
}

/* The message that tells what has expired, or NULL. */
static struct sk_buff *expired_msg(const struct pams_path *path, u64 now_ns)
{
	const struct pams_report *report = &path->report;
	struct sk_buff *skb;
	void *head;
	int err;

	skb = pams_tell_msg(MPTCP_PAMS_CMD_PATH_EXPIRED_NTF, &head);
	if (!skb)
		return NULL;

	err = pams_tell_put_key(skb, &path->key);
	if (!err && report->pipe_rate_byteps &&
	    !pams_report_has_pipe(report, now_ns))
		err = nla_put_uint(skb, MPTCP_PAMS_A_PATH_PIPE_RATE,
				   report->pipe_rate_byteps);
	if (!err && report->loss_ns && !pams_report_has_loss(report, now_ns))
		err = nla_put_s32(skb, MPTCP_PAMS_A_PATH_LOSS_TIME,
				  pams_tell_until_ms(report->loss_ns, now_ns));
	if (!err && report->cost_expires_ns && !pams_report_has_cost(report, now_ns))
		err = nla_put_u8(skb, MPTCP_PAMS_A_PATH_COST, report->cost);
	if (err) {
		nlmsg_free(skb);
		return NULL;
	}
	genlmsg_end(skb, head);
	return skb;
}

/**
 * pams_tell_expired - tell whoever listens
 * @net:	the path's namespace
 * @path:	with what has expired
 * @now_ns:	ktime_get_ns()
 *
 * Process context. Tells nobody once the family is going.
 */
void pams_tell_expired(struct pams_net *net, const struct pams_path *path, u64 now_ns)
{
	if (pams_tell_begin(net))
		pams_tell_end(net, expired_msg(path, now_ns));
}
