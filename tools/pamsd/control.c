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
/*
 * Limit of unread answers per client, which the last answer may exceed. A client that sends
 * more commands then is disconnected.
 */
#define UNREAD_BYTES	1048576
#define TELL_S		5

struct control {
	const struct lines *lines;
	char *path;
	struct clients clients;
};

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
	const struct control *control = client->clients->arg;
	char *line;
	size_t len;

	while (!is_full(client) &&
	       (line = evbuffer_readln(input, &len, EVBUFFER_EOL_LF))) {
		answer(client, lines_obey(control->lines, line, len, NULL));
		free(line);
	}
}

static void on_readable(struct client *client)
{
	bool unread = is_full(client);

	client->heard_ms = now_ms();
	obey(client);
	if (unread || evbuffer_get_length(bufferevent_get_input(client->buffer)) > LINE_BYTES_MAX)
		client_drop(client);
}

/* A client that has read all answers: carry out the commands that waited for that. */
static const struct client_use use = { .readable = on_readable, .written = obey };

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
	int fd;

	if (!control)
		return NULL;
	control->lines = lines;
	fd = listen_at(path);
	if (fd < 0) {
		say("the control socket %s can't be made: %s", path, strerror(-fd));
		free(control);
		return NULL;
	}
	control->path = strdup(path);
	if (clients_begin(&control->clients, base, fd, &use, control) || !control->path) {
		control_free(control);
		return NULL;
	}
	return control;
}

void control_free(struct control *control)
{
	if (!control)
		return;
	clients_end(&control->clients);
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
