# SPDX-License-Identifier: GPL-2.0
"""The model of a subflow: when something arrives, what is carried, PAD; by hand, at random."""

import os
import unittest

from unit import (NS_PER_S, OWD_MAX_US, QUEUED_MAX_BYTES, RATE_MIN_BYTEPS, SPAN_MAX_US, U32_MAX,
                  U64_MAX, UNKNOWN, any_model, arrival_us, carried, direct_ns, helper_ns, inverse,
                  model, model_pad_ns, rng, since_us, spread, trusted, window_and_rate)

MS = 1_000_000      # ns


class TestSince(unittest.TestCase):
    def test_a_time_to_come_is_no_time_ago(self):
        self.assertEqual(since_us(1_000, 1_005), 0)
        self.assertEqual(since_us(U32_MAX, 4), 0)

    def test_the_clock_wraps(self):
        self.assertEqual(since_us(4, U32_MAX), 5)
        self.assertEqual(since_us(1_005, 1_000), 5)


class TestArrival(unittest.TestCase):
    # 8 Mbit/s and 20 ms: 20,000 bytes are on their way without a queue
    def test_empty_path(self):
        # 10 ms, and 10,000 bytes through the bottleneck take 10 ms
        self.assertEqual(arrival_us(model(1_000_000, 20_000, 20_000), 10_000), 20_000)

    def test_full_path(self):
        # 20,000 + 10,000 exceed the window by 10,000
        self.assertEqual(arrival_us(model(1_000_000, 20_000, 20_000, 20_000), 10_000), 20_000)

    def test_queue_and_backlog(self):
        # 50,000 + 30,000 + 10,000 - 20,000 = 70,000 bytes, 70 ms, and 10 ms
        self.assertEqual(arrival_us(model(1_000_000, 20_000, 20_000, 50_000, 30_000), 10_000),
                         80_000)

    def test_burst_over_a_path_that_proved_nothing(self):
        # the window takes 5000 bytes, but at 1 MB/s they take 5 ms
        one = model(5_000_000, 2_000, 10_000, limit=UNKNOWN, proven=1_000_000, due_us=2_000)
        self.assertEqual(arrival_us(one, 5_000), 1_000 + 5_000)
        # once acknowledgments come the path carries the window in each round trip, but for a guess
        one = model(5_000_000, 2_000, 10_000, limit=UNKNOWN, proven=1_000_000)
        self.assertEqual(arrival_us(one, 5_000), 1_000 + 1_000)
        one = model(5_000_000, 2_000, 10_000, limit=UNKNOWN, proven=1_000_000, guessed=True)
        self.assertEqual(arrival_us(one, 5_000), 1_000 + 5_000)

    def test_slow_start_doubles(self):
        # 10,000 each 10 ms; capacity unknown. 70,000 more than the window: 20,000 in the
        # first round trip, 40,000 in the second, the last 10,000 at 8 MB/s in 1.25 ms
        one = model(1_000_000, 10_000, 10_000, 10_000, limit=UNKNOWN, proven=10**9, growing=True)
        self.assertEqual(arrival_us(one, 70_000), 5_000 + 20_000 + 1_250)

    def test_slow_start_ends_at_the_capacity(self):
        # 20,000 in the first round trip, then 3 MB/s: 30,000 in 10 ms
        one = model(1_000_000, 10_000, 10_000, 10_000, limit=3_000_000, proven=10**9,
                   growing=True)
        self.assertEqual(arrival_us(one, 50_000), 5_000 + 10_000 + 10_000)

    def test_after_a_burst_that_filled_the_window(self):
        # Nothing leaves for 20 ms, then 10,000 bytes at 1 MB/s in 10 ms, and 10 ms
        burst = model(1_000_000, 20_000, 20_000, 20_000, due_us=20_000)
        self.assertEqual(arrival_us(burst, 10_000), 20_000 + 10_000 + 10_000)
        # 13 ms of it are over
        burst = model(1_000_000, 20_000, 20_000, 20_000, due_us=7_000)
        self.assertEqual(arrival_us(burst, 10_000), 7_000 + 10_000 + 10_000)

    def test_many_rounds_after_a_pause(self):
        # 1000 bytes each ms: of 30,000 the last leave after 30 ms, and 0.5 ms
        burst = model(1_000_000, 1_000, 1_000, 1_000, due_us=1_000)
        self.assertEqual(arrival_us(burst, 30_000), 500 + 1_000 + 30_000)
        self.assertEqual(carried(burst, 500 + 1_000 + 30_000), 30_000)

    def test_an_empty_path_takes_a_window_before_the_pause(self):
        # 20,000 bytes in 10 + 20 ms; of 30,000 the last 10,000 leave from 20 to 30 ms
        empty = model(1_000_000, 20_000, 20_000, due_us=20_000)
        self.assertEqual(arrival_us(empty, 20_000), 30_000)
        self.assertEqual(arrival_us(empty, 30_000), 20_000 + 10_000 + 10_000)

    def test_what_fits_into_the_window_does_not_wait_for_the_pause(self):
        # 5,000 + 10,000 are less than 20,000: 15 ms through the bottleneck, and 10 ms; 12 ms
        # later the first 5,000 have left
        one = model(1_000_000, 20_000, 20_000, 5_000, due_us=20_000)
        self.assertEqual(arrival_us(one, 10_000), 25_000)
        one = model(1_000_000, 20_000, 20_000, 5_000, due_us=8_000)
        self.assertEqual(arrival_us(one, 10_000), 20_000)

    def test_one_after_the_other_as_all_at_once(self):
        # 3.69 Mbit/s, 31.1 ms, 20 packets: what is sent in this instant is before the bottleneck
        rate, rtt_us, packet = 461_250, 31_100, 1_428
        window = rate * rtt_us // 10**6
        at_once = arrival_us(model(rate, rtt_us, window, due_us=rtt_us), 10 * packet)
        self.assertEqual(at_once, rtt_us // 2 + 10 * packet * 10**6 // rate + 1)
        for sent in range(10):
            one = model(rate, rtt_us, window, sent * packet, due_us=rtt_us)
            self.assertEqual(arrival_us(one, (10 - sent) * packet), at_once)

    def test_a_window_below_the_capacity_is_released_evenly(self):
        # 5 ms through the bottleneck, but the window gives it nothing for 20 ms, then 10,000 in 10
        burst = model(1_000_000, 20_000, 20_000, 20_000, limit=4_000_000, proven=4_000_000,
                      due_us=20_000)
        self.assertEqual(arrival_us(burst, 10_000), 10_000 + 20_000 + 10_000)
        self.assertEqual(arrival_us(burst, 50_000), 10_000 + 20_000 + 50_000)

    def test_slow_start_after_a_burst(self):
        # As in test_slow_start_doubles, 10 ms later
        burst = model(1_000_000, 10_000, 10_000, 10_000, limit=UNKNOWN, proven=10**9,
                     due_us=10_000, growing=True)
        self.assertEqual(arrival_us(burst, 70_000), 5_000 + 10_000 + 20_000 + 1_250)

    def test_never_beyond_the_longest_span(self):
        one = model(125, 60_000_000, 0, U32_MAX, U32_MAX)
        self.assertEqual(arrival_us(one, U32_MAX), 30_000_000 + SPAN_MAX_US)


class TestCarried(unittest.TestCase):
    def test_nothing_before_the_delay(self):
        self.assertEqual(carried(model(1_000_000, 20_000, 20_000), 9_999), 0)

    def test_nothing_at_once(self):
        # 1 MB/s for 30 ms, though the window takes 20,000 bytes at once
        self.assertEqual(carried(model(1_000_000, 20_000, 20_000), 40_000), 30_000)
        self.assertEqual(carried(model(1_000_000, 20_000, 20_000, due_us=20_000), 10_001), 1)

    def test_what_is_ahead_comes_first(self):
        self.assertEqual(carried(model(1_000_000, 20_000, 20_000, 20_000, 5_000), 40_000), 25_000)
        self.assertEqual(carried(model(1_000_000, 20_000, 20_000, 20_000, 30_000), 40_000), 0)

    def test_slow_start(self):
        # 10,000 + 20,000 + 40,000 + 5 ms at 8 MB/s - 10,000
        one = model(1_000_000, 10_000, 10_000, 10_000, limit=UNKNOWN, proven=10**9, growing=True)
        self.assertEqual(carried(one, 30_000), 100_000)
        # proven for the first 10,000 only, 10 ms; then 20,000 and 5 ms at 4 MB/s
        one = model(1_000_000, 10_000, 10_000, 10_000, limit=UNKNOWN, growing=True)
        self.assertEqual(carried(one, 30_000), 50_000)

    def test_nothing_is_released_before_the_pause(self):
        # The window is full: nothing until 10 + 20 ms, then 1 MB/s
        burst = model(1_000_000, 20_000, 20_000, 20_000, due_us=20_000)
        self.assertEqual(carried(burst, 29_999), 0)
        self.assertEqual(carried(burst, 30_000), 0)
        self.assertEqual(carried(burst, 31_000), 1_000)

    def test_what_the_window_takes_before_the_pause(self):
        # 4 MB/s behind 7,000, so 20,000 - 7,000 by 15 ms, no more until 30 ms, then 1 MB/s
        one = model(1_000_000, 20_000, 20_000, 5_000, 2_000, limit=4_000_000, proven=4_000_000,
                    due_us=20_000)
        self.assertEqual(carried(one, 11_750), 0)
        self.assertEqual(carried(one, 12_750), 4_000)
        self.assertEqual(carried(one, 15_000), 13_000)
        self.assertEqual(carried(one, 29_999), 13_000)
        self.assertEqual(carried(one, 31_000), 14_000)

    def test_slow_start_after_the_pause(self):
        # 15 ms, then 20,000 + 40,000 in 10 ms each, and 5 ms at 8 MB/s
        burst = model(1_000_000, 10_000, 10_000, 10_000, limit=UNKNOWN, proven=10**9,
                     due_us=10_000, growing=True)
        self.assertEqual(carried(burst, 40_000), 100_000)

    def test_is_the_inverse_of_arrival(self):
        """Of plausible states, to a packet and two microseconds; both are monotone."""
        nr = int(os.environ.get("PAMS_UNIT_STATES", 1_000_000))
        checked, broken, state = inverse(rng("inverse").getrandbits(64), nr)
        self.assertEqual(broken, "", state)
        # the others arrive after more than a minute
        self.assertGreater(checked, nr * 3 // 4)

    def test_a_pipe_is_the_inverse_too(self):
        """As above, of what is behind a helper; the pipe decides in some, the path in others."""
        rand = rng("pipe")
        by_pipe = 0
        for _ in range(5_000):
            rate, rtt_us = rand.randint(100_000, 10**7), rand.randint(100, 200_000)
            pipe = rand.randint(100_000, 10**7)
            delay_us = rand.choice((None, rand.randint(0, 50_000)))
            flight, backlog = rand.randint(0, 200_000), rand.randint(0, 65_536)
            plain = model(rate, rtt_us, rate * rtt_us // 10**6, flight, backlog)
            one = model(rate, rtt_us, rate * rtt_us // 10**6, flight, backlog, pipe=pipe,
                        pipe_delay_us=delay_us, pipe_backlog=rand.randint(0, 200_000))
            count = rand.randint(1, 200_000)
            at_us = arrival_us(one, count)
            later_us = at_us - arrival_us(plain, count) - (delay_us or 0)
            self.assertGreaterEqual(later_us, 0, one)
            self.assertGreaterEqual(carried(one, at_us), count, one)
            if later_us:
                self.assertLessEqual(carried(one, at_us - 1), count, one)
                by_pipe += 1
        self.assertGreater(by_pipe, 1_000)
        self.assertLess(by_pipe, 4_000)

    def test_any_numbers(self):
        """More bytes never arrive earlier, and in more time not fewer: nothing overflows."""
        rand = rng("any model")
        for _ in range(10_000):
            one = any_model(rand)
            rtt_us = one[3]
            before_us = one[11]     # behind the helper
            few, many = sorted(spread(rand, 0, U32_MAX) for _ in range(2))
            soon_us, later_us = sorted(spread(rand, 0, U64_MAX) for _ in range(2))
            self.assertGreaterEqual(arrival_us(one, few), rtt_us // 2 + before_us, one)
            self.assertLessEqual(arrival_us(one, few), arrival_us(one, many), one)
            self.assertLessEqual(arrival_us(one, many), rtt_us // 2 + before_us + SPAN_MAX_US,
                                 one)
            self.assertLessEqual(carried(one, soon_us), carried(one, later_us), one)
            self.assertEqual(carried(one, max(before_us + rtt_us // 2 - 1, 0)), 0, one)
            self.assertEqual(carried(one, U64_MAX), carried(one, one[9]), one)


class TestPipe(unittest.TestCase):
    # 8 Mbit/s, 20 ms, empty: 10,000 bytes arrive in 10 + 10 ms at the helper, or, where TCP goes
    # through it, at the receiver
    PATH = (1_000_000, 20_000, 20_000)

    def test_the_pipe_limits(self):
        # 10 ms, and 5,000 + 10,000 bytes at 500 kB/s take 30 ms
        one = model(*self.PATH, pipe=500_000, pipe_backlog=5_000)
        self.assertEqual(arrival_us(one, 10_000), 40_000)
        # with a split 7 ms more from the helper to the receiver; of the 15,000 that wait there
        # 5,000 are taken while the first byte is on its way
        one = model(*self.PATH, pipe=500_000, pipe_backlog=15_000, pipe_delay_us=7_000)
        self.assertEqual(arrival_us(one, 10_000), 57_000)

    def test_what_is_in_flight_to_a_helper_waits_there(self):
        # 50 Mbit/s and 60 ms to it, 5 Mbit/s and 2 ms behind: 31,250 bytes are taken in 30 ms
        for flight, at_us in ((0, 34_400), (18_750, 34_400), (100_000, 164_400),
                              (375_000, 604_400)):
            one = model(6_250_000, 60_000, 375_000, flight, pipe=625_000, pipe_delay_us=2_000)
            self.assertEqual(arrival_us(one, 1_500), at_us)
            self.assertEqual(carried(one, at_us), 1_500)

    def test_what_waits_before_a_router_is_in_flight(self):
        # of 60,000 bytes 10,000 are on their way, 50,000 wait, whatever the report says of them
        for backlog in (0, 40_000, 50_000):
            one = model(*self.PATH, 60_000, pipe=500_000, pipe_backlog=backlog)
            self.assertEqual(arrival_us(one, 10_000), 10_000 + 2 * 60_000)
        one = model(*self.PATH, 60_000, pipe=500_000, pipe_backlog=60_000)
        self.assertEqual(arrival_us(one, 10_000), 10_000 + 2 * 70_000)

    def test_the_path_limits(self):
        # 15,000 bytes at 10 MB/s take 1.5 ms only
        one = model(*self.PATH, pipe=10_000_000, pipe_backlog=5_000)
        self.assertEqual(arrival_us(one, 10_000), 20_000)
        one = model(*self.PATH, pipe=10_000_000, pipe_backlog=5_000, pipe_delay_us=7_000)
        self.assertEqual(arrival_us(one, 10_000), 27_000)

    def test_a_byte_more_than_even(self):
        # 1 MB/s both: 5,000 + 10,000 bytes in the pipe, and as long in the path's queue
        one = model(*self.PATH, 25_000, pipe=1_000_000, pipe_backlog=5_000)
        self.assertEqual(arrival_us(one, 10_000), 25_000)
        one = model(*self.PATH, 25_000, pipe=1_000_000, pipe_backlog=5_001)
        self.assertEqual(arrival_us(one, 10_000), 25_001)

    def test_what_was_handed_over_before_goes_through_the_pipe(self):
        # 5,000 + 2,500 + 10,000 bytes: 35 ms
        one = model(*self.PATH, 0, 2_500, pipe=500_000, pipe_backlog=5_000)
        self.assertEqual(arrival_us(one, 10_000), 45_000)

    def test_carried_by_the_pipe(self):
        # the path 40,000 by 50 ms, the pipe 500 kB/s * 40 ms - 5,000, of 10,000 for a helper
        for delay_us in (None, 7_000):
            one = model(*self.PATH, pipe=500_000, pipe_backlog=10_000 if delay_us else 5_000,
                        pipe_delay_us=delay_us)
            after_us = delay_us or 0
            self.assertEqual(carried(one, after_us + 9_999), 0)
            self.assertEqual(carried(one, after_us + 20_000), 0)
            self.assertEqual(carried(one, after_us + 20_002), 1)
            self.assertEqual(carried(one, after_us + 50_000), 15_000)

    def test_carried_by_the_path(self):
        # 1 MB/s after 10 ms, though the pipe could carry ten times that
        for delay_us in (None, 7_000):
            one = model(*self.PATH, pipe=10_000_000, pipe_delay_us=delay_us)
            after_us = delay_us or 0
            self.assertEqual(carried(one, after_us + 11_000), 1_000)
            self.assertEqual(carried(one, after_us + 40_000), 30_000)

    def test_carried_after_what_waits(self):
        # the pipe 500 kB/s * 40 ms - 5,000 - 2,500; the path 40,000 - 2,500
        one = model(*self.PATH, 0, 2_500, pipe=500_000, pipe_backlog=5_000)
        self.assertEqual(carried(one, 50_000), 12_500)


class TestHorizon(unittest.TestCase):
    def test_nothing_is_carried_beyond(self):
        # 1 MB/s until 40 ms
        one = model(1_000_000, 20_000, 20_000, horizon_us=40_000)
        self.assertEqual(carried(one, 39_000), 29_000)
        self.assertEqual(carried(one, 40_000), 30_000)
        self.assertEqual(carried(one, 40_001), 30_000)
        self.assertEqual(carried(one, U64_MAX), 30_000)

    def test_what_is_lost_already_carries_nothing(self):
        self.assertEqual(carried(model(10**9, 1, 10**6, horizon_us=0), U64_MAX), 0)

    def test_arrival_is_not_bounded(self):
        # that it comes too late is report.c's business: it stops the subflow
        one = model(1_000_000, 20_000, 20_000, horizon_us=1)
        self.assertEqual(arrival_us(one, 10_000), 20_000)


class TestSetWindow(unittest.TestCase):
    @staticmethod
    def of(cwnd, rtt_us, limit):
        return window_and_rate(model(1, rtt_us, 0, cwnd=cwnd, limit=limit))

    def test_the_congestion_window_limits(self):
        # 20,000 bytes in 20 ms are 1 MB/s, less than the capacity
        self.assertEqual(self.of(20_000, 20_000, 1_000_001), (20_000, 1_000_000))
        self.assertEqual(self.of(20_000, 20_000, UNKNOWN), (20_000, 1_000_000))

    def test_the_capacity_limits(self):
        # 500 kB/s in 20 ms are 10,000 bytes; what exceeds them queues
        self.assertEqual(self.of(20_000, 20_000, 500_000), (10_000, 500_000))

    def test_even(self):
        self.assertEqual(self.of(20_000, 20_000, 1_000_000), (20_000, 1_000_000))

    def test_at_least_the_lowest_rate(self):
        self.assertEqual(self.of(0, 20_000, UNKNOWN), (0, 125))
        self.assertEqual(self.of(1, 60_000_000, UNKNOWN), (1, 125))

    def test_as_much_as_fits_into_32_bits(self):
        # 2^32 - 1 bytes within a microsecond, and as much per second for 60 s
        self.assertEqual(self.of(U32_MAX, 1, UNKNOWN), (UNKNOWN // 10**6, UNKNOWN))
        self.assertEqual(self.of(U32_MAX, 60_000_000, UNKNOWN), (U32_MAX, U32_MAX // 60))

    def test_by_definition(self):
        rand = rng("window")
        for _ in range(10_000):
            cwnd, rtt_us = spread(rand, 0, U32_MAX), spread(rand, 1, SPAN_MAX_US)
            limit = spread(rand, RATE_MIN_BYTEPS, UNKNOWN)
            window, rate = self.of(cwnd, rtt_us, limit)
            at_once = limit * rtt_us // 10**6
            self.assertEqual(window, min(cwnd, at_once), (cwnd, rtt_us, limit))
            exact = min(cwnd * 10**6 // rtt_us, limit)
            self.assertEqual(rate, max(exact, RATE_MIN_BYTEPS), (cwnd, rtt_us, limit))


class TestTrustGuess(unittest.TestCase):
    def test_the_guess_becomes_the_capacity(self):
        # 125 kB/s in 20 ms are 2,500 bytes; slow start is over
        one = model(1_000_000, 20_000, 20_000, limit=UNKNOWN, proven=125_000, growing=True,
                    guessed=True)
        self.assertEqual(trusted(one), (125_000, 125_000, 2_500, 0))

    def test_slow_start_goes_on_below_it(self):
        one = model(1_000_000, 20_000, 20_000, limit=UNKNOWN, proven=1_000_001, growing=True,
                    guessed=True)
        self.assertEqual(trusted(one), (1_000_001, 1_000_000, 20_000, 1))

    def test_nothing_changes_without_one(self):
        one = model(1_000_000, 20_000, 20_000, limit=UNKNOWN, proven=125_000, growing=True)
        self.assertEqual(trusted(one), (UNKNOWN, 1_000_000, 20_000, 1))


class TestPad(unittest.TestCase):
    """PAD of a model: what has to leave before the last byte, held against the window."""

    @staticmethod
    def of(count, flight=0, backlog=0, cwnd=20_000, **more):
        return model_pad_ns(model(1, 20_000, 0, flight, backlog, th=1_000_000, owd_us=12_000,
                                  cwnd=cwnd, **more), count)

    def test_what_the_window_takes_is_only_delayed(self):
        self.assertEqual(self.of(10_000), 12 * MS)
        self.assertEqual(self.of(10_000, 6_000, 4_000), 12 * MS)

    def test_what_exceeds_it_leaves_first(self):
        # 5,000 + 30,000 - (20,000 - 6,000) = 21,000 bytes at 1 MB/s
        self.assertEqual(self.of(30_000, 6_000, 5_000), 12 * MS + 21 * MS)

    def test_more_in_flight_than_the_window(self):
        self.assertEqual(self.of(10_000, 30_000), 12 * MS + 10 * MS)
        self.assertEqual(self.of(0, 30_000), 12 * MS)

    def test_behind_a_split_helper(self):
        # 41,000 and 5,000 bytes at 500 kB/s take 92 ms; the first 10 ms of it data is on its way
        self.assertEqual(self.of(30_000, 6_000, 5_000, pipe=500_000, pipe_delay_us=7_000,
                                 pipe_backlog=5_000), (7 + 92) * MS)
        # at 10 MB/s 4.6 ms: the path to the helper limits
        self.assertEqual(self.of(30_000, 6_000, 5_000, pipe=10_000_000, pipe_delay_us=7_000,
                                 pipe_backlog=5_000), (12 + 7 + 21) * MS)

    def test_behind_a_helper_that_tcp_goes_through(self):
        # max(12 + 21, 20 / 2 + 80) ms: what is in flight fits the pipe's round trip
        self.assertEqual(self.of(30_000, 6_000, 5_000, pipe=500_000, pipe_backlog=5_000), 90 * MS)
        # 16,000 in flight, of which the pipe took 10,000: more than what was reported
        self.assertEqual(self.of(30_000, 16_000, 5_000, pipe=500_000, pipe_backlog=5_000),
                         (10 + 82) * MS)
        # max(12 + 21, 10 + 3.5) ms: TCP has met a queue that the report doesn't tell of
        self.assertEqual(self.of(30_000, 6_000, 5_000, pipe=10_000_000), 33 * MS)

    def test_a_pipe_delivers_what_is_in_flight_first(self):
        rand = rng("a pipe's least time")
        for _ in range(20_000):
            flight, backlog, held, count = (spread(rand, 0, 2**28) for _ in range(4))
            pipe, delay_us = spread(rand, 125, U32_MAX), spread(rand, 0, OWD_MAX_US)
            one = model(1, spread(rand, 2, OWD_MAX_US), 0, flight, backlog, pipe=pipe,
                        pipe_delay_us=delay_us, pipe_backlog=held, th=spread(rand, 125, U32_MAX),
                        owd_us=spread(rand, 0, OWD_MAX_US), cwnd=spread(rand, 0, 2**28))
            least = delay_us * 1000 + (flight + backlog + held + count) * NS_PER_S // pipe
            self.assertGreaterEqual(model_pad_ns(one, count), least - 1, (one, count))

    def test_by_definition(self):
        rand = rng("pad of a model")
        for _ in range(10_000):
            one = any_model(rand)
            count = spread(rand, 0, U32_MAX)
            rtt_us, flight, backlog, split = one[3], one[5], one[6], one[8] >> 3 & 1
            due_us = one[7]
            pipe, delay_us, pipe_backlog, th, owd_us, cwnd = one[10:16]
            queued = min(max(backlog + count - max(cwnd - flight, 0), 0), QUEUED_MAX_BYTES)
            expected = direct_ns([(th, owd_us, queued)])[0]
            if pipe:
                if split:
                    ahead = max(pipe_backlog + flight - pipe * (rtt_us // 2) // 10**6, 0)
                else:
                    passed = pipe * (rtt_us - min(due_us, rtt_us)) // 10**6
                    ahead = max(pipe_backlog, flight - passed)
                ahead = min(ahead + backlog + count - queued, QUEUED_MAX_BYTES)
                through = helper_ns([((th, rtt_us // 2, queued), (pipe, delay_us, ahead))])[0]
                expected = max(expected + min(delay_us, OWD_MAX_US) * 1000, through)
            self.assertEqual(model_pad_ns(one, count), expected, (one, count))


if __name__ == "__main__":
    unittest.main()
