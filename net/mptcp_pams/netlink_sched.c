// SPDX-License-Identifier: GPL-2.0
/* Lists the module's schedulers (scheds.h) over netlink, so that programs need no list of
 * their own and know a newer module's schedulers, too.
 */
#include <net/genetlink.h>

#include "netlink-gen.h"
#include "netlink.h"
#include "pams.h"

static int put_sched(struct sk_buff *skb, const struct pams_sched *sched)
{
	return nla_put_string(skb, MPTCP_PAMS_A_SCHED_NAME, sched->name) ?:
	       nla_put_string(skb, MPTCP_PAMS_A_SCHED_DESCRIPTION, sched->text) ?:
	       (sched->copy ? nla_put_flag(skb, MPTCP_PAMS_A_SCHED_FIRST_BYTES) : 0) ?:
	       (sched->pick ? 0 : nla_put_flag(skb, MPTCP_PAMS_A_SCHED_BY_RULES));
}

int mptcp_pams_nl_sched_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	unsigned long *sent = (unsigned long *)&cb->args[0];
	const struct pams_sched *sched;
	int err = 0;

	/* a constant: the list doesn't change while the module is loaded */
	cb->seq = 1;
	while (!err && (sched = pams_sched_nth(*sent))) {
		void *head = pams_netlink_part_begin(skb, cb, MPTCP_PAMS_CMD_SCHED_GET);

		err = head ? pams_netlink_part_end(skb, cb, head,
						   put_sched(skb, sched)) : -EMSGSIZE;
		if (!err)
			++*sent;
	}
	return err && !skb->len ? err : skb->len;
}
