// SPDX-License-Identifier: GPL-2.0
/*
 * estimate - estimates a pipe's rate, from what a source counts or reports
 *
 * A queue that isn't empty drains at the pipe's rate. So the bytes that left while
 * there was a backlog, divided by that time, are a sample of the rate:
 *
 *	rate = (1 - w) * rate + w * busy_bytes / busy_us
 *
 * A sample ends after MANY_BYTES, eleven packets of 1514 bytes, which keep the
 * error of counting whole packets below a tenth; after FEW_US if at least
 * FEW_BYTES, three packets, have left by then, so that a pipe that became slow
 * shows soon; or after STILL_US, if nothing leaves. w is 1/2: about the mean of
 * two samples, and three samples after a change the rate is within an eighth of
 * the new one; down to 1 Mbit/s those take at most 180 ms.
 *
 * A backlog seen at both ends of a tick may have been gone in between. It was
 * there all the time for sure if no more bytes left than waited at the start. If
 * a part of a sample is unsure, the sample is only a lower bound: it counts if it
 * is above the current rate, or if that is older than BELIEF_US.
 *
 * A queue that is kept short, as by CoDel, gives only lower bounds. But if it
 * wasn't empty in MOST_PARTS of 4 looks in a window of WINDOW_US, the pipe was
 * busy for at least about that part of the window, and probably for all of the
 * sample with the highest rate: that becomes the rate, even if it is lower than
 * the current one. After a drop the rate is too high for two windows at most.
 *
 * Without a backlog the pipe isn't the bottleneck, so the bytes that leave say
 * nothing about it: the last rate stays, as long as its age allows.
 *
 * A source that reports a rate gives one sample each time. Radio rates change with
 * each lost frame: w is 1/4, so after a change it takes eight samples (160 ms)
 * until the rate is within an eighth of the new one.
 *
 * The rate of a source that averages it itself (pamsplit) is used as it is.
 *
 * If a queue's drain was measured, but not for BELIEF_US, the rate that a source
 * supposes replaces it.
 *
 * Units: bytes, bytes per second, us. Counters are 64 bits and may be set back
 * to 0. 2^64 us are 500,000 years; busy_bytes * 10^6 fits 64 bits up to
 * 18 TB in one sample.
 */
#include <linux/mptcp_pams.h>
#include <string.h>

#include "measure.h"

#define US_PER_S	1000000ULL
#define MANY_BYTES	(11 * 1514)
#define FEW_BYTES	(3 * 1514)
#define FEW_US		50000
#define STILL_US	500000
#define BELIEF_US	10000000
#define WINDOW_US	400000
#define MOST_PARTS	3

static uint64_t clamp_rate(uint64_t byteps)
{
	if (byteps < MPTCP_PAMS_RATE_MIN_BYTEPS)
		return MPTCP_PAMS_RATE_MIN_BYTEPS;
	if (byteps > MPTCP_PAMS_RATE_MAX_BYTEPS)
		return MPTCP_PAMS_RATE_MAX_BYTEPS;
	return byteps;
}

/* Update the rate with a sample that has weight w = 1 / weight. */
static void learn(struct estimate *estimate, uint64_t us, uint64_t byteps,
		  unsigned int weight)
{
	byteps = clamp_rate(byteps);
	if (!estimate->rate_byteps)
		estimate->rate_byteps = byteps;
	else
		estimate->rate_byteps = (estimate->rate_byteps * (weight - 1) +
					 byteps) / weight;
	estimate->rate_us = us;
}

static uint32_t clamp_backlog(uint32_t bytes)
{
	return bytes > MPTCP_PAMS_BACKLOG_MAX_BYTES ?
	       MPTCP_PAMS_BACKLOG_MAX_BYTES : bytes;
}

/* Store a sample. Returns the bytes since the last one, 0 for the first or if bytes was reset. */
static uint64_t advance(struct estimate *estimate, uint64_t us, uint64_t bytes,
			uint32_t backlog_bytes)
{
	uint64_t left = 0;

	if (estimate->sampled && bytes >= estimate->bytes)
		left = bytes - estimate->bytes;
	if (backlog_bytes)
		estimate->waited_us = us;
	estimate->sampled = true;
	estimate->sample_us = us;
	estimate->bytes = bytes;
	estimate->backlog_bytes = clamp_backlog(backlog_bytes);
	return left;
}

void estimate_reset(struct estimate *estimate)
{
	memset(estimate, 0, sizeof(*estimate));
}

static bool is_sample(const struct estimate *estimate)
{
	if (!estimate->busy_us)
		return false;
	return estimate->busy_bytes >= MANY_BYTES ||
	       estimate->busy_us >= STILL_US ||
	       (estimate->busy_bytes >= FEW_BYTES &&
		estimate->busy_us >= FEW_US);
}

/* Count a look; at the end of a window with few empty looks its best sample becomes the rate. */
static void look(struct estimate *estimate, uint64_t us, bool busy)
{
	struct estimate_window *window = &estimate->window;

	window->looks++;
	window->busy_looks += busy;
	if (us - window->begin_us < WINDOW_US)
		return;
	if (us - window->begin_us < 2 * WINDOW_US && window->best_byteps &&
	    window->busy_looks * 4 >= window->looks * MOST_PARTS &&
	    window->best_byteps < estimate->rate_byteps)
		learn(estimate, us, window->best_byteps, 1);
	memset(window, 0, sizeof(*window));
	window->begin_us = us;
}

void estimate_count(struct estimate *estimate, uint64_t us, uint64_t bytes,
		    uint32_t backlog_bytes)
{
	bool busy = estimate->sampled && estimate->backlog_bytes &&
		    backlog_bytes && bytes >= estimate->bytes;
	uint64_t since_us = us - estimate->sample_us;
	uint32_t waited_bytes = estimate->backlog_bytes;
	uint64_t left = advance(estimate, us, bytes, backlog_bytes);
	uint64_t byteps;

	look(estimate, us, busy);
	if (!busy)
		return;
	if (left > waited_bytes)
		estimate->busy_unsure = true;
	estimate->busy_bytes += left;
	estimate->busy_us += since_us;
	if (!is_sample(estimate))
		return;
	byteps = estimate->busy_bytes * US_PER_S / estimate->busy_us;
	if (!estimate->drained)		/* drop a rate that was only supposed */
		estimate->rate_byteps = 0;
	estimate->drained = true;
	estimate->from = "queue";
	if (byteps > estimate->window.best_byteps)
		estimate->window.best_byteps = byteps;
	if (!estimate->busy_unsure || byteps > estimate->rate_byteps)
		learn(estimate, us, byteps, 2);
	else if (us - estimate->rate_us > BELIEF_US)
		learn(estimate, us, byteps, 1);
	estimate->busy_unsure = false;
	estimate->busy_bytes = 0;
	estimate->busy_us = 0;
}

void estimate_rate(struct estimate *estimate, uint64_t us, uint64_t bytes,
		   uint32_t backlog_bytes, uint64_t rate_byteps)
{
	advance(estimate, us, bytes, backlog_bytes);
	if (rate_byteps)
		learn(estimate, us, rate_byteps, 4);
}

void estimate_exact(struct estimate *estimate, uint64_t us, uint64_t bytes,
		    uint32_t backlog_bytes, uint64_t rate_byteps)
{
	advance(estimate, us, bytes, backlog_bytes);
	if (rate_byteps)
		learn(estimate, us, rate_byteps, 1);
}

void estimate_suppose(struct estimate *estimate, uint64_t us,
		      uint64_t rate_byteps, const char *from)
{
	if (!rate_byteps || (estimate->drained &&
			     us - estimate->rate_us <= BELIEF_US))
		return;
	estimate->drained = false;
	estimate->from = from;
	learn(estimate, us, rate_byteps, 4);
}

uint64_t estimate_known(const struct estimate *estimate, uint64_t us,
			uint64_t age_us)
{
	return us - estimate->rate_us <= age_us ? estimate->rate_byteps : 0;
}
