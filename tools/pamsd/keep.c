// SPDX-License-Identifier: GPL-2.0
/*
 * keep - a file of JSON that is there as a whole, whatever happens
 *
 * It is written beside the old one, to the disk, and renamed over it. So a file that
 * can't be read wasn't written by this.
 */
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

#include "caps.h"

json_t *keep_read(const char *file, const char **why)
{
	static char text[JSON_ERROR_TEXT_LENGTH + 64];
	char aside[PATH_MAX];
	json_error_t error;
	json_t *state;
	FILE *stream;

	*why = NULL;
	stream = fopen(file, "re");
	if (!stream && errno == ENOENT)
		return NULL;
	if (!stream) {
		snprintf(text, sizeof(text), "can't be read: %s",
			 strerror(errno));
		*why = text;
		return NULL;
	}
	state = json_loadf(stream, JSON_REJECT_DUPLICATES, &error);
	fclose(stream);
	if (state)
		return state;
	snprintf(text, sizeof(text), "line %d: %s", error.line, error.text);
	*why = text;
	snprintf(aside, sizeof(aside), "%s.corrupt", file);
	rename(file, aside);
	return NULL;
}

/* So that the new name is on the disk. */
static void sync_folder(const char *file)
{
	char *path = strdup(file);
	int fd = path ? open(dirname(path), O_RDONLY | O_DIRECTORY | O_CLOEXEC) :
			-1;

	if (fd >= 0) {
		fsync(fd);
		close(fd);
	}
	free(path);
}

int keep_write(const char *file, const json_t *state)
{
	char path[PATH_MAX];
	int fd, err = 0;

	if ((size_t)snprintf(path, sizeof(path), "%s.new", file) >= sizeof(path))
		return -ENAMETOOLONG;
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW,
		  0600);
	if (fd < 0)
		return -errno;
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
