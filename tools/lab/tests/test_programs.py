# SPDX-License-Identifier: GPL-2.0
"""Schedulers in BPF in the laboratory, and its table."""

import contextlib
import io
import os
import unittest
from types import SimpleNamespace
from unittest import mock

import base     # noqa: F401  pylint: disable=unused-import

import cli
import drawn
import host
import programs
import tables
from host import LabError
from units import BadInput

EXAMPLES = os.path.join(host.TOP, "examples", "bpf")


class Programs(unittest.TestCase):
    """What FILE.bpf.c is taken for."""

    def test_name(self):
        """The scheduler has the name that its source gives it."""
        source = os.path.join(EXAMPLES, "ecf.bpf.c")
        self.assertEqual(programs.name_of(source), "ecf")
        self.assertEqual(cli.schedulers_of(f"pams, {source}"), ["pams", "ecf"])
        self.assertEqual(cli.sources_of(f"pams, {source}"), {"ecf": source})

    def test_refused(self):
        """No file, no scheduler in it, or two of one name."""
        with self.assertRaisesRegex(LabError, "nowhere.bpf.c: No such file"):
            programs.name_of("nowhere.bpf.c")
        with self.assertRaisesRegex(LabError, "0 lines PAMS_SCHEDULER"):
            programs.name_of(os.path.join(EXAMPLES, "load.c"))
        with self.assertRaisesRegex(BadInput, "names two schedulers 'ecf'"):
            cli.schedulers_of(f"ecf,{EXAMPLES}/ecf.bpf.c")

    def test_addresses(self):
        """The guest reads the address of each function."""
        line = programs.load_line("ecf", "/x/1234.ko")
        for function in programs.FUNCTIONS.values():
            self.assertIn(f" {function}\\t", line)


class Table(unittest.TestCase):
    """`lab table`"""

    def test_cells(self):
        """Geometric mean, standard error, harm."""
        rows = [{"time_s": {"default": 1, "mine": mine}, "single_s": 1, "joined_s": 1, "bound_counts": False,
                 "tail_s": {}, "single_tail_s": None, "duplicates": {"mine": 0.01}, "fell_back": {"mine": 0}}
                for mine in (0.5, 2)]
        self.assertEqual(tables.cell(rows, "mine"), "1.000 ±0.693")
        self.assertEqual(tables.line_of({"transfers": rows}, "mine"), ["mine", "1.000 ±0.693", "50%", "1.0%", "0"])

    def test_failed(self):
        """A transfer that failed is told by the exit code."""
        for time_s, code in ((1.0, 0), (None, 1)):
            rows = [{"time_s": {"default": 1, "mine": time_s}, "single_s": 1, "joined_s": 1, "bound_counts": False,
                     "tail_s": {}, "single_tail_s": None, "duplicates": {"default": 0, "mine": 0},
                     "fell_back": {"default": 0, "mine": 0}}]
            with mock.patch.object(tables, "groups", lambda *_, found=rows: {"transfers": found}), \
                    contextlib.redirect_stdout(io.StringIO()):
                self.assertEqual(tables.command(SimpleNamespace(traces="", json=""), SimpleNamespace(
                    kernel=SimpleNamespace(release="6.12")), ["default", "mine"]), code)

    def test_collapses(self):
        """Either link falls, and how to run it again says so."""
        found = tables.collapses()
        self.assertEqual({one.scenario.changes[0].path for one in found}, {0, 1})
        self.assertIn("--change 1000000us,0,rate=1000000bit", drawn.command(found[0], ["default"]))
