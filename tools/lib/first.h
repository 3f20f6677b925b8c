/* SPDX-License-Identifier: GPL-2.0 */
/*
 * first - BPF programs at connect() that choose the address on which an MPTCP connection begins,
 * and if wanted others, and the tables that they read
 *
 * Functions that return an int return a file descriptor, 0 or what is said, or -errno; all of
 * them -EOPNOTSUPP if the program was built without libbpf. Entries are of the caller's network
 * namespace.
 */
#ifndef PAMS_FIRST_H
#define PAMS_FIRST_H

#include <stdint.h>

#define FIRST_MAX	1024	/* entries of a table */

/* What the programs may choose for besides MPTCP: but for DNS, whose servers may answer one path
 * only. UDP at connect(): the interface alone.
 */
#define FIRST_TCP	0x1
#define FIRST_UDP	0x2

/* Where connections to the destinations of a prefix begin. */
struct first {
	int family;		/* AF_INET or AF_INET6 */
	uint8_t prefix[16];	/* the first 4 bytes for AF_INET */
	uint8_t length;		/* bits of the prefix, 0 to 32 or 128 */
	uint8_t source[16];	/* the local address, as prefix */
	char device[16];	/* the interface that has it; "": where the routes say */
	uint32_t also;		/* FIRST_TCP, FIRST_UDP */
	uint64_t connections;	/* begun there because of this entry; in answers only */
};

/* A new table of one family, with room for FIRST_MAX entries. Its file descriptor. */
int first_table(int family);

/*
 * A new program that reads the table. ring: a ring buffer (bpf(2)) that gets four bytes for each
 * connection over TCP that the program has bound, or -1. The program's file descriptor.
 */
int first_program(int family, int table, int ring);

/* Run the program at each connect() in this cgroup, until the returned link is closed. */
int first_attach(int family, int program, int cgroup);

/* Add or replace an entry. -ENOSPC: the table is full. */
int first_table_set(int table, const struct first *first);

/* -ENOENT: there is no such entry. */
int first_table_del(int table, const struct first *first);

/*
 * Append the namespace's entries to the array, which has room for "most" and has "count" already.
 * Returns the new count.
 */
int first_table_read(int table, int family, struct first *entries, int count, int most);

/* 1: the table has entries of no namespace, else 0. */
int first_table_is_empty(int table);

#endif /* PAMS_FIRST_H */
