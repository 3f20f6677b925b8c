// SPDX-License-Identifier: GPL-2.0
/*
 * pays - splits a flow where that pays, and passes it elsewhere
 *
 * Where the pipe loses nothing, a split gains little. So, with the option where_it_pays, a new
 * flow is passed: its packets go on as they are, as through a router, but their data is kept until
 * the client has it. Splitting begins with the first loss without a queue before the pipe; a full
 * queue's losses tell the server to slow down, and it has to know of them. The acknowledgment that
 * shows the loss is the first one that the server doesn't get: what was lost is sent from here.
 *
 * A loss before flow->unclear doesn't count: it may be the HS-path's, or the server has heard of
 * losses there. A queue stands if the round trip takes QUEUE_US (CoDel's target) and the time of
 * two segments longer than the shortest one of the last one or two SPAN_US.
 *
 * After REST_US without a loss the flow rests: while nothing waits to be sent to the client, no
 * more is acknowledged early, and as soon as nothing is banked the flow is passed again. With a
 * cap on the rate flows are always split, since what is passed can't be slowed down.
 */
#include "flow.h"

#define QUEUE_US	5000
#define SPAN_US		(30 * SECOND_US)
#define REST_US		(30 * SECOND_US)

static bool queue_stands(const struct flow *flow, uint64_t rtt_us)
{
	uint64_t least = flow->least_rtt_us, two_us = 0;

	if (flow->former_rtt_us && flow->former_rtt_us < least)
		least = flow->former_rtt_us;
	if (flow->rate_ewma)
		two_us = 2 * flow->client_mss * SECOND_US / flow->rate_ewma;
	return rtt_us > least + QUEUE_US + two_us;
}

/* Read the packet's newest SACK of data beyond its acknowledgment; false: there is none. */
static bool read_sack(const struct packet *packet, struct range *range)
{
	for (unsigned int i = 0; i < packet->sacks; i++) {
		const uint8_t *at = packet->data + packet->sack_at + 2 + 8 * i;

		*range = (struct range){ get32(at), get32(at + 4) };
		if (before(range->from, range->to) && after(range->from, packet->ack))
			return true;
	}
	return false;
}

/* Has the pipe lost something, as the client's packet shows first, without a queue? */
static bool is_lossy(const struct flow *flow, const struct packet *packet, uint64_t now_us)
{
	const struct segment *last = NULL;
	struct range range;

	if (!read_sack(packet, &range) || after(range.to, flow->snd_nxt))
		return false;
	for (struct segment *at = flow->head; at && at->sent && before(at->seq, range.to);
	     at = at->next)
		last = at;
	return last && flow->least_rtt_us && !queue_stands(flow, now_us - last->sent_us);
}

/* Is it time to split the flow, which is passed so far, from this packet of the client's on? */
bool pays_splitting(const struct flow *flow, const struct packet *packet, uint64_t now_us)
{
	if (flow->leaving || flow->runs.first || after(flow->unclear, packet->ack))
		return false;
	return flow->split->options.lend_byteps || is_lossy(flow, packet, now_us);
}

void pays_begin(struct flow *flow, uint64_t now_us)
{
	flow->passing = false;
	flow->lost_us = now_us;
	flow->pace_next_us = now_us;
	deliver_restart_timers(flow, now_us);
}

/* Note what the server learns of losses by a packet that is passed. */
void pays_note(struct flow *flow, const struct packet *packet)
{
	struct range range;

	flow->unclear = seq_max(flow->unclear,
				read_sack(packet, &range) ? flow->snd_nxt : flow->una);
	flow->delivery.app_limited_until = flow->delivery.delivered + flow->in_flight + 1;
}

void pays_rtt(struct flow *flow, uint32_t rtt_us, uint64_t now_us)
{
	if (now_us - flow->least_at_us > SPAN_US) {
		flow->former_rtt_us = flow->least_rtt_us;
		flow->least_rtt_us = rtt_us;
		flow->least_at_us = now_us;
	}
	if (!flow->least_rtt_us || rtt_us < flow->least_rtt_us)
		flow->least_rtt_us = rtt_us;
}

/* Does it pay no longer? Then step out, as soon as nothing is banked. */
void pays_rest(struct flow *flow, uint64_t now_us)
{
	const struct split_options *options = &flow->split->options;

	flow->resting = options->where_it_pays && !options->lend_byteps && !flow->unsent &&
			now_us - flow->lost_us > REST_US;
	if (!flow->resting || !flow_is_through(flow))
		return;
	flow->resting = false;
	flow->passing = true;
	flow->unclear = flow->una;
	flow->has_dsack = false;
	flow_forget_to_ack(flow);
	flow_stop_timers(flow);
}
