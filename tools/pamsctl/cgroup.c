// SPDX-License-Identifier: GPL-2.0
/*
 * cgroup - cgroups (v2) by path, by the kernel's number and by systemd's unit
 *
 * A path begins at the root of the cgroup hierarchy, as in /proc/PID/cgroup, without the
 * folder where the hierarchy is mounted.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "cgroup.h"
#include "pamsctl.h"

/* kernfs' type of file handle, with an id of 8 bytes; not in any UAPI header */
#define HANDLE_KERNFS	0xfe

struct cgroup_handle {
	struct file_handle handle;
	uint64_t id;
};

int cgroup_find(const char *path, uint64_t *id)
{
	struct cgroup_handle found = {
		.handle.handle_bytes = sizeof(found.id),
	};
	char mount[PATH_MAX], file[2 * PATH_MAX];
	size_t length;
	int mount_id;

	if (!cgroup_mount(mount))
		return -EOPNOTSUPP;
	/* accept a path that includes the mount point, too */
	length = strlen(mount);
	if (!strncmp(path, mount, length) && (path[length] == '/' || !path[length]))
		path += length;
	snprintf(file, sizeof(file), "%s%s", mount, path);
	if (name_to_handle_at(AT_FDCWD, file, &found.handle, &mount_id, 0))
		return -errno;
	/* a path with "..", or a link, may lead out of the cgroup file system */
	if (found.handle.handle_type != HANDLE_KERNFS)
		return -ENOENT;
	*id = found.id;
	return 0;
}

int cgroup_path(uint64_t id, char path[PATH_MAX])
{
	struct cgroup_handle wanted = {
		.handle.handle_bytes = sizeof(id),
		.handle.handle_type = HANDLE_KERNFS,
		.id = id,
	};
	char mount[PATH_MAX], link[64];
	int at, fd, err;
	ssize_t length;
	size_t skip;

	if (!cgroup_mount(mount))
		return -EOPNOTSUPP;
	at = open(mount, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (at < 0)
		return -errno;
	fd = open_by_handle_at(at, &wanted.handle, O_PATH | O_CLOEXEC);
	err = fd < 0 ? -errno : 0;
	close(at);
	if (err)
		return err;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	length = readlink(link, path, PATH_MAX - 1);
	err = length < 0 ? -errno : 0;
	close(fd);
	if (err)
		return err;
	path[length] = 0;
	skip = strlen(mount);
	if (!strncmp(path, mount, skip))
		memmove(path, path + skip, length - skip + 1);
	if (!*path)
		snprintf(path, PATH_MAX, "/");
	return 0;
}

bool unit_property(const char *unit, const char *name, char *value, size_t room)
{
	const char * const words[] = { "systemctl", "show", "--property", name,
				       "--value", "--", unit, NULL };
	int status = program_run(words, false, value, room);

	value[strcspn(value, "\n")] = 0;
	return !status;
}
