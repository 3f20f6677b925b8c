/* SPDX-License-Identifier: GPL-2.0 */
/*
 * diag - the TCP sockets of this machine, as sock_diag tells of them
 */
#ifndef PAMSD_DIAG_H
#define PAMSD_DIAG_H

#include <linux/inet_diag.h>

#include "pamsd.h"

struct nlattr;

struct diag_socket {
	struct prefix local, peer;
	uint16_t peer_port;
	struct nlattr *info;	/* struct tcp_info, or NULL */
	struct nlattr *ulp;	/* INET_ULP_INFO_*, or NULL: it has none */
};

typedef void (*diag_fn)(const struct diag_socket *socket, void *arg);

/*
 * Call fn for each established TCP socket that the filter lets pass (inet_diag's
 * bytecode; length 0: all). *sock is opened unless it is open, and closed after
 * an error. 0 or -errno.
 */
int diag_established(struct nl_sock **sock, const void *filter,
		     size_t filter_len, diag_fn fn, void *arg);

#endif /* PAMSD_DIAG_H */
