# SPDX-License-Identifier: GPL-2.0
"""Tests of what the laboratory's command line refuses before it builds anything."""
import contextlib
import io
import os
import unittest
from unittest import mock

import base  # noqa: F401  pylint: disable=unused-import
import cli
import host
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


class Arguments(unittest.TestCase):
    """What would do nothing, or fail in the end, is refused before anything is built."""

    def refused(self, text, *words):
        """With code 2 and one line."""
        with self.subTest(words=words):
            code, said = say(*words)
            self.assertEqual(code, 2)
            self.assertRegex(said, rf"\Alab {words[0]}: [^\n]*{text}[^\n]*\n\Z")

    def test_pages(self):
        """Transfers of pages have neither."""
        for more in (("--stream", "1mbit"), ("--cold",), ("--pause", "1s,1s")):
            self.refused("without --cold, --stream and --pause", "run", "--path", "8mbit,10ms", "--objects", "5", *more)

    def test_changes(self):
        """What a radio or a satellite undoes, or a queue doesn't have."""
        for path, change in (("8mbit,10ms,radio=3", "rate=1mbit"), ("8mbit,10ms,radio=3", "link=down"),
                             ("8mbit,10ms,steps=3", "loss=1%")):
            self.refused("change of path 0: .* undo it", "run", "--path", path, "--change", f"1s,0,{change}")
        for change in ("loss=1%", "jitter=1ms", "limit=9"):
            self.refused("change of path 0: of one with queue=", "run", "--path", "8mbit,10ms,queue=cake",
                         "--change", f"1s,0,{change}")
        for path, change in (("8mbit,10ms,queue=cake", "rate=1mbit"), ("8mbit,10ms,blocked=3", "loss=1%")):
            with self.assertRaises(AssertionError):     # that it would be prepared
                say("run", "--path", path, "--path", "8mbit,9ms,radio=3", "--change", f"1s,0,{change}")

    def test_outputs(self):
        """Where the results go."""
        for words in (("sweep", "--json"), ("table", "--json"), ("recorded", "--json"), ("foreseen", "--json"),
                      ("video", "--json"), ("loss", "--plot"), ("run", "--path", "8mbit,10ms", "--plot")):
            self.refused("no such folder", *words, "/nowhere/x")
            self.refused("can't be written", *words, os.path.dirname(os.path.abspath(__file__)))

    def test_reports(self):
        """They take the module, whatever the scheduler."""
        for words, reported in (((), False), (("--report", "0ms,0,loss=1s"), True)):
            args = cli._parser().parse_args(["run", "--path", "8mbit,10ms", *words])    # pylint: disable=W0212
            with mock.patch.object(host, "program"), self.assertRaises(StopIteration), \
                    mock.patch.object(runs, "prepare", side_effect=StopIteration) as prepare:
                cli.command_run(args)
            self.assertEqual(prepare.call_args.kwargs["reported"], reported)

    def test_loss(self):
        """Of a time that nobody knows there is neither error nor curve."""
        for case in (("--case", "signal"), ("--case", "fading", "--case", "stop")):
            for error in (("--bias", "-50ms"), ("--missed", "0.5")):
                self.refused("nobody is told a time", "loss", *case, *error)
        self.refused("no curve of signal and stop", "loss", "--case", "signal", "--case", "stop", "--plot", "x.svg")

    def test_signed(self):
        """As the help writes it."""
        for bias, us in (("-50ms", -50_000), ("50ms", 50_000)):
            args = cli._parser().parse_args(["loss", "--bias", bias])   # pylint: disable=protected-access
            self.assertEqual(args.bias, us)


if __name__ == "__main__":
    unittest.main()
