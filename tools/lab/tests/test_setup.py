# SPDX-License-Identifier: GPL-2.0
"""tools/setup.sh, with an apt-get that is made here."""

import os
import subprocess
import tempfile
import unittest
from pathlib import Path

SETUP = Path(__file__).resolve().parents[2] / "setup.sh"
BUSY = "E: Could not get lock /var/lib/apt/lists/lock. It is held by process 7 (unattended-upgr)"


def setup(apt_get):
    """Its result, and how often apt-get was called."""
    with tempfile.TemporaryDirectory() as folder:
        for name, does in {"apt-get": f"echo \"$*\" >>{folder}/calls\ncalls=$(wc -l <{folder}/calls)\n{apt_get}",
                           "dpkg-query": "exit 1", "sudo": 'shift; exec "$@"', "sleep": "exec /bin/sleep 0.01"}.items():
            (Path(folder) / name).write_text(f"#!/bin/sh\n{does}\n", encoding="ascii")
            (Path(folder) / name).chmod(0o755)
        result = subprocess.run([SETUP, "unit"], capture_output=True, text=True, check=False, timeout=60,
                                env={**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"})
        return result, len((Path(folder) / "calls").read_text(encoding="ascii").splitlines())


class Setup(unittest.TestCase):
    def test_apt_is_busy(self):
        """At first, with its lists, and again when it is to install."""
        result, calls = setup(f'case $calls in [1-3] | 5) echo "{BUSY}" >&2; exit 100;; esac')
        self.assertEqual((result.returncode, calls), (0, 6), result.stderr)
        self.assertEqual(result.stderr.count("another apt is at work"), 2)
        self.assertRegex(result.stderr, r"(?m)take them away: sudo apt-get purge --autoremove make gcc .*libubsan1$")

    def test_apt_fails(self):
        result, calls = setup('[ "$1" != -qq ] || [ "$2" != install ] || { echo "E: no such package" >&2; exit 100; }')
        self.assertEqual((result.returncode, calls), (1, 2), result.stderr)
        self.assertIn("E: no such package\n", result.stderr)
        self.assertIn("apt-get could not install", result.stderr)
        self.assertNotIn("take them away", result.stderr)

    def test_apt_stays_busy(self):
        result, calls = setup(f'echo "{BUSY}" >&2; exit 100')
        self.assertEqual((result.returncode, calls), (1, 121), result.stderr)


if __name__ == "__main__":
    unittest.main()
