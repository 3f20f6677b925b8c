// SPDX-License-Identifier: GPL-2.0
/*
 * left - how long a flow keeps its place once both ends are done with it
 */
#include <stdio.h>

#include "../pamsd/tap.h"
#include "one.h"

#define STAMP		5
#define SECOND_US	1000000ULL

static size_t make_client_fin(void)
{
	uint8_t options[12];
	size_t len = put_stamps(options, STAMP, STAMP);

	return make(data, true, ISN + 1, ISN + 1, TCP_ACK | TCP_FIN, WINDOW,
		    options, len, 0);
}

/* How many flows there are that much later. */
static unsigned int flows_after(uint64_t us)
{
	pass(us);
	return split_flows(split);
}

/* With @fin the client closes first; the last packet acknowledges the server's FIN. */
static void close_flow(bool fin)
{
	now_us = SECOND_US;
	split = split_new(&split_defaults, discard, NULL);
	open_flow(split, now_us, data, ISN, STAMP, WINDOW);
	if (fin)
		give(make_client_fin());
	give(make_data(data, ISN + 1, ISN + 1 + fin, STAMP, TCP_ACK | TCP_FIN,
		       PAYLOAD));
	give(make_ack(data, false, ISN + 1 + fin, ISN + 2 + PAYLOAD, STAMP,
		      WINDOW));
	check(split_counters(split)->delivered_bytes == PAYLOAD);
	check(split_drained(split) && split_flows(split) == 1);
}

static void after_both_fins_75_seconds(void)
{
	close_flow(true);
	check(flows_after(74 * SECOND_US) == 1);
	check(flows_after(2 * SECOND_US) == 0);
	split_free(split);
}

/* The client may still send. */
static void after_one_fin_a_day(void)
{
	close_flow(false);
	check(flows_after(23 * 3600 * SECOND_US) == 1);
	check(flows_after(2 * 3600 * SECOND_US) == 0);
	split_free(split);
}

/* Once the kernel has been told that it is left, only for what is queued already. */
static void after_being_told_5_seconds(void)
{
	close_flow(false);
	check(give(make_client_fin()) == SPLIT_LEAVE);
	check(flows_after(4 * SECOND_US) == 1);
	check(flows_after(2 * SECOND_US) == 0);
	split_free(split);
}

int main(void)
{
	run(after_both_fins_75_seconds);
	run(after_one_fin_a_day);
	run(after_being_told_5_seconds);
	return tap_end();
}
