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

/* Send on the packet that the block was copied from, or drop it, if it is held. */
void block_let(struct flow *flow, struct block *block, bool send)
{
	struct split *split = flow->split;

	if (!block->held)
		return;
	split->let(split->let_arg, block->held, send);
	split->held--;
	block->held = 0;
}

void block_put(struct flow *flow, struct block *block)
{
	if (--block->users)
		return;
	block_let(flow, block, false);
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

static void drop(struct flow *flow, struct segment *segment)
{
	if (segment->prev)
		segment->prev->next = segment->next;
	else
		flow->head = segment->next;
	if (segment->next)
		segment->next->prev = segment->prev;
	else
		flow->tail = segment->prev;
	if (flow->unsent == segment)
		flow->unsent = segment->next;
	if (flow->lost_from == segment)
		flow->lost_from = segment->next;
	block_put(flow, segment->block);
	account(flow, -(int64_t)sizeof(*segment));
	free(segment);
}

void store_drop_first(struct flow *flow)
{
	drop(flow, flow->head);
}

static void end_run(struct flow *flow, struct run *run)
{
	runs_remove(&flow->runs, run);
	account(flow, -(int64_t)sizeof(*run));
}

/* Drop the last segment, which lies beyond the first hole. */
static void drop_last(struct flow *flow)
{
	struct run *run = flow->runs.last;
	struct segment *segment = flow->tail;

	run->to = segment->seq;
	if (segment->fin)
		flow->fin_seen = false;
	if (run->head == segment)
		end_run(flow, run);
	drop(flow, segment);
}

/*
 * Make room for so many bytes of a packet: what lies behind the packet is dropped for it, from
 * the end on, if it lies beyond the first hole. The server knows of that by a SACK only, and
 * sends it again (RFC 2018, 8). So what fills a hole is taken, however much lies behind the
 * hole; Linux does the same (tcp_prune_ofo_queue()). False: there is no room.
 */
bool store_make_room(struct flow *flow, const struct packet *packet, uint64_t bytes)
{
	uint32_t end = packet->seq + packet->payload_len;

	while (!store_has_room(flow, bytes)) {
		if (!flow->runs.first || before(flow->tail->seq, end))
			return false;
		drop_last(flow);
	}
	return true;
}

void store_empty(struct flow *flow)
{
	while (flow->runs.first)
		end_run(flow, flow->runs.first);
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

/*
 * Insert segments for [from, to) before @next, as far as there is memory. The first one that was
 * inserted, or NULL; @end is set to where they end.
 */
static struct segment *fill(struct flow *flow, struct segment *next,
			    struct block *block, const struct packet *packet,
			    uint32_t from, uint32_t to, uint32_t *end)
{
	uint32_t most = largest(flow, packet);
	struct segment *first = NULL;

	for (*end = from; before(*end, to); ) {
		uint32_t len = to - *end < most ? to - *end : most;
		struct segment *one = insert(flow, next, block, *end, len);

		if (!one)
			break;
		if (!first)
			first = one;
		*end += len;
		one->push = packet->flags & TCP_PSH &&
			    *end == packet->seq + packet->payload_len;
	}
	return first;
}

/* What was missing before the first run may have come. */
static void advance(struct flow *flow)
{
	struct run *run;

	while ((run = flow->runs.first) && run->from == flow->rcv_nxt) {
		flow->rcv_nxt = run->to;
		end_run(flow, run);
	}
}

/*
 * Set @run, which is the last one that begins before @from, to the one that data from there on
 * lengthens: an empty one if there is none, NULL if the data is in order. False: no memory.
 */
static bool find_end(struct flow *flow, struct run **run, uint32_t from)
{
	if (from == flow->rcv_nxt || (*run && (*run)->to == from))
		return true;
	*run = runs_add(&flow->runs, *run, from, flow->split->options.seed);
	if (*run)
		account(flow, sizeof(**run));
	return *run;
}

/* Note that data up to @end is there, from the segment @first on; NULL: there was no memory. */
static void lengthen(struct flow *flow, struct run *run, struct segment *first, uint32_t end)
{
	if (!run) {
		flow->rcv_nxt = end;
	} else if (!first) {
		if (run->from == run->to)
			end_run(flow, run);
	} else {
		if (run->from == run->to)
			run->head = first;
		run->to = end;
	}
}

/* Is the packet's data, which lies beyond the first hole, already here? */
bool store_has_all(const struct flow *flow, const struct packet *packet)
{
	const struct run *run = runs_find(&flow->runs, packet->seq);

	return run && !after(packet->seq + packet->payload_len, run->to);
}

/* Store the packet's data that isn't stored yet. The number of new bytes. */
uint32_t store_data(struct flow *flow, const struct packet *packet,
		    struct block *block)
{
	uint32_t from = seq_max(packet->seq, flow->rcv_nxt);
	uint32_t to = packet->seq + packet->payload_len, stored = 0;
	struct run *run = runs_find(&flow->runs, from);

	while (before(from, to)) {
		struct run *next = run ? run->next : flow->runs.first;
		uint32_t stop = next ? seq_min(to, next->from) : to, end;
		struct segment *first;

		if (run && after(run->to, from)) {
			from = run->to;
			continue;
		}
		if (!find_end(flow, &run, from))
			break;
		first = fill(flow, next ? next->head : NULL, block, packet, from, stop, &end);
		lengthen(flow, run, first, end);
		stored += end - from;
		if (!next || end != next->from)
			break;
		/* the gap is closed */
		if (run) {
			run->to = next->to;
			end_run(flow, next);
			from = run->to;
		} else {
			advance(flow);
			from = flow->rcv_nxt;
		}
	}
	return stored;
}

/* Store a FIN as a segment of its own, which is the flow's last one. */
void store_fin(struct flow *flow, const struct packet *packet,
	       struct block *block)
{
	uint32_t seq = packet->seq + packet->payload_len;
	struct run *run = flow->runs.last;
	struct segment *segment;

	if (flow->fin_seen || before(seq, flow->rcv_nxt) ||
	    (flow->tail && after(segment_end(flow->tail), seq)) ||
	    !find_end(flow, &run, seq))
		return;
	segment = insert(flow, NULL, block, seq, 0);
	lengthen(flow, run, segment, segment ? seq + 1 : seq);
	if (!segment)
		return;
	segment->fin = true;
	flow->fin_seen = true;
	flow->fin_seq = seq;
}
