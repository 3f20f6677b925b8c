# SPDX-License-Identifier: GPL-2.0
"""The bound with slow start and joins, against values worked out by hand."""

import unittest

import base     # noqa: F401  pylint: disable=unused-import

import oracle
from drawn import Drawn
from scenario import Scenario, parse_path


def cold(paths, size, direction="down", is_cold=True):
    """One request."""
    return Drawn("0-000", Scenario(
        paths=tuple(map(parse_path, paths)), bytes_min=size, bytes_max=size, requests=1,
        cold=is_cold, direction=direction), 0)


def cold_s(*args):
    return oracle.cold_s(cold(*args))


def unforeseen_s(paths, size, again):
    return oracle.unforeseen_s(cold(paths, size), again)


class Oracle(unittest.TestCase):
    """rate * 1448/1514 / 8: 8 Mbit/s carry 956,407 B/s"""

    def test_first_window(self):
        # 10 ms there, 10 ms back, 9,564 B take 10 ms
        self.assertAlmostEqual(cold_s(["8mbit,10ms"], 9564), 0.030, 4)

    def test_slow_start(self):
        # 14,480 and 28,960 B, then 14,480 more in the third round trip, at 95.6407e6 B/s
        self.assertAlmostEqual(cold_s(["800mbit,10ms"], 57920), 0.02 + 2 * 0.02 + 0.000151, 4)

    def test_the_path_is_the_limit(self):
        # the second window would be more than 20 ms of it
        self.assertAlmostEqual(cold_s(["8mbit,10ms"], 95641 + 14480), 0.02 + 0.02 + 0.1, 3)

    def test_a_path_has_to_join(self):
        # path 1 sends from 2 + 2 * (10 + 2) ms on, 2 ms later it has arrived: 14,480 B at
        # once as good as; path 0 by then 28 - 20 ms: 7,651 B
        self.assertAlmostEqual(cold_s(["8mbit,10ms", "800mbit,2ms"], 7651 + 14480), 0.0282, 3)

    def test_upload(self):
        # no request, but a receipt
        self.assertAlmostEqual(cold_s(["8mbit,10ms"], 9564, "up"), 0.030, 4)

    def test_first_window_stays(self):
        # path 1 could carry it all at 2 + 2 * 12 ms and later, but of the 14,480 B on path 0 only
        # a tenth of 20,000 may go again: 12,480 B take 13.05 ms more than the 20
        self.assertAlmostEqual(unforeseen_s(["8mbit,10ms", "800mbit,2ms"], 20_000, 0.1), 0.03305, 4)
        self.assertAlmostEqual(unforeseen_s(["8mbit,10ms", "800mbit,2ms"], 20_000, 0.5),
                               cold_s(["8mbit,10ms", "800mbit,2ms"], 20_000), 6)

    def test_warm(self):
        self.assertIsNone(cold_s(["8mbit,10ms"], 9564, "down", False))


if __name__ == "__main__":
    unittest.main()
