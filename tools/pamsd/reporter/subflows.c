// SPDX-License-Identifier: GPL-2.0
/*
 * subflows - this machine's MPTCP connections and their subflows
 *
 * A dump by sock_diag gives them all: of each TCP socket that is a subflow its
 * addresses and, with CAP_NET_ADMIN, the connection's tokens and the address ids of
 * both sides. The peer's token identifies the connection in the server's kernel, even
 * behind NAT. Only subflows that this machine joined have it; the kernel gives 0 for the
 * first subflow. A connection with only one subflow has no choice of paths.
 *
 * From then on the path manager's events tell what changes. They lack the peer's token:
 * of a subflow that has joined, sock_diag is asked for this one socket. If events were
 * lost there is another dump, and if there was no room for all once there is some.
 *
 * A subflow belongs to the interface that has its local address, and of several to the one that
 * it is bound to. If no interface has the address any more, the one that had it last counts.
 */
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <event2/event.h>
#include <netlink/genl/ctrl.h>
#include <netlink/genl/genl.h>

#include <linux/mptcp.h>

#include "../../lib/genl.h"
#include "../../lib/sockdiag.h"
#include "../base/diag.h"
#include "links.h"

#define BUCKETS		4096
#define OWNERS_MAX	256
#define ROOM_AGAIN	(CONNECTIONS_MAX / 8)	/* for those that were left out: dumps are dear */
#define EVENTS_BYTES	1048576

LIST_HEAD(mptcp_conns, mptcp_conn);

/* The interface that has an address, or had it last; several may, as of modems of one make. */
struct owner {
	struct prefix address;
	unsigned int ifindex;	/* that subflows with the address are bound to; 0: to none */
	char name[IF_NAMESIZE];
	unsigned int uses;	/* how many subflows use it */
};

static struct mptcp_conns table[BUCKETS];
static unsigned int connection_count;
static struct nl_sock *sock;	/* to sock_diag */
static struct nl_sock *events;	/* the path manager's; NULL: there are none */
static struct event *event;
static bool missed;		/* events were lost, or not received from the beginning */
static bool left_out;		/* there was no room for a connection */
static void (*on_ready)(void *arg);
static connection_fn on_change;
static void *on_change_arg;
static struct owner owners[OWNERS_MAX];
static unsigned int owner_next;

/* --- interfaces --- */

static struct owner *owner_of(const struct subflow *subflow)
{
	for (unsigned int i = 0; i < OWNERS_MAX; i++)
		if (owners[i].ifindex == subflow->ifindex &&
		    !memcmp(&owners[i].address, &subflow->local, sizeof(subflow->local)))
			return &owners[i];
	return NULL;
}

/* A place that no subflow uses, and if there is none any. */
static struct owner *new_owner(const struct subflow *subflow)
{
	struct owner *owner;

	for (unsigned int i = 0; i < OWNERS_MAX; i++) {
		owner = &owners[owner_next++ % OWNERS_MAX];
		if (!owner->uses)
			break;
	}
	memset(owner, 0, sizeof(*owner));
	owner->address = subflow->local;
	owner->ifindex = subflow->ifindex;
	return owner;
}

static void use(const struct subflow *subflow)
{
	struct owner *owner = owner_of(subflow) ?: new_owner(subflow);

	owner->uses++;
}

static void leave(const struct subflow *subflow)
{
	struct owner *owner = owner_of(subflow);

	if (owner && owner->uses)
		owner->uses--;
}

/* That interface has the address: what subflows are bound to may be a VRF, which has none. */
static void learn_owner(const struct prefix *address, const char *name)
{
	for (unsigned int i = 0; i < OWNERS_MAX; i++) {
		struct owner *owner = &owners[i];

		if (!memcmp(&owner->address, address, sizeof(*address)) &&
		    (!owner->ifindex || !*owner->name || owner->ifindex == if_nametoindex(name)))
			snprintf(owner->name, sizeof(owner->name), "%s", name);
	}
}

/* Find the interfaces of the subflows' addresses; this machine may have many other addresses. */
static void learn_owners(void)
{
	struct ifaddrs *list, *entry;
	struct prefix address;

	if (addresses_read(&list))
		return;
	for (entry = list; entry; entry = entry->ifa_next) {
		if (!entry->ifa_addr ||
		    (entry->ifa_addr->sa_family != AF_INET &&
		     entry->ifa_addr->sa_family != AF_INET6))
			continue;
		prefix_of(&address, (union address *)entry->ifa_addr);
		learn_owner(&address, entry->ifa_name);
	}
	freeifaddrs(list);
}

const char *subflows_interface(const struct subflow *subflow)
{
	const struct owner *owner = owner_of(subflow);

	return owner && *owner->name ? owner->name : NULL;
}

bool subflows_use(const struct prefix *local, const char *interface)
{
	for (unsigned int i = 0; i < OWNERS_MAX; i++)
		if (owners[i].uses && !strcmp(owners[i].name, interface) &&
		    !memcmp(&owners[i].address, local, sizeof(*local)))
			return true;
	return false;
}

/* --- the table --- */

/* Tokens are random: no other machine chooses this one's. */
static struct mptcp_conn *find(uint32_t own_token)
{
	struct mptcp_conn *connection;

	LIST_FOREACH(connection, &table[own_token % BUCKETS], in_table)
		if (connection->own_token == own_token)
			return connection;
	return NULL;
}

static struct mptcp_conn *get(uint32_t own_token)
{
	struct mptcp_conn *connection = find(own_token);

	if (connection)
		return connection;
	if (connection_count == CONNECTIONS_MAX) {
		left_out = true;
		return NULL;
	}
	connection = calloc(1, sizeof(*connection));
	if (!connection)
		return NULL;
	connection->own_token = own_token;
	LIST_INSERT_HEAD(&table[own_token % BUCKETS], connection, in_table);
	connection_count++;
	return connection;
}

static void clear(struct mptcp_conn *connection)
{
	while (connection->count)
		leave(&connection->subflows[--connection->count]);
}

static void drop(struct mptcp_conn *connection)
{
	clear(connection);
	LIST_REMOVE(connection, in_table);
	connection_count--;
	free(connection);
}

static void tell(const struct mptcp_conn *connection)
{
	on_change(connection, on_change_arg);
}

/* It is closed: say so, and forget it. */
static void end(struct mptcp_conn *connection)
{
	clear(connection);
	tell(connection);
	drop(connection);
}

static struct subflow *find_subflow(struct mptcp_conn *connection, uint8_t local_id,
				    uint8_t remote_id)
{
	for (unsigned int i = 0; i < connection->count; i++) {
		struct subflow *subflow = &connection->subflows[i];

		if (subflow->local_id == local_id && subflow->remote_id == remote_id)
			return subflow;
	}
	return NULL;
}

static void remove_subflow(struct mptcp_conn *connection, struct subflow *subflow)
{
	leave(subflow);
	*subflow = connection->subflows[--connection->count];
}

static void put_subflow(struct mptcp_conn *connection, const struct subflow *new)
{
	struct subflow *old = find_subflow(connection, new->local_id, new->remote_id);

	if (old)
		remove_subflow(connection, old);
	if (connection->count == REPORT_FLOWS_MAX)
		return;
	connection->subflows[connection->count++] = *new;
	use(new);
}

void subflows_each(connection_fn each, void *arg)
{
	const struct mptcp_conn *connection;

	for (unsigned int i = 0; i < BUCKETS; i++)
		LIST_FOREACH(connection, &table[i], in_table)
			each(connection, arg);
}

/* --- sock_diag --- */

static void take_socket(const struct diag_socket *socket, void *arg)
{
	struct sockdiag_subflow known;
	struct mptcp_conn *connection;

	(void)arg;
	if (!sockdiag_subflow(socket->ulp, &known) || !known.local_token)
		return;
	connection = get(known.local_token);
	if (!connection)
		return;
	if (!connection->seen)
		clear(connection);
	connection->seen = true;
	connection->token = known.remote_token ?: connection->token;
	put_subflow(connection, &(struct subflow){
		.local = socket->local, .peer = socket->peer, .peer_port = socket->peer_port,
		.local_id = known.local_id, .remote_id = known.remote_id,
		.ifindex = socket->ifindex });
}

/* Nothing of a dump that failed is complete: forget it, but not what others were told. */
static int dump(void)
{
	struct mptcp_conn *connection, *next;
	int err;

	for (unsigned int i = 0; i < BUCKETS; i++)
		LIST_FOREACH(connection, &table[i], in_table)
			connection->seen = false;
	err = diag_established(&sock, NULL, 0, take_socket, NULL);
	if (!err)
		learn_owners();
	for (unsigned int i = 0; i < BUCKETS; i++)
		for (connection = LIST_FIRST(&table[i]); connection; connection = next) {
			next = LIST_NEXT(connection, in_table);
			if (err)
				clear(connection);
			else if (!connection->seen)
				end(connection);
			else
				tell(connection);
		}
	return err;
}

/* --- the path manager's events --- */

/* The socket that an event is about. Returns false if it doesn't say all of it. */
static bool socket_of(struct nlattr **attrs, struct sockdiag *socket)
{
	struct nlattr *family = attrs[MPTCP_ATTR_FAMILY], *local, *remote;
	bool v4 = family && nla_get_u16(family) == AF_INET;
	size_t len = v4 ? 4 : 16;

	local = attrs[v4 ? MPTCP_ATTR_SADDR4 : MPTCP_ATTR_SADDR6];
	remote = attrs[v4 ? MPTCP_ATTR_DADDR4 : MPTCP_ATTR_DADDR6];
	if (!family || !local || !remote || (size_t)nla_len(local) < len ||
	    (size_t)nla_len(remote) < len || !attrs[MPTCP_ATTR_SPORT] ||
	    !attrs[MPTCP_ATTR_DPORT])
		return false;
	memset(socket, 0, sizeof(*socket));
	socket->family = v4 ? AF_INET : AF_INET6;
	memcpy(socket->local, nla_data(local), len);
	memcpy(socket->remote, nla_data(remote), len);
	socket->local_port = ntohs(nla_get_u16(attrs[MPTCP_ATTR_SPORT]));
	socket->remote_port = ntohs(nla_get_u16(attrs[MPTCP_ATTR_DPORT]));
	if (attrs[MPTCP_ATTR_IF_IDX])
		socket->ifindex = nla_get_u32(attrs[MPTCP_ATTR_IF_IDX]);
	return true;
}

/* A connection begins, or a subflow joins. The socket may be gone again: that is another event. */
static void on_subflow(struct nlattr **attrs)
{
	struct mptcp_conn *connection;
	struct sockdiag socket;

	if (!socket_of(attrs, &socket))
		return;
	connection = get(nla_get_u32(attrs[MPTCP_ATTR_TOKEN]));
	if (!connection)
		return;
	connection->seen = true;
	if (diag_one(&sock, &socket, take_socket, NULL))
		missed = true;
	if (!connection->count) {
		end(connection);
		return;
	}
	if (!subflows_interface(&connection->subflows[connection->count - 1]))
		learn_owners();
	tell(connection);
}

static void on_subflow_end(struct mptcp_conn *connection, struct nlattr **attrs)
{
	struct subflow *subflow;

	if (!attrs[MPTCP_ATTR_LOC_ID] || !attrs[MPTCP_ATTR_REM_ID])
		return;
	subflow = find_subflow(connection, nla_get_u8(attrs[MPTCP_ATTR_LOC_ID]),
			       nla_get_u8(attrs[MPTCP_ATTR_REM_ID]));
	if (!subflow)
		return;
	remove_subflow(connection, subflow);
	if (connection->count)
		tell(connection);
	else
		end(connection);
}

static int on_event(struct nl_msg *msg, void *arg)
{
	struct nlattr *attrs[MPTCP_ATTR_MAX + 1];
	struct nlmsghdr *hdr = nlmsg_hdr(msg);
	struct mptcp_conn *connection;
	unsigned int cmd;

	(void)arg;
	if (!genlmsg_valid_hdr(hdr, 0) ||
	    genlmsg_parse(hdr, 0, attrs, MPTCP_ATTR_MAX, NULL) || !attrs[MPTCP_ATTR_TOKEN])
		return NL_OK;
	cmd = genlmsg_hdr(hdr)->cmd;
	connection = find(nla_get_u32(attrs[MPTCP_ATTR_TOKEN]));
	if (cmd == MPTCP_EVENT_ESTABLISHED || cmd == MPTCP_EVENT_SUB_ESTABLISHED)
		on_subflow(attrs);
	else if (connection && cmd == MPTCP_EVENT_SUB_CLOSED)
		on_subflow_end(connection, attrs);
	else if (connection && cmd == MPTCP_EVENT_CLOSED)
		end(connection);
	return NL_OK;
}

/* Returns false if this kernel, or the lack of a privilege, allows no events. */
static bool open_events(void)
{
	if (genl_open_events(&events))
		return false;
	nl_socket_modify_cb(events, NL_CB_VALID, NL_CB_CUSTOM, on_event, NULL);
	if (!genl_join(events, MPTCP_PM_NAME, MPTCP_PM_EV_GRP_NAME)) {
		nl_socket_set_buffer_size(events, EVENTS_BYTES, 0);
		return true;
	}
	nl_socket_free(events);
	events = NULL;
	return false;
}

/*
 * An error other than that there is nothing more means that events were lost. Those that are left
 * then are older than the dump that follows, so they are read before.
 */
static void read_events(void)
{
	int err;

	do {
		err = nl_recvmsgs_default(events);
		missed |= err < 0 && err != -NLE_AGAIN;
	} while (err >= 0 || err == -NLE_NOMEM);
}

static void on_readable(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	(void)arg;
	on_ready(on_change_arg);
}

void subflows_open(struct event_base *base, void (*ready)(void *arg), connection_fn changed,
		   void *arg)
{
	on_ready = ready;
	on_change = changed;
	on_change_arg = arg;
	missed = true;
	if (!open_events())
		return;
	event = event_new(base, nl_socket_get_fd(events), EV_READ | EV_PERSIST, on_readable,
			  NULL);
	if (event && !event_add(event, NULL))
		return;
	nl_socket_free(events);
	events = NULL;
}

int subflows_read(bool all)
{
	int err;

	if (events)
		read_events();
	if (!all)
		return 0;
	missed |= left_out && connection_count <= CONNECTIONS_MAX - ROOM_AGAIN;
	if (events && !missed) {
		learn_owners();
		subflows_each(on_change, on_change_arg);
		return 0;
	}
	missed = false;
	left_out = false;
	err = dump();
	missed |= err;
	return err;
}

void subflows_close(void)
{
	for (unsigned int i = 0; i < BUCKETS; i++)
		while (!LIST_EMPTY(&table[i]))
			drop(LIST_FIRST(&table[i]));
	if (event)
		event_free(event);
	event = NULL;
	nl_socket_free(events);
	events = NULL;
	source_close(&sock);
}
