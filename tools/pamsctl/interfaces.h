/* SPDX-License-Identifier: GPL-2.0 */
/* interfaces - this network namespace's interfaces, their addresses and default routes */
#ifndef PAMSCTL_INTERFACES_H
#define PAMSCTL_INTERFACES_H

#include <net/if.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "way.h"

struct own_address {
	int family;		/* AF_INET or AF_INET6 */
	uint8_t bytes[16];	/* the first 4 for AF_INET */
	uint8_t length;		/* of the network's prefix, in bits */
	uint32_t flags;		/* IFA_F_ */
	bool link_local;
};

struct default_route {
	int family;
	uint32_t table;
	struct way way;
};

struct interface {
	unsigned int ifindex;
	char name[IF_NAMESIZE];
	uint32_t flags;		/* IFF_ */
	uint32_t mtu;
	bool port;		/* of a bridge, a bond or a VRF */
	char kind[16];		/* of what software made: "bridge", "vlan"; of a device "" */
	bool dormant;		/* waits, as for the network's authentication */
	struct own_address *addresses;
	size_t count;
};

struct interfaces {
	struct interface *at;
	size_t count;
	struct default_route *routes;
	size_t route_count;
};

/* Returns 0 or libnl's error. The caller calls interfaces_free() in any case. */
int interfaces_read(struct interfaces *interfaces);
void interfaces_free(struct interfaces *interfaces);

/* NULL: no interface here has the address. "bound" comes first if it has it. */
const struct interface *interface_with(const struct interfaces *interfaces, int family,
				       const uint8_t *address, unsigned int bound);
const struct interface *interface_at(const struct interfaces *interfaces, unsigned int ifindex);

#endif /* PAMSCTL_INTERFACES_H */
