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
 *   D      how long until the first acknowledgment of a burst, or 0
 *
 * What counts is when a byte has left the path's bottleneck. Bytes leave it at P, one behind the
 * other, so n more bytes wait for Q, the bytes in flight that are still before the bottleneck:
 *
 *   Q           = F - P (m - D)  of a burst, whose first byte was sent m - D ago
 *                 F - W          later: what exceeds the window is a queue
 *   behind(x)   = (Q + x) / P
 *
 * In addition, the bytes of F + B + n beyond W have to wait until acknowledgments release them.
 * These release R from D on; in slow start, while C isn't reached, 2 R in the first round trip,
 * 4 R in the second, and so on:
 *
 *   release(x)  = how long it takes to release x
 *   arrival(n)  = m/2 + max(behind(B + n), D + release(F + B + n - W))
 *
 * If C is unknown, P bounds the first W bytes only; and while acknowledgments come (D = 0), the
 * path is known to carry R, unless P is a guess:
 *
 *   behind(x)   = (Q + x) / max(P, R)                       if D = 0
 *                 (Q + W) / max(P, R) + release(x - W)      for x > W
 *
 * carried(t) is the inverse of arrival(n): how many bytes have arrived after t. Both grow
 * strictly, up to a byte and a microsecond.
 *
 * Behind a helper is a pipe with capacity Thp, backlog Bp and, if the helper ends TCP, a delay
 * Dp of its own. Data also has to leave the pipe: what is in flight now waits before the pipe
 * once it has arrived there, less what the pipe takes until the next data can arrive.
 *
 *   Qp          = Bp + F - Thp m/2               if the helper ends TCP
 *                 max(Bp, F - Thp (m - D))       if not: what waits is in flight
 *   arrival(n)  = Dp + max(arrival(n), m/2 + (Qp + B + n) / Thp)
 *   carried(t)  = min(carried(t - Dp), Thp (t - m/2 - Dp) - Qp - B)
 *
 * F and B are compared with W, and nothing is smoothed: a queue counts from the moment
 * when it builds up until it has drained. PAD, which minpad and pams use, is computed from
 * the same model, with the smoothed Th and delay; its equations are below.
 *
 * Nothing is carried after the path is lost (horizon).
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

#define MODEL_BYTES_MAX		0x10000000000ULL	/* 2^40 */

static u64 released_bytes(u32 rate_byteps, u32 span_us)
{
	return div_u64((u64)rate_byteps * span_us, USEC_PER_SEC);
}

/* Rounded up, so that no less than @bytes is released in that time. */
static u32 release_us(u64 bytes, u32 rate_byteps)
{
	u64 scaled = min(bytes, MODEL_BYTES_MAX) * USEC_PER_SEC;

	return min_t(u64, div_u64(scaled + rate_byteps - 1, rate_byteps), MODEL_SPAN_MAX_US);
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

/* How much has left at @rate_byteps since a burst's first byte was sent; without a burst, how
 * much leaves in a round trip.
 */
static u64 passed_bytes(const struct pams_model *model, u32 rate_byteps)
{
	return released_bytes(rate_byteps,
			      model->rtt_us - min(model->due_us, model->rtt_us));
}

/* What is in flight and hasn't left the bottleneck. */
static u64 queued_bytes(const struct pams_model *model)
{
	u64 left = model->due_us ? passed_bytes(model, model->proven_byteps) :
					   model->window_bytes;

	return model->flight_bytes - min_t(u64, model->flight_bytes, left);
}

/* Take the rounds of slow start that are within *@bytes and *@span_us off both. Returns the rate
 * after these rounds.
 */
static u32 pass_rounds(const struct pams_model *model, u64 *bytes, u64 *span_us)
{
	u32 rate = next_rate(model, model->rate_byteps);

	while (doubles(model, rate) && *span_us > model->rtt_us) {
		u64 round = released_bytes(rate, model->rtt_us);

		if (*bytes <= round)
			break;
		*bytes -= round;
		*span_us -= model->rtt_us;
		rate = next_rate(model, rate);
	}
	return rate;
}

/* How long until acknowledgments have released @bytes. */
static u64 window_us(const struct pams_model *model, u64 bytes)
{
	u64 span_us = U64_MAX;
	u32 rate = pass_rounds(model, &bytes, &span_us);

	return U64_MAX - span_us + release_us(bytes, rate);
}

/* How much acknowledgments release in @span_us: the inverse of window_us(). */
static u64 window_bytes(const struct pams_model *model, u64 span_us)
{
	u64 bytes = U64_MAX;
	u32 rate = pass_rounds(model, &bytes, &span_us);

	return U64_MAX - bytes + released_bytes(rate, span_us);
}

/* The rate at which bytes follow each other through the bottleneck. While acknowledgments come,
 * that is at least a window per round trip, whatever was proven before. A guess isn't raised to
 * that: it shows what the path doesn't carry.
 */
static u32 line_byteps(const struct pams_model *model)
{
	return model->due_us || model->guessed ?
	       model->proven_byteps : max(model->proven_byteps, model->rate_byteps);
}

/* How long until @bytes have left the bottleneck, behind what is in flight. */
static u64 behind_us(const struct pams_model *model, u64 bytes)
{
	bool known = model->proven_byteps == model->limit_byteps;
	u64 within = known ? bytes : min_t(u64, bytes, model->window_bytes);
	u64 us = release_us(queued_bytes(model) + within, line_byteps(model));

	return bytes > within ? us + window_us(model, bytes - within) : us;
}

/* How much has left after @span_us, behind what is in flight: the inverse of behind_us(). */
static u64 behind_bytes(const struct pams_model *model, u64 span_us)
{
	bool known = model->proven_byteps == model->limit_byteps;
	u32 rate = line_byteps(model);
	u64 bytes = released_bytes(rate, span_us);
	u64 queued = queued_bytes(model);
	u64 within = queued + model->window_bytes;

	if (!known && bytes >= within)
		bytes = within + window_bytes(model, span_us - release_us(within, rate));
	return bytes - min(bytes, queued);
}

/* Is the window so large that the bottleneck alone decides? */
static bool is_full(const struct pams_model *model)
{
	return !model->growing && model->rate_byteps == model->proven_byteps;
}

/* model_arrival_us() over the path alone, without a pipe behind it. */
static u32 path_arrival_us(const struct pams_model *model, u32 bytes)
{
	u64 handed = (u64)model->backlog_bytes + bytes;
	u64 all = model->flight_bytes + handed;
	u64 us = behind_us(model, handed);

	if (all > model->window_bytes && !is_full(model))
		us = max(us, model->due_us +
			     window_us(model, all - model->window_bytes));
	return model->rtt_us / 2 + min_t(u64, us, MODEL_SPAN_MAX_US);
}

/* What waits before the pipe when the next data can be there. */
static u64 pipe_queued_bytes(const struct pams_model *model)
{
	u64 queued = model->flight_bytes, taken;

	if (model->split) {
		queued += model->pipe_backlog_bytes;
		taken = released_bytes(model->pipe_byteps, model->rtt_us / 2);
		return queued - min(queued, taken);
	}
	taken = passed_bytes(model, model->pipe_byteps);
	return max_t(u64, queued - min(queued, taken), model->pipe_backlog_bytes);
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
		return path_us;

	pipe_us = model->rtt_us / 2 + release_us(pipe_queued_bytes(model) +
						 model->backlog_bytes + bytes,
						 model->pipe_byteps);
	return max(path_us, pipe_us) + model->pipe_delay_us;
}

/**
 * model_held_us - how long until the first @bytes that the subflow holds have arrived
 * @model:	the subflow
 * @bytes:	how much of what was handed over; more than there is counts as all
 */
u32 model_held_us(const struct pams_model *model, u32 bytes)
{
	struct pams_model held = *model;

	held.flight_bytes = min(held.flight_bytes, bytes);
	held.backlog_bytes = min(held.backlog_bytes, bytes - held.flight_bytes);
	held.pipe_backlog_bytes = min(held.pipe_backlog_bytes, bytes);
	if (held.repeats)
		held.flight_bytes = model->flight_bytes;
	return model_arrival_us(&held, 0);
}

/* How much the path alone has carried @span_us after the first byte can have arrived. */
static u64 path_carried_bytes(const struct pams_model *model, u32 span_us)
{
	u32 pause_us = model->due_us;
	u64 bytes = behind_bytes(model, span_us), all;

	if (!is_full(model)) {
		all = model->window_bytes;
		if (span_us > pause_us)
			all += window_bytes(model, span_us - pause_us);
		bytes = min(bytes, all - min_t(u64, all, model->flight_bytes));
	}
	return bytes - min_t(u64, bytes, model->backlog_bytes);
}

/**
 * model_carried_bytes - how much of the data handed over from now on arrives in @span_us
 * @model:	the subflow
 * @span_us:	the time
 *
 * The inverse of model_arrival_us(), without a division where the capacity is known.
 */
u64 model_carried_bytes(const struct pams_model *model, u64 span_us)
{
	u64 before_us = (u64)model->pipe_delay_us + model->rtt_us / 2;
	u64 ahead, bytes, pipe_bytes;

	span_us = min_t(u64, span_us, model->horizon_us);
	if (span_us < before_us)
		return 0;
	span_us = min_t(u64, span_us - before_us, MODEL_SPAN_MAX_US);
	bytes = path_carried_bytes(model, span_us);
	if (!model->pipe_byteps)
		return bytes;

	ahead = pipe_queued_bytes(model) + model->backlog_bytes;
	pipe_bytes = released_bytes(model->pipe_byteps, span_us);
	return min(bytes, pipe_bytes - min(pipe_bytes, ahead));
}

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

static u64 hop_rate_byteps(const struct pad_hop *hop)
{
	return clamp_t(u64, hop->rate_byteps, MODEL_RATE_MIN_BYTEPS, PAD_RATE_MAX_BYTEPS);
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

static u64 pad_owd_ns(const struct pad_hop *hop)
{
	return (u64)min(hop->owd_us, MODEL_SPAN_MAX_US) * NSEC_PER_USEC;
}

/**
 * pad_direct_ns - PAD of a subflow that ends at the receiver itself
 * @path: the PS-path; queued_bytes is Bs
 *
 * Return: nanoseconds until a byte handed over now arrives.
 */
u64 pad_direct_ns(const struct pad_hop *path)
{
	return pad_owd_ns(path) + drain_ns(hop_queued_bytes(path), hop_rate_byteps(path));
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

/**
 * model_pad_ns - PAD of data that is handed over now, by MPBond's equations
 * @model:	the subflow
 * @bytes:	how much is handed over; the PAD is that of its last byte, since the kernel
 *		moves whole fragments
 *
 * With a pipe the PAD is the later one of two times: when the data has passed the path to the
 * helper, and when the pipe has delivered all data that goes through it first. That includes what
 * is in flight to the helper, as MPBond's Bs does. The pipe's time counts from half of the least
 * round trip on, not from the smoothed delay: that includes the queue before the helper, whose
 * data is in flight.
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
	struct pad_hop pipe = {
		.rate_byteps = model->pipe_byteps,
		.owd_us = model->pipe_delay_us,
	};
	u64 direct_ns = pad_direct_ns(&path);

	if (!model->pipe_byteps)
		return direct_ns;

	queued += pipe_queued_bytes(model) - path.queued_bytes;
	pipe.queued_bytes = min_t(u64, queued, PAD_QUEUED_MAX_BYTES);
	path.owd_us = model->rtt_us / 2;
	return max(direct_ns + pad_owd_ns(&pipe), pad_helper_ns(&path, &pipe));
}
