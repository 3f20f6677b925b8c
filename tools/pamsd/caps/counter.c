// SPDX-License-Identifier: GPL-2.0
/* counter - an interface's byte counter, read by rtnetlink */
#include <errno.h>
#include <string.h>

#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <netlink/attr.h>
#include <netlink/errno.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>
#include <netlink/socket.h>

#include "cap.h"

static struct nl_sock *sock;

struct answer {
	bool there;
	unsigned int ifindex;
	uint64_t bytes;
};

static int on_link(struct nl_msg *msg, void *arg)
{
	struct nlmsghdr *hdr = nlmsg_hdr(msg);
	struct rtnl_link_stats64 stats;
	struct answer *answer = arg;
	struct nlattr *attr;

	if (hdr->nlmsg_type != RTM_NEWLINK ||
	    !nlmsg_valid_hdr(hdr, sizeof(struct ifinfomsg)))
		return NL_OK;
	attr = nlmsg_find_attr(hdr, sizeof(struct ifinfomsg), IFLA_STATS64);
	/* an older kernel's struct is shorter, but has all fields that are used here */
	if (!attr || nla_len(attr) < (int)offsetof(struct rtnl_link_stats64,
						   rx_errors))
		return NL_OK;
	memcpy(&stats, nla_data(attr), offsetof(struct rtnl_link_stats64,
						rx_errors));
	answer->there = true;
	answer->ifindex = ((struct ifinfomsg *)nlmsg_data(hdr))->ifi_index;
	answer->bytes = stats.rx_bytes + stats.tx_bytes;
	return NL_OK;
}

int counter_read(const char *interface, unsigned int *ifindex, uint64_t *bytes)
{
	struct ifinfomsg info = { };
	struct answer answer = { };
	struct nl_msg *msg;
	int err = source_open(&sock, NETLINK_ROUTE);

	if (err)
		return err;
	msg = nlmsg_alloc_simple(RTM_GETLINK, 0);
	if (!msg)
		return -ENOMEM;
	nl_socket_modify_cb(sock, NL_CB_VALID, NL_CB_CUSTOM, on_link, &answer);
	err = nlmsg_append(msg, &info, sizeof(info), NLMSG_ALIGNTO);
	if (!err)
		err = nla_put_string(msg, IFLA_IFNAME, interface);
	if (!err)
		err = nl_send_auto(sock, msg);
	nlmsg_free(msg);
	if (err >= 0)
		err = nl_recvmsgs_default(sock);
	if (err == -NLE_NODEV || err == -NLE_OBJ_NOTFOUND)
		return -ENODEV;
	if (err < 0 || !answer.there) {
		source_close(&sock);
		return -EIO;
	}
	*ifindex = answer.ifindex;
	*bytes = answer.bytes;
	return 0;
}

void counter_close(void)
{
	source_close(&sock);
}
