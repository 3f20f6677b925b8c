// SPDX-License-Identifier: GPL-2.0
/* A subflow's model (model.h), from its TCP. It is brought up to date when an
 * acknowledgment or a transmission changed something, not at every decision.
 *
 *   queued = unsent + lost and not yet retransmitted      (bytes ahead of ours)
 *   window = (cwnd - in flight) * mss                     (can leave now)
 *   room   = window + ahead - queued,  ahead = max(2 mss, queue_ahead of pacing)
 *   idle   = room > 0 and the socket takes more memory
 *   OWD    = srtt - minRTT/2
 *   Th    += (cwnd * mss / srtt - Th) / 4     at most once per quarter of an RTT
 *
 * What srtt exceeds minRTT by is queueing, and it is in the direction of the data: OWD
 * is half of the propagation plus all of the queueing. Bytes in flight aren't part of
 * Bs: srtt holds the queueing they cause. In slow start Th is the sample as it is: the
 * window doubles each RTT, and an average would only tell what it used to be.
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
 * trip. Before the first sample path memory may know (memory.c).
 *
 * Called where look.c is; TCP's state is read without its lock.
 */
#include <linux/math64.h>

#include "pad.h"
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
/* Th: weight of a sample is 1/4, and how often there is one */
#define LEARN_TH_SHIFT		2
#define LEARN_TH_PER_RTT	4
/* A subflow is silent after the RTT, four times its variance, and at least this much:
 * a delayed acknowledgment (40 ms) and some.
 */
#define LEARN_SILENCE_MIN_US	(50 * USEC_PER_MSEC)
#define LEARN_ALARMS_MAX	3
/* A false alarm counts that long: a train's tunnels come at such intervals. */
#define LEARN_ALARM_AGE_S	30

/* a sample of what was delivered, in bytes times 10^6; @sparse: it was sent more slowly
 * than it arrived
 */
struct learn_sample {
	u64 scaled;
	u32 interval_us;
	u32 queue_us;
	bool sparse;
};

static u32 rate_of(u64 scaled, u32 span_us)
{
	return min_t(u64, div_u64(scaled, span_us), MODEL_RATE_UNKNOWN - 1);
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
static void learn_guess(struct pams_subflow *sub, const struct learn_sample *sample,
			u32 rtt_us)
{
	if (sub->learned_limit_byteps || !sample_is_queued(sample, rtt_us) ||
	    sample->queue_us > LEARN_DELAYED_US)
		return;
	sub->learned_proven_byteps = max(sub->learned_proven_byteps,
					 rate_of(sample->scaled, sample->queue_us));
	sub->guessed = true;
}

static void learn_capacity(struct pams_subflow *sub, const struct tcp_sock *tp,
			   const struct learn_sample *sample, u32 rtt_us)
{
	u32 carried = rate_of(sample->scaled, sample->interval_us);
	bool queued = sample_is_queued(sample, rtt_us);
	u32 now_us = READ_ONCE(tp->tcp_mstamp);
	bool doubtful;
	u32 bound;

	sub->learned_proven_byteps = max(sub->learned_proven_byteps, carried);
	if (sub->learned_limit_byteps && carried > sub->learned_limit_byteps) {
		/* without a queue it could carry more, so nothing is known */
		sub->learned_limit_byteps = queued ? carried : 0;
		sub->remembered = false;
		return;
	}
	/* one delayed acknowledgment looks like a queue; a second sample tells */
	doubtful = sample->queue_us > LEARN_DELAYED_US &&
		   (sub->idle || !sub->queued);
	sub->queued = queued;
	if (sub->idle || !queued) {
		sub->empty_us = now_us;
		sub->idle = false;
	}
	if (!queued || doubtful)
		return;

	/* was the path busy all the while? */
	bound = now_us - sub->empty_us > sample->interval_us && !sample->sparse ?
		carried : rate_of(sample->scaled, sample->queue_us);
	if (!sub->learned_limit_byteps || sub->remembered) {
		sub->learned_limit_byteps = max(bound, MODEL_RATE_MIN_BYTEPS);
		sub->remembered = false;
		return;
	}
	if ((now_us - sub->limit_us) * 4 < rtt_us + sample->queue_us)
		return;

	if (bound >= sub->learned_limit_byteps)
		return;

	sub->limit_us = now_us;
	sub->learned_limit_byteps = max(sub->learned_limit_byteps / 2 + bound / 2,
					MODEL_RATE_MIN_BYTEPS);
}

/* Is there something new to learn? Asked before it costs a division. */
static void learn_sample(struct pams_subflow *sub, const struct tcp_sock *tp,
			 u32 rtt_us)
{
	u32 packets = READ_ONCE(tp->rate_delivered);
	u32 sample_rtt_us = READ_ONCE(tp->rack.rtt_us);
	struct learn_sample sample;

	/* the last acknowledgment of all may have been delayed */
	if (!packets)
		return;

	sample.scaled = (u64)packets * tp->mss_cache * USEC_PER_SEC;
	sample.interval_us = max(READ_ONCE(tp->rate_interval_us), 1U);
	sample.queue_us = sample_rtt_us > rtt_us ? sample_rtt_us - rtt_us : 0;
	/* TCP's interval is the longer one of sending and of arriving: a round trip */
	sample.sparse = sample.interval_us > sample_rtt_us + sample_rtt_us / 2;
	if (!tp->packets_out)
		/* no less is sure, however late the last acknowledgment of all was */
		sub->learned_proven_byteps = max(sub->learned_proven_byteps,
						 rate_of(sample.scaled, sample.interval_us));
	else if (packets < LEARN_PACKETS_MIN)
		learn_guess(sub, &sample, rtt_us);
	else
		learn_capacity(sub, tp, &sample, rtt_us);

	sub->memory_byteps =
		pams_memory_learn(sub->memory, sub->memory_byteps,
				  sub->remembered ? 0 : sub->learned_limit_byteps,
				  sub->learned_proven_byteps, rtt_us);
}

/* Th, the throughput of MPBond: from cwnd / RTT, a division per sample. */
static void learn_th(struct pams_subflow *sub, const struct tcp_sock *tp, u32 cwnd,
		     u32 srtt_us)
{
	bool slow_start = cwnd < READ_ONCE(tp->snd_ssthresh);
	u32 now_us = READ_ONCE(tp->tcp_mstamp);
	u64 sample;

	if (sub->learned_th_byteps && !slow_start &&
	    (now_us - sub->th_us) * LEARN_TH_PER_RTT < srtt_us)
		return;

	sample = min_t(u64, (u64)cwnd * tp->mss_cache, PAD_QUEUED_MAX_BYTES);
	sample = clamp(div_u64(sample * USEC_PER_SEC, srtt_us),
		       PAD_RATE_MIN_BYTEPS, PAD_RATE_MAX_BYTEPS);
	if (sub->learned_th_byteps && !slow_start)
		sample = sub->learned_th_byteps +
			 ((s64)(sample - sub->learned_th_byteps) >> LEARN_TH_SHIFT);
	sub->learned_th_byteps = sample;
	sub->th_us = now_us;
}

/* TCP restarts from a smaller window after an idle time longer than the RTO,
 * but only once data is queued, hence after the decision: reckon with it.
 */
static u32 window_packets(const struct sock *ssk)
{
	const struct inet_connection_sock *icsk = inet_csk(ssk);
	const struct tcp_sock *tp = tcp_sk(ssk);
	u32 cwnd = READ_ONCE(tp->snd_cwnd);
	u32 rto = icsk->icsk_rto;
	u32 floor;
	s32 idle;

	if (tp->packets_out || icsk->icsk_ca_ops->cong_control ||
	    !READ_ONCE(sock_net(ssk)->ipv4.sysctl_tcp_slow_start_after_idle))
		return cwnd;

	idle = tcp_jiffies32 - tp->lsndtime;
	floor = min_t(u32, TCP_INIT_CWND, cwnd);
	while ((idle -= rto) > 0 && cwnd > floor)
		cwnd >>= 1;
	return max(cwnd, floor);
}

/* Until its own samples say better it gets an equal share, of those that are there.
 * Returns its share of what the path is sure to carry.
 */
static u32 learn_share(struct pams_subflow *sub)
{
	struct pams_memory_hint hint = pams_memory_hint(sub->memory, false);

	sub->learned_limit_byteps = hint.limit_byteps;
	sub->remembered = hint.limit_byteps > 0;
	return hint.proven_byteps;
}

/* What TCP lets leave per second, where it paces (BBR, and hosts with fq). */
static u32 pacing_byteps(const struct sock *ssk)
{
	if (READ_ONCE(ssk->sk_pacing_status) == SK_PACING_NONE)
		return MODEL_RATE_UNKNOWN;
	return clamp_t(unsigned long, READ_ONCE(ssk->sk_pacing_rate),
		       MODEL_RATE_MIN_BYTEPS, MODEL_RATE_UNKNOWN - 1);
}

static void model_set_path(struct pams_subflow *sub, u32 cwnd_bytes, u32 rtt_us,
			   u32 pacing)
{
	struct pams_model *model = &sub->model;
	u32 limit = sub->learned_limit_byteps ?: MODEL_RATE_UNKNOWN;

	model->proven_byteps = sub->learned_limit_byteps ?: sub->learned_proven_byteps;
	if (!sub->learned_limit_byteps && !sub->guessed)
		model->proven_byteps = max(model->proven_byteps, LEARN_UNKNOWN_BYTEPS);
	model->proven_byteps = min(model->proven_byteps, pacing);
	/* less than a window per round trip: a larger window changes nothing */
	if ((u64)pacing * rtt_us < (u64)cwnd_bytes * USEC_PER_SEC)
		limit = min(limit, pacing);
	model->guessed = !sub->learned_limit_byteps && sub->guessed;
	model->th_byteps = sub->learned_th_byteps;

	/* two divisions, where the last look hasn't made them already */
	if (model->cwnd_bytes == cwnd_bytes && model->rtt_us == rtt_us &&
	    model->limit_byteps == limit)
		return;
	model->cwnd_bytes = cwnd_bytes;
	model->rtt_us = rtt_us;
	model->limit_byteps = limit;
	model_set_window(model);
}

static void model_set_room(struct pams_model *model, const struct sock *ssk, u32 cwnd,
			   u32 ahead_us, u32 unsent)
{
	const struct tcp_sock *tp = tcp_sk(ssk);
	u64 mss = READ_ONCE(tp->mss_cache);
	u64 queued = model->backlog_bytes;
	u64 window = (cwnd - min(tcp_packets_in_flight(tp), cwnd)) * mss;
	/* 2^20 us are a second, and a pacing rate has at most 44 bits */
	u64 ahead = max_t(u64, 2 * mss,
			  (u64)READ_ONCE(ssk->sk_pacing_rate) * ahead_us >> 20);
	u64 room = window + ahead > queued ? window + ahead - queued : 0;

	model->room_bytes = min_t(u64, room, PAD_QUEUED_MAX_BYTES);
	model->idle = room && unsent < tcp_notsent_lowat(tp) &&
		      READ_ONCE(ssk->sk_wmem_queued) < READ_ONCE(ssk->sk_sndbuf);
}

/* Until something of a burst is acknowledged, its first packet and what TCP holds for
 * the last delivery bear the same time.
 */
static bool is_unanswered(const struct tcp_sock *tp)
{
	return !tp->packets_out ||
	       (u32)READ_ONCE(tp->first_tx_mstamp) == (u32)READ_ONCE(tp->delivered_mstamp);
}

/* Positive: until the first acknowledgment of a burst. Negative: one is overdue, by one
 * and a half round trips, and the time of two packets: the receiver may wait for a
 * second one before it acknowledges.
 */
static s32 due_us(const struct pams_subflow *sub, const struct tcp_sock *tp, bool tail,
		  u32 *now_us)
{
	const struct pams_model *model = &sub->model;
	u32 rtt_us = model->rtt_us;
	u32 since_us, limit_us;

	if (!tp->packets_out)
		return rtt_us;
	if (!model->unanswered && !tail)
		return 0;

	/* reading the clock costs as much as a subflow: once for all of them */
	if (!*now_us)
		*now_us = (u32)tcp_clock_us() ?: 1;
	since_us = *now_us - (u32)READ_ONCE(tp->delivered_mstamp);
	if (model->unanswered && since_us < rtt_us)
		return rtt_us - since_us;
	since_us = min(since_us, *now_us - sub->burst_us);
	limit_us = rtt_us + rtt_us / 2 +
		   div_u64(2ULL * tp->mss_cache * USEC_PER_SEC, model->rate_byteps);
	return tail && (s32)(since_us - limit_us) > 0 ? (s32)(limit_us - since_us) : 0;
}

/* It comes round after 18 hours: an alarm counts again for a moment then. */
static u16 now_s(void)
{
	return tcp_jiffies32 / HZ;
}

/* How many false alarms still count. */
static u8 alarms_left(const struct pams_subflow *sub)
{
	u16 age_s = now_s() - sub->alarm_s;
	u16 over = age_s / LEARN_ALARM_AGE_S;

	return sub->alarms > over ? sub->alarms - over : 0;
}

/* A silent subflow answered: had TCP not given up on anything, the alarm was false. */
static void learn_answer(struct pams_subflow *sub, const struct sock *ssk)
{
	if (READ_ONCE(tcp_sk(ssk)->rcv_tstamp) == sub->silent_tstamp)
		return;
	sub->silent = false;
	/* report.c does it for usable ones, and may not be asked once this one is */
	if (!sub->loss)
		sub->stopped = false;
	if (inet_csk(ssk)->icsk_ca_state < TCP_CA_Loss) {
		sub->alarms = min(alarms_left(sub) + 1, LEARN_ALARMS_MAX);
		sub->alarm_s = now_s();
	}
}

static noinline void learn_all(struct pams_subflow *sub, const struct sock *ssk,
			       u32 ahead_us, bool acknowledged)
{
	const struct tcp_sock *tp = tcp_sk(ssk);
	struct pams_model *model = &sub->model;
	u32 srtt_us = READ_ONCE(tp->srtt_us) >> 3;
	u32 mss = READ_ONCE(tp->mss_cache);
	u32 unsent = READ_ONCE(tp->write_seq) - READ_ONCE(tp->snd_nxt);
	u32 cwnd = window_packets(ssk);
	u32 rtt_us;

	/* a subflow that has no RTT sample yet gets TCP's timeout for one */
	model->srtt_us = srtt_us ?: jiffies_to_usecs(READ_ONCE(inet_csk(ssk)->icsk_rto));
	rtt_us = clamp(min(tcp_min_rtt(tp), model->srtt_us), LEARN_RTT_MIN_US,
		       MODEL_SPAN_MAX_US);
	model->owd_us = pams_owd_us(tp, model->srtt_us);

	if (acknowledged)
		learn_sample(sub, tp, rtt_us);
	if (sub->remembered)
		learn_share(sub);
	if (!tp->packets_out)
		sub->idle = true;
	learn_th(sub, tp, cwnd, max(model->srtt_us, 1U));
	model_set_path(sub, min_t(u64, (u64)cwnd * mss, U32_MAX), rtt_us,
		       pacing_byteps(ssk));

	model->flight_bytes = tcp_packets_in_flight(tp) * mss;
	model->backlog_bytes = unsent;
	if (tp->lost_out > tp->retrans_out)
		model->backlog_bytes += (tp->lost_out - tp->retrans_out) * mss;
	model->growing = cwnd < READ_ONCE(tp->snd_ssthresh) &&
			 model->rate_byteps < model->limit_byteps;
	model->outstanding = tp->packets_out || unsent;
	model->in_flight = tp->packets_out &&
			   inet_csk(ssk)->icsk_ca_state < TCP_CA_Loss;
	model->moving = model->outstanding &&
			inet_csk(ssk)->icsk_ca_state < TCP_CA_Loss;
	/* the receiver may have delayed its acknowledgment until now */
	if (model->alone && tp->packets_out > 1)
		sub->burst_us = (u32)READ_ONCE(tp->tcp_mstamp);
	model->alone = tp->packets_out == 1;
	model->untried = !tp->bytes_sent && !unsent;
	model->unanswered = is_unanswered(tp);
	model->stopped = false;
	model_set_room(model, ssk, cwnd, ahead_us, unsent);
	sub->pad_of_bytes = 0;

	again_forget(&sub->again, tp->snd_una);
}

/**
 * pams_learn - bring a subflow's model up to date
 * @sub:	the subflow
 * @ssk:	its TCP socket
 * @ahead_us:	how much more than its window it may be given, at its pacing rate
 * @tail:	nothing is left to be scheduled: look at what is overdue, too
 * @now_us:	low half of TCP's clock, 0 if it wasn't read yet; NULL if nobody asks for
 *		what is due
 */
void pams_learn(struct pams_subflow *sub, const struct sock *ssk, u32 ahead_us,
		bool tail, u32 *now_us)
{
	const struct tcp_sock *tp = tcp_sk(ssk);
	u32 write_seq = READ_ONCE(tp->write_seq);
	u32 delivered = READ_ONCE(tp->delivered);
	u32 packets = tp->packets_out;
	/* with nothing outstanding the window shrinks with time, jiffy by jiffy */
	u32 seen_us = packets ? (u32)READ_ONCE(tp->tcp_mstamp) : tcp_jiffies32;
	bool acknowledged = delivered != sub->seen_delivered;
	s32 due;

	if (unlikely(!sub->model.rtt_us))
		sub->learned_proven_byteps = learn_share(sub);
	if (unlikely(sub->silent))
		learn_answer(sub, ssk);

	/* What reports changed is put in anew each time. */
	if (acknowledged || seen_us != sub->seen_us ||
	    write_seq != sub->seen_write_seq || packets != sub->seen_packets ||
	    sub->reported || !sub->model.rtt_us) {
		learn_all(sub, ssk, ahead_us, acknowledged);
		sub->seen_us = seen_us;
		sub->seen_write_seq = write_seq;
		sub->seen_delivered = delivered;
		sub->seen_packets = packets;
	}
	if (!now_us)
		return;
	due = due_us(sub, tp, tail, now_us);
	if (due != sub->model.due_us)
		sub->pad_of_bytes = 0;
	sub->model.due_us = due;
}

/**
 * pams_silence_limit_us - after how long without an answer is a subflow silent?
 * @sub:	the subflow
 * @tp:		its TCP socket
 *
 * srtt + max(4 * RTT variance, 50 ms): TCP's own timeout is some 200 ms later at least.
 * Each false alarm doubles it, three times at most; half a minute without one halves it.
 */
u32 pams_silence_limit_us(const struct pams_subflow *sub, const struct tcp_sock *tp)
{
	/* srtt_us is scaled by 8, mdev_us by 4 */
	u32 limit_us = (tp->srtt_us >> 3) +
		       max_t(u32, tp->mdev_us, LEARN_SILENCE_MIN_US);

	return limit_us << alarms_left(sub);
}

/**
 * pams_answer_limit_us - how long ago may a subflow's last answer be at most?
 * @sub:	the subflow
 * @tp:		its TCP socket
 *
 * As long as it takes to be silent. But a stopped subflow, whose path is about to be
 * lost, has packets under way one behind the other: their acknowledgments come as
 * closely, and a pause of less than a round trip is the loss.
 */
u32 pams_answer_limit_us(const struct pams_subflow *sub, const struct tcp_sock *tp)
{
	u32 pause_us = max_t(u32, tp->mdev_us, LEARN_SILENCE_MIN_US);

	if (sub->stopped && sub->loss)
		return pause_us << alarms_left(sub);
	return pams_silence_limit_us(sub, tp);
}
