# SPDX-License-Identifier: GPL-2.0
"""What single and redundant choose, and where data goes that is sent again: by hand, and at random."""

import unittest

from unit import DEFER, NONE, State, U32_MAX, policy, policy_sub as sub, rng

MS = 1_000_000      # ns
CASES = 20_000


def single(subs, state, now_ms=0):
    choice, count = policy("single", subs, state, now_ms=now_ms)
    assert count is None
    return choice


def again(subs, origin):
    return policy("again", subs, State(lead=origin))[0]


class TestAgain(unittest.TestCase):
    """Where data goes that subflow 1 holds."""
    LOST = {"idle": False, "stopped": True}

    def test_the_lowest_pad_of_the_others(self):
        subs = [sub(1, 5 * MS), sub(2, 20 * MS), sub(3, 10 * MS)]
        self.assertEqual(again(subs, 1), 2)
        self.assertEqual(again(subs, 9), 0)

    def test_waits_for_others_that_are_alive(self):
        subs = [sub(1, 5 * MS), sub(2, 20 * MS, idle=False), sub(3, **self.LOST)]
        self.assertEqual(again(subs, 1), NONE)

    def test_goes_back_once_the_others_are_lost(self):
        self.assertEqual(again([sub(1, 5 * MS), sub(2, **self.LOST), sub(3, **self.LOST)], 1), 0)
        self.assertEqual(again([sub(1, 5 * MS, idle=False), sub(2, **self.LOST)], 1), NONE)
        self.assertEqual(again([sub(1, 5 * MS)], 1), 0)

    def test_to_the_least_bad_of_the_others_when_each_is_lost(self):
        subs = [sub(1, 5 * MS, **self.LOST), sub(2, 9 * MS, stopped=True)]
        self.assertEqual(again(subs, 1), 1)
        # it isn't worth a copy on a dead path
        subs = [sub(1, 5 * MS, stopped=True), sub(2, **self.LOST)]
        self.assertEqual(again(subs, 1), NONE)


class TestSingle(unittest.TestCase):
    NEAR, FAR = sub(1, srtt_us=20_000), sub(2, srtt_us=50_000)

    def test_begins_where_it_is_answered_soonest(self):
        self.assertEqual(single([self.FAR, self.NEAR], State()), 1)
        self.assertEqual(single([], State()), NONE)

    def test_waits_for_its_path(self):
        busy = sub(1, srtt_us=20_000, idle=False)
        self.assertEqual(single([busy, self.FAR], State(lead=1)), NONE)

    def test_leaves_a_stopped_path_at_once(self):
        lost = sub(1, srtt_us=20_000, idle=False, stopped=True)
        self.assertEqual(single([lost, self.FAR], State(lead=1)), 1)
        # and one that has gone
        self.assertEqual(single([self.FAR], State(lead=1)), 0)

    def test_takes_the_least_bad_when_each_is_stopped(self):
        subs = [sub(1, 9 * MS, idle=False, stopped=True), sub(2, 5 * MS, stopped=True)]
        self.assertEqual(single(subs, State(lead=1)), 1)

    def test_changes_after_a_second_of_a_clear_advantage(self):
        # 2/3 of 30 ms are 20 ms
        subs, state = [sub(1, srtt_us=30_000), sub(2, srtt_us=20_000)], State(lead=1)
        self.assertEqual(single(subs, state, 5000), 0)
        self.assertEqual(single(subs, state, 5999), 0)
        self.assertEqual(single(subs, state, 6000), 1)

    def test_not_for_less(self):
        subs, state = [sub(1, srtt_us=29_999), sub(2, srtt_us=20_000)], State(lead=1)
        for now_ms in (0, 1000, 100_000):
            self.assertEqual(single(subs, state, now_ms), 0)

    def test_the_second_begins_anew_when_the_advantage_goes(self):
        clear, state = [sub(1, srtt_us=40_000), sub(2, srtt_us=20_000)], State(lead=1)
        single(clear, state, 0)
        single([sub(1, srtt_us=25_000), sub(2, srtt_us=20_000)], state, 900)
        self.assertEqual(single(clear, state, 1100), 0)
        self.assertEqual(single(clear, state, 2099), 0)
        self.assertEqual(single(clear, state, 2100), 1)

    def test_the_clock_wraps(self):
        subs, state = [sub(1, srtt_us=40_000), sub(2, srtt_us=20_000)], State(lead=1)
        self.assertEqual(single(subs, state, U32_MAX - 99), 0)
        self.assertEqual(single(subs, state, 899), 0)
        self.assertEqual(single(subs, state, 900), 1)

    def test_its_own_queue_is_no_reason(self):
        # 100 KB beyond the window at 1 MB/s: 100 of the 120 ms are its own
        loaded = sub(1, srtt_us=120_000, rtt_us=20_000, limit=1_000_000, window=20_000, flight=120_000)
        state = State(lead=1)
        for now_ms in (0, 1000, 2000):
            self.assertEqual(single([loaded, sub(2, srtt_us=20_000)], state, now_ms), 0)
        # somebody else's is: the same round trip with nothing of its own beyond the window
        other = sub(1, srtt_us=120_000, rtt_us=20_000, limit=1_000_000, window=20_000, flight=20_000)
        single([other, sub(2, srtt_us=20_000)], state, 3000)
        self.assertEqual(single([other, sub(2, srtt_us=20_000)], state, 4000), 1)


class TestRedundant(unittest.TestCase):
    # the first leads; 1000 to 5000 were sent, up to 2000 copied, nothing acknowledged
    SUBS = [sub(1, 10 * MS, idle=False, flight=4000), sub(2, 20 * MS)]

    @staticmethod
    def state(**more):
        return State(**{"lead": 1, "copied": 2000, **more})

    def test_new_data_on_the_lowest_pad(self):
        self.assertEqual(policy("redundant", [sub(1, 9 * MS), sub(2, 5 * MS)], State()), (1, None))

    def test_copies_what_is_on_one_path(self):
        state = self.state()
        self.assertEqual(policy("copy", self.SUBS, state, sent=4000, snd_nxt=5000, snd_una=1000), (1, 3000))
        self.assertEqual(state.other, 2)

    def test_not_what_is_acknowledged(self):
        state = self.state()
        self.assertEqual(policy("copy", self.SUBS, state, sent=4000, snd_nxt=5000, snd_una=4500), (1, 500))
        self.assertEqual(state.copied, 4500)
        self.assertEqual(policy("copy", self.SUBS, state, sent=4000, snd_nxt=5000, snd_una=5000)[0], NONE)

    def test_not_without_room(self):
        subs = [self.SUBS[0], sub(2, 20 * MS, idle=False), sub(3, 30 * MS)]
        self.assertEqual(policy("copy", subs, self.state(), sent=4000, snd_nxt=5000, snd_una=1000)[0], NONE)

    def test_new_data_stays_on_the_leading_path_until_all_is_copied(self):
        args = {"sent": 4000, "snd_nxt": 5000, "snd_una": 1000}
        self.assertEqual(policy("redundant", self.SUBS, self.state(), **args)[0], NONE)
        self.assertEqual(policy("redundant", [sub(1, 30 * MS), sub(2, 20 * MS)], self.state(), **args)[0], 0)
        self.assertEqual(policy("redundant", self.SUBS, self.state(copied=5000), **args)[0], 1)

    def test_a_lost_leader_hands_on(self):
        lost = [sub(1, 10 * MS, idle=False, stopped=True, flight=4000), sub(2, 20 * MS)]
        args = {"sent": 4000, "snd_nxt": 5000, "snd_una": 1000}
        state = self.state(other=2)
        self.assertEqual(policy("redundant", lost, state, **args)[0], NONE)
        self.assertEqual(policy("copy", lost, state, **args), (1, 3000))
        self.assertEqual(policy("redundant", lost, self.state(other=2, copied=5000), **args)[0], 1)

    def test_another_copy_begins_where_nothing_is_acknowledged(self):
        subs = [self.SUBS[0], sub(2, 20 * MS, idle=False, stopped=True), sub(3, 30 * MS)]
        state = self.state(other=2)
        self.assertEqual(policy("copy", subs, state, sent=4000, snd_nxt=5000, snd_una=1000), (2, 4000))
        self.assertEqual((state.other, state.copied), (3, 1000))

    def test_nobody_to_copy_to(self):
        lost = [sub(1, 10 * MS, stopped=True), sub(2, 20 * MS, idle=False, stopped=True)]
        args = {"sent": 4000, "snd_nxt": 5000, "snd_una": 1000}
        self.assertEqual(policy("redundant", lost, self.state(), **args)[0], 0)
        self.assertEqual(policy("copy", lost, self.state(), **args)[0], NONE)
        self.assertEqual(policy("copy", [sub(1)], self.state(), **args)[0], NONE)

    def test_the_first_bytes_only(self):
        args = {"sent": 4000, "snd_nxt": 5000, "snd_una": 1000}
        # 1000 of 4000 are copied
        self.assertEqual(policy("copy", self.SUBS, self.state(), first=1500, **args), (1, 500))
        self.assertEqual(policy("copy", self.SUBS, self.state(), first=1000, **args)[0], NONE)
        # beyond them it is pams, which waits for the faster one where that carries all
        busy = [sub(1, 10 * MS, idle=False, flight=4000), sub(2, 20 * MS)]
        self.assertEqual(policy("redundant", busy, self.state(), first=1000, unscheduled=0, **args)[0], 1)
        self.assertEqual(policy("late", busy, self.state(), first=4000, unscheduled=0, **args)[0], NONE)

    def test_sequence_numbers_wrap(self):
        state = self.state(copied=U32_MAX - 99)
        self.assertEqual(policy("copy", self.SUBS, state, sent=400, snd_nxt=100, snd_una=-200), (1, 200))
        self.assertEqual(policy("copy", self.SUBS, state, sent=400, snd_nxt=100, snd_una=50), (1, 50))

    def test_at_random_never_a_stopped_or_busy_one_or_more_than_there_is(self):
        rand = rng("redundant")
        for _ in range(CASES):
            subs = [sub(i + 1, rand.randrange(10**9), idle=rand.random() < 0.5, flight=rand.randrange(3),
                        stopped=rand.random() < 0.3) for i in range(rand.randint(0, 4))]
            alone, acked = rand.randrange(10_000), rand.randrange(12_000)
            sent, nxt = 20_000, rand.getrandbits(32)
            state = State(lead=rand.randint(0, 4), other=rand.randint(0, 4), copied=(nxt - alone) & U32_MAX)
            args = {"sent": sent, "snd_nxt": nxt, "snd_una": nxt - acked, "unscheduled": 0,
                    "first": rand.choice((0, 15_000, 10**9))}
            copy, count = policy("copy", subs, state, **args)
            if copy != NONE:
                self.assertTrue(subs[copy][7] and not subs[copy][8])
                self.assertNotEqual(subs[copy][0], state.lead)
                self.assertTrue(0 < count <= acked)
            choice = policy("redundant", subs, state, **args)[0]
            self.assertTrue(choice in (NONE, DEFER) or subs[choice][7])
