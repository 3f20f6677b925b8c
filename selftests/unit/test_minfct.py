# SPDX-License-Identifier: GPL-2.0
"""minfct: the choice and its bytes, what is late; by hand and at random."""

import ctypes
import unittest
from array import array

from unit import (DEFER, LIB, NONE, PACKET, U32_MAX, U64_MAX, UNKNOWN, _pointer,
                  any_model, arrival_us, carried, model, rng, spread)


def words(values):
    data = array("Q", values)
    return data, _pointer(data, ctypes.c_uint64)


def view(models, idle, unscheduled=0, buffer=U64_MAX, stopped=(), rooms=None, sent=0, again=None,
         left=None):
    left = unscheduled if left is None else left
    rooms = rooms or [10_000] * len(models)
    again = again or [0] * len(models)
    return [unscheduled, buffer, sent, len(models), left] + [
        int(value) for i, one in enumerate(idle)
        for value in (one, i in stopped, rooms[i], max(0, models[i][5] + models[i][6] - again[i]))
    ]


def share(models, *args, **more):
    """The choice, and how many bytes at most are to be handed over."""
    head, head_pointer = words(view(models, *args, **more))
    body, body_pointer = words([word for one in models for word in one])
    count = ctypes.c_uint32(U32_MAX)
    result = LIB.unit_minfct(head_pointer, body_pointer, ctypes.byref(count))
    del head, body
    return result, count.value


def pick(models, *args, **more):
    return share(models, *args, **more)[0]


def late(models, idle, unscheduled=0, again=None, left=None):
    """Whose data is late; all of it then."""
    head, head_pointer = words(view(models, idle, unscheduled, again=again, left=left))
    body, body_pointer = words([word for one in models for word in one])
    count = ctypes.c_uint64(0)
    result = LIB.unit_late_minfct(head_pointer, body_pointer, ctypes.byref(count))
    del head, body
    if result >= 0 and count.value != U64_MAX:
        raise ValueError(f"minfct says {count.value} bytes")
    return result


class TestPick(unittest.TestCase):
    # 8 Mbit/s, 20 ms, busy and full: a packet of 1,500 bytes arrives in 11.5 ms.
    # 1 Mbit/s, 60 ms, idle: in 30 + 12 = 42 ms, until when the first carries
    # 20,000 + 32 ms * 1 MB/s - 20,000 = 32,000 bytes.
    MODELS = [model(1_000_000, 20_000, 20_000, 20_000), model(125_000, 60_000, 7_500 + 2_500)]

    def test_the_earliest_if_it_is_idle(self):
        self.assertEqual(pick(self.MODELS, [True, True], 10**9), 0)

    def test_nothing_idle(self):
        self.assertEqual(share(self.MODELS, [False, False], 10**9), (NONE, U32_MAX))

    def test_waits_while_the_faster_carries_it_all(self):
        self.assertEqual(pick(self.MODELS, [False, True], 32_000), DEFER)
        self.assertEqual(pick(self.MODELS, [False, True], 32_001), 1)

    def test_a_unit_counts_whatever_is_written(self):
        for written in (1, 32_000, 32_001, U64_MAX):
            self.assertEqual(pick(self.MODELS, [False, True], written, left=32_000), DEFER)
            self.assertEqual(pick(self.MODELS, [False, True], written, left=32_001), 1)

    def test_waits_while_the_faster_fills_the_buffer(self):
        self.assertEqual(pick(self.MODELS, [False, True], U64_MAX, buffer=32_000), DEFER)
        self.assertEqual(pick(self.MODELS, [False, True], U64_MAX, buffer=32_001), 1)

    def test_tries_what_rested_while_data_is_left(self):
        models = [self.MODELS[0], model(125_000, 60_000, 10_000, rested=True)]
        self.assertEqual(share(models, [False, True], U64_MAX, buffer=22_000), (1, PACKET))
        self.assertEqual(share(models, [False, True], 32_001, buffer=22_000), (1, PACKET))
        self.assertEqual(pick(models, [False, True], 32_000, buffer=22_000), DEFER)
        models[1] = model(125_000, 60_000, 10_000)
        self.assertEqual(pick(models, [False, True], U64_MAX, buffer=22_000), DEFER)

    def test_does_not_wait_for_what_does_not_move(self):
        still = model(1_000_000, 20_000, 20_000, 20_000, moving=False)
        self.assertEqual(pick([still, self.MODELS[1]], [False, True], 1), 1)

    def test_does_not_wait_for_what_is_stopped(self):
        self.assertEqual(pick(self.MODELS, [False, True], 1, stopped=(0,)), 1)

    def test_waits_for_what_was_handed_over_and_not_sent_yet(self):
        queued = model(1_000_000, 20_000, 20_000, 0, 20_000)
        self.assertEqual(pick([queued, self.MODELS[1]], [False, True], 12_000), DEFER)
        self.assertEqual(pick([queued, self.MODELS[1]], [False, True], 12_001), 1)

    def test_a_pause_leaves_less_to_wait_for(self):
        # 32 - 20 ms are left: 12,000 bytes
        burst = model(1_000_000, 20_000, 20_000, 20_000, due_us=20_000)
        self.assertEqual(pick([burst, self.MODELS[1]], [False, True], 12_000), DEFER)
        self.assertEqual(pick([burst, self.MODELS[1]], [False, True], 12_001), 1)

    def test_does_not_wait_for_the_end_of_a_pause(self):
        # A packet there arrives in 20 + 20.5 + 1.5 ms, so it isn't the faster one
        burst = model(1_000_000, 40_000, 40_000, 40_000, due_us=20_500)
        self.assertEqual(pick([burst, self.MODELS[1]], [False, True], 1), 1)
        burst = model(1_000_000, 40_000, 40_000, 40_000, due_us=20_499)
        self.assertEqual(pick([burst, self.MODELS[1]], [False, True], 1), DEFER)

    def test_waits_for_what_a_path_carries_before_it_is_lost(self):
        # 20,000 + 20 ms * 1 MB/s - 20,000 by the horizon, 30 ms
        lost = model(1_000_000, 20_000, 20_000, 20_000, horizon_us=30_000)
        self.assertEqual(pick([lost, self.MODELS[1]], [False, True], 20_000), DEFER)
        self.assertEqual(pick([lost, self.MODELS[1]], [False, True], 20_001), 1)

    def test_does_not_wait_for_a_path_that_is_lost_before_anything_arrives(self):
        lost = model(1_000_000, 20_000, 20_000, 20_000, horizon_us=10_000)
        self.assertEqual(pick([lost, self.MODELS[1]], [False, True], 1), 1)

    def test_waits_for_what_a_pipe_carries(self):
        # 500 kB/s * 32 ms
        piped = model(1_000_000, 20_000, 20_000, 5_000, pipe=500_000)
        self.assertEqual(pick([piped, self.MODELS[1]], [False, True], 16_000), DEFER)
        self.assertEqual(pick([piped, self.MODELS[1]], [False, True], 16_001), 1)
        # and 500 kB/s * 22 ms - 1,000 behind a helper 10 ms away, which takes what is in flight
        # meanwhile
        piped = model(1_000_000, 20_000, 20_000, 5_000, pipe=500_000, pipe_delay_us=10_000,
                      pipe_backlog=1_000)
        self.assertEqual(pick([piped, self.MODELS[1]], [False, True], 10_000), DEFER)
        self.assertEqual(pick([piped, self.MODELS[1]], [False, True], 10_001), 1)

    def test_faster_ones_add_up(self):
        models = [self.MODELS[0], self.MODELS[1], self.MODELS[0]]
        self.assertEqual(pick(models, [False, True, False], 64_000), DEFER)
        self.assertEqual(pick(models, [False, True, False], 64_001), 1)


class TestShare(unittest.TestCase):
    """How many bytes; a subflow has room for 10,000 unless it is said otherwise."""
    FAST, SLOW = TestPick.MODELS

    def test_whole_room_of_the_only_one(self):
        self.assertEqual(share([self.SLOW], [True], 10**9), (0, 10_000))
        self.assertEqual(share([self.SLOW], [True], 10**9, rooms=[40_000]), (0, 40_000))

    def test_no_more_than_there_is(self):
        self.assertEqual(share([self.SLOW], [True], 4_000), (0, 4_000))
        self.assertEqual(share([self.SLOW], [True], 10**9, buffer=3_000), (0, 3_000))

    def test_whole_room_where_the_others_are_slower(self):
        # all of it arrives in 10 + 10 ms, a packet elsewhere in 18 + 12 ms
        models = [self.FAST, model(125_000, 36_000, 10_000)]
        self.assertEqual(share(models, [True, True], 10_000), (0, 10_000))

    def test_whole_room_where_the_others_carry_nothing(self):
        still = model(1_000_000, 20_000, 20_000, 20_000, moving=False)
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
        models = [self.FAST, self.SLOW]
        self.assertEqual(share(models, [False, True], U64_MAX, buffer=110_001), (1, 10_000))
        self.assertEqual(share(models, [False, True], U64_MAX, buffer=110_000), (1, 5_000))

    def test_idle_ones_carry_their_part(self):
        # 8 Mbit/s, 82 ms, empty: a packet in 41 + 1.5 ms, half a ms later than on SLOW
        #  n          arrive in          until when the other carries      together
        # 10,000      110 ms             69,000                            79,000
        #  5,000       70 ms             29,000                            34,000
        #  2,500       50 ms              9,000                            11,500
        models = [self.SLOW, model(1_000_000, 82_000, 82_000)]
        for unscheduled, count in ((79_001, 10_000), (79_000, 5_000), (34_000, 2_500),
                                   (11_500, 1_500), (1, 1_500)):
            self.assertEqual(share(models, [True, True], unscheduled), (0, count))

    def test_what_neither_moves_nor_is_idle_carries_nothing(self):
        models = [self.SLOW, model(1_000_000, 82_000, 82_000)]
        self.assertEqual(share(models, [True, False], 34_000), (0, 10_000))

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
            models = [model(rand.randint(10**5, 10**7), rand.randint(1_000, 100_000),
                           *(rand.randint(0, 10**5) for _ in range(3)),
                           due_us=rand.choice((0, rand.randint(0, 10**5))),
                           growing=rand.random() < 0.3, moving=rand.random() < 0.8)
                      for _ in range(count)]
            idle = [rand.random() < 0.5 for _ in models]
            stopped = [i for i, one in enumerate(idle) if not one and rand.random() < 0.2]
            rooms = [spread(rand, 1_000, 200_000) for _ in models]
            unscheduled, buffer = spread(rand, 1_000, 2**20), spread(rand, 10_000, 2**24)
            if any(idle):
                choice, count = share(models, idle, unscheduled, buffer, stopped, rooms)
                wanted = min(unscheduled, buffer)
                self.assertEqual((choice, count),
                                 self.defined(models, idle, wanted, stopped, rooms))
                found.append("waits" if choice == DEFER else "a packet" if count < 2 * PACKET else
                             "all" if count == min(rooms[choice], wanted) else "halved")
        for kind in ("waits", "a packet", "all", "halved"):
            self.assertGreater(found.count(kind), 30, kind)

    @staticmethod
    def defined(models, idle, wanted, stopped, rooms):
        packets_us = [arrival_us(one, PACKET) for one in models]
        target = min((i for i, one in enumerate(idle) if one), key=lambda i: packets_us[i])

        def others(count, may):
            until_us = arrival_us(models[target], count)
            return sum(carried(models[i], until_us) for i in range(len(models))
                       if i != target and i not in stopped and may(i) and packets_us[i] < until_us)

        def moving(i):
            return models[i][8] & 2

        count = min(rooms[target], wanted)
        while count > PACKET:
            rest = others(count, lambda i: moving(i) or idle[i])
            if rest == 0 or rest < wanted - count:
                return target, count
            count //= 2
        count = max(count, PACKET)
        rest = others(PACKET, moving)
        return (DEFER if rest and rest >= wanted else target), count

    def test_any_numbers(self):
        rand = rng("any share")
        for _ in range(2_000):
            models = [any_model(rand) for _ in range(rand.randint(1, 16))]
            idle = [rand.random() < 0.5 for _ in models]
            rooms = [spread(rand, 0, 2**31) for _ in models]
            unscheduled, buffer = spread(rand, 0, U64_MAX), spread(rand, 0, U64_MAX)
            choice, count = share(models, idle, unscheduled, buffer, (), rooms)
            if choice >= 0:
                self.assertTrue(idle[choice])
                self.assertLessEqual(PACKET, count)
                self.assertLessEqual(count, max(PACKET, min(rooms[choice], unscheduled, buffer)))
            else:
                self.assertEqual(choice, DEFER if any(idle) else NONE)


class TestLate(unittest.TestCase):
    # idle and empty: n bytes in 10 ms + n us
    FAST = model(1_000_000, 20_000, 20_000)

    def test_the_one_whose_last_byte_comes_later(self):
        # 7,500 + 12,500 - 7,500 bytes at 125 kB/s: 100 ms, and 30 ms
        self.assertEqual(late([self.FAST, model(125_000, 60_000, 7_500, 20_000)], [True, True]), 1)

    def test_only_if_four_times_as_much_could_be_carried(self):
        for unscheduled in (0, 1):
            # 5,000 bytes until 30 ms, in which the other carries 20,000
            one = model(10**9, 60_000, 10**6, 5_000)
            self.assertEqual(late([self.FAST, one], [True, True], unscheduled), NONE)
            one = model(10**9, 60_002, 10**6, 5_000)
            self.assertEqual(late([self.FAST, one], [True, True], unscheduled), 1)

    def test_nothing_outstanding(self):
        self.assertEqual(late([self.FAST, model(125_000, 60_000, 7_500)], [True, True]), NONE)

    def test_not_what_was_sent_again(self):
        # the first n bytes arrive after 1.5 ms + (n - 375) * 8 us, and the other carries 4 n until
        # 10 ms + 4 n us: late are 2,876 and more
        slow = model(125_000, 3_000, 375, 4_000, 1_000)
        for again, found in ((0, 1), (2_124, 1), (2_125, NONE), (4_999, NONE), (5_000, NONE),
                             (U32_MAX, NONE)):
            self.assertEqual(late([self.FAST, slow], [True, True], again=[0, again]), found, again)

    def test_a_lost_head_arrives_after_what_is_in_flight(self):
        # the first 1,250 bytes are needed: they have arrived after 8.5 ms, or behind all in flight
        for repeats, found in ((False, NONE), (True, 1)):
            slow = model(125_000, 3_000, 375, 4_000, 1_000, repeats=repeats)
            self.assertEqual(late([self.FAST, slow], [True, True], again=[0, 3_750]), found)

    def test_all_of_it_while_something_is_unscheduled(self):
        slow = model(125_000, 3_000, 375, 4_000, 1_000)
        self.assertEqual(late([self.FAST, slow], [True, True], 1, again=[0, 4_999]), 1)

    def test_what_was_sent_again_to_the_last_byte(self):
        slow = model(125_000, 3_000, 375, 4_000, 1_000)
        self.assertEqual(late([self.FAST, slow], [True, True], 1, again=[0, 5_000]), NONE)

    def test_a_unit_that_the_application_still_writes(self):
        slow = model(125_000, 3_000, 375, 4_000, 1_000)
        self.assertEqual(late([self.FAST, slow], [True, True], 0, left=1), 1)
        self.assertEqual(late([self.FAST, slow], [True, True], 0, left=1, again=[0, 5_000]), NONE)

    def test_no_room_elsewhere(self):
        self.assertEqual(late([self.FAST, model(125_000, 60_000, 7_500, 20_000)], [False, True]),
                         NONE)

    def test_a_burst_that_is_due_is_not_late(self):
        # 5 ms, and that of the other 11.5 ms, whenever the first acknowledgment is due
        one = model(10**9, 10_000, 10**6, 1, due_us=10_000)
        self.assertEqual(late([self.FAST, one], [True, True]), NONE)

    def test_a_pause_makes_what_exceeds_the_window_late(self):
        # 22,500 bytes until 10 + 2.5 ms and the pause, in which the other carries 20 bytes/us
        best = model(20_000_000, 20_000, 400_000)
        for due_us, found in ((2_000, NONE), (2_001, 1)):
            one = model(1_000_000, 20_000, 20_000, 20_000, 2_500, due_us=due_us)
            self.assertEqual(late([best, one], [True, False]), found)

    def test_data_is_sent_again_where_a_burst_is_due(self):
        due = model(1_000_000, 20_000, 20_000, 1, due_us=19_000)
        self.assertEqual(late([due, model(125_000, 60_000, 7_500, 20_000)], [True, False]), 1)

    def test_what_the_first_packets_told_makes_late(self):
        # in flight and within the window: 5 ms. At 125 kB/s 12,500 - 1,250 bytes take 90 ms
        more = {"limit": UNKNOWN, "proven": 125_000, "growing": True}
        one = model(1_250_000, 10_000, 12_500, 12_500, **more)
        self.assertEqual(late([self.FAST, one], [True, True]), NONE)
        one = model(1_250_000, 10_000, 12_500, 12_500, guessed=True, **more)
        self.assertEqual(late([self.FAST, one], [True, True]), 1)
        # and nothing of that counts for what is handed over
        self.assertEqual(arrival_us(one, 0), 5_000)

    def test_the_latest_of_several(self):
        models = [model(125_000, 60_000, 7_500, 20_000), self.FAST,
                 model(125_000, 60_000, 7_500, 20_001 + 124)]
        self.assertEqual(late(models, [True, True, True]), 2)

    def test_any_numbers(self):
        rand = rng("minfct")
        for _ in range(2_000):
            models = [any_model(rand) for _ in range(rand.randint(1, 16))]
            idle = [rand.random() < 0.5 for _ in models]
            self.assertIn(late(models, idle, spread(rand, 0, U64_MAX)), range(NONE, len(models)))


if __name__ == "__main__":
    unittest.main()
