/* SPDX-License-Identifier: GPL-2.0 */
/* way - how packets leave this machine (route.c) */
#ifndef PAMSCTL_WAY_H
#define PAMSCTL_WAY_H

#include <stdbool.h>
#include <stdint.h>

struct nl_sock;
struct nlattr;

/* The routing table that is advised for a link: this and its number, which no other link has. */
#define OWN_TABLE	1000

struct way {
	unsigned int ifindex;	/* 0: there is none */
	int gateway_family;	/* AF_UNSPEC: without a gateway, as over PPP */
	uint8_t gateway[16];
	uint8_t source[16];	/* the address that packets get which have none */
};

/*
 * How packets to the rest of the world leave that are sent from that address (NULL: from any)
 * by a socket that is bound to the interface "bound" (0: to none). sock is connected to
 * NETLINK_ROUTE. Returns 0 or libnl's error.
 */
int way_out(struct nl_sock *sock, int family, const void *from, uint32_t bound, struct way *way);

/* The interface through which packets to an address leave; 0: through none. */
unsigned int way_to(struct nl_sock *sock, int family, const void *to, const void *from);

/* Does this machine forward that family's packets which come in through the interface? */
bool way_forwards(int family, const char *name);

/* Take the gateway of a route from its RTA_GATEWAY or RTA_VIA, each of which may be NULL. */
void way_gateway(struct way *way, int family, const struct nlattr *gateway,
		 const struct nlattr *via);

#endif /* PAMSCTL_WAY_H */
