# SPDX-License-Identifier: GPL-2.0
"""What counts as a loss that was foreseen, and what as a stop for nothing."""

import math
import os
import statistics
import tempfile
import unittest

import base     # noqa: F401  pylint: disable=unused-import

import foreseen
from units import BadInput

SECOND = 1000 // foreseen.STEP_MS


def steps(*parts):
    """Of (seconds, value) in turn."""
    return [value for seconds, value in parts for _ in range(round(seconds * SECOND))]


def trace(*parts):
    """Of (seconds, dBm) in turn; None: nothing is heard."""
    levels = steps(*parts)
    return foreseen.Trace([-90 if dbm is None else dbm for dbm in levels],
                          [-90 if dbm is None else dbm for dbm in levels],
                          [dbm is not None for dbm in levels])


class Truth(unittest.TestCase):
    """When the path is lost"""

    def test_half_a_second(self):
        self.assertEqual(foreseen.lost(trace((2, -60), (0.45, -81), (2, -60)), -80),
                         steps((4.45, False)))
        self.assertEqual(foreseen.lost(trace((2, -60), (0.5, -81), (2, -60)), -80),
                         steps((2, False), (0.5, True), (2, False)))

    def test_silence(self):
        self.assertEqual(foreseen.lost(trace((2, -60), (1, None), (2, -60)), -95),
                         steps((2, False), (1, True), (2, False)))

    def test_back(self):
        self.assertEqual(foreseen.lost(trace((2, -60), (1, -81), (2, -78), (1, -77)), -80),
                         steps((2, False), (3, True), (1, False)))


class Rule(unittest.TestCase):
    """The one to beat"""

    def test_rule(self):
        found = foreseen.stopped_by_rule(trace((1, -70), (1, -79), (1, -78), (1, -77), (1, -70)), -80)
        # the mean of six is below -78 with the sixth; it ends with the 13th mean from -77 on
        self.assertEqual(found.index(True), SECOND + 5)
        self.assertEqual(found.count(True), 15 + 20 + 5 + 9)

    def test_nothing_heard(self):
        self.assertTrue(foreseen.stopped_by_rule(trace((1, -79), (5, None)), -80)[-1])


class Scores(unittest.TestCase):
    """The figures of one trace, worked out by hand"""

    def figures(self, is_lost, is_stopped):
        """Of one trace."""
        score = foreseen.Score()
        score.add(is_lost, is_stopped)
        return score

    def test_foreseen(self):
        is_lost = steps((10, False), (2, True), (8, False))
        for lead, kind in ((0.05, "late"), (0.1, "foreseen"), (5, "foreseen"), (5.05, "early")):
            found = self.figures(is_lost, steps((10 - lead, False), (lead + 2, True), (8, False)))
            self.assertEqual((found.losses, getattr(found, kind), found.false), (1, 1, 0), kind)
            self.assertAlmostEqual(found.leads_s[0], lead)
            self.assertAlmostEqual(found.unused_s, lead)

    def test_missed(self):
        found = self.figures(steps((10, False), (2, True)), steps((10.1, False), (1.9, True)))
        self.assertEqual((found.missed, found.false, found.foreseen), (1, 0, 0))

    def test_false(self):
        found = self.figures(steps((20, False), (2, True)),
                             steps((5, False), (1, True), (5, False), (1, True), (10, False)))
        self.assertEqual((found.missed, found.false), (1, 2))
        self.assertAlmostEqual(found.figures()["false_per_hour"], 2 * 3600 / 22)
        # one that ends less than a second before the loss isn't
        found = self.figures(steps((20, False), (2, True)), steps((18.5, False), (1, True), (2.5, False)))
        self.assertEqual((found.missed, found.false), (1, 0))


class Drawn(unittest.TestCase):
    """Levels that are drawn"""

    def test_without_shadowing(self):
        drawn = foreseen.drawn("walks away", 0, 1)
        self.assertAlmostEqual(drawn.means[0], foreseen.THRESHOLD_DBM + 30 * math.log10(70 / 20))
        fades = [level - mean for level, mean in zip(drawn.levels, drawn.means)]
        self.assertLess(statistics.pstdev(fades), 1.2)

    def test_shadowing_and_fading(self):
        traces = [foreseen.drawn("sits at 60 %", 4, number) for number in range(60)]
        middle = foreseen.THRESHOLD_DBM + 30 * math.log10(1 / 0.6)
        shadows = [mean - middle for drawn in traces for mean in drawn.means[::400]]
        self.assertLess(abs(statistics.pstdev(shadows) - 4), 0.7)
        fades = [level - mean for drawn in traces for level, mean in zip(drawn.levels, drawn.means)]
        self.assertTrue(1.5 < statistics.pstdev(fades) < 4, statistics.pstdev(fades))
        self.assertEqual(foreseen.drawn("sits at 60 %", 4, 7), traces[7])


class Recorded(unittest.TestCase):
    """Levels from a file"""

    HEAD = "t_s,ap,client,distance_m,speed_ms,channel_mhz,lap,rssi_dbm,rate_mbps,received_bytes\n"

    def test_file(self):
        rows = "".join(f"{s},a,b,1,2.0,2437,0,{-100 if s == 3 else -60 - s},1,1\n" for s in range(7))
        with tempfile.TemporaryDirectory() as folder:
            os.mkdir(os.path.join(folder, "wifi-levels"))
            with open(os.path.join(folder, "wifi-levels", "x.csv"), "w", encoding="utf-8") as file:
                file.write(self.HEAD + rows)
            found = foreseen.recordings(folder)
            # from a folder beside it, too
            os.mkdir(os.path.join(folder, "cellular"))
            self.assertEqual(foreseen.recordings(os.path.join(folder, "cellular")), found)
        self.assertEqual(list(found), ["a b"])
        heard = found["a b"].heard
        self.assertEqual(heard.count(False), SECOND)
        self.assertEqual(heard.index(False), round(2.5 * SECOND))
        self.assertAlmostEqual(found["a b"].means[4 * SECOND + SECOND // 2], -64.5)

    def test_none(self):
        with tempfile.TemporaryDirectory() as folder, self.assertRaises(BadInput):
            foreseen.recordings(folder)


if __name__ == "__main__":
    unittest.main()
