// SPDX-License-Identifier: GPL-2.0
/* Fills in a subflow's model (model.h) from its TCP: when an acknowledgment or a transmission
 * changed TCP's state, not at every decision.
 *
 *   queued = unsent + lost and not yet retransmitted      (bytes ahead of new data)
 *   window = (cwnd - in flight) * mss                     (can be sent now)
 *   room   = window + ahead - queued,  ahead = max(2 mss, queue_ahead of pacing)
 *   idle   = room > 0 and the socket takes more memory
 *   OWD    = srtt - minRTT/2
 *   Th    += (cwnd * mss / srtt - Th) / 4     at most once per quarter of an RTT
 *
 * srtt - minRTT is queueing, all of it in the direction of the data: OWD is half of the
 * propagation plus all of the queueing. Bytes in flight aren't part of Bs: srtt holds the
 * queueing they cause. In slow start Th is the latest sample: the window doubles each RTT,
 * and an average would lag behind it.
 *
 * TCP doesn't know a path's capacity. It keeps, for the packet that was acknowledged last,
 * that packet's round-trip time and the rate at which packets were delivered while it was on
 * its way. With n packets delivered in that time, and m the least round-trip time:
 *
 *   n / rtt        was carried, so the capacity is no less
 *   n / (rtt - m)  is no less than the capacity: at most n packets stood in
 *                  front, and took rtt - m to leave. For a burst over an empty
 *                  path it is the capacity itself, known after the first window
 *
 * A sample below the known capacity moves it halfway down. While a queue lasts from one
 * acknowledgment to the next the path is busy, and the bytes acknowledged between the two show
 * the capacity itself, more recently than a sample, which spans a round trip. learn_busy()
 * averages these rates over about the last m.
 *
 * Called in the context of look.c; TCP's state is read without the subflow's lock.
 */
#include <linux/math64.h>

#include "pams.h"
#include "peek.h"

/* with fewer packets a delayed acknowledgment distorts a sample too much */
#define LEARN_PACKETS_MIN	5
/* A receiver may delay the acknowledgment of a single packet by 40 ms. So more queueing
 * than this, with a few packets, tells nothing.
 */
#define LEARN_DELAYED_US	30000U
/* A path that has carried nothing yet is assumed to carry 32 Mbit/s. If less were assumed, data
 * would go to a far path at the start though a near one is better; if more, a whole window
 * would wait before a slow path. 12 and 32 Mbit/s were tried.
 */
#define LEARN_UNKNOWN_BYTEPS	4000000U
/* the model divides by round-trip times, so shorter ones, as within a host, are raised to this */
#define LEARN_RTT_MIN_US	50U
/* Th: a sample's weight is 2^-2, and there are at most 2^2 samples per RTT */
#define LEARN_TH_SHIFT		2
/* Each false alarm doubles the time after which a subflow is silent; eight times as much is longer
 * than TCP's own timeout.
 */
#define LEARN_ALARMS_MAX	3
/* After this time without data everything that is known of a path may be wrong, and only data can
 * show it. With 10 s paths that were slow for a while come back 2 s later.
 */
#define LEARN_RESTED_S		2
/* A false alarm is forgotten after this time: a train's tunnels come at such intervals. */
#define LEARN_ALARM_AGE_S	30

/* A sample of TCP's delivery rate: @scaled / 10^6 bytes were acknowledged within @rtt_us, the
 * last packet's round trip, of which that packet spent @queue_us in queues. @interval_us is TCP's
 * interval, the longer one of sending and of delivering these bytes, and @carried_byteps the
 * rate in that interval. @new_bytes were acknowledged since the last look that saw an
 * acknowledgment, within @new_us.
 */
struct learn_sample {
	u64 scaled;
	u32 interval_us;
	u32 carried_byteps;
	u32 rtt_us;
	u32 queue_us;
	u32 new_bytes;
	u32 new_us;
};

static u32 rate_of(u64 scaled, u32 span_us)
{
	return min_t(u64, div_u64(scaled, span_us), MODEL_RATE_UNKNOWN - 1);
}

/* Did the sample's last packet wait in a queue? If so its round trip took over a quarter longer
 * than the least one; delays without a queue vary by half as much.
 */
static bool sample_is_queued(const struct learn_sample *sample, u32 rtt_us)
{
	return sample->queue_us > rtt_us / 4;
}

/* Guess the capacity of an unknown path from a few packets, as n / (rtt - m). Unless the last
 * acknowledgment was delayed, that is better than LEARN_UNKNOWN_BYTEPS.
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

/* Raise the capacity if the path has carried more. A delayed acknowledgment can only make the
 * rate seem lower, so @few packets are enough. Returns true if the capacity was raised.
 */
static bool learn_carried(struct pams_subflow *sub, const struct learn_sample *sample,
			  u32 rtt_us, bool few)
{
	u32 carried = sample->carried_byteps;

	sub->learned_proven_byteps = max(sub->learned_proven_byteps, carried);
	/* the path is busy: learn_busy() measures it more recently than a round trip does */
	if (!few && sub->queued && !sub->idle && sample_is_queued(sample, rtt_us))
		return false;
	if (!sub->learned_limit_byteps || carried <= sub->learned_limit_byteps)
		return false;
	/* without a queue the path could carry more, twice as much in the next round trip */
	sub->learned_limit_byteps = few || sample_is_queued(sample, rtt_us) ? carried :
				    min(2ULL * carried, MODEL_RATE_UNKNOWN - 1);
	return true;
}

/* Average the capacity of a busy path, with what the latest acknowledgments say it has carried.
 * Each rate counts by the time that it spans, so rates older than a round trip hardly count.
 */
static void learn_busy(struct pams_subflow *sub, const struct learn_sample *sample, u32 rtt_us)
{
	sub->learned_limit_byteps = model_rate_follow(sub->learned_limit_byteps,
						      max(rtt_us, MODEL_SAMPLE_US),
						      sample->new_bytes, sample->new_us);
}

static void learn_capacity(struct pams_subflow *sub, const struct tcp_sock *tp,
			   const struct learn_sample *sample, u32 rtt_us)
{
	bool queued = sample_is_queued(sample, rtt_us);
	u32 now_us = READ_ONCE(tp->tcp_mstamp);
	u32 bound, span_us;
	bool busy = queued && sub->queued && !sub->idle;

	sub->queued = queued;
	if (sub->idle || !queued) {
		sub->empty_us = now_us;
		sub->idle = false;
	}
	if (!queued)
		return;

	/* n / rtt if the path was busy during the whole sample, else n / (rtt - m). After a loss
	 * TCP sends more slowly than the queue drains, so n / TCP's interval would be too low.
	 */
	span_us = now_us - sub->empty_us > sample->interval_us ?
		  min(sample->interval_us, sample->rtt_us) : sample->queue_us;
	bound = span_us == sample->interval_us ? sample->carried_byteps :
						 rate_of(sample->scaled, span_us);
	if (!sub->learned_limit_byteps) {
		sub->learned_limit_byteps = max(bound, MODEL_RATE_MIN_BYTEPS);
		return;
	}
	if (busy)
		learn_busy(sub, sample, rtt_us);
	else if (bound < sub->learned_limit_byteps)
		sub->learned_limit_byteps = max(sub->learned_limit_byteps / 2 + bound / 2,
						MODEL_RATE_MIN_BYTEPS);
}

/* Learn from the delivery rate that TCP keeps, if it has one. */
static void learn_sample(struct pams_subflow *sub, const struct tcp_sock *tp,
			 u32 packets_out, u32 rtt_us)
{
	u32 packets = READ_ONCE(tp->rate_delivered);
	bool few = !packets_out || packets < LEARN_PACKETS_MIN;
	struct learn_sample sample;

	/* TCP has no valid sample */
	if (!packets)
		return;

	sample.scaled = (u64)packets * READ_ONCE(tp->mss_cache) * USEC_PER_SEC;
	sample.interval_us = max(READ_ONCE(tp->rate_interval_us), 1U);
	sample.carried_byteps = rate_of(sample.scaled, sample.interval_us);
	sample.rtt_us = max(READ_ONCE(tp->rack.rtt_us), 1U);
	sample.queue_us = sample.rtt_us > rtt_us ? sample.rtt_us - rtt_us : 0;
	sample.new_bytes = (READ_ONCE(tp->delivered) - sub->seen_delivered) *
			   READ_ONCE(tp->mss_cache);
	sample.new_us = min((u32)READ_ONCE(tp->delivered_mstamp) - sub->acked_us,
			    MODEL_SPAN_MAX_US);
	sub->acked_us = READ_ONCE(tp->delivered_mstamp);
	if (!learn_carried(sub, &sample, rtt_us, few) && packets_out) {
		if (few)
			learn_guess(sub, &sample, rtt_us);
		else
			learn_capacity(sub, tp, &sample, rtt_us);
	}
}

/* Update Th, MPBond's throughput, from cwnd / RTT; one division per sample. */
static void learn_th(struct pams_subflow *sub, const struct tcp_sock *tp, u32 cwnd,
		     u32 srtt_us)
{
	bool slow_start = cwnd < READ_ONCE(tp->snd_ssthresh);
	u32 now_us = READ_ONCE(tp->tcp_mstamp);
	u64 sample;

	if (sub->learned_th_byteps && !slow_start &&
	    (now_us - sub->th_us) << LEARN_TH_SHIFT < srtt_us)
		return;

	sample = min_t(u64, (u64)cwnd * READ_ONCE(tp->mss_cache),
		       PAD_QUEUED_MAX_BYTES);
	sample = clamp_t(u64, div_u64(sample * USEC_PER_SEC, srtt_us),
			 MODEL_RATE_MIN_BYTEPS, MODEL_RATE_UNKNOWN - 1);
	if (sub->learned_th_byteps && !slow_start)
		sample = sub->learned_th_byteps +
			 ((s64)(sample - sub->learned_th_byteps) >> LEARN_TH_SHIFT);
	sub->learned_th_byteps = sample;
	sub->th_us = now_us;
}

/* The initial congestion window: what the route says, or TCP's own. */
static u32 initial_packets(const struct sock *ssk)
{
	const struct dst_entry *dst;
	u32 packets;

	rcu_read_lock();
	dst = rcu_dereference(ssk->sk_dst_cache);
	packets = (dst ? dst_metric(dst, RTAX_INITCWND) : 0) ?: TCP_INIT_CWND;
	rcu_read_unlock();
	return min(packets, READ_ONCE(tcp_sk(ssk)->snd_cwnd_clamp));
}

/* Does the subflow's congestion control choose rate and window itself? Read under RCU, since it
 * may be replaced and its module unloaded meanwhile.
 */
static bool paces_itself(const struct sock *ssk)
{
	bool itself;

	rcu_read_lock();
	itself = READ_ONCE(inet_csk(ssk)->icsk_ca_ops)->cong_control;
	rcu_read_unlock();
	return itself;
}

/* The congestion window that the next data meets. After an idle time longer than the RTO
 * TCP makes it smaller, but only once data is queued, which is after the decision.
 */
static u32 window_packets(const struct sock *ssk, u32 packets_out)
{
	const struct tcp_sock *tp = tcp_sk(ssk);
	u32 cwnd = READ_ONCE(tp->snd_cwnd);
	u32 rto = READ_ONCE(inet_csk(ssk)->icsk_rto);
	u32 floor;
	s32 idle;

	if (packets_out || paces_itself(ssk) ||
	    !READ_ONCE(sock_net(ssk)->ipv4.sysctl_tcp_slow_start_after_idle))
		return cwnd;

	idle = tcp_jiffies32 - READ_ONCE(tp->lsndtime);
	if (idle <= (s32)rto)
		return cwnd;
	floor = min(initial_packets(ssk), cwnd);
	while ((idle -= rto) > 0 && cwnd > floor)
		cwnd >>= 1;
	return max(cwnd, floor);
}

/* TCP's pacing rate, where it paces (BBR, and hosts with fq). */
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
	u32 limit = sub->learned_limit_byteps;

	model->guessed = !limit && sub->guessed;
	model->proven_byteps = limit ?: sub->learned_proven_byteps;
	if (!limit && !sub->guessed)
		model->proven_byteps = max(model->proven_byteps, LEARN_UNKNOWN_BYTEPS);
	limit = limit ?: MODEL_RATE_UNKNOWN;
	model->proven_byteps = min(model->proven_byteps, pacing);
	/* if pacing allows less than a window per round trip, it is the limit */
	if ((u64)pacing * rtt_us < (u64)cwnd_bytes * USEC_PER_SEC)
		limit = min(limit, pacing);
	model->th_byteps = sub->learned_th_byteps;

	/* if nothing has changed since the last look this saves two divisions */
	if (model->cwnd_bytes == cwnd_bytes && model->rtt_us == rtt_us &&
	    model->limit_byteps == limit)
		return;
	model->cwnd_bytes = cwnd_bytes;
	model->rtt_us = rtt_us;
	model->limit_byteps = limit;
	model_set_window(model);
}

static void model_set_room(struct pams_model *model, const struct sock *ssk, u32 cwnd,
			   u32 in_flight, u32 ahead_us, u32 unsent)
{
	const struct tcp_sock *tp = tcp_sk(ssk);
	u64 mss = READ_ONCE(tp->mss_cache);
	u64 queued = model->backlog_bytes;
	u64 window = (cwnd - min(in_flight, cwnd)) * mss;
	/* 2^20 us stand for a second; the product fits, as a pacing rate has up to 44 bits */
	u64 ahead = max_t(u64, 2 * mss,
			  (u64)READ_ONCE(ssk->sk_pacing_rate) * ahead_us >> 20);
	u64 room = window + ahead > queued ? window + ahead - queued : 0;

	model->room_bytes = min_t(u64, room, PAD_QUEUED_MAX_BYTES);
	model->idle = room && unsent < tcp_notsent_lowat(tp) &&
		      READ_ONCE(ssk->sk_wmem_queued) < READ_ONCE(ssk->sk_sndbuf);
}

/* Is nothing of a burst acknowledged yet, or nothing outstanding? When TCP sends after an
 * idle time it sets both times to the same value; an acknowledgment makes them differ.
 */
static bool is_unanswered(const struct tcp_sock *tp, u32 packets_out)
{
	return !packets_out ||
	       (u32)READ_ONCE(tp->first_tx_mstamp) == (u32)READ_ONCE(tp->delivered_mstamp);
}

/* Was nothing sent for long? */
static bool is_rested(const struct tcp_sock *tp)
{
	s32 idle = tcp_jiffies32 - READ_ONCE(tp->lsndtime);

	return idle > LEARN_RESTED_S * HZ;
}

/* The model's due_us: how long until the first acknowledgment of a burst. */
static u32 due_us(const struct pams_model *model, const struct tcp_sock *tp,
		  u32 packets_out, u32 *now_us)
{
	u32 since_us;

	if (!packets_out)
		return model->rtt_us;
	if (!model->unanswered)
		return 0;

	/* reading the clock costs as much as looking at a subflow: read it once for all */
	if (!*now_us)
		*now_us = (u32)tcp_clock_us() ?: 1;
	since_us = model_since_us(*now_us, READ_ONCE(tp->delivered_mstamp));
	return model->rtt_us - min(since_us, model->rtt_us);
}

/* TCP's clock in seconds, low half. It wraps after 18 hours; an old false alarm then counts
 * again for a moment.
 */
static u16 now_s(void)
{
	return tcp_jiffies32 / HZ;
}

/* How many of the subflow's false alarms are not forgotten yet. */
static u8 alarms_left(const struct pams_subflow *sub)
{
	u16 age_s = now_s() - sub->alarm_s;
	u16 over = age_s / LEARN_ALARM_AGE_S;

	return sub->alarms > over ? sub->alarms - over : 0;
}

/**
 * pams_learn_answer - end a subflow's silence if it has answered
 * @sub:	its state, silent
 * @ssk:	its TCP socket
 *
 * The silence was a false alarm if TCP's retransmission timer had not fired. If the subflow
 * could send nothing, that timer shows nothing, so no false alarm is counted.
 */
void pams_learn_answer(struct pams_subflow *sub, const struct sock *ssk)
{
	if (READ_ONCE(tcp_sk(ssk)->rcv_tstamp) == sub->silent_tstamp || peek_is_cut_off(ssk))
		return;
	sub->silent = false;
	pams_learn_anew(sub);
	/* report.c isn't called if there are no reports, so it can't clear @stopped then */
	if (!sub->loss)
		sub->stopped = false;
	if (!sub->cut_off && !peek_in_loss(ssk)) {
		sub->alarms = min(alarms_left(sub) + 1, LEARN_ALARMS_MAX);
		sub->alarm_s = now_s();
	}
}

/* Packets that TCP considers lost and hasn't sent again. */
static u32 lost_packets(const struct tcp_sock *tp)
{
	u32 lost = READ_ONCE(tp->lost_out), again = READ_ONCE(tp->retrans_out);

	return lost > again ? lost - again : 0;
}

/* Is something lost, whether it was sent again or not, and not acknowledged yet? */
static bool repeats(const struct tcp_sock *tp)
{
	return READ_ONCE(tp->lost_out) || READ_ONCE(tp->retrans_out);
}

static noinline void learn_all(struct pams_subflow *sub, const struct sock *ssk,
			       u32 packets_out, u32 ahead_us, bool acknowledged)
{
	const struct tcp_sock *tp = tcp_sk(ssk);
	struct pams_model *model = &sub->model;
	u32 srtt_us = READ_ONCE(tp->srtt_us);	/* scaled by 8 */
	u32 mss = READ_ONCE(tp->mss_cache);
	u32 unsent = READ_ONCE(tp->write_seq) - READ_ONCE(tp->snd_nxt);
	u32 in_flight = peek_in_flight(tp);
	u32 cwnd = window_packets(ssk, packets_out);
	bool loss = peek_in_loss(ssk);
	u32 rtt_us;

	/* without an RTT sample TCP's timeout is used; a sample may be shorter than 1 us */
	model->srtt_us = srtt_us ? max(srtt_us >> 3, 1U) :
				   jiffies_to_usecs(READ_ONCE(inet_csk(ssk)->icsk_rto));
	rtt_us = clamp(min(peek_min_rtt_us(tp), model->srtt_us), LEARN_RTT_MIN_US,
		       MODEL_SPAN_MAX_US);
	model->owd_us = peek_owd_us(tp, model->srtt_us);

	if (acknowledged)
		learn_sample(sub, tp, packets_out, rtt_us);
	if (!packets_out)
		sub->idle = true;
	learn_th(sub, tp, cwnd, max(model->srtt_us, 1U));
	model_set_path(sub, min_t(u64, (u64)cwnd * mss, U32_MAX), rtt_us,
		       pacing_byteps(ssk));

	model->flight_bytes = in_flight * mss;
	model->backlog_bytes = unsent + lost_packets(tp) * mss;
	model->growing = cwnd < READ_ONCE(tp->snd_ssthresh) &&
			 model->rate_byteps < model->limit_byteps;
	model->outstanding = packets_out || unsent;
	model->in_flight = packets_out && !loss;
	model->moving = model->outstanding && !loss;
	model->repeats = repeats(tp);
	model->unanswered = is_unanswered(tp, packets_out);
	model->rested = !model->outstanding && is_rested(tp);
	/* what report.c and split.c put in at the last look, this look may not have */
	model->pipe_byteps = 0;
	model->pipe_delay_us = 0;
	model->pipe_backlog_bytes = 0;
	model->split = false;
	model->stopped = false;
	model_set_room(model, ssk, cwnd, in_flight, ahead_us, unsent);
	sub->pad_of_bytes = 0;

	again_forget(&sub->again, READ_ONCE(tp->snd_una));
}

/**
 * pams_learn - update a subflow's model
 * @sub:	the subflow
 * @ssk:	its TCP socket
 * @ahead_us:	how much more than its window the subflow may be given, as time at its
 *		pacing rate
 * @now_us:	low half of TCP's clock; 0: not read yet, set once it is read; NULL: the
 *		scheduler doesn't use @due_us
 */
void pams_learn(struct pams_subflow *sub, const struct sock *ssk, u32 ahead_us,
		u32 *now_us)
{
	const struct tcp_sock *tp = tcp_sk(ssk);
	u32 write_seq = READ_ONCE(tp->write_seq);
	u32 delivered = READ_ONCE(tp->delivered);
	u32 packets = READ_ONCE(tp->packets_out);
	/* with nothing outstanding the window shrinks as time passes (window_packets()) */
	u32 seen_us = packets ? (u32)READ_ONCE(tp->tcp_mstamp) : tcp_jiffies32;
	bool acknowledged = delivered != sub->seen_delivered;
	u32 due;

	if (unlikely(sub->silent))
		pams_learn_answer(sub, ssk);

	/* A report changes the model afterwards, so the model is then computed at each look. */
	if (acknowledged || seen_us != sub->seen_us ||
	    write_seq != sub->seen_write_seq || packets != sub->seen_packets ||
	    sub->reported || !sub->model.rtt_us) {
		learn_all(sub, ssk, packets, ahead_us, acknowledged);
		sub->seen_us = seen_us;
		sub->seen_write_seq = write_seq;
		sub->seen_delivered = delivered;
		sub->seen_packets = packets;
	}
	if (!now_us)
		return;
	due = due_us(&sub->model, tp, packets, now_us);
	if (due != sub->model.due_us)
		sub->pad_of_bytes = 0;
	sub->model.due_us = due;
}

/**
 * pams_silence_limit_us - the time without an answer after which a subflow is silent
 * @sub:	the subflow
 * @tp:		its TCP socket
 *
 * It is srtt + max(4 * RTT variance, 50 ms); TCP's own timeout has 200 ms in place of 50.
 * Each false alarm doubles it, three times at most; each half minute without one halves it.
 */
u32 pams_silence_limit_us(const struct pams_subflow *sub, const struct tcp_sock *tp)
{
	/* srtt_us is scaled by 8, mdev_us by 4 */
	u32 limit_us = (READ_ONCE(tp->srtt_us) >> 3) +
		       max_t(u32, READ_ONCE(tp->mdev_us), MODEL_ACK_US);

	return limit_us << alarms_left(sub);
}

/**
 * pams_answer_limit_us - how long ago a subflow's last answer may be before it is silent
 * @sub:	the subflow
 * @tp:		its TCP socket
 *
 * Usually this is pams_silence_limit_us(). But if the subflow was stopped because its path is
 * about to be lost, its last packets are under way close behind each other. Their
 * acknowledgments then follow each other as closely, so even a pause of less than a round trip
 * means that the path is lost.
 */
u32 pams_answer_limit_us(const struct pams_subflow *sub, const struct tcp_sock *tp)
{
	u32 pause_us = max_t(u32, READ_ONCE(tp->mdev_us), MODEL_ACK_US);

	if (sub->stopped && sub->loss)
		return pause_us << alarms_left(sub);
	return pams_silence_limit_us(sub, tp);
}
