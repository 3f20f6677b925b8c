# SPDX-License-Identifier: GPL-2.0
"""Runs without a guest: what is kept, loaded, remembered and counted."""

import json
import os
import tempfile
import unittest
from dataclasses import replace
from types import SimpleNamespace
from unittest import mock

import base     # noqa: F401  pylint: disable=unused-import

import boot
import capture
import demo
import drawn
import host
import programs
import remembered
import report
import runs
import seeds
import sweep
from scenario import Scenario, parse_path, parse_report
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


def means_of(folder, **more):
    """Of a kernel that isn't booted."""
    program = os.path.join(folder, "linux")
    with open(program, "w", encoding="utf-8"):
        pass
    kernel = host.Kernel(folder, "6.12")
    values = {"module": "", "peers": "", "xfer": "XFER", "random_library": "R", "netem_seed": "",
              "pace": "", "rival": "", "replay": "", **more}
    return runs.Means(kernel, **values)


def arguments(fresh=False):
    """As of `lab sweep`."""
    return SimpleNamespace(module=None, fresh=fresh, keep=None)


class Prepared(unittest.TestCase):
    """What is built before anything runs"""

    def test_copies(self):
        """A module that is built anew meanwhile is another one."""
        with mock.patch.multiple(
                host, need_programs=mock.DEFAULT, kernel=mock.DEFAULT, xfer=mock.DEFAULT,
                fixed_random=mock.DEFAULT, netem_seed=mock.DEFAULT, helper=mock.DEFAULT,
                module=lambda *_: "built.ko", peers=lambda _: "peers.ko"), \
                mock.patch.object(programs, "module", lambda *_: "mine.ko"), \
                mock.patch.object(remembered, "prune"), \
                mock.patch.object(remembered, "own_copy", lambda path: f"copy of {path}"):
            means = runs.prepare(["pams", "blest", "mine"], sources={"mine": "mine.bpf.c"})
            others = [runs.prepare(["default"], reported=reported).module for reported in (False, True)]
        self.assertEqual((means.module, means.peers, means.programs),
                         ("copy of built.ko", "copy of peers.ko", {"mine": "copy of mine.ko"}))
        self.assertEqual(others, ["", "copy of built.ko"])


class Loaded(unittest.TestCase):
    """Which modules a guest loads"""

    def test_reports(self):
        """They are told to a module, which another scheduler's run has only for that."""
        loaded = []
        means = means_of(self.enterContext(tempfile.TemporaryDirectory()), module="ours.ko", peers="peers.ko")
        self.enterContext(mock.patch.object(host.Kernel, "kallsyms_address", lambda _: 1))
        guest = SimpleNamespace(module=lambda path, _: loaded.append(path), init=[])
        for scheduler in ("default", "blest", "pams"):
            for reported in (False, True):
                means.load(guest, scheduler, reported)
                loaded.append("")
        self.assertEqual(loaded, ["", "ours.ko", "", "peers.ko", "", "ours.ko", "peers.ko", "",  # default, blest
                                  "ours.ko", "", "ours.ko", ""])

    def test_job(self):
        """A job with reports says so; of a path alone the server is told nothing."""
        scenario = replace(SCENARIO, reports=(parse_report("0ms,0,loss=1s", 2),))
        for job, reported in zip(runs.jobs_of(scenario, ["default"], True, 1, False), (False, False, True)):
            with mock.patch.object(runs.Means, "load", side_effect=StopIteration) as load, \
                    self.assertRaises(StopIteration), tempfile.TemporaryDirectory() as folder:
                runs.run_one(means_of(folder), job)
            self.assertEqual(load.call_args.args[2], reported)


class Again(unittest.TestCase):
    """What ran before"""

    def setUp(self):
        self.folder = self.enterContext(tempfile.TemporaryDirectory())
        self.enterContext(mock.patch.dict(os.environ, {"MPTCP_PAMS_CACHE": self.folder + "/c"}))
        self.enterContext(mock.patch.object(capture, "read", lambda *_: ["a packet"]))
        self.booted = self.enterContext(mock.patch.object(runs, "boot", side_effect=self.boot))
        self.means, self.fct_us = means_of(self.folder), 5000

    def boot(self, _kernel, folder, *_):
        """A transfer."""
        line = {"conn": 0, "request": 0, "dir": "down", "bytes": 1000, "start_us": 10,
                "connect_us": 10, "fct_us": self.fct_us, "gap_us": 0, "gap_at_us": 0, "subflows": 2,
                "fallback": False, "ok": True, "error": ""}
        with open(os.path.join(folder, "requests"), "w", encoding="utf-8") as out:
            out.write(json.dumps(line) + "\n")
        return 1.0

    def run_one(self, fresh=False, trace=False):
        """(time, packets)"""
        means = runs.remembering(self.means, ["default"], arguments(fresh))
        result, packets = runs.run_one(means, runs.Job("default", "default", SCENARIO, trace=trace))
        return result["mean_s"], packets

    def test_recalled(self):
        """A run isn't made again, unless it is to be: then that one counts."""
        self.assertEqual([self.run_one()[0] for _ in range(2)], [0.005, 0.005])
        self.fct_us = 7000
        self.assertEqual(self.run_one()[0], 0.005)
        self.assertEqual([self.run_one(fresh)[0] for fresh in (True, False)], [0.007, 0.007])
        self.assertEqual(self.booted.call_count, 2)

    def test_trace(self):
        """Packets aren't remembered."""
        self.assertEqual([self.run_one(trace=True)[1] for _ in range(2)], [["a packet"]] * 2)

    def test_unsaid(self):
        """What its program said nothing of, as a player whose connection broke, has failed."""
        for values, failed in (({"segment_s": 2, "requests": 45}, 44), ({"requests": 1}, 0),
                               ({"requests": 3, "conns": 2}, 5), ({"queue_bytes": 9}, 0)):
            with self.subTest(values=values):
                job = runs.Job("default", "default", replace(SCENARIO, **values))
                result = runs.run_one(self.means, job)[0]
                self.assertEqual(result["failed"], failed)
                self.assertEqual(report.summary([result])[0]["requests"], failed + 1)

    def test_own_peer(self):
        """A scheduler in BPF with a published one's name is no published one."""
        hashed = []
        with mock.patch.object(remembered, "scheduler_hash",
                               side_effect=lambda places, name: hashed.append((places[0], name))):
            for own in ({}, {"ecf": "/x/1.ko"}):
                runs.remembering(means_of(self.folder, programs=own), ["ecf"], arguments())
        self.assertEqual(hashed, [(host.PEERS, "ecf"), ("net", "ecf")])


if __name__ == "__main__":
    unittest.main()
