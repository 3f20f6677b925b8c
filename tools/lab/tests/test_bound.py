# SPDX-License-Identifier: GPL-2.0
"""The fluid bound against values worked out by hand."""

import unittest

import base     # noqa: F401  pylint: disable=unused-import

import bound
from scenario import Scenario, parse_change, parse_helper, parse_path


def transfer_s(paths, size, changes=(), **more):
    """The bound in s."""
    paths = tuple(parse_path(path) for path in paths)
    scenario = Scenario(paths=paths, changes=tuple(
        parse_change(change, len(paths)) for change in changes))
    return bound.transfer_us(scenario, size, **more) / 1e6


class Bound(unittest.TestCase):
    """g = rate * 1448/1514 / 8 bytes per s"""

    def test_one_path(self):
        # 10 ms there, 1 MB at 0.95641e6 B/s, 10 ms back
        self.assertAlmostEqual(transfer_s(["8mbit,10ms"], 10**6), 1.06558, 4)

    def test_two_paths(self):
        # 0.95641e6 (T - 0.02) + 0.59775e6 (T - 0.05) = 1e6: T = 1.049016e6 / 1.554161e6
        self.assertAlmostEqual(transfer_s(["8mbit,10ms", "5mbit,40ms"], 10**6), 0.67497, 4)

    def test_slow_path_too_late_to_help(self):
        # 256 KB at 5.97754e6 B/s is over before the other path's 55 ms
        self.assertAlmostEqual(transfer_s(["50mbit,5ms", "10mbit,50ms"], 256_000),
                               0.01 + 0.042827, 5)

    def test_helper_banks(self):
        # In the 1st second 1.19551 MB reach the helper and half of that the client; the rest
        # and what comes at a tenth keep the pipe busy for 1.25 s more, then 0.11955 MB per s
        paths = (parse_helper("10mbit:0ms,5mbit:0ms"),)
        change = parse_change("1s,0.hs,rate=1mbit", 1, {0})
        for size, expected_s in ((2.25 * 597754, 2.25), (2.25 * 597754 + 119551, 3.25)):
            self.assertAlmostEqual(bound.transfer_us(
                Scenario(paths=paths, changes=(change,)), size) / 1e6, expected_s, 4)
        # steady, it is a path of the sum of the delays and the least rate
        self.assertAlmostEqual(
            bound.transfer_us(Scenario(paths=(parse_helper("10mbit:6ms,8mbit:4ms"),)),
                              10**6) / 1e6, transfer_s(["8mbit,10ms"], 10**6), 5)

    def test_change_of_rate(self):
        # until 2 s: 2 * 0.59775e6 * 1.975 s, then 0.59775e6 + 0.11955e6
        self.assertAlmostEqual(transfer_s(["5mbit,25ms", "5mbit,25ms"], 4 * 10**6,
                                          ["2s,1,rate=1mbit"]),
                               2.025 + (4e6 - 2 * 0.597754e6 * 1.975) / 0.717305e6, 3)

    def test_link_down_and_up(self):
        # 8 Mbit/s from 10 ms to 490 ms, nothing until 1 s, the rest after that
        early = 0.48 * 0.956407e6
        self.assertAlmostEqual(
            transfer_s(["8mbit,10ms"], 10**6, ["500ms,0,link=down", "1s,0,link=up"]),
            1.0 + (1e6 - early) / 0.956407e6 + 0.01, 4)

    def test_never(self):
        self.assertEqual(transfer_s(["8mbit,10ms"], 10**6, ["500ms,0,link=down"]),
                         float("inf"))

    def test_upload(self):
        # no request to wait for, but the receipt's way back
        self.assertAlmostEqual(transfer_s(["8mbit,10ms"], 10**6, upload=True), 1.06558, 4)
        self.assertAlmostEqual(transfer_s(["8mbit,10ms,up=1mbit"], 10**5, upload=True),
                               0.02 + 1e5 / 0.119551e6, 4)

    def test_start_after_the_change(self):
        self.assertAlmostEqual(
            transfer_s(["8mbit,10ms"], 10**6, ["1s,0,rate=80mbit"], start_us=2e6),
            0.02 + 0.104558, 4)

    def test_loss_takes_its_share(self):
        self.assertAlmostEqual(transfer_s(["8mbit,10ms,loss=50%"], 10**6),
                               0.02 + 2 * 1.04558, 4)

    def test_empty_transfer(self):
        self.assertAlmostEqual(transfer_s(["8mbit,10ms"], 0), 0.02, 5)

    def test_requests(self):
        scenario = Scenario(paths=(parse_path("8mbit,10ms"),), requests=3)
        self.assertEqual([round(us, -3) for us in bound.requests_us(scenario)],
                         [1_066_000] * 3)
        self.assertEqual(bound.requests_us(Scenario(
            paths=scenario.paths, bytes_min=1, bytes_max=2)), [])


if __name__ == "__main__":
    unittest.main()
