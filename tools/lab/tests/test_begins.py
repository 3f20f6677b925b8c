# SPDX-License-Identifier: GPL-2.0
"""On which path connections begin."""

import os
import tempfile
import unittest

import base     # noqa: F401  pylint: disable=unused-import

import begins
import drawn
import links
import runs
import sweep
from scenario import Scenario, parse_path
from units import BadInput

PATHS = (parse_path("10mbit,50ms"), parse_path("5mbit,5ms"), parse_path("100mbit,10ms"))


class Begins(unittest.TestCase):
    """begins.py"""

    def test_names(self):
        self.assertEqual(begins.parse("given,learned,given"), ["given", "learned"])
        for text in ("", "best", "given,"):
            with self.assertRaisesRegex(BadInput, "--first"):
                begins.parse(text)

    def test_rule(self):
        # 4 * 10 ms + 64 KB at 5 Mbit/s is 145 ms, 4 * 20 ms + 64 KB at 100 Mbit/s 85
        self.assertEqual(begins.by_rule(PATHS), 2)
        self.assertEqual(begins.by_rule(PATHS[:2]), 1)
        self.assertEqual(round(begins.answer_us(PATHS[1])), 40_000 + 104_858)

    def test_jobs(self):
        scenario = Scenario(paths=PATHS)
        jobs = begins.jobs_of(runs.jobs_of(scenario, ["minfct"], True, 1, False),
                              ["given", "oracle"])
        self.assertEqual([job.name for job in jobs],
                         ["path 0 alone", "path 1 alone", "path 2 alone", "minfct",
                          "minfct+oracle"])
        self.assertEqual([job.scenario.begins for job in jobs], [0, 0, 0, 0, 2])
        self.assertEqual({job.scheduler for job in jobs[3:]}, {"minfct"})
        self.assertEqual(jobs[4].scenario.alone(1).begins, 0)

    def test_given_is_as_ever(self):
        jobs = runs.jobs_of(Scenario(paths=PATHS), ["default"], True, 2, False)
        self.assertEqual(begins.jobs_of(jobs, ["given"]), jobs)

    def test_endpoints(self):
        given, other = (links.endpoints(PATHS, False, first) for first in (0, 2))
        self.assertEqual(given, ["mptcp endpoint flush",
                                 "mptcp endpoint add 10.0.1.2 dev c1 subflow",
                                 "mptcp endpoint add 10.0.2.2 dev c2 subflow"])
        self.assertEqual(other, ["mptcp endpoint flush",
                                 "route add 10.0.0.1/32 dev c2 metric 1 src 10.0.2.2",
                                 "mptcp endpoint add 10.0.0.2 dev c0 subflow",
                                 "mptcp endpoint add 10.0.1.2 dev c1 subflow"])

    def test_learned(self):
        with tempfile.TemporaryDirectory() as folder:
            guest = begins.PathsGuest(folder, "xfer", "", __file__)
            guest.links(PATHS)
            guest.run(Scenario(paths=PATHS), "default")
            guest.finish()
            texts = {}
            for name in os.listdir(folder):
                with open(os.path.join(folder, name), encoding="utf-8") as text:
                    texts[name] = text.read()
        # What has a route of its own isn't pamsd's, nor would be what is in a subnet.
        for line in texts["client.ip"].splitlines():
            self.assertFalse(line.startswith("route") and "/0 " not in line, line)
            self.assertFalse(line.startswith("addr") and "/32 " not in line and "/128 " not in line,
                             line)
        self.assertNotIn("endpoint", texts["endpoints.ip"])
        self.assertIn("paths", texts["client.conf"])
        self.assertNotIn("server.conf", texts)
        self.assertTrue(texts["pamsd"].strip())

    def test_told(self):
        with tempfile.TemporaryDirectory() as folder:
            begins.PathsGuest(folder, "xfer", "", __file__, told=True)
            with open(os.path.join(folder, "client.conf"), encoding="utf-8") as text:
                client = text.read()
            with open(os.path.join(folder, "server.conf"), encoding="utf-8") as text:
                server = text.read()
        self.assertIn("paths", client)
        self.assertIn("reporter {", client)
        self.assertEqual(client.count("control ="), 1)
        self.assertIn("peer client", server)


class Drawn(unittest.TestCase):
    """The scenarios for it, in drawn.py."""

    def test_sizes(self):
        for half in ("tune", "report"):
            several = drawn.several(5, 16, half, "first")
            self.assertEqual([one.scenario.bytes_max if one.warm_up else 0 for one in several],
                             [16_000, 100_000, 1_000_000, 0] * 2)
            for one in several:
                self.assertEqual(drawn.named(one.name), one)
                self.assertEqual(len(one.scenario.paths), 2)

    def test_first_path_is_any(self):
        several = drawn.several(5, 200, "all", "first")
        better = sum(begins.by_rule(one.scenario.paths) == 0 for one in several)
        self.assertTrue(80 < better < 120)

    def test_compared(self):
        rows = [{"name": str(i), "text": "", "part": "", "single_s": 1.0, "joined_s": 1.0,
                 "time_s": {"minfct": given, "minfct+learned": learned}}
                for i, (given, learned) in enumerate(((2.0, 1.0), (1.0, 1.2)))]
        self.assertEqual([ratio for ratio, _ in sweep.ratios(rows, "minfct+learned",
                                                             sweep.against_given)], [1.2, 0.5])
        self.assertEqual(sweep.ratios(rows, "minfct", sweep.against_given), [])


if __name__ == "__main__":
    unittest.main()
