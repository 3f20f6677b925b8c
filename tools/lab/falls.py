# SPDX-License-Identifier: GPL-2.0
"""Is a fall of a mobile link's rate foreseeable from its signal? The second part of `lab foreseen`.

Recorded: of each second of a download in a drive RSRP, RSRQ, SNR and the rate (5g/driving*.csv,
see SOURCE). A fall: the mean rate of two seconds is below a quarter of that of the five before,
which is 2 Mbit/s at least. What is known is of the second before, and older.

    AUC     the chance that a fall has the smaller value than what is none: 50 % says nothing
"""

import csv
import glob
import io
import itertools
import lzma
import os

import report

SOURCE = ("uccmisl/5Gdataset (Raca, Leahy, Sreenan, Quinlan: MMSys 2020): of each second RSRP, RSRQ, "
          "SNR and kbit/s")
SIGNALS = {"RSRP": "rsrp_dbm", "RSRQ": "rsrq_db", "SNR": "snr_db"}
BEFORE_S, AFTER_S, CHANGE_S = 5, 2, 3
LEAST_KBPS, FALL = 2000, 4


def _number(text):
    """None if it is none: not every second has each."""
    try:
        return float(text)
    except (TypeError, ValueError):
        return None


def falls(rates):
    """{second: is it the first of a fall?}, of the seconds that may be one."""
    found = {}
    for second in range(max(BEFORE_S, CHANGE_S + 1), len(rates) - AFTER_S + 1):
        before = sum(rates[second - BEFORE_S:second]) / BEFORE_S
        if before >= LEAST_KBPS:
            found[second] = sum(rates[second:second + AFTER_S]) / AFTER_S < before / FALL
    return found


def auc(values):
    """values: [(value, is it a fall)]. None if there is nothing to compare."""
    others = sum(not fall for _, fall in values)
    pairs, below, above = others * (len(values) - others), 0, others
    for _, same in itertools.groupby(sorted(values), lambda one: one[0]):
        found = [fall for _, fall in same]
        below += sum(found) * (above - found.count(False) / 2)
        above -= found.count(False)
    return below / pairs if pairs else None


def of_drive(rows):
    """{what is known: [(value, is it a fall)]}"""
    rates = [_number(row["down_kbps"]) or 0 for row in rows]
    found = {}
    for second, fall in falls(rates).items():
        for name, column in SIGNALS.items():
            now, then = (_number(rows[second - back][column]) for back in (1, 1 + CHANGE_S))
            if now is not None:
                found.setdefault(name, []).append((now, fall))
            if now is not None and then is not None:
                found.setdefault(f"{name}, change in {CHANGE_S} s", []).append((now - then, fall))
        last = rates[second - 1] / sum(rates[second - BEFORE_S:second])
        found.setdefault(f"rate of the last second, of the last {BEFORE_S}", []).append((last, fall))
    return found


def table(folder):
    """Text: of the drives of a folder, of 5g in it or beside it; "" if there are none."""
    found = {}
    for place in (folder, os.path.join(folder, "5g"), os.path.join(folder, os.pardir, "5g")):
        paths = sorted(glob.glob(os.path.join(place, "driving*.csv*")))
        for path in paths:
            with (lzma.open if path.endswith(".xz") else open)(path, "rb") as file:
                rows = list(csv.DictReader(io.StringIO(file.read().decode())))
            for name, values in of_drive(rows).items():
                found.setdefault(name, []).extend(values)
        if paths:
            break
    if not found:
        return ""
    return "\n".join(report.aligned([["falls of 5G's rate, by", "seconds", "falls", "AUC"]] + [
        [name, str(len(values)), str(sum(fall for _, fall in values)), f"{100 * (auc(values) or 0):.0f} %"]
        for name, values in found.items()]))
