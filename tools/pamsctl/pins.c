// SPDX-License-Identifier: GPL-2.0
/*
 * pins - what BPF programs and tables need that are pinned, so that they stay when pamsctl ends:
 * the file system, a lock, and the words for what failed
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "pamsctl.h"
#include "pins.h"

#ifndef HAVE_BPF

const char *pins_missing(void)
{
	return "this pamsctl was built without libbpf";
}

int pins_refuse(int err, const char *capabilities)
{
	(void)err;
	(void)capabilities;
	return refuse(FAILED, "%s", pins_missing());
}

#else

#include <fcntl.h>
#include <sys/file.h>
#include <sys/vfs.h>

#include <bpf/libbpf.h>
#include <linux/magic.h>

static char error[256];

bool pins_types(void)
{
	libbpf_set_print(NULL);
	return !access("/sys/kernel/btf/vmlinux", F_OK);
}

const char *pins_missing(void)
{
	struct statfs fs;

	if (!pins_types())
		return "this kernel has no type information (BTF), or no BPF";
	if (statfs(PINS_FOLDER, &fs) || fs.f_type != BPF_FS_MAGIC)
		return "no BPF file system: mount -t bpf none " PINS_FOLDER;
	return NULL;
}

int pins_lock(void)
{
	int fd = open(PINS_FOLDER, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int err;

	if (fd >= 0 && !flock(fd, LOCK_EX))
		return fd;
	err = pins_failed(PINS_FOLDER, -errno);
	if (fd >= 0)
		close(fd);
	return err;
}

int pins_failed(const char *what, int err)
{
	snprintf(error, sizeof(error), "%s: %s", what, strerror(-err));
	return err;
}

int pins_refuse(int err, const char *capabilities)
{
	if ((err == -EPERM || err == -EACCES) && geteuid())
		return refuse(NOT_PERMITTED, "%s: run it as root", error);
	if (err == -EPERM)
		return refuse(NOT_PERMITTED, "%s: needs %s, and a kernel that is "
			      "not locked down", error, capabilities);
	return refuse(FAILED, "%s", error);
}

#endif
