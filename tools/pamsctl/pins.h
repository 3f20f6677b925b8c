/* SPDX-License-Identifier: GPL-2.0 */
/* pins - BPF programs and tables that stay when pamsctl ends: what all that have some need */
#ifndef PAMSCTL_PINS_H
#define PAMSCTL_PINS_H

#include <stdbool.h>

#define PINS_FOLDER	"/sys/fs/bpf"

/* NULL, or why this pamsctl or this kernel supports no pinned programs. */
const char *pins_missing(void);

/* Does the kernel tell its types (BTF)? From then on libbpf prints nothing. */
bool pins_types(void);

/*
 * Wait until no other pamsctl changes pins. A file descriptor whose closing releases the lock, or
 * -errno.
 */
int pins_lock(void);

/* Keep what failed, for pins_refuse(). Returns err, which is -errno. */
int pins_failed(const char *what, int err);

/* Print what failed last, for that error and the capabilities that it takes. The exit status. */
int pins_refuse(int err, const char *capabilities);

#endif /* PAMSCTL_PINS_H */
