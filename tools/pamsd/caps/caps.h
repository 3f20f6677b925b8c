/* SPDX-License-Identifier: GPL-2.0 */
/*
 * caps - limits on the use of interfaces
 *
 *	  counter.c, battery.c, metered.c, pamsplit.c -> caps.c (quota.c)
 *	                  caps.c -> caps_apply.c -> kernel.c, endpoint.c, exits.c, pamsplit.c
 *	                  caps.c -> caps_keep.c -> keep.c
 *
 *	caps.c			which cap is active, and why
 *	caps_apply.c		tells the kernel what a cap asks for
 *	exits.c			the default routes
 *	caps_keep.c		the state file of the caps
 *	battery.c counter.c metered.c quota.c
 *				reasons for which a cap is active
 */
#ifndef PAMSD_CAPS_H
#define PAMSD_CAPS_H

#include "../base/base.h"
#include "../base/config.h"

struct caps;

/* Returns NULL if there is no memory. */
struct caps *caps_new(struct event_base *base, const struct config *config,
		      struct kernel *kernel);
/* Keeps all changes that the caps have made; the next caps_new() continues from them. */
void caps_free(struct caps *caps);
/* Undo all changes that the caps have made. */
void caps_release(struct caps *caps);
/* Tell the module and pamsplit the effects of all caps. */
void caps_feed(struct caps *caps);
struct json_t *caps_status(const struct caps *caps);
/* Does a cap forbid this interface now? */
bool caps_forbid(const struct caps *caps, const char *interface);
/* Call news() whenever that, or a cost that caps ask for, may have changed; NULL: call nothing. */
void caps_on_change(struct caps *caps, void (*news)(void *arg), void *arg);

/* Have the caps removed the endpoint with this address, to give it back? */
bool caps_have_taken(const struct caps *caps, const struct prefix *address);
/* It is pamsd's own: caps_release() leaves it as it is. If it doesn't stay it is forgotten. */
void caps_leave(struct caps *caps, const struct prefix *address, bool stays);

/* Was this pamsd built with D-Bus? */
bool metered_can_be_had(void);

#endif /* PAMSD_CAPS_H */
