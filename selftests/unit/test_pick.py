# SPDX-License-Identifier: GPL-2.0
"""The choices of MinRTT, minPAD and PAMS, and what PAMS sends again: by hand, at random."""

import unittest
from fractions import Fraction

import unit
from unit import (DEFER, NONE, NS_PER_S, OWD_MAX_US, QUEUED_MAX_BYTES, RATE_MAX_BYTEPS,
                  RATE_MIN_BYTEPS, SUBFLOWS_MAX, U32_MAX, U64_MAX, direct_ns, late_pams, pick,
                  picks, rng, spread, sub)

CASES = 60_000
SCHEDULERS = ("minrtt", "minpad", "pams")
MS = 1_000_000      # ns


def busy(pad_ns, rate_byteps, **more):
    return sub(pad_ns, rate_byteps, idle=False, **more)


class TestNothingToChoose(unittest.TestCase):
    def test_no_subflow(self):
        for name in SCHEDULERS:
            self.assertEqual(pick(name, []), NONE)

    def test_no_idle_subflow(self):
        for name in SCHEDULERS:
            self.assertEqual(pick(name, [busy(MS, 1000), busy(2 * MS, 1000)]), NONE)

    def test_one_idle_subflow(self):
        for name in SCHEDULERS:
            self.assertEqual(pick(name, [sub(60_000 * MS, srtt_us=60_000_000)]), 0)


class TestMinRtt(unittest.TestCase):
    def test_lowest_rtt_whatever_the_pad(self):
        self.assertEqual(pick("minrtt", [sub(5 * MS, srtt_us=40_000), sub(900 * MS, srtt_us=10_000),
                                         sub(1 * MS, srtt_us=10_001)]), 1)

    def test_busy_one_is_passed_over(self):
        self.assertEqual(pick("minrtt", [sub(srtt_us=40_000), sub(srtt_us=10_000, idle=False)]), 0)

    def test_never_waits(self):
        self.assertEqual(pick("minrtt", [sub(900 * MS, srtt_us=900_000), busy(MS, 10**9)]), 0)

    def test_first_of_equals(self):
        self.assertEqual(pick("minrtt", [sub(srtt_us=50), sub(srtt_us=40), sub(srtt_us=40)]), 1)


class TestMinPad(unittest.TestCase):
    def test_lowest_pad_whatever_the_rtt(self):
        self.assertEqual(pick("minpad", [sub(50 * MS, srtt_us=1), sub(49 * MS, srtt_us=90_000)]), 1)

    def test_busy_one_is_passed_over(self):
        self.assertEqual(pick("minpad", [busy(MS, 1000), sub(50 * MS), sub(40 * MS)]), 2)

    def test_never_waits(self):
        self.assertEqual(pick("minpad", [busy(MS, 10**9), sub(60_000 * MS)]), 1)

    def test_difference_of_a_nanosecond(self):
        self.assertEqual(pick("minpad", [sub(2**54), sub(2**54 - 1)]), 1)


class TestPams(unittest.TestCase):
    # a busy subflow of 8 Mbit/s whose PAD is 100 ms less carries 100,000 bytes until then
    SUBS = [busy(20 * MS, 1_000_000), sub(120 * MS)]

    def test_waits_when_the_faster_one_carries_it_all(self):
        self.assertEqual(pick("pams", self.SUBS, 99_999), DEFER)
        self.assertEqual(pick("pams", self.SUBS, 1), DEFER)
        self.assertEqual(pick("pams", self.SUBS, 0), DEFER)

    def test_sends_when_it_does_not(self):
        self.assertEqual(pick("pams", self.SUBS, 100_000), 1)
        self.assertEqual(pick("pams", self.SUBS, 100_001), 1)

    def test_sends_when_the_amount_is_unbounded(self):
        self.assertEqual(pick("pams", self.SUBS, U64_MAX), 1)

    def test_faster_ones_add_up(self):
        # 100 ms * 1 MB/s + 50 ms * 2 MB/s = 200,000
        subs = [busy(20 * MS, 1_000_000), sub(120 * MS), busy(70 * MS, 2_000_000)]
        self.assertEqual(pick("pams", subs, 199_999), DEFER)
        self.assertEqual(pick("pams", subs, 200_000), 1)

    def test_slower_and_equal_busy_ones_do_not_count(self):
        subs = [busy(120 * MS, 10**9), busy(121 * MS, 10**9), sub(120 * MS)]
        self.assertEqual(pick("pams", subs, 1), 2)

    def test_idle_ones_do_not_count(self):
        self.assertEqual(pick("pams", [sub(20 * MS, 10**9), sub(120 * MS, 10**9)], 1), 0)

    def test_compares_with_the_best_idle_one(self):
        # the target is 1 (60 ms), not 2: 40 ms * 1 MB/s = 40,000
        subs = [busy(20 * MS, 1_000_000), sub(60 * MS), sub(500 * MS)]
        self.assertEqual(pick("pams", subs, 39_999), DEFER)
        self.assertEqual(pick("pams", subs, 40_000), 1)

    def test_nothing_in_flight_is_nothing_to_wait_for(self):
        subs = [busy(20 * MS, 1_000_000, in_flight=False), sub(120 * MS)]
        self.assertEqual(pick("pams", subs, 1), 1)
        subs += [busy(70 * MS, 2_000_000)]      # 50 ms * 2 MB/s: this one alone counts
        self.assertEqual(pick("pams", subs, 99_999), DEFER)
        self.assertEqual(pick("pams", subs, 100_000), 1)

    def test_never_waits_for_less_than_a_byte(self):
        # 7 ms at 125 B/s: 0.875 bytes, so none
        self.assertEqual(pick("pams", [busy(20 * MS, 125), sub(27 * MS)], 0), 1)

    def test_eight_subflows(self):
        # seven busy: (80 - 10 i) ms * i MB/s for i = 1..7 is
        # 70 + 120 + 150 + 160 + 150 + 120 + 70 = 840 thousand bytes
        subs = [busy(10 * i * MS, i * 1_000_000) for i in range(1, 8)] + [sub(80 * MS)]
        self.assertEqual(pick("pams", subs, 839_999), DEFER)
        self.assertEqual(pick("pams", subs, 840_000), 7)

    def test_as_many_as_a_view_holds_at_the_highest_rate(self):
        # no overflow: each carries 2^55 ns * 12.5 GB/s = 450,359,962,737,049,600 bytes
        subs = [busy(0, RATE_MAX_BYTEPS)] * (SUBFLOWS_MAX - 1) + [sub(2**55)]
        diff = (SUBFLOWS_MAX - 1) * 450_359_962_737_049_600
        self.assertLess(diff, 2**64)
        self.assertEqual(pick("pams", subs, diff - 1), DEFER)
        self.assertEqual(pick("pams", subs, diff), SUBFLOWS_MAX - 1)


class TestLatePams(unittest.TestCase):
    """Whose data is late, and r, how much of it: (maxPAD - minPAD) * Th."""
    # idle at 20 ms; 1 Mbit/s at 120 ms: 100 ms * 125 kB/s = 12,500 bytes
    BEST = sub(20 * MS, 1_000_000, 20_000, in_flight=False)
    LATE = busy(120 * MS, 125_000)

    def test_what_it_carries_in_the_difference(self):
        self.assertEqual(late_pams([self.BEST, self.LATE]), (1, 12_500))
        # 100 ms and a nanosecond at 12.5 GB/s: 12 bytes more
        self.assertEqual(late_pams([self.BEST, busy(120 * MS + 1, RATE_MAX_BYTEPS)]),
                         (1, 1_250_000_012))

    def test_whether_it_has_room_or_not(self):
        self.assertEqual(late_pams([self.BEST, sub(120 * MS, 125_000)]), (1, 12_500))

    def test_not_by_less_than_eta(self):
        # 20 % of 20 ms are 4 ms
        self.assertEqual(late_pams([self.BEST, busy(24 * MS, 10**9)]), (NONE, None))
        self.assertEqual(late_pams([self.BEST, busy(24 * MS + 1, 10**9)]), (1, 4_000_001))
        self.assertEqual(late_pams([self.BEST, busy(24 * MS, 10**9)], 19), (1, 4_000_000))

    def test_any_eta(self):
        self.assertEqual(late_pams([self.BEST, busy(20 * MS, 125_000)], 0), (NONE, None))
        self.assertEqual(late_pams([self.BEST, busy(20 * MS + 1, 10**9)], 0), (1, 1))
        # 10,000 % of 20 ms are 2 s
        self.assertEqual(late_pams([self.BEST, busy(2_020 * MS, 1000)], 10_000), (NONE, None))
        self.assertEqual(late_pams([self.BEST, busy(2_020 * MS + 1, 1000)], 10_000), (1, 2_000))

    def test_the_highest_of_several(self):
        subs = [busy(119 * MS, 10**9), self.BEST, self.LATE, sub(21 * MS, 10**9)]
        self.assertEqual(late_pams(subs), (2, 12_500))

    def test_the_lowest_that_has_room(self):
        # 10 ms has none, so 60 ms it is: 60 ms * 125 kB/s
        subs = [busy(10 * MS, 10**9), sub(60 * MS, 10**9), self.LATE]
        self.assertEqual(late_pams(subs), (2, 7_500))
        self.assertEqual(late_pams([busy(20 * MS, 10**9), self.LATE]), (NONE, None))

    def test_only_what_holds_data(self):
        free = sub(500 * MS, 10**9, idle=False, in_flight=False)
        self.assertEqual(late_pams([self.BEST, free]), (NONE, None))
        self.assertEqual(late_pams([self.BEST, free, self.LATE]), (2, 12_500))
        # held back by the host's own queue, or in TCP's recovery: nothing in flight as PAMS means
        held = sub(120 * MS, 125_000, idle=False, in_flight=False, outstanding=True)
        self.assertEqual(late_pams([self.BEST, held]), (1, 12_500))

    def test_not_what_was_sent_again(self):
        again = busy(500 * MS, 10**9, once=0)
        self.assertEqual(late_pams([self.BEST, again]), (NONE, None))
        self.assertEqual(late_pams([self.BEST, again, self.LATE]), (2, 12_500))

    def test_not_the_best_itself(self):
        self.assertEqual(late_pams([sub(20 * MS, 1_000_000)]), (NONE, None))
        self.assertEqual(late_pams([sub(120 * MS, 125_000), busy(20 * MS, 10**9)]), (NONE, None))
        self.assertEqual(late_pams([]), (NONE, None))

    def test_under_a_full_window_once_the_best_is_half_idle(self):
        # 20 ms * 1 MB/s: half of it is 10,000
        for room, found in ((10_000, (1, 12_500)), (9_999, (NONE, None))):
            best = sub(20 * MS, 1_000_000, 20_000, in_flight=False, room=room)
            self.assertEqual(late_pams([best, self.LATE], unscheduled=1), found, room)
            self.assertEqual(late_pams([best, self.LATE], unscheduled=0), (1, 12_500))

    def test_no_overflow(self):
        # 1.85 * 10^15 ns * 10,000 exceed 2^64. 2^55 ns are later by 1,847 %, less than 10,000
        best, most = 1_850_000_000_000_000, 2**55
        self.assertEqual(late_pams([sub(best), busy(most, RATE_MAX_BYTEPS)], 10_000), (NONE, None))
        self.assertEqual(late_pams([sub(best), busy(most, 10**9)], 1800),
                         (1, 2**55 - 1_850_000_000_000_000))
        self.assertEqual(late_pams([sub(0), busy(most, RATE_MAX_BYTEPS)], 10_000),
                         (1, 450_359_962_737_049_600))

    def test_by_definition(self):
        rand = rng("late pams")
        found = 0
        for _ in range(CASES // 10):
            subs = [sub(spread(rand, 0, 2**55), spread(rand, 0, RATE_MAX_BYTEPS),
                        spread(rand, 0, OWD_MAX_US), rand.random() < 0.5,
                        room=spread(rand, 0, U32_MAX), outstanding=rand.random() < 0.7)
                    for _ in range(rand.randint(0, rand.choice((2, 8, SUBFLOWS_MAX))))]
            eta, unscheduled = rand.randint(0, 10_000), rand.choice((0, 1, U64_MAX))
            expected = late_by_definition(subs, eta, unscheduled)
            self.assertEqual(late_pams(subs, eta, unscheduled), expected, (subs, eta, unscheduled))
            found += expected[0] >= 0
        self.assertGreater(found, CASES // 100)


# The schedulers' definitions once more, in big numbers.

def least(subs, value):
    idle = [i for i, one in enumerate(subs) if one[4]]
    return min(idle, key=lambda i: (value(subs[i]), i), default=NONE)


def diff_bytes(subs, target):
    pad_ns = subs[target][0]
    return sum((pad_ns - one[0]) * one[1] // NS_PER_S for one in subs
               if not one[4] and one[5] and one[0] < pad_ns)


def late_by_definition(subs, eta_percent, unscheduled):
    best = least(subs, lambda one: one[0])
    holders = [i for i, one in enumerate(subs) if one[6] and i != best]
    if best == NONE or not holders:
        return NONE, None
    latest = max(holders, key=lambda i: (subs[i][0], -i))
    best_ns, _, srtt_us, room = subs[best][:4]
    if unscheduled and 2 * room < srtt_us * subs[best][1] // 10**6:
        return NONE, None
    late_ns = subs[latest][0] - best_ns
    if late_ns <= 0 or late_ns * 100 <= best_ns * eta_percent:
        return NONE, None
    return latest, late_ns * subs[latest][1] // NS_PER_S


def reference(name, unscheduled, subs):
    target = least(subs, lambda one: one[2] if name == "minrtt" else one[0])
    if name == "pams" and target != NONE and diff_bytes(subs, target) > unscheduled:
        return DEFER
    return target


class TestRandom(unittest.TestCase):
    def view(self, rand):
        subs = [sub(spread(rand, 0, 2**55), spread(rand, RATE_MIN_BYTEPS, RATE_MAX_BYTEPS),
                    spread(rand, 0, OWD_MAX_US), rand.random() < 0.4, rand.random() < 0.8)
                for _ in range(rand.randint(0, rand.choice((2, 8, SUBFLOWS_MAX))))]
        unscheduled = spread(rand, 0, U64_MAX)
        target = least(subs, lambda one: one[0])
        if target != NONE and rand.random() < 0.5:  # about where the choice tips
            unscheduled = min(max(diff_bytes(subs, target) + rand.randint(-1, 1), 0), U64_MAX)
        return unscheduled, subs

    def test_by_definition(self):
        rand = rng("picks")
        views = [self.view(rand) for _ in range(CASES)]
        for name in SCHEDULERS:
            found = picks(name, views)
            for i, view in enumerate(views):
                if found[i] != reference(name, *view):
                    self.fail(f"{name} {view}: {found[i]} (seed {unit.SEED})")
        self.assertGreater(picks("pams", views).count(DEFER), CASES // 20)

    def test_never_waits_without_a_faster_one_in_flight(self):
        rand = rng("no waiting")
        views = [(unscheduled, [one[:5] + (0,) + one[6:] for one in subs])
                 for unscheduled, subs in (self.view(rand) for _ in range(CASES // 10))]
        self.assertEqual(picks("pams", views), picks("minpad", views))

    def test_as_published(self):
        """From hops to the choice, in exact fractions.

        PADs are rounded to a nanosecond, so the module's Diff may be off by what
        each busy subflow carries in one, and by the byte it is rounded down by.
        """
        rand = rng("published")
        for _ in range(CASES // 30):
            hops = [(spread(rand, RATE_MIN_BYTEPS, RATE_MAX_BYTEPS), spread(rand, 1, OWD_MAX_US),
                     spread(rand, 0, QUEUED_MAX_BYTES)) for _ in range(rand.randint(2, 8))]
            idle = [rand.random() < 0.5 for _ in hops]
            pads_ns = direct_ns(hops)
            subs = [sub(pads_ns[i], hop[0], 0, idle[i]) for i, hop in enumerate(hops)]
            target = pick("minpad", subs)
            if target == NONE:
                continue
            exact = [Fraction(owd, 10**6) + Fraction(queued, rate) for rate, owd, queued in hops]
            self.assertLess(exact[target] - min(exact[i] for i in range(len(hops)) if idle[i]),
                            Fraction(1, NS_PER_S))
            diff = sum((exact[target] - exact[i]) * hop[0] for i, hop in enumerate(hops)
                       if not idle[i] and exact[i] < exact[target])
            slack = sum(Fraction(hop[0], NS_PER_S) + 1 for hop in hops)
            if diff > slack:
                self.assertEqual(pick("pams", subs, int(diff - slack)), DEFER)
            self.assertEqual(pick("pams", subs, int(diff + slack) + 1), target)


if __name__ == "__main__":
    unittest.main()
