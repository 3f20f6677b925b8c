# SPDX-License-Identifier: GPL-2.0
"""selftests/vm/run, with a script in the kernel's place: a guest that hangs, one that is stopped."""
import os
import signal
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent.parent.parent
HANGS = "#!/bin/sh\necho ok 1 - first >&5; echo ok 2 - second >&5; exec sleep 1000\n"
ENDS = "#!/bin/sh\necho ok 1 - first >&5; echo '# guest: done' >&5\n"


class Guest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def start(self, kernel, **env):
        build = self.folder / "kernel"
        (build / "include/config").mkdir(parents=True)
        (build / "include/config/kernel.release").write_text("6.12.0\n")
        (build / "linux").write_text(kernel)
        (build / "linux").chmod(0o755)
        env = {"UM_KERNEL": str(build), "MODULE": "/dev/null", "VM_OUT": str(self.folder / "out"),
               **env}
        return subprocess.Popen([TOP / "selftests/vm/run", "um", "choice.sh"], text=True,
                                env={**os.environ, **env}, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT)

    def finish(self, run):
        out, _ = run.communicate(timeout=300)
        return run.returncode, out

    def test_ends(self):
        code, out = self.finish(self.start(ENDS))
        self.assertEqual(code, 0, out)
        self.assertTrue(out.endswith("1 passed, 0 failed, 0 skipped\n"), out)

    def test_hangs(self):
        code, out = self.finish(self.start(HANGS, STALL_S="6"))
        self.assertNotEqual(code, 0)
        self.assertIn("not ok - the guest said nothing new for 6 s", out)
        self.assertTrue(out.endswith("2 passed, 1 failed, 0 skipped\n"), out)

    def test_stopped(self):
        run = self.start(HANGS)
        results = self.folder / "out/results.tap"
        for _ in range(1200):
            if results.exists() and "second" in results.read_text():
                break
            time.sleep(0.1)
        run.send_signal(signal.SIGTERM)
        code, out = self.finish(run)
        self.assertNotEqual(code, 0)
        self.assertIn("not ok - stopped from outside", out)
        self.assertTrue(out.endswith("2 passed, 1 failed, 0 skipped\n"), out)


if __name__ == "__main__":
    unittest.main()
