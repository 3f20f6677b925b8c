/* SPDX-License-Identifier: GPL-2.0 */
/*
 * paths - keeps the host's paths
 *
 *	  scene.c, seen.c -> paths.c (plan.c) -> where.c (choice.c, lead.c) -> begin.c, metric.c
 *	                                      -> apply.c -> scene.c, endpoint.c
 *
 *	paths.c			keeps them as they should be
 *	where.c			on which of them connections begin
 *	apply.c			carries a plan out, and remembers what was made
 *	metric.c		lets all traffic begin on a path, by a default route
 *	plan.c			what should be there for them
 *	lead.c			where those begin whose destination is silent
 *	begin.c			puts where connections begin into the kernel
 *	seen.c			what TCP sockets tell of the paths
 *	choice.c		which of them is better
 *	silent.c		destinations that don't answer over a path
 *	scene.c			interfaces, addresses, routes and rules
 */
#ifndef PAMSD_PATHS_H
#define PAMSD_PATHS_H

#include "../base/base.h"
#include "../base/config.h"

struct caps;
struct paths;

/*
 * Continues from what an earlier pamsd has made. caps: those that forbid paths, or NULL. Returns
 * NULL after logging the reason.
 */
struct paths *paths_new(struct event_base *base, const struct config *config,
			struct kernel *kernel, struct caps *caps);
/* Keeps what was made; the next paths_new() continues from it. */
void paths_free(struct paths *paths);
/* Undo what was made. */
void paths_release(struct paths *paths);
/* But for what open connections need: the next paths_new() or paths_clean() finds it. */
void paths_end(struct paths *paths);
/*
 * Undo what an earlier pamsd with this state file has left; unless asked for only if it left its
 * file. Returns 0, or -1 after logging why something is left.
 */
int paths_clean(const char *state, bool asked);
/* What the paths depend on may have changed. */
void paths_feed(struct paths *paths);
/* No connection begins on a path that is about to be lost. Returns NULL, or why not. */
const char *paths_predict(struct paths *paths, const char *interface,
			  const struct prediction *prediction);
/* A server says what the way to this interface carries, as it measured age_ms ago. */
void paths_rate(const char *interface, uint64_t byteps, uint64_t age_ms, void *paths);
struct json_t *paths_status(struct paths *paths);

/* Load the BPF programs, which privilege_drop() makes impossible. */
void begin_open(void);
void begin_close(void);

#endif /* PAMSD_PATHS_H */
