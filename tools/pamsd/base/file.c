// SPDX-License-Identifier: GPL-2.0
/*
 * file - reads the configuration file and key files
 *
 * The service's user can't read root's files with mode 0600. systemd reads them
 * before it drops root, and passes copies to the service (LoadCredential= in
 * systemd.exec(5)): the copy of /etc/pamsd/phone.key is
 * $CREDENTIALS_DIRECTORY/etc_pamsd_phone.key. Copies are made when the service
 * starts. A copy older than its file isn't used, unless the clock is behind: then
 * nobody knows which of the two is older.
 */
#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base.h"

static bool is_later(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec > b->tv_sec ||
	       (a->tv_sec == b->tv_sec && a->tv_nsec > b->tv_nsec);
}

/*
 * A machine without a battery-backed clock boots with a date in the past, until NTP sets it:
 * files that were written before the boot seem to be from the future, and prove nothing.
 */
static bool was_changed_since(const struct stat *copy, const struct stat *original)
{
	return is_later(&original->st_ctim, &copy->st_ctim) &&
	       original->st_ctim.tv_sec <= time(NULL);
}

/* Get the path of a file's copy. Returns false if there can't be a copy. */
static bool copy_path(char *path, size_t room, const char *file)
{
	const char *folder = getenv("CREDENTIALS_DIRECTORY");
	size_t start;

	if (!folder || *file != '/')
		return false;
	start = strlen(folder) + 1;
	if ((size_t)snprintf(path, room, "%s/%s", folder, file + 1) >= room)
		return false;
	for (char *at = path + start; *at; at++)
		if (*at == '/')
			*at = '_';
	return true;
}

/* Open a file's copy. Returns -1 if that fails; sets *why if there is a better reason. */
static int open_copy(const char *file, const char **why)
{
	struct stat original, copy;
	char path[4096];
	int fd;

	if (!copy_path(path, sizeof(path), file))
		return -1;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd < 0) {
		*why = "can't be read: Permission denied (a service has copies "
		       "of what was in /etc/pamsd at its start)";
		return -1;
	}
	if (!stat(file, &original) && !fstat(fd, &copy) &&
	    was_changed_since(&copy, &original)) {
		*why = "was changed after the service had started: systemctl "
		       "restart pamsd";
		close(fd);
		return -1;
	}
	return fd;
}

char *file_read(const char *file, size_t max, mode_t *mode, const char **why)
{
	static char text[96];
	size_t len = 0;
	char *content;
	struct stat st;
	ssize_t got;
	int fd, err;

	fd = open(file, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd < 0) {
		err = errno;
		snprintf(text, sizeof(text), "can't be read: %s",
			 strerror(err));
		*why = text;
		if (err == EACCES)
			fd = open_copy(file, why);
		if (fd < 0)
			return NULL;
	}
	if (fstat(fd, &st))
		memset(&st, 0, sizeof(st));
	if (!S_ISREG(st.st_mode)) {
		*why = S_ISDIR(st.st_mode) ? "is a directory, not a file" :
					     "is not a regular file";
		close(fd);
		return NULL;
	}
	*mode = st.st_mode & 07777;
	content = malloc(max + 1 + FILE_SPARE);
	if (!content)
		abort();
	/* Read one byte more than allowed, to detect a file that is too long. */
	do {
		got = read(fd, content + len, max + 1 - len);
		len += got > 0 ? got : 0;
	} while (got > 0 && len <= max);
	close(fd);
	if (!got && !memchr(content, '\0', len)) {
		content[len] = '\0';
		return content;
	}
	snprintf(text, sizeof(text), "can't be read: %s", strerror(errno));
	*why = got < 0 ? text : got ? "is too long" : "holds a zero byte: it is no text file";
	sodium_memzero(content, max + 1);
	free(content);
	return NULL;
}

void file_free(char *content)
{
	if (content)
		sodium_memzero(content, strlen(content));
	free(content);
}
