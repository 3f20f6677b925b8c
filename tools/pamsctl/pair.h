/* SPDX-License-Identifier: GPL-2.0 */
/* pair - what pair.c, which prints, and pair_read.c share */
#ifndef PAMSCTL_PAIR_H
#define PAMSCTL_PAIR_H

#include <stdbool.h>

#include <sodium.h>

#define PAIR_KEY_BYTES	32
#define PAIR_KEY_TEXT	sodium_base64_ENCODED_LEN(PAIR_KEY_BYTES, \
						  sodium_base64_VARIANT_ORIGINAL)

/* It becomes a file's name, and stands in quotes. */
bool is_name(const char *name);
/* Set up the end of that role, from standard input; the exit status. */
int pair_read(const char *role, const char *directory);

#endif /* PAMSCTL_PAIR_H */
