// SPDX-License-Identifier: GPL-2.0
/*
 * lend - caps the rate that all clients together get of this device's own link
 *
 * The cap limits the pace at which data is sent to the clients. To a server this looks
 * like a slower pipe: data that waits is banked, acknowledgments are withheld, reports and
 * schedulers see the lower rate, and no packet is dropped for the cap. The flows take turns,
 * in the order in which they began to wait. Data that is retransmitted to a client doesn't
 * count, since it crosses the device's own link only once. While flows wait, a new flow is
 * admitted only with its second SYN, a second later.
 */
#include "flow.h"

#define BURST_US	2000	/* data that wasn't sent in time is made up for, up to this time */
#define LEAST_BYTES	(16 << 10)	/* a flow may bank this much under any cap */

static bool is_open(const struct split *split, uint64_t now_us)
{
	return !split->options.lend_byteps || split->lend_next_us <= now_us;
}

static void wait_for_turn(struct flow *flow)
{
	struct flow **at = &flow->split->lend_first;

	if (flow->lend_waits)
		return;
	while (*at)
		at = &(*at)->next_to_lend;
	*at = flow;
	flow->next_to_lend = NULL;
	flow->lend_waits = true;
}

void lend_forget(struct flow *flow)
{
	struct flow **at = &flow->split->lend_first;

	if (!flow->lend_waits)
		return;
	while (*at != flow)
		at = &(*at)->next_to_lend;
	*at = flow->next_to_lend;
	flow->lend_waits = false;
}

bool lend_is_free(const struct split *split, uint64_t now_us)
{
	return is_open(split, now_us) && !split->lend_first;
}

bool lend_may_send(struct flow *flow, uint64_t now_us)
{
	struct split *split = flow->split;

	if (is_open(split, now_us) &&
	    (!split->lend_first || split->lend_turn == flow))
		return true;
	wait_for_turn(flow);
	return false;
}

void lend_sent(struct split *split, uint64_t bytes, uint64_t now_us)
{
	if (!split->options.lend_byteps)
		return;
	if (split->lend_next_us + BURST_US < now_us)
		split->lend_next_us = now_us - BURST_US;
	split->lend_next_us += bytes * SECOND_US / split->options.lend_byteps;
}

/*
 * A new flow is put off while others wait for the cap. Its client sends the SYN again after a
 * second and is admitted then, since a single flow may use up the cap for any time.
 */
bool lend_puts_off(struct split *split, uint32_t client_isn)
{
	uint64_t count = split->counters.put_off;

	if (!split->lend_first)
		return false;
	for (unsigned int i = 0; i < PUT_OFF_MAX && i < count; i++)
		if (split->put_off[i] == client_isn)
			return false;
	split->put_off[count % PUT_OFF_MAX] = client_isn;
	split->counters.put_off++;
	return true;
}

uint64_t lend_rate_byteps(const struct flow *flow)
{
	uint64_t cap = flow->split->options.lend_byteps;

	return cap && cap < flow->rate_ewma ? cap : flow->rate_ewma;
}

/* The least limit of banked data: lower under a cap, as the rate can't suddenly exceed it. */
uint64_t lend_limit_bytes(const struct split *split)
{
	const struct split_options *options = &split->options;
	uint64_t bytes = options->lend_byteps * options->limit_us / SECOND_US;

	if (!bytes || bytes > options->limit_bytes)
		return options->limit_bytes;
	return bytes < LEAST_BYTES ? LEAST_BYTES : bytes;
}

uint64_t lend_next_us(const struct split *split)
{
	if (!split->lend_first)
		return NEVER_US;
	return split->options.lend_byteps ? split->lend_next_us : 0;
}

struct flow *lend_begin_turn(struct split *split, uint64_t now_us)
{
	struct flow *flow = split->lend_first;

	if (!flow || !is_open(split, now_us))
		return NULL;
	lend_forget(flow);
	split->lend_turn = flow;
	return flow;
}

void lend_end_turn(struct split *split)
{
	split->lend_turn = NULL;
}
