// SPDX-License-Identifier: GPL-2.0
/*
 * link - what an interface has received, by rtnetlink
 *
 * The socket is opened before privileges are dropped. An interface that goes and
 * comes back, as a stick that is pulled, is found again by its name.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <libmnl/libmnl.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>

#include "pamsplit.h"

struct link {
	struct mnl_socket *socket;
	const char *name;
};

struct link *link_new(const char *name)
{
	struct link *link = calloc(1, sizeof(*link));

	if (!link)
		return NULL;
	link->name = name;
	link->socket = mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC);
	if (link->socket &&
	    !mnl_socket_bind(link->socket, 0, MNL_SOCKET_AUTOPID))
		return link;
	say("no rtnetlink: %s", strerror(errno));
	link_free(link);
	return NULL;
}

void link_free(struct link *link)
{
	if (link && link->socket)
		mnl_socket_close(link->socket);
	free(link);
}

static int on_attribute(const struct nlattr *attribute, void *arg)
{
	struct rtnl_link_stats64 stats = { };
	size_t len = mnl_attr_get_payload_len(attribute);

	if (mnl_attr_get_type(attribute) != IFLA_STATS64)
		return MNL_CB_OK;
	memcpy(&stats, mnl_attr_get_payload(attribute),
	       len < sizeof(stats) ? len : sizeof(stats));
	*(uint64_t *)arg = stats.rx_bytes;
	return MNL_CB_OK;
}

static int on_link(const struct nlmsghdr *message, void *arg)
{
	return mnl_attr_parse(message, sizeof(struct ifinfomsg), on_attribute,
			      arg);
}

/* What came in all; 0 where there is no such interface. */
uint64_t link_received_bytes(struct link *link)
{
	char buffer[16384];
	struct nlmsghdr *message = mnl_nlmsg_put_header(buffer);
	uint64_t bytes = 0;
	ssize_t len;

	message->nlmsg_type = RTM_GETLINK;
	message->nlmsg_flags = NLM_F_REQUEST;
	mnl_nlmsg_put_extra_header(message, sizeof(struct ifinfomsg));
	mnl_attr_put_strz(message, IFLA_IFNAME, link->name);
	if (mnl_socket_sendto(link->socket, message, message->nlmsg_len) < 0)
		return 0;
	len = mnl_socket_recvfrom(link->socket, buffer, sizeof(buffer));
	if (len > 0)
		mnl_cb_run(buffer, len, 0, 0, on_link, &bytes);
	return bytes;
}
