// SPDX-License-Identifier: GPL-2.0
/*
 * many - 1,000 flows at once: what a flow takes beyond what it has banked
 *
 * Each flow is given data that its client never acknowledges. What malloc() has
 * given out meanwhile, less the payload that is banked, is the flow's own. Built
 * without sanitizers, which would count, too.
 */
#include <malloc.h>
#include <stdio.h>

#include "../pamsd/tap.h"
#include "make.h"
#include "split.h"

#define FLOWS		1000
#define OWN_MAX		65536	/* of a flow, whatever it has banked */
#define ISN		1000
#define STAMP		5

static struct split *split;
static uint64_t now_us = 1000000;
static uint8_t data[70000];

static void give(size_t len)
{
	packet_seal(data, len);
	split_packet(split, now_us, data, len);
}

static void sum_banked(void *arg, const struct split_info *info)
{
	*(uint64_t *)arg += info->waiting_bytes;
}

/* Of each flow so many segments of that payload. */
static void hold(unsigned int segments, uint32_t payload)
{
	struct split_options options = split_defaults;
	uint64_t before, waiting = 0, own;

	options.flow_bytes = options.client_bytes = options.total_bytes = 1 << 30;
	before = mallinfo2().uordblks + mallinfo2().hblkhd;
	split = split_new(&options, discard, NULL);
	for (unsigned int i = 0; i < FLOWS; i++) {
		client_port = 10000 + i;
		open_flow(split, now_us, data, ISN, STAMP, 60000);
		for (unsigned int j = 0; j < segments; j++)
			give(make_data(data, ISN + 1 + j * payload, ISN + 1,
				       STAMP, TCP_ACK, payload));
	}
	split_flush(split, now_us);
	split_each(split, sum_banked, &waiting);
	own = (mallinfo2().uordblks + mallinfo2().hblkhd - before - waiting) / FLOWS;
	printf("# %u flows, %llu bytes of payload each, and %llu of their own\n",
	       split_flows(split), (unsigned long long)waiting / FLOWS,
	       (unsigned long long)own);
	check(split_flows(split) == FLOWS);
	check(waiting == (uint64_t)FLOWS * segments * payload);
	check(own <= OWN_MAX);
	split_free(split);
	check(mallinfo2().uordblks + mallinfo2().hblkhd <= before + OWN_MAX);
}

static void with_nothing_banked(void) { hold(0, 0); }
static void with_a_window_of_segments(void) { hold(90, 1396); }
static void with_what_offload_puts_together(void) { hold(8, 16000); }

int main(void)
{
	run(with_nothing_banked);
	run(with_a_window_of_segments);
	run(with_what_offload_puts_together);
	return tap_end();
}
