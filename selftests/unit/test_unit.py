# SPDX-License-Identifier: GPL-2.0
"""What is left of an application's unit: by hand, and against a list of its ends."""

import ctypes
import unittest

from unit import LIB, U32_MAX, U64_MAX, rng

WAITS = U64_MAX             # the application has more than the buffer holds
MAX = 2**30                 # MPTCP_PAMS_UNIT_MAX_BYTES
RUNS, STEPS = 200, 100


class Writer:
    """An application that writes, and a connection that sends it."""

    def __init__(self, seq=1_000):
        self.marks = (ctypes.c_uint32 * 2)()
        self.written = self.sent = seq

    def mark(self, count):
        LIB.unit_unit_mark(self.marks, self.written, self.sent, count)
        return self

    def write(self, count):
        self.written += count
        return self

    def send(self, count):
        self.sent += count
        assert self.sent <= self.written
        return self

    def left(self, unscheduled=None):
        """What a decision reckons with."""
        if unscheduled is None:
            unscheduled = self.written - self.sent
        return LIB.unit_unit_left(self.marks, self.written, self.sent, unscheduled)


class TestOne(unittest.TestCase):
    def test_without_a_unit_it_is_what_was_written(self):
        writer = Writer().write(500)
        self.assertEqual(writer.left(), 500)
        self.assertEqual(writer.left(WAITS), WAITS)

    def test_the_whole_before_it_is_written(self):
        writer = Writer().mark(10_000)
        self.assertEqual(writer.left(), 10_000)
        self.assertEqual(writer.write(3_000).left(), 10_000)
        self.assertEqual(writer.send(1_000).left(), 9_000)
        self.assertEqual(writer.send(2_000).left(), 7_000)

    def test_the_application_waits(self):
        self.assertEqual(Writer().mark(10_000).write(3_000).left(WAITS), 10_000)

    def test_more_follows(self):
        writer = Writer().mark(1_000).write(5_000)
        self.assertEqual(writer.left(), 1_000)
        self.assertEqual(writer.left(WAITS), 1_000)
        self.assertEqual(writer.send(999).left(), 1)
        self.assertEqual(writer.send(1).left(), 4_000)
        self.assertEqual(list(writer.marks), [0, 0])

    def test_what_was_written_before_goes_first(self):
        self.assertEqual(Writer().write(700).mark(300).left(), 1_000)

    def test_what_is_sent_again_counts(self):
        writer = Writer().mark(1_000).write(400).send(400)
        self.assertEqual(writer.left(250), 850)
        # part of it is new
        writer.write(100)
        self.assertEqual(writer.left(350), 850)

    def test_none(self):
        self.assertEqual(Writer().mark(1_000).mark(0).write(10).left(), 10)
        self.assertEqual(Writer().mark(1_000).write(10).mark(0).left(), 10)
        # a unit that was written stays one
        self.assertEqual(Writer().mark(10).write(20).mark(0).left(), 10)
        self.assertEqual(Writer().mark(0).left(), 0)

    def test_said_anew(self):
        self.assertEqual(Writer().mark(1_000).mark(50).left(), 50)
        self.assertEqual(Writer().mark(1_000).write(100).mark(5_000).left(), 5_100)

    def test_the_largest(self):
        self.assertEqual(Writer(2**63 - MAX // 2).mark(MAX).left(), MAX)

    def test_numbers_that_wrap(self):
        for seq in (2**32 - 600, 2**31 - 600, 2**63 - 600, 5 * 2**32 - 600):
            writer = Writer(seq).mark(1_000).write(2_000)
            self.assertEqual(writer.send(900).left(), 100)
            self.assertEqual(writer.send(100).left(), 1_000)

    def test_an_end_that_says_none_is_a_byte_late(self):
        self.assertEqual(Writer(2**32 - 600).mark(600).left(), 601)


class TestSeveral(unittest.TestCase):
    def test_two(self):
        writer = Writer().mark(1_000).write(1_000).mark(500).write(200)
        self.assertEqual(writer.left(), 1_000)
        self.assertEqual(writer.send(1_000).left(), 500)
        self.assertEqual(writer.write(1_000).send(500).left(), 700)

    def test_of_three_the_second_is_part_of_the_last(self):
        writer = Writer()
        for count in (100, 200, 300):
            writer.mark(count).write(count)
        self.assertEqual(writer.left(), 100)
        self.assertEqual(writer.send(100).left(), 500)
        self.assertEqual(writer.send(500).left(), 0)

    def test_only_the_unwritten_is_withdrawn(self):
        writer = Writer().mark(100).write(100).mark(200).write(50).mark(0)
        self.assertEqual(writer.left(), 100)
        self.assertEqual(writer.send(100).left(), 50)

    def test_both_over(self):
        writer = Writer().mark(100).write(100).mark(100).write(300).send(250)
        self.assertEqual(writer.left(), 150)
        self.assertEqual(list(writer.marks), [0, 0])

    def test_at_random(self):
        """Against a list of all ends, of which those between first and last are dropped."""
        rand = rng("units")
        for _ in range(RUNS):
            writer, ends = Writer(rand.choice((2**32, 2**31, 1)) * 2 - rand.randint(1, 2)), []
            for _ in range(STEPS):
                kind = rand.random()
                if kind < 0.3:
                    count = rand.choice((0, rand.randint(1, 3_000)))
                    writer.mark(count)
                    ends = [end for end in ends if end <= writer.written]
                    ends = ends[:1] + ([writer.written + count] if count else ends[1:])
                elif kind < 0.65:
                    writer.write(rand.randint(1, 2_000))
                else:
                    writer.send(rand.randint(0, writer.written - writer.sent))
                if any(end % 2**32 == 0 for end in ends):
                    break       # a byte late, see above
                ends = [end for end in ends if end > writer.sent]
                self.assertEqual(writer.left(), ends[0] - writer.sent if ends else
                                 writer.written - writer.sent)
                self.assertLessEqual(max(writer.marks), U32_MAX)


if __name__ == "__main__":
    unittest.main()
