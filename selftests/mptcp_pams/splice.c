// SPDX-License-Identifier: GPL-2.0
/*
 * splice - a proxy over TCP that splices: what splitting costs the kernel at least
 *
 * Usage: splice PORT ADDRESS
 *
 * A connection to PORT is joined by splice(2) to one to ADDRESS, at the same port; one at a time.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#define PIPE_BYTES	(1024 << 10)

/* From one socket to the other, by way of a pipe. */
struct way {
	int from, to;
	int pipe[2];
	size_t waits;	/* bytes in the pipe */
	bool ended;
};

static void open_way(struct way *way, int from, int to)
{
	*way = (struct way){ .from = from, .to = to };
	if (pipe2(way->pipe, O_NONBLOCK))
		err(1, "pipe");
	fcntl(way->pipe[1], F_SETPIPE_SZ, PIPE_BYTES);
}

static void close_way(struct way *way)
{
	close(way->pipe[0]);
	close(way->pipe[1]);
}

/* Move what can be moved now; false if a connection broke. */
static bool move(struct way *way)
{
	const unsigned int flags = SPLICE_F_MOVE | SPLICE_F_NONBLOCK;
	ssize_t count;

	if (!way->ended && !way->waits) {
		count = splice(way->from, NULL, way->pipe[1], NULL, PIPE_BYTES, flags);
		if (count < 0)
			return errno == EAGAIN;
		way->ended = !count;
		way->waits = count;
		if (way->ended)
			shutdown(way->to, SHUT_WR);
	}
	if (!way->waits)
		return true;
	count = splice(way->pipe[0], NULL, way->to, NULL, way->waits, flags);
	if (count < 0)
		return errno == EAGAIN;
	way->waits -= count;
	return true;
}

/* What has to happen before the way can go on. */
static void wait_for(const struct way *way, struct pollfd *from, struct pollfd *to)
{
	if (way->waits)
		to->events |= POLLOUT;
	else if (!way->ended)
		from->events |= POLLIN;
}

static void join(int client, int server)
{
	struct way down, up;

	open_way(&down, server, client);
	open_way(&up, client, server);
	while (!down.ended || !up.ended || down.waits || up.waits) {
		struct pollfd files[] = { { .fd = client }, { .fd = server } };

		wait_for(&down, &files[1], &files[0]);
		wait_for(&up, &files[0], &files[1]);
		if (poll(files, 2, -1) < 0 || !move(&down) || !move(&up))
			break;
	}
	close_way(&down);
	close_way(&up);
}

int main(int argc, char **argv)
{
	struct sockaddr_in at = { .sin_family = AF_INET };
	int listener = socket(AF_INET, SOCK_STREAM, 0), one = 1;

	if (argc != 3)
		errx(2, "usage: splice PORT ADDRESS");
	at.sin_port = htons(atoi(argv[1]));
	setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(listener, (struct sockaddr *)&at, sizeof(at)) || listen(listener, 8))
		err(1, "port %s", argv[1]);
	if (inet_pton(AF_INET, argv[2], &at.sin_addr) != 1)
		errx(2, "'%s' is no address", argv[2]);
	for (;;) {
		int client = accept(listener, NULL, NULL);
		int server = socket(AF_INET, SOCK_STREAM, 0);

		if (connect(server, (struct sockaddr *)&at, sizeof(at)))
			err(1, "%s", argv[2]);
		fcntl(client, F_SETFL, O_NONBLOCK);
		fcntl(server, F_SETFL, O_NONBLOCK);
		join(client, server);
		close(client);
		close(server);
	}
}
