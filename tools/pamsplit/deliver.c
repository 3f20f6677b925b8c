// SPDX-License-Identifier: GPL-2.0
/*
 * deliver - sends, and retransmits, to the client
 *
 * Data is sent in the order of its sequence numbers, as the client's window, the congestion
 * window and the pace (bbr.c) allow. Losses are found by time (RACK, RFC 8985, see
 * acked.c), those at the tail by a probe after two round-trip times (TLP, in the same RFC),
 * and at last by the retransmission timer of RFC 6298, whose variance has a floor of 50 ms.
 * A closed window is probed (RFC 9293, 3.8.6.1) with the last byte that the client has:
 * Linux answers packets without data only every 500 ms.
 *
 * A client that is silent over two timeouts and at least --silence is considered dead:
 * split.c resets the flow, so that the server sends the data over another path. With a
 * closed window the client has half a second more.
 */
#include <string.h>

#include "flow.h"

#define PAUSE_US	(5 * SECOND_US)	/* silence that may be a pause of the pipe */
#define PAUSE_RTO_US	200000		/* the timeout grows to this meanwhile */
#define RTO_MAX_US	(1 * SECOND_US)	/* and to this afterwards */
#define PERSIST_MAX_US	(5 * SECOND_US)	/* a closed window is probed at least so often */
#define BACKOFFS_MAX	100	/* in a row, of a client that answers, but acknowledges nothing */
#define DEAD_BACKOFFS	2
#define BURST_US	1000	/* data that wasn't sent in time is made up for, up to this time */
#define TAIL_DELAY_US	200000	/* how long a client may delay an acknowledgment */
#define PROBE_MIN_US	10000
#define ANSWERS_US	500000	/* some clients answer old data only once in this time */

/*
 * The pipe is one hop, and if it is silent that may be for a moment: a radio roams, scans or
 * saves power. So the timeout is hardly doubled at first: one segment each time is no load, and
 * the end of the pause is noticed soon.
 */
static uint64_t rto(const struct flow *flow, uint64_t now_us)
{
	uint64_t us = (uint64_t)flow->rto_us << lesser(flow->backoffs, 10);
	uint64_t most = now_us - flow->heard_us < PAUSE_US ? PAUSE_RTO_US : RTO_MAX_US;

	return lesser(us, flow->rto_us > most ? flow->rto_us : most);
}

/* A window that is closed for long is probed less often, but again soon until that is answered. */
static uint64_t persist_us(const struct flow *flow, uint64_t now_us)
{
	uint64_t us = rto(flow, now_us);
	uint64_t slow_us = lesser((now_us - flow->closed_us) / 8, PERSIST_MAX_US);

	return flow->backoffs || us > slow_us ? us : slow_us;
}

static bool can_send(const struct flow *flow, const struct segment *segment)
{
	return segment && before(segment->seq, flow->rcv_nxt) &&
	       !after(segment->seq + segment->len, flow->right_edge);
}

static uint64_t probe_us(const struct flow *flow)
{
	uint64_t us = 2ULL * flow->srtt_us;

	if (flow->in_flight <= flow->client_mss)
		us += TAIL_DELAY_US;
	return us < PROBE_MIN_US ? PROBE_MIN_US : us;
}

/*
 * Start the timers. That for retransmissions runs as long as anything that was sent isn't
 * acknowledged, selectively acknowledged or not, and one that runs goes on (RFC 6298, 5.1);
 * the tail loss probe is timed from the last transmission (RFC 8985, 7.2).
 */
void deliver_start_timers(struct flow *flow, uint64_t now_us)
{
	bool waits = flow->head && flow->head->sent && !flow->passing;
	bool closed = !waits && !flow->passing && flow->unsent &&
		      before(flow->unsent->seq, flow->rcv_nxt) && !can_send(flow, flow->unsent);

	if (!waits)
		flow->rto_at_us = NEVER_US;
	else if (flow->rto_at_us == NEVER_US)
		flow->rto_at_us = now_us + rto(flow, now_us);
	flow->probe_at_us = NEVER_US;
	flow->closed_us = closed ? lesser(flow->closed_us, now_us) : NEVER_US;
	flow->persist_at_us = closed ? now_us + persist_us(flow, now_us) : NEVER_US;
	if (flow->passing)
		return;
	if (flow->probed || flow->lost_bytes || !flow->in_flight ||
	    flow->backoffs || !flow->srtt_us)
		return;
	if (now_us + probe_us(flow) < flow->rto_at_us)
		flow->probe_at_us = now_us + probe_us(flow);
}

/* Restart all timers, since data was acknowledged, or a timer has fired and sent data. */
void deliver_restart_timers(struct flow *flow, uint64_t now_us)
{
	flow->rto_at_us = NEVER_US;
	deliver_start_timers(flow, now_us);
}

/* --- one segment --- */

static void pace(struct flow *flow, uint64_t bytes, uint64_t now_us)
{
	uint64_t rate = flow->bbr.rate_byteps;

	if (flow->pace_next_us + BURST_US < now_us)
		flow->pace_next_us = now_us - BURST_US;
	if (rate)
		flow->pace_next_us += bytes * SECOND_US / rate;
}

/* Send @bytes to the client, with the headers of @segment's packet. */
static void transmit_bytes(struct flow *flow, const struct segment *segment,
			   const uint8_t *bytes)
{
	const struct block *block = segment->block;
	uint32_t len = block->payload_at + segment->len;
	uint8_t data[PACKET_MAX], *tcp = data + block->tcp_at;
	struct packet packet = {
		.data = data,
		.sack_at = block->sack_at,
		.sacks = block->sacks,
	};
	uint8_t flags = TCP_ACK;
	struct packet read;

	memcpy(data, block->data, block->payload_at);
	memcpy(data + block->payload_at, bytes, segment->len);
	if (segment->push)
		flags |= TCP_PSH;
	if (segment->fin)
		flags |= TCP_FIN;
	tcp_set_seq(tcp, segment->seq);
	tcp_set_ack(tcp, flow->server_ack);
	tcp_set_flags(tcp, flags);
	tcp_set_window(tcp, flow->server_window);
	/* the stored packet's SACK is old; the acknowledgment and later packets are newer */
	packet_drop_sack(&packet);
	packet_set_len(data, len);
	if (packet_read(&read, data, len) && read.has_stamp) {
		flow->tsval_out = seq_max(flow->tsval_out, block->tsval);
		put32(data + read.stamp_at, flow->tsval_out);
		put32(data + read.stamp_at + 4, flow->server_tsecr);
	}
	packet_seal(data, len);
	flow->split->out(flow->split->arg, TO_CLIENT, data, len);
}

static void transmit(struct flow *flow, const struct segment *segment)
{
	struct block *block = segment->block;

	block_let(flow, block, false);
	transmit_bytes(flow, segment, block->data + block->payload_at +
		       (segment->len ? segment->seq - block->seq : 0));
}

static uint32_t weight(const struct segment *segment)
{
	return segment->len + segment->fin;
}

void deliver_lost(struct flow *flow, struct segment *segment)
{
	if (segment->in_flight)
		flow->in_flight -= weight(segment);
	segment->in_flight = false;
	if (!segment->lost)
		flow->lost_bytes += weight(segment);
	segment->lost = true;
	if (!flow->lost_from || before(segment->seq, flow->lost_from->seq))
		flow->lost_from = segment;
}

void deliver_sent(struct flow *flow, struct segment *segment, uint64_t now_us)
{
	struct delivery *delivery = &flow->delivery;

	if (!flow->in_flight) {
		delivery->first_sent_us = now_us;
		delivery->delivered_us = now_us;
		if (!flow->backoffs)
			flow->heard_us = now_us;
	}
	if (segment->lost)
		flow->lost_bytes -= weight(segment);
	if (!segment->in_flight)
		flow->in_flight += weight(segment);
	if (segment->sent) {
		segment->again = true;
		flow->resent++;
		flow->split->counters.resent++;
	} else {
		flow->unsent = segment->next;
		flow->snd_nxt = segment_end(segment);
		flow->tsval_out = seq_max(flow->tsval_out,
					  segment->block->tsval);
		lend_sent(flow->split, segment->len +
			  segment->block->payload_at, now_us);
	}
	segment->lost = false;
	segment->sent = true;
	segment->in_flight = true;
	segment->sent_us = now_us;
	segment->delivered = delivery->delivered;
	segment->delivered_us = delivery->delivered_us;
	segment->first_sent_us = delivery->first_sent_us;
	segment->app_limited = delivery->app_limited_until;
	pace(flow, weight(segment), now_us);
}

/* Cut a segment to the pipe's segment size, which may have become smaller. */
static void fit(struct flow *flow, struct segment *segment)
{
	const struct block *block = segment->block;
	uint32_t options = block->payload_at - block->tcp_at - 20;

	if (segment->len > store_largest(flow, options))
		store_cut(flow, segment, store_largest(flow, options));
}

/* Each is looked at once while they are sent again, though a client may have thousands lost. */
static struct segment *first_lost(struct flow *flow)
{
	struct segment *at = flow->lost_bytes ? flow->lost_from : NULL;

	while (at && !at->lost)
		at = at->next;
	return flow->lost_from = at;
}

/*
 * The payload of the segment's packet, if that is held and can go on as it is: it needs other
 * headers if something has overtaken it. 0: the segment has to be sent from its copy.
 */
static uint32_t whole(const struct flow *flow, const struct segment *segment)
{
	const struct block *block = segment->block;
	uint64_t rate = flow->bbr.rate_byteps, cap = flow->split->options.lend_byteps;
	uint32_t len = block->size - sizeof(*block) - block->payload_at;

	if (!block->held || segment->sent || flow->smaller ||
	    get32(block->data + block->tcp_at + 8) != flow->server_ack ||
	    before(block->tsval, flow->tsval_out) || len > flow->bbr.cwnd / 2)
		return 0;
	if (cap && cap < rate)
		rate = cap;
	return len * SECOND_US <= rate * BURST_US ? len : 0;
}

/* Has the window no room for it until the client acknowledges what is in flight? */
static bool window_is_full(const struct flow *flow,
			   const struct segment *segment)
{
	uint32_t len = whole(flow, segment);

	if (!flow->in_flight)
		return false;
	return flow->in_flight + (len ? len : weight(segment)) > flow->bbr.cwnd ||
	       after(segment->seq + len, flow->right_edge);
}

/* When the pace allows the next segment; NEVER_US if none may be sent. */
uint64_t deliver_next_us(const struct flow *flow)
{
	const struct segment *next = flow->unsent;

	if (flow->passing)
		return NEVER_US;
	if (flow->lost_bytes)
		return flow->in_flight && flow->in_flight + flow->client_mss > flow->bbr.cwnd ?
		       NEVER_US : flow->pace_next_us;
	if (flow->lend_waits || !can_send(flow, next) || window_is_full(flow, next))
		return NEVER_US;
	return flow->pace_next_us;
}

/* Send a segment, or all of its packet. */
static void send_one(struct flow *flow, struct segment *segment, uint64_t now_us)
{
	uint32_t len = whole(flow, segment), end = segment->seq + len;

	if (!len || after(end, flow->right_edge)) {
		deliver_sent(flow, segment, now_us);
		transmit(flow, segment);
		return;
	}
	block_let(flow, segment->block, true);
	flow->split->counters.whole_bytes += len;
	while (flow->unsent && before(flow->unsent->seq, end))
		deliver_sent(flow, flow->unsent, now_us);
}

void deliver_send(struct flow *flow, uint64_t now_us)
{
	struct segment *segment;
	bool sent = false;

	if (flow->state != SPLITTING || flow->passing)
		return;
	for (;;) {
		segment = first_lost(flow);
		if (!segment && can_send(flow, flow->unsent))
			segment = flow->unsent;
		if (segment)
			fit(flow, segment);
		if (!segment || window_is_full(flow, segment) ||
		    flow->pace_next_us > now_us ||
		    (!segment->sent && !lend_may_send(flow, now_us)))
			break;
		send_one(flow, segment, now_us);
		sent = true;
	}
	/* lack of data, or the cap, is the limit and not the pipe: mark the rate samples so */
	if ((!segment || flow->lend_waits) && flow->in_flight < flow->bbr.cwnd) {
		uint64_t until = flow->delivery.delivered + flow->in_flight;

		flow->delivery.app_limited_until = until ? until : 1;
	}
	if (sent || (flow->persist_at_us == NEVER_US && flow->unsent &&
		     !flow->in_flight && !flow->lost_bytes))
		deliver_start_timers(flow, now_us);
}

/*
 * May the packet be passed on unchanged instead of being stored and sent? Only if it is the
 * newest of the flow, so that its acknowledgment and time stamps are right.
 */
bool deliver_at_once(const struct flow *flow, const struct packet *packet,
		     uint64_t now_us)
{
	uint64_t flight = flow->in_flight + packet->payload_len;

	return flow->state == SPLITTING && !flow->unsent &&
	       !flow->smaller && !flow->lost_bytes && packet->seq == flow->rcv_nxt &&
	       packet->ack == flow->server_ack && !packet->sack_at &&
	       !before(packet->tsval, flow->tsval_out) &&
	       (!flow->in_flight || flight <= flow->bbr.cwnd) &&
	       flow->pace_next_us <= now_us &&
	       lend_is_free(flow->split, now_us) &&
	       !after(packet->seq + packet->payload_len, flow->right_edge);
}

/* --- timers --- */

static void probe_tail(struct flow *flow, uint64_t now_us)
{
	struct segment *segment = flow->unsent;

	flow->probed = true;
	flow->split->counters.probes++;
	if (!can_send(flow, segment)) {
		segment = segment ? segment->prev : flow->tail;
		while (segment && segment->sacked)
			segment = segment->prev;
	}
	if (segment) {
		fit(flow, segment);
		deliver_sent(flow, segment, now_us);
		transmit(flow, segment);
	}
	deliver_restart_timers(flow, now_us);
}

/* Consider all unacknowledged data lost, and retransmit it from the start. */
static void time_out(struct flow *flow, uint64_t now_us)
{
	struct segment *at;

	flow->split->counters.timeouts++;
	for (at = flow->head; at && at->sent; at = at->next) {
		if (at->sacked)
			flow->sacked_segments--;
		at->sacked = false;
		deliver_lost(flow, at);
	}
	/* the route that was found for them may be gone */
	for (; at; at = at->next)
		block_let(flow, at->block, false);
	flow->recovering = true;
	flow->recover_seq = flow->snd_nxt;
	bbr_timeout(flow);
	flow->pace_next_us = now_us;
	deliver_restart_timers(flow, now_us);
}

/*
 * Probe a closed window, so that the client answers: with as much data as the window has
 * room for, or else with the last byte that the client has.
 */
static void probe_window(struct flow *flow, uint64_t now_us)
{
	struct segment *segment = flow->unsent;
	uint32_t room = 0;

	flow->split->counters.probes++;
	if (flow->backoffs == 1)
		flow->heard_us = now_us;	/* silence counts from the first probe on */
	if (!segment)
		return;
	if (after(flow->right_edge, segment->seq))
		room = flow->right_edge - segment->seq;
	if (room && room < segment->len && store_cut(flow, segment, room)) {
		deliver_sent(flow, segment, now_us);
		transmit(flow, segment);
	} else {
		struct segment probe = *segment;

		probe.seq = flow->una - 1;
		probe.len = 1;
		probe.fin = false;
		probe.push = false;
		transmit_bytes(flow, &probe, &flow->una_byte);
	}
	deliver_restart_timers(flow, now_us);
}

/* Count another timeout or window probe without an answer; false if the client is dead. */
static bool go_on(struct flow *flow, uint64_t answers_us, uint64_t now_us)
{
	uint64_t silent_us = flow->split->options.silent_us + answers_us;

	flow->backoffs++;
	return flow->backoffs <= BACKOFFS_MAX + silent_us / RTO_MAX_US &&
	       (flow->backoffs < DEAD_BACKOFFS ||
		now_us - flow->heard_us < silent_us);
}

bool deliver_timers(struct flow *flow, uint64_t now_us)
{
	if (flow->probe_at_us <= now_us)
		probe_tail(flow, now_us);
	if (flow->rto_at_us <= now_us) {
		if (!go_on(flow, 0, now_us))
			return false;
		time_out(flow, now_us);
	}
	if (flow->persist_at_us <= now_us) {
		if (!go_on(flow, ANSWERS_US, now_us))
			return false;
		probe_window(flow, now_us);
	}
	return true;
}
