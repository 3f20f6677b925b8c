// SPDX-License-Identifier: GPL-2.0
/*
 * diag - reads the TCP sockets of this machine by sock_diag
 *
 * Used for the subflows of MPTCP (subflows.c) and the connections over a pipe
 * (source_tcp.c).
 */
#include <errno.h>
#include <string.h>

#include <linux/sock_diag.h>
#include <netlink/attr.h>
#include <netlink/errno.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>
#include <netlink/socket.h>

#include "diag.h"

#define TCP_STATE_ESTABLISHED	1
#define TCP_STATE_SYN_SENT	2

/* The callback for each socket of a dump. */
struct dump {
	diag_fn fn;
	void *arg;
};

/* Make a host prefix of an address; IPv4-mapped IPv6 addresses become IPv4. */
static void prefix_from(struct prefix *prefix, int family, const void *address)
{
	const struct in6_addr *address6 = address;

	memset(prefix, 0, sizeof(*prefix));
	if (family == AF_INET6 && IN6_IS_ADDR_V4MAPPED(address6)) {
		family = AF_INET;
		address = &address6->s6_addr[12];
	}
	prefix->family = family;
	prefix->len = family == AF_INET ? 32 : 128;
	memcpy(prefix->address, address, prefix->len / 8);
}

static int on_socket(struct nl_msg *msg, void *arg)
{
	struct nlmsghdr *hdr = nlmsg_hdr(msg);
	struct inet_diag_msg *diag = nlmsg_data(hdr);
	struct diag_socket socket = { };
	const struct dump *dump = arg;

	if (hdr->nlmsg_type != SOCK_DIAG_BY_FAMILY ||
	    !nlmsg_valid_hdr(hdr, sizeof(*diag)))
		return NL_OK;
	prefix_from(&socket.local, diag->idiag_family, diag->id.idiag_src);
	prefix_from(&socket.peer, diag->idiag_family, diag->id.idiag_dst);
	socket.peer_port = ntohs(diag->id.idiag_dport);
	socket.local_port = ntohs(diag->id.idiag_sport);
	socket.opening = diag->idiag_state == TCP_STATE_SYN_SENT;
	socket.info = nlmsg_find_attr(hdr, sizeof(*diag), INET_DIAG_INFO);
	socket.ulp = nlmsg_find_attr(hdr, sizeof(*diag), INET_DIAG_ULP_INFO);
	dump->fn(&socket, dump->arg);
	return NL_OK;
}

static int dump_family(struct nl_sock *sock, int family, unsigned int states,
		       const void *filter, size_t filter_len)
{
	struct inet_diag_req_v2 req = {
		.sdiag_family = family,
		.sdiag_protocol = IPPROTO_TCP,
		/* this also makes the kernel send the ULP's attributes */
		.idiag_ext = 1 << (INET_DIAG_INFO - 1),
		.idiag_states = states,
	};
	struct nl_msg *msg = nlmsg_alloc_simple(SOCK_DIAG_BY_FAMILY,
						NLM_F_DUMP);
	int err;

	if (!msg)
		return -NLE_NOMEM;
	err = nlmsg_append(msg, &req, sizeof(req), NLMSG_ALIGNTO);
	if (!err && filter_len)
		err = nla_put(msg, INET_DIAG_REQ_BYTECODE, filter_len, filter);
	if (!err)
		err = nl_send_auto(sock, msg);
	nlmsg_free(msg);
	return err < 0 ? err : nl_recvmsgs_default(sock);
}

static int dump_states(struct nl_sock **sock, unsigned int states, const void *filter,
		       size_t filter_len, diag_fn fn, void *arg)
{
	struct dump dump = { .fn = fn, .arg = arg };
	int err = source_open(sock, NETLINK_SOCK_DIAG);

	if (err)
		return err;
	nl_socket_modify_cb(*sock, NL_CB_VALID, NL_CB_CUSTOM, on_socket, &dump);
	err = dump_family(*sock, AF_INET, states, filter, filter_len);
	if (err >= 0)
		err = dump_family(*sock, AF_INET6, states, filter, filter_len);
	if (err >= 0)
		return 0;
	source_close(sock);
	return -EIO;
}

int diag_established(struct nl_sock **sock, const void *filter,
		     size_t filter_len, diag_fn fn, void *arg)
{
	return dump_states(sock, 1 << TCP_STATE_ESTABLISHED, filter, filter_len, fn, arg);
}

int diag_open(struct nl_sock **sock, diag_fn fn, void *arg)
{
	return dump_states(sock, 1 << TCP_STATE_ESTABLISHED | 1 << TCP_STATE_SYN_SENT,
			   NULL, 0, fn, arg);
}
