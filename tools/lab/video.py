# SPDX-License-Identifier: GPL-2.0
"""Video over varying paths: what a player with adaptive bitrate makes of them.

The player (player.py) chooses each segment's bitrate by the throughput it saw and by
what it has buffered; what it saw in the end is computed here from its segments.

`lab video` says what a server that marks each segment as a unit gives: to a player that
asks for one segment after the other, and to one that asks for the next while one arrives.
"""

import json
import statistics
from dataclasses import replace
from typing import NamedTuple

import runs
import seeds
from checks import Checks
from player import LADDER_BPS, START_S
from progress import Progress
from scenario import Change, Scenario
from sweep import error_of

PLAYED_S = 90
SEGMENTS_S = (2, 6)
WALK_STEP_S = 1
# When the fade begins is moved by that much from run to run: a segment that is asked for just
# before a link's rate changes is luck.
SHIFT_S = 0.4


def _walk(seed, path, mbit):
    """A rate that changes each second, slower than that of the tables' traces."""
    return [Change(round(number * WALK_STEP_S * 1e6), path, change.values)
            for number, change in enumerate(seeds.trace_changes(seed, path, mbit,
                                                                PLAYED_S // 4), 1)]


def _steps(path, later_s, *steps):
    return [Change(round((at + later_s) * 1e6), path, {"rate_bps": round(mbit * 1e6)})
            for at, mbit in steps]


def cases(drawn=1):
    """(title, paths, changes); drawn: which links that vary, or when they fade"""
    wifi, lte = seeds.path(10, 10), seeds.path(4, 35)
    return (
        ("Wi-Fi 10/10 that fades to 1 Mbit/s from 30 to 60 s, LTE 4/35",
         (wifi, lte), _steps(0, (drawn - 1) * SHIFT_S, (30, 4), (34, 1), (56, 4), (60, 10))),
        ("two links that vary around 6/15 and 4/40",
         (seeds.path(6, 15), seeds.path(4, 40)), _walk(drawn, 0, 6) + _walk(drawn, 1, 4)),
    )


def seen(requests, segment_s):
    """What the viewer saw: mean bitrate, stalls after the start, switches, the start."""
    played_until_s = stalled_s = 0.0
    stalls = 0
    buffered_s, start_s = 0.0, None
    for request in requests:
        there_s = request["start_s"] + request["fct_s"]
        if start_s is None:
            buffered_s += segment_s
            if buffered_s >= START_S:
                start_s = there_s
                played_until_s = there_s + buffered_s
            continue
        if there_s > played_until_s:
            stalls += 1
            stalled_s += there_s - played_until_s
            played_until_s = there_s
        played_until_s += segment_s
    levels = [request["level"] for request in requests]
    return {"bitrate_bps": _mean_bps(requests),
            "stalls": stalls, "stalled_s": stalled_s, "start_s": start_s,
            "switches": sum(a != b for a, b in zip(levels, levels[1:]))}


def _scenario(paths, changes, segment_s):
    return Scenario(paths=paths, changes=tuple(changes), bytes_min=1, bytes_max=1,
                    requests=PLAYED_S // segment_s, segment_s=segment_s)


def measure(lab):
    """{text, tables}"""
    tables = []
    for title, paths, changes in cases():
        for segment_s in SEGMENTS_S:
            scenario = _scenario(paths, changes, segment_s)
            table = {"title": f"{title}; segments of {segment_s} s",
                     "columns": ["bitrate, Mbit/s", "stalls", "stalled, s", "switches",
                                 "starts after, s"], "rows": []}
            for name, requests in _requests(lab, scenario):
                view = seen(requests, segment_s)
                table["rows"].append([
                    name, f"{view['bitrate_bps'] / 1e6:.2f}", view["stalls"],
                    f"{view['stalled_s']:.2f}", view["switches"],
                    "-" if view["start_s"] is None else f"{view['start_s']:.2f}"])
            tables.append(table)
    ladder = ", ".join(f"{bps / 1e6:g}" for bps in LADDER_BPS)
    return {"tables": tables, "text":
            f"A player (tools/lab/player.py) asks for {PLAYED_S} s of video, one segment after "
            f"the other on one connection. Bitrates to choose from, in Mbit/s: {ladder}."}


def _requests(lab, scenario):
    """(name, segments) under each scheduler and of each path alone."""
    for result in lab.run(lab.jobs(scenario, True)):
        yield result["name"], result["requests"]


class Played(NamedTuple):
    """What the runs of a row have in common."""
    links: int
    segment_s: int
    ahead: bool
    sched: str
    units: bool

    def name(self):
        """As in tables."""
        return f"{self.sched}, units" if self.units else self.sched

    def text(self):
        """That, and over what."""
        return f"{self.name()}, {self.segment_s} s{', ahead' if self.ahead else ''}, links {self.links + 1}"


def unit_jobs(schedulers, walks):
    """[(Played, job)]: each played with units and without, one segment after the other or ahead."""
    jobs = []
    for drawn in range(1, walks + 1):
        for number, (_, paths, changes) in enumerate(cases(drawn)):
            for segment_s in SEGMENTS_S:
                for ahead in (False, True):
                    for units in (False, True):
                        scenario = replace(_scenario(paths, changes, segment_s),
                                           ahead=ahead, units=units)
                        for job in runs.jobs_of(scenario, schedulers, False, 1, False):
                            what = Played(number, segment_s, ahead, job.name, units)
                            jobs.append((what, replace(job, name=what.text(), repeat=drawn - 1)))
    return jobs


def _seen_of(mine, segment_s):
    """The means over all runs of a row, and of the time for a segment."""
    views = [seen(result["requests"], segment_s) for result in mine]
    return {"runs": len(mine), "failed": sum(result["failed"] for result in mine),
            "bitrate_bps": statistics.fmean(view["bitrate_bps"] for view in views),
            "stalls": sum(view["stalls"] for view in views),
            "stalled_s": sum(view["stalled_s"] for view in views),
            "switches": statistics.fmean(view["switches"] for view in views),
            "s_per_mb": statistics.fmean(_mean_s_per_mb(result["requests"])
                                          for result in mine)}


def _ratios(results_of):
    """(of the bitrates, of the times for a byte): each run with units, in times of the same
    run without"""
    bitrates, times = [], []
    for what, plain in results_of.items():
        if what.units:
            continue
        for without, marked in zip(plain, results_of[what._replace(units=True)]):
            without, marked = without["requests"], marked["requests"]
            bitrates.append(_mean_bps(marked) / _mean_bps(without))
            times.append(_mean_s_per_mb(marked) / _mean_s_per_mb(without))
    return bitrates, times


def _mean_bps(requests):
    return statistics.fmean(LADDER_BPS[request["level"]] for request in requests)


def _mean_s_per_mb(requests):
    return statistics.fmean(1e6 * request["fct_s"] / request["bytes"] for request in requests)


def command(args, means):
    """Run and print; 1 if a goal isn't reached."""
    schedulers = args.sched.split(",")
    jobs = unit_jobs(schedulers, args.walks)
    results_of = {}
    with Progress(args.quiet) as progress:
        done = runs.run_all(means, [job for _, job in jobs], args.jobs, progress)
    for (what, _), (result, _) in zip(jobs, done):
        results_of.setdefault(what, []).append(result)
    rows = {what: _seen_of(mine, what.segment_s) for what, mine in results_of.items()}
    checks = Checks()
    checks.at_most("segments that failed", sum(row["failed"] for row in rows.values()), 0)
    last = None
    for what, row in rows.items():
        if what[:3] != last:
            last = what[:3]
            print(f"\n{cases()[what.links][0]}; segments of {what.segment_s} s, "
                  f"{'the next asked for ahead' if what.ahead else 'one after the other'}; "
                  f"runs: {row['runs']}\n{'':16}Mbit/s  stalls  stalled, s  switches  s per MB")
        print(f"{what.name():16}{row['bitrate_bps'] / 1e6:6.3f}{row['stalls']:8}{row['stalled_s']:12.2f}"
              f"{row['switches']:10.1f}{row['s_per_mb']:10.4f}")
        if what.units:
            plain = what._replace(units=False)
            checks.at_most(f"{plain.text()}: stalls with units", row["stalls"], rows[plain]["stalls"])
    bitrates, times = _ratios(results_of)
    print(f"\nwith units, in times of the same run without, geometric mean and its standard error of "
          f"{len(bitrates)} pairs:")
    for what, values in (("bitrate", bitrates), ("time for a byte", times)):
        print(f"{what:16}{statistics.geometric_mean(values):7.4f} +- {error_of(values):.4f}")
    checks.at_least("bitrate with units, in times of that without",
                    statistics.geometric_mean(bitrates), 1 - 2 * error_of(bitrates), digits=4)
    if args.json:
        with open(args.json, "w", encoding="utf-8") as out:
            json.dump([{**what._asdict(), **row} for what, row in rows.items()], out, indent=1)
    print("\n" + "\n".join(checks.lines()))
    return 0 if checks.good else 1
