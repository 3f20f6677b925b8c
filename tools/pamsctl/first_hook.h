/* SPDX-License-Identifier: GPL-2.0 */
/* first_hook - which address new MPTCP connections begin on, by BPF at connect() */
#ifndef PAMSCTL_FIRST_HOOK_H
#define PAMSCTL_FIRST_HOOK_H

#include <stdint.h>

#define FIRST_MAX	1024	/* entries of each family */

/* Where connections to the destinations of a prefix begin. */
struct first {
	int family;		/* AF_INET or AF_INET6 */
	uint8_t prefix[16];	/* the first 4 bytes for AF_INET */
	uint8_t length;		/* bits of the prefix, 0 to 32 or 128 */
	uint8_t source[16];	/* the local address, as prefix */
	char device[16];	/* the interface that has it */
	uint64_t connections;	/* begun there because of this entry; in answers only */
};

/*
 * All are of the caller's network namespace. They return 0, first_read() the number of entries,
 * or -errno; pins_refuse() then says what failed. first_remove() returns -ENOENT if there is no
 * such entry. The last entry of all namespaces takes the programs with it.
 */
int first_set(const struct first *first);
int first_remove(const struct first *first);
int first_read(struct first *entries, int most);

#endif /* PAMSCTL_FIRST_HOOK_H */
