# SPDX-License-Identifier: GPL-2.0
"""MPBond's tables, made of times that are made up here."""

import unittest
from unittest import mock

import base     # noqa: F401  pylint: disable=unused-import

import mpbond
from radio import TAIL_S


class FakeLab:
    """Each run takes 4 s, and a helper's radio is on for half a second more."""
    schedulers = ["default", "minfct", "pams"]

    def run(self, jobs):
        """Ranges of COMBINE: the last one ends after 3 s."""
        return [{"requests": [{"start_s": 1, "fct_s": 2}, {"start_s": 2, "fct_s": 2}]} for _ in jobs]

    def over_seeds(self, jobs, count):
        """As seeds.Lab."""
        return {job.name: [{"failed": 0, "mean_s": 4.0, "radios": [{}, {"on_s": 4.5 + TAIL_S}]}] * count
                for job in jobs}

    def alone(self, scenario, sizes=None):
        """A second for each 100 KB."""
        return [size / 100_000 for size in sizes]


class Tables(unittest.TestCase):
    """mpbond.py"""

    def setUp(self):
        for name, value in (("mpbond.with_helpers", lambda lab: lab), ("host.program", lambda name: name)):
            patch = mock.patch(name, value)
            patch.start()
            self.addCleanup(patch.stop)

    def test_splits(self):
        table = mpbond.splits(FakeLab())
        self.assertEqual(len(table.rows), 2 * len(mpbond.CASES) + 1)
        self.assertEqual(table.rows[0]["cells"]["pams told"], 4.0)
        self.assertEqual(table.rows[-1]["label"], "radio")
        self.assertEqual({round(value, 3) for value in table.rows[-1]["cells"].values()}, {0.5})

    def test_baselines(self):
        table = mpbond.against_baselines(FakeLab())
        self.assertEqual([row["label"] for row in table.rows][5:7], ["3 devices, 2 MB", "PS 5 Mbit/s, 1 MB"])
        cells = table.rows[1]["cells"]
        self.assertEqual(set(table.columns), set(cells))
        self.assertEqual(cells["COMBINE"], 3)
        self.assertGreaterEqual(cells["kibbutz 50 %"], 5)
        self.assertLessEqual(cells["kibbutz best"], cells["kibbutz 50 %"])


if __name__ == "__main__":
    unittest.main()
