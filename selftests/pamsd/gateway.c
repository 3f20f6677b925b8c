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
	unsigned int conns, finds, sets, flushes, measures;
	bool waits;		/* something was told, but not that it is all */
	bool away;		/* the module isn't loaded */
	bool closed[CONNS_MAX];
	uint64_t lost_until_ms[CONNS_MAX][LINKS];
} kernel;

/* The proof of a connection in this world. */
static uint32_t proof_of(uint32_t token)
{
	return token * 2654435761U;
}

static int find_conn(uint32_t token, uint32_t proof, void *arg)
{
	(void)arg;
	kernel.finds++;
	if (kernel.away)
		return -EAGAIN;
	if (token - FIRST_TOKEN >= kernel.conns || kernel.closed[token - FIRST_TOKEN])
		return -ENOENT;
	return proof == proof_of(token) ? 0 : -EACCES;
}

static int find_subflow(const struct pams_path *key, uint32_t proof, void *arg)
{
	return key->remote_id < LINKS ? find_conn(key->token, proof, arg) : -ENOENT;
}

static int set_path(const struct pams_path *path, void *arg)
{
	uint64_t *until_ms, ms = server_us(arg) / 1000;

	kernel.sets++;
	if (kernel.away)
		return -ENOENT;
	kernel.waits = true;
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
	kernel.waits = true;
	if (path->key == PAMS_KEY_TOKEN)
		kernel.lost_until_ms[path->token - FIRST_TOKEN][path->remote_id] = 0;
	return 0;
}

static unsigned int flush(void *arg)
{
	(void)arg;
	kernel.flushes++;
	kernel.waits = false;
	return 0;
}

static bool no_cost(const struct pams_path *key, void *arg)
{
	(void)key;
	(void)arg;
	return false;
}

static unsigned int give_rates(uint32_t token, uint32_t proof,
			       struct flow_rate rates[FLOW_RATES_MAX], void *arg)
{
	(void)arg;
	kernel.measures++;
	if (proof != proof_of(token))
		return 0;
	rates[0] = (struct flow_rate){ .remote_id = 0, .byteps = 1000 };
	rates[1] = (struct flow_rate){ .remote_id = 1, .byteps = 3000 };
	return 2;
}

static unsigned int lost_over(unsigned int link)
{
	unsigned int lost = 0;

	check(!kernel.waits);
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

static void begin_world(unsigned int conns)
{
	said[0] = '\0';
	world_begin(&world, 1);
	memset(&kernel, 0, sizeof(kernel));
	kernel.conns = conns;
	world.env = (struct peers_env){ set_path, del_path, flush, find_subflow, find_conn,
					no_cost, give_rates, &world };
	world_restart_server(&world);
}

static void begin_with(unsigned int conns)
{
	begin_world(conns);
	world.old = true;
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

/* --- a reporter that sends each connection once --- */

/* Its subflows go over the first links, as far as there are so many; none: it is closed. */
static void say_conn(unsigned int nr, unsigned int links)
{
	struct report_conn conn = { .token = FIRST_TOKEN + nr, .count = links };

	kernel.closed[nr] = !links;
	conn.proof = proof_of(conn.token);
	for (unsigned int i = 0; i < links; i++)
		conn.flows[i] = (struct report_flow){ .id = i, .remote_id = i };
	announce_conn(&world.announcer, &conn, world.us / 1000);
}

static void say_conns(unsigned int from, unsigned int to, unsigned int links)
{
	while (from < to)
		say_conn(from++, links);
}

/* The state of a link alone, as a new reporter has it. */
static void say_state(unsigned int link, bool lost)
{
	name_conns(link, 0, lost);
}

static void begin_conns(unsigned int conns)
{
	begin_world(conns);
	for (unsigned int i = 0; i < LINKS; i++)
		say_state(i, false);
	say_conns(0, conns, LINKS);
	world_for(&world, 10000);
	check(announce_is_known(&world.announcer));
}

static void ten_thousand_are_told_at_once(void)
{
	begin_conns(10000);
	/* 72 fit into a report */
	check(kernel.finds == 10000 && world.sent <= 10000 / 72 + 10);
	for (unsigned int round = 0; round < 3; round++) {
		world.sent = 0;
		kernel.sets = 0;
		kernel.flushes = 0;
		say_state(1, true);
		/* what is sent at once takes a millisecond */
		world_for(&world, 2);
		check(lost_over(1) == 10000 && !lost_over(0));
		world_for(&world, 1000);
		check(world.sent == WAYS && kernel.sets == 10000 && kernel.flushes == WAYS);
		say_state(1, false);
		world_for(&world, 1000);
		check(!lost_over(1));
	}
	check(kernel.finds == 10000);
}

static void nothing_is_done_at_rest(void)
{
	begin_conns(10000);
	flow_for(1000);
	for (unsigned int round = 0; round < 2; round++) {
		kernel.finds = 0;
		kernel.sets = 0;
		world.sent = 0;
		flow_for(10000);
		check(!kernel.finds && world.sent == 100);
		/* a link that stays lost is told twice in 15 s */
		check(kernel.sets <= round * 20000);
		world.sent = 0;
		world_for(&world, 3600000);
		check(!world.sent);
		say_state(0, true);
		flow_for(1000);
	}
}

/* What those carry adds up that were named last. */
static void few_are_measured(void)
{
	const struct report_rate *rates = world.announcer.rates;

	begin_world(10000);
	for (unsigned int i = 0; i < LINKS; i++) {
		say_state(i, false);
		world.announcer.paths[i].by_source = true;
	}
	say_conns(0, 10000, LINKS);
	world_for(&world, 10000);
	kernel.measures = 0;
	flow_for(10000);
	check(kernel.measures >= 9 * 16 && kernel.measures <= 11 * 16);
	check(world.announcer.rate_count == LINKS);
	check(rates[0].id == 0 && rates[0].byteps == 16000);
	check(rates[1].id == 1 && rates[1].byteps == 48000);
}

/* Also if the link that it uses is lost already. */
static void new_one_takes_one_report(void)
{
	begin_conns(100);
	say_state(1, true);
	world_for(&world, 1000);
	kernel.conns = 101;
	kernel.finds = 0;
	world.sent = 0;
	say_conn(100, LINKS);
	world_for(&world, 1000);
	check(kernel.finds == 1 && world.sent == 1);
	check(lost_over(1) == 101 && !lost_over(0));
	/* a subflow ends, then the connection */
	say_conn(100, 1);
	world_for(&world, 1000);
	check(lost_over(1) == 100 && world.sent == 2);
	say_conn(100, LINKS);
	world_for(&world, 1000);
	check(lost_over(1) == 101 && world.sent == 3);
	say_conn(100, 0);
	world_for(&world, 1000);
	check(lost_over(1) == 100 && world.sent == 4 && kernel.finds == 1);
	check(count_of(NULL, "connections") == 100);
	say_conns(0, 100, 0);
	world_for(&world, 1000);
	check(!count_of(NULL, "connections") && !lost_over(1));
}

/* Either end starts anew, or the module does; the link is lost before or after. */
static void restarts_lose_nothing(void)
{
	begin_conns(1000);
	say_state(1, true);
	world_for(&world, 1000);
	world_restart_server(&world);
	memset(kernel.lost_until_ms, 0, sizeof(kernel.lost_until_ms));
	flow_for(3000);
	check(lost_over(1) == 1000);

	world_restart_reporter(&world);
	say_state(0, true);
	say_state(1, false);
	say_conns(0, 500, LINKS);
	flow_for(3000);
	check(lost_over(0) == 500);
	/* of the others its life before is what is known */
	check(lost_over(1) == 500 && count_of(NULL, "connections") == 1000);

	memset(kernel.lost_until_ms, 0, sizeof(kernel.lost_until_ms));
	peers_feed(world.peers, server_us(&world) / 1000);
	check(lost_over(0) == 500);
}

/* What the reporter said before it was started anew comes later than what it says now. */
static void life_before_does_not_override(void)
{
	begin_conns(10);
	say_state(1, true);
	world_for(&world, 1000);
	for (unsigned int i = 0; i < WAYS; i++)
		world.network[i].held_ms = 2000;
	say_conns(0, 10, 1);
	world_for(&world, 50);
	for (unsigned int i = 0; i < WAYS; i++)
		world.network[i].held_ms = 0;
	world_restart_reporter(&world);
	say_state(0, false);
	say_state(1, true);
	say_conns(0, 10, LINKS);
	world_for(&world, 1000);
	check(lost_over(1) == 10);
	world_for(&world, 2000);
	check(lost_over(1) == 10);
}

/* The names of subflows are for servers that take no connections. */
static void names_are_left_out(void)
{
	begin_conns(50);
	kernel.finds = 0;
	world.sent = 0;
	name_conns(1, 50, true);
	world_for(&world, 100);
	check(!kernel.finds && world.sent == WAYS && lost_over(1) == 50);
	/* nor is a new one news of the path */
	name_conns(1, 51, true);
	world_for(&world, 100);
	check(!kernel.finds && world.sent == WAYS);
}

static void module_may_come_later(void)
{
	begin_world(1000);
	kernel.away = true;
	say_state(0, false);
	say_state(1, true);
	say_conns(0, 1000, LINKS);
	world_for(&world, 3000);
	kernel.sets = 0;
	flow_for(1000);
	check(!kernel.sets && announce_is_known(&world.announcer));
	kernel.away = false;
	peers_feed(world.peers, server_us(&world) / 1000);
	check(lost_over(1) == 1000 && !lost_over(0));
}

/* Of those with a wrong proof nothing is told, and those that are right wait a while at most. */
static void strangers_conns_do_not_count(void)
{
	struct report_conn conn = { .count = 1 };

	begin_world(1000);
	say_state(0, true);
	for (unsigned int i = 0; i < 200; i++) {
		conn.token = FIRST_TOKEN + i;
		conn.proof = conn.token;
		announce_conn(&world.announcer, &conn, world.us / 1000);
	}
	world_for(&world, 1000);
	/* 64 at once, and 8 a second */
	check(!lost_over(0) && kernel.finds <= 64 + 8);
	say_conns(500, 600, 1);
	flow_for(30000);
	check(lost_over(0) == 100);
	check(dropped("unproven") == 200 && !dropped("guesses"));
	check(count_of(NULL, "connections") == 100);
	/* nor does one take somebody else's away */
	conn.token = FIRST_TOKEN + 550;
	conn.count = 0;
	announce_conn(&world.announcer, &conn, world.us / 1000);
	flow_for(1000);
	check(lost_over(0) == 100);
}

/* What is closed before its report comes is asked for once, and nobody waits. */
static void late_reports_are_no_guesses(void)
{
	begin_world(900);
	say_state(0, true);
	say_conns(0, 800, LINKS);
	memset(kernel.closed, true, 800);
	world_for(&world, 1000);
	check(kernel.finds == 800 && dropped("no-connection") == 800);
	say_conns(800, 900, LINKS);
	world_for(&world, 1000);
	check(lost_over(0) == 100 && kernel.finds == 900);
	flow_for(5000);
	check(kernel.finds == 900 && announce_is_known(&world.announcer));
	check(!*said && count_of(NULL, "connections") == 100);
}

static void conns_are_bounded(void)
{
	begin_conns(20000);
	check(count_of(NULL, "connections") == 16384);
	check(dropped("too-many-paths") == 20000 - 16384);
	check(kernel.finds == 16384);
	/* after a restart those of before make room */
	world_restart_reporter(&world);
	say_state(0, true);
	say_conns(16384, 20000, 1);
	world_for(&world, 10000);
	check(lost_over(0) == 20000 - 16384);
	check(dropped("too-many-paths") == 20000 - 16384);
	check(count_of(NULL, "connections") == 16384);
}

/* A server that says nothing isn't flooded. */
static void pauses_between_conns_grow(void)
{
	begin_conns(100);
	world.network[0].dead = true;
	world.network[1].dead = true;
	kernel.conns = 10100;
	world.sent = 0;
	say_conns(100, 10100, LINKS);
	world_for(&world, 60000);
	check(world.sent >= 16 && world.sent <= 24);
	world.sent = 0;
	world_for(&world, 600000);
	check(world.sent >= 3 && world.sent <= 6);
	world.network[1].dead = false;
	/* the ways take turns */
	world_for(&world, 2 * 600000);
	check(count_of(NULL, "connections") == 10100);
}

/* Nor do new connections, while little flows, keep a server from being tried again. */
static void new_ones_do_not_put_it_off(void)
{
	begin_conns(100);
	world.network[0].dead = true;
	world.network[1].dead = true;
	kernel.conns = 1000;
	say_conns(100, 200, LINKS);
	world_for(&world, 1000000);
	world.network[1].dead = false;
	for (unsigned int i = 200; i < 210; i++) {
		say_conn(i, LINKS);
		world_for(&world, 10000);
	}
	check(count_of(NULL, "connections") == 210);
}

/* Connections that come and go while the server is silent, or takes none, leave nothing behind. */
static void nothing_is_kept_of_closed_ones(void)
{
	for (unsigned int old = 0; old < 2; old++) {
		begin_world(CONNS_MAX);
		world.old = old;
		world.network[0].dead = !old;
		world.network[1].dead = !old;
		say_state(0, false);
		for (unsigned int i = 0; i < CONNS_MAX; i++) {
			say_conn(i, LINKS);
			say_conn(i, 0);
			if (i % 100 == 0)
				world_for(&world, 1000);
		}
		check_at(!world.announcer.conn_count, "connections", old);
	}
}

/* That those are closed of which the server may know it has to be told, but of so many at most. */
static void closed_ones_are_bounded(void)
{
	struct report_conn conn = { .token = FIRST_TOKEN + CONNS_MAX };

	begin_conns(1000);
	world.network[0].dead = true;
	world.network[1].dead = true;
	say_conns(0, 1000, 0);
	for (unsigned int i = 0; i < 50000; i++) {
		conn.token++;
		conn.count = 1;
		announce_conn(&world.announcer, &conn, world.us / 1000);
		/* a report is full, and another is due */
		if (i % 70 == 0)
			world_for(&world, 31000);
		conn.token -= 70;
		conn.count = 0;
		announce_conn(&world.announcer, &conn, world.us / 1000);
		conn.token += 70;
	}
	check(world.announcer.conn_count > 30000 && world.announcer.conn_count <= 32768);
	for (unsigned int i = 0; i < 70; i++) {
		conn.count = 0;
		announce_conn(&world.announcer, &conn, world.us / 1000);
		conn.token--;
	}
	world.network[1].dead = false;
	flow_for(60000);
	check(!world.announcer.conn_count && !count_of(NULL, "connections"));
}

/* Connections come, change and go over a network that loses, doubles and delays. */
static void random_changes_arrive(void)
{
	static unsigned int links[60];

	for (unsigned int round = 0; round < 30; round++) {
		unsigned int lost[LINKS] = { 0 }, open = 0;

		begin_world(ARRAY_SIZE(links));
		world.random += round;
		memset(links, 0, sizeof(links));
		for (unsigned int i = 0; i < WAYS; i++)
			world.network[i] = (struct network){ .loss = 0.3, .duplication = 0.1,
							     .delay_ms = 100, .long_delay = 0.05,
							     .long_delay_ms = 2000 };
		for (unsigned int i = 0; i < 300; i++) {
			unsigned int nr = world_random(&world) % ARRAY_SIZE(links);

			links[nr] = world_random(&world) % (LINKS + 1);
			say_conn(nr, links[nr]);
			say_state(world_random(&world) % LINKS, world_random(&world) % 2);
			if (world_random(&world) % 100 == 0)
				world_restart_server(&world);
			world_for(&world, world_random(&world) % 50);
		}
		for (unsigned int i = 0; i < LINKS; i++) {
			world.network[i].loss = 0;
			say_state(i, i == round % LINKS);
		}
		/* what was told before a restart, of connections that ended meanwhile, expires */
		flow_for(70000);
		for (unsigned int i = 0; i < ARRAY_SIZE(links); i++) {
			open += links[i] > 0;
			for (unsigned int j = 0; j < links[i]; j++)
				lost[j]++;
		}
		check(count_of(NULL, "connections") == open);
		check(lost_over(round % LINKS) == lost[round % LINKS]);
		check(!lost_over(1 - round % LINKS));
	}
}

int main(void)
{
	if (sodium_init() < 0)
		return 1;
	run(nothing_is_looked_up_at_rest);
	run(lost_link_comes_first);
	run(closed_ones_make_room);
	run(lasting_loss_is_seldom_told);
	run(ten_thousand_are_told_at_once);
	run(nothing_is_done_at_rest);
	run(few_are_measured);
	run(new_one_takes_one_report);
	run(restarts_lose_nothing);
	run(life_before_does_not_override);
	run(names_are_left_out);
	run(module_may_come_later);
	run(strangers_conns_do_not_count);
	run(late_reports_are_no_guesses);
	run(conns_are_bounded);
	run(pauses_between_conns_grow);
	run(new_ones_do_not_put_it_off);
	run(nothing_is_kept_of_closed_ones);
	run(closed_ones_are_bounded);
	run(random_changes_arrive);
	world_end(&world);
	return tap_end();
}
