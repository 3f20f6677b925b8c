// SPDX-License-Identifier: GPL-2.0
/*
 * pamsplit - a client of the control socket of pamsplit(8)
 *
 * pamsplit sends its status at once and closes the connection. A read waits for
 * PATIENCE_MS at most.
 */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base.h"

#define PATIENCE_MS	20
#define ANSWER_MAX	1048576	/* 1000 flows take half a megabyte */

static int connect_to(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd;

	if (strlen(path) >= sizeof(address.sun_path))
		return -ENAMETOOLONG;
	memcpy(address.sun_path, path, strlen(path));
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	if (connect(fd, (struct sockaddr *)&address, sizeof(address))) {
		int err = -errno;

		close(fd);
		return err;
	}
	return fd;
}

/* Read all until pamsplit closes the connection. Returns 0 or -errno. */
static int read_answer(int fd, char *answer, size_t room)
{
	size_t len = 0;

	while (len < room - 1) {
		struct pollfd wait = { .fd = fd, .events = POLLIN };
		ssize_t got;

		if (poll(&wait, 1, PATIENCE_MS) <= 0)
			return -ETIMEDOUT;
		got = read(fd, answer + len, room - 1 - len);
		if (got < 0)
			return -errno;
		if (!got)
			break;
		len += got;
	}
	answer[len] = '\0';
	return 0;
}

int pamsplit_ask(const char *path, char **answer, unsigned int *pid)
{
	static char text[ANSWER_MAX];
	struct ucred peer = { };
	socklen_t len = sizeof(peer);
	int fd = connect_to(path), err;

	if (fd < 0)
		return fd;
	err = read_answer(fd, text, sizeof(text));
	getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len);
	close(fd);
	*answer = text;
	/* a process of another pid namespace has the pid 0 here */
	*pid = peer.pid > 0 ? peer.pid : 1;
	return err;
}

uint64_t pamsplit_number(const char *line, const char *name)
{
	const char *at = strstr(line, name);

	return at ? strtoull(at + strlen(name), NULL, 10) : 0;
}

int pamsplit_lend_nothing(const char *path, unsigned int ms)
{
	int fd = connect_to(path), err = 0;
	char text[32] = "lend\n";

	if (fd < 0)
		return fd;
	if (ms)
		snprintf(text, sizeof(text), "lend nothing %u\n", ms);
	if (send(fd, text, strlen(text), MSG_NOSIGNAL) < 0)
		err = -errno;
	close(fd);
	return err;
}
