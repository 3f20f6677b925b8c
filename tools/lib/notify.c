// SPDX-License-Identifier: GPL-2.0
/*
 * notify - tells systemd the service's state, as sd_notify(3) documents
 *
 * Sends a datagram to the socket that the variable NOTIFY_SOCKET names; a name that
 * begins with @ is an abstract one. Without the variable nobody expects a datagram.
 */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "notify.h"

void notify(const char *state)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	const char *name = getenv("NOTIFY_SOCKET");
	socklen_t len;
	int fd;

	if (!name || strlen(name) >= sizeof(address.sun_path))
		return;
	memcpy(address.sun_path, name, strlen(name));
	if (*name == '@')
		address.sun_path[0] = '\0';
	len = offsetof(struct sockaddr_un, sun_path) + strlen(name);
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return;
	sendto(fd, state, strlen(state), MSG_NOSIGNAL,
	       (struct sockaddr *)&address, len);
	close(fd);
}
