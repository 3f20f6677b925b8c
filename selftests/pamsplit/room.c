// SPDX-License-Identifier: GPL-2.0
/*
 * room - memory that clients with holes in their data leave to others
 */
#include <stdio.h>

#include "../pamsd/tap.h"
#include "make.h"
#include "split.h"

#define ISN		1000	/* of both ends */
#define STAMP		5
#define WINDOW		60000
#define PAYLOAD		60000	/* as offload puts it together */

static struct split *split;
static uint64_t now_us = 1000000;
static uint8_t data[70000];

/* As the client with that number in its address. */
static void open_flow_of(unsigned int client, unsigned int port)
{
	client_address[3] = client;
	client_port = 40000 + port;
	open_flow(split, now_us, data, ISN, STAMP, WINDOW);
}

static enum split_verdict server_says(uint32_t at, uint32_t payload)
{
	size_t len = make_data(data, ISN + 1 + at, ISN + 1, STAMP, TCP_ACK, payload);

	packet_seal(data, len);
	return split_packet(split, now_us, data, len);
}

/* Four flows of it get as much as a flow may have, but for the first segment. */
static void fill(unsigned int client)
{
	for (unsigned int port = 0; port < 4; port++) {
		open_flow_of(client, port);
		for (uint32_t at = 1000; at < split_defaults.flow_bytes; at += PAYLOAD)
			server_says(at, PAYLOAD);
	}
}

static void start(unsigned int greedy)
{
	split = split_new(&split_defaults, discard, NULL);
	for (unsigned int client = 1; client <= greedy; client++)
		fill(client);
	printf("# %u clients take %llu bytes\n", greedy,
	       (unsigned long long)split_memory(split));
}

static void stop(void)
{
	client_address[3] = 1;
	split_free(split);
}

static void one_client_gets_what_a_client_may_have(void)
{
	start(1);
	check(split_memory(split) + 2 * PAYLOAD > split_defaults.client_bytes);
	check(split_memory(split) <= split_defaults.client_bytes);
	stop();
}

/* As many as could use up all memory, if each had what a client may have. */
static void four_clients_leave_room_for_a_fifth(void)
{
	uint64_t dropped;

	start(4);
	dropped = split_counters(split)->dropped;
	open_flow_of(5, 0);
	check(server_says(0, PAYLOAD) == SPLIT_PASS);
	check(split_counters(split)->dropped == dropped);
	stop();
}

static void each_client_leaves_half_of_what_it_found(void)
{
	start(0);
	for (unsigned int client = 1; client < 9; client++) {
		uint64_t found = split_defaults.total_bytes - split_memory(split);

		fill(client);
		/* what a packet is cut into comes on top */
		check(split_defaults.total_bytes - split_memory(split) >=
		      found / 2 - PAYLOAD);
	}
	open_flow_of(9, 0);
	check(server_says(0, PAYLOAD) == SPLIT_PASS);
	stop();
}

int main(void)
{
	run(one_client_gets_what_a_client_may_have);
	run(four_clients_leave_room_for_a_fifth);
	run(each_client_leaves_half_of_what_it_found);
	return tap_end();
}
