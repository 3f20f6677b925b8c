// SPDX-License-Identifier: GPL-2.0
/*
 * legs - the HS-path and the pipe: rate, delay and queue, and what they lose, delay and double
 */
#include "world.h"

static bool passes;

static void note_passing(void *arg, const struct split_info *info)
{
	(void)arg;
	passes = info->passing;
}

/* Does the core pass the flow, so that the path itself changes the order? */
bool is_passed(void)
{
	passes = world.left;
	split_each(world.split, note_passing, NULL);
	return passes;
}

void schedule(enum place to, uint64_t at_us, const uint8_t *data, size_t len)
{
	struct flight **at = &world.flights;
	struct flight *flight = malloc(sizeof(*flight) + len);

	flight->at_us = at_us;
	flight->to = to;
	flight->number = world.sent;
	flight->passed = is_passed();
	flight->len = len;
	memcpy(flight->data, data, len);
	while (*at && (*at)->at_us <= at_us)
		at = &(*at)->next;
	flight->next = *at;
	*at = flight;
}

static struct leg leg_to(enum place to)
{
	struct leg leg = to == SERVER || to == CORE_DOWN ? world.scene->hs
							 : world.scene->pipe;
	bool of_pipe = to == CLIENT || to == CORE_UP;

	if (of_pipe && world.scene->pipe_rate_at_us &&
	    world.now_us >= world.scene->pipe_rate_at_us)
		leg.rate_byteps = world.scene->pipe_rate_byteps;
	if (of_pipe && world.scene->pipe_dies_us &&
	    world.now_us >= world.scene->pipe_dies_us &&
	    (!world.scene->pipe_back_us || world.now_us < world.scene->pipe_back_us))
		leg.loss = 1000;
	if (of_pipe && world.scene->pipe_heals_us && world.now_us >= world.scene->pipe_heals_us)
		leg.loss = 0;
	return leg;
}

void transmit(enum place to, const uint8_t *data, size_t len)
{
	struct leg leg = leg_to(to);
	uint64_t start_us = world.free_at_us[to], at_us;

	world.sent++;
	if (start_us < world.now_us)
		start_us = world.now_us;
	if ((start_us - world.now_us) * leg.rate_byteps / 1000000 >
	    leg.queue_bytes || chance(leg.loss))
		return;
	world.free_at_us[to] = start_us + len * 1000000 / leg.rate_byteps;
	at_us = world.free_at_us[to] + leg.delay_us;
	if (chance(leg.late))
		at_us += leg.delay_us / 2;
	if (to == CORE_UP && world.scene->client_bursts_us)
		at_us += world.scene->client_bursts_us - at_us % world.scene->client_bursts_us;
	schedule(to, at_us, data, len);
	if (chance(leg.twice))
		schedule(to, at_us + 100, data, len);
}
