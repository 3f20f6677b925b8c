// SPDX-License-Identifier: GPL-2.0
/* A subflow as a fluid through a pipe: when does what is handed over now arrive,
 * and how much of it has arrived by then?
 *
 *   m      round-trip time without a queue
 *   C      capacity of the path, or unknown; P what it is sure to carry
 *   W      min(window, C * m)     on its way without queueing
 *   F, B   in flight; handed over and waiting
 *   R      min(window / m, C)     leaves per second while the window is full
 *
 * n bytes more have to wait for what F + B + n exceeds W by. Acknowledgments
 * release that at R; in slow start, while C isn't reached, at 2 R in the first
 * round trip, 4 R in the second, and so on:
 *
 *   arrival(n)  = m/2 + max(time to release(F + B + n - W),
 *                           min(B + n, W) / P)
 *   carried(t)  = W + released(t - m/2) - F - B
 *
 * The second term of the maximum is a burst on its way through the bottleneck:
 * a window that was never filled may be larger than what the path takes at once.
 * Of a burst none of that comes before its first acknowledgment (pause): until then
 * only W counts, then a round of it leaves as fast as it arrived.
 *
 * With F and B held against W nothing is smoothed: a queue counts from the moment
 * it is made, and no more once it has gone.
 *
 * Units: bytes, bytes/s in 32 bits (up to 34 Gbit/s), microseconds. Products of
 * a rate and at most 60 s are below 2^58; bytes are clamped to 2^40 before they
 * are multiplied by 10^6, which gives less than 2^60.
 *
 * Ignored: loss, that both directions may differ, the size of packets.
 */
#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/time64.h>

#include "flow.h"

/* 16 doublings are a window 65536 times as large */
#define FLOW_ROUNDS_MAX		16
#define FLOW_BYTES_MAX		0x10000000000ULL	/* 2^40 */

static u64 released_bytes(u32 rate_byteps, u32 span_us)
{
	return div_u64((u64)rate_byteps * span_us, USEC_PER_SEC);
}

static u32 release_us(u64 bytes, u32 rate_byteps)
{
	return min_t(u64, div_u64(min(bytes, FLOW_BYTES_MAX) * USEC_PER_SEC,
				  rate_byteps), FLOW_SPAN_MAX_US);
}

/* Twice the last round trip's, in slow start, but for the capacity. */
static u32 next_rate(const struct pams_flow *flow, u32 rate_byteps)
{
	return flow->growing ?
	       min_t(u64, 2ULL * rate_byteps, flow->limit_byteps) : rate_byteps;
}

/* Is it by round trips that data leaves, not evenly? */
static bool in_rounds(const struct pams_flow *flow, u32 rate_byteps)
{
	return flow_pause_us(flow) ||
	       (flow->growing && rate_byteps < flow->limit_byteps);
}

/**
 * flow_trust_guess - reckon with what the first few packets told
 * @flow:	the subflow
 *
 * What is handed over mustn't depend on a guess: it would never be put right. How late
 * what is in flight will be may.
 */
void flow_trust_guess(struct pams_flow *flow)
{
	if (!flow->guessed)
		return;

	flow->limit_byteps = flow->proven_byteps;
	flow->rate_byteps = min(flow->rate_byteps, flow->limit_byteps);
	flow->window_bytes = min_t(u64, flow->window_bytes,
				   released_bytes(flow->limit_byteps,
						  flow->rtt_us));
	flow->growing &= flow->rate_byteps < flow->limit_byteps;
}

/**
 * flow_arrival_us - how long until the last of some bytes arrives
 * @flow:	the subflow
 * @bytes:	handed over now
 */
u32 flow_arrival_us(const struct pams_flow *flow, u32 bytes)
{
	u64 ahead = (u64)flow->backlog_bytes + bytes;
	u64 burst = min_t(u64, ahead, flow->window_bytes);
	u32 rate = flow->rate_byteps;
	unsigned int rounds = 0;
	u32 burst_us, span_us = flow_pause_us(flow);

	ahead += flow->flight_bytes;
	ahead -= min_t(u64, ahead, flow->window_bytes);
	/* at one rate, as mostly, one division does */
	if (!flow->growing && !span_us && flow->proven_byteps == rate)
		return flow->rtt_us / 2 + release_us(max(burst, ahead), rate);

	burst_us = release_us(burst, flow->proven_byteps);
	if (!ahead)
		return flow->rtt_us / 2 + burst_us;

	rate = next_rate(flow, rate);
	while (in_rounds(flow, rate) && rounds++ < FLOW_ROUNDS_MAX) {
		u64 round = released_bytes(rate, flow->rtt_us);

		if (ahead <= round)
			break;
		ahead -= round;
		span_us += flow->rtt_us;
		rate = next_rate(flow, rate);
	}
	if (flow_pause_us(flow))
		rate = max(rate, flow->proven_byteps);
	return flow->rtt_us / 2 +
	       max(burst_us, span_us + release_us(ahead, rate));
}

/**
 * flow_carried_bytes - what is handed over from now on and arrives in a time
 * @flow:	the subflow
 * @span_us:	the time
 */
u64 flow_carried_bytes(const struct pams_flow *flow, u64 span_us)
{
	u64 ahead = (u64)flow->flight_bytes + flow->backlog_bytes;
	u64 bytes = flow->window_bytes;
	u32 rate = flow->rate_byteps;
	unsigned int rounds = 0;
	u32 left_us;

	if (span_us < flow->rtt_us / 2)
		return 0;
	left_us = min_t(u64, span_us - flow->rtt_us / 2, FLOW_SPAN_MAX_US);

	if (left_us < flow_pause_us(flow))
		return bytes > ahead ? bytes - ahead : 0;
	left_us -= flow_pause_us(flow);

	rate = next_rate(flow, rate);
	while (in_rounds(flow, rate) && left_us > flow->rtt_us &&
	       rounds++ < FLOW_ROUNDS_MAX) {
		bytes += released_bytes(rate, flow->rtt_us);
		left_us -= flow->rtt_us;
		rate = next_rate(flow, rate);
	}
	if (flow_pause_us(flow))
		bytes += min(released_bytes(rate, flow->rtt_us),
			     released_bytes(max(rate, flow->proven_byteps),
					    left_us));
	else
		bytes += released_bytes(rate, left_us);
	return bytes > ahead ? bytes - ahead : 0;
}
