// SPDX-License-Identifier: GPL-2.0
/* endpoints - judges the endpoints and limits of the in-kernel path manager */
#include <inttypes.h>
#include <net/if.h>
#include <sys/socket.h>

#include <netlink/errno.h>

#include <linux/mptcp.h>

#include "manager.h"
#include "pamsctl.h"

static void add_flags(char *text, size_t room, uint32_t flags)
{
	snprintf(text, room, "%s%s%s%s%s",
		 flags & MPTCP_PM_ADDR_FLAG_SUBFLOW ? " subflow" : "",
		 flags & MPTCP_PM_ADDR_FLAG_SIGNAL ? " signal" : "",
		 flags & MPTCP_PM_ADDR_FLAG_BACKUP ? " backup" : "",
		 flags & MPTCP_PM_ADDR_FLAG_FULLMESH ? " fullmesh" : "",
		 flags & MPTCP_PM_ADDR_FLAG_IMPLICIT ? " implicit" : "");
}

static void look_at(json_t *list, const struct endpoint *endpoint)
{
	char address[64] = "?", flags[64] = "", dev[IF_NAMESIZE] = "";

	if (endpoint->family)
		show_address(address, endpoint->family, endpoint->address);
	if (endpoint->ifindex)
		show_interface(dev, endpoint->ifindex);
	add_flags(flags, sizeof(flags), endpoint->flags);
	finding(list, FINE, "endpoint", NULL, "%s%s%s%s", address,
		dev[0] ? " dev " : "", dev, flags);
	if (endpoint->family && endpoint->flags & (MPTCP_PM_ADDR_FLAG_SUBFLOW |
						   MPTCP_PM_ADDR_FLAG_SIGNAL))
		look_at_address(list, endpoint->family, endpoint->address, endpoint->ifindex,
				endpoint->flags & MPTCP_PM_ADDR_FLAG_SIGNAL);
}

static unsigned int for_subflows(const struct manager *manager)
{
	unsigned int count = 0;

	for (size_t i = 0; i < manager->count; i++)
		count += !!(manager->endpoints[i].flags & MPTCP_PM_ADDR_FLAG_SUBFLOW);
	return count;
}

static void judge(json_t *list, const struct manager *manager)
{
	if (manager->has_limits)
		finding(list, manager->subflows ? FINE : NOTE,
			"limits", manager->subflows ? NULL :
			OR_UP "ip mptcp limits set subflows 2",
			"%" PRIu32 " subflows besides the first, %" PRIu32
			" of them to addresses that the peer announced",
			manager->subflows, manager->accepted);
	if (manager->endpoints_error)
		finding(list, NOTE, "endpoints", "run it as root",
			"the endpoints can't be read: %s",
			nl_geterror(manager->endpoints_error));
	else if (!for_subflows(manager))
		finding(list, NOTE, "endpoints",
			OR_UP "ip mptcp endpoint add ADDRESS dev INTERFACE subflow",
			"%zu, none of them for subflows: connections from here "
			"keep to one path, unless the server announces another "
			"address",
			manager->count);
}

void look_at_endpoints(json_t *list)
{
	struct manager manager;
	const char *why = manager_read(&manager);

	for (size_t i = 0; i < manager.count; i++)
		look_at(list, &manager.endpoints[i]);
	if (why)
		finding(list, BAD, "endpoints", NULL, "%s", why);
	else
		judge(list, &manager);
	manager_free(&manager);
}
