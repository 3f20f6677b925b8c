// SPDX-License-Identifier: GPL-2.0
/*
 * route - checks that packets from an endpoint's address leave through its interface
 *
 * A subflow's packets have the endpoint's address as their source. Without a
 * routing rule for that source they may leave through another interface, whose
 * provider drops them, and the strict reverse-path filter drops the answers to
 * them, which arrive at the interface that has the address.
 */
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <inttypes.h>
#include <net/if.h>
#include <netinet/in.h>
#include <string.h>

#include <linux/rtnetlink.h>
#include <netlink/attr.h>
#include <netlink/errno.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>

#include "pamsctl.h"

/* Addresses reserved for documentation: only the default route leads to them. */
#define FAR4	"198.51.100.1"
#define FAR6	"2001:db8:ffff::1"

static bool is_address(const struct sockaddr *sa, int family,
		       const void *address)
{
	if (!sa || sa->sa_family != family)
		return false;
	return family == AF_INET ?
	       !memcmp(&((struct sockaddr_in *)sa)->sin_addr, address, 4) :
	       !memcmp(&((struct sockaddr_in6 *)sa)->sin6_addr, address, 16);
}

unsigned int interface_of(int family, const void *address)
{
	struct ifaddrs *list = NULL, *at;
	unsigned int ifindex = 0;

	if (getifaddrs(&list))
		return 0;
	for (at = list; at && !ifindex; at = at->ifa_next)
		if (is_address(at->ifa_addr, family, address))
			ifindex = if_nametoindex(at->ifa_name);
	freeifaddrs(list);
	return ifindex;
}

static int on_route(struct nl_msg *msg, void *arg)
{
	struct nlattr *oif = nlmsg_find_attr(nlmsg_hdr(msg),
					     sizeof(struct rtmsg), RTA_OIF);
	unsigned int *ifindex = arg;

	if (oif && nla_len(oif) >= 4)
		*ifindex = nla_get_u32(oif);
	return NL_OK;
}

/*
 * Set *ifindex to the interface through which a packet from that address leaves, sent by a
 * socket that is bound to the interface "bound" (0: not bound). 0 or libnl's error.
 */
static int look_up_route(struct nl_sock *sock, int family, const void *from,
			 uint32_t bound, unsigned int *ifindex)
{
	struct rtmsg header = {
		.rtm_family = family,
		.rtm_src_len = family == AF_INET ? 32 : 128,
		.rtm_dst_len = family == AF_INET ? 32 : 128,
	};
	int length = family == AF_INET ? 4 : 16, err;
	struct nl_msg *msg = nlmsg_alloc_simple(RTM_GETROUTE, 0);
	uint8_t to[16];

	if (!msg)
		return -NLE_NOMEM;
	inet_pton(family, family == AF_INET ? FAR4 : FAR6, to);
	nl_socket_modify_cb(sock, NL_CB_VALID, NL_CB_CUSTOM, on_route,
			    ifindex);
	nlmsg_append(msg, &header, sizeof(header), NLMSG_ALIGNTO);
	nla_put(msg, RTA_DST, length, to);
	nla_put(msg, RTA_SRC, length, from);
	if (bound)
		nla_put_u32(msg, RTA_OIF, bound);
	err = nl_send_auto(sock, msg);
	nlmsg_free(msg);
	if (err >= 0)
		err = nl_recvmsgs_default(sock);
	if (err >= 0)
		err = nl_wait_for_ack(sock);
	return err < 0 ? err : 0;
}

static int number_in(const char *format, const char *name)
{
	char path[128];
	int number = 0;
	FILE *f;

	snprintf(path, sizeof(path), format, name);
	f = fopen(path, "r");
	if (f && fscanf(f, "%d", &number) != 1)
		number = 0;
	if (f)
		fclose(f);
	return number;
}

static bool is_strict(const char *name)
{
	const char *format = "/proc/sys/net/ipv4/conf/%s/rp_filter";
	int own = number_in(format, name), all = number_in(format, "all");

	return (own > all ? own : all) == 1;
}

static bool is_private(int family, const uint8_t *a)
{
	if (family == AF_INET6)
		return (a[0] & 0xfe) == 0xfc;
	return a[0] == 10 || (a[0] == 172 && a[1] >> 4 == 1) ||
	       (a[0] == 192 && a[1] == 168) ||
	       (a[0] == 100 && a[1] >> 6 == 1);
}

static void judge(json_t *list, int family, const char *text,
		  unsigned int owner, unsigned int leaves, int err)
{
	char own[IF_NAMESIZE], other[IF_NAMESIZE], advice[256];

	show_interface(own, owner);
	snprintf(advice, sizeof(advice),
		 "ip %srule add from %s table 1%02u; ip %sroute add default via "
		 "GATEWAY dev %s table 1%02u", family == AF_INET ? "" : "-6 ",
		 text, owner % 100, family == AF_INET ? "" : "-6 ", own,
		 owner % 100);
	if (err || !leaves)
		finding(list, BAD, "route", advice,
			"packets from %s have no route to other networks",
			text);
	else if (leaves != owner)
		finding(list, BAD, "route", advice,
			"packets from %s leave through %s, not through %s, "
			"which has that address%s", text,
			show_interface(other, leaves), own,
			family == AF_INET && is_strict(own) ?
			"; the strict reverse-path filter (rp_filter 1) drops "
			"what comes back" : "");
	else
		finding(list, FINE, "route", NULL,
			"packets from %s leave through %s", text, own);
}

void look_at_address(json_t *list, int family, const void *address,
		     uint32_t ifindex, bool announced)
{
	struct nl_sock *sock = nl_socket_alloc();
	unsigned int owner = interface_of(family, address), leaves = 0;
	char text[INET6_ADDRSTRLEN];
	int err;

	show_address(text, family, address);
	if (!owner) {
		finding(list, BAD, "endpoint", "ip mptcp endpoint show",
			"no interface here has the address %s of an endpoint",
			text);
	} else if (sock && !nl_connect(sock, NETLINK_ROUTE)) {
		err = look_up_route(sock, family, address, ifindex, &leaves);
		judge(list, family, text, owner, leaves, err);
	}
	if (announced && is_private(family, address))
		finding(list, NOTE, "endpoint",
			"use flag subflow instead, and let the other side "
			"announce",
			"%s is announced to peers, but it is a private "
			"address: behind NAT they can't reach it", text);
	nl_socket_free(sock);
}
