// SPDX-License-Identifier: GPL-2.0
/*
 * keep - a JSON file that is replaced atomically
 *
 * The new file is written beside the old one, synced to the disk, and renamed over it. So
 * a file that can't be parsed wasn't written here. A file that can't be read is renamed,
 * since the next write would replace it, and lose what only this file has.
 */
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <jansson.h>

#include "base.h"

bool keep_put_aside(const char *file, const char *suffix)
{
	char aside[PATH_MAX];

	return (size_t)snprintf(aside, sizeof(aside), "%s.%s", file, suffix) <
	       sizeof(aside) && !rename(file, aside);
}

json_t *keep_read(const char *file, const char **why)
{
	static char text[JSON_ERROR_TEXT_LENGTH + 64];
	json_error_t error;
	json_t *state;
	FILE *stream;
	int err;

	*why = NULL;
	stream = fopen(file, "re");
	if (!stream && errno == ENOENT)
		return NULL;
	if (!stream) {
		err = errno;
		snprintf(text, sizeof(text), "can't be read: %s%s",
			 strerror(err), keep_put_aside(file, "unreadable") ?
			 "; it is kept with the suffix .unreadable" : "");
		*why = text;
		return NULL;
	}
	state = json_loadf(stream, JSON_REJECT_DUPLICATES, &error);
	fclose(stream);
	if (state)
		return state;
	snprintf(text, sizeof(text), "line %d: %s", error.line, error.text);
	*why = text;
	keep_put_aside(file, "corrupt");
	return NULL;
}

static int open_folder(const char *file)
{
	char *path = strdup(file);
	int fd = path ? open(dirname(path), O_RDONLY | O_DIRECTORY | O_CLOEXEC) :
			-1;

	free(path);
	return fd;
}

/* Write the renamed directory entry to the disk. */
static void sync_folder(const char *file)
{
	int fd = open_folder(file);

	if (fd >= 0) {
		fsync(fd);
		close(fd);
	}
}

/*
 * Give the file to the owner of its folder: the service's user has to read it, even if a pamsd
 * that root started by hand has written it.
 */
static void give_to_owner(int fd, const char *file)
{
	int folder = open_folder(file);
	struct stat st;

	if (folder < 0)
		return;
	/* root without CAP_CHOWN keeps the file */
	if (!fstat(folder, &st) && fchown(fd, st.st_uid, st.st_gid))
		errno = 0;
	close(folder);
}

int keep_write(const char *file, const json_t *state)
{
	char path[PATH_MAX];
	int fd, err = 0;

	if ((size_t)snprintf(path, sizeof(path), "%s.new", file) >= sizeof(path))
		return -ENAMETOOLONG;
	/* left by a pamsd that was killed, maybe another user's */
	unlink(path);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	if (!geteuid())
		give_to_owner(fd, file);
	errno = 0;
	if (json_dumpfd(state, fd, JSON_INDENT(1)) || fsync(fd))
		err = -(errno ?: ENOSPC);
	if (close(fd) && !err)
		err = -errno;
	if (!err && rename(path, file))
		err = -errno;
	if (err)
		unlink(path);
	else
		sync_folder(file);
	return err;
}
