// SPDX-License-Identifier: GPL-2.0
/*
 * bank - takes packets from the server: keeps their data until the client has it
 *
 * store.c keeps the data. A packet that comes in order while no data waits is passed on
 * unchanged. One that offload has put together is held where it is, in the kernel, and sent on
 * whole when it is its turn; the copy here is for what gets lost. A packet that can't be the
 * server's own is dropped if it has data, else passed; it changes nothing in the flow's state. Of
 * a packet that is too long for the queue only the beginning was seen: that is kept, and the
 * server sends the rest again.
 */
#include "flow.h"

#define HELD_MAX	256
/* a time stamp of microseconds' has wrapped then (Linux's TCP_PAWS_WRAP) */
#define STAMP_AGE_US	(2147 * SECOND_US)

/* Can the packet be the server's own? Its acknowledgment is checked as in RFC 5961, 5.2. */
static bool is_the_servers(const struct flow *flow, const struct packet *packet)
{
	uint32_t window = (uint32_t)flow->client_window << flow->client_scale;

	return packet->flags & TCP_ACK &&
	       lies_in(packet->ack, flow->server_ack - LATE_BYTES,
		       flow->client_nxt) &&
	       is_near(packet->seq, flow->una, window);
}

/* Does the packet acknowledge no less than the server did before, and no more than was sent? */
static bool ack_is_right(const struct flow *flow, const struct packet *packet)
{
	return packet->flags & TCP_ACK &&
	       !before(packet->ack, flow->server_ack) &&
	       !after(packet->ack, flow->client_nxt);
}

static bool stamp_is_old(const struct flow *flow, const struct packet *packet, uint64_t now_us)
{
	return before(packet->tsval, flow->ts_recent) &&
	       now_us - flow->ts_recent_us < STAMP_AGE_US;
}

/* Where the core answers, a time stamp counts only from the last answer on (RFC 7323, 4.3). */
static void note_server(struct flow *flow, const struct packet *packet, uint64_t now_us)
{
	uint32_t end = packet->seq + packet->payload_len;

	if (packet->has_stamp && !stamp_is_old(flow, packet, now_us) &&
	    !after(packet->seq, flow->rcv_nxt) &&
	    (flow->passing || !before(end, flow->ack_out))) {
		flow->ts_recent = packet->tsval;
		flow->ts_recent_us = now_us;
	}
	if (!ack_is_right(flow, packet))
		return;
	flow->server_ack = packet->ack;
	flow->server_window = packet->window;
	if (packet->has_stamp)
		flow->server_tsecr = packet->tsecr;
}

/*
 * Pass a packet without data at once, for its acknowledgment or its MPTCP option. It may
 * overtake banked data, but the client accepts no segment beyond its window, and no time
 * stamp older than the newest it has seen: so both are changed if necessary.
 */
static enum split_verdict pass_bare(struct flow *flow, struct packet *packet)
{
	uint8_t *tcp = packet->data + packet->tcp_at;
	bool far = after(packet->seq, flow->right_edge);
	bool late = packet->has_stamp &&
		    before(packet->tsval, flow->tsval_out);

	/* a window probe or keepalive: if data waits, answer it here, else the client does */
	if (before(packet->seq, flow->rcv_nxt) && flow->una != flow->rcv_nxt && !flow->passing) {
		flow->unacked = 2;
		early_answer(flow);
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
	/* a D-SACK must lie below the acknowledgment, else it is taken for the SACK of new data */
	flow->has_dsack = packet->payload_len &&
			  !after(flow->dsack.to, flow->ack_out);
	if (!flow->has_dsack)
		early_answer(flow);
	early_wanted(flow);
	return SPLIT_TAKEN;
}

/* Mark the unsent segments as sent: the packet that they were made from is passed on. */
static void sent_as_it_is(struct flow *flow, uint64_t now_us)
{
	while (flow->unsent && before(flow->unsent->seq, flow->rcv_nxt))
		deliver_sent(flow, flow->unsent, now_us);
	deliver_start_timers(flow, now_us);
}

/*
 * Note a packet that the server sends again while the flow is passed. Its segments count as sent
 * now: of their acknowledgment it isn't known which transmission it is for.
 */
static void sent_again(struct flow *flow, const struct packet *packet, uint64_t now_us)
{
	uint32_t end = packet->seq + packet->payload_len;

	for (struct segment *at = flow->head; at && at->sent && before(at->seq, end); at = at->next)
		if (!before(at->seq, packet->seq) && !at->sacked)
			deliver_sent(flow, at, now_us);
}

static bool is_stale(const struct flow *flow, const struct packet *packet, uint64_t now_us)
{
	uint32_t end = packet->seq + packet->payload_len;

	return !packet->has_stamp || stamp_is_old(flow, packet, now_us) ||
	       end - flow->una > flow->split->options.flow_bytes;
}

/*
 * Hold a packet that offload has put together, of which all is new and in order: it can be sent on
 * whole. The kernel looks through all that are held to find one, so they aren't many.
 */
static bool hold(struct flow *flow, const struct packet *packet, struct block *block,
		 uint32_t stored)
{
	struct split *split = flow->split;

	if (!split->let || !split->offered || split->held == HELD_MAX || packet->cut ||
	    packet->flags & TCP_FIN || packet->sack_at || stored != packet->payload_len ||
	    flow->rcv_nxt != packet->seq + stored ||
	    stored <= store_largest(flow, packet->payload_at - packet->tcp_at - 20))
		return false;
	block->held = split->offered;
	split->held++;
	return true;
}

/* Store the packet's data, and count it. Is the packet itself held? */
static bool store(struct flow *flow, const struct packet *packet, struct block *block,
		  bool may_hold)
{
	uint32_t rcv_nxt = flow->rcv_nxt;
	uint32_t stored = store_data(flow, packet, block);
	bool held = may_hold && hold(flow, packet, block, stored);

	if (packet->flags & TCP_FIN)
		store_fin(flow, packet, block);
	block_put(flow, block);
	flow->received_bytes += stored;
	flow->split->counters.received_bytes += stored;
	if (flow->rcv_nxt == rcv_nxt)
		flow->last_hole_seq = packet->seq;
	return held;
}

/*
 * Pass a packet with data as it is, and keep its data until the client has it, so that splitting
 * can begin at any time. A flow of which something can't be kept is left for good: nothing is
 * dropped for it, since that was passed before, and the server doesn't send it again.
 */
static enum split_verdict pass(struct flow *flow, struct packet *packet, uint64_t now_us)
{
	uint32_t end = packet->seq + packet->payload_len + !!(packet->flags & TCP_FIN);
	bool had_hole = flow->runs.first;
	struct block *block;

	if (packet->has_stamp)
		flow->tsval_out = seq_max(flow->tsval_out, packet->tsval);
	if (!after(end, flow->rcv_nxt)) {
		note_server(flow, packet, now_us);
		sent_again(flow, packet, now_us);
		return SPLIT_PASS;
	}
	if (packet->cut || is_stale(flow, packet, now_us) ||
	    !store_has_room(flow, packet->len + sizeof(struct block)))
		return SPLIT_LEAVE;
	block = block_new(flow, packet);
	if (!block)
		return SPLIT_LEAVE;
	note_server(flow, packet, now_us);
	store(flow, packet, block, false);
	sent_as_it_is(flow, now_us);
	if (flow->runs.first || had_hole)
		flow->unclear = flow->runs.first ? flow->runs.last->to : flow->rcv_nxt;
	return SPLIT_PASS;
}

enum split_verdict bank_packet(struct flow *flow, struct packet *packet,
			       uint64_t now_us)
{
	bool fin = packet->flags & TCP_FIN;
	uint32_t end = packet->seq + packet->payload_len;
	struct split *split = flow->split;
	struct block *block;
	bool at_once, held;

	if (!is_the_servers(flow, packet))
		return (packet->payload_len || fin) && !flow->passing ? SPLIT_TAKEN : SPLIT_PASS;
	if (!packet->payload_len && !fin) {
		note_server(flow, packet, now_us);
		return pass_bare(flow, packet);
	}
	if (packet->payload_at - packet->tcp_at - 20 + 40 >= flow->client_mss)
		return flow->passing ? SPLIT_LEAVE : SPLIT_TAKEN;
	if (flow->passing)
		return pass(flow, packet, now_us);
	if (!after(end + fin, flow->rcv_nxt)) {
		note_server(flow, packet, now_us);
		return duplicate(flow, packet);
	}
	if (is_stale(flow, packet, now_us))
		return duplicate(flow, packet);
	if (!fin && store_has_all(flow, packet)) {
		flow->last_hole_seq = packet->seq;
		return duplicate(flow, packet);
	}
	if (!store_make_room(flow, packet, packet->len + sizeof(struct block))) {
		split->counters.dropped++;
		return SPLIT_TAKEN;
	}
	block = block_new(flow, packet);
	if (!block)
		return SPLIT_TAKEN;
	note_server(flow, packet, now_us);
	at_once = !packet->cut && deliver_at_once(flow, packet, now_us);
	held = store(flow, packet, block, !at_once);
	flow->unacked += 1 + packet->payload_len / flow->client_mss;
	early_wanted(flow);
	if (at_once && flow->rcv_nxt == end + fin) {
		sent_as_it_is(flow, now_us);
		return SPLIT_PASS;
	}
	deliver_send(flow, now_us);
	return held ? SPLIT_HELD : SPLIT_TAKEN;
}
