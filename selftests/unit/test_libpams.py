# SPDX-License-Identifier: GPL-2.0
"""libpams: what is shared over a fork."""
import os
import subprocess
import unittest


class Forked(unittest.TestCase):
    def test_both_are_answered(self):
        program = os.path.join(os.path.dirname(os.environ["PAMS_UNIT_LIB"]), "fork")
        self.assertEqual(subprocess.run([program], check=False, timeout=120).returncode, 0)


if __name__ == "__main__":
    unittest.main()
