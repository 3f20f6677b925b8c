// SPDX-License-Identifier: GPL-2.0
/*
 * large - packets as large as they get, which receive offload has put together
 */
#include <stdio.h>
#include <stdlib.h>

#include "../pamsd/tap.h"
#include "one.h"

#define STAMP		500
#define LARGEST_V6	(40 + 65535)

static size_t largest;		/* packet that the core has made for the client */

static void made(void *arg, enum split_side side, uint8_t *packet, size_t len)
{
	(void)arg;
	(void)packet;
	if (side == TO_CLIENT && len > largest)
		largest = len;
}

/* The packet that lies in data, over IPv6: it has 20 bytes more. */
static size_t as_v6(size_t len, bool up)
{
	memmove(data + 40, data + 20, len - 20);
	memset(data, 0, 40);
	data[0] = 0x60;
	data[6] = 6;
	data[7] = 64;
	data[8] = 0xfd;
	data[24] = 0xfd;
	data[23] = up ? 1 : 2;
	data[39] = up ? 2 : 1;
	packet_set_len(data, len + 20);
	return len + 20;
}

/* The answer to a SYN, or the SYN, of somebody whose link takes segments of any size. */
static size_t make_handshake_of_any_mss(bool up)
{
	size_t len = make_handshake(data, up, ISN, up ? 0 : ISN + 1, STAMP);

	put16(data + 20 + 20 + 2, 65535);
	return as_v6(len, up);
}

/* In memory of its own, so that a byte too far is seen. */
static enum split_verdict give_exactly(size_t len)
{
	uint8_t *copy = malloc(len);
	enum split_verdict verdict;

	packet_seal(data, len);
	memcpy(copy, data, len);
	verdict = split_packet(split, now_us, copy, len);
	split_flush(split, now_us);
	free(copy);
	now_us += 10000;
	return verdict;
}

/* The client gets nothing of them, so they are made again here. */
static void the_largest_of_ipv6(void)
{
	uint32_t payload = LARGEST_V6 - 40 - 20 - 32;

	largest = 0;
	now_us = 1000000;
	split = split_new(&split_defaults, made, NULL);
	give(make_handshake_of_any_mss(true));
	give(make_handshake_of_any_mss(false));
	give(as_v6(make_ack(data, true, ISN + 1, ISN + 1, STAMP, 60000), true));
	check(split_counters(split)->flows == 1);
	for (unsigned int i = 0; i < 2; i++)
		give_exactly(as_v6(make_data(data, ISN + 1 + i * payload, ISN + 1, STAMP + 10,
					     TCP_ACK, payload), false));
	check(split_counters(split)->received_bytes == 2 * payload);
	pass(1000000);
	check(largest == LARGEST_V6);
	split_free(split);
}

int main(void)
{
	run(the_largest_of_ipv6);
	return tap_end();
}
