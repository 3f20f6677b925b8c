// SPDX-License-Identifier: GPL-2.0
/*
 * early - acknowledges data to the server before the client has it
 *
 *	ack = what the client has + min(limit, 7/8 of the data in order that waits for it)
 *
 * The limit is backpressure: an acknowledgment that is withheld slows the server
 * down. The window can't, since it belongs to the connection and not to the subflow.
 *
 * Each early ACK carries the client's last DATA_ACK and the window that came with it, so
 * the connection's right edge is the client's own. TCP at the server accepts a smaller
 * window only with an ACK that advances, and would otherwise add the old window to the
 * new DATA_ACK: the client drops data that is sent beyond its right edge. So an eighth of
 * the waiting data isn't acknowledged, and each segment that arrives at the client can
 * advance the ACK. If the ACK doesn't advance, a smaller window and its DATA_ACK wait for
 * the next ACK that does. A FIN isn't acknowledged before the client acknowledges it.
 *
 * An ACK advances by at least a sixteenth of a segment, or of what waits, or to what the client
 * has.
 * Otherwise a server that sends again from within a small segment brings a few new bytes each
 * time, whose ACK advances by an eighth of them, down to single bytes (the silly window of
 * RFC 9293, 3.8.6.2.2).
 *
 * While the client is silent the server hears nothing from here, as behind a router, so that it
 * does what it would do then: MPTCP sends elsewhere all that has no DATA_ACK, what is banked among
 * it, if a subflow of which data is outstanding is silent for some timeouts (Linux:
 * mptcp_pm_subflow_chk_stale()). An acknowledgment that says nothing new would prevent that.
 *
 * An early ACK is sent at once after a burst of two segments or more, a hole or a
 * duplicate; otherwise 5 ms later.
 */
#include "flow.h"

#define DELAY_US	5000
#define RESERVE_SHIFT	3
#define STEP_SHIFT	4	/* 3 makes later repairs longer: lab deaths */
#define QUICK_BYTES	(64 << 10)	/* a flow's first bytes, which are acknowledged at once */

/* Has what was sent to the client timed out, without an answer so far? */
static bool is_silent(const struct flow *flow)
{
	return flow->backoffs && flow->head && flow->head->sent;
}

uint32_t early_target(const struct flow *flow)
{
	const struct split_options *options = &flow->split->options;
	uint64_t limit = lend_rate_byteps(flow) * options->limit_us / SECOND_US;
	uint64_t least = lend_limit_bytes(flow->split);
	uint32_t waits = flow->rcv_nxt - flow->una;
	uint32_t target = flow->rcv_nxt - (waits >> RESERVE_SHIFT);
	uint32_t step = lesser(waits, flow->client_mss) >> STEP_SHIFT;

	if (flow->leaving || flow->passing || flow->resting || is_silent(flow))
		return seq_max(flow->ack_out, flow->una);
	if (limit < least)
		limit = least;
	/* leave the other half for data that is on its way from the server */
	if (limit > options->flow_bytes / 2)
		limit = options->flow_bytes / 2;
	target = seq_min(target, flow->una + (uint32_t)limit);
	if (flow->fin_seen)
		target = seq_min(target, flow->fin_seq);
	if (before(target, flow->ack_out + step))
		target = flow->una;
	return seq_max(seq_max(flow->ack_out, flow->una), target);
}

void early_wanted(struct flow *flow)
{
	if (flow->to_ack)
		return;
	flow->to_ack = true;
	flow->next_to_ack = flow->split->to_ack;
	flow->split->to_ack = flow;
}

/*
 * Fill in the SACK ranges beyond the first hole: the newest one, the last one if there is room
 * for three, and the first one. Data before the hole that isn't acknowledged yet is left out,
 * though the server may send it again: a later ACK that ends within a range looks to Linux
 * like a receiver that has discarded the rest (tcp_check_sack_reneging()), and costs a
 * timeout.
 */
unsigned int early_ranges(const struct flow *flow, struct range *ranges,
			  unsigned int max)
{
	const struct run *newest = runs_find(&flow->runs, flow->last_hole_seq);
	const struct run *runs[3];
	unsigned int count = 0;

	if (newest && !before(flow->last_hole_seq, newest->to))
		newest = NULL;
	runs[0] = newest ? newest : flow->runs.last;
	runs[1] = flow->runs.last != newest || !newest ? flow->runs.last : newest->prev;
	runs[2] = flow->runs.first;
	for (unsigned int i = 0; i < ARRAY_SIZE(runs); i++) {
		const struct run *run = runs[i];

		if (!run || (i && run == runs[0]) || (i > 1 && run == runs[1]) ||
		    (i == 1 && max < ARRAY_SIZE(runs)) || count == max)
			continue;
		ranges[count++] = (struct range){ run->from, run->to };
	}
	return count;
}

/* Would the server ignore a smaller window, as this acknowledgment doesn't advance? */
static bool would_widen(const struct flow *flow, uint32_t ack)
{
	return flow->window_out > flow->client_window &&
	       !after(ack, flow->ack_out) && before(flow->una, flow->rcv_nxt);
}

void early_send(struct flow *flow)
{
	struct range ranges[3];
	uint8_t data[HEADER_MAX];
	struct split *split = flow->split;
	struct bare bare = {
		.header = flow->client_header,
		.tcp_at = flow->client_tcp_at,
		.seq = flow->client_nxt,
		.window = flow->client_window,
		.flags = TCP_ACK,
		.has_stamp = true,
		.tsval = flow->client_tsval,
		.tsecr = flow->ts_recent,
		.data_ack_len = flow->data_ack_len,
		.data_ack = flow->data_ack,
		.ranges = ranges,
	};

	flow->ack_by_us = NEVER_US;
	/* each early ACK carries the client's last DATA_ACK, and there is none yet */
	if (!flow->data_ack_len)
		return;
	if (flow->has_dsack)
		ranges[bare.range_count++] = flow->dsack;
	bare.range_count += early_ranges(flow, ranges + bare.range_count,
					 ARRAY_SIZE(ranges) - bare.range_count);
	bare.ack = early_target(flow);
	if (would_widen(flow, bare.ack)) {
		bare.window = flow->window_out;
		/* the upper half of one that had 32 bits is that of the newest */
		bare.data_ack += (int32_t)(flow->data_ack_out - (uint32_t)bare.data_ack);
	}
	flow->window_out = bare.window;
	flow->data_ack_out = (uint32_t)bare.data_ack;
	flow->ack_out = bare.ack;
	flow->has_dsack = false;
	flow->unacked = 0;
	split->counters.early_acks++;
	split->out(split->arg, TO_SERVER, data, packet_make(data, &bare));
}

/* Send an early ACK, unless the client is silent. */
void early_answer(struct flow *flow)
{
	flow->ack_by_us = NEVER_US;
	if (!is_silent(flow))
		early_send(flow);
}

void early_flush(struct flow *flow, uint64_t now_us)
{
	bool hole = flow->runs.first;
	bool news = after(early_target(flow), flow->ack_out);
	uint32_t banked = flow_banked(flow);

	if (banked > flow->split->counters.banked_max)
		flow->split->counters.banked_max = banked;
	if (flow->has_dsack || (hole && flow->unacked) ||
	    (news && (flow->unacked >= 2 ||
		      flow->received_bytes < QUICK_BYTES)))
		early_answer(flow);
	else if (news && flow->ack_by_us > now_us + DELAY_US)
		flow->ack_by_us = now_us + DELAY_US;
}
