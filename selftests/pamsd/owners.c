// SPDX-License-Identifier: GPL-2.0
/*
 * owners - tests of which connections and subflows there are, and which interface each
 * subflow belongs to, on a machine with many addresses
 *
 * The kernel's sockets and events and the machine's addresses are made here.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <stdlib.h>
#include <string.h>

#include <event2/event.h>
#include <linux/mptcp.h>
#include <netlink/attr.h>
#include <netlink/genl/ctrl.h>
#include <netlink/genl/genl.h>
#include <netlink/msg.h>

#include "../lib/sockdiag.h"
#include "base/diag.h"
#include "reporter/links.h"
#include "tap.h"

#define ADDRESSES_MANY	200

/*
 * Address i of the machine is 10.0.0.i, of interface "ei" but while that is gone. Odd ones have a
 * label, which the C library gives in place of the interface's name.
 */
static unsigned int address_count;
static bool gone[ADDRESSES_MANY];
/* This one's interface has address 10.0.0.1 instead; 0: none. */
static unsigned int twin;
/* Subflow i has this address, modulo ADDRESSES_MANY; those before local_first have ended. */
static unsigned int locals[ADDRESSES_MANY], local_first, local_count;
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
		address->sin_addr.s_addr = htonl(10 << 24 | (i && i == twin ? 1 : i));
		snprintf(name, sizeof(name), i % 2 ? "e%u:1" : "e%u", i);
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

unsigned int if_nametoindex(const char *name)
{
	return atoi(name + 1) + 1;
}

void source_close(struct nl_sock **sock)
{
	(void)sock;
}

/* What sock_diag tells of a socket: each is the joined subflow of a connection of its own. */
static void tell_socket(unsigned int nr, diag_fn fn, void *arg)
{
	struct diag_socket socket = {
		.ifindex = locals[nr % ADDRESSES_MANY] + 1,
		.local = { .family = AF_INET, .len = 32, .address = { 10 } },
	};
	struct nl_msg *msg = nlmsg_alloc();
	struct nlattr *ulp, *mptcp;

	socket.local.address[3] = twin && locals[nr] == twin ? 1 : locals[nr % ADDRESSES_MANY];
	ulp = nla_nest_start(msg, INET_DIAG_ULP_INFO);
	mptcp = nla_nest_start(msg, INET_ULP_INFO_MPTCP);
	nla_put_u32(msg, MPTCP_SUBFLOW_ATTR_TOKEN_REM, 1000 + nr);
	nla_put_u32(msg, MPTCP_SUBFLOW_ATTR_TOKEN_LOC, 2 + nr);
	nla_put_u8(msg, MPTCP_SUBFLOW_ATTR_ID_LOC, 1);
	nla_put_u8(msg, MPTCP_SUBFLOW_ATTR_ID_REM, 0);
	nla_nest_end(msg, mptcp);
	nla_nest_end(msg, ulp);
	socket.ulp = ulp;
	fn(&socket, arg);
	nlmsg_free(msg);
}

static unsigned int dumps, questions, changes;

int diag_established(struct nl_sock **sock, const void *filter, size_t filter_len,
		     diag_fn fn, void *arg)
{
	(void)sock;
	(void)filter;
	(void)filter_len;
	dumps++;
	for (unsigned int i = local_first; i < local_count; i++)
		tell_socket(i, fn, arg);
	return fails ? -EIO : 0;
}

/* A socket's local port is its number. */
int diag_one(struct nl_sock **sock, const struct sockdiag *which, diag_fn fn, void *arg)
{
	(void)sock;
	questions++;
	if (which->local_port < local_count)
		tell_socket(which->local_port, fn, arg);
	return 0;
}

/* --- the path manager's events --- */

static nl_recvmsg_msg_cb_t on_message;
static struct nl_msg *queue[16];
static unsigned int queued;
static bool overrun;

int nl_socket_modify_cb(struct nl_sock *sock, enum nl_cb_type type, enum nl_cb_kind kind,
			nl_recvmsg_msg_cb_t func, void *arg)
{
	(void)sock;
	(void)type;
	(void)kind;
	(void)arg;
	on_message = func;
	return 0;
}

int nl_recvmsgs_default(struct nl_sock *sock)
{
	struct nl_msg *msg = queue[0];

	(void)sock;
	if (overrun) {
		overrun = false;
		return -NLE_NOMEM;
	}
	if (!queued)
		return -NLE_AGAIN;
	memmove(&queue[0], &queue[1], --queued * sizeof(queue[0]));
	on_message(msg, NULL);
	nlmsg_free(msg);
	return 0;
}

int genl_ctrl_resolve_grp(struct nl_sock *sock, const char *family, const char *group)
{
	(void)sock;
	(void)family;
	(void)group;
	return 1;
}

int nl_socket_add_membership(struct nl_sock *sock, int group)
{
	(void)sock;
	(void)group;
	return 0;
}

struct event *event_new(struct event_base *base, evutil_socket_t fd, short what,
			event_callback_fn fn, void *arg)
{
	(void)base;
	(void)fd;
	(void)what;
	(void)fn;
	(void)arg;
	return (struct event *)&on_message;
}

int event_add(struct event *event, const struct timeval *timeout)
{
	(void)event;
	(void)timeout;
	return 0;
}

void event_free(struct event *event)
{
	(void)event;
}

static void happens(uint8_t cmd, unsigned int nr)
{
	struct nl_msg *msg = nlmsg_alloc();

	genlmsg_put(msg, 0, 0, 100, 0, 0, cmd, 1);
	nla_put_u32(msg, MPTCP_ATTR_TOKEN, 2 + nr);
	nla_put_u16(msg, MPTCP_ATTR_FAMILY, AF_INET);
	nla_put_u32(msg, MPTCP_ATTR_SADDR4, 0);
	nla_put_u32(msg, MPTCP_ATTR_DADDR4, 0);
	nla_put_u16(msg, MPTCP_ATTR_SPORT, htons(nr));
	nla_put_u16(msg, MPTCP_ATTR_DPORT, 0);
	nla_put_u8(msg, MPTCP_ATTR_LOC_ID, 1);
	nla_put_u8(msg, MPTCP_ATTR_REM_ID, 0);
	queue[queued++] = msg;
}

static void on_change(const struct mptcp_conn *connection, void *arg)
{
	(void)connection;
	(void)arg;
	changes++;
}

/* --- cases --- */

static unsigned int seen;
static bool right;

static void look(const struct mptcp_conn *connection, void *arg)
{
	const struct subflow *subflow = connection->subflows;
	unsigned int nr = connection->own_token - 2;
	const char *interface;
	char name[IF_NAMESIZE];

	(void)arg;
	if (!connection->count)
		return;
	seen++;
	snprintf(name, sizeof(name), "e%u", locals[nr % ADDRESSES_MANY]);
	interface = subflows_interface(subflow);
	right &= connection->count == 1 && connection->token == 1000 + nr && interface &&
		 !strcmp(interface, name) && subflows_use(&subflow->local, name);
}

/* As many as there are, each at its interface. */
static bool are_right(unsigned int count)
{
	seen = 0;
	right = true;
	subflows_each(look, NULL);
	return right && seen == count;
}

/* Without events each look is a dump. */
static bool all_belong(void)
{
	return !subflows_read(true) && are_right(local_count);
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

/* As modems of one make have it: the path manager binds subflows to both. */
static void two_interfaces_with_one_address(void)
{
	const struct prefix both = { .family = AF_INET, .len = 32, .address = { 10, 0, 0, 1 } };

	twin = ADDRESSES_MANY - 1;
	for (unsigned int i = 0; i < 3; i++)
		check(all_belong());
	/* with the last one its interface's use of the address ends */
	local_count--;
	check(all_belong());
	check(subflows_use(&both, "e1") && !subflows_use(&both, "e199"));
	twin = 0;
	local_count++;
}

/* Of what was read until then nothing is complete: neither tokens nor interfaces. */
static void dump_that_fails_tells_nothing(void)
{
	fails = true;
	changes = 0;
	check(subflows_read(true) == -EIO);
	check(are_right(0) && !changes);
	fails = false;
	check(all_belong());
	/* what ended meanwhile is told as well */
	local_count -= 2;
	fails = true;
	subflows_read(true);
	fails = false;
	changes = 0;
	check(all_belong() && changes == local_count + 2);
}

/* One dump at the beginning; from then on one question for each that begins, none for the end. */
static void events_are_enough(void)
{
	struct prefix last = { .family = AF_INET, .len = 32, .address = { 10 } };

	subflows_close();
	local_count = 10;
	dumps = 0;
	questions = 0;
	subflows_open(NULL, NULL, on_change, NULL);
	check(all_belong() && dumps == 1 && !questions);
	local_count = 12;
	happens(MPTCP_EVENT_SUB_ESTABLISHED, 10);
	happens(MPTCP_EVENT_ESTABLISHED, 11);
	changes = 0;
	check(!subflows_read(false) && are_right(12) && questions == 2 && changes == 2);
	happens(MPTCP_EVENT_SUB_CLOSED, 11);
	happens(MPTCP_EVENT_CLOSED, 10);
	happens(MPTCP_EVENT_CLOSED, 500);
	changes = 0;
	check(!subflows_read(false) && are_right(10) && questions == 2 && changes == 2);
	last.address[3] = locals[11];
	check(!subflows_use(&last, "e11"));
	/* gone before it is asked for */
	happens(MPTCP_EVENT_SUB_ESTABLISHED, 100);
	check(!subflows_read(false) && are_right(10) && questions == 3);
	local_count = 10;
	check(all_belong() && dumps == 1);
}

/* Then there is another dump, when all is looked at. */
static void lost_events_are_made_up_for(void)
{
	local_count = 20;
	overrun = true;
	check(!subflows_read(false) && are_right(10) && dumps == 1);
	check(all_belong() && dumps == 2);
	check(all_belong() && dumps == 2);
}

/* What is left of them is older than the dump: a subflow that ended has joined again since. */
static void old_events_come_before_the_dump(void)
{
	overrun = true;
	dumps = 0;
	happens(MPTCP_EVENT_SUB_CLOSED, 3);
	check(all_belong() && dumps == 1);
	check(!subflows_read(false) && are_right(20) && dumps == 1);
}

/* Those for which there was no room are learned once an eighth of it is free, by one dump. */
static void more_than_there_is_room_for(void)
{
	unsigned int eighth = CONNECTIONS_MAX / 8;

	subflows_close();
	local_count = CONNECTIONS_MAX + 10;
	dumps = 0;
	subflows_open(NULL, NULL, on_change, NULL);
	check(!subflows_read(true) && are_right(CONNECTIONS_MAX) && dumps == 1);
	for (unsigned int i = 0; i < eighth; i++) {
		check(!subflows_read(i % 1000 == 0) && dumps == 1);
		happens(MPTCP_EVENT_CLOSED, i);
	}
	local_first = eighth;
	check(!subflows_read(true) && are_right(local_count - eighth) && dumps == 2);
	check(!subflows_read(true) && dumps == 2);
	subflows_close();
	local_first = 0;
	local_count = 20;
	subflows_open(NULL, NULL, on_change, NULL);
	check(all_belong());
}

static void bad_events_are_passed_over(void)
{
	struct nl_msg *msg = nlmsg_alloc();

	genlmsg_put(msg, 0, 0, 100, 0, 0, MPTCP_EVENT_SUB_ESTABLISHED, 1);
	queue[queued++] = msg;
	msg = nlmsg_alloc();
	genlmsg_put(msg, 0, 0, 100, 0, 0, MPTCP_EVENT_SUB_ESTABLISHED, 1);
	nla_put_u32(msg, MPTCP_ATTR_TOKEN, 7777);
	nla_put_u16(msg, MPTCP_ATTR_FAMILY, AF_INET6);
	nla_put_u32(msg, MPTCP_ATTR_SADDR6, 1);
	nla_put_u32(msg, MPTCP_ATTR_DADDR6, 1);
	queue[queued++] = msg;
	check(!subflows_read(false) && are_right(20));
	subflows_close();
	check(are_right(0));
}

int main(void)
{
	subflows_open(NULL, NULL, on_change, NULL);
	subflows_close();
	run(two_of_many_addresses);
	run(interface_that_is_gone);
	run(as_many_addresses_as_subflows);
	run(two_interfaces_with_one_address);
	run(dump_that_fails_tells_nothing);
	run(events_are_enough);
	run(lost_events_are_made_up_for);
	run(old_events_come_before_the_dump);
	run(more_than_there_is_room_for);
	run(bad_events_are_passed_over);
	return tap_end();
}
