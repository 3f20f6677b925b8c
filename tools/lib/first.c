// SPDX-License-Identifier: GPL-2.0
/*
 * first - which address new connections begin on
 *
 * The kernel runs BPF programs at cgroup/connect4 and connect6 for each connect() of a process
 * in the cgroup; for an MPTCP socket with the socket of its first subflow. The program looks the
 * destination up, the longest prefix counts, and binds the socket to the local address that it
 * finds, and to that address's interface, as the kernel does with the subflows of endpoints: else
 * the routes might send them elsewhere. The other paths join as ever.
 *
 * An entry may be for plain TCP and UDP, too. UDP sockets are bound to the interface alone, which
 * connect() with AF_UNSPEC undoes, as it doesn't an address: getaddrinfo() of the GNU C library
 * connects one socket to all addresses of a name in turn, IPv6 and IPv4, and ends the process if
 * an IPv4 one is left from an IPv6 source.
 *
 * It leaves alone: sockets that are bound to an address, a port or a device, or have a mark, as a
 * subflow that joins; destinations that are this host or a link-local address, multicast, or
 * mapped IPv4; DNS but over MPTCP; and whatever has no entry in its own network namespace, whose
 * cookie is the key's first part. Where binding fails the routes decide.
 */
#include <errno.h>
#include <string.h>

#include "first.h"

#ifndef HAVE_BPF

int first_table(int family)
{
	(void)family;
	return -EOPNOTSUPP;
}

int first_program(int family, int table, int ring)
{
	(void)family;
	(void)table;
	(void)ring;
	return -EOPNOTSUPP;
}

int first_attach(int family, int program, int cgroup)
{
	(void)family;
	(void)program;
	(void)cgroup;
	return -EOPNOTSUPP;
}

int first_table_set(int table, const struct first *first)
{
	(void)table;
	(void)first;
	return -EOPNOTSUPP;
}

int first_table_del(int table, const struct first *first)
{
	(void)table;
	(void)first;
	return -EOPNOTSUPP;
}

int first_table_read(int table, int family, struct first *entries, int count, int most)
{
	(void)table;
	(void)family;
	(void)entries;
	(void)count;
	(void)most;
	return -EOPNOTSUPP;
}

int first_table_is_empty(int table)
{
	(void)table;
	return 1;
}

#else

#include <netinet/in.h>
#include <stddef.h>
#include <sys/socket.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "insn.h"

#define COOKIE_BITS	64
#define DNS_PORT	53

/* A key of the table, in network byte order but for the length: LPM tries look from the left. */
struct key {
	uint32_t bits;		/* of what follows */
	uint32_t cookie[2];	/* of the network namespace, as the CPU stores it */
	uint8_t address[16];	/* 4 bytes for IPv4, and the key is shorter */
};

/*
 * A value of an LPM trie begins where the key ends, with IPv4 at an odd multiple of 4 bytes. An
 * atomic instruction of 64 bits would fault there on processors without FEAT_LSE2 (Raspberry Pi
 * 4 and 5), and the verifier doesn't refuse it.
 */
struct value {
	uint8_t source[16];
	uint32_t connections;
	uint32_t also;
	char device[16];
};

/* What differs between the families. */
struct kind {
	int family;
	unsigned int bytes;	/* of an address */
	enum bpf_attach_type attach;
	const char *name;	/* of table and program */
};

static const struct kind kinds[] = {
	{ AF_INET, 4, BPF_CGROUP_INET4_CONNECT, "pams_first4" },
	{ AF_INET6, 16, BPF_CGROUP_INET6_CONNECT, "pams_first6" },
};

static const struct kind *kind_of(int family)
{
	return &kinds[family == AF_INET6];
}

/* --- the programs --- */

/*
 * Leave unless the socket is an unbound one; R6: the context, R7: the socket, R9: FIRST_TCP,
 * FIRST_UDP, or 0 for MPTCP.
 */
static void put_checks(struct program *program, const struct kind *kind)
{
	PUT(COPY(R6, R1),
	    LOAD32(R1, R6, offsetof(struct bpf_sock_addr, type)),
	    IF_IS(R1, SOCK_RAW, OUT),
	    LOAD32(R1, R6, offsetof(struct bpf_sock_addr, protocol)),
	    LET(R9, FIRST_TCP), IF_IS(R1, IPPROTO_TCP, 2),
	    LET(R9, FIRST_UDP), IF_NOT(R1, IPPROTO_UDP, OUT),
	    LOAD(R7, R6, offsetof(struct bpf_sock_addr, sk)),
	    LOAD32(R1, R7, offsetof(struct bpf_sock, bound_dev_if)),
	    IF_NOT(R1, 0, OUT),
	    LOAD32(R1, R7, offsetof(struct bpf_sock, mark)),
	    IF_NOT(R1, 0, OUT),
	    LOAD32(R1, R7, offsetof(struct bpf_sock, src_port)),
	    IF_NOT(R1, 0, OUT));
	for (unsigned int i = 0; i < kind->bytes / 4; i++)
		PUT(LOAD32(R1, R7, (kind->family == AF_INET ?
				    offsetof(struct bpf_sock, src_ip4) :
				    offsetof(struct bpf_sock, src_ip6)) + 4 * i),
		    IF_NOT(R1, 0, OUT));
	PUT(COPY(R1, R7),
	    CALL(BPF_FUNC_skc_to_mptcp_sock),
	    IF_ZERO(R0, 1), LET(R9, 0),
	    IF_ZERO(R9, 2),
	    LOAD32(R1, R6, offsetof(struct bpf_sock_addr, user_port)),
	    IF_IS(R1, htons(DNS_PORT), OUT));
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
	PUT(LOAD32(R1, STACK, address));
	if (kind->family == AF_INET)
		/* 0.0.0.0/8, 127.0.0.0/8, 224.0.0.0/3, 169.254.0.0/16 */
		PUT(COPY(R2, R1),
		    AND(R2, (int32_t)htonl(0xff000000)), IF_IS(R2, 0, OUT),
		    IF_IS(R2, (int32_t)htonl(0x7f000000), OUT),
		    AND(R2, (int32_t)htonl(0xe0000000)), IF_IS(R2, (int32_t)htonl(0xe0000000), OUT),
		    AND(R1, (int32_t)htonl(0xffff0000)),
		    IF_IS(R1, (int32_t)htonl(0xa9fe0000), OUT));
	else
		/* ::1 and its likes, ::ffff:0:0/96, ff00::/8, fe80::/10 */
		PUT(IF_NOT(R1, 0, 5),
		    LOAD32(R2, STACK, address + 4), IF_NOT(R2, 0, 3),
		    LOAD32(R2, STACK, address + 8), IF_IS(R2, 0, OUT),
		    IF_IS(R2, (int32_t)htonl(0xffff), OUT),
		    COPY(R2, R1),
		    AND(R2, (int32_t)htonl(0xff000000)), IF_IS(R2, (int32_t)htonl(0xff000000), OUT),
		    AND(R1, (int32_t)htonl(0xffc00000)),
		    IF_IS(R1, (int32_t)htonl(0xfe800000), OUT));
}

/* Bind all but UDP to the address of the value in R8, by a sockaddr on the stack. */
static void put_address(struct program *program, const struct kind *kind, int name)
{
	unsigned int bytes = kind->family == AF_INET ? sizeof(struct sockaddr_in) :
						       sizeof(struct sockaddr_in6);
	int address = name + (kind->family == AF_INET ?
			      offsetof(struct sockaddr_in, sin_addr) :
			      offsetof(struct sockaddr_in6, sin6_addr));
	int jump = program->count;

	PUT(IF_IS(R9, FIRST_UDP, 0));
	for (unsigned int i = 0; i < bytes; i += 4)
		PUT(PUT32(STACK, name + i, 0));
	PUT(INSN(BPF_ST | BPF_MEM | BPF_H, STACK, 0, name, kind->family));
	for (unsigned int i = 0; i < kind->bytes; i += 4)
		PUT(LOAD32(R1, R8, i), STORE32(STACK, address + i, R1));
	PUT(COPY(R1, R6), COPY(R2, STACK), ADD(R2, name), LET(R3, bytes),
	    CALL(BPF_FUNC_bind), IF_NOT_ZERO(R0, OUT));
	program->at[jump].off = program->count - jump - 1;
}

static void put_device(struct program *program)
{
	PUT(LET(R1, 1), COUNT32(R8, offsetof(struct value, connections), R1),
	    COPY(R1, R6), LET(R2, SOL_SOCKET), LET(R3, SO_BINDTODEVICE), COPY(R4, R8),
	    ADD(R4, offsetof(struct value, device)),
	    LET(R5, sizeof(((struct value *)0)->device)),
	    CALL(BPF_FUNC_setsockopt));
}

static void put_wake(struct program *program, int ring, int key)
{
	PUT(IF_IS(R9, FIRST_UDP, OUT),
	    LET_MAP(R1, ring), HALF(), COPY(R2, STACK), ADD(R2, key), LET(R3, 4), LET(R4, 0),
	    CALL(BPF_FUNC_ringbuf_output));
}

int first_program(int family, int table, int ring)
{
	const struct kind *kind = kind_of(family);
	struct bpf_prog_load_opts options = {
		.sz = sizeof(options), .expected_attach_type = kind->attach,
	};
	struct program made = { .count = 0 }, *program = &made;
	const int key = -32, name = -64;

	put_checks(program, kind);
	put_key(program, kind, key);
	PUT(LET_MAP(R1, table), HALF(), COPY(R2, STACK), ADD(R2, key),
	    CALL(BPF_FUNC_map_lookup_elem), IF_ZERO(R0, OUT),
	    COPY(R8, R0), LOAD32(R1, R8, offsetof(struct value, device)), IF_IS(R1, 0, OUT),
	    IF_ZERO(R9, 3), LOAD32(R1, R8, offsetof(struct value, also)), AND_WITH(R1, R9),
	    IF_ZERO(R1, OUT));
	put_address(program, kind, name);
	put_device(program);
	if (ring >= 0)
		put_wake(program, ring, key);
	put_end(program, 1);
	return bpf_prog_load(BPF_PROG_TYPE_CGROUP_SOCK_ADDR, kind->name, "GPL",
			     made.at, made.count, &options);
}

int first_attach(int family, int program, int cgroup)
{
	return bpf_link_create(program, cgroup, kind_of(family)->attach, NULL);
}

/* --- the tables --- */

int first_table(int family)
{
	LIBBPF_OPTS(bpf_map_create_opts, options, .map_flags = BPF_F_NO_PREALLOC);
	const struct kind *kind = kind_of(family);

	return bpf_map_create(BPF_MAP_TYPE_LPM_TRIE, kind->name,
			      offsetof(struct key, address) + kind->bytes,
			      sizeof(struct value), FIRST_MAX, &options);
}

/* A program stays in its network namespace: ask once. */
static int own_cookie(uint32_t cookie[2])
{
	static uint64_t number;	/* 0: not asked yet */
	socklen_t length = sizeof(number);
	int fd, err = 0;

	if (!number) {
		fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
		if (fd < 0)
			return -errno;
		if (getsockopt(fd, SOL_SOCKET, SO_NETNS_COOKIE, &number, &length))
			err = -errno;
		close(fd);
	}
	cookie[0] = (uint32_t)number;
	cookie[1] = number >> 32;
	return err;
}

static int key_of(const struct first *first, struct key *key)
{
	memset(key, 0, sizeof(*key));
	key->bits = COOKIE_BITS + first->length;
	memcpy(key->address, first->prefix, kind_of(first->family)->bytes);
	return own_cookie(key->cookie);
}

int first_table_set(int table, const struct first *first)
{
	struct value value;
	struct key key;
	int err;

	memset(&value, 0, sizeof(value));
	memcpy(value.source, first->source, kind_of(first->family)->bytes);
	memcpy(value.device, first->device, sizeof(value.device));
	value.also = first->also;
	err = key_of(first, &key);
	return err ? err : bpf_map_update_elem(table, &key, &value, BPF_ANY);
}

int first_table_del(int table, const struct first *first)
{
	struct key key;
	int err = key_of(first, &key);

	return err ? err : bpf_map_delete_elem(table, &key);
}

int first_table_read(int table, int family, struct first *entries, int count, int most)
{
	const struct kind *kind = kind_of(family);
	struct key key, *last = NULL;
	struct value value;
	uint32_t cookie[2];
	int err = own_cookie(cookie);

	if (err)
		return err;
	while (count < most && !bpf_map_get_next_key(table, last, &key)) {
		struct first *first = &entries[count];

		last = &key;
		if (memcmp(key.cookie, cookie, sizeof(key.cookie)) ||
		    bpf_map_lookup_elem(table, &key, &value))
			continue;
		memset(first, 0, sizeof(*first));
		first->family = family;
		first->length = key.bits - COOKIE_BITS;
		memcpy(first->prefix, key.address, kind->bytes);
		memcpy(first->source, value.source, kind->bytes);
		memcpy(first->device, value.device, sizeof(first->device));
		first->connections = value.connections;
		first->also = value.also;
		count++;
	}
	return count;
}

int first_table_is_empty(int table)
{
	struct key key;

	return bpf_map_get_next_key(table, NULL, &key) ? 1 : 0;
}

#endif
