// SPDX-License-Identifier: GPL-2.0
/*
 * acked - takes the client's acknowledgments: round-trip time, delivery rate, losses
 *
 * A segment is lost if one that was sent after it has arrived, and a round-trip time and
 * some time for reordering have passed since it was sent (RACK, RFC 8985). The time for
 * reordering is a quarter of the minimum round-trip time, or 0 if three segments were
 * selectively acknowledged and no segment of the flow was ever reordered. The delivery
 * rate is that of draft-cheng-iccrg-delivery-rate-estimation.
 */
#include "flow.h"

#define VARIANCE_MIN_US	50000	/* the floor of 4 * RTTVAR */
#define OVERTAKEN	3

struct round {
	struct rate_sample sample;
	uint64_t prior_us;	/* when sample.prior_delivered was reached */
	uint64_t send_us;	/* time that it took to send the sample's data */
	uint64_t acked;
	bool any;
};

/* Update the smoothed round-trip time and the retransmission timeout (RFC 6298, 2). */
void acked_rtt(struct flow *flow, uint32_t rtt_us)
{
	uint32_t error, variance;

	if (!flow->srtt_us) {
		flow->srtt_us = rtt_us ? rtt_us : 1;
		flow->rttvar_us = rtt_us / 2;
	} else {
		error = rtt_us > flow->srtt_us ? rtt_us - flow->srtt_us
					       : flow->srtt_us - rtt_us;
		flow->rttvar_us += ((int32_t)error -
				    (int32_t)flow->rttvar_us) / 4;
		flow->srtt_us += ((int32_t)rtt_us -
				  (int32_t)flow->srtt_us) / 8;
	}
	variance = 4 * flow->rttvar_us;
	flow->rto_us = flow->srtt_us + (variance > VARIANCE_MIN_US ?
					variance : VARIANCE_MIN_US);
}

static bool sent_later(uint64_t a_us, uint32_t a_end, uint64_t b_us,
		       uint32_t b_end)
{
	return a_us > b_us || (a_us == b_us && after(a_end, b_end));
}

/* Note that a segment has arrived. */
static void arrived(struct flow *flow, struct segment *segment,
		    struct round *round, uint64_t now_us)
{
	struct delivery *delivery = &flow->delivery;
	uint32_t bytes = segment->len + segment->fin;
	uint32_t rtt_us = (uint32_t)(now_us - segment->sent_us);
	uint32_t end = segment_end(segment);

	if (!segment->sent)
		return;
	if (segment->in_flight)
		flow->in_flight -= bytes;
	if (segment->lost)
		flow->lost_bytes -= bytes;
	segment->in_flight = false;
	segment->lost = false;
	delivery->delivered += bytes;
	delivery->delivered_us = now_us;
	round->acked += bytes;
	/* an acknowledgment that comes too soon is one of the first transmission */
	if (segment->again && rtt_us < flow->bbr.min_rtt_us)
		return;
	if (!segment->again && (!round->sample.rtt_us ||
				rtt_us < round->sample.rtt_us))
		round->sample.rtt_us = rtt_us ? rtt_us : 1;
	if (sent_later(segment->sent_us, end, flow->rack_us, flow->rack_end)) {
		flow->rack_us = segment->sent_us;
		flow->rack_end = end;
		flow->rack_rtt_us = rtt_us;
	} else if (!segment->again && before(end, flow->rack_end)) {
		flow->reordering = true;
	}
	if (round->any && segment->delivered < round->sample.prior_delivered)
		return;
	round->any = true;
	round->sample.prior_delivered = segment->delivered;
	round->sample.app_limited = segment->app_limited;
	round->prior_us = segment->delivered_us;
	round->send_us = segment->sent_us - segment->first_sent_us;
	delivery->first_sent_us = segment->sent_us;
}

static void read_sacks(struct flow *flow, const struct packet *packet,
		       struct round *round, uint64_t now_us)
{
	for (unsigned int i = 0; i < packet->sacks; i++) {
		const uint8_t *at = packet->data + packet->sack_at + 2 + 8 * i;
		uint32_t from = get32(at), to = get32(at + 4);
		struct segment *segment = flow->head;

		if (!before(from, to) || !after(from, flow->una) ||
		    after(to, flow->snd_nxt))
			continue;	/* a block about a duplicate, or an invalid one */
		for (; segment && segment->sent &&
		     before(segment->seq, to); segment = segment->next) {
			if (segment->sacked || before(segment->seq, from) ||
			    after(segment_end(segment), to))
				continue;
			arrived(flow, segment, round, now_us);
			segment->sacked = true;
			flow->sacked_segments++;
		}
	}
}

void acked_find_lost(struct flow *flow, uint64_t now_us)
{
	uint32_t room = flow->bbr.min_rtt_us / 4;
	struct segment *at = flow->head;

	flow->reorder_at_us = NEVER_US;
	if (!flow->reordering && flow->sacked_segments >= OVERTAKEN)
		room = 0;
	for (; at && at->sent; at = at->next) {
		uint64_t due;

		if (at->sacked || at->lost ||
		    !sent_later(flow->rack_us, flow->rack_end, at->sent_us,
				segment_end(at)))
			continue;
		due = at->sent_us + flow->rack_rtt_us + room;
		if (due <= now_us)
			deliver_lost(flow, at);
		else if (due < flow->reorder_at_us)
			flow->reorder_at_us = due;
	}
	if (flow->lost_bytes)
		flow->lost_us = now_us;
	if (flow->lost_bytes && !flow->recovering) {
		flow->recovering = true;
		flow->recover_seq = flow->snd_nxt;
	}
}

static void measure(struct flow *flow, struct round *round, uint64_t now_us)
{
	struct rate_sample *sample = &round->sample;
	struct delivery *delivery = &flow->delivery;
	uint64_t took, bytes;

	if (sample->rtt_us) {
		acked_rtt(flow, sample->rtt_us);
		pays_rtt(flow, sample->rtt_us, now_us);
	}
	took = delivery->delivered_us - round->prior_us;
	if (took < round->send_us)
		took = round->send_us;
	bytes = delivery->delivered - sample->prior_delivered;
	/* no rate from less than a round trip: acknowledgments were compressed on the way */
	if (round->any && took && took >= flow->bbr.min_rtt_us)
		sample->rate_byteps = bytes * SECOND_US / took;
	if (delivery->delivered > delivery->app_limited_until)
		delivery->app_limited_until = 0;
	bbr_acked(flow, sample, round->acked, now_us);
	if (!sample->rate_byteps ||
	    (sample->app_limited && sample->rate_byteps < flow->rate_ewma))
		return;
	if (!flow->rate_ewma)
		flow->rate_ewma = sample->rate_byteps;
	else
		flow->rate_ewma += ((int64_t)sample->rate_byteps -
				    (int64_t)flow->rate_ewma) / 8;
}

static void note_window(struct flow *flow, const struct packet *packet)
{
	uint32_t window = (uint32_t)packet->window << flow->client_scale;
	uint32_t edge = packet->ack + window;

	if (before(packet->ack, flow->una))
		return;
	flow->right_edge = seq_max(flow->right_edge, edge);
}

/*
 * Has the client dropped what it had selectively acknowledged (RFC 2018, 8)? It had, if the
 * first byte that it hasn't is among that. Then nothing of it counts any more.
 */
static void check_reneging(struct flow *flow)
{
	if (!flow->head || !flow->head->sacked)
		return;
	for (struct segment *at = flow->head; at && at->sent; at = at->next) {
		if (!at->sacked)
			continue;
		at->sacked = false;
		flow->sacked_segments--;
		deliver_lost(flow, at);
	}
}

static uint8_t last_byte(const struct segment *segment)
{
	const struct block *block = segment->block;

	return block->data[block->payload_at + segment->seq - block->seq +
			   segment->len - 1];
}

void acked_packet(struct flow *flow, const struct packet *packet,
		  uint64_t now_us)
{
	struct round round = { };
	bool closed = flow->persist_at_us != NEVER_US;
	uint32_t edge = flow->right_edge;

	if (!(packet->flags & TCP_ACK) || after(packet->ack, flow->snd_nxt))
		return;
	note_window(flow, packet);
	if (after(packet->ack, flow->una)) {
		uint32_t bytes = packet->ack - flow->una;

		if (flow->fin_seen && after(packet->ack, flow->fin_seq))
			bytes--;
		flow->delivered_bytes += bytes;
		flow->split->counters.delivered_bytes += bytes;
		flow->una = packet->ack;
	}
	while (flow->head && flow->head->sent &&
	       !after(segment_end(flow->head), flow->una)) {
		if (flow->head->sacked)
			flow->sacked_segments--;
		else
			arrived(flow, flow->head, &round, now_us);
		if (flow->head->len)
			flow->una_byte = last_byte(flow->head);
		store_drop_first(flow);
	}
	check_reneging(flow);
	read_sacks(flow, packet, &round, now_us);
	if (round.acked) {
		flow->backoffs = 0;
		flow->probed = false;
		measure(flow, &round, now_us);
		acked_find_lost(flow, now_us);
		deliver_restart_timers(flow, now_us);
	} else if (closed || !packet->window) {
		/* alive: it has answered a probe, or what it dropped behind a closed window */
		bool probed = closed && flow->backoffs;

		flow->backoffs = 0;
		if (probed || edge != flow->right_edge)
			deliver_restart_timers(flow, now_us);
	}
	if (flow->recovering && !before(flow->una, flow->recover_seq))
		flow->recovering = false;
}
