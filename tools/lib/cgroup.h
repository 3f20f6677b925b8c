/* SPDX-License-Identifier: GPL-2.0 */
/* cgroup - where the hierarchy of cgroups (v2) is */
#ifndef PAMS_CGROUP_H
#define PAMS_CGROUP_H

#include <limits.h>
#include <stdbool.h>

/* Find where it is mounted: at /sys/fs/cgroup, or below where there are v1 ones, too. */
bool cgroup_mount(char mount[PATH_MAX]);
/* Open its root's folder. Returns a file descriptor or -errno; -EOPNOTSUPP: it isn't mounted. */
int cgroup_root(void);

#endif /* PAMS_CGROUP_H */
