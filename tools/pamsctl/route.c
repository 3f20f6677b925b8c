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
#include "way.h"

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

unsigned int interface_of(int family, const void *address, unsigned int bound)
{
	struct ifaddrs *list = NULL, *at;
	unsigned int ifindex = 0;

	if (getifaddrs(&list))
		return 0;
	for (at = list; at && (!ifindex || ifindex != bound); at = at->ifa_next) {
		unsigned int index;

		if (!is_address(at->ifa_addr, family, address))
			continue;
		index = if_nametoindex(at->ifa_name);
		if (!ifindex || index == bound)
			ifindex = index;
	}
	freeifaddrs(list);
	return ifindex;
}

static int on_route(struct nl_msg *msg, void *arg)
{
	struct nlmsghdr *hdr = nlmsg_hdr(msg);
	struct rtmsg *header = nlmsg_data(hdr);
	struct nlattr *tb[RTA_MAX + 1];
	struct way *way = arg;

	if (nlmsg_parse(hdr, sizeof(*header), tb, RTA_MAX, NULL))
		return NL_OK;
	if (tb[RTA_OIF] && nla_len(tb[RTA_OIF]) >= 4)
		way->ifindex = nla_get_u32(tb[RTA_OIF]);
	way_gateway(way, header->rtm_family, tb[RTA_GATEWAY], tb[RTA_VIA]);
	if (tb[RTA_PREFSRC] && nla_len(tb[RTA_PREFSRC]) <= 16)
		memcpy(way->source, nla_data(tb[RTA_PREFSRC]), nla_len(tb[RTA_PREFSRC]));
	return NL_OK;
}

void way_gateway(struct way *way, int family, const struct nlattr *gateway,
		 const struct nlattr *via)
{
	const struct rtvia *other = via ? nla_data(via) : NULL;

	if (gateway && nla_len(gateway) == (family == AF_INET ? 4 : 16)) {
		way->gateway_family = family;
		memcpy(way->gateway, nla_data(gateway), nla_len(gateway));
	} else if (via && nla_len(via) == (int)sizeof(*other) + 16 &&
		   other->rtvia_family == AF_INET6) {
		/* IPv4 through a router that has an IPv6 address only */
		way->gateway_family = AF_INET6;
		memcpy(way->gateway, other->rtvia_addr, 16);
	}
}

static int ask(struct nl_sock *sock, int family, const void *to, const void *from,
	       uint32_t bound, unsigned int flags, struct way *way)
{
	struct rtmsg header = {
		.rtm_family = family,
		.rtm_src_len = from ? family == AF_INET ? 32 : 128 : 0,
		.rtm_dst_len = family == AF_INET ? 32 : 128,
		.rtm_flags = flags,
	};
	int length = family == AF_INET ? 4 : 16, err;
	struct nl_msg *msg = nlmsg_alloc_simple(RTM_GETROUTE, 0);

	if (!msg)
		return -NLE_NOMEM;
	nl_socket_modify_cb(sock, NL_CB_VALID, NL_CB_CUSTOM, on_route, way);
	nlmsg_append(msg, &header, sizeof(header), NLMSG_ALIGNTO);
	nla_put(msg, RTA_DST, length, to);
	if (from)
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

static void far_away(int family, uint8_t to[16])
{
	inet_pton(family, family == AF_INET ? FAR4 : FAR6, to);
}

int way_out(struct nl_sock *sock, int family, const void *from, uint32_t bound, struct way *way)
{
	struct way matched;
	uint8_t to[16];
	int err;

	far_away(family, to);
	memset(way, 0, sizeof(*way));
	err = ask(sock, family, to, from, bound, 0, way);
	/* For a socket that is bound, IPv4 takes all to be on the link where no route matches. */
	if (!err && bound && family == AF_INET)
		err = ask(sock, family, to, from, bound, RTM_F_FIB_MATCH, &matched);
	return err;
}

unsigned int way_to(struct nl_sock *sock, int family, const void *to, const void *from)
{
	struct way way = { };

	return ask(sock, family, to, from, 0, 0, &way) ? 0 : way.ifindex;
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

bool way_forwards(int family, const char *name)
{
	return number_in(family == AF_INET ? "/proc/sys/net/ipv4/conf/%s/forwarding" :
			 "/proc/sys/net/ipv6/conf/%s/forwarding", name);
}

static bool is_private(int family, const uint8_t *a)
{
	if (family == AF_INET6)
		return (a[0] & 0xfe) == 0xfc;
	return a[0] == 10 || (a[0] == 172 && a[1] >> 4 == 1) ||
	       (a[0] == 192 && a[1] == 168) ||
	       (a[0] == 100 && a[1] >> 6 == 1);
}

/* @outside: whether anything here has a route to other networks */
static void judge(json_t *list, int family, const char *text, unsigned int owner,
		  unsigned int leaves, bool outside)
{
	char own[IF_NAMESIZE], other[IF_NAMESIZE], advice[256];

	show_interface(own, owner);
	snprintf(advice, sizeof(advice),
		 OR_UP "ip %srule add from %s table %u; ip %sroute add default via "
		 "GATEWAY dev %s table %u", family == AF_INET ? "" : "-6 ",
		 text, OWN_TABLE + owner, family == AF_INET ? "" : "-6 ", own,
		 OWN_TABLE + owner);
	if (!leaves)
		finding(list, outside ? BAD : NOTE, "route", advice,
			"packets from %s have no route to other networks%s", text,
			outside ? "" : ", as all here");
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
	unsigned int owner = interface_of(family, address, ifindex);
	char text[INET6_ADDRSTRLEN];
	struct way way, any;

	show_address(text, family, address);
	if (!owner) {
		finding(list, BAD, "endpoint", "ip mptcp endpoint show",
			"no interface here has the address %s of an endpoint",
			text);
	} else if (sock && !nl_connect(sock, NETLINK_ROUTE)) {
		if (way_out(sock, family, address, ifindex, &way))
			way.ifindex = 0;
		judge(list, family, text, owner, way.ifindex,
		      !way_out(sock, family, NULL, 0, &any));
	}
	if (announced && is_private(family, address))
		finding(list, NOTE, "endpoint",
			"use flag subflow instead, and let the other side "
			"announce",
			"%s is announced to peers, but it is a private "
			"address: behind NAT they can't reach it", text);
	nl_socket_free(sock);
}
