# SPDX-License-Identifier: GPL-2.0
"""What costlier subflows are used for: by hand, and at random."""

import unittest

from unit import Credit, U32_MAX, U64_MAX, UNKNOWN, cost, cost_sub as sub, rng, spread

RATE = 1_000_000        # bytes per second: 20,000 bytes are on their way in 20 ms
CASES = 20_000
FULL = {"flight": 20_000, "room": 0}


class TestNever(unittest.TestCase):
    def test_without_differences_nothing_changes(self):
        for level in (0, 3):
            subs = [sub(level, RATE, 20_000), sub(level, RATE, 60_000)]
            self.assertEqual(cost(subs, waiting=10**9), [15_000, 15_000])
            self.assertEqual(cost(subs, again=True), [15_000, 15_000])

    def test_spared_while_a_cheaper_one_lives(self):
        subs = [sub(1, RATE, 20_000), sub(0, RATE, 60_000, **FULL), sub(2, RATE, 20_000)]
        self.assertEqual(cost(subs, waiting=10**9), [None, 0, None])

    def test_not_once_it_is_lost(self):
        subs = [sub(2, RATE, 20_000), sub(0, RATE, 60_000, stopped=True), sub(1, RATE, 20_000)]
        self.assertEqual(cost(subs, waiting=10**9), [None, 15_000, 15_000])

    def test_nor_when_all_are(self):
        subs = [sub(1, RATE, 20_000, stopped=True), sub(0, RATE, 20_000, stopped=True)]
        self.assertEqual(cost(subs), [15_000, 15_000])

    def test_duplicates_never(self):
        subs = [sub(0, RATE, 20_000, **FULL), sub(1, RATE, 20_000)]
        self.assertEqual(cost(subs, delay_ms=1, waiting=10**9, again=True), [0, None])


class TestDelay(unittest.TestCase):
    """A window of 20,000 bytes is full; in 500 ms arrive what leaves in 490 ms."""
    BUSY, COSTLY = sub(0, RATE, 20_000, **FULL), sub(1, RATE, 20_000)

    def test_the_surplus_overflows(self):
        subs = [self.BUSY, self.COSTLY]
        self.assertEqual(cost(subs, delay_ms=500, waiting=490_000), [0, None])
        self.assertEqual(cost(subs, delay_ms=500, waiting=491_499), [0, None])
        self.assertEqual(cost(subs, delay_ms=500, waiting=491_500), [0, 1500])
        self.assertEqual(cost(subs, delay_ms=500, waiting=10**9), [0, 15_000])

    def test_a_cheaper_one_is_filled_first(self):
        idle = sub(0, RATE, 20_000, room=1500)
        self.assertEqual(cost([idle, self.COSTLY], delay_ms=500, waiting=10**9), [1500, None])
        # unless what it holds takes longer
        behind = sub(0, RATE, 20_000, flight=600_000, room=1500)
        self.assertEqual(cost([behind, self.COSTLY], delay_ms=500, waiting=10**9),
                         [1500, 15_000])

    def test_levels(self):
        """The second one takes 490,000 bytes, too."""
        middle = sub(1, RATE, 20_000, **FULL)
        subs = [self.BUSY, middle, sub(2, RATE, 20_000)]
        self.assertEqual(cost(subs, delay_ms=500, waiting=980_000), [0, 0, None])
        self.assertEqual(cost(subs, delay_ms=500, waiting=985_000), [0, 0, 5000])


class TestRisk(unittest.TestCase):
    """A path at risk is used for what the others don't deliver within 100 ms."""
    SAFE, RISKY = sub(0, RATE, 20_000, **FULL), sub(0, RATE, 10_000, at_risk=True)

    def test_avoided_while_another_delivers_soon(self):
        self.assertEqual(cost([self.RISKY, sub(0, RATE, 60_000)]), [None, 15_000])
        self.assertEqual(cost([self.RISKY, self.SAFE], unscheduled=90_000), [None, 0])

    def test_the_surplus_goes_there(self):
        self.assertEqual(cost([self.RISKY, self.SAFE], unscheduled=91_500), [1500, 0])
        self.assertEqual(cost([self.RISKY, self.SAFE]), [15_000, 0])
        self.assertEqual(cost([self.RISKY, sub(0, RATE, 300_000)]), [15_000, 15_000])

    def test_not_without_another_nor_for_what_is_sent_again(self):
        self.assertEqual(cost([self.RISKY, self.RISKY], unscheduled=1), [15_000, 15_000])
        self.assertEqual(cost([self.RISKY, sub(0, RATE, 20_000, stopped=True)]), [15_000, 15_000])
        self.assertEqual(cost([self.RISKY, sub(0, RATE, 60_000)], again=True), [15_000, 15_000])

    def test_nor_when_all_are_lost(self):
        lost = sub(0, RATE, 20_000, stopped=True, at_risk=True)
        self.assertEqual(cost([lost, lost], percent=150), [15_000, 15_000])

    def test_a_cost_counts_before_it(self):
        self.assertEqual(cost([self.RISKY, sub(1, RATE, 20_000)], unscheduled=1), [15_000, None])
        dear = sub(1, RATE, 20_000, at_risk=True)
        self.assertEqual(cost([sub(0, RATE, 60_000, **FULL), dear], waiting=10**9), [0, None])


class TestFactor(unittest.TestCase):
    def share(self, subs, percent, sent=40_000):
        state = Credit()
        cost(subs, percent=percent, sent=sent, lead=1, state=state)
        return state.credit / sent

    def test_share_is_what_the_factor_needs(self):
        subs = [sub(0, 10 * RATE, 20_000, flight=200_000, room=0), sub(1, 20 * RATE, 60_000)]
        # 30 / 1.5 = 20: half of it on the costly one
        self.assertAlmostEqual(self.share(subs, 150), 0.5, 2)
        self.assertAlmostEqual(self.share(subs, 100), 2 / 3, 2)
        self.assertAlmostEqual(self.share(subs, 200), 1 / 3, 2)
        self.assertEqual(self.share(subs, 300), 0)
        self.assertEqual(self.share(subs, 10_000), 0)

    def test_an_unknown_path_is_tried(self):
        subs = [sub(0, RATE, 20_000, **FULL), sub(1, RATE // 10, 60_000, limit=UNKNOWN, growing=True)]
        self.assertEqual(self.share(subs, 150), 1)
        # and one whose window grows counts with what it can take
        subs[1] = sub(1, RATE // 10, 60_000, limit=2 * RATE, growing=True)
        self.assertAlmostEqual(self.share(subs, 150), 0.5, 2)

    def test_credit_is_spent(self):
        subs, state = [sub(0, RATE, 20_000, **FULL), sub(1, 2 * RATE, 60_000)], Credit()
        self.assertEqual(cost(subs, percent=150, state=state), [0, None])
        self.assertEqual(cost(subs, percent=150, sent=20_000, lead=1, state=state), [0, 10_000])
        self.assertEqual(cost(subs, percent=150, sent=40_000, lead=2, state=state), [0, None])
        self.assertEqual(state.credit, 0)

    def test_what_was_saved_is_bounded(self):
        subs, state = [sub(0, RATE, 20_000, **FULL), sub(1, 2 * RATE, 60_000)], Credit()
        for i in range(1, 100):
            cost(subs, percent=150, sent=i * 10**6, lead=1, state=state)
        self.assertEqual(state.credit, 65536)

    def test_what_the_cheap_one_delivers_as_soon_is_not_given_away(self):
        """A packet over the other takes 30.75 ms, and 46 ms are allowed: 36,125 bytes."""
        subs = [sub(0, RATE, 20_000, **FULL), sub(1, 2 * RATE, 60_000)]
        for unscheduled, room in ((30_000, None), (45_000, 8875)):
            state = Credit(credit=60_000)
            got = cost(subs, percent=150, unscheduled=unscheduled, state=state)
            self.assertEqual(got, [0, room])


class TestAnything(unittest.TestCase):
    def test_a_cheapest_one_that_lives_is_never_spared(self):
        rand = rng("cost")
        for _ in range(CASES):
            subs = [sub(rand.randint(0, 3), spread(rand, 125, U32_MAX), spread(rand, 50, 10**7),
                        limit=rand.choice((UNKNOWN, spread(rand, 125, U32_MAX))),
                        window=spread(rand, 1500, U32_MAX), flight=spread(rand, 0, U32_MAX),
                        room=spread(rand, 0, U32_MAX), stopped=rand.random() < 0.2,
                        growing=rand.random() < 0.3, at_risk=rand.random() < 0.2)
                    for _ in range(rand.randint(1, 6))]
            state = Credit(sent=0, credit=rand.randint(-65536, 65536))
            got = cost(subs, delay_ms=rand.choice((0, spread(rand, 1, 3_600_000))),
                       percent=rand.choice((0, spread(rand, 100, 10_000))),
                       waiting=spread(rand, 0, 2**40), unscheduled=spread(rand, 0, U64_MAX),
                       sent=spread(rand, 0, 2**50), lead=rand.randint(0, 6),
                       again=rand.random() < 0.2, state=state)
            least = min((one[0] for one in subs if not one[7]), default=None)
            for one, room in zip(subs, got):
                if one[7] or (one[0] == least and not one[9]):
                    self.assertEqual(room, one[6])
                else:
                    self.assertTrue(room is None or room <= one[6])
            self.assertLessEqual(abs(state.credit), 65536)


if __name__ == "__main__":
    unittest.main()
