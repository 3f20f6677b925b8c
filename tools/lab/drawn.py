# SPDX-License-Identifier: GPL-2.0
"""Scenarios drawn at random, the same ones for the same seed, on any machine.

Each has a name, SEED-NUMBER, from which alone it follows. Even numbers are the
half to tune schedulers on, odd ones the half to report.

  paths        2 to 4; a cold connection begins on the one with the least delay, a warm
               one on any
  rate         1 to 300 Mbit/s        evenly in the logarithm, each path for itself
  one-way delay   1 to 150 ms         evenly in the logarithm
  queue        0.5 to 8 BDP           evenly in the logarithm; at least 10 packets
  loss         none in half of the scenarios; else on each path none or 0.01 to 2 %
  size         16 KB to 50 MB         evenly in the logarithm, within the bounds below
  connection   cold (a new one for each request) or warm (its first request is made
               but not counted)
  requests     one, or a train of 3 to 8 with a pause between them
  connections  one in 7 of 10, else 2 to 6 at once
  direction    download in 7 of 10, else upload
"""

import random
from dataclasses import dataclass

import units
from scenario import FRAME_BITS, Path, Scenario
from units import BadInput

COUNT_MAX = 100_000
RATE_BPS = (1e6, 300e6)
DELAY_US = (1e3, 150e3)
QUEUE_BDP = (0.5, 8)
QUEUE_MIN_PACKETS = 10      # an initial window: a link that drops it is none
LOSS = (0.0001, 0.02)
SIZE_BYTES = (16e3, 50e6)
# All transfers of a scenario together: packets are what a run costs.
TOTAL_BYTES = 60e6
TOTAL_S = 60                # at the rate of all paths
TIMEOUT_S = 3600            # virtual; a path alone may need long


@dataclass(frozen=True)
class Drawn:
    """A scenario with a name."""
    name: str
    scenario: Scenario
    warm_up: int        # requests of each connection that don't count

    def counted(self, requests):
        """Those of a run's requests that count."""
        return [request for request in requests if request["request"] >= self.warm_up]

    def payload_bytes(self):
        """Of all transfers, counted or not."""
        return self.scenario.bytes_max * self.scenario.requests * self.scenario.conns

    def join_s(self, path):
        """How much later than on a connection of its own data can go on that path.

        The connection begins on path 0; the client joins once it has heard from the
        server over it, and the join takes a round trip more than the request would.
        """
        if not self.scenario.cold or path == 0:
            return 0
        delays_us = [self.scenario.paths[i].delay_us for i in (0, path)]
        return 2 * sum(delays_us) / 1e6

    def lossless(self):
        """No random loss; a queue may still overflow."""
        return not any(path.loss for path in self.scenario.paths)


def _between(draw, bounds):
    """Evenly in the logarithm."""
    low, high = bounds
    return low * (high / low) ** draw.random()


def _digits(value):
    """Three digits, as people write it."""
    return int(float(f"{value:.3g}"))


def _path(draw, lossy):
    rate = _digits(_between(draw, RATE_BPS))
    delay = _digits(_between(draw, DELAY_US))
    on_the_way = rate * delay / 1e6 / FRAME_BITS
    queue = max(QUEUE_MIN_PACKETS, 2 * on_the_way * _between(draw, QUEUE_BDP))
    loss = _between(draw, LOSS)
    return Path(rate_bps=rate, delay_us=delay, limit_packets=round(on_the_way + queue),
                loss=float(f"{loss:.2g}") if lossy and draw.random() < 0.6 else 0.0)


def draw(seed, number):
    """The scenario of that number."""
    random_of = random.Random(f"sweep {seed} {number}")
    lossy = random_of.random() < 0.5
    paths = tuple(_path(random_of, lossy)
                  for _ in range(random_of.choice((2, 2, 2, 3, 3, 4))))
    cold, train = random_of.random() < 0.5, random_of.random() < 0.5
    if cold:
        paths = tuple(sorted(paths, key=lambda path: path.delay_us))
    warm_up = 0 if cold else 1
    requests = warm_up + (random_of.randint(3, 8) if train else 1)
    conns = 1 if random_of.random() < 0.7 else random_of.randint(2, 6)
    most = min(TOTAL_BYTES, sum(path.rate_bps for path in paths) / 8 * TOTAL_S)
    size = max(SIZE_BYTES[0], min(_between(random_of, SIZE_BYTES),
                                  most / conns / requests))
    return Drawn(f"{seed}-{number:03d}", Scenario(
        paths=paths, bytes_min=_digits(size), bytes_max=_digits(size), requests=requests,
        gap_ms=random_of.choice((10, 100, 300, 1000)), cold=cold, conns=conns,
        stagger_ms=random_of.choice((0, 10, 100)) if conns > 1 else 0,
        direction="down" if random_of.random() < 0.7 else "up",
        timeout_s=TIMEOUT_S, seed=seed * 1_000_003 + number), warm_up)


def named(name):
    """The scenario of that name."""
    seed, dash, number = name.partition("-")
    if not dash or not seed.isdecimal() or not number.isdecimal():
        raise BadInput(f"scenario '{name}' is no SEED-NUMBER, e.g. 1-017")
    return draw(units.count(seed, "seed", 0, 2**31),
                units.count(number, "number", 0, COUNT_MAX))


HALVES = {"tune": (0, 2), "report": (1, 2), "all": (0, 1)}


def several(seed, count, half="all"):
    """Those with a number below count that belong to the half."""
    first, step = HALVES[half]
    return [draw(seed, number) for number in range(first, count, step)]


def command(drawn, schedulers):
    """The `lab run` that makes the same transfers."""
    scenario = drawn.scenario
    words = ["lab run"]
    for path in scenario.paths:
        loss = f",loss={path.loss * 100:g}%" if path.loss else ""
        words.append(f"--path {path.rate_bps}bit,{path.delay_us}us,"
                     f"{path.limit_packets}{loss}")
    words += [f"--bytes {scenario.bytes_max}", f"--requests {scenario.requests}",
              f"--gap {scenario.gap_ms}ms"]
    if scenario.cold:
        words.append("--cold")
    if scenario.conns > 1:
        words += [f"--conns {scenario.conns}", f"--stagger {scenario.stagger_ms}ms"]
    words += [f"--dir {scenario.direction}", f"--timeout {scenario.timeout_s}",
              f"--seed {scenario.seed}", "--single", f"--sched {','.join(schedulers)}"]
    return " ".join(words)


def text(drawn):
    """One line for people: rates in Mbit/s, delays in ms, queues in packets."""
    scenario = drawn.scenario
    paths = " + ".join(
        f"{path.rate_bps / 1e6:.3g}/{path.delay_us / 1e3:.3g}"
        + (f"/{path.loss * 100:.2g}%" if path.loss else "") for path in scenario.paths)
    conns = f", {scenario.conns} connections" if scenario.conns > 1 else ""
    return (f"{paths}, {scenario.requests - drawn.warm_up} x "
            f"{units.size_text(scenario.bytes_max)} {scenario.direction}, "
            f"{'cold' if scenario.cold else 'warm'}{conns}")
