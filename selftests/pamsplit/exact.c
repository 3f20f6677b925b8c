// SPDX-License-Identifier: GPL-2.0
/*
 * exact - that the core believes resets whose sequence numbers are exact (RFC 5961, 3.2), and
 * what is in the headers that it makes
 */
#include <stdio.h>

#include "../pamsd/tap.h"
#include "flow.h"
#include "one.h"

#define STAMP		5
#define SEGMENT		1000
#define SEGMENTS	20
#define DATA_ACK	0x123456789abcdef0ULL

static struct packet up;	/* the last one that was made for the server */
static unsigned int made;	/* packets for the client */
static unsigned int ids;	/* those whose id the kernel chooses */

static void note(void *arg, enum split_side side, uint8_t *packet, size_t len)
{
	struct packet read;

	(void)arg;
	if (!packet_read(&read, packet, len))
		return;
	if (side == TO_SERVER) {
		up = read;
		return;
	}
	made++;
	ids += !get16(packet + 4);
}

/* An acknowledgment with a DATA_ACK of that many bytes, and upload. */
static void client_says(uint8_t width, uint64_t data_ack, uint32_t ack, uint16_t window,
			uint32_t payload)
{
	uint8_t options[40] = { };
	size_t len = put_stamps(options, STAMP, STAMP);

	options[len] = 30;
	options[len + 1] = 4 + width;
	options[len + 2] = MP_DSS << 4;
	options[len + 3] = width == 8 ? DSS_ACK | DSS_ACK_64 : DSS_ACK;
	if (width == 8)
		put32(options + len + 4, data_ack >> 32);
	put32(options + len + width, (uint32_t)data_ack);
	give(make(data, true, ISN + 1, ack, TCP_ACK, window, options, len + 4 + width, payload));
}

/* The server has sent much, and the client has acknowledged one segment of it. */
static void start(bool passing)
{
	struct split_options options = split_defaults;

	options.where_it_pays = passing;
	now_us = SECOND_US;
	split = split_new(&options, note, NULL);
	open_flow(split, now_us, data, ISN, STAMP, WINDOW);
	for (uint32_t i = 0; i < SEGMENTS; i++) {
		size_t len = make_data(data, ISN + 1 + i * SEGMENT, ISN + 1, STAMP, TCP_ACK,
				       SEGMENT);

		packet_seal(data, len);
		split_packet(split, now_us, data, len);
	}
	split_flush(split, now_us);
	client_says(4, (uint32_t)DATA_ACK, ISN + 1 + SEGMENT, WINDOW, 0);
}

static void give_reset(bool to_server, uint32_t seq)
{
	static const uint8_t none[4];

	give(make(data, to_server, seq, ISN + 1, TCP_RST | TCP_ACK, 0, none, 0, 0));
}

/* Somebody who guesses the numbers needs one of two, and not one of all that is under way. */
static void server_resets(bool passing)
{
	uint32_t end = ISN + 1 + SEGMENTS * SEGMENT;

	start(passing);
	for (uint32_t seq = split->flows->ack_out + 1; seq != end && split_flows(split); seq++)
		give_reset(false, seq);
	check(split_flows(split) == 1);
	give_reset(false, end);
	check(split_flows(split) == 0);
	split_free(split);
	start(passing);
	give_reset(false, split->flows->ack_out);
	check(split_flows(split) == 0);
	split_free(split);
}

static void in_the_servers_name_while_split(void)
{
	server_resets(false);
}

static void in_the_servers_name_while_passed(void)
{
	server_resets(true);
}

static void in_the_clients_name(void)
{
	start(false);
	client_says(4, (uint32_t)DATA_ACK, ISN + 1 + SEGMENT, WINDOW, SEGMENT);
	for (uint32_t seq = ISN + 2; seq != ISN + 1 + SEGMENT && split_flows(split); seq++)
		give_reset(true, seq);
	check(split_flows(split) == 1);
	give_reset(true, ISN + 1 + SEGMENT);
	check(split_flows(split) == 0);
	split_free(split);
}

/*
 * The window becomes smaller, so the former DATA_ACK is repeated with the former window, as long
 * as the client's last one, which was longer: with its own upper half.
 */
static void data_acks_of_two_widths(void)
{
	start(false);
	pass(20000);
	check(up.data_ack_len == 4 && up.data_ack == (uint32_t)DATA_ACK);
	client_says(8, DATA_ACK + SEGMENT, ISN + 1 + SEGMENT, WINDOW / 2, 0);
	pass(20000);
	check(up.data_ack_len == 8);
	check(up.data_ack == DATA_ACK || up.data_ack == DATA_ACK + SEGMENT);
	printf("# %llx, window %u\n", (unsigned long long)up.data_ack, up.window);
	split_free(split);
}

/*
 * Packets that may be fragmented need ids that differ (RFC 6864, 4): those made of one that
 * offload has put together, and what is sent again, get new ones of the kernel.
 */
static void ids_that_differ(void)
{
	size_t len;

	start(false);
	client_says(4, (uint32_t)DATA_ACK, ISN + 1 + SEGMENTS * SEGMENT, WINDOW, 0);
	made = 0;
	ids = 0;
	len = make_data(data, ISN + 1 + SEGMENTS * SEGMENT, ISN + 1, STAMP, TCP_ACK, 8 * SEGMENT);
	put16(data + 4, 77);
	data[6] = 0;	/* it may */
	give(len);
	pass(1000000);
	printf("# %u packets\n", made);
	check(made >= 6 && ids == made);
	split_free(split);
}

int main(void)
{
	run(in_the_servers_name_while_split);
	run(in_the_servers_name_while_passed);
	run(in_the_clients_name);
	run(data_acks_of_two_widths);
	run(ids_that_differ);
	return tap_end();
}
