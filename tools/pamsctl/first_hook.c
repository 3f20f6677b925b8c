// SPDX-License-Identifier: GPL-2.0
/*
 * first_hook - the programs and tables of first paths, pinned so that they stay when pamsctl ends
 *
 * The programs run for the root cgroup, for connections of all network namespaces.
 */
#include <errno.h>

#include "cgroup.h"
#include "first_hook.h"
#include "pamsctl.h"
#include "pins.h"

#ifndef HAVE_BPF

int first_set(const struct first *first)
{
	(void)first;
	return -EOPNOTSUPP;
}

int first_remove(const struct first *first)
{
	(void)first;
	return -EOPNOTSUPP;
}

int first_read(struct first *entries, int most)
{
	(void)entries;
	(void)most;
	return 0;
}

#else

#include <stdbool.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bpf/bpf.h>

#define FOLDER		PINS_FOLDER "/mptcp_pams_first"

struct kind {
	int family;
	const char *table;
	const char *link;
};

static const struct kind kinds[] = {
	{ AF_INET, FOLDER "/table4", FOLDER "/link4" },
	{ AF_INET6, FOLDER "/table6", FOLDER "/link6" },
};

#define KINDS	(sizeof(kinds) / sizeof(kinds[0]))

/* --- pins --- */

/* What is_attached() looks at goes first: whoever is killed in between leaves nothing in use. */
static void unpin(void)
{
	for (size_t i = KINDS; i--;) {
		unlink(kinds[i].link);
		unlink(kinds[i].table);
	}
	rmdir(FOLDER);
}

static int attach(const struct kind *kind, int root)
{
	int table, program = -1, link = -1, err = 0;

	table = first_table(kind->family);
	if (table < 0)
		return pins_failed("the kernel refuses a BPF map", table);
	program = first_program(kind->family, table, -1);
	if (program < 0)
		err = pins_failed("the kernel refuses the BPF program", program);
	else
		link = first_attach(kind->family, program, root);
	if (!err && link < 0)
		err = pins_failed("the BPF program can't be attached", link);
	if (!err && (bpf_obj_pin(table, kind->table) || bpf_obj_pin(link, kind->link)))
		err = pins_failed("the BPF program can't be pinned in " FOLDER, -errno);
	if (link >= 0)
		close(link);
	if (program >= 0)
		close(program);
	close(table);
	return err;
}

static bool is_attached(void)
{
	return !access(kinds[KINDS - 1].link, F_OK);
}

static int attach_all(void)
{
	int root, err = 0;

	unpin();	/* leftovers of a pamsctl that was killed meanwhile */
	root = cgroup_root();
	if (root < 0)
		return pins_failed("cgroup v2", root);
	if (mkdir(FOLDER, 0700))
		err = pins_failed(FOLDER, -errno);
	for (size_t i = 0; !err && i < KINDS; i++)
		err = attach(&kinds[i], root);
	close(root);
	if (err)
		unpin();
	return err;
}

/* --- the tables --- */

static int open_table(const struct kind *kind)
{
	int table = bpf_obj_get(kind->table);

	return table < 0 ? pins_failed(kind->table, table) : table;
}

static const struct kind *kind_of(int family)
{
	return &kinds[family == AF_INET6];
}

int first_set(const struct first *first)
{
	int locked = pins_lock(), table, err;

	if (locked < 0)
		return locked;
	err = is_attached() ? 0 : attach_all();
	table = err ? err : open_table(kind_of(first->family));
	if (table >= 0) {
		err = first_table_set(table, first);
		if (err)
			pins_failed("the table of first paths", err);
		close(table);
	}
	close(locked);
	return table < 0 ? table : err;
}

static bool all_empty(void)
{
	for (size_t i = 0; i < KINDS; i++) {
		int table = bpf_obj_get(kinds[i].table);
		bool empty = table < 0 || first_table_is_empty(table);

		if (table >= 0)
			close(table);
		if (!empty)
			return false;
	}
	return true;
}

int first_remove(const struct first *first)
{
	int locked = pins_lock(), table, err = 0;

	if (locked < 0)
		return locked;
	table = is_attached() ? open_table(kind_of(first->family)) : -ENOENT;
	if (table >= 0) {
		err = first_table_del(table, first);
		close(table);
		if (err && err != -ENOENT)
			pins_failed("the table of first paths", err);
		if (all_empty())
			unpin();
	}
	close(locked);
	return table < 0 ? table : err;
}

int first_read(struct first *entries, int most)
{
	int count = 0;

	if (!is_attached())
		return errno == ENOENT ? 0 : pins_failed(FOLDER, -errno);
	for (size_t i = 0; count >= 0 && i < KINDS; i++) {
		int table = open_table(&kinds[i]);

		if (table < 0)
			return table;
		count = first_table_read(table, kinds[i].family, entries, count, most);
		close(table);
	}
	return count < 0 ? pins_failed("the table of first paths", count) : count;
}

#endif
