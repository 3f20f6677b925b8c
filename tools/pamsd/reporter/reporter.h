/* SPDX-License-Identifier: GPL-2.0 */
/*
 * reporter - tells servers what this machine's paths carry, and when they are lost
 *
 *	  source_*.c (flows.c) -> estimate.c -\
 *	  links.c (carrier) ---------> reporter.c -> target.c -> udp
 *	  predictions ---------------/      \------> kernel.c
 *
 *	reporter.c		decides when to report which state of a path
 *	source_*.c		measure an interface's throughput and backlog
 *	flows.c estimate.c	sum up TCP flows, and estimate a rate from samples
 *	target.c		sends reports to a server
 *	announce.c		repeats a report until the server acknowledges it
 *	resolve.c		looks up the addresses of a server's name
 *	links.c			the state of the interfaces, from rtnetlink
 *	subflows.c		the subflows of MPTCP connections, by interface
 *	traffic.c		notices the first packet after a silence
 */
#ifndef PAMSD_REPORTER_H
#define PAMSD_REPORTER_H

#include "../base/base.h"
#include "../base/config.h"

struct reporter;

struct reporter *reporter_new(struct event_base *base,
			      const struct config *config,
			      struct kernel *kernel);
void reporter_free(struct reporter *reporter);
void reporter_feed(struct reporter *reporter);
/* Apply a prediction to an interface. Returns NULL, or why it is refused. */
const char *reporter_predict(struct reporter *reporter, const char *interface,
			     const struct prediction *prediction);
/*
 * Call rate() when a server has said what the way to this machine's interface carries, as it
 * measured age_ms ago.
 */
void reporter_on_rate(struct reporter *reporter,
		      void (*rate)(const char *interface, uint64_t byteps, uint64_t age_ms,
				   void *arg), void *arg);
struct json_t *reporter_status(const struct reporter *reporter);

/* Run the event loop until all that still looks up a name is gone; call this last at exit. */
void resolvers_end(struct event_base *base);

/* Needs CAP_NET_RAW, so call this before privilege_drop(). Without it the socket stays closed. */
void traffic_open(void);
void traffic_close(void);

#endif /* PAMSD_REPORTER_H */
