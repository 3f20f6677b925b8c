# SPDX-License-Identifier: GPL-2.0
"""xfer's command line: what is wrong is named, and nothing is sent."""
import subprocess
import unittest

import base     # noqa: F401  pylint: disable=unused-import

import host


class Arguments(unittest.TestCase):
    def refused(self, *words):
        """What it says."""
        ended = subprocess.run([host.xfer(), "client", *words, "127.0.0.1", "1"], check=False,
                               capture_output=True, text=True, timeout=10)
        self.assertEqual(ended.returncode, 2, ended)
        self.assertEqual(ended.stdout, "")
        return ended.stderr.strip()

    def test_numbers(self):
        for word in ("-5", "", "99999999999999999999"):
            self.assertEqual(self.refused("--bytes", word), f"xfer: --bytes '{word}': not a number")
        self.assertEqual(self.refused("--bytes", "1x"), "xfer: --bytes '1x': neither N nor MIN-MAX")
        self.assertIn("--requests 'x'", self.refused("--requests", "x"))


if __name__ == "__main__":
    unittest.main()
