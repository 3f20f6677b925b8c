// SPDX-License-Identifier: GPL-2.0
/* endpoints - judges the endpoints and limits of the in-kernel path manager */
#include <inttypes.h>
#include <net/if.h>
#include <string.h>
#include <sys/socket.h>

#include <netlink/genl/ctrl.h>
#include <netlink/genl/genl.h>

#include <linux/mptcp.h>

#include "pamsctl.h"

struct manager {
	json_t *list;
	bool has_limits;
	uint32_t subflows;	/* at most, per connection, besides the first */
	uint32_t accepted;	/* announced addresses of the peer, at most */
	unsigned int endpoints;
	unsigned int for_subflows;
};

static void add_flags(char *text, size_t room, uint32_t flags)
{
	snprintf(text, room, "%s%s%s%s%s",
		 flags & MPTCP_PM_ADDR_FLAG_SUBFLOW ? " subflow" : "",
		 flags & MPTCP_PM_ADDR_FLAG_SIGNAL ? " signal" : "",
		 flags & MPTCP_PM_ADDR_FLAG_BACKUP ? " backup" : "",
		 flags & MPTCP_PM_ADDR_FLAG_FULLMESH ? " fullmesh" : "",
		 flags & MPTCP_PM_ADDR_FLAG_IMPLICIT ? " implicit" : "");
}

static void on_endpoint(struct manager *manager, struct nlattr *nest)
{
	struct nlattr *tb[MPTCP_PM_ADDR_ATTR_MAX + 1];
	char address[64] = "?", flags[64] = "", dev[IF_NAMESIZE] = "";
	struct nlattr *bytes;
	uint32_t bits = 0, bound = 0;

	if (nla_parse_nested(tb, MPTCP_PM_ADDR_ATTR_MAX, nest, NULL))
		return;
	bytes = tb[MPTCP_PM_ADDR_ATTR_ADDR4] ?: tb[MPTCP_PM_ADDR_ATTR_ADDR6];
	if (bytes && (nla_len(bytes) == 4 || nla_len(bytes) == 16))
		show_address(address, nla_len(bytes) == 4 ? AF_INET : AF_INET6,
			     nla_data(bytes));
	if (tb[MPTCP_PM_ADDR_ATTR_FLAGS])
		bits = nla_get_u32(tb[MPTCP_PM_ADDR_ATTR_FLAGS]);
	if (tb[MPTCP_PM_ADDR_ATTR_IF_IDX])
		bound = nla_get_u32(tb[MPTCP_PM_ADDR_ATTR_IF_IDX]);
	if (bound)
		show_interface(dev, bound);
	add_flags(flags, sizeof(flags), bits);
	manager->endpoints++;
	if (bits & MPTCP_PM_ADDR_FLAG_SUBFLOW)
		manager->for_subflows++;
	finding(manager->list, FINE, "endpoint", NULL, "%s%s%s%s", address,
		dev[0] ? " dev " : "", dev, flags);
	if (bytes && bits & (MPTCP_PM_ADDR_FLAG_SUBFLOW |
			     MPTCP_PM_ADDR_FLAG_SIGNAL))
		look_at_address(manager->list,
				nla_len(bytes) == 4 ? AF_INET : AF_INET6,
				nla_data(bytes), bound,
				bits & MPTCP_PM_ADDR_FLAG_SIGNAL);
}

static int on_answer(struct nl_msg *msg, void *arg)
{
	struct nlattr *tb[MPTCP_PM_ATTR_MAX + 1];
	struct manager *manager = arg;

	if (genlmsg_parse(nlmsg_hdr(msg), 0, tb, MPTCP_PM_ATTR_MAX, NULL))
		return NL_SKIP;
	if (tb[MPTCP_PM_ATTR_ADDR])
		on_endpoint(manager, tb[MPTCP_PM_ATTR_ADDR]);
	if (tb[MPTCP_PM_ATTR_SUBFLOWS] && tb[MPTCP_PM_ATTR_RCV_ADD_ADDRS]) {
		manager->has_limits = true;
		manager->subflows = nla_get_u32(tb[MPTCP_PM_ATTR_SUBFLOWS]);
		manager->accepted =
			nla_get_u32(tb[MPTCP_PM_ATTR_RCV_ADD_ADDRS]);
	}
	return NL_OK;
}

/* Ask the path manager; flags: NLM_F_DUMP, or 0 for a single answer. 0 or libnl's error. */
static int dump_endpoints(struct nl_sock *sock, int family, uint8_t command, int flags)
{
	int err = genl_send_simple(sock, family, command, MPTCP_PM_VER, flags);

	if (err < 0)
		return err;
	err = nl_recvmsgs_default(sock);
	/* a single answer is followed by an acknowledgment, a dump isn't */
	if (err >= 0 && !flags)
		err = nl_wait_for_ack(sock);
	return err < 0 ? err : 0;
}

static void judge(struct manager *manager, int endpoints_error)
{
	if (manager->has_limits)
		finding(manager->list, manager->subflows ? FINE : NOTE,
			"limits", manager->subflows ? NULL :
			"ip mptcp limits set subflows 2",
			"%" PRIu32 " subflows besides the first, %" PRIu32
			" of them to addresses that the peer announced",
			manager->subflows, manager->accepted);
	if (endpoints_error)
		finding(manager->list, NOTE, "endpoints", "run it as root",
			"the endpoints can't be read: %s",
			nl_geterror(endpoints_error));
	else if (!manager->for_subflows)
		finding(manager->list, NOTE, "endpoints",
			"ip mptcp endpoint add ADDRESS dev INTERFACE subflow",
			"%u, none of them for subflows: connections from here "
			"keep to one path, unless the server announces another "
			"address",
			manager->endpoints);
}

void look_at_endpoints(json_t *list)
{
	struct manager manager = { .list = list };
	struct nl_sock *sock = nl_socket_alloc();
	int family, err;

	if (!sock || genl_connect(sock)) {
		finding(list, BAD, "endpoints", NULL, "netlink can't be used here");
		goto out;
	}
	nl_socket_modify_cb(sock, NL_CB_VALID, NL_CB_CUSTOM, on_answer,
			    &manager);
	family = genl_ctrl_resolve(sock, MPTCP_PM_NAME);
	if (family < 0) {
		finding(list, BAD, "endpoints", NULL,
			"the kernel's path manager can't be asked: %s",
			nl_geterror(family));
		goto out;
	}
	dump_endpoints(sock, family, MPTCP_PM_CMD_GET_LIMITS, 0);
	err = dump_endpoints(sock, family, MPTCP_PM_CMD_GET_ADDR, NLM_F_DUMP);
	judge(&manager, err);
out:
	nl_socket_free(sock);
}
