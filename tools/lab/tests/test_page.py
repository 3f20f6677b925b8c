# SPDX-License-Identifier: GPL-2.0
"""The results page, made of figures that are made up here."""

import unittest

import base     # noqa: F401  pylint: disable=unused-import

import drawn
import page
import quick

NAMES = ("default", "pams", "minfct")


def _row(one, part, single_s, times):
    return {"name": one.name, "part": part, "text": drawn.text(one), "single_s": single_s,
            "joined_s": single_s, "alone_s": [single_s], "bound_s": single_s / 2,
            "bound_counts": not part, "time_s": dict(zip(NAMES, times)),
            "tail_s": dict(zip(NAMES, times)), "single_tail_s": single_s,
            "duplicates": dict.fromkeys(NAMES, 0.01), "fell_back": dict.fromkeys(NAMES, 0), "again": "", "run": ""}


def _data():
    rows = [_row(one, "", 2.0, (2.0, 1.5, 1.0)) for one in drawn.several(1, 8)]
    for one in drawn.several(1, 16, kind="pages"):
        rows += [_row(one, "first", 1.0, (4.0, 3.0, 1.4)),
                 _row(one, "later", 1.0, (4.0, 3.0, 0.8))]
    table = {"title": "T", "source": "S", "unit": "s", "columns": ["default", "pams"],
             "note": "", "digits": 2, "better": "less", "rows": [
                 {"label": "one to 1 Mbit/s", "paper": "",
                  "cells": {"default": 9.0, "pams": 4.5}}]}
    decision = {"default": 100.0, "pams": 190.0, "minfct": 350.0}
    return {"sweep": {"seed": 1, "count": 8, "rows": rows, "schedulers": list(NAMES)},
            "seeds": {"tables": [table]},
            "recorded": {"left_out": True, "rows": [{**rows[0], "kind": "steps",
                                                     "alone_s": [2.0, 3.0]}]},
            "first": {"seed": 1, "count": 16, "rows": _firsts()},
            "video": {"text": "V", "tables": [{
                "title": "fades", "columns": ["bitrate", "stalls", "stalled", "switches", "starts"],
                "rows": [["path 0 alone", "2.00", 0, "", 0, ""], ["default", "4.00", 1, "", 0, ""],
                         ["minfct", "3.00", 2, "", 0, ""]]}]},
            "calls": {"cases": ["steady", "lossy"], "alone_s": [0.1, 0.1],
                      "late_s": {"default": [0.4, 0.4], "minfct": [0.1, 0.4]}},
            "cost": {"schedulers": list(decision), "decision_ns": {2: decision}, "decision_among_paths_ns": decision,
                     "throughput_byteps": {"default": [1e9], "pams": [9e8], "minfct": [8e8]},
                     "memory_bytes": (1024, 128)}}


def _firsts():
    """Learned, the second half is slower than given."""
    rows = []
    for number, one in enumerate(drawn.several(1, 16, kind="first")):
        times = {"minfct": 1.0, "minfct+learned": 0.5 if number < 8 else 1.25}
        rows += [{**_row(one, part, 1.0, ()), "time_s": times} for part in one.parts()]
    return rows


class Page(unittest.TestCase):
    """page.py"""

    def test_first(self):
        lines = page._first(_data()["first"])       # pylint: disable=protected-access
        self.assertIn("| 16 KB | minfct | 4 | 1.000 | 0.791 | - | 50% | 1.25 | 0.791 | 50% | 1.25 |",
                      lines)
        self.assertIn("| page of 40 objects | default | 4 | - | - | - | - | - | - | - | - |", lines)

    def test_goals(self):
        met = {(what, name): said for what, name, _, _, said in
               page._goal_rows(_data())}     # pylint: disable=protected-access
        self.assertEqual(met["later pages, worst against the best path from its join on",
                             "minfct"], "met")
        self.assertEqual(met["collapse, 4 MB over 5/25 + 5/25, s", "pams"], "met")
        self.assertEqual(met["collapse, 4 MB over 5/25 + 5/25, s", "minfct"], "not met")
        self.assertEqual(met["scenarios over 1.05 of the best path from its join on", "minfct"], "met")
        self.assertEqual(met["time per decision against default, 2 subflows", "minfct"],
                         "not met")

    def test_text(self):
        text = page.text(_data(), "6.12")
        for part in ("odd numbers: 4 scenarios", "all (8): /default", "first pages (2): /default",
                     "later pages (2): /default"):
            self.assertIn(part, text)

    def test_recordings_left_out(self):
        """The page says so, and where they are had."""
        data = _data()
        self.assertIn("so that they are left out. Their source: mahimahi", page.text(data, "6.12"))
        data["recorded"]["left_out"] = False
        self.assertNotIn("left out", page.text(data, "6.12").split("## Recorded")[1])

    def test_four_users_lead(self):
        text = page.text(_data(), "6.12")
        self.assertLess(text.index("## For whom"), text.index("## The sweep"))
        self.assertIn("| web pages | 0.26 of the time | 1.06; p99 1.06 | 2 of 4 over 1.05; "
                      "worst 1-p0", text)
        self.assertIn("| video | 0.75 of the bitrate | 1.50 of the bitrate; 2 stalls | "
                      "least 1.50: fades |", text)
        self.assertIn("| calls | 0.50 of the latest byte's lateness | 2.00 | "
                      "1 of 2 over 1.05; worst 4.00: lossy |", text)

    def test_recorded(self):
        text = page.text(_data(), "6.12")
        self.assertIn("| steady | 100 | 400 | 100 |", text)

    def test_what_a_table_leaves_out(self):
        """The paper's figure where all rows have the same one."""
        data = _data()
        row = data["seeds"]["tables"][0]["rows"][0]
        self.assertIn("|  | default | pams |\n", page.text(data, "6.12"))
        row["paper"] = "-5 %"
        self.assertIn("less is better; the paper: -5 %.", page.text(data, "6.12"))
        data["seeds"]["tables"][0]["rows"].append({**row, "paper": ""})
        self.assertIn("| one to 1 Mbit/s | -5 % | 9.00 | **4.50** |", page.text(data, "6.12"))

    def test_video(self):
        self.assertIn("| fades | 2.00 | 4.00, stalls: 1 | 3.00, stalls: 2 |", page.text(_data(), "6.12"))

    def test_only_the_reported_half(self):
        data = _data()
        data["sweep"]["rows"] = [row for row in data["sweep"]["rows"]
                                 if row["name"][-1] in "13579"]
        text = page.text(data, "6.12")
        self.assertIn("odd numbers: 4 scenarios", text)
        self.assertNotIn("all (", text)


class Segments(unittest.TestCase):
    """quick.py"""

    def test_busy_ones_only(self):
        def result(sent, buffers, size):
            return {"mib": {"server": {"TcpOutSegs": sent, "IpOutRequests": buffers}},
                    "paths": [{"down_bytes": size * 10, "down_packets": 10},
                              {"down_bytes": 0, "down_packets": 0}]}

        self.assertEqual(quick.segments([result(4000, 1000, 1400), result(2000, 1000, 1500),
                                         result(10, 10, 60_000)]), (3.0, 1500.0))
        self.assertEqual(quick.segments([]), (None, None))


if __name__ == "__main__":
    unittest.main()
