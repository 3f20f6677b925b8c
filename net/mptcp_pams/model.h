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

#define MODEL_RATE_MIN_BYTEPS	125U			/* 1 kbit/s */
#define MODEL_RATE_UNKNOWN	U32_MAX			/* or 34 Gbit/s */
#define MODEL_SPAN_MAX_US	60000000U		/* 60 s */
#define MODEL_HORIZON_NONE	U32_MAX

/**
 * struct pams_model - one subflow at the moment of a decision
 * @pad_ns:		how long until the next data would arrive, as the scheduler
 *			reckons: PAD, or with minfct model_arrival_us()
 * @th_byteps:		Th, smoothed cwnd/RTT, at most the pipe's rate
 * @id:			the connection's subflow_id
 * @srtt_us:		smoothed round-trip time
 * @owd_us:		one-way delay, queueing included
 * @rtt_us:		m, round-trip time without a queue; never 0
 * @rate_byteps:	R, rate at which data leaves while the window is full, at most
 *			@limit_byteps; never 0
 * @limit_byteps:	C, capacity of the path, or MODEL_RATE_UNKNOWN
 * @proven_byteps:	P, rate that the path is sure to carry; never 0
 * @cwnd_bytes:		congestion window
 * @window_bytes:	W, how much may be under way without queueing
 * @flight_bytes:	F, bytes sent and not acknowledged
 * @backlog_bytes:	B, bytes handed over and not sent, or lost and not sent again
 * @room_bytes:		how much may be handed over now
 * @once_bytes:		bytes held by the subflow or a helper and not sent again elsewhere
 * @due_us:		how long until the first acknowledgment of a burst, before which
 *			nothing beyond the window leaves; or 0
 * @horizon_us:		how long until the path is lost, less the guard; or
 *			MODEL_HORIZON_NONE
 * @pipe_byteps:	capacity of the pipe behind a helper; 0 if no pipe is known
 * @pipe_delay_us:	one-way delay of the pipe, if the helper ends TCP
 * @pipe_backlog_bytes:	bytes that wait before the pipe
 * @cost:		cost of using the path
 * @idle:		the subflow has room (MPBond: "idle"); otherwise it is busy
 * @in_flight:		data is sent and unacknowledged, and TCP isn't in RTO recovery, so
 *			an acknowledgment, and with it another decision, is expected
 * @outstanding:	data was handed over and isn't acknowledged, sent or not (the host's
 *			own queue may refuse it), whatever TCP's state
 * @stopped:		the path is lost, or will be before anything arrives, or is silent,
 *			or is spared for its cost; not idle then, unless every subflow is
 *			stopped
 * @split:		the helper ends TCP, so TCP's round trips end at the helper
 * @growing:		the window doubles each round trip (slow start)
 * @guessed:		@limit_byteps is unknown, and @proven_byteps is a guess from the
 *			first few packets
 * @moving:		an acknowledgment will come, for data that was sent or will be
 * @unanswered:		nothing of a burst is acknowledged yet, or nothing is outstanding
 * @rested:		nothing was sent for so long that what is known of the path may be wrong
 * @interface:		for report.c: mark of the interface that packets left through when
 *			reports were last looked up while the subflow had a route; 0: it never
 *			had one
 */
struct pams_model {
	u64 pad_ns;
	u64 th_byteps;
	u32 id;
	u32 srtt_us;
	u32 owd_us;
	u32 rtt_us;
	u32 rate_byteps;
	u32 limit_byteps;
	u32 proven_byteps;
	u32 cwnd_bytes;
	u32 window_bytes;
	u32 flight_bytes;
	u32 backlog_bytes;
	u32 room_bytes;
	u32 once_bytes;
	u32 due_us;
	u32 horizon_us;
	u32 pipe_byteps;
	u32 pipe_delay_us;
	u32 pipe_backlog_bytes;
	u8 cost;
	u16 idle:1;
	u16 in_flight:1;
	u16 outstanding:1;
	u16 stopped:1;
	u16 split:1;
	u16 growing:1;
	u16 guessed:1;
	u16 moving:1;
	u16 unanswered:1;
	u16 rested:1;
	u16 interface:13;
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
u64 model_pad_ns(const struct pams_model *model, u32 bytes);
u32 model_arrival_us(const struct pams_model *model, u32 bytes);
u64 model_carried_bytes(const struct pams_model *model, u64 span_us);

#endif /* _MPTCP_PAMS_MODEL_H */
