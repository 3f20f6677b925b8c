/* SPDX-License-Identifier: GPL-2.0 */
/* hook - MPTCP for programs that know nothing of it, through the kernel's BPF hook */
#ifndef PAMSCTL_HOOK_H
#define PAMSCTL_HOOK_H

#include <stdint.h>

#define HOOK_CGROUPS_MAX	64

struct hook_cgroup {
	uint64_t id;
	uint64_t sockets;	/* that became MPTCP's */
};

/* NULL, or why this pamsctl and this kernel can't have it: good until the next call. */
const char *hook_missing(void);

/*
 * Each is alone at it until it returns; 0, the count, or -errno, and then hook_error()
 * says what failed.
 */
int hook_add(uint64_t id);
int hook_remove(uint64_t id);		/* and all of it with the last one */
int hook_read(struct hook_cgroup cgroups[HOOK_CGROUPS_MAX]);
const char *hook_error(void);

#endif /* PAMSCTL_HOOK_H */
