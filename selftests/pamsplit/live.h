/* SPDX-License-Identifier: GPL-2.0 */
/*
 * live - of a core's flows: what counts agrees with what is there, and each that has something to
 * do has a timer for it: something is due, or nothing is outstanding
 */
#ifndef PAMSPLIT_LIVE_H
#define PAMSPLIT_LIVE_H

#include "flow.h"

#define DUE_MAX_US	(61 * SECOND_US)	/* no timer for sending is further away */

/* What is wrong with the flow's segments; NULL: nothing. */
static inline const char *segments_wrong(const struct flow *flow)
{
	uint64_t in_flight = 0, lost = 0;
	const struct run *run = flow->runs.first;
	const struct segment *at, *prev = NULL;
	bool unsent = false, beyond = false;
	unsigned int sacked = 0;
	uint32_t end = flow->una;

	for (at = flow->head; at; prev = at, at = at->next) {
		uint32_t bytes = at->len + at->fin;

		if (at->prev != prev)
			return "the list is broken";
		if (at->sent && at->block->held)
			return "what was sent is held";
		if (!at->sent && !unsent) {
			if (flow->unsent != at)
				return "the first unsent segment is another one";
			unsent = true;
		}
		if (at->sent && (unsent || beyond))
			return "a segment was sent behind one that wasn't";
		in_flight += at->in_flight ? bytes : 0;
		lost += at->lost ? bytes : 0;
		sacked += at->sacked;
		if ((at->in_flight || at->lost || at->sacked) && !at->sent)
			return "what wasn't sent is in flight, lost or acknowledged";
		if (at->in_flight + at->lost + at->sacked > 1)
			return "a segment is in two states";
		if (at->sent && !at->in_flight && !at->lost && !at->sacked)
			return "a segment is in no state";
		if (run && run->head == at) {
			if (!beyond && end != flow->rcv_nxt)
				return "data in order ends elsewhere";
			if (beyond && run->prev &&
			    (end != run->prev->to || !before(end, run->from)))
				return "a run ends elsewhere";
			beyond = true;
			end = run->from;
			run = run->next;
		}
		if (at == flow->head ? after(at->seq, end) : at->seq != end)
			return "there is a gap, or an overlap";
		end = segment_end(at);
	}
	if (run || flow->tail != prev || (!unsent && flow->unsent))
		return "the end isn't the end";
	if (end != (flow->runs.last ? flow->runs.last->to : flow->rcv_nxt))
		return "the data ends elsewhere";
	if (in_flight != flow->in_flight || lost != flow->lost_bytes ||
	    sacked != flow->sacked_segments)
		return "the sums are wrong";
	return NULL;
}

/* Of how many packets that the flow's segments were made from are these themselves held? */
static inline unsigned int held_packets(const struct flow *flow)
{
	unsigned int count = 0;

	for (const struct segment *at = flow->head; at; at = at->next)
		count += at->block->held && at->seq == at->block->seq;
	return count;
}

/* What is wrong with the flow's timers; NULL: nothing. */
static inline const char *timers_wrong(const struct flow *flow, uint64_t now_us)
{
	bool can_send = flow->unsent && before(flow->unsent->seq, flow->rcv_nxt) &&
			!after(flow->unsent->seq + flow->unsent->len, flow->right_edge);

	if (flow->passing)
		return flow_banked(flow) ||
		       (flow->unsent && before(flow->unsent->seq, flow->rcv_nxt)) ?
		       "something waits though the flow is passed" : NULL;
	if (flow->head && flow->head->sent) {
		if (flow->rto_at_us > now_us + DUE_MAX_US)
			return "no timer for what was sent";
		if (flow->timer_us > flow->rto_at_us)
			return "the timer for what was sent isn't set";
	} else if (can_send) {
		if (!flow->lend_waits && flow->timer_us > now_us + DUE_MAX_US)
			return "no timer for what may be sent";
	} else if (flow->unsent && before(flow->unsent->seq, flow->rcv_nxt)) {
		if (flow->persist_at_us > now_us + DUE_MAX_US)
			return "no timer for the closed window";
	}
	return NULL;
}

/* What is wrong with any flow, when neither a packet nor a timer is under way. */
static inline const char *flows_wrong(const struct split *split, uint64_t now_us)
{
	unsigned int held = 0;

	for (const struct flow *flow = split->flows; flow; flow = flow->next) {
		const char *wrong = NULL;

		held += held_packets(flow);
		if (flow->state == SPLITTING)
			wrong = segments_wrong(flow);
		if (flow->state == SPLITTING && !wrong)
			wrong = timers_wrong(flow, now_us);
		if (wrong)
			return wrong;
	}
	return held == split->held ? NULL : "the number of held packets is wrong";
}

#endif /* PAMSPLIT_LIVE_H */
