// SPDX-License-Identifier: GPL-2.0
/* What the model of flow.c needs to know of a subflow, from its TCP.
 *
 * Least of all is known of a path's capacity. TCP keeps, of the packet that was
 * acknowledged last, its round-trip time and the rate at which packets arrived
 * while it was on its way. With n packets delivered in that time, and m the
 * least round-trip time:
 *
 *   n / rtt        is what the path carried, so it carries no less
 *   n / (rtt - m)  is no less than the capacity: n packets at most stood in
 *                  front, and took rtt - m. Of a burst over an empty path it is
 *                  the capacity itself, known after the first window
 *
 * While a queue stood all the time, the path was busy, and the first is the
 * capacity. Halfway to a lower figure goes what was believed, four times a round
 * trip.
 *
 * Called where snapshot.c is; TCP's state is read without its lock.
 */
#include <linux/math64.h>

#include "pams.h"

/* fewer packets than these are no stream: a delayed acknowledgment makes them late */
#define LEARN_PACKETS_MIN	5
/* A receiver may acknowledge a single packet after 40 ms only: as long a queue of
 * one sample, or of a few packets, tells nothing.
 */
#define LEARN_DELAYED_US	30000U
/* Of a path that carried nothing yet 32 Mbit/s are believed: with less a near path is
 * left for a far one at the start, with more a window waits before a slow one. 12 and
 * 32 Mbit/s were tried.
 */
#define LEARN_UNKNOWN_BYTEPS	4000000U
/* a round trip on one host takes less; what follows divides by it */
#define LEARN_RTT_MIN_US	50U

/* a sample of what was delivered, in bytes times 10^6 */
struct learn_sample {
	u64 scaled;
	u32 interval_us;
	u32 queue_us;
};

static u32 rate_of(u64 scaled, u32 span_us)
{
	return min_t(u64, div_u64(scaled, span_us), FLOW_RATE_UNKNOWN - 1);
}

/* A queue stands where the round trip takes a quarter longer: half as much is
 * what delays vary by.
 */
static bool sample_is_queued(const struct learn_sample *sample, u32 rtt_us)
{
	return sample->queue_us > rtt_us / 4;
}

/* Of a few packets over a path of which nothing is known, what n / (rtt - m) says is
 * better than a constant, unless the last of them was acknowledged late.
 */
static void learn_guess(struct pams_memo *memo, const struct learn_sample *sample,
			u32 rtt_us)
{
	if (memo->limit_byteps || !sample_is_queued(sample, rtt_us) ||
	    sample->queue_us > LEARN_DELAYED_US)
		return;
	memo->proven_byteps = max(memo->proven_byteps,
				  rate_of(sample->scaled, sample->queue_us));
	memo->guessed = true;
}

static void learn_capacity(struct pams_memo *memo, const struct tcp_sock *tp,
			   const struct learn_sample *sample, u32 rtt_us)
{
	u32 carried = rate_of(sample->scaled, sample->interval_us);
	bool queued = sample_is_queued(sample, rtt_us);
	u32 now_us = READ_ONCE(tp->tcp_mstamp);
	bool doubtful;
	u32 bound;

	memo->proven_byteps = max(memo->proven_byteps, carried);
	if (memo->limit_byteps && carried > memo->limit_byteps) {
		/* without a queue it could carry more, so nothing is known */
		memo->limit_byteps = queued ? carried : 0;
		return;
	}
	/* one delayed acknowledgment looks like a queue; a second sample tells */
	doubtful = sample->queue_us > LEARN_DELAYED_US &&
		   (memo->idle || !memo->queued);
	memo->queued = queued;
	if (memo->idle || !queued) {
		memo->empty_us = now_us;
		memo->idle = false;
	}
	if (!queued || doubtful)
		return;

	/* was the path busy all the while? */
	bound = now_us - memo->empty_us > sample->interval_us ?
		carried : rate_of(sample->scaled, sample->queue_us);
	if (!memo->limit_byteps) {
		memo->limit_byteps = max(bound, FLOW_RATE_MIN_BYTEPS);
		return;
	}
	if ((now_us - memo->limit_stamp_us) * 4 < rtt_us + sample->queue_us)
		return;

	if (bound >= memo->limit_byteps)
		return;

	memo->limit_stamp_us = now_us;
	memo->limit_byteps = max(memo->limit_byteps / 2 + bound / 2,
				 FLOW_RATE_MIN_BYTEPS);
}

/* Is there something new to learn? Asked before it costs a division. */
static void learn_look(struct pams_memo *memo, const struct tcp_sock *tp,
		       u32 rtt_us)
{
	u32 delivered = READ_ONCE(tp->delivered);
	u32 packets = READ_ONCE(tp->rate_delivered);
	u32 sample_rtt_us = READ_ONCE(tp->rack.rtt_us);
	struct learn_sample sample;

	if (!tp->packets_out)
		memo->idle = true;	/* the time would cost more than the rest */

	/* the last acknowledgment of all may have been delayed */
	if (memo->limit_delivered == delivered || !tp->packets_out || !packets)
		return;

	memo->limit_delivered = delivered;
	sample.scaled = (u64)packets * tp->mss_cache * USEC_PER_SEC;
	sample.interval_us = max(READ_ONCE(tp->rate_interval_us), 1U);
	sample.queue_us = sample_rtt_us > rtt_us ? sample_rtt_us - rtt_us : 0;
	if (packets < LEARN_PACKETS_MIN)
		learn_guess(memo, &sample, rtt_us);
	else
		learn_capacity(memo, tp, &sample, rtt_us);
}

/* Reading the clock costs as much as a subflow: once per decision, if at all. */
static u32 clock_us(u32 *now_us)
{
	if (!*now_us)
		*now_us = (u32)tcp_clock_us() ?: 1;
	return *now_us;
}

/* One and a half round trips, and the time of two packets: the receiver may wait
 * for a second one before it acknowledges.
 */
static u32 overdue_us(const struct pams_flow *flow, const struct tcp_sock *tp,
		      u32 *now_us)
{
	u32 due_us = flow->rtt_us + flow->rtt_us / 2 +
		     div_u64(2ULL * tp->mss_cache * USEC_PER_SEC,
			     flow->rate_byteps);
	u32 since_us = clock_us(now_us) - (u32)READ_ONCE(tp->delivered_mstamp);

	return (s32)(since_us - due_us) > 0 ? since_us - due_us : 0;
}

/* Until something of a burst is acknowledged, its first packet and what TCP holds for
 * the last delivery bear the same time.
 */
static bool is_unanswered(const struct tcp_sock *tp)
{
	return !tp->packets_out ||
	       READ_ONCE(tp->first_tx_mstamp) == READ_ONCE(tp->delivered_mstamp);
}

static u32 pause_us(const struct tcp_sock *tp, u32 rtt_us, u32 *now_us)
{
	u32 since_us;

	if (!tp->packets_out)
		return rtt_us;
	since_us = clock_us(now_us) - (u32)READ_ONCE(tp->delivered_mstamp);
	return since_us < rtt_us ? rtt_us - since_us : 0;
}

/* Two divisions, where the last decision hasn't made them already. */
static void learn_window(struct pams_flow *flow, u32 cwnd_bytes, u32 rtt_us,
			 u32 limit_byteps)
{
	u64 scaled = (u64)cwnd_bytes * USEC_PER_SEC;

	if (flow->cwnd_bytes == cwnd_bytes && flow->rtt_us == rtt_us &&
	    flow->limit_byteps == limit_byteps)
		return;

	flow->cwnd_bytes = cwnd_bytes;
	flow->rtt_us = rtt_us;
	flow->limit_byteps = limit_byteps;
	if (scaled < (u64)limit_byteps * rtt_us) {
		flow->window_bytes = cwnd_bytes;
		flow->rate_byteps = max(rate_of(scaled, rtt_us),
					FLOW_RATE_MIN_BYTEPS);
	} else {
		flow->window_bytes = min_t(u64, U32_MAX,
					   div_u64((u64)limit_byteps * rtt_us,
						   USEC_PER_SEC));
		flow->rate_byteps = limit_byteps;
	}
}

/**
 * pams_flow_learn - a subflow as flow.c sees it
 * @flow:	filled in, over what it was at the last decision, whosever
 * @memo:	what is remembered of the subflow
 * @id:		subflow_id of the subflow
 * @ssk:	its socket
 * @cwnd:	congestion window in packets, as it will be when data is sent
 * @tail:	nothing is left to be scheduled: look at what is overdue, too
 * @now_us:	low half of TCP's clock; 0 if it wasn't read yet
 */
void pams_flow_learn(struct pams_flow *flow, struct pams_memo *memo, u32 id,
		     const struct sock *ssk, u32 cwnd, bool tail, u32 *now_us)
{
	const struct tcp_sock *tp = tcp_sk(ssk);
	u32 srtt_us = READ_ONCE(tp->srtt_us) >> 3;
	u32 rtt_us = srtt_us ? min(tcp_min_rtt(tp), srtt_us) :
			       jiffies_to_usecs(inet_csk(ssk)->icsk_rto);
	u32 mss = READ_ONCE(tp->mss_cache);
	u32 unsent = READ_ONCE(tp->write_seq) - READ_ONCE(tp->snd_nxt);
	u32 limit;

	if (unlikely(memo->id != id))
		pams_rate_learn(memo, id, tp, cwnd);	/* makes it new */
	rtt_us = clamp(rtt_us, LEARN_RTT_MIN_US, FLOW_SPAN_MAX_US);
	learn_look(memo, tp, rtt_us);
	limit = memo->limit_byteps ?: FLOW_RATE_UNKNOWN;

	learn_window(flow, min_t(u64, (u64)cwnd * mss, U32_MAX), rtt_us, limit);
	flow->proven_byteps = memo->limit_byteps ?: memo->proven_byteps;
	if (!memo->limit_byteps && !memo->guessed)
		flow->proven_byteps = max(flow->proven_byteps,
					  LEARN_UNKNOWN_BYTEPS);
	flow->flight_bytes = tcp_packets_in_flight(tp) * mss;
	flow->backlog_bytes = unsent;
	if (tp->lost_out > tp->retrans_out)
		flow->backlog_bytes += (tp->lost_out - tp->retrans_out) * mss;
	flow->growing = cwnd < READ_ONCE(tp->snd_ssthresh) &&
			flow->rate_byteps < limit;
	flow->moving = inet_csk(ssk)->icsk_ca_state < TCP_CA_Loss &&
		       (tp->packets_out || unsent);
	flow->guessed = !memo->limit_byteps && memo->guessed;
	flow->alone = tp->packets_out == 1;
	flow->untried = !tp->bytes_sent && !unsent;
	flow->unanswered = is_unanswered(tp);
	flow->due_us = flow->unanswered ? pause_us(tp, rtt_us, now_us) : 0;
	if (tail && tp->packets_out && !flow->due_us)
		flow->due_us = -(s32)overdue_us(flow, tp, now_us);
}
