// SPDX-License-Identifier: GPL-2.0
/*
 * resolve - looks up the addresses of a server that is given by name
 *
 * evdns does the lookups in the event loop. /etc/hosts and /etc/resolv.conf are read
 * anew for each lookup, since the name servers change with the network. A name is
 * looked up every REFRESH_S, after a failure in 1, 2, 4 ... RETRY_MAX_S, when its server
 * doesn't answer, and, while no address is known, when a link comes up. Known addresses
 * stay until a lookup finds others.
 *
 * evdns calls back even after a request was cancelled, later, in the event loop, and
 * then uses its evdns_base. So resolver_free() keeps the memory until that callback,
 * plus one iteration of the loop; resolvers_end() waits for it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <event2/dns.h>
#include <event2/event.h>
#include <event2/util.h>

#include "target.h"

#define REFRESH_S	300
#define RETRY_MAX_S	64
/* Two attempts of two seconds each, whichever name servers are configured. */
#define TIMEOUT_S	"2"
#define ATTEMPTS	"2"
/* The callback is due in the first iteration of the loop, the timer in the next. */
#define END_TURNS_MAX	10

/* How many resolvers were passed to resolver_free() and still exist. */
static unsigned int abandoned_count;

struct resolver {
	struct event_base *base;
	const struct host *host;
	void (*found)(const union address *addresses, unsigned int count,
		      void *arg);
	void *arg;
	struct event *timer;
	struct evdns_base *dns;		/* of the last lookup, or NULL */
	struct evdns_getaddrinfo_request *request;
	unsigned int retry_s;
	int failed;			/* the error that was logged last */
	bool abandoned;			/* resolver_free() was called: don't use host and found */
};

static void arm(struct resolver *resolver, unsigned int s)
{
	struct timeval after = { .tv_sec = s };

	evtimer_add(resolver->timer, &after);
}

static unsigned int take_list(const struct evutil_addrinfo *list,
			      union address addresses[ADDRESSES_MAX])
{
	unsigned int count = 0;

	for (; list && count < ADDRESSES_MAX; list = list->ai_next) {
		if ((list->ai_family != AF_INET &&
		     list->ai_family != AF_INET6) ||
		    list->ai_addrlen > sizeof(addresses[0]))
			continue;
		memset(&addresses[count], 0, sizeof(addresses[0]));
		memcpy(&addresses[count], list->ai_addr, list->ai_addrlen);
		count++;
	}
	return count;
}

static void on_failure(struct resolver *resolver, int err)
{
	if (err != resolver->failed)
		say("the name '%s' can't be resolved: %s; it is tried again",
		    resolver->host->name, evutil_gai_strerror(err));
	resolver->failed = err;
	arm(resolver, resolver->retry_s);
	if (resolver->retry_s < RETRY_MAX_S)
		resolver->retry_s *= 2;
}

static void on_answer(int err, struct evutil_addrinfo *list, void *arg)
{
	union address addresses[ADDRESSES_MAX];
	struct resolver *resolver = arg;
	unsigned int count;

	resolver->request = NULL;
	count = err ? 0 : take_list(list, addresses);
	if (list)
		evutil_freeaddrinfo(list);
	if (resolver->abandoned) {
		arm(resolver, 0);
		return;
	}
	if (!count) {
		on_failure(resolver, err ?: EVUTIL_EAI_NODATA);
		return;
	}
	resolver->failed = 0;
	resolver->retry_s = 1;
	arm(resolver, REFRESH_S);
	resolver->found(addresses, count, resolver->arg);
}

/* Suppress evdns' own messages; on_failure() logs errors. */
static void say_nothing(int is_warning, const char *text)
{
	(void)is_warning;
	(void)text;
}

/* Returns NULL if there is no memory. Missing files are no error. */
static struct evdns_base *dns_new(struct event_base *base)
{
	struct evdns_base *dns = evdns_base_new(base, 0);

	if (!dns)
		return NULL;
	evdns_set_log_fn(say_nothing);
	if (evdns_base_resolv_conf_parse(dns, DNS_OPTIONS_ALL,
					 "/etc/resolv.conf"))
		evdns_base_load_hosts(dns, "/etc/hosts");
	evdns_base_set_option(dns, "timeout", TIMEOUT_S);
	evdns_base_set_option(dns, "attempts", ATTEMPTS);
	return dns;
}

static void look_up(struct resolver *resolver)
{
	const struct evutil_addrinfo hints = {
		.ai_family = AF_UNSPEC,
		.ai_socktype = SOCK_DGRAM,
		.ai_flags = EVUTIL_AI_NUMERICSERV,
	};

	/* Free the last lookup's base here, as its callback on_answer() mustn't. */
	if (resolver->dns)
		evdns_base_free(resolver->dns, 0);
	resolver->dns = dns_new(resolver->base);
	if (!resolver->dns) {
		on_failure(resolver, EVUTIL_EAI_MEMORY);
		return;
	}
	/* evdns may call on_answer() at once; then it returns NULL. */
	resolver->request = evdns_getaddrinfo(resolver->dns,
					      resolver->host->name,
					      resolver->host->port, &hints,
					      on_answer, resolver);
}

/* Free an abandoned resolver, to which evdns has no reference any more. */
static void dispose(struct resolver *resolver)
{
	if (resolver->dns)
		evdns_base_free(resolver->dns, 0);
	event_free(resolver->timer);
	free(resolver);
	abandoned_count--;
}

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct resolver *resolver = arg;

	(void)fd;
	(void)what;
	if (resolver->abandoned)
		dispose(resolver);
	else
		look_up(resolver);
}

struct resolver *resolver_new(struct event_base *base, const struct host *host,
			      void (*found)(const union address *addresses,
					    unsigned int count, void *arg),
			      void *arg)
{
	struct resolver *resolver = calloc(1, sizeof(*resolver));

	if (!resolver)
		return NULL;
	resolver->base = base;
	resolver->host = host;
	resolver->found = found;
	resolver->arg = arg;
	resolver->retry_s = 1;
	resolver->timer = evtimer_new(base, on_timer, resolver);
	if (!resolver->timer) {
		free(resolver);
		return NULL;
	}
	arm(resolver, 0);
	return resolver;
}

void resolver_hurry(struct resolver *resolver)
{
	resolver->retry_s = 1;
	if (!resolver->request)
		arm(resolver, 0);
}

void resolver_free(struct resolver *resolver)
{
	if (!resolver)
		return;
	resolver->abandoned = true;
	abandoned_count++;
	evtimer_del(resolver->timer);
	if (resolver->request)
		evdns_getaddrinfo_cancel(resolver->request);
	else
		arm(resolver, 0);
}

void resolvers_end(struct event_base *base)
{
	for (unsigned int i = 0; i < END_TURNS_MAX && abandoned_count; i++)
		event_base_loop(base, EVLOOP_NONBLOCK);
}
