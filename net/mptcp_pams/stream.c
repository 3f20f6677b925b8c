// SPDX-License-Identifier: GPL-2.0
/* Streams: an application that writes no faster than the paths carry, such as live video, a
 * call, or a log. There is nothing to gain in handing such data over early, and what a path
 * holds can't be recalled when its rate falls. So a path holds no more of a stream than
 *
 *   C * (m + max(m, 50 ms))
 *
 * C being the path's capacity and m its round-trip time without a queue (model.h): enough to keep
 * the path busy until the next acknowledgments, which come in bursts and are delayed, and to find
 * that it has become twice as fast. The rest stays in the connection's buffer, for whichever path
 * is free first. A path whose capacity is unknown never had a queue, and isn't bounded. The bound
 * is this connection's own measure.
 *
 * If a path becomes slow all the same, its data is late when the last byte that this path alone
 * holds arrives more than 2 * A + 100 ms from now, A being when a packet would arrive on another
 * path, behind the data there. Late data is sent again from its end on, until the rest isn't
 * late, and before new data, since the application can't read new data before it.
 *
 * A connection is a stream at the moment if what was written 500 ms ago has been handed over,
 * and the application doesn't wait for buffer space. It counts as a stream once it was one for
 * 250 ms. If paths then become too slow for it, it still counts as one for eight times as long
 * as it was one. A file transfer is never a stream. A pause counts against it, by at most 500 ms.
 *
 * Units: bytes, milliseconds unless named _us; times and sequence numbers wrap.
 */
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/time64.h>

#include "model.h"
#include "pick.h"
#include "stream.h"

/* Data that waits in the connection's buffer for longer isn't a stream's at the moment. */
#define STREAM_DELAY_MS		500U
/* A connection that was a stream for less time isn't one: one or two short answers take as long. */
#define STREAM_LEAST_MS		(STREAM_DELAY_MS / 2)
/* A stream is forgotten after eight times as long as it lasted, and after a minute at most: paths
 * may be too slow for that long, and filling their queues would prolong that.
 */
#define STREAM_TIMES		8U
#define STREAM_MOST_MS		60000U
/* Data that is only a bit late isn't sent again, which would delay the data that follows. */
#define STREAM_LATE_TIMES	2U

/**
 * stream_follow - is the connection a stream?
 * @state:	what is known of how the application writes, updated
 * @write_seq:	low half of the data sequence number behind what the application wrote
 * @snd_nxt:	low half of the data sequence number of the first byte that no subflow was given
 * @waits:	the application waits for buffer space
 * @now_ms:	the time
 */
bool stream_follow(struct stream_state *state, u32 write_seq, u32 snd_nxt, bool waits,
		   u32 now_ms)
{
	u32 span_ms = min(now_ms - state->seen_ms, STREAM_DELAY_MS);
	u32 delay_ms = now_ms - state->mark_ms;
	bool late = waits || delay_ms > STREAM_DELAY_MS;
	u32 lived_ms = state->lived_ms;
	/* at the first call @mark isn't set, and may be ahead of @write_seq */
	bool reached = (s32)(snd_nxt - state->mark) >= 0 || (s32)(write_seq - state->mark) < 0;

	if (late)
		lived_ms -= min(lived_ms, span_ms);
	else if (reached)
		lived_ms = min(lived_ms + STREAM_TIMES * delay_ms, STREAM_MOST_MS);
	if (reached)
		state->mark = write_seq;
	if (waits)
		state->mark_ms = now_ms - STREAM_DELAY_MS - 1;	/* late until @mark is reached */
	else if (reached)
		state->mark_ms = now_ms;
	state->seen_ms = now_ms;
	state->lived_ms = lived_ms;
	return lived_ms >= STREAM_TIMES * STREAM_LEAST_MS;
}

/**
 * stream_bound - limit a subflow's room to what its path may hold of a stream
 * @model:	the subflow, changed: it has less room
 * @packet_bytes: size of a packet; a path may always hold two packets
 */
void stream_bound(struct pams_model *model, u32 packet_bytes)
{
	u32 held = model->flight_bytes + model->backlog_bytes;
	u64 most;

	if (model->limit_byteps == MODEL_RATE_UNKNOWN)
		return;
	most = div_u64((u64)model->limit_byteps *
		       (model->rtt_us + max(model->rtt_us, MODEL_ACK_US)), USEC_PER_SEC);
	most = max_t(u64, most, 2 * packet_bytes);
	/* a packet carries a bit less than the MSS */
	if (most < held + packet_bytes / 2)
		model->room_bytes = 0;
	else
		model->room_bytes = min_t(u64, model->room_bytes, most - held);
	model->idle &= model->room_bytes > 0;
}

/**
 * stream_late - which path has become so slow that what it holds is to be sent again?
 * @view:	a stream's view
 *
 * Return: an index into @sub, or PAMS_PICK_NONE.
 */
int stream_late(const struct pams_view *view)
{
	u32 latest_us = 0, best_us = U32_MAX;
	int latest = PAMS_PICK_NONE;
	unsigned int i;

	for (i = 0; i < view->nr; i++) {
		const struct pams_model *sub = view->sub[i];
		u32 us = sub->outstanding && sub->once_bytes ?
			 model_held_us(sub, sub->once_bytes) : 0;

		if (us > latest_us) {
			latest_us = us;
			latest = i;
		}
	}
	for (i = 0; i < view->nr; i++) {
		const struct pams_model *sub = view->sub[i];

		if (i != latest && !sub->stopped)
			best_us = min(best_us, model_arrival_us(sub, PICK_PACKET_BYTES));
	}
	if (best_us == U32_MAX || latest_us <= STREAM_LATE_TIMES * best_us + STREAM_LATE_US)
		return PAMS_PICK_NONE;
	return latest;
}
