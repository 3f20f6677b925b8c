# SPDX-License-Identifier: GPL-2.0
"""Calls: how late what an application writes at a steady rate arrives.

A call can't wait: what counts is the byte that came latest, against when the rate says. The
request's way and the least delay of the paths are in it.
"""

from dataclasses import replace

import runs
import seeds
from scenario import Change, Scenario

CALL_BPS = 1_500_000
CALL_S = 30
POLICY = "single"       # made for this: all on the path that answers soonest
MODEMS_MS = (25, 35, 45, 55)


def _fade(at_s, mbit):
    return Change(round(at_s * 1e6), 0, {"rate_bps": round(mbit * 1e6)})


def cases():
    """[(title, paths, changes)]"""
    wifi, lte = seeds.path(20, 10), seeds.path(10, 35)
    modems = tuple(seeds.path(1.5, delay_ms) for delay_ms in MODEMS_MS)
    varying = [change for i in range(len(modems))
               for change in seeds.trace_changes(i + 1, i, 1.5, CALL_S)]
    return (("Wi-Fi 20/10 + LTE 10/35", (wifi, lte), ()),
            ("the same, Wi-Fi at 0.5 Mbit/s from 10 to 20 s", (wifi, lte),
             (_fade(10, 0.5), _fade(20, 20))),
            ("the same, Wi-Fi loses 2 %", (replace(wifi, loss=0.02), lte), ()),
            ("LTE first", (lte, wifi), ()),
            ("four modems that vary around 1.5 Mbit/s", modems, tuple(varying)))


def scenario_of(paths, changes):
    """One call."""
    size = CALL_BPS // 8 * CALL_S
    return Scenario(paths=paths, changes=changes, bytes_min=size, bytes_max=size, requests=1,
                    stream_bps=CALL_BPS, timeout_s=600)


def measure(lab):
    """{cases, late_s: {scheduler: [of each case]}, alone_s: [the best path's of each case]}"""
    names = list(dict.fromkeys([*lab.schedulers, POLICY]))
    late_s, alone_s = {name: [] for name in names}, []
    for _, paths, changes in cases():
        alone = []
        for result in lab.run(runs.jobs_of(scenario_of(paths, changes), names, True, 1, False)):
            late = None if result["failed"] else result["requests"][0]["late_s"]
            if result["path_alone"] >= 0:
                alone.append(late)
            else:
                late_s[result["name"]].append(late)
        alone_s.append(min((late for late in alone if late), default=None))
    return {"cases": [title for title, _, _ in cases()], "late_s": late_s, "alone_s": alone_s}
