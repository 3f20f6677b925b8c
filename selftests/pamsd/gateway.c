// SPDX-License-Identifier: GPL-2.0
/*
 * gateway - tests of the two ends' cores in virtual time: a reporter with very many
 * connections, each of which has one subflow over each of two links
 */
#include "core.h"

#define CONNS_MAX	20000
#define FIRST_TOKEN	1000
#define LINKS		2

/* What the server's kernel has, and was asked and told. */
static struct {
	unsigned int conns, finds, sets;
	uint64_t lost_until_ms[CONNS_MAX][LINKS];
} kernel;

/* The proof of a connection in this world. */
static uint32_t proof_of(uint32_t token)
{
	return token * 2654435761U;
}

static int find_conn(const struct pams_path *key, uint32_t proof, void *arg)
{
	(void)arg;
	kernel.finds++;
	if (key->token - FIRST_TOKEN >= kernel.conns || key->remote_id >= LINKS)
		return -ENOENT;
	return proof == proof_of(key->token) ? 0 : -EACCES;
}

static int set_path(const struct pams_path *path, void *arg)
{
	uint64_t *until_ms, ms = server_us(arg) / 1000;

	kernel.sets++;
	if (path->key != PAMS_KEY_TOKEN)
		return 0;
	until_ms = &kernel.lost_until_ms[path->token - FIRST_TOKEN][path->remote_id];
	if (path->has_loss)
		*until_ms = ms + path->loss_ms + (path->ttl_ms ?: MPTCP_PAMS_LOSS_TTL_DEFAULT_MS);
	else if (path->no_loss)
		*until_ms = 0;
	return 0;
}

static int del_path(const struct pams_path *path, void *arg)
{
	(void)arg;
	if (path->key == PAMS_KEY_TOKEN)
		kernel.lost_until_ms[path->token - FIRST_TOKEN][path->remote_id] = 0;
	return 0;
}

static bool no_cost(const struct pams_path *key, void *arg)
{
	(void)key;
	(void)arg;
	return false;
}

static unsigned int lost_over(unsigned int link)
{
	unsigned int lost = 0;

	for (unsigned int i = 0; i < kernel.conns; i++)
		lost += kernel.lost_until_ms[i][link] > server_us(&world) / 1000;
	return lost;
}

/* A link and its first subflows, up to as many as a report of version 2 has. */
static void name_conns(unsigned int link, unsigned int conns, bool lost)
{
	static struct announce_path path;

	memset(&path, 0, sizeof(path));
	path.loss = lost;
	path.lasting = lost;
	for (unsigned int i = 0; i < conns && i < ANNOUNCE_NAMES_MAX; i++) {
		struct report_name *name = &path.names[path.name_count++];

		name->kind = REPORT_NAME_SUBFLOW;
		name->token = FIRST_TOKEN + i;
		name->remote_id = link;
		name->proven = true;
		name->proof = proof_of(name->token);
	}
	announce_set(&world.announcer, link, &path, world.us / 1000);
}

static void say_link(unsigned int link, bool lost)
{
	name_conns(link, kernel.conns, lost);
}

/* Data flows for that long: both links are reported each 100 ms. */
static void flow_for(unsigned int ms)
{
	for (unsigned int i = 0; i < ms / 100; i++) {
		announce_periodic(&world.announcer, world.us / 1000, world_send, &world);
		world_for(&world, 100);
	}
}

static void begin_with(unsigned int conns)
{
	said[0] = '\0';
	world_begin(&world, 1);
	memset(&kernel, 0, sizeof(kernel));
	kernel.conns = conns;
	world.env = (struct peers_env){ set_path, del_path, find_conn, no_cost, &world };
	world_restart_server(&world);
	for (unsigned int i = 0; i < LINKS; i++)
		say_link(i, false);
	world_for(&world, 1000);
	flow_for(2000);
}

/* --- a reporter that names the subflows of each path in each report --- */

static void nothing_is_looked_up_at_rest(void)
{
	static const unsigned int conns[] = { 1, 60, 65, 70, 100, 300 };

	for (unsigned int i = 0; i < ARRAY_SIZE(conns); i++) {
		begin_with(conns[i]);
		kernel.finds = 0;
		flow_for(10000);
		check_at(!kernel.finds, "look-ups at rest", conns[i]);
		/* nor while a link stays lost */
		say_link(1, true);
		flow_for(1000);
		kernel.finds = 0;
		flow_for(10000);
		check_at(!kernel.finds, "look-ups while a link is lost", conns[i]);
	}
}

/* Names of paths about which nothing is to be said don't keep those of a lost one out. */
static void lost_link_comes_first(void)
{
	begin_with(300);
	for (unsigned int round = 0; round < 3; round++) {
		for (unsigned int link = 0; link < LINKS; link++) {
			say_link(link, true);
			world_for(&world, 100);
			check(lost_over(link) == ANNOUNCE_NAMES_MAX);
			say_link(link, false);
			world_for(&world, 100);
			check(!lost_over(link));
		}
	}
}

/* The names of connections that were closed make room: 60 and 28 of 60 had a place. */
static void closed_ones_make_room(void)
{
	begin_with(100);
	kernel.finds = 0;
	for (unsigned int i = 0; i < LINKS; i++)
		name_conns(i, 60, false);
	flow_for(2000);
	check(kernel.finds == 60 - 28);
	kernel.finds = 0;
	flow_for(10000);
	check(!kernel.finds);
}

/* It is reported ten times a second, each time for a minute. */
static void lasting_loss_is_seldom_told(void)
{
	begin_with(50);
	say_link(1, true);
	world_for(&world, 100);
	kernel.sets = 0;
	flow_for(60000);
	check(lost_over(1) == 50);
	check(kernel.sets && kernel.sets <= 50 * 60000 / 7000);
}

int main(void)
{
	if (sodium_init() < 0)
		return 1;
	run(nothing_is_looked_up_at_rest);
	run(lost_link_comes_first);
	run(closed_ones_make_room);
	run(lasting_loss_is_seldom_told);
	world_end(&world);
	return tap_end();
}
