/* SPDX-License-Identifier: GPL-2.0 */
/* manager - what the kernel's path manager is told: endpoints and limits */
#ifndef PAMSCTL_MANAGER_H
#define PAMSCTL_MANAGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct endpoint {
	int family;		/* AF_UNSPEC: the kernel gave no address */
	uint8_t address[16];	/* the first 4 bytes for AF_INET */
	uint8_t id;
	uint32_t flags;		/* MPTCP_PM_ADDR_FLAG_ */
	uint32_t ifindex;	/* of its subflows; 0: as the routes say */
};

struct manager {
	bool has_limits;
	uint32_t subflows;	/* at most, per connection, besides the first */
	uint32_t accepted;	/* announced addresses of the peer, at most */
	struct endpoint *endpoints;
	size_t count;
	int endpoints_error;	/* of libnl: why these can't be read; 0: they were */
};

/* Returns NULL, or a text that says why the path manager can't be asked. */
const char *manager_read(struct manager *manager);
void manager_free(struct manager *manager);

#endif /* PAMSCTL_MANAGER_H */
