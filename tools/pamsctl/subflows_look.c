// SPDX-License-Identifier: GPL-2.0
/*
 * subflows_look - finds subflows whose data nobody answers, and paths on which large packets vanish
 *
 * A path whose routers drop what is too large, and whose network drops the message that says so,
 * lets handshakes pass and then nothing. TCP alone doesn't tell that from a path that is dead:
 * echoes of several sizes do, to the peers of the connections that there are.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <linux/mptcp.h>

#include "echo.h"
#include "flows.h"
#include "interfaces.h"
#include "links.h"
#include "manager.h"
#include "pamsctl.h"

#define UNANSWERED_MS	2000	/* are told */
#define PATHS_MAX	16	/* of which echoes are asked */
#define SHOWN_MAX	8	/* subflows */
#define USUAL_MTU	1500
#define LEAST_MTU	1280	/* below it an interface loses IPv6 */

struct looking {
	json_t *list;
	const struct interfaces *interfaces;
	const struct flows *flows;
	struct echo echoes[PATHS_MAX];
	size_t count;
};

static const char *device(char name[IF_NAMESIZE], const struct flow *flow)
{
	return flow->ifindex ? show_interface(name, flow->ifindex) : "?";
}

static bool is_on(const struct echo *echo, const struct flow *flow)
{
	size_t bytes = flow->family == AF_INET ? 4 : 16;

	return echo->family == flow->family && echo->bound == flow->bound &&
	       !memcmp(echo->local, flow->local, bytes) &&
	       !memcmp(echo->remote, flow->remote, bytes);
}

static const struct echo *echo_of(const struct looking *looking, const struct flow *flow)
{
	for (size_t i = 0; i < looking->count; i++)
		if (is_on(&looking->echoes[i], flow))
			return &looking->echoes[i];
	return NULL;
}

static bool is_loopback(const struct flow *flow)
{
	static const uint8_t one[16] = { [15] = 1 };

	return flow->family == AF_INET ? flow->remote[0] == 127 : !memcmp(flow->remote, one, 16);
}

static void ask_echoes(struct looking *looking)
{
	for (size_t i = 0; i < looking->flows->count && looking->count < PATHS_MAX; i++) {
		const struct flow *flow = &looking->flows->at[i];
		struct echo *echo = &looking->echoes[looking->count];

		if (echo_of(looking, flow) || is_loopback(flow))
			continue;
		looking->count++;
		echo->family = flow->family;
		echo->bound = flow->bound;
		memcpy(echo->local, flow->local, 16);
		memcpy(echo->remote, flow->remote, 16);
	}
	if (looking->count)
		echo_ask(looking->echoes, looking->count);
}

static bool swallows(const struct echo *echo)
{
	return echo && echo->small && echo->largest < echo->mtu;
}

/* One of the path's subflows, and if any of them waits for an answer. */
static const struct flow *flow_on(const struct looking *looking, const struct echo *echo,
				  bool *waits)
{
	const struct flow *found = NULL;

	*waits = false;
	for (size_t i = 0; i < looking->flows->count; i++) {
		const struct flow *flow = &looking->flows->at[i];

		if (!is_on(echo, flow))
			continue;
		found = flow;
		*waits |= flow->unanswered_ms >= UNANSWERED_MS;
	}
	return found;
}

/* Do large packets to another peer pass on the same way out? */
static bool pass_elsewhere(const struct looking *looking, const struct echo *echo)
{
	for (size_t i = 0; i < looking->count; i++) {
		const struct echo *other = &looking->echoes[i];

		if (other->family == echo->family && other->bound == echo->bound &&
		    !memcmp(other->local, echo->local, sizeof(echo->local)) &&
		    other->small && !swallows(other))
			return true;
	}
	return false;
}

static void show_swallowing(const struct looking *looking, const struct echo *echo)
{
	char remote[INET6_ADDRSTRLEN], name[IF_NAMESIZE], advice[160];
	char passes[64] = "only small ones pass";
	bool waits;
	const struct flow *flow = flow_on(looking, echo, &waits);

	if (!flow)
		return;
	if (echo->largest)
		snprintf(passes, sizeof(passes), "those of %u pass", echo->largest);
	if (pass_elsewhere(looking, echo))
		snprintf(advice, sizeof(advice), "the peer may refuse large ICMP alone; if "
			 "transfers hang: at both ends sysctl -w net.ipv4.tcp_mtu_probing=1");
	else
		snprintf(advice, sizeof(advice), "ip link set %s mtu %u, at both ends sysctl -w "
			 "net.ipv4.tcp_mtu_probing=1; or have ICMP pass", device(name, flow),
			 echo->largest > LEAST_MTU ? echo->largest : LEAST_MTU);
	finding(looking->list, waits ? BAD : NOTE, "large packet", advice,
		"%s: packets of %u bytes to %s and back vanish, %s%s", device(name, flow),
		echo->mtu, show_address(remote, echo->family, echo->remote), passes,
		waits ? "; a connection waits for an answer there" : "");
}

static void look_at_sizes(const struct looking *looking)
{
	unsigned int fine = 0;

	for (size_t i = 0; i < looking->count; i++) {
		const struct echo *echo = &looking->echoes[i];

		if (swallows(echo))
			show_swallowing(looking, echo);
		else
			fine += echo->small;
	}
	if (fine)
		finding(looking->list, FINE, "large packet", NULL,
			"%u of %zu paths of connections answer small packets and the largest that "
			"they are said to carry", fine, looking->count);
}

static void look_at_answers(const struct looking *looking)
{
	char local[INET6_ADDRSTRLEN], remote[INET6_ADDRSTRLEN], name[IF_NAMESIZE];
	char text[QUANTITY_MAX], token[TOKEN_TEXT_MAX];
	unsigned int more = 0, shown = 0;

	for (size_t i = 0; i < looking->flows->count; i++) {
		const struct flow *flow = &looking->flows->at[i];
		const struct echo *echo = echo_of(looking, flow);

		if (flow->unanswered_ms < UNANSWERED_MS)
			continue;
		if (shown++ >= SHOWN_MAX) {
			more++;
			continue;
		}
		finding(looking->list, NOTE, "unanswered", swallows(echo) ? NULL :
			echo && echo->small ? "the peer is there: a firewall or NAT on the way may "
			"have forgotten the connection" :
			"pamsctl links: is the link alive? other subflows carry on without it",
			"%s: nothing was acknowledged for %s of what %s port %u sent to %s port %u, "
			"connection %s", device(name, flow),
			show_time(text, flow->unanswered_ms * 1000LL),
			show_address(local, flow->family, flow->local), flow->local_port,
			show_address(remote, flow->family, flow->remote), flow->remote_port,
			show_token(token, flow->token));
	}
	if (more)
		finding(looking->list, NOTE, "unanswered", NULL, "%u more are not shown", more);
}

/* --- the links' own sizes --- */

static bool is_used(const struct looking *looking, const struct manager *manager,
		    const struct interface *one)
{
	for (size_t i = 0; i < manager->count; i++)
		if (manager->endpoints[i].flags & MPTCP_PM_ADDR_FLAG_SUBFLOW &&
		    interface_with(looking->interfaces, manager->endpoints[i].family,
				   manager->endpoints[i].address, 0) == one)
			return true;
	for (size_t i = 0; i < looking->interfaces->route_count; i++)
		if (looking->interfaces->routes[i].way.ifindex == one->ifindex)
			return true;
	for (size_t i = 0; i < looking->flows->count; i++)
		if (looking->flows->at[i].ifindex == one->ifindex)
			return true;
	return false;
}

static void look_at_mtus(const struct looking *looking)
{
	static const char advice[] =
		"more than 1500 bytes pass few networks: ip link set DEVICE mtu 1500";
	uint32_t least = UINT32_MAX, most = 0;
	struct manager manager;
	char text[512] = "";
	size_t at = 0;

	manager_read(&manager);
	for (size_t i = 0; i < looking->interfaces->count; i++) {
		const struct interface *one = &looking->interfaces->at[i];

		if (one->flags & IFF_LOOPBACK || !(one->flags & IFF_UP) || !one->mtu ||
		    !is_used(looking, &manager, one))
			continue;
		least = one->mtu < least ? one->mtu : least;
		most = one->mtu > most ? one->mtu : most;
		at += snprintf(text + at, sizeof(text) - at, "%s%s %" PRIu32, at ? ", " : "",
			       one->name, one->mtu);
		if (at >= sizeof(text))
			break;
	}
	manager_free(&manager);
	if (most > least)
		finding(looking->list, most > USUAL_MTU ? NOTE : FINE, "mtu",
			most > USUAL_MTU ? advice : NULL,
			"links of unlike MTU: %s; each subflow sends packets of its own size",
			text);
	else if (most)
		finding(looking->list, FINE, "mtu", NULL, "%s", text);
}

void look_at_subflows(json_t *list)
{
	struct looking looking = { .list = list };
	struct interfaces interfaces;
	struct flows flows;

	/* why these can't be read is told of the sockets */
	if (flows_read(&flows))
		memset(&flows, 0, sizeof(flows));
	if (!interfaces_read(&interfaces)) {
		flows_place(&flows, &interfaces);
		looking.interfaces = &interfaces;
		looking.flows = &flows;
		look_at_mtus(&looking);
		ask_echoes(&looking);
		look_at_answers(&looking);
		look_at_sizes(&looking);
	}
	interfaces_free(&interfaces);
	flows_free(&flows);
}
