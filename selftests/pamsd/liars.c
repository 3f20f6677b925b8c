// SPDX-License-Identifier: GPL-2.0
/*
 * liars - tests of the server's core in virtual time: who has a key and says what
 * it likes, or has none and sends again what it saw
 */
#include "core.h"

#define REPLAYED_MAX	1000

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
	uint8_t buf[REPORT_BYTES_MAX], answer[REPORT_ANSWER_MAX];
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
	name->proven = kind == REPORT_NAME_SUBFLOW;
	return name;
}

/* --- cases --- */

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

/* The connection that the kernel has, and which is lost if it is the liar's. */
static struct report_name *liar_names_the_connection(struct liar *liar)
{
	struct report_name *name;

	world.token = 0xabcdef01;
	world.peer_token = 0x10fedcba;
	liar_path(liar, 3)->flags = REPORT_LOSS;
	name = liar_name(liar, REPORT_NAME_SUBFLOW);
	name->token = world.token;
	name->local_id = 1;
	name->remote_id = 2;
	name->proof = world.peer_token;
	return name;
}

static void subflows_are_named_by_token(void)
{
	struct liar liar;
	union address from = world_address(0, 1);
	unsigned int finds;

	begin();
	liar_begin(&liar);
	liar_names_the_connection(&liar);
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

/* Who only read the server's token in a join has no proof, and can't guess it. */
static void connections_of_others_are_not_named(void)
{
	union address from = world_address(0, 1);
	struct report_name *name;
	struct liar liar;

	begin();
	liar_begin(&liar);
	name = liar_names_the_connection(&liar);
	/* as before there were proofs: not even looked up, and said once an hour */
	name->proven = false;
	liar_enter(&liar, &from);
	liar_say(&liar, &from);
	check(!world.finds && !names_lost());
	check(dropped("unproven") == 2);
	check(times_said("doesn't prove") == 1);
	/* all numbers that the thief can think of */
	name->proven = true;
	for (uint32_t i = 0; i < 100; i++) {
		name->proof = i ? world.token + i - 1 : 0;
		liar_say(&liar, &from);
	}
	check(!names_lost() && world.finds == 64);
	check(dropped("unproven") == 2 + 64 && dropped("guesses") == 100 - 64);
	/* a while later its own connection counts as ever */
	world_for(&world, 1000);
	name->proof = world.peer_token;
	liar_say(&liar, &from);
	check(names_lost() == 1);
}

/* A subflow that was named while there was no module is told only after it has been asked for. */
static void nothing_is_told_of_an_unasked_subflow(void)
{
	union address from = world_address(0, 1);
	struct report_name *name;
	struct liar liar;

	begin();
	liar_begin(&liar);
	name = liar_names_the_connection(&liar);
	name->proof++;
	world.no_module = true;
	world.sets = 0;
	liar_enter(&liar, &from);
	/* it is there, but nobody has said so yet */
	world.no_module = false;
	liar_say(&liar, &from);
	check(!world.sets && !names_lost());
	world.no_module = true;
	name->proof = world.peer_token;
	liar_say(&liar, &from);
	check(!world.sets);
	world.no_module = false;
	peers_feed(world.peers, server_us(&world) / 1000);
	check(names_lost() == 1);
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
		for (unsigned int j = 0; j < 100; j++)
			liar_name(&liar, REPORT_NAME_SUBFLOW)->token =
				1 + i * 100 + j;
		liar_say(&liar, &from);
		world_for(&world, 100);
	}
	/* 64 at once, and 8 in each of 10 s, of 10000 */
	check(world.finds <= 64 + 8 * 11);
	check(dropped("guesses") > 9000);
}

/* Paths from..to - 1 are lost, for a minute if nothing else is said; 20 names each. */
static void liar_says_lost(struct liar *liar, unsigned int from, unsigned int to,
			   uint32_t ttl_ms)
{
	union address address = world_address(0, 1);

	for (unsigned int i = from; i < to; i++) {
		struct report_path *path = liar_path(liar, i);

		path->flags = REPORT_LOSS;
		path->loss_ttl_ms = ttl_ms;
		for (unsigned int j = 0; j < 20; j++) {
			struct report_name *name =
				liar_name(liar, REPORT_NAME_PREFIX);

			name->prefix_len = 32;
			memcpy(name->address,
			       (uint8_t[]){ 10, 9, 100 + i, j }, 4);
		}
		liar_say(liar, &address);
	}
}

/* How many of that path's names the kernel has as lost. */
static unsigned int lost_of(unsigned int id)
{
	unsigned int lost = 0;

	for (unsigned int j = 0; j < 20; j++) {
		const struct known *known = world_known(&world, 100 + id, j);

		lost += known && known->loss_until_ms > server_us(&world) / 1000;
	}
	return lost;
}

static void liar_known(struct liar *liar)
{
	union address from = world_address(0, 1);

	liar_begin(liar);
	liar_path(liar, 0)->flags = REPORT_LOSS;
	liar_enter(liar, &from);
}

static void names_are_limited(void)
{
	struct liar liar;

	begin();
	liar_known(&liar);
	liar_says_lost(&liar, 0, 16, 86400000);
	check(names_lost() == 128);
	check(dropped("too-many-paths") == 16 * 20 - 128);
}

/* What a reporter said before it was started anew doesn't take up places for long. */
static void names_of_a_session_before_make_room(void)
{
	struct liar before, now;

	begin();
	liar_known(&before);
	liar_says_lost(&before, 0, 6, 86400000);
	world_for(&world, 10);
	liar_known(&now);
	liar_says_lost(&now, 6, 12, 86400000);
	for (unsigned int id = 6; id < 12; id++)
		check(lost_of(id) == 20);
	check(names_lost() == 128);
	check(!dropped("too-many-paths"));
}

static void names_under_which_nothing_holds_make_room(void)
{
	struct liar liar;

	begin();
	liar_known(&liar);
	liar_says_lost(&liar, 0, 6, 1000);
	check(names_lost() == 120);
	world_for(&world, 2000);
	liar_says_lost(&liar, 6, 12, 1000);
	check(names_lost() == 120 && lost_of(11) == 20);
	check(!dropped("too-many-paths"));
}

/* The first reports of forgotten sessions were recorded and come again and again, from anywhere. */
static void replayed_requests_hardly_delay(unsigned int rate_ps, unsigned int sessions)
{
	static uint8_t buf[REPLAYED_MAX][REPORT_BYTES_MAX];
	uint8_t answer[REPORT_ANSWER_MAX];
	static size_t len[REPLAYED_MAX];
	unsigned int answers = 0, next = 0;
	struct liar liar;
	uint64_t begin_us;

	begin();
	for (unsigned int i = 0; i < sessions; i++) {
		liar_begin(&liar);
		liar_path(&liar, 0);
		liar.report.sent_ms = world.us / 1000;
		len[i] = report_seal(buf[i], &liar.keys, liar.session, ++liar.counter,
				     &liar.report);
	}
	for (unsigned int round = 0; round < 20; round++) {
		world_restart_reporter(&world);
		begin_us = world.us;
		world_say(&world, 0, -1, false);
		while (!announce_is_known(&world.announcer) &&
		       world.us - begin_us < 10000000) {
			union address from = world_address(77, world.us);

			answers += peers_receive(world.peers, buf[next], len[next], &from,
						 server_us(&world),
						 answer) > 0;
			next = (next + 1) % sessions;
			world_run(&world, world.us + 1000000 / rate_ps);
		}
		check(world.us - begin_us <= 300000);
	}
	check(answers <= sessions);
}

static void replay_at_1000_a_second(void)
{
	replayed_requests_hardly_delay(1000, 1);
}

static void replay_at_5000_a_second(void)
{
	replayed_requests_hardly_delay(5000, 1);
}

static void replay_of_1000_sessions(void)
{
	replayed_requests_hardly_delay(19000, REPLAYED_MAX);
}

/* A connection that the liar names, with room for rates in each report. */
static void liar_names_conn(struct liar *liar, uint32_t token, uint32_t proof)
{
	world.token = 7;
	world.peer_token = 8;
	world.rate_byteps = 1000000;
	liar->report.acknowledge = true;
	liar->report.rates_max = REPORT_PATHS_MAX;
	liar->report.conn_count = 1;
	liar->report.conns[0] = (struct report_conn){
		.token = token, .proof = proof, .count = 1,
		.flows = { { .id = 3, .local_id = 1, .remote_id = 2 } } };
}

/* Of others' connections and addresses nothing is said without the proof. */
static void rates_of_others_stay_secret(void)
{
	union address from = world_address(0, 1);
	struct liar liar;

	begin();
	liar_begin(&liar);
	liar_names_conn(&liar, 7, 9);
	liar_path(&liar, 3);
	memcpy(liar_name(&liar, REPORT_NAME_PREFIX)->address, "\12\11", 2);
	liar.report.names[0].prefix_len = 16;
	liar_enter(&liar, &from);
	for (unsigned int i = 0; i < 50; i++) {
		world_for(&world, 1000);
		liar_say(&liar, &from);
		check(liar.answered && liar.answer.taken && !liar.answer.rate_count);
	}
	check(!world.measures);
	/* one that was its own, but has ended, and somebody else has the token */
	liar_names_conn(&liar, 7, 8);
	liar_say(&liar, &from);
	check(liar.answer.rate_count == 1 && liar.answer.rates[0].id == 3);
	world.peer_token = 10;
	world.rate_byteps = 2000000;
	world_for(&world, 5000);
	liar_say(&liar, &from);
	check(liar.answer.rate_count == 1 && liar.answer.rates[0].byteps == 1000000 &&
	      liar.answer.rates[0].age_ms == 5000);
}

/* However often somebody asks, the module is asked once a second. */
static void asking_for_rates_is_bounded(void)
{
	union address from = world_address(0, 1);
	struct liar liar;

	begin();
	liar_begin(&liar);
	liar_names_conn(&liar, 7, 8);
	liar_enter(&liar, &from);
	for (unsigned int i = 0; i < 1000; i++) {
		world_for(&world, 10);
		liar_say(&liar, &from);
	}
	check(world.measures >= 9 && world.measures <= 11);
}

/* Reports that overtake each other are each answered, once. */
static void each_report_is_answered_once(void)
{
	uint8_t buf[3][REPORT_BYTES_MAX], answer[REPORT_ANSWER_MAX];
	static const unsigned int order[] = { 1, 0, 0, 1, 2, 1, 2, 0 };
	union address from = world_address(0, 1);
	unsigned int answers = 0;
	json_int_t before;
	struct liar liar;
	size_t len;

	begin();
	before = dropped("replay");
	liar_begin(&liar);
	liar_path(&liar, 0);
	for (unsigned int i = 0; i < 3; i++)
		len = report_seal(buf[i], &liar.keys, liar.session, ++liar.counter,
				  &liar.report);
	for (unsigned int i = 0; i < ARRAY_SIZE(order); i++)
		answers += peers_receive(world.peers, buf[order[i]], len, &from,
					 server_us(&world), answer) > 0;
	check(answers == 3);
	check(dropped("replay") - before == ARRAY_SIZE(order) - 3);
}

/* All that an old session sent is sent again, from its own address. */
static void old_session_stays_dead(void)
{
	union address from = world_address(0, 1);
	uint8_t answer[REPORT_ANSWER_MAX];
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

int main(void)
{
	if (sodium_init() < 0)
		return 1;
	run(loss_is_capped);
	run(no_path_by_a_spoofed_address);
	run(own_address_has_to_be_allowed);
	run(subflows_are_named_by_token);
	run(connections_of_others_are_not_named);
	run(nothing_is_told_of_an_unasked_subflow);
	run(tokens_can_not_be_guessed);
	run(names_are_limited);
	run(names_of_a_session_before_make_room);
	run(names_under_which_nothing_holds_make_room);
	run(replay_at_1000_a_second);
	run(replay_at_5000_a_second);
	run(replay_of_1000_sessions);
	run(rates_of_others_stay_secret);
	run(asking_for_rates_is_bounded);
	run(each_report_is_answered_once);
	run(old_session_stays_dead);
	run(two_hosts_do_not_flap);
	world_end(&world);
	return tap_end();
}
