// SPDX-License-Identifier: GPL-2.0
/*
 * own - what own traffic leaves for clients, on a link of 1 MB/s that is looked at
 * every 50 ms
 *
 * Greedy own traffic takes what clients leave, at once; other has a rate of its own.
 */
#include <stdio.h>

#include "../pamsd/tap.h"
#include "pamsplit.h"

#define LINK_BYTEPS	1000000ULL
#define STEP_US		50000
#define NOBODY		LINK_BYTEPS	/* what clients would take */

static struct {
	struct own own;
	uint64_t now_us, received, lent;
	uint64_t left, own_rate;	/* of the last step */
} world;

static void start(void)
{
	world.own = (struct own){ };
	world.now_us = 77000000;
	world.received = 5000000000;
	world.lent = 1000000000;
	world.left = 0;
}

/* Clients take @wanted or what is left, own traffic up to @own of the rest. */
static void pass(double seconds, uint64_t own, uint64_t wanted, uint64_t link)
{
	for (double past = 0; past < seconds; past += STEP_US / 1e6) {
		uint64_t lent = world.left && world.left < wanted ? world.left
								  : wanted;

		if (lent > link)
			lent = link;
		if (own && lent + own > link && own <= link / 2 &&
		    lent > link - own)
			lent = link - own;	/* they share the queue */
		else if (own > link / 2 && lent > link / 2 && !world.left)
			lent = link / 2;
		world.own_rate = own < link - lent ? own : link - lent;
		world.now_us += STEP_US;
		world.lent += lent * STEP_US / 1000000;
		world.received += (lent + world.own_rate) * STEP_US / 1000000;
		world.left = own_leaves(&world.own, world.now_us,
					world.received, world.lent);
	}
}

static void alone(void)
{
	start();
	pass(5, 0, NOBODY, LINK_BYTEPS);
	check(world.left == 0);
}

static void greedy(void)
{
	start();
	pass(3, 0, NOBODY, LINK_BYTEPS);
	pass(5, LINK_BYTEPS, NOBODY, LINK_BYTEPS);
	printf("# own %llu, left %llu\n", (unsigned long long)world.own_rate,
	       (unsigned long long)world.left);
	check(world.own_rate > LINK_BYTEPS * 8 / 10);
	check(world.left && world.left < LINK_BYTEPS * 2 / 10);
	pass(1, 0, NOBODY, LINK_BYTEPS);
	check(world.left == 0);
}

/* However long it lasts: what it leaves is used, and it has all it wants. */
static void modest(void)
{
	uint64_t sum = 0;

	start();
	pass(3, 0, NOBODY, LINK_BYTEPS);
	pass(30, 300000, NOBODY, LINK_BYTEPS);
	for (int i = 0; i < 100; i++) {
		pass(STEP_US / 1e6, 300000, NOBODY, LINK_BYTEPS);
		sum += world.left / 100;
	}
	printf("# own %llu, left %llu on average\n",
	       (unsigned long long)world.own_rate, (unsigned long long)sum);
	check(world.own_rate == 300000);
	check(sum > 350000 && sum < 700000);
}

/* So much headers, and subflows that aren't split, may look like it. */
static void little(void)
{
	start();
	pass(5, 30000, NOBODY, LINK_BYTEPS);
	check(world.left == 0);
}

/* After 10 s the peak of before is forgotten. */
static void slower(void)
{
	start();
	pass(3, 0, NOBODY, LINK_BYTEPS);
	pass(14, 200000, NOBODY, 250000);
	check(world.left && world.left < 250000);
}

/* An interface that is new again, and a clock that stood still. */
static void odd(void)
{
	start();
	pass(3, 500000, NOBODY, LINK_BYTEPS);
	world.received = 0;
	world.left = own_leaves(&world.own, world.now_us, 0, world.lent);
	pass(3, 0, NOBODY, LINK_BYTEPS);
	check(world.left == 0);
}

int main(void)
{
	run_case("no own traffic: all may be lent", alone);
	run_case("greedy own traffic gets the link, clients a little", greedy);
	run_case("own traffic of a third leaves the rest", modest);
	run_case("3 % are no own traffic", little);
	run_case("a link that got slower", slower);
	run_case("counters that start again", odd);
	return tap_end();
}
