// SPDX-License-Identifier: GPL-2.0
/*
 * target - sends reports to a server: its sockets, and the ways to it
 *
 * A way is an interface that reports may leave through plus an address of the
 * server. A server that is given by name (resolve.c) has ADDRESSES_MAX places for
 * addresses; unknown ones have no family. announce.c decides which report takes
 * which way, and when.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <event2/event.h>
#include <jansson.h>
#include <sodium.h>

#include "target.h"

/*
 * After this time without an answer, silence is logged. It leaves room for a round trip and
 * for the loss of some reports.
 */
#define SILENT_MS	3000
/* A silent server's name is looked up so often. */
#define LOOK_AGAIN_MS	15000
/* Read so many datagrams at once. */
#define ANSWERS_AT_ONCE	64
#define FAMILIES	2

struct way {
	const struct link *link;	/* NULL: routing decides */
	const union address *address;	/* points into the target's addresses */
	int error;			/* the errno of sending that was logged last */
};

struct target {
	const struct target_config *config;
	struct links *links;
	struct announcer announcer;
	union address addresses[ADDRESSES_MAX];	/* no family: unknown */
	unsigned int address_count;
	struct resolver *resolver;		/* or NULL */
	struct way ways[ANNOUNCE_WAYS_MAX];	/* same indices as announcer.ways */
	int fds[FAMILIES];			/* IPv4, IPv6, or -1 */
	struct event *events[FAMILIES];
	struct event *timer;
	void (*rate)(const struct report_rate *rate, void *arg);	/* or NULL */
	void *arg;
	bool silent;		/* the server's silence was logged */
	uint64_t looked_ms;	/* when its name was looked up for that last */
	uint8_t missed[ADDRESSES_MAX];	/* of how many lookups in succession the address wasn't */
	uint64_t errors;
};

static int index_of(const union address *address)
{
	return address->sa.sa_family == AF_INET ? 0 : 1;
}

static bool has_address(const struct link *link, const union address *address)
{
	return address->sa.sa_family == AF_INET ? link->has_address4 :
						  link->has_address6;
}

static bool can_send_to(const struct target *target,
			const union address *address)
{
	return address->sa.sa_family && target->fds[index_of(address)] >= 0;
}

/* An address of the server, or else its name, for messages and the status. */
static const char *place_text(char text[ADDRESS_TEXT],
			      const struct target *target)
{
	for (unsigned int i = 0; i < target->address_count; i++)
		if (target->addresses[i].sa.sa_family)
			return address_text(text, &target->addresses[i]);
	return target->config->host.name;
}

/*
 * Send through the way's link and with an address of the link as source, which routing by source
 * address needs.
 */
static ssize_t send_through(const struct target *target, const struct way *way,
			    const uint8_t *buf, size_t len)
{
	union {
		struct cmsghdr align;
		char space[CMSG_SPACE(sizeof(struct in6_pktinfo))];
	} control = { };
	struct iovec iov = { .iov_base = (void *)buf, .iov_len = len };
	struct msghdr msg = {
		.msg_name = (void *)way->address,
		.msg_namelen = address_len(way->address),
		.msg_iov = &iov,
		.msg_iovlen = 1,
	};
	bool v4 = way->address->sa.sa_family == AF_INET;
	const struct link *link = way->link;
	struct in_pktinfo info = { };
	struct in6_pktinfo info6 = { };
	struct cmsghdr *cmsg;
	struct prefix source;

	if (link) {
		links_source(target->links, link, way->address, &source);
		msg.msg_control = control.space;
		msg.msg_controllen = CMSG_SPACE(v4 ? sizeof(info) :
						     sizeof(info6));
		cmsg = CMSG_FIRSTHDR(&msg);
		cmsg->cmsg_level = v4 ? IPPROTO_IP : IPPROTO_IPV6;
		cmsg->cmsg_type = v4 ? IP_PKTINFO : IPV6_PKTINFO;
		cmsg->cmsg_len = CMSG_LEN(v4 ? sizeof(info) : sizeof(info6));
		info.ipi_ifindex = link->ifindex;
		memcpy(&info.ipi_spec_dst, source.address, sizeof(info.ipi_spec_dst));
		info6.ipi6_ifindex = link->ifindex;
		memcpy(&info6.ipi6_addr, source.address, sizeof(info6.ipi6_addr));
		memcpy(CMSG_DATA(cmsg), v4 ? (void *)&info : (void *)&info6,
		       v4 ? sizeof(info) : sizeof(info6));
	}
	return sendmsg(target->fds[index_of(way->address)], &msg,
		       MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void send_report(unsigned int index, const uint8_t *buf, size_t len,
			void *arg)
{
	struct target *target = arg;
	struct way *way = &target->ways[index];
	char text[ADDRESS_TEXT];

	if (send_through(target, way, buf, len) >= 0) {
		way->error = 0;
		return;
	}
	target->errors++;
	if (errno == way->error || errno == EAGAIN)
		return;
	way->error = errno;
	say("can't report to '%s' at %s: %s", target->config->name,
	    address_text(text, way->address), strerror(errno));
}

static void arm(struct target *target, uint64_t ms)
{
	uint64_t next_ms = target->announcer.next_ms, after_ms;
	struct timeval after;

	if (next_ms == ANNOUNCE_NEVER) {
		evtimer_del(target->timer);
		return;
	}
	after_ms = next_ms > ms ? next_ms - ms : 0;
	after.tv_sec = after_ms / 1000;
	after.tv_usec = after_ms % 1000 * 1000;
	evtimer_add(target->timer, &after);
}

/*
 * Log that the server doesn't answer. A report that is dropped on the way, or whose key the
 * server doesn't know, gets no answer at all, so this message is the only hint.
 */
static void say_silence(struct target *target, uint64_t ms)
{
	const struct announcer *announcer = &target->announcer;
	char text[ADDRESS_TEXT];

	if (!announcer->asked_ms || ms - announcer->asked_ms < SILENT_MS)
		return;
	/* its name may have got another address, and what tells of that may be late */
	if (target->resolver && (!target->silent || ms - target->looked_ms >= LOOK_AGAIN_MS)) {
		target->looked_ms = ms;
		resolver_hurry(target->resolver);
	}
	if (target->silent)
		return;
	target->silent = true;
	say("no answer from '%s' at %s: is its pamsd running, does every "
	    "firewall let UDP to this port pass, and is the key the same "
	    "there? Its log tells if reports arrive", target->config->name,
	    place_text(text, target));
}

static void send_due(struct target *target)
{
	uint64_t ms = now_ms();

	announce_run(&target->announcer, ms, send_report, target);
	say_silence(target, ms);
	arm(target, ms);
}

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct target *target = arg;

	(void)fd;
	(void)what;
	send_due(target);
}

static void pass_rates(const struct target *target)
{
	for (unsigned int i = 0; target->rate && i < target->announcer.rate_count; i++)
		target->rate(&target->announcer.rates[i], target->arg);
}

static void on_readable(evutil_socket_t fd, short what, void *arg)
{
	struct target *target = arg;
	uint8_t buf[REPORT_BYTES_MAX + 1];
	char text[ADDRESS_TEXT];
	ssize_t len;

	(void)what;
	/* what else waits has its turn, too: this is called again */
	for (unsigned int i = 0; i < ANSWERS_AT_ONCE; i++) {
		len = recv(fd, buf, sizeof(buf), MSG_DONTWAIT);
		if (len < 0)
			break;
		if (!announce_answer(&target->announcer, buf, len, now_ms()))
			continue;
		pass_rates(target);
		if (!target->silent)
			continue;
		target->silent = false;
		say("'%s' at %s answers", target->config->name,
		    place_text(text, target));
	}
	send_due(target);
}

/* Update the state of all ways. Returns true if one has come up, or isn't lost any more. */
static bool look_at_ways(struct target *target)
{
	struct announcer *announcer = &target->announcer;
	bool any = false, better = false;

	for (unsigned int i = 0; i < announcer->way_count; i++) {
		struct announce_way *way = &announcer->ways[i];
		const struct link *link = target->ways[i].link;
		const union address *address = target->ways[i].address;
		bool up = link && link->up && can_send_to(target, address) &&
			  has_address(link, address);

		if (!link)
			continue;
		better |= (up && !way->up) || (way->lost && !link->lost);
		way->up = up;
		way->lost = link->lost;
		way->moved_us = link->moved_us;
		any |= up && !way->lost;
	}
	/* Leave it to routing if "via" isn't configured, or if no way of it can be used. */
	for (unsigned int i = 0; i < announcer->way_count; i++) {
		struct announce_way *way = &announcer->ways[i];
		bool up = can_send_to(target, target->ways[i].address) &&
			  (!any || !target->config->via_count);

		if (target->ways[i].link)
			continue;
		better |= up && !way->up && !any;
		way->up = up;
	}
	return better;
}

void target_on_rate(struct target *target,
		    void (*rate)(const struct report_rate *rate, void *arg), void *arg)
{
	target->rate = rate;
	target->arg = arg;
	target->announcer.wants_rates = rate;
}

void target_set(struct target *target, unsigned int id,
		const struct announce_path *path)
{
	announce_set(&target->announcer, id, path, now_ms());
}

void target_conn(struct target *target, const struct report_conn *conn)
{
	announce_conn(&target->announcer, conn, now_ms());
}

bool target_takes_conns(const struct target *target)
{
	return target->announcer.takes_conns;
}

void target_run(struct target *target)
{
	if (look_at_ways(target))
		announce_hurry(&target->announcer, now_ms());
	send_due(target);
}

void target_look_up(struct target *target)
{
	bool known = false;

	for (unsigned int i = 0; i < target->address_count; i++)
		known |= target->addresses[i].sa.sa_family;
	if (target->resolver && !known)
		resolver_hurry(target->resolver);
}

void target_periodic(struct target *target)
{
	look_at_ways(target);
	announce_periodic(&target->announcer, now_ms(), send_report, target);
	say_silence(target, now_ms());
}

bool target_is_at(const struct target *target, const struct prefix *address)
{
	struct prefix prefix;

	for (unsigned int i = 0; i < target->address_count; i++) {
		if (!target->addresses[i].sa.sa_family)
			continue;
		prefix_of(&prefix, &target->addresses[i]);
		if (prefix_contains(&prefix, address))
			return true;
	}
	return false;
}

/*
 * Add a way through this link for each address of the server, unless there are such ways, and
 * mark them as sources of the paths in own.
 */
static void add_ways(struct target *target, const struct link *link,
		     uint32_t own)
{
	struct announcer *announcer = &target->announcer;
	bool known = false;

	for (unsigned int i = 0; i < announcer->way_count; i++) {
		if (target->ways[i].link != link)
			continue;
		announcer->ways[i].own |= own;
		known = true;
	}
	for (unsigned int i = 0; !known && i < target->address_count; i++) {
		const union address *address = &target->addresses[i];
		struct way *way = &target->ways[announcer->way_count];

		if (announcer->way_count == ANNOUNCE_WAYS_MAX)
			return;
		way->link = link;
		way->address = address;
		announcer->ways[announcer->way_count++].own = own;
	}
}

void target_add_source(struct target *target, const struct link *link,
		       unsigned int id)
{
	add_ways(target, link, 1U << id);
}

/* Reset the state of all ways to an address that isn't the server's any more. */
static void forget_ways(struct target *target, const union address *address)
{
	for (unsigned int i = 0; i < target->announcer.way_count; i++) {
		struct announce_way *way = &target->announcer.ways[i];

		if (target->ways[i].address != address)
			continue;
		*way = (struct announce_way){ .own = way->own };
		target->ways[i].error = 0;
	}
}

static bool is_among(const union address *address, const union address *list,
		     unsigned int count)
{
	for (unsigned int i = 0; i < count; i++)
		if (!memcmp(address, &list[i], sizeof(*address)))
			return true;
	return false;
}

static bool has_family(int family, const union address *list, unsigned int count)
{
	for (unsigned int i = 0; i < count; i++)
		if (list[i].sa.sa_family == family)
			return true;
	return false;
}

/* Replace the server's addresses by those that a lookup of its name has found. */
static void on_found(const union address *found, unsigned int count, void *arg)
{
	struct target *target = arg;
	char text[ADDRESS_TEXT];
	unsigned int at = 0;

	for (unsigned int i = 0; i < ADDRESSES_MAX; i++) {
		union address *old = &target->addresses[i];

		if (!old->sa.sa_family)
			continue;
		target->missed[i]++;
		if (is_among(old, found, count))
			target->missed[i] = 0;
		/* one answer of two, for IPv4 and IPv6, may have been lost */
		if (!target->missed[i] ||
		    (target->missed[i] < 2 && !has_family(old->sa.sa_family, found, count)))
			continue;
		memset(old, 0, sizeof(*old));
		forget_ways(target, old);
	}
	for (unsigned int i = 0; i < count; i++) {
		if (is_among(&found[i], target->addresses, ADDRESSES_MAX))
			continue;
		while (at < ADDRESSES_MAX && target->addresses[at].sa.sa_family)
			at++;
		if (at == ADDRESSES_MAX)
			break;
		target->missed[at] = 0;
		target->addresses[at] = found[i];
		say("'%s': %s is at %s", target->config->name,
		    target->config->host.name, address_text(text, &found[i]));
	}
	target_run(target);
}

static int open_sockets(struct target *target, struct event_base *base)
{
	static const int families[FAMILIES] = { AF_INET, AF_INET6 };

	for (int index = 0; index < FAMILIES; index++) {
		target->fds[index] = socket(families[index],
					    SOCK_DGRAM | SOCK_NONBLOCK |
					    SOCK_CLOEXEC, 0);
		if (target->fds[index] < 0)
			continue;
		target->events[index] = event_new(base, target->fds[index],
						  EV_READ | EV_PERSIST,
						  on_readable, target);
		if (!target->events[index] ||
		    event_add(target->events[index], NULL))
			return -1;
	}
	return target->fds[0] < 0 && target->fds[1] < 0 ? -1 : 0;
}

struct target *target_new(struct event_base *base,
			  const struct target_config *config,
			  struct links *links)
{
	struct target *target = calloc(1, sizeof(*target));
	uint8_t session[REPORT_SESSION_BYTES];
	struct report_keys keys;

	if (!target)
		return NULL;
	target->config = config;
	target->links = links;
	target->address_count = config->address_count;
	memcpy(target->addresses, config->addresses,
	       config->address_count * sizeof(target->addresses[0]));
	if (*config->host.name)
		target->address_count = ADDRESSES_MAX;
	target->fds[0] = -1;
	target->fds[1] = -1;
	target->timer = evtimer_new(base, on_timer, target);
	if (!target->timer || open_sockets(target, base) ||
	    report_keys_derive(&keys, config->key)) {
		say("can't report to '%s': %s", config->name, strerror(errno));
		target_free(target);
		return NULL;
	}
	randombytes_buf(session, sizeof(session));
	announce_init(&target->announcer, &keys, session);
	sodium_memzero(&keys, sizeof(keys));
	for (unsigned int i = 0; i < config->via_count; i++) {
		struct link *link = links_watch(links, config->via[i]);

		if (!link) {
			target_free(target);
			return NULL;
		}
		add_ways(target, link, 0);
	}
	add_ways(target, NULL, 0);
	if (!*config->host.name)
		return target;
	target->resolver = resolver_new(base, &config->host, on_found, target);
	if (target->resolver)
		return target;
	target_free(target);
	return NULL;
}

void target_free(struct target *target)
{
	if (!target)
		return;
	resolver_free(target->resolver);
	if (target->timer)
		event_free(target->timer);
	for (unsigned int i = 0; i < FAMILIES; i++) {
		if (target->events[i])
			event_free(target->events[i]);
		if (target->fds[i] >= 0)
			close(target->fds[i]);
	}
	announce_end(&target->announcer);
	sodium_memzero(target, sizeof(*target));
	free(target);
}

json_t *target_status(const struct target *target)
{
	const struct announcer *announcer = &target->announcer;
	char text[ADDRESS_TEXT];
	uint64_t heard_ms = 0, unanswered_ms = 0;
	json_t *object;

	for (unsigned int i = 0; i < announcer->way_count; i++)
		if (announcer->ways[i].heard_ms > heard_ms)
			heard_ms = announcer->ways[i].heard_ms;
	if (announcer->asked_ms &&
	    (target->silent || !announce_is_known(announcer)))
		unanswered_ms = now_ms() - announcer->asked_ms;
	object = json_pack("{s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:b}",
			   "name", target->config->name, "address",
			   place_text(text, target),
			   "sent", (json_int_t)announcer->reports,
			   "answers", (json_int_t)announcer->answers,
			   "dropped", (json_int_t)announcer->dropped,
			   "errors", (json_int_t)target->errors,
			   "unanswered_ms", (json_int_t)unanswered_ms,
			   "known", announce_is_known(announcer));
	if (heard_ms)
		json_object_set_new(object, "answered_ms",
				    json_integer(now_ms() - heard_ms));
	return object;
}
