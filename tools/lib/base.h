/* SPDX-License-Identifier: GPL-2.0 */
/*
 * base - the event loop of a daemon whose timers are short
 */
#ifndef PAMS_BASE_H
#define PAMS_BASE_H

struct event_base;

/* Create an event base with libevent's precise clock. Returns NULL if that fails. */
struct event_base *base_new(void);

#endif /* PAMS_BASE_H */
