// SPDX-License-Identifier: GPL-2.0
/*
 * fuzz - whole sequences of packets, sensible ones and nonsense among them
 *
 * A sequence opens flows of a few clients and then sends, in any order and from
 * either end, packets whose numbers lie near the flow's state, some with wild
 * options, cut short, or with any byte changed; time goes on in between. ASan and
 * UBSan watch. The memory stays within its limit, what the core makes can be
 * read and has its checksum, and nothing is left at the end. No flow stands still (live.h).
 *
 * Usage: fuzz [INPUTS [SEED]]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "live.h"
#include "split.h"

#define FLOWS		8
#define SEQUENCE	400	/* packets */
#define MEMORY		1048576

static struct {
	struct split *split;
	uint64_t now_us;
	uint64_t inputs, made, opened;
	uint32_t isn[FLOWS], client_isn[FLOWS];
	uint32_t nxt[FLOWS], acked[FLOWS];
} state;

static uint64_t seed;

static uint32_t any(uint32_t below)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return below ? (uint32_t)(seed >> 16) % below : 0;
}

static void fail(const char *what)
{
	printf("not ok 1 - %s after %llu inputs\n1..1\n", what,
	       (unsigned long long)state.inputs);
	exit(1);
}

static void out(void *arg, enum split_side side, uint8_t *data, size_t len)
{
	struct packet packet;

	(void)arg;
	(void)side;
	state.made++;
	if (!packet_read(&packet, data, len) || packet.len != len)
		fail("the core made what can't be read");
	if (!packet_intact(&packet))
		fail("the core made a wrong checksum");
}

static size_t head(uint8_t *data, unsigned int flow, bool up, uint32_t seq,
		   uint32_t ack, uint8_t flags, size_t options, uint32_t payload)
{
	bool v6 = flow & 1;
	size_t at = v6 ? 40 : 20, len = at + 20 + options + payload;
	uint8_t *tcp = data + at, *from = data + (v6 ? 8 : 12);
	unsigned int width = v6 ? 16 : 4;

	memset(data, 0, at + 20);
	data[0] = v6 ? 0x60 : 0x45;
	data[v6 ? 6 : 9] = 6;
	from[width - 1 + (up ? 0 : width)] = 2 + flow / 4;
	from[width - 1 + (up ? width : 0)] = 99;
	put16(tcp + (up ? 0 : 2), 40000 + flow);
	put16(tcp + (up ? 2 : 0), 5000);
	tcp_set_seq(tcp, seq);
	tcp_set_ack(tcp, ack);
	tcp[12] = (20 + options) / 4 << 4;
	tcp_set_flags(tcp, flags);
	tcp_set_window(tcp, any(4) ? 60000 : any(65536));
	packet_set_len(data, len);
	return len;
}

static size_t stamps(uint8_t *at)
{
	at[0] = 1;
	at[1] = 1;
	at[2] = 8;
	at[3] = 10;
	put32(at + 4, state.now_us / 1000 + (any(1000) ? 0 : any(1U << 31)));
	put32(at + 8, any(1U << 31));
	return 12;
}

static size_t dss(uint8_t *at, bool mapping)
{
	unsigned int width = any(2) ? 8 : 4;
	size_t len = 4 + width + (mapping ? 14 : 0);

	len = (len + 3) & ~3U;
	memset(at, 0, len);
	at[0] = 30;
	at[1] = any(30) ? len : any(256);
	at[2] = any(30) ? MP_DSS << 4 : any(256);
	at[3] = (width == 8 ? 3 : 1) | (mapping ? 4 : 0) | (any(30) ? 0 : 16);
	put32(at + 4, any(30) ? 0 : any(1U << 31));
	put32(at + width, state.now_us / 1000);
	return len;
}

static uint32_t near(uint32_t number)
{
	switch (any(8)) {
	case 0:
		return number + any(100000);
	case 1:
		return number - any(100000);
	case 2:
		return any(1U << 31) * 2;
	}
	return number;
}

static size_t open_flow(uint8_t *data, unsigned int flow, bool answer)
{
	uint8_t options[40] = { 2, 4, any(30) ? 5 : 0, any(256), 4, 2, 3, 3,
				any(20), 1, 1, 1 };
	size_t at = flow & 1 ? 60 : 40, len = 12, size;

	len += stamps(options + len);
	options[len] = 30;
	options[len + 1] = 12;
	options[len + 2] = any(20) ? MP_JOIN << 4 : any(256);
	len += 12;
	if (!answer) {
		state.isn[flow] = any(4) ? any(1U << 31) * 2 : 0U - any(5000);
		state.client_isn[flow] = any(4) ? any(1U << 31) : ~0U;
		state.nxt[flow] = state.isn[flow] + 1;
		state.acked[flow] = state.nxt[flow];
		state.opened++;
	}
	size = head(data, flow, !answer,
		    answer ? state.isn[flow] : state.client_isn[flow],
		    answer ? state.client_isn[flow] + 1 : 0,
		    answer ? TCP_SYN | TCP_ACK : TCP_SYN | any(256) * !any(20),
		    len, 0);
	memcpy(data + at, options, len);
	return size;
}

static size_t downward(uint8_t *data, unsigned int flow)
{
	uint32_t payload = any(4) ? any(1400) : any(8) ? 0 : any(60000);
	uint32_t seq = near(state.nxt[flow]);
	uint8_t options[80];
	size_t at = flow & 1 ? 60 : 40, len = stamps(options), size;

	len += dss(options + len, any(8));
	if (len > 40)
		len = 40;
	size = head(data, flow, false, seq, near(state.client_isn[flow] + 1),
		    TCP_ACK | (any(200) ? 0 : any(2) ? TCP_FIN : TCP_RST), len,
		    payload);
	memcpy(data + at, options, len);
	for (uint32_t i = 0; i < payload; i += 64)
		data[at + len + i] = i;
	if (seq == state.nxt[flow])
		state.nxt[flow] += payload;
	return size;
}

static size_t upward(uint8_t *data, unsigned int flow)
{
	uint32_t payload = any(4) ? 0 : any(8) ? any(1400) : any(60000);
	uint8_t options[80];
	size_t at = flow & 1 ? 60 : 40, len = stamps(options), size;
	uint32_t behind = state.nxt[flow] - state.acked[flow];

	if (any(3))
		state.acked[flow] += behind < 1 << 24 ? any(behind + 1) : 0;
	len += dss(options + len, false);
	if (!any(3) && len <= 28) {
		options[len] = 1;
		options[len + 1] = 1;
		options[len + 2] = 5;
		options[len + 3] = 10;
		put32(options + len + 4, near(state.acked[flow] + any(20000)));
		put32(options + len + 8, near(state.acked[flow] + any(40000)));
		len += 12;
	}
	size = head(data, flow, true, near(state.client_isn[flow] + 1),
		    near(state.acked[flow]),
		    TCP_ACK | (any(200) ? 0 : any(2) ? TCP_FIN : TCP_RST), len,
		    payload);
	memcpy(data + at, options, len);
	memset(data + at + len, 7, payload);
	return size;
}

/* The handshake's third packet, from which on the flow is split. */
static size_t third(uint8_t *data, unsigned int flow)
{
	size_t at = flow & 1 ? 60 : 40, len, size;
	uint8_t options[80];

	len = stamps(options);
	len += dss(options + len, false);
	size = head(data, flow, true, state.client_isn[flow] + 1, state.isn[flow] + 1, TCP_ACK,
		    len, 0);
	memcpy(data + at, options, len);
	return size;
}

static void feed(uint8_t *data, size_t len)
{
	/* in memory of its own, so that a byte too far is seen */
	uint8_t *copy;

	if (!any(40))
		len = any(len + 1);
	copy = malloc(len ? len : 1);
	memcpy(copy, data, len);
	for (unsigned int i = any(30) ? 0 : any(4); len && i; i--)
		copy[any(len < 100 ? len : 100)] = any(256);
	state.inputs++;
	split_packet(state.split, state.now_us, copy, len);
	free(copy);
}

static void sequence(void)
{
	static uint8_t data[80 + 70000];
	struct split_options options = split_defaults;
	const char *wrong;

	options.total_bytes = MEMORY;
	options.client_bytes = MEMORY / 2;
	options.flow_bytes = MEMORY / 3;
	options.flows_max = 1 + any(2 * FLOWS);
	options.silent_us = 100000 << any(9);
	options.seed = any(1U << 31);
	options.where_it_pays = any(2);
	options.lend_byteps = any(2) ? 1000 + any(1U << 20) : 0;
	state.split = split_new(&options, out, NULL);
	for (unsigned int flow = 0; flow < FLOWS; flow++) {
		feed(data, open_flow(data, flow, false));
		feed(data, open_flow(data, flow, true));
		if (any(8))
			feed(data, third(data, flow));
	}
	for (unsigned int i = 0; i < SEQUENCE; i++) {
		unsigned int flow = any(FLOWS), what = any(100);

		state.now_us += any(10) ? any(3000) : any(400000);
		if (what < 1)
			feed(data, open_flow(data, flow, any(2)));
		else if (what < 50)
			feed(data, downward(data, flow));
		else
			feed(data, upward(data, flow));
		if (any(3))
			split_flush(state.split, state.now_us);
		if (split_next_us(state.split) <= state.now_us)
			split_timers(state.split, state.now_us);
		if (split_memory(state.split) > MEMORY + 65536)
			fail("more memory than allowed");
		wrong = flows_wrong(state.split, state.now_us);
		if (wrong)
			fail(wrong);
		if (!any(2000))
			split_drain(state.split, state.now_us);
		if (!any(2000))
			split_reset_all(state.split, state.now_us);
	}
	split_free(state.split);
}

int main(int argc, char **argv)
{
	uint64_t inputs = argc > 1 ? strtoull(argv[1], NULL, 0) : 100000;

	seed = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;
	seed = seed * 0x9e3779b97f4a7c15ULL | 1;
	while (state.inputs < inputs)
		sequence();
	if (state.made < inputs / 10)
		fail("the core made hardly anything");
	printf("# %llu inputs, %llu flows, %llu packets made\n",
	       (unsigned long long)state.inputs,
	       (unsigned long long)state.opened,
	       (unsigned long long)state.made);
	printf("ok 1 - sequences of packets\n1..1\n");
	return 0;
}
