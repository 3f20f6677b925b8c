// SPDX-License-Identifier: GPL-2.0
/*
 * up_file - files that "pamsctl up" writes, each whole or not at all
 *
 * The new content is written to a file beside the old one, which it then replaces. That file
 * always has the same name, so that a later up or down finds what a killed one has left.
 */
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pamsctl.h"
#include "up.h"

#define TEXT_MAX	1048576

/* Follow links: it is the file at their end that is replaced. */
static void resolve(const char *path, char real[PATH_MAX])
{
	if (!realpath(path, real))
		snprintf(real, PATH_MAX, "%s", path);
}

/* The name of the file beside it: neither systemd nor OpenWrt reads one that ends so. */
static void name_new(const char *real, char *name, size_t room)
{
	char folder[PATH_MAX], base[PATH_MAX];

	snprintf(folder, sizeof(folder), "%s", real);
	snprintf(base, sizeof(base), "%s", real);
	snprintf(name, room, "%s/.%s.pamsctl-new", dirname(folder), basename(base));
}

char *file_text(const char *path, mode_t *mode, int *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	size_t length = 0;
	struct stat st;
	ssize_t got = 0;
	char *text;

	*err = 0;
	if (fd < 0) {
		if (errno != ENOENT && errno != ENOTDIR)
			*err = -errno;
		return NULL;
	}
	text = malloc(TEXT_MAX + 1);
	if (!text)
		*err = -ENOMEM;
	else if (fstat(fd, &st) || !S_ISREG(st.st_mode))
		*err = -EINVAL;
	while (!*err && length <= TEXT_MAX &&
	       (got = read(fd, text + length, TEXT_MAX + 1 - length)) > 0)
		length += got;
	if (!*err && got < 0)
		*err = -errno;
	else if (!*err && length > TEXT_MAX)
		*err = -EFBIG;
	else if (!*err && memchr(text, 0, length))
		*err = -EINVAL;
	close(fd);
	if (*err) {
		free(text);
		return NULL;
	}
	text[length] = 0;
	if (mode)
		*mode = st.st_mode & 07777;
	return text;
}

static int write_all(int fd, const char *text)
{
	size_t left = strlen(text);

	while (left) {
		ssize_t written = write(fd, text, left);

		if (written < 0)
			return -errno;
		text += written;
		left -= written;
	}
	return fsync(fd) ? -errno : 0;
}

/* The folder's entry is on the disk, too: what was done before this comes first after a crash. */
static void sync_folder(const char *path)
{
	char folder[PATH_MAX];
	int fd;

	snprintf(folder, sizeof(folder), "%s", path);
	fd = open(dirname(folder), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return;
	fsync(fd);
	close(fd);
}

int file_put(const char *path, const char *text, mode_t mode)
{
	char real[PATH_MAX], new[PATH_MAX + 32];
	struct stat old;
	bool exists;
	int fd, err;

	resolve(path, real);
	name_new(real, new, sizeof(new));
	exists = !stat(real, &old);
	unlink(new);
	fd = open(new, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	err = write_all(fd, text);
	if (!err && exists && fchown(fd, old.st_uid, old.st_gid))
		err = -errno;
	if (!err && fchmod(fd, exists ? old.st_mode & 07777 : mode))
		err = -errno;
	if (close(fd) && !err)
		err = -errno;
	if (!err && rename(new, real))
		err = -errno;
	if (err)
		unlink(new);
	else
		sync_folder(real);
	return err;
}

void file_clean(const char *path)
{
	char real[PATH_MAX], new[PATH_MAX + 32];

	resolve(path, real);
	name_new(real, new, sizeof(new));
	unlink(new);
}

int file_folder(const char *path, char *folder, size_t room)
{
	char copy[PATH_MAX];

	snprintf(copy, sizeof(copy), "%s", path);
	snprintf(folder, room, "%s", dirname(copy));
	return access(folder, F_OK) && errno == ENOENT;
}
