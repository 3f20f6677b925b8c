/* SPDX-License-Identifier: GPL-2.0 */
/* One subflow in plain numbers: what is known of its path, how much data it holds, and
 * when data that is handed over now arrives. learn.c, report.c and split.c fill a model in,
 * the schedulers (sched_*.c) choose among models; see model.c for the equations.
 */
#ifndef _MPTCP_PAMS_MODEL_H
#define _MPTCP_PAMS_MODEL_H

#include <linux/limits.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/time64.h>
#include <linux/types.h>

#include "view.h"

#define MODEL_RATE_MIN_BYTEPS	125U			/* 1 kbit/s */
#define MODEL_RATE_UNKNOWN	U32_MAX			/* or 34 Gbit/s */
#define MODEL_SPAN_MAX_US	60000000U		/* 60 s */
#define MODEL_HORIZON_NONE	U32_MAX
/* A bit more than an acknowledgment may be delayed (40 ms): before, its absence says nothing. */
#define MODEL_ACK_US		50000U
/* Rates are measured over no less time: delayed acknowledgments come in pairs. */
#define MODEL_SAMPLE_US		20000U
/* PAD is exact for rates and amounts up to these, and for delays up to MODEL_SPAN_MAX_US. Values
 * outside are clamped into the ranges, so that no input whatever overflows.
 */
#define PAD_RATE_MAX_BYTEPS	12500000000ULL		/* 100 Gbit/s */
#define PAD_QUEUED_MAX_BYTES	0x80000000U		/* 2^31 */

/**
 * struct pad_hop - one segment of the way to the receiver
 * @rate_byteps:	throughput Th of the segment, bytes per second
 * @owd_us:		one-way delay of the segment, microseconds
 * @queued_bytes:	bytes that have to leave the segment before the byte in question
 */
struct pad_hop {
	u64 rate_byteps;
	u32 owd_us;
	u32 queued_bytes;
};

/* How long ago @then_us was; both are low halves of TCP's clock. 0 if @then_us is still to come:
 * pacing gives packets such times, and an acknowledgment may be processed after @now_us was read.
 */
static inline u32 model_since_us(u32 now_us, u32 then_us)
{
	return max((s32)(now_us - then_us), 0);
}

/* The average of a known rate and of @bytes that were carried in @span_us. The known rate weighs
 * as much as @memory_us, the new one as its @span_us; both are at most MODEL_SPAN_MAX_US.
 */
static inline u32 model_rate_follow(u32 rate_byteps, u32 memory_us, u32 bytes, u32 span_us)
{
	u64 scaled = (u64)rate_byteps * memory_us + (u64)bytes * USEC_PER_SEC;

	return clamp_t(u64, div_u64(scaled, memory_us + span_us), MODEL_RATE_MIN_BYTEPS,
		     MODEL_RATE_UNKNOWN - 1);
}

/* Stop a subflow whose path is lost, silent or spared: it is given nothing, and nothing waits
 * for it.
 */
static inline void model_stop(struct pams_model *model)
{
	model->stopped = true;
	model->idle = false;
	model->in_flight = false;
	model->moving = false;
}

void model_set_window(struct pams_model *model);
void model_trust_guess(struct pams_model *model);
u64 pad_direct_ns(const struct pad_hop *path);
u64 pad_helper_ns(const struct pad_hop *hs, const struct pad_hop *pipe);
u64 pad_carried_bytes(u64 span_ns, u64 rate_byteps);
u64 model_pad_ns(const struct pams_model *model, u32 bytes);
u32 model_arrival_us(const struct pams_model *model, u32 bytes);
u32 model_held_us(const struct pams_model *model, u32 bytes);
u64 model_carried_bytes(const struct pams_model *model, u64 span_us);

#endif /* _MPTCP_PAMS_MODEL_H */
