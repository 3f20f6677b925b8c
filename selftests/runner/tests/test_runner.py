# SPDX-License-Identifier: GPL-2.0
"""selftests/check: stages that hang, what they leave behind, plans, resuming."""
import concurrent.futures
import importlib.machinery
import importlib.util
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import uuid
from pathlib import Path
from unittest import mock

SELFTESTS = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(SELFTESTS))
sys.dont_write_bytecode = True
from runner import plan, probes, process     # pylint: disable=wrong-import-position
from runner.history import History, in_words # pylint: disable=wrong-import-position


def load_check():
    loader = importlib.machinery.SourceFileLoader("check", str(SELFTESTS / "check"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("check", loader))
    sys.modules["check"] = module   # dataclasses look there
    loader.exec_module(module)
    return module


check = load_check()


def alive(word):
    """The processes with this word in their command line."""
    return [pid for pid in os.listdir("/proc") if pid.isdigit() and int(pid) != os.getpid()
            and word.encode() in process.read(f"/proc/{pid}/cmdline")]


process.TERM_S = 6
QUIET_S = 5     # what a command needs to start must be less, on a busy machine, too


class Quiet(unittest.TestCase):
    """process.run, with real processes; only orders of magnitude of time count."""

    def run_command(self, command, quiet_s, stop=None):
        with tempfile.NamedTemporaryFile() as out:
            start = time.monotonic()
            ended = process.run(command, out, "/", quiet_s, stop)
            return ended, Path(out.name).read_text(), time.monotonic() - start

    def test_ends_by_itself(self):
        ended, text, _ = self.run_command("echo hello; exit 3", 60)
        self.assertEqual((ended.code, ended.stalled, ended.left, text), (3, False, [], "hello\n"))

    def test_hangs(self):
        ended, text, took_s = self.run_command("echo ok 1; exec sleep 1000", QUIET_S)
        self.assertTrue(ended.stalled)
        self.assertEqual(text, "ok 1\n")
        self.assertLess(took_s, 300)

    def test_slow_is_no_hang(self):
        ended, _, _ = self.run_command("for i in $(seq 20); do echo $i; sleep 1; done", 15)
        self.assertFalse(ended.stalled)
        self.assertEqual(ended.code, 0)

    def test_takes_the_tree_along(self):
        """also what is in a process group, or in a session, of its own"""
        word = f"1000.{uuid.uuid4().int}"
        ended, _, _ = self.run_command(
            f"setsid sleep {word} & timeout 1000 sleep {word} & (setsid -f sleep {word}); "
            f"trap '' TERM; sleep {word}; sleep {word}", QUIET_S)
        self.assertTrue(ended.stalled)
        self.assertEqual(alive(word), [])

    def test_nothing_survives_a_normal_end(self):
        word = f"1000.{uuid.uuid4().int}"
        ended, _, _ = self.run_command(f"setsid -f sleep {word}; echo 1 passed, 0 failed", 60)
        self.assertEqual((ended.code, ended.stalled, ended.left), (0, False, ["sleep"]))
        self.assertEqual(alive(word), [])

    def test_last_report(self):
        """also when it takes longer than the shell that began it"""
        script = "trap 'sleep 5; echo 3 passed, 0 failed; exit 1' TERM; echo ok 1; sleep 1000 & wait"
        with mock.patch.object(process, "TERM_S", 120):
            ended, text, _ = self.run_command(f'bash -c "{script}"; sleep 0.1', QUIET_S)
        self.assertTrue(ended.stalled)
        self.assertIn("3 passed, 0 failed", text)

    def test_parents_are_told_first(self):
        """else a shell's child ends, then the shell itself, and its trap is never called"""
        table = {900: (1, 900, "sh"), 20: (900, 900, "bash"), 700: (900, 900, "bash"), 10: (20, 20, "sleep"),
                 30: (700, 900, "sleep"), 40: (1, 1, "other")}
        with mock.patch.object(process, "processes", lambda: table):
            told = list(process.tree(900, "no such mark"))
        self.assertEqual(sorted(told), [10, 20, 30, 700, 900])
        for pid in told[1:]:
            self.assertLess(told.index(table[pid][0]), told.index(pid))

    def test_others_are_left_alone(self):
        with subprocess.Popen(["sleep", "1000"], start_new_session=True) as other:
            self.run_command("sleep 1000", 1)
            self.assertIsNone(other.poll())
            other.kill()

    def test_interrupted(self):
        stop = threading.Event()
        threading.Timer(1, stop.set).start()
        ended, _, took_s = self.run_command("sleep 1000", 1000, stop)
        self.assertFalse(ended.stalled)
        self.assertNotEqual(ended.code, 0)
        self.assertLess(took_s, 300)


class Stages(unittest.TestCase):
    """run_stage and main, with stages made up here."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.logs = Path(folder.name)
        self.history = History(self.logs / "history.json")
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            self.addCleanup(signal.signal, number, signal.getsignal(number))

    def main(self, stages, *words):
        """(exit status, what it printed)"""
        lines = []
        with mock.patch.multiple(check, STAGES=stages, LOGS=self.logs), \
                mock.patch.object(sys, "argv", ["check", *words]), \
                mock.patch("builtins.print", lambda *text, **_: lines.append(" ".join(map(str, text)))):
            return check.main(), "\n".join(lines)

    def stage(self, name, command, **more):
        return check.Stage(name, command, "made up", **more)

    def test_a_hang_keeps_what_passed(self):
        code, text = self.main([self.stage("a", "echo ok 1; echo ok 2; sleep 1000", quiet_s=QUIET_S)])
        self.assertEqual(code, 1)
        self.assertIn("2 passed, 1 failed", text)
        self.assertIn("not ok - a: stopped, it printed nothing for", text)

    def test_a_guest_reports_though_stopped(self):
        script = "trap 'echo 7 passed, 1 failed, 0 skipped; exit 1' TERM; echo ok 1; sleep 1000 & wait"
        _, text = self.main([self.stage("a", f'bash -c "{script}"', quiet_s=QUIET_S)])
        self.assertTrue(text.endswith("7 passed, 2 failed"), text)

    def test_no_test_is_a_failure(self):
        self.assertIn("ran no test", self.main([self.stage("a", "true")])[1])

    def test_failed_resumes(self):
        mark = self.logs / "mended"
        stages = [self.stage("prepares", "true", tests=False),
                  self.stage("good", "echo ok 1"),
                  self.stage("bad", f"test -e {mark} && echo ok 1 || echo not ok 1",
                             needs=("prepares",))]
        self.assertEqual(self.main(stages)[0], 1)
        mark.touch()
        code, text = self.main(stages, "--failed")
        self.assertEqual(code, 0)
        self.assertNotIn("good", text)
        self.assertIn("bad            1 passed", text)
        self.assertIn("nothing of the last run failed", self.main(stages, "--failed")[1])

    def test_skipped_with_its_dependents(self):
        stages = [self.stage("a", "echo ok 1", host=("never",)),
                  self.stage("b", "echo ok 1", needs=("a",)), self.stage("c", "echo ok 1")]
        with mock.patch.dict(probes.PROBES, never=(lambda: False, "no such thing here")):
            code, text = self.main(stages)
        self.assertEqual(code, 0)
        self.assertIn("ok - a # SKIP no such thing here", text)
        self.assertIn("ok - b # SKIP it needs a", text)
        self.assertTrue(text.endswith("1 passed, 0 failed, 2 skipped"), text)

    def test_two_end_at_once(self):
        def end(name):
            for _ in range(200):
                self.history.ended(name, 0, 1)

        with concurrent.futures.ThreadPoolExecutor() as pool:
            list(pool.map(end, "abcd"))
        self.assertEqual(sorted(History(self.logs / "history.json").stages), list("abcd"))

    def test_says_how_long(self):
        stages = [self.stage("a", "echo ok 1"), self.stage("b", "echo ok 1")]
        self.assertIn("no earlier run here", self.main(stages)[1])
        self.history = History(self.logs / "history.json")
        self.history.ended("a", 0, 600)
        self.history.ended("b", 0, 900)
        self.assertIn("2 stages: about 15 minutes", self.main(stages)[1])

    def test_history_of_an_interrupted_run(self):
        self.history.begin(["a", "b", "c"])
        self.history.ended("a", 0, 1)
        self.history.ended("b", 2, 1)
        self.assertEqual(History(self.logs / "history.json").left(), ["b", "c"])


class Plan(unittest.TestCase):
    def stages(self, *specs):
        return [check.Stage(name, "true", "", **more) for name, more in specs]

    def estimate(self, stages, **took_s):
        return plan.estimate(stages, took_s.get)

    def test_two_at_a_time(self):
        stages = self.stages(("a", {}), ("b", {}), ("c", {}))
        self.assertEqual(self.estimate(stages, a=10, b=4, c=4), (10, []))

    def test_asleep(self):
        """One of those that wait runs beside two others, and no second one."""
        stages = self.stages(("a", {}), ("b", {"asleep": True}), ("c", {}), ("d", {"asleep": True}))
        self.assertEqual(self.estimate(stages, a=10, b=5, c=8, d=4), (10, []))
        self.assertEqual(self.estimate(stages, a=10, b=9, c=8, d=4), (13, []))

    def test_needs(self):
        stages = self.stages(("a", {}), ("b", {"needs": ("a",)}), ("c", {}))
        self.assertEqual(self.estimate(stages, a=10, b=5, c=3), (15, []))

    def test_alone(self):
        stages = self.stages(("a", {"alone": True}), ("b", {}), ("c", {}))
        self.assertEqual(self.estimate(stages, a=10, b=5, c=3), (15, []))

    def test_unknown(self):
        stages = self.stages(("a", {}), ("b", {}))
        self.assertEqual(self.estimate(stages, a=10), (10, ["b"]))

    def test_what_runs_already(self):
        first, second = self.stages(("a", {}), ("b", {"needs": ("a",)}))
        took_s = {"a": 10, "b": 5}.get
        self.assertEqual(plan.estimate([second], took_s, {first: 4}), (11, []))

    def test_nothing_is_forgotten(self):
        """Every stage of the real table starts."""
        queue, started = plan.Queue(check.STAGES), []
        while queue.waiting or queue.running:
            started += queue.startable()
            self.assertTrue(queue.running)
            queue.ended(queue.running[0])
        self.assertEqual(len(started), len(check.STAGES))

    def test_in_words(self):
        self.assertEqual([in_words(45), in_words(600)], ["45 seconds", "10 minutes"])


class Counting(unittest.TestCase):
    def test_forms(self):
        for text, wanted in (("ok 1\nnot ok 2\nok 3 # SKIP no\n", "1 passed, 1 failed, 1 skipped"),
                             ("ok 1\nx: 5 passed, 0 failed\n", "5 passed, 0 failed"),
                             ("Ran 3 tests in 1s\n\nFAILED (failures=1, skipped=1)\n",
                              "1 passed, 1 failed, 1 skipped")):
            self.assertEqual(str(check.count_cases(text)), wanted)


if __name__ == "__main__":
    unittest.main()
