/* SPDX-License-Identifier: GPL-2.0 */
/* first_hook - the programs and tables of first paths, pinned */
#ifndef PAMSCTL_FIRST_HOOK_H
#define PAMSCTL_FIRST_HOOK_H

#include "../lib/first.h"

/*
 * All are of the caller's network namespace. They return 0, first_read() the number of entries,
 * or -errno; pins_refuse() then says what failed. first_remove() returns -ENOENT if there is no
 * such entry. The last entry of all namespaces takes the programs with it.
 */
int first_set(const struct first *first);
int first_remove(const struct first *first);
int first_read(struct first *entries, int most);

#endif /* PAMSCTL_FIRST_HOOK_H */
