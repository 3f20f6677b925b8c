# SPDX-License-Identifier: GPL-2.0
"""What makes a run another one, so that it is run again."""

import os
import tempfile
import unittest
from types import SimpleNamespace
from unittest import mock

import base     # noqa: F401  pylint: disable=unused-import

import host
import remembered


def _write(folder, name, text):
    with open(os.path.join(folder, name), "w", encoding="utf-8") as out:
        out.write(text)


class Remembered(unittest.TestCase):
    """remembered.py"""

    def setUp(self):
        self.top = self.enterContext(tempfile.TemporaryDirectory())
        self.enterContext(mock.patch.object(host, "TOP", self.top))
        self.enterContext(mock.patch.dict(os.environ, {"MPTCP_PAMS_CACHE": self.top + "/c"}))
        os.mkdir(os.path.join(self.top, "net"))
        for name in ("glue.c", "sched_a.c", "sched_b.c"):
            _write(self.top, f"net/{name}", name)

    def _hashes(self):
        return [remembered.scheduler_hash(("net",), name) for name in ("a", "b")]

    def test_scheduler(self):
        a, b = self._hashes()
        self.assertNotEqual(a, b)
        _write(self.top, "net/sched_b.c", "changed")
        self.assertEqual(self._hashes()[0], a)
        self.assertNotEqual(self._hashes()[1], b)
        _write(self.top, "net/glue.c", "changed")
        self.assertNotEqual(self._hashes()[0], a)

    def test_asks_others(self):
        """What others make of it counts, where they are asked."""
        _write(self.top, "net/sched_a.c", "return pams_sched_b.pick(view);")
        hashes = [remembered.scheduler_hash(("net",), name) for name in ("a", "in_bpf", "b")]
        _write(self.top, "net/sched_b.c", "changed")
        _write(self.top, "net/sched_c.c", "new")
        after = [remembered.scheduler_hash(("net",), name) for name in ("a", "in_bpf", "b")]
        self.assertNotEqual(hashes[0], after[0])
        self.assertNotEqual(hashes[1], after[1])
        _write(self.top, "net/sched_a.c", "changed")
        self.assertEqual(remembered.scheduler_hash(("net",), "b"), after[2])

    def test_copy(self):
        """What is built anew meanwhile isn't what is loaded."""
        _write(self.top, "m.ko", "as it was")
        copy = remembered.own_copy(self.top + "/m.ko")
        _write(self.top, "m.ko", "built anew")
        with open(copy, encoding="utf-8") as text:
            self.assertEqual(text.read(), "as it was")
        self.assertNotEqual(remembered.own_copy(self.top + "/m.ko"), copy)
        self.assertEqual(len(os.listdir(os.path.dirname(copy))), 2)

    def test_key(self):
        kernel = SimpleNamespace(folder=self.top, program=os.path.join(self.top, "net/glue.c"))
        means = SimpleNamespace(kernel=kernel, random_library="r", hashes={"a": "1"},
                                modules=["/m.ko"], entropy=0)
        job = SimpleNamespace(scheduler="a", scenario=SimpleNamespace(seed=1))
        keys = []
        for folder, text in (("x", "insmod /m.ko"), ("y", "insmod /m.ko"), ("z", "other")):
            folder = os.path.join(self.top, folder)
            os.mkdir(folder)
            _write(folder, "init", f"{text} {folder}")
            keys.append(remembered.key(folder, means, job))
        self.assertEqual(keys[0], keys[1])      # the folder's name is no part of it
        self.assertNotEqual(keys[0], keys[2])
        means.hashes = {"a": "2"}
        self.assertNotEqual(remembered.key(os.path.join(self.top, "x"), means, job), keys[0])

    def test_laboratory(self):
        """It makes the results."""
        found = []
        for text in ("as it was", "changed"):
            _write(self.top, "runs.py", text)
            remembered.laboratory_hash.cache_clear()
            with mock.patch.object(host, "HERE", self.top):
                found.append(remembered.laboratory_hash())
        remembered.laboratory_hash.cache_clear()
        self.assertNotEqual(*found)
        with mock.patch.object(remembered, "laboratory_hash", side_effect=StopIteration), \
                self.assertRaises(StopIteration):
            self.test_key()

    def test_recall(self):
        self.assertIsNone(remembered.recall("ab" * 16))
        remembered.remember("ab" * 16, {"mean_s": 1})
        self.assertEqual(remembered.recall("ab" * 16), {"mean_s": 1})


if __name__ == "__main__":
    unittest.main()
