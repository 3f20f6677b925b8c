# SPDX-License-Identifier: GPL-2.0
"""What a guest does for rivals, radios and pages."""

import json
import os
import tempfile
import unittest

import base     # noqa: F401  pylint: disable=unused-import

import guest
from scenario import Scenario, pages_of, parse_change, parse_path


class Scripts(unittest.TestCase):
    """guest.py"""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()     # pylint: disable=consider-using-with
        self.addCleanup(self.folder.cleanup)

    def client(self, *paths, **more):
        """The client's script, and the guest."""
        scenario = Scenario(paths=tuple(map(parse_path, paths)), **more)
        made = guest.Guest(self.folder.name, "XFER", "")
        made.pace, made.rival = "PACE", "RIVAL"
        made.links(scenario.paths)
        made.run(scenario, "default")
        return made.client, made

    def text(self, name):
        """Of a file that the guest reads."""
        with open(os.path.join(self.folder.name, name), encoding="utf-8") as lines:
            return lines.read()

    def at(self, lines, text):
        """Where the first line with that is."""
        return next(i for i, line in enumerate(lines) if text in line)

    def test_rival(self):
        lines, made = self.client("1mbit,1ms", "2mbit,1ms,rival")
        self.assertIn("RIVAL serve 5001 &", made.init)
        begin = self.at(lines, "RIVAL down 10.0.1.1 5001")
        self.assertLess(begin, self.at(lines, "XFER client"))
        self.assertLess(self.at(lines, "XFER client"), self.at(lines, "kill $rival1;"))
        self.assertIn("RIVAL up ", "".join(self.client("2mbit,1ms,rival", direction="up")[0]))
        self.assertNotIn("RIVAL", "".join(self.client("1mbit,1ms")[0]))

    def test_radio(self):
        lines, _ = self.client("1mbit,1ms,radio=3")
        self.assertLess(self.at(lines, "PACE $D/radios | "), self.at(lines, "XFER client"))
        self.assertIn("dev down0", self.text("radios"))

    def test_pages(self):
        lines, made = self.client("1mbit,1ms", objects=7, requests=2, bytes_min=10,
                                  bytes_max=5000)
        scenario = Scenario(paths=(parse_path("1mbit,1ms"),), objects=7, requests=2,
                            bytes_min=10, bytes_max=5000)
        self.assertEqual(json.loads(self.text("pages.json")), pages_of(scenario))
        self.assertIn("browser.py", lines[self.at(lines, "$D/requests")])
        self.assertIn("XFER server -p 5000 --web", "".join(made.init))
        self.assertNotIn("--web", "".join(self.client("1mbit,1ms")[1].init))

    def test_mtu(self):
        self.client("1mbit,1ms,mtu=9000", "1mbit,1ms")
        self.assertIn("link set s0 mtu 9000", self.text("server.ip"))
        self.assertIn("link set down0 mtu 9000", self.text("router.ip"))
        self.assertIn("link set c0 mtu 9000", self.text("client.ip"))
        self.assertNotIn("s1 mtu", self.text("server.ip"))

    def test_neighbour(self):
        lines, made = self.client("1mbit,1ms", "1mbit,1ms", beside="both",
                                  neighbour=parse_path("9mbit,7ms"))
        self.assertIn("addr add 10.0.0.2/32 dev n2", self.text("neighbour2.ip"))
        self.assertIn("rate 9000000bit", self.text("neighbour.tc"))
        self.assertIn("XFER server -p 5002 &", made.init)
        self.assertEqual(sum(line.startswith("nsenter --net=/run/netns/n XFER") for line in lines), 2)
        self.assertLess(self.at(lines, "10.0.0.1 5002"), self.at(lines, "> $D/requests"))
        lines, made = self.client("1mbit,1ms", beside="keep")
        self.assertIn("XFER client --quiet --conns 3", "".join(lines))
        self.assertNotIn("neighbour", "".join(made.init))

    def test_pause(self):
        lines, _ = self.client("1mbit,1ms", pause_ms=(500, 900))
        self.assertIn("--pause-reading 500-900", "".join(lines))

    def test_queues_of_hosts(self):
        _, made = self.client("1mbit,1ms", "1mbit,1ms,queue=cake",
                              changes=(parse_change("1s,1,rate=2mbit", 2),))
        self.assertIn("dev s1 ", self.text("server.tc"))
        self.assertNotIn("dev s0 ", self.text("server.tc"))
        self.assertIn("tc -n c -batch $D/client.tc", "".join(made.init))
        self.assertIn("cake bandwidth 2000000bit", self.text("change0.router"))
        self.assertNotIn("down0", self.text("change0.router"))


if __name__ == "__main__":
    unittest.main()
