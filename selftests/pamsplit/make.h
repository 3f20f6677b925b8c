/* SPDX-License-Identifier: GPL-2.0 */
/*
 * make - packets between a client and a server, as the core gets them
 */
#ifndef PAMSPLIT_MAKE_H
#define PAMSPLIT_MAKE_H

#include <string.h>

#include "packet.h"
#include "split.h"

#define MSS		1428
#define CLIENT_SCALE	7

static uint8_t client_address[4] = { 10, 0, 2, 1 };
static uint16_t client_port = 40000;

static inline size_t make(uint8_t *data, bool up, uint32_t seq, uint32_t ack,
			  uint8_t flags, uint16_t window,
			  const uint8_t *options, size_t options_len,
			  uint32_t payload)
{
	static const uint8_t server[4] = { 10, 0, 0, 2 };
	size_t len = 40 + options_len + payload;
	uint8_t *tcp = data + 20;

	memset(data, 0, 40);
	data[0] = 0x45;
	data[6] = 0x40;
	data[8] = 64;
	data[9] = 6;
	memcpy(data + 12, up ? client_address : server, 4);
	memcpy(data + 16, up ? server : client_address, 4);
	put16(tcp, up ? client_port : 5000);
	put16(tcp + 2, up ? 5000 : client_port);
	tcp_set_seq(tcp, seq);
	tcp_set_ack(tcp, ack);
	tcp[12] = (20 + options_len) / 4 << 4;
	tcp_set_flags(tcp, flags);
	tcp_set_window(tcp, window);
	memcpy(tcp + 20, options, options_len);
	packet_set_len(data, len);
	return len;
}

static inline size_t put_stamps(uint8_t *at, uint32_t stamp, uint32_t echo)
{
	at[0] = 1;
	at[1] = 1;
	at[2] = 8;
	at[3] = 10;
	put32(at + 4, stamp);
	put32(at + 8, echo);
	return 12;
}

/* The SYN with MP_JOIN, or the answer to it; sealed. */
static inline size_t make_handshake(uint8_t *data, bool up, uint32_t seq,
				    uint32_t ack, uint32_t stamp)
{
	uint8_t options[40] = {
		2, 4, MSS >> 8, MSS & 255, 4, 2, 3, 3, up ? CLIENT_SCALE : 0, 1
	};
	size_t len = 10;

	options[len++] = 1;
	options[len++] = 1;
	len += put_stamps(options + len, stamp, up ? 0 : stamp);
	options[len] = 30;
	options[len + 1] = 12;
	options[len + 2] = MP_JOIN << 4;
	len += 12;
	len = make(data, up, seq, ack,
		   up ? TCP_SYN | TCP_ECE | TCP_CWR : TCP_SYN | TCP_ACK, 65000,
		   options, len, 0);
	packet_seal(data, len);
	return len;
}

/* An acknowledgment of the client's; the first one has the MP_JOIN's HMAC. */
static inline size_t make_ack(uint8_t *data, bool first, uint32_t seq,
			      uint32_t ack, uint32_t stamp, uint16_t window)
{
	uint8_t options[40] = { };
	size_t len = put_stamps(options, stamp, stamp);

	options[len] = 30;
	options[len + 1] = first ? 24 : 8;
	options[len + 2] = (first ? MP_JOIN : MP_DSS) << 4;
	options[len + 3] = !first;
	len += first ? 24 : 8;
	len = make(data, true, seq, ack, TCP_ACK, window, options, len, 0);
	packet_seal(data, len);
	return len;
}

/* Data of the server's with a mapping; its payload is left to the caller. */
static inline size_t make_data(uint8_t *data, uint32_t seq, uint32_t ack,
			       uint32_t stamp, uint8_t flags, uint32_t payload)
{
	uint8_t options[40] = { };
	size_t len = put_stamps(options, stamp, 0);

	options[len] = 30;
	options[len + 1] = 20;
	options[len + 2] = MP_DSS << 4;
	options[len + 3] = 0x0d;
	len += 20;
	return make(data, false, seq, ack, flags, 60000, options, len, payload);
}

/* --- a core whose packets nobody gets --- */

static inline void discard(void *arg, enum split_side side, uint8_t *packet,
			   size_t len)
{
	(void)arg;
	(void)side;
	(void)packet;
	(void)len;
}

/* Opens client_port's flow; both ends begin with that sequence number. @data: room */
static inline void open_flow(struct split *split, uint64_t now_us,
			     uint8_t *data, uint32_t isn, uint32_t stamp,
			     uint16_t window)
{
	split_packet(split, now_us, data,
		     make_handshake(data, true, isn, 0, stamp));
	split_packet(split, now_us, data,
		     make_handshake(data, false, isn, isn + 1, stamp));
	split_packet(split, now_us, data,
		     make_ack(data, true, isn + 1, isn + 1, stamp, window));
}

#endif /* PAMSPLIT_MAKE_H */
