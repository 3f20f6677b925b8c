// SPDX-License-Identifier: GPL-2.0
/*
 * order - segments that come in another order than they were sent in
 */
#include <stdio.h>

#include "../pamsd/tap.h"
#include "one.h"

#define STAMP		0xfffffff0	/* it wraps */

static unsigned int resets;	/* that the core made */
static struct packet last_to_server;	/* of the core's own */
static uint32_t largest_to_server;	/* their payload */

static size_t mtu;		/* of the pipe, 0: any */
static size_t hop_mtu;		/* of a hop behind the pipe, 0: any */
static size_t largest;		/* packet that reached that hop */

/* The client, as far as it looks at time stamps (RFC 7323, 4 and 5). */
static struct {
	uint32_t rcv_nxt, ts_recent;
	unsigned int dropped;		/* for their time stamps */
} client;

static void client_gets(const struct packet *packet)
{
	if (before(packet->tsval, client.ts_recent)) {
		client.dropped++;
		return;
	}
	if (after(packet->seq, client.rcv_nxt))
		return;
	client.ts_recent = packet->tsval;
	client.rcv_nxt = seq_max(client.rcv_nxt,
				 packet->seq + packet->payload_len);
}

static void made(void *arg, enum split_side side, uint8_t *packet, size_t len)
{
	struct packet read;

	(void)arg;
	if (!packet_read(&read, packet, len))
		return;
	resets += !!(read.flags & TCP_RST);
	if (side == TO_SERVER) {
		last_to_server = read;
		largest_to_server = read.payload_len > largest_to_server ?
				    read.payload_len : largest_to_server;
	}
	if (side == TO_CLIENT && len > largest)
		largest = len;
	if (side == TO_CLIENT && hop_mtu && len > hop_mtu)
		return;
	if (side == TO_CLIENT && mtu && len > mtu)
		split_too_large(split, packet, len, mtu);
	else if (side == TO_CLIENT && !(read.flags & TCP_RST))
		client_gets(&read);
}

static void start(void)
{
	struct split_options options = split_defaults;

	now_us = 1000000;
	resets = 0;
	last_to_server = (struct packet){ };
	client.rcv_nxt = ISN + 1;
	client.ts_recent = STAMP;
	client.dropped = 0;
	split = split_new(&options, made, NULL);
}

static bool goes_on(enum split_verdict verdict)
{
	return verdict == SPLIT_PASS || verdict == SPLIT_CHANGED;
}

/* --- a SYN that is sent again, and crosses its own answer --- */

static enum split_verdict give_syn(uint32_t stamp)
{
	return give(make_handshake(data, true, ISN, 0, stamp));
}

static enum split_verdict give_answer(uint32_t stamp)
{
	return give(make_handshake(data, false, ISN, ISN + 1, stamp));
}

static enum split_verdict give_third(uint32_t stamp)
{
	return give(make_ack(data, true, ISN + 1, ISN + 1, stamp, WINDOW));
}

static enum split_verdict give_reset(bool up, uint32_t seq)
{
	static const uint8_t none[4];

	return give(make(data, up, seq, 0, TCP_RST, 0, none, 0, 0));
}

/* Data goes through the flow, and neither end has been reset. */
static void check_split(void)
{
	check(split_flows(split) == 1);
	check(split_counters(split)->flows == 1);
	give(make_data(data, ISN + 1, ISN + 1, STAMP + 30, TCP_ACK, PAYLOAD));
	give(make_ack(data, false, ISN + 1, ISN + 1 + PAYLOAD, STAMP + 40,
		      WINDOW));
	check(split_counters(split)->delivered_bytes == PAYLOAD);
	check(split_counters(split)->unknown == 0);
	check(split_counters(split)->resets == 0 && resets == 0);
}

/* The server answers the second one, too, or not. */
enum again { NEVER, BEFORE_THE_THIRD, AFTER_THE_THIRD };

static void second_syn(enum again again)
{
	start();
	check(goes_on(give_syn(STAMP)));
	check(goes_on(give_answer(STAMP)));
	check(goes_on(give_syn(STAMP + 10)));
	if (again == BEFORE_THE_THIRD)
		check(goes_on(give_answer(STAMP + 10)));
	check(goes_on(give_third(STAMP + 20)));
	if (again == AFTER_THE_THIRD) {
		check(goes_on(give_answer(STAMP + 10)));
		check(goes_on(give_third(STAMP + 20)));
	}
	check_split();
	split_free(split);
}

static void syn_after_the_answer(void)
{
	second_syn(NEVER);
}

static void syn_after_the_answer_which_comes_again(void)
{
	second_syn(BEFORE_THE_THIRD);
}

static void syn_after_the_answer_which_comes_late(void)
{
	second_syn(AFTER_THE_THIRD);
}

/* To the server, which answers it by an acknowledgment; ECN isn't agreed on by it. */
static void syn_after_the_third_packet(void)
{
	struct packet packet;

	start();
	open_flow(split, now_us, data, ISN, STAMP, WINDOW);
	check(give_syn(STAMP) == SPLIT_CHANGED);
	check(packet_read(&packet, data, sizeof(data)) &&
	      packet.flags == TCP_SYN);
	check(goes_on(give_answer(STAMP)));
	check(goes_on(give_third(STAMP)));
	check_split();
	split_free(split);
}

static void leaves_without_ecn(size_t len)
{
	struct packet packet;

	check(give(len) == SPLIT_CHANGED);
	check(packet_read(&packet, data, len) && packet_intact(&packet));
	check(packet.flags == TCP_SYN && !(data[20 + 12] & TCP_AE));
}

/* Nor Accurate ECN (RFC 9768), for which there is a third flag: alone it asks for it, too. */
static void syn_with_accurate_ecn(void)
{
	size_t len;

	start();
	len = make_handshake(data, true, ISN, 0, STAMP);
	data[20 + 12] |= TCP_AE;
	leaves_without_ecn(len);
	data[20 + 12] |= TCP_AE;
	leaves_without_ecn(len);
	split_free(split);
}

/* Another flow, with more to send than the cap allows. */
static void open_one_that_waits(void)
{
	client_port++;
	open_flow(split, now_us, data, ISN, STAMP, WINDOW);
	for (unsigned int i = 0; i < 2; i++)
		give(make_data(data, ISN + 1 + i * PAYLOAD, ISN + 1,
			       STAMP + 10, TCP_ACK, PAYLOAD));
	client_port--;
}

/* Over the cap new flows are put off, not those that are being opened. */
static void over_the_cap(bool answered)
{
	start();
	check(goes_on(give_syn(STAMP)));
	if (answered)
		check(goes_on(give_answer(STAMP)));
	split_lend(split, 1000);
	open_one_that_waits();
	check(goes_on(give_syn(STAMP + 10)));
	split_lend(split, 0);
	if (!answered)
		check(goes_on(give_answer(STAMP)));
	check(goes_on(give_third(STAMP + 20)));
	check(split_counters(split)->put_off == 0);
	check(split_counters(split)->flows == 2);
	check(split_counters(split)->unknown == 0 && resets == 0);
	split_free(split);
}

static void syn_before_the_answer_over_the_cap(void)
{
	over_the_cap(false);
}

static void syn_after_the_answer_over_the_cap(void)
{
	over_the_cap(true);
}

/* One flow may use the cap up for ever. New ones are put off once: their second SYN passes. */
static void second_syn_over_the_cap(void)
{
	start();
	split_lend(split, 1000);
	open_one_that_waits();
	check(give_syn(STAMP) == SPLIT_TAKEN);
	check(split_counters(split)->put_off == 1);
	check(split_flows(split) == 1);
	check(goes_on(give_syn(STAMP + 10)));
	check(goes_on(give_answer(STAMP + 10)));
	check(goes_on(give_third(STAMP + 20)));
	check(split_counters(split)->flows == 2);
	/* another connection's */
	client_port -= 2;
	check(give(make_handshake(data, true, ISN + 100000, 0, STAMP)) == SPLIT_TAKEN);
	client_port += 2;
	check(split_counters(split)->put_off == 2);
	check(split_counters(split)->unknown == 0 && resets == 0);
	split_free(split);
}

/* Of as many as come within a second each one comes in. */
static void many_syns_over_the_cap(void)
{
	const unsigned int many = 200;
	unsigned int taken = 0;

	start();
	split_lend(split, 100);
	open_one_that_waits();
	for (unsigned int i = 0; i < 2 * many; i++) {
		size_t len = make_handshake(data, true, i % many * 100000, 0, STAMP);

		taken += split_packet(split, now_us, data, len) == SPLIT_TAKEN;
		if (i >= many)
			give_reset(true, i % many * 100000 + 1);
	}
	check(taken == many);
	check(split_counters(split)->put_off == many);
	split_free(split);
}

/* What has been left goes on, whether anything is lent or not. */
static void syn_of_a_flow_that_was_left(void)
{
	start();
	open_flow(split, now_us, data, ISN, STAMP, WINDOW);
	split_drain(split, now_us);
	check(split_drained(split) && split_flows(split) == 1);
	split_lend_nothing(split, true);
	check(give_syn(STAMP) == SPLIT_LEAVE);
	check(resets == 0);
	split_free(split);
}

/* With another number it is another flow, which begins. */
static void other_flow(void)
{
	check(goes_on(give(make_handshake(data, true, ISN + 100000, 0, STAMP))));
	check(split_flows(split) == 1);
	check(goes_on(give(make_handshake(data, false, ISN, ISN + 100001,
					  STAMP))));
	check(goes_on(give(make_ack(data, true, ISN + 100001, ISN + 1, STAMP,
				    WINDOW))));
}

static void syn_with_another_number_before_the_answer(void)
{
	start();
	check(goes_on(give_syn(STAMP)));
	other_flow();
	check(split_counters(split)->flows == 1);
	split_free(split);
}

/* A flow with 4 segments of which the client has the first; the rest is banked. */
static void bank_some(void)
{
	start();
	open_flow(split, now_us, data, ISN, STAMP, WINDOW);
	for (unsigned int i = 0; i < 4; i++)
		give(make_data(data, ISN + 1 + i * PAYLOAD, ISN + 1, STAMP + 10,
			       TCP_ACK, PAYLOAD));
	give(make_ack(data, false, ISN + 1, ISN + 1 + PAYLOAD, STAMP + 20,
		      WINDOW));
	check(after(last_to_server.ack, ISN + 1 + PAYLOAD));
}

/* While the flow lives it passes as it is, and nothing becomes of the flow. */
static void give_other_syn(void)
{
	check(give(make_handshake(data, true, ISN + 100000, 0, STAMP)) ==
	      SPLIT_PASS);
	check(split_flows(split) == 1);
	check(split_counters(split)->flows == 1);
}

/* The server's answer to it: where it is. */
static void give_challenge(void)
{
	check(goes_on(give(make_data(data, ISN + 1 + 4 * PAYLOAD, ISN + 1,
				     STAMP + 20, TCP_ACK, 0))));
}

/* The client acknowledges the rest. */
static void all_arrives(void)
{
	give(make_ack(data, false, ISN + 1, ISN + 1 + 4 * PAYLOAD, STAMP + 30,
		      WINDOW));
	check(split_counters(split)->delivered_bytes == 4 * PAYLOAD);
	check(last_to_server.ack == ISN + 1 + 4 * PAYLOAD);
	check(split_counters(split)->unknown == 0 && resets == 0);
	split_free(split);
}

/* A stranger's: all goes on. */
static void syn_of_a_stranger(void)
{
	bank_some();
	give_other_syn();
	give_challenge();
	all_arrives();
}

/* The client has begun anew: it refuses the server's answer, which ends the flow. */
static void syn_of_a_client_that_began_anew(void)
{
	bank_some();
	give_other_syn();
	give_challenge();
	check(give_reset(true, ISN + 1) == SPLIT_PASS);
	check(split_flows(split) == 0);
	other_flow();
	check(split_counters(split)->flows == 2);
	split_free(split);
}

/*
 * The server has forgotten the flow, too, and answers the SYN, and an acknowledgment
 * of the flow's by a reset.
 */
static void syn_when_both_began_anew(void)
{
	bank_some();
	give_other_syn();
	check(give(make_handshake(data, false, ISN + 50000, ISN + 100001,
				  STAMP)) == SPLIT_TAKEN);
	check(split_flows(split) == 1);
	check(last_to_server.seq == ISN + 1);
	check(last_to_server.flags == TCP_ACK);
	give_reset(false, last_to_server.ack);
	check(split_flows(split) == 0);
	other_flow();
	check(split_counters(split)->flows == 2);
	split_free(split);
}

/* The same while the handshake's third packet is missing. */
static void syn_with_another_number_after_the_answer(void)
{
	start();
	check(goes_on(give_syn(STAMP)));
	check(goes_on(give_answer(STAMP)));
	check(give(make_handshake(data, true, ISN + 100000, 0, STAMP)) ==
	      SPLIT_PASS);
	check(goes_on(give_third(STAMP + 20)));
	check_split();
	split_free(split);
}

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

/* The server's segment @at bytes behind its SYN; the client gets it if it passes. */
static void server_says(uint32_t at, uint32_t stamp, uint32_t payload)
{
	struct packet packet;
	size_t len = make_data(data, ISN + 1 + at, ISN + 1, stamp, TCP_ACK,
			       payload);

	if (goes_on(give(len)) && (!mtu || len <= mtu) &&
	    (!hop_mtu || len <= hop_mtu) &&
	    packet_read(&packet, data, len))
		client_gets(&packet);
}

static void client_says(uint16_t window)
{
	give(make_ack(data, false, ISN + 1, client.rcv_nxt, STAMP, window));
}

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

/* --- uploads --- */

static enum split_verdict client_sends(uint32_t seq, uint32_t payload)
{
	size_t len = make_ack(data, false, seq, ISN + 1, STAMP, WINDOW) - 40;
	uint8_t options[40];

	memcpy(options, data + 40, len);
	return give(make(data, true, seq, ISN + 1, TCP_ACK, WINDOW, options,
			 len, payload));
}

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

/*
 * The server has told a larger window on another subflow: the client sends, and the server
 * acknowledges, more than the last one on this subflow allows.
 */
static void upload_beyond_the_subflows_window(void)
{
	uint32_t at = ISN + 1;

	start();
	open_flow(split, now_us, data, ISN, STAMP, WINDOW);
	for (unsigned int i = 0; i < 200; i++, at += 60000)
		check(client_sends(at, 1400) == SPLIT_CHANGED);
	check(give(make_data(data, ISN + 1, at - 60000 + 1400, STAMP + 10,
			     TCP_ACK, 0)) == SPLIT_PASS);
	check(give(make_data(data, ISN + 1, at - 60000 + 1400, STAMP + 20,
			     TCP_ACK, PAYLOAD)) == SPLIT_PASS);
	check(split_counters(split)->received_bytes == PAYLOAD);
	split_free(split);
}

/* The client's packet with a DATA_ACK of its own, if @data_ack isn't negative. */
static void client_sends_with(uint32_t seq, int64_t data_ack, uint16_t window)
{
	size_t len = make_ack(data, false, seq, ISN + 1, STAMP, window) - 40;
	uint8_t options[40];

	memcpy(options, data + 40, len);
	if (data_ack >= 0)
		put32(options + len - 4, data_ack);
	else
		memset(options + len - 8, 1, 8);
	give(make(data, true, seq, ISN + 1, TCP_ACK, window, options, len, 100));
}

/*
 * Two of the client's packets change their order. Its right edge is 1000 << 7 in both. No early
 * acknowledgment has the one's window with the other's DATA_ACK.
 */
static void uploads_in_another_order(int64_t data_ack)
{
	start();
	open_flow(split, now_us, data, ISN, STAMP, 1000);
	for (unsigned int i = 0; i < 8; i++)
		server_says(i * PAYLOAD, STAMP + 10, PAYLOAD);
	client_sends_with(ISN + 1 + 100, 500 << CLIENT_SCALE, 500);
	client_sends_with(ISN + 1, data_ack, 1000);
	for (unsigned int i = 0; i < 20; i++) {
		server_says(i & 1 ? (8 + i / 2) * PAYLOAD : 0, STAMP + 20 + i, PAYLOAD);
		check(last_to_server.data_ack + (last_to_server.window << CLIENT_SCALE) <=
		      1000 << CLIENT_SCALE);
	}
	check(last_to_server.flags == TCP_ACK);
	split_free(split);
}

static void window_of_an_older_upload(void)
{
	uploads_in_another_order(0);
}

static void window_of_an_older_upload_without_data_ack(void)
{
	uploads_in_another_order(-1);
}

/* --- timers --- */

/*
 * The client is silent, and more is sent to it: the timer runs from the first on
 * (RFC 6298, 5.1), for 60 ms with a round trip of 10 ms.
 */
static void more_that_is_sent_moves_no_timer(void)
{
	unsigned int i;

	start();
	open_flow(split, now_us, data, ISN, STAMP, WINDOW);
	for (i = 0; i < 30 && !split_counters(split)->timeouts; i++) {
		server_says(i * 100, STAMP + 10 + i, 100);
		pass(0);
	}
	printf("# timed out after %u0 ms, %llu probes\n", i,
	       (unsigned long long)split_counters(split)->probes);
	check(i <= 7);
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
	run(syn_after_the_answer);
	run(syn_after_the_answer_which_comes_again);
	run(syn_after_the_answer_which_comes_late);
	run(syn_after_the_third_packet);
	run(syn_with_accurate_ecn);
	run(syn_before_the_answer_over_the_cap);
	run(syn_after_the_answer_over_the_cap);
	run(second_syn_over_the_cap);
	run(many_syns_over_the_cap);
	run(syn_of_a_flow_that_was_left);
	run(syn_with_another_number_before_the_answer);
	run(syn_with_another_number_after_the_answer);
	run(syn_of_a_stranger);
	run(syn_of_a_client_that_began_anew);
	run(syn_when_both_began_anew);
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
	run(stranger_before_the_third_packet);
	run(upload_that_offload_put_together);
	run(upload_that_is_too_large_to_change);
	run(upload_beyond_the_subflows_window);
	run(window_of_an_older_upload);
	run(window_of_an_older_upload_without_data_ack);
	run(more_that_is_sent_moves_no_timer);
	run(a_pipe_with_a_smaller_mtu);
	run(a_hop_with_a_smaller_mtu);
	run(a_stranger_as_a_hop);
	run(a_hop_with_hardly_any_mtu);
	return tap_end();
}
