// SPDX-License-Identifier: GPL-2.0
/*
 * numbers - tests of what the daemon reckons: a pipe's throughput, a station's,
 * limits of rates, prefixes
 */
#include <errno.h>
#include <string.h>

#include <linux/nl80211.h>
#include <netlink/attr.h>
#include <netlink/genl/genl.h>
#include <netlink/msg.h>

#include "reporter/measure.h"
#include "reporter/source_station.h"
#include "tap.h"

#define TICK_US	20000

/* A pipe of that rate with that backlog all the time, for that many ticks. */
static void drain(struct estimate *estimate, uint64_t *us, uint64_t byteps,
		  unsigned int ticks)
{
	uint64_t bytes = estimate->bytes;

	while (ticks--) {
		*us += TICK_US;
		bytes += byteps * TICK_US / 1000000;
		estimate_count(estimate, *us, bytes, 50000);
	}
}

static bool near(uint64_t value, uint64_t right, unsigned int percent)
{
	uint64_t off = value > right ? value - right : right - value;

	return off * 100 <= right * percent;
}

static void backlog_tells_the_rate(void)
{
	struct estimate estimate = { };
	uint64_t us = 5000000;

	drain(&estimate, &us, 625000, 20);
	check(near(estimate.rate_byteps, 625000, 1));
	check(estimate.backlog_bytes == 50000);
	check(estimate.waited_us == us);
}

/* Down to a fifth, in samples of 60 ms, and up again in ones of 40 ms. */
static void change_is_followed(void)
{
	struct estimate estimate = { };
	uint64_t us = 5000000;

	drain(&estimate, &us, 625000, 20);
	drain(&estimate, &us, 125000, 8);
	check(estimate.rate_byteps < 312500);
	drain(&estimate, &us, 125000, 16);
	check(near(estimate.rate_byteps, 125000, 13));
	drain(&estimate, &us, 625000, 9);
	check(near(estimate.rate_byteps, 625000, 13));
}

/* More leaves than waits: the queue may have been empty. Only more counts. */
static void short_backlog_is_a_lower_bound(void)
{
	struct estimate estimate = { };
	uint64_t us = 5000000, bytes;

	drain(&estimate, &us, 625000, 20);
	bytes = estimate.bytes + 12500;
	us += TICK_US;
	estimate_count(&estimate, us, bytes, 3000);
	/* now and then there is a backlog, more often there is none */
	for (unsigned int i = 0; i < 100; i++) {
		us += TICK_US;
		bytes += 5000;
		estimate_count(&estimate, us, bytes, i % 5 < 2 ? 3000 : 0);
	}
	check(near(estimate.rate_byteps, 625000, 1));
	for (unsigned int i = 0; i < 20; i++) {
		us += TICK_US;
		bytes += 25000;
		estimate_count(&estimate, us, bytes, 3000);
	}
	check(near(estimate.rate_byteps, 1250000, 2));
	for (unsigned int i = 0; i < 600; i++) {
		us += TICK_US;
		bytes += 5000;
		estimate_count(&estimate, us, bytes, i % 5 < 2 ? 3000 : 0);
	}
	check(near(estimate.rate_byteps, 250000, 1));
}

/*
 * A queue that CoDel keeps below 10 ms, so that more leaves in a tick than
 * waited, and that is empty at every eighth: a fall to a quarter is known in
 * time.
 */
static void short_queue_is_followed_down(void)
{
	static const uint32_t backlogs[] = { 6056, 3028, 7570, 1514, 4542,
					     9084, 3028, 0 };
	uint64_t us = 5000000, bytes = 0, byteps = 2500000;
	struct estimate estimate = { };

	for (unsigned int i = 0; i < 200; i++) {
		if (i == 100) {
			check(near(estimate.rate_byteps, 2500000, 10));
			byteps = 625000;
		}
		us += TICK_US;
		bytes += byteps * TICK_US / 1000000;
		estimate_count(&estimate, us, bytes, backlogs[i % 8]);
		if (i >= 140)
			check(near(estimate.rate_byteps, 625000, 25));
	}
}

/* What leaves an empty queue says what was sent, not what could be. */
static void without_backlog_the_rate_stays(void)
{
	struct estimate estimate = { };
	uint64_t us = 5000000, bytes;

	drain(&estimate, &us, 625000, 20);
	bytes = estimate.bytes;
	for (unsigned int i = 0; i < 50; i++) {
		us += TICK_US;
		bytes += 100;
		estimate_count(&estimate, us, bytes, 0);
	}
	check(near(estimate.rate_byteps, 625000, 1));
	check(estimate.backlog_bytes == 0);
	check(estimate_known(&estimate, us, 2000000));
	check(!estimate_known(&estimate, us, 500000));
}

static void nothing_known_is_nothing_said(void)
{
	struct estimate estimate = { };

	check(!estimate_known(&estimate, 1000, 1000000));
	estimate_count(&estimate, 5000000, 1000, 100);
	check(!estimate_known(&estimate, 5000000, 1000000));
}

static void standstill_is_not_zero(void)
{
	struct estimate estimate = { };
	uint64_t us = 5000000;

	drain(&estimate, &us, 625000, 10);
	drain(&estimate, &us, 0, 500);
	check(estimate.rate_byteps <= 126);
	check(estimate.rate_byteps >= 125);
}

static void counter_set_back_is_no_sample(void)
{
	struct estimate estimate = { };
	uint64_t us = 5000000;

	drain(&estimate, &us, 625000, 20);
	us += TICK_US;
	estimate_count(&estimate, us, 0, 50000);
	drain(&estimate, &us, 625000, 20);
	check(near(estimate.rate_byteps, 625000, 1));
}

static void said_rate_is_smoothed_by_a_quarter(void)
{
	struct estimate estimate = { };

	estimate_rate(&estimate, 1000, 10, 0, 1000000);
	check(estimate.rate_byteps == 1000000);
	estimate_rate(&estimate, 2000, 20, 0, 2000000);
	check(estimate.rate_byteps == 1250000);
	estimate_rate(&estimate, 3000, 30, 70000, 0);
	check(estimate.rate_byteps == 1250000);
	check(estimate.backlog_bytes == 70000);
	estimate_rate(&estimate, 3000, 30, UINT32_MAX, ~0ULL);
	check(estimate.rate_byteps == (1250000ULL * 3 + 12500000000ULL) / 4);
	check(estimate.backlog_bytes == 2147483648);
}

static void exact_rate_is_as_said(void)
{
	struct estimate estimate = { };

	estimate_exact(&estimate, 1000, 10, 0, 1000000);
	estimate_exact(&estimate, 2000, 20, 5000, 2000000);
	check(estimate.rate_byteps == 2000000);
	check(estimate.backlog_bytes == 5000);
	/* nothing is waiting, so nothing is said: the last one stays */
	estimate_exact(&estimate, 3000, 30, 0, 0);
	check(estimate.rate_byteps == 2000000);
	check(!estimate.backlog_bytes);
}

/* --- stations --- */

static struct nlattr *attrs[NL80211_ATTR_MAX + 1];

static struct nl_msg *station_message(int expected_kbitps, int bitrate_100kbps,
				      int backlog_bytes)
{
	static const uint8_t mac[6] = { 2, 0, 0, 0, 0, 1 };
	struct nl_msg *msg = nlmsg_alloc();
	struct nlattr *info, *rate, *tids, *tid, *queue;

	genlmsg_put(msg, 1, 1, 20, 0, 0, NL80211_CMD_NEW_STATION, 0);
	nla_put(msg, NL80211_ATTR_MAC, sizeof(mac), mac);
	info = nla_nest_start(msg, NL80211_ATTR_STA_INFO);
	nla_put_u64(msg, NL80211_STA_INFO_TX_BYTES64, 1ULL << 33);
	if (expected_kbitps)
		nla_put_u32(msg, NL80211_STA_INFO_EXPECTED_THROUGHPUT,
			    expected_kbitps);
	rate = nla_nest_start(msg, NL80211_STA_INFO_TX_BITRATE);
	nla_put_u32(msg, NL80211_RATE_INFO_BITRATE32, bitrate_100kbps);
	nla_nest_end(msg, rate);
	tids = nla_nest_start(msg, NL80211_STA_INFO_TID_STATS);
	for (int i = 1; i <= 2; i++) {
		tid = nla_nest_start(msg, i);
		queue = nla_nest_start(msg, NL80211_TID_STATS_TXQ_STATS);
		nla_put_u32(msg, NL80211_TXQ_STATS_BACKLOG_BYTES,
			    backlog_bytes);
		nla_nest_end(msg, queue);
		nla_nest_end(msg, tid);
	}
	nla_nest_end(msg, tids);
	nla_nest_end(msg, info);
	genlmsg_parse(nlmsg_hdr(msg), 0, attrs, NL80211_ATTR_MAX, NULL);
	return msg;
}

static void station_rate_is_the_expected_one(void)
{
	struct nl_msg *msg = station_message(40000, 1300, 3000);
	struct station station;

	check(!station_parse(attrs, &station));
	check(station.rate_byteps == 5000000);
	check(!strcmp(station.rate_from, "expected"));
	check(station.has_backlog && station.backlog_bytes == 6000);
	check(station.bytes == 1ULL << 33);
	nlmsg_free(msg);
}

static void station_rate_is_half_the_bitrate(void)
{
	struct nl_msg *msg = station_message(0, 1300, 0);
	struct station station;

	check(!station_parse(attrs, &station));
	check(station.rate_byteps == 130000000 / 8 / 2);
	check(!strcmp(station.rate_from, "half bitrate"));
	nlmsg_free(msg);
	memset(attrs, 0, sizeof(attrs));
	check(station_parse(attrs, &station) == -EINVAL);
}

/* --- limits, prefixes --- */

static void bucket_holds_its_rate(void)
{
	struct bucket bucket = { };
	unsigned int taken = 0;

	/* ten seconds, a thousand asked for in each, a hundred allowed */
	for (uint64_t us = 1; us < 10000000; us += 1000)
		taken += bucket_take(&bucket, 100, 20, us);
	check(taken >= 1000 && taken <= 1021);
}

static bool contains(const char *outer_text, const char *inner_text)
{
	struct prefix outer, inner;

	check(!prefix_parse(&outer, outer_text));
	check(!prefix_parse(&inner, inner_text));
	return prefix_contains(&outer, &inner);
}

static void prefix_contains_what_is_in_it(void)
{
	check(contains("10.0.2.0/24", "10.0.2.1"));
	check(contains("10.0.2.0/24", "10.0.2.0/24"));
	check(contains("0.0.0.0/0", "10.0.2.0/24"));
	check(contains("10.0.2.128/25", "10.0.2.129"));
	check(contains("2001:db8::/33", "2001:db8:7fff::1"));
	check(!contains("10.0.2.0/24", "10.0.0.0/16"));
	check(!contains("10.0.2.128/25", "10.0.2.127"));
	check(!contains("2001:db8::/33", "2001:db8:8000::1"));
	check(!contains("0.0.0.0/0", "::1"));
}

static void addresses_are_numbers(void)
{
	static const char * const wrong[] = {
		"", "home", "10.0.0", "10.0.0.1:", "10.0.0.1:0", "10.0.0.1:x",
		"10.0.0.1:65536", "[10.0.0.1]:5", "[::1", "[::1]5", "::1]:5",
		"10.0.0.1:5:5", "10.0.0.1 ", "[::1]:-1",
	};
	union address address;
	char text[ADDRESS_TEXT];

	for (unsigned int i = 0; i < ARRAY_SIZE(wrong); i++)
		check_at(address_parse(&address, wrong[i], 5230), wrong[i],
			 __LINE__);
	check(!address_parse(&address, "10.0.0.1", 5230));
	check(!strcmp(address_text(text, &address), "10.0.0.1:5230"));
	check(!address_parse(&address, "10.0.0.1:9", 5230));
	check(!strcmp(address_text(text, &address), "10.0.0.1:9"));
	check(!address_parse(&address, "::1", 5230));
	check(!strcmp(address_text(text, &address), "[::1]:5230"));
	check(!address_parse(&address, "[2001:db8::1]:65535", 5230));
	check(!strcmp(address_text(text, &address), "[2001:db8::1]:65535"));
}

static void note(struct stations *stations, unsigned int number,
		 uint64_t bytes, uint64_t byteps, uint64_t us)
{
	struct station station = { .bytes = bytes, .rate_byteps = byteps };

	memcpy(station.mac, &number, sizeof(number));
	stations_note(stations, 3, &station, us);
}

/* More than a table of fixed size has room for, one after the other. */
static void stations_come_and_go(void)
{
	struct stations stations = { };
	const struct estimate *chosen;

	for (unsigned int i = 0; i < 200; i++) {
		note(&stations, i, 1000, 125000, 1000 * i);
		stations_choose(&stations, 3);
		check(stations.count == 1);
		note(&stations, i, 5000, 125000 + i, 1000 * i + 500);
		chosen = stations_choose(&stations, 3);
		check(chosen && chosen->bytes == 5000);
	}
	check(!stations_choose(&stations, 3));
	check(!stations.count);
	stations_free(&stations);
}

/* What its queue drained at replaces what is expected, until that is old. */
static void station_drains_its_queue(void)
{
	struct station station = { .has_backlog = true, .rate_byteps = 5000000,
				   .rate_from = "expected" };
	struct stations stations = { };
	const struct estimate *chosen = NULL;
	uint64_t us = 5000000;

	for (unsigned int i = 0; i < 600; i++, us += TICK_US) {
		if (i == 5)
			check(chosen->rate_byteps == 5000000 &&
			      !strcmp(chosen->from, "expected"));
		if (i == 30)
			check(near(chosen->rate_byteps, 1000000, 3) &&
			      !strcmp(chosen->from, "queue"));
		/* the queue fills, and after some time nothing waits any more */
		station.bytes += 20000;
		station.backlog_bytes = i >= 5 && i < 50 ? 40000 : 0;
		stations_note(&stations, 3, &station, us);
		chosen = stations_choose(&stations, 3);
		if (i == 500)
			check(near(chosen->rate_byteps, 1000000, 3));
	}
	check(near(chosen->rate_byteps, 5000000, 3) &&
	      !strcmp(chosen->from, "expected"));
	stations_free(&stations);
}

/* The slow one's rate isn't mixed into the fast one's, nor forgotten. */
static void each_station_has_its_rate(void)
{
	struct stations stations = { };
	const struct estimate *chosen = NULL;
	uint64_t us = 5000000;

	for (unsigned int i = 1; i <= 20; i++, us += TICK_US) {
		note(&stations, 1, 1000 * i, 1000000, us);
		note(&stations, 2, 100 * i, 125000, us);
		chosen = stations_choose(&stations, 3);
	}
	check(chosen && chosen->rate_byteps == 1000000);
	note(&stations, 1, 20000, 1000000, us);
	note(&stations, 2, 90000, 125000, us);
	chosen = stations_choose(&stations, 3);
	check(chosen && chosen->rate_byteps == 125000);
	/* nothing is sent: it stays the one */
	note(&stations, 1, 20000, 1000000, us + TICK_US);
	note(&stations, 2, 90000, 125000, us + TICK_US);
	chosen = stations_choose(&stations, 3);
	check(chosen && chosen->rate_byteps == 125000);
	stations_free(&stations);
}

int main(void)
{
	run(backlog_tells_the_rate);
	run(change_is_followed);
	run(short_backlog_is_a_lower_bound);
	run(short_queue_is_followed_down);
	run(without_backlog_the_rate_stays);
	run(nothing_known_is_nothing_said);
	run(standstill_is_not_zero);
	run(counter_set_back_is_no_sample);
	run(said_rate_is_smoothed_by_a_quarter);
	run(exact_rate_is_as_said);
	run(station_rate_is_the_expected_one);
	run(station_rate_is_half_the_bitrate);
	run(stations_come_and_go);
	run(station_drains_its_queue);
	run(each_station_has_its_rate);
	run(bucket_holds_its_rate);
	run(prefix_contains_what_is_in_it);
	run(addresses_are_numbers);
	return tap_end();
}
