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

/* The client may still send, as long as conntrack knows the flow: five days. */
static void after_one_fin_six_days(void)
{
	close_flow(false);
	check(flows_after(5 * 24 * 3600 * SECOND_US) == 1);
	check(flows_after(25 * 3600 * SECOND_US) == 0);
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

/* While it is passed, too, a client that is gone keeps neither memory nor a place. */
static void client_that_is_gone(bool passed)
{
	struct split_options options = split_defaults;

	options.where_it_pays = passed;
	now_us = SECOND_US;
	split = split_new(&options, discard, NULL);
	open_flow(split, now_us, data, ISN, STAMP, WINDOW);
	pass(600 * SECOND_US);
	check(split_flows(split) == 1);
	give(make_data(data, ISN + 1, ISN + 1, STAMP, TCP_ACK, PAYLOAD));
	pass(10 * SECOND_US);
	check(split_memory(split) > PAYLOAD);
	pass(30 * SECOND_US);
	check(!split_memory(split));
	/* one that is left when the server tries again */
	if (split_flows(split))
		check(give(make_data(data, ISN + 1, ISN + 1, STAMP, TCP_ACK, PAYLOAD)) ==
		      SPLIT_LEAVE);
	check(flows_after(6 * SECOND_US) == 0);
	split_free(split);
}

static void client_that_is_gone_while_split(void)
{
	client_that_is_gone(false);
}

static void client_that_is_gone_while_passed(void)
{
	client_that_is_gone(true);
}

static enum split_verdict another_flow(uint16_t port)
{
	client_port = port;
	return give(make_handshake(data, true, ISN, 0, STAMP));
}

/*
 * Flows of whose packets none comes any more, since a link got another address and conntrack has
 * lost its mark, keep no other flow out, nor do others go that are used.
 */
static void place_of_the_longest_idle(void)
{
	struct split_options options = split_defaults;

	options.flows_max = 3;
	now_us = SECOND_US;
	split = split_new(&options, discard, NULL);
	for (client_port = 40000; client_port < 40003; client_port++)
		open_flow(split, now_us, data, ISN, STAMP, WINDOW);
	pass(7200 * SECOND_US);
	client_port = 40000;
	give(make_data(data, ISN + 1, ISN + 1, STAMP, TCP_ACK, PAYLOAD));
	give(make_ack(data, false, ISN + 1, ISN + 1 + PAYLOAD, STAMP, WINDOW));
	check(another_flow(40003) == SPLIT_LEAVE);
	pass(1900 * SECOND_US);
	check(another_flow(40004) != SPLIT_LEAVE && another_flow(40005) != SPLIT_LEAVE);
	check(another_flow(40006) == SPLIT_LEAVE);
	check(split_flows(split) == 3 && split_counters(split)->resets == 2);
	client_port = 40000;
	give(make_data(data, ISN + 1 + PAYLOAD, ISN + 1, STAMP, TCP_ACK, PAYLOAD));
	check(split_counters(split)->unknown == 0);
	split_free(split);
}

int main(void)
{
	run(client_that_is_gone_while_split);
	run(client_that_is_gone_while_passed);
	run(after_both_fins_75_seconds);
	run(after_one_fin_six_days);
	run(after_being_told_5_seconds);
	run(place_of_the_longest_idle);
	return tap_end();
}
