// SPDX-License-Identifier: GPL-2.0
/*
 * links - the state of interfaces that reports are about, or leave through
 *
 * rtnetlink's notifications tell of a lost carrier at once. When the socket's buffer
 * overflows, notifications are lost: the remaining ones are read first, and then a dump,
 * which is newer than these, replaces the state. There are no notifications about
 * counters: they are read, for all interfaces in one dump of statistics.
 *
 * Reports leave from an address of the interface that MPTCP subflows use (subflows.c),
 * since the server may know the path by it; else from the one that the kernel would choose
 * for the server. If it doesn't say, the first one that isn't deprecated is used; of IPv6 a
 * temporary one if the system prefers those (use_tempaddr 2), as it does for connections.
 */
#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <event2/event.h>
/* after <net/if.h>, to which it only adds */
#include <linux/if.h>
#include <linux/if_addr.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <netlink/attr.h>
#include <netlink/errno.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>
#include <netlink/socket.h>

#include "links.h"

#define WINDOW_US	100000
#define WINDOW_BYTES	(3 * 1514)
/* A change interrupts a dump: request it this often at once, and then after a second. */
#define DUMPS_MAX	3
#define AGAIN_S		1

/* An address of a link. The list is in the order in which rtnetlink reported them. */
struct link_address {
	int family;
	uint8_t bytes[16];	/* IPv4: the first four */
	uint32_t flags;		/* IFA_F_ */
	bool listed;		/* the current dump contains it */
	bool used;		/* subflows use it */
};

struct links {
	struct nl_sock *news, *questions;
	struct nl_sock *routes;	/* asked for while questions may have a dump, by what it tells */
	struct event *event;
	struct event *again;	/* after a dump that failed */
	void (*changed)(struct link *link, void *arg);
	void (*addressed)(void *arg);
	void *arg;
	struct link *links[LINKS_MAX];
	unsigned int count;
	bool found;		/* a link that may have addresses already, after it was renamed */
	uint64_t us;		/* time of the current sample */
	struct prefix source;	/* the route's, from the last answer; family 0: none */
	struct seldom unrouted;
};

static struct link *by_name(struct links *links, const char *name)
{
	for (unsigned int i = 0; i < links->count; i++)
		if (!strcmp(links->links[i]->name, name))
			return links->links[i];
	return NULL;
}

static struct link *by_index(struct links *links, unsigned int ifindex)
{
	for (unsigned int i = 0; i < links->count; i++)
		if (links->links[i]->ifindex == ifindex)
			return links->links[i];
	return NULL;
}

/* fc00::/7 isn't routed beyond the site: RFC 4193 */
static bool is_global(const struct link_address *address)
{
	return address->family != AF_INET6 || (address->bytes[0] & 0xfe) != 0xfc;
}

/* Rank an address as source of reports: the higher the better, below 0: unusable. */
static int rank_of(const struct link_address *address, bool temporary)
{
	if (address->flags & IFA_F_TENTATIVE)
		return -1;
	return address->used * 8 + !(address->flags & IFA_F_DEPRECATED) * 4 +
	       is_global(address) * 2 +
	       (!(address->flags & IFA_F_TEMPORARY) == !temporary);
}

/* The address of this family to send reports from, or NULL. */
static const struct link_address *best_address(const struct link *link,
					       int family)
{
	bool temporary = family == AF_INET6 && link_prefers_temporary(link->name);
	const struct link_address *best = NULL;
	int best_rank = -1;

	for (unsigned int i = 0; i < link->address_count; i++) {
		const struct link_address *address = &link->addresses[i];

		if (address->family != family ||
		    rank_of(address, temporary) <= best_rank)
			continue;
		best = address;
		best_rank = rank_of(address, temporary);
	}
	return best;
}

static void look_at_addresses(struct link *link)
{
	link->has_address4 = best_address(link, AF_INET);
	link->has_address6 = best_address(link, AF_INET6);
}

static void forget_addresses(struct link *link)
{
	link->address_count = 0;
	look_at_addresses(link);
}

static void remove_address(struct link *link, unsigned int index)
{
	struct link_address *address = &link->addresses[index];

	memmove(address, address + 1,
		(--link->address_count - index) * sizeof(*address));
}

static void set_address(struct link *link, int family, const void *bytes,
			uint32_t flags, bool there)
{
	size_t len = family == AF_INET ? 4 : 16;
	struct link_address *address;
	unsigned int i;

	for (i = 0; i < link->address_count; i++)
		if (link->addresses[i].family == family &&
		    !memcmp(link->addresses[i].bytes, bytes, len))
			break;
	if (!there) {
		if (i < link->address_count)
			remove_address(link, i);
		look_at_addresses(link);
		return;
	}
	if (i == link->address_count) {
		address = reallocarray(link->addresses, i + 1,
				       sizeof(*address));
		if (!address)
			return;
		link->addresses = address;
		link->address_count++;
		memset(&address[i], 0, sizeof(*address));
		address[i].family = family;
		memcpy(address[i].bytes, bytes, len);
	}
	link->addresses[i].flags = flags;
	link->addresses[i].listed = true;
	look_at_addresses(link);
}

/* Remove the addresses that aren't in the dump: their notifications were lost. */
static void sweep_addresses(struct links *links)
{
	for (unsigned int i = 0; i < links->count; i++) {
		struct link *link = links->links[i];

		for (unsigned int j = link->address_count; j--;)
			if (!link->addresses[j].listed)
				remove_address(link, j);
		look_at_addresses(link);
	}
}

static void mark_addresses(struct links *links)
{
	for (unsigned int i = 0; i < links->count; i++) {
		struct link *link = links->links[i];

		for (unsigned int j = 0; j < link->address_count; j++)
			link->addresses[j].listed = false;
	}
}

static void set_up(struct links *links, struct link *link, bool up)
{
	bool changed = !link->known || link->up != up;

	link->known = true;
	link->up = up;
	if (changed)
		links->changed(link, links->arg);
}

/* The interface is gone, was renamed, or moved to another network namespace. */
static void forget_link(struct links *links, struct link *link)
{
	link->ifindex = 0;
	link->moved_us = 0;
	forget_addresses(link);
	set_up(links, link, false);
}

static void take_link(struct links *links, struct nlmsghdr *hdr)
{
	struct ifinfomsg *info = nlmsg_data(hdr);
	const unsigned int up = IFF_UP | IFF_LOWER_UP;
	struct link *link, *old;
	struct nlattr *name;

	if (!nlmsg_valid_hdr(hdr, sizeof(*info)))
		return;
	name = nlmsg_find_attr(hdr, sizeof(*info), IFLA_IFNAME);
	if (!name || info->ifi_family != AF_UNSPEC)
		return;
	link = by_name(links, nla_get_string(name));
	old = by_index(links, info->ifi_index);
	if (old && (old != link || hdr->nlmsg_type == RTM_DELLINK))
		forget_link(links, old);
	if (!link || hdr->nlmsg_type == RTM_DELLINK)
		return;
	if (link->ifindex != (unsigned int)info->ifi_index) {
		link->ifindex = info->ifi_index;
		links->found = true;
		link->counted_us = 0;
		link->moved_us = 0;
		forget_addresses(link);
	}
	link->listed = true;
	set_up(links, link, (info->ifi_flags & up) == up);
}

static void take_address(struct links *links, struct nlmsghdr *hdr)
{
	struct ifaddrmsg *info = nlmsg_data(hdr);
	struct nlattr *address, *flags;
	struct link *link;
	bool had4, had6;
	int len;

	if (!nlmsg_valid_hdr(hdr, sizeof(*info)))
		return;
	link = by_index(links, info->ifa_index);
	if (!link || info->ifa_scope == RT_SCOPE_LINK ||
	    (info->ifa_family != AF_INET && info->ifa_family != AF_INET6))
		return;
	address = nlmsg_find_attr(hdr, sizeof(*info), IFA_LOCAL) ?:
		  nlmsg_find_attr(hdr, sizeof(*info), IFA_ADDRESS);
	flags = nlmsg_find_attr(hdr, sizeof(*info), IFA_FLAGS);
	len = info->ifa_family == AF_INET ? 4 : 16;
	if (!address || nla_len(address) != len)
		return;
	had4 = link->has_address4;
	had6 = link->has_address6;
	set_address(link, info->ifa_family, nla_data(address),
		    flags && nla_len(flags) >= 4 ? nla_get_u32(flags) :
						   info->ifa_flags,
		    hdr->nlmsg_type == RTM_NEWADDR);
	if ((link->has_address4 && !had4) || (link->has_address6 && !had6))
		links->addressed(links->arg);
}

/*
 * Three full packets in a tenth of a second count as data: pamsd's reports, DNS lookups and
 * keep-alives are less. If the last sample is more than two windows old, nobody knows when
 * the bytes were sent, so they don't count.
 */
static void count_bytes(struct link *link, uint64_t bytes, uint64_t us)
{
	uint64_t moved = bytes > link->bytes ? bytes - link->bytes : 0;

	if (us - link->window_us >= WINDOW_US) {
		link->window_us = us;
		link->window_bytes = 0;
	}
	if (link->counted_us && us - link->counted_us <= 2 * WINDOW_US)
		link->window_bytes += moved;
	if (link->window_bytes >= WINDOW_BYTES)
		link->moved_us = us;
	link->counted_us = us;
	link->bytes = bytes;
}

static void take_stats(struct links *links, struct nlmsghdr *hdr)
{
	struct if_stats_msg *info = nlmsg_data(hdr);
	struct rtnl_link_stats64 stats;
	struct nlattr *attr;
	struct link *link;

	if (!nlmsg_valid_hdr(hdr, sizeof(*info)))
		return;
	link = by_index(links, info->ifindex);
	attr = nlmsg_find_attr(hdr, sizeof(*info), IFLA_STATS_LINK_64);
	if (!link || !attr || nla_len(attr) < (int)sizeof(stats))
		return;
	memcpy(&stats, nla_data(attr), sizeof(stats));
	count_bytes(link, stats.tx_bytes + stats.rx_bytes, links->us);
}

/* The route to a server on this machine says nothing of an interface. */
static void take_route(struct links *links, struct nlmsghdr *hdr)
{
	struct rtmsg *info = nlmsg_data(hdr);
	struct nlattr *source;

	if (!nlmsg_valid_hdr(hdr, sizeof(*info)) || info->rtm_type == RTN_LOCAL)
		return;
	source = nlmsg_find_attr(hdr, sizeof(*info), RTA_PREFSRC);
	if (!source || nla_len(source) > (int)sizeof(links->source.address))
		return;
	links->source.family = info->rtm_family;
	memcpy(links->source.address, nla_data(source), nla_len(source));
}

static int on_message(struct nl_msg *msg, void *arg)
{
	struct nlmsghdr *hdr = nlmsg_hdr(msg);

	switch (hdr->nlmsg_type) {
	case RTM_NEWLINK:
	case RTM_DELLINK:
		take_link(arg, hdr);
		break;
	case RTM_NEWADDR:
	case RTM_DELADDR:
		take_address(arg, hdr);
		break;
	case RTM_NEWSTATS:
		take_stats(arg, hdr);
		break;
	case RTM_NEWROUTE:
		take_route(arg, hdr);
		break;
	}
	return NL_OK;
}

static int open_socket(struct links *links, struct nl_sock **sock)
{
	if (source_open(sock, NETLINK_ROUTE))
		return -NLE_NOMEM;
	return nl_socket_modify_cb(*sock, NL_CB_VALID, NL_CB_CUSTOM, on_message, links);
}

static int dump(struct links *links, int type, void *header, size_t len)
{
	int err = open_socket(links, &links->questions);

	if (!err)
		err = nl_send_simple(links->questions, type, NLM_F_DUMP, header, len);
	return err < 0 ? err : source_receive(&links->questions);
}

static void mark_links(struct links *links)
{
	for (unsigned int i = 0; i < links->count; i++)
		links->links[i]->listed = false;
}

/* Mark the links that aren't in the dump as gone: they never existed, or were deleted. */
static void sweep_links(struct links *links)
{
	for (unsigned int i = 0; i < links->count; i++)
		if (!links->links[i]->listed)
			forget_link(links, links->links[i]);
}

static int refresh(struct links *links)
{
	struct ifinfomsg info = { .ifi_family = AF_UNSPEC };
	struct ifaddrmsg addr = { .ifa_family = AF_UNSPEC };
	int err;

	mark_links(links);
	err = dump(links, RTM_GETLINK, &info, sizeof(info));
	if (err < 0)
		return err;
	sweep_links(links);
	mark_addresses(links);
	err = dump(links, RTM_GETADDR, &addr, sizeof(addr));
	if (err < 0)
		return err;
	sweep_addresses(links);
	links->found = false;
	return 0;
}

int links_refresh(struct links *links)
{
	int err = -NLE_DUMP_INTR;

	for (unsigned int i = 0; i < DUMPS_MAX && err == -NLE_DUMP_INTR; i++)
		err = refresh(links);
	return err;
}

int links_sample(struct links *links, uint64_t us)
{
	struct if_stats_msg stats = {
		.filter_mask = IFLA_STATS_FILTER_BIT(IFLA_STATS_LINK_64),
	};

	links->us = us;
	return dump(links, RTM_GETSTATS, &stats, sizeof(stats));
}

static void replace_all(struct links *links)
{
	struct timeval after = { .tv_sec = AGAIN_S };

	if (links_refresh(links))
		evtimer_add(links->again, &after);
}

static void on_again(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	replace_all(arg);
}

/* Read notifications. If some were lost, or none comes of addresses, request everything. */
static void on_news(evutil_socket_t fd, short what, void *arg)
{
	struct links *links = arg;
	bool lost = false;
	int err;

	(void)fd;
	(void)what;
	do {
		err = nl_recvmsgs_default(links->news);
		lost |= err == -NLE_NOMEM;
	} while (err >= 0 || err == -NLE_NOMEM);
	if (lost || links->found)
		replace_all(links);
}

/* Ask which address the kernel would send from to this one, through the link. */
static int ask_route(struct links *links, const struct link *link, const struct prefix *to)
{
	struct rtmsg info = { .rtm_family = to->family, .rtm_dst_len = to->len };
	struct nl_msg *msg = nlmsg_alloc_simple(RTM_GETROUTE, 0);
	int err;

	memset(&links->source, 0, sizeof(links->source));
	if (!msg)
		return -NLE_NOMEM;
	err = open_socket(links, &links->routes);
	err = err ?: nlmsg_append(msg, &info, sizeof(info), NLMSG_ALIGNTO);
	err = err ?: nla_put(msg, RTA_DST, to->len / 8, to->address);
	err = err ?: nla_put_u32(msg, RTA_OIF, link->ifindex);
	err = err ?: nl_send_auto(links->routes, msg);
	nlmsg_free(msg);
	return err < 0 ? err : source_receive(&links->routes);
}

/* The link's address that the kernel answered last, or NULL. */
static const struct link_address *answered_address(const struct links *links,
						   const struct link *link)
{
	for (unsigned int i = 0; i < link->address_count; i++) {
		const struct link_address *address = &link->addresses[i];

		if (address->family == links->source.family && rank_of(address, false) >= 0 &&
		    !memcmp(address->bytes, links->source.address, sizeof(address->bytes)))
			return address;
	}
	return NULL;
}

/* Is there another address than this one to choose? */
static bool has_choice(const struct link *link, const struct link_address *best)
{
	for (unsigned int i = 0; i < link->address_count; i++)
		if (&link->addresses[i] != best && link->addresses[i].family == best->family)
			return true;
	return false;
}

void links_source(struct links *links, const struct link *link, const union address *to,
		  struct prefix *source)
{
	const struct link_address *best = best_address(link, to->sa.sa_family), *answered;
	struct prefix prefix;
	int err;

	memset(source, 0, sizeof(*source));
	if (!best)
		return;
	if (!best->used && has_choice(link, best)) {
		prefix_of(&prefix, to);
		err = ask_route(links, link, &prefix);
		answered = answered_address(links, link);
		/* NLE_FAILURE: there is no route, so that sending fails, too, and is logged */
		if (err < 0 && err != -NLE_FAILURE)
			say_seldom(&links->unrouted,
				   "%s: the kernel doesn't tell the source address of a route: %s",
				   link->name, nl_geterror(err));
		best = answered ?: best;
	}
	source->family = best->family;
	memcpy(source->address, best->bytes, sizeof(best->bytes));
}

static bool is_used(const struct link *link, const struct link_address *address)
{
	struct prefix prefix = { .family = address->family,
				 .len = address->family == AF_INET ? 32 : 128 };

	memcpy(prefix.address, address->bytes, sizeof(prefix.address));
	return subflows_use(&prefix, link->name);
}

void links_use(struct links *links)
{
	for (unsigned int i = 0; i < links->count; i++) {
		struct link *link = links->links[i];
		bool changed = false, used;

		for (unsigned int j = 0; j < link->address_count; j++) {
			struct link_address *address = &link->addresses[j];

			used = is_used(link, address);
			changed |= used != address->used;
			address->used = used;
		}
		if (changed)
			look_at_addresses(link);
	}
}

unsigned int links_indices(const struct links *links,
			   unsigned int indices[LINKS_MAX])
{
	unsigned int count = 0;

	for (unsigned int i = 0; i < links->count; i++)
		if (links->links[i]->ifindex)
			indices[count++] = links->links[i]->ifindex;
	return count;
}

struct link *links_watch(struct links *links, const char *name)
{
	struct link *link = by_name(links, name);

	if (link || links->count == LINKS_MAX)
		return link;
	link = calloc(1, sizeof(*link));
	if (!link)
		return NULL;
	snprintf(link->name, sizeof(link->name), "%s", name);
	links->links[links->count++] = link;
	return link;
}

struct links *links_new(struct event_base *base,
			void (*changed)(struct link *link, void *arg),
			void (*addressed)(void *arg), void *arg)
{
	struct links *links = calloc(1, sizeof(*links));

	if (!links)
		return NULL;
	links->changed = changed;
	links->addressed = addressed;
	links->arg = arg;
	if (open_socket(links, &links->news))
		goto fail;
	nl_socket_disable_seq_check(links->news);
	if (nl_socket_add_memberships(links->news, RTNLGRP_LINK,
				      RTNLGRP_IPV4_IFADDR, RTNLGRP_IPV6_IFADDR,
				      0) ||
	    nl_socket_set_nonblocking(links->news))
		goto fail;
	links->event = event_new(base, nl_socket_get_fd(links->news),
				 EV_READ | EV_PERSIST, on_news, links);
	links->again = evtimer_new(base, on_again, links);
	if (links->event && links->again && !event_add(links->event, NULL))
		return links;
fail:
	say("rtnetlink can't be used here");
	links_free(links);
	return NULL;
}

void links_free(struct links *links)
{
	if (!links)
		return;
	if (links->event)
		event_free(links->event);
	if (links->again)
		event_free(links->again);
	nl_socket_free(links->news);
	nl_socket_free(links->questions);
	nl_socket_free(links->routes);
	for (unsigned int i = 0; i < links->count; i++) {
		free(links->links[i]->addresses);
		free(links->links[i]);
	}
	free(links);
}
