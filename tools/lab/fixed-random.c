// SPDX-License-Identifier: GPL-2.0
/*
 * fixed-random - preloaded into a user-mode kernel: its entropy is a seed
 *
 * A user-mode kernel takes its first entropy from the host's getrandom(), and more
 * from the host's /dev/random, which it shows as a hardware generator: that is mixed
 * in about a second after boot, and every minute. With this in place of the first, and
 * without the second, keys, ports, sequence numbers and netem's losses follow from
 * LAB_SEED, and a run in virtual time is the same each time. The guest's own programs
 * are not affected by what is preloaded here.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

ssize_t getrandom(void *buf, size_t len, unsigned int flags)
{
	static uint64_t state;
	static int seeded;
	unsigned char *to = buf;

	(void)flags;
	if (!seeded) {
		const char *seed = getenv("LAB_SEED");

		state = seed ? strtoull(seed, NULL, 0) : 1;
		seeded = 1;
	}
	for (size_t i = 0; i < len; i++) {
		/* splitmix64 (Steele, Lea, Flood, 2014) */
		uint64_t x = state += 0x9e3779b97f4a7c15;

		x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
		x = (x ^ x >> 27) * 0x94d049bb133111eb;
		to[i] = x >> 56;
	}
	return len;
}

int open64(const char *path, int flags, ...)
{
	mode_t mode = 0;

	if (!strcmp(path, "/dev/random")) {
		errno = ENOENT;
		return -1;
	}
	if (flags & O_CREAT) {
		va_list more;

		va_start(more, flags);
		mode = va_arg(more, mode_t);
		va_end(more);
	}
	return syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}
