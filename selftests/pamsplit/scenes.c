// SPDX-License-Identifier: GPL-2.0
/*
 * scenes - those that are written down, and those that are drawn
 */
#include "world.h"

#define MBIT(n)	((n) * 125000ULL)
#define S(n)	((uint64_t)((n) * 1e6) + 1000000)
#define HS	{ MBIT(10), 20000, 150000, 0, 0, 0 }
#define PIPE	{ MBIT(5), 5000, 150000, 0, 0, 0 }

const struct scene scenes[] = {
	{ "plain", HS, PIPE, 2000000, .most_us = S(3.6) },
	{ "32-bit DATA_ACK, which wraps", HS, PIPE, 500000,
	  .data_ack_len = 4 },
	{ "sequence numbers and stamps wrap", HS, PIPE, 500000,
	  .isn = 0xfffff000, .client_isn = 0xffffffff, .stamp = 0xffffff80 },
	{ "offload", HS, PIPE, 1000000, .pieces = 8 },
	{ "large offload, fast", { MBIT(1000), 1000, 3000000, 0, 0, 0 },
	  { MBIT(1000), 1000, 3000000, 0, 0, 0 }, 8000000,
	  .pieces = 45, .most_us = S(1) },
	{ "loss of 2 % on the pipe", HS, { MBIT(5), 5000, 150000, 20, 0, 0 },
	  2000000, .most_us = S(4.2) },
	{ "loss of 2 % on the HS-path", { MBIT(10), 20000, 150000, 20, 0, 0 },
	  PIPE, .bytes = 500000 },
	{ "loss, lateness and doubles on both",
	  { MBIT(10), 20000, 150000, 10, 20, 20 },
	  { MBIT(5), 5000, 150000, 20, 20, 20 }, .bytes = 500000 },
	{ "the same, wrapping, with offload",
	  { MBIT(10), 20000, 150000, 10, 20, 20 },
	  { MBIT(5), 5000, 150000, 20, 20, 20 }, 500000,
	  .isn = 0xffff0000, .stamp = 0xffffff00, .pieces = 3 },
	{ "the pipe falls to 1 Mbit/s", HS, PIPE, 2000000,
	  .pipe_rate_at_us = S(1), .pipe_rate_byteps = MBIT(1),
	  .most_us = S(14) },
	/* 1.28 s at the pipe's rate */
	{ "acknowledgments in bursts of 20 ms, round trips of 4 ms",
	  { MBIT(200), 2000, 600000, 0, 0, 0 },
	  { MBIT(50), 2000, 150000, 0, 0, 0 }, 8000000,
	  .client_bursts_us = 20000, .most_us = S(2.6) },
	{ "a reader that stops for 5 s", HS, PIPE, 1000000,
	  .window = 256 << 10, .reader_stops_us = S(0.3),
	  .reader_goes_on_us = S(5.3), .most_us = S(8) },
	{ "the same behind a round trip of 2 ms", HS,
	  { MBIT(5), 1000, 150000, 0, 0, 0 }, 1000000,
	  .window = 256 << 10, .reader_stops_us = S(0.3),
	  .reader_goes_on_us = S(5.3), .most_us = S(8) },
	/* which answers each probe, though seldom */
	{ "the same behind a round trip of 300 ms", HS,
	  { MBIT(5), 150000, 150000, 0, 0, 0 }, 1000000,
	  .window = 256 << 10, .reader_stops_us = S(1),
	  .reader_goes_on_us = S(20), .most_us = S(24) },
	{ "little memory, and a slow pipe", HS, { MBIT(1), 5000, 150000, 0, 0, 0 },
	  500000, .memory = 150000 },
	{ "a small window", HS, PIPE, 300000, .window = 4096 },
	/* 500,000 bytes, and 66 of each packet's 1,448 beside them */
	{ "a cap of 100 KB/s", HS, PIPE, 500000, .lend_byteps = 100000,
	  .least_us = S(5), .most_us = S(6) },
	{ "the same with offload", HS, PIPE, 500000, .lend_byteps = 100000,
	  .pieces = 8, .least_us = S(5), .most_us = S(6) },
	{ "a cap, and loss on the pipe", HS,
	  { MBIT(5), 5000, 150000, 20, 0, 0 }, 500000,
	  .lend_byteps = 100000, .least_us = S(5), .most_us = S(7) },
	{ "a cap above the pipe's rate", HS, PIPE, 2000000,
	  .lend_byteps = 2000000, .most_us = S(3.7) },
	{ "the pipe dies", HS, PIPE, 2000000, .pipe_dies_us = S(1),
	  .resets = true, .least_us = S(20.5), .most_us = S(23) },
	/* 1.2 s and 1.1 s at the pipe's rate */
	{ "segments of 50 bytes", { MBIT(10), 20000, 3000000, 0, 0, 0 }, PIPE, 300000,
	  .payload = 50, .most_us = S(2) },
	{ "segments of 20 bytes", { MBIT(10), 20000, 3000000, 0, 0, 0 }, PIPE, 150000,
	  .payload = 20, .most_us = S(2) },
	/* what a pause takes, and what the server's timer, doubled meanwhile, takes beyond it */
	{ "a pause of 0.1 s", HS, PIPE, 2000000, .pipe_dies_us = S(1),
	  .pipe_back_us = S(1.1), .most_us = S(3.9) },
	{ "a pause of 0.3 s", HS, PIPE, 2000000, .pipe_dies_us = S(1),
	  .pipe_back_us = S(1.3), .most_us = S(4.2) },
	{ "a pause of 0.7 s", HS, PIPE, 2000000, .pipe_dies_us = S(1),
	  .pipe_back_us = S(1.7), .most_us = S(4.7) },
	{ "a pause of 2 s", HS, PIPE, 2000000, .pipe_dies_us = S(1),
	  .pipe_back_us = S(3), .most_us = S(6) },
	{ "a pause of 10 s", HS, PIPE, 2000000, .pipe_dies_us = S(1),
	  .pipe_back_us = S(11), .most_us = S(15) },
	{ "a pause of 2 s before any data", HS, PIPE, 2000000, .pipe_dies_us = S(0.05),
	  .pipe_back_us = S(2.05), .most_us = S(6) },
	{ "another pipe with a smaller MTU", HS, PIPE, 1000000,
	  .pipe_narrow_us = S(0.5), .pipe_mtu = 1280, .most_us = S(2.5) },
	{ "the same with loss and offload", HS,
	  { MBIT(5), 5000, 150000, 20, 20, 20 }, 500000, .pieces = 3,
	  .pipe_narrow_us = S(0.3), .pipe_mtu = 600, .most_us = S(4) },
	{ "a stranger's SYN", HS, PIPE, 2000000, .stranger_us = S(1),
	  .most_us = S(3.6) },
	{ "passed", HS, PIPE, 2000000, .pays = true, .how = NEVER, .most_us = S(3.6) },
	{ "passed, the pipe's queue overflows", HS, { MBIT(5), 5000, 40000, 0, 0, 0 }, 2000000,
	  .pays = true, .how = NEVER },
	{ "passed, loss of 2 % on the HS-path", { MBIT(10), 20000, 150000, 20, 0, 0 }, PIPE,
	  .bytes = 2000000, .pays = true, .how = NEVER },
	{ "passed, the HS-path changes the order", { MBIT(10), 20000, 150000, 0, 50, 10 }, PIPE,
	  .bytes = 2000000, .pays = true, .how = NEVER },
	{ "passed until the pipe loses 2 %", HS, { MBIT(20), 5000, 150000, 20, 0, 0 },
	  2000000, .pays = true, .how = BEGINS, .most_us = S(2.1) },
	{ "passed until there is a cap", HS, PIPE, 500000, .lend_byteps = 100000,
	  .pays = true, .how = BEGINS, .least_us = S(4), .most_us = S(6) },
	{ "passed again once the pipe has healed", { MBIT(2), 20000, 150000, 0, 0, 0 },
	  { MBIT(5), 5000, 150000, 20, 0, 0 }, 10000000, .pipe_heals_us = S(2),
	  .pays = true, .how = RESTS, .most_us = S(50) },
	{ "passed, with loss and offload, drains", HS, { MBIT(5), 5000, 150000, 20, 20, 20 },
	  1000000, .pays = true, .pieces = 3, .drain_us = S(1) },
	{ "passed, a pause of 2 s", HS, PIPE, 2000000, .pays = true, .pipe_dies_us = S(1),
	  .pipe_back_us = S(3), .most_us = S(7) },
	{ "it drains", HS, PIPE, 2000000, .drain_us = S(1) },
	{ "it drains with loss", HS, { MBIT(5), 5000, 150000, 20, 0, 0 },
	  1000000, .drain_us = S(1) },
};

const unsigned int scenes_count = sizeof(scenes) / sizeof(*scenes);

static uint32_t any(uint32_t from, uint32_t to)
{
	return from + (uint32_t)rand() % (to - from + 1);
}

static struct leg any_leg(void)
{
	return (struct leg){ MBIT(any(2, 50)), any(500, 40000), any(20000, 300000),
			     any(0, 1) * any(0, 40), any(0, 1) * any(0, 100),
			     any(0, 1) * any(0, 40) };
}

/* One of any scenes, in which both ends do what they may, and the legs what they can. */
void draw(struct scene *scene, unsigned int seed)
{
	srand(seed);
	*scene = (struct scene){
		.hs = any_leg(), .pipe = any_leg(), .bytes = any(10000, 150000),
		.isn = any(0, 1) ? (uint32_t)rand() * 2 : 0U - any(0, 100000),
		.client_isn = 0U - any(0, 5000), .stamp = 0U - any(0, 2000),
		.data_ack_len = any(0, 1) ? 4 : 8, .window = any(8192, 1 << 20),
		.memory = any(60000, 1 << 20),
		.pieces = any(0, 2) ? 0 : any(2, 8), .payload = any(0, 3) ? 0 : any(30, 600),
		.reneges = any(0, 1) * any(0, 50), .shrinks = any(0, 1) * any(0, 300),
		.uploads = any(0, 1) * any(0, 500),
	};
	/* not before the handshake is over, which takes each leg's delay once */
	if (!any(0, 3)) {
		scene->pipe_dies_us = S(0) + scene->hs.delay_us + scene->pipe.delay_us +
				      any(50000, 1000000);
		scene->pipe_back_us = scene->pipe_dies_us + any(50000, 3000000);
	}
	if (!any(0, 5)) {
		scene->reader_stops_us = S(0) + any(50000, 1000000);
		scene->reader_goes_on_us = scene->reader_stops_us + any(50000, 3000000);
	}
	scene->pays = any(0, 1);
	/* so fast that packets are sent on whole */
	if (seed % 3 == 0) {
		scene->hs.rate_byteps *= 20;
		scene->pipe.rate_byteps *= 20;
	}
}
