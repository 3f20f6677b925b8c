/* SPDX-License-Identifier: GPL-2.0 */
/* A network namespace of the test's own, in which only the loopback is. */
#ifndef _OWN_NETWORK_H
#define _OWN_NETWORK_H

#include <net/if.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

static bool set_loopback(bool up)
{
	struct ifreq request = { .ifr_name = "lo", .ifr_flags = up ? IFF_UP : 0 };
	int fd = socket(AF_INET, SOCK_DGRAM, 0);
	bool done = !ioctl(fd, SIOCSIFFLAGS, &request);

	close(fd);
	return done;
}

/* As root of a user namespace where it has to be. */
static bool own_network(void)
{
	unsigned int uid = getuid();
	FILE *map;

	if (!unshare(CLONE_NEWNET))
		return set_loopback(true);
	if (unshare(CLONE_NEWUSER | CLONE_NEWNET))
		return false;
	map = fopen("/proc/self/uid_map", "w");
	if (!map)
		return false;
	fprintf(map, "0 %u 1", uid);
	return !fclose(map) && set_loopback(true);
}

#endif /* _OWN_NETWORK_H */
