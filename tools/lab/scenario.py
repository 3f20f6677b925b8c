# SPDX-License-Identifier: GPL-2.0
"""What a run is made of: paths, their changes in time, and the transfers.

A path is one virtual link between the two hosts, shaped in both directions:

    RATE,ONE_WAY_DELAY[,LIMIT_PACKETS][,key=value...]

    loss=SHARE      random loss in each direction
    jitter=TIME     the delay varies by this much to either side
    up=RATE         rate from client to server (as RATE)
    backup          the subflow on it is a backup
    queue=NAME      fq_codel or cake with its defaults, instead of a plain queue
    radio=SEED      the rate varies around RATE, ten times a second, as that seed says
    burst=TIME      what goes to the server is held, and goes all at once each TIME; not with queue=
    mtu=N           of the link, at both hosts and in the router (1500)
    rival           a TCP connection over this path alone, busy all the time
    steps=SEED      rate and delay are others each 15 s, as over satellites (recorded.py)
    blocked=SEED    something stands in the way for 0.2 to 2 s now and then

RATE may be trace:FILE: a recording of when packets could be sent, in mahimahi's format, is
replayed (replay.c). Then up= takes trace:FILE, too (the same one where it isn't there), and

    from=TIME       where in the recording the first request is
    LIMIT           counts what waits, and may be a size: 200KB

A change is an event while the transfers run:

    AT,PATH,key=value[,key=value...]

with the keys rate, up, delay, jitter, loss, limit and link=down|up; of a path with queue=
only rate, up, delay and link, and none of one with radio= or steps=, which sets all of these
again and again. A link that goes down loses what is on its way and drops everything after that silently, as
a phone does that leaves the coverage.

A path through a helper device has two segments, each with its own rate, delay, queue and
loss; a colon stands between what belongs to one:

    HS_PATH,PIPE[,split|pays|router][,bank=TIME]    10mbit:20ms,5mbit:5ms:loss=2%,split

Split: pamsplit runs on the helper, splits from the start, and banks what the pipe carries in
that time; pays: it splits only where that pays, as it does by default. A change
is one of a segment there: AT,PATH.hs,... or AT,PATH.pipe,...

A report is what the server's kernel is told of a path meanwhile:

    AT,PATH,key=value[,key=value...]

    loss=TIME       the path will be lost in so long
    pipe=RATE       throughput of the pipe behind the path
    backlog=SIZE    what waits before the pipe
    delay=TIME      the pipe's one-way delay
    ttl=TIME        how long the report holds
"""

import functools
import math
import random
from dataclasses import asdict, dataclass, field, replace

import recorded
import units
from recorded import Replay
from units import FRAME_BITS, BadInput

OBJECT_MEDIAN_BYTES, OBJECT_SIGMA = 20_000, 1.3     # of a page
MAX_PATHS = 8           # as many endpoints as 6.12's path manager has
QUEUES = ("fq_codel", "cake")
RADIO_STEP_US = 100_000
RADIO_STEPS = 200       # then the rate stays
DEFAULT_LIMIT = 100     # packets; more where the path holds more


@dataclass(frozen=True)
class Path:
    """One link; both directions alike but for the rate."""
    rate_bps: int
    delay_us: int
    limit_packets: int = DEFAULT_LIMIT
    loss: float = 0.0
    jitter_us: int = 0
    up_bps: int = 0         # 0: as rate_bps
    backup: bool = False
    down: bool = False      # drops everything
    queue: str = ""         # "", or one of QUEUES
    radio: int = 0          # not 0: seed of how the rate varies
    burst_us: int = 0       # not 0: how often what goes to the server is sent
    mtu: int = 0            # 0: 1500
    rival: bool = False     # a busy TCP connection beside
    helper: object = None   # Helper; then rate and delay are those from end to end
    replay: Replay = None   # what decides when packets are sent; rates are means

    def text(self):
        """As it stands in tables."""
        if self.helper:
            return self.helper.text()
        parts = [units.rate_text(self.rate_bps)]
        if self.up_bps:
            parts.append(f"up {units.rate_text(self.up_bps)}")
        limit = (units.size_text(self.replay.limit_bytes)
                 if self.replay and self.replay.limit_bytes else f"{self.limit_packets} packets")
        parts += [units.time_text(self.delay_us), self.queue or limit]
        if self.replay:
            parts.append(self.replay.text())
        if self.loss:
            parts.append(f"loss {self.loss * 100:g} %")
        if self.jitter_us:
            parts.append(f"jitter {units.time_text(self.jitter_us)}")
        if self.radio:
            parts.append("radio")
        if self.burst_us:
            parts.append(f"bursts of {units.time_text(self.burst_us)} to the server")
        if self.mtu:
            parts.append(f"MTU {self.mtu}")
        parts += [word for word in ("rival", "backup") if getattr(self, word)]
        return ", ".join(parts)


@dataclass(frozen=True)
class Helper:
    """A device between HS-path and pipe: pamsplit runs on it, or it is a plain router."""
    hs: Path
    pipe: Path
    split: bool = True
    bank_us: int = 0        # not 0: pamsplit's --limit-ms
    pays: bool = False      # not pamsplit's --from-the-start

    def text(self):
        """As it stands in tables."""
        kind = "a helper that splits" if self.split else "a helper that is a router"
        kind += " where it pays" if self.pays else ""
        return f"{kind}: HS-path {self.hs.text()}; pipe {self.pipe.text()}"

    def path(self):
        """From end to end."""
        hs, pipe = self.hs, self.pipe
        up_bps = min(hs.up_bps or hs.rate_bps, pipe.up_bps or pipe.rate_bps)
        return Path(min(hs.rate_bps, pipe.rate_bps), hs.delay_us + pipe.delay_us,
                    loss=1 - (1 - hs.loss) * (1 - pipe.loss), up_bps=up_bps,
                    down=hs.down or pipe.down, helper=self)


SEGMENTS = ("hs", "pipe")


@dataclass(frozen=True)
class Change:
    """From at_us after the first request on, the path has these values."""
    at_us: int
    path: int
    values: dict
    segment: str = ""       # of a path through a helper: one of SEGMENTS

    def of(self, path):
        """The path as it is after this change."""
        if not self.segment:
            return replace(path, **self.values)
        segment = replace(getattr(path.helper, self.segment), **self.values)
        return replace(path.helper, **{self.segment: segment}).path()

    def text(self):
        """As it stands in tables."""
        where = f"{self.path}.{self.segment}" if self.segment else self.path
        return f"at {self.at_us / 1e6:g} s: path {where} " + ", ".join(
            f"{key} {value}" for key, value in self.values.items())


@dataclass(frozen=True)
class Report:
    """At at_us after the first request the server is told this of the path."""
    at_us: int
    path: int
    values: dict        # as pamsctl names them: 'loss-time': 800


# connections that stay, with a request now and then; new ones all the time; both
BESIDE = ("keep", "new", "both")


@dataclass(frozen=True)
class Scenario:
    """All that decides a run, but for the scheduler."""
    paths: tuple
    changes: tuple = ()
    reports: tuple = ()
    bytes_min: int = 1_000_000
    bytes_max: int = 1_000_000
    requests: int = 5
    gap_ms: int = 0
    cold: bool = False          # a new connection for each request
    direction: str = "down"     # down, up, both
    conns: int = 1
    stagger_ms: int = 0
    congestion: str = "cubic"
    sndbuf_bytes: int = 0       # 0: the kernel's choice
    rcvbuf_bytes: int = 0
    ipv6: bool = False
    checksum: bool = False
    protocol: str = "mptcp"     # mptcp, tcp, fallback
    stream_bps: int = 0         # pace of downloads; 0: as fast as it goes
    timeout_s: int = 60
    queue_bytes: int = 0        # not 0: connection i, on path i, takes requests from these
    segment_s: float = 0.0      # not 0: the client is a video player (player.py), and
    #                             each request a segment of so many s
    ahead: bool = False         # it asks for the next one while one arrives
    units: bool = False         # the server marks each transfer as a unit
    objects: int = 0            # not 0: each request is a page of so many objects (browser.py),
    #                             of bytes_min to bytes_max, over new connections
    seed: int = 1
    extra: dict = field(default_factory=dict)   # sysctl: value, on both ends
    pause_ms: tuple = ()        # from and to when the client doesn't read, after a request
    beside: str = ""            # what else is transferred: "", or one of BESIDE
    neighbour: object = None    # Path; that is another host's, behind path 0's address
    begins: int = 0             # the path on which connections begin
    first_path: int = 0         # what paths[0] is in the scenario it was taken from

    def alone(self, index):
        """The same transfers over one of the paths, which loses the same packets."""
        changes = tuple(replace(change, path=0)
                        for change in self.changes if change.path == index)
        path = replace(self.paths[index], backup=False)
        return replace(self, paths=(path,), changes=changes, reports=(), begins=0,
                       first_path=index)

    def as_dict(self):
        """For JSON."""
        return asdict(self)


WORDS = ("backup", "rival")     # keys without a value
PATH_KEYS = ("loss", "jitter", "up", "limit", "queue", "radio", "burst", "mtu", "from",
             "steps", "blocked", *WORDS)
TRACE = "trace:"        # before a recording's name, where a rate may be
REPLAY_KEYS = ("trace", "up_trace", "from_us", "steps", "blocked", "limit_bytes")


def _rate_values(way, text):
    """'8mbit', or 'trace:FILE'; way: "" or "up_"."""
    if text.startswith(TRACE):
        return {f"{way}trace": text.removeprefix(TRACE)}
    return {f"{way or 'rate_'}bps": units.rate_bps(text)}


def _limit_values(text):
    """Packets, or with a unit a size."""
    if text.isdecimal():
        return {"limit_packets": units.count(text, "limit", 1, 10**6)}
    return {"limit_bytes": max(1, units.size_bytes(text))}


def _with_replay(values):
    """The same, but what is replayed is in a Replay, and a recording's mean is the rate."""
    found = {key: values.pop(key) for key in REPLAY_KEYS if key in values}
    down, up = found.pop("trace", ""), found.pop("up_trace", "")
    if not (down or "steps" in found or "blocked" in found):
        if up or found:
            raise BadInput(f"{up and 'up=trace:' or ', '.join(found)}: nothing is replayed there")
        return values
    if bool(down) + ("steps" in found) + ("blocked" in found) > 1 or \
            up and not down or down and "up_bps" in values or \
            not down and "from_us" in found or \
            {"radio", "queue", "jitter_us", "burst_us"} & set(values):
        raise BadInput("a recording goes with from=, up=trace:, loss=, backup and rival only, "
                       "steps= and blocked= with up=, loss=, backup and rival")
    replay = Replay(down, up, **found)
    if down:
        values["rate_bps"] = recorded.read(down).mean_bps()
        if up:
            values["up_bps"] = recorded.read(up).mean_bps()
    return {**values, "replay": replay}


def _path_values(parts, keys, whole):
    values = {}
    for part in parts:
        key, equals, text = part.partition("=")
        if key not in keys or bool(equals) == (key in WORDS):
            raise BadInput(f"'{part}' in '{whole}' is not understood: "
                           f"one of {', '.join(keys)}")
        if key == "loss":
            values["loss"] = units.share(text)
        elif key == "jitter":
            values["jitter_us"] = units.time_us(text)
        elif key == "delay":
            values["delay_us"] = units.time_us(text)
        elif key == "rate":
            values["rate_bps"] = units.rate_bps(text)
        elif key == "up":
            values.update(_rate_values("up_", text))
        elif key == "limit":
            values.update(_limit_values(text))
        elif key == "from":
            values["from_us"] = units.time_us(text)
        elif key in WORDS:
            values[key] = True
        elif key == "burst":
            values["burst_us"] = units.time_us(text)
        elif key == "mtu":
            values["mtu"] = units.count(text, "mtu", 1280, 9000)
        elif key in ("radio", "steps", "blocked"):
            values[key] = units.count(text, key, 1, 2**31)
        elif key == "queue":
            if text not in QUEUES:
                raise BadInput(f"'{part}' in '{whole}': queue is one of {', '.join(QUEUES)}")
            values["queue"] = text
        elif key == "link":
            if text not in ("up", "down"):
                raise BadInput(f"'{part}' in '{whole}': link=up or link=down")
            values["down"] = text == "down"
    return values


def default_limit(rate_bps, delay_us):
    """Packets: those on their way, which netem counts, too, and a round trip's worth that
    waits."""
    return max(DEFAULT_LIMIT, round(3 * rate_bps * delay_us / 1e6 / FRAME_BITS))


def parse_path(text):
    """'8mbit,10ms,100,loss=1%' -> Path"""
    parts = text.split(",")
    if len(parts) < 2:
        raise BadInput(f"path '{text}' is too short: RATE,DELAY[,LIMIT][,key=value...]")
    rate, delay, *rest = parts
    try:
        values = {**_rate_values("", rate), "delay_us": units.time_us(delay)}
        if rest and rest[0][:1].isdigit():
            values.update(_limit_values(rest.pop(0)))
        values = _with_replay({**values, **_path_values(rest, PATH_KEYS, text)})
        values.setdefault("limit_packets", default_limit(values["rate_bps"], values["delay_us"]))
        path = Path(**values)
        if path.queue and path.burst_us:
            raise BadInput("burst and queue don't go together: bursts are netem's")
        # What a radio's changes do to the generator of losses, and where codel's delay is made.
        if (path.radio or path.queue) and (path.loss or path.jitter_us) or \
                path.radio and path.queue:
            raise BadInput("radio, queue, and loss or jitter don't go together")
        return path
    except BadInput as error:
        raise BadInput(f"path '{text}': {error}") from None


HELPER_KINDS = ("split", "pays", "router")
SEGMENT_KEYS = ("loss", "jitter", "up", "limit")


def _parse_segment(text):
    """'5mbit:5ms:loss=2%' -> Path"""
    for part in text.split(":")[2:]:
        if "=" in part and part.partition("=")[0] not in SEGMENT_KEYS or part in WORDS:
            raise BadInput(f"'{part}' in '{text}' is not understood: "
                           f"one of {', '.join(SEGMENT_KEYS)}")
    return parse_path(text.replace(":", ","))


def parse_helper(text):
    """'10mbit:20ms,5mbit:5ms,split' -> Path"""
    parts = text.split(",")
    if len(parts) < 2:
        raise BadInput(f"helper '{text}' is too short: "
                       "RATE:DELAY,RATE:DELAY[,split|pays|router][,bank=TIME]")
    kind, bank_us = "split", 0
    try:
        for part in parts[2:]:
            if part in HELPER_KINDS:
                kind = part
            elif part.startswith("bank="):
                bank_us = units.time_us(part.partition("=")[2])
            else:
                raise BadInput(f"'{part}' is not understood: split, pays, router or bank=TIME")
        if bank_us and (kind == "router" or bank_us < 1000):
            raise BadInput("bank=TIME: a millisecond or more, where the helper splits")
        return Helper(_parse_segment(parts[0]), _parse_segment(parts[1]), kind != "router",
                      bank_us, kind == "pays").path()
    except BadInput as error:
        raise BadInput(f"helper '{text}': {error}") from None


def _parse_event(kind, text, path_count, values_of):
    """'AT,PATH,key=value[,...]' -> (at_us, path, values)"""
    parts = text.split(",")
    if len(parts) < 3:
        raise BadInput(f"{kind} '{text}' is too short: AT,PATH,key=value[,...]")
    try:
        return (units.time_us(parts[0]),
                units.count(parts[1], "path", 0, path_count - 1),
                values_of(parts[2:], text))
    except BadInput as error:
        raise BadInput(f"{kind} '{text}': {error}") from None


def _change_values(parts, whole):
    return _path_values(parts, ("rate", "up", "delay", "jitter", "loss", "limit", "link"),
                        whole)


def parse_change(text, path_count, helped=()):
    """'2s,1,rate=1mbit', or '2s,1.pipe,rate=1mbit' where 1 is helped -> Change"""
    at, comma, rest = text.partition(",")
    where, *values = rest.split(",")
    index, dot, segment = where.partition(".")
    if dot and segment not in SEGMENTS:
        raise BadInput(f"change '{text}': a helper's path has the segments "
                       f"{' and '.join(SEGMENTS)}, not '{segment}'")
    event = _parse_event("change", at + comma + ",".join([index, *values]), path_count,
                         _change_values)
    if bool(segment) != (event[1] in helped):
        raise BadInput(f"change '{text}': " + (
            "no helper is on that path" if segment else
            f"of which segment? write {index}.hs or {index}.pipe"))
    return Change(*event, segment)


def check_change(change, path):
    """Refuse what would be undone, or do nothing."""
    if path.radio or path.replay and path.replay.steps:
        raise BadInput(f"change of path {change.path}: radio= and steps= undo it with the next step")
    if path.replay and not set(change.values) <= {"delay_us", "loss", "down"}:
        raise BadInput(f"change of path {change.path}: of one that is replayed only delay, "
                       "loss and link can be changed")
    if path.queue and not set(change.values) <= {"rate_bps", "up_bps", "delay_us", "down"}:
        raise BadInput(f"change of path {change.path}: of one with queue= only rate, up, delay "
                       "and link can be changed")


def _report_values(parts, whole):
    values = {}
    for part in parts:
        key, equals, text = part.partition("=")
        if not equals or key not in ("loss", "pipe", "backlog", "delay", "ttl"):
            raise BadInput(f"'{part}' in '{whole}' is not understood: "
                           "one of loss, pipe, backlog, delay, ttl")
        if key == "loss":
            values["loss-time"] = round(units.time_us(text) / 1000)
        elif key == "pipe":
            values["pipe-rate"] = units.rate_bps(text) // 8
        elif key == "backlog":
            values["backlog"] = units.size_bytes(text)
        elif key == "delay":
            values["delay"] = units.time_us(text)
        else:
            values["ttl"] = max(1, round(units.time_us(text) / 1000))
    return values


def parse_report(text, path_count):
    """'0ms,0,loss=800ms' -> Report"""
    at_us, index, values = _parse_event("report", text, path_count, _report_values)
    if not {"loss-time", "pipe-rate"} & set(values):
        raise BadInput(f"report '{text}': neither loss= nor pipe= is there")
    return Report(at_us, index, values)


@functools.lru_cache(maxsize=256)
def radio_factors(seed):
    """How the rate of a radio varies: times the mean, every RADIO_STEP_US. Each is 0.8 of
    the one before and something new, in the logarithm."""
    draw, level, factors = random.Random(f"radio {seed}"), 0.0, []
    for _ in range(RADIO_STEPS):
        level = 0.8 * level + draw.gauss(0, 0.3)
        factors.append(round(min(2.0, max(0.25, math.exp(level))), 3))
    return tuple(factors)


def helped(paths):
    """Those that go through a helper, by index."""
    return {index for index, path in enumerate(paths) if path.helper}


def replayed(paths):
    """Those whose packets replay.c forwards, by index."""
    return {index for index, path in enumerate(paths) if path.replay}


def radio_changes(scenario):
    """The rates of its radios, as changes; a direction's share stays. The delays of steps."""
    changes = []
    for index, path in enumerate(scenario.paths):
        if path.replay and path.replay.steps:
            changes += [Change(at_us, index, {"delay_us": delay_us}) for at_us, delay_us in
                        recorded.step_delays(path.replay.steps, path.delay_us)]
        for step, factor in enumerate(radio_factors(path.radio) if path.radio else ()):
            values = {"rate_bps": round(path.rate_bps * factor)}
            if path.up_bps:
                values["up_bps"] = round(path.up_bps * factor)
            changes.append(Change(step * RADIO_STEP_US, index, values))
    return changes


def timeline(scenario, radio=True):
    """(at_us, paths) for the start and after each change, in order of time."""
    paths = list(scenario.paths)
    states = [(0, tuple(paths))]
    changes = [*scenario.changes, *(radio_changes(scenario) if radio else ())]
    for change in sorted(changes, key=lambda c: c.at_us):
        paths[change.path] = change.of(paths[change.path])
        if change.at_us == states[-1][0]:
            states.pop()
        states.append((change.at_us, tuple(paths)))
    return states


def pages_of(scenario):
    """[[bytes of each object of a page]], as sizes on the web are: most are small."""
    draw, pages = random.Random(f"pages {scenario.seed}"), []
    for _ in range(scenario.requests):
        pages.append([round(min(scenario.bytes_max, max(scenario.bytes_min, draw.lognormvariate(
            math.log(OBJECT_MEDIAN_BYTES), OBJECT_SIGMA)))) for _ in range(scenario.objects)])
    return pages
