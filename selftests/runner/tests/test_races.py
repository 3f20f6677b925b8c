# SPDX-License-Identifier: GPL-2.0
"""selftests/mptcp_pams/races: whose the races are that KCSAN reports."""
import subprocess
import unittest
from pathlib import Path

RACES = Path(__file__).resolve().parent.parent.parent / "mptcp_pams" / "races"
BAR = "=" * 66
OURS, KERNEL = " pams_look+0x10/0x20 [mptcp_pams]", " tcp_ack+0x10/0x20"


def report(*accesses, title="data-race in a / b"):
    """accesses: (how, top frame, further frames)"""
    lines = [BAR, f"BUG: KCSAN: {title}", ""]
    for how, *frames in accesses:
        lines += [f"{how} to 0xffff000012345678 of 4 bytes by task 7 on cpu 1:", *frames, ""]
    lines += ["Reported by Kernel Concurrency Sanitizer on:", "CPU: 0 PID: 7 Comm: xfer", BAR]
    return [f"[   12.345678] {line}" for line in lines]


class Races(unittest.TestCase):
    def races(self, wanted, *reports):
        log = "\n".join(["[   12.000000] before", *sum(reports, []), "[   13.000000] after", ""])
        ran = subprocess.run([RACES, wanted], input=log, capture_output=True, text=True, check=True)
        return ran.stdout.splitlines()

    def test_ours(self):
        for ours in (("write", OURS), ("read", KERNEL, OURS), ("write (reordered)", OURS)):
            with self.subTest(ours):
                both = report(ours, ("read (marked)", KERNEL))
                self.assertEqual(self.races("ours", both), both[1:-1])
                self.assertEqual(self.races("ours", report(("read (marked)", KERNEL), ours)),
                                 report(("read (marked)", KERNEL), ours)[1:-1])
                self.assertEqual(self.races("others", both), [])

    def test_others(self):
        for access in (("read (marked)", OURS), ("read (marked, reordered)", KERNEL, OURS)):
            with self.subTest(access):
                both = report(("write", KERNEL), access)
                self.assertEqual(self.races("ours", both), [])
                self.assertEqual(self.races("others", both, report(("read", KERNEL)), both),
                                 ["3 times data-race in a / b"])

    def test_below_an_interrupt(self):
        both = report(("write", KERNEL, KERNEL, OURS), ("read (marked)", KERNEL))
        self.assertEqual(self.races("ours", both), [])
        self.assertEqual(self.races("others", both), ["1 times data-race in a / b"])

    def test_clock(self):
        both = report(("write", KERNEL), ("read", " ktime_get_seconds+0x3c/0x5c", OURS))
        self.assertEqual(self.races("ours", both), [])

    def test_unknown_origin(self):
        one = report(("race at unknown origin, with read", OURS))
        self.assertEqual(self.races("ours", one), one[1:-1])

    def test_rest(self):
        warning = ["[   12.500000] WARNING: something else"]
        for wanted in ("ours", "others"):
            self.assertEqual(self.races(wanted, warning), [])
        rest = self.races("rest", report(("write", OURS)), warning, report(("write", KERNEL)))
        self.assertIn(warning[0], rest)
        self.assertFalse([line for line in rest if "KCSAN" in line or "0x" in line], rest)


if __name__ == "__main__":
    unittest.main()
