# SPDX-License-Identifier: GPL-2.0
"""Guests with pamsd, and what the demo says of it."""

import os
import tempfile
import unittest

import base     # noqa: F401  pylint: disable=unused-import

import demo
import fed
from scenario import Scenario, parse_change, parse_helper, parse_path


class Guests(unittest.TestCase):
    """fed.py, as far as it can be seen without a boot"""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def text(self, name):
        """Of a file that the guest reads."""
        with open(os.path.join(self.folder.name, name), encoding="utf-8") as lines:
            return lines.read()

    def helper(self, kind):
        """Guest of a direct path and a helper's."""
        paths = (parse_path("5mbit,25ms"), parse_helper(f"10mbit:20ms,4mbit:5ms:loss=1%,{kind}"))
        guest = fed.HelperGuest(self.folder.name, "xfer", "pamsctl", "pamsd")
        guest.netem_seed = "netem-seed"
        guest.pamsplit = "pamsplit"
        guest.links(paths)
        guest.run(Scenario(paths=paths, requests=1, changes=(
            parse_change("2s,1.pipe,rate=1mbit", 2, {1}),
            parse_change("3s,1.hs,link=down", 2, {1}))), "default")
        guest.finish()

    def test_helper(self):
        self.helper("router")
        # the pipe's queue is on the helper, all else in the router
        self.assertEqual(self.text("helper1.tc").strip(),
                         "qdisc replace dev pipe1 root handle 1: netem limit 100 delay 5000us "
                         "loss 1% rate 4000000bit")
        for line in ("dev down1 root handle 1: netem limit 100 delay 20000us rate 10000000bit",
                     "dev up1 root handle 1: netem limit 100 delay 20000us rate 10000000bit",
                     "dev in1 root handle 1: netem limit 100 delay 5000us loss 1% rate 4000000bit",
                     "dev down0 root handle 1: netem limit 100 delay 25000us rate 5000000bit"):
            self.assertIn(line, self.text("router.tc"))
        self.assertIn("link add hs1 netns h1 address 02:00:00:00:03:01 type veth peer name down1 ",
                      self.text("server.ip"))
        # each end knows the other by the helper's MAC
        self.assertIn("neigh add 10.0.1.2 lladdr 02:00:00:00:03:01 dev s1", self.text("server.ip"))
        self.assertIn("neigh add 10.0.0.1 lladdr 02:00:00:00:04:01 dev c1", self.text("client.ip"))
        self.assertIn('about = {"10.0.1.2"} measure = "qdisc"', self.text("helper1.conf"))
        self.assertNotIn("pamsplit", self.text("client.sh"))

    def test_split(self):
        self.helper("split")
        self.assertIn('measure = "pamsplit"', self.text("helper1.conf"))
        self.assertIn("pamsplit --pipe pipe1 ", self.text("client.sh"))
        # what is lost follows from the seed on the helper, too
        self.assertIn("netns/h1 netem-seed 1 0", self.text("client.sh"))

    def test_changes_of_a_segment(self):
        self.helper("split")
        self.assertIn("dev pipe1 root handle 1: netem limit 100 delay 5000us loss 1% "
                      "rate 1000000bit", self.text("change0.helper1"))
        self.assertIn("dev in1 ", self.text("change0.router"))
        self.assertIn("dev down1 root handle dead: netem loss 100%", self.text("change1.router"))
        self.assertIn("tc -s -j qdisc show dev pipe1 >> $D/pipe1.lost", self.text("changes.sh"))

    def test_nobody_is_told(self):
        guest = fed.LossGuest(self.folder.name, "xfer", "pamsctl", "", 1000)
        self.assertEqual((guest.daemons, guest.orders), ({}, []))
        self.assertFalse(os.path.exists(os.path.join(self.folder.name, "client.conf")))

    def test_both_ends_have_one_key(self):
        fed.LossGuest(self.folder.name, "xfer", "pamsctl", "pamsd", 1000)
        server, client = (self.text(name).split('key = "')[1].split('"')[0]
                          for name in ("server.conf", "client.conf"))
        self.assertEqual(server, client)
        self.assertEqual(len(server), 44)


class Demo(unittest.TestCase):
    """What it says"""

    def test_told(self):
        looks = [{"at_s": 0.05, "paths": []},
                 {"at_s": 0.15, "paths": [{"address": "10.0.0.2", "prefix_len": 32,
                                           "loss": {"time_ms": 850, "expires_ms": 60850}}]}]
        self.assertEqual(demo._told(demo.FED[-1], [{"told": looks}]),  # pylint: disable=W0212
                         "At 0.15 s the server's kernel knows of 10.0.0.2: it will be lost in "
                         "850 ms.")

    def test_pamsd_that_says_nothing_is_a_failure(self):
        text = demo._told(demo.FED[-1], [{"told": []}])      # pylint: disable=protected-access
        self.assertIn("nothing", text)

    def test_the_second_picture_has_the_helper_as_both(self):
        # pylint: disable=protected-access
        drawn = [(job.scenario.paths[1].helper.split, job.name)
                 for case in demo.FED for job in demo._fed_jobs(case, "pamsd", True) if job.trace]
        self.assertEqual(drawn, [(split, name) for split in (False, True)
                                 for name in ("minfct", "minfct told")])


if __name__ == "__main__":
    unittest.main()
