/* SPDX-License-Identifier: GPL-2.0 */
/* target - a server to which this machine reports */
#ifndef PAMSD_TARGET_H
#define PAMSD_TARGET_H

#include "announce.h"
#include "links.h"

/* --- resolve.c: the addresses of a server that is given by name --- */

struct resolver;

/*
 * Calls found() after each successful lookup, with 1 to ADDRESSES_MAX addresses. The caller
 * keeps host valid. Returns NULL if there is no memory.
 */
struct resolver *resolver_new(struct event_base *base, const struct host *host,
			      void (*found)(const union address *addresses,
					    unsigned int count, void *arg),
			      void *arg);
/* Stops the calls of found(). The event loop frees the memory in its next iteration. */
void resolver_free(struct resolver *resolver);
/*
 * Look the name up now, and retry soon if that fails. For when nobody answers at the known
 * addresses, or when the network comes up.
 */
void resolver_hurry(struct resolver *resolver);

/* --- target.c: sends reports to a server --- */

struct target;

struct target *target_new(struct event_base *base,
			  const struct target_config *config,
			  struct links *links);
void target_free(struct target *target);
/* From now on path id of the reports names the address of this link, and is sent from it. */
void target_add_source(struct target *target, const struct link *link,
		       unsigned int id);
/* Is this address one of the server's? */
bool target_is_at(const struct target *target, const struct prefix *address);
/* Set the state of path id, which target_run() and target_periodic() send. */
void target_set(struct target *target, unsigned int id,
		const struct announce_path *path);
/* Set which paths the subflows of a connection take, as announce_conn(). */
void target_conn(struct target *target, const struct report_conn *conn);
/* Has the server said that it takes connections? */
bool target_takes_conns(const struct target *target);
/* Send the paths that have changed, again and again until the server acknowledges them. */
void target_run(struct target *target);
/* Retry a failed lookup of the server's name, as a link has come up or has got an address. */
void target_look_up(struct target *target);
/* Call rate() for each path of the reports whose rate an answer has. */
void target_on_rate(struct target *target,
		    void (*rate)(const struct report_rate *rate, void *arg), void *arg);
/* Send all paths once. */
void target_periodic(struct target *target);
struct json_t *target_status(const struct target *target);

#endif /* PAMSD_TARGET_H */
