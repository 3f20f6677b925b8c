// SPDX-License-Identifier: GPL-2.0
/*
 * split - takes packets, runs timers, and steps out of flows
 *
 * While nothing of a flow is banked, its two ends are consistent without the
 * splitter, which can then step out of it. Any other flow can only be reset.
 */
#include <stdlib.h>
#include <string.h>

#include "flow.h"

#define OPENING_US	(75 * SECOND_US)	/* a handshake without packets ends after this */
#define LEFT_US		(5 * SECOND_US)		/* in this time the last queued packets come */
#define IDLE_US		(6 * 24 * 3600 * SECOND_US)	/* longer than conntrack keeps its mark */
#define YIELD_US	(9000 * SECOND_US)	/* idle for longer than keep-alives pause */
#define DRAIN_US	(2 * SECOND_US)		/* a leaving flow waits for unacknowledged data */
#define HOP_MTU_MIN_V4	552	/* smaller MTUs aren't believed, as in Linux */
#define HOP_MTU_MIN_V6	1280

const struct split_options split_defaults = {
	.limit_bytes = 128 << 10,
	.limit_us = 200000,
	.flow_bytes = 4 << 20,
	.client_bytes = 16 << 20,
	.total_bytes = 64 << 20,
	.flows_max = 1000,
	.silent_us = 20000000,
};

struct split *split_new(const struct split_options *options, split_out_fn out,
			void *arg)
{
	struct split *split = calloc(1, sizeof(*split));

	if (!split)
		return NULL;
	split->options = *options;
	split->out = out;
	split->arg = arg;
	split->buckets = table_new();
	split->heap = calloc(options->flows_max + 1, sizeof(*split->heap));
	if (split->buckets && split->heap)
		return split;
	split_free(split);
	return NULL;
}

void split_free(struct split *split)
{
	if (!split)
		return;
	while (split->flows)
		flow_free(split->flows);
	free(split->buckets);
	free(split->heap);
	free(split);
}

void split_may_hold(struct split *split, split_let_fn let, void *arg)
{
	split->let = let;
	split->let_arg = arg;
}

/* Refuse a packet, other than a SYN, of an unknown flow: an old one, or one that was reset. */
static enum split_verdict unknown(struct split *split,
				  const struct packet *packet)
{
	split->counters.unknown++;
	return packet->flags & TCP_RST ? SPLIT_PASS : SPLIT_REFUSED;
}

/* Can the core step out of a leaving flow? Stored data is still sent, for DRAIN_US at most. */
static bool may_leave(const struct flow *flow, uint64_t now_us)
{
	return flow->leaving && flow_is_through(flow) &&
	       (!flow->head || flow->passing || now_us - flow->leave_us > DRAIN_US);
}

static void start_leaving(struct flow *flow, uint64_t now_us)
{
	if (flow->leaving)
		return;
	flow->leaving = true;
	flow->leave_us = now_us;
}

/* --- timers --- */

/* Is it passed, and does the client owe an answer? Nothing is sent from here that it might miss. */
static bool waits_for_client(const struct flow *flow)
{
	return flow->passing && flow->head && flow->head->sent;
}

static uint64_t end_of_life(const struct flow *flow)
{
	switch (flow->state) {
	case OPENING:
	case ANSWERED:
		return flow->used_us + OPENING_US;
	case LEFT:
		/* after both FINs there may be no more packet to give the verdict SPLIT_LEAVE on */
		if (!flow->told && flow->fin_seen && flow->client_fin)
			return flow->used_us + OPENING_US;
		return flow->used_us + (flow->told ? LEFT_US : IDLE_US);
	case SPLITTING:
		break;
	}
	if (flow->leaving && flow_is_through(flow))
		return flow->leave_us + DRAIN_US + 1;
	if (waits_for_client(flow))
		return flow->heard_us + flow->split->options.silent_us + 2ULL * flow->rto_us;
	return flow->used_us + IDLE_US;
}

static void set_timer(struct flow *flow)
{
	uint64_t at = end_of_life(flow);

	at = lesser(at, flow->ack_by_us);
	at = lesser(at, flow->rto_at_us);
	at = lesser(at, flow->probe_at_us);
	at = lesser(at, flow->reorder_at_us);
	at = lesser(at, flow->persist_at_us);
	at = lesser(at, deliver_next_us(flow));
	heap_set(flow, at);
}

static void leave(struct flow *flow, uint64_t now_us)
{
	/* what waits for it, such as a window that has opened, isn't said again by the client */
	if (flow->state == SPLITTING &&
	    (after(flow->una, flow->ack_out) || flow->ack_by_us != NEVER_US))
		early_send(flow);
	store_empty(flow);
	lend_forget(flow);
	flow_forget_to_ack(flow);
	flow_stop_timers(flow);
	flow->state = LEFT;
	flow->used_us = now_us;
	set_timer(flow);
}

static void end(struct flow *flow)
{
	if (flow->state == SPLITTING)
		flow_reset(flow, RESET_UNSPECIFIED);
	else
		flow_free(flow);
}

static void run_timers(struct flow *flow, uint64_t now_us)
{
	if (now_us >= end_of_life(flow) &&
	    (flow->state != SPLITTING || flow_is_through(flow))) {
		if (flow->state == SPLITTING && (flow->leaving || waits_for_client(flow)))
			leave(flow, now_us);
		else
			end(flow);
		return;
	}
	if (flow->ack_by_us <= now_us)
		early_answer(flow);
	if (flow->reorder_at_us <= now_us)
		acked_find_lost(flow, now_us);
	if (!deliver_timers(flow, now_us)) {
		flow_reset(flow, RESET_PERFORMANCE);
		return;
	}
	deliver_send(flow, now_us);
	set_timer(flow);
}

/* Let each flow that waits for the cap send once, while the cap allows it. */
static void take_turns(struct split *split, uint64_t now_us)
{
	for (unsigned int i = split->count; i; i--) {
		struct flow *flow = lend_begin_turn(split, now_us);

		if (!flow)
			return;
		deliver_send(flow, now_us);
		lend_end_turn(split);
		set_timer(flow);
	}
}

uint64_t split_next_us(const struct split *split)
{
	uint64_t at = split->heap_count ? split->heap[1]->timer_us : NEVER_US;

	return lesser(at, lend_next_us(split));
}

void split_timers(struct split *split, uint64_t now_us)
{
	/* each flow once: a flow that is due again at once waits for the next call */
	for (unsigned int i = split->heap_count; i; i--) {
		if (!split->heap_count || split->heap[1]->timer_us > now_us)
			break;
		run_timers(split->heap[1], now_us);
	}
	take_turns(split, now_us);
}

void split_lend(struct split *split, uint64_t byteps)
{
	split->options.lend_byteps = byteps;
}

uint64_t split_cap(const struct split *split)
{
	return split->options.lend_byteps;
}

void split_flush(struct split *split, uint64_t now_us)
{
	while (split->to_ack) {
		struct flow *flow = split->to_ack;

		split->to_ack = flow->next_to_ack;
		flow->to_ack = false;
		early_flush(flow, now_us);
		set_timer(flow);
	}
}

/* --- packets --- */

static void key_of(struct flow_key *key, const struct packet *packet,
		   bool to_server)
{
	memset(key, 0, sizeof(*key));
	key->client = to_server ? packet->source : packet->target;
	key->server = to_server ? packet->target : packet->source;
	key->client_port = to_server ? packet->source_port
				     : packet->target_port;
	key->server_port = to_server ? packet->target_port
				     : packet->source_port;
}

static enum split_verdict refuse(struct split *split,
				 const struct packet *packet)
{
	const struct split_end end = {
		.v6 = packet->v6,
		.client = packet->source,
		.server = packet->target,
		.client_port = packet->source_port,
		.server_port = packet->target_port,
		.to_client_ack = packet->seq + 1,
	};

	split->counters.refused++;
	reset_send(split, &end, TO_CLIENT, RESET_PROHIBITED);
	return SPLIT_TAKEN;
}

/*
 * If all places are taken, the flow that was idle longest gives up its own. Conntrack may have lost
 * its mark, as when a link gets another address; then none of its packets comes here any more.
 */
static void make_room(struct split *split, uint64_t now_us)
{
	struct flow *oldest = split->flows;

	if (!oldest || split->count < split->options.flows_max)
		return;
	for (struct flow *flow = oldest->next; flow; flow = flow->next)
		if (flow->used_us < oldest->used_us)
			oldest = flow;
	if (now_us - oldest->used_us > YIELD_US)
		end(oldest);
}

static enum split_verdict take_syn(struct split *split, struct packet *packet,
				   uint64_t now_us)
{
	enum split_verdict verdict;
	struct flow_key key;
	struct flow *flow;

	key_of(&key, packet, true);
	flow = flow_find(split, &key, packet->v6);
	if (flow && packet->seq != flow->client_isn) {
		if (flow->state == ANSWERED || flow->state == SPLITTING)
			return open_other_syn(flow, packet);
		flow_free(flow);	/* a new connection uses the ports again */
		flow = NULL;
	}
	if (!flow && split->lends_nothing)
		return refuse(split, packet);
	if (!flow && lend_puts_off(split, packet->seq))
		return SPLIT_TAKEN;
	if (!flow && !split->draining) {
		make_room(split, now_us);
		flow = flow_new(split, &key, packet->v6);
	}
	if (!flow) {
		split->counters.refused++;
		return SPLIT_LEAVE;
	}
	verdict = open_syn(flow, packet);
	flow->used_us = now_us;
	flow->told |= verdict == SPLIT_LEAVE;
	set_timer(flow);
	return verdict;
}

/* Count a packet's bytes, with the headers of all packets that offload has merged into it. */
static void count_lent(struct flow *flow, const struct packet *packet)
{
	uint32_t options = packet->payload_at - packet->tcp_at - 20;
	uint32_t most = flow->client_mss > options ? flow->client_mss - options
						   : 1;
	uint32_t more = packet->payload_len ? (packet->payload_len - 1) / most
					    : 0;

	flow->split->counters.lent_bytes += packet->len +
					    more * packet->payload_at;
}

static enum split_verdict downward(struct flow *flow, struct packet *packet,
				   uint64_t now_us)
{
	count_lent(flow, packet);
	if (packet->flags & TCP_SYN)
		return open_answer(flow, packet, now_us);
	if (flow->state == OPENING)
		return SPLIT_PASS;	/* a packet of a former connection */
	/* no server sends data before it has the handshake's third packet */
	if (flow->state == ANSWERED)
		return packet->payload_len || packet->flags & TCP_FIN ? SPLIT_TAKEN : SPLIT_PASS;
	return bank_packet(flow, packet, now_us);
}

/* Take a RST, which ends the flow at once. The client may get two, as in flow_reset(). */
static enum split_verdict take_reset(struct flow *flow, struct packet *packet,
				     bool to_server)
{
	struct split *split = flow->split;
	uint8_t *tcp = packet->data + packet->tcp_at;
	enum split_verdict verdict = SPLIT_PASS;

	if (!to_server && flow->una != packet->seq &&
	    (flow->state == ANSWERED || flow->state == SPLITTING)) {
		tcp_set_seq(tcp, flow->una);
		packet_seal(packet->data, packet->len);
		split->out(split->arg, TO_CLIENT, packet->data, packet->len);
		tcp_set_seq(tcp, flow->snd_nxt);
		packet_seal(packet->data, packet->len);
		verdict = SPLIT_CHANGED;
	}
	flow_free(flow);
	return verdict;
}

/* Note that the verdict SPLIT_LEAVE was given: after it only packets already queued come. */
static void tell_left(struct flow *flow, uint64_t now_us)
{
	if (flow->told)
		return;
	flow->told = true;
	flow->used_us = now_us;
	set_timer(flow);
}

/*
 * Is the RST's sequence number exact, the next one or, as in an answer to an acknowledgment, that
 * one's? Otherwise the RST is forged, or data before it is missing. In doubt_reset(), a RST of
 * the server's is then replaced by an acknowledgment to the server: one that no longer has the
 * connection answers with an exact RST (RFC 5961, 3.2). A RST of the client's is passed on, for
 * the server to check.
 */
static bool reset_counts(const struct flow *flow, const struct packet *packet,
			 bool to_server)
{
	if (flow->state == OPENING)
		return to_server ? packet->seq == flow->client_isn + 1
				 : packet->ack == flow->client_isn + 1;
	if (to_server)
		return packet->seq == flow->server_ack || packet->seq == flow->client_nxt;
	return packet->seq == flow->ack_out || packet->seq == flow->rcv_nxt;
}

static enum split_verdict doubt_reset(struct flow *flow, bool to_server)
{
	if (to_server || flow->state == OPENING)
		return SPLIT_PASS;
	if (flow->data_ack_len)
		early_send(flow);
	else
		reset_provoke(flow);
	set_timer(flow);
	return SPLIT_TAKEN;
}

/* Is it a bare acknowledgment that is older than one which the server already has? */
static bool is_late(const struct flow *flow, const struct packet *packet)
{
	return packet->has_stamp && !packet->payload_len &&
	       !(packet->flags & TCP_FIN) &&
	       before(packet->tsval, flow->client_tsval);
}

static bool fit_into(uint16_t *mss, uint32_t headers, uint32_t mtu)
{
	if (mtu < headers + MSS_MIN || mtu - headers >= *mss)
		return false;
	*mss = mtu - headers;
	return true;
}

/* Lower the client's segment size. Stored segments that are too large are cut when sent. */
static void fit_client(struct flow *flow, uint32_t headers, uint32_t mtu)
{
	if (fit_into(&flow->client_mss, headers, mtu))
		flow->smaller = true;
}

static struct flow *find_splitting(struct split *split,
				   const struct packet *packet, bool to_server)
{
	struct flow_key key;
	struct flow *flow;

	key_of(&key, packet, to_server);
	flow = flow_find(split, &key, packet->v6);
	return flow && flow->state == SPLITTING ? flow : NULL;
}

/*
 * Take an ICMP message that a packet is too large for a hop. If it is about a packet to the
 * client, the server ignores it, as the data was acknowledged early; a packet to the server may
 * have been cut here. The message may be forged, so it has to be about data in flight.
 */
static void take_too_large(struct split *split, uint8_t *data, size_t len)
{
	uint32_t mtu, least, headers;
	struct packet packet;
	struct flow *flow;

	if (!packet_read_too_large(&packet, &mtu, data, len))
		return;
	headers = packet.tcp_at + 20;
	least = packet.v6 ? HOP_MTU_MIN_V6 : HOP_MTU_MIN_V4;
	if (mtu < least)
		mtu = least;
	flow = find_splitting(split, &packet, false);
	if (flow && !before(packet.seq, flow->una) &&
	    before(packet.seq, flow->snd_nxt))
		fit_client(flow, headers, mtu);
	flow = find_splitting(split, &packet, true);
	if (flow && !before(packet.seq, flow->server_ack) &&
	    before(packet.seq, flow->client_nxt))
		fit_into(&flow->server_mss, headers, mtu);
}

enum split_verdict split_packet(struct split *split, uint64_t now_us,
				uint8_t *data, size_t len)
{
	return split_offer(split, now_us, data, len, 0);
}

enum split_verdict split_offer(struct split *split, uint64_t now_us, uint8_t *data,
			       size_t len, uint32_t id)
{
	enum split_verdict verdict;
	struct packet packet;
	struct flow_key key;
	struct flow *flow;
	bool to_server = true;

	split->offered = id;
	if (!packet_read(&packet, data, len)) {
		take_too_large(split, data, len);
		return SPLIT_PASS;	/* the ends refuse an invalid packet */
	}
	if ((packet.flags & (TCP_SYN | TCP_ACK)) == TCP_SYN)
		return take_syn(split, &packet, now_us);
	key_of(&key, &packet, true);
	flow = flow_find(split, &key, packet.v6);
	if (!flow) {
		to_server = false;
		key_of(&key, &packet, false);
		flow = flow_find(split, &key, packet.v6);
	}
	if (!flow)
		return unknown(split, &packet);
	if (packet.flags & TCP_RST && flow->state != LEFT) {
		if (!reset_counts(flow, &packet, to_server))
			return doubt_reset(flow, to_server);
		return take_reset(flow, &packet, to_server);
	}
	if (flow->state == LEFT && to_server && is_late(flow, &packet))
		return SPLIT_TAKEN;
	if (flow->state == LEFT) {
		tell_left(flow, now_us);
		return SPLIT_LEAVE;
	}
	flow->used_us = now_us;
	if (to_server)
		verdict = upward_packet(flow, &packet, now_us);
	else
		verdict = downward(flow, &packet, now_us);
	if (flow->fin_seen && after(flow->una, flow->fin_seq))
		start_leaving(flow, now_us);
	if (verdict == SPLIT_LEAVE) {
		leave(flow, now_us);
		tell_left(flow, now_us);
	} else if (may_leave(flow, now_us)) {
		leave(flow, now_us);
	}
	set_timer(flow);
	return verdict;
}

void split_too_large(struct split *split, uint8_t *data, size_t len,
		     uint32_t mtu)
{
	struct packet packet;
	struct flow_key key;
	struct flow *flow;

	if (!packet_read(&packet, data, len))
		return;
	key_of(&key, &packet, false);
	flow = flow_find(split, &key, packet.v6);
	if (flow)
		fit_client(flow, packet.tcp_at + 20, mtu);
}

/* --- all flows --- */

void split_drain(struct split *split, uint64_t now_us)
{
	struct flow *flow, *next;

	split->draining = true;
	for (flow = split->flows; flow; flow = next) {
		next = flow->next;
		start_leaving(flow, now_us);
		if (flow->state == OPENING || flow->state == ANSWERED ||
		    may_leave(flow, now_us))
			leave(flow, now_us);
		set_timer(flow);
	}
}

bool split_drained(const struct split *split)
{
	for (const struct flow *flow = split->flows; flow; flow = flow->next)
		if (flow->state != LEFT)
			return false;
	return true;
}

static void reset_all(struct split *split, uint8_t reason)
{
	struct flow *flow, *next;

	for (flow = split->flows; flow; flow = next) {
		next = flow->next;
		if (flow->state != LEFT)
			flow_reset(flow, reason);
	}
}

void split_reset_all(struct split *split, uint64_t now_us)
{
	(void)now_us;
	reset_all(split, RESET_UNSPECIFIED);
}

void split_lend_nothing(struct split *split, bool nothing)
{
	split->lends_nothing = nothing;
	if (nothing)
		reset_all(split, RESET_PROHIBITED);
}

bool split_lends(const struct split *split)
{
	return !split->lends_nothing;
}

const struct split_counters *split_counters(const struct split *split)
{
	return &split->counters;
}

unsigned int split_flows(const struct split *split)
{
	return split->count;
}

uint64_t split_memory(const struct split *split)
{
	return split->memory;
}

void split_each(const struct split *split, split_info_fn fn, void *arg)
{
	for (const struct flow *flow = split->flows; flow; flow = flow->next) {
		const struct split_info info = {
			.v6 = flow->v6,
			.passing = flow->passing,
			.client = flow->key.client,
			.server = flow->key.server,
			.client_port = flow->key.client_port,
			.server_port = flow->key.server_port,
			.banked_bytes = flow_banked(flow),
			.waiting_bytes = flow->rcv_nxt - flow->una,
			.rate_byteps = lend_rate_byteps(flow),
			.srtt_us = flow->srtt_us,
			.min_rtt_us = flow->bbr.min_rtt_us,
			.received_bytes = flow->received_bytes,
			.delivered_bytes = flow->delivered_bytes,
			.resent = flow->resent,
			.memory_bytes = flow->memory,
		};

		if (flow->state == SPLITTING)
			fn(arg, &info);
	}
}

unsigned int split_ends(const struct split *split, struct split_end *ends,
			unsigned int max)
{
	const struct flow *flow = split->flows;
	unsigned int count = 0;

	for (; flow && count < max; flow = flow->next)
		if (flow->state == ANSWERED || flow->state == SPLITTING)
			reset_end_of(flow, &ends[count++]);
	return count;
}
