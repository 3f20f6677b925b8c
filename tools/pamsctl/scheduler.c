// SPDX-License-Identifier: GPL-2.0
/*
 * scheduler - the kernel's MPTCP schedulers
 *
 * The sysctl keeps the name of a scheduler that has been unloaded, and new sockets
 * then quietly use "default": only the list shows which schedulers are available.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "../../net/mptcp_pams/scheds.h"
#include "pamsctl.h"

#define SYSCTL	"/proc/sys/net/mptcp/"

static bool read_line(const char *file, char *line, size_t room)
{
	FILE *f = fopen(file, "r");
	bool fine = f && fgets(line, room, f);

	if (f)
		fclose(f);
	if (fine)
		line[strcspn(line, "\n")] = 0;
	return fine;
}

bool mptcp_is_there(void)
{
	return !access(SYSCTL "enabled", F_OK);
}

bool scheduler_chosen(char *name, size_t room)
{
	return read_line(SYSCTL "scheduler", name, room);
}

bool scheduler_list(char *names, size_t room)
{
	if (read_line(SYSCTL "available_schedulers", names, room))
		return true;
	/* 6.6 and 6.8, for example, have no such file */
	snprintf(names, room, "default%s", module_is_loaded() ? PAMS_SCHEDS(PAMS_SCHED_WORD) : "");
	return false;
}

bool scheduler_is_there(const char *name)
{
	char names[SCHEDULERS_MAX];
	bool all = scheduler_list(names, sizeof(names));

	return in_list(names, name) || (!all && !is_ours(name));
}

int scheduler_choose(const char *name)
{
	char line[SCHEDULERS_MAX];
	int length = snprintf(line, sizeof(line), "%s\n", name);
	int fd, err = 0;

	fd = open(SYSCTL "scheduler", O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (write(fd, line, length) != length)
		err = -errno;
	close(fd);
	return err;
}

bool is_ours(const char *name)
{
	static const char * const names[] = { PAMS_SCHEDS(PAMS_SCHED_STRING) };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(names[i], name))
			return true;
	return false;
}

/* Is the name one of the words of the list? */
bool in_list(const char *names, const char *name)
{
	size_t length = strlen(name);
	const char *at = names;

	while (*at) {
		size_t word = strcspn(at, " ");

		if (word == length && !strncmp(at, name, length))
			return true;
		at += word + strspn(at + word, " ");
	}
	return false;
}
