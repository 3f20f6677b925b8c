// SPDX-License-Identifier: GPL-2.0
/* PAD, the pipe-aware delay (MPBond, MobiSys 2020, section 4): how long a
 * byte that is handed to a subflow now takes to reach the receiver.
 *
 *   direct:   PAD = OWDps + Bs / Thps
 *
 *   helper:   T1  = Bs / Thhs                        (the server's queue drains)
 *             Bp' = max(0, Bp - Thp * T1 + Bs)       (what the pipe holds then)
 *             T2  = Bp' / Thp
 *             PAD = T1 + OWDhs + T2 + OWDp
 *
 * With T1 and T2 put in, the helper's PAD has two cases only:
 *
 *   Bp/Bs + 1 >  Thp/Thhs:  OWDhs + OWDp + (Bs + Bp) / Thp   (pipe limits)
 *   Bp/Bs + 1 <= Thp/Thhs:  OWDhs + OWDp + Bs / Thhs         (HS-path limits)
 *
 * and the case that applies is the one with the larger quotient, so it is
 * computed as a maximum: no branch on the ratio, no intermediate rounding.
 *
 * Units: Th and rates in bytes/s, OWD in us, B in bytes, PAD in ns, rounded
 * down once. With B <= 2^31 a dividend is at most 2^32 * 10^9 < 2^62; with
 * OWD <= 60 s and Th >= 125 B/s a PAD is below 2^55 ns.
 *
 * Ignored: loss, reordering, and that a window in slow start will have grown
 * by the time the byte leaves.
 */
#include <linux/kernel.h>
#include <linux/math64.h>

#include "pad.h"

static u64 hop_rate_byteps(const struct pad_hop *hop)
{
	return clamp(hop->rate_byteps, PAD_RATE_MIN_BYTEPS, PAD_RATE_MAX_BYTEPS);
}

static u64 hop_queued_bytes(const struct pad_hop *hop)
{
	return min(hop->queued_bytes, PAD_QUEUED_MAX_BYTES);
}

/* @bytes is at most 2^32, so the product stays below 2^62 */
static u64 drain_ns(u64 bytes, u64 rate_byteps)
{
	return bytes ? div64_u64(bytes * NSEC_PER_SEC, rate_byteps) : 0;
}

/**
 * pad_drain_ns - how long until all that is queued at a segment has left
 * @hop: the segment
 *
 * Return: nanoseconds.
 */
u64 pad_drain_ns(const struct pad_hop *hop)
{
	return drain_ns(hop_queued_bytes(hop), hop_rate_byteps(hop));
}

/**
 * pad_helper_ns - PAD of a subflow through a helper device
 * @hs:   the HS-path, server to helper; queued_bytes is Bs
 * @pipe: the pipe, helper to primary; queued_bytes is Bp
 *
 * Return: nanoseconds until a byte handed over now arrives.
 */
u64 pad_helper_ns(const struct pad_hop *hs, const struct pad_hop *pipe)
{
	u64 bs = hop_queued_bytes(hs);
	u64 bp = hop_queued_bytes(pipe);
	u64 hs_ns = drain_ns(bs, hop_rate_byteps(hs));
	u64 pipe_ns = drain_ns(bs + bp, hop_rate_byteps(pipe));

	return pad_owd_ns(hs) + pad_owd_ns(pipe) + max(hs_ns, pipe_ns);
}

/**
 * pad_carried_bytes - how much a segment carries within a span of time
 * @span_ns:  nanoseconds, up to the largest PAD (2^55)
 * @rate_byteps: bytes per second
 *
 * span * rate / 10^9 without a 128-bit product: the whole seconds and the
 * rest are multiplied apart. The rest's product is below
 * 10^9 * PAD_RATE_MAX_BYTEPS < 2^64, the seconds' below 2^60.
 *
 * Return: bytes, rounded down.
 */
u64 pad_carried_bytes(u64 span_ns, u64 rate_byteps)
{
	u32 rest_ns;
	u64 span_s = div_u64_rem(min(span_ns, 1ULL << 55), NSEC_PER_SEC,
				 &rest_ns);
	u64 rate = min(rate_byteps, PAD_RATE_MAX_BYTEPS);

	return span_s * rate + div_u64(rest_ns * rate, NSEC_PER_SEC);
}
