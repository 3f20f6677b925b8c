# SPDX-License-Identifier: GPL-2.0
"""What counts as a fall of a rate, and what a value says of it."""

import unittest

import base     # noqa: F401  pylint: disable=unused-import

import falls


class Falls(unittest.TestCase):
    """Seconds of 8 Mbit/s, then less."""

    def test_begins_when_two_seconds_are_below_a_quarter(self):
        found = falls.falls([8000] * 8 + [1900] * 2)
        self.assertEqual([second for second, fall in found.items() if fall], [8])

    def test_a_slow_link_falls_no_further(self):
        self.assertEqual(falls.falls([1900] * 8 + [0] * 2), {})

    def test_values(self):
        self.assertEqual(falls.auc([(1, True), (2, False), (3, False)]), 1)
        self.assertEqual(falls.auc([(3, True), (2, False), (3, False), (4, False)]), 0.5)
        self.assertEqual(falls.auc([(1, True), (1, False)]), 0.5)
        self.assertIsNone(falls.auc([(1, False)]))

    def test_of_a_second_what_is_known_before(self):
        rows = [{"down_kbps": 8000, "rsrp_dbm": -80 - second, "rsrq_db": "-", "snr_db": ""}
                for second in range(8)] + [{"down_kbps": 0, "rsrp_dbm": -99}] * 2
        found = falls.of_drive(rows)
        self.assertIn((-87, True), found["RSRP"])
        self.assertIn((-3, True), found["RSRP, change in 3 s"])
        self.assertNotIn("RSRQ", found)


if __name__ == "__main__":
    unittest.main()
