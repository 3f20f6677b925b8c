// SPDX-License-Identifier: GPL-2.0
/*
 * hook - a BPF program that turns the TCP sockets of chosen cgroups into MPTCP sockets
 *
 * The kernel calls update_socket_protocol() for the protocol of each socket that a program
 * opens, and a BPF program of type fmod_ret may override its result. The BPF program here
 * returns IPPROTO_MPTCP for a TCP socket if the process's cgroup, or an ancestor of it, is a
 * key of a BPF map, the table.
 *
 * Program and table are pinned, so they stay when pamsctl ends. The program has 29
 * instructions and uses no struct of the kernel, so it is written here as instructions, and
 * no compiler for BPF is needed.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "hook.h"
#include "pins.h"

#ifndef HAVE_BPF

const char *hook_missing(void)
{
	return pins_missing();
}

int hook_add(uint64_t id)
{
	(void)id;
	return -EOPNOTSUPP;
}

int hook_remove(uint64_t id)
{
	(void)id;
	return -EOPNOTSUPP;
}

int hook_read(struct hook_cgroup cgroups[HOOK_CGROUPS_MAX])
{
	(void)cgroups;
	return 0;
}

#else

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include "../lib/insn.h"

#define FUNCTION	"update_socket_protocol"
#define FOLDER		PINS_FOLDER "/mptcp_pams"
#define TABLE		FOLDER "/cgroups"
#define LINK		FOLDER "/link"
/* levels of the cgroup hierarchy that are looked up, from the root on */
#define DEPTH_MAX	32
/* the type in socket()'s second argument, without SOCK_NONBLOCK and SOCK_CLOEXEC */
#define TYPE_MASK	0xf

/* --- the program --- */

/* Load the BPF program. The program's file descriptor, or -errno. */
static int load(int table, int function)
{
	struct bpf_prog_load_opts options = {
		.sz = sizeof(options),
		.expected_attach_type = BPF_MODIFY_RETURN,
		.attach_btf_id = function,
	};
	/* It runs on update_socket_protocol(int family, int type, int protocol). */
	const struct bpf_insn program[] = {
		COPY(R6, R1),			/* R6 points to the arguments */
		LOAD(R1, R6, 0),
		IF_IS(R1, AF_INET, 1),
		IF_NOT(R1, AF_INET6, 19),
		LOAD(R1, R6, 8),
		AND(R1, TYPE_MASK),
		IF_NOT(R1, SOCK_STREAM, 16),
		LOAD(R1, R6, 16),
		IF_IS(R1, IPPROTO_IP, 1),
		IF_NOT(R1, IPPROTO_TCP, 13),
		LET(R7, 0),			/* the level of the root cgroup */
		COPY(R1, R7),			/* the loop over levels begins */
		CALL(BPF_FUNC_get_current_ancestor_cgroup_id),
		IF_ZERO(R0, 9),			/* 0: below the process's cgroup */
		STORE(STACK, -8, R0),
		LET_MAP(R1, table),
		HALF(),
		COPY(R2, STACK),
		ADD(R2, -8),
		CALL(BPF_FUNC_map_lookup_elem),
		IF_NOT_ZERO(R0, 4),
		ADD(R7, 1),
		IF_BELOW(R7, DEPTH_MAX, -12),	/* the loop ends */
		LET(R0, 0),			/* 0: no override */
		EXIT(),
		LET(R1, 1),
		COUNT(R0, 0, R1),
		LET(R0, IPPROTO_MPTCP),
		EXIT(),
	};

	return bpf_prog_load(BPF_PROG_TYPE_TRACING, "pams_mptcp", "GPL", program,
			     sizeof(program) / sizeof(program[0]), &options);
}

/* --- what the kernel supports --- */

const char *hook_missing(void)
{
	if (pins_types() &&
	    libbpf_find_vmlinux_btf_id(FUNCTION, BPF_MODIFY_RETURN) < 0)
		return "this kernel lets no program choose a socket's protocol "
		       "(" FUNCTION "(), 6.6 or newer)";
	return pins_missing();
}

/* --- pins --- */

static void unpin(void)
{
	unlink(LINK);
	unlink(TABLE);
	rmdir(FOLDER);
}

/* The table's file descriptor; -ENOENT if the hook isn't set up, or another -errno. */
static int open_table(void)
{
	int table;

	if (access(LINK, F_OK)) {
		int err = -errno;

		return err == -ENOENT ? err : pins_failed(LINK, err);
	}
	table = bpf_obj_get(TABLE);
	return table < 0 ? pins_failed(TABLE, table) : table;
}

static int attach(int table)
{
	int function = libbpf_find_vmlinux_btf_id(FUNCTION, BPF_MODIFY_RETURN);
	int program, link, err;

	program = load(table, function);
	if (program < 0)
		return pins_failed("the kernel refuses the BPF program", program);
	link = bpf_link_create(program, 0, BPF_MODIFY_RETURN, NULL);
	err = link < 0 ? pins_failed("the BPF program can't be attached", link) : 0;
	/* the link last: open_table() takes its pin as the sign that the hook is complete */
	if (!err && (bpf_obj_pin(table, TABLE) || bpf_obj_pin(link, LINK)))
		err = pins_failed("the BPF program can't be pinned in " FOLDER,
				  -errno);
	if (link >= 0)
		close(link);
	close(program);
	return err;
}

static int make_table(void)
{
	int table, err;

	unpin();	/* leftovers of a pamsctl that was killed while it set up the hook */
	table = bpf_map_create(BPF_MAP_TYPE_HASH, "pams_cgroups",
			       sizeof(uint64_t), sizeof(uint64_t),
			       HOOK_CGROUPS_MAX, NULL);
	if (table < 0)
		return pins_failed("the kernel refuses a BPF map", table);
	if (mkdir(FOLDER, 0700))
		err = pins_failed(FOLDER, -errno);
	else
		err = attach(table);
	if (!err)
		return table;
	close(table);
	unpin();
	return err;
}

/* --- the functions of hook.h --- */

int hook_add(uint64_t id)
{
	const uint64_t none = 0;
	int locked = pins_lock(), table, err;

	if (locked < 0)
		return locked;
	table = open_table();
	if (table == -ENOENT)
		table = make_table();
	if (table < 0) {
		close(locked);
		return table;
	}
	err = bpf_map_update_elem(table, &id, &none, BPF_NOEXIST);
	if (err == -EEXIST)
		err = 0;
	else if (err)
		pins_failed("the table of cgroups", err);
	close(table);
	close(locked);
	return err;
}

int hook_remove(uint64_t id)
{
	int locked = pins_lock(), table, err = 0;
	uint64_t left;

	if (locked < 0)
		return locked;
	table = open_table();
	if (table >= 0) {
		bpf_map_delete_elem(table, &id);
		if (bpf_map_get_next_key(table, NULL, &left))
			unpin();
		close(table);
	} else if (table != -ENOENT) {
		err = table;
	}
	close(locked);
	return err;
}

int hook_read(struct hook_cgroup cgroups[HOOK_CGROUPS_MAX])
{
	int table = open_table(), count = 0;
	uint64_t *last = NULL, id;

	if (table < 0)
		return table == -ENOENT ? 0 : table;
	while (count < HOOK_CGROUPS_MAX && !bpf_map_get_next_key(table, last, &id)) {
		cgroups[count].id = id;
		last = &cgroups[count].id;
		if (!bpf_map_lookup_elem(table, &id, &cgroups[count].sockets))
			count++;
		else
			break;
	}
	close(table);
	return count;
}

#endif /* HAVE_BPF */
