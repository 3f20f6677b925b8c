// SPDX-License-Identifier: GPL-2.0
/* A subflow as a fluid through a pipe: when does what is handed over now arrive,
 * and how much of it has arrived by then?
 *
 *   m      round-trip time without a queue
 *   C      capacity of the path, or unknown; P what it is sure to carry
 *   W      min(window, C * m)     on its way without queueing
 *   F, B   in flight; handed over and waiting
 *   R      min(window / m, C)     leaves per second while the window is full
 *
 * n bytes more have to wait for what F + B + n exceeds W by. Acknowledgments
 * release that at R; in slow start, while C isn't reached, at 2 R in the first
 * round trip, 4 R in the second, and so on:
 *
 *   arrival(n)  = m/2 + max(time to release(F + B + n - W),
 *                           min(B + n, W) / P)
 *   carried(t)  = W + released(t - m/2) - F - B
 *
 * The second term of the maximum is a burst on its way through the bottleneck:
 * a window that was never filled may be larger than what the path takes at once.
 * Of a burst none of that comes before its first acknowledgment (pause): until then
 * only W counts, then a round of it leaves as fast as it arrived.
 *
 * Behind a helper is a pipe with capacity Thp, backlog Bp and, where the helper
 * ends TCP, a delay Dp of its own. What leaves the path then queues there, too:
 *
 *   arrival(n)  = max(arrival(n) + Dp, m/2 + Dp + (Bp + B + n) / Thp)
 *   carried(t)  = min(carried(t - Dp), Thp * (t - m/2 - Dp) - Bp - B)
 *
 * With F and B held against W nothing is smoothed: a queue counts from the moment
 * it is made, and no more once it has gone. PAD (pad.c), which minpad and pams go
 * by, is reckoned from the same model, with the smoothed Th and delay.
 *
 * Nothing is carried beyond the horizon, when the path is lost; a subflow that is
 * only expected to join starts its clock then (wait).
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

/* Twice the last round trip's, in slow start, but for the capacity. */
static u32 next_rate(const struct pams_model *model, u32 rate_byteps)
{
	return model->growing ?
	       min_t(u64, 2ULL * rate_byteps, model->limit_byteps) : rate_byteps;
}

/* Does the window double once more? */
static bool doubles(const struct pams_model *model, u32 rate_byteps)
{
	return model->growing && rate_byteps < model->limit_byteps;
}

/**
 * model_set_window - rate and window, from congestion window, round trip and capacity
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
 * model_trust_guess - reckon with what the first few packets told
 * @model:	the subflow
 *
 * What is handed over mustn't depend on a guess: it would never be put right. How late
 * what is in flight will be may.
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

/* Over the path alone, without a pipe behind it. */
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
	/* at one rate, as mostly, one division does */
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
		/* whole rounds, then what is left as fast as it arrived */
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
 * model_arrival_us - how long until the last of some bytes arrives
 * @model:	the subflow
 * @bytes:	handed over now
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

/* Over the path alone. */
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
 * model_carried_bytes - what is handed over from now on and arrives in a time
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
 * model_pad_ns - PAD of what is handed over now, as MPBond reckons
 * @model:	the subflow
 * @bytes:	handed over: the kernel moves whole fragments, so PAD is that of the
 *		last byte of one
 *
 * Behind a pipe without a split TCP's round trip holds the pipe, too, but as old as
 * the last acknowledgment: then the larger of what TCP and what the report says.
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
