# SPDX-License-Identifier: GPL-2.0
"""Video over varying paths: what a player with adaptive bitrate makes of them.

The player (player.py) chooses each segment's bitrate by the throughput it saw and by
what it has buffered; what it saw in the end is computed here from its segments.
"""

import statistics

import seeds
from player import LADDER_BPS, START_S
from scenario import Change, Scenario

PLAYED_S = 90
SEGMENTS_S = (2, 6)
WALK_STEP_S = 1


def _walk(seed, path, mbit):
    """A rate that changes each second, slower than that of the tables' traces."""
    return [Change(round(number * WALK_STEP_S * 1e6), path, change.values)
            for number, change in enumerate(seeds.trace_changes(seed, path, mbit,
                                                                PLAYED_S // 4), 1)]


def _steps(path, *steps):
    return [Change(at * 10**6, path, {"rate_bps": round(mbit * 1e6)}) for at, mbit in steps]


def cases():
    """(title, paths, changes)"""
    wifi, lte = seeds.path(10, 10), seeds.path(4, 35)
    return (
        ("Wi-Fi 10/10 that fades to 1 Mbit/s at 30 s and is back at 60 s, LTE 4/35",
         (wifi, lte), _steps(0, (30, 4), (34, 1), (56, 4), (60, 10))),
        ("two links that vary around 6/15 and 4/40",
         (seeds.path(6, 15), seeds.path(4, 40)), _walk(1, 0, 6) + _walk(1, 1, 4)),
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
    return {"bitrate_bps": statistics.fmean(LADDER_BPS[level] for level in levels),
            "stalls": stalls, "stalled_s": stalled_s, "start_s": start_s,
            "switches": sum(a != b for a, b in zip(levels, levels[1:]))}


def measure(lab):
    """{text, tables}"""
    tables = []
    for title, paths, changes in cases():
        for segment_s in SEGMENTS_S:
            scenario = Scenario(paths=paths, changes=tuple(changes), bytes_min=1, bytes_max=1,
                                requests=PLAYED_S // segment_s, segment_s=segment_s)
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
