# SPDX-License-Identifier: GPL-2.0
"""The table of constants fits the sources."""

import argparse
import glob
import os
import re
import unittest

import base     # noqa: F401  pylint: disable=unused-import
import constants
import host


def source_of(constant):
    """Of the file that it is in."""
    path = os.path.join(host.TOP, constants.SOURCES, constant.file)
    with open(path, encoding="utf-8") as text:
        return text.read()


def found(time, changed=9, harm=0, duplicates=0.0, error=0.001):
    """What compare() finds of one side."""
    return {"time": time, "changed": changed, "harm": harm, "duplicates": duplicates,
            "error": error}


class Table(unittest.TestCase):
    """Of constants.toml"""

    def test_each_is_in_the_sources(self):
        """Once, and both sides differ."""
        for constant in constants.constants():
            source = source_of(constant)
            sides = {constant.changed(source, side) for side in constants.SIDES}
            self.assertEqual(len(sides | {source}), 3, constant.name)

    def test_none_is_missing(self):
        """Each macro of the module that has a number is in the table or fixed for a reason."""
        named = {}
        for path in glob.glob(os.path.join(host.TOP, constants.SOURCES, "*.[ch]")):
            if "-gen." in path:
                continue
            with open(path, encoding="utf-8") as text:
                source = re.sub(r"/\*.*?\*/", "", text.read(), flags=re.S)
            for name in re.findall(r"^[ \t]*#define[ \t]+(\w+)[ \t]+.*\d", source, re.M):
                named[name] = os.path.basename(path)
        table = {constant.name for constant in constants.constants()}
        fixed = constants.fixed()
        self.assertEqual(sorted(f"{file}: {name}" for name, file in named.items()
                                if name not in table and name not in fixed), [])
        self.assertEqual([name for name in fixed if name not in named], [], "have gone")
        self.assertEqual([name for name in fixed if name in table], [], "are in both")
        self.assertFalse([name for name, why in fixed.items() if not why])

    def test_those_for_a_test(self):
        """The test is there."""
        for constant in constants.constants():
            if constant.case:
                path = os.path.join(host.TOP, "selftests", "mptcp_pams", constant.case)
                self.assertTrue(os.path.exists(path), f"{constant.name}: {constant.case}")

    def test_value(self):
        """Without the comment behind it."""
        constant = constants.Constant("A_MAX", "a.c", "")
        source = "#define A_MAX\t(2 * B)\t/* why */\n#define A_MAXIMUM 7\n"
        self.assertEqual(constant.value(source), "(2 * B)")
        self.assertIn("#define A_MAX\t(((2 * B)) / 2)\t/* why */",
                      constant.changed(source, "half"))

    def test_unknown(self):
        """A constant that has gone is told."""
        with self.assertRaisesRegex(constants.LabError, "A_MAX isn't in"):
            constants.Constant("A_MAX", "a.c", "").value("#define A 1\n")
        with self.assertRaisesRegex(constants.BadInput, "no such constant"):
            constants.constants("A_MAX")


class Page(unittest.TestCase):
    """What `lab constants --out` writes"""

    def test_not_measured(self):
        """What no scenario comes to is named, with its test."""
        args = argparse.Namespace(count=1, half="tune", seed=1)
        other = constants.Constant("A_MAX", "a.c", "Because.", case="a.sh")
        self.assertIn("**A_MAX** (`net/mptcp_pams/a.c`, not measured, see selftests/mptcp_pams/a.sh): "
                      "Because.", constants.page([], args, {}, [other]))

    def test_harmed(self):
        """Runs of the module as it is that a change may cure by chance."""
        rows = [{"name": "1-001", "part": "first", "joined_s": 2.0, "time_s": {"rules": 3.0}},
                {"name": "1-002", "part": "", "joined_s": 2.0, "time_s": {"rules": 2.0}}]
        self.assertEqual(constants.harmed({"rules": rows}),
                         "1 of 2 runs with `rules`: 1-001 first (1.50 times)")


class Verdict(unittest.TestCase):
    """In a word"""

    def test_verdicts(self):
        """Each of them."""
        for half, double, said in (
                (found(1, 0), found(1, 0), "no run changes"),
                (found(1.002), found(0.997), "within noise"),
                (found(0.97, error=0.02), found(1.03, error=0.02), "within noise"),
                (found(0.97), found(1.03), "half is better here"),
                (found(0.97, harm=1), found(1.03), "")):
            self.assertEqual(constants.verdict(half, double), said)


if __name__ == "__main__":
    unittest.main()
