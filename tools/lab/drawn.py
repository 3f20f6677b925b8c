# SPDX-License-Identifier: GPL-2.0
"""Scenarios drawn at random, the same ones for the same seed, on any machine.

Each has a name, from which alone it follows: SEED-NUMBER are transfers, SEED-pNUMBER
pages, SEED-mtuNUMBER, -nat, -keep, -pause and -live what the others lack. Even numbers are the half to tune schedulers on, odd ones the half to report.

Transfers

  paths        2 to 4; a connection begins on any of them
  rate         1 Mbit/s to 2.5 Gbit/s    evenly in the logarithm, each path for itself
  one-way delay   1 to 150 ms            evenly in the logarithm; less where a round trip's
               worth would be over 8 MB
  rate to the server   as the other, or in 4 of 10 paths 0.05 to 0.5 of it
  queue        0.5 to 8 BDP, evenly in the logarithm, at least 10 packets; or fq_codel, or
               cake; or, up to 200 Mbit/s, a radio's, whose rate varies and which may send
               to the server only every 5 to 40 ms
  rival        of warm downloads a quarter: a TCP connection on one path of up to 50 Mbit/s
  loss         none in two thirds of the scenarios; else on each path with a plain queue
               none or 0.01 to 2 %
  size         16 KB to 50 MB, evenly in the logarithm, then cut: a scenario moves at most
               25 MB in all
  buffers      of TCP up to 6 MB, in 4 of 10 up to 32 MB, which hold any path here
  congestion control   CUBIC, in 3 of 10 BBR
  connection   cold (a new one for each request) or warm (its first request is made
               but not counted)
  requests     one, or a train of 3 to 8
  pause        none, or 10 ms to 5 s, evenly in the logarithm
  connections  one in 7 of 10, else 2 to 6 at once
  direction    download in 7 of 10, else upload

Pages: three of 10 to 60 objects, each over a new connection, six at a time, over 2 or 3
paths of 1 to 300 Mbit/s and 3 to 100 ms, beginning on any of them; a pause of 0.3 to 5 s
between them. The first, and those that follow, count apart.

What the others lack, over 2 or 3 paths of 3 to 150 Mbit/s and 2 to 60 ms, downloads:

  mtu     links of 1280 to 9000 bytes, not all alike; three of 2 to 10 MB, each on a new
          connection
  nat     beside, another host behind the first path's address, on an access link of its own:
          three connections that stay and new ones all the time; 1 to 5 MB
  keep    the same beside, of this client: three of 20 to 500 KB, each on a new connection
  pause   the reader pauses for 1 to 10 s in 5 to 20 MB; in half of them the first link is lost
          meanwhile
  first   a pair of 1 to 300 Mbit/s and 3 to 100 ms, as pages have them, beginning on either:
          six of 16 KB, 100 KB or 1 MB, each on a new connection, of which the first doesn't
          count, or pages of 40 objects, one number after the other of each half
  live    an application writes 0.2 to 0.7 of what all paths carry, at most 20 Mbit/s, for
          20 s: how late the latest byte comes, not how long it takes
"""

import random
from dataclasses import dataclass

import recorded
import units
from browser import WORKERS
from scenario import FRAME_BITS, Change, Path, Scenario, pages_of
from units import BadInput

COUNT_MAX = 100_000
RATE_BPS = (1e6, 2.5e9)
DELAY_US = (1e3, 150e3)
BDP_BYTES = 8e6             # of a path, at most
QUEUE_BDP = (0.5, 8)
QUEUE_MIN_PACKETS = 10      # an initial window: a link that drops it is none
LOSS = (0.0001, 0.02)
UP_SHARE = (0.05, 0.5)
UP_MIN_BPS = 200_000
RADIO_MAX_BPS = 200e6
BURST_US = (5e3, 40e3)
RIVAL_MAX_BPS = 50e6
SIZE_BYTES = (16e3, 50e6)
PAUSE_MS = (10, 5000)
LARGE_BUFFERS = {"net.ipv4.tcp_rmem": "4096 131072 33554432",
                 "net.ipv4.tcp_wmem": "4096 16384 33554432"}
PAGE_RATE_BPS = (1e6, 300e6)
PAGE_DELAY_US = (3e3, 100e3)
PAGE_PAUSE_MS = (300, 5000)
KIND_RATE_BPS, KIND_DELAY_US = (3e6, 150e6), (2e3, 60e3)
MTUS = (1280, 1400, 1500, 9000)
PAUSE_AT_MS, PAUSED_MS = 300, (1e3, 10e3)
FIRST_BYTES, FIRST_REQUESTS, FIRST_OBJECTS = (16_000, 100_000, 1_000_000), 6, 40
LIVE_S, LIVE_SHARE, LIVE_MAX_BPS = 20, (0.2, 0.7), 20e6
PAGES, OBJECTS, OBJECT_BYTES = 3, (10, 60), (400, 2_000_000)
# All transfers of a scenario together: packets are what a run costs.
TOTAL_BYTES = 25e6
TOTAL_S = 30                # at the rate of all paths
RIVAL_TOTAL_S, RIVAL_PAUSE_MS = 8, 300  # a rival's packets cost, too
TIMEOUT_S = 3600            # virtual; a path alone may need long


@dataclass(frozen=True)
class Drawn:
    """A scenario with a name."""
    name: str
    scenario: Scenario
    warm_up: int        # requests of each connection that don't count

    def parts(self):
        """{name: which of a run's requests count}, each part for itself."""
        if self.scenario.objects:
            return {"first": lambda request: request["request"] == 0,
                    "later": lambda request: request["request"] > 0}
        return {"": lambda request: request["request"] >= self.warm_up}

    def payload_bytes(self):
        """Of all transfers, counted or not."""
        if self.scenario.objects:
            return sum(map(sum, pages_of(self.scenario)))
        return self.scenario.bytes_max * self.scenario.requests * self.scenario.conns

    def join_s(self, path):
        """How much later than on a connection of its own data can go on that path.

        The connection begins on path 0; the client joins once it has heard from the
        server over it, and the join takes a round trip more than the request would.
        A page's time has its handshakes in it, which path 0 makes, and takes so many
        connections one after the other.
        """
        if path == 0 or not (self.scenario.cold or self.scenario.objects):
            return 0
        first_us, own_us = (self.scenario.paths[i].delay_us for i in (0, path))
        if self.scenario.objects:
            return -(-self.scenario.objects // WORKERS) * 4 * first_us / 1e6
        return 2 * (first_us + own_us) / 1e6

    def lossless(self):
        """No random loss; a queue may still overflow."""
        return not any(path.loss for path in self.scenario.paths)

    def contended(self):
        """Somebody else takes a share of a path."""
        return any(path.rival for path in self.scenario.paths)

    def bounded(self):
        """The fluid bound says how fast one transfer can be."""
        scenario = self.scenario
        return (self.lossless() and not self.contended() and scenario.conns == 1
                and not (scenario.objects or scenario.beside or scenario.pause_ms
                         or scenario.stream_bps or any(path.mtu for path in scenario.paths)))


def _between(draw, bounds):
    """Evenly in the logarithm."""
    low, high = bounds
    return low * (high / low) ** draw.random()


def _digits(value):
    """Three digits, as people write it."""
    return int(float(f"{value:.3g}"))


def _queue(draw, rate, delay, lossy):
    """What a path has before its link: Path's fields."""
    on_the_way = rate * delay / 1e6 / FRAME_BITS
    waiting = max(QUEUE_MIN_PACKETS, 2 * on_the_way * _between(draw, QUEUE_BDP))
    values = {"limit_packets": round(on_the_way + waiting)}
    kind, loss, seed = draw.random(), _between(draw, LOSS), draw.randint(1, 10**6)
    burst = _digits(_between(draw, BURST_US)) if draw.random() < 0.5 else 0
    if kind < 0.15:
        values["queue"] = "fq_codel"
    elif kind < 0.25:
        values["queue"] = "cake"
    elif kind < 0.45 and rate <= RADIO_MAX_BPS:
        values.update(radio=seed, burst_us=burst)
    elif lossy and draw.random() < 0.6:
        values["loss"] = float(f"{loss:.2g}")
    return values


def _path(draw, rates, delays, lossy):
    rate = _digits(_between(draw, rates))
    delay = min(_digits(_between(draw, delays)), _digits(BDP_BYTES * 8 / rate / 2 * 1e6))
    up = _digits(max(UP_MIN_BPS, rate * _between(draw, UP_SHARE)))
    return Path(rate_bps=rate, delay_us=delay, up_bps=up if draw.random() < 0.4 else 0,
                **_queue(draw, rate, delay, lossy))


def _with_rival(draw, paths):
    """One of the paths that can have it, or none."""
    slow = [i for i, path in enumerate(paths) if path.rate_bps <= RIVAL_MAX_BPS]
    if not slow:
        return paths
    at = draw.choice(slow)
    return tuple(Path(**{**vars(path), "rival": True}) if i == at else path
                 for i, path in enumerate(paths))


def _begins_anywhere(draw, paths):
    """Half of the world's default routes aren't the path with the least delay.

    A generator of its own leaves all other draws as they are.
    """
    paths = sorted(paths, key=lambda path: path.delay_us)
    return (paths.pop(draw.randrange(len(paths))), *paths)


def _most_bytes(paths, up, total_s):
    """Of a scenario: a run shall take seconds."""
    rates = sum(path.up_bps if up and path.up_bps else path.rate_bps for path in paths)
    return min(TOTAL_BYTES, rates / 8 * total_s)


def draw(seed, number):
    """The transfers of that number."""
    random_of = random.Random(f"wide {seed} {number}")
    lossy = random_of.random() < 0.33
    paths = tuple(_path(random_of, RATE_BPS, DELAY_US, lossy)
                  for _ in range(random_of.choice((2, 2, 2, 3, 3, 4))))
    cold, train = random_of.random() < 0.5, random_of.random() < 0.5
    if cold:
        paths = _begins_anywhere(random.Random(f"first {seed} {number}"), paths)
    up = random_of.random() >= 0.7
    # A join that meets a rival's full queue falls back, or comes seconds later, by luck.
    if not cold and not up and random_of.random() < 0.25:
        paths = _with_rival(random_of, paths)
    rival = any(path.rival for path in paths)
    warm_up = 0 if cold else 1
    requests = warm_up + (random_of.randint(3, 8) if train else 1)
    conns = 1 if random_of.random() < 0.7 else random_of.randint(2, 6)
    most = _most_bytes(paths, up, RIVAL_TOTAL_S if rival else TOTAL_S)
    size = max(SIZE_BYTES[0], min(_between(random_of, SIZE_BYTES),
                                  most / conns / requests))
    pause = 0 if random_of.random() < 0.15 else round(_between(random_of, PAUSE_MS))
    return Drawn(f"{seed}-{number:03d}", Scenario(
        paths=paths, bytes_min=_digits(size), bytes_max=_digits(size), requests=requests,
        gap_ms=min(pause, RIVAL_PAUSE_MS) if rival else pause, cold=cold, conns=conns,
        stagger_ms=random_of.choice((0, 10, 100)) if conns > 1 else 0,
        direction="up" if up else "down",
        congestion="bbr" if random_of.random() < 0.3 else "cubic",
        extra=LARGE_BUFFERS if random_of.random() < 0.4 else {},
        timeout_s=TIMEOUT_S, seed=seed * 1_000_003 + number), warm_up)


def draw_pages(seed, number):
    """The pages of that number."""
    random_of = random.Random(f"pages {seed} {number}")
    lossy = random_of.random() < 0.2
    paths = _begins_anywhere(
        random.Random(f"first page {seed} {number}"),
        [_path(random_of, PAGE_RATE_BPS, PAGE_DELAY_US, lossy)
         for _ in range(random_of.choice((2, 2, 3)))])
    return Drawn(f"{seed}-p{number:03d}", Scenario(
        paths=paths, bytes_min=OBJECT_BYTES[0], bytes_max=OBJECT_BYTES[1], requests=PAGES,
        objects=random_of.randint(*OBJECTS), gap_ms=round(_between(random_of, PAGE_PAUSE_MS)),
        congestion="bbr" if random_of.random() < 0.2 else "cubic",
        timeout_s=TIMEOUT_S, seed=seed * 1_000_003 + number), 0)


def _size(draw, bounds):
    size = _digits(_between(draw, bounds))
    return {"bytes_min": size, "bytes_max": size}


def _mtu(draw, paths):
    """Jumbo frames on a wire, less in a tunnel."""
    first = draw.choice(MTUS)
    others = [draw.choice([mtu for mtu in MTUS if mtu != first]) for _ in paths[1:]]
    return {"paths": tuple(Path(**{**vars(path), "mtu": mtu})
                           for path, mtu in zip(paths, (first, *others))),
            **_size(draw, (2e6, 10e6)), "requests": 3, "cold": True}


def _nat(draw, paths):
    return {"paths": paths, **_size(draw, (1e6, 5e6)), "requests": 1, "beside": "both",
            "neighbour": _path(draw, KIND_RATE_BPS, KIND_DELAY_US, False)}


def _keep(draw, paths):
    return {"paths": paths, **_size(draw, (20e3, 500e3)), "requests": 3, "cold": True,
            "beside": "both"}


def _pause(draw, paths):
    until = PAUSE_AT_MS + round(_between(draw, PAUSED_MS))
    lost = Change((PAUSE_AT_MS + until) // 2 * 1000, 0, {"down": True})
    # a radio's next rate would bring a lost link back
    paths = (Path(**{**vars(paths[0]), "radio": 0, "burst_us": 0}), *paths[1:])
    return {"paths": paths, **_size(draw, (5e6, 20e6)), "requests": 1,
            "pause_ms": (PAUSE_AT_MS, until), "changes": (lost,) if draw.random() < 0.5 else ()}


def _live(draw, paths):
    rate = _digits(min(LIVE_MAX_BPS, _between(draw, LIVE_SHARE)
                       * sum(path.rate_bps for path in paths)))
    size = rate // 8 * LIVE_S
    return {"paths": paths, "bytes_min": size, "bytes_max": size, "requests": 1,
            "stream_bps": rate}


EVERYDAY = {"mtu": _mtu, "nat": _nat, "keep": _keep, "pause": _pause, "live": _live}


def draw_everyday(kind, seed, number):
    """What that kind has of that number."""
    random_of = random.Random(f"{kind} {seed} {number}")
    paths = tuple(_path(random_of, KIND_RATE_BPS, KIND_DELAY_US, False)
                  for _ in range(random_of.choice((2, 2, 3))))
    return Drawn(f"{seed}-{kind}{number:03d}", Scenario(
        **EVERYDAY[kind](random_of, paths), gap_ms=1000, timeout_s=TIMEOUT_S // 10,
        seed=seed * 1_000_003 + number), 0)


def draw_first(seed, number):
    """New connections over a pair, of that number."""
    random_of = random.Random(f"first {seed} {number}")
    paths = tuple(_path(random_of, PAGE_RATE_BPS, PAGE_DELAY_US, False) for _ in range(2))
    what = number // 2 % (len(FIRST_BYTES) + 1)
    if what == len(FIRST_BYTES):
        size, values = OBJECT_BYTES, {"requests": PAGES, "objects": FIRST_OBJECTS}
    else:
        size, values = FIRST_BYTES[what:what + 1], {"requests": FIRST_REQUESTS, "cold": True}
    return Drawn(f"{seed}-first{number:03d}", Scenario(
        paths=paths, bytes_min=size[0], bytes_max=size[-1], gap_ms=1000, timeout_s=TIMEOUT_S,
        seed=seed * 1_000_003 + number, **values), 1 if "cold" in values else 0)


def named(name):
    """The scenario of that name."""
    seed, dash, rest = name.partition("-")
    number = rest.lstrip("abcdefghijklmnopqrstuvwxyz")
    kind = rest.removesuffix(number) if number else rest
    if (not dash or not seed.isdecimal() or not number.isdecimal()
            or kind not in ("", "p", "first", *EVERYDAY)):
        raise BadInput(f"scenario '{name}' is no SEED-NUMBER, e.g. 1-017, 1-p017 or 1-mtu017")
    seed = units.count(seed, "seed", 0, 2**31)
    number = units.count(number, "number", 0, COUNT_MAX)
    if kind in EVERYDAY:
        return draw_everyday(kind, seed, number)
    return {"": draw, "p": draw_pages, "first": draw_first}[kind](seed, number)


HALVES = {"tune": (0, 2), "report": (1, 2), "all": (0, 1)}
KINDS = ("transfers", "pages", "all", "first", *EVERYDAY)
PAGES_EVERY = 4             # so many transfers for one scenario of pages


def several(seed, count, half="all", kind="transfers"):
    """Those with a number below count, of pages below a quarter of it, of that half."""
    first, step = HALVES[half]
    found = []
    if kind in EVERYDAY:
        return [draw_everyday(kind, seed, number) for number in range(first, count, step)]
    if kind == "first":
        return [draw_first(seed, number) for number in range(first, count, step)]
    if kind != "pages":
        found += [draw(seed, number) for number in range(first, count, step)]
    if kind != "transfers":
        found += [draw_pages(seed, number)
                  for number in range(first, -(-count // PAGES_EVERY), step)]
    return found


def path_text(path):
    """The path as `lab run` takes it."""
    rate, limit, more = (recorded.path_words(path) if path.replay else
                         (f"{path.rate_bps}bit", str(path.limit_packets),
                          [f"up={path.up_bps}bit"] if path.up_bps else []))
    words = [rate, f"{path.delay_us}us", limit, *more]
    if path.loss:
        words.append(f"loss={path.loss * 100:g}%")
    if path.queue:
        words.append(f"queue={path.queue}")
    if path.radio:
        words.append(f"radio={path.radio}")
    if path.burst_us:
        words.append(f"burst={path.burst_us}us")
    if path.mtu:
        words.append(f"mtu={path.mtu}")
    if path.rival:
        words.append("rival")
    return ",".join(words)


def command(drawn, schedulers):
    """The `lab run` that makes the same transfers."""
    scenario = drawn.scenario
    words = ["lab run", *(f"--path {path_text(path)}" for path in scenario.paths),
             f"--bytes {scenario.bytes_min}-{scenario.bytes_max}",
             f"--requests {scenario.requests}", f"--gap {scenario.gap_ms}ms"]
    if scenario.objects:
        words.append(f"--objects {scenario.objects}")
    if scenario.pause_ms:
        start, end = scenario.pause_ms
        words.append(f"--pause {start}ms,{end - start}ms")
    if scenario.beside:
        words.append(f"--beside {scenario.beside}")
    if scenario.neighbour:
        words.append(f"--neighbour {path_text(scenario.neighbour)}")
    if scenario.stream_bps:
        words.append(f"--stream {scenario.stream_bps}bit")
    words += [f"--change {change.at_us}us,{change.path}," +
              (f"rate={change.values['rate_bps']}bit" if "rate_bps" in change.values else "link=down")
              for change in scenario.changes]
    if scenario.cold:
        words.append("--cold")
    if scenario.conns > 1:
        words += [f"--conns {scenario.conns}", f"--stagger {scenario.stagger_ms}ms"]
    if scenario.congestion != "cubic":
        words.append(f"--cc {scenario.congestion}")
    words += [f"--sysctl '{name}={value}'" for name, value in scenario.extra.items()]
    words += [f"--dir {scenario.direction}", f"--timeout {scenario.timeout_s}",
              f"--seed {scenario.seed}", "--single", f"--sched {','.join(schedulers)}"]
    return " ".join(words)


def _short(path):
    """Rate in Mbit/s, delay in ms, and what is special."""
    text = f"{path.rate_bps / 1e6:.3g}"
    if path.up_bps:
        text += f"\\{path.up_bps / 1e6:.2g}"
    text += f"/{path.delay_us / 1e3:.3g}"
    if path.loss:
        text += f"/{path.loss * 100:.2g}%"
    text += f" MTU {path.mtu}" if path.mtu else ""
    text += f" {path.queue}" if path.queue else ""
    text += " radio" if path.radio else ""
    text += f" {path.replay.text()}" if path.replay else ""
    return text + (" rival" if path.rival else "")


def text(drawn):
    """One line for people: rates in Mbit/s, to the server behind a backslash, delays in ms."""
    scenario = drawn.scenario
    words = [" + ".join(map(_short, scenario.paths))]
    if scenario.objects:
        words.append(f"{scenario.requests} pages of {scenario.objects}")
    else:
        words += [f"{scenario.requests - drawn.warm_up} x "
                  f"{units.size_text(scenario.bytes_max)} {scenario.direction}",
                  "cold" if scenario.cold else "warm"]
    if scenario.stream_bps:
        words.append(f"at {scenario.stream_bps / 1e6:.3g} Mbit/s")
    if scenario.pause_ms:
        words.append(f"{(scenario.pause_ms[1] - scenario.pause_ms[0]) / 1e3:.1f} s of pause"
                     + (", first link lost" if scenario.changes else ""))
    if scenario.beside:
        words.append(f"beside {_short(scenario.neighbour)} behind one address"
                     if scenario.neighbour else "beside others")
    if scenario.conns > 1:
        words.append(f"{scenario.conns} connections")
    if scenario.congestion != "cubic":
        words.append(scenario.congestion)
    return ", ".join(words)
