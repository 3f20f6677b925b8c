# SPDX-License-Identifier: GPL-2.0
"""PAD: values worked out by hand, and the whole range against big numbers."""

import itertools
import unittest
from fractions import Fraction

import unit
from unit import (NS_PER_S, NS_PER_US, OWD_MAX_US, QUEUED_MAX_BYTES, RATE_MAX_BYTEPS,
                  RATE_MIN_BYTEPS, U32_MAX, U64_MAX, carried_bytes, direct_ns, helper_ns, rng,
                  spread)

CASES = 200_000
MS = 1_000_000      # ns


def direct(rate_byteps, owd_us, queued_bytes):
    return direct_ns([(rate_byteps, owd_us, queued_bytes)])[0]


def helper(hs, pipe):
    return helper_ns([(hs, pipe)])[0]


class TestDirectByHand(unittest.TestCase):
    def test_empty_queue_is_the_delay(self):
        self.assertEqual(direct(1_000_000, 10_000, 0), 10 * MS)

    def test_queue_drains_at_the_rate(self):
        # 8 Mbit/s carry 100,000 bytes in 100 ms
        self.assertEqual(direct(1_000_000, 10_000, 100_000), 110 * MS)

    def test_rounds_down(self):
        # 1 byte at 300 MB/s takes 3.33 ns, 2 bytes 6.67 ns
        self.assertEqual(direct(300_000_000, 0, 1), 3)
        self.assertEqual(direct(300_000_000, 0, 2), 6)

    def test_ends_of_the_range(self):
        # 2^31 bytes at 125 B/s: 17,179,869.184 s, and 60 s
        self.assertEqual(direct(RATE_MIN_BYTEPS, OWD_MAX_US, QUEUED_MAX_BYTES),
                         17_179_869_184 * MS + 60_000 * MS)
        # 2^31 bytes at 12.5 GB/s: 0.17179869184 s
        self.assertEqual(direct(RATE_MAX_BYTEPS, 1, QUEUED_MAX_BYTES), 171_798_691 + 1000)

    def test_clamps_what_is_outside(self):
        self.assertEqual(direct(0, 0, 1), 8 * MS)
        self.assertEqual(direct(U64_MAX, 0, 25), 2)
        self.assertEqual(direct(1000, U32_MAX, 0), 60_000 * MS)
        self.assertEqual(direct(RATE_MIN_BYTEPS, 0, U32_MAX), 17_179_869_184 * MS)


class TestHelperByHand(unittest.TestCase):
    def test_pipe_limits(self):
        # HS 10 Mbit/s, pipe 5: T1 = 62500 / 1250000 = 50 ms,
        # Bp' = 187500 - 625000 * 0.05 + 62500 = 218750, T2 = 350 ms,
        # 50 + 20 + 350 + 5; or 20 + 5 + 250000 / 625000
        self.assertEqual(helper((1_250_000, 20_000, 62_500), (625_000, 5_000, 187_500)), 425 * MS)

    def test_hs_path_limits(self):
        # HS 1 Mbit/s, pipe 10: T1 = 62500 / 125000 = 500 ms, in which the pipe
        # could carry 625000 > 125000 + 62500, so Bp' = 0: 500 + 20 + 0 + 5
        self.assertEqual(helper((125_000, 20_000, 62_500), (1_250_000, 5_000, 125_000)), 525 * MS)

    def test_boundary(self):
        # Thp/Thhs = 10 = Bp/Bs + 1 at Bp = 9 Bs; a byte more costs 1/1250000 s
        hs = (125_000, 20_000, 62_500)
        self.assertEqual(helper(hs, (1_250_000, 5_000, 562_499)), 525 * MS)
        self.assertEqual(helper(hs, (1_250_000, 5_000, 562_500)), 525 * MS)
        self.assertEqual(helper(hs, (1_250_000, 5_000, 562_501)), 525 * MS + 800)

    def test_nothing_queued(self):
        self.assertEqual(helper((125_000, 20_000, 0), (1_250_000, 5_000, 0)), 25 * MS)

    def test_server_queue_empty(self):
        # Bp/Bs is infinite: the pipe limits, 125000 / 1250000 = 100 ms
        self.assertEqual(helper((125_000, 20_000, 0), (1_250_000, 5_000, 125_000)), 125 * MS)

    def test_pipe_empty(self):
        # equal rates, Bp = 0: the boundary again, 62500 / 625000 = 100 ms
        self.assertEqual(helper((625_000, 1_000, 62_500), (625_000, 2_000, 0)), 103 * MS)

    def test_largest(self):
        most = (RATE_MIN_BYTEPS, OWD_MAX_US, QUEUED_MAX_BYTES)
        self.assertEqual(helper(most, most), 2 * 17_179_869_184 * MS + 120_000 * MS)
        self.assertLess(helper(most, most), 2**55)


class TestCarriedByHand(unittest.TestCase):
    def test_values(self):
        for span_ns, rate_byteps, carried in (
                (0, RATE_MAX_BYTEPS, 0), (NS_PER_S, 125, 125), (8 * MS - 1, 125, 0),
                (8 * MS, 125, 1), (1, RATE_MAX_BYTEPS, 12), (2, RATE_MAX_BYTEPS, 25),
                (100 * MS, 1_000_000, 100_000),
                (2_999_999_999, RATE_MAX_BYTEPS, 37_499_999_987),
                (2**55, RATE_MAX_BYTEPS, 450_359_962_737_049_600)):
            with self.subTest(span_ns=span_ns, rate_byteps=rate_byteps):
                self.assertEqual(carried_bytes([(span_ns, rate_byteps)])[0], carried)


# The equations as published, in exact fractions, in seconds.

def seconds(hop):
    return Fraction(hop[1], 10**6)


def paper_direct(path):
    return seconds(path) + Fraction(path[2], path[0])


def paper_helper(hs, pipe):
    t1 = Fraction(hs[2], hs[0])
    pipe_then = max(Fraction(0), pipe[2] - pipe[0] * t1 + hs[2])
    return t1 + seconds(hs) + pipe_then / pipe[0] + seconds(pipe)


def floor_ns(value):
    return value.numerator * NS_PER_S // value.denominator


def clamped(hop):
    return (min(max(hop[0], RATE_MIN_BYTEPS), RATE_MAX_BYTEPS), min(hop[1], OWD_MAX_US),
            min(hop[2], QUEUED_MAX_BYTES))


def integer_direct(hop):
    rate, owd_us, queued = hop
    return owd_us * NS_PER_US + queued * NS_PER_S // rate


def integer_helper(hs, pipe):
    return ((hs[1] + pipe[1]) * NS_PER_US
            + max(hs[2] * NS_PER_S // hs[0], (hs[2] + pipe[2]) * NS_PER_S // pipe[0]))


class TestRange(unittest.TestCase):
    def hop(self, rand):
        return (spread(rand, RATE_MIN_BYTEPS, RATE_MAX_BYTEPS), spread(rand, 1, OWD_MAX_US),
                spread(rand, 0, QUEUED_MAX_BYTES))

    def same(self, cases, found, expected):
        wrong = next((i for i, one in enumerate(expected) if one != found[i]), None)
        if wrong is not None:
            self.fail(f"{cases[wrong]}: {found[wrong]}, expected {expected[wrong]} "
                      f"(seed {unit.SEED})")

    def test_direct(self):
        rand = rng("direct")
        cases = [self.hop(rand) for _ in range(CASES)]
        self.same(cases, direct_ns(cases), [integer_direct(hop) for hop in cases])

    def test_helper(self):
        rand = rng("helper")
        cases = [(self.hop(rand), self.hop(rand)) for _ in range(CASES)]
        self.same(cases, helper_ns(cases), [integer_helper(*pair) for pair in cases])

    def test_direct_as_published(self):
        rand = rng("published direct")
        cases = [self.hop(rand) for _ in range(CASES // 20)]
        self.same(cases, direct_ns(cases), [floor_ns(paper_direct(hop)) for hop in cases])

    def test_helper_as_published(self):
        rand = rng("published helper")
        cases = []
        for _ in range(CASES // 20):
            hs, pipe = self.hop(rand), self.hop(rand)
            if rand.random() < 0.5:     # near the boundary Bp = Bs (Thp/Thhs - 1)
                edge = hs[2] * pipe[0] // hs[0] - hs[2] + rand.randint(-2, 2)
                pipe = pipe[:2] + (min(max(edge, 0), QUEUED_MAX_BYTES),)
            cases.append((hs, pipe))
        self.same(cases, helper_ns(cases), [floor_ns(paper_helper(*pair)) for pair in cases])

    def test_extremes(self):
        """Every combination of ends, and of values beyond them."""
        rates = (0, 1, 124, 125, 126, RATE_MAX_BYTEPS - 1, RATE_MAX_BYTEPS, RATE_MAX_BYTEPS + 1,
                 2**63, U64_MAX)
        owds = (0, 1, OWD_MAX_US - 1, OWD_MAX_US, OWD_MAX_US + 1, U32_MAX)
        queued = (0, 1, 2**31 - 1, 2**31, 2**31 + 1, U32_MAX)
        hops = list(itertools.product(rates, owds, queued))
        self.same(hops, direct_ns(hops), [integer_direct(clamped(hop)) for hop in hops])
        pairs = list(itertools.product(hops, hops))
        limits = {hop: clamped(hop) for hop in hops}
        self.same(pairs, helper_ns(pairs),
                  [integer_helper(limits[hs], limits[pipe]) for hs, pipe in pairs])

    def test_carried(self):
        rand = rng("carried")
        cases = [(spread(rand, 0, 2**55), spread(rand, 0, RATE_MAX_BYTEPS)) for _ in range(CASES)]
        cases += itertools.product((0, 1, NS_PER_S - 1, NS_PER_S, NS_PER_S + 1, 2**55 - 1, 2**55),
                                   (0, 1, 125, RATE_MAX_BYTEPS - 1, RATE_MAX_BYTEPS))
        self.same(cases, carried_bytes(cases), [span * rate // NS_PER_S for span, rate in cases])

    def test_carried_clamps(self):
        self.assertEqual(carried_bytes([(U64_MAX, U64_MAX)])[0],
                         2**55 * RATE_MAX_BYTEPS // NS_PER_S)


if __name__ == "__main__":
    unittest.main()
