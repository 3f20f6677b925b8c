# SPDX-License-Identifier: GPL-2.0
"""Streams: which connections are, how much a path holds of one, what is late; and a rate that
follows what is carried."""

import ctypes
import unittest

from test_minfct import view, words
from unit import LIB, NONE, UNKNOWN, any_model, model, rng, spread

MTU = 1448
SECOND, MBIT = 1000, 125_000       # in ms; bytes per second
LIVES = 8                          # STREAM_TIMES


class Writer:
    """An application and its connection, looked at each 10 ms."""

    def __init__(self, seq=0, now=0):
        self.state = (ctypes.c_uint32 * 4)()
        self.written = self.sent = seq
        self.now = now

    def look(self, waits=False):
        return bool(LIB.unit_stream_follow(self.state, self.written & 0xffffffff,
                                           self.sent & 0xffffffff, int(waits),
                                           self.now & 0xffffffff))

    def run(self, span, writes, sends, waits=False):
        """So many bytes each 10 ms; it can't send what isn't written."""
        last = False
        for _ in range(span // 10):
            self.now += 10
            self.written += writes
            self.sent = min(self.sent + sends, self.written)
            last = self.look(waits)
        return last


class TestFollow(unittest.TestCase):
    def test_a_stream_is_one_after_a_quarter_of_a_second(self):
        for seq in (0, 1 << 31, (1 << 32) - 5000, 3 << 30):
            writer = Writer(seq, (1 << 32) - 700)
            self.assertFalse(writer.run(SECOND // 5, 7500, 10_000))
            self.assertTrue(writer.run(SECOND // 5, 7500, 10_000))

    def test_a_file_never_is(self):
        writer = Writer()
        writer.written = 2_000_000_000
        self.assertFalse(any(writer.run(10, 0, 30_000) for _ in range(3000)))

    def test_nor_is_one_whose_application_waits(self):
        writer = Writer()
        self.assertFalse(any(writer.run(10, 100_000, 100_000, True) for _ in range(1000)))

    def test_it_outlives_slow_paths(self):
        writer = Writer()
        writer.run(4 * SECOND, 7500, 10_000)
        self.assertTrue(writer.run(2 * LIVES * SECOND, 7500, 3000))
        self.assertFalse(writer.run(3 * LIVES * SECOND, 7500, 3000))

    def test_a_minute_at_most(self):
        writer = Writer()
        writer.run(100 * SECOND, 7500, 10_000)
        self.assertFalse(writer.run(61 * SECOND, 7500, 7000, True))


def room(one, given=1 << 30, packet=MTU):
    data, pointer = words(one)
    left = LIB.unit_stream_room(pointer, given, packet)
    del data
    return left


class TestBound(unittest.TestCase):
    def test_a_round_trip_or_two(self):
        # 6 Mbit/s, 80 ms: 60 KB are under way, 60 KB may wait
        self.assertEqual(room(model(6 * MBIT, 80_000, 60_000)), 120_000)
        self.assertEqual(room(model(6 * MBIT, 80_000, 60_000, flight=100_000)), 20_000)
        self.assertEqual(room(model(6 * MBIT, 80_000, 60_000, 60_000, 60_000)), 0)

    def test_50_ms_on_a_near_path(self):
        self.assertEqual(room(model(8 * MBIT, 10_000, 10_000)), 60_000)

    def test_two_packets_always(self):
        self.assertEqual(room(model(1000, 10_000, 10)), 2 * MTU)

    def test_unknown_is_unbounded(self):
        self.assertEqual(room(model(6 * MBIT, 80_000, 60_000, 1 << 20, limit=UNKNOWN), 5000), 5000)

    def test_never_more_than_there_was(self):
        rand = rng("stream room")
        for _ in range(20_000):
            one, given = any_model(rand), spread(rand, 0, (1 << 32) - 1)
            self.assertLessEqual(room(one, given, spread(rand, 1, 65_535)), given)


def late(models, stopped=(), again=None):
    head, head_pointer = words(view(models, [True] * len(models), stopped=stopped, again=again))
    body, body_pointer = words([word for one in models for word in one])
    choice = LIB.unit_late_stream(head_pointer, body_pointer)
    del head, body
    return choice


class TestLate(unittest.TestCase):
    # 6 Mbit/s each, 50 ms: what is under way, and 50 ms of queue
    full = model(6 * MBIT, 50_000, 37_500, 75_000)
    # the same, once it carries 300 kbit/s: two seconds
    slow = model(37_500, 50_000, 1_875, 75_000)

    def test_a_path_that_has_become_slow(self):
        self.assertEqual(late([self.full, self.slow]), 1)
        self.assertEqual(late([self.slow, self.full]), 0)

    def test_a_full_one_is_not_late(self):
        self.assertEqual(late([self.full, self.full]), NONE)

    def test_nor_if_all_are_slow(self):
        self.assertEqual(late([self.slow, self.slow]), NONE)

    def test_nothing_twice(self):
        self.assertEqual(late([self.full, self.slow], again=[0, 75_000]), NONE)
        self.assertEqual(late([self.full, self.slow], again=[0, 70_000]), NONE)

    def test_a_lost_path_takes_nothing(self):
        self.assertEqual(late([self.full, self.slow], stopped=(0,)), NONE)

    def test_alone(self):
        self.assertEqual(late([self.slow]), NONE)


class TestRate(unittest.TestCase):
    def test_it_stays(self):
        self.assertEqual(LIB.unit_rate_follow(150_000, 50_000, 3000, 20_000), 150_000)

    def test_a_fall_is_seen_in_two_round_trips(self):
        # 6 Mbit/s, then a packet each 39 ms
        rate = 6 * MBIT
        for _ in range(4):
            rate = LIB.unit_rate_follow(rate, 50_000, MTU, 38_613)
        self.assertLess(rate, 4 * 37_500)

    def test_bursts_are_even(self):
        # 30 packets at once each 50 ms, in one acknowledgment or in many
        rates = [750_000] * 2
        for _ in range(50):
            rates[0] = LIB.unit_rate_follow(rates[0], 100_000, 30 * MTU, 50_000)
            for number in range(30):
                rates[1] = LIB.unit_rate_follow(rates[1], 100_000, MTU, 0 if number else 50_000)
        self.assertAlmostEqual(rates[0] / (30 * MTU * 20), 1, delta=0.01)
        self.assertAlmostEqual(rates[1] / (30 * MTU * 20), 1.25, delta=0.26)


if __name__ == "__main__":
    unittest.main()
