# SPDX-License-Identifier: GPL-2.0
"""The tables of the papers that the project starts from, made again here.

Each function makes one table: a row per case, with the figure of the paper and a
figure per scheduler. Those of MPBond, through helper devices, are in mpbond.py.
"""

import hashlib
import random
from dataclasses import dataclass, field, replace

import bound
import runs
import units
from scenario import Change, Path, Scenario, default_limit

MBIT = 10**6
LOSS_FROM_US = 20_000


@dataclass
class Table:
    """For the results page."""
    title: str
    source: str         # which paper, and what it says
    unit: str
    columns: list
    note: str = ""
    rows: list = field(default_factory=list)    # {label, paper, cells}
    digits: int = 2
    better: str = "less"

    def add(self, label, paper, cells):
        """One row; cells: column -> number or None."""
        self.rows.append({"label": label, "paper": paper, "cells": cells})


class Lab:
    """Runs scenarios for the tables."""

    def __init__(self, means, schedulers, at_once, progress):
        self.means, self.schedulers = means, schedulers
        self.at_once, self.progress = at_once, progress

    def run(self, jobs):
        """Results of the jobs."""
        return [result for result, _ in self._run_all(jobs)]

    def traced(self, jobs):
        """[(result, packets)]"""
        return self._run_all([replace(job, trace=True) for job in jobs])

    def _run_all(self, jobs):
        """One table after the other has the same names: what is kept is told apart by its scenario."""
        return runs.run_all(self.means, [replace(job, of=name_of(job.scenario)) for job in jobs],
                            self.at_once, self.progress)

    def over_seeds(self, jobs, count):
        """{name of a job: its results with so many seeds}"""
        found = {job.name: [] for job in jobs}
        for result in self.run([
                replace(job, scenario=replace(job.scenario, seed=job.scenario.seed + number))
                for number in range(count) for job in jobs]):
            found[result["name"]].append(result)
        return found

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


def name_of(scenario):
    """A short one, another one for each."""
    return hashlib.sha256(repr(scenario).encode()).hexdigest()[:12]


def path(mbit, ms, packets=None, **more):
    """Rate in Mbit/s, one-way delay in ms."""
    rate, delay = round(mbit * MBIT), round(ms * 1000)
    return Path(rate, delay, packets or default_limit(rate, delay), **more)


def download(paths, size, changes=(), **more):
    """One, on a new connection."""
    return Scenario(paths=tuple(paths), changes=tuple(changes), bytes_min=size,
                    bytes_max=size, requests=1, timeout_s=600, **more)


def rate_at(seconds, path, mbit, segment=""):
    """A change."""
    return Change(round(seconds * 1e6), path, {"rate_bps": round(mbit * MBIT)}, segment)


def collapse_scenario():
    """5 + 5 Mbit/s, one of them falls to 1 Mbit/s after 2 s."""
    return download((path(5, 25), path(5, 25)), 4_000_000, [rate_at(2, 1, 1)])


def collapse(lab):
    """A path that changes after 2 s."""
    table = Table("A path changes under the transfer",
                  "MPBond, section 6: 5/10/5 Mbit/s, 4 MB, the pipe to 1 Mbit/s at 2 s: 4.8 s "
                  "with reinjection, 9.7 s without", "s", ["bound", *lab.schedulers],
                  "Paths in Mbit/s / one-way ms. pams and minfct reinject, minpad is pams "
                  "without deferral and reinjection.")
    both = (path(5, 25), path(5, 25))
    for label, paper, change in (
            ("one to 1 Mbit/s", "4.8 with, 9.7 without reinjection", rate_at(2, 1, 1)),
            ("one to 10 Mbit/s", "figure only", rate_at(2, 1, 10)),
            ("none", "3.6 (4.4 by stale delays)", None)):
        scenario = download(both, 4_000_000, [change] if change else [])
        table.add(f"5/25 + 5/25, 4 MB, {label}", paper,
                  {"bound": bound_s(scenario), **lab.times(scenario)})
    return table


def bound_s(scenario):
    """Of a download."""
    return bound.transfer_us(scenario, scenario.bytes_max) / 1e6


def two_devices(size):
    """The primary's path and one through a helper."""
    return download((path(8, 10), path(5, 40)), size)


def trace_changes(seed, path, mbit, seconds, segment=""):
    """A wireless link's rate: a walk in the logarithm around mbit, 4 steps a second.

    Between 0.2 and 1.6 times the mean, each step by a factor of up to 1.6, and
    pulled back to the mean.
    """
    draw = random.Random(f"trace {seed} {path}{segment}")
    level, changes = 0.0, []
    for step in range(1, seconds * 4):
        level = 0.8 * level + draw.uniform(-0.47, 0.47)
        rate = max(0.2, min(1.6, 2.718281828 ** level)) * mbit
        changes.append(rate_at(step / 4, path, round(rate, 3), segment))
    return changes


def mbit_of(size, seconds):
    """Mbit/s of payload."""
    return size * 8 / seconds / MBIT if seconds else None


def _throughputs(lab, scenario):
    size = scenario.bytes_max
    alone = lab.alone(scenario)
    cells = {f"path {i}": mbit_of(size, time) for i, time in enumerate(alone)}
    cells["sum"] = sum(value or 0 for value in cells.values())
    for name, seconds in lab.times(scenario).items():
        cells[name] = mbit_of(size, seconds)
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
        cells = _throughputs(lab, download((path(wifi, 5), path(lte, 8)), 60_000_000))
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
                  _throughputs(lab, download(paths, size)))
    return table


def impaired_scenario(delay_ms, loss, window_kbyte):
    """30 MB over two gigabit links, of which the first is impaired."""
    change = [Change(LOSS_FROM_US, 0, {"loss": loss})] if loss else []
    return download((path(1000, delay_ms, 1000), path(1000, 0.1, 1000)), 30_000_000, change,
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
                  "ms after the request: a handshake that meets it falls back to TCP.",
                  digits=0, better="more")
    cases = [(ms, 0, kbyte) for kbyte in (100, 400) for ms in (0.1, 5, 20)]
    cases += [(0.1, loss, 400) for loss in (0.01, 0.05, 0.2, 0.5)]
    for ms, loss, kbyte in cases:
        scenario = impaired_scenario(ms, loss, kbyte)
        clean = lab.run([runs.Job("path 1 alone", "default", scenario.alone(1), 1)])[0]
        cells = {"path 1": mbit_of(30_000_000, clean["mean_s"])}
        cells.update({name: mbit_of(30_000_000, time)
                      for name, time in lab.times(scenario).items()})
        table.add(f"{kbyte} KB, {ms:g} ms" + (f", loss {loss * 100:g} %" if loss else ""),
                  "figure only", cells)
    return table


TABLES = (collapse, distances, pairs, impaired)
