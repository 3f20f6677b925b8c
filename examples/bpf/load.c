// SPDX-License-Identifier: GPL-2.0
/* Attaches schedulers in BPF, and detaches them. They stay when this program has ended.
 *
 *	cc load.c -lbpf -o load
 *	./load FILE.o [NAME]	attach what the file has, or that one
 *	./load -d NAME		detach; connections that have it go on without
 *	./load -m MAP KEY VALUE	set a u32 in a map of theirs
 *	./load -n		how often each was asked, if kernel.bpf_stats_enabled is 1
 *
 * Needs libbpf 1.4 or newer (Debian 13), and root, or CAP_NET_ADMIN and CAP_SYS_ADMIN, without
 * which libbpf sees no types of modules. Debian 13's bpftool 7.5.0 does the first, too, but
 * crashes behind it, as it knows no types of modules there.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

static int failed(const char *what, int err)
{
	fprintf(stderr, "load: %s: %s\n", what, strerror(-err));
	return 1;
}

/* @only: NULL for all of them */
static int attach(const char *file, const char *only)
{
	struct bpf_object *object = bpf_object__open_file(file, NULL);
	struct bpf_map *map;
	int attached = 0;

	if (!object)
		return failed(file, -errno);
	if (bpf_object__load(object))
		return failed(file, -errno);
	bpf_object__for_each_map(map, object) {
		if (bpf_map__type(map) != BPF_MAP_TYPE_STRUCT_OPS ||
		    (only && strcmp(bpf_map__name(map), only)))
			continue;
		if (!bpf_map__attach_struct_ops(map))
			return failed(bpf_map__name(map), -errno);
		printf("%s\n", bpf_map__name(map));
		attached++;
	}
	return attached ? 0 : failed("a file without a scheduler", -ENOENT);
}

/* Is it of this module's type? Types of others may have the same names. */
static int is_ours(const struct bpf_map_info *map)
{
	char name[16] = "";
	struct bpf_btf_info info = { .name = (unsigned long)name, .name_len = sizeof(name) };
	unsigned int size = sizeof(info);
	int fd = bpf_btf_get_fd_by_id(map->btf_vmlinux_id), err;

	if (fd < 0)
		return 0;
	err = bpf_obj_get_info_by_fd(fd, &info, &size);
	close(fd);
	return !err && !strcmp(name, "mptcp_pams");
}

/* The map with that id, as a descriptor, if it has that name; else a negative value. */
static int open_map(unsigned int id, const char *name, struct bpf_map_info *info)
{
	unsigned int size = sizeof(*info);
	int fd = bpf_map_get_fd_by_id(id);

	memset(info, 0, size);
	if (fd < 0 || (!bpf_obj_get_info_by_fd(fd, info, &size) && !strcmp(info->name, name)))
		return fd;
	close(fd);
	return -ENOENT;
}

static int detach(const char *name)
{
	unsigned int id = 0, zero = 0;
	struct bpf_map_info info;

	while (!bpf_map_get_next_id(id, &id)) {
		int fd = open_map(id, name, &info), found, err;

		if (fd < 0)
			continue;
		found = info.type == BPF_MAP_TYPE_STRUCT_OPS && is_ours(&info);
		err = found ? bpf_map_delete_elem(fd, &zero) : 0;
		close(fd);
		if (found)
			return err ? failed(name, err) : 0;
	}
	return failed(name, -ENOENT);
}

/* The newest map of that name, as a descriptor. */
static int map_named(const char *name)
{
	struct bpf_map_info info;
	unsigned int id = 0;
	int newest = -ENOENT;

	while (!bpf_map_get_next_id(id, &id)) {
		int fd = open_map(id, name, &info);

		if (fd < 0)
			continue;
		if (newest >= 0)
			close(newest);
		newest = fd;
	}
	return newest;
}

static int set(const char *name, const char *key_text, const char *value_text)
{
	unsigned int key = strtoul(key_text, NULL, 0), value = strtoul(value_text, NULL, 0);
	int fd = map_named(name), err;

	if (fd < 0)
		return failed(name, fd);
	err = bpf_map_update_elem(fd, &key, &value, BPF_ANY);
	close(fd);
	return err ? failed(name, err) : 0;
}

static int asked(void)
{
	unsigned int id = 0;

	while (!bpf_prog_get_next_id(id, &id)) {
		struct bpf_prog_info info = {};
		unsigned int size = sizeof(info);
		int fd = bpf_prog_get_fd_by_id(id);

		if (fd < 0)
			continue;
		if (!bpf_obj_get_info_by_fd(fd, &info, &size) &&
		    info.type == BPF_PROG_TYPE_STRUCT_OPS)
			printf("%s %llu times, %llu ns\n", info.name, info.run_cnt,
			       info.run_time_ns);
		close(fd);
	}
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "-d"))
		return detach(argv[2]);
	if (argc == 5 && !strcmp(argv[1], "-m"))
		return set(argv[2], argv[3], argv[4]);
	if (argc == 2 && !strcmp(argv[1], "-n"))
		return asked();
	if ((argc == 2 || argc == 3) && argv[1][0] != '-')
		return attach(argv[1], argv[2]);
	fprintf(stderr, "usage: load FILE.o [NAME] | -d NAME | -m MAP KEY VALUE | -n\n");
	return 2;
}
