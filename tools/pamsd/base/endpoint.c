// SPDX-License-Identifier: GPL-2.0
/*
 * endpoint - the endpoints (addresses) of the kernel's MPTCP path manager
 *
 * An endpoint that was added without an interface belongs to the one that has its address.
 */
#include <errno.h>
#include <ifaddrs.h>
#include <stdio.h>
#include <string.h>

#include <netlink/genl/ctrl.h>
#include <netlink/genl/genl.h>

#include <linux/mptcp.h>

#include "../../lib/genl.h"
#include "../../lib/netlink-internal.h"
#include "../../lib/sockdiag.h"
#include "base.h"

#define ANSWER_S	1

static struct nl_sock *sock;
static int family;

struct list {
	struct endpoint *endpoints;
	int count;
};

static int open_manager(void)
{
	int err;

	if (sock)
		return 0;
	err = genl_open(&sock, ANSWER_S);
	if (!err) {
		family = genl_ctrl_resolve(sock, MPTCP_PM_NAME);
		err = family < 0 ? family : 0;
	}
	if (err)
		endpoints_close();
	return err ? pams_errno(err) : 0;
}

void endpoints_close(void)
{
	nl_socket_free(sock);
	sock = NULL;
}

static const void *address_of(const struct sockaddr *address)
{
	return address->sa_family == AF_INET ?
	       (const void *)&((const struct sockaddr_in *)address)->sin_addr :
	       &((const struct sockaddr_in6 *)address)->sin6_addr;
}

static bool is_at(const struct ifaddrs *one, const struct endpoint *endpoint)
{
	size_t len = endpoint->family == AF_INET ? 4 : 16;

	return one->ifa_addr && one->ifa_addr->sa_family == endpoint->family &&
	       !memcmp(address_of(one->ifa_addr), endpoint->address, len);
}

static bool is_link_local(const struct sockaddr *address)
{
	const uint8_t *bytes = address_of(address);

	return address->sa_family == AF_INET ?
	       bytes[0] == 169 && bytes[1] == 254 :
	       IN6_IS_ADDR_LINKLOCAL((const struct in6_addr *)bytes);
}

enum presence endpoint_presence(const struct endpoint *endpoint)
{
	enum presence presence = ADDRESS_AWAY;
	struct ifaddrs *all;

	if (addresses_read(&all))
		return ADDRESS_AWAY;
	for (const struct ifaddrs *one = all; one; one = one->ifa_next) {
		if (strcmp(one->ifa_name, endpoint->interface) ||
		    !one->ifa_addr ||
		    one->ifa_addr->sa_family != endpoint->family)
			continue;
		if (is_at(one, endpoint))
			presence = ADDRESS_THERE;
		else if (presence == ADDRESS_AWAY &&
			 !is_link_local(one->ifa_addr))
			presence = ADDRESS_REPLACED;
	}
	freeifaddrs(all);
	return presence;
}

static void find_interface(struct endpoint *endpoint, const struct ifaddrs *all)
{
	if (endpoint->ifindex &&
	    !if_indextoname(endpoint->ifindex, endpoint->interface))
		endpoint->interface[0] = 0;
	for (; all; all = all->ifa_next) {
		if (!endpoint->ifindex && is_at(all, endpoint))
			snprintf(endpoint->interface, IF_NAMESIZE, "%s",
				 all->ifa_name);
		if (strcmp(all->ifa_name, endpoint->interface))
			continue;
		endpoint->up = all->ifa_flags & IFF_RUNNING;
		endpoint->local |= is_at(all, endpoint);
	}
}

static int on_endpoint(struct nl_msg *msg, void *arg)
{
	struct nlattr *tb[MPTCP_PM_ATTR_MAX + 1];
	struct nlattr *of[MPTCP_PM_ADDR_ATTR_MAX + 1];
	struct endpoint *endpoint;
	struct list *list = arg;
	struct nlattr *address;

	if (list->count == ENDPOINTS_MAX ||
	    genlmsg_parse(nlmsg_hdr(msg), 0, tb, MPTCP_PM_ATTR_MAX, NULL) ||
	    !tb[MPTCP_PM_ATTR_ADDR] ||
	    nla_parse_nested(of, MPTCP_PM_ADDR_ATTR_MAX, tb[MPTCP_PM_ATTR_ADDR],
			     NULL))
		return NL_OK;
	address = of[MPTCP_PM_ADDR_ATTR_ADDR4] ?: of[MPTCP_PM_ADDR_ATTR_ADDR6];
	if (!address || (nla_len(address) != 4 && nla_len(address) != 16))
		return NL_OK;
	endpoint = &list->endpoints[list->count++];
	memset(endpoint, 0, sizeof(*endpoint));
	endpoint->family = nla_len(address) == 4 ? AF_INET : AF_INET6;
	memcpy(endpoint->address, nla_data(address), nla_len(address));
	if (of[MPTCP_PM_ADDR_ATTR_ID])
		endpoint->id = nla_get_u8(of[MPTCP_PM_ADDR_ATTR_ID]);
	if (of[MPTCP_PM_ADDR_ATTR_PORT])
		endpoint->port = nla_get_u16(of[MPTCP_PM_ADDR_ATTR_PORT]);
	if (of[MPTCP_PM_ADDR_ATTR_FLAGS])
		endpoint->flags = nla_get_u32(of[MPTCP_PM_ADDR_ATTR_FLAGS]);
	if (of[MPTCP_PM_ADDR_ATTR_IF_IDX])
		endpoint->ifindex = nla_get_u32(of[MPTCP_PM_ADDR_ATTR_IF_IDX]);
	return NL_OK;
}

int endpoints_read(struct endpoint endpoints[ENDPOINTS_MAX])
{
	struct list list = { .endpoints = endpoints };
	struct ifaddrs *all = NULL;
	int err = open_manager();

	if (err)
		return err;
	nl_socket_modify_cb(sock, NL_CB_VALID, NL_CB_CUSTOM, on_endpoint, &list);
	err = genl_send_simple(sock, family, MPTCP_PM_CMD_GET_ADDR, MPTCP_PM_VER,
			       NLM_F_DUMP);
	if (err >= 0)
		err = nl_recvmsgs_default(sock);
	if (err < 0) {
		endpoints_close();
		return pams_errno(err);
	}
	if (addresses_read(&all))
		all = NULL;
	for (int i = 0; i < list.count; i++)
		find_interface(&endpoints[i], all);
	freeifaddrs(all);
	return list.count;
}

static int put(struct nl_msg *msg, const struct endpoint *endpoint,
	       uint32_t flags)
{
	struct nlattr *nest = nla_nest_start(msg, MPTCP_PM_ATTR_ADDR |
					     NLA_F_NESTED);
	bool is4 = endpoint->family == AF_INET;
	int err = nest ? 0 : -1;

	err = err ?: nla_put_u16(msg, MPTCP_PM_ADDR_ATTR_FAMILY,
				 endpoint->family);
	err = err ?: nla_put(msg, is4 ? MPTCP_PM_ADDR_ATTR_ADDR4 :
			     MPTCP_PM_ADDR_ATTR_ADDR6, is4 ? 4 : 16,
			     endpoint->address);
	err = err ?: nla_put_u8(msg, MPTCP_PM_ADDR_ATTR_ID, endpoint->id);
	err = err ?: nla_put_u32(msg, MPTCP_PM_ADDR_ATTR_FLAGS, flags);
	if (endpoint->port)
		err = err ?: nla_put_u16(msg, MPTCP_PM_ADDR_ATTR_PORT,
					 endpoint->port);
	if (endpoint->ifindex)
		err = err ?: nla_put_u32(msg, MPTCP_PM_ADDR_ATTR_IF_IDX,
					 endpoint->ifindex);
	if (!err)
		nla_nest_end(msg, nest);
	return err;
}

/* A failure may be that no answer came: one that comes late isn't to be taken for the next. */
static int wait_for_ack(int err)
{
	if (err >= 0)
		err = nl_wait_for_ack(sock);
	if (err >= 0)
		return 0;
	endpoints_close();
	return pams_errno(err);
}

/* Send a command about an endpoint to the path manager. Returns 0 or -errno. */
static int tell(uint8_t command, const struct endpoint *endpoint, uint32_t flags)
{
	struct nl_msg *msg;
	int err = open_manager();

	if (err)
		return err;
	msg = nlmsg_alloc();
	if (!msg)
		return -ENOMEM;
	if (!genlmsg_put(msg, NL_AUTO_PORT, NL_AUTO_SEQ, family, 0, NLM_F_ACK,
			 command, MPTCP_PM_VER) || put(msg, endpoint, flags))
		err = -NLE_MSGSIZE;
	else
		err = nl_send_auto(sock, msg);
	nlmsg_free(msg);
	return wait_for_ack(err);
}

int endpoint_set_backup(const struct endpoint *endpoint, bool backup)
{
	uint32_t flags = endpoint->flags & ~MPTCP_PM_ADDR_FLAG_BACKUP;

	return tell(MPTCP_PM_CMD_SET_FLAGS, endpoint,
		    flags | (backup ? MPTCP_PM_ADDR_FLAG_BACKUP : 0));
}

int endpoint_add(const struct endpoint *endpoint)
{
	return tell(MPTCP_PM_CMD_ADD_ADDR, endpoint, endpoint->flags);
}

int endpoint_remove(const struct endpoint *endpoint)
{
	return tell(MPTCP_PM_CMD_DEL_ADDR, endpoint, endpoint->flags);
}

struct limits {
	uint32_t subflows, accepted;
	bool known;
};

static int on_limits(struct nl_msg *msg, void *arg)
{
	struct nlattr *tb[MPTCP_PM_ATTR_MAX + 1];
	struct limits *limits = arg;

	if (genlmsg_parse(nlmsg_hdr(msg), 0, tb, MPTCP_PM_ATTR_MAX, NULL) ||
	    !tb[MPTCP_PM_ATTR_SUBFLOWS] || !tb[MPTCP_PM_ATTR_RCV_ADD_ADDRS])
		return NL_OK;
	limits->subflows = nla_get_u32(tb[MPTCP_PM_ATTR_SUBFLOWS]);
	limits->accepted = nla_get_u32(tb[MPTCP_PM_ATTR_RCV_ADD_ADDRS]);
	limits->known = true;
	return NL_OK;
}

static int set_limits(const struct limits *limits)
{
	struct nl_msg *msg = nlmsg_alloc();
	int err = -NLE_MSGSIZE;

	if (!msg)
		return -ENOMEM;
	if (genlmsg_put(msg, NL_AUTO_PORT, NL_AUTO_SEQ, family, 0, NLM_F_ACK,
			MPTCP_PM_CMD_SET_LIMITS, MPTCP_PM_VER) &&
	    !nla_put_u32(msg, MPTCP_PM_ATTR_RCV_ADD_ADDRS, limits->accepted) &&
	    !nla_put_u32(msg, MPTCP_PM_ATTR_SUBFLOWS, limits->subflows))
		err = nl_send_auto(sock, msg);
	nlmsg_free(msg);
	return wait_for_ack(err);
}

static int read_limits(struct limits *limits)
{
	int err = open_manager();

	if (err)
		return err;
	memset(limits, 0, sizeof(*limits));
	nl_socket_modify_cb(sock, NL_CB_VALID, NL_CB_CUSTOM, on_limits, limits);
	err = genl_send_simple(sock, family, MPTCP_PM_CMD_GET_LIMITS, MPTCP_PM_VER, 0);
	if (err >= 0)
		err = nl_recvmsgs_default(sock);
	if (err >= 0)
		err = nl_wait_for_ack(sock);
	if (err >= 0 && limits->known)
		return 0;
	endpoints_close();
	return err < 0 ? pams_errno(err) : -EIO;
}

int endpoint_limit(uint32_t *subflows)
{
	struct limits limits = { };
	int err = read_limits(&limits);

	*subflows = limits.subflows;
	return err;
}

int endpoint_set_limit(uint32_t subflows)
{
	struct limits limits;
	int err = read_limits(&limits);

	limits.subflows = subflows;
	return err ?: set_limits(&limits);
}

bool endpoint_has(int family)
{
	static bool without_ipv6, asked;

	if (!asked)
		without_ipv6 = sockdiag_lacks_ipv6();
	asked = true;
	return family != AF_INET6 || !without_ipv6;
}
