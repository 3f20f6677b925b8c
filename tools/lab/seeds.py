# SPDX-License-Identifier: GPL-2.0
"""The tables of the papers that the project starts from, made again here.

Each function makes one table: a row per case, with the figure of the paper and a
figure per scheduler. A link of a helper device is a plain path here, as rate and
delay of its slowest part, and rows in which the split of MPBond matters say so; splits()
has a helper that splits TCP, and one that doesn't.

  kibbutz     a fixed share of the bytes on each path, whatever happens: the time of
              the path that ends last. Each path runs alone, later by the join
  COMBINE     a worker on each path, a TCP connection of its own, takes ranges from
              one queue; an actual client (selftests/mptcp_pams/xfer.c --queue)
"""

import functools
import random
from dataclasses import dataclass, field, replace

import bound
import drawn
import fed
import host
import runs
import units
from scenario import Change, Path, Scenario, default_limit, parse_change, parse_helper

MBIT = 10**6
KIBBUTZ_PERCENT = tuple(range(10, 100, 10))     # shares of the primary's path
RANGES_BYTES = (262144, 131072, 65536)
LOSS_FROM_US = 20_000
SPLIT = "plain router, no split"


@dataclass
class Table:
    """For the results page."""
    title: str
    source: str         # which paper, and what it says
    unit: str
    columns: list
    note: str = ""
    rows: list = field(default_factory=list)    # {label, paper, cells, note}
    digits: int = 2
    better: str = "less"

    def add(self, label, paper, cells, note=""):
        """One row; cells: column -> number or None."""
        self.rows.append({"label": label, "paper": paper, "cells": cells, "note": note})


class Lab:
    """Runs scenarios for the tables."""

    def __init__(self, means, schedulers, at_once, progress):
        self.means, self.schedulers = means, schedulers
        self.at_once, self.progress = at_once, progress

    def run(self, jobs):
        """Results of the jobs."""
        return [result for result, _ in
                runs.run_all(self.means, jobs, self.at_once, self.progress)]

    def traced(self, jobs):
        """[(result, packets)]"""
        return runs.run_all(self.means, [replace(job, trace=True) for job in jobs],
                            self.at_once, self.progress)

    def jobs(self, scenario, single=False):
        """Under each scheduler, perhaps with each path alone before."""
        return runs.jobs_of(scenario, self.schedulers, single, 1, False)

    def times(self, scenario):
        """{scheduler: mean time in s}"""
        return {result["name"]: result["mean_s"] for result in self.run(self.jobs(scenario))}

    def alone(self, scenario, sizes=None):
        """[mean time in s of each path alone], perhaps with its share of the bytes."""
        jobs = []
        for i in range(len(scenario.paths)):
            own = scenario.alone(i)
            if sizes:
                own = replace(own, bytes_min=sizes[i], bytes_max=sizes[i])
            jobs.append(runs.Job(f"path {i} alone", "default", own, i))
        return [result["mean_s"] for result in self.run(jobs)]


def path(mbit, ms, packets=None, **more):
    """Rate in Mbit/s, one-way delay in ms."""
    rate, delay = round(mbit * MBIT), round(ms * 1000)
    return Path(rate, delay, packets or default_limit(rate, delay), **more)


def _download(paths, size, changes=(), **more):
    """One, on a new connection."""
    return Scenario(paths=tuple(paths), changes=tuple(changes), bytes_min=size,
                    bytes_max=size, requests=1, timeout_s=600, **more)


def _rate_at(seconds, path, mbit):
    return Change(round(seconds * 1e6), path, {"rate_bps": round(mbit * MBIT)})


def imbalance(lab):
    """How far apart the two paths end."""
    table = Table("MinRTT leaves the paths unequal",
                  "MPBond, section 2: 8/10/5 Mbit/s, 10 MB; the helper's subflow ends 4.5 s "
                  "after the direct one with MinRTT, both together with pipe-aware availability",
                  "s between the last bytes on the two paths", lab.schedulers,
                  "The helper's buffer is a queue of 1 MB before the slower link.")
    scenario = _download((path(8, 10), path(5, 40, 700)), 10_000_000)
    cells = {}
    for result, packets in lab.traced([runs.Job(name, name, scenario)
                                       for name in lab.schedulers]):
        last = [max((packet.time_s for packet in packets
                     if packet.down and packet.payload_bytes and packet.path == i), default=0)
                for i in range(2)]
        cells[result["name"]] = abs(last[1] - last[0])
    table.add("8/10 + 5/40, 10 MB", "minrtt 4.5", cells, SPLIT)
    return table


def collapse_scenario():
    """5 + 5 Mbit/s, one of them falls to 1 Mbit/s after 2 s."""
    return _download((path(5, 25), path(5, 25)), 4_000_000, [_rate_at(2, 1, 1)])


def collapse(lab):
    """A path that changes after 2 s."""
    table = Table("A path changes under the transfer",
                  "MPBond, section 6: 5/10/5 Mbit/s, 4 MB, the pipe to 1 Mbit/s at 2 s: 4.8 s "
                  "with reinjection, 9.7 s without", "s", ["bound", *lab.schedulers],
                  "Paths in Mbit/s / one-way ms. pams and minfct reinject, minpad is pams "
                  "without deferral and reinjection.")
    both = (path(5, 25), path(5, 25))
    for label, paper, change in (
            ("one to 1 Mbit/s", "4.8 with, 9.7 without reinjection", _rate_at(2, 1, 1)),
            ("one to 10 Mbit/s", "figure only", _rate_at(2, 1, 10)),
            ("none", "3.6 (4.4 by stale delays)", None)):
        scenario = _download(both, 4_000_000, [change] if change else [])
        table.add(f"5/25 + 5/25, 4 MB, {label}", paper,
                  {"bound": _bound_s(scenario), **lab.times(scenario)}, SPLIT)
    return table


SPLIT_SCHEDULERS = ("default", "minrtt", "pams", "minfct")
TOLD = ("pams", "minfct")
# label, the paper's figure, change
SPLIT_CASES = (
    ("steady", "3.6", ""),
    ("pipe to 1 Mbit/s", "4.8", "2s,1.pipe,rate=1mbit"),
    ("pipe to 10 Mbit/s", "figure only", "2s,1.pipe,rate=10mbit"),
    ("HS-path to 1 Mbit/s", "figure only", "2s,1.hs,rate=1mbit"),
)


def split_scenario(kind, change):
    """5/10/5 Mbit/s through a helper that splits, or is a router."""
    paths = (path(5, 25), parse_helper(f"10mbit:20ms,5mbit:5ms,{kind}"))
    return _download(paths, 4_000_000,
                     [parse_change(change, 2, {1})] if change else [])


def splits(lab):
    """A helper with a split and without one, told and untold."""
    table = Table("A helper that splits TCP",
                  "MPBond, section 6: 5/10/5 Mbit/s, 4 MB; the pipe to 1 Mbit/s at 2 s: 4.8 s with "
                  "reinjection", "s",
                  ["bound", *SPLIT_SCHEDULERS, *(f"{name} told" for name in TOLD)],
                  "5 Mbit/s 25 ms beside a helper with 10 Mbit/s 20 ms and 5 Mbit/s 5 ms, on which "
                  "pamsplit runs or which is a router; the change is at 2 s. Told: pamsd measures "
                  "the pipe, by what pamsplit says or by the queue, and reports.")
    # a run's name doesn't tell which pamsplit made it
    own = Lab(replace(lab.means, remembering=False, pamsplit=host.program("pamsplit"),
                      pamsctl=host.program("pamsctl")),
              lab.schedulers, lab.at_once, lab.progress)
    told = functools.partial(fed.HelperGuest, pamsd=host.program("pamsd"))
    for label, paper, change in SPLIT_CASES:
        for kind in ("router", "split"):
            scenario = split_scenario(kind, change)
            jobs = [runs.Job(name, name, scenario) for name in SPLIT_SCHEDULERS]
            jobs += [runs.Job(f"{name} told", name, scenario, guest=told) for name in TOLD]
            table.add(f"{label}, {kind}", paper if kind == "split" else "", {
                "bound": _bound_s(scenario),
                **{result["name"]: result["mean_s"] for result in own.run(jobs)}})
    return table


def _bound_s(scenario):
    return bound.transfer_us(scenario, scenario.bytes_max) / 1e6


def _kibbutz(lab, scenario, percent):
    """Time in s with that share on path 0, the rest evenly on the others."""
    size, others = scenario.bytes_max, len(scenario.paths) - 1
    first = size * percent // 100
    sizes = [first] + [(size - first) // others] * others
    joined = drawn.Drawn("", replace(scenario, cold=True), 0)
    return max(time + joined.join_s(i) for i, time in enumerate(lab.alone(scenario, sizes)))


def _combine(lab, scenario, range_bytes):
    """Time in s of workers that take ranges from one queue."""
    queue = replace(scenario, protocol="tcp", conns=len(scenario.paths),
                    bytes_min=range_bytes, bytes_max=range_bytes,
                    queue_bytes=scenario.bytes_max)
    requests = lab.run([runs.Job(f"ranges of {range_bytes // 1024} KB", "default", queue)]
                       )[0]["requests"]
    return max(request["start_s"] + request["fct_s"] for request in requests) - \
        min(request["start_s"] for request in requests)


def _baselines(lab, scenario):
    """kibbutz and COMBINE: {column: s}, and which ones were best."""
    shares = {percent: _kibbutz(lab, scenario, percent) for percent in KIBBUTZ_PERCENT}
    ranges = {size: _combine(lab, scenario, size) for size in RANGES_BYTES
              if size * 2 <= scenario.bytes_max}
    share, of_range = min(shares, key=shares.get), min(ranges, key=ranges.get)
    return ({"kibbutz 50 %": shares[50], "kibbutz best": shares[share],
             "COMBINE": ranges[of_range]},
            f"best share {share} %, best range {of_range // 1024} KB")


BASELINES = ["kibbutz 50 %", "kibbutz best", "COMBINE"]


def two_devices(size):
    """The primary's path and one through a helper."""
    return _download((path(8, 10), path(5, 40)), size)


def devices(lab):
    """Two and three devices."""
    table = Table("Against kibbutz and COMBINE",
                  "MPBond, section 6: 8/10/5 Mbit/s; 512 KB to 2 MB: 5 to 11 % less time than "
                  "kibbutz (3 devices 25 to 30 %), 15 to 21 % less than COMBINE (3 devices 12 "
                  "to 26 %)", "s", BASELINES + lab.schedulers,
                  "kibbutz best is the best share of all for that very size, found afterwards; "
                  "COMBINE's range the best of 256, 128 and 64 KB. New connections.")
    for helpers in (1, 2):
        for size in (512_000, 1_000_000, 2_000_000):
            scenario = _download([path(8, 10)] + [path(5, 40)] * helpers, size)
            cells, note = _baselines(lab, scenario)
            table.add(f"{helpers + 1} devices, {units.size_text(size)}",
                      "-5 to -11 %, -15 to -21 %" if helpers == 1 else
                      "-25 to -30 %, -12 to -26 %", {**cells, **lab.times(scenario)},
                      f"{SPLIT}; {note}")
    return table


def primary(lab):
    """The primary's own link."""
    table = Table("The primary's own link from 5 to 14 Mbit/s",
                  "MPBond, section 6: HS 10, pipe 5 Mbit/s: 14 to 46 % less time than COMBINE",
                  "s", BASELINES + lab.schedulers, "1 MB over PS/10 + 5/40, new connections.")
    for mbit in (5, 8, 11, 14):
        scenario = _download((path(mbit, 10), path(5, 40)), 1_000_000)
        cells, note = _baselines(lab, scenario)
        table.add(f"PS {mbit} Mbit/s", "-14 to -46 %", {**cells, **lab.times(scenario)},
                  f"{SPLIT}; {note}")
    return table


def trace_changes(seed, path, mbit, seconds):
    """A wireless link's rate: a walk in the logarithm around mbit, 4 steps a second.

    Between 0.2 and 1.6 times the mean, each step by a factor of up to 1.6, and
    pulled back to the mean.
    """
    draw = random.Random(f"trace {seed} {path}")
    level, changes = 0.0, []
    for step in range(1, seconds * 4):
        level = 0.8 * level + draw.uniform(-0.47, 0.47)
        rate = max(0.2, min(1.6, 2.718281828 ** level)) * mbit
        changes.append(_rate_at(step / 4, path, round(rate, 3)))
    return changes


def traces(lab):
    """Rates that vary."""
    table = Table("Varying wireless links",
                  "MPBond, section 6: replayed traces: 21 to 23 % less time than kibbutz, 29 to "
                  "35 % less than COMBINE", "s", BASELINES + lab.schedulers,
                  "The traces of the paper are not to be had: these are synthetic, a rate drawn "
                  "four times a second around the mean (tools/lab/seeds.py). 4 MB.")
    for seed in (1, 2, 3):
        scenario = _download((path(8, 15), path(5, 40)), 4_000_000,
                             trace_changes(seed, 0, 8, 12) + trace_changes(seed, 1, 5, 12))
        cells, note = _baselines(lab, scenario)
        table.add(f"synthetic trace {seed}", "-21 to -23 %, -29 to -35 %",
                  {**cells, **lab.times(scenario)}, f"{SPLIT}; {note}")
    return table


def _mbit(size, seconds):
    return size * 8 / seconds / MBIT if seconds else None


def _throughputs(lab, scenario):
    size = scenario.bytes_max
    alone = lab.alone(scenario)
    cells = {f"path {i}": _mbit(size, time) for i, time in enumerate(alone)}
    cells["sum"] = sum(value or 0 for value in cells.values())
    for name, seconds in lab.times(scenario).items():
        cells[name] = _mbit(size, seconds)
    return cells


THROUGHPUT = ["path 0", "path 1", "sum"]


def distances(lab):
    """LTE and Wi-Fi."""
    table = Table("LTE and Wi-Fi by distance",
                  "EENET 2018 (ns-3, CUBIC): MPTCP's throughput and its share of the sum of "
                  "both TCPs", "Mbit/s of payload", THROUGHPUT + lab.schedulers,
                  "The paper gives the sum only: Wi-Fi at 5 m is taken for 105 Mbit/s, LTE at "
                  "500 m for 73, the rest follows. Delays as there: Wi-Fi 5 ms, LTE 8 ms. 60 MB.",
                  digits=1, better="more")
    for label, paper, wifi, lte in (
            ("LTE 500 m, AP 5 m", "108.07, 60.7 %", 105, 73.0),
            ("LTE 500 m, AP 30 m", "99.84, 64.8 %", 80.97, 73.0),
            ("LTE 500 m, AP 60 m", "63.60, 61.2 %", 30.84, 73.0),
            ("LTE 2000 m, AP 5 m", "105.23, 66.6 %", 105, 53.13),
            ("LTE 3500 m, AP 5 m", "98.67, 72.8 %", 105, 30.61)):
        cells = _throughputs(lab, _download((path(wifi, 5), path(lte, 8)), 60_000_000))
        table.add(label, paper, cells)
    return table


def pairs(lab):
    """What people have at hand."""
    table = Table("Two links at hand",
                  "aptpod (Raspberry Pi, kernel 5.15, iperf3): eth 82.6, wlan 6.46, both 53.3; "
                  "LTE 5.98 and 6.93, both 9.39 Mbit/s", "Mbit/s of payload",
                  THROUGHPUT + lab.schedulers, digits=2, better="more")
    for label, paper, paths, size in (
            ("eth + wlan", "53.3", (path(82.6, 1), path(6.46, 8)), 20_000_000),
            ("2 x LTE", "9.39", (path(5.98, 30), path(6.93, 35)), 5_000_000)):
        table.add(f"{label}, {units.size_text(size)}", paper,
                  _throughputs(lab, _download(paths, size)))
    return table


def impaired_scenario(delay_ms, loss, window_kbyte):
    """30 MB over two gigabit links, of which the first is impaired."""
    change = [Change(LOSS_FROM_US, 0, {"loss": loss})] if loss else []
    return _download((path(1000, delay_ms, 1000), path(1000, 0.1, 1000)), 30_000_000, change,
                     sndbuf_bytes=2 * window_kbyte * 1000, rcvbuf_bytes=2 * window_kbyte * 1000)


def impaired(lab):
    """Delay, loss and window on the main flow."""
    table = Table("Delay, loss and window on the first of two gigabit links",
                  "Nihon University: with 100 KB MPTCP is slower than TCP even at delay 0; with "
                  "350 and 400 KB it collapses as delay grows; from loss 20 % on the clean link "
                  "alone would do, 600 to 700 Mbit/s", "Mbit/s of payload",
                  ["path 1", *lab.schedulers],
                  "30 MB, window: socket buffers at both ends. path 1 is the clean link alone. "
                  "The CPU, which limited the original, is infinitely fast here. Loss begins 20 "
                  "ms after the request: a handshake that meets it falls back to TCP. "
                  "A dash is a transfer that stood still: out-of-order data fills the receiver's "
                  "small buffer, whose kernel then moves nothing out of the subflows' queues, "
                  "where what fills the gap has arrived.",
                  digits=0, better="more")
    cases = [(ms, 0, kbyte) for kbyte in (100, 250, 400) for ms in (0.1, 5, 20)]
    cases += [(0.1, loss, 400) for loss in (0.01, 0.05, 0.2, 0.5)]
    for ms, loss, kbyte in cases:
        scenario = impaired_scenario(ms, loss, kbyte)
        clean = lab.run([runs.Job("path 1 alone", "default", scenario.alone(1), 1)])[0]
        cells = {"path 1": _mbit(30_000_000, clean["mean_s"])}
        cells.update({name: _mbit(30_000_000, time)
                      for name, time in lab.times(scenario).items()})
        table.add(f"{kbyte} KB, {ms:g} ms" + (f", loss {loss * 100:g} %" if loss else ""),
                  "figure only", cells)
    return table


# What can't be made again yet, and why.
MISSING = (
    "Flexible feedback against feedback on the HS-path only, and the time radios are on.",
    "Dual mode, two LTE devices: needs two primaries that are each other's helper.",
    "Field figures: no field here.",
    "Predicted path loss (PLAMA): `lab loss`.",
)

TABLES = (imbalance, collapse, splits, devices, primary, traces, distances, pairs, impaired)
