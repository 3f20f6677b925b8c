// SPDX-License-Identifier: GPL-2.0
/* Shows the remembered paths (memory.c) over netlink. As with tcp_metrics everybody may
 * ask, which takes no connection's lock.
 */
#include <net/genetlink.h>

#include "netlink-gen.h"
#include "netlink.h"
#include "pams.h"

static int put_key(struct sk_buff *skb, const struct pams_memory_key *key)
{
	if (ipv6_addr_v4mapped(&key->peer))
		return nla_put_in_addr(skb, MPTCP_PAMS_A_MEMORY_LOCAL_ADDRESS4,
				       key->local.s6_addr32[3]) ?:
		       nla_put_in_addr(skb, MPTCP_PAMS_A_MEMORY_REMOTE_ADDRESS4,
				       key->peer.s6_addr32[3]);

	return nla_put_in6_addr(skb, MPTCP_PAMS_A_MEMORY_LOCAL_ADDRESS6,
				&key->local) ?:
	       nla_put_in6_addr(skb, MPTCP_PAMS_A_MEMORY_REMOTE_ADDRESS6,
				&key->peer) ?:
	       (__ipv6_addr_needs_scope_id(__ipv6_addr_type(&key->peer)) ?
		nla_put_u32(skb, MPTCP_PAMS_A_MEMORY_IFINDEX, key->ifindex) : 0);
}

static int put_entry(struct sk_buff *skb, const struct pams_memory_entry *entry)
{
	return put_key(skb, &entry->key) ?:
	       (entry->limit_byteps ?
		nla_put_uint(skb, MPTCP_PAMS_A_MEMORY_RATE,
			     entry->limit_byteps) : 0) ?:
	       (entry->proven_byteps ?
		nla_put_uint(skb, MPTCP_PAMS_A_MEMORY_PROVEN_RATE,
			     entry->proven_byteps) : 0) ?:
	       nla_put_u32(skb, MPTCP_PAMS_A_MEMORY_MIN_RTT, entry->rtt_us) ?:
	       (entry->joined ? nla_put_u32(skb, MPTCP_PAMS_A_MEMORY_JOIN_DELAY,
					    entry->join_us) : 0) ?:
	       nla_put_u32(skb, MPTCP_PAMS_A_MEMORY_SUBFLOWS, entry->flows) ?:
	       nla_put_u32(skb, MPTCP_PAMS_A_MEMORY_AGE, entry->age_ms);
}

static int put_entry_msg(struct sk_buff *skb, struct netlink_callback *cb,
			 const struct pams_memory_entry *entry)
{
	void *head = pams_netlink_part_begin(skb, cb, MPTCP_PAMS_CMD_MEMORY_GET);

	return head ? pams_netlink_part_end(skb, cb, head, put_entry(skb, entry)) :
		      -EMSGSIZE;
}

int mptcp_pams_nl_memory_get_dumpit(struct sk_buff *skb,
				    struct netlink_callback *cb)
{
	struct pams_net *net = pams_net(sock_net(skb->sk));
	struct pams_memory_walk *walk = (void *)cb->ctx;
	struct pams_memory_entry entry;

	BUILD_BUG_ON(sizeof(*walk) > sizeof(cb->ctx));

	for (;;) {
		bool found = pams_memory_next(net, walk, &entry);
		int err;

		/* the netlink core compares it between messages; it takes 0 for "not set" */
		cb->seq = walk->generation % U32_MAX + 1;
		if (!found)
			break;
		err = put_entry_msg(skb, cb, &entry);
		if (err) {
			walk->skip--;	/* the next message begins with it */
			return skb->len ? skb->len : err;
		}
	}
	return skb->len;
}
