/* SPDX-License-Identifier: GPL-2.0 */
/* What a subflow delivers by when, from plain numbers; see flow.c. */
#ifndef _MPTCP_PAMS_FLOW_H
#define _MPTCP_PAMS_FLOW_H

#include <linux/limits.h>
#include <linux/types.h>

#define FLOW_RATE_MIN_BYTEPS	125U			/* 1 kbit/s */
#define FLOW_RATE_UNKNOWN	U32_MAX			/* or 34 Gbit/s */
#define FLOW_SPAN_MAX_US	60000000U		/* 60 s */

/**
 * struct pams_flow - a subflow as a fluid through a pipe
 * @rate_byteps:	what leaves per second while the window is full, at most
 *			@limit_byteps; never 0
 * @limit_byteps:	capacity of the path as it was measured, or
 *			FLOW_RATE_UNKNOWN
 * @proven_byteps:	what the path is sure to carry; never 0
 * @rtt_us:		round-trip time without a queue; never 0
 * @cwnd_bytes:		congestion window, which @rate_byteps and @window_bytes follow
 *			from, with @rtt_us and @limit_byteps
 * @window_bytes:	what may be on its way without queueing
 * @flight_bytes:	sent and not acknowledged
 * @backlog_bytes:	handed over and not sent, or lost and not sent again
 * @due_us:		until the first acknowledgment of a burst, before which nothing
 *			beyond the window leaves; 0 while they flow; negative: how long
 *			one is overdue
 * @alone:		one packet is outstanding, whose acknowledgment the receiver
 *			may delay
 * @growing:		the window doubles each round trip (slow start)
 * @guessed:		@limit_byteps is unknown, but the first few packets told
 *			@proven_byteps
 * @moving:		an acknowledgment will come, of what was sent or will be
 * @unanswered:		nothing of a burst is acknowledged yet, or nothing outstanding
 * @untried:		nothing was ever handed over
 */
struct pams_flow {
	u32 rate_byteps;
	u32 limit_byteps;
	u32 proven_byteps;
	u32 rtt_us;
	u32 cwnd_bytes;
	u32 window_bytes;
	u32 flight_bytes;
	u32 backlog_bytes;
	s32 due_us;
	u8 alone:1;
	u8 growing:1;
	u8 guessed:1;
	u8 moving:1;
	u8 unanswered:1;
	u8 untried:1;
};

static inline u32 flow_pause_us(const struct pams_flow *flow)
{
	return flow->due_us > 0 ? flow->due_us : 0;
}

static inline u32 flow_overdue_us(const struct pams_flow *flow)
{
	return flow->due_us < 0 ? -flow->due_us : 0;
}

void flow_trust_guess(struct pams_flow *flow);
u32 flow_arrival_us(const struct pams_flow *flow, u32 bytes);
u64 flow_carried_bytes(const struct pams_flow *flow, u64 span_us);

#endif /* _MPTCP_PAMS_FLOW_H */
