/* SPDX-License-Identifier: GPL-2.0 */
/* pair - what pair.c, which prints a configuration, and pair_read.c, which reads it, share */
#ifndef PAMSCTL_PAIR_H
#define PAMSCTL_PAIR_H

#include <stdbool.h>

#include <sodium.h>

#define PAIR_KEY_BYTES	32
#define PAIR_KEY_TEXT	sodium_base64_ENCODED_LEN(PAIR_KEY_BYTES, \
						  sodium_base64_VARIANT_ORIGINAL)

/* Is it safe as part of a file's name and, in quotes, in pamsd.conf? */
bool is_name(const char *name);
/* Set up this machine as "server" or "reporter", from standard input. The exit status. */
int pair_read(const char *role, const char *directory);

#endif /* PAMSCTL_PAIR_H */
