# SPDX-License-Identifier: GPL-2.0
"""A Wi-Fi path whose signal follows a drive, and what pams-predict says of it.

The level is that of the log-distance model, with fading:

    level(t) = T + 10 n log10(range / d(t)) + fade(t)

with PLAMA's T = -91 dBm, n = 3 and range of 70 m; fade is normal, --fading dB, and
correlated over 200 ms. The path follows from the same level:

    rate    25 Mbit/s up to the share of the range at which the download begins,
            from there to 5 Mbit/s at its end, evenly in the distance
    loss    a frame is lost in one of two cases at T, and sent 7 times:
            1 / (1 + exp(2 (level - T)))^7
    lost    for good from when the level has been below T for 100 ms, as long as a
            beacon's interval; shorter fades only lose frames

pams-predict gets the level every 50 ms, in whole dBm, from four seconds before the
download on. What it says, with its spread, reaches the server LTE's one-way delay later.
"""

import json
import math
import random
import subprocess
from dataclasses import dataclass, replace

import host
from host import LabError
from scenario import Change, Path, Report, Scenario

THRESHOLD_DBM, EXPONENT, RANGE_M = -91, 3.0, 70
SPEED_MPS, ASIDE_M = 13, 10
FADE_MS = 200
STEP_MS = 50
LOST_STEPS = 2
BEFORE_MS, AFTER_MS = 4000, 12000
FRAME_TRIES = 7
WIFI, LTE = Path(25_000_000, 5_000), Path(5_000_000, 25_000, 400)
EDGE_BPS = 5_000_000
LOSS_MS = 2000          # when the range ends
STOP_SHARE = 0.75       # of the range, where the other drive ends
TAKEN_BACK_MS = 3_600_000   # a loss so far away is none


@dataclass(frozen=True)
class Drive:
    """A way, and the download on it, which begins at 0."""
    name: str
    text: str
    size: int
    stops: bool = False     # before the range ends


DRIVES = (
    Drive("signal", "signal: 5 MB, 13 m/s past an access point at 10 m, whose range of 70 m "
          "ends at 2 s, LTE 5 Mbit/s 25 ms; predicted from the signal", 5_000_000),
    Drive("stop", "stop: the same, but it stops at 75 % of the range and stays there: "
          "a false alarm", 5_000_000, stops=True))


def _start_m():
    """How far past the access point the download begins."""
    return math.sqrt(RANGE_M ** 2 - ASIDE_M ** 2) - SPEED_MPS * LOSS_MS / 1000


def share(drive, ms):
    """Of the range, without fading."""
    along_m = _start_m() + SPEED_MPS * ms / 1000
    if drive.stops:
        along_m = min(along_m, math.sqrt((STOP_SHARE * RANGE_M) ** 2 - ASIDE_M ** 2))
    return math.hypot(ASIDE_M, along_m) / RANGE_M


def levels(drive, fade_db, seed):
    """[(ms, dBm)]"""
    rng = random.Random(f"{drive.name} {seed}")
    keep = math.exp(-STEP_MS / FADE_MS)
    fade, found = rng.gauss(0, fade_db), []
    for ms in range(-BEFORE_MS, AFTER_MS, STEP_MS):
        fade = keep * fade + math.sqrt(1 - keep ** 2) * rng.gauss(0, fade_db)
        dbm = THRESHOLD_DBM - 10 * EXPONENT * math.log10(share(drive, ms)) + fade
        found.append((ms, dbm))
    return found


def frame_loss(dbm):
    """Share of packets that no try brings across."""
    return (1 / (1 + math.exp(2 * (dbm - THRESHOLD_DBM)))) ** FRAME_TRIES


def rate_bps(drive, ms):
    """By the distance."""
    begin = share(drive, 0)
    used = min(1, max(0, (share(drive, ms) - begin) / (1 - begin)))
    return round(WIFI.rate_bps - used * (WIFI.rate_bps - EDGE_BPS))


def lost_ms(drive, trace):
    """When the station gives up, or None."""
    weak = 0
    for ms, dbm in trace:
        weak = weak + 1 if dbm < THRESHOLD_DBM else 0
        if weak >= LOST_STEPS and ms > 0 and not drive.stops:
            return ms
    return None


def changes(drive, trace):
    """Of the Wi-Fi path; what stays as it was isn't said again."""
    end_ms, found, before = lost_ms(drive, trace), [], (WIFI.rate_bps, 0)
    for ms, dbm in trace:
        if ms < 0 or (end_ms is not None and ms >= end_ms):
            continue
        now = rate_bps(drive, ms), round(frame_loss(dbm), 3)
        if now != before:
            found.append(Change(ms * 1000, 0, {"rate_bps": now[0], "loss": now[1]}))
        before = now
    if end_ms is not None:
        found.append(Change(end_ms * 1000, 0, {"down": True}))
    return tuple(found)


def predictions(program, trace, options=()):
    """What pams-predict says of the trace: its lines, in the trace's time."""
    begin_ms = trace[0][0]
    text = "".join(f"{ms - begin_ms} {round(dbm)}\n" for ms, dbm in trace)
    done = subprocess.run([program, "--levels", "-", *options], input=text, text=True,
                          capture_output=True, check=False)
    if done.returncode:
        raise LabError("pams-predict fails", done.stderr.splitlines())
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    return [{**line, "at_ms": line["at_ms"] + begin_ms} for line in lines]


def reports(lines):
    """As the server's kernel is told. What was said before the download is told at its beginning."""
    found = {}
    for line in lines:
        arrives_ms = line["at_ms"] + LTE.delay_us // 1000
        at_ms = max(0, arrives_ms)
        values = {"loss-time": TAKEN_BACK_MS}
        if "loss_ms" in line:
            values = {"loss-time": max(0, line["loss_ms"] - (at_ms - line["at_ms"])),
                      "loss-spread": line["spread_ms"]}
        found[at_ms] = Report(at_ms * 1000, 0, values)
    return tuple(found[at_ms] for at_ms in sorted(found))


def scenario(drive, fade_db, seed, program=""):
    """Of one drive; with the program the server is told what that says."""
    trace = levels(drive, fade_db, seed)
    told = reports(predictions(program, trace)) if program else ()
    return Scenario(paths=(WIFI, LTE), changes=changes(drive, trace), reports=told,
                    bytes_min=drive.size, bytes_max=drive.size, requests=1, seed=seed)


def jobs_of(job, drive, schedulers, fade_db, repeat, first=1):
    """The first scheduler and the last one untold, and the last one predicted; each over the
    same drives, numbered from first on. job: makes one of (name, scheduler, scenario, repeat)."""
    program = host.program("pams-predict")
    jobs = []
    for number in range(repeat):
        untold = scenario(drive, fade_db, first + number)
        predicted = replace(untold, reports=scenario(drive, fade_db, first + number,
                                                     program).reports)
        jobs += [job(f"{drive.name} {name}", name, untold, repeat=number)
                 for name in dict.fromkeys(schedulers)]
        jobs.append(job(f"{drive.name} {schedulers[-1]} predicted", schedulers[-1], predicted,
                        repeat=number))
    return jobs
