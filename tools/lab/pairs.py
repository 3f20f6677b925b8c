# SPDX-License-Identifier: GPL-2.0
"""Pairs of links of which one at least is recorded: `lab recorded`, a part of `lab bench`.

Recordings lie in a folder as *.down and *.up (or .xz), as mahimahi's traces/ has them; "LTE" in
a name says what it is, all others are taken for UMTS. They hold neither the delay of an empty
link nor its queue: LTE has 20 to 30 ms one way and 150 to 250 KB, UMTS 60 ms and 200 KB, and the
Wi-Fi beside them 20 Mbit/s, 5 ms and 100 packets.

Wi-Fi and each LTE, each two of LTE, each LTE and UMTS, PAIRS of a kind at most; either first;
each from OFFSETS places in the recordings; a cold connection that brings 100 KB, 1 MB or 8 MB,
and pages of 40 objects, six at a time over new connections. Links that are drawn need no files:
a train of transfers over steps and blocked links (recorded.py), each beside a steady one.

What is compared with what is told in sweep.py.
"""

import json
import os
import random
from dataclasses import replace

import recorded
import report
import runs
import sweep
from drawn import Drawn
from progress import Progress
from scenario import Path, Replay, Scenario, default_limit
from units import BadInput

FOLDER = "MPTCP_PAMS_TRACES"    # in the environment
SOURCE = "mahimahi's traces/ (github.com/ravinet/mahimahi; Winstein, Sivaraman, Balakrishnan, NSDI 2013)"
SCHEDULERS = ("default", "pams", "minfct")
WIFI = Path(20_000_000, 5_000)
LTE_US, LTE_BYTES = (25_000, 20_000, 30_000), (200_000, 150_000, 250_000)
UMTS_US, UMTS_BYTES = 60_000, 200_000
PAIRS, OFFSETS = 3, 2
SIZES = {"100K": 100_000, "1M": 1_000_000, "8M": 8_000_000}
PAGE = {"objects": 40, "bytes_min": 400, "bytes_max": 400_000, "requests": 3, "gap_ms": 1000}
TRAIN = {"bytes_min": 2_000_000, "bytes_max": 2_000_000, "requests": 9, "gap_ms": 2000}
STEADY_S, STEADY_B = Path(20_000_000, 30_000, 200), Path(50_000_000, 25_000, 400)
STEPS, BLOCKED = Path(100_000_000, 20_000, 1000), Path(1_000_000_000, 5_000, 1200)
SEEDS = (1, 2, 3)
TIMEOUT_S = 3600


def recordings(folder):
    """{name: (file down, file up)} of a folder."""
    found = {}
    try:
        files = sorted(os.listdir(folder))
    except OSError as error:
        raise BadInput(f"--traces {folder}: {error.strerror}") from None
    for file in files:
        name, dot, rest = file.partition(".down")
        up = os.path.join(folder, f"{name}.up{rest}")
        if dot and rest in ("", ".xz"):
            found[name] = (os.path.join(folder, file), up if os.path.exists(up) else "")
    if not found:
        raise BadInput(f"--traces {folder}: there is no recording, *.down or *.down.xz")
    return found


def _place(name, number, length_us):
    """Where in a recording the number-th offset is, in whole seconds."""
    return int(random.Random(f"{name} {number}").uniform(0, length_us / 1e6)) * 1_000_000


def _links(folder):
    """({name: path}, {name: path}) of LTE and UMTS, from their start."""
    lte, umts = {}, {}
    for name, (down, up) in recordings(folder).items():
        is_lte, nth = "LTE" in name, len(lte) % len(LTE_US)
        opportunities = recorded.read(down)
        delay_us = LTE_US[nth] if is_lte else UMTS_US
        (lte if is_lte else umts)[name] = Path(
            opportunities.mean_bps(), delay_us,
            default_limit(opportunities.mean_bps(), delay_us),
            up_bps=recorded.read(up).mean_bps() if up else 0,
            replay=Replay(down, up, limit_bytes=LTE_BYTES[nth] if is_lte else UMTS_BYTES))
    return lte, umts


def _from(name, path, number):
    """The path from its number-th place on."""
    if not path.replay:
        return path
    length_us = recorded.opportunities(path, False).length_us
    return replace(path, replay=replace(path.replay, from_us=_place(name, number, length_us)))


def _pairs(folder):
    """[(kind, name, path, name, path)]"""
    lte, umts = _links(folder)
    names = list(lte)
    kinds = {"Wi-Fi + LTE": [("wifi", name) for name in names],
             "LTE + LTE": [(one, other) for i, one in enumerate(names)
                           for other in names[i + 1:]],
             "LTE + UMTS": [(one, other) for one in names for other in umts]}
    paths = {"wifi": WIFI, **lte, **umts}
    return [(kind, one, paths[one], other, paths[other]) for kind, found in kinds.items()
            for one, other in (found if len(found) <= PAIRS else
                               sorted(random.Random(kind).sample(found, PAIRS)))]


def _transfers(paths):
    """{what: scenario} of cold connections over these paths."""
    common = {"paths": paths, "timeout_s": TIMEOUT_S}
    found = {name: Scenario(bytes_min=size, bytes_max=size, requests=1, cold=True, **common)
             for name, size in SIZES.items()}
    found["page"] = Scenario(**PAGE, **common)
    return found


def over_recordings(folder):
    """[(kind, Drawn)]"""
    found = []
    for kind, *pair in _pairs(folder):
        for number in range(OFFSETS):
            links = [(name, _from(name, path, number)) for name, path in
                     (pair[:2], pair[2:])]
            for (first, one), (second, other) in (links, links[::-1]):
                found += [(kind, Drawn(f"{first}+{second}.{number}.{what}", scenario, 0))
                          for what, scenario in _transfers((one, other)).items()]
    return found


def over_drawn():
    """[(kind, Drawn)] of links that need no files."""
    found = []
    for kind, varying, steady in (("steps", STEPS, STEADY_S), ("blocked", BLOCKED, STEADY_B)):
        for seed in SEEDS:
            path = replace(varying, replay=Replay(**{kind: seed}))
            for name, paths in ((f"{kind}-{seed}+steady", (path, steady)),
                                (f"steady+{kind}-{seed}", (steady, path))):
                found.append((kind, Drawn(f"{name}.train", Scenario(
                    paths=paths, timeout_s=TIMEOUT_S, **TRAIN), 1)))
    return found


def measure(means, schedulers, at_once, quiet, folder, only=""):
    """{"rows", "left_out"}: rows as the sweep's, with their "kind"."""
    several = [(kind, drawn) for kind, drawn in
               [*(over_recordings(folder) if folder else []), *over_drawn()]
               if only in ("", drawn.name)]
    if not several:
        raise BadInput(f"--only {only}: there is no such pair")
    names = [name for name in SCHEDULERS if name in schedulers]     # `lab bench` has more
    pairs = [(drawn, sweep.jobs_of(drawn, names)) for _, drawn in several]
    with Progress(quiet) as progress:
        done = runs.run_all(means, [job for _, jobs in pairs for job in jobs], at_once, progress)
    kinds = {drawn.name: kind for kind, drawn in several}
    rows = sweep.rows_of(pairs, [result for result, _ in done])
    return {"left_out": not folder,
            "rows": [{**row, "kind": kinds[row["name"]],
                      "again": f"lab recorded --only {row['name']}"} for row in rows]}


def against_better(row, _):
    """The better of pams and minfct."""
    times = [time for name, time in row["time_s"].items() if name != "default" and time]
    return min(times, default=None)


def groups_of(rows):
    """[(title, rows)]: all over recordings, by which link is first, by pair, by transfer."""
    kinds = list(dict.fromkeys(row["kind"] for row in rows))
    drawn = [kind for kind in kinds if kind in ("steps", "blocked")]
    real = [row for row in rows if row["kind"] not in drawn]
    found = [("all over recordings", real),
             ("the better first", [row for row in real if row["alone_s"][0] == row["single_s"]]),
             ("the worse first", [row for row in real if row["alone_s"][0] != row["single_s"]])]
    found += [(kind, [row for row in rows if row["kind"] == kind]) for kind in kinds
              if kind not in drawn]
    found += [(what, [row for row in real if row["name"].endswith(f".{what}")])
              for what in SIZES]
    found += [(f"{part} pages", [row for row in real if row["part"] == part])
              for part in ("first", "later")]
    found += [(kind, [row for row in rows if row["kind"] == kind]) for kind in drawn]
    return [(title, mine) for title, mine in found if mine]


def line_of(rows, name):
    """[cell] of one scheduler in a group of rows."""
    line = sweep.summary_of(rows, name)
    better = [ratio for ratio, _ in sweep.ratios(rows, name, against_better)]
    return [report.cell(line["single_mean"], ".3f"), str(line["single_harmed"]),
            report.cell(line["single_worst"], ".2f"), str(line["joined_harmed"]),
            report.cell(line["default_mean"], ".3f"),
            report.cell(sweep.geometric_mean(better), ".3f"),
            report.cell(max(better, default=None), ".2f"), str(line["failed"])]


HEAD = ["/single", "> 1.05", "worst", "/joined > 1.05", "/default", "/better", "worst", "failed"]


def summary(rows):
    """[row] of a table, without its head: a scheduler's figures in each group."""
    return [[title, str(len(mine)), name, *line_of(mine, name)]
            for title, mine in groups_of(rows) for name in sweep.names_of(mine)]


def folded(rows, mine):
    """[row] of a shorter one: all of one scheduler's figures, and of the others the time."""
    return [[title, str(len(these)),
             *(report.cell(sweep.summary_of(these, name)["single_mean"], ".3f")
               for name in sweep.names_of(these) if name != mine),
             *line_of(these, mine)] for title, these in groups_of(rows)]


def worst(rows, count):
    """[row]: where minfct is slowest against the best link alone, with each time in s."""
    names = sweep.names_of(rows)
    found = sweep.ratios(rows, "minfct", sweep.against_single)[:count]
    return [[" ".join(filter(None, (row["name"], row["part"]))), f"{ratio:.2f}",
             *(report.cell(row["time_s"].get(name), ".3f") for name in names),
             *(report.cell(time, ".3f") for time in row["alone_s"][:2])] for ratio, row in found]


def command(args, means, schedulers):
    """Run, print, write; 1 if a transfer failed."""
    data = measure(means, schedulers, args.jobs, args.quiet, args.traces, args.only)
    if data["left_out"]:
        print(f"No recordings (--traces DIR or {FOLDER}): left out. Their source: {SOURCE}\n")
    print("\n".join(report.aligned([["", "rows", "", *HEAD], *summary(data["rows"])])))
    names = sweep.names_of(data["rows"])
    print("\nwhere minfct is slowest against the best link alone, times in s")
    print("\n".join(report.aligned([["", "/single", *names, "first alone", "second alone"],
                                    *worst(data["rows"], args.worst)])))
    if args.json:
        with open(args.json, "w", encoding="utf-8") as out:
            json.dump({"format": 1, "kernel": means.kernel.release, **data}, out, indent=1)
            out.write("\n")
    return 1 if any(None in row["time_s"].values() for row in data["rows"]) else 0
