// SPDX-License-Identifier: GPL-2.0
/*
 * sessions - tests of the two ends' cores in virtual time: what each of the
 * protocol's rules is for, where everybody is honest
 */
#include "core.h"

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
	check(world.sent >= 2 * 3 && world.sent <= 2 * 6);
	/* to the last one, every 10 minutes: there is no radio that this keeps awake */
	world_for(&world, 3600000);
	world.sent = 0;
	world_for(&world, 3600000);
	check(world.sent >= 2 * 5 && world.sent <= 2 * 7);
}

/* While data flows again, what wasn't answered is tried twice a minute. */
static void pauses_end_with_use(void)
{
	begin();
	world.network[1].dead = true;
	world_say(&world, 0, 0, true);
	world.network[0].dead = true;
	world_say(&world, 0, 0, false);
	world_for(&world, 7200000);
	world.sent = 0;
	for (unsigned int i = 0; i < 300; i++) {
		announce_periodic(&world.announcer, world.us / 1000, world_send, &world);
		world_for(&world, 1000);
	}
	/* one a second over the best way, and over both each 30 s */
	check(world.sent >= 300 + 2 * 8 && world.sent <= 300 + 2 * 12);
}

/*
 * Both addresses are to be learned, and nobody answers over one way: that is asked
 * over this way alone, and is no silence of the server.
 */
static void deaf_way_wakes_no_other(void)
{
	static struct announce_path path;
	struct announce_way *ways = world.announcer.ways;
	json_int_t acknowledged;

	begin();
	world.network[1].dead = true;
	for (unsigned int i = 0; i < WAYS; i++) {
		ways[i].own = 1U << i;
		path = world.announcer.paths[i];
		path.by_source = true;
		path.cost = 1;
		announce_set(&world.announcer, i, &path, world.us / 1000);
	}
	world_for(&world, 120000);
	check(ways[0].taught && !ways[1].taught);
	acknowledged = count_of(NULL, "acknowledged");
	world.sent = 0;
	world_for(&world, 600000);
	check(count_of(NULL, "acknowledged") == acknowledged);
	check(world.sent >= 3 && world.sent <= 6);
	check(!world.announcer.asked_ms);
	world.network[1].dead = false;
	world_for(&world, 600000);
	check(ways[1].taught && announce_is_known(&world.announcer));
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

/* The sender's clock is slewed by 500 ppm for an hour, back or forth, while data flows. */
static void drift_moves_no_loss_time(void)
{
	for (int step_us = -50; step_us <= 50; step_us += 100) {
		int64_t sent_ms, off_ms;

		begin();
		for (unsigned int i = 0; i < 36000; i++) {
			world.ahead_us += step_us;
			announce_periodic(&world.announcer, world.us / 1000,
					  world_send, &world);
			world_for(&world, 100);
		}
		sent_ms = server_us(&world) / 1000;
		world_say(&world, 0, 3000, false);
		world_for(&world, 100);
		off_ms = (int64_t)world_known(&world, 0, 1)->loss_at_ms -
			 (sent_ms + 3000);
		check(off_ms >= -250 && off_ms <= 5);
		check(dropped("old") == 0);
	}
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

/* Whatever is reported, nothing holds longer than loss-max-s from when it was. */
static void loss_holds_no_longer_than_it_may(void)
{
	const int64_t most_ms = 60000;
	uint64_t until_ms;

	for (int64_t ahead_ms = most_ms - 2; ahead_ms <= most_ms + 2; ahead_ms++) {
		begin();
		until_ms = server_us(&world) / 1000 + most_ms;
		world_say(&world, 0, ahead_ms, false);
		world_for(&world, 100);
		check(world_known(&world, 0, 1)->loss_until_ms <= until_ms + 10);
	}
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

/* So does what a path costs, beside all else, and that it costs nothing any more. */
static void cost_reaches_the_kernel(void)
{
	const struct known *known;
	uint64_t sets;

	begin();
	world_say(&world, 0, -1, false);
	world_for(&world, 100);
	known = world_known(&world, 0, 1);
	check(!known->cost_until_ms);
	world_cost(&world, 0, 2);
	world_for(&world, 100);
	check(known->cost == 2);
	check(known->cost_until_ms > server_us(&world) / 1000 + 500000);
	/* said again it costs nobody anything */
	sets = world.sets;
	world_say(&world, 0, 5000, false);
	world_cost(&world, 0, 2);
	world_for(&world, 100);
	check(known->loss_until_ms && known->cost == 2);
	world_cost(&world, 0, 2);
	world_for(&world, 100);
	check(world.sets <= sets + 3);
	world_cost(&world, 0, 0);
	world_for(&world, 100);
	check(!known->cost);
}

/*
 * A cost that is taken back while the server's pamsd is away is taken back in the
 * kernel, which has it from the daemon before. One that somebody else set stays.
 */
static void cost_is_taken_back_after_a_restart(void)
{
	struct known *known;

	begin();
	world_cost(&world, 0, 2);
	world_for(&world, 100);
	known = world_known(&world, 0, 1);
	check(known->cost == 2);
	world_restart_server(&world);
	world_cost(&world, 0, 0);
	world_for(&world, 1000);
	check(!known->cost);

	begin();
	known = world_known(&world, 0, 1);
	known->cost = 3;
	known->cost_stays = true;
	world_restart_server(&world);
	world_say(&world, 0, 5000, false);
	world_for(&world, 1000);
	check(known->loss_until_ms && known->cost == 3);
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
	uint8_t buf[144] = "PAMS\1\1\0\220", answer[REPORT_ANSWER_MAX];

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
	uint8_t buf[REPORT_ANSWER_MAX], old[REPORT_ANSWER_MAX];
	struct announcer *announcer = &world.announcer;
	uint64_t ms;
	size_t len;

	begin();
	ms = world.us / 1000;
	memcpy(answer.session, announcer->session, REPORT_SESSION_BYTES);
	answer.counter = announcer->counter + 1;
	len = report_seal_answer(buf, &announcer->keys, answer.session, &answer);
	check(!announce_answer(announcer, buf, len, ms));
	/* of a report that was answered before */
	answer.counter = announcer->ways[0].answered;
	len = report_seal_answer(old, &announcer->keys, answer.session, &answer);
	check(!announce_answer(announcer, old, len, ms));
	answer.session[0] ^= 1;
	answer.counter = announcer->counter;
	len = report_seal_answer(buf, &announcer->keys, answer.session, &answer);
	check(!announce_answer(announcer, buf, len, ms));
	for (unsigned int i = 0; i < len; i++) {
		old[i] ^= 4;
		check(!announce_answer(announcer, old, len, ms));
		old[i] ^= 4;
	}
	check(announce_is_known(announcer));
}

/* Data flows for that long, and an answer is asked for each 5 s. */
static void flow_for(uint64_t ms)
{
	for (uint64_t end_us = world.us + ms * 1000; world.us < end_us; world_for(&world, 100))
		announce_periodic(&world.announcer, world.us / 1000, world_send, &world);
}

static bool is_told(uint64_t byteps, uint64_t least_ms, uint64_t most_ms)
{
	const struct report_rate *rate = &world.announcer.rates[0];

	return world.announcer.rate_count == 1 && !rate->id && rate->byteps == byteps &&
	       rate->age_ms >= least_ms && rate->age_ms <= most_ms;
}

/* What the kernel measures of the peer's connection comes back with the answer, and ages. */
static void rates_come_back(void)
{
	begin();
	world.rate_byteps = 1000000;
	world_connect(&world, 8);
	world_for(&world, 200);
	check(is_told(1000000, 0, 100));
	world.rate_byteps = 500000;
	flow_for(6100);
	check(is_told(500000, 0, 1000));
	world.rate_byteps = 0;
	flow_for(60000);
	check(is_told(500000, 54000, 62000));
	flow_for(535000);
	check(is_told(500000, 589000, 600000));
	flow_for(10000);
	check(!world.announcer.rate_count);
	check(announce_is_known(&world.announcer));
}

/* The peer is told nothing of a connection that it doesn't prove, and nobody is asked for it. */
static void rates_are_its_own(void)
{
	begin();
	world.rate_byteps = 1000000;
	world_connect(&world, 9);
	flow_for(11000);
	check(!world.announcer.rate_count && !world.measures);
	check(dropped("unproven") > 0);
}

/* A reporter that is older leaves no room in its reports: it gets what it got. */
static void older_reporter_gets_no_rates(void)
{
	begin();
	world.rate_byteps = 1000000;
	world_connect(&world, 8);
	world.announcer.paths[0].by_source = false;
	flow_for(11000);
	check(!world.announcer.rate_count && !world.measures);
	check(announce_is_known(&world.announcer));
}

/* Nobody here chooses by rates: nothing is measured for it, however long a report is. */
static void who_wants_no_rates_gets_none(void)
{
	struct report_conn more = { .count = 1, .flows = { { .id = 0 } } };

	begin();
	world.rate_byteps = 1000000;
	world.announcer.wants_rates = false;
	world_connect(&world, 8);
	for (more.token = 100; more.token < 110; more.token++)
		announce_conn(&world.announcer, &more, world.us / 1000);
	flow_for(11000);
	check(!world.announcer.rate_count && !world.measures);
	check(announce_is_known(&world.announcer));
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

/* Data flows over the first way for so long, with a report each second. */
static void use_first_way(unsigned int seconds)
{
	while (seconds--) {
		world.announcer.ways[0].moved_us = world.us;
		announce_periodic(&world.announcer, world.us / 1000, world_send, &world);
		world_for(&world, 1000);
	}
}

static void check_first_way(unsigned int expected)
{
	first_way = UINT32_MAX;
	announce_periodic(&world.announcer, world.us / 1000, note_way, NULL);
	check(first_way == expected);
}

/* What is said of a lost path besides, as the costs that caps repeat, is no news of the loss. */
static void same_loss_is_told_once(void)
{
	begin();
	world_say(&world, 0, 0, true);
	world_for(&world, 1000);
	world.sent = 0;
	for (unsigned int i = 0; i < 600; i++) {
		world_cost(&world, 0, 0);
		world_for(&world, 1000);
	}
	check(!world.sent);
	world_say(&world, 0, 0, true);
	world_for(&world, 1000);
	check(world.sent == WAYS);
}

/* The Wi-Fi, over which all data goes, lets no UDP pass. The server still hears what LTE costs. */
static void deaf_way_is_not_the_best(void)
{
	const struct known *known;

	begin();
	world.network[0].dead = true;
	world_cost(&world, 1, 2);
	use_first_way(1500);
	known = world_known(&world, 1, 1);
	check(known && known->cost == 2 && known->cost_until_ms > server_us(&world) / 1000);
	check_first_way(1);
	world_connect(&world, 0);
	world_for(&world, 50);
	check(announce_is_known(&world.announcer));
	world.network[0].dead = false;
	use_first_way(12);
	check_first_way(0);
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
	run(pauses_end_with_use);
	run(deaf_way_wakes_no_other);
	run(deaf_way_is_not_the_best);
	run(same_loss_is_told_once);
	run(newest_wins);
	run(held_back_is_not_fresh);
	run(session_can_not_begin_late);
	run(clocks_may_stop);
	run(clocks_may_drift);
	run(drift_moves_no_loss_time);
	run(delayed_loss_time_is_nearer);
	run(loss_holds_no_longer_than_it_may);
	run(spread_reaches_the_kernel);
	run(cost_reaches_the_kernel);
	run(cost_is_taken_back_after_a_restart);
	run(a_restart_is_not_two_hosts);
	run(other_versions_are_said);
	run(server_that_forgot_is_told_again);
	run(silence_is_noticed);
	run(a_pause_is_no_silence);
	run(revoked_reports_are_taken_back);
	run(kernel_is_told_again);
	run(answers_of_others_change_nothing);
	run(rates_come_back);
	run(rates_are_its_own);
	run(older_reporter_gets_no_rates);
	run(who_wants_no_rates_gets_none);
	run(repeated_prediction_is_sent_seldom);
	world_end(&world);
	return tap_end();
}
