# SPDX-License-Identifier: GPL-2.0
"""`lab bench --quick`: a few figures of each of our schedulers, as TAP.

Fails where one is worse than in tools/bench/reference.json by more than chance explains,
or is there and was not measured. A figure that isn't there yet is told, no more. All of
them are times: less is better. Two more lines say that hosts build large segments and
links carry single packets. Harm is the mean of the ratios where a better one counts as 1.

Chance: a module that was built anew lies elsewhere in memory, its hash tables have
another order, and in some scenarios a timer fires before a packet rather than behind
it. --set-reference TIMES therefore measures so often, each time with other ports, keys and
sequence numbers, and writes the mean and the spread, which is most / least - 1. Measured
once, the spreads stay as they are. A figure may be worse by WORSE, or SPREADS times its
spread if that is more.

Pages whose objects' sizes and links once led what was learned of paths astray, two radios' links
among them, may take minfct no longer than the kernel's own scheduler. This limit is fixed.

A connection that fell back to TCP is left out: its first segments were lost, and from
there no scheduler has a say.
"""

import json
import os
import statistics
from dataclasses import replace

import drawn
import host
import runs
import seeds
import sweep
from checks import Checks
from host import LabError
from progress import Progress
from scenario import FRAME_BITS, Scenario, parse_path

REFERENCE = os.path.join(host.TOP, "tools", "bench", "reference.json")
WORSE = 0.05
SPREADS = 2
SEED = 12           # not that of the results page
COUNT = 30
PAGES = 24          # a quarter of them
BUSY_SEGMENTS = 1000
SEGMENTS_AT_ONCE = 1.5
# (links, the first one in front, seed of the objects' sizes)
EVERYDAY_PAGES = ((("30mbit,8ms,150", "20mbit,30ms,300"), 13),
                (("20mbit,30ms,300", "30mbit,8ms,150"), 15),
                (("15mbit,40ms,300", "100mbit,5ms,300"), 4),
                (("12mbit,25ms,150,radio=3", "8mbit,20ms,120,radio=4"), 16),
                (("8mbit,20ms,120,radio=4", "12mbit,25ms,150,radio=3"), 17))


def segments(results):
    """(segments that a server sent at once in the mean, bytes of the largest mean packet):
    hosts build large segments, and links carry single packets."""
    busy = [result for result in results
            if result["mib"]["server"].get("TcpOutSegs", 0) > BUSY_SEGMENTS]
    sent, buffers = (sum(result["mib"]["server"].get(key, 0) for result in busy)
                     for key in ("TcpOutSegs", "IpOutRequests"))
    sizes = [path["down_bytes"] / path["down_packets"] for result in busy
             for path in result["paths"] if path["down_packets"]]
    return sent / buffers if buffers else None, max(sizes, default=None)


def everyday_pages():
    """[(title, scenario)], three pages each, 2 s apart."""
    return [(" + ".join(links), Scenario(
        paths=tuple(map(parse_path, links)), objects=40, bytes_min=400, bytes_max=2_000_000,
        requests=3, gap_ms=2000, seed=seed)) for links, seed in EVERYDAY_PAGES]


def _check_pages(checks, means, args):
    """minfct's time for all of them, in times of default's."""
    jobs = [runs.Job(f"{name}: three pages on {title}", name, scenario)
            for title, scenario in everyday_pages() for name in ("default", "minfct")]
    with Progress(args.quiet) as progress:
        means_s = [result["mean_s"] for result, _ in
                   runs.run_all(means, jobs, args.jobs, progress)]
    for job, default, mine in zip(jobs[1::2], means_s[::2], means_s[1::2]):
        checks.at_most(f"{job.name}, / default", mine / default if mine and default else None,
                       sweep.HARM, digits=2)


def _figures(means, schedulers, args):
    """{name: value}, and the sweep's results"""
    found = {}
    with Progress(args.quiet) as progress:
        lab = seeds.Lab(means, schedulers, args.jobs, progress)
        for title, scenario in (("4 MB while a path collapses", seeds.collapse_scenario()),
                                ("1 MB on 8/10 + 5/40", seeds.two_devices(1_000_000)),
                                ("30 MB on two gigabit links, 100 KB of window",
                                 seeds.impaired_scenario(5, 0, 100))):
            for name, time in lab.times(scenario).items():
                found[f"{name}: {title}, s"] = time
    several = drawn.several(SEED, COUNT) + drawn.several(SEED, PAGES, kind="pages")
    rows, results = sweep.run(means, several, schedulers, args.jobs, args.quiet, fallen=False)
    for kind, part in sweep.parts_of(rows):
        for name in sweep.names_of(part):
            line = sweep.summary_of(part, name)
            for key, title in (("default_mean", "mean against default"),
                               ("single_mean", "mean against the best single path"),
                               ("joined_harm", "mean harm against the best path once joined")):
                found[f"{name}: {len(part)} {kind}, {title}"] = line[key]
    return {name: value if value is None else round(value, 4) for name, value in found.items()
            if not name.startswith("default:")}, results


def _reference():
    try:
        with open(REFERENCE, encoding="utf-8") as text:
            return {name: (figure["mean"], figure["spread"])
                    for name, figure in json.load(text)["figures"].items()}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise LabError(f"tools/bench/reference.json can't be read ({error}): "
                       "'lab bench --quick --set-reference' writes it") from None


def _set_reference(means, ours, args):
    """Write the mean and the spread of each figure."""
    times, known = args.set_reference, {}
    if times == 1 and os.path.exists(REFERENCE):
        known = _reference()
    found = [_figures(replace(means, entropy=entropy), ours, args)[0]
             for entropy in range(times)]
    figures = {}
    for name in found[0]:
        values = [one[name] for one in found]
        if None in values:
            raise LabError(f"{name}: a transfer failed, so there is nothing to write")
        figures[name] = {"mean": round(statistics.fmean(values), 4),
                         "spread": (known[name][1] if name in known else
                                    round(max(values) / min(values) - 1, 4))}
    with open(REFERENCE, "w", encoding="utf-8") as out:
        json.dump({"format": 2, "kernel": means.kernel.release, "figures": figures},
                  out, indent=1)
        out.write("\n")
    print(f"written: {os.path.relpath(REFERENCE)}")


def command(args, means, schedulers):
    """Measure, compare; 1 if a figure fell back."""
    ours = [name for name in schedulers if name not in runs.PEERS]
    if args.set_reference:
        _set_reference(means, ours, args)
        return 0
    figures, results = _figures(means, ours, args)
    reference, checks = _reference(), Checks()
    at_once, packet_bytes = segments(results)
    checks.at_least("segments that hosts send at once", at_once, SEGMENTS_AT_ONCE, digits=2)
    checks.at_most("largest mean packet on a link", packet_bytes, FRAME_BITS / 8, "bytes")
    _check_pages(checks, means, args)
    for name, (mean, spread) in reference.items():
        limit = mean * (1 + max(WORSE, SPREADS * spread))
        checks.at_most(name, figures.get(name), limit, digits=4)
    print("\n".join(checks.lines()))
    for name in figures:
        if name not in reference:
            print(f"# {name}: {figures[name]}, not in the reference yet "
                  "(lab bench --quick --set-reference)")
    return 0 if checks.good else 1
