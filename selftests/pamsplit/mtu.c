// SPDX-License-Identifier: GPL-2.0
/*
 * mtu - paths that take smaller packets
 */
#include <stdio.h>

#include "client.h"

/* --- uploads --- */

/*
 * The client knows a path MTU that the server doesn't, and offload has put two of its segments
 * together: only the kernel knows their size, so it is the kernel that has to cut them.
 */
static void upload_that_offload_put_together(void)
{
	struct packet packet;

	start();
	open_flow(split, now_us, data, ISN, STAMP, WINDOW);
	check(client_sends(ISN + 1, 2 * 1320) == SPLIT_CHANGED);
	check(packet_read(&packet, data, sizeof(data)) &&
	      packet_intact(&packet));
	check(packet.seq == ISN + 1 && packet.payload_len == 2 * 1320);
	check(!last_to_server.payload_len);
	split_free(split);
}

/* --- another pipe, which takes smaller packets --- */

static void a_pipe_with_a_smaller_mtu(void)
{
	const uint32_t payload = 1300;
	unsigned int i;

	start();
	open_flow(split, now_us, data, ISN, STAMP, WINDOW);
	server_says(0, STAMP + 10, payload);
	client_says(WINDOW);
	mtu = 1000;
	for (i = 1; i < 6; i++)
		server_says(i * payload, STAMP + 20, payload);
	for (i = 0; i < 40 && client.rcv_nxt != ISN + 1 + 6 * payload; i++) {
		pass(10000);
		client_says(WINDOW);
	}
	for (i = 6; i < 9; i++) {
		server_says(i * payload, STAMP + 30, payload);
		pass(10000);
		client_says(WINDOW);
	}
	mtu = 0;
	check(client.rcv_nxt == ISN + 1 + 9 * payload);
	check(split_counters(split)->delivered_bytes == 9 * payload);
	check(split_counters(split)->timeouts <= 1 && resets == 0);
	split_free(split);
}

/* --- a hop behind the pipe, which says that a packet to the client is too large for it --- */

static void hop_says(bool up, uint32_t seq, uint16_t hops)
{
	static const uint8_t hop[4] = { 10, 0, 9, 9 }, none[4];
	uint8_t inner[64];

	make(inner, up, seq, ISN + 1, TCP_ACK, WINDOW, none, 0, 0);
	packet_set_len(inner, 1372);
	make(data, false, 0, 0, 0, 0, none, 0, 0);
	packet_set_len(data, 20 + 8 + 28);
	data[9] = 1;		/* ICMP */
	memcpy(data + 12, hop, 4);
	memcpy(data + 16, inner + 12, 4);
	memset(data + 20, 0, 8);
	data[20] = 3;		/* destination unreachable: fragmentation needed */
	data[21] = 4;
	put16(data + 26, hops);
	memcpy(data + 28, inner, 28);
	check(split_packet(split, now_us, data, 56) == SPLIT_PASS);
}

/* The kernel would make one buffer of it, longer than some drivers can send. */
static void upload_that_is_too_large_to_change(void)
{
	const uint32_t bytes = 15 * 1320;

	start();
	open_flow(split, now_us, data, ISN, STAMP, WINDOW);
	for (unsigned int i = 0; i < 2; i++) {
		largest_to_server = 0;
		check(client_sends(ISN + 1 + i * bytes, bytes) == SPLIT_TAKEN);
		check(last_to_server.seq + last_to_server.payload_len ==
		      ISN + 1 + (i + 1) * bytes);
		check(i ? largest_to_server <= 1360 - 20 : largest_to_server > 1360);
		/* once the client has learned that, it isn't cut to more here */
		hop_says(true, ISN + 1, 1400);
	}
	split_free(split);
}

/* One segment has arrived, and four more have died at the hop. */
static void lose_at_hop(size_t bytes)
{
	start();
	open_flow(split, now_us, data, ISN, STAMP, WINDOW);
	server_says(0, STAMP + 10, 1300);
	client_says(WINDOW);
	hop_mtu = bytes;
	for (unsigned int i = 1; i < 5; i++)
		server_says(i * 1300, STAMP + 20, 1300);
	check(client.rcv_nxt == ISN + 1 + 1300);
	largest = 0;
}

static void wait_for_all(void)
{
	for (unsigned int i = 0; i < 40 && client.rcv_nxt != ISN + 1 + 5 * 1300; i++) {
		pass(10000);
		client_says(WINDOW);
	}
	client_says(WINDOW);
	check(client.rcv_nxt == ISN + 1 + 5 * 1300);
	check(split_counters(split)->delivered_bytes == 5 * 1300);
}

static void a_hop_with_a_smaller_mtu(void)
{
	lose_at_hop(1000);
	hop_says(false, ISN + 1 + 1300, 1000);
	wait_for_all();
	check(largest == 1000);
	check(split_counters(split)->timeouts <= 1 && resets == 0);
	hop_mtu = 0;
	split_free(split);
}

/* It speaks of what wasn't sent, or has arrived: it is no hop. */
static void a_stranger_as_a_hop(void)
{
	lose_at_hop(1371);
	hop_says(false, ISN + 1299, 600);
	hop_says(false, ISN + 1 + 5 * 1300, 600);
	client_port++;
	hop_says(false, ISN + 1 + 1300, 600);
	client_port--;
	hop_mtu = 0;
	wait_for_all();
	check(largest == 1372);
	split_free(split);
}

/* Less than what Linux believes isn't believed here. */
static void a_hop_with_hardly_any_mtu(void)
{
	lose_at_hop(600);
	hop_says(false, ISN + 1 + 1300, 68);
	wait_for_all();
	check(largest == 552);
	hop_mtu = 0;
	split_free(split);
}

int main(void)
{
	run(upload_that_offload_put_together);
	run(upload_that_is_too_large_to_change);
	run(a_pipe_with_a_smaller_mtu);
	run(a_hop_with_a_smaller_mtu);
	run(a_stranger_as_a_hop);
	run(a_hop_with_hardly_any_mtu);
	return tap_end();
}
