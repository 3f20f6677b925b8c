// SPDX-License-Identifier: GPL-2.0
/*
 * control - the control socket: answers each line of JSON with one line of JSON
 *
 * Owner and group may open the socket; whoever can may send any command.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <jansson.h>

#include "pamsd.h"

#define LINE_BYTES_MAX	4096
#define CLIENTS_MAX	16
/*
 * Limit of unread answers per client, which the last answer may exceed. A client that sends
 * more commands then is disconnected.
 */
#define UNREAD_BYTES	1048576
#define TELL_S		5

struct client {
	struct control *control;
	struct bufferevent *buffer;
	uint64_t heard_ms;	/* when it last said something, or connected */
	struct client *next;
};

struct control {
	struct event_base *base;
	const struct lines *lines;
	char *path;
	int fd;
	struct event *event;
	struct client *clients;
	unsigned int count;
};

static void drop(struct client *client)
{
	struct client **at = &client->control->clients;

	while (*at != client)
		at = &(*at)->next;
	*at = client->next;
	client->control->count--;
	bufferevent_free(client->buffer);
	free(client);
}

static void answer(struct client *client, json_t *object)
{
	char *text = json_dumps(object, JSON_COMPACT);

	json_decref(object);
	if (!text)
		return;
	bufferevent_write(client->buffer, text, strlen(text));
	bufferevent_write(client->buffer, "\n", 1);
	free(text);
}

static bool is_full(const struct client *client)
{
	struct evbuffer *output = bufferevent_get_output(client->buffer);

	return evbuffer_get_length(output) > UNREAD_BYTES;
}

static void obey(struct client *client)
{
	struct evbuffer *input = bufferevent_get_input(client->buffer);
	char *line;
	size_t len;

	while (!is_full(client) &&
	       (line = evbuffer_readln(input, &len, EVBUFFER_EOL_LF))) {
		answer(client, lines_obey(client->control->lines, line, len,
					  NULL));
		free(line);
	}
}

static void on_readable(struct bufferevent *buffer, void *arg)
{
	struct client *client = arg;
	bool unread = is_full(client);

	client->heard_ms = now_ms();
	obey(client);
	if (unread || evbuffer_get_length(bufferevent_get_input(buffer)) >
		      LINE_BYTES_MAX)
		drop(client);
}

/* The client has read all answers: carry out the commands that waited for that. */
static void on_written(struct bufferevent *buffer, void *arg)
{
	(void)buffer;
	obey(arg);
}

static void on_closed(struct bufferevent *buffer, short what, void *arg)
{
	(void)buffer;
	if (what & (BEV_EVENT_EOF | BEV_EVENT_ERROR))
		drop(arg);
}

/* The client that has said nothing for the longest time. */
static struct client *quietest(const struct control *control)
{
	struct client *quiet = control->clients;

	for (struct client *client = quiet; client; client = client->next)
		if (client->heard_ms <= quiet->heard_ms)
			quiet = client;
	return quiet;
}

static void on_connect(evutil_socket_t fd, short what, void *arg)
{
	struct control *control = arg;
	struct client *client;
	int accepted;

	(void)what;
	accepted = accept4(fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	if (accepted < 0)
		return;
	if (control->count == CLIENTS_MAX)
		drop(quietest(control));
	client = calloc(1, sizeof(*client));
	if (!client) {
		close(accepted);
		return;
	}
	client->buffer = bufferevent_socket_new(control->base, accepted,
						BEV_OPT_CLOSE_ON_FREE);
	if (!client->buffer) {
		close(accepted);
		free(client);
		return;
	}
	client->control = control;
	client->heard_ms = now_ms();
	client->next = control->clients;
	control->clients = client;
	control->count++;
	bufferevent_setcb(client->buffer, on_readable, on_written, on_closed,
			  client);
	bufferevent_enable(client->buffer, EV_READ | EV_WRITE);
}

static int address_of(struct sockaddr_un *address, const char *path)
{
	memset(address, 0, sizeof(*address));
	address->sun_family = AF_UNIX;
	if (strlen(path) >= sizeof(address->sun_path))
		return -ENAMETOOLONG;
	memcpy(address->sun_path, path, strlen(path) + 1);
	return 0;
}

/* Connect to the socket at this path. Returns a file descriptor or -errno. */
static int reach(const char *path)
{
	struct timeval limit = { .tv_sec = TELL_S };
	struct sockaddr_un address;
	int fd, err;

	err = address_of(&address, path);
	if (err)
		return err;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
	if (!connect(fd, (struct sockaddr *)&address, sizeof(address)))
		return fd;
	err = -errno;
	close(fd);
	return err;
}

/*
 * Listen at this path. Returns a file descriptor or -errno. If a socket exists there but nobody
 * listens, a daemon that was killed has left it: replace it.
 */
static int listen_at(const char *path)
{
	struct sockaddr_un address;
	struct stat st;
	mode_t mask;
	int fd, err;

	err = address_of(&address, path);
	if (err)
		return err;
	err = reach(path);
	if (err >= 0) {
		close(err);
		return -EADDRINUSE;
	}
	if (!lstat(path, &st) && !S_ISSOCK(st.st_mode))
		return -EEXIST;
	if (err == -ECONNREFUSED)
		unlink(path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	mask = umask(0117);
	err = bind(fd, (struct sockaddr *)&address, sizeof(address)) ||
	      listen(fd, CLIENTS_MAX) ? -errno : 0;
	umask(mask);
	if (!err)
		return fd;
	close(fd);
	return err;
}

struct control *control_new(struct event_base *base, const char *path,
			    const struct lines *lines)
{
	struct control *control = calloc(1, sizeof(*control));

	if (!control)
		return NULL;
	control->base = base;
	control->lines = lines;
	control->fd = listen_at(path);
	if (control->fd < 0) {
		say("the control socket %s can't be made: %s", path,
		    strerror(-control->fd));
		free(control);
		return NULL;
	}
	control->path = strdup(path);
	control->event = event_new(base, control->fd, EV_READ | EV_PERSIST,
				   on_connect, control);
	if (!control->path || !control->event ||
	    event_add(control->event, NULL)) {
		control_free(control);
		return NULL;
	}
	return control;
}

void control_free(struct control *control)
{
	if (!control)
		return;
	while (control->clients)
		drop(control->clients);
	if (control->event)
		event_free(control->event);
	close(control->fd);
	if (control->path)
		unlink(control->path);
	free(control->path);
	free(control);
}

/* The exit status for an answer: 1 if it is an error or no JSON, else 0. */
static int judge(const char *answer, size_t len)
{
	json_t *object = json_loadb(answer, len, 0, NULL);
	int status = !object || json_object_get(object, "error") ? 1 : 0;

	json_decref(object);
	return status;
}

int control_tell(const char *path, const char *line)
{
	int fd = reach(path), status = 1;
	char *answer = NULL;
	size_t room = 0;
	ssize_t len;
	FILE *stream;

	if (fd < 0) {
		say("no pamsd answers at the control socket %s: %s", path, strerror(-fd));
		return 1;
	}
	stream = fdopen(fd, "r+");
	if (!stream) {
		close(fd);
		return 1;
	}
	fprintf(stream, "%s\n", line);
	fflush(stream);
	len = getline(&answer, &room, stream);
	if (len > 0) {
		fwrite(answer, len, 1, stdout);
		status = judge(answer, len);
	} else {
		say("no answer from the control socket %s", path);
	}
	free(answer);
	fclose(stream);
	return status;
}
