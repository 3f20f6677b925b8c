// SPDX-License-Identifier: GPL-2.0
/* shown - this machine's links, and the subflows of MPTCP over them, as JSON */
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <string.h>

#include <linux/if_packet.h>

#include <jansson.h>
#include <netlink/attr.h>

#include <linux/mptcp.h>

#include "base/diag.h"
#include "pamsd.h"
#include "sockdiag.h"
#include "tcpinfo.h"

#define SUBFLOWS_MAX	1000	/* of more only the number is told */

struct look {
	struct ifaddrs *addresses;
	json_t *links, *subflows;
	json_int_t left_out;
};

static const char *host_text(char text[INET6_ADDRSTRLEN], const struct prefix *host)
{
	return inet_ntop(host->family, host->address, text, INET6_ADDRSTRLEN);
}

/* Whether it is an address of a link that others can reach. */
static bool is_link(const struct ifaddrs *one, struct prefix *host)
{
	const union address *address = (const void *)one->ifa_addr;

	if (!address || one->ifa_flags & IFF_LOOPBACK ||
	    (address->sa.sa_family != AF_INET && address->sa.sa_family != AF_INET6) ||
	    (address->sa.sa_family == AF_INET6 &&
	     IN6_IS_ADDR_LINKLOCAL(&address->in6.sin6_addr)))
		return false;
	prefix_of(host, address);
	return true;
}

static json_t *link_json(const struct ifaddrs *one)
{
	return json_pack("{s:s, s:o}", "state", !(one->ifa_flags & IFF_UP) ? "down" :
			 one->ifa_flags & IFF_RUNNING ? "up" : "no carrier",
			 "addresses", json_array());
}

static void add_links(struct look *look)
{
	char text[INET6_ADDRSTRLEN];
	struct prefix host;

	for (const struct ifaddrs *one = look->addresses; one; one = one->ifa_next) {
		if (!is_link(one, &host))
			continue;
		if (!json_object_get(look->links, one->ifa_name))
			json_object_set_new(look->links, one->ifa_name, link_json(one));
		json_array_append_new(json_object_get(json_object_get(look->links, one->ifa_name),
						      "addresses"),
				      json_string(host_text(text, &host)));
	}
}

/* NULL: there is none of this index, or it is 0. */
static const char *name_of(const struct look *look, unsigned int ifindex)
{
	for (const struct ifaddrs *one = look->addresses; one && ifindex; one = one->ifa_next) {
		const struct sockaddr_ll *link = (const void *)one->ifa_addr;

		if (link && link->sll_family == AF_PACKET &&
		    (unsigned int)link->sll_ifindex == ifindex)
			return one->ifa_name;
	}
	return NULL;
}

/*
 * The interface that has the subflow's address, and of several the one that it is bound to; that
 * one, too, if none has it.
 */
static const char *link_of(const struct look *look, const struct diag_socket *socket)
{
	const char *bound = name_of(look, socket->ifindex), *found = NULL;
	struct prefix host;

	for (const struct ifaddrs *one = look->addresses; one; one = one->ifa_next) {
		if (!is_link(one, &host) || memcmp(&host, &socket->local, sizeof(host)))
			continue;
		if (bound && !strcmp(one->ifa_name, bound))
			return bound;
		found = found ?: one->ifa_name;
	}
	return found ?: bound;
}

static void on_socket(const struct diag_socket *socket, void *arg)
{
	static const uint32_t joined = MPTCP_SUBFLOW_FLAG_MCAP_REM | MPTCP_SUBFLOW_FLAG_JOIN_REM;
	static const uint32_t backup = MPTCP_SUBFLOW_FLAG_BKUP_REM | MPTCP_SUBFLOW_FLAG_BKUP_LOC;
	char local[INET6_ADDRSTRLEN], remote[INET6_ADDRSTRLEN];
	struct sockdiag_subflow subflow;
	struct look *look = arg;
	struct tcpinfo info;

	if (!socket->info || !sockdiag_is_mptcp(socket->ulp) ||
	    !sockdiag_subflow(socket->ulp, &subflow) || !(subflow.flags & joined))
		return;
	if (json_array_size(look->subflows) == SUBFLOWS_MAX) {
		look->left_out++;
		return;
	}
	tcpinfo_parse(&info, nla_data(socket->info), nla_len(socket->info));
	json_array_append_new(look->subflows,
			      json_pack("{s:I, s:s?, s:s, s:i, s:s, s:i, s:b, s:I, s:I, s:I}",
					"token", (json_int_t)subflow.local_token,
					"dev", link_of(look, socket),
					"local_address", host_text(local, &socket->local),
					"local_port", socket->local_port,
					"remote_address", host_text(remote, &socket->peer),
					"remote_port", socket->peer_port,
					"backup", (subflow.flags & backup) != 0,
					"srtt_us", (json_int_t)info.srtt_us,
					"sent_bytes", (json_int_t)info.sent_bytes,
					"received_bytes", (json_int_t)info.received_bytes));
}

json_t *shown_links(void)
{
	struct look look = { .links = json_object(), .subflows = json_array() };
	struct nl_sock *sock = NULL;

	if (!addresses_read(&look.addresses)) {
		add_links(&look);
		if (!diag_established(&sock, NULL, 0, on_socket, &look))
			source_close(&sock);
		freeifaddrs(look.addresses);
	}
	return json_pack("{s:o, s:o, s:I}", "links", look.links, "subflows", look.subflows,
			 "left_out", look.left_out);
}
