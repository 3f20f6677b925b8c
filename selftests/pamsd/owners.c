// SPDX-License-Identifier: GPL-2.0
/*
 * owners - tests of which interface a subflow belongs to, on a machine with many addresses,
 * and of a dump that fails
 *
 * The kernel's sockets and the machine's addresses are made here.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <stdlib.h>
#include <string.h>

#include <linux/mptcp.h>
#include <netlink/attr.h>
#include <netlink/msg.h>

#include "diag.h"
#include "tap.h"

#define ADDRESSES_MANY	200

/* Address i of the machine is 10.0.0.i, of interface "ei" but while that is gone. */
static unsigned int address_count;
static bool gone[ADDRESSES_MANY];
/* Subflow i has this address. */
static unsigned int locals[SUBFLOWS_MAX], local_count;
/* The kernel's dump ends with an error behind the last one. */
static bool fails;

int getifaddrs(struct ifaddrs **list)
{
	*list = NULL;
	for (unsigned int i = address_count; i--;) {
		struct sockaddr_in *address = calloc(1, sizeof(*address));
		struct ifaddrs *entry = calloc(1, sizeof(*entry));
		char name[IF_NAMESIZE];

		address->sin_family = AF_INET;
		address->sin_addr.s_addr = htonl(10 << 24 | i);
		snprintf(name, sizeof(name), "e%u", i);
		entry->ifa_addr = gone[i] ? NULL : (struct sockaddr *)address;
		if (gone[i])
			free(address);
		entry->ifa_name = strdup(name);
		entry->ifa_next = *list;
		*list = entry;
	}
	return 0;
}

void freeifaddrs(struct ifaddrs *list)
{
	while (list) {
		struct ifaddrs *next = list->ifa_next;

		free(list->ifa_addr);
		free(list->ifa_name);
		free(list);
		list = next;
	}
}

void source_close(struct nl_sock **sock)
{
	(void)sock;
}

int diag_established(struct nl_sock **sock, const void *filter, size_t filter_len,
		     diag_fn fn, void *arg)
{
	(void)sock;
	(void)filter;
	(void)filter_len;
	for (unsigned int i = 0; i < local_count; i++) {
		struct diag_socket socket = {
			.local = { .family = AF_INET, .len = 32, .address = { 10 } },
		};
		struct nl_msg *msg = nlmsg_alloc();
		struct nlattr *ulp, *mptcp;

		socket.local.address[3] = locals[i];
		ulp = nla_nest_start(msg, INET_DIAG_ULP_INFO);
		mptcp = nla_nest_start(msg, INET_ULP_INFO_MPTCP);
		nla_put_u32(msg, MPTCP_SUBFLOW_ATTR_TOKEN_REM, 1);
		nla_put_u32(msg, MPTCP_SUBFLOW_ATTR_TOKEN_LOC, 2);
		nla_put_u8(msg, MPTCP_SUBFLOW_ATTR_ID_LOC, i);
		nla_put_u8(msg, MPTCP_SUBFLOW_ATTR_ID_REM, 0);
		nla_nest_end(msg, mptcp);
		nla_nest_end(msg, ulp);
		socket.ulp = ulp;
		fn(&socket, arg);
		nlmsg_free(msg);
	}
	return fails ? -EIO : 0;
}

static bool all_belong(void)
{
	static struct subflows subflows;
	char name[IF_NAMESIZE];
	bool right;

	right = !subflows_read(&subflows) && subflows.count == local_count;
	for (unsigned int i = 0; i < subflows.count; i++) {
		snprintf(name, sizeof(name), "e%u", locals[i]);
		right &= !strcmp(subflows.list[i].interface, name);
	}
	return right;
}

static void two_of_many_addresses(void)
{
	address_count = ADDRESSES_MANY;
	local_count = 2;
	locals[0] = 1;
	locals[1] = ADDRESSES_MANY - 1;
	for (unsigned int i = 0; i < 3; i++)
		check(all_belong());
}

/* What was known last counts, as long as nothing else is known. */
static void interface_that_is_gone(void)
{
	gone[1] = true;
	for (unsigned int i = 0; i < 3; i++)
		check(all_belong());
	gone[1] = false;
	check(all_belong());
}

static void as_many_addresses_as_subflows(void)
{
	local_count = ADDRESSES_MANY;
	for (unsigned int i = 0; i < local_count; i++)
		locals[i] = i;
	for (unsigned int i = 0; i < 3; i++)
		check(all_belong());
}

/* Of what was read until then nothing is complete: neither tokens nor interfaces. */
static void dump_that_fails_tells_nothing(void)
{
	static struct subflows subflows;

	fails = true;
	check(subflows_read(&subflows) == -EIO);
	check(!subflows.count);
	fails = false;
	check(all_belong());
}

int main(void)
{
	run(two_of_many_addresses);
	run(interface_that_is_gone);
	run(as_many_addresses_as_subflows);
	run(dump_that_fails_tells_nothing);
	return tap_end();
}
