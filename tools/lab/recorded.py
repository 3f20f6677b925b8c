# SPDX-License-Identifier: GPL-2.0
"""Links whose rate is a list of opportunities, which replay.c replays in the router.

A recording is a text: a line per opportunity to send a packet of 1,500 bytes, in ms from the
start, never falling; the last line's time is its length, and then it begins again. That is
the format of mahimahi's mm-link, and of the LTE and UMTS links that come with it. A file
may be compressed (.xz). Two kinds of link are drawn in the same form, from a seed:

  steps      as from a constellation of satellites: each 15 s another satellite, with another
             rate and delay, and a gap of 20 to 150 ms in which nothing is sent
  blocked    as of millimetre waves: every few seconds something stands in the way for 0.2 to 2 s

What waits in a gap stays in the queue, which drops what doesn't fit.
"""

import bisect
import functools
import hashlib
import itertools
import lzma
import math
import os
import random
from dataclasses import dataclass

import host
import units
from units import FRAME_BITS, BadInput

OPPORTUNITY_PAYLOAD = 1448      # of a frame's 1500 bytes of IP
STEP_MS, STEPS = 15_000, 12
STEP_RATE, STEP_DELAY = (0.4, 1.6), (0.8, 1.5)      # of the mean, of the least
STEP_GAP_MS = (20, 150)
BLOCKED_MS, OPEN_MS = (200, 2000), (500, 8000)
BLOCKED_FOR_MS = 60_000         # then it begins again


@dataclass(frozen=True)
class Replay:
    """What is replayed on a path: files, or what a seed says."""
    down: str = ""          # files; up: the same as down where it is empty
    up: str = ""
    from_us: int = 0        # of the recording, where the first request is
    steps: int = 0          # not 0: a seed
    blocked: int = 0        # not 0: a seed
    limit_bytes: int = 0    # not 0: of the queue, in place of its limit in packets

    def text(self):
        """As it stands in tables."""
        if self.steps or self.blocked:
            return "steps" if self.steps else "blocked"
        return f"recording {os.path.basename(self.down)} from {units.time_text(self.from_us)}"


def path_words(path):
    """Of a path that is replayed, as `lab run` takes it: (rate, limit, [more])"""
    replay = path.replay
    limit = f"{replay.limit_bytes}b" if replay.limit_bytes else str(path.limit_packets)
    if replay.down:
        up = [f"up=trace:{replay.up}"] if replay.up else []
        return f"trace:{replay.down}", limit, [*up, f"from={replay.from_us}us"]
    up = [f"up={path.up_bps}bit"] if path.up_bps else []
    kind = "steps" if replay.steps else "blocked"
    return f"{path.rate_bps}bit", limit, [*up, f"{kind}={getattr(replay, kind)}"]


class Opportunities:
    """When a link can send, and how many packets."""

    def __init__(self, at_ms, counts):
        self.at_ms, self.counts = list(at_ms), list(counts)
        self.sums = list(itertools.accumulate(self.counts))
        self.length_us = self.at_ms[-1] * 1000

    def mean_bps(self):
        """Of frames."""
        return round(self.sums[-1] * FRAME_BITS * 1e6 / self.length_us)

    def _until(self, us):
        """How many there were at that time, from the start on."""
        rounds, rest = divmod(us, self.length_us)
        index = bisect.bisect_right(self.at_ms, rest / 1000)
        return rounds * self.sums[-1] + (self.sums[index - 1] if index else 0)

    def payload(self, begin_us, end_us):
        """Bytes that can be sent in that time."""
        return (self._until(end_us) - self._until(begin_us)) * OPPORTUNITY_PAYLOAD

    def lines(self):
        """As replay.c reads them."""
        return "".join(f"{ms} {count}\n" for ms, count in zip(self.at_ms, self.counts))


def _content(name):
    try:
        with (lzma.open if name.endswith(".xz") else open)(name, "rt", encoding="ascii") as text:
            return text.read()
    except (OSError, EOFError, lzma.LZMAError, ValueError) as error:
        raise BadInput(f"recording '{name}' can't be read: {error}") from None


@functools.lru_cache(maxsize=16)
def read(name):
    """The opportunities of a file."""
    at_ms, counts = [], []
    for number, line in enumerate(_content(name).split(), 1):
        if not line.isdecimal() or at_ms and int(line) < at_ms[-1]:
            raise BadInput(f"recording '{name}', line {number}: '{line}' is no time in ms "
                           "that is as late as the one before or later")
        if at_ms and int(line) == at_ms[-1]:
            counts[-1] += 1
        else:
            at_ms.append(int(line))
            counts.append(1)
    if not at_ms or not at_ms[-1]:
        raise BadInput(f"recording '{name}' is empty: a line per packet, in ms from the start")
    return Opportunities(at_ms, counts)


def _paced(spans):
    """Opportunities of [(begin_ms, end_ms, bit/s)], evenly in each."""
    at_ms, counts = [0], [0]
    for begin_ms, end_ms, bps in spans:
        sent, per_ms = 0, bps / 1000 / FRAME_BITS
        for ms in range(begin_ms, end_ms):
            due = math.floor((ms + 1 - begin_ms) * per_ms)
            if due > sent:
                at_ms.append(ms)
                counts.append(due - sent)
                sent = due
    at_ms.append(spans[-1][1])
    return Opportunities(at_ms, [*counts, 0])


def _between(draw, bounds):
    return math.exp(draw.uniform(*map(math.log, bounds)))


@functools.lru_cache(maxsize=64)
def _steps_of(seed):
    """(when the first one is, [(factor of the rate, factor of the delay, gap)])"""
    draw = random.Random(f"steps {seed}")
    return draw.randrange(STEP_MS), [
        (_between(draw, STEP_RATE), draw.uniform(*STEP_DELAY),
         round(_between(draw, STEP_GAP_MS))) for _ in range(STEPS)]


@functools.lru_cache(maxsize=16)
def stepped(seed, rate_bps):
    """Of a satellite link: the last step's values come before the first step, too."""
    begin_ms, steps = _steps_of(seed)
    spans = [(0, begin_ms, rate_bps * steps[-1][0])]
    for number, (factor, _, gap_ms) in enumerate(steps):
        at_ms = begin_ms + number * STEP_MS
        spans.append((at_ms + gap_ms, min(at_ms + STEP_MS, STEPS * STEP_MS), rate_bps * factor))
    return _paced(spans)


def step_delays(seed, delay_us):
    """[(at_us, delay)] of the same steps, for one round."""
    begin_ms, steps = _steps_of(seed)
    found = [(0, steps[-1][1])] + [((begin_ms + number * STEP_MS) * 1000, factor)
                                   for number, (_, factor, _) in enumerate(steps)]
    return [(at_us, round(delay_us * factor)) for at_us, factor in found]


@functools.lru_cache(maxsize=16)
def blocked(seed, rate_bps):
    """Of a link that something stands in the way of now and then."""
    draw, at_ms, spans = random.Random(f"blocked {seed}"), 0, []
    while at_ms < BLOCKED_FOR_MS:
        end_ms = at_ms + round(_between(draw, OPEN_MS))
        spans.append((at_ms, min(end_ms, BLOCKED_FOR_MS), rate_bps))
        at_ms = end_ms + round(_between(draw, BLOCKED_MS))
    return _paced(spans)


def opportunities(path, up):
    """Of one direction of a path that is replayed."""
    replay = path.replay
    if replay.down:
        return read(replay.up if up and replay.up else replay.down)
    rate_bps = path.up_bps if up and path.up_bps else path.rate_bps
    return (stepped(replay.steps, rate_bps) if replay.steps else
            blocked(replay.blocked, rate_bps))


@functools.lru_cache(maxsize=64)
def kept(path, up):
    """A file with them, in the cache."""
    text = opportunities(path, up).lines().encode("ascii")
    folder = os.path.join(host.cache_folder(), "recordings")
    os.makedirs(folder, exist_ok=True)
    name = os.path.join(folder, hashlib.sha256(text).hexdigest()[:16])
    if os.path.exists(name):
        os.utime(name)
        return name
    part = f"{name}.{os.getpid()}.{id(text)}"
    with open(part, "wb") as out:
        out.write(text)
    os.replace(part, name)
    return name
