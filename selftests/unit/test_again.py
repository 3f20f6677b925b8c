# SPDX-License-Identifier: GPL-2.0
"""Which bytes of a subflow were sent again: against sets of bytes, at any place of the circle."""

import ctypes
import unittest

from unit import LIB, rng

CIRCLE = 2**32
HALF = 2**31
STARTS = 0, 1, HALF - 500, HALF, CIRCLE - 500, CIRCLE - 1
DATA = 10**15                   # of the connection's numbering


class Again:
    """struct msk_sent_again"""

    def __init__(self, sent=(0, 0), lost=None):
        words = [*sent, *(lost or (0, 0)), lost is not None]
        self.words = (ctypes.c_uint32 * 5)(*(word % CIRCLE for word in words))

    def forget(self, snd_una):
        LIB.unit_forget(self.words, ctypes.c_uint32(snd_una % CIRCLE))

    def cut(self, first, end, tail=False):
        """What is left of the bytes from first to end, as (first, end), or None."""
        words = (ctypes.c_uint64 * 4)(DATA, DATA + end - first, first % CIRCLE, end % CIRCLE)
        if not LIB.unit_cut_again(words, self.words, int(tail)):
            return None
        start, stop = words[0] - DATA + first, words[1] - DATA + first
        assert (words[2], words[3]) == (start % CIRCLE, stop % CIRCLE), "the numberings differ"
        return start, stop


class Cut(unittest.TestCase):
    def left(self, first, end, ranges, tail):
        """The same by sets."""
        bytes_left = set(range(first, end))
        for low, high in ranges:
            if bytes_left:
                a, b = min(bytes_left), max(bytes_left) + 1
                if low <= a and high >= b:
                    return None
                if a < low and high < b:    # in the middle: one side stays
                    bytes_left = set(range(high, b) if tail else range(a, low))
                else:
                    bytes_left -= set(range(low, high))
        return (min(bytes_left), max(bytes_left) + 1) if bytes_left else None

    def test_against_sets(self):
        rand = rng("cut")
        for start in STARTS:
            for _ in range(400):
                at = lambda: start + rand.randint(0, 60)    # noqa: E731
                first, end = sorted((at(), at() + 1))
                sent, lost = sorted((at(), at())), sorted((at(), at()))
                if first >= end:
                    continue
                for ranges in ([sent], [sent, lost]):
                    again = Again(sent, lost if len(ranges) == 2 else None)
                    cut = [one for one in ranges if one[0] != one[1]]
                    for tail in (False, True):
                        self.assertEqual(again.cut(first, end, tail),
                                         self.left(first, end, cut, tail),
                                         f"{first}-{end} less {ranges} from {start}, tail {tail}")


class Wrap(unittest.TestCase):
    """2^31 bytes on, what was sent again must not count as what is sent then."""

    def test_sent_again_is_forgotten(self):
        for start in STARTS:
            again = Again((start + 100, start + 200))
            again.forget(start + 150)
            self.assertIsNone(again.cut(start + 120, start + 180), "forgotten too early")
            again.forget(start + 200)
            for gone in (HALF - 300, HALF - 100, HALF, HALF + 100, CIRCLE - 100, CIRCLE + 100):
                first = start + 200 + gone
                self.assertEqual(again.cut(first, first + 100), (first, first + 100),
                                 f"{gone} bytes after {start}")

    def test_lost_is_forgotten(self):
        for start in STARTS:
            again = Again(lost=(start + 100, start + 200))
            again.forget(start + 199)
            self.assertIsNone(again.cut(start + 120, start + 180), "forgotten too early")
            again.forget(start + 200)
            for gone in (HALF - 300, HALF, CIRCLE + 100):
                first = start + 200 + gone
                self.assertEqual(again.cut(first, first + 100), (first, first + 100),
                                 f"{gone} bytes after {start}")

    def test_it_would_count_otherwise(self):
        again = Again((100, 200))
        first = CIRCLE + 120
        self.assertIsNone(again.cut(first, first + 50))


class Excess(unittest.TestCase):
    """What was sent again beyond a range, after an acknowledgment opened the window again."""

    def excess(self, write_seq, end, most):
        return LIB.unit_excess(*(ctypes.c_uint32(word % CIRCLE) for word in (write_seq, end, most)))

    def test_any_place(self):
        most = 20_000
        for end in STARTS:
            for bytes_more, found in ((-30_000, 0), (-1, 0), (0, 0), (1, 1), (1448, 1448),
                                      (most - 1, most - 1), (most, most), (most + 1, most),
                                      (32_767, most)):
                self.assertEqual(self.excess(end + bytes_more, end, most), found,
                                 f"{bytes_more} bytes beyond {end}")

    def test_nothing_behind(self):
        self.assertEqual(self.excess(1500, 1000, 0), 0, "what is new isn't sent again")


if __name__ == "__main__":
    unittest.main()
