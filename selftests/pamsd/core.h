/* SPDX-License-Identifier: GPL-2.0 */
/*
 * core - what tests of the two ends' cores share: a world in which they have met,
 * what was logged, and what the server counted
 */
#ifndef PAMSD_CORE_H
#define PAMSD_CORE_H

#include <stdarg.h>
#include <stdio.h>

#include <jansson.h>

#include "tap.h"
#include "world.h"

static struct world world;
static char said[4096];

/* What would be logged is kept. */
void say(const char *format, ...)
{
	size_t len = strlen(said);
	va_list args;

	va_start(args, format);
	vsnprintf(said + len, sizeof(said) - len, format, args);
	va_end(args);
}

void say_seldom(struct seldom *seldom, const char *format, ...)
{
	(void)seldom;
	(void)format;
}

static inline unsigned int times_said(const char *text)
{
	unsigned int times = 0;

	for (const char *at = said; (at = strstr(at, text)); at++)
		times++;
	return times;
}

/* A world in which the server knows the session and both paths. */
static inline void begin(void)
{
	said[0] = '\0';
	world_begin(&world, 1);
	for (unsigned int i = 0; i < WAYS; i++)
		world.network[i].delay_ms = 0;
	world_say(&world, 0, -1, false);
	world_say(&world, 1, -1, false);
	world_for(&world, 100);
}

static inline json_int_t count_of(const char *section, const char *name)
{
	json_t *status = peers_status(world.peers, server_us(&world) / 1000);
	json_t *peer = json_array_get(json_object_get(status, "peers"), 0);
	json_int_t count;

	if (section)
		peer = json_object_get(peer, section);
	count = json_integer_value(json_object_get(peer, name));
	json_decref(status);
	return count;
}

static inline json_int_t dropped(const char *name)
{
	return count_of("dropped", name);
}

static inline unsigned int names_lost(void)
{
	uint64_t ms = server_us(&world) / 1000;
	unsigned int lost = 0;

	for (unsigned int i = 0; i < world.known_count; i++)
		lost += world.kernel[i].loss_until_ms > ms;
	return lost;
}

#endif /* PAMSD_CORE_H */
