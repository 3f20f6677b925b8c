# SPDX-License-Identifier: GPL-2.0
"""`lab early`: what a predictor's stops are worth.

Over Wi-Fi (25 Mbit/s, 5 ms) and LTE (5 Mbit/s, 25 ms), on drawn drives past an access point at 13
m/s (foreseen.py) from their fourth second on; Wi-Fi is down while it is lost. The server's
kernel is told nothing, what the threshold rule says, or what pams-predict says, with
--avoid, too.

    download    25 MB, as fast as it goes
    stream      4.5 MB at 4 Mbit/s, which LTE alone could carry
    wide        9 MB at 8 Mbit/s, which it couldn't
    requests    80 of 20 KB, over one connection, 50 ms after each answer
"""

import statistics

import fading
import foreseen
import host
import report
import runs
from progress import Progress
from scenario import Change, Report, Scenario

WAY, SHADOWS_DB = "drives past at 13 m/s", (2, 4)
BEGIN = 4000 // foreseen.STEP_MS
TRANSFERS = {"download": {"bytes_min": 25_000_000, "bytes_max": 25_000_000},
             "stream": {"bytes_min": 4_500_000, "bytes_max": 4_500_000, "stream_bps": 4_000_000},
             "wide": {"bytes_min": 9_000_000, "bytes_max": 9_000_000, "stream_bps": 8_000_000},
             "requests": {"bytes_min": 20_000, "bytes_max": 20_000, "requests": 80, "gap_ms": 50}}


def _turns(steps):
    """[(us since the transfer began, from then on)]"""
    return [((at - BEGIN) * foreseen.STEP_MS * 1000, steps[at]) for at in range(BEGIN, len(steps))
            if steps[at] != (steps[at - 1] if at > BEGIN else False)]


def _by_rule(trace):
    """Reports, LTE's delay later."""
    stopped = foreseen.stopped_by_rule(trace, foreseen.THRESHOLD_DBM)
    return tuple(Report(us + fading.LTE.delay_us, 0,
                        {"loss-time": 0 if stop else fading.TAKEN_BACK_MS})
                 for us, stop in _turns(stopped))


def _by_program(program, trace, *options):
    levels = [((step - BEGIN) * foreseen.STEP_MS, level) for step, (level, heard)
              in enumerate(zip(trace.levels, trace.heard)) if heard]
    return fading.reports(fading.predictions(program, levels, options))


def jobs_of(program, scheduler, shadow_db, numbers):
    """Each transfer of each drive: untold, told by either."""
    jobs = []
    for number in numbers:
        trace = foreseen.drawn(WAY, shadow_db, number)
        down = tuple(Change(us, 0, {"down": lost}) for us, lost in
                     _turns(foreseen.lost(trace, foreseen.THRESHOLD_DBM)))
        for what, size in TRANSFERS.items():
            for who, told in (("untold", ()), ("threshold", _by_rule(trace)),
                              ("pams-predict", _by_program(program, trace)),
                              ("--avoid", _by_program(program, trace, "--avoid"))):
                jobs.append(runs.Job(f"{what}, {shadow_db} dB|{who}", scheduler, Scenario(
                    paths=(fading.WIFI, fading.LTE), changes=down, reports=told,
                    seed=number, **{"requests": 1, **size}), repeat=number))
    return jobs


def command(args, means):
    """Run and print: means over the drives, and the longest of all."""
    program, jobs = host.program("pams-predict"), []
    for shadow_db in SHADOWS_DB:
        jobs += jobs_of(program, args.sched, shadow_db,
                        range(args.first_drive, args.first_drive + args.repeat))
    with Progress(args.quiet) as progress:
        results = [result for result, _ in runs.run_all(means, jobs, args.jobs, progress)]
    failed = 0
    rows = [["transfer", "told by", "Mbit/s", "stall ms", "longest", "time ms", "longest"]]
    for name in dict.fromkeys(job.name for job in jobs):
        every = [request for result in results if result["name"] == name
                 for request in result["requests"]]
        done = [request for request in every if request["ok"]]
        failed += len(every) - len(done)
        gaps_ms = [1000 * request["gap_s"] for request in done] or [0]
        rates = [8 * request["bytes"] / request["fct_s"] / 1e6 for request in done] or [0]
        times_ms = [1000 * request["fct_s"] for request in done] or [0]
        rows.append([*name.split("|"), f"{statistics.fmean(rates):.2f}",
                     f"{statistics.fmean(gaps_ms):.0f}", f"{max(gaps_ms):.0f}",
                     f"{statistics.fmean(times_ms):.0f}", f"{max(times_ms):.0f}"])
    print("\n".join(report.aligned(rows)) + f"\n\n{failed} transfers failed")
    return 1 if failed else 0
