# SPDX-License-Identifier: GPL-2.0
"""`lab table`: any schedulers over a fixed set of scenarios, as one table to cite.

Times are in times of the kernel's own scheduler: geometric means over the scenarios, each
with its standard error. The set doesn't change with whoever asks: SEED's drawn transfers
and pages (drawn.py), the collapse of one of two links, and recorded links (pairs.py) if a
folder has recordings. `harmed` is the share of all rows that take over HARM of the best
single path's time; `duplicates` the mean share of the payload that arrived twice.
"""

import json

import drawn as drawing
import pairs
import report
import sweep
from drawn import Drawn
from scenario import Scenario, parse_change, parse_path

SEED = 21               # nothing is tuned on it
COUNT = 40              # transfers, and a quarter of it pages
COLLAPSES = ("1s", "2s", "3s")


def collapses():
    """4 MB over two links, of which either falls to a fifth."""
    links = tuple(map(parse_path, ("5mbit,25ms", "5mbit,25ms")))
    return [Drawn(f"collapse-{at}-{path}", Scenario(
        paths=links, bytes_min=4_000_000, bytes_max=4_000_000, requests=1, timeout_s=600,
        changes=(parse_change(f"{at},{path},rate=1mbit", len(links)),)), 0)
            for at in COLLAPSES for path in range(len(links))]


def groups(means, schedulers, args):
    """{title: rows as sweep.py has them}"""
    def over(several):
        return sweep.run(means, several, schedulers, args.jobs, args.quiet)[0]

    recorded = [drawn for _, drawn in pairs.over_recordings(args.traces)] if args.traces else []
    found = dict(sweep.parts_of(over(drawing.several(SEED, args.count, kind="all"))))
    found["collapse"] = over(collapses())
    if recorded:
        found["recorded"] = over(recorded)
    return found


def cell(rows, name):
    """Of default's time, and the standard error."""
    found = [ratio for ratio, _ in sweep.ratios(rows, name, sweep.against_default)]
    if not found:
        return "-"
    mean = sweep.geometric_mean(found)
    return f"{mean:.3f} ±{mean * sweep.error_of(found):.3f}"


def line_of(found, name):
    """One scheduler's line."""
    line = sweep.summary_of([row for mine in found.values() for row in mine], name)
    return [name, *(cell(mine, name) for mine in found.values()),
            f"{line['single_harmed'] / line['scenarios']:.0%}",
            f"{line['duplicates_mean']:.1%}", str(line["failed"])]


def command(args, means, schedulers):
    """Run, print, write; 1 if a transfer failed."""
    found = groups(means, schedulers, args)
    print(f"seed {SEED}, Linux {means.kernel.release}, in times of default's\n")
    print("\n".join(report.aligned([
        ["", *(f"{title} ({len(rows)})" for title, rows in found.items()), "harmed", "duplicates", "failed"],
        *(line_of(found, name) for name in schedulers)])))
    if not args.traces:
        print(f"\nNo recorded links (--traces DIR or {pairs.FOLDER}). Their source: {pairs.SOURCE}")
    if args.json:
        with open(args.json, "w", encoding="utf-8") as out:
            json.dump({"format": 1, "kernel": means.kernel.release, "seed": SEED, "groups": found}, out, indent=1)
            out.write("\n")
    return 1 if any(None in row["time_s"].values() for rows in found.values() for row in rows) else 0
