// SPDX-License-Identifier: GPL-2.0
/*
 * diag - reads the TCP sockets of this machine by sock_diag
 *
 * Used for the subflows of MPTCP (subflows.c) and the connections over a pipe
 * (source_tcp.c).
 */
#include <errno.h>
#include <string.h>

#include <netlink/errno.h>
#include <netlink/netlink.h>
#include <netlink/socket.h>

#include "../../lib/sockdiag.h"
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

static void on_socket(const struct sockdiag *found, void *arg)
{
	struct diag_socket socket = {
		.peer_port = found->remote_port,
		.local_port = found->local_port,
		.ifindex = found->ifindex,
		.opening = found->state == TCP_STATE_SYN_SENT,
		.info = found->info,
		.ulp = found->ulp,
	};
	const struct dump *dump = arg;

	prefix_from(&socket.local, found->family, found->local);
	prefix_from(&socket.peer, found->family, found->remote);
	dump->fn(&socket, dump->arg);
}

static int dump_states(struct nl_sock **sock, unsigned int states, const void *filter,
		       size_t filter_len, diag_fn fn, void *arg)
{
	struct dump dump = { .fn = fn, .arg = arg };
	int err = source_open(sock, NETLINK_SOCK_DIAG);

	if (err)
		return err;
	err = sockdiag_dump(*sock, IPPROTO_TCP, states, filter,
			    filter_len, on_socket, &dump);
	if (!err)
		return 0;
	source_close(sock);
	return -EIO;
}

int diag_one(struct nl_sock **sock, const struct sockdiag *which, diag_fn fn, void *arg)
{
	struct dump dump = { .fn = fn, .arg = arg };
	int err = source_open(sock, NETLINK_SOCK_DIAG);

	if (err)
		return err;
	err = sockdiag_one(*sock, IPPROTO_TCP, which, on_socket, &dump);
	if (!err || err == -NLE_OBJ_NOTFOUND)
		return 0;
	source_close(sock);
	return -EIO;
}

int diag_watch(struct nl_sock **sock)
{
	int err = source_open(sock, NETLINK_SOCK_DIAG);

	if (err)
		return err;
	if (!sockdiag_watch(*sock))
		return nl_socket_get_fd(*sock);
	source_close(sock);
	return -EIO;
}

void diag_ended(struct nl_sock *sock, diag_fn fn, void *arg)
{
	struct dump dump = { .fn = fn, .arg = arg };

	sockdiag_ended(sock, on_socket, &dump);
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
