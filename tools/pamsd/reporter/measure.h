/* SPDX-License-Identifier: GPL-2.0 */
/* measure - what an interface's pipe carries, and what waits before it */
#ifndef PAMSD_MEASURE_H
#define PAMSD_MEASURE_H

#include "links.h"

/* --- estimate.c: estimates a pipe's rate from samples of counters --- */

struct estimate_window {
	uint64_t begin_us;
	unsigned int looks, busy_looks;
	uint64_t best_byteps;	/* highest rate of the samples that ended in the window; 0: none */
};

struct estimate {
	bool sampled;		/* the next three fields are from the last sample */
	uint64_t sample_us;
	uint64_t bytes;		/* counter: sent through the pipe */
	uint32_t backlog_bytes;
	uint64_t busy_bytes;	/* sent while there was a backlog */
	uint64_t busy_us;	/* how long that backlog lasted */
	bool busy_unsure;	/* the backlog may have been gone between two samples */
	struct estimate_window window;
	bool drained;		/* the rate was measured while a queue drained */
	const char *from;	/* how the rate was found, for the status; or NULL */
	uint64_t rate_byteps;	/* 0: unknown */
	uint64_t rate_us;	/* when the rate was last found */
	uint64_t waited_us;	/* when there last was a backlog; 0: never */
	bool has_delay;
	uint32_t delay_us;
};

void estimate_reset(struct estimate *estimate);
/* Take a sample of a source that only counts bytes; the rate is measured during a backlog. */
void estimate_count(struct estimate *estimate, uint64_t us, uint64_t bytes,
		    uint32_t backlog_bytes);
/* Take a sample of a source that knows the rate; rate_byteps 0: unknown now. */
void estimate_rate(struct estimate *estimate, uint64_t us, uint64_t bytes,
		   uint32_t backlog_bytes, uint64_t rate_byteps);
/* Take a sample of a source that averages the rate itself; rate_byteps 0: unknown now. */
void estimate_exact(struct estimate *estimate, uint64_t us, uint64_t bytes,
		    uint32_t backlog_bytes, uint64_t rate_byteps);
/* Set the rate unless one was measured while a queue drained; rate_byteps 0: unknown. */
void estimate_suppose(struct estimate *estimate, uint64_t us,
		      uint64_t rate_byteps, const char *from);
/* The rate, or 0 if it is unknown or was found more than age_us ago. */
uint64_t estimate_known(const struct estimate *estimate, uint64_t us,
			uint64_t age_us);

/* --- source*.c: measure an interface's throughput and backlog --- */

struct source {
	const char *name;
	/* Measure the link and update the estimate. Returns 0 or -errno. */
	int (*sample)(const struct link *link,
		      const struct interface_config *config,
		      struct estimate *estimate, uint64_t us);
	void (*close)(void);
};

extern const struct source source_qdisc, source_station, source_tcp,
			   source_pamsplit;
/* Is the link wireless? */
bool source_station_suits(const struct link *link);

/* --- flows.c: the TCP flows through a pipe, added up --- */

struct flows {
	uint64_t bytes;		/* acknowledged so far */
	uint64_t backlog_bytes;
	uint32_t min_rtt_us;	/* lowest of all flows; 0: unknown */
};

/* Is peer, with this port, in one of the prefixes that the interface is about? */
bool flows_mean(const struct interface_config *config,
		const struct prefix *peer, uint16_t port);
void flows_add(struct flows *flows, uint64_t bytes, uint64_t backlog_bytes,
	       uint32_t min_rtt_us);
/*
 * Set the estimate's delay to half of the flows' lowest round-trip time. Call this before
 * passing the sum of the flows to the estimate.
 */
void flows_settle(struct flows *flows, struct estimate *estimate);

#endif /* PAMSD_MEASURE_H */
