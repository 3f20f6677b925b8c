/* SPDX-License-Identifier: GPL-2.0 */
/* hook - MPTCP for programs that don't ask for it, through a BPF hook of the kernel */
#ifndef PAMSCTL_HOOK_H
#define PAMSCTL_HOOK_H

#include <stdint.h>

#define HOOK_CGROUPS_MAX	64

struct hook_cgroup {
	uint64_t id;
	uint64_t sockets;	/* opened as MPTCP sockets because of the hook */
};

/* NULL, or why this pamsctl or this kernel doesn't support the hook; valid until the next call. */
const char *hook_missing(void);

/*
 * hook_add() and hook_remove() hold a lock and return 0, hook_read() returns the number of
 * cgroups; each returns -errno if it fails, and pins_refuse() then says what failed.
 */
int hook_add(uint64_t id);
int hook_remove(uint64_t id);		/* the last cgroup's removal removes the hook, too */
int hook_read(struct hook_cgroup cgroups[HOOK_CGROUPS_MAX]);

#endif /* PAMSCTL_HOOK_H */
