# SPDX-License-Identifier: GPL-2.0
"""Guests end with the command that booted them."""

import os
import signal
import tempfile
import time
import types
import unittest
from concurrent.futures import ThreadPoolExecutor
from unittest import mock

import base     # noqa: F401  pylint: disable=unused-import

import boot
import cli
from host import LabError

# A session of two processes, as a guest's kernel and its programs.
GUEST = "#!/bin/sh\nsleep 60 &\necho $! >pid\nexec sleep 60\n"


class Interrupted(unittest.TestCase):
    """boot.py, under cli.main()"""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()     # pylint: disable=consider-using-with
        self.addCleanup(self.folder.cleanup)
        self.addCleanup(boot._ended.clear)           # pylint: disable=protected-access
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            self.addCleanup(signal.signal, number, signal.getsignal(number))
        program = os.path.join(self.folder.name, "guest")
        with open(program, "w", encoding="utf-8") as out:
            out.write(GUEST)
        os.chmod(program, 0o755)
        self.kernel = types.SimpleNamespace(program=program)

    def boot(self):
        """As every job does."""
        boot.boot(self.kernel, self.folder.name, "", 1, 50)

    def pid(self):
        """Of the second process, once it runs."""
        path = os.path.join(self.folder.name, "pid")
        end = time.monotonic() + 20
        while not (os.path.exists(path) and os.path.getsize(path)):
            self.assertLess(time.monotonic(), end)
            time.sleep(0.01)
        with open(path, encoding="utf-8") as text:
            return int(text.read())

    def test_sigterm(self):
        jobs, pids = [], []

        def command(_args):
            with ThreadPoolExecutor(1) as pool:
                jobs.append(pool.submit(self.boot))
                pids.append(self.pid())
                os.kill(os.getpid(), signal.SIGTERM)
                return 0

        with mock.patch.dict(cli.COMMANDS, {"run": command}):
            self.assertEqual(cli.main(["run", "--path", "1mbit,1ms"]), 130)
        with self.assertRaisesRegex(LabError, "ended early"):
            jobs[0].result()
        with self.assertRaisesRegex(LabError, "within 0 s"):    # none begins after it
            self.boot()
        end = time.monotonic() + 20
        while os.path.exists(f"/proc/{pids[0]}"):       # until init has reaped it
            with open(f"/proc/{pids[0]}/stat", encoding="utf-8") as stat:
                if " Z " in stat.read():
                    break
            self.assertLess(time.monotonic(), end)
            time.sleep(0.01)


if __name__ == "__main__":
    unittest.main()
