# SPDX-License-Identifier: GPL-2.0
"""Drives, their signal and path, and what is drawn of a predictor's errors."""

import math
import os
import unittest

import base     # noqa: F401  pylint: disable=unused-import

import drives
import fading
import loss
from scenario import Report

SIGNAL, STOP = fading.DRIVES


class Way(unittest.TestCase):
    """PLAMA's way past an access point"""

    def test_range_ends_at_2_s(self):
        self.assertAlmostEqual(fading.share(SIGNAL, 2000), 1, 9)
        # 13 m/s are 26 m before that: 69.282 - 26
        self.assertAlmostEqual(fading.share(SIGNAL, 0), math.hypot(10, 43.282) / 70, 4)

    def test_stop(self):
        self.assertAlmostEqual(fading.share(STOP, 10_000), 0.75, 9)

    def test_levels_without_fading(self):
        trace = dict(fading.levels(SIGNAL, 0, 1))
        self.assertAlmostEqual(trace[2000], -91, 6)
        # at a tenth of the range 30 dB more
        nearest = max(trace.values())
        self.assertAlmostEqual(nearest, -91 + 30 * math.log10(7), 1)

    def test_fading(self):
        trace = [dbm - clear for (_, dbm), (_, clear) in
                 zip(fading.levels(SIGNAL, 2, 7), fading.levels(SIGNAL, 0, 7))]
        spread = math.sqrt(sum(dbm ** 2 for dbm in trace) / len(trace))
        self.assertTrue(1.5 < spread < 2.5, spread)
        self.assertEqual(fading.levels(SIGNAL, 2, 7), fading.levels(SIGNAL, 2, 7))


class Path(unittest.TestCase):
    """What the level makes of the path"""

    def test_frame_loss(self):
        self.assertAlmostEqual(fading.frame_loss(-91), 0.5 ** 7, 9)
        self.assertLess(fading.frame_loss(-88), 1e-12)
        self.assertGreater(fading.frame_loss(-94), 0.98)

    def test_rate(self):
        self.assertEqual(fading.rate_bps(SIGNAL, 0), 25_000_000)
        self.assertEqual(fading.rate_bps(SIGNAL, 2000), 5_000_000)
        self.assertEqual(fading.rate_bps(SIGNAL, 3000), 5_000_000)

    def test_lost(self):
        trace = fading.levels(SIGNAL, 0, 1)
        # a step is below, and the next one, too
        self.assertEqual(fading.lost_ms(SIGNAL, trace), 2100)
        last = fading.changes(SIGNAL, trace)[-1]
        self.assertEqual((last.at_us, last.values), (2_100_000, {"down": True}))
        self.assertIsNone(fading.lost_ms(STOP, trace))

    def test_one_fade_is_not_the_end(self):
        self.assertIsNone(fading.lost_ms(SIGNAL, [(50, -92), (100, -90), (150, -92)]))


class Told(unittest.TestCase):
    """From the program's lines to reports"""

    def test_reports(self):
        lines = [{"at_ms": -300, "loss_ms": 2500, "spread_ms": 400},
                 {"at_ms": -100, "loss_ms": 2200, "spread_ms": 200},
                 {"at_ms": 500, "loss_ms": 100, "spread_ms": 90},
                 {"at_ms": 900, "no_loss": True}]
        self.assertEqual(fading.reports(lines), (
            Report(0, 0, {"loss-time": 2100, "loss-spread": 200}),  # later, at 0
            Report(525_000, 0, {"loss-time": 75, "loss-spread": 90}),
            Report(925_000, 0, {"loss-time": fading.TAKEN_BACK_MS})))

    @unittest.skipUnless(os.access(os.path.join(fading.host.TOP, "build/tools/pams-predict"),
                                   os.X_OK), "pams-predict isn't built")
    def test_predictions(self):
        program = os.path.join(fading.host.TOP, "build/tools/pams-predict")
        lines = fading.predictions(program, fading.levels(SIGNAL, 0, 1))
        last = [line for line in lines if line["at_ms"] < 1900][-1]
        # earlier by the margin of 1 dB (walk.c), at 2.4 dB a second; whole dBm are 3 % of the range
        self.assertAlmostEqual(last["at_ms"] + last["loss_ms"], 2000 - 1000 / 2.4, delta=150)


class Left(unittest.TestCase):
    """lab drives: when the server's kernel leaves the path"""

    def test_left(self):
        known = [(20, 1000, 100), (40, None, 0), (60, 300, 40)]
        steps = drives.left(known, 1.5, 120)
        self.assertEqual(len(steps), 24)
        # 300 ms less 60 of spread and 155 of queue and way
        self.assertEqual([5 * at for at, is_left in enumerate(steps) if is_left],
                         list(range(85, 120, 5)))

    def test_nothing_known(self):
        self.assertEqual(drives.left([], 2, 20), [False] * 4)


class Mistold(unittest.TestCase):
    """A predictor's errors, drawn"""

    def loss_times(self, errors, count=200):
        return [loss.mistold(loss.CASES[2], errors, seed).reports for seed in range(count)]

    def test_bias_and_spread(self):
        times = [told[0].values["loss-time"] for told in
                 self.loss_times(loss.Errors(bias_ms=100, spread_ms=50))]
        mean = sum(times) / len(times)
        self.assertAlmostEqual(mean, 2100, delta=12)
        spread = math.sqrt(sum((time - mean) ** 2 for time in times) / len(times))
        self.assertAlmostEqual(spread, 50, delta=8)

    def test_missed(self):
        told = self.loss_times(loss.Errors(missed=0.25))
        self.assertAlmostEqual(sum(not reports for reports in told) / len(told), 0.25, delta=0.08)

    def test_false_alarm(self):
        for reports in self.loss_times(loss.Errors(false_alarms=1), 20):
            right, alarm, back = reports
            self.assertEqual(right.values, {"loss-time": 2000})
            self.assertEqual(alarm.values, {"loss-time": loss.FALSE_ALARM_MS})
            self.assertEqual(back.at_us - alarm.at_us, 700_000)
            self.assertAlmostEqual(back.at_us / 1000 + back.values["loss-time"],
                                   max(2000, back.at_us / 1000), delta=1)

    def test_none(self):
        self.assertFalse(loss.Errors().any())
        self.assertTrue(loss.Errors(missed=0.1).any())


def row(lost, time_s, stall_s):
    """Of a name that all arrived."""
    return {"failed": 0, "lost": lost, "fct_s": time_s, "goodput_bps": 4e7 / time_s,
            "stall_s": stall_s, "stall_mean_s": stall_s / 2}


class Goals(unittest.TestCase):
    """What is called reached"""

    def judged(self, drive, **predicted):
        """How many aren't."""
        checks = loss.Checks()
        loss.check_drive(checks, drive, f"{drive.name} p", {
            f"{drive.name} default": row(90, 4.0, 2.0), f"{drive.name} p": row(80, 3.0, 0.4),
            f"{drive.name} p predicted": {**row(4, 3.05, 0.05), **predicted}})
        return sum(not good for good, _ in checks.found)

    def test_goals(self):
        self.assertEqual(self.judged(SIGNAL), 0)
        self.assertEqual(self.judged(SIGNAL, lost=8), 1)
        self.assertEqual(self.judged(SIGNAL, stall_s=0.31), 1)
        self.assertEqual(self.judged(SIGNAL, stall_mean_s=0.11), 1)
        self.assertEqual(self.judged(SIGNAL, goodput_bps=1e7), 1)
        self.assertEqual(self.judged(STOP), 0)
        self.assertEqual(self.judged(STOP, fct_s=3.1), 1)


if __name__ == "__main__":
    unittest.main()
