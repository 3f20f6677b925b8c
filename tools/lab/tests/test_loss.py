# SPDX-License-Identifier: GPL-2.0
"""Lost packets, stalls, reports and the goals of `lab loss` and `lab pull`."""

import json
import unittest

import base     # noqa: F401  pylint: disable=unused-import

import counters
import guest
import links
import loss
import pull
from checks import Checks
from scenario import Path, Report, Scenario, parse_change, parse_path, parse_report
from units import BadInput


def queue(handle, drops, qlen):
    """A line of `tc -s -j qdisc show dev s0`."""
    return json.dumps([{"kind": "netem", "handle": handle, "drops": drops, "qlen": qlen,
                        "root": True}]) + "\n"


class Lost(unittest.TestCase):
    """counters.lost"""

    def test_queue_and_what_came_later(self):
        # tail drops of the live queue, and what it holds in the end, aren't losses
        self.assertEqual(counters.lost(queue("1:", 5, 70), queue("dead:", 9, 0), "down0"), 79)

    def test_down_and_up_again(self):
        changes = queue("1:", 0, 3) + queue("dead:", 4, 0)
        self.assertEqual(counters.lost(changes, queue("1:", 2, 50), "down0"), 7)

    def test_other_queues(self):
        # the child of a queue holds the same packets, and other links are no matter
        mine = {"root": True, "dev": "down0", "handle": "dead:", "drops": 4, "qlen": 0}
        text = json.dumps([mine, {**mine, "dev": "up0"}, {**mine, "root": False}])
        self.assertEqual(counters.lost("", text, "down0"), 4)

    def test_never_down(self):
        self.assertEqual(counters.lost("", queue("1:", 2, 50), "down0"), 0)


class Reports(unittest.TestCase):
    """What the server is told"""

    def test_parse(self):
        self.assertEqual(parse_report("200ms,1,loss=1.5s,ttl=3s", 2),
                         Report(200_000, 1, {"loss-time": 1500, "ttl": 3000}))
        self.assertEqual(parse_report("0ms,0,pipe=5mbit,backlog=100K,delay=2ms", 1).values,
                         {"pipe-rate": 625_000, "backlog": 100_000, "delay": 2000})

    def test_command(self):
        command = guest.report_command("pamsctl", parse_report("0ms,0,loss=800ms", 1), False)
        self.assertEqual(command, "pamsctl path set 10.0.0.2 loss-time 800ms")

    def test_bad(self):
        for text in ("1s,0", "1s,2,loss=1s", "1s,0,loss=soon", "1s,0,rate=1mbit",
                     "1s,0,ttl=1s", "1,0,loss=1s", "1s,0,loss"):
            with self.subTest(text=text), self.assertRaises(BadInput) as caught:
                parse_report(text, 2)
            self.assertIn(text, str(caught.exception))

    def test_order(self):
        scenario = Scenario(paths=(parse_path("8mbit,10ms"),) * 2,
                            changes=(parse_change("1s,1,link=down", 2),),
                            reports=(Report(1_000_000, 1, {"loss-time": 0}),
                                     Report(0, 1, {"loss-time": 900})))
        kinds = [(at, isinstance(what, Report)) for at, what in guest.events(scenario)]
        self.assertEqual(kinds, [(0, True), (1_000_000, False), (1_000_000, True)])


class Links(unittest.TestCase):
    """A link that is down has another queue, so that the old one's packets go"""

    def test_handles(self):
        path = parse_path("8mbit,10ms")
        self.assertIn("root handle 1: netem limit 100", links.netem("down", 0, path))
        down = Path(8_000_000, 10_000, down=True)
        self.assertTrue(links.netem("down", 0, down).endswith("handle dead: netem loss 100%"))


class Pull(unittest.TestCase):
    """What is a goal"""

    def test_goals(self):
        alike, unlike, narrow = pull.CASES
        self.assertEqual(pull.goal_s(alike, 0, None), 0.2)
        self.assertEqual(pull.goal_s(alike, 0, 5_000), 0.05)
        # 5 ms notice and 50 ms round trip can't give 50 ms; the other way round can
        self.assertIsNone(pull.goal_s(unlike, 0, 5_000))
        self.assertEqual(pull.goal_s(unlike, 1, 5_000), 0.05)
        # 10 Mbit/s don't carry 16
        self.assertIsNone(pull.goal_s(narrow, 0, None))


class Cases(unittest.TestCase):
    """The set-ups"""

    def test_fading(self):
        case = loss.CASES[0]
        self.assertEqual(case.scenario.changes[-1].values, {"down": True})
        self.assertEqual(case.scenario.changes[-2].values, {"rate_bps": 5_000_000})
        self.assertEqual(loss.told(case, -300).reports[0].values, {"loss-time": 1700})

    def test_unused_airtime(self):
        # 300 ms of 25 Mbit/s take 1.5 s on LTE, once LTE has to carry it
        early = loss.CASES[1]
        self.assertAlmostEqual(loss.unused_airtime_s(early, -300), 1.5, 3)
        self.assertEqual(loss.unused_airtime_s(early, 300), 0)

    def test_pull(self):
        scenario = pull.pulled(pull.CASES[1], 0, 10_000)
        self.assertEqual(scenario.reports, (Report(2_035_000, 0, {"loss-time": 0}),))
        self.assertEqual(scenario.bytes_max, 10_000_000)
        self.assertIn("--rate 2000000", guest.client_command(scenario))


def row(lost, time_s, stall_s):
    """Of a name that all arrived."""
    return {"failed": 0, "lost": lost, "fct_s": time_s, "goodput_bps": 4e7 / time_s,
            "stall_s": stall_s}


class Goals(unittest.TestCase):
    """What is called reached"""

    def judged(self, **exact):
        """How many aren't."""
        checks = Checks()
        rows = {"large default": row(80, 4.0, 2.0), "p": row(80, 4.0, 2.0),
                "p +0 ms": {**row(2, 3.5, 0.04), **exact},
                "p -300 ms": row(0, 4.9, 0.04), "p +300 ms": row(80, 4.0, 1)}
        loss.check(checks, loss.CASES[2], "p", rows)
        return sum(not good for good, _ in checks.found)

    def test_reached(self):
        self.assertEqual(self.judged(), 0)

    def test_missed(self):
        self.assertEqual(self.judged(lost=9), 1)
        self.assertEqual(self.judged(stall_s=0.061), 1)
        self.assertEqual(self.judged(fct_s=3.1), 1)     # 300 ms too early costs 1.8 s then
        self.assertEqual(self.judged(goodput_bps=4.1e7 / 4), 1)
        self.assertEqual(self.judged(goodput_bps=3.8e7 / 4), 2)

    def test_tap(self):
        checks = Checks()
        checks.at_most("a", 1, 2, "ms")
        checks.at_least("b", None, 2)
        self.assertEqual(checks.lines(), ["1..2", "ok 1 - a: 1, at most 2 ms",
                                          "not ok 2 - b: nothing, at least 2"])
        self.assertFalse(checks.good)


if __name__ == "__main__":
    unittest.main()
