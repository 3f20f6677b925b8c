// SPDX-License-Identifier: GPL-2.0
/* cgroup - where the hierarchy of cgroups (v2) is */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <mntent.h>
#include <stdio.h>
#include <string.h>
#include <sys/vfs.h>

#include "cgroup.h"

/* Another file system may be mounted over it; who may not look there is told so later. */
static bool is_there(const struct mntent *one)
{
	struct statfs about;

	if (strcmp(one->mnt_type, "cgroup2"))
		return false;
	return statfs(one->mnt_dir, &about) ? errno == EACCES :
					      about.f_type == CGROUP2_SUPER_MAGIC;
}

bool cgroup_mount(char mount[PATH_MAX])
{
	FILE *mounts = setmntent("/proc/self/mounts", "re");
	struct mntent *one;
	bool found = false;

	while (mounts && !found && (one = getmntent(mounts))) {
		found = is_there(one);
		if (found)
			snprintf(mount, PATH_MAX, "%s", one->mnt_dir);
	}
	if (mounts)
		endmntent(mounts);
	return found;
}

int cgroup_root(void)
{
	char mount[PATH_MAX];
	int fd;

	if (!cgroup_mount(mount))
		return -EOPNOTSUPP;
	fd = open(mount, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}
