# SPDX-License-Identifier: GPL-2.0
"""Runs without a guest: what is kept, loaded, remembered and counted."""

import os
import tempfile
import unittest
from types import SimpleNamespace
from unittest import mock

import base     # noqa: F401  pylint: disable=unused-import

import boot
import demo
import drawn
import runs
import seeds
import sweep
from scenario import Scenario, parse_path
from units import BadInput

SCENARIO = Scenario(paths=(parse_path("8mbit,10ms"), parse_path("5mbit,40ms")))


class Kept(unittest.TestCase):
    """The folders of --keep and --trace"""

    def setUp(self):
        self.folder = self.enterContext(tempfile.TemporaryDirectory())
        self.means = SimpleNamespace(keep=self.folder)

    def names(self, jobs):
        """Of their folders, each of which only one job has."""
        found = [os.path.relpath(runs.kept_in(self.means, job), self.folder) for job in jobs]
        self.assertEqual(len(found), len(set(found)))
        return found

    def test_empty_at_first(self):
        """What an earlier guest appended to isn't counted again."""
        kept = os.path.join(self.folder, "pams-0")
        for _ in range(2):
            with boot.Folder(kept) as folder:
                self.assertEqual(os.listdir(folder), [])
                os.mkdir(os.path.join(folder, "uml"))
                with open(os.path.join(folder, "down0.lost"), "a", encoding="utf-8") as out:
                    out.write("3\n")
        self.assertEqual(sorted(os.listdir(kept)), ["down0.lost", "uml"])

    def test_in_the_way(self):
        """A file can't be a folder."""
        with self.assertRaisesRegex(BadInput, "can't keep a guest in .*test_runs.py"):
            boot.Folder(os.path.abspath(__file__))

    def test_one_scenario(self):
        """`lab run` has plain names."""
        self.assertEqual(self.names(runs.jobs_of(SCENARIO, ["pams"], True, 2, False)),
                         ["path-0-alone-0", "path-1-alone-0", "pams-0",
                          "path-0-alone-1", "path-1-alone-1", "pams-1"])

    def test_several_scenarios(self):
        """No two guests are in one folder."""
        several = drawn.several(1, 20, kind="all")
        names = self.names([job for one in several for job in sweep.jobs_of(one, ["pams"])])
        self.assertIn("1-p001-pams-0", names)

    def test_tables(self):
        """Other seeds and other scenarios under one name, one after the other."""
        ran = []

        def run_all(_means, jobs, _at_once, _progress):
            ran.extend(jobs)
            return [({"name": job.name, "mean_s": 1}, []) for job in jobs]

        lab = seeds.Lab(self.means, ["pams"], 1, None)
        with mock.patch.object(runs, "run_all", run_all):
            lab.over_seeds(lab.jobs(SCENARIO, True), 3)
            lab.times(seeds.collapse_scenario())
        self.assertEqual(len(self.names(ran)), 10)

    def test_demo(self):
        """Each case has the same schedulers."""
        with mock.patch.object(runs, "run_all", side_effect=StopIteration) as run_all, \
                mock.patch.object(demo, "_no_picture", lambda: ""), self.assertRaises(StopIteration):
            demo.command(SimpleNamespace(quiet=True, jobs=1), self.means, "pamsd")
        self.names(run_all.call_args.args[1])


if __name__ == "__main__":
    unittest.main()
