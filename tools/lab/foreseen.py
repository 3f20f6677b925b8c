# SPDX-License-Identifier: GPL-2.0
"""`lab foreseen`: which losses of a Wi-Fi path are foreseen, and how often it is stopped for nothing.

No guest is booted. Levels go through pams-predict as it is, 20 a second, in whole dBm, and beside
it through the threshold rule, which is the one to beat: stop while the mean of 0.3 s is below the
threshold + 2 dB, until it was 3 dB above the threshold for 0.5 s.

Recorded: of each second the mean level, or that nothing was heard (wifi-levels/*.csv, see SOURCE).
Of the recordings the odd ones are for whoever changes the predictor, the even ones are reported.

Drawn: the log-distance model with a range of 70 m and

    shadowing   normal, correlated over 10 m of way (Gudmundson: "Correlation Model for Shadow
                Fading in Mobile Radio Systems", Electronics Letters 1991); nothing is heard
                4 dB below the threshold

Both get fading of Rice's distribution on top, two antennas, correlated as the speed has it.

The path is lost from when the level, its fading averaged out, is below the threshold or nothing is
heard for 0.5 s on, until it is 3 dB above for 0.5 s. A predictor stops it from 7/4 of the spread
before the time that it said, as the kernel does, until it takes that back or 60 s after.

    foreseen    losses before which it stopped 0.1 to 5 s ahead
    early       earlier than that; late: by less; missed: not before the loss
    lead        median of those that aren't missed
    false       stops an hour of which no loss came before a second after their end
    unused      share of the time in which the path was not lost, but stopped
"""

import csv
import io
import json
import lzma
import math
import os
import random
import statistics
import subprocess
from dataclasses import dataclass, field

import falls
import host
import report
from checks import Checks
from host import LabError
from pairs import FOLDER
from units import BadInput

SOURCE = ("adamiaonr/wifi-vehicles (FEUP, January 2019): of four pairs of access point and client "
          "the time, distance, speed and level of each second")
THRESHOLD_DBM, RANGE_M, EXPONENT = -91, 70, 3.0
STEP_MS = 50
SPREADS = 1.75
HOLDS_MS = 60_000
SILENT_DBM = -100       # of a second in which nothing was heard
DEAF_DB = 4             # below the threshold
LOST_STEPS = BACK_STEPS = 10
BACK_DB = 3
RULE_DB, RULE_STEPS = 2, 6
AHEAD_MS = (100, 5000)
BEGINS_MS = 3000        # a loss before that can't be foreseen
AFTER_MS = 1000
SHADOW_M = 10
WAVE_M = 0.125
ANTENNAS = 2
RICE_DB = {0: 20, 2: 10, 4: 6}      # of the line of sight, by the shadowing in dB
RECORDED_RICE_DB = 6
FALSE_PERCENT, UNUSED_PERCENT, FORESEEN_PERCENT = 85, 85, 85     # of the rule's
RECORDED_DBM = (-91, -85, -80)      # the default, and what this place seems to have


@dataclass
class Trace:
    """Of each step the level without fading, as it is read, and whether anything is heard."""
    means: list
    levels: list
    heard: list


# --- traces ---

def _fading(rng, count, speed_mps, rice_db):
    """In dB, of each step."""
    power = 10 ** (rice_db / 10)
    steady, moves = math.sqrt(power / (power + 1)), math.sqrt(1 / (power + 1) / 2)
    # Clarke's: J0(2 pi v t / wave), which is taken for 0 behind its first zero
    angle = 2 * math.pi * speed_mps * STEP_MS / 1000 / WAVE_M
    keep = math.cos(min(angle / math.sqrt(2), math.pi / 2))
    new = math.sqrt(1 - keep ** 2)
    parts = [rng.gauss(0, 1) for _ in range(2 * ANTENNAS)]
    found = []
    for _ in range(count):
        parts = [keep * part + new * rng.gauss(0, 1) for part in parts]
        gain = sum((moves * part + steady * (i % 2)) ** 2 for i, part in enumerate(parts))
        found.append(10 * math.log10(max(gain / ANTENNAS, 1e-6)))
    return found


def _trace(rng, means, heard, speed_mps, rice_db):
    fades = _fading(rng, len(means), speed_mps, rice_db)
    return Trace(means, [round(mean + fade) for mean, fade in zip(means, fades)], heard)


def _ways():
    """{name: (distances in m of each step, speed m/s of the shadowing where it stands)}"""
    def steps(seconds):
        return [i * STEP_MS / 1000 for i in range(round(seconds * 1000 / STEP_MS))]
    stop_m = 0.75 * RANGE_M
    return {
        "drives past at 13 m/s": ([math.hypot(13 * s - 60, 10) for s in steps(14)], 13),
        "walks away": ([20 + 1.4 * s for s in steps(65)], 1.4),
        "walks out to 80 %, and back": (
            [57 - abs((1.4 * s + 10) % 90 - 45) for s in steps(80)], 1.4),
        "bus, stops at 75 %": (
            [12 + 10 * s for s in steps(4)] + [stop_m for _ in steps(20)]
            + [stop_m + 10 * s for s in steps(6)], 0),
        "sits at 60 %": ([0.6 * RANGE_M for _ in steps(120)], 0.3)}


WAYS = _ways()


def drawn(name, shadow_db, number):
    """One way, drawn by its number. Where it sits people walk past, as if it moved at 0.3 m/s."""
    rng = random.Random(f"{name} {shadow_db} {number}")
    distances, still_mps = WAYS[name]
    shadow, before, means, fastest = rng.gauss(0, shadow_db), distances[0], [], 0.5
    for distance in distances:
        step_m = abs(distance - before) or (still_mps if still_mps < 1 else 0) * STEP_MS / 1000
        keep = math.exp(-step_m / SHADOW_M)
        shadow = keep * shadow + math.sqrt(1 - keep ** 2) * rng.gauss(0, shadow_db)
        means.append(THRESHOLD_DBM + 10 * EXPONENT * math.log10(RANGE_M / max(distance, 1)) + shadow)
        fastest, before = max(fastest, step_m * 1000 / STEP_MS), distance
    heard = [mean > THRESHOLD_DBM - DEAF_DB for mean in means]
    return _trace(rng, means, heard, min(fastest, 15), RICE_DB[shadow_db])


def _rows(path):
    with open(path, "rb") as file:
        data = file.read()
    return csv.DictReader(io.StringIO((lzma.decompress(data) if path.endswith(".xz") else data).decode()))


def _recording(name, rows):
    """rows: [(second, dBm, m/s)] in order; between two seconds the level is on a straight line."""
    known = [row for row in rows if row[1] > SILENT_DBM]
    by_second = {second: dbm for second, dbm, _ in known}
    means, heard, at = [], [], 0
    for step in range((rows[-1][0] - rows[0][0]) * 1000 // STEP_MS):
        second = rows[0][0] + step * STEP_MS / 1000
        while at + 2 < len(known) and known[at + 1][0] <= second:
            at += 1
        (from_s, a, _), (to_s, b, _) = known[at], known[at + 1]
        means.append(a + min(1, max(0, (second - from_s) / (to_s - from_s))) * (b - a))
        heard.append(math.floor(second + 0.5) in by_second)
    speed_mps = statistics.median(row[2] for row in rows)
    return _trace(random.Random(name), means, heard, max(1, speed_mps), RECORDED_RICE_DB)


def recordings(folder):
    """{name: trace}, of a folder, of wifi-levels in it or of wifi-levels beside it; in order."""
    pairs = {}
    for place in (folder, os.path.join(folder, "wifi-levels"),
                  os.path.join(folder, os.pardir, "wifi-levels")):
        names = sorted(os.listdir(place)) if os.path.isdir(place) else []
        for name in (name for name in names if name.endswith((".csv", ".csv.xz"))):
            for row in _rows(os.path.join(place, name)):
                try:
                    pairs.setdefault(f"{row['ap']} {row['client']}", []).append(
                        (int(row["t_s"]), float(row["rssi_dbm"]), float(row["speed_ms"])))
                except (KeyError, ValueError, TypeError):
                    raise BadInput(f"{name}: not of columns ap, client, t_s, rssi_dbm and "
                                   "speed_ms") from None
        if pairs:
            break
    if not pairs:
        raise BadInput(f"--traces {folder}: there are no levels, wifi-levels/*.csv.xz")
    return {name: _recording(name, sorted(rows)) for name, rows in sorted(pairs.items())}


# --- who predicts ---

def lost(trace, threshold_dbm):
    """Of each step: is the path lost?"""
    state, count, found = False, 0, []
    for mean, heard in zip(trace.means, trace.heard):
        want = not heard or mean < threshold_dbm + (BACK_DB if state else 0)
        found.append(state)
        count = count + 1 if want != state else 0
        if count >= (BACK_STEPS if state else LOST_STEPS):
            found[len(found) - count:] = [want] * count
            state, count = want, 0
    return found


def stopped_by_program(program, trace, threshold_dbm, options=()):
    """Of each step: does what pams-predict said stop it?"""
    text = "".join(f"{i * STEP_MS} {level}\n" for i, (level, heard) in
                   enumerate(zip(trace.levels, trace.heard)) if heard)
    done = subprocess.run([program, "--levels", "-", "--threshold", str(threshold_dbm),
                           *options], input=text, text=True, capture_output=True, check=False)
    if done.returncode:
        raise LabError("pams-predict fails", done.stderr.splitlines())
    lines, at, now, found = [json.loads(line) for line in done.stdout.splitlines()], 0, None, []
    for step in range(len(trace.levels)):
        ms = step * STEP_MS
        while at < len(lines) and lines[at]["at_ms"] <= ms:
            now, at = lines[at], at + 1
        at_ms = now["at_ms"] + now["loss_ms"] if now and "loss_ms" in now else None
        found.append(at_ms is not None and
                     at_ms - SPREADS * now["spread_ms"] <= ms < at_ms + HOLDS_MS)
    return found


def stopped_by_rule(trace, threshold_dbm):
    """Of each step: does the threshold rule stop it?"""
    last, state, count, found = [], False, 0, []
    for level, heard in zip(trace.levels, trace.heard):
        if heard:
            last = (last + [level])[-RULE_STEPS:]
            mean = sum(last) / len(last)
            if not state:
                state, count = mean < threshold_dbm + RULE_DB, 0
            else:
                count = count + 1 if mean >= threshold_dbm + BACK_DB else 0
                state = count < BACK_STEPS
        found.append(state)
    return found


# --- how well ---

def _episodes(steps):
    """[(first, behind the last)] of each run of true ones"""
    found, begin = [], None
    for step, is_so in enumerate([*steps, False]):
        if is_so and begin is None:
            begin = step
        elif not is_so and begin is not None:
            found.append((begin, step))
            begin = None
    return found


@dataclass
class Score:
    """Of a predictor, over traces."""
    hours: float = 0
    losses: int = 0
    foreseen: int = 0
    early: int = 0
    late: int = 0
    missed: int = 0
    false: int = 0
    leads_s: list = field(default_factory=list)
    usable_s: float = 0
    unused_s: float = 0

    def add(self, is_lost, is_stopped):
        """One trace."""
        stops, used = _episodes(is_stopped), set()
        self.hours += len(is_lost) * STEP_MS / 3_600_000
        for begin, end in _episodes(is_lost):
            if begin * STEP_MS < BEGINS_MS:
                continue
            self.losses += 1
            before = [i for i, (a, b) in enumerate(stops) if a <= begin and
                      (b > begin - AHEAD_MS[0] * 3 // STEP_MS)]
            if not before:
                self.missed += 1
                used.update([i for i, (a, _) in enumerate(stops) if begin < a < end][:1])
                continue
            used.add(before[-1])
            lead_ms = (begin - stops[before[-1]][0]) * STEP_MS
            self.leads_s.append(lead_ms / 1000)
            self.early += lead_ms > AHEAD_MS[1]
            self.late += lead_ms < AHEAD_MS[0]
            self.foreseen += AHEAD_MS[0] <= lead_ms <= AHEAD_MS[1]
        for i, (begin, end) in enumerate(stops):
            self.false += i not in used and not any(is_lost[begin:end + AFTER_MS // STEP_MS])
        self.usable_s += is_lost.count(False) * STEP_MS / 1000
        self.unused_s += STEP_MS / 1000 * sum(stop and not loss for stop, loss
                                              in zip(is_stopped, is_lost))

    def figures(self):
        """For JSON and bounds."""
        share = self.foreseen / self.losses if self.losses else None
        return {"hours": self.hours, "losses": self.losses, "foreseen": share,
                "early": self.early, "late": self.late, "missed": self.missed,
                "lead_s": statistics.median(self.leads_s) if self.leads_s else None,
                "false_per_hour": self.false / self.hours,
                "unused": self.unused_s / max(self.usable_s, 1)}

    def row(self):
        """For the table."""
        is_ = self.figures()
        return [str(self.losses), f"{100 * is_['foreseen']:.0f} %" if self.losses else "-",
                str(self.early), str(self.late), str(self.missed),
                f"{is_['lead_s']:.2f}" if self.leads_s else "-",
                f"{is_['false_per_hour']:.1f}", f"{100 * is_['unused']:.1f} %"]


HEAD = ["levels", "predictor", "losses", "foreseen", "early", "late", "missed", "lead s", "false/h",
        "unused"]


def scores(program, traces, threshold_dbm):
    """{predictor: score}"""
    by_program, by_rule = Score(), Score()
    for trace in traces:
        is_lost = lost(trace, threshold_dbm)
        by_program.add(is_lost, stopped_by_program(program, trace, threshold_dbm))
        by_rule.add(is_lost, stopped_by_rule(trace, threshold_dbm))
    return {"pams-predict": by_program, "threshold": by_rule}


def judge(totals):
    """Against the rule, over the drawn ways: {predictor: [score]}"""
    is_, rule = ({name: sum(getattr(score, name) for score in totals[who]) for name in
                  ("foreseen", "early", "false", "unused_s")} for who in ("pams-predict", "threshold"))
    checks = Checks()
    checks.at_most("false stops, of the rule's", 100 * is_["false"] / max(1, rule["false"]), FALSE_PERCENT, "%")
    checks.at_most("usable time not used, of the rule's",
                   100 * is_["unused_s"] / max(1, rule["unused_s"]), UNUSED_PERCENT, "%")
    checks.at_least("losses before which it stopped, of the rule's", 100 *
                    (is_["foreseen"] + is_["early"]) / (rule["foreseen"] + rule["early"]), FORESEEN_PERCENT, "%")
    return checks


def command(args):
    """lab foreseen"""
    program, rows, figures, totals = host.program("pams-predict"), [HEAD], {}, {}

    def score(name, traces, threshold_dbm):
        for who, found in scores(program, traces, threshold_dbm).items():
            rows.append([name, who, *found.row()])
            figures[f"{name}, {who}"] = found.figures()
            if name.startswith(tuple(WAYS)):
                totals.setdefault(who, []).append(found)

    if args.traces:
        found = list(recordings(args.traces).values())
        for half, traces in (("odd", found[0::2]), ("even", found[1::2])):
            for threshold_dbm in RECORDED_DBM:
                score(f"recorded, {half}, {threshold_dbm} dBm", traces, threshold_dbm)
    else:
        print(f"recordings are left out: neither --traces nor ${FOLDER} names their folder\n({SOURCE})\n")
    for name in WAYS:
        for shadow_db in RICE_DB:
            numbers = range(args.first_drive, args.first_drive + args.repeat)
            score(f"{name}, {shadow_db} dB", [drawn(name, shadow_db, i) for i in numbers], THRESHOLD_DBM)
    print("\n".join(report.aligned(rows)))
    if args.traces:
        print("\n" + falls.table(args.traces))
    if args.json:
        with open(args.json, "w", encoding="utf-8") as file:
            json.dump(figures, file, indent=1)
    checks = judge(totals)
    print("\n" + "\n".join(checks.lines()))
    return 0 if checks.good else 1
