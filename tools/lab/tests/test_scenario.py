# SPDX-License-Identifier: GPL-2.0
"""Paths, changes and quantities as the user writes them."""

import unittest

import base     # noqa: F401  pylint: disable=unused-import

import units
from scenario import Path, Scenario, parse_change, parse_helper, parse_path, timeline
from units import BadInput


class Quantities(unittest.TestCase):
    """units.py"""

    def test_good(self):
        self.assertEqual(units.rate_bps("8mbit"), 8_000_000)
        self.assertEqual(units.rate_bps("6.46Mbit"), 6_460_000)
        self.assertEqual(units.rate_bps("1gbit"), 10**9)
        self.assertEqual(units.time_us("1.5ms"), 1500)
        self.assertEqual(units.time_us("2s"), 2_000_000)
        self.assertEqual(units.size_bytes("256K"), 256_000)
        self.assertEqual(units.size_bytes("64Ki"), 65536)
        self.assertEqual(units.size_range("1K-1M"), (1000, 10**6))
        self.assertAlmostEqual(units.share("0.5%"), 0.005)

    def test_bad(self):
        for parse, text in ((units.rate_bps, "8"), (units.rate_bps, "fast"),
                            (units.rate_bps, "1bit"), (units.rate_bps, "-1mbit"),
                            (units.time_us, "10"), (units.time_us, "2h"),
                            (units.size_bytes, "1X"), (units.size_range, "2K-1K"), (units.size_range, "-5"),
                            (units.share, "0.5"), (units.share, "101%")):
            with self.subTest(text=text), self.assertRaises(BadInput) as caught:
                parse(text)
            self.assertIn(text, str(caught.exception))
            self.assertNotIn("\n", str(caught.exception))

    def test_text(self):
        self.assertEqual(units.rate_text(8_000_000), "8 Mbit/s")
        self.assertEqual(units.time_text(10_000), "10 ms")
        self.assertEqual(units.size_text(256_000), "256 KB")


class Paths(unittest.TestCase):
    """parse_path and parse_change"""

    def test_path(self):
        self.assertEqual(parse_path("8mbit,10ms,50"), Path(8_000_000, 10_000, 50))
        self.assertEqual(parse_path("8mbit,10ms"), Path(8_000_000, 10_000, 100))
        path = parse_path("1gbit,20ms,loss=1%,jitter=2ms,up=10mbit,backup")
        self.assertEqual((path.loss, path.jitter_us, path.up_bps, path.backup),
                         (0.01, 2000, 10**7, True))

    def test_default_limit_holds_a_round_trip(self):
        # 1 Gbit/s for 20 ms on the way and 40 ms in the queue: 7.5 MB, frames of 1514 bytes
        self.assertEqual(parse_path("1gbit,20ms").limit_packets, 4954)

    def test_bad_path(self):
        for text in ("8mbit", "8mbit,10", "8mbit,10ms,0", "8mbit,10ms,100,speed=1",
                     "8mbit,10ms,loss=2", "8mbit,10ms,link=down", "8mbit,10ms,queue=red",
                     "8mbit,10ms,rival=1", "8mbit,10ms,radio", "8mbit,10ms,radio=7,loss=1%",
                     "8mbit,10ms,queue=cake,jitter=1ms", "8mbit,10ms,queue=cake,burst=9ms", "8mbit,10ms,radio=7,queue=cake"):
            with self.subTest(text=text), self.assertRaises(BadInput) as caught:
                parse_path(text)
            self.assertIn(text, str(caught.exception))

    def test_change(self):
        change = parse_change("2s,1,rate=1mbit,loss=1%", 2)
        self.assertEqual((change.at_us, change.path), (2_000_000, 1))
        self.assertEqual(change.values, {"rate_bps": 10**6, "loss": 0.01})

    def test_bad_change(self):
        for text in ("2s,1", "2s,2,rate=1mbit", "2,1,rate=1mbit", "2s,1,backup",
                     "2s,1,link=off"):
            with self.subTest(text=text), self.assertRaises(BadInput):
                parse_change(text, 2)


class Helpers(unittest.TestCase):
    """parse_helper, and what changes of its segments"""

    def test_helper(self):
        path = parse_helper("10mbit:20ms,5mbit:5ms:200:loss=2%,split,bank=500ms")
        self.assertEqual((path.rate_bps, path.delay_us), (5_000_000, 25_000))
        self.assertEqual((path.helper.pipe.limit_packets, path.helper.pipe.loss), (200, 0.02))
        self.assertEqual((path.helper.split, path.helper.bank_us), (True, 500_000))
        self.assertTrue(parse_helper("10mbit:20ms,5mbit:5ms").helper.split)
        self.assertFalse(parse_helper("10mbit:20ms,5mbit:5ms").helper.pays)
        self.assertTrue(parse_helper("10mbit:20ms,5mbit:5ms,pays").helper.pays)
        self.assertFalse(parse_helper("10mbit:20ms,5mbit:5ms,router").helper.split)

    def test_bad_helper(self):
        for text in ("10mbit:20ms", "10mbit,20ms,5mbit,5ms", "10mbit:20ms,5mbit",
                     "10mbit:20ms,5mbit:5ms,spilt", "10mbit:20ms,5mbit:5ms:queue=cake",
                     "10mbit:20ms,5mbit:5ms:rival", "10mbit:20ms,5mbit:5ms,router,bank=1s"):
            with self.subTest(text=text), self.assertRaises(BadInput) as caught:
                parse_helper(text)
            self.assertIn(text, str(caught.exception))

    def test_changes_of_segments(self):
        paths = (parse_path("5mbit,25ms"), parse_helper("10mbit:20ms,5mbit:5ms"))
        changes = [parse_change(text, 2, {1}) for text in
                   ("1s,1.pipe,rate=1mbit", "2s,1.hs,delay=30ms", "3s,1.hs,link=down")]
        states = timeline(Scenario(paths=paths, changes=tuple(changes)))
        self.assertEqual([state[1][1].rate_bps for state in states],
                         [5_000_000, 1_000_000, 1_000_000, 1_000_000])
        self.assertEqual(states[2][1][1].delay_us, 35_000)
        self.assertTrue(states[3][1][1].down)

    def test_change_says_which_segment(self):
        for text in ("2s,1,rate=1mbit", "2s,0.pipe,rate=1mbit", "2s,1.wifi,rate=1mbit"):
            with self.subTest(text=text), self.assertRaises(BadInput):
                parse_change(text, 2, {1})


class Timeline(unittest.TestCase):
    """Changes add up, and come in the order of time."""

    def test_states(self):
        scenario = Scenario(
            paths=(parse_path("5mbit,5ms"), parse_path("5mbit,5ms")),
            changes=(parse_change("2s,1,rate=1mbit", 2), parse_change("1s,1,link=down", 2),
                     parse_change("2s,1,link=up", 2)))
        states = timeline(scenario)
        self.assertEqual([at for at, _ in states], [0, 10**6, 2 * 10**6])
        self.assertTrue(states[1][1][1].down)
        self.assertFalse(states[2][1][1].down)
        self.assertEqual(states[2][1][1].rate_bps, 10**6)

    def test_alone_keeps_its_own_changes(self):
        scenario = Scenario(
            paths=(parse_path("5mbit,5ms"), parse_path("6mbit,5ms,backup")),
            changes=(parse_change("1s,0,rate=1mbit", 2), parse_change("2s,1,rate=2mbit", 2)))
        alone = scenario.alone(1)
        self.assertEqual([path.rate_bps for path in alone.paths], [6_000_000])
        self.assertFalse(alone.paths[0].backup)
        self.assertEqual(alone.first_path, 1)   # it loses the same packets
        self.assertEqual([(c.at_us, c.path) for c in alone.changes], [(2_000_000, 0)])


if __name__ == "__main__":
    unittest.main()
