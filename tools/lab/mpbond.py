# SPDX-License-Identifier: GPL-2.0
"""MPBond's tables, made again here: devices that help another with their LTE.

A helper has an HS-path and a pipe (links.py) and is a router, or splits TCP. The baselines'
is a router:

  kibbutz     a fixed share of the bytes on each path, whatever happens: the time of
              the path that ends last. Each path runs alone, later by the join
  COMBINE     a worker on each path, a TCP connection of its own, takes ranges from
              one queue; an actual client (selftests/mptcp_pams/xfer.c --queue)

What is compared in time has its mean over SEEDS runs, which differ in ports, keys and
sequence numbers.
"""

import functools
from dataclasses import replace

import drawn
import fed
import host
import runs
import units
from radio import TAIL_S
from scenario import parse_change, parse_helper
from seeds import Lab, Table, bound_s, download, mbit_of, path, trace_changes

SEEDS = 3
KIBBUTZ_PERCENT = tuple(range(10, 100, 10))     # shares of the primary's path
RANGES_BYTES = (262144, 131072, 65536)
BASELINES = ["kibbutz 50 %", "kibbutz best", "COMBINE"]
SPLIT = ("minrtt", "pams", "minfct")            # schedulers that a split is measured with
TOLD = ("pams", "minfct")


def with_helpers(lab):
    """The same, with what helpers run. A run's name doesn't tell which pamsplit made it."""
    return Lab(replace(lab.means, remembering=False, radios=True,
                       pamsplit=host.program("pamsplit"), pamsctl=host.program("pamsctl")),
               lab.schedulers, lab.at_once, lab.progress)


def helper(kind, hs="10mbit:35ms", pipe="5mbit:5ms"):
    """8/10/5 Mbit/s is the direct path, then this: from end to end 5 Mbit/s, 40 ms."""
    return parse_helper(f"{hs},{pipe},{kind}")


def mean(results, value=lambda result: result["mean_s"]):
    """None where one of them failed."""
    values = [None if result["failed"] else value(result) for result in results]
    return None if None in values else sum(values) / len(values)


def imbalance(lab):
    """How far apart the two paths end."""
    table = Table("MinRTT leaves the paths unequal",
                  "MPBond, section 2: 8/10/5 Mbit/s, 10 MB; the helper's subflow ends 4.5 s "
                  "after the direct one with MinRTT, both together with pipe-aware availability",
                  "s between the last bytes on the two paths", lab.schedulers,
                  "8/10 beside a helper with 10/35 and 5/5. A bank of 10 s is one without a limit, "
                  "as the prototype's. The router has a queue of 1 MB before the pipe.")
    own = with_helpers(lab)
    for label, paper, kind in (("router", "", "router"), ("split", "minrtt 4.5", "split"),
                               ("split, bank of 10 s", "minrtt 4.5", "split,bank=10s")):
        limit = ":700" if kind == "router" else ""
        scenario = download((path(8, 10), helper(kind, pipe=f"5mbit:5ms{limit}")), 10_000_000)
        cells = {}
        for result, packets in own.traced([runs.Job(name, name, scenario)
                                           for name in lab.schedulers]):
            last = [max((packet.time_s for packet in packets
                         if packet.down and packet.payload_bytes and packet.path == i), default=0)
                    for i in range(2)]
            cells[result["name"]] = abs(last[1] - last[0])
        table.add(f"10 MB, {label}", paper, cells)
    return table


# label, the paper's figure, change
CASES = (
    ("steady", "3.6", ""),
    ("pipe to 1 Mbit/s", "4.8", "2s,1.pipe,rate=1mbit"),
    ("pipe to 10 Mbit/s", "figure only", "2s,1.pipe,rate=10mbit"),
    ("HS-path to 1 Mbit/s", "figure only", "2s,1.hs,rate=1mbit"),
)


def split_scenario(kind, change):
    """5/10/5 Mbit/s through a helper that splits, or is a router."""
    return download((path(5, 25), helper(kind, hs="10mbit:20ms")), 4_000_000,
                    [parse_change(change, 2, {1})] if change else [])


def splits(lab):
    """A helper with a split and without one, told and untold."""
    names = ("default", *SPLIT)
    told = {f"{name} told{text}": (name, feedback) for name in TOLD
            for text, feedback in (("", "flexible"), (" over HS", "hs"))}
    table = Table("A helper that splits TCP",
                  "MPBond, section 6: 5/10/5 Mbit/s, 4 MB; the pipe to 1 Mbit/s at 2 s: 4.8 s with "
                  "reinjection; to 10 Mbit/s: flexible feedback beats that over the HS-path only in "
                  "time and radio-on time; HS-path to 1 Mbit/s: the split shortens both", "s",
                  ["bound", *names, *told],
                  "5 Mbit/s 25 ms beside a helper with 10 Mbit/s 20 ms and 5 Mbit/s 5 ms; the change is at "
                  "2 s. Told: pamsd measures the pipe and reports, over whichever of HS-path and pipe "
                  "carried data last (flexible feedback), or over HS only. Last row: how much longer the "
                  "helper's radio is on, without its tail of 11.58 s (tools/lab/radio.py), in the worst of the "
                  f"eight. Means of {SEEDS} runs.")
    own, longer = with_helpers(lab), {}
    for label, paper, change in CASES:
        for kind in ("router", "split"):
            scenario = split_scenario(kind, change)
            jobs = [runs.Job(name, name, scenario) for name in names]
            jobs += [runs.Job(text, name, scenario, guest=functools.partial(
                fed.HelperGuest, pamsd=host.program("pamsd"), feedback=feedback, looks=False))
                for text, (name, feedback) in told.items()]
            found = own.over_seeds(jobs, SEEDS)
            times = {name: mean(results) for name, results in found.items()}
            table.add(f"{label}, {kind}", paper if kind == "split" else "",
                      {"bound": bound_s(scenario), **times})
            for name, results in found.items():
                on_s = mean(results, lambda result: result["radios"][1]["on_s"] - TAIL_S)
                if on_s is not None:
                    longer[name] = max(longer.get(name, 0), on_s - times[name])
    table.add("radio", "", longer)
    return table


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


def baselines(lab, scenario):
    """kibbutz and COMBINE: {column: s}"""
    shares = {percent: _kibbutz(lab, scenario, percent) for percent in KIBBUTZ_PERCENT}
    ranges = [_combine(lab, scenario, size) for size in RANGES_BYTES
              if size * 2 <= scenario.bytes_max]
    return {"kibbutz 50 %": shares[50], "kibbutz best": min(shares.values()),
            "COMBINE": min(ranges)}


def _compared(lab, table, label, scenario_of):
    """A row: the baselines, each scheduler through routers, some through helpers that split."""
    own = with_helpers(lab)
    router, split = scenario_of("router"), scenario_of("split")
    cells = baselines(lab, router)
    jobs = [runs.Job(name, name, router) for name in lab.schedulers]
    jobs += [runs.Job(f"{name}, split", name, split) for name in SPLIT]
    cells.update({name: mean(results) for name, results in own.over_seeds(jobs, SEEDS).items()})
    table.add(label, "", cells)


def against_baselines(lab):
    """Two and three devices, the primary's own link, rates that vary."""
    table = Table("Against kibbutz and COMBINE",
                  "MPBond, section 6: 5 to 11 % less time than kibbutz (3 devices 25 to 30 %), 15 to 21 % "
                  "less than COMBINE (3 devices 12 to 26 %); with a primary's link of 5 to 14 Mbit/s (PS) 14 to "
                  "46 % less than COMBINE; with replayed traces 21 to 23 and 29 to 35 % less", "s",
                  [*BASELINES, *lab.schedulers, *(f"{name}, split" for name in SPLIT)],
                  "kibbutz best is the best share of all for that very size, found afterwards; "
                  "COMBINE's range the best of 256, 128 and 64 KB. New connections. 8/10 beside "
                  "helpers with 10/35 and 5/5: routers, but for the last columns. The paper's traces are not "
                  "to be had: these are synthetic (seeds.py), around 8/15, 10/35 and 5/5.")
    for helpers in (1, 2):
        for size in (512_000, 1_000_000, 2_000_000):
            _compared(lab, table, f"{helpers + 1} devices, {units.size_text(size)}",
                      lambda kind: download([path(8, 10)] + [helper(kind)] * helpers, size))
    for mbit in (5, 11, 14):
        _compared(lab, table, f"PS {mbit} Mbit/s, 1 MB",
                  lambda kind: download((path(mbit, 10), helper(kind)), 1_000_000))
    for seed in (1, 2, 3):
        changes = [*trace_changes(seed, 0, 8, 12), *trace_changes(seed, 1, 10, 12, "hs"),
                   *trace_changes(seed, 1, 5, 12, "pipe")]
        _compared(lab, table, f"trace {seed}, 4 MB",
                  lambda kind: download((path(8, 15), helper(kind)), 4_000_000, changes))
    return table


def lossy_pipe(lab):
    """Wi-Fi at the edge of its range."""
    table = Table("Loss of 2 % on the pipe", "the goal is twice the router's", "Mbit/s of payload",
                  ["default", *SPLIT],
                  "1 Mbit/s 25 ms beside a helper with 20 Mbit/s 40 ms and a pipe of 20 Mbit/s 5 ms "
                  "that loses 2 % in each direction; 8 MB over both.", better="more")
    own, size = with_helpers(lab), 8_000_000
    for kind in ("router", "split"):
        scenario = download((path(1, 25), helper(kind, "20mbit:40ms", "20mbit:5ms:loss=2%")), size)
        found = own.over_seeds([runs.Job(name, name, scenario) for name in table.columns], SEEDS)
        table.add(kind, "", {name: mbit_of(size, mean(results)) for name, results in found.items()})
    return table


STEADY = (      # the direct path's rate and delay, HS-path, pipe, bytes
    (5, 25, "10mbit:20ms", "5mbit:5ms", 4_000_000),
    (8, 10, "10mbit:35ms", "5mbit:5ms", 500_000),
    (8, 10, "10mbit:35ms", "5mbit:5ms", 2_000_000),
    (20, 15, "5mbit:30ms", "40mbit:3ms", 8_000_000),
    (20, 15, "30mbit:30ms", "30mbit:3ms", 8_000_000),
)


def steady(lab):
    """What a split costs where nothing changes."""
    table = Table("A split on steady links", "the goal is at most 1.02", "times the router's time",
                  ["default", *SPLIT], f"Direct path beside HS-path and pipe, means of {SEEDS} runs.",
                  digits=3)
    own = with_helpers(lab)
    for mbit, ms, hs, pipe, size in STEADY:
        cells = {}
        for kind in ("router", "split"):
            scenario = download((path(mbit, ms), helper(kind, hs, pipe)), size)
            found = own.over_seeds([runs.Job(name, name, scenario) for name in table.columns], SEEDS)
            times = {name: mean(results) for name, results in found.items()}
            cells = {name: time / cells[name] for name, time in times.items()} if cells else times
        table.add(f"{mbit}mbit:{ms}ms beside {hs}, {pipe}; {units.size_text(size)}", "", cells)
    return table


TABLES = (imbalance, splits, against_baselines, lossy_pipe, steady)
