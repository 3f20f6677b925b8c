// SPDX-License-Identifier: GPL-2.0
/*
 * bank - the server's side: keeps the data that arrives until the client has it
 *
 * Segments are kept in the order of their sequence numbers, with holes between them; no
 * two overlap. A packet larger than a segment is cut at the client's
 * maximum segment size: all pieces have its options, since an MPTCP mapping may be sent
 * more than once.
 */
#include <stdlib.h>
#include <string.h>

#include "flow.h"

uint32_t bank_banked(const struct flow *flow)
{
	return before(flow->una, flow->ack_out) ? flow->ack_out - flow->una : 0;
}

static void account(struct flow *flow, int64_t bytes)
{
	struct split *split = flow->split;

	flow->memory += bytes;
	flow->owner->memory += bytes;
	split->memory += bytes;
	if (split->memory > split->counters.memory_max)
		split->counters.memory_max = split->memory;
}

static bool has_room(const struct flow *flow, uint64_t bytes)
{
	const struct split_options *options = &flow->split->options;

	return flow->memory + bytes <= options->flow_bytes &&
	       flow->owner->memory + bytes <= options->client_bytes &&
	       flow->split->memory + bytes <= options->total_bytes;
}

static void block_put(struct flow *flow, struct block *block)
{
	if (--block->users)
		return;
	account(flow, -(int64_t)block->size);
	free(block);
}

static struct block *block_new(struct flow *flow, const struct packet *packet)
{
	size_t size = sizeof(struct block) + packet->len;
	struct block *block = malloc(size);

	if (!block)
		return NULL;
	*block = (struct block){
		.users = 1,
		.size = size,
		.tcp_at = packet->tcp_at,
		.payload_at = packet->payload_at,
		.seq = packet->seq,
		.tsval = packet->tsval,
		.sack_at = packet->sack_at,
		.sacks = packet->sacks,
	};
	memcpy(block->data, packet->data, packet->len);
	account(flow, size);
	return block;
}

void bank_drop_first(struct flow *flow)
{
	struct segment *segment = flow->head;

	flow->head = segment->next;
	if (flow->head)
		flow->head->prev = NULL;
	else
		flow->tail = NULL;
	if (flow->unsent == segment)
		flow->unsent = segment->next;
	block_put(flow, segment->block);
	account(flow, -(int64_t)sizeof(*segment));
	free(segment);
}

void bank_empty(struct flow *flow)
{
	while (flow->head)
		bank_drop_first(flow);
	flow->in_flight = 0;
	flow->lost_bytes = 0;
	flow->sacked_segments = 0;
}

/* Insert a segment before @next, or as the last one. */
static struct segment *insert(struct flow *flow, struct segment *next,
			      struct block *block, uint32_t seq, uint32_t len)
{
	struct segment *segment = calloc(1, sizeof(*segment));
	struct segment *prev = next ? next->prev : flow->tail;

	if (!segment)
		return NULL;
	account(flow, sizeof(*segment));
	block->users++;
	segment->block = block;
	segment->seq = seq;
	segment->len = len;
	segment->prev = prev;
	segment->next = next;
	if (prev)
		prev->next = segment;
	else
		flow->head = segment;
	if (next)
		next->prev = segment;
	else
		flow->tail = segment;
	/* sent segments lie before all unsent ones */
	if (flow->unsent == next)
		flow->unsent = segment;
	return segment;
}

struct segment *bank_cut(struct flow *flow, struct segment *segment,
			 uint32_t len)
{
	struct segment *rest = insert(flow, segment->next, segment->block,
				      segment->seq + len, segment->len - len);

	if (!rest)
		return NULL;
	rest->push = segment->push;
	rest->fin = segment->fin;
	/* the second half was sent if the first one was */
	if (segment->sent && flow->unsent == rest)
		flow->unsent = rest->next;
	rest->sent = segment->sent;
	rest->in_flight = segment->in_flight;
	rest->lost = segment->lost;
	rest->again = segment->again;
	rest->sacked = segment->sacked;
	flow->sacked_segments += segment->sacked;
	rest->sent_us = segment->sent_us;
	rest->delivered = segment->delivered;
	rest->delivered_us = segment->delivered_us;
	rest->first_sent_us = segment->first_sent_us;
	rest->app_limited = segment->app_limited;
	segment->push = false;
	segment->fin = false;
	segment->len = len;
	return rest;
}

/* The most payload of a packet to the client with so many bytes of TCP options. */
uint32_t bank_largest(const struct flow *flow, uint32_t options)
{
	return flow->client_mss - options;
}

static uint32_t largest(const struct flow *flow, const struct packet *packet)
{
	return bank_largest(flow, packet->payload_at - packet->tcp_at - 20);
}

/* Make segments of [from, to) before @next. Returns the last one, or NULL. */
static struct segment *fill(struct flow *flow, struct segment *next,
			    struct block *block, const struct packet *packet,
			    uint32_t from, uint32_t to)
{
	uint32_t most = largest(flow, packet);
	struct segment *last = NULL;

	while (before(from, to)) {
		uint32_t len = to - from < most ? to - from : most;
		struct segment *one = insert(flow, next, block, from, len);

		if (!one)
			break;
		last = one;
		from += len;
	}
	return last;
}

/* The first segment whose end is after @seq, searched from the back. */
static struct segment *behind(const struct flow *flow, uint32_t seq)
{
	struct segment *at = flow->tail, *found = NULL;

	for (; at && after(segment_end(at), seq); at = at->prev)
		found = at;
	return found;
}

/* Store the packet's new data into the holes. Returns the number of new bytes. */
static uint32_t store(struct flow *flow, const struct packet *packet,
		      struct block *block)
{
	uint32_t from = seq_max(packet->seq, flow->rcv_nxt);
	uint32_t to = packet->seq + packet->payload_len, stored = 0;
	struct segment *next = behind(flow, from), *last = NULL;

	while (before(from, to)) {
		uint32_t stop;

		if (next && !after(next->seq, from)) {
			from = segment_end(next);
			next = next->next;
			continue;
		}
		stop = next ? seq_min(to, next->seq) : to;
		last = fill(flow, next, block, packet, from, stop);
		if (!last)
			return stored;
		stored += segment_end(last) - from;
		from = segment_end(last);
		if (from != stop)
			return stored;
	}
	if (last && segment_end(last) == to)
		last->push = packet->flags & TCP_PSH;
	return stored;
}

/* Store a FIN: a segment of its own, the last one. */
static void store_fin(struct flow *flow, const struct packet *packet,
		      struct block *block)
{
	uint32_t seq = packet->seq + packet->payload_len;
	struct segment *segment;

	if (flow->fin_seen || before(seq, flow->rcv_nxt) ||
	    (flow->tail && after(segment_end(flow->tail), seq)))
		return;
	segment = insert(flow, NULL, block, seq, 0);
	if (!segment)
		return;
	segment->fin = true;
	flow->fin_seen = true;
	flow->fin_seq = seq;
}

static void advance(struct flow *flow)
{
	const struct segment *at = behind(flow, flow->rcv_nxt);

	for (; at && at->seq == flow->rcv_nxt; at = at->next)
		flow->rcv_nxt = segment_end(at);
}

/* Does it acknowledge no less than the server did before, and no more than was sent? */
static bool ack_is_right(const struct flow *flow, const struct packet *packet)
{
	return packet->flags & TCP_ACK &&
	       !before(packet->ack, flow->server_ack) &&
	       !after(packet->ack, flow->client_nxt);
}

static void note_server(struct flow *flow, const struct packet *packet)
{
	if (packet->has_stamp && !before(packet->tsval, flow->ts_recent) &&
	    !after(packet->seq, flow->rcv_nxt))
		flow->ts_recent = packet->tsval;
	if (!ack_is_right(flow, packet))
		return;
	flow->server_ack = packet->ack;
	flow->server_window = packet->window;
	if (packet->has_stamp)
		flow->server_tsecr = packet->tsecr;
}

/*
 * Pass a packet without data at once: it has an acknowledgment, or an MPTCP option.
 * The client accepts no segment from beyond its window, nor one with an older time
 * stamp than it has seen, so both are changed if need be. Banked data comes after it.
 */
static enum split_verdict pass_bare(struct flow *flow, struct packet *packet)
{
	uint8_t *tcp = packet->data + packet->tcp_at;
	bool far = after(packet->seq, flow->right_edge);
	bool late = packet->has_stamp &&
		    before(packet->tsval, flow->tsval_out);

	/* a window probe or a keepalive */
	if (before(packet->seq, flow->rcv_nxt)) {
		flow->unacked = 2;
		early_send(flow);
	}
	if (packet->has_stamp && !late && ack_is_right(flow, packet))
		flow->tsval_out = packet->tsval;
	if (!far && !late)
		return SPLIT_PASS;
	if (far)
		tcp_set_seq(tcp, flow->right_edge);
	if (late)
		put32(packet->data + packet->stamp_at, flow->tsval_out);
	packet_seal(packet->data, packet->len);
	return SPLIT_CHANGED;
}

static enum split_verdict duplicate(struct flow *flow,
				    const struct packet *packet)
{
	flow->split->counters.duplicates++;
	flow->dsack.from = packet->seq;
	flow->dsack.to = packet->seq + packet->payload_len;
	/* a D-SACK has to lie below the acknowledgment, else it is read as new data */
	flow->has_dsack = packet->payload_len &&
			  !after(flow->dsack.to, flow->ack_out);
	if (!flow->has_dsack)
		early_send(flow);
	early_wanted(flow);
	return SPLIT_TAKEN;
}

/* Mark the unsent segments as sent: the packet that they are of goes on itself. */
static void sent_as_it_is(struct flow *flow, uint64_t now_us)
{
	while (flow->unsent)
		deliver_sent(flow, flow->unsent, now_us);
	deliver_start_timers(flow, now_us);
}

static bool is_stale(const struct flow *flow, const struct packet *packet)
{
	uint32_t end = packet->seq + packet->payload_len;

	return !packet->has_stamp || before(packet->tsval, flow->ts_recent) ||
	       end - flow->una > flow->split->options.flow_bytes;
}

enum split_verdict bank_packet(struct flow *flow, struct packet *packet,
			       uint64_t now_us)
{
	bool fin = packet->flags & TCP_FIN;
	uint32_t end = packet->seq + packet->payload_len, stored;
	uint32_t rcv_nxt = flow->rcv_nxt;
	struct split *split = flow->split;
	struct block *block;
	bool at_once;

	if (!packet->payload_len && !fin) {
		note_server(flow, packet);
		return pass_bare(flow, packet);
	}
	if (packet->payload_at - packet->tcp_at - 20 + 40 >= flow->client_mss)
		return SPLIT_TAKEN;
	if (!after(end + fin, flow->rcv_nxt)) {
		note_server(flow, packet);
		return duplicate(flow, packet);
	}
	if (is_stale(flow, packet))
		return duplicate(flow, packet);
	if (!has_room(flow, packet->len + sizeof(struct block))) {
		split->counters.dropped++;
		return SPLIT_TAKEN;
	}
	block = block_new(flow, packet);
	if (!block)
		return SPLIT_TAKEN;
	note_server(flow, packet);
	at_once = deliver_at_once(flow, packet, now_us);
	stored = store(flow, packet, block);
	if (fin)
		store_fin(flow, packet, block);
	block_put(flow, block);
	flow->received_bytes += stored;
	split->counters.received_bytes += stored;
	advance(flow);
	if (flow->rcv_nxt == rcv_nxt)
		flow->last_hole_seq = packet->seq;
	flow->unacked += 1 + packet->payload_len / flow->client_mss;
	early_wanted(flow);
	if (at_once && flow->rcv_nxt == end + fin) {
		sent_as_it_is(flow, now_us);
		return SPLIT_PASS;
	}
	deliver_send(flow, now_us);
	return SPLIT_TAKEN;
}
