// SPDX-License-Identifier: GPL-2.0
/*
 * unanswered - logs that a server doesn't answer, and when it does again
 *
 * A report that is dropped on the way, or whose key the server doesn't know,
 * gets no answer at all. Who set this up can only learn it from here.
 */
#include <stdlib.h>

#include <event2/event.h>

#include "pamsd.h"

/* An answer takes a round trip; some reports may be lost. */
#define PATIENCE_S	3

struct unanswered {
	const char *name;
	const union address *address;
	struct event *timer;
	uint64_t since_ms;	/* when the first was sent; 0: none waits */
	bool logged;
};

static void on_timeout(evutil_socket_t fd, short what, void *arg)
{
	struct unanswered *unanswered = arg;
	char text[ADDRESS_TEXT];

	(void)fd;
	(void)what;
	if (unanswered->logged)
		return;
	unanswered->logged = true;
	say("no answer from '%s' at %s: is its pamsd running, does every "
	    "firewall let UDP to this port pass, and is the key the same "
	    "there? Its log tells if reports arrive",
	    unanswered->name, address_text(text, unanswered->address));
}

struct unanswered *unanswered_new(struct event_base *base, const char *name,
				  const union address *address)
{
	struct unanswered *unanswered = calloc(1, sizeof(*unanswered));

	if (!unanswered)
		return NULL;
	unanswered->name = name;
	unanswered->address = address;
	unanswered->timer = evtimer_new(base, on_timeout, unanswered);
	if (unanswered->timer)
		return unanswered;
	free(unanswered);
	return NULL;
}

void unanswered_free(struct unanswered *unanswered)
{
	if (!unanswered)
		return;
	event_free(unanswered->timer);
	free(unanswered);
}

void unanswered_sent(struct unanswered *unanswered)
{
	const struct timeval patience = { .tv_sec = PATIENCE_S };

	if (unanswered->since_ms)
		return;
	unanswered->since_ms = now_ms();
	evtimer_add(unanswered->timer, &patience);
}

void unanswered_heard(struct unanswered *unanswered)
{
	char text[ADDRESS_TEXT];

	evtimer_del(unanswered->timer);
	unanswered->since_ms = 0;
	if (unanswered->logged)
		say("'%s' at %s answers", unanswered->name,
		    address_text(text, unanswered->address));
	unanswered->logged = false;
}

uint64_t unanswered_ms(const struct unanswered *unanswered)
{
	return unanswered->since_ms ? now_ms() - unanswered->since_ms : 0;
}
