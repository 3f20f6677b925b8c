# SPDX-License-Identifier: GPL-2.0
"""`lab bench --quick`: a few figures of each of our schedulers, as TAP.

Fails where one is over 3 % worse than in tools/bench/reference.json, or is there and
was not measured. A figure that isn't there yet is told, no more: --set-reference
writes what was measured. All of them are times: less is better. Two more lines say that hosts build large segments
and links carry single packets. Harm is the mean of
the ratios where a better one counts as 1: a percentile of so few scenarios jumps by
more than 3 % with each kernel.
"""

import json
import os

import drawn
import host
import runs
import seeds
import sweep
from checks import Checks
from host import LabError
from progress import Progress
from scenario import FRAME_BITS

REFERENCE = os.path.join(host.TOP, "tools", "bench", "reference.json")
WORSE = 1.03
SEED = 12           # not that of the results page
COUNT = 30
PAGES = 24          # a quarter of them
BUSY_SEGMENTS = 1000
SEGMENTS_AT_ONCE = 1.5


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


def _figures(means, schedulers, args):
    """{name: value}, and the results of the sweep"""
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
    rows, results = sweep.run(means, several, schedulers, args.jobs, args.quiet)
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
            return json.load(text)["figures"]
    except (OSError, ValueError, KeyError) as error:
        raise LabError(f"tools/bench/reference.json can't be read ({error}): "
                       "'lab bench --quick --set-reference' writes it") from None


def command(args, means, schedulers):
    """Measure, compare; 1 if a figure fell back."""
    ours = [name for name in schedulers if name not in runs.PEERS]
    figures, results = _figures(means, ours, args)
    if args.set_reference:
        with open(REFERENCE, "w", encoding="utf-8") as out:
            json.dump({"format": 1, "kernel": means.kernel.release, "figures": figures},
                      out, indent=1)
            out.write("\n")
        print(f"written: {os.path.relpath(REFERENCE)}")
        return 0
    reference, checks = _reference(), Checks()
    at_once, packet_bytes = segments(results)
    checks.at_least("segments that hosts send at once", at_once, SEGMENTS_AT_ONCE, digits=2)
    checks.at_most("largest mean packet on a link", packet_bytes, FRAME_BITS / 8, "bytes")
    for name, value in reference.items():
        checks.at_most(name, figures.get(name), value * WORSE, digits=4)
    print("\n".join(checks.lines()))
    for name in figures:
        if name not in reference:
            print(f"# {name}: {figures[name]}, not in the reference yet "
                  "(lab bench --quick --set-reference)")
    return 0 if checks.good else 1
