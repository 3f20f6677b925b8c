# SPDX-License-Identifier: GPL-2.0
"""What a helper has banked, from the sender's numbers: against a helper and a receiver here
that know it."""

import ctypes
import unittest

from unit import LIB, rng

CIRCLE = 2**32
STARTS = 0, CIRCLE - 300_000, 2**31 - 300_000
PACKET = 1420
TICK_US = 1000


def words(*values):
    """For C."""
    return (ctypes.c_uint32 * len(values))(*(value % CIRCLE for value in values))


class Bank:
    """struct pams_bank"""

    def begin(self, nxt, una, now):
        LIB.unit_bank_begin(*map(ctypes.c_uint32, (nxt % CIRCLE, una % CIRCLE, now)))

    def look(self, subs, nxt, una, now, behind=False):
        """subs: (id, write_seq, snd_una)"""
        LIB.unit_bank_look(words(*(word for sub in subs for word in sub)), len(subs),
                           *map(ctypes.c_uint32, (nxt % CIRCLE, una % CIRCLE, behind, now)))

    def path(self, number):
        out = words(*[0] * 5)
        assert LIB.unit_bank_path(ctypes.c_uint32(number), out)
        return dict(zip(("banked", "spent", "once", "rate", "split"), out))

    def last(self, number):
        out = words(0, 0)
        return tuple(out) if LIB.unit_bank_last(ctypes.c_uint32(number), out) else None

    def lost(self, number):
        out = words(0, 0)
        return tuple(out) if LIB.unit_bank_lost(ctypes.c_uint32(number), out) else None

    def lost_sent(self, number, count):
        LIB.unit_bank_lost_sent(*map(ctypes.c_uint32, (number, count)))

    def head_us(self, now):
        return LIB.unit_bank_head_us(ctypes.c_uint32(now))

    def again(self, start, count):
        LIB.unit_bank_again(*map(ctypes.c_uint32, (start % CIRCLE, count)))


class World:
    """Two subflows in virtual time: 1 is direct, 2 goes through a helper that acknowledges at
    once and brings what it has at its pipe's rate. No delays, so that all is exact."""

    def __init__(self, start, direct_bpms=600, pipe_bpms=600, split=True):
        self.bank, self.now, self.split = Bank(), 1, split
        self.start = self.nxt = self.una = start
        self.rate = {1: direct_bpms, 2: pipe_bpms}      # bytes per ms
        self.seq = {1: start + 7, 2: start + 77}
        self.acked = dict(self.seq)
        self.queue = {1: [], 2: []}     # [data sequence number, bytes]
        self.credit = {1: 0, 2: 0}
        self.got = {}                   # what arrived: start: bytes
        self.bank.begin(self.nxt, self.una, self.now)
        self.look()

    def give(self, number, count):
        self.queue[number].append([self.nxt, count])
        self.nxt += count
        self.seq[number] += count
        self.look()

    def again(self, number, start, count):
        """What the other has, which isn't new data."""
        self.queue[number].append([start, count])
        self.seq[number] += count
        self.bank.again(start, count)
        self.look()

    def look(self):
        self.bank.look([(number, self.seq[number], self.acked[number]) for number in (1, 2)],
                       self.nxt, self.una, self.now)

    def left(self, number):
        return sum(count for _, count in self.queue[number])

    def tick(self):
        self.now += TICK_US
        for number in (1, 2):
            self.credit[number] += self.rate[number]
            while self.queue[number] and self.credit[number] >= min(PACKET,
                                                                    self.queue[number][0][1]):
                start, count = self.queue[number][0]
                part = min(PACKET, count)
                self.credit[number] -= part
                self.queue[number][0] = [start + part, count - part]
                self.got[start] = max(part, self.got.get(start, 0))
                if part == count:
                    self.queue[number].pop(0)
            if not self.queue[number]:
                self.credit[number] = 0
        while self.una in self.got:
            self.una += self.got.pop(self.una)
        # the helper acknowledges what it has, the direct receiver what it got
        self.acked[1] = self.seq[1] - self.left(1)
        self.acked[2] = self.seq[2] - (0 if self.split else self.left(2))
        self.look()

    def run(self, ms, keep=40_000):
        """Both are given fragments whenever they hold little."""
        for _ in range(ms):
            for number in (1, 2):
                if self.left(number) < keep:
                    self.give(number, 14 * PACKET)
            self.tick()


class Banks(unittest.TestCase):
    def test_split_is_seen_and_counted(self):
        for start in STARTS:
            world = World(start, pipe_bpms=500)
            world.run(1000)
            path = world.bank.path(2)
            self.assertEqual((path["split"], world.bank.path(1)["split"]), (1, 0))
            self.assertAlmostEqual(path["rate"], 500_000, delta=60_000)
            self.assertAlmostEqual(path["banked"], world.left(2), delta=3 * PACKET)

    def test_router_is_never_split(self):
        for start in STARTS:
            rand, world = rng("router"), World(start, split=False)
            for _ in range(100):
                world.rate = {1: rand.randint(50, 2000), 2: rand.randint(50, 2000)}
                world.run(20, rand.randint(1, 100_000))
                self.assertEqual([world.bank.path(i)["split"] for i in (1, 2)], [0, 0])

    def test_look_before_the_data_ack_splits_nothing(self):
        """While an acknowledgment of much is processed TCP's numbers are new, and the DATA_ACK in it isn't taken yet."""
        for behind in (False, True):
            bank, seq, una, now = Bank(), 0, 0, 1
            bank.begin(seq, una, now)
            bank.look([(1, seq, una)], seq, una, now)
            for _ in range(200):
                now += 5 * TICK_US
                bank.look([(1, seq, seq)], seq, una, now, behind)
                seq, una = seq + 14 * PACKET, seq
            self.assertEqual(bank.path(1)["split"], not behind)

    def test_rate_follows_the_pipe(self):
        world = World(STARTS[1], pipe_bpms=500)
        world.run(500)
        world.rate[2] = 120
        world.run(300)
        self.assertAlmostEqual(world.bank.path(2)["rate"], 120_000, delta=30_000)
        world.rate[2] = 1200
        world.run(500, 150_000)
        # never the last one now: it is raised until the bank says no
        self.assertGreater(world.bank.path(2)["rate"], 900_000)

    def test_last_is_sent_again_once(self):
        world = World(STARTS[1], pipe_bpms=500)
        world.run(500, 80_000)
        seen = set()
        while (found := world.bank.last(2)):
            start, count = found
            self.assertFalse(set(range(start, start + count, PACKET)) & seen)
            seen |= set(range(start, start + count, PACKET))
            world.bank.again(start, count)
            self.assertLess(len(seen), 1000)
        self.assertGreaterEqual(len(seen) * PACKET, world.left(2) - 14 * PACKET)
        self.assertEqual(world.bank.path(2)["once"], 0)

    def sent_of_lost(self, world, number):
        """All that is to be sent again, in that order: each packet's beginning."""
        found = []
        while (part := world.bank.lost(number)):
            found.append(part[0])
            # a fragment ends anywhere
            world.bank.lost_sent(number, min(PACKET, part[1]))
            self.assertLess(len(found), 2000)
        return found

    def test_lost_bank_is_sent_again_from_its_head(self):
        for start in STARTS:
            world = World(start, pipe_bpms=500)
            world.run(500)
            # a direct path is never taken for a bank
            self.assertIsNone(world.bank.lost(1))
            world.give(2, 60 * PACKET)
            while world.left(1):
                world.tick()
            found = self.sent_of_lost(world, 2)
            # the receiver waits for the first
            self.assertEqual(found[0], world.una % CIRCLE)
            offsets = [(at - start) % CIRCLE for at in found]
            self.assertEqual(offsets, sorted(set(offsets)))
            self.assertAlmostEqual(len(found) * PACKET, world.left(2), delta=3 * PACKET)
            self.assertIsNone(world.bank.lost(2))
            self.assertIsNone(world.bank.last(2))

    def test_lost_before_the_log_began(self):
        bank = Bank()
        bank.begin(STARTS[0] + 100_000, STARTS[0], 1)
        bank.look([(1, 7, 7), (2, 9, 9)], STARTS[0] + 100_000, STARTS[0], 2)
        self.assertEqual(bank.lost(2), (STARTS[0] % CIRCLE, 100_000))
        bank.lost_sent(2, 100_000)
        self.assertIsNone(bank.lost(2))
        # too much to send it all on suspicion
        bank.begin(STARTS[0] + 300_000, STARTS[0], 1)
        bank.look([(1, 7, 7), (2, 9, 9)], STARTS[0] + 300_000, STARTS[0], 2)
        self.assertIsNone(bank.lost(2))

    def test_before_the_log_is_over_for_ever(self):
        for start in STARTS:
            bank = Bank()
            bank.begin(start + 100_000, start, 1)
            # once around the sequence numbers but for 50,000 bytes
            for step in range(65):
                una = start + 100_000 + step * 2**26 - (50_000 if step == 64 else 0)
                bank.look([(1, 7, 7), (2, 9, 9)], una, una, 2 + step)
            self.assertIsNone(bank.lost(2))

    def test_what_was_sent_again_fills_the_pipe(self):
        world = World(STARTS[0], pipe_bpms=600)
        world.run(500, 80_000)
        world.rate[2] = 60
        world.run(100, 0)
        while (found := world.bank.last(2)):
            world.again(1, *found)
        while world.left(1):
            world.tick()
        world.tick()
        path = world.bank.path(2)
        # all has its DATA_ACK, and the pipe still has to bring the old
        self.assertEqual(world.una, world.nxt)
        self.assertGreater(world.left(2), 30_000)
        self.assertAlmostEqual(path["banked"], world.left(2), delta=world.left(2) // 2)
        self.assertEqual(path["banked"], path["spent"])
        for _ in range(5000):
            world.tick()
        self.assertEqual(world.bank.path(2)["banked"], 0)

    def test_dead_pipe_is_not_waited_for(self):
        """It has faded before, so what was sent again of its bank would take it half a minute."""
        for start in STARTS:
            world = World(start, direct_bpms=1200)
            world.run(600, 120_000)
            world.rate[2] = 6
            for _ in range(3000):
                if world.left(1) < 20_000:
                    world.give(1, 14 * PACKET)
                world.tick()
            world.rate[2] = 0
            for _ in range(26):
                at, count = world.bank.lost(2)
                count = min(PACKET, count)
                world.bank.lost_sent(2, count)
                world.queue[1].append([world.una + (at - world.una) % CIRCLE, count])
                world.seq[1] += count
            while world.left(1):
                world.tick()
            self.assertGreater(world.bank.path(2)["spent"], 20 * PACKET)
            for _ in range(1000):
                world.tick()
            self.assertGreater(world.bank.head_us(world.now), 900_000)
            self.assertTrue(world.bank.path(2)["split"])

    def test_subflows_come_and_go(self):
        """A bank knows eight at a time; a ninth takes the place of one that has gone."""
        for start in STARTS:
            bank, nxt, first = Bank(), start, start + 7
            bank.begin(nxt, nxt, 1)
            for number in range(2, 40):
                subs = [[1, first, first], [number, 77, 77]]
                bank.look(subs, nxt, nxt, number * TICK_US)
                for sub in subs:
                    self.assertEqual(bank.path(sub[0])["banked"], 0)
                    sub[1] += PACKET
                nxt, first = nxt + 2 * PACKET, first + PACKET
                bank.look(subs, nxt, nxt - 2 * PACKET, number * TICK_US)
                for sub in subs:
                    sub[2] = sub[1]
                bank.look(subs, nxt, nxt, number * TICK_US)

    def test_place_with_data_is_kept(self):
        bank, nxt = Bank(), 0
        bank.begin(nxt, nxt, 1)
        for number in range(1, 9):
            bank.look([(number, 77, 77)], nxt, 0, 1)
            nxt += PACKET
            bank.look([(number, 77 + PACKET, 77)], nxt, 0, 1)
        bank.look([(9, 77, 77)], nxt, 0, 1)
        for number in range(1, 9):
            bank.path(number)
        with self.assertRaises(AssertionError):
            bank.path(9)

    def test_receiver_that_drops_is_no_bank(self):
        world = World(STARTS[0], split=False)
        world.run(300)
        world.tick()
        world.give(1, 14 * PACKET)
        # all of it is acknowledged, and never gets a DATA_ACK
        world.queue[1].clear()
        for _ in range(2000):
            world.tick()
            path = world.bank.path(1)
            self.assertEqual((path["split"], path["spent"]), (0, 0))
        self.assertEqual(path["banked"], 0)


if __name__ == "__main__":
    unittest.main()
