// SPDX-License-Identifier: GPL-2.0
/*
 * fixed-random - preloaded into a user-mode kernel: its entropy is a seed
 *
 * A user-mode kernel takes all its entropy from the host's getrandom(). With
 * this in its place keys, ports, sequence numbers and netem's losses follow
 * from LAB_SEED, and a run in virtual time can be repeated to the microsecond.
 * The guest's own programs are not affected by what is preloaded here.
 */
#include <stdint.h>
#include <stdlib.h>
#include <sys/types.h>

ssize_t getrandom(void *buf, size_t len, unsigned int flags);

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
