// SPDX-License-Identifier: GPL-2.0
/*
 * source_qdisc - the queue of an interface, read by rtnetlink
 *
 * The root qdisc counts the bytes that left it and those that wait in it, including
 * its children's; the kernel dumps the qdiscs of all interfaces. Packets that wait
 * below the qdisc, in a driver's or mac80211's own queue, aren't counted: wireless
 * interfaces have source_station.
 */
#include <errno.h>
#include <string.h>

#include <linux/gen_stats.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <netlink/attr.h>
#include <netlink/errno.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>
#include <netlink/socket.h>

#include "measure.h"

static struct nl_sock *sock;

struct counts {
	unsigned int ifindex;	/* of the interface to look for */
	bool found;
	uint64_t bytes;
	uint32_t backlog_bytes;
};

static void get(void *to, size_t size, struct nlattr *attr)
{
	size_t len = attr ? nla_len(attr) : 0;

	memset(to, 0, size);
	memcpy(to, attr ? nla_data(attr) : to, len < size ? len : size);
}

static int on_qdisc(struct nl_msg *msg, void *arg)
{
	struct tcmsg *tcm = nlmsg_data(nlmsg_hdr(msg));
	struct counts *counts = arg;
	struct nlattr *stats, *attrs[TCA_STATS_MAX + 1];
	struct gnet_stats_basic basic;
	struct gnet_stats_queue queue;

	if (nlmsg_hdr(msg)->nlmsg_type != RTM_NEWQDISC ||
	    !nlmsg_valid_hdr(nlmsg_hdr(msg), sizeof(*tcm)) ||
	    tcm->tcm_ifindex != (int)counts->ifindex ||
	    tcm->tcm_parent != TC_H_ROOT)
		return NL_OK;
	stats = nlmsg_find_attr(nlmsg_hdr(msg), sizeof(*tcm), TCA_STATS2);
	if (!stats || nla_parse_nested(attrs, TCA_STATS_MAX, stats, NULL) < 0)
		return NL_OK;
	get(&basic, sizeof(basic), attrs[TCA_STATS_BASIC]);
	get(&queue, sizeof(queue), attrs[TCA_STATS_QUEUE]);
	counts->found = true;
	counts->bytes = basic.bytes;
	counts->backlog_bytes = queue.backlog;
	return NL_OK;
}

static int sample(const struct link *link,
		  const struct interface_config *config,
		  struct estimate *estimate, uint64_t us)
{
	struct counts counts = { .ifindex = link->ifindex };
	struct tcmsg tcm = { .tcm_family = AF_UNSPEC };
	int err;

	(void)config;
	err = source_open(&sock, NETLINK_ROUTE);
	if (err)
		return err;
	nl_socket_modify_cb(sock, NL_CB_VALID, NL_CB_CUSTOM, on_qdisc, &counts);
	err = nl_send_simple(sock, RTM_GETQDISC, NLM_F_DUMP, &tcm, sizeof(tcm));
	if (err >= 0)
		err = source_receive(&sock);
	if (err < 0)
		return -EIO;
	/* The kernel doesn't dump a qdisc without a queue (noqueue). */
	if (!counts.found)
		return -ENOENT;
	estimate_count(estimate, us, counts.bytes, counts.backlog_bytes);
	return 0;
}

static void close_source(void)
{
	source_close(&sock);
}

const struct source source_qdisc = {
	.name = "qdisc",
	.sample = sample,
	.close = close_source,
};
