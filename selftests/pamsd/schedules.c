// SPDX-License-Identifier: GPL-2.0
/*
 * schedules - random networks and changes in virtual time: does the server know
 * what the reporter knows?
 *
 *	schedules [COUNT [SEED]]	10,000 schedules, seed 1
 *
 * Each schedule has rounds of two phases. In the first any datagram may be lost (up
 * to 30 %), doubled, and delayed by up to 20 s, and so overtaken; paths are
 * lost and live again meanwhile, and in half of the schedules the server starts
 * anew, in half the reporter, and in half a NAT gives it other addresses. In the
 * second one way works: what is sent over it from then on arrives within 100 ms. What
 * the first phase left on its way still arrives, and the other way goes on as before. A
 * second after the way works and the last change was made, the server's kernel must
 * have every loss that the reporter has, and no other. It is looked at every 100 ms.
 */
#include <inttypes.h>
#include <stdio.h>

#include "tap.h"
#include "world.h"

#define LOOK_MS		100
#define AGREED_MS	1000
/* By that a loss time may be seen late: the bound of a report's age. */
#define LATE_MS		5100
/* A loss time that moved less is no change: an eighth of 10 s, and 10 ms. */
#define NEAR_MS		1260

static struct world world;
static bool lost[WAYS], lasting[WAYS];
static uint64_t loss_at_ms[WAYS], changed_us, compared, disagreed, worst_ms;
static uint64_t seed;

/* The core says what it would log. */
void say(const char *format, ...)
{
	(void)format;
}

void say_seldom(struct seldom *seldom, const char *format, ...)
{
	(void)seldom;
	(void)format;
}

static uint64_t left_ms(unsigned int id)
{
	return loss_at_ms[id] > world.us / 1000 ? loss_at_ms[id] - world.us / 1000 : 0;
}

/* Reports of the life before are on their way, and still come. */
static void restart_reporter(void)
{
	world_restart_reporter(&world);
	for (unsigned int i = 0; i < WAYS; i++) {
		uint64_t loss_ms = lasting[i] ? 0 : left_ms(i);

		loss_at_ms[i] = world.us / 1000 + loss_ms;
		world_say(&world, i, lost[i] ? (int64_t)loss_ms : -1, lasting[i]);
	}
}

static void change(void)
{
	unsigned int id = world_random(&world) % WAYS;
	unsigned int what = world_random(&world) % 4;
	int64_t loss_ms = what == 3 ? (int64_t)(world_random(&world) % 10000) :
				      0;

	lost[id] = what != 0 && what != 1;
	lasting[id] = what == 2;
	loss_at_ms[id] = world.us / 1000 + loss_ms;
	changed_us = world.us;
	world_say(&world, id, lost[id] ? loss_ms : -1, lasting[id]);
}

static bool agrees(unsigned int id)
{
	const struct known *known = world_known(&world, id, 1);
	uint64_t at_ms, behind_ms = world.ahead_us / 1000;

	if (world_is_lost(&world, id) != lost[id])
		return false;
	if (!lost[id] || lasting[id] || loss_at_ms[id] <= world.us / 1000)
		return true;
	at_ms = known->loss_at_ms - behind_ms;
	return at_ms + NEAR_MS >= loss_at_ms[id] &&
	       at_ms <= loss_at_ms[id] + NEAR_MS + LATE_MS;
}

/* Since when is the other side wrong about a path that both could agree on? */
static void compare(uint64_t works_us)
{
	uint64_t from_us = works_us > changed_us ? works_us : changed_us;

	for (unsigned int i = 0; i < WAYS; i++) {
		bool right = agrees(i);
		uint64_t ms = (world.us - from_us) / 1000;

		if (!right && ms > worst_ms)
			worst_ms = ms;
		if (world.us - from_us < AGREED_MS * 1000)
			continue;
		compared++;
		if (right)
			continue;
		if (!disagreed++)
			printf("# seed %" PRIu64 ": path %u is %slost, after %"
			       PRIu64 " ms the server has it as %slost\n", seed,
			       i, lost[i] ? "" : "not ", ms,
			       world_is_lost(&world, i) ? "" : "not ");
	}
}

static void chaos(struct network *network)
{
	network->loss = 0.3 * world_chance(&world);
	network->duplication = 0.3 * world_chance(&world);
	network->long_delay = 0.5 * world_chance(&world);
	network->delay_ms = world_random(&world) % 300;
	network->long_delay_ms = 20000;
	network->dead = world_random(&world) % 4 == 0;
}

static void one_round(bool restarts, bool anew, bool rebinds, bool flows)
{
	uint64_t end_us, works_us;
	unsigned int way;

	for (unsigned int i = 0; i < WAYS; i++)
		chaos(&world.network[i]);
	end_us = world.us + world_random(&world) % 8000000;
	while (world.us < end_us) {
		change();
		if (restarts && world_random(&world) % 8 == 0)
			world_restart_server(&world);
		if (anew && world_random(&world) % 8 == 0)
			restart_reporter();
		if (rebinds && world_random(&world) % 3 == 0)
			world.host[world_random(&world) % WAYS] =
				1 + world_random(&world) % 200;
		world_for(&world, world_random(&world) % 1000);
		if (flows)
			announce_periodic(&world.announcer, world.us / 1000,
					  world_send, &world);
	}
	way = world_random(&world) % WAYS;
	world.network[way] = (struct network){ .delay_ms = 90 };
	works_us = world.us;
	for (unsigned int i = 0; i < 40; i++) {
		if (i == 15)
			change();
		world_for(&world, LOOK_MS);
		if (flows)
			announce_periodic(&world.announcer, world.us / 1000,
					  world_send, &world);
		compare(works_us);
	}
}

/* A server that forgot is told when data flows, so then some has to. */
static void schedule(void)
{
	bool restarts = seed % 2, anew = seed / 2 % 2, rebinds = seed / 4 % 2;
	bool flows = restarts || anew || seed % 8 == 0;

	world_begin(&world, seed);
	memset(lost, 0, sizeof(lost));
	memset(lasting, 0, sizeof(lasting));
	changed_us = world.us;
	for (unsigned int i = 0; i < WAYS; i++)
		world_say(&world, i, -1, false);
	for (unsigned int i = 0; i < 3; i++)
		one_round(restarts, anew, rebinds, flows);
	world_end(&world);
}

int main(int argc, char **argv)
{
	unsigned int count = argc > 1 ? atoi(argv[1]) : 10000;
	uint64_t first = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;

	if (sodium_init() < 0)
		return 1;
	for (seed = first; seed < first + count; seed++)
		schedule();
	printf("1..1\n# %u schedules, %" PRIu64 " comparisons, %" PRIu64
	       " wrong; the latest that one was wrong: %" PRIu64 " ms\n",
	       count, compared, disagreed, worst_ms);
	printf("%sok 1 - the server knows what the reporter knows\n",
	       disagreed || !compared ? "not " : "");
	return disagreed || !compared;
}
