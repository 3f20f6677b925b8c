/* SPDX-License-Identifier: GPL-2.0 */
/*
 * diag - reads the TCP sockets of this machine by sock_diag
 */
#ifndef PAMSD_DIAG_H
#define PAMSD_DIAG_H

#include <linux/inet_diag.h>

#include "base.h"

struct nlattr;

struct diag_socket {
	struct prefix local, peer;
	uint16_t peer_port, local_port;
	unsigned int ifindex;	/* that it is bound to, or 0 */
	bool opening;		/* the peer hasn't answered yet; else established */
	struct nlattr *info;	/* struct tcp_info, or NULL */
	struct nlattr *ulp;	/* INET_ULP_INFO_*, or NULL: the socket has no ULP */
};

typedef void (*diag_fn)(const struct diag_socket *socket, void *arg);

/*
 * Call fn for each established TCP socket that passes the filter (inet_diag bytecode;
 * length 0: all sockets). Opens *sock unless it is open, and closes it after an error.
 * Returns 0 or -errno.
 */
int diag_established(struct nl_sock **sock, const void *filter,
		     size_t filter_len, diag_fn fn, void *arg);

/* The same for the one socket of these addresses, ports and ifindex. 0 if there is none. */
struct sockdiag;
int diag_one(struct nl_sock **sock, const struct sockdiag *which, diag_fn fn, void *arg);

/* The same for all sockets that are established or being opened. */
int diag_open(struct nl_sock **sock, diag_fn fn, void *arg);

/* Watch for sockets that end. Returns the descriptor that tells of them, or -errno. */
int diag_watch(struct nl_sock **sock);
/* Call fn for each that has ended since. */
void diag_ended(struct nl_sock *sock, diag_fn fn, void *arg);

#endif /* PAMSD_DIAG_H */
