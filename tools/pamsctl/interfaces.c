// SPDX-License-Identifier: GPL-2.0
/* interfaces - this network namespace's interfaces, their addresses and default routes */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "interfaces.h"

/* after <net/if.h>, to which it only adds */
#include <linux/if.h>
#include <linux/if_addr.h>
#include <linux/rtnetlink.h>
#include <netlink/attr.h>
#include <netlink/errno.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>

/* A change interrupts a dump: it is asked for again. */
#define DUMPS_MAX	3

static void take_link(struct interfaces *interfaces, struct nlmsghdr *hdr)
{
	struct ifinfomsg *info = nlmsg_data(hdr);
	struct nlattr *tb[IFLA_MAX + 1], *kind;
	struct interface *one;

	if (nlmsg_parse(hdr, sizeof(*info), tb, IFLA_MAX, NULL) || !tb[IFLA_IFNAME])
		return;
	one = reallocarray(interfaces->at, interfaces->count + 1, sizeof(*one));
	if (!one)
		return;
	interfaces->at = one;
	one += interfaces->count++;
	memset(one, 0, sizeof(*one));
	one->ifindex = info->ifi_index;
	snprintf(one->name, sizeof(one->name), "%s", nla_get_string(tb[IFLA_IFNAME]));
	one->flags = info->ifi_flags;
	one->mtu = tb[IFLA_MTU] ? nla_get_u32(tb[IFLA_MTU]) : 0;
	one->port = tb[IFLA_MASTER];
	kind = tb[IFLA_LINKINFO] ? nla_find(nla_data(tb[IFLA_LINKINFO]),
					    nla_len(tb[IFLA_LINKINFO]), IFLA_INFO_KIND) : NULL;
	if (kind)
		nla_strlcpy(one->kind, kind, sizeof(one->kind));
	one->dormant = tb[IFLA_OPERSTATE] && nla_get_u8(tb[IFLA_OPERSTATE]) == IF_OPER_DORMANT;
}

static void take_address(struct interfaces *interfaces, struct nlmsghdr *hdr)
{
	struct ifaddrmsg *info = nlmsg_data(hdr);
	int length = info->ifa_family == AF_INET ? 4 : 16;
	struct nlattr *tb[IFA_MAX + 1], *bytes;
	struct own_address *address;
	struct interface *one;

	if ((info->ifa_family != AF_INET && info->ifa_family != AF_INET6) ||
	    nlmsg_parse(hdr, sizeof(*info), tb, IFA_MAX, NULL))
		return;
	one = (struct interface *)interface_at(interfaces, info->ifa_index);
	/* of a link between two, IFA_ADDRESS is the peer's */
	bytes = tb[IFA_LOCAL] ?: tb[IFA_ADDRESS];
	if (!one || !bytes || nla_len(bytes) != length)
		return;
	address = reallocarray(one->addresses, one->count + 1, sizeof(*address));
	if (!address)
		return;
	one->addresses = address;
	address += one->count++;
	memset(address, 0, sizeof(*address));
	address->family = info->ifa_family;
	memcpy(address->bytes, nla_data(bytes), length);
	address->flags = tb[IFA_FLAGS] && nla_len(tb[IFA_FLAGS]) >= 4 ?
			 nla_get_u32(tb[IFA_FLAGS]) : info->ifa_flags;
	address->length = info->ifa_prefixlen;
	address->link_local = info->ifa_scope == RT_SCOPE_LINK;
}

static void add_route(struct interfaces *interfaces, int family, uint32_t table,
		      const struct way *way)
{
	struct default_route *route = reallocarray(interfaces->routes,
						   interfaces->route_count + 1, sizeof(*route));

	if (!route)
		return;
	interfaces->routes = route;
	route += interfaces->route_count++;
	route->family = family;
	route->table = table;
	route->way = *way;
}

static void take_route(struct interfaces *interfaces, struct nlmsghdr *hdr)
{
	struct rtmsg *info = nlmsg_data(hdr);
	struct nlattr *tb[RTA_MAX + 1], *hop[RTA_MAX + 1];
	struct way way = { };
	uint32_t table;

	if ((info->rtm_family != AF_INET && info->rtm_family != AF_INET6) || info->rtm_dst_len ||
	    info->rtm_type != RTN_UNICAST || info->rtm_flags & RTM_F_CLONED ||
	    nlmsg_parse(hdr, sizeof(*info), tb, RTA_MAX, NULL))
		return;
	table = tb[RTA_TABLE] ? nla_get_u32(tb[RTA_TABLE]) : info->rtm_table;
	if (tb[RTA_OIF]) {
		way.ifindex = nla_get_u32(tb[RTA_OIF]);
		way_gateway(&way, info->rtm_family, tb[RTA_GATEWAY], tb[RTA_VIA]);
		add_route(interfaces, info->rtm_family, table, &way);
	} else if (tb[RTA_MULTIPATH]) {
		struct rtnexthop *next = nla_data(tb[RTA_MULTIPATH]);
		int left = nla_len(tb[RTA_MULTIPATH]);

		for (; RTNH_OK(next, left); left -= RTNH_ALIGN(next->rtnh_len),
		     next = RTNH_NEXT(next)) {
			memset(&way, 0, sizeof(way));
			way.ifindex = next->rtnh_ifindex;
			if (!nla_parse(hop, RTA_MAX, (struct nlattr *)RTNH_DATA(next),
				       next->rtnh_len - RTNH_LENGTH(0), NULL))
				way_gateway(&way, info->rtm_family, hop[RTA_GATEWAY],
					    hop[RTA_VIA]);
			add_route(interfaces, info->rtm_family, table, &way);
		}
	}
}

static int on_message(struct nl_msg *msg, void *arg)
{
	struct nlmsghdr *hdr = nlmsg_hdr(msg);

	switch (hdr->nlmsg_type) {
	case RTM_NEWLINK:
		take_link(arg, hdr);
		break;
	case RTM_NEWADDR:
		if (nlmsg_valid_hdr(hdr, sizeof(struct ifaddrmsg)))
			take_address(arg, hdr);
		break;
	case RTM_NEWROUTE:
		if (nlmsg_valid_hdr(hdr, sizeof(struct rtmsg)))
			take_route(arg, hdr);
		break;
	}
	return NL_OK;
}

static int dump(struct nl_sock *sock, int type, void *header, size_t len)
{
	int err = nl_send_simple(sock, type, NLM_F_DUMP, header, len);

	return err < 0 ? err : nl_recvmsgs_default(sock);
}

/* An interrupted dump is read to its end, too, and so are those after it. */
static int read_all(struct nl_sock *sock)
{
	struct ifinfomsg link = { .ifi_family = AF_UNSPEC };
	struct ifaddrmsg address = { .ifa_family = AF_UNSPEC };
	struct rtmsg route = { .rtm_family = AF_UNSPEC };
	const struct {
		int type;
		void *header;
		size_t len;
	} all[] = {
		{ RTM_GETLINK, &link, sizeof(link) },
		{ RTM_GETADDR, &address, sizeof(address) },
		{ RTM_GETROUTE, &route, sizeof(route) },
	};
	int interrupted = 0;

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		int err = dump(sock, all[i].type, all[i].header, all[i].len);

		if (err == -NLE_DUMP_INTR)
			interrupted = err;
		else if (err < 0)
			return err;
	}
	return interrupted;
}

int interfaces_read(struct interfaces *interfaces)
{
	struct nl_sock *sock = nl_socket_alloc();
	int err;

	memset(interfaces, 0, sizeof(*interfaces));
	if (!sock)
		return -NLE_NOMEM;
	err = nl_connect(sock, NETLINK_ROUTE);
	nl_socket_modify_cb(sock, NL_CB_VALID, NL_CB_CUSTOM, on_message, interfaces);
	for (unsigned int left = err ? 0 : DUMPS_MAX; left; left--) {
		interfaces_free(interfaces);
		err = read_all(sock);
		if (err != -NLE_DUMP_INTR)
			break;
	}
	nl_socket_free(sock);
	/* where changes don't end the last list is as good as any */
	return err == -NLE_DUMP_INTR ? 0 : err;
}

void interfaces_free(struct interfaces *interfaces)
{
	for (size_t i = 0; i < interfaces->count; i++)
		free(interfaces->at[i].addresses);
	free(interfaces->at);
	free(interfaces->routes);
	memset(interfaces, 0, sizeof(*interfaces));
}

const struct interface *interface_at(const struct interfaces *interfaces, unsigned int ifindex)
{
	for (size_t i = 0; i < interfaces->count; i++)
		if (interfaces->at[i].ifindex == ifindex)
			return &interfaces->at[i];
	return NULL;
}

static bool has_address(const struct interface *one, int family, const uint8_t *address)
{
	for (size_t i = 0; i < one->count; i++)
		if (one->addresses[i].family == family &&
		    !memcmp(one->addresses[i].bytes, address, family == AF_INET ? 4 : 16))
			return true;
	return false;
}

const struct interface *interface_with(const struct interfaces *interfaces, int family,
				       const uint8_t *address, unsigned int bound)
{
	const struct interface *found = interface_at(interfaces, bound);

	if (found && has_address(found, family, address))
		return found;
	for (size_t i = 0; i < interfaces->count; i++)
		if (has_address(&interfaces->at[i], family, address))
			return &interfaces->at[i];
	return NULL;
}
