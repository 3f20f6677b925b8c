// SPDX-License-Identifier: GPL-2.0
/*
 * store - a flow's segments, in order of their sequence numbers
 *
 * There may be holes between segments, but no overlaps. A packet larger than the
 * client's maximum segment size is cut: each piece has the packet's options, since
 * an MPTCP mapping may be repeated.
 */
#include <stdlib.h>
#include <string.h>

#include "flow.h"

static void account(struct flow *flow, int64_t bytes)
{
	struct split *split = flow->split;

	flow->memory += bytes;
	flow->owner->memory += bytes;
	split->memory += bytes;
	if (split->memory > split->counters.memory_max)
		split->counters.memory_max = split->memory;
}

/*
 * Has the store room for so many bytes? A client's flows use no more than what is still free,
 * so a client leaves half of what it found free for others: data behind a hole may stay a day.
 */
bool store_has_room(const struct flow *flow, uint64_t bytes)
{
	const struct split_options *options = &flow->split->options;
	uint64_t free_bytes = options->total_bytes - flow->split->memory;

	return flow->split->memory + bytes <= options->total_bytes &&
	       flow->memory + bytes <= options->flow_bytes &&
	       flow->owner->memory + bytes <= options->client_bytes &&
	       flow->owner->memory + bytes <= free_bytes;
}

void block_put(struct flow *flow, struct block *block)
{
	if (--block->users)
		return;
	account(flow, -(int64_t)block->size);
	free(block);
}

struct block *block_new(struct flow *flow, const struct packet *packet)
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

void store_drop_first(struct flow *flow)
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

void store_empty(struct flow *flow)
{
	while (flow->head)
		store_drop_first(flow);
	flow->in_flight = 0;
	flow->lost_bytes = 0;
	flow->sacked_segments = 0;
}

/* Insert a new segment before @next, or at the end if @next is NULL. */
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
	/* new data lies behind all data that was sent */
	if (flow->unsent == next)
		flow->unsent = segment;
	return segment;
}

struct segment *store_cut(struct flow *flow, struct segment *segment,
			  uint32_t len)
{
	struct segment *rest = insert(flow, segment->next, segment->block,
				      segment->seq + len, segment->len - len);

	if (!rest)
		return NULL;
	rest->push = segment->push;
	rest->fin = segment->fin;
	/* the rest was sent, too, if the segment was; if not, the values below don't matter */
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

/* The most payload of a segment with so many bytes of TCP options. */
uint32_t store_largest(const struct flow *flow, uint32_t options)
{
	return flow->client_mss - options;
}

static uint32_t largest(const struct flow *flow, const struct packet *packet)
{
	return store_largest(flow, packet->payload_at - packet->tcp_at - 20);
}

/* Insert segments for [from, to) before @next. The last one that was inserted, or NULL. */
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

/* Store the packet's data that isn't stored yet. The number of new bytes. */
uint32_t store_data(struct flow *flow, const struct packet *packet,
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

/* Store a FIN as a segment of its own, which is the flow's last one. */
void store_fin(struct flow *flow, const struct packet *packet,
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

void store_advance(struct flow *flow)
{
	const struct segment *at = behind(flow, flow->rcv_nxt);

	for (; at && at->seq == flow->rcv_nxt; at = at->next)
		flow->rcv_nxt = segment_end(at);
}
