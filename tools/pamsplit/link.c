// SPDX-License-Identifier: GPL-2.0
/*
 * link - counts what an interface has received, from /proc/net/dev
 *
 * rtnetlink isn't used, since a request waits for the lock of the whole network
 * configuration (RTNL): a slow driver may hold it longer than the guard waits for a
 * beat. The file is opened before privileges are dropped. An interface that goes and
 * comes back, such as a USB modem's, is found again by its name.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pamsplit.h"

struct link {
	int fd;
	const char *name;
};

struct link *link_new(const char *name)
{
	struct link *link = calloc(1, sizeof(*link));

	if (!link)
		return NULL;
	link->name = name;
	link->fd = open("/proc/net/dev", O_RDONLY | O_CLOEXEC);
	if (link->fd >= 0)
		return link;
	say("/proc/net/dev: %s", strerror(errno));
	free(link);
	return NULL;
}

void link_free(struct link *link)
{
	if (link)
		close(link->fd);
	free(link);
}

/* Parse a line such as "  eth0:  123456 ...", whose first number is the bytes received. */
static bool read_line(const char *line, const char *name, uint64_t *bytes)
{
	size_t len = strlen(name);

	line += strspn(line, " ");
	if (strncmp(line, name, len) || line[len] != ':')
		return false;
	*bytes = strtoull(line + len + 1, NULL, 10);
	return true;
}

/* All bytes that the interface has received; 0 if there is no such interface. */
uint64_t link_received_bytes(struct link *link)
{
	char text[8192], *line, *end;
	uint64_t bytes = 0;
	size_t kept = 0;	/* bytes of a line whose end wasn't read yet */
	off_t at = 0;
	ssize_t len;

	while ((len = pread(link->fd, text + kept, sizeof(text) - 1 - kept,
			    at)) > 0) {
		at += len;
		text[kept + len] = '\0';
		for (line = text; (end = strchr(line, '\n')); line = end + 1)
			if (read_line(line, link->name, &bytes))
				return bytes;
		kept = strlen(line);
		memmove(text, line, kept);
	}
	return 0;
}
