# SPDX-License-Identifier: GPL-2.0
"""What `lab deaths` makes of its runs."""

import contextlib
import io
import unittest
from types import SimpleNamespace
from unittest import mock

import base     # noqa: F401  pylint: disable=unused-import

import deaths
import host
import runs


class Only(unittest.TestCase):
    """One death again"""

    def say(self, death):
        """The exit code, and what is said, of the first one of that kind."""
        number = next(n for n in range(99) if deaths.drawn(n, 1)[0] == death)
        said = io.StringIO()

        def run_all(_means, jobs, *_):
            return [({"name": job.name, "repeat": job.repeat, "failed": 0,
                      "requests": [{"gap_s": 0.2}]}, []) for job in jobs]

        with mock.patch.object(runs, "run_all", run_all), contextlib.redirect_stdout(said), \
                mock.patch.object(host, "program", lambda name: name):
            code = deaths.command(SimpleNamespace(only=number, seed=1, sched="minfct", quiet=True, jobs=1,
                                                  json=False), None)
        return code, said.getvalue()

    def test_lives_on(self):
        """There is no gap of a death."""
        code, said = self.say("none")
        self.assertEqual(code, 0)
        self.assertIn("none, told", said)
        self.assertNotIn("all, told", said)

    def test_dies(self):
        """There is."""
        code, said = self.say("killed")
        self.assertEqual(code, 0)
        self.assertIn("all, told", said)
        self.assertIn("told: median gap: 200, at most 400 ms", said)


if __name__ == "__main__":
    unittest.main()
