# SPDX-License-Identifier: GPL-2.0
"""`lab bench`: every figure of the results page, in one go.

    lab bench                the page, its plots and its data: Documentation/results.md
    lab bench --part sweep   only that part; the others stay as they were measured last
    lab bench --half all     the scenarios that schedulers are tuned on, too
    lab bench --quick        a few minutes; fails where a figure is worse than in
                             tools/bench/reference.json by over 5 %, or by twice its
                             spread if that is more
    lab bench --quick --set-reference
    lab bench --traces DIR   with a folder of recorded links (pairs.py)

What was measured lies in build/bench/PART.json; the page is made of that alone.
"""

import json
import os
import sys

import begins
import calls
import cost
import drawn
import figures
import firsts
import host
import mpbond
import page
import pairs
import quick
import runs
import seeds
import sweep
import video
from host import LabError
from progress import Progress

SEED = 11
COUNT = 300


def _say(text):
    print(f"lab bench: {text}", file=sys.stderr, flush=True)


def _file(name):
    folder = os.path.join(host.TOP, "build", "bench")
    os.makedirs(folder, exist_ok=True)
    return os.path.join(folder, name)


def _save(part, data):
    with open(_file(f"{part}.json"), "w", encoding="utf-8") as out:
        json.dump(data, out, indent=1)
        out.write("\n")


def _load(part):
    try:
        with open(_file(f"{part}.json"), encoding="utf-8") as text:
            return json.load(text)
    except OSError:
        raise LabError(f"part {part} was never measured here: run 'lab bench' "
                       f"or 'lab bench --part {part}'") from None


def part_seeds(means, schedulers, args, progress):
    """Every table of mpbond.py and seeds.py, without the published schedulers."""
    lab = seeds.Lab(means, [name for name in schedulers if name not in runs.PEERS], args.jobs, progress)
    tables = []
    for make in (*mpbond.TABLES, *seeds.TABLES):
        _say(f"seeds: {make.__name__}")
        tables.append(vars(make(lab)))
    figures.collapse(lab, os.path.join(args.out, "results", "collapse"))
    return {"tables": tables}


def part_sweep(means, schedulers, args, _progress):
    """The half of the scenarios that nobody tunes on, or all."""
    several = drawn.several(SEED, COUNT, args.half, "all")
    _say(f"sweep: {len(several)} scenarios, {len(schedulers)} schedulers and each path alone")
    rows = sweep.run(means, several, schedulers, args.jobs,
                     args.quiet or not sys.stderr.isatty())[0]
    return {"seed": SEED, "count": COUNT, "rows": rows, "schedulers": schedulers}


def part_recorded(means, schedulers, args, _progress):
    """Pairs of links; without recordings only those that are drawn."""
    _say("recorded" if args.traces else "recorded: no --traces, so recordings are left out")
    return pairs.measure(means, schedulers, args.jobs,
                         args.quiet or not sys.stderr.isatty(), args.traces)


def part_first(means, _schedulers, args, _progress):
    """By who chooses where connections begin; in a kernel that has what pamsd needs for that."""
    _say("first")
    means = runs.prepare(firsts.SCHEDULERS, None, begins.CONFIG, args.module,
                         wall_limit_s=means.wall_limit_s, keep=means.keep)
    means = runs.remembering(means, firsts.SCHEDULERS, args)
    return firsts.measure(means, args.jobs, args.quiet or not sys.stderr.isatty())


def part_video(means, schedulers, args, progress):
    """The player's figures."""
    _say("video")
    return video.measure(seeds.Lab(means, schedulers, args.jobs, progress))


def part_calls(means, schedulers, args, progress):
    """How late a steady stream comes."""
    _say("calls")
    return calls.measure(seeds.Lab(means, schedulers, args.jobs, progress))


def part_cost(_means, _schedulers, args, _progress):
    """The one part that runs in real time: nothing runs beside it."""
    _say("cost")
    return cost.measure(args.rounds, _say)


PARTS = {"seeds": part_seeds, "sweep": part_sweep, "recorded": part_recorded,
         "first": part_first,
         "video": part_video, "calls": part_calls, "cost": part_cost}


def command(args, means, schedulers):
    """Measure, then write the page."""
    if args.quick:
        return quick.command(args, means, schedulers)
    os.makedirs(os.path.join(args.out, "results"), exist_ok=True)
    for part, measure in PARTS.items():
        if args.part in (None, part):
            with Progress(args.quiet or not sys.stderr.isatty()) as progress:
                _save(part, measure(means, schedulers, args, progress))
    data = {part: _load(part) for part in PARTS}
    figures.sweep(data["sweep"], os.path.join(args.out, "results"))
    text = page.text(data, means.kernel.release)
    path = os.path.join(args.out, "results.md")
    with open(path, "w", encoding="utf-8") as out:
        out.write(text)
    print(f"results: {os.path.relpath(path)}")
    print(page.goals_text(data))
    failed = [(name, row["name"]) for part in ("sweep", "recorded", "first") for row in data[part]["rows"]
              for name, time in row["time_s"].items() if time is None]
    failed += [(name, row["label"]) for table in data["seeds"]["tables"]
               for row in table["rows"] for name, value in row["cells"].items()
               if value is None]
    for name, where in failed:
        print(f"FAILED: a transfer of {name} in '{where}'")
    # The published ones are only compared with; theirs are told, no more.
    return 1 if any(name not in runs.PEERS for name, _ in failed) else 0


def prepare(args, means):
    """(means, schedulers): every scheduler there is, the remembered runs count."""
    schedulers = runs.compared(means)
    means = runs.remembering(means, [*schedulers, *runs.POLICIES], args)
    return means, schedulers
