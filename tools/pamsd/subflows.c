// SPDX-License-Identifier: GPL-2.0
/*
 * subflows - this machine's subflows of MPTCP connections, by interface
 *
 * For each TCP socket that is a subflow, sock_diag gives its addresses and, with
 * CAP_NET_ADMIN, the connection's tokens and the address ids of both sides. The
 * peer's token identifies the connection in the server's kernel, even behind NAT.
 * Only subflows that this machine joined have the peer's token; the kernel gives 0
 * for the first subflow, which gets the token from the others. A connection with
 * only one subflow has no choice of paths, and is left out.
 *
 * A subflow belongs to the interface that has its local address. If no interface
 * has the address any more, the one that had it last counts.
 */
#include <errno.h>
#include <ifaddrs.h>
#include <stdio.h>
#include <string.h>

#include "../lib/sockdiag.h"
#include "diag.h"
#include "pamsd.h"

/* Each subflow may have a different address. */
#define OWNERS_MAX	SUBFLOWS_MAX

/* The interface that has an address, or had it last. */
struct owner {
	struct prefix address;
	char name[IF_NAMESIZE];
};

static struct nl_sock *sock;
static struct owner owners[OWNERS_MAX];
static unsigned int owner_next;

static struct owner *owner_of(const struct prefix *address)
{
	for (unsigned int i = 0; i < OWNERS_MAX; i++)
		if (!memcmp(&owners[i].address, address, sizeof(*address)))
			return &owners[i];
	return NULL;
}

static bool is_local(const struct subflows *subflows, const struct prefix *address)
{
	for (unsigned int i = 0; i < subflows->count; i++)
		if (!memcmp(&subflows->list[i].local, address, sizeof(*address)))
			return true;
	return false;
}

/* Find the interfaces of the subflows' addresses; this machine may have many other addresses. */
static void learn_owners(const struct subflows *subflows)
{
	struct ifaddrs *list, *entry;
	struct prefix address;
	struct owner *owner;

	if (getifaddrs(&list))
		return;
	for (entry = list; entry; entry = entry->ifa_next) {
		if (!entry->ifa_addr ||
		    (entry->ifa_addr->sa_family != AF_INET &&
		     entry->ifa_addr->sa_family != AF_INET6))
			continue;
		prefix_of(&address, (union address *)entry->ifa_addr);
		if (!is_local(subflows, &address))
			continue;
		owner = owner_of(&address);
		if (!owner)
			owner = &owners[owner_next++ % OWNERS_MAX];
		owner->address = address;
		snprintf(owner->name, sizeof(owner->name), "%s",
			 entry->ifa_name);
	}
	freeifaddrs(list);
}

static void take_subflow(const struct diag_socket *socket, void *arg)
{
	struct subflows *subflows = arg;
	struct sockdiag_subflow known;
	struct subflow *subflow;

	if (subflows->count == SUBFLOWS_MAX || !sockdiag_subflow(socket->ulp, &known))
		return;
	subflow = &subflows->list[subflows->count];
	subflow->token = known.remote_token;
	subflow->own_token = known.local_token;
	subflow->local_id = known.local_id;
	subflow->remote_id = known.remote_id;
	subflow->peer_port = socket->peer_port;
	subflow->local = socket->local;
	subflow->peer = socket->peer;
	subflows->count += subflow->own_token != 0;
}

/* The peer's token of a connection; 0 if no subflow has it. */
static uint32_t token_of(const struct subflows *subflows, uint32_t own_token)
{
	for (unsigned int i = 0; i < subflows->count; i++)
		if (subflows->list[i].own_token == own_token &&
		    subflows->list[i].token)
			return subflows->list[i].token;
	return 0;
}

/* Give each subflow the peer's token of its connection, and drop subflows without one. */
static void complete_tokens(struct subflows *subflows)
{
	unsigned int kept = 0;

	for (unsigned int i = 0; i < subflows->count; i++) {
		struct subflow *subflow = &subflows->list[i];

		if (!subflow->token)
			subflow->token = token_of(subflows, subflow->own_token);
	}
	for (unsigned int i = 0; i < subflows->count; i++)
		if (subflows->list[i].token)
			subflows->list[kept++] = subflows->list[i];
	subflows->count = kept;
}

int subflows_read(struct subflows *subflows)
{
	const struct owner *owner;
	int err;

	subflows->count = 0;
	err = diag_established(&sock, NULL, 0, take_subflow, subflows);
	if (err) {
		subflows->count = 0;
		return err;
	}
	complete_tokens(subflows);
	if (subflows->count)
		learn_owners(subflows);
	for (unsigned int i = 0; i < subflows->count; i++) {
		struct subflow *subflow = &subflows->list[i];

		owner = owner_of(&subflow->local);
		memset(subflow->interface, 0, IF_NAMESIZE);
		if (owner)
			memcpy(subflow->interface, owner->name, IF_NAMESIZE);
	}
	return 0;
}

void subflows_close(void)
{
	source_close(&sock);
}
