// SPDX-License-Identifier: GPL-2.0
/*
 * links_look - looks at this machine's links, and judges whether MPTCP can use them
 *
 * A link is an interface that has an address with which packets can leave this machine, or
 * could have one: a port of a bridge isn't, nor is a tunnel that is switched off. It is
 * judged by its best address.
 */
#include <errno.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <netlink/errno.h>
#include <netlink/netlink.h>
#include <netlink/socket.h>

#include <linux/if_addr.h>
#include <linux/rtnetlink.h>

#include "links.h"
#include "pamsctl.h"
#include "sockdiag.h"

/* IFF_LOWER_UP of <linux/if.h>, which <net/if.h> doesn't have */
#define LOWER_UP	0x10000

struct look {
	struct outlook *outlook;
	struct nl_sock *sock;	/* for routes */
	struct way begins[2];	/* of IPv4, IPv6: where the routes let a connection begin */
};

/* --- verdicts --- */

static void judge(struct verdict *verdict, enum link_state state, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static void judge(struct verdict *verdict, enum link_state state, const char *format, ...)
{
	va_list args;

	verdict->state = state;
	va_start(args, format);
	vsnprintf(verdict->why, sizeof(verdict->why), format, args);
	va_end(args);
}

static void fix(struct verdict *verdict, unsigned int nr, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static void fix(struct verdict *verdict, unsigned int nr, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(verdict->fix[nr], sizeof(verdict->fix[nr]), format, args);
	va_end(args);
}

/* The endpoint of that address: the kernel takes one for an address, whatever its device is. */
static const struct endpoint *endpoint_at(const struct manager *manager,
					  const struct own_address *own)
{
	for (size_t i = 0; i < manager->count; i++)
		if (manager->endpoints[i].family == own->family &&
		    !memcmp(manager->endpoints[i].address, own->bytes, sizeof(own->bytes)))
			return &manager->endpoints[i];
	return NULL;
}

/* The same, unless another interface has it. */
static const struct endpoint *endpoint_of(const struct manager *manager,
					  const struct own_address *own,
					  const struct interface *interface)
{
	const struct endpoint *endpoint = endpoint_at(manager, own);

	return endpoint && endpoint->ifindex && endpoint->ifindex != interface->ifindex ?
	       NULL : endpoint;
}

/* A default route of the interface in whatever table, the one that the lowest table has. */
static const struct default_route *own_route(const struct interfaces *interfaces,
					     unsigned int ifindex, int family)
{
	const struct default_route *found = NULL;

	for (size_t i = 0; i < interfaces->route_count; i++) {
		const struct default_route *route = &interfaces->routes[i];

		if (route->family == family && route->way.ifindex == ifindex &&
		    (!found || route->table < found->table))
			found = route;
	}
	return found;
}

bool names_address(const struct first *first, const struct link *link,
		   const struct link_address *address)
{
	return first->family == address->own->family &&
	       !memcmp(first->source, address->own->bytes, first->family == AF_INET ? 4 : 16) &&
	       !strncmp(first->device, link->interface->name, sizeof(first->device));
}

/* Does a connection to somewhere begin on this address? */
static bool begins_here(const struct outlook *outlook, const struct link *link,
			const struct link_address *address)
{
	bool by_routes = address->by_routes;

	for (int i = 0; i < outlook->first_count; i++) {
		if (names_address(&outlook->first[i], link, address))
			return true;
		/* the routes have no say */
		if (!outlook->first[i].length &&
		    outlook->first[i].family == address->own->family)
			by_routes = false;
	}
	return by_routes;
}

/* One address of a family with an endpoint will do: no connection needs a second one here. */
static bool family_has_endpoint(const struct outlook *outlook, const struct link *link,
				int family)
{
	for (size_t i = 0; i < link->interface->count; i++)
		if (link->interface->addresses[i].family == family &&
		    endpoint_of(&outlook->manager, &link->interface->addresses[i],
				link->interface))
			return true;
	return false;
}

/* Without its device a subflow goes as the main table says: the endpoint is to have it. */
static void fix_endpoint(struct link_address *address, const char *text, const char *dev)
{
	if (!address->endpoint)
		return;
	fix(&address->verdict, 0, "ip mptcp endpoint delete id %u", address->endpoint->id);
	fix(&address->verdict, 1, "ip mptcp endpoint add %s dev %s subflow", text, dev);
}

static void judge_route(const struct look *look, const struct link *link,
			struct link_address *address, unsigned int leaves)
{
	const struct interface *interface = link->interface;
	const struct default_route *route = own_route(&look->outlook->interfaces,
						      interface->ifindex, address->own->family);
	const char *six = address->own->family == AF_INET ? "" : "-6 ";
	char text[INET6_ADDRSTRLEN], other[IF_NAMESIZE];

	show_address(text, address->own->family, address->own->bytes);
	if (!route) {
		judge(&address->verdict, LINK_NO_ROUTE, "no default route leads out through it%s",
		      way_forwards(address->own->family, interface->name) ?
		      ", and none should if this machine serves a LAN, containers or guests there" :
		      "");
		fix(&address->verdict, 0, "ip %srule add from %s table %u", six, text,
		    OWN_TABLE + interface->ifindex);
		fix(&address->verdict, 1, "ip %sroute add default via GATEWAY dev %s table %u",
		    six, interface->name, OWN_TABLE + interface->ifindex);
		return;
	}
	address->way = route->way;
	if (leaves)
		judge(&address->verdict, LINK_WRONG_ROUTE, "packets from %s leave through %s", text,
		      show_interface(other, leaves));
	else
		judge(&address->verdict, LINK_WRONG_ROUTE, "packets from %s find no route", text);
	if (route->table != RT_TABLE_MAIN)
		fix(&address->verdict, 0, "ip %srule add from %s table %u", six, text,
		    route->table);
	else
		fix_endpoint(address, text, interface->name);
}

static void judge_endpoint(const struct outlook *outlook, const struct link *link,
			   struct link_address *address, const char *text)
{
	const struct endpoint *others = endpoint_at(&outlook->manager, address->own);
	char name[IF_NAMESIZE];

	if (others) {
		judge(&address->verdict, LINK_NO_ENDPOINT,
		      "no subflow joins over it: MPTCP takes one endpoint for an address, and "
		      "%s has it", show_interface(name, others->ifindex));
		return;
	}
	if (address->own->family == AF_INET6 && sockdiag_lacks_ipv6()) {
		judge(&address->verdict, LINK_NO_ENDPOINT, "no subflow joins over it: this "
		      "kernel's MPTCP has no IPv6");
		return;
	}
	judge(&address->verdict, LINK_NO_ENDPOINT, "no subflow joins over it");
	fix(&address->verdict, 0, "ip mptcp endpoint add %s dev %s subflow", text,
	    link->interface->name);
}

static void judge_address(const struct look *look, const struct link *link,
			  struct link_address *address)
{
	const struct outlook *outlook = look->outlook;
	const struct own_address *own = address->own;
	unsigned int ifindex = link->interface->ifindex;
	char text[INET6_ADDRSTRLEN];
	bool begins;
	int err;

	show_address(text, own->family, own->bytes);
	if (own->link_local) {
		judge(&address->verdict, LINK_NO_ADDRESS, "it has none but a link-local one");
		return;
	}
	if (own->flags & (IFA_F_TENTATIVE | IFA_F_DADFAILED)) {
		judge(&address->verdict, LINK_NO_ADDRESS, own->flags & IFA_F_DADFAILED ?
		      "another host has %s, too" : "it is being checked if %s is free", text);
		return;
	}
	/* subflows of an endpoint with a device are bound to it; so is what first names */
	err = way_out(look->sock, own->family, own->bytes,
		      address->endpoint && !address->endpoint->ifindex ? 0 : ifindex,
		      &address->way);
	if (err || address->way.ifindex != ifindex) {
		unsigned int leaves = err ? 0 : address->way.ifindex;

		memset(&address->way, 0, sizeof(address->way));
		judge_route(look, link, address, leaves);
		return;
	}
	begins = begins_here(outlook, link, address);
	if (!outlook->manages || begins)
		return;
	if (outlook->endpoints_known && !family_has_endpoint(outlook, link, own->family)) {
		judge_endpoint(outlook, link, address, text);
	} else if (outlook->manager.has_limits && !outlook->manager.subflows) {
		judge(&address->verdict, LINK_NO_SUBFLOWS, "the limit of further subflows is 0");
		fix(&address->verdict, 0, "ip mptcp limits set subflows 2");
	}
}

static void judge_link(const struct look *look, struct link *link)
{
	const struct interface *interface = link->interface;
	struct verdict *verdict = &link->verdict;

	if (!(interface->flags & IFF_UP)) {
		judge(verdict, LINK_DOWN, "it is switched off");
		fix(verdict, 0, "ip link set %s up", interface->name);
	} else if (!(interface->flags & LOWER_UP)) {
		judge(verdict, LINK_NO_CARRIER,
		      "no cable is plugged in, or no network is in reach");
	} else if (interface->dormant) {
		judge(verdict, LINK_NO_CARRIER, "the network hasn't let it in yet");
	} else {
		judge(verdict, LINK_NO_ADDRESS, "neither DHCP nor anybody else gave it one");
		for (size_t i = 0; i < interface->count; i++) {
			struct link_address *address = &link->addresses[i];

			judge_address(look, link, address);
			if (address->dead && address->verdict.state == LINK_READY)
				judge(&address->verdict, LINK_DEAD,
				      "connections over it go unanswered, as pamsd sees them");
			if (!(address->own->flags & IFA_F_DEPRECATED) &&
			    (address->verdict.state < verdict->state ||
			     verdict->state == LINK_NO_ADDRESS))
				*verdict = address->verdict;
		}
	}
	if (link->has_loss && link->loss_ms <= 0 && verdict->state == LINK_READY)
		judge(verdict, LINK_LOST, "the path over it was reported lost");
}

/* --- what there is --- */

static bool is_shown(const struct interface *one, const char *name)
{
	if (name)
		return !strcmp(one->name, name);
	if (one->flags & IFF_LOOPBACK)
		return false;
	for (size_t i = 0; i < one->count; i++)
		if (!one->addresses[i].link_local)
			return true;
	return !one->port && (one->flags & IFF_UP || !*one->kind);
}

static int add_link(struct look *look, const struct interface *interface)
{
	struct outlook *outlook = look->outlook;
	struct link *link = reallocarray(outlook->links, outlook->count + 1, sizeof(*link));

	if (!link)
		return -NLE_NOMEM;
	outlook->links = link;
	link += outlook->count++;
	memset(link, 0, sizeof(*link));
	link->interface = interface;
	link->addresses = calloc(interface->count + 1, sizeof(*link->addresses));
	if (!link->addresses)
		return -NLE_NOMEM;
	for (size_t i = 0; i < interface->count; i++) {
		struct link_address *address = &link->addresses[i];
		const struct way *begins;

		address->own = &interface->addresses[i];
		address->endpoint = endpoint_of(&outlook->manager, address->own, interface);
		begins = &look->begins[address->own->family == AF_INET6];
		address->by_routes = begins->ifindex == interface->ifindex &&
				     !memcmp(begins->source, address->own->bytes, 16);
	}
	return 0;
}

static struct link *link_at(struct outlook *outlook, unsigned int ifindex)
{
	for (size_t i = 0; i < outlook->count; i++)
		if (outlook->links[i].interface->ifindex == ifindex)
			return &outlook->links[i];
	return NULL;
}

static int take_path(const struct pams_path *path, void *arg)
{
	struct outlook *outlook = arg;
	struct link *link;

	if (path->key != PAMS_KEY_IFINDEX)
		return 0;
	link = link_at(outlook, path->ifindex);
	if (!link)
		return 0;
	if (path->has_cost)
		link->cost = path->cost;
	link->has_loss = path->has_loss;
	link->loss_ms = path->loss_ms;
	return 0;
}

/* Costs and losses, as the module knows them. */
static void take_paths(struct outlook *outlook)
{
	struct pams_nl *nl = NULL;

	if (!pams_nl_open(&nl) && pams_nl_path_dump(nl, take_path, outlook) >= 0)
		for (size_t i = 0; i < outlook->count; i++)
			outlook->links[i].has_cost = true;
	pams_nl_close(nl);
}

static void take_first(struct outlook *outlook)
{
	outlook->first = calloc(2 * FIRST_MAX, sizeof(*outlook->first));
	outlook->first_count = outlook->first ? first_read(outlook->first, 2 * FIRST_MAX) : -ENOMEM;
}

static bool kernel_manages(void)
{
	FILE *f = fopen("/proc/sys/net/mptcp/pm_type", "re");
	int type = 0;

	if (f && fscanf(f, "%d", &type) != 1)
		type = 0;
	if (f)
		fclose(f);
	return !type;
}

/* --- what goes over them --- */

/* The interface that has the flow's address, or that it is bound to; 0: there is none. */
static unsigned int owner_of_flow(const struct interfaces *interfaces, const struct flow *flow)
{
	const struct interface *one = interface_with(interfaces, flow->family, flow->local,
						     flow->bound);

	return one && !(one->flags & IFF_LOOPBACK) ? one->ifindex : flow->bound;
}

/* Of an address that the whole machine has, or that is gone: the way to the peer. */
static unsigned int way_of_flow(const struct interfaces *interfaces, struct nl_sock *sock,
				const struct flow *flow)
{
	const struct interface *one = interface_with(interfaces, flow->family, flow->local, 0);

	return way_to(sock, flow->family, flow->remote, one ? flow->local : NULL);
}

static struct nl_sock *open_routes(void)
{
	struct nl_sock *sock = nl_socket_alloc();

	if (sock && !nl_connect(sock, NETLINK_ROUTE))
		return sock;
	nl_socket_free(sock);
	return NULL;
}

void flows_place(struct flows *flows, const struct interfaces *interfaces)
{
	struct nl_sock *sock = NULL;

	for (size_t i = 0; i < flows->count; i++) {
		struct flow *flow = &flows->at[i];

		flow->ifindex = owner_of_flow(interfaces, flow);
		if (flow->ifindex)
			continue;
		sock = sock ?: open_routes();
		if (sock)
			flow->ifindex = way_of_flow(interfaces, sock, flow);
	}
	nl_socket_free(sock);
}

static uint32_t lower(uint32_t one, uint32_t other)
{
	return !one || (other && other < one) ? other : one;
}

/*
 * The delivery rates of those that send now add up; where none does it is the highest that one
 * had, since they had it at different times.
 */
static void add_flow(struct link *link, const struct flow *flow)
{
	struct flow *sum = &link->sum;

	link->subflows++;
	if (flow->busy && sum->busy)
		sum->rate_byteps += flow->rate_byteps;
	else if (flow->busy || (!sum->busy && flow->rate_byteps > sum->rate_byteps))
		sum->rate_byteps = flow->rate_byteps;
	sum->busy |= flow->busy;
	sum->srtt_us = lower(sum->srtt_us, flow->srtt_us);
	sum->min_rtt_us = lower(sum->min_rtt_us, flow->min_rtt_us);
	sum->sent_bytes += flow->sent_bytes;
	sum->received_bytes += flow->received_bytes;
	sum->measured |= flow->measured;
	sum->sending_byteps += flow->sending_byteps;
	sum->receiving_byteps += flow->receiving_byteps;
}

static void take_flows(struct outlook *outlook, uint64_t interval_us)
{
	outlook->flows_error = flows_measure(&outlook->flows, interval_us);
	flows_place(&outlook->flows, &outlook->interfaces);
	for (size_t i = 0; i < outlook->flows.count; i++) {
		const struct flow *flow = &outlook->flows.at[i];
		struct link *link = link_at(outlook, flow->ifindex);

		if (link)
			add_flow(link, flow);
	}
}

int outlook_take(struct outlook *outlook, const char *name, uint64_t interval_us)
{
	struct look look = { .outlook = outlook };
	int err;

	memset(outlook, 0, sizeof(*outlook));
	err = interfaces_read(&outlook->interfaces);
	if (err)
		return err;
	look.sock = open_routes();
	if (!look.sock)
		return -NLE_NOMEM;
	outlook->manages = kernel_manages();
	outlook->endpoints_known = !manager_read(&outlook->manager) &&
				   !outlook->manager.endpoints_error;
	way_out(look.sock, AF_INET, NULL, 0, &look.begins[0]);
	way_out(look.sock, AF_INET6, NULL, 0, &look.begins[1]);
	take_first(outlook);
	for (size_t i = 0; !err && i < outlook->interfaces.count; i++)
		if (is_shown(&outlook->interfaces.at[i], name))
			err = add_link(&look, &outlook->interfaces.at[i]);
	if (!err && links_ask_pamsd(outlook))
		err = -NLE_NOMEM;
	if (!err) {
		take_paths(outlook);
		take_flows(outlook, interval_us);
		for (size_t i = 0; i < outlook->count; i++)
			judge_link(&look, &outlook->links[i]);
	}
	nl_socket_free(look.sock);
	return err;
}

void outlook_free(struct outlook *outlook)
{
	for (size_t i = 0; i < outlook->count; i++)
		free(outlook->links[i].addresses);
	free(outlook->links);
	free(outlook->first);
	flows_free(&outlook->flows);
	manager_free(&outlook->manager);
	interfaces_free(&outlook->interfaces);
}
