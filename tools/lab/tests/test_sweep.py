# SPDX-License-Identifier: GPL-2.0
"""Drawn scenarios, what the sweep makes of their runs, and what a viewer sees."""

import contextlib
import io
import shlex
import unittest
from dataclasses import replace
from types import SimpleNamespace
from unittest import mock

import base     # noqa: F401  pylint: disable=unused-import

import cli
import drawn
import player
import runs
import sweep
import video
from scenario import MAX_PATHS, Path, Scenario, pages_of
from units import BadInput


class Draw(unittest.TestCase):
    """drawn.py"""

    def test_same_again(self):
        for name in ("1-000", "1-017", "7-299"):
            self.assertEqual(drawn.named(name), drawn.named(name))
            self.assertEqual(drawn.named(name).name, name)
        self.assertNotEqual(drawn.named("1-000").scenario, drawn.named("2-000").scenario)

    def test_ranges(self):
        for one in drawn.several(1, 300):
            scenario = one.scenario
            with self.subTest(name=one.name):
                self.assertTrue(2 <= len(scenario.paths) <= 4 <= MAX_PATHS)
                for path in scenario.paths:
                    self.assertTrue(1e6 <= path.rate_bps <= 2.5e9)
                    self.assertTrue(1e3 <= path.delay_us <= 150e3)
                    self.assertLess(path.rate_bps * 2 * path.delay_us / 8e6, 8.1e6)
                    self.assertTrue(0 <= path.loss <= 0.02)
                    self.assertFalse(path.loss and (path.queue or path.radio))
                self.assertTrue(0 <= scenario.gap_ms <= 5000)
                self.assertTrue(16_000 <= scenario.bytes_max <= 50_000_000)
                self.assertTrue(one.warm_up < scenario.requests)
                self.assertEqual(one.warm_up, 0 if scenario.cold else 1)
                self.assertLess(one.payload_bytes(), 26e6)

    def test_pages(self):
        for one in drawn.several(1, 300, kind="pages"):
            with self.subTest(name=one.name):
                self.assertEqual(drawn.named(one.name), one)
                self.assertTrue(10 <= one.scenario.objects <= 60)
                pages = pages_of(one.scenario)
                self.assertEqual({len(page) for page in pages}, {one.scenario.objects})
                self.assertNotEqual(pages[0], pages[1])
                self.assertEqual(one.payload_bytes(), sum(map(sum, pages)))
                self.assertEqual(list(one.parts()), ["first", "later"])

    def test_halves(self):
        for kind, count in (("transfers", 300), ("pages", 75), ("all", 375)):
            tune, told = (drawn.several(1, 300, half, kind) for half in ("tune", "report"))
            self.assertEqual(len(tune) + len(told), count)
            self.assertFalse({one.name for one in tune} & {one.name for one in told})

    def test_everything_occurs(self):
        several = drawn.several(1, 300)
        for what in (lambda s: len(s.paths), lambda s: s.cold, lambda s: s.conns > 1,
                     lambda s: s.direction, lambda s: s.requests > 2, lambda s: s.congestion,
                     lambda s: bool(s.extra), lambda s: s.gap_ms > 0,
                     lambda s: any(path.rival for path in s.paths)):
            self.assertGreater(len({what(one.scenario) for one in several}), 1)
        paths = [path for one in several for path in one.scenario.paths]
        for what in (lambda p: p.queue == "cake", lambda p: p.queue == "fq_codel",
                     lambda p: p.radio, lambda p: p.burst_us, lambda p: p.up_bps,
                     lambda p: p.rate_bps > 1e9):
            self.assertTrue(0.05 < sum(map(bool, map(what, paths))) / len(paths) < 0.6)
        self.assertTrue(0.5 < sum(one.lossless() for one in several) / 300 < 0.9)

    def test_command(self):
        several = drawn.several(3, 40, kind="all")
        several += [one for kind in drawn.EVERYDAY for one in drawn.several(3, 6, kind=kind)]
        for one in several:
            words = shlex.split(drawn.command(one, ["default"]))
            self.assertEqual(words.pop(0), "lab")
            parsed = cli.scenario_of(cli._parser().parse_args(words))  # pylint: disable=W0212
            self.assertEqual(parsed, one.scenario)

    def test_everyday(self):
        for kind in drawn.EVERYDAY:
            for one in drawn.several(2, 40, kind=kind):
                with self.subTest(name=one.name):
                    self.assertEqual(drawn.named(one.name), one)
                    self.assertFalse(one.bounded())
                    self.assertLess(one.payload_bytes(), 60e6)
        mtus = [{path.mtu for path in one.scenario.paths}
                for one in drawn.several(2, 40, kind="mtu")]
        self.assertTrue(all(len(unlike) > 1 for unlike in mtus))
        pauses = drawn.several(2, 40, kind="pause")
        self.assertTrue(10 < sum(bool(one.scenario.changes) for one in pauses) < 30)
        self.assertTrue(all(one.scenario.neighbour for one in drawn.several(2, 4, kind="nat")))

    def test_stream_counts_by_its_lateness(self):
        one = drawn.draw_everyday("live", 1, 1)
        result = {"failed": 0, "mib": {"client": {}}, "paths": [{"down_bytes": 0, "down_packets": 0}],
                  "requests": [{"request": 0, "conn": 0, "fct_s": 20.0, "late_s": 0.3,
                                "bound_s": 20.0, "bytes": 10, "fallback": False}]}
        self.assertEqual(sweep.outcome(one, result, lambda request: True).mean_s, 0.3)

    def test_bad(self):
        for name in ("", "1", "1-", "1-mtu", "1-tu1", "x-1", "1-x", "1-p", "1-q1", "1-100001"):
            with self.subTest(name=name), self.assertRaises(BadInput):
                drawn.named(name)

    def test_join(self):
        one = next(one for one in drawn.several(1, 99) if one.scenario.cold)
        delays = [path.delay_us for path in one.scenario.paths]
        self.assertEqual(one.join_s(0), 0)
        self.assertAlmostEqual(one.join_s(1), 2 * (delays[0] + delays[1]) / 1e6)
        pages = drawn.draw_pages(1, 1)
        rounds = -(-pages.scenario.objects // 6)
        self.assertEqual(pages.join_s(0), 0)
        self.assertAlmostEqual(pages.join_s(1),
                               rounds * 4 * pages.scenario.paths[0].delay_us / 1e6)

    def test_begins_on_any_path(self):
        for several in (drawn.several(1, 200, kind="transfers"),
                        drawn.several(1, 400, kind="pages")):
            two = [[path.delay_us for path in one.scenario.paths] for one in several
                   if len(one.scenario.paths) == 2 and (one.scenario.cold or one.scenario.objects)]
            later = sum(delays[0] > delays[1] for delays in two)
            self.assertTrue(0.3 < later / len(two) < 0.7)

    def test_only_the_order_of_paths_is_drawn_anew(self):
        """Of 1-000 and others as they were when all began on the path with the least delay."""
        for name, delays, size, gap in SAME:
            scenario = drawn.named(name).scenario
            self.assertEqual(sorted(path.delay_us for path in scenario.paths), delays)
            self.assertEqual((scenario.bytes_max, scenario.gap_ms), (size, gap))


SAME = (
    ("1-000", [1130, 125000], 35200, 3094),
    ("1-017", [1180, 57200], 1900000, 1184),
    ("7-004", [3270, 17800], 389000, 68),
    ("1-p003", [26100, 78700], 2000000, 2366),
)


def _row(name, times, single, bound=None, duplicates=0.0):
    return {"name": name, "part": "", "text": "", "time_s": times, "single_s": single, "joined_s": single,
            "tail_s": times, "single_tail_s": single, "bound_s": bound, "bound_counts": bound is not None,
            "duplicates": dict.fromkeys(times, duplicates), "fell_back": dict.fromkeys(times, 0)}


class Sweep(unittest.TestCase):
    """sweep.py"""

    rows = [_row("1-001", {"default": 2.0, "pams": 1.0}, 1.0, 0.8, 0.1),
            _row("1-003", {"default": 1.0, "pams": 2.0}, 4.0, None, 0.3)]

    def test_summary(self):
        line = sweep.summary_of(self.rows, "pams")
        self.assertAlmostEqual(line["default_mean"], 1.0)
        self.assertAlmostEqual(line["single_mean"], 0.5 ** 0.5)
        self.assertEqual(line["single_harmed"], 0)
        self.assertAlmostEqual(line["single_worst"], 1.0)
        self.assertAlmostEqual(line["bound_median"], 1.25)
        self.assertEqual(line["bound_scenarios"], 1)
        self.assertAlmostEqual(line["peers_worst"], 2.0)
        self.assertEqual(line["peers_over"], 1)
        self.assertAlmostEqual(line["duplicates_mean"], 0.2)
        self.assertAlmostEqual(line["duplicates_max"], 0.3)
        self.assertEqual(sweep.summary_of(self.rows, "default")["single_harmed"], 1)

    def test_tail(self):
        self.assertAlmostEqual(sweep.summary_of(self.rows, "pams")["tail_mean"], 0.5 ** 0.5)
        one = drawn.draw_pages(1, 0)
        requests = [{"request": i, "conn": 0, "fct_s": 9.0, "bound_s": 1.0, "bytes": 10,
                     "fallback": False, "objects_s": [i + 1.0, i + 2.0]} for i in range(2)]
        result = {"failed": 0, "requests": requests, "mib": {"client": {}},
                  "paths": [{"down_packets": 0, "down_bytes": 0}]}
        found = sweep.outcome(one, result, lambda request: True)
        self.assertEqual(found.times_s, (1.0, 2.0, 2.0, 3.0))
        self.assertEqual(sweep.percentile(sweep.mean_outcome([found] * 2).times_s, sweep.TAIL), 3.0)

    def test_best_of_all(self):
        self.assertAlmostEqual(sweep.best_of_all(self.rows), 0.5 ** 0.5)

    def test_failed(self):
        rows = [_row("1-001", {"default": 1.0, "pams": None}, None)]
        line = sweep.summary_of(rows, "pams")
        self.assertEqual((line["failed"], line["default_mean"]), (1, None))

    def test_percentile(self):
        self.assertEqual(sweep.percentile(range(1, 11), 0.9), 9)
        self.assertEqual(sweep.percentile([3], 0.9), 3)
        self.assertIsNone(sweep.percentile([], 0.9))

    def test_duplicates(self):
        one = next(one for one in drawn.several(1, 9) if one.scenario.direction == "down")
        payload = one.payload_bytes()
        path = {"down_packets": 10, "down_bytes": 10 * sweep.HEADER_BYTES + payload * 5 // 4}
        result = {"paths": [path], "mib": {"client": {}},
                  "requests": [{"bytes": payload // 2}, {"bytes": payload - payload // 2}]}
        self.assertAlmostEqual(sweep.duplicate_share(one, result), 0.25, 4)
        result["mib"]["client"]["TcpExtTCPDSACKOldSent"] = payload
        self.assertEqual(sweep.duplicate_share(one, result), 0)


class Jobs(unittest.TestCase):
    """What runs, and what a scheduler is compared with"""

    def test_jobs(self):
        one = drawn.draw(1, 0)
        names = [job.name for job in sweep.jobs_of(one, ["default", "minfct"])
                 if job.path < 0 and not job.repeat]
        self.assertEqual(names, ["default", "minfct"])

    def test_own_bound(self):
        """Of links that vary each scheduler's requests have bounds of their own, in whatever order."""
        one = next(one for one in drawn.several(11, 300) if one.bounded() and one.scenario.cold)
        bounds = {"default": 2.0, "pams": 4.0, "minfct": None}

        def result(name):
            return {"failed": int(name == "minfct"), "mib": {"client": {}, "server": {}},
                    "paths": [{f"{way}_{what}": 0 for way in ("down", "up") for what in ("bytes", "packets")}],
                    "requests": [{"request": 0, "conn": 0, "fct_s": 8.0, "bytes": 10, "fallback": False,
                                  "bound_s": bounds.get(name, 2.0)}]}

        for order in (["default", "pams", "minfct"], ["minfct", "pams", "default"]):
            jobs = sweep.jobs_of(one, order)
            rows = sweep.rows_of([(one, jobs)], [result(job.name) for job in jobs])
            found = [sweep.summary_of(rows, name)["bound_median"] for name in bounds]
            self.assertEqual(found, [4.0, 2.0, None])

    def test_no_peer_of_itself(self):
        row = _row("1-001", {"default": 2.0, "minfct": 1.0}, 3.0)
        self.assertEqual(sweep.against_peers(row, "minfct"), 2.0)
        self.assertEqual(sweep.against_peers(row, "default"), 1.0)


class Parts(unittest.TestCase):
    """First and later pages are rows of their own"""

    def test_rows(self):
        one = drawn.draw_pages(1, 0)
        jobs = sweep.jobs_of(one, ["default"])
        jobs = [job for job in jobs if not job.repeat]

        def result(number):
            times = [3.0 + number, 1.0 + number, 2.0 + number]
            path = {"down_packets": 0, "down_bytes": 0}
            return {"failed": 0, "paths": [path], "mib": {"client": {}}, "requests": [
                {"request": i, "fct_s": time, "bound_s": 0.5, "bytes": 10, "conn": i,
                 "fallback": i == 1}
                for i, time in enumerate(times)]}

        rows = sweep.rows_of([(one, jobs)], [result(i) for i in range(len(jobs))])
        self.assertEqual([(row["part"], row["single_s"]) for row in rows],
                         [("first", 3.0), ("later", 1.5)])
        self.assertEqual([row["time_s"]["default"] for row in rows],
                         [3.0 + len(jobs) - 1, 1.5 + len(jobs) - 1])
        self.assertFalse(any(row["bound_counts"] for row in rows))
        self.assertEqual(rows[0]["fell_back"]["default"], 1)

    def test_without_those_that_fell_back(self):
        one = drawn.draw_pages(1, 0)
        requests = [{"request": i, "conn": i, "fct_s": 1.0 + i, "bound_s": 0.5, "bytes": 10,
                     "fallback": i == 0} for i in range(2)]
        result = {"failed": 0, "requests": requests, "mib": {"client": {}},
                  "paths": [{"down_packets": 0, "down_bytes": 0}]}
        every = sweep.outcome(one, result, lambda request: True)
        self.assertEqual((every.mean_s, every.fell_back), (1.5, 1))
        self.assertEqual(sweep.outcome(one, result, lambda request: True, False).mean_s, 2.0)


class Video(unittest.TestCase):
    """player.py, video.py"""

    def test_level(self):
        self.assertEqual(player.next_level(3, [], 10, 2), 0)
        self.assertEqual(player.next_level(3, [50e6], 1, 2), 0)
        self.assertEqual(player.next_level(3, [50e6], 10, 2), 4)
        self.assertEqual(player.next_level(3, [1e6], 10, 2), 1)
        self.assertEqual(player.next_level(8, [50e6], 10, 2), 8)

    def test_seen(self):
        requests = [{"start_s": 0.0, "fct_s": 1.0, "level": 0},     # plays from 1 to 3
                    {"start_s": 1.0, "fct_s": 1.0, "level": 0},     # to 5
                    {"start_s": 2.0, "fct_s": 4.0, "level": 1}]     # there at 6
        view = video.seen(requests, 2)
        self.assertEqual((view["stalls"], view["switches"], view["start_s"]), (1, 1, 1.0))
        self.assertAlmostEqual(view["stalled_s"], 1.0)

    def test_jobs(self):
        """Each has a folder of its own, and a name for the line of progress."""
        found = video.unit_jobs(["pams", "minfct"], 2)
        self.assertTrue(all(isinstance(job.name, str) for _, job in found))
        means = SimpleNamespace(keep="/x")
        self.assertEqual(len({runs.kept_in(means, job) for _, job in found}), len(found))
        self.assertEqual(len(found), 2 * len(video.cases()) * len(video.SEGMENTS_S) * 2 * 2 * 2)

    def test_failed(self):
        """The segments that didn't come are told, and end with 1."""
        def run_all(_means, jobs, *_):
            segments = [{"start_s": 2.0 * i, "fct_s": 1.0, "level": 1, "bytes": 1000} for i in range(3)]
            return [({"requests": segments, "failed": failed if not i else 0}, [])
                    for i, _ in enumerate(jobs)]

        for failed, code in ((0, 0), (42, 1)):
            said = io.StringIO()
            with mock.patch.object(runs, "run_all", run_all), contextlib.redirect_stdout(said):
                self.assertEqual(video.command(SimpleNamespace(
                    sched="pams", walks=1, quiet=True, jobs=1, json=""), None), code)
            self.assertIn(f"segments that failed: {failed}, at most 0", said.getvalue())
            self.assertIn("pams, 6 s, ahead, links 2: stalls with units: 0, at most 0", said.getvalue())


class Repeats(unittest.TestCase):
    """A scenario with loss runs until enough is lost, or often enough."""

    def test_by_hand(self):
        def times(loss, size, requests=1):
            path = Path(rate_bps=10**7, delay_us=10**4, limit_packets=100, loss=loss)
            return sweep.repeats(drawn.Drawn("0-000", Scenario(
                paths=(path, replace(path, loss=0.0)), bytes_min=size, bytes_max=size,
                requests=requests), 0))

        segment = sweep.SEGMENT_BYTES
        self.assertEqual(times(0.0, 10**7), 1)
        self.assertEqual(times(0.01, 1000 * segment), 1)            # 10 lost
        self.assertEqual(times(0.01, 999 * segment), 2)
        self.assertEqual(times(0.01, 100 * segment, 5), 2)          # 5
        self.assertEqual(times(0.0001, 100 * segment), sweep.REPEATS_MAX)

    def test_means(self):
        one, two = (sweep.Outcome(seconds, 1.0, share, 1) for seconds, share in ((1, 0), (2, 0.1)))
        self.assertEqual(sweep.mean_outcome([one, two]), sweep.Outcome(1.5, 1.0, 0.05, 2))
        failed = sweep.Outcome(None, None, 0.0, 0)
        self.assertIsNone(sweep.mean_outcome([one, failed]).mean_s)


if __name__ == "__main__":
    unittest.main()
