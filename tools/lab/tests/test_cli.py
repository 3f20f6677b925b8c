# SPDX-License-Identifier: GPL-2.0
"""Tests of what the laboratory's command line refuses before it builds anything."""
import contextlib
import io
import unittest
from unittest import mock

import base  # noqa: F401  pylint: disable=unused-import
import cli
import runs


def say(*words):
    """What the command says, which may prepare nothing; and its exit code."""
    said = io.StringIO()
    with mock.patch.object(runs, "prepare", side_effect=AssertionError), contextlib.redirect_stderr(said):
        return cli.main(words), said.getvalue()


class Schedulers(unittest.TestCase):
    """Names of schedulers."""

    def say(self, *words):
        """The same of `lab run`."""
        return say("run", "--path", "10mbit,10ms", *words)

    def test_unknown(self):
        """An unknown one is told in a line, and what there is."""
        code, said = self.say("--sched", "minfct,minfkt")
        self.assertEqual(code, 2)
        self.assertRegex(said, r"\Alab run: there is no scheduler 'minfkt': default, .*minfct.*\n\Z")

    def test_of_another_module(self):
        """What another module has isn't known here."""
        with self.assertRaises(AssertionError):
            self.say("--sched", "minfkt", "--module", "x.ko")

    def test_recorded(self):
        """What the pairs of recorded links don't compare."""
        for names in ("blest", "pams,minpad"):
            code, said = say("recorded", "--sched", names)
            self.assertEqual(code, 2)
            self.assertIn(": only default, pams, minfct; 'lab table", said)


if __name__ == "__main__":
    unittest.main()
