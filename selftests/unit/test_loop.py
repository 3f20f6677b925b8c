# SPDX-License-Identifier: GPL-2.0
"""minfct in a closed loop of packets over paths of which it knows everything: how far is the
transfer from the bound, and is it ever worse than the best path alone?

Nothing is lost, windows are open, and nothing is sent again: what is missed is the choice's own.
`PAMS_UNIT_TRANSFERS=1500 python3 test_loop.py` prints the figures, and the worst.
"""

import heapq
import math
import os
import statistics
import unittest
from dataclasses import dataclass, field
from itertools import count

from test_minfct import share
from unit import DEFER, NONE, arrival_us, model, rng, window_and_rate

TRANSFERS = int(os.environ.get("PAMS_UNIT_TRANSFERS", "250"))
PACKET_BYTES = 1428             # that a subflow's packet carries
AHEAD_BYTES = 2 * PACKET_BYTES  # that a subflow is given beyond its window
BUFFER_BYTES = 4_000_000
WAIT_MAX_US = 2_000_000
US_PER_S = 10**6


@dataclass
class Path:
    """A bottleneck with an endless queue, behind a window that it never empties."""
    rate: int                   # bytes/s
    rtt_us: int
    window: int
    flight: int = 0
    backlog: int = 0
    given: int = 0
    free_us: float = 0          # when the bottleneck is
    last_us: float = 0          # when the last byte arrives
    burst_us: float = 0         # when the first of a burst was sent
    answered: bool = False      # since
    base: tuple = field(init=False)

    def __post_init__(self):
        one = model(1, self.rtt_us, 0, limit=self.rate, proven=self.rate, cwnd=self.window)
        self.base = window_and_rate(one)

    def send(self, now_us):
        """[(when it is acknowledged, bytes)] of the packets that the window takes."""
        sent = []
        while self.backlog:
            size = min(self.backlog, PACKET_BYTES)
            if self.flight + size > self.window:
                break
            if not self.flight:
                self.burst_us, self.answered = now_us, False
            self.backlog -= size
            self.flight += size
            self.free_us = max(self.free_us, now_us) + size * US_PER_S / self.rate
            self.last_us = self.free_us + self.rtt_us / 2
            sent.append((self.free_us + self.rtt_us, size))
        return sent

    def acknowledge(self, size):
        self.flight -= size
        self.answered = True

    def model(self, now_us):
        """As learn.c makes it."""
        window, rate = self.base
        due_us = 0
        if not self.flight:
            due_us = self.rtt_us
        elif not self.answered:
            due_us = self.rtt_us - min(int(now_us - self.burst_us), self.rtt_us)
        return model(rate, self.rtt_us, window, self.flight, self.backlog, limit=self.rate,
                     proven=self.rate, due_us=due_us, cwnd=self.window)

    def room(self):
        left = self.window - self.flight - self.backlog
        return max(0, left + AHEAD_BYTES if self.flight and self.answered else left)

    def alone_us(self, size):
        return self.rtt_us / 2 + size * US_PER_S / self.rate


class Transfer:
    """One, from its first decision to its last byte's arrival."""

    def __init__(self, paths, size):
        self.paths, self.left = paths, size
        self.now_us, self.wait_end_us = 0, None
        self.events, self.numbers = [], count()

    def run(self):
        """How long it takes, in us."""
        self.push()
        while self.events:
            self.now_us, _, path, size = heapq.heappop(self.events)
            if path:
                path.acknowledge(size)
                self.send(path)
            self.push()
        assert not self.left
        return max(path.last_us for path in self.paths)

    def at(self, when_us, path=None, size=0):
        heapq.heappush(self.events, (when_us, next(self.numbers), path, size))

    def send(self, path):
        for when_us, size in path.send(self.now_us):
            self.at(when_us, path, size)

    def push(self):
        """As the kernel does: a subflow's TCP sends once another one is chosen, or none is."""
        last = None
        while self.left and (chosen := self.choose()):
            path, size = chosen
            self.left -= size
            path.backlog += size
            path.given += size
            if last and last != path:
                self.send(last)
            last = path
        if last:
            self.send(last)

    def choose(self):
        """Which path gets how many bytes, as sched.c and msk_send.c have it; None: none now."""
        models = [path.model(self.now_us) for path in self.paths]
        rooms = [path.room() for path in self.paths]
        choice, size = share(models, [room > 0 for room in rooms], self.left, BUFFER_BYTES,
                             rooms=rooms)
        if choice == NONE:
            return None
        if choice == DEFER:
            wait_us, choice = min((arrival_us(models[i], PACKET_BYTES), i)
                                  for i, room in enumerate(rooms) if room)
            if self.wait_end_us is None:
                self.wait_end_us = self.now_us + min(wait_us, WAIT_MAX_US)
                self.at(self.wait_end_us)
            if self.now_us < self.wait_end_us:
                return None
        self.wait_end_us = None
        size = min(size, rooms[choice])
        if size < self.left:
            size = min(max(size // PACKET_BYTES * PACKET_BYTES, PACKET_BYTES), self.left)
        return self.paths[choice], min(size, self.left)


def bound_us(paths, size):
    """When all paths together, each busy from the beginning, have delivered it."""
    best = math.inf
    rate = delayed = 0
    for path in sorted(paths, key=lambda path: path.rtt_us):
        rate += path.rate
        delayed += path.rate * path.rtt_us / 2
        best = min(best, (size * US_PER_S + delayed) / rate)
    return best


def spread_evenly(rand, low, high):
    """A number; each order of magnitude is as likely."""
    return int(math.exp(rand.uniform(math.log(low), math.log(high))))


def draw(rand):
    """Two or three paths, and how many bytes."""
    paths = []
    for _ in range(rand.randint(2, 3)):
        rate, rtt_us = spread_evenly(rand, 60_000, 12_500_000), spread_evenly(rand, 2_000, 200_000)
        once = rate * rtt_us // US_PER_S
        more = rand.choice((10 * PACKET_BYTES, once, once // 4))
        paths.append(Path(rate, rtt_us, max(10 * PACKET_BYTES, once + more)))
    return paths, spread_evenly(rand, 15_000, 1_000_000)


def transfers(nr):
    """[(times the best path alone, times the bound, what it was)] of that many, worst first."""
    rand, found = rng("loop"), []
    for _ in range(nr):
        paths, size = draw(rand)
        took_us = Transfer(paths, size).run()
        found.append((took_us / min(path.alone_us(size) for path in paths),
                      took_us / bound_us(paths, size),
                      f"{size} bytes in {took_us / 1000:.1f} ms: " + " + ".join(
                          f"{path.rate} B/s {path.rtt_us} us window {path.window} got {path.given}"
                          for path in paths)))
    return sorted(found, reverse=True)


class TestLoop(unittest.TestCase):
    def test_near_the_bound_and_no_worse_than_the_best_path(self):
        found = transfers(TRANSFERS)
        worse = [one for one in found if one[0] > 1.05]
        self.assertLessEqual(statistics.geometric_mean(one[1] for one in found), 1.01)
        self.assertLessEqual(len(worse), TRANSFERS // 250, worse)


if __name__ == "__main__":
    ALL = transfers(TRANSFERS)
    print(f"{len(ALL)} transfers: {statistics.geometric_mean(one[1] for one in ALL):.4f} of the "
          f"bound, over 1.05 of the best path {sum(one[0] > 1.05 for one in ALL)}, "
          f"worst {ALL[0][0]:.2f}")
    for alone, bound, what in ALL[:6]:
        print(f"{alone:.2f} of the best path, {bound:.2f} of the bound: {what}")
