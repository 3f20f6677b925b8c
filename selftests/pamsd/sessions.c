// SPDX-License-Identifier: GPL-2.0
/*
 * sessions - tests of the two ends' cores in virtual time: attacks, limits, and
 * what each of the protocol's rules is for
 */
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

static unsigned int times_said(const char *text)
{
	unsigned int times = 0;

	for (const char *at = said; (at = strstr(at, text)); at++)
		times++;
	return times;
}

/* A world in which the server knows the session and both paths. */
static void begin(void)
{
	said[0] = '\0';
	world_begin(&world, 1);
	for (unsigned int i = 0; i < WAYS; i++)
		world.network[i].delay_ms = 0;
	world_say(&world, 0, -1, false);
	world_say(&world, 1, -1, false);
	world_for(&world, 100);
}

static json_int_t count_of(const char *section, const char *name)
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

static json_int_t dropped(const char *name)
{
	return count_of("dropped", name);
}

/* --- a key holder who says what it likes --- */

struct liar {
	struct report_keys keys;
	uint8_t session[REPORT_SESSION_BYTES];
	uint64_t counter;
	struct report report;
	bool answered;
	struct report_answer answer;
};

static void liar_begin(struct liar *liar)
{
	memset(liar, 0, sizeof(*liar));
	report_keys_derive(&liar->keys, world.peer_config.key);
	randombytes_buf(liar->session, sizeof(liar->session));
}

static void liar_say(struct liar *liar, const union address *from)
{
	uint8_t buf[REPORT_BYTES_MAX], answer[REPORT_ANSWER_BYTES];
	size_t len;

	liar->report.sent_ms = world.us / 1000;
	len = report_seal(buf, &liar->keys, liar->session, ++liar->counter,
			  &liar->report);
	len = peers_receive(world.peers, buf, len, from, server_us(&world),
			    answer);
	liar->answered = len;
	if (len)
		report_open_answer(answer, len, &liar->keys, &liar->answer);
}

/* Get the cookie for that address, and use it. */
static void liar_enter(struct liar *liar, const union address *from)
{
	liar_say(liar, from);
	check(liar->answered && !liar->answer.taken);
	memcpy(liar->report.cookie, liar->answer.cookie, REPORT_COOKIE_BYTES);
	liar->report.echo = liar->answer.stamp;
	liar_say(liar, from);
}

static struct report_path *liar_path(struct liar *liar, unsigned int id)
{
	struct report_path *path = &liar->report.paths[0];

	liar->report.path_count = 1;
	liar->report.name_count = 0;
	memset(path, 0, sizeof(*path));
	path->id = id;
	return path;
}

static struct report_name *liar_name(struct liar *liar,
				     enum report_name_kind kind)
{
	struct report_name *name = &liar->report.names[liar->report.name_count];

	memset(name, 0, sizeof(*name));
	liar->report.name_count++;
	name->kind = kind;
	name->id = liar->report.paths[0].id;
	return name;
}

static unsigned int names_lost(void)
{
	uint64_t ms = server_us(&world) / 1000;
	unsigned int lost = 0;

	for (unsigned int i = 0; i < world.known_count; i++)
		lost += world.kernel[i].loss_until_ms > ms;
	return lost;
}

/* --- cases --- */

static void session_is_known_after_one_round_trip(void)
{
	begin();
	check(announce_is_known(&world.announcer));
	check(count_of(NULL, "sessions") == 1);
	check(world.announcer.next_ms == ANNOUNCE_NEVER);
	world.sent = 0;
	world_for(&world, 3600000);
	check(world.sent == 0);
}

/* Over every way: the one that isn't lost first. */
static unsigned int first_way;
static void note_way(unsigned int way, const uint8_t *buf, size_t len,
		     void *arg)
{
	(void)buf;
	(void)len;
	(void)arg;
	if (first_way == UINT32_MAX)
		first_way = way;
}

static void lost_now_goes_over_the_other_way_first(void)
{
	for (unsigned int lost = 0; lost < WAYS; lost++) {
		begin();
		world.announcer.ways[lost].moved_us = world.us;
		world.announcer.ways[lost].lost = true;
		world_say(&world, lost, 0, true);
		first_way = UINT32_MAX;
		announce_run(&world.announcer, world.us / 1000, note_way,
			     NULL);
		check(first_way == 1 - lost);
	}
	begin();
	world.announcer.ways[0].moved_us = world.us;
	world.announcer.ways[0].lost = true;
	first_way = UINT32_MAX;
	announce_periodic(&world.announcer, world.us / 1000, note_way, NULL);
	check(first_way == 1);
}

/* Even if the server has never seen a report over it. */
static void lost_now_needs_no_cookie_of_the_other_way(void)
{
	begin();
	world.announcer.ways[1].has_cookie = false;
	memset(world.announcer.ways[1].cookie, 0, REPORT_COOKIE_BYTES);
	world.network[0].dead = true;
	world.announcer.ways[0].lost = true;
	world_say(&world, 0, 0, true);
	world_for(&world, 2);
	check(world_is_lost(&world, 0));
}

/* All that is sent in 150 ms is lost: more than five copies. */
static void burst_of_loss_is_survived(void)
{
	begin();
	world_say(&world, 0, 0, true);
	world_for(&world, 100);
	check(world_is_lost(&world, 0));
	world.network[0].dead = true;
	world.network[1].dead = true;
	world_say(&world, 0, -1, false);
	world_for(&world, 150);
	check(world_is_lost(&world, 0));
	world.network[1].dead = false;
	world_for(&world, 300);
	check(!world_is_lost(&world, 0));
	check(announce_is_known(&world.announcer));
}

/* What isn't answered is sent ever more seldom. */
static void pauses_grow(void)
{
	begin();
	world.network[0].dead = true;
	world.network[1].dead = true;
	world_say(&world, 0, 0, true);
	world.sent = 0;
	world_for(&world, 1000);
	check(world.sent >= 2 * 5 && world.sent <= 2 * 9);
	world_for(&world, 120000);
	world.sent = 0;
	world_for(&world, 600000);
	check(world.sent >= 2 * 15 && world.sent <= 2 * 22);
}

/* The carrier flaps: the news of the loss is overtaken by that of its end. */
static void newest_wins(void)
{
	begin();
	world.network[0].delay_ms = 2000;
	world.network[1].dead = true;
	world_say(&world, 0, 0, true);
	world_for(&world, 25);
	world.network[1].dead = false;
	world_say(&world, 0, -1, false);
	world_for(&world, 100);
	check(!world_is_lost(&world, 0));
	for (unsigned int i = 0; i < 300; i++) {
		world_for(&world, 10);
		check(!world_is_lost(&world, 0));
	}
}

/* A report that somebody held back for 20 s, with no newer one. */
static void held_back_is_not_fresh(void)
{
	begin();
	world.network[0].held_ms = 20000;
	world.network[1].dead = true;
	world_say(&world, 0, 0, true);
	announce_run(&world.announcer, world.us / 1000, world_send, &world);
	world.network[0].dead = true;
	world.network[1].dead = true;
	world_for(&world, 20100);
	check(!world_is_lost(&world, 0));
	check(dropped("old") > 0);
	world.network[1].dead = false;
	world_for(&world, 1000);
	check(world_is_lost(&world, 0));
}

/* The first report with the cookie is held back, and then all are by as much. */
static void session_can_not_begin_late(void)
{
	said[0] = '\0';
	world_begin(&world, 1);
	world.network[0].held_ms = 20000;
	world.network[1].dead = true;
	world_say(&world, 0, 0, true);
	world_for(&world, 600000);
	check(count_of(NULL, "sessions") == 0);
	check(dropped("old") > 0 && dropped("cookie") > 0);
	world.network[0].held_ms = 0;
	world_for(&world, 31000);
	check(count_of(NULL, "sessions") == 1);
}

/* The sender's clock lags by an hour after a pause: one round trip more. */
static void clocks_may_stop(void)
{
	begin();
	world.ahead_us += 3600000000ULL;
	world_say(&world, 0, 0, true);
	world_for(&world, 100);
	check(world_is_lost(&world, 0));
	check(dropped("old") > 0);
	world.ahead_us -= 1800000000ULL;
	world_say(&world, 0, -1, false);
	world_for(&world, 100);
	check(!world_is_lost(&world, 0));
}

static void clocks_may_drift(void)
{
	begin();
	for (unsigned int i = 0; i < 1000; i++) {
		world_for(&world, 60000);
		world.ahead_us += i < 500 ? 6000 : -6000;
		world_say(&world, 0, i % 2 ? -1 : 0, true);
		world_for(&world, 100);
		check(world_is_lost(&world, 0) == !(i % 2));
	}
	/* 3 s in 8 hours: refused once in 14 hours at most */
	check(dropped("old") <= 2);
}

/* A loss time counts from when it was sent. */
static void delayed_loss_time_is_nearer(void)
{
	uint64_t sent_ms;

	begin();
	world.network[1].dead = true;
	world.network[0].long_delay = 0;
	world_say(&world, 0, 5000, false);
	sent_ms = world.us / 1000;
	announce_run(&world.announcer, world.us / 1000, world_send, &world);
	for (unsigned int i = 0; i < world.packet_count; i++)
		world.packets[i]->at_us += 2000000;
	world.network[0].dead = true;
	world_for(&world, 2100);
	check(world_is_lost(&world, 0));
	int64_t late_ms = (int64_t)(world_known(&world, 0, 1)->loss_at_ms -
				    world.ahead_us / 1000) -
			  (int64_t)(sent_ms + 5000);
	check(late_ms >= -5 && late_ms <= 5);
}

/* The spread of a predicted time reaches the kernel, and each change of it. */
static void spread_reaches_the_kernel(void)
{
	/* the last one is no change: less than an eighth of the time left */
	static const uint32_t spreads_ms[] = { 9000, 0, 9000, 8000 };

	begin();
	for (unsigned int i = 0; i < 4; i++) {
		world_predict(&world, 0, 50000 - 100 * i, spreads_ms[i], false);
		world_for(&world, 100);
		check(world_known(&world, 0, 1)->loss_spread_ms ==
		      (i < 3 ? spreads_ms[i] : 9000));
	}
	world_predict(&world, 0, 5000, 90, false);
	world_for(&world, 100);
	check(world_known(&world, 0, 1)->loss_spread_ms == 90);
	/* a link that is down is lost now: there is nothing to predict */
	world_predict(&world, 0, 0, 90, true);
	world_for(&world, 300);
	check(!world_known(&world, 0, 1)->loss_spread_ms);
}

static void loss_is_capped(void)
{
	struct liar liar;
	union address from = world_address(0, 1);
	struct report_path *path;
	struct report_name *name;

	begin();
	liar_begin(&liar);
	path = liar_path(&liar, 0);
	path->flags = REPORT_LOSS;
	path->loss_ttl_ms = 86400000;
	name = liar_name(&liar, REPORT_NAME_PREFIX);
	name->prefix_len = 16;
	memcpy(name->address, "\12\11", 2);
	liar_enter(&liar, &from);
	check(names_lost() == 1);
	world_for(&world, 59000);
	check(names_lost() == 1);
	world_for(&world, 1100);
	check(names_lost() == 0);
	/* just as far ahead as it may hold, with no time on the way */
	liar.report.sent_ms = world.us / 1000;
	liar.report.paths[0].loss_ms = 60000;
	liar_say(&liar, &from);
	check(names_lost() == 1);
	/* further ahead: not told yet */
	liar.report.paths[0].loss_ms = 3600000;
	liar_say(&liar, &from);
	check(names_lost() == 0);
	liar.report.paths[0].flags = REPORT_PIPE;
	liar.report.paths[0].loss_ms = 0;
	liar.report.paths[0].loss_ttl_ms = 0;
	liar.report.paths[0].rate_byteps = 1000;
	liar.report.paths[0].pipe_ttl_ms = 86400000;
	liar_say(&liar, &from);
	check(world.kernel[world.known_count - 1].pipe_until_ms <=
	      server_us(&world) / 1000 + 60000);
}

/* One cookie, 60 source addresses that aren't the liar's. */
static void no_path_by_a_spoofed_address(void)
{
	struct liar liar;
	union address from = world_address(0, 1);

	begin();
	world.peer_config.source = true;
	liar_begin(&liar);
	liar_path(&liar, 0)->flags = REPORT_LOSS | REPORT_BY_SOURCE;
	liar_name(&liar, REPORT_NAME_SOURCE);
	liar_enter(&liar, &from);
	check(names_lost() == 1);
	for (unsigned int i = 0; i < 60; i++) {
		from = world_address(200, i);
		liar.report.paths[0].id = i % 16;
		liar.report.names[0].id = i % 16;
		liar_say(&liar, &from);
	}
	check(names_lost() == 1);
	check(dropped("unverified") == 60);
}

/* Behind a carrier's NAT an address is others', too. */
static void own_address_has_to_be_allowed(void)
{
	struct liar liar;
	union address from = world_address(0, 1);

	begin();
	from.in.sin_addr.s_addr = htonl(0xc6336401);
	liar_begin(&liar);
	liar_path(&liar, 0)->flags = REPORT_LOSS | REPORT_BY_SOURCE;
	liar_name(&liar, REPORT_NAME_SOURCE);
	liar_enter(&liar, &from);
	check(names_lost() == 0);
	check(dropped("not-its-path") == 1);
	liar_say(&liar, &from);
	check(times_said("198.51.100.1") == 1);
	/* nor by prefix */
	liar_path(&liar, 0)->flags = REPORT_LOSS;
	liar_name(&liar, REPORT_NAME_PREFIX)->prefix_len = 32;
	memcpy(liar.report.names[0].address, "\306\063\144\001", 4);
	liar_say(&liar, &from);
	check(names_lost() == 0);
	world.peer_config.source = true;
	liar_path(&liar, 0)->flags = REPORT_LOSS | REPORT_BY_SOURCE;
	liar_name(&liar, REPORT_NAME_SOURCE);
	liar_say(&liar, &from);
	check(names_lost() == 1);
}

static void subflows_are_named_by_token(void)
{
	struct liar liar;
	union address from = world_address(0, 1);
	struct report_name *name;
	unsigned int finds;

	begin();
	world.token = 0xabcdef01;
	liar_begin(&liar);
	liar_path(&liar, 3)->flags = REPORT_LOSS;
	name = liar_name(&liar, REPORT_NAME_SUBFLOW);
	name->token = world.token;
	name->local_id = 1;
	name->remote_id = 2;
	liar_enter(&liar, &from);
	check(names_lost() == 1);
	/* the same again isn't told nor asked for again */
	finds = world.finds;
	world.sets = 0;
	liar_say(&liar, &from);
	check(!world.sets && world.finds == finds);
	/* another subflow of it doesn't exist */
	liar.report.names[0].remote_id = 3;
	liar_say(&liar, &from);
	check(dropped("no-connection") == 1);
	/* the first one isn't named any more: it is taken back */
	check(names_lost() == 0);
	finds = world.finds;
	liar_say(&liar, &from);
	check(world.finds == finds);
}

static void tokens_can_not_be_guessed(void)
{
	struct liar liar;
	union address from = world_address(0, 1);

	begin();
	liar_begin(&liar);
	liar_path(&liar, 0)->flags = REPORT_LOSS;
	liar_enter(&liar, &from);
	for (unsigned int i = 0; i < 100; i++) {
		liar_path(&liar, 0)->flags = REPORT_LOSS;
		for (unsigned int j = 0; j < 150; j++)
			liar_name(&liar, REPORT_NAME_SUBFLOW)->token =
				1 + i * 150 + j;
		liar_say(&liar, &from);
		world_for(&world, 100);
	}
	/* 64 at once, and 8 in each of 10 s, of 15000 */
	check(world.finds <= 64 + 8 * 11);
	check(dropped("guesses") > 14000);
}

static void names_are_limited(void)
{
	struct liar liar;
	union address from = world_address(0, 1);

	begin();
	liar_begin(&liar);
	liar_path(&liar, 0)->flags = REPORT_LOSS;
	liar_enter(&liar, &from);
	for (unsigned int i = 0; i < 16; i++) {
		liar_path(&liar, i)->flags = REPORT_LOSS;
		for (unsigned int j = 0; j < 20; j++) {
			struct report_name *name =
				liar_name(&liar, REPORT_NAME_PREFIX);

			name->prefix_len = 32;
			memcpy(name->address,
			       (uint8_t[]){ 10, 9, 100 + i, j }, 4);
		}
		liar_say(&liar, &from);
	}
	check(names_lost() <= 128 && names_lost() > 100);
	check(dropped("too-many-paths") > 0);
}

/* One recorded first report comes again and again, from anywhere. */
static void replayed_requests_hardly_delay(unsigned int rate_ps)
{
	uint8_t buf[REPORT_BYTES_MAX], answer[REPORT_ANSWER_BYTES];
	struct liar liar;
	unsigned int answers = 0;
	uint64_t begin_us;
	size_t len;

	begin();
	liar_begin(&liar);
	liar_path(&liar, 0);
	liar.report.sent_ms = world.us / 1000;
	len = report_seal(buf, &liar.keys, liar.session, ++liar.counter,
			  &liar.report);
	for (unsigned int round = 0; round < 20; round++) {
		world_restart_reporter(&world);
		begin_us = world.us;
		world_say(&world, 0, -1, false);
		while (!announce_is_known(&world.announcer) &&
		       world.us - begin_us < 10000000) {
			union address from = world_address(77, world.us);

			answers += peers_receive(world.peers, buf, len, &from,
						 server_us(&world),
						 answer) > 0;
			world_run(&world, world.us + 1000000 / rate_ps);
		}
		check(world.us - begin_us <= 300000);
	}
	check(answers <= 20 * 10);
}

static void replay_at_1000_a_second(void)
{
	replayed_requests_hardly_delay(1000);
}

static void replay_at_5000_a_second(void)
{
	replayed_requests_hardly_delay(5000);
}

/* All that an old session sent is sent again, from its own address. */
static void old_session_stays_dead(void)
{
	union address from = world_address(0, 1);
	uint8_t answer[REPORT_ANSWER_BYTES];
	static struct packet kept[64];
	unsigned int count = 0;

	begin();
	for (unsigned int i = 0; i < 40; i++) {
		world_say(&world, 0, i % 2 ? -1 : 0, true);
		announce_run(&world.announcer, world.us / 1000, world_send,
			     &world);
		for (unsigned int j = 0; j < world.packet_count; j++)
			if (count < 64 && world.packets[j]->up)
				kept[count++] = *world.packets[j];
		world_for(&world, 30);
	}
	check(count == 64);
	/* four others push it out */
	for (unsigned int i = 0; i < 4; i++) {
		world_restart_reporter(&world);
		world_say(&world, 0, -1, false);
		world_for(&world, 100);
	}
	check(count_of(NULL, "sessions") == 5);
	for (unsigned int i = 0; i < count; i++) {
		peers_receive(world.peers, kept[i].buf, kept[i].len, &from,
			      server_us(&world), answer);
		world_for(&world, 10);
	}
	check(count_of(NULL, "sessions") == 5);
	check(!world_is_lost(&world, 0));
}

static void two_hosts_do_not_flap(void)
{
	union address from[2] = { world_address(0, 1), world_address(1, 1) };
	struct liar liars[2];

	begin();
	for (unsigned int i = 0; i < 2; i++) {
		liar_begin(&liars[i]);
		liar_path(&liars[i], 0);
		liar_enter(&liars[i], &from[i]);
	}
	for (unsigned int i = 0; i < 60; i++) {
		world_for(&world, 100);
		liar_say(&liars[i % 2], &from[i % 2]);
		check(!liars[i % 2].answered);
	}
	check(count_of(NULL, "sessions") == 3);
	check(times_said("two reporters use the key of peer 'a'") == 1);
	check(times_said("10.9.0.1:4000") == 1);
}

/* A reporter that starts anew isn't two. */
static void a_restart_is_not_two_hosts(void)
{
	begin();
	for (unsigned int i = 0; i < 10; i++) {
		world.network[0].delay_ms = 900;
		world_say(&world, 0, 0, true);
		world_for(&world, 500);
		world_restart_reporter(&world);
		world_say(&world, 0, -1, false);
		world_for(&world, 5000);
	}
	check(!said[0]);
}

static void other_versions_are_said(void)
{
	union address from = world_address(0, 1);
	uint8_t buf[144] = "PAMS\1\1\0\220", answer[REPORT_ANSWER_BYTES];

	begin();
	memcpy(buf + 8, world.announcer.keys.id, REPORT_ID_BYTES);
	for (unsigned int i = 0; i < 1000; i++)
		check(!peers_receive(world.peers, buf, sizeof(buf), &from,
				     server_us(&world), answer));
	check(times_said("peer 'a' at 10.9.0.1:4000 speaks version 1") == 1);
	check(dropped("version") == 1000);
	buf[8] ^= 1;
	peers_receive(world.peers, buf, sizeof(buf), &from, server_us(&world),
		      answer);
	check(dropped("version") == 1000);
}

/* What isn't acknowledged rides on nothing but its own repetition. */
static void server_that_forgot_is_told_again(void)
{
	begin();
	world_say(&world, 0, 0, true);
	world_for(&world, 100);
	world_restart_server(&world);
	world.known_count = 0;
	check(!world_is_lost(&world, 0));
	announce_periodic(&world.announcer, world.us / 1000, world_send,
			  &world);
	world_for(&world, 10);
	check(world_is_lost(&world, 0));
}

/* Data flows, and from some time on nothing gets through: that is noticed. */
static void silence_is_noticed(void)
{
	begin();
	for (unsigned int i = 0; i < 600; i++) {
		if (i == 300) {
			check(!world.announcer.asked_ms);
			world.network[0].dead = true;
			world.network[1].dead = true;
		}
		announce_periodic(&world.announcer, world.us / 1000,
				  world_send, &world);
		world_for(&world, 100);
	}
	check(count_of(NULL, "acknowledged") <= 20);
	check(world.announcer.asked_ms &&
	      world.us / 1000 - world.announcer.asked_ms > 20000);
}

/* Nothing is reported while nothing flows. No answer then is no silence. */
static void a_pause_is_no_silence(void)
{
	begin();
	world.network[0].dead = true;
	world.network[1].dead = true;
	world_for(&world, 10000);
	announce_periodic(&world.announcer, world.us / 1000, world_send,
			  &world);
	check(world.announcer.asked_ms);
	world.network[0].dead = false;
	world.network[1].dead = false;
	world_for(&world, 600000);
	announce_periodic(&world.announcer, world.us / 1000, world_send,
			  &world);
	check(!world.announcer.asked_ms ||
	      world.announcer.asked_ms == world.us / 1000);
	world_for(&world, 100);
	check(!world.announcer.asked_ms);
}

/*
 * A reload that leaves a peer its rights changes nothing in the kernel; one that
 * takes its key or a prefix away takes back what it said.
 */
static void revoked_reports_are_taken_back(void)
{
	static struct prefix other = { .family = AF_INET, .len = 32 };
	struct peer_config next = world.peer_config;
	struct config config = { .peer_count = 1, .peers = &next };

	for (unsigned int i = 0; i < 4; i++) {
		begin();
		next = world.peer_config;
		world_say(&world, 0, 0, true);
		world_for(&world, 100);
		check(names_lost() == 1);
		config.peer_count = i != 1;
		if (i == 2)
			next.key[0] ^= 1;
		if (i == 3)
			next.prefixes = &other;
		peers_revoke(world.peers, &config, server_us(&world) / 1000);
		check(names_lost() == !i);
	}
}

/* The module comes back and knows nothing. */
static void kernel_is_told_again(void)
{
	begin();
	world_say(&world, 0, 0, true);
	world_for(&world, 100);
	world.known_count = 0;
	peers_feed(world.peers, server_us(&world) / 1000);
	check(world_is_lost(&world, 0) && !world_is_lost(&world, 1));
}

static void answers_of_others_change_nothing(void)
{
	struct report_answer answer = { .counter = 1, .taken = true };
	uint8_t buf[REPORT_ANSWER_BYTES], old[REPORT_ANSWER_BYTES];
	struct announcer *announcer = &world.announcer;
	uint64_t ms;
	size_t len;

	begin();
	ms = world.us / 1000;
	memcpy(answer.session, announcer->session, REPORT_SESSION_BYTES);
	answer.counter = announcer->counter + 1;
	len = report_seal_answer(buf, &announcer->keys, answer.session, 1,
				 &answer);
	check(!announce_answer(announcer, buf, len, ms));
	/* of a report that was answered before */
	answer.counter = announcer->ways[0].answered;
	len = report_seal_answer(old, &announcer->keys, answer.session, 2,
				 &answer);
	check(!announce_answer(announcer, old, len, ms));
	answer.session[0] ^= 1;
	answer.counter = announcer->counter;
	len = report_seal_answer(buf, &announcer->keys, answer.session, 3,
				 &answer);
	check(!announce_answer(announcer, buf, len, ms));
	for (unsigned int i = 0; i < len; i++) {
		old[i] ^= 4;
		check(!announce_answer(announcer, old, len, ms));
		old[i] ^= 4;
	}
	check(announce_is_known(announcer));
}

/* The same prediction 100 times a second: five reports over each way. */
static void repeated_prediction_is_sent_seldom(void)
{
	begin();
	world_say(&world, 0, 10000, false);
	world_for(&world, 100);
	world.sent = 0;
	for (unsigned int i = 0; i < 500; i++) {
		world_say(&world, 0, 9900 - 10 * i + i % 7, false);
		world_for(&world, 10);
	}
	check(world.sent <= WAYS * 5 * 5);
	world_say(&world, 0, 1000, false);
	world_for(&world, 100);
	check(world.sent > 0);
}

int main(void)
{
	if (sodium_init() < 0)
		return 1;
	run(session_is_known_after_one_round_trip);
	run(lost_now_goes_over_the_other_way_first);
	run(lost_now_needs_no_cookie_of_the_other_way);
	run(burst_of_loss_is_survived);
	run(pauses_grow);
	run(newest_wins);
	run(held_back_is_not_fresh);
	run(session_can_not_begin_late);
	run(clocks_may_stop);
	run(clocks_may_drift);
	run(delayed_loss_time_is_nearer);
	run(spread_reaches_the_kernel);
	run(loss_is_capped);
	run(no_path_by_a_spoofed_address);
	run(own_address_has_to_be_allowed);
	run(subflows_are_named_by_token);
	run(tokens_can_not_be_guessed);
	run(names_are_limited);
	run(replay_at_1000_a_second);
	run(replay_at_5000_a_second);
	run(old_session_stays_dead);
	run(two_hosts_do_not_flap);
	run(a_restart_is_not_two_hosts);
	run(other_versions_are_said);
	run(server_that_forgot_is_told_again);
	run(silence_is_noticed);
	run(a_pause_is_no_silence);
	run(revoked_reports_are_taken_back);
	run(kernel_is_told_again);
	run(answers_of_others_change_nothing);
	run(repeated_prediction_is_sent_seldom);
	world_end(&world);
	return tap_end();
}
