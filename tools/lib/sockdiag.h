/* SPDX-License-Identifier: GPL-2.0 */
/*
 * sockdiag - reads this network namespace's TCP and MPTCP sockets by sock_diag
 */
#ifndef PAMS_SOCKDIAG_H
#define PAMS_SOCKDIAG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct nl_sock;
struct nlattr;

struct sockdiag {
	uint8_t state;
	int family;		/* of the socket: AF_INET6 may have IPv4-mapped addresses */
	uint8_t local[16];	/* the first 4 bytes for AF_INET */
	uint8_t remote[16];
	uint16_t local_port;
	uint16_t remote_port;
	uint32_t ifindex;	/* the socket is bound to this interface; 0: to none */
	uint32_t inode;		/* 0: no process has it */
	struct nlattr *info;	/* struct tcp_info or mptcp_info, or NULL */
	struct nlattr *ulp;	/* INET_ULP_INFO_*; NULL: none, or none to be told */
};

typedef void (*sockdiag_fn)(const struct sockdiag *socket, void *arg);

/*
 * Call fn for each socket of the protocol, IPPROTO_TCP or IPPROTO_MPTCP, that has one of the
 * states (bits, 1 << TCP_LISTEN and so on) and passes the filter (inet_diag bytecode; length 0:
 * none). The socket sock is connected to NETLINK_SOCK_DIAG. Returns 0 or libnl's error.
 */
int sockdiag_dump(struct nl_sock *sock, uint32_t protocol, uint32_t states,
		  const void *filter, size_t filter_len, sockdiag_fn fn, void *arg);

/* Call fn for the socket with the family, addresses, ports and ifindex of which. Likewise. */
int sockdiag_one(struct nl_sock *sock, uint8_t protocol, const struct sockdiag *which,
		 sockdiag_fn fn, void *arg);

/*
 * Subscribe to the TCP sockets that end, of both families, and call fn for each that has since.
 * The socket sock is connected to NETLINK_SOCK_DIAG, and for nothing else. Return 0 or libnl's
 * error; where nothing came, too.
 */
int sockdiag_watch(struct nl_sock *sock);
int sockdiag_ended(struct nl_sock *sock, sockdiag_fn fn, void *arg);

/* Does this kernel open sockets of that family (AF_) and protocol (IPPROTO_)? */
bool sockdiag_opens(int family, int protocol);
/* Has its MPTCP no IPv6, though TCP has? As Raspberry Pi OS's. */
bool sockdiag_lacks_ipv6(void);

/* Make AF_INET of an IPv4-mapped address of AF_INET6. */
void sockdiag_unmap(int *family, uint8_t address[16]);

/* What a subflow is to its MPTCP connection. */
struct sockdiag_subflow {
	uint32_t local_token;	/* what ss -M shows */
	uint32_t remote_token;	/* of the peer; 0: the first subflow doesn't know it */
	uint8_t local_id;
	uint8_t remote_id;
	uint32_t flags;		/* MPTCP_SUBFLOW_FLAG_ */
};

/* Is the ULP of a TCP socket MPTCP's? */
bool sockdiag_is_mptcp(const struct nlattr *ulp);
/* Returns false if it isn't, or if the kernel doesn't tell more. */
bool sockdiag_subflow(struct nlattr *ulp, struct sockdiag_subflow *subflow);

#endif /* PAMS_SOCKDIAG_H */
