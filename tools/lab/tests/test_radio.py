# SPDX-License-Identifier: GPL-2.0
"""How long a radio is on, on numbers worked out by hand."""

import os
import struct
import tempfile
import unittest

import base     # noqa: F401  pylint: disable=unused-import

import radio


class Radios(unittest.TestCase):
    """radio.of()"""

    def test_nothing_is_off(self):
        self.assertEqual((radio.of([]).on_s, radio.of([]).energy_j), (0, 0))

    def test_one_packet(self):
        found = radio.of([(3.0, 1514, True)])
        self.assertAlmostEqual(found.on_s, 0.2601 + 11.576)
        self.assertAlmostEqual(found.energy_j, 0.2601 * 1.2107 + 0.1 * 1.28804 + 11.476 * 1.06
                               + 1514 * 8 * 51.97e-9)

    def test_gaps(self):
        # 50 ms are active, of 1 s all but 0.1 s are tail, after 20 s it was off
        found = radio.of([(0.0, 100, True), (0.05, 60, False), (1.05, 100, True),
                          (21.05, 100, True)])
        self.assertEqual((found.promotions, found.down_bytes, found.up_bytes), (2, 300, 60))
        self.assertAlmostEqual(found.active_s, 0.05 + 0.1 + 0.1 + 0.1)
        self.assertAlmostEqual(found.tail_s, 0.9 + 2 * 11.476)
        self.assertAlmostEqual(found.on_s, 2 * 0.2601 + 1.05 + 2 * 11.576)

    def test_read(self):
        device, other = bytes([2, 0, 0, 0, 3, 1]), bytes([2, 0, 0, 0, 1, 1])
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "radio1.pcap")
            with open(path, "wb") as out:
                out.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 64, 1))
                for at_us, to in ((0, device), (250000, device), (500000, other)):
                    out.write(struct.pack("<IIII", 5, at_us, 14, 1514) + to + bytes(8))
            self.assertEqual(radio.read(path, 1, True, 5.25),
                             [(0.0, 1514, True), (0.25, 1514, False)])


if __name__ == "__main__":
    unittest.main()
