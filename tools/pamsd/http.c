// SPDX-License-Identifier: GPL-2.0
/*
 * http - a page that shows links, rates and connections, and metrics for Prometheus
 *
 *	/		page.html
 *	/status		what it shows, as JSON
 *	/metrics	what pamsctl metrics prints
 *
 * It listens at a loopback address, so whoever is on this machine may ask. Other sites' scripts in
 * its browsers may not: Host has to name the loopback, which no name that was made to lead here
 * does (DNS rebinding), and no other origin is allowed to read.
 *
 * One request is taken of a connection. libevent's own server, evhttp, isn't used: that of 2.1
 * limits neither the number of connections nor the time that a request may take.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <jansson.h>

#include "metrics.h"
#include "pamsd.h"

#define HEAD_BYTES_MAX	16384
#define PATIENCE_S	10
#define FRESH_MS	1000	/* an answer is given again for so long */
#define LARGE_BYTES	1048576	/* of larger answers only one is under way */
#define PORT		80	/* what Host means without one */

static const unsigned char page[] = {
#include "page.inc"
};

static const char headers[] =
	"Allow: GET\r\n"
	"Connection: close\r\n"
	"Cache-Control: no-store\r\n"
	"Content-Security-Policy: default-src 'none'; script-src 'unsafe-inline'; "
	"style-src 'unsafe-inline'; connect-src 'self'; base-uri 'none'; form-action 'none'; "
	"frame-ancestors 'none'\r\n"
	"Cross-Origin-Resource-Policy: same-origin\r\n"
	"Referrer-Policy: no-referrer\r\n"
	"X-Content-Type-Options: nosniff\r\n";

struct made {
	char *text;	/* or NULL */
	uint64_t ms;	/* when it was made */
};

struct http {
	const struct lines *lines;
	union address address;
	struct made metrics, status;
	struct clients clients;
};

/* --- what is answered --- */

static json_t *pamsd_status(const struct lines *lines)
{
	static const char question[] = "{\"command\": \"status\"}";

	return lines_obey(lines, question, strlen(question), NULL);
}

static char *make_metrics(const struct lines *lines)
{
	json_t *status = pamsd_status(lines);
	struct pams_stats stats;
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	if (out)
		metrics_write(out, kernel_stats(lines->kernel, &stats) ? NULL : &stats, status);
	json_decref(status);
	if (out)
		fclose(out);
	return text;
}

static char *make_status(const struct lines *lines)
{
	json_t *object = shown_links();
	char *text;

	json_object_set_new(object, "pamsd", pamsd_status(lines));
	json_object_set_new(object, "unprivileged", json_boolean(lines->unprivileged));
	json_object_set_new(object, "ms", json_integer(now_ms()));
	text = json_dumps(object, JSON_COMPACT);
	json_decref(object);
	return text;
}

static void answer(struct client *client, const char *status, const char *type,
		   const void *body, size_t len)
{
	struct evbuffer *output = bufferevent_get_output(client->buffer);

	client->answered = true;
	evbuffer_add_printf(output, "HTTP/1.1 %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n"
			    "%s\r\n", status, type, len, headers);
	evbuffer_add(output, body, len);
}

static void refuse(struct client *client, const char *status)
{
	char line[64];
	int len = snprintf(line, sizeof(line), "%s\n", status);

	answer(client, status, "text/plain", line, len);
}

/* Who was answered before, and is still there, has read it all or holds memory. */
static void drop_others(const struct client *client)
{
	struct client *next;

	for (struct client *other = client->clients->first; other; other = next) {
		next = other->next;
		if (other != client && other->answered)
			client_drop(other);
	}
}

static void answer_fresh(struct client *client, const char *type, struct made *made,
			 char *(*make)(const struct lines *lines))
{
	const struct http *http = client->clients->arg;

	if (!made->text || now_ms() - made->ms >= FRESH_MS) {
		free(made->text);
		made->text = make(http->lines);
		made->ms = now_ms();
	}
	if (made->text && strlen(made->text) > LARGE_BYTES)
		drop_others(client);
	if (made->text)
		answer(client, "200 OK", type, made->text, strlen(made->text));
	else
		refuse(client, "503 Service Unavailable");
}

/* --- what is asked --- */

/* The next line of a head, without its end; NULL at the end. */
static char *next_line(char **at)
{
	char *line = *at, *end = strstr(line, "\r\n");

	if (!end || end == line)
		return NULL;
	*end = '\0';
	*at = end + 2;
	return line;
}

/* Does the value of Host name a loopback address, or localhost, and the port? */
static bool is_here(const struct http *http, const char *host)
{
	static const char name[] = "localhost";
	size_t len = strlen(name);
	union address address;
	char text[ADDRESS_TEXT];
	bool named = !strncasecmp(host, name, len) && (!host[len] || host[len] == ':');

	snprintf(text, sizeof(text), "%s%s", named ? "127.0.0.1" : "", named ? host + len : host);
	/* the ports of both families are at the same place */
	return !address_parse(&address, text, PORT) && address_is_loopback(&address) &&
	       address.in.sin_port == http->address.in.sin_port;
}

/* The value of the only field Host, or NULL. */
static char *host_of(char *at)
{
	char *line, *host = NULL;

	while ((line = next_line(&at))) {
		if (strncasecmp(line, "Host:", 5))
			continue;
		if (host)
			return NULL;
		host = line + 5 + strspn(line + 5, " \t");
		host[strcspn(host, " \t")] = '\0';
	}
	return host;
}

static void obey(struct client *client, char *head)
{
	struct http *http = client->clients->arg;
	char *request = next_line(&head), *host = host_of(head);
	const char *method = strsep(&request, " "), *path = strsep(&request, " ");

	if (!host || !path || !request || strncmp(request, "HTTP/1.", 7))
		refuse(client, "400 Bad Request");
	else if (!is_here(http, host))
		refuse(client, "403 Forbidden");
	else if (strcmp(method, "GET"))
		refuse(client, "405 Method Not Allowed");
	else if (!strcmp(path, "/"))
		answer(client, "200 OK", "text/html; charset=utf-8", page, sizeof(page));
	else if (!strcmp(path, "/metrics"))
		answer_fresh(client, "application/openmetrics-text; version=1.0.0; charset=utf-8",
			     &http->metrics, make_metrics);
	else if (!strcmp(path, "/status"))
		answer_fresh(client, "application/json", &http->status, make_status);
	else
		refuse(client, "404 Not Found");
}

static void on_readable(struct client *client)
{
	struct evbuffer *input = bufferevent_get_input(client->buffer);
	size_t len = evbuffer_get_length(input);
	char head[HEAD_BYTES_MAX + 4];
	struct evbuffer_ptr end;

	if (client->answered) {
		evbuffer_drain(input, len);
		return;
	}
	end = evbuffer_search(input, "\r\n\r\n", 4, NULL);
	if (end.pos < 0 && len < HEAD_BYTES_MAX)
		return;
	if (end.pos < 0 || end.pos >= HEAD_BYTES_MAX) {
		refuse(client, "431 Request Header Fields Too Large");
		return;
	}
	evbuffer_remove(input, head, end.pos + 4);
	head[end.pos + 4] = '\0';
	obey(client, head);
}

/* Close once the client has: what it has sent and nobody reads would cut the answer off. */
static void on_written(struct client *client)
{
	if (client->answered)
		shutdown(bufferevent_getfd(client->buffer), SHUT_WR);
}

static const struct client_use use = {
	.readable = on_readable, .written = on_written, .patience_s = PATIENCE_S,
};

static int listen_at(const union address *address)
{
	int fd = socket(address->sa.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	int err, on = 1;

	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (!bind(fd, &address->sa, address_len(address)) && !listen(fd, CLIENTS_MAX))
		return fd;
	err = -errno;
	close(fd);
	return err;
}

struct http *http_new(struct event_base *base, const union address *address,
		      const struct lines *lines)
{
	struct http *http = calloc(1, sizeof(*http));
	char text[ADDRESS_TEXT];
	int fd;

	if (!http)
		return NULL;
	http->lines = lines;
	http->address = *address;
	fd = listen_at(address);
	if (fd < 0) {
		say("http: can't listen at %s: %s", address_text(text, address), strerror(-fd));
		free(http);
		return NULL;
	}
	if (clients_begin(&http->clients, base, fd, &use, http)) {
		http_free(http);
		return NULL;
	}
	return http;
}

void http_free(struct http *http)
{
	if (!http)
		return;
	clients_end(&http->clients);
	free(http->metrics.text);
	free(http->status.text);
	free(http);
}
