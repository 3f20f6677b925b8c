// SPDX-License-Identifier: GPL-2.0
/*
 * first_hook - which address new MPTCP connections begin on
 *
 * The kernel runs BPF programs at cgroup/connect4 and connect6 for each connect() of a process
 * in the cgroup, here the root's; for an MPTCP socket with the socket of its first subflow. The
 * program looks the destination up, the longest prefix counts, and binds the socket to the local
 * address that it finds, and to that address's interface, as the kernel does with the subflows of
 * endpoints: else the routes might send them elsewhere. The other paths join as ever.
 *
 * It leaves alone: sockets that are bound to an address or a device, or have a mark; all but
 * MPTCP's; destinations that are mapped IPv4; and whatever has no entry in its own network
 * namespace, whose cookie is the key's first part. A subflow that joins is bound to a port by
 * then, so binding it again fails. Where it fails the routes decide.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

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

#include <netinet/in.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "insn.h"

#define FOLDER		PINS_FOLDER "/mptcp_pams_first"
#define COOKIE_BITS	64
#define OUT		INT16_MAX	/* a jump to the program's end */

/* A key of the table, in network byte order but for the length: LPM tries look from the left. */
struct key {
	uint32_t bits;		/* of what follows */
	uint32_t cookie[2];	/* of the network namespace, as the CPU stores it */
	uint8_t address[16];	/* 4 bytes for IPv4, and the key is shorter */
};

struct value {
	uint8_t source[16];
	uint64_t connections;
	char device[16];
};

/* What differs between the families. */
struct kind {
	int family;
	unsigned int bytes;	/* of an address */
	enum bpf_attach_type attach;
	const char *name;	/* of table and program */
	const char *table;
	const char *link;
};

static const struct kind kinds[] = {
	{ AF_INET, 4, BPF_CGROUP_INET4_CONNECT, "pams_first4",
	  FOLDER "/table4", FOLDER "/link4" },
	{ AF_INET6, 16, BPF_CGROUP_INET6_CONNECT, "pams_first6",
	  FOLDER "/table6", FOLDER "/link6" },
};

#define KINDS	(sizeof(kinds) / sizeof(kinds[0]))

/* --- the programs --- */

struct program {
	struct bpf_insn at[96];
	int count;
};

#define PUT(...)							\
	do {								\
		const struct bpf_insn put[] = { __VA_ARGS__ };		\
									\
		memcpy(program->at + program->count, put, sizeof(put));	\
		program->count += sizeof(put) / sizeof(put[0]);		\
	} while (0)

/* Leave unless the socket is an unbound one of MPTCP; R6: the context, R7: the socket. */
static void put_checks(struct program *program, const struct kind *kind)
{
	PUT(COPY(R6, R1),
	    LOAD32(R1, R6, offsetof(struct bpf_sock_addr, type)),
	    IF_NOT(R1, SOCK_STREAM, OUT),
	    LOAD32(R1, R6, offsetof(struct bpf_sock_addr, protocol)),
	    IF_NOT(R1, IPPROTO_TCP, OUT),
	    LOAD(R7, R6, offsetof(struct bpf_sock_addr, sk)),
	    LOAD32(R1, R7, offsetof(struct bpf_sock, bound_dev_if)),
	    IF_NOT(R1, 0, OUT),
	    LOAD32(R1, R7, offsetof(struct bpf_sock, mark)),
	    IF_NOT(R1, 0, OUT));
	for (unsigned int i = 0; i < kind->bytes / 4; i++)
		PUT(LOAD32(R1, R7, (kind->family == AF_INET ?
				    offsetof(struct bpf_sock, src_ip4) :
				    offsetof(struct bpf_sock, src_ip6)) + 4 * i),
		    IF_NOT(R1, 0, OUT));
	PUT(COPY(R1, R7),
	    CALL(BPF_FUNC_skc_to_mptcp_sock),
	    IF_ZERO(R0, OUT));
}

/* The key of the destination, on the stack. */
static void put_key(struct program *program, const struct kind *kind, int key)
{
	int address = key + offsetof(struct key, address);

	PUT(COPY(R1, R6),
	    CALL(BPF_FUNC_get_netns_cookie),
	    PUT32(STACK, key, COOKIE_BITS + 8 * kind->bytes),
	    STORE32(STACK, key + 4, R0),
	    SHIFT_RIGHT(R0, 32),
	    STORE32(STACK, key + 8, R0));
	for (unsigned int i = 0; i < kind->bytes / 4; i++)
		PUT(LOAD32(R1, R6, (kind->family == AF_INET ?
				    offsetof(struct bpf_sock_addr, user_ip4) :
				    offsetof(struct bpf_sock_addr, user_ip6)) + 4 * i),
		    STORE32(STACK, address + 4 * i, R1));
	if (kind->family == AF_INET6)
		/* ::ffff:0:0/96 */
		PUT(LOAD32(R1, STACK, address), IF_NOT(R1, 0, 4),
		    LOAD32(R1, STACK, address + 4), IF_NOT(R1, 0, 2),
		    LOAD32(R1, STACK, address + 8),
		    IF_IS(R1, (int32_t)htonl(0xffff), OUT));
}

/* Bind to the address of the value in R8, by a sockaddr on the stack, then to the interface. */
static void put_bind(struct program *program, const struct kind *kind, int name)
{
	unsigned int bytes = kind->family == AF_INET ? sizeof(struct sockaddr_in) :
						       sizeof(struct sockaddr_in6);
	int address = name + (kind->family == AF_INET ?
			      offsetof(struct sockaddr_in, sin_addr) :
			      offsetof(struct sockaddr_in6, sin6_addr));

	for (unsigned int i = 0; i < bytes; i += 4)
		PUT(PUT32(STACK, name + i, 0));
	PUT(INSN(BPF_ST | BPF_MEM | BPF_H, STACK, 0, name, kind->family));
	for (unsigned int i = 0; i < kind->bytes; i += 4)
		PUT(LOAD32(R1, R8, i), STORE32(STACK, address + i, R1));
	PUT(COPY(R1, R6), COPY(R2, STACK), ADD(R2, name), LET(R3, bytes),
	    CALL(BPF_FUNC_bind), IF_NOT_ZERO(R0, OUT), LET(R1, 1),
	    COUNT(R8, offsetof(struct value, connections), R1),
	    COPY(R1, R6), LET(R2, SOL_SOCKET), LET(R3, SO_BINDTODEVICE), COPY(R4, R8),
	    ADD(R4, offsetof(struct value, device)),
	    LET(R5, sizeof(((struct value *)0)->device)),
	    CALL(BPF_FUNC_setsockopt));
}

static int load(const struct kind *kind, int table)
{
	struct bpf_prog_load_opts options = {
		.sz = sizeof(options), .expected_attach_type = kind->attach,
	};
	struct program made = { .count = 0 }, *program = &made;
	const int key = -32, name = -64;

	put_checks(program, kind);
	put_key(program, kind, key);
	PUT(LET_MAP(R1, table), HALF(), COPY(R2, STACK), ADD(R2, key),
	    CALL(BPF_FUNC_map_lookup_elem), IF_ZERO(R0, OUT),
	    COPY(R8, R0));
	put_bind(program, kind, name);
	for (int i = 0; i < made.count; i++)
		if (made.at[i].off == OUT)
			made.at[i].off = made.count - i - 1;
	PUT(LET(R0, 1), EXIT());
	return bpf_prog_load(BPF_PROG_TYPE_CGROUP_SOCK_ADDR, kind->name, "GPL",
			     made.at, made.count, &options);
}

/* --- pins --- */

static void unpin(void)
{
	for (size_t i = 0; i < KINDS; i++) {
		unlink(kinds[i].link);
		unlink(kinds[i].table);
	}
	rmdir(FOLDER);
}

static int attach(const struct kind *kind, int root)
{
	LIBBPF_OPTS(bpf_map_create_opts, options, .map_flags = BPF_F_NO_PREALLOC);
	int table, program = -1, link = -1, err = 0;

	table = bpf_map_create(BPF_MAP_TYPE_LPM_TRIE, kind->name,
			       offsetof(struct key, address) + kind->bytes,
			       sizeof(struct value), FIRST_MAX, &options);
	if (table < 0)
		return pins_failed("the kernel refuses a BPF map", table);
	program = load(kind, table);
	if (program < 0)
		err = pins_failed("the kernel refuses the BPF program", program);
	else
		link = bpf_link_create(program, root, kind->attach, NULL);
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

static const struct kind *kind_of(int family)
{
	return &kinds[family == AF_INET6];
}

static int own_cookie(uint32_t cookie[2])
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	socklen_t length = sizeof(uint64_t);
	uint64_t number;
	int err;

	if (fd < 0)
		return pins_failed("a socket", -errno);
	err = getsockopt(fd, SOL_SOCKET, SO_NETNS_COOKIE, &number, &length) ? -errno : 0;
	close(fd);
	cookie[0] = (uint32_t)number;
	cookie[1] = number >> 32;
	return err ? pins_failed("the network namespace's cookie", err) : 0;
}

static int key_of(const struct first *first, struct key *key)
{
	memset(key, 0, sizeof(*key));
	key->bits = COOKIE_BITS + first->length;
	memcpy(key->address, first->prefix, kind_of(first->family)->bytes);
	return own_cookie(key->cookie);
}

static int open_table(const struct kind *kind)
{
	int table = bpf_obj_get(kind->table);

	return table < 0 ? pins_failed(kind->table, table) : table;
}

int first_set(const struct first *first)
{
	const struct kind *kind = kind_of(first->family);
	struct value value;
	int locked = pins_lock(), table, err;
	struct key key;

	if (locked < 0)
		return locked;
	memset(&value, 0, sizeof(value));
	memcpy(value.source, first->source, kind->bytes);
	memcpy(value.device, first->device, sizeof(value.device));
	err = key_of(first, &key);
	if (!err && !is_attached())
		err = attach_all();
	table = err ? err : open_table(kind);
	if (table >= 0) {
		err = bpf_map_update_elem(table, &key, &value, BPF_ANY);
		if (err)
			pins_failed("the table of first paths", err);
		close(table);
	}
	close(locked);
	return table < 0 ? table : err;
}

static bool all_empty(void)
{
	struct key key;

	for (size_t i = 0; i < KINDS; i++) {
		int table = bpf_obj_get(kinds[i].table);
		bool empty = table < 0 || bpf_map_get_next_key(table, NULL, &key);

		if (table >= 0)
			close(table);
		if (!empty)
			return false;
	}
	return true;
}

int first_remove(const struct first *first)
{
	int locked = pins_lock(), table, err;
	struct key key;

	if (locked < 0)
		return locked;
	err = key_of(first, &key);
	if (!err && !is_attached())
		err = -ENOENT;
	table = err ? err : open_table(kind_of(first->family));
	if (table >= 0) {
		err = bpf_map_delete_elem(table, &key);
		close(table);
		if (err && err != -ENOENT)
			pins_failed("the table of first paths", err);
		if (all_empty())
			unpin();
	}
	close(locked);
	return err;
}

/* Entries of one family from "count" on; the new number, or -errno. */
static int read_kind(const struct kind *kind, const uint32_t cookie[2],
		     struct first *entries, int count, int most)
{
	struct key key, *last = NULL;
	struct value value;
	int table = open_table(kind);

	if (table < 0)
		return table;
	while (count < most && !bpf_map_get_next_key(table, last, &key)) {
		struct first *first = &entries[count];

		last = &key;
		if (memcmp(key.cookie, cookie, sizeof(key.cookie)) ||
		    bpf_map_lookup_elem(table, &key, &value))
			continue;
		memset(first, 0, sizeof(*first));
		first->family = kind->family;
		first->length = key.bits - COOKIE_BITS;
		memcpy(first->prefix, key.address, kind->bytes);
		memcpy(first->source, value.source, kind->bytes);
		memcpy(first->device, value.device, sizeof(first->device));
		first->connections = value.connections;
		count++;
	}
	close(table);
	return count;
}

int first_read(struct first *entries, int most)
{
	uint32_t cookie[2];
	int count, err;

	if (!is_attached())
		return errno == ENOENT ? 0 : pins_failed(FOLDER, -errno);
	err = own_cookie(cookie);
	count = err;
	for (size_t i = 0; count >= 0 && i < KINDS; i++)
		count = read_kind(&kinds[i], cookie, entries, count, most);
	return count;
}

#endif
