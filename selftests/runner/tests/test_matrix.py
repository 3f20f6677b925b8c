# SPDX-License-Identifier: GPL-2.0
"""selftests/matrix: what tests record comes into the table, and stays."""
import importlib.machinery
import importlib.util
import re
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

SELFTESTS = Path(__file__).resolve().parent.parent.parent
sys.dont_write_bytecode = True
LOADER = importlib.machinery.SourceFileLoader("matrix", str(SELFTESTS / "matrix"))
matrix = importlib.util.module_from_spec(importlib.util.spec_from_loader("matrix", LOADER))
LOADER.exec_module(matrix)


class Matrix(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.page = Path(folder.name) / "kernels.md"
        self.page.write_text(f"before\n{matrix.BEGIN}\n{matrix.END}\nafter\n")
        self.rows = Path(folder.name) / "kernels.h"
        patch = mock.patch.multiple(matrix, PAGE=self.page, RECORDS=Path(folder.name) / "records",
                                    ROWS=self.rows)
        patch.start()
        self.addCleanup(patch.stop)

    def record(self, kernel, ran, arch="amd64", **more):
        words = ["--kernel", kernel, "--arch", arch, "--ran", ran]
        for name, value in more.items():
            words += [f"--{name}", value]
        with mock.patch.object(sys, "argv", ["matrix", "record", *words]):
            matrix.main()

    def write(self):
        with mock.patch.object(sys, "argv", ["matrix", "write"]):
            matrix.main()
        return matrix.read_table(self.page.read_text())

    def test_kinds(self):
        for release, arch, wanted in (
                ("6.12.117+deb13-cloud-amd64", "amd64", "6.12 deb13 cloud amd64"),
                ("6.12.95+deb12-amd64", "amd64", "6.12 deb12 amd64"),
                ("7.3.4+deb13-rt-amd64", "amd64", "7.x deb13 rt amd64"),
                ("6.12.117+rpi-lookalike", "arm64", "6.12 rpi-lookalike arm64"),
                ("6.12.117", "um", "6.12 user mode um")):
            self.assertEqual(matrix.kind(release, arch), wanted)

    def test_topics_stay_and_are_replaced(self):
        self.record("6.12.1+deb13-cloud-amd64", "packages=old", layouts="BTF")
        self.write()
        self.record("6.12.2+deb13-cloud-amd64", "packages=new")
        self.record("6.12.2+deb13-cloud-amd64", "vm=7 passed", symbols="kprobes")
        self.record("7.3.4+deb13-cloud-amd64", "packages=seven")
        table = self.write()
        self.assertEqual(len(table), 2)
        row = table["6.12 deb13 cloud amd64"]
        self.assertEqual((row["kernel"], row["interface"], row["layouts from"], row["symbols from"]),
                         ("6.12.2+deb13-cloud-amd64", "get_subflow", "BTF", "kprobes"))
        self.assertRegex(row["what ran"], r"^packages: new \(.*\)<br>vm: 7 passed \(.*\)$")
        self.assertEqual(table["7.x deb13 cloud amd64"]["interface"], "get_send")

    def test_the_rest_of_the_page_stays(self):
        self.record("6.12.1", "vm=1 passed", arch="um")
        self.write()
        first = self.page.read_text()
        self.write()
        self.assertEqual(self.page.read_text(), first)
        self.assertTrue(first.startswith("before\n") and first.endswith("after\n"))

    def test_what_doctor_knows(self):
        self.record("6.12.2+deb13-cloud-amd64", "vm=7 selftests passed", symbols="kprobes")
        self.record("7.3.4+deb13.1-arm64", "vm=7 selftests passed", arch="arm64", symbols="kprobes")
        self.record("6.12.2+rpi-lookalike", "vm=7 selftests passed", arch="arm64", symbols="kprobes")
        self.record("6.18.2+rpi-lookalike", "vm=7 selftests passed", arch="arm64", symbols="kprobes")
        self.record("7.0.2+openwrt-lookalike", "vm=7 selftests passed", arch="arm64", symbols="kprobes")
        self.record("6.12.2+deb12-amd64", "packages=built")
        self.record("6.12.2+kcsan", "vm-kcsan=7 selftests passed", arch="arm64", symbols="kprobes")
        self.record("6.12.2+rpi-lookalike-later", "vm=7 selftests passed", arch="arm64", symbols="kprobes")
        self.record("6.12.1", "vm=1 selftests passed", arch="um", symbols="kprobes")
        self.write()
        self.assertEqual(re.findall(r'"(.*)", "(.*)",\n  "(.*)"', self.rows.read_text()), [
            ("^6[.]12[.][.0-9]+[+]deb13[.0-9]*-cloud-amd64$", "x86_64", "6.12.2+deb13-cloud-amd64"),
            ("^6[.]12[.][.0-9]+[+]rpt-rpi-", "aarch64", "6.12.2+rpi-lookalike"),
            ("^6[.]18[.][.0-9]+[+]rpt-rpi-", "aarch64", "6.18.2+rpi-lookalike"),
            ("^7[.][.0-9]+$", "aarch64", "7.0.2+openwrt-lookalike"),
            ("^7[.][.0-9]+[+]deb13[.0-9]*-arm64$", "aarch64", "7.3.4+deb13.1-arm64")])

    def test_bad_topic(self):
        with self.assertRaises(SystemExit):
            self.record("6.12.1", "no topic")


if __name__ == "__main__":
    unittest.main()
