# SPDX-License-Identifier: GPL-2.0
"""minfct: arrivals, what is carried, the choice and its bytes, what is late; by hand."""

import ctypes
import unittest
from array import array

from unit import DEFER, LIB, NONE, U32_MAX, U64_MAX, _pointer, rng, spread

LIB.unit_flow_arrival.restype = ctypes.c_uint32
LIB.unit_flow_carried.restype = ctypes.c_uint64
LIB.unit_flow_carried.argtypes = [ctypes.POINTER(ctypes.c_uint64), ctypes.c_uint64]
UNKNOWN = U32_MAX
SPAN_MAX_US = 60_000_000
ROUNDS_MAX = 16      # of flow.c
PACKET = LIB.unit_packet_bytes()


def flow(rate, rtt_us, window, flight=0, backlog=0, *, limit=None, proven=None, due_us=0,
         growing=False, moving=None, untried=False, alone=False, guessed=False):
    """A subflow; its capacity is known and reached unless it is said otherwise."""
    limit = rate if limit is None else limit
    proven = rate if proven is None else proven
    moving = bool(flight + backlog) if moving is None else moving
    return (rate, limit, proven, rtt_us, window, flight, backlog, due_us & U32_MAX,
            int(growing) | int(moving) << 1 | int(untried) << 2 | int(alone) << 3 |
            int(guessed) << 4)


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


def view(flows, idle, unscheduled=0, buffer=U64_MAX, stopped=(), rooms=None, sent=0, again=None):
    rooms = rooms or [10_000] * len(flows)
    again = again or [0] * len(flows)
    return [unscheduled, buffer, sent, len(flows)] + [
        int(value) for i, one in enumerate(idle)
        for value in (one, i in stopped, rooms[i], max(0, flows[i][5] + flows[i][6] - again[i]))]


def share(flows, *args, **more):
    """The choice, and how many bytes at most are to be handed over."""
    head, head_pointer = words(view(flows, *args, **more))
    body, body_pointer = words([word for one in flows for word in one])
    count = ctypes.c_uint32(U32_MAX)
    result = LIB.unit_minfct(head_pointer, body_pointer, ctypes.byref(count))
    del head, body
    return result, count.value


def pick(flows, *args, **more):
    return share(flows, *args, **more)[0]


def late(flows, idle, unscheduled=0, again=None):
    head, head_pointer = words(view(flows, idle, unscheduled, again=again))
    body, body_pointer = words([word for one in flows for word in one])
    result = LIB.unit_late(head_pointer, body_pointer)
    del head, body
    return result


def any_flow(rand):
    """Whatever numbers, as flow.h bounds them."""
    rate = spread(rand, 1, U32_MAX)
    return flow(rate, spread(rand, 1, SPAN_MAX_US), *(spread(rand, 0, U32_MAX) for _ in range(3)),
                limit=spread(rand, rate, U32_MAX), proven=spread(rand, 1, U32_MAX),
                due_us=rand.choice((0, spread(rand, 0, SPAN_MAX_US), -spread(rand, 0, 2**31 - 1))),
                growing=rand.random() < 0.5, moving=rand.random() < 0.5,
                alone=rand.random() < 0.5, guessed=rand.random() < 0.5)


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

    def test_after_a_burst_that_filled_the_window(self):
        # Nothing leaves for 20 ms, then 10,000 bytes at 1 MB/s in 10 ms, and 10 ms
        burst = flow(1_000_000, 20_000, 20_000, 20_000, due_us=20_000)
        self.assertEqual(arrival_us(burst, 10_000), 20_000 + 10_000 + 10_000)
        # 13 ms of it are over
        burst = flow(1_000_000, 20_000, 20_000, 20_000, due_us=7_000)
        self.assertEqual(arrival_us(burst, 10_000), 7_000 + 10_000 + 10_000)

    def test_an_empty_path_takes_a_window_before_the_pause(self):
        # 20,000 bytes in 10 + 20 ms; of 30,000 the last 10,000 leave from 20 to 30 ms
        empty = flow(1_000_000, 20_000, 20_000, due_us=20_000)
        self.assertEqual(arrival_us(empty, 20_000), 30_000)
        self.assertEqual(arrival_us(empty, 30_000), 20_000 + 10_000 + 10_000)

    def test_what_fits_into_the_window_does_not_wait_for_the_pause(self):
        # 5,000 + 10,000 are less than 20,000: 10 ms through the bottleneck, and 10 ms
        one = flow(1_000_000, 20_000, 20_000, 5_000, due_us=20_000)
        self.assertEqual(arrival_us(one, 10_000), 20_000)

    def test_rounds_after_a_burst(self):
        # At most 20,000 in each 20 ms, but as fast as the path takes them: 10,000 in 2.5 ms
        burst = flow(1_000_000, 20_000, 20_000, 20_000, proven=4_000_000, due_us=20_000)
        self.assertEqual(arrival_us(burst, 10_000), 10_000 + 20_000 + 2_500)
        # the whole of the first round: 5 ms; a packet more: the second, 0.375 ms
        self.assertEqual(arrival_us(burst, 20_000), 10_000 + 20_000 + 5_000)
        self.assertEqual(arrival_us(burst, 21_500), 10_000 + 20_000 + 20_000 + 375)
        # 50,000 are two rounds, and 10,000 of the third
        self.assertEqual(arrival_us(burst, 50_000), 10_000 + 20_000 + 40_000 + 2_500)

    def test_slow_start_after_a_burst(self):
        # As in test_slow_start_doubles, 10 ms later
        burst = flow(1_000_000, 10_000, 10_000, 10_000, limit=UNKNOWN, proven=1_000_000,
                     due_us=10_000, growing=True)
        self.assertEqual(arrival_us(burst, 70_000), 5_000 + 10_000 + 20_000 + 1_250)

    def test_what_is_overdue_is_no_pause(self):
        one = flow(1_000_000, 20_000, 20_000, 20_000, due_us=-5_000)
        self.assertEqual(arrival_us(one, 10_000), 20_000)

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

    def test_nothing_is_released_before_the_pause(self):
        # The window is full: nothing until 10 + 20 ms, then 1 MB/s
        burst = flow(1_000_000, 20_000, 20_000, 20_000, due_us=20_000)
        self.assertEqual(carried(burst, 29_999), 0)
        self.assertEqual(carried(burst, 30_000), 0)
        self.assertEqual(carried(burst, 31_000), 1_000)

    def test_what_the_window_takes_before_the_pause(self):
        # 20,000 - 5,000 - 2,000 at once, no more until 30 ms, 1,000 more at 31 ms
        one = flow(1_000_000, 20_000, 20_000, 5_000, 2_000, due_us=20_000)
        self.assertEqual(carried(one, 9_999), 0)
        self.assertEqual(carried(one, 10_000), 13_000)
        self.assertEqual(carried(one, 29_999), 13_000)
        self.assertEqual(carried(one, 31_000), 14_000)

    def test_rounds_after_the_pause(self):
        # From 30 ms on 20,000 in each 20 ms, at 4 MB/s: by 35 ms, then nothing until 50 ms
        burst = flow(1_000_000, 20_000, 20_000, 20_000, proven=4_000_000, due_us=20_000)
        self.assertEqual(carried(burst, 31_000), 4_000)
        self.assertEqual(carried(burst, 35_000), 20_000)
        self.assertEqual(carried(burst, 50_000), 20_000)
        self.assertEqual(carried(burst, 51_000), 24_000)
        # two rounds by 70 ms, and 5 ms at 4 MB/s
        self.assertEqual(carried(burst, 75_000), 60_000)

    def test_slow_start_after_the_pause(self):
        # 15 ms, then 20,000 + 40,000 in 10 ms each, and 5 ms at 8 MB/s
        burst = flow(1_000_000, 10_000, 10_000, 10_000, limit=UNKNOWN, proven=1_000_000,
                     due_us=10_000, growing=True)
        self.assertEqual(carried(burst, 40_000), 100_000)

    def test_what_is_overdue_is_no_pause(self):
        one = flow(1_000_000, 20_000, 20_000, 20_000, due_us=-5_000)
        self.assertEqual(carried(one, 40_000), 30_000)

    def test_is_the_inverse_of_arrival(self):
        """When the last of n bytes arrives at most n have arrived, and n within a microsecond.

        Not so where the bottleneck decides, not the window: what the window takes counts as
        carried at once. There may be more then. Nor after a pause and 16 rounds more: then
        arrival_us() goes on at the last rate, and carried() stops after another round.
        """
        rand = rng("flow")
        exact = 0
        for _ in range(10_000):
            rtt_us = rand.randint(100, 200_000)
            limit = rand.choice((UNKNOWN, rand.randint(100_000, 10**8)))
            rate = min(rand.randint(100_000, 10**7), limit)
            window = rate * rtt_us // 10**6
            proven = rand.choice((rate, UNKNOWN, spread(rand, 100_000, UNKNOWN)))
            pause_us = rand.choice((0, rand.randint(1, 2 * rtt_us)))
            flight, backlog = rand.randint(0, 2 * window), rand.randint(0, 65_536)
            one = flow(rate, rtt_us, window, flight, backlog, limit=limit, proven=proven,
                       due_us=pause_us, growing=rand.random() < 0.5)
            count = rand.randint(1, 200_000)
            at_us = arrival_us(one, count)
            if pause_us and at_us >= rtt_us // 2 + pause_us + ROUNDS_MAX * rtt_us:
                continue
            self.assertGreaterEqual(carried(one, at_us + 1), count, one)
            burst_us = min(backlog + count, window) * 10**6 // proven
            if flight + backlog + count > window and at_us > rtt_us // 2 + burst_us:
                self.assertLessEqual(carried(one, at_us), count, one)
                exact += 1
        self.assertGreater(exact, 5_000)

    def test_any_numbers(self):
        """More bytes never arrive earlier, and in more time not fewer: nothing overflows."""
        rand = rng("any flow")
        for _ in range(10_000):
            one = any_flow(rand)
            rtt_us, pause_us = one[3], one[7] if one[7] < 2**31 else 0
            few, many = sorted(spread(rand, 0, U32_MAX) for _ in range(2))
            soon_us, later_us = sorted(spread(rand, 0, U64_MAX) for _ in range(2))
            self.assertGreaterEqual(arrival_us(one, few), rtt_us // 2, one)
            self.assertLessEqual(arrival_us(one, few), arrival_us(one, many), one)
            self.assertLessEqual(arrival_us(one, many), rtt_us // 2 + pause_us
                                 + ROUNDS_MAX * rtt_us + SPAN_MAX_US, one)
            self.assertLessEqual(carried(one, soon_us), carried(one, later_us), one)
            if rtt_us > 1:
                self.assertEqual(carried(one, rtt_us // 2 - 1), 0, one)


class TestPick(unittest.TestCase):
    # 8 Mbit/s, 20 ms, busy and full: a packet of 1,500 bytes arrives in 11.5 ms.
    # 1 Mbit/s, 60 ms, idle: in 30 + 12 = 42 ms, until when the first carries
    # 20,000 + 32 ms * 1 MB/s - 20,000 = 32,000 bytes.
    FLOWS = [flow(1_000_000, 20_000, 20_000, 20_000), flow(125_000, 60_000, 7_500 + 2_500)]

    def test_the_earliest_if_it_is_idle(self):
        self.assertEqual(pick(self.FLOWS, [True, True], 10**9), 0)

    def test_nothing_idle(self):
        self.assertEqual(share(self.FLOWS, [False, False], 10**9), (NONE, U32_MAX))

    def test_waits_while_the_faster_carries_it_all(self):
        self.assertEqual(pick(self.FLOWS, [False, True], 32_000), DEFER)
        self.assertEqual(pick(self.FLOWS, [False, True], 32_001), 1)

    def test_waits_while_the_faster_fills_the_buffer(self):
        self.assertEqual(pick(self.FLOWS, [False, True], U64_MAX, buffer=32_000), DEFER)
        self.assertEqual(pick(self.FLOWS, [False, True], U64_MAX, buffer=32_001), 1)

    def test_tries_a_path_where_that_costs_little(self):
        # the faster stands still for 32,000 - 22,000 bytes of the 160,000 that it sent
        new = flow(125_000, 60_000, 10_000, untried=True)
        flows = [self.FLOWS[0], new]
        self.assertEqual(share(flows, [False, True], U64_MAX, buffer=22_000, sent=160_000),
                         (1, PACKET))
        self.assertEqual(pick(flows, [False, True], U64_MAX, buffer=22_000, sent=159_999), DEFER)
        self.assertEqual(pick(flows, [False, True], U64_MAX, buffer=21_999, sent=160_000), DEFER)
        self.assertEqual(pick(flows, [False, True], 32_000, buffer=22_000, sent=160_000), DEFER)
        self.assertEqual(pick(flows, [False, True], 32_001, buffer=22_000, sent=160_000), 1)
        self.assertEqual(pick([self.FLOWS[0], flow(125_000, 60_000, 10_000)], [False, True],
                              U64_MAX, buffer=22_000, sent=160_000), DEFER)

    def test_does_not_wait_for_what_does_not_move(self):
        still = flow(1_000_000, 20_000, 20_000, 20_000, moving=False)
        self.assertEqual(pick([still, self.FLOWS[1]], [False, True], 1), 1)

    def test_does_not_wait_for_what_is_stopped(self):
        self.assertEqual(pick(self.FLOWS, [False, True], 1, stopped=(0,)), 1)

    def test_waits_for_what_was_handed_over_and_not_sent_yet(self):
        queued = flow(1_000_000, 20_000, 20_000, 0, 20_000)
        self.assertEqual(pick([queued, self.FLOWS[1]], [False, True], 32_000), DEFER)

    def test_a_pause_leaves_less_to_wait_for(self):
        # 32 - 20 ms are left: 12,000 bytes
        burst = flow(1_000_000, 20_000, 20_000, 20_000, due_us=20_000)
        self.assertEqual(pick([burst, self.FLOWS[1]], [False, True], 12_000), DEFER)
        self.assertEqual(pick([burst, self.FLOWS[1]], [False, True], 12_001), 1)

    def test_does_not_wait_for_the_end_of_a_pause(self):
        # A packet there arrives in 10 + 31 + 1.5 ms, so it isn't the faster one
        burst = flow(1_000_000, 20_000, 20_000, 20_000, due_us=31_000)
        self.assertEqual(pick([burst, self.FLOWS[1]], [False, True], 1), 1)

    def test_faster_ones_add_up(self):
        flows = [self.FLOWS[0], self.FLOWS[1], self.FLOWS[0]]
        self.assertEqual(pick(flows, [False, True, False], 64_000), DEFER)
        self.assertEqual(pick(flows, [False, True, False], 64_001), 1)


class TestShare(unittest.TestCase):
    """How many bytes; a subflow has room for 10,000 unless it is said otherwise."""
    FAST, SLOW = TestPick.FLOWS

    def test_whole_room_of_the_only_one(self):
        self.assertEqual(share([self.SLOW], [True], 10**9), (0, 10_000))
        self.assertEqual(share([self.SLOW], [True], 10**9, rooms=[40_000]), (0, 40_000))

    def test_no_more_than_there_is(self):
        self.assertEqual(share([self.SLOW], [True], 4_000), (0, 4_000))
        self.assertEqual(share([self.SLOW], [True], 10**9, buffer=3_000), (0, 3_000))

    def test_whole_room_where_the_others_are_slower(self):
        # all of it arrives in 10 + 10 ms, a packet elsewhere in 18 + 12 ms, although what the
        # window takes counts as carried after 18 ms
        flows = [self.FAST, flow(125_000, 36_000, 10_000)]
        self.assertEqual(share(flows, [True, True], 10_000), (0, 10_000))

    def test_whole_room_where_the_others_carry_nothing(self):
        still = flow(1_000_000, 20_000, 20_000, 20_000, moving=False)
        self.assertEqual(share([still, self.SLOW], [False, True], 10_000), (1, 10_000))
        self.assertEqual(share([self.FAST, self.SLOW], [False, True], 10_000, stopped=(0,)),
                         (1, 10_000))

    def test_halved_where_the_others_carry_the_rest(self):
        # on SLOW     arrive in          until when FAST carries     together
        # 10,000      30 + 80 = 110 ms   100,000                     110,000
        #  5,000      30 + 40 =  70 ms    60,000                      65,000
        #  2,500      30 + 20 =  50 ms    40,000                      42,500
        #  1,500, not 1,250: a packet
        for unscheduled, count in ((10**9, 10_000), (110_001, 10_000), (110_000, 5_000),
                                   (65_001, 5_000), (65_000, 2_500), (42_501, 2_500),
                                   (42_500, 1_500), (32_001, 1_500)):
            self.assertEqual(share([self.FAST, self.SLOW], [False, True], unscheduled),
                             (1, count))

    def test_halved_by_what_the_buffer_holds(self):
        flows = [self.FAST, self.SLOW]
        self.assertEqual(share(flows, [False, True], U64_MAX, buffer=110_001), (1, 10_000))
        self.assertEqual(share(flows, [False, True], U64_MAX, buffer=110_000), (1, 5_000))

    def test_idle_ones_carry_their_part(self):
        # 8 Mbit/s, 82 ms, empty: a packet in 41 + 1.5 ms, half a ms later than on SLOW
        #  n          arrive in          until when the other carries      together
        # 10,000      110 ms             82,000 + 69,000                   161,000
        #  5,000       70 ms             82,000 + 29,000                   116,000
        #  2,500       50 ms             82,000 +  9,000                    93,500
        flows = [self.SLOW, flow(1_000_000, 82_000, 82_000)]
        for unscheduled, count in ((161_001, 10_000), (161_000, 5_000), (116_000, 2_500),
                                   (93_500, 1_500), (1, 1_500)):
            self.assertEqual(share(flows, [True, True], unscheduled), (0, count))

    def test_what_neither_moves_nor_is_idle_carries_nothing(self):
        flows = [self.SLOW, flow(1_000_000, 82_000, 82_000)]
        self.assertEqual(share(flows, [True, False], 116_000), (0, 10_000))

    def test_one_packet_at_least(self):
        self.assertEqual(share([self.SLOW], [True], 10**9, rooms=[100]), (0, 1_500))
        self.assertEqual(share([self.SLOW], [True], 1), (0, 1_500))
        self.assertEqual(share([self.SLOW], [True], 10**9, buffer=0), (0, 1_500))

    def test_by_definition(self):
        """The room, or the first of its halves that leaves something to do for others."""
        rand = rng("share")
        found = []
        for _ in range(5_000):
            count = rand.randint(1, 4)
            flows = [flow(rand.randint(10**5, 10**7), rand.randint(1_000, 100_000),
                          *(rand.randint(0, 10**5) for _ in range(3)),
                          due_us=rand.choice((0, rand.randint(-10**5, 10**5))),
                          growing=rand.random() < 0.3, moving=rand.random() < 0.8)
                     for _ in range(count)]
            idle = [rand.random() < 0.5 for _ in flows]
            stopped = [i for i, one in enumerate(idle) if not one and rand.random() < 0.2]
            rooms = [spread(rand, 1_000, 200_000) for _ in flows]
            unscheduled, buffer = spread(rand, 1_000, 2**20), spread(rand, 10_000, 2**24)
            if any(idle):
                choice, count = share(flows, idle, unscheduled, buffer, stopped, rooms)
                wanted = min(unscheduled, buffer)
                self.assertEqual((choice, count),
                                 self.defined(flows, idle, wanted, stopped, rooms))
                found.append("waits" if choice == DEFER else "a packet" if count == PACKET else
                             "all" if count == min(rooms[choice], wanted) else "halved")
        for kind in ("waits", "a packet", "all", "halved"):
            self.assertGreater(found.count(kind), 30, kind)

    @staticmethod
    def defined(flows, idle, wanted, stopped, rooms):
        packets_us = [arrival_us(one, PACKET) for one in flows]
        target = min((i for i, one in enumerate(idle) if one), key=lambda i: packets_us[i])

        def others(count, may):
            until_us = arrival_us(flows[target], count)
            return sum(carried(flows[i], until_us) for i in range(len(flows))
                       if i != target and i not in stopped and may(i) and packets_us[i] < until_us)

        def moving(i):
            return flows[i][8] & 2

        count = min(rooms[target], wanted)
        while count > PACKET:
            rest = others(count, lambda i: moving(i) or idle[i])
            if rest == 0 or rest < wanted - count:
                return target, count
            count //= 2
        rest = others(PACKET, moving)
        return (DEFER if rest and rest >= wanted else target), PACKET

    def test_any_numbers(self):
        rand = rng("any share")
        for _ in range(2_000):
            flows = [any_flow(rand) for _ in range(rand.randint(1, 16))]
            idle = [rand.random() < 0.5 for _ in flows]
            rooms = [spread(rand, 0, 2**31) for _ in flows]
            unscheduled, buffer = spread(rand, 0, U64_MAX), spread(rand, 0, U64_MAX)
            choice, count = share(flows, idle, unscheduled, buffer, (), rooms)
            if choice >= 0:
                self.assertTrue(idle[choice])
                self.assertLessEqual(PACKET, count)
                self.assertLessEqual(count, max(PACKET, min(rooms[choice], unscheduled, buffer)))
            else:
                self.assertEqual((choice, count), (DEFER, PACKET) if any(idle)
                                 else (NONE, U32_MAX))


class TestLate(unittest.TestCase):
    # idle and empty: a packet in 10 + 1.5 = 11.5 ms; a fifth more is 13.8 ms
    FAST = flow(1_000_000, 20_000, 20_000)

    def test_the_one_whose_last_byte_comes_later(self):
        # 7,500 + 12,500 - 7,500 bytes at 125 kB/s: 100 ms, and 30 ms
        self.assertEqual(late([self.FAST, flow(125_000, 60_000, 7_500, 20_000)], [True, True]), 1)

    def test_not_by_less_than_a_fifth(self):
        self.assertEqual(late([self.FAST, flow(10**9, 27_600, 10**6, 1)], [True, True]), NONE)
        self.assertEqual(late([self.FAST, flow(10**9, 27_602, 10**6, 1)], [True, True]), 1)

    def test_not_by_less_than_twice_while_something_is_unscheduled(self):
        # 23 ms
        flows = [self.FAST, flow(10**9, 46_000, 10**6, 1)]
        self.assertEqual(late(flows, [True, True], 1), NONE)
        flows = [self.FAST, flow(10**9, 46_002, 10**6, 1)]
        self.assertEqual(late(flows, [True, True], 1), 1)

    def test_nothing_outstanding(self):
        self.assertEqual(late([self.FAST, flow(125_000, 60_000, 7_500)], [True, True]), NONE)

    def test_not_what_was_sent_again(self):
        # late from 13.8 - 1.5 ms on, 1,537 bytes; 5,000 - 375 wait, less what was sent again
        slow = flow(125_000, 3_000, 375, 4_000, 1_000)
        for again, found in ((0, 1), (3_087, 1), (3_088, NONE), (4_999, NONE), (5_000, NONE),
                             (U32_MAX, NONE)):
            self.assertEqual(late([self.FAST, slow], [True, True], again=[0, again]), found, again)

    def test_all_of_it_while_something_is_unscheduled(self):
        slow = flow(125_000, 3_000, 375, 4_000, 1_000)
        self.assertEqual(late([self.FAST, slow], [True, True], 1, again=[0, 5_000]), 1)

    def test_no_room_elsewhere(self):
        self.assertEqual(late([self.FAST, flow(125_000, 60_000, 7_500, 20_000)], [False, True]),
                         NONE)

    def test_what_is_overdue_is_late(self):
        one = flow(10**9, 10_000, 10**6, 1, due_us=-8_801)
        self.assertEqual(late([self.FAST, one], [True, True]), 1)
        one = flow(10**9, 10_000, 10**6, 1, due_us=-8_799)
        self.assertEqual(late([self.FAST, one], [True, True]), NONE)

    def test_a_burst_that_is_due_is_not_late(self):
        # 5 ms, and that of the other 11.5 ms, whenever the first acknowledgment is due
        one = flow(10**9, 10_000, 10**6, 1, due_us=10_000)
        self.assertEqual(late([self.FAST, one], [True, True]), NONE)

    def test_a_pause_makes_what_exceeds_the_window_late(self):
        # 10 + 2.5 ms, and the pause; more than 13.8 ms is late
        one = flow(1_000_000, 20_000, 20_000, 20_000, 2_500, due_us=1_300)
        self.assertEqual(late([self.FAST, one], [True, False]), NONE)
        one = flow(1_000_000, 20_000, 20_000, 20_000, 2_500, due_us=1_301)
        self.assertEqual(late([self.FAST, one], [True, False]), 1)

    def test_data_is_sent_again_where_a_burst_is_due(self):
        due = flow(1_000_000, 20_000, 20_000, 1, due_us=19_000)
        self.assertEqual(late([due, flow(125_000, 60_000, 7_500, 20_000)], [True, False]), 1)

    def test_nothing_is_sent_where_acknowledgments_are_overdue(self):
        silent = flow(1_000_000, 20_000, 20_000, 1, due_us=-1)
        self.assertEqual(late([silent, flow(125_000, 60_000, 7_500, 20_000)], [True, False]), NONE)

    def test_an_acknowledgment_may_be_delayed_where_one_packet_is_out(self):
        silent = flow(1_000_000, 20_000, 20_000, 1, due_us=-1, alone=True)
        self.assertEqual(late([silent, flow(125_000, 60_000, 7_500, 20_000)], [True, False]), 1)

    def test_what_the_first_packets_told_makes_late(self):
        # in flight and within the window: 5 ms. At 125 kB/s 12,500 - 1,250 bytes take 90 ms
        more = {"limit": UNKNOWN, "proven": 125_000, "growing": True}
        one = flow(1_250_000, 10_000, 12_500, 12_500, **more)
        self.assertEqual(late([self.FAST, one], [True, True]), NONE)
        one = flow(1_250_000, 10_000, 12_500, 12_500, guessed=True, **more)
        self.assertEqual(late([self.FAST, one], [True, True]), 1)
        # and nothing of that counts for what is handed over
        self.assertEqual(arrival_us(one, 0), 5_000)

    def test_the_latest_of_several(self):
        flows = [flow(125_000, 60_000, 7_500, 20_000), self.FAST,
                 flow(125_000, 60_000, 7_500, 20_001 + 124)]
        self.assertEqual(late(flows, [True, True, True]), 2)

    def test_any_numbers(self):
        rand = rng("minfct")
        for _ in range(2_000):
            flows = [any_flow(rand) for _ in range(rand.randint(1, 16))]
            idle = [rand.random() < 0.5 for _ in flows]
            self.assertIn(late(flows, idle, spread(rand, 0, U64_MAX)), range(NONE, len(flows)))


if __name__ == "__main__":
    unittest.main()
