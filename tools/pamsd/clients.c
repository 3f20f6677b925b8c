// SPDX-License-Identifier: GPL-2.0
/* clients - programs connected to a socket of the daemon's: of too many the quietest goes */
#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>

#include "pamsd.h"

#define AGAIN_S	1

void client_drop(struct client *client)
{
	struct client **at = &client->clients->first;

	while (*at != client)
		at = &(*at)->next;
	*at = client->next;
	client->clients->count--;
	if (client->deadline)
		event_free(client->deadline);
	bufferevent_free(client->buffer);
	free(client);
}

static void on_readable(struct bufferevent *buffer, void *arg)
{
	struct client *client = arg;

	(void)buffer;
	client->clients->use->readable(client);
}

static void on_written(struct bufferevent *buffer, void *arg)
{
	struct evbuffer *input = bufferevent_get_input(buffer);
	struct client *client = arg;

	if (client->ended && evbuffer_search_eol(input, NULL, NULL, EVBUFFER_EOL_LF).pos < 0)
		client_drop(client);
	else
		client->clients->use->written(client);
}

/* One that closed its side only still reads. */
static void on_closed(struct bufferevent *buffer, short what, void *arg)
{
	struct client *client = arg;

	if (what & BEV_EVENT_EOF && evbuffer_get_length(bufferevent_get_output(buffer))) {
		bufferevent_disable(buffer, EV_READ);
		client->ended = true;
	} else if (what & (BEV_EVENT_EOF | BEV_EVENT_ERROR)) {
		client_drop(client);
	}
}

static void on_deadline(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	client_drop(arg);
}

/* The client that has said nothing for the longest time. */
static struct client *quietest(const struct clients *clients)
{
	struct client *quiet = clients->first;

	for (struct client *client = quiet; client; client = client->next)
		if (client->heard_ms <= quiet->heard_ms)
			quiet = client;
	return quiet;
}

static bool has_deadline(struct client *client, unsigned int patience_s)
{
	const struct timeval patience = { .tv_sec = patience_s };

	if (!patience_s)
		return true;
	client->deadline = evtimer_new(client->clients->base, on_deadline, client);
	return client->deadline && !event_add(client->deadline, &patience);
}

/* Who waits, and can't be taken for want of descriptors, would wake the daemon all the time. */
static void pause_taking(struct clients *clients)
{
	const struct timeval after = { .tv_sec = AGAIN_S };

	if (!event_add(clients->again, &after))
		event_del(clients->event);
}

static void on_again(evutil_socket_t fd, short what, void *arg)
{
	struct clients *clients = arg;

	(void)fd;
	(void)what;
	event_add(clients->event, NULL);
}

static void on_connect(evutil_socket_t fd, short what, void *arg)
{
	struct clients *clients = arg;
	struct client *client;
	int accepted;

	(void)what;
	accepted = accept4(fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	if (accepted < 0) {
		if (errno != EAGAIN && errno != ECONNABORTED)
			pause_taking(clients);
		return;
	}
	if (clients->count == CLIENTS_MAX)
		client_drop(quietest(clients));
	client = calloc(1, sizeof(*client));
	if (!client) {
		close(accepted);
		return;
	}
	client->buffer = bufferevent_socket_new(clients->base, accepted, BEV_OPT_CLOSE_ON_FREE);
	if (!client->buffer) {
		close(accepted);
		free(client);
		return;
	}
	client->clients = clients;
	client->heard_ms = now_ms();
	client->next = clients->first;
	clients->first = client;
	clients->count++;
	if (!has_deadline(client, clients->use->patience_s)) {
		client_drop(client);
		return;
	}
	bufferevent_setcb(client->buffer, on_readable, on_written, on_closed, client);
	bufferevent_enable(client->buffer, EV_READ | EV_WRITE);
}

int clients_begin(struct clients *clients, struct event_base *base, int fd,
		  const struct client_use *use, void *arg)
{
	clients->base = base;
	clients->fd = fd;
	clients->use = use;
	clients->arg = arg;
	clients->event = event_new(base, fd, EV_READ | EV_PERSIST, on_connect, clients);
	clients->again = evtimer_new(base, on_again, clients);
	return clients->event && clients->again ? event_add(clients->event, NULL) : -1;
}

void clients_end(struct clients *clients)
{
	while (clients->first)
		client_drop(clients->first);
	if (clients->event)
		event_free(clients->event);
	if (clients->again)
		event_free(clients->again);
	close(clients->fd);
}
