# SPDX-License-Identifier: GPL-2.0
"""A stage that waits for another's lock says so again and again, and isn't taken for one that hangs."""
import fcntl
import sys
import tempfile
import threading
import unittest
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent.parent.parent
sys.path.insert(0, str(TOP / "selftests"))
sys.dont_write_bytecode = True
from runner import process      # pylint: disable=wrong-import-position

QUIET_S = 5     # what a command needs to start must be less, on a busy machine, too
WAIT_S = 3 * QUIET_S


class Locks(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def run_beside(self, name, command, quiet_s=QUIET_S):
        """Runs it while another has the lock of this name for WAIT_S."""
        lock = self.folder / name
        lock.parent.mkdir(parents=True)
        with lock.open("w") as held, tempfile.NamedTemporaryFile() as out:
            fcntl.flock(held, fcntl.LOCK_EX)
            release = threading.Timer(WAIT_S, fcntl.flock, (held, fcntl.LOCK_UN))
            release.start()
            ended = process.run(command, out, self.folder, quiet_s, env={"MPTCP_PAMS_CACHE": str(self.folder), "TAKE_LOCK_SAY_S": "1"})
            release.cancel()
            return ended, Path(out.name).read_text()

    def test_kernel(self):
        tree = self.folder / "tree"
        (tree / "arch/um").mkdir(parents=True)
        (tree / "arch/um/Makefile").touch()
        (tree / "Makefile").write_text("kernelversion:\n\t@echo 6.12.0\n")
        ended, text = self.run_beside("um/lock", f"{TOP}/tools/kernels/um --only-source --source {tree}")
        self.assertEqual((ended.stalled, ended.code), (False, 0), text)
        self.assertTrue(text.endswith(f"{tree}\n"), text)
        self.assertGreaterEqual(text.count("um: another run has the lock: waiting for it, "), 3, text)

    def test_keeps_it(self):
        """The caller has the lock, not tools/take-lock, which has ended."""
        lock = self.folder / "lock"
        ended, text = self.run_beside("a/lock", f"exec 9>{lock}; {TOP}/tools/take-lock 9 x && flock -n {lock} true || echo taken")
        self.assertEqual((ended.code, text), (0, "taken\n"))

    def test_no_such_descriptor(self):
        ended, text = self.run_beside("a/lock", f"{TOP}/tools/take-lock 9 x 9>&-")
        self.assertEqual(ended.code, 1, text)


if __name__ == "__main__":
    unittest.main()
