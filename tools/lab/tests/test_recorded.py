# SPDX-License-Identifier: GPL-2.0
"""Recordings of links, and links that are drawn like recordings, on values worked out by hand."""

import lzma
import os
import tempfile
import unittest

import base     # noqa: F401  pylint: disable=unused-import

import bound
import cli
import guest
import links
import recorded
from scenario import Scenario, parse_change, parse_path, radio_changes
from units import FRAME_BITS, BadInput


class Recordings(unittest.TestCase):
    """recorded.py, and what it is in scenarios, links and guests"""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()     # pylint: disable=consider-using-with
        self.addCleanup(self.folder.cleanup)
        before = os.environ.get("MPTCP_PAMS_CACHE")
        os.environ["MPTCP_PAMS_CACHE"] = self.folder.name
        self.addCleanup(lambda: os.environ.pop("MPTCP_PAMS_CACHE") if before is None else
                        os.environ.update(MPTCP_PAMS_CACHE=before))

    def file(self, text, name="recording"):
        """Its name."""
        path = os.path.join(self.folder.name, name)
        with (lzma.open if name.endswith(".xz") else open)(path, "wt", encoding="ascii") as out:
            out.write(text)
        return path

    def test_read(self):
        for name in ("one", "one.xz"):
            found = recorded.read(self.file("0\n2\n2\n5\n10\n", name))
            self.assertEqual(found.lines(), "0 1\n2 2\n5 1\n10 1\n")
            self.assertEqual(found.mean_bps(), round(5 * FRAME_BITS / 0.010))

    def test_payload(self):
        found = recorded.read(self.file("1\n2\n2\n5\n10\n", "payload"))
        for begin_ms, end_ms, count in ((0, 0, 0), (0, 1, 1), (0, 2, 3), (2, 4, 0), (4, 10, 2),
                                        (0, 20, 10), (9, 12, 4), (1005, 1015, 5)):
            self.assertEqual(found.payload(begin_ms * 1000, end_ms * 1000), count * 1448,
                             (begin_ms, end_ms))

    def test_what_is_no_recording(self):
        for number, text in enumerate(("", "0\n", "1\n0\n", "1\nx\n", "-1\n", "1 2\n0\n")):
            with self.assertRaises(BadInput):
                recorded.read(self.file(text, f"bad{number}"))
        for name in (os.path.join(self.folder.name, "missing"),
                     os.path.dirname(os.path.abspath(__file__))):
            with self.assertRaises(BadInput):
                recorded.read(name)
        plain = self.file("1\n", "plain")
        os.rename(plain, f"{plain}.xz")
        with self.assertRaises(BadInput):
            recorded.read(f"{plain}.xz")

    def test_path(self):
        down, up = self.file("1\n"), self.file("2\n", "up")
        path = parse_path(f"trace:{down},20ms,200KB,up=trace:{up},from=1.5s,loss=1%")
        self.assertEqual((path.rate_bps, path.up_bps, path.delay_us),
                         (FRAME_BITS * 1000, FRAME_BITS * 500, 20000))
        self.assertEqual(path.replay, recorded.Replay(down, up, 1_500_000, limit_bytes=200_000))
        self.assertIn("recording recording from 1.5 s", path.text())
        self.assertEqual(parse_path(f"trace:{down},20ms,30").limit_packets, 30)
        self.assertEqual(recorded.opportunities(path, False).length_us, 1000)
        self.assertEqual(recorded.opportunities(path, True).length_us, 2000)
        self.assertIs(recorded.opportunities(parse_path(f"trace:{down},20ms"), True),
                      recorded.opportunities(path, False))

    def test_refusals(self):
        name = self.file("1\n")
        for text in ("8mbit,1ms,from=1s", "8mbit,1ms,20KB", f"8mbit,1ms,up=trace:{name}",
                     f"trace:{name},1ms,up=1mbit", f"trace:{name},1ms,jitter=1ms",
                     f"trace:{name},1ms,queue=cake", f"trace:{name},1ms,radio=1",
                     f"trace:{name},1ms,steps=1", "8mbit,1ms,steps=1,blocked=1",
                     "8mbit,1ms,steps=1,from=1s", "trace:/nonesuch,1ms"):
            with self.assertRaises(BadInput, msg=text):
                parse_path(text)
        parse = cli._parser().parse_args        # pylint: disable=protected-access
        for change, good in (("rate=1mbit", False), ("limit=3", False), ("delay=1ms", True),
                             ("link=down", True), ("loss=1%", True)):
            args = parse(["run", "--path", f"trace:{name},1ms", "--change", f"1s,0,{change}"])
            if good:
                cli.scenario_of(args)
            else:
                with self.assertRaises(BadInput, msg=change):
                    cli.scenario_of(args)

    def test_router(self):
        path = parse_path(f"trace:{self.file('1')},20ms,30")
        self.assertEqual(links.router_ip(1, replayed=[0]),
                         ["link set down0 addrgenmode none up", "link set up0 addrgenmode none up"])
        self.assertIn("link set down1 master br1 addrgenmode none up",
                      links.router_ip(2, replayed=[0]))
        line = links.netem("down", 0, path)
        self.assertIn(f"limit {links.HOST_LIMIT} delay 20000us", line)
        self.assertIn(f"rate {links.REPLAY_BPS}bit", line)

    def test_guest(self):
        scenario = Scenario(paths=(parse_path(f"trace:{self.file('1')},20ms,30,from=2ms"),
                                   parse_path("1gbit,2ms,20KB,steps=3")))
        made = guest.Guest(self.folder.name, "XFER", "")
        made.replay, made.pace = "REPLAY", "PACE"
        made.links(scenario.paths)
        made.run(scenario, "default")
        started = [line for line in made.init if "REPLAY" in line]
        self.assertEqual(len(started), 4)
        self.assertIn("REPLAY up0 down0 ", started[0])
        self.assertIn(" 2000 30 0) ", started[0])
        self.assertIn("REPLAY down1 up1 ", started[3])
        self.assertIn(" 0 0 20000) ", started[3])
        anew = made.client.index("kill -HUP $replays || fail 'replay has gone'")
        self.assertLess(anew, next(i for i, line in enumerate(made.client)
                                   if "> $D/requests" in line))
        with open(recorded.kept(scenario.paths[0], False), encoding="ascii") as text:
            self.assertEqual(text.read(), "1 1\n")

    def test_bound(self):
        # ten packets in the first ms, then nothing until 1 s, where it begins again
        name = self.file("1\n" * 10 + "1000\n", "burst")
        scenario = Scenario(paths=(parse_path(f"trace:{name},20ms"),))
        self.assertAlmostEqual(bound.transfer_us(scenario, 14480, upload=True), 1000 + 40000,
                               delta=2)
        self.assertAlmostEqual(bound.transfer_us(scenario, 14481, upload=True),
                               1_000_000 + 40000, delta=2)
        later = Scenario(paths=(parse_path(f"trace:{name},20ms,from=990ms"),))
        self.assertAlmostEqual(bound.transfer_us(later, 14480, upload=True), 11000 + 40000, delta=2)
        cut = Scenario(paths=scenario.paths, changes=(parse_change("500ms,0,link=down", 1),))
        self.assertEqual(bound.transfer_us(cut, 14481, upload=True), float("inf"))

    def test_drawn(self):
        """gaps of the length that is said, the mean rate, the same ones for the same seed"""
        for kind, least_ms, most_ms in (("steps", *recorded.STEP_GAP_MS),
                                        ("blocked", *recorded.BLOCKED_MS)):
            one, again, other = (parse_path(f"100mbit,5ms,{kind}={seed}") for seed in (1, 1, 2))
            found = recorded.opportunities(one, False)
            self.assertEqual(found.lines(), recorded.opportunities(again, False).lines())
            self.assertNotEqual(found.lines(), recorded.opportunities(other, False).lines())
            gaps = [b - a for a, b in zip(found.at_ms, found.at_ms[1:]) if b - a > 2]
            self.assertGreater(len(gaps), 5)
            self.assertTrue(all(least_ms <= gap <= most_ms + 2 for gap in gaps), gaps)
            self.assertTrue(0.3 < found.mean_bps() / 100e6 < 1.3, found.mean_bps())

    def test_steps(self):
        path = parse_path("100mbit,20ms,steps=4")
        changes = radio_changes(Scenario(paths=(path,)))
        self.assertEqual(len(changes), 1 + recorded.STEPS)
        self.assertEqual({b.at_us - a.at_us for a, b in zip(changes[1:], changes[2:])},
                         {15_000_000})
        self.assertTrue(all(16_000 <= change.values["delay_us"] <= 30_000 for change in changes))


if __name__ == "__main__":
    unittest.main()
