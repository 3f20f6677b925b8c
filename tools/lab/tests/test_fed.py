# SPDX-License-Identifier: GPL-2.0
"""Guests with pamsd, and what the demo says of it."""

import os
import tempfile
import unittest

import base     # noqa: F401  pylint: disable=unused-import

import demo
import fed
from scenario import parse_path


class Guests(unittest.TestCase):
    """fed.py, as far as it can be seen without a boot"""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def text(self, name):
        """Of a file that the guest reads."""
        with open(os.path.join(self.folder.name, name), encoding="utf-8") as lines:
            return lines.read()

    def test_helper(self):
        paths = (parse_path("5mbit,25ms"), parse_path("4mbit,10ms"))
        guest = fed.HelperGuest(self.folder.name, "xfer", "pamsctl", "pamsd")
        guest.links(paths)
        # the path's rate is the pipe's; what is before the pipe is faster
        self.assertIn("dev h1 root handle 1: tbf rate 4000000bit", self.text("helper.tc"))
        self.assertIn("dev down1 root handle 1: netem limit 1000 delay 10000us rate 10000000bit",
                      self.text("router.tc"))
        self.assertIn("link add h0 netns h type veth peer name down1 ", self.text("server.ip"))
        self.assertIn("type veth peer name h1 netns h", self.text("server.ip"))
        self.assertIn('about = {"10.0.1.2"}', self.text("helper.conf"))
        # on the way back the pipe is the slow part, too
        self.assertIn("dev up1 root handle 1: netem limit 1000 delay 10000us rate 4000000bit",
                      self.text("router.tc"))

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
        self.assertEqual(demo._told(demo.FED[1], [{"told": looks}]),  # pylint: disable=W0212
                         "At 0.15 s the server's kernel knows of 10.0.0.2: it will be lost in "
                         "850 ms.")

    def test_pamsd_that_says_nothing_is_a_failure(self):
        text = demo._told(demo.FED[1], [{"told": []}])      # pylint: disable=protected-access
        self.assertIn("nothing", text)


if __name__ == "__main__":
    unittest.main()
