// SPDX-License-Identifier: GPL-2.0
/* A subflow as a fluid through a pipe: when does data that is handed over now arrive,
 * and how much of it has arrived after a given time?
 *
 *   m      round-trip time without a queue
 *   C      capacity of the path, or unknown
 *   P      rate that the path is sure to carry
 *   W      min(window, C * m)     may be under way without queueing
 *   F, B   bytes in flight; bytes handed over and not sent
 *   R      min(window / m, C)     leaves per second while the window is full
 *
 * Of n bytes more, all that makes F + B + n exceed W has to wait. Acknowledgments
 * release that at R; in slow start, while C isn't reached, at 2 R in the first
 * round trip, 4 R in the second, and so on:
 *
 *   arrival(n)  = m/2 + max(time to release(F + B + n - W),
 *                           min(B + n, W) / P)
 *   carried(t)  = W + released(t - m/2) - F - B
 *
 * The second term of the maximum is a burst on its way through the bottleneck:
 * a window that was never filled may be larger than what the path takes at once.
 * Nothing is released before the burst's first acknowledgment (pause): until then only W
 * leaves; after it each round trip releases a window as fast as the last one arrived.
 *
 * Behind a helper is a pipe with capacity Thp, backlog Bp and, if the helper
 * ends TCP, a delay Dp of its own. Data that has left the path queues before it, too:
 *
 *   arrival(n)  = max(arrival(n) + Dp, m/2 + Dp + (Bp + B + n) / Thp)
 *   carried(t)  = min(carried(t - Dp), Thp * (t - m/2 - Dp) - Bp - B)
 *
 * F and B are compared with W, and nothing is smoothed: a queue counts from the moment
 * when it is made until it has gone. PAD (pad.c), which minpad and pams use, is computed
 * from the same model, with the smoothed Th and delay.
 *
 * Nothing is carried after the path is lost (horizon); for a subflow that is only expected
 * to join, all times begin when it joins (wait).
 *
 * Units: bytes, bytes/s in 32 bits (up to 34 Gbit/s), microseconds. Products of
 * a rate and at most 60 s are below 2^58; bytes are clamped to 2^40 before they
 * are multiplied by 10^6, which gives less than 2^60.
 *
 * Ignored: loss, that both directions may differ, the size of packets.
 */
#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/time64.h>

#include "model.h"
#include "pad.h"

/* 16 doublings are a window 65536 times as large */
#define MODEL_ROUNDS_MAX	16
#define MODEL_BYTES_MAX		0x10000000000ULL	/* 2^40 */

static u64 released_bytes(u32 rate_byteps, u32 span_us)
{
	return div_u64((u64)rate_byteps * span_us, USEC_PER_SEC);
}

static u32 release_us(u64 bytes, u32 rate_byteps)
{
	return min_t(u64, div_u64(min(bytes, MODEL_BYTES_MAX) * USEC_PER_SEC,
				  rate_byteps), MODEL_SPAN_MAX_US);
}

/* The rate of the next round trip: twice the last one's in slow start, up to the capacity. */
static u32 next_rate(const struct pams_model *model, u32 rate_byteps)
{
	return model->growing ?
	       min_t(u64, 2ULL * rate_byteps, model->limit_byteps) : rate_byteps;
}

/* Will the rate double once more? */
static bool doubles(const struct pams_model *model, u32 rate_byteps)
{
	return model->growing && rate_byteps < model->limit_byteps;
}

/**
 * model_set_window - compute rate and window from cwnd, round-trip time and capacity
 * @model:	the subflow
 *
 * Sets @rate_byteps and @window_bytes; two divisions.
 */
void model_set_window(struct pams_model *model)
{
	u64 scaled = (u64)model->cwnd_bytes * USEC_PER_SEC;

	if (scaled < (u64)model->limit_byteps * model->rtt_us) {
		model->window_bytes = model->cwnd_bytes;
		model->rate_byteps = clamp_t(u64, div_u64(scaled, model->rtt_us),
					     MODEL_RATE_MIN_BYTEPS,
					     MODEL_RATE_UNKNOWN - 1);
	} else {
		model->window_bytes = min_t(u64, U32_MAX,
					    released_bytes(model->limit_byteps,
							   model->rtt_us));
		model->rate_byteps = model->limit_byteps;
	}
}

/**
 * model_trust_guess - take a guess from the first few packets for the path's capacity
 * @model:	the subflow
 *
 * Used to estimate how late outstanding data is. The amount that is handed over mustn't
 * depend on a guess: with too little data the guess would never be corrected.
 */
void model_trust_guess(struct pams_model *model)
{
	if (!model->guessed)
		return;

	model->limit_byteps = model->proven_byteps;
	model->rate_byteps = min(model->rate_byteps, model->limit_byteps);
	model->window_bytes = min_t(u64, model->window_bytes,
				    released_bytes(model->limit_byteps,
						   model->rtt_us));
	model->growing &= model->rate_byteps < model->limit_byteps;
}

/* model_arrival_us() over the path alone, without a pipe behind it. */
static u32 path_arrival_us(const struct pams_model *model, u32 bytes)
{
	u64 ahead = (u64)model->backlog_bytes + bytes;
	u64 burst = min_t(u64, ahead, model->window_bytes);
	u32 rate = model->rate_byteps;
	unsigned int rounds = 0;
	u32 burst_us, span_us = model_pause_us(model);
	u64 round;

	ahead += model->flight_bytes;
	ahead -= min_t(u64, ahead, model->window_bytes);
	/* in most cases there is only one rate, so one division is enough */
	if (!model->growing && !span_us && model->proven_byteps == rate)
		return model->rtt_us / 2 + release_us(max(burst, ahead), rate);

	burst_us = release_us(burst, model->proven_byteps);
	if (!ahead)
		return model->rtt_us / 2 + burst_us;

	rate = next_rate(model, rate);
	while (doubles(model, rate) && rounds++ < MODEL_ROUNDS_MAX) {
		round = released_bytes(rate, model->rtt_us);
		if (ahead <= round)
			break;
		ahead -= round;
		span_us += model->rtt_us;
		rate = next_rate(model, rate);
	}
	round = model_pause_us(model) ? released_bytes(rate, model->rtt_us) : 0;
	if (round) {
		/* whole rounds, then the rest as fast as the last window arrived */
		u64 whole = div64_u64(ahead - 1, round);

		ahead -= whole * round;
		rate = max(rate, model->proven_byteps);
		span_us += min(whole * model->rtt_us + release_us(ahead, rate),
			       (u64)MODEL_SPAN_MAX_US);
	} else {
		span_us += release_us(ahead, rate);
	}
	return model->rtt_us / 2 + max(burst_us, span_us);
}

/**
 * model_arrival_us - how long until the last of @bytes arrives
 * @model:	the subflow
 * @bytes:	how much is handed over now
 */
u32 model_arrival_us(const struct pams_model *model, u32 bytes)
{
	u32 path_us = path_arrival_us(model, bytes);
	u32 pipe_us;

	if (!model->pipe_byteps)
		return model->wait_us + path_us;

	pipe_us = model->rtt_us / 2 +
		  release_us((u64)model->pipe_backlog_bytes +
			     model->backlog_bytes + bytes, model->pipe_byteps);
	return model->wait_us + max(path_us, pipe_us) + model->pipe_delay_us;
}

/**
 * model_is_sooner - do some bytes arrive before others on another subflow?
 * @model:	the subflow
 * @bytes:	handed over there now, or as soon as it has joined
 * @other:	the other one
 * @other_bytes: handed over there now
 */
bool model_is_sooner(const struct pams_model *model, u32 bytes,
		     const struct pams_model *other, u64 other_bytes)
{
	return model_arrival_us(model, bytes) <
	       model_arrival_us(other, min_t(u64, other_bytes, U32_MAX));
}

/* model_carried_bytes() over the path alone. */
static u64 path_carried_bytes(const struct pams_model *model, u64 span_us)
{
	u64 ahead = (u64)model->flight_bytes + model->backlog_bytes;
	u64 bytes = model->window_bytes;
	u32 rate = model->rate_byteps;
	unsigned int rounds = 0;
	u32 left_us;

	if (span_us < model->rtt_us / 2)
		return 0;
	left_us = min_t(u64, span_us - model->rtt_us / 2, MODEL_SPAN_MAX_US);

	if (left_us < model_pause_us(model))
		return bytes > ahead ? bytes - ahead : 0;
	left_us -= model_pause_us(model);

	rate = next_rate(model, rate);
	while (doubles(model, rate) && left_us > model->rtt_us &&
	       rounds++ < MODEL_ROUNDS_MAX) {
		bytes += released_bytes(rate, model->rtt_us);
		left_us -= model->rtt_us;
		rate = next_rate(model, rate);
	}
	if (model_pause_us(model)) {
		u64 round = released_bytes(rate, model->rtt_us);

		bytes += left_us / model->rtt_us * round;
		bytes += min(round, released_bytes(max(rate, model->proven_byteps),
						   left_us % model->rtt_us));
	} else {
		bytes += released_bytes(rate, left_us);
	}
	return bytes > ahead ? bytes - ahead : 0;
}

/**
 * model_carried_bytes - how much of the data handed over from now on arrives in @span_us
 * @model:	the subflow
 * @span_us:	the time
 */
u64 model_carried_bytes(const struct pams_model *model, u64 span_us)
{
	u64 before_us = (u64)model->wait_us + model->pipe_delay_us;
	u64 ahead, bytes, pipe_bytes;

	span_us = min_t(u64, span_us, model->horizon_us);
	if (span_us <= before_us)
		return 0;
	span_us -= before_us;
	bytes = path_carried_bytes(model, span_us);
	if (!model->pipe_byteps || span_us < model->rtt_us / 2)
		return bytes;

	ahead = (u64)model->pipe_backlog_bytes + model->backlog_bytes;
	span_us = min_t(u64, span_us - model->rtt_us / 2, MODEL_SPAN_MAX_US);
	pipe_bytes = released_bytes(model->pipe_byteps, span_us);
	return min(bytes, pipe_bytes > ahead ? pipe_bytes - ahead : 0);
}

/**
 * model_pad_ns - PAD of data that is handed over now, by MPBond's equations
 * @model:	the subflow
 * @bytes:	how much is handed over; the PAD is that of its last byte, since the kernel
 *		moves whole fragments
 *
 * If the helper doesn't end TCP, the round-trip time includes the pipe, but is as old as the
 * last acknowledgment. Then the PAD is the larger one of TCP's and of the report's.
 *
 * Return: nanoseconds.
 */
u64 model_pad_ns(const struct pams_model *model, u32 bytes)
{
	u64 queued = (u64)model->backlog_bytes + bytes;
	u32 window = model->cwnd_bytes > model->flight_bytes ?
		     model->cwnd_bytes - model->flight_bytes : 0;
	struct pad_hop path = {
		.rate_byteps = model->th_byteps,
		.owd_us = model->owd_us,
		.queued_bytes = queued > window ?
				min_t(u64, queued - window, PAD_QUEUED_MAX_BYTES) : 0,
	};
	struct pad_hop pipe;
	u64 direct_ns;

	if (!model->pipe_byteps)
		return pad_direct_ns(&path);

	pipe = (struct pad_hop){
		.rate_byteps = model->pipe_byteps,
		.owd_us = model->pipe_delay_us,
		.queued_bytes = model->pipe_backlog_bytes,
	};
	if (model->split)
		return pad_helper_ns(&path, &pipe);

	direct_ns = pad_direct_ns(&path);
	path.owd_us = model->rtt_us / 2;
	return max(direct_ns, pad_helper_ns(&path, &pipe));
}
