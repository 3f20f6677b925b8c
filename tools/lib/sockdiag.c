// SPDX-License-Identifier: GPL-2.0
/* sockdiag - reads this network namespace's TCP and MPTCP sockets by sock_diag */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <linux/inet_diag.h>
#include <linux/mptcp.h>
#include <linux/sock_diag.h>
#include <netlink/attr.h>
#include <netlink/errno.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>
#include <netlink/socket.h>

#include "sockdiag.h"

/* The callback for each socket of a dump. */
struct dump {
	sockdiag_fn fn;
	void *arg;
	int err;	/* of libnl, from the end of the dump */
};

static int on_socket(struct nl_msg *msg, void *arg)
{
	struct nlmsghdr *hdr = nlmsg_hdr(msg);
	struct inet_diag_msg *diag = nlmsg_data(hdr);
	const struct dump *dump = arg;
	struct sockdiag socket = { };

	if (hdr->nlmsg_type != SOCK_DIAG_BY_FAMILY ||
	    !nlmsg_valid_hdr(hdr, sizeof(*diag)))
		return NL_OK;
	socket.state = diag->idiag_state;
	socket.family = diag->idiag_family;
	memcpy(socket.local, diag->id.idiag_src, sizeof(socket.local));
	memcpy(socket.remote, diag->id.idiag_dst, sizeof(socket.remote));
	socket.local_port = ntohs(diag->id.idiag_sport);
	socket.remote_port = ntohs(diag->id.idiag_dport);
	socket.ifindex = diag->id.idiag_if;
	socket.inode = diag->idiag_inode;
	socket.info = nlmsg_find_attr(hdr, sizeof(*diag), INET_DIAG_INFO);
	socket.ulp = nlmsg_find_attr(hdr, sizeof(*diag), INET_DIAG_ULP_INFO);
	dump->fn(&socket, dump->arg);
	return NL_OK;
}

/*
 * A dump's error comes with its end, where libnl doesn't look: -ENOENT if the kernel has no
 * module that lists this protocol's sockets.
 */
static int on_end(struct nl_msg *msg, void *arg)
{
	struct nlmsghdr *hdr = nlmsg_hdr(msg);
	struct dump *dump = arg;
	int err = 0;

	if (nlmsg_valid_hdr(hdr, sizeof(err)))
		memcpy(&err, nlmsg_data(hdr), sizeof(err));
	if (err < 0)
		dump->err = -nl_syserr2nlerr(err);
	return NL_OK;
}

static int dump_family(struct nl_sock *sock, int family, uint32_t protocol, uint32_t states,
		       const void *filter, size_t filter_len)
{
	struct inet_diag_req_v2 request = {
		.sdiag_family = family,
		.sdiag_protocol = protocol,
		/* this also makes the kernel send the ULP's attributes */
		.idiag_ext = 1 << (INET_DIAG_INFO - 1),
		.idiag_states = states,
	};
	struct nl_msg *msg = nlmsg_alloc_simple(SOCK_DIAG_BY_FAMILY, NLM_F_DUMP);
	int err;

	if (!msg)
		return -NLE_NOMEM;
	err = nlmsg_append(msg, &request, sizeof(request), NLMSG_ALIGNTO);
	/* IPPROTO_MPTCP doesn't fit into the 8 bits of sdiag_protocol */
	if (!err && protocol > UINT8_MAX)
		err = nla_put_u32(msg, INET_DIAG_REQ_PROTOCOL, protocol);
	if (!err && filter_len)
		err = nla_put(msg, INET_DIAG_REQ_BYTECODE, filter_len, filter);
	if (!err)
		err = nl_send_auto(sock, msg);
	nlmsg_free(msg);
	return err < 0 ? err : nl_recvmsgs_default(sock);
}

int sockdiag_dump(struct nl_sock *sock, uint32_t protocol, uint32_t states,
		  const void *filter, size_t filter_len, sockdiag_fn fn, void *arg)
{
	struct dump dump = { .fn = fn, .arg = arg };
	int err;

	nl_socket_modify_cb(sock, NL_CB_VALID, NL_CB_CUSTOM, on_socket, &dump);
	nl_socket_modify_cb(sock, NL_CB_FINISH, NL_CB_CUSTOM, on_end, &dump);
	err = dump_family(sock, AF_INET, protocol, states, filter, filter_len);
	if (err >= 0)
		err = dump_family(sock, AF_INET6, protocol, states, filter, filter_len);
	return err < 0 ? err : dump.err;
}

int sockdiag_one(struct nl_sock *sock, uint8_t protocol, const struct sockdiag *which,
		 sockdiag_fn fn, void *arg)
{
	struct inet_diag_req_v2 request = {
		.sdiag_family = which->family,
		.sdiag_protocol = protocol,
		.idiag_ext = 1 << (INET_DIAG_INFO - 1),
		.idiag_states = ~0U,
		.id = {
			.idiag_sport = htons(which->local_port),
			.idiag_dport = htons(which->remote_port),
			.idiag_if = which->ifindex,
			.idiag_cookie = { INET_DIAG_NOCOOKIE, INET_DIAG_NOCOOKIE },
		},
	};
	struct dump dump = { .fn = fn, .arg = arg };
	int err;

	memcpy(request.id.idiag_src, which->local, sizeof(which->local));
	memcpy(request.id.idiag_dst, which->remote, sizeof(which->remote));
	nl_socket_modify_cb(sock, NL_CB_VALID, NL_CB_CUSTOM, on_socket, &dump);
	err = nl_send_simple(sock, SOCK_DIAG_BY_FAMILY, 0, &request, sizeof(request));
	return err < 0 ? err : nl_recvmsgs_default(sock);
}

int sockdiag_watch(struct nl_sock *sock)
{
	int err;

	nl_socket_disable_seq_check(sock);
	err = nl_socket_set_nonblocking(sock);
	err = err ?: nl_socket_add_membership(sock, SKNLGRP_INET_TCP_DESTROY);
	return err ?: nl_socket_add_membership(sock, SKNLGRP_INET6_TCP_DESTROY);
}

int sockdiag_ended(struct nl_sock *sock, sockdiag_fn fn, void *arg)
{
	struct dump dump = { .fn = fn, .arg = arg };
	int err;

	nl_socket_modify_cb(sock, NL_CB_VALID, NL_CB_CUSTOM, on_socket, &dump);
	do
		err = nl_recvmsgs_default(sock);
	while (err >= 0);
	return err == -NLE_AGAIN ? 0 : err;
}

bool sockdiag_opens(int family, int protocol)
{
	int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, protocol);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

bool sockdiag_lacks_ipv6(void)
{
	return sockdiag_opens(AF_INET6, IPPROTO_TCP) && sockdiag_opens(AF_INET, IPPROTO_MPTCP) &&
	       !sockdiag_opens(AF_INET6, IPPROTO_MPTCP);
}

void sockdiag_unmap(int *family, uint8_t address[16])
{
	const struct in6_addr *address6 = (const struct in6_addr *)address;

	if (*family != AF_INET6 || !IN6_IS_ADDR_V4MAPPED(address6))
		return;
	*family = AF_INET;
	memmove(address, address + 12, 4);
	memset(address + 4, 0, 12);
}

bool sockdiag_is_mptcp(const struct nlattr *ulp)
{
	struct nlattr *name = ulp ? nla_find(nla_data(ulp), nla_len(ulp),
					     INET_ULP_INFO_NAME) : NULL;

	return name && !nla_strcmp(name, "mptcp");
}

bool sockdiag_subflow(struct nlattr *ulp, struct sockdiag_subflow *subflow)
{
	struct nlattr *all[INET_ULP_INFO_MAX + 1];
	struct nlattr *mptcp[MPTCP_SUBFLOW_ATTR_MAX + 1];

	if (!ulp || nla_parse_nested(all, INET_ULP_INFO_MAX, ulp, NULL) ||
	    !all[INET_ULP_INFO_MPTCP] ||
	    nla_parse_nested(mptcp, MPTCP_SUBFLOW_ATTR_MAX,
			     all[INET_ULP_INFO_MPTCP], NULL) ||
	    !mptcp[MPTCP_SUBFLOW_ATTR_TOKEN_REM] ||
	    !mptcp[MPTCP_SUBFLOW_ATTR_TOKEN_LOC] ||
	    !mptcp[MPTCP_SUBFLOW_ATTR_ID_LOC] ||
	    !mptcp[MPTCP_SUBFLOW_ATTR_ID_REM])
		return false;
	subflow->remote_token = nla_get_u32(mptcp[MPTCP_SUBFLOW_ATTR_TOKEN_REM]);
	subflow->local_token = nla_get_u32(mptcp[MPTCP_SUBFLOW_ATTR_TOKEN_LOC]);
	subflow->local_id = nla_get_u8(mptcp[MPTCP_SUBFLOW_ATTR_ID_LOC]);
	subflow->remote_id = nla_get_u8(mptcp[MPTCP_SUBFLOW_ATTR_ID_REM]);
	subflow->flags = mptcp[MPTCP_SUBFLOW_ATTR_FLAGS] ?
			 nla_get_u32(mptcp[MPTCP_SUBFLOW_ATTR_FLAGS]) : 0;
	return true;
}
