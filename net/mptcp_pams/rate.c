// SPDX-License-Identifier: GPL-2.0
/* Th, the throughput of a subflow: an EWMA of cwnd / RTT (MPBond, section 4).
 *
 *   sample = cwnd * mss / srtt
 *   Th    += (sample - Th) / 4        at most once per quarter of an RTT
 *
 * which forgets within about one round trip. In slow start the sample is taken
 * as it is: the window doubles each RTT, and an average would only tell what
 * it used to be. Bytes per second; the product below stays under 2^63 for
 * windows up to 2^31 bytes.
 */
#include <linux/math64.h>

#include "pad.h"
#include "pams.h"

#define RATE_GAIN_SHIFT		2	/* weight of a sample: 1/4 */

static u64 rate_sample_byteps(const struct tcp_sock *tp, u32 cwnd, u32 srtt_us)
{
	u64 window_bytes = min_t(u64, (u64)cwnd * tp->mss_cache,
				 PAD_QUEUED_MAX_BYTES);

	return clamp(div_u64(window_bytes * USEC_PER_SEC, srtt_us),
		     PAD_RATE_MIN_BYTEPS, PAD_RATE_MAX_BYTEPS);
}

/**
 * pams_rate_learn - the throughput to reckon with, from a new sample
 * @memo:	where it is remembered, or NULL if there is no memory for it
 * @id:		subflow_id of the subflow
 * @tp:		its TCP socket, read without its lock
 * @cwnd:	congestion window in packets, as it will be when data is sent
 *
 * If @memo is another subflow's it starts anew from a sample.
 *
 * Return: bytes per second, within pad.h's range.
 */
u64 pams_rate_learn(struct pams_memo *memo, u32 id, const struct tcp_sock *tp,
		    u32 cwnd)
{
	u32 srtt_us = pams_rate_srtt_us(tp);
	u64 sample = rate_sample_byteps(tp, cwnd, srtt_us);

	if (!memo)
		return sample;

	if (memo->id != id) {
		memset(memo, 0, sizeof(*memo));
		memo->reinject_epoch_end = jiffies;
	} else if (cwnd >= READ_ONCE(tp->snd_ssthresh)) {
		sample = memo->byteps +
			 ((s64)(sample - memo->byteps) >> RATE_GAIN_SHIFT);
	}
	memo->byteps = sample;
	memo->stamp_us = READ_ONCE(tp->tcp_mstamp);
	memo->id = id;
	memo->cwnd = cwnd;
	memo->srtt_us = srtt_us;

	return sample;
}
