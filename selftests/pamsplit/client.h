/* SPDX-License-Identifier: GPL-2.0 */
/*
 * client - a client behind one core, as far as it looks at sequence numbers and time stamps
 */
#ifndef PAMSPLIT_CLIENT_H
#define PAMSPLIT_CLIENT_H

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

static inline void client_gets(const struct packet *packet)
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

static inline void made(void *arg, enum split_side side, uint8_t *packet, size_t len)
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

static inline void start(void)
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

static inline bool goes_on(enum split_verdict verdict)
{
	return verdict == SPLIT_PASS || verdict == SPLIT_CHANGED;
}

/* --- what each end says --- */

static inline enum split_verdict give_syn(uint32_t stamp)
{
	return give(make_handshake(data, true, ISN, 0, stamp));
}

static inline enum split_verdict give_answer(uint32_t stamp)
{
	return give(make_handshake(data, false, ISN, ISN + 1, stamp));
}

static inline enum split_verdict give_third(uint32_t stamp)
{
	return give(make_ack(data, true, ISN + 1, ISN + 1, stamp, WINDOW));
}

static inline enum split_verdict give_reset(bool up, uint32_t seq)
{
	static const uint8_t none[4];

	return give(make(data, up, seq, 0, TCP_RST, 0, none, 0, 0));
}

/* The server's segment @at bytes behind its SYN; the client gets it if it passes. */
static inline void server_says(uint32_t at, uint32_t stamp, uint32_t payload)
{
	struct packet packet;
	size_t len = make_data(data, ISN + 1 + at, ISN + 1, stamp, TCP_ACK,
			       payload);

	if (goes_on(give(len)) && (!mtu || len <= mtu) &&
	    (!hop_mtu || len <= hop_mtu) &&
	    packet_read(&packet, data, len))
		client_gets(&packet);
}

static inline void client_says(uint16_t window)
{
	give(make_ack(data, false, ISN + 1, client.rcv_nxt, STAMP, window));
}

static inline enum split_verdict client_sends(uint32_t seq, uint32_t payload)
{
	size_t len = make_ack(data, false, seq, ISN + 1, STAMP, WINDOW) - 40;
	uint8_t options[40];

	memcpy(options, data + 40, len);
	return give(make(data, true, seq, ISN + 1, TCP_ACK, WINDOW, options,
			 len, payload));
}

/* --- what comes of the flow --- */

/* Data goes through the flow, and neither end has been reset. */
static inline void check_split(void)
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

/* A flow with 4 segments of which the client has the first; the rest is banked. */
static inline void bank_some(void)
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

/* The client acknowledges the rest. */
static inline void all_arrives(void)
{
	give(make_ack(data, false, ISN + 1, ISN + 1 + 4 * PAYLOAD, STAMP + 30,
		      WINDOW));
	check(split_counters(split)->delivered_bytes == 4 * PAYLOAD);
	check(last_to_server.ack == ISN + 1 + 4 * PAYLOAD);
	check(split_counters(split)->unknown == 0 && resets == 0);
	split_free(split);
}

#endif /* PAMSPLIT_CLIENT_H */
