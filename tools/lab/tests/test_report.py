# SPDX-License-Identifier: GPL-2.0
"""Tables, JSON, counters and packet records from made-up results."""

import json
import os
import struct
import tempfile
import unittest

import base     # noqa: F401  pylint: disable=unused-import

import capture
import counters
import links
import report
from randomruns import TRANSFERS, draw_batch
from scenario import RADIO_STEPS, Path, Scenario, parse_change, parse_path


class FakeKernel:       # pylint: disable=too-few-public-methods
    """Only its release is reported."""
    release = "6.12.0"


def result(name, times, path=-1, ok=True):
    """A run of the JSON form."""
    return {
        "name": name, "scheduler": "default", "path_alone": path, "repeat": 0, "seed": 1,
        "mean_s": sum(times) / len(times), "failed": 0 if ok else len(times),
        "requests": [{"conn": 0, "request": i, "direction": "down", "bytes": 1000,
                      "start_s": i, "connect_s": 0, "fct_s": time, "gap_s": 0.01,
                      "gap_at_s": 0.5, "bound_s": 0.05,
                      "subflows": 2, "fallback": False, "ok": ok,
                      "error": "" if ok else "timeout"} for i, time in enumerate(times)],
        "paths": [{"down_bytes": 3000, "down_packets": 3, "up_bytes": 60, "up_packets": 1,
                   "down_lost": 2, "up_lost": 1},
                  {"down_bytes": 1000, "down_packets": 1, "up_bytes": 60, "up_packets": 1,
                   "down_lost": 0, "up_lost": 0}],
        "mib": {"client": {"MPTcpExtDuplicateData": 4}, "server": {"TcpRetransSegs": 7}},
        "wall_s": 0.3,
    }


SCENARIO = Scenario(paths=(parse_path("50mbit,5ms"), parse_path("10mbit,50ms")),
                    changes=(parse_change("1s,1,rate=1mbit", 2),),
                    bytes_min=256_000, bytes_max=256_000, requests=2)


class Reports(unittest.TestCase):
    """report.py"""

    def test_summary(self):
        results = [result("path 0 alone", [0.2, 0.2], 0), result("pams", [0.1, 0.3]),
                   result("pams", [0.1, 0.1])]
        lines = report.summary(results)
        self.assertEqual([line["name"] for line in lines], ["path 0 alone", "pams"])
        self.assertAlmostEqual(lines[1]["mean_s"], 0.15)
        self.assertAlmostEqual(lines[1]["first_s"], 0.1)
        self.assertEqual(lines[1]["path_share"], [0.75, 0.25])
        self.assertEqual((lines[1]["duplicates"], lines[1]["retransmitted"]), (8, 14))
        self.assertAlmostEqual(report.best_single_s(lines), 0.2)

    def test_table(self):
        text = report.table(SCENARIO, [result("path 0 alone", [0.2, 0.2], 0),
                                       result("pams", [0.1, 0.1])])
        row = [line for line in text.splitlines() if line.startswith("pams")][0].split()
        self.assertEqual(row, ["pams", "0.1000", "0.1000", "0.1000", "0.1000", "2.00",
                               "0.50", "0.0100", "75%", "25%", "4", "7", "3"])
        self.assertIn("at 1 s: path 1", text)

    def test_failures_are_named(self):
        text = report.table(SCENARIO, [result("pams", [60.0], ok=False)])
        self.assertIn("FAILED: pams: 1 of 1 transfers", text)

    def test_json(self):
        document = json.loads(report.as_json(SCENARIO, [result("pams", [0.1])],
                                             FakeKernel))
        self.assertEqual(set(document), {"format", "kernel", "scenario", "bound_s",
                                         "best_single_s", "summary", "runs"})
        self.assertEqual(document["scenario"]["paths"][1]["delay_us"], 50_000)


class Counters(unittest.TestCase):
    """counters.py"""

    TEXT = ("Inter-|   Receive |  Transmit\n"
            " face |bytes packets errs drop fifo frame compressed multicast|bytes\n"
            "  s0: 100 2 0 0 0 0 0 0 3000 4 0 0 0 0 0 0\n"
            "MPTcpExt: MPTCPRetrans DuplicateData\nMPTcpExt: 3 5\n"
            "Tcp: RtoAlgorithm RtoMin MaxConn RetransSegs\nTcp: 1 200 -1 9\n")

    def test_parse(self):
        devices, mib = counters.parse(self.TEXT)
        self.assertEqual(devices["s0"], {"rx_bytes": 100, "rx_packets": 2,
                                         "tx_bytes": 3000, "tx_packets": 4})
        self.assertEqual(counters.chosen(mib), {
            "MPTcpExtMPTCPRetrans": 3, "MPTcpExtDuplicateData": 5, "TcpRetransSegs": 9})


class Traces(unittest.TestCase):
    """capture.py on one packet that is put together here."""

    def test_dss(self):
        option = bytes([30, 18, 0x20, 0x05]) + struct.pack(">IIIH", 77, 99, 1, 20)
        tcp = struct.pack(">HHIIBBHHH", 5000, 40000, 1000, 1, (40 // 4) << 4, 0x10, 1, 0, 0)
        tcp += option + b"\x01\x01"
        ip = bytes([0x45, 0]) + struct.pack(">H", 20 + 40 + 20) + bytes(8)
        ip += bytes([10, 0, 0, 1]) + bytes([10, 0, 3, 2])
        frame = struct.pack(">H", 0x0800) + bytes(18) + ip + tcp + bytes(20)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "one.pcap")
            with open(path, "wb") as out:
                out.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 160, 276))
                out.write(struct.pack("<IIII", 5, 250000, len(frame), len(frame)) + frame)
            (packet,) = capture.read(path, 5.0)
        self.assertEqual(packet, capture.Packet(0.25, 3, True, 20, 1000, 99, 77))
        self.assertEqual(capture.cumulative([packet], True), ([0.0, 0.25], [0, 20]))
        self.assertEqual(capture.cumulative([packet], True, 0), ([0.0], [0]))


class Links(unittest.TestCase):
    """links.py"""

    def test_netem(self):
        path = parse_path("8mbit,10ms,50,loss=0.5%,up=1mbit")
        self.assertEqual(links.netem("down", 1, path), "qdisc replace dev down1 root handle 1: "
                         "netem limit 50 delay 10000us loss 0.5% rate 8000000bit")
        self.assertTrue(links.netem("up", 1, path).endswith("rate 1000000bit"))

    def test_endpoints(self):
        paths = [parse_path(text) for text in ("1mbit,1ms", "1mbit,1ms,backup")]
        self.assertEqual(links.endpoints(paths, False), [
            "mptcp endpoint flush", "mptcp endpoint add 10.0.1.2 dev c1 subflow backup"])

    def test_queues(self):
        path = parse_path("8mbit,10ms,queue=fq_codel,up=1mbit")
        self.assertEqual(links.shape("down", 1, path), [
            "qdisc replace dev down1 root handle 1: tbf rate 8000000bit burst 3100 "
            "limit 10000000", "qdisc replace dev down1 parent 1: handle 2: fq_codel"])
        self.assertIn("rate 1000000bit", links.shape("up", 1, path)[0])
        # the delay is where the host sends, which neither limits nor slows
        self.assertEqual(links.host_delay("c", 1, path), [
            "qdisc replace dev c1 root handle 1: netem limit 100000 delay 10000us"])
        self.assertEqual(links.host_delay("c", 1, parse_path("8mbit,10ms")), [])
        path = parse_path("8mbit,10ms,queue=cake")
        self.assertIn("cake bandwidth 8000000bit", links.shape("up", 0, path)[0])
        down = Path(8_000_000, 10_000, down=True, queue="cake")
        self.assertTrue(links.shape("up", 0, down)[0].endswith("netem loss 100%"))

    def test_radio(self):
        path = parse_path("8mbit,10ms,radio=7,burst=20ms")
        lines = links.radio_lines(Scenario(paths=(parse_path("1mbit,1ms"), path)))
        self.assertEqual(len(lines), 2 * RADIO_STEPS)
        self.assertTrue(lines[2].startswith("100000 qdisc replace dev down1 root handle 1: "))
        self.assertTrue(lines[3].endswith("slot 20000us"))
        self.assertNotIn("slot", lines[2])
        rates = [int(line.split("rate ")[1].split("bit")[0]) for line in lines[::2]]
        self.assertTrue(2_000_000 <= min(rates) < 8_000_000 < max(rates) <= 16_000_000)
        self.assertEqual(lines, links.radio_lines(Scenario(paths=(parse_path("1mbit,1ms"),
                                                                  path))))

    def test_rival_is_left_out(self):
        path = {"down_bytes": 5000, "down_packets": 10, "up_bytes": 7, "up_packets": 1}
        header = counters.RIVAL_HEADER_BYTES
        (left,) = counters.without({0: {"bytes": 1000, "segments": 4}}, "down", [dict(path)])
        self.assertEqual((left["down_bytes"], left["down_packets"], left["up_bytes"]),
                         (4000 - 4 * header, 6, 7))

    def test_router_between(self):
        text = "\n".join(links.server_ip(2))
        for end in ("s0", "s1", "c0", "c1"):
            self.assertRegex(text, rf"link add {end} .*netns r")
        self.assertIn("link set down1 master br1 addrgenmode none up", links.router_ip(2))
        self.assertNotIn("gso_max_segs", text)

    def test_direct(self):
        text = "\n".join(links.direct_ip(2))
        self.assertNotIn("netns r", text)
        self.assertIn("peer name c1 address", text)


class RandomBatches(unittest.TestCase):
    """randomruns.py"""

    def test_same_seed_same_batch(self):
        self.assertEqual(draw_batch(1, 7), draw_batch(1, 7))
        self.assertNotEqual(draw_batch(1, 7), draw_batch(2, 7))

    def test_batches_are_fair(self):
        for number in range(200):
            scenario = draw_batch(3, number).scenario
            self.assertEqual(scenario.conns * scenario.requests, TRANSFERS)
            self.assertFalse(scenario.paths[0].backup)
            # even the worst path alone has time for all of it
            slowest = min(path.rate_bps for path in scenario.paths)
            self.assertLess(scenario.conns * scenario.bytes_max * 8 / slowest, 30)


if __name__ == "__main__":
    unittest.main()
