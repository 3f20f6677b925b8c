# SPDX-License-Identifier: GPL-2.0
"""Which pairs of recorded links run, and what is made of their times."""

import os
import shlex
import tempfile
import unittest
from dataclasses import replace

import base     # noqa: F401  pylint: disable=unused-import

import cli
import drawn
import pairs
import sweep
from runs import jobs_of
from units import BadInput

NAMES = ("A-LTE", "B-LTE", "C-LTE", "D-LTE", "E-UMTS")


def _row(name, kind, times, alone, part=""):
    return {"name": name, "kind": kind, "part": part, "time_s": times, "single_s": min(alone),
            "joined_s": min(alone), "alone_s": alone, "tail_s": times, "single_tail_s": min(alone), "bound_s": None, "bound_counts": False,
            "duplicates": dict.fromkeys(times, 0), "fell_back": dict.fromkeys(times, 0)}


ROWS = [_row("a+b.0.1M", "LTE + LTE", {"default": 2.0, "pams": 1.0, "minfct": 1.2}, [3.0, 1.0]),
        _row("b+a.0.page", "LTE + LTE", {"default": 2.0, "pams": 1.0, "minfct": 0.5}, [1.0, 3.0],
             "later"),
        _row("steps-1+steady.train", "steps", {"default": 1.0, "pams": 1.0, "minfct": 2.0},
             [2.0, 4.0])]


class Pairs(unittest.TestCase):
    """pairs.py"""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()     # pylint: disable=consider-using-with
        self.addCleanup(self.folder.cleanup)

    def fill(self, names=NAMES):
        """With recordings of these names; the folder."""
        for number, name in enumerate(names, 1):
            for way in ("down", "up"):
                with open(os.path.join(self.folder.name, f"{name}.{way}"), "w",
                          encoding="ascii") as out:
                    out.write(f"{number}\n90000\n")
        return self.folder.name

    def test_pairs(self):
        several = pairs.over_recordings(self.fill())
        names = [one.name for _, one in several]
        self.assertEqual(len(names), len(set(names)))
        self.assertEqual(len(names), 3 * pairs.PAIRS * pairs.OFFSETS * 2 * (len(pairs.SIZES) + 1))
        self.assertEqual({kind for kind, _ in several},
                         {"Wi-Fi + LTE", "LTE + LTE", "LTE + UMTS"})
        self.assertEqual(names, [one.name for _, one in pairs.over_recordings(self.folder.name)])
        for name in names:      # either first
            (one, other), rest = name.split(".", 1)[0].split("+"), name.split(".", 1)[1]
            self.assertIn(f"{other}+{one}.{rest}", names)

    def test_alone_once(self):
        """A link alone is the same run in whatever pair it is."""
        alone = {}
        for _, one in pairs.over_recordings(self.fill()):
            scenario = one.scenario.alone(0)
            alone.setdefault(one.name.split("+")[0], set()).add(replace(
                scenario, extra=None))
        self.assertEqual(len(alone["wifi"]), len(pairs.SIZES) + 1)
        self.assertTrue(all(len(found) <= pairs.OFFSETS * (len(pairs.SIZES) + 1)
                            for found in alone.values()))

    def test_again(self):
        """The command makes the same transfers."""
        for _, one in [*pairs.over_recordings(self.fill()), *pairs.over_drawn()]:
            words = shlex.split(drawn.command(one, ["default"]))[1:]
            parsed = cli.scenario_of(cli._parser().parse_args(words))  # pylint: disable=W0212
            self.assertEqual(parsed, one.scenario)

    def test_refusals(self):
        for folder in (self.folder.name, os.path.join(self.folder.name, "none")):
            with self.assertRaises(BadInput):
                pairs.over_recordings(folder)

    def test_who_runs(self):
        one = pairs.over_drawn()[0][1]
        jobs = sweep.jobs_of(one, list(pairs.SCHEDULERS))
        self.assertEqual([job.name for job in jobs],
                         ["path 0 alone", "path 1 alone", "default", "pams", "minfct"])
        self.assertEqual(len(jobs_of(one.scenario, ["default"], True, 1, False)), 3)

    def test_groups(self):
        self.assertEqual([(title, len(rows)) for title, rows in pairs.groups_of(ROWS)],
                         [("all over recordings", 2), ("the better first", 1),
                          ("the worse first", 1), ("LTE + LTE", 2), ("1M", 1),
                          ("later pages", 1), ("steps", 1)])

    def test_line(self):
        self.assertEqual(pairs.line_of(ROWS[:1], "minfct"),
                         ["1.200", "1", "1.20", "1", "0.600", "1.200", "1.20", "0"])

    def test_folded(self):
        self.assertEqual(pairs.folded(ROWS[:1], "minfct")[0],
                         ["all over recordings", "1", "2.000", "1.000",
                          "1.200", "1", "1.20", "1", "0.600", "1.200", "1.20", "0"])

    def test_worst(self):
        self.assertEqual(pairs.worst(ROWS, 1), [["a+b.0.1M", "1.20", "2.000", "1.000", "1.200",
                                                 "3.000", "1.000"]])


if __name__ == "__main__":
    unittest.main()
