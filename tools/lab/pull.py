# SPDX-License-Identifier: GPL-2.0
"""`lab pull`: a cable is pulled under a stream over two paths.

A stream of 16 Mbit/s, 2 s into which one of the paths is pulled: what is on its way
is lost, and from then on packets vanish both ways. The server, which sends, isn't
told; or its daemon hears of it, from the client's, which saw the link go down, a
notice after that and the other path's delay later. Each path is pulled in turn, and
what counts is the longest gap between two receipts of the application, in any run.

There is a goal where the path that is left carries the stream, and where it can be
reached: the gap is the notice and the other path's round trip at least.

Each path's queue holds 50 packets, one and a half times the nearer path's
bandwidth-delay product. What CUBIC loses in a queue, as on the path that is left half a
second later, comes again behind that queue: with 100 packets that alone is a gap of
60 ms, which says nothing of the cable.
"""

import json
from dataclasses import dataclass, replace

import runs
import units
from checks import Checks
from progress import Progress
from scenario import Change, Path, Report, Scenario

FORMAT = 1
STREAM_BPS, STREAM_S, PULL_US = 16_000_000, 5, 2_000_000
# goals
GAP_SILENT_S, GAP_TOLD_S = 0.200, 0.050
QUEUE_PACKETS = 50
HEADROOM = 1.1      # headers, and what has to be caught up with


@dataclass(frozen=True)
class Case:
    """Two paths."""
    name: str
    paths: tuple


CASES = tuple(Case(f"{mbps} + {mbps} Mbit/s, 10 + {far_ms} ms",
                   (Path(mbps * 1_000_000, 10_000, QUEUE_PACKETS),
                    Path(mbps * 1_000_000, far_ms * 1000, QUEUE_PACKETS)))
              for mbps, far_ms in ((20, 10), (20, 25), (10, 10)))


def pulled(case, path, notice_us):
    """The scenario; the client notices that much later, or (None) nobody is told."""
    size = STREAM_BPS // 8 * STREAM_S
    reports = ()
    if notice_us is not None:
        at_us = PULL_US + notice_us + case.paths[1 - path].delay_us
        reports = (Report(at_us, path, {"loss-time": 0}),)
    return Scenario(paths=case.paths, changes=(Change(PULL_US, path, {"down": True}),),
                    reports=reports, bytes_min=size, bytes_max=size, requests=1,
                    stream_bps=STREAM_BPS)


def goal_s(case, path, notice_us):
    """The longest gap that may be, or None."""
    other = case.paths[1 - path]
    if other.rate_bps < STREAM_BPS * HEADROOM:
        return None
    if notice_us is None:
        return GAP_SILENT_S
    return GAP_TOLD_S if (notice_us + 2 * other.delay_us) / 1e6 < GAP_TOLD_S else None


def jobs_of(case, sched, notice_us, repeat):
    """default, the scheduler, and the scheduler that is told; both paths."""
    jobs = []
    for name, what, when_us in (("default", "default", None), (sched, sched, None),
                                (sched, f"{sched}, told", notice_us)):
        for path in (0, 1):
            scenario = pulled(case, path, when_us)
            jobs += [replace(job, name=f"{case.name}: {what}", repeat=2 * job.repeat + path)
                     for job in runs.jobs_of(scenario, [name], False, repeat, False)]
    return jobs


def row_of(name, results):
    """The longest gaps of the runs of one name, path 0 and path 1 pulled."""
    mine = [result for result in results if result["name"] == name]
    gaps = [[result["requests"][0]["gap_s"] for result in mine if result["repeat"] % 2 == path]
            for path in (0, 1)]
    return {"name": name, "runs": len(mine), "failed": sum(r["failed"] for r in mine),
            "gap_s": [max(gap) for gap in gaps],
            "lost": sum(sum(path["down_lost"] for path in r["paths"]) for r in mine) / len(mine)}


def table(rows):
    """Text."""
    head = "longest gap in ms, if the path is pulled:"
    width = max(len(row["name"]) for row in rows + [{"name": head}])
    lines = [head.ljust(width) + "   first  second    lost"]
    for row in rows:
        lines.append(row["name"].ljust(width) + "".join(
            f"{gap * 1e3:8.0f}" for gap in row["gap_s"]) + f"{row['lost']:8.1f}"
            + (f"  {row['failed']} FAILED" if row["failed"] else ""))
    return "\n".join(lines)


def check(checks, case, sched, notice_us, rows):
    """The goals of one case."""
    for what, when_us in ((sched, None), (f"{sched}, told", notice_us)):
        for path, word in ((0, "first"), (1, "second")):
            limit = goal_s(case, path, when_us)
            if limit:
                checks.at_most(f"{case.name}: {what}, {word} pulled",
                               rows[f"{case.name}: {what}"]["gap_s"][path], limit, "ms", 1e3)


def command(args, means):
    """Run and print; 1 if a goal isn't reached."""
    notice_us = units.time_us(args.notice)
    jobs = [job for case in CASES for job in jobs_of(case, args.sched, notice_us, args.repeat)]
    with Progress(args.quiet) as progress:
        results = [result for result, _ in runs.run_all(means, jobs, args.jobs, progress)]
    rows = {name: row_of(name, results) for name in dict.fromkeys(job.name for job in jobs)}
    checks = Checks()
    checks.at_most("transfers that failed", sum(row["failed"] for row in rows.values()), 0)
    for case in CASES:
        check(checks, case, args.sched, notice_us, rows)
    if args.json:
        print(json.dumps({"format": FORMAT, "kernel": means.kernel.release,
                          "repeat": args.repeat, "notice_us": notice_us,
                          "pull": list(rows.values()), "checks": checks.as_list()}, indent=1))
    else:
        print(table(list(rows.values())) + "\n")
        print("\n".join(checks.lines()))
    return 0 if checks.good else 1
