# SPDX-License-Identifier: GPL-2.0
"""`lab drives`: how early to leave a path, over many drives as pams-predict sees them.

No guest is booted. A path counts as left at t if what waits before it then, 150 ms of
it, and 5 ms of way aren't carried earlier than so many spreads before the loss time that
the server knows at t (report.c in the module):

    t + 155 ms >= T_L - factor * spread

    too late   share of drives whose path breaks (fading.py) before all that was sent over
               it is carried
    unused     how much longer than needed the path isn't used, mean
    stopped    of the drive that stops at 75 % of the range: how long of two seconds the path
               isn't used, mean
"""

import statistics

import fading
import host
import report

FACTORS = (1.5, 1.75, 2, 2.5)
STEP_MS = 5
QUEUE_MS, WAY_MS = 150, 5
STOPS_MS = 2000


def left(known, factor, end_ms):
    """Of each step from 0 to end_ms: is the path left? known: [(at_ms, loss_ms, spread_ms)]"""
    found, now, at = [], (0, None, 0), 0
    for ms in range(0, end_ms, STEP_MS):
        while at < len(known) and known[at][0] <= ms:
            now, at = known[at], at + 1
        found.append(now[1] is not None and
                     ms + QUEUE_MS + WAY_MS >= now[1] - factor * now[2])
    return found


def known_to_server(program, trace):
    """What pams-predict says, LTE's delay later."""
    return [(line["at_ms"] + fading.LTE.delay_us // 1000,
             line["at_ms"] + line["loss_ms"] if "loss_ms" in line else None,
             line.get("spread_ms", 0)) for line in fading.predictions(program, trace)]


def judged(program, fade_db, numbers):
    """{factor: (share too late, unused ms, stopped ms)} of the drives of these numbers"""
    signal, stop = fading.DRIVES
    late, unused, stopped = ({factor: [] for factor in FACTORS} for _ in range(3))
    for number in numbers:
        trace = fading.levels(signal, fade_db, number)
        end_ms = fading.lost_ms(signal, trace)
        known = known_to_server(program, trace)
        known_stop = known_to_server(program, fading.levels(stop, fade_db, number))
        for factor in FACTORS:
            steps = left(known, factor, end_ms)
            last = len(steps) - QUEUE_MS // STEP_MS
            late[factor].append(not all(steps[last:]))
            unused[factor].append(STEP_MS * sum(steps[:last]))
            stopped[factor].append(STEP_MS * sum(left(known_stop, factor, STOPS_MS)))
    return {factor: tuple(map(statistics.fmean, (late[factor], unused[factor], stopped[factor])))
            for factor in FACTORS}


def command(args):
    """lab drives"""
    numbers = range(args.first_drive, args.first_drive + args.repeat)
    found = judged(host.program("pams-predict"), args.fading, numbers)
    print(f"drives {numbers[0]} to {numbers[-1]}, fading of {args.fading:g} dB\n")
    print("\n".join(report.aligned([["spreads", "too late", "unused ms", "stopped ms"]] + [
        [f"{factor:g}", f"{100 * late:.1f} %", f"{unused:.0f}", f"{stopped:.0f}"]
        for factor, (late, unused, stopped) in found.items()])))
    return 0
