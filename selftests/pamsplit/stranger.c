// SPDX-License-Identifier: GPL-2.0
/*
 * stranger - packets that an end didn't send, and bare ones that ask what the other end has
 */
#include <stdio.h>

#include "client.h"

/* --- a RST, which an end believes only if its number is exact --- */

/* The server is asked by an acknowledgment whether that was its own (RFC 5961, 3.2). */
static void rst_in_the_servers_name(void)
{
	bank_some();
	for (int32_t off = -500000; off <= 500000; off += 250000) {
		uint32_t acks = split_counters(split)->early_acks;

		check(give_reset(false, ISN + 1 + 4 * PAYLOAD + off + 1) ==
		      SPLIT_TAKEN);
		check(split_counters(split)->early_acks == acks + 1);
	}
	check(give_reset(false, ISN + 1 + PAYLOAD) == SPLIT_TAKEN);
	check(split_flows(split) == 1);
	all_arrives();
}

/* The server judges, which knows best what comes next. */
static void rst_in_the_clients_name(void)
{
	bank_some();
	for (int32_t off = -500000; off <= 500000; off += 250000)
		check(give_reset(true, ISN + 2 + off) == SPLIT_PASS);
	check(give_reset(true, ISN) == SPLIT_PASS);
	check(split_flows(split) == 1);
	all_arrives();
}

static void rst_of(bool client, uint32_t seq, bool counts)
{
	bank_some();
	give_reset(client, seq);
	check(split_flows(split) == !counts);
	split_free(split);
}

/* Between what the server was told and what came; both ends of it, and no more. */
static void rst_of_the_server(void)
{
	uint32_t acked;

	bank_some();
	acked = last_to_server.ack;
	split_free(split);
	rst_of(false, acked - 1, false);
	rst_of(false, acked, true);
	rst_of(false, ISN + 1 + 4 * PAYLOAD, true);
	rst_of(false, ISN + 2 + 4 * PAYLOAD, false);
}

static void rst_of_the_client(void)
{
	rst_of(true, ISN + 1, true);
}

/* What came last before it is lost: the number lies beyond, and the answer is exact. */
static void rst_of_the_server_behind_a_hole(void)
{
	bank_some();
	check(give_reset(false, ISN + 1 + 6 * PAYLOAD) == SPLIT_TAKEN);
	check(split_flows(split) == 1);
	check(resets == 0);
	give_reset(false, last_to_server.ack);
	check(split_flows(split) == 0);
	check(resets == 1);
	split_free(split);
}

/* It passes: what was left is known to the ends alone. */
static void rst_of_a_flow_that_was_left(void)
{
	start();
	open_flow(split, now_us, data, ISN, STAMP, WINDOW);
	split_drain(split, now_us);
	check(give_reset(false, ISN + 100000) == SPLIT_LEAVE);
	check(split_flows(split) == 1);
	split_free(split);
}

static void rst_before_the_answer(void)
{
	static const uint8_t none[4];

	start();
	check(goes_on(give_syn(STAMP)));
	check(give_reset(false, ISN + 1) == SPLIT_PASS);
	check(give_reset(true, ISN + 2) == SPLIT_PASS);
	check(split_flows(split) == 1);
	check(give(make(data, false, 0, ISN + 1, TCP_RST | TCP_ACK, 0, none, 0,
			0)) == SPLIT_PASS);
	check(split_flows(split) == 0);
	split_free(split);
}

/* --- bare segments of the server's, and data that waits for the client's window --- */

/* One segment fills the client's window, the next one waits. */
static void close_window(void)
{
	start();
	open_flow(split, now_us, data, ISN, STAMP, PAYLOAD >> CLIENT_SCALE);
	server_says(0, STAMP + 10, PAYLOAD);
	client_says(0);
	server_says(PAYLOAD, STAMP + 20, PAYLOAD);
	check(client.rcv_nxt == ISN + 1 + PAYLOAD);
}

/* What waits arrives, in the end. */
static void open_window(void)
{
	client_says(WINDOW);
	check(client.rcv_nxt == ISN + 1 + 2 * PAYLOAD);
	check(client.dropped == 0);
	client_says(WINDOW);
	check(split_counters(split)->delivered_bytes == 2 * PAYLOAD);
	split_free(split);
}

/* It is moved to the window's edge, where the client takes its time stamp. */
static void data_after_a_bare_one_beyond_the_window(void)
{
	close_window();
	server_says(2 * PAYLOAD, STAMP + 30, 0);
	check(client.ts_recent == STAMP + 30);
	open_window();
}

/* As one that asks whether the client is alive. */
static void data_after_a_bare_one_below_the_window(void)
{
	close_window();
	server_says(PAYLOAD - 1, STAMP + 30, 0);
	check(client.ts_recent == STAMP + 30);
	open_window();
}

/* What it says, of MPTCP too, is said but once. */
static void bare_one_after_newer_ones(void)
{
	close_window();
	server_says(2 * PAYLOAD, STAMP + 30, 0);
	server_says(2 * PAYLOAD, STAMP + 15, 0);
	check(client.dropped == 0);
	open_window();
}

/* The client can only acknowledge what it has, so the core answers. */
static void window_probe_while_data_waits(void)
{
	uint64_t acks;

	close_window();
	acks = split_counters(split)->early_acks;
	server_says(PAYLOAD - 1, STAMP + 30, 0);
	check(split_counters(split)->early_acks == acks + 1);
	open_window();
}

/* The client itself answers. If it is gone, nobody does, and the server ends the subflow. */
static void keepalive_while_nothing_waits(void)
{
	uint64_t acks;

	start();
	open_flow(split, now_us, data, ISN, STAMP, WINDOW);
	server_says(0, STAMP + 10, PAYLOAD);
	client_says(WINDOW);
	pass(0);
	check(last_to_server.ack == client.rcv_nxt);
	acks = split_counters(split)->early_acks;
	check(goes_on(give(make_data(data, client.rcv_nxt - 1, ISN + 1,
				     STAMP + 20, TCP_ACK, 0))));
	check(split_counters(split)->early_acks == acks);
	check(goes_on(give(make_ack(data, false, ISN + 1, client.rcv_nxt,
				    STAMP, WINDOW))));
	split_free(split);
}

/* It acknowledges what the client hasn't sent: no server's, and no time stamp. */
static void bare_one_of_a_stranger(void)
{
	close_window();
	give(make_data(data, ISN + 1 + PAYLOAD, ISN + 100000, STAMP + 100000,
		       TCP_ACK, 0));
	open_window();
	check(client.ts_recent == STAMP + 20);
}

/* --- a stranger, who guesses numbers, where the kernel lets all of them pass --- */

/* From the server or, @up, the client: no end's, so it goes on as it is, or nowhere. */
static void stranger_says(bool up, uint32_t seq, uint32_t ack, uint32_t stamp,
			  uint8_t flags, uint32_t payload)
{
	uint8_t options[12], before[sizeof(data)];
	size_t len = put_stamps(options, stamp, stamp);
	enum split_verdict verdict;

	len = make(data, up, seq, ack, flags, 100, options, len, payload);
	packet_seal(data, len);
	memcpy(before, data, len);
	verdict = give(len);
	check(verdict == SPLIT_PASS || verdict == SPLIT_TAKEN);
	check(!memcmp(before, data, len));
}

/* Each quarter of the sequence numbers and stamps; then one of the two numbers alone is wrong. */
static void stranger_guesses(bool up, uint8_t flags, uint32_t payload)
{
	uint32_t seq = ISN + 1 + (up ? 0 : 2 * PAYLOAD);
	uint32_t ack = ISN + 1 + (up ? 2 * PAYLOAD : 0);

	for (unsigned int i = 0; i < 16; i++)
		stranger_says(up, seq + 777 + (i << 30), ack + (1U << 29),
			      STAMP + 30 + (i / 4 << 30), flags, payload);
	for (unsigned int i = 1; i < 4; i++)
		stranger_says(up, seq + (i << 30), ack, STAMP + (1U << 30),
			      flags, payload);
	stranger_says(up, seq, ack + 100000, STAMP + (1U << 30), flags, payload);
	stranger_says(up, seq, ack - 300000, STAMP + (1U << 30), flags, payload);
}

/* What each end says afterwards counts, and early acknowledgments have its numbers. */
static void the_flow_goes_on(void)
{
	struct packet packet;
	size_t len;

	server_says(PAYLOAD, STAMP + 40, PAYLOAD);
	server_says(2 * PAYLOAD, STAMP + 50, PAYLOAD);
	client_says(WINDOW);
	pass(0);
	check(split_flows(split) == 1);
	check(split_counters(split)->delivered_bytes == 3 * PAYLOAD);
	check(last_to_server.seq == ISN + 1);
	check(last_to_server.ack == ISN + 1 + 3 * PAYLOAD);
	check(last_to_server.tsecr == STAMP + 50);
	len = make_ack(data, false, ISN + 1, client.rcv_nxt - 1, STAMP, WINDOW);
	check(goes_on(give(len)) && packet_read(&packet, data, len));
	check(packet.ack == ISN + 1 + 3 * PAYLOAD);
	check(client.dropped == 0 && resets == 0);
	split_free(split);
}

static void stranger(bool up, uint8_t flags, uint32_t payload)
{
	start();
	open_flow(split, now_us, data, ISN, STAMP, WINDOW);
	server_says(0, STAMP + 10, PAYLOAD);
	client_says(WINDOW);
	stranger_guesses(up, flags, payload);
	the_flow_goes_on();
}

static void stranger_as_the_server(void)
{
	stranger(false, TCP_ACK, 0);
}

static void stranger_as_the_server_with_data(void)
{
	stranger(false, TCP_ACK, PAYLOAD);
}

static void stranger_as_the_server_with_a_fin(void)
{
	stranger(false, TCP_ACK | TCP_FIN, 0);
}

static void stranger_as_the_client(void)
{
	stranger(true, TCP_ACK, 0);
}

static void stranger_as_the_client_with_data(void)
{
	stranger(true, TCP_ACK, PAYLOAD);
}

/*
 * Whose guess lies some megabytes behind both numbers: what it says of MPTCP, of the window and of
 * the time is nobody's, whether the packet goes on or not.
 */
static void nearly_right(bool up)
{
	size_t len;

	start();
	open_flow(split, now_us, data, ISN, STAMP, WINDOW);
	server_says(0, STAMP + 10, PAYLOAD);
	client_says(WINDOW);
	if (up) {
		len = make_ack(data, false, ISN + 1 - 10000000, client.rcv_nxt - 200000,
			       STAMP + (1U << 30), WINDOW);
		put32(data + 56, 1U << 30);	/* DATA_ACK, which else is 0 */
		packet_seal(data, len);
	} else {
		len = make_data(data, client.rcv_nxt - 10000000, ISN + 1 - 200000,
				STAMP + (1U << 30), TCP_ACK, 0);
	}
	give(len);
	client.ts_recent = STAMP + 10;
	server_says(PAYLOAD, STAMP + 40, PAYLOAD);
	client_says(WINDOW);
	pass(10000);
	check(split_counters(split)->delivered_bytes == 2 * PAYLOAD);
	check(last_to_server.ack == ISN + 1 + 2 * PAYLOAD);
	check(last_to_server.tsval - STAMP < 1000 && last_to_server.tsecr - STAMP < 1000);
	check(last_to_server.data_ack == 0);
	split_free(split);
}

static void nearly_right_as_the_server(void)
{
	nearly_right(false);
}

static void nearly_right_as_the_client(void)
{
	nearly_right(true);
}

/* The third packet of the handshake is only the client's own. */
static void stranger_before_the_third_packet(void)
{
	start();
	check(goes_on(give_syn(STAMP)));
	check(goes_on(give_answer(STAMP)));
	check(give(make_ack(data, true, ISN + (1U << 30), ISN + 1, STAMP, 1)) ==
	      SPLIT_PASS);
	check(give(make_ack(data, true, ISN + 1, ISN + (1U << 30), STAMP, 1)) ==
	      SPLIT_PASS);
	check(split_counters(split)->flows == 0);
	check(goes_on(give_third(STAMP + 20)));
	check_split();
	split_free(split);
}

int main(void)
{
	run(rst_in_the_servers_name);
	run(rst_in_the_clients_name);
	run(rst_of_the_server);
	run(rst_of_the_client);
	run(rst_of_the_server_behind_a_hole);
	run(rst_of_a_flow_that_was_left);
	run(rst_before_the_answer);
	run(data_after_a_bare_one_beyond_the_window);
	run(data_after_a_bare_one_below_the_window);
	run(bare_one_after_newer_ones);
	run(window_probe_while_data_waits);
	run(keepalive_while_nothing_waits);
	run(bare_one_of_a_stranger);
	run(stranger_as_the_server);
	run(stranger_as_the_server_with_data);
	run(stranger_as_the_server_with_a_fin);
	run(stranger_as_the_client);
	run(stranger_as_the_client_with_data);
	run(nearly_right_as_the_server);
	run(nearly_right_as_the_client);
	run(stranger_before_the_third_packet);
	return tap_end();
}
