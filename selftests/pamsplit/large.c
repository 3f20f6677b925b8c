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

#define COPIED		65531		/* bytes that NFQUEUE copies of a packet at most */
#define HEADERS		(40 + 32)	/* of the server's data, over IPv4 */

static size_t largest;		/* packet that the core has made for the client */
static uint32_t server_has, client_has;	/* the next byte of each, without a gap */
static uint8_t flags_to_server;

static void made(void *arg, enum split_side side, uint8_t *packet, size_t len)
{
	uint32_t *has = side == TO_CLIENT ? &client_has : &server_has;
	struct packet read;

	(void)arg;
	if (side == TO_CLIENT && len > largest)
		largest = len;
	if (!packet_read(&read, packet, len) || !read.payload_len)
		return;
	if (read.seq == *has)
		*has += read.payload_len;
	if (side == TO_SERVER)
		flags_to_server |= read.flags;
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

/* --- over IPv4 up to 65,535 bytes, of which the core gets the first 65,531 --- */

static void open_it(void)
{
	server_has = ISN + 1;
	client_has = ISN + 1;
	flags_to_server = 0;
	now_us = 1000000;
	split = split_new(&split_defaults, made, NULL);
	open_flow(split, now_us, data, ISN, STAMP, 60000);
}

/* So much of the packet that lies in data; its checksum is that of the whole. */
static enum split_verdict give_what_is_copied(size_t len)
{
	enum split_verdict verdict;

	packet_seal(data, len);
	verdict = split_packet(split, now_us, data, len < COPIED ? len : COPIED);
	split_flush(split, now_us);
	now_us += 10000;
	return verdict;
}

static void client_acknowledges(void)
{
	give(make_ack(data, false, ISN + 1, client_has, STAMP + 10, 60000));
}

/* What wasn't seen of it is as if it were lost: the server sends it again. */
static void server_sends(size_t len)
{
	uint32_t payload = len - HEADERS, copied = COPIED - HEADERS;

	open_it();
	check(give_what_is_copied(make_data(data, ISN + 1, ISN + 1, STAMP + 10, TCP_ACK,
					    payload)) == SPLIT_TAKEN);
	for (unsigned int i = 0; i < 20; i++) {
		pass(10000);
		client_acknowledges();
	}
	check(client_has == ISN + 1 + copied);
	give(make_data(data, ISN + 1 + payload, ISN + 1, STAMP + 20, TCP_ACK, 1000));
	pass(10000);
	check(client_has == ISN + 1 + copied);
	give(make_data(data, ISN + 1 + payload - 1000, ISN + 1, STAMP + 30, TCP_ACK, 1000));
	for (unsigned int i = 0; i < 20; i++) {
		pass(10000);
		client_acknowledges();
	}
	check(client_has == ISN + 1 + payload + 1000);
	check(split_counters(split)->delivered_bytes == payload + 1000);
	split_free(split);
}

static void downward_of_65532(void)
{
	server_sends(65532);
}

static void downward_of_65535(void)
{
	server_sends(65535);
}

static size_t make_upload(uint32_t seq, uint8_t flags, uint32_t payload)
{
	size_t len = make_ack(data, false, seq, ISN + 1, STAMP + 10, 60000) - 40;
	uint8_t options[40];

	memcpy(options, data + 40, len);
	return make(data, true, seq, ISN + 1, flags, 60000, options, len, payload);
}

/* The server acknowledges all of an upload, and its own data isn't taken for a stranger's. */
static void upward_of_65535(void)
{
	uint32_t headers = make_upload(ISN + 1, TCP_ACK, 0);
	uint32_t payload = 65535 - headers;

	open_it();
	check(give_what_is_copied(make_upload(ISN + 1, TCP_ACK | TCP_FIN, payload)) ==
	      SPLIT_TAKEN);
	check(server_has == ISN + 1 + COPIED - headers);
	check(!(flags_to_server & TCP_FIN));
	check(give(make_upload(server_has, TCP_ACK | TCP_FIN, 4)) == SPLIT_CHANGED);
	check(give(make_data(data, ISN + 1, server_has + 4 + 1, STAMP + 20, TCP_ACK,
			     1000)) == SPLIT_PASS);
	check(split_counters(split)->received_bytes == 1000);
	split_free(split);
}

int main(void)
{
	run(the_largest_of_ipv6);
	run(downward_of_65532);
	run(downward_of_65535);
	run(upward_of_65535);
	return tap_end();
}
