// SPDX-License-Identifier: GPL-2.0
/* manager - what the kernel's path manager is told: endpoints and limits */
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <netlink/genl/ctrl.h>
#include <netlink/genl/genl.h>

#include <linux/mptcp.h>

#include "genl.h"
#include "manager.h"
#include "parse.h"

#define ANSWER_S	5

static void on_endpoint(struct manager *manager, struct nlattr *nest)
{
	struct nlattr *tb[MPTCP_PM_ADDR_ATTR_MAX + 1];
	struct endpoint *endpoint;
	struct nlattr *bytes;

	if (nla_parse_nested(tb, MPTCP_PM_ADDR_ATTR_MAX, nest, NULL))
		return;
	endpoint = reallocarray(manager->endpoints, manager->count + 1, sizeof(*endpoint));
	if (!endpoint)
		return;
	manager->endpoints = endpoint;
	endpoint += manager->count++;
	memset(endpoint, 0, sizeof(*endpoint));
	bytes = tb[MPTCP_PM_ADDR_ATTR_ADDR4] ?: tb[MPTCP_PM_ADDR_ATTR_ADDR6];
	if (bytes && (nla_len(bytes) == 4 || nla_len(bytes) == 16)) {
		endpoint->family = nla_len(bytes) == 4 ? AF_INET : AF_INET6;
		memcpy(endpoint->address, nla_data(bytes), nla_len(bytes));
	}
	if (tb[MPTCP_PM_ADDR_ATTR_ID])
		endpoint->id = nla_get_u8(tb[MPTCP_PM_ADDR_ATTR_ID]);
	if (tb[MPTCP_PM_ADDR_ATTR_FLAGS])
		endpoint->flags = nla_get_u32(tb[MPTCP_PM_ADDR_ATTR_FLAGS]);
	if (tb[MPTCP_PM_ADDR_ATTR_IF_IDX])
		endpoint->ifindex = nla_get_u32(tb[MPTCP_PM_ADDR_ATTR_IF_IDX]);
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
static int ask(struct nl_sock *sock, int family, uint8_t command, int flags)
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

const char *manager_read(struct manager *manager)
{
	struct nl_sock *sock;
	const char *why = NULL;
	int family;

	memset(manager, 0, sizeof(*manager));
	if (genl_open(&sock, ANSWER_S))
		return "netlink can't be used here";
	nl_socket_modify_cb(sock, NL_CB_VALID, NL_CB_CUSTOM, on_answer, manager);
	family = genl_ctrl_resolve(sock, MPTCP_PM_NAME);
	if (family < 0) {
		why = wrong("the kernel's path manager can't be asked: %s",
			    nl_geterror(family));
	} else {
		ask(sock, family, MPTCP_PM_CMD_GET_LIMITS, 0);
		manager->endpoints_error = ask(sock, family, MPTCP_PM_CMD_GET_ADDR, NLM_F_DUMP);
	}
	nl_socket_free(sock);
	return why;
}

void manager_free(struct manager *manager)
{
	free(manager->endpoints);
	memset(manager, 0, sizeof(*manager));
}
