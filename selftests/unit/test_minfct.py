# SPDX-License-Identifier: GPL-2.0
"""minfct: arrivals, what is carried, the choice, what is late; worked out by hand."""

import ctypes
import unittest
from array import array

from unit import DEFER, LIB, NONE, U32_MAX, U64_MAX, _pointer, rng, spread

LIB.unit_flow_arrival.restype = ctypes.c_uint32
LIB.unit_flow_carried.restype = ctypes.c_uint64
LIB.unit_flow_carried.argtypes = [ctypes.POINTER(ctypes.c_uint64), ctypes.c_uint64]
UNKNOWN = U32_MAX
SPAN_MAX_US = 60_000_000


def flow(rate, rtt_us, window, flight=0, backlog=0, *, limit=None, proven=None, overdue_us=0,
         growing=False, moving=None):
    """A subflow; its capacity is known and reached unless it is said otherwise."""
    limit = rate if limit is None else limit
    proven = rate if proven is None else proven
    moving = bool(flight + backlog) if moving is None else moving
    return (rate, limit, proven, rtt_us, window, flight, backlog, overdue_us,
            int(growing) | int(moving) << 1)


def words(values):
    data = array("Q", values)
    return data, _pointer(data, ctypes.c_uint64)


def arrival_us(one, count):
    data, pointer = words(one)
    result = LIB.unit_flow_arrival(pointer, ctypes.c_uint32(count))
    del data
    return result


def carried(one, span_us):
    data, pointer = words(one)
    result = LIB.unit_flow_carried(pointer, span_us)
    del data
    return result


def view(flows, idle, unscheduled, fragment, buffer, late, stopped=()):
    head, head_pointer = words([unscheduled, buffer, fragment, len(flows)] + [
        int(value) for i, one in enumerate(idle) for value in (one, i in stopped)])
    body, body_pointer = words([word for one in flows for word in one])
    result = LIB.unit_minfct(head_pointer, body_pointer, ctypes.c_bool(late))
    del head, body
    return result


def pick(flows, idle, unscheduled, fragment=10_000, buffer=U64_MAX, stopped=()):
    return view(flows, idle, unscheduled, fragment, buffer, False, stopped)


def late(flows, idle, stopped=()):
    return view(flows, idle, 0, 0, U64_MAX, True, stopped)


class TestArrival(unittest.TestCase):
    # 8 Mbit/s and 20 ms: 20,000 bytes are on their way without a queue
    def test_empty_path(self):
        # 10 ms, and 10,000 bytes through the bottleneck take 10 ms
        self.assertEqual(arrival_us(flow(1_000_000, 20_000, 20_000), 10_000), 20_000)

    def test_full_path(self):
        # 20,000 + 10,000 exceed the window by 10,000
        self.assertEqual(arrival_us(flow(1_000_000, 20_000, 20_000, 20_000), 10_000), 20_000)

    def test_queue_and_backlog(self):
        # 50,000 + 30,000 + 10,000 - 20,000 = 70,000 bytes, 70 ms, and 10 ms
        self.assertEqual(arrival_us(flow(1_000_000, 20_000, 20_000, 50_000, 30_000), 10_000),
                         80_000)

    def test_burst_over_a_path_that_proved_nothing(self):
        # the window takes 5000 bytes, but at 1 MB/s they take 5 ms
        one = flow(5_000_000, 2_000, 10_000, limit=UNKNOWN, proven=1_000_000)
        self.assertEqual(arrival_us(one, 5_000), 1_000 + 5_000)

    def test_slow_start_doubles(self):
        # 10,000 each 10 ms; capacity unknown. 70,000 more than the window: 20,000 in the
        # first round trip, 40,000 in the second, the last 10,000 at 8 MB/s in 1.25 ms
        one = flow(1_000_000, 10_000, 10_000, 10_000, limit=UNKNOWN, proven=10**9, growing=True)
        self.assertEqual(arrival_us(one, 70_000), 5_000 + 20_000 + 1_250)

    def test_slow_start_ends_at_the_capacity(self):
        # 20,000 in the first round trip, then 3 MB/s: 30,000 in 10 ms
        one = flow(1_000_000, 10_000, 10_000, 10_000, limit=3_000_000, proven=10**9,
                   growing=True)
        self.assertEqual(arrival_us(one, 50_000), 5_000 + 10_000 + 10_000)

    def test_never_beyond_the_longest_span(self):
        one = flow(125, 60_000_000, 0, U32_MAX, U32_MAX)
        self.assertEqual(arrival_us(one, U32_MAX), 30_000_000 + SPAN_MAX_US)


class TestCarried(unittest.TestCase):
    def test_nothing_before_the_delay(self):
        self.assertEqual(carried(flow(1_000_000, 20_000, 20_000), 9_999), 0)

    def test_window_then_rate(self):
        # at once 20,000, then 1 MB/s for 30 ms
        self.assertEqual(carried(flow(1_000_000, 20_000, 20_000), 40_000), 50_000)

    def test_what_is_ahead_comes_first(self):
        self.assertEqual(carried(flow(1_000_000, 20_000, 20_000, 20_000, 5_000), 40_000), 25_000)
        self.assertEqual(carried(flow(1_000_000, 20_000, 20_000, 20_000, 30_000), 40_000), 0)

    def test_slow_start(self):
        # 10,000 + 20,000 + 40,000 + 5 ms at 8 MB/s - 10,000
        one = flow(1_000_000, 10_000, 10_000, 10_000, limit=UNKNOWN, growing=True)
        self.assertEqual(carried(one, 30_000), 100_000)

    def test_is_the_inverse_of_arrival(self):
        """What has arrived when the last of n bytes arrives is at least n, and hardly more."""
        rand = rng("flow")
        for _ in range(5_000):
            rtt_us = rand.randint(100, 200_000)
            limit = rand.choice((UNKNOWN, rand.randint(100_000, 10**8)))
            rate = min(rand.randint(100_000, 10**7), limit)
            window = rate * rtt_us // 10**6
            one = flow(rate, rtt_us, window, rand.randint(0, 2 * window), rand.randint(0, 65_536),
                       limit=limit, proven=UNKNOWN, growing=rand.random() < 0.5)
            count = rand.randint(1, 200_000)
            at_us = arrival_us(one, count)
            if at_us > rtt_us // 2 + window // 4000 + 200:       # else it is the window, at once
                most = 2**17 * rate // 10**6 + 100
                self.assertLessEqual(carried(one, at_us), count + most, one)
                self.assertGreaterEqual(carried(one, at_us + 20), count - 2, one)


class TestPick(unittest.TestCase):
    # 8 Mbit/s, 20 ms, busy and full: 10,000 bytes arrive in 20 ms.
    # 1 Mbit/s, 60 ms, idle: in 30 + 80 = 110 ms, until when the first carries
    # 20,000 + 100 ms * 1 MB/s - 20,000 = 100,000 bytes.
    FLOWS = [flow(1_000_000, 20_000, 20_000, 20_000), flow(125_000, 60_000, 7_500 + 2_500)]

    def test_the_earliest_if_it_is_idle(self):
        self.assertEqual(pick(self.FLOWS, [True, True], 10**9), 0)

    def test_nothing_idle(self):
        self.assertEqual(pick(self.FLOWS, [False, False], 10**9), NONE)

    def test_waits_while_the_faster_carries_it_all(self):
        self.assertEqual(pick(self.FLOWS, [False, True], 100_000), DEFER)
        self.assertEqual(pick(self.FLOWS, [False, True], 100_001), 1)

    def test_waits_while_the_faster_fills_the_buffer(self):
        self.assertEqual(pick(self.FLOWS, [False, True], U64_MAX, buffer=100_000), DEFER)
        self.assertEqual(pick(self.FLOWS, [False, True], U64_MAX, buffer=100_001), 1)

    def test_does_not_wait_for_what_does_not_move(self):
        still = flow(1_000_000, 20_000, 20_000, 20_000, moving=False)
        self.assertEqual(pick([still, self.FLOWS[1]], [False, True], 1), 1)

    def test_does_not_wait_for_what_is_stopped(self):
        self.assertEqual(pick(self.FLOWS, [False, True], 1, stopped=(0,)), 1)

    def test_waits_for_what_was_handed_over_and_not_sent_yet(self):
        queued = flow(1_000_000, 20_000, 20_000, 0, 20_000)
        self.assertEqual(pick([queued, self.FLOWS[1]], [False, True], 90_000), DEFER)

    def test_faster_ones_add_up(self):
        flows = [self.FLOWS[0], self.FLOWS[1], self.FLOWS[0]]
        self.assertEqual(pick(flows, [False, True, False], 200_000), DEFER)
        self.assertEqual(pick(flows, [False, True, False], 200_001), 1)


class TestLate(unittest.TestCase):
    # idle and empty: a packet in 10 + 1.5 = 11.5 ms; a fifth more is 13.8 ms
    FAST = flow(1_000_000, 20_000, 20_000)

    def test_the_one_whose_last_byte_comes_later(self):
        # 7,500 + 12,500 - 7,500 bytes at 125 kB/s: 100 ms, and 30 ms
        self.assertEqual(late([self.FAST, flow(125_000, 60_000, 7_500, 20_000)], [True, True]), 1)

    def test_not_by_less_than_a_fifth(self):
        self.assertEqual(late([self.FAST, flow(10**9, 27_600, 10**6, 1)], [True, True]), NONE)
        self.assertEqual(late([self.FAST, flow(10**9, 27_602, 10**6, 1)], [True, True]), 1)

    def test_nothing_outstanding(self):
        self.assertEqual(late([self.FAST, flow(125_000, 60_000, 7_500)], [True, True]), NONE)

    def test_no_room_elsewhere(self):
        self.assertEqual(late([self.FAST, flow(125_000, 60_000, 7_500, 20_000)], [False, True]),
                         NONE)

    def test_what_is_overdue_is_late(self):
        one = flow(10**9, 10_000, 10**6, 1, overdue_us=8_801)
        self.assertEqual(late([self.FAST, one], [True, True]), 1)
        one = flow(10**9, 10_000, 10**6, 1, overdue_us=8_799)
        self.assertEqual(late([self.FAST, one], [True, True]), NONE)

    def test_nothing_is_sent_where_acknowledgments_are_overdue(self):
        silent = flow(1_000_000, 20_000, 20_000, 1, overdue_us=1)
        self.assertEqual(late([silent, flow(125_000, 60_000, 7_500, 20_000)], [True, False]), NONE)

    def test_the_latest_of_several(self):
        flows = [flow(125_000, 60_000, 7_500, 20_000), self.FAST,
                 flow(125_000, 60_000, 7_500, 20_001 + 124)]
        self.assertEqual(late(flows, [True, True, True]), 2)

    def test_any_numbers(self):
        rand = rng("minfct")
        for _ in range(2_000):
            count = rand.randint(1, 16)
            flows = [tuple(spread(rand, 1, U32_MAX) for _ in range(4))
                     + tuple(spread(rand, 0, U32_MAX) for _ in range(3))
                     + (spread(rand, 0, SPAN_MAX_US), rand.randint(0, 3)) for _ in range(count)]
            idle = [rand.random() < 0.5 for _ in flows]
            for found in (late(flows, idle), pick(flows, idle, spread(rand, 0, U64_MAX),
                                                  spread(rand, 0, U32_MAX))):
                self.assertIn(found, range(DEFER, count))


if __name__ == "__main__":
    unittest.main()
