// SPDX-License-Identifier: GPL-2.0
/*
 * order - segments that come in another order than they were sent in
 */
#include <stdio.h>

#include "client.h"

/* --- a SYN that is sent again, and crosses its own answer --- */

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

/* --- uploads --- */

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
	run(upload_beyond_the_subflows_window);
	run(window_of_an_older_upload);
	run(window_of_an_older_upload_without_data_ack);
	run(more_that_is_sent_moves_no_timer);
	return tap_end();
}
