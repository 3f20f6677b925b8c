// SPDX-License-Identifier: GPL-2.0
/*
 * still - what must not make a flow stand still
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "../pamsd/tap.h"
#include "flow.h"
#include "one.h"

#define STAMP		500
#define SEGMENT		1396

static struct packet last_to_server;
static uint32_t client_has;	/* the next byte, without a gap */
static uint64_t sent_bytes;	/* to the client */
static unsigned int resets;

static void made(void *arg, enum split_side side, uint8_t *packet, size_t len)
{
	struct packet read;

	(void)arg;
	if (!packet_read(&read, packet, len))
		return;
	resets += !!(read.flags & TCP_RST);
	if (side == TO_SERVER) {
		last_to_server = read;
		return;
	}
	sent_bytes += read.payload_len;
	if (!after(read.seq, client_has))
		client_has = seq_max(client_has, read.seq + read.payload_len);
}

static void start_with_window(const struct split_options *options, uint16_t window)
{
	resets = 0;
	sent_bytes = 0;
	client_has = ISN + 1;
	now_us = 1000000;
	split = split_new(options, made, NULL);
	open_flow(split, now_us, data, ISN, STAMP, window);
}

static void start_with(const struct split_options *options)
{
	start_with_window(options, 60000);
}

static void server_sends(uint32_t number, uint32_t payload)
{
	size_t len = make_data(data, ISN + 1 + number * payload, ISN + 1, STAMP + 10, TCP_ACK,
			       payload);
	struct packet packet;

	packet_seal(data, len);
	if (split_packet(split, now_us, data, len) == SPLIT_PASS &&
	    packet_read(&packet, data, len) && !after(packet.seq, client_has))
		client_has = seq_max(client_has, packet.seq + packet.payload_len);
	split_flush(split, now_us);
}

static void client_acknowledges(uint32_t ack)
{
	give(make_ack(data, false, ISN + 1, ack, STAMP + 10, 60000));
}

/* Until @until is there, or a second has passed. */
static void client_gets(uint32_t until)
{
	for (unsigned int i = 0; i < 100 && before(client_has, until); i++) {
		pass(1000);
		client_acknowledges(client_has);
	}
	client_acknowledges(client_has);
}

/* --- holes --- */

/*
 * The first segment is lost, and what follows fills the flow's memory. Then it comes again: it
 * has to be taken, in place of what came last, which the server has to send again.
 */
static void what_fills_the_hole_is_taken(void)
{
	struct split_options options = split_defaults;
	uint64_t dropped;
	uint32_t n = 1;

	options.flow_bytes = 300000;
	start_with(&options);
	while (!split_counters(split)->dropped)
		server_sends(n++, SEGMENT);
	dropped = split_counters(split)->dropped;
	printf("# %u segments behind the hole, memory %llu\n", n - 2,
	       (unsigned long long)split_memory(split));
	server_sends(0, SEGMENT);
	check(split_counters(split)->dropped == dropped);
	check(split_memory(split) <= options.flow_bytes);
	client_gets(ISN + 1 + (n - 4) * SEGMENT);
	check(!before(client_has, ISN + 1 + (n - 4) * SEGMENT));
	check(!before(last_to_server.ack, ISN + 1 + (n - 4) * SEGMENT));
	for (uint32_t i = n - 4; i < n - 1; i++)
		server_sends(i, SEGMENT);
	client_gets(ISN + 1 + (n - 1) * SEGMENT);
	check(last_to_server.ack == ISN + 1 + (n - 1) * SEGMENT);
	check(split_memory(split) == 0 && resets == 0);
	split_free(split);
}

/* What lies nearer to the hole is worth more than what lies further away, and not the reverse. */
static void what_lies_nearer_is_kept(void)
{
	struct split_options options = split_defaults;
	uint64_t dropped;
	uint32_t n = 2;

	options.flow_bytes = 100000;
	start_with(&options);
	while (!split_counters(split)->dropped)
		server_sends(n++, SEGMENT);
	dropped = split_counters(split)->dropped;
	server_sends(1, SEGMENT);
	check(split_counters(split)->dropped == dropped);
	server_sends(n - 1, SEGMENT);
	check(split_counters(split)->dropped == dropped + 1);
	server_sends(0, SEGMENT);
	check(split_counters(split)->dropped == dropped + 1);
	client_gets(ISN + 1 + (n - 4) * SEGMENT);
	check(!before(client_has, ISN + 1 + (n - 4) * SEGMENT));
	split_free(split);
}

/* A FIN that was dropped for that comes again, too. */
static void a_fin_behind_a_hole(void)
{
	struct split_options options = split_defaults;
	uint32_t n = 1;

	options.flow_bytes = 100000;
	start_with(&options);
	while (split_memory(split) + 2 * (SEGMENT + 300) < options.flow_bytes)
		server_sends(n++, SEGMENT);
	give(make_data(data, ISN + 1 + n * SEGMENT, ISN + 1, STAMP + 10, TCP_ACK | TCP_FIN, 0));
	server_sends(0, SEGMENT);
	server_sends(0, SEGMENT);
	check(split_counters(split)->dropped == 0);
	for (uint32_t i = 1; i < n; i++)
		server_sends(i, SEGMENT);
	give(make_data(data, ISN + 1 + n * SEGMENT, ISN + 1, STAMP + 10, TCP_ACK | TCP_FIN, 0));
	client_gets(ISN + 1 + n * SEGMENT);
	check(client_has == ISN + 1 + n * SEGMENT);
	client_acknowledges(client_has + 1);
	pass(10000000);
	check(last_to_server.ack == client_has + 1);
	check(split_drained(split) && resets == 0);
	split_free(split);
}

/*
 * Of a flow that is passed something can't be kept, while others of the client hold the memory.
 * The client has got and acknowledged it, so that nothing else fills the gap: the flow is left.
 */
static void what_passes_is_kept_or_left(void)
{
	struct split_options options = split_defaults;
	enum split_verdict verdict;
	uint32_t n;

	options.where_it_pays = true;
	start_with(&options);
	for (n = 3; n < 100; n++)
		server_sends(n, SEGMENT);
	split->options.client_bytes = split_memory(split) + SEGMENT;
	/* as offload puts it together */
	verdict = give(make_data(data, ISN + 1, ISN + 1, STAMP + 10, TCP_ACK, 3 * SEGMENT));
	split->options.client_bytes = options.client_bytes;
	for (; verdict == SPLIT_PASS && n < 200; n++) {
		client_acknowledges(ISN + 1 + n * SEGMENT);
		verdict = give(make_data(data, ISN + 1 + n * SEGMENT, ISN + 1, STAMP + 10,
					 TCP_ACK, SEGMENT));
	}
	printf("# after %u segments it keeps %llu bytes\n", n,
	       (unsigned long long)split_memory(split));
	check(verdict == SPLIT_LEAVE);
	split_free(split);
}

/* --- a client that drops what it has SACKed (RFC 2018, 8), as Linux does if it lacks memory --- */

static void client_sacks(uint32_t ack, uint32_t from, uint32_t to)
{
	size_t len = make_ack(data, false, ISN + 1, ack, STAMP + 10, 60000) - 40;
	uint8_t options[40] = { };

	memcpy(options, data + 40, len);
	options[len] = 1;
	options[len + 1] = 1;
	options[len + 2] = 5;
	options[len + 3] = 10;
	put32(options + len + 4, from);
	put32(options + len + 8, to);
	give(make(data, true, ISN + 1, ack, TCP_ACK, 60000, options, len + 12, 0));
}

static void sacked_and_dropped(void)
{
	start_with(&split_defaults);
	for (unsigned int i = 0; i < 4; i++)
		server_sends(i, 1000);
	client_sacks(ISN + 1, ISN + 1 + 1000, ISN + 1 + 4000);
	client_has = ISN + 1 + 1000;
	pass(20000);
	sent_bytes = 0;
	client_acknowledges(ISN + 1 + 1000);
	client_gets(ISN + 1 + 4000);
	check(client_has == ISN + 1 + 4000 && sent_bytes == 3000);
	check(split_counters(split)->timeouts == 0 && resets == 0);
	split_free(split);
}

/* --- a pipe that is silent for a while --- */

/*
 * Two segments are acknowledged, and the rest isn't. Then nothing more is acknowledged early, the
 * flow stays, and the pipe's end is soon noticed: something is sent again five times a second.
 */
static void a_silent_pipe(void)
{
	uint64_t sent;
	uint32_t ack;

	start_with(&split_defaults);
	for (unsigned int i = 0; i < 6; i++)
		server_sends(i, 1000);
	pass(10000);
	client_acknowledges(ISN + 1 + 2000);
	pass(150000);
	ack = last_to_server.ack;
	for (unsigned int i = 6; i < 20; i++) {
		server_sends(i, 1000);
		pass(10000);
	}
	check(last_to_server.ack == ack);
	for (unsigned int i = 0; i < 16; i++) {
		sent = sent_bytes;
		pass(250000);
		check(sent_bytes > sent);
	}
	check(last_to_server.ack == ack && resets == 0);
	client_acknowledges(ISN + 1 + 6000);
	pass(20000);
	check(before(ISN + 1 + 12000, last_to_server.ack));
	split_free(split);
}

/* If it stays silent, it is reset in the end. */
static void a_dead_pipe(void)
{
	start_with(&split_defaults);
	server_sends(0, 1000);
	pass(19000000);
	check(split_flows(split) == 1 && resets == 0);
	pass(3000000);
	check(split_flows(split) == 0 && resets >= 2);
	split_free(split);
}

/*
 * The client closes a window in which data was sent already, as Linux does where memory is short,
 * and answers whatever comes for two minutes. It is alive (RFC 9293, 3.8.6), and gets the rest.
 */
static void a_window_that_shrinks(void)
{
	uint64_t sent;

	start_with(&split_defaults);
	for (unsigned int i = 0; i < 6; i++)
		server_sends(i, 1000);
	client_acknowledges(ISN + 1 + 1000);
	for (unsigned int i = 0; i < 1200; i++) {
		sent = sent_bytes;
		pass(90000);
		if (sent_bytes > sent)
			give(make_ack(data, false, ISN + 1, ISN + 1 + 1000, STAMP + 10, 0));
	}
	check(split_flows(split) == 1 && resets == 0);
	client_has = ISN + 1 + 1000;
	client_acknowledges(client_has);
	client_gets(ISN + 1 + 6000);
	check(client_has == ISN + 1 + 6000);
	check(last_to_server.ack == ISN + 1 + 6000 && resets == 0);
	split_free(split);
}

/* The reader pauses for an hour, and the client answers each probe. */
static void pause_of_the_reader(void)
{
	uint64_t sent;

	start_with_window(&split_defaults, 1024 >> CLIENT_SCALE);
	server_sends(0, 1024);
	client_has = ISN + 1 + 1024;
	give(make_ack(data, false, ISN + 1, client_has, STAMP + 10, 0));
	server_sends(1, 1024);
	for (unsigned int i = 0; i < 360000; i++) {
		sent = sent_bytes;
		pass(10000);
		if (sent_bytes > sent)
			give(make_ack(data, false, ISN + 1, client_has, STAMP + 10, 0));
	}
}

/* Few are sent then, but if the window opens unheard, the next one 5 s later. */
static void a_reader_pauses(void)
{
	uint64_t probes;

	pause_of_the_reader();
	probes = split_counters(split)->probes;
	printf("# %llu probes in an hour\n", (unsigned long long)probes);
	check(probes > 600 && probes < 900 && resets == 0);
	pass(5500000);
	check(split_counters(split)->probes > probes && resets == 0);
	client_acknowledges(client_has);
	client_gets(ISN + 1 + 2048);
	check(client_has == ISN + 1 + 2048 && resets == 0);
	split_free(split);
}

/* The client is gone, which one unanswered probe doesn't prove. */
static void a_reader_never_returns(void)
{
	pause_of_the_reader();
	pass(20000000);
	check(split_flows(split) == 1 && resets == 0);
	pass(7000000);
	check(split_flows(split) == 0 && resets >= 2);
	split_free(split);
}

/* A window that opens waits for the next acknowledgment; the core steps out of the flow before. */
static void a_window_opens_and_the_flow_is_left(void)
{
	start_with(&split_defaults);
	server_sends(0, 1000);
	give(make_ack(data, false, ISN + 1, ISN + 1 + 1000, STAMP + 10, 0));
	pass(100000);
	check(last_to_server.ack == ISN + 1 + 1000 && !last_to_server.window);
	client_acknowledges(ISN + 1 + 1000);
	split_drain(split, now_us);
	split_flush(split, now_us);
	check(split_drained(split));
	check(last_to_server.window == 60000);
	split_free(split);
}

/*
 * 20 segments of 400 bytes wait, and the client acknowledges one at a time. What is acknowledged
 * of the rest advances by a sixteenth of a segment of 1,428 bytes or of the rest, not of 400 bytes.
 */
static void no_silly_steps(void)
{
	uint32_t end = ISN + 1 + 8000, has, rest, step;
	unsigned int steps = 0, silly = 0;

	start_with(&split_defaults);
	for (unsigned int i = 0; i < 20; i++)
		server_sends(i, 400);
	for (has = ISN + 1 + 400; !after(has, end); has += 400) {
		step = last_to_server.ack;
		client_acknowledges(has);
		pass(10000);
		step = last_to_server.ack - step;
		rest = end - has < MSS ? end - has : MSS;
		steps += !!step;
		silly += step && step < rest / 16;
	}
	printf("# %u steps, %u of them silly\n", steps, silly);
	check(steps > 2 && !silly);
	check(last_to_server.ack == end);
	split_free(split);
}

static double processor_us(void)
{
	struct timespec time;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
	return time.tv_sec * 1e6 + time.tv_nsec / 1e3;
}

/*
 * Each second byte, so that there are as many holes as may be; then the time for one more, which
 * must not grow with them. A server could keep the thread of all busy.
 */
static void many_holes(void)
{
	double few = 0, many = 0, at;
	unsigned int i;

	start_with(&split_defaults);
	for (i = 1; !split_counters(split)->dropped && i < 100000; i++) {
		at = processor_us();
		server_sends(2 * i, 1);
		if (i <= 1000)
			few += processor_us() - at;
		else if (i > 15000 && i <= 16000)
			many += processor_us() - at;
	}
	printf("# %u bytes apart: the first 1,000 take %.1f us each, behind 15,000 %.1f us\n",
	       i, few / 1000, many / 1000);
	check(i > 16000);
	check(many < 10 * few);
	split_free(split);
}

/* --- what nobody says, or for long --- */

/* A client that says nothing of MPTCP: the server hears its acknowledgment all the same. */
static void no_data_ack_yet(void)
{
	uint8_t stamps[12];
	size_t len;

	start_with(&split_defaults);
	server_sends(0, SEGMENT);
	len = put_stamps(stamps, STAMP + 10, STAMP + 10);
	len = make(data, true, ISN + 1, ISN + 1 + SEGMENT, TCP_ACK, 60000, stamps, len, 0);
	packet_seal(data, len);
	check(split_packet(split, now_us, data, len) == SPLIT_CHANGED);
	check(get32(data + 28) == ISN + 1 + SEGMENT);
	split_free(split);
}

/* As of an ssh that nobody types in. */
static void idle_for_days(void)
{
	start_with(&split_defaults);
	server_sends(0, SEGMENT);
	client_gets(ISN + 1 + SEGMENT);
	pass(5ULL * 24 * 3600 * SECOND_US);
	check(split_flows(split) == 1 && resets == 0);
	server_sends(1, SEGMENT);
	client_gets(ISN + 1 + 2 * SEGMENT);
	check(last_to_server.ack == ISN + 1 + 2 * SEGMENT);
	split_free(split);
}

/* A server whose time stamps are microseconds': they have wrapped by half. */
static void stamps_that_wrapped(void)
{
	size_t len;

	start_with(&split_defaults);
	server_sends(0, SEGMENT);
	client_gets(ISN + 1 + SEGMENT);
	pass(2400 * SECOND_US);
	len = make_data(data, ISN + 1 + SEGMENT, ISN + 1, STAMP + 10 + 2400000000U,
			TCP_ACK, SEGMENT);
	packet_seal(data, len);
	check(split_packet(split, now_us, data, len) != SPLIT_TAKEN ||
	      split_counters(split)->duplicates == 0);
	split_free(split);
}

/* --silence counts, also where it is long. */
static void long_silence(void)
{
	struct split_options options = split_defaults;

	options.silent_us = 600 * SECOND_US;
	start_with(&options);
	server_sends(0, SEGMENT);
	pass(590 * SECOND_US);
	check(resets == 0 && split_flows(split) == 1);
	pass(20 * SECOND_US);
	check(resets > 0);
	split_free(split);
}

/*
 * A client that acknowledges what came last, so that thousands before that are lost at once: the
 * time for each must not grow with them.
 */
static double each_lost(uint32_t count)
{
	double at;

	start_with(&split_defaults);
	for (uint32_t i = 0; i < count; i++)
		server_sends(i, 1);
	pass(20000);
	at = processor_us();
	for (unsigned int i = 0; i < 100; i++) {
		client_sacks(ISN + 1, ISN + 1 + count - 3, ISN + 1 + count);
		pass(10000);
	}
	at = processor_us() - at;
	printf("# %u bytes: %u sent again in %.0f us\n", count,
	       (unsigned int)split_counters(split)->resent, at);
	check(split_counters(split)->resent >= count / 2);
	at /= split_counters(split)->resent;
	split_free(split);
	return at;
}

static void many_are_lost(void)
{
	double few = each_lost(1000);

	check(each_lost(8000) < 4 * few);
}

/* --- what is known of the pipe --- */

static void delivered(struct flow *flow, uint64_t bytes, uint64_t rate_byteps, bool app_limited)
{
	const struct rate_sample sample = {
		.rate_byteps = rate_byteps, .prior_delivered = flow->delivery.delivered,
		.rtt_us = 30000, .app_limited = app_limited,
	};

	now_us += 30000;
	flow->delivery.delivered += bytes;
	bbr_acked(flow, &sample, bytes, now_us);
}

/* After many answers that fit into a packet the next large one isn't sent at their rate. */
static void small_answers_forget_no_rate(void)
{
	struct flow flow = { .client_mss = SEGMENT, .srtt_us = 30000 };

	now_us = 1000000;
	bbr_start(&flow, now_us);
	for (unsigned int i = 0; i < 20; i++)
		delivered(&flow, 60000, 2000000, false);
	for (unsigned int i = 0; i < 30; i++)
		delivered(&flow, 500, 16000, true);
	check(flow.bbr.rate_byteps > 1000000);
	/* what isn't the application's limit is the pipe's */
	for (unsigned int i = 0; i < 20; i++)
		delivered(&flow, 3000, 100000, false);
	check(flow.bbr.rate_byteps < 200000);
}

int main(void)
{
	run(small_answers_forget_no_rate);
	run(no_data_ack_yet);
	run(idle_for_days);
	run(stamps_that_wrapped);
	run(long_silence);
	run(many_are_lost);
	run(what_fills_the_hole_is_taken);
	run(what_lies_nearer_is_kept);
	run(a_fin_behind_a_hole);
	run(what_passes_is_kept_or_left);
	run(many_holes);
	run(sacked_and_dropped);
	run(a_silent_pipe);
	run(a_dead_pipe);
	run(a_window_that_shrinks);
	run(a_reader_pauses);
	run(a_reader_never_returns);
	run(a_window_opens_and_the_flow_is_left);
	run(no_silly_steps);
	return tap_end();
}
