/* SPDX-License-Identifier: GPL-2.0 */
/* PAD, the pipe-aware delay, from plain numbers; see pad.c. */
#ifndef _MPTCP_PAMS_PAD_H
#define _MPTCP_PAMS_PAD_H

#include <linux/minmax.h>
#include <linux/time64.h>
#include <linux/types.h>

/* The ranges for which every result here is exact. Values outside are
 * clamped into them, so that no input whatever overflows.
 */
#define PAD_RATE_MIN_BYTEPS	125ULL			/* 1 kbit/s */
#define PAD_RATE_MAX_BYTEPS	12500000000ULL		/* 100 Gbit/s */
#define PAD_OWD_MAX_US		60000000U		/* 60 s */
#define PAD_QUEUED_MAX_BYTES	0x80000000U		/* 2^31 */

/**
 * struct pad_hop - one segment of the way to the receiver
 * @rate_byteps:		throughput Th of the segment, bytes per second
 * @owd_us:		one-way delay of the segment, microseconds
 * @queued_bytes:	bytes that have to leave the segment before the byte in question
 */
struct pad_hop {
	u64 rate_byteps;
	u32 owd_us;
	u32 queued_bytes;
};

u64 pad_drain_ns(const struct pad_hop *hop);

static inline u64 pad_owd_ns(const struct pad_hop *hop)
{
	return (u64)min(hop->owd_us, PAD_OWD_MAX_US) * NSEC_PER_USEC;
}

/**
 * pad_direct_ns - PAD of a subflow that ends at the receiver itself
 * @path: the PS-path; queued_bytes is Bs
 *
 * Return: nanoseconds until a byte handed over now arrives.
 */
static inline u64 pad_direct_ns(const struct pad_hop *path)
{
	return pad_owd_ns(path) + (path->queued_bytes ? pad_drain_ns(path) : 0);
}

u64 pad_helper_ns(const struct pad_hop *hs, const struct pad_hop *pipe);
u64 pad_carried_bytes(u64 span_ns, u64 rate_byteps);

#endif /* _MPTCP_PAMS_PAD_H */
