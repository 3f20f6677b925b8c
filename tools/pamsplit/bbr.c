// SPDX-License-Identifier: GPL-2.0
/*
 * bbr - congestion control for sending to the client
 *
 * BBR as in Cardwell et al., "BBR: Congestion-Based Congestion Control", ACM
 * Queue 14(5), 2016, and draft-cardwell-iccrg-bbr-congestion-control-00. BBR suits the
 * pipe, which is one hop and often lossy; data should queue in the bank, not in the pipe.
 *
 *	bw	the highest delivery rate of the last 10 round trips
 *	min_rtt	the lowest round-trip time of the last 10 s
 *	pace	gain * bw
 *	window	gain * bw * min_rtt + 3 bursts + extra
 *	extra	the most bytes that were acknowledged faster than bw in the last 5
 *		to 10 round trips: a radio holds acknowledgments back and sends them
 *		together; draft-cardwell-iccrg-bbr-congestion-control-02, 4.6.4.2
 *
 *	STARTUP, gain 2.885, until bw hasn't grown by 25 % in 3 round trips
 *	DRAIN, gain 1 / 2.885, until the data in flight fits bw * min_rtt
 *	PROBE_BW, 1.25, 0.75, 1 six times, each a min_rtt long; window gain 2
 *	PROBE_RTT, 4 segments for 200 ms, when min_rtt is older than 10 s
 *
 * Left out: long-term sampling for policers, packet conservation after a loss.
 */
#include "flow.h"

#define UNIT		1000	/* gains are in thousandths */
#define HIGH_GAIN	2885
#define DRAIN_GAIN	347
#define WINDOW_GAIN	2000
#define CYCLE		8
#define FULL_GROWTH	1250
#define FULL_ROUNDS	3
#define MIN_RTT_US	(10 * SECOND_US)
#define PROBE_RTT_US	200000
#define EXTRA_ROUNDS	5	/* rounds that each of the two maxima covers */
#define EXTRA_US	100000	/* extra is at most bw times this */
#define INITIAL_SEGMENTS 10
#define LEAST_SEGMENTS	4
#define SLOW_BYTEPS	(1200000 / 8)	/* below this rate a burst is one segment */
#define BURST_MAX	(64 << 10)

static const unsigned int cycle_gain[CYCLE] = {
	1250, 750, 1000, 1000, 1000, 1000, 1000, 1000
};

static uint64_t bandwidth(const struct bbr *bbr)
{
	uint64_t bw = 0;

	for (unsigned int i = 0; i < BW_ROUNDS; i++)
		if (bbr->bw_of_round[i] > bw)
			bw = bbr->bw_of_round[i];
	return bw;
}

static bool is_full(const struct bbr *bbr)
{
	return bbr->full_rounds >= FULL_ROUNDS;
}

/* The size of a burst: the bytes sent in a millisecond at bw, within bounds. */
static uint64_t burst(const struct flow *flow, uint64_t bw)
{
	uint64_t bytes = bw / 1000, least = flow->client_mss;

	if (bw >= SLOW_BYTEPS)
		least *= 2;
	if (bytes < least)
		return least;
	return bytes < BURST_MAX ? bytes : BURST_MAX;
}

static uint64_t window(const struct flow *flow, uint64_t gain)
{
	uint64_t bw = bandwidth(&flow->bbr);
	uint64_t bdp = bw * flow->bbr.min_rtt_us / SECOND_US;

	if (!bw)
		return INITIAL_SEGMENTS * (uint64_t)flow->client_mss;
	return gain * bdp / UNIT + 3 * burst(flow, bw);
}

void bbr_start(struct flow *flow, uint64_t now_us)
{
	struct bbr *bbr = &flow->bbr;

	bbr->mode = STARTUP;
	bbr->min_rtt_us = flow->srtt_us;
	bbr->min_rtt_at_us = now_us;
	bbr->cwnd = INITIAL_SEGMENTS * (uint64_t)flow->client_mss;
	bbr->rate_byteps = bbr->cwnd * SECOND_US * HIGH_GAIN / UNIT /
			   (flow->srtt_us ? flow->srtt_us : 1);
}

/* Who has little to send shows no lower rate by that, and no round goes by, as in Linux. */
static bool update_bandwidth(struct flow *flow,
			     const struct rate_sample *sample)
{
	struct bbr *bbr = &flow->bbr;
	uint64_t *of_round;
	bool counts = sample->rate_byteps &&
		      (!sample->app_limited || sample->rate_byteps > bandwidth(bbr));
	bool new_round = counts && sample->prior_delivered >= bbr->round_ends;

	if (new_round) {
		bbr->rounds++;
		bbr->round_ends = flow->delivery.delivered;
		bbr->bw_of_round[bbr->rounds % BW_ROUNDS] = 0;
	}
	of_round = &bbr->bw_of_round[bbr->rounds % BW_ROUNDS];
	if (counts && sample->rate_byteps > *of_round)
		*of_round = sample->rate_byteps;
	return new_round;
}

static void check_full(struct bbr *bbr, const struct rate_sample *sample)
{
	uint64_t bw = bandwidth(bbr);

	if (is_full(bbr) || sample->app_limited)
		return;
	if (bw * UNIT >= bbr->full_bw * FULL_GROWTH) {
		bbr->full_bw = bw;
		bbr->full_rounds = 0;
		return;
	}
	bbr->full_rounds++;
}

static void enter_probe_bw(struct bbr *bbr, uint64_t now_us)
{
	bbr->mode = PROBE_BW;
	bbr->phase = 2;
	bbr->phase_us = now_us;
}

static void update_phase(struct flow *flow, uint64_t now_us)
{
	struct bbr *bbr = &flow->bbr;
	unsigned int gain = cycle_gain[bbr->phase];
	bool over = now_us - bbr->phase_us > bbr->min_rtt_us;

	if (gain > UNIT)
		over = over && (flow->lost_bytes || flow->recovering ||
				flow->in_flight >= window(flow, gain));
	else if (gain < UNIT)
		over = over || flow->in_flight <= window(flow, UNIT);
	if (!over)
		return;
	bbr->phase = (bbr->phase + 1) % CYCLE;
	bbr->phase_us = now_us;
}

static void update_min_rtt(struct flow *flow, const struct rate_sample *sample,
			   uint64_t now_us)
{
	struct bbr *bbr = &flow->bbr;
	bool expired = now_us - bbr->min_rtt_at_us > MIN_RTT_US;

	if (sample->rtt_us && (sample->rtt_us <= bbr->min_rtt_us || expired)) {
		bbr->min_rtt_us = sample->rtt_us;
		bbr->min_rtt_at_us = now_us;
	}
	if (expired && bbr->mode != PROBE_RTT) {
		bbr->mode = PROBE_RTT;
		bbr->probe_rtt_until_us = 0;
	}
	if (bbr->mode != PROBE_RTT)
		return;
	if (!bbr->probe_rtt_until_us) {
		if (flow->in_flight <=
		    LEAST_SEGMENTS * (uint64_t)flow->client_mss)
			bbr->probe_rtt_until_us = now_us + PROBE_RTT_US;
	} else if (now_us >= bbr->probe_rtt_until_us) {
		bbr->min_rtt_at_us = now_us;
		if (is_full(bbr))
			enter_probe_bw(bbr, now_us);
		else
			bbr->mode = STARTUP;
	}
}

static unsigned int pace_gain(const struct bbr *bbr)
{
	switch (bbr->mode) {
	case STARTUP:
		return HIGH_GAIN;
	case DRAIN:
		return DRAIN_GAIN;
	case PROBE_BW:
		return cycle_gain[bbr->phase];
	case PROBE_RTT:
		break;
	}
	return UNIT;
}

static void set_pace(struct flow *flow)
{
	struct bbr *bbr = &flow->bbr;
	uint64_t rate = bandwidth(bbr) * pace_gain(bbr) / UNIT;

	if (rate && (is_full(bbr) || rate > bbr->rate_byteps))
		bbr->rate_byteps = rate;
}

/* Update extra from the bytes acknowledged since acknowledgments became faster than bw. */
static void update_extra(struct bbr *bbr, uint64_t acked, uint64_t now_us)
{
	uint64_t expected = bandwidth(bbr) * (now_us - bbr->together_since_us) / SECOND_US;
	uint64_t beyond;

	if (bbr->together_bytes <= expected) {
		bbr->together_since_us = now_us;
		bbr->together_bytes = 0;
		expected = 0;
	}
	bbr->together_bytes += acked;
	if (bbr->rounds - bbr->extra_rounds >= EXTRA_ROUNDS) {
		bbr->extra_rounds = bbr->rounds;
		bbr->extra_before = bbr->extra;
		bbr->extra = 0;
	}
	/* no more than a window can have been acknowledged together */
	beyond = lesser(bbr->together_bytes - expected, bbr->cwnd);
	if (beyond > bbr->extra)
		bbr->extra = beyond;
}

static uint64_t extra(const struct bbr *bbr)
{
	uint64_t most = bbr->extra > bbr->extra_before ? bbr->extra : bbr->extra_before;

	return lesser(most, bandwidth(bbr) * EXTRA_US / SECOND_US);
}

static void set_window(struct flow *flow, uint64_t acked)
{
	struct bbr *bbr = &flow->bbr;
	uint64_t mss = flow->client_mss;
	uint64_t target = window(flow, bbr->mode == STARTUP ||
				 bbr->mode == DRAIN ? HIGH_GAIN : WINDOW_GAIN);

	if (is_full(bbr)) {
		target += extra(bbr);
		bbr->cwnd += acked;
		if (bbr->cwnd > target)
			bbr->cwnd = target;
	} else if (bbr->cwnd < target ||
		   flow->delivery.delivered < INITIAL_SEGMENTS * mss) {
		bbr->cwnd += acked;
	}
	if (bbr->cwnd < LEAST_SEGMENTS * mss)
		bbr->cwnd = LEAST_SEGMENTS * mss;
	if (bbr->mode == PROBE_RTT && bbr->cwnd > LEAST_SEGMENTS * mss)
		bbr->cwnd = LEAST_SEGMENTS * mss;
}

void bbr_acked(struct flow *flow, const struct rate_sample *sample,
	       uint64_t acked_bytes, uint64_t now_us)
{
	struct bbr *bbr = &flow->bbr;

	if (update_bandwidth(flow, sample))
		check_full(bbr, sample);
	update_extra(bbr, acked_bytes, now_us);
	if (bbr->mode == STARTUP && is_full(bbr))
		bbr->mode = DRAIN;
	if (bbr->mode == DRAIN && flow->in_flight <= window(flow, UNIT))
		enter_probe_bw(bbr, now_us);
	if (bbr->mode == PROBE_BW)
		update_phase(flow, now_us);
	update_min_rtt(flow, sample, now_us);
	set_pace(flow);
	set_window(flow, acked_bytes);
}

/* After a timeout the window is one segment (RFC 5681), and grows by what is acknowledged. */
void bbr_timeout(struct flow *flow)
{
	flow->bbr.cwnd = flow->client_mss;
}
