# SPDX-License-Identifier: GPL-2.0
"""`lab constants`: what half and double of each constant of the module cost.

tools/lab/constants.toml names them. For each, the module is built twice more, in a copy of
the sources, and goes through the scenarios of `lab sweep`. One that no scenario comes to, such as
those about helpers that end TCP, is left out unless --only names it; the page says which test it
is for. Compared with the module as it is:

  time         geometric mean of the ratios of the runs' times
  changed      runs whose time differs by over 1 %
  harm         runs slower than the best path once joined by over 5 %, more or less
  duplicates   mean share of the payload that arrived twice, more or less

A run in virtual time that takes one other decision may end some percent sooner or later by
chance alone. So a mean within twice its standard error, or within NOISE, says nothing.
"""

import json
import math
import os
import re
import shutil
import statistics
import subprocess
import sys
import tomllib
from dataclasses import dataclass, replace

import drawn as drawing
import host
import report
import runs
import sweep
from host import LabError
from progress import Progress
from units import BadInput

TABLE = os.path.join(host.HERE, "constants.toml")
SOURCES = os.path.join("net", "mptcp_pams")
NOISE = 0.005
CHANGED = 0.01
SIDES = ("half", "double")


@dataclass(frozen=True)
class Constant:
    """An entry of constants.toml."""
    name: str
    file: str
    why: str
    sched: str = "minfct"
    case: str = ""
    text: str = ""
    half: str = ""
    double: str = ""

    def _define(self, source):
        found = re.findall(rf"^#define {self.name}[ \t]+(.*?)[ \t]*(?:/\*.*)?$", source, re.M)
        return found[0] if len(found) == 1 else None

    def value(self, source):
        """As it stands in that source."""
        value = self.text or self._define(source)
        if not value or source.count(value) < 1 or (self.text and source.count(value) != 1):
            raise LabError(f"{self.name} isn't in {SOURCES}/{self.file}, or not once: "
                           "put tools/lab/constants.toml right")
        return value

    def changed(self, source, side):
        """The source with half or double of it."""
        value = self.value(source)
        other = {"half": self.half, "double": self.double}[side]
        if self.text:
            return source.replace(value, other)
        other = other or f"(({value}) {'/' if side == 'half' else '*'} 2)"
        return re.sub(rf"^(#define {self.name}[ \t]+){re.escape(value)}",
                      lambda found: found.group(1) + other, source, flags=re.M)


def constants(only=""):
    """All that the table names, or those of a comma-separated list."""
    with open(TABLE, "rb") as text:
        found = [Constant(**entry) for entry in tomllib.load(text)["constant"]]
    wanted = [name.strip() for name in only.split(",")] if only else []
    for name in wanted:
        if name not in [constant.name for constant in found]:
            raise BadInput(f"--only {name}: tools/lab/constants.toml has no such constant")
    return [constant for constant in found if not wanted or constant.name in wanted]


def fixed():
    """{macro with a number that is no tunable: why}"""
    with open(TABLE, "rb") as text:
        return tomllib.load(text)["fixed"]


class Builder:
    """Builds the module in a copy of the sources."""

    def __init__(self, kernel):
        self._kernel = kernel
        self._tree = os.path.join(host.TOP, "build", "constants")
        shutil.rmtree(self._tree, ignore_errors=True)
        for name in ("Makefile", "Kbuild", "include", "net", os.path.join("tools", "layout")):
            source, copy = os.path.join(host.TOP, name), os.path.join(self._tree, name)
            os.makedirs(os.path.dirname(copy), exist_ok=True)
            (shutil.copytree if os.path.isdir(source) else shutil.copy2)(source, copy)

    def _path(self, constant):
        return os.path.join(self._tree, SOURCES, constant.file)

    def source(self, constant):
        """Of the file that the constant is in."""
        with open(os.path.join(host.TOP, SOURCES, constant.file), encoding="utf-8") as text:
            return text.read()

    def build(self, constant=None, side=""):
        """The module, with half or double of a constant; a path."""
        if constant:
            with open(self._path(constant), "w", encoding="utf-8") as out:
                out.write(constant.changed(self.source(constant), side))
        done = subprocess.run(
            ["make", "-C", self._tree, f"KDIR={self._kernel.folder}", "ARCH=um"],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
            env={name: value for name, value in os.environ.items()
                 if name not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS")})
        if constant:
            with open(self._path(constant), "w", encoding="utf-8") as out:
                out.write(self.source(constant))
        module = os.path.join(self._tree, "build", self._kernel.release, "mptcp_pams.ko")
        if done.returncode or not os.path.exists(module):
            raise LabError(f"the module with {side} {constant.name if constant else ''} "
                           "does not build", done.stdout.splitlines()[-15:])
        return module


class Swept:
    """Runs the scenarios with a module."""

    def __init__(self, args, means):
        self._args, self._means = args, means
        self._several = drawing.several(args.seed, args.count, args.half, args.kind)
        self._alone = {}    # what doesn't depend on the module: (scenario, path, repeat): result

    def rows(self, module, scheduler):
        """The rows of every part of the scenarios."""
        means = runs.remembering(replace(self._means, module=module), [scheduler], True)
        pairs = [(drawn, sweep.jobs_of(drawn, [scheduler])) for drawn in self._several]
        keys = [(drawn.name, job.path, job.repeat) for drawn, jobs in pairs for job in jobs]
        jobs = dict(zip(keys, (job for _, mine in pairs for job in mine)))
        new = {key: job for key, job in jobs.items() if key not in self._alone}
        with Progress(self._args.quiet) as progress:
            done = runs.run_all(means, list(new.values()), self._args.jobs, progress)
        results = self._alone | dict(zip(new, (result for result, _ in done)))
        self._alone = {key: result for key, result in results.items() if jobs[key].path >= 0}
        return sweep.rows_of(pairs, [results[key] for key in keys])


def error_of(ratios):
    """Standard error of their geometric mean, as a share."""
    if len(ratios) < 2:
        return 0
    return statistics.stdev(map(math.log, ratios)) / math.sqrt(len(ratios))


def compare(rows, base, name):
    """What other times, harm and duplicates the rows show than those of the base."""
    pairs = [(mine["time_s"][name], other["time_s"][name]) for mine, other in zip(rows, base)]
    ratios = [mine / other for mine, other in pairs if mine and other]
    mine, other = sweep.summary_of(rows, name), sweep.summary_of(base, name)
    return {"time": sweep.geometric_mean(ratios), "error": error_of(ratios),
            "runs": len(ratios),
            "changed": sum(abs(ratio - 1) > CHANGED for ratio in ratios),
            "harm": mine["joined_harmed"] - other["joined_harmed"],
            "duplicates": mine["duplicates_mean"] - other["duplicates_mean"],
            "failed": mine["failed"]}


def verdict(half, double):
    """What half and double show, in a few words, or nothing."""
    if not half["changed"] and not double["changed"]:
        return "no run changes"
    if all(abs(side["time"] - 1) < _noise(side) and not side["harm"] and
           abs(side["duplicates"]) < NOISE for side in (half, double)):
        return "within noise"
    better = [side for side, found in zip(SIDES, (half, double))
              if found["time"] < 1 - _noise(found) and found["harm"] <= 0]
    return f"{better[0]} is better here" if better else ""


def _noise(found):
    return max(NOISE, 2 * found["error"])


def _cells(found):
    return [f"{(found['time'] - 1) * 100:+.1f} ± {found['error'] * 100:.1f} %", str(found["changed"]),
            f"{found['harm']:+d}" if found["harm"] else "0",
            f"{found['duplicates'] * 100:+.1f}"]


def value_shown(text):
    """Of a macro or a place, on one line, without a table's signs."""
    return " ".join(text.split()).replace("|", "\\|")


def harmed(bases):
    """Which runs of the module as it is are slower than the best path once joined, in words."""
    said = []
    for scheduler, rows in bases.items():
        slower = [f"{row['name']}{' ' + row['part'] if row['part'] else ''} ({ratio:.2f} times)" for ratio, row in
                  sweep.ratios(rows, scheduler, sweep.against_joined) if ratio > sweep.HARM]
        said.append(f"{len(slower)} of {len(rows)} runs with `{scheduler}`{': ' if slower else ''}" +
                    ", ".join(slower))
    return "; ".join(said)


def page(lines, args, bases, others=()):
    """Documentation/constants.md; @bases: {scheduler: rows of the module as it is}, @others
    weren't measured."""
    scenarios = len(next(iter(bases.values()))) if bases else 0
    head = ["<!-- SPDX-License-Identifier: GPL-2.0 -->", "# The module's constants", "",
            "`tools/lab/lab constants --out Documentation/constants.md` writes this page. "
            "Each constant's reason, and what half and", "double of it cost, over "
            f"{scenarios} scenarios of `lab sweep` (--count {args.count} --half {args.half}, "
            f"seed {args.seed}; transfers and pages):", "",
            "- **time**: the geometric mean of the runs' times, against the module as it is, and its "
            f"standard error; less than twice that, or than {NOISE * 100:g} %, is noise.",
            f"- **n**: runs whose time differs by over {CHANGED * 100:g} %.",
            "- **harm**: how many more, or fewer, are slower than the best path once joined by "
            "over 5 %. As the module is, these are",
            f"  {harmed(bases)}. A change that ends one of these by chance shows as a gain.",
            "- **dup**: duplicates, in percent of the payload, more or less.", "",
            "Limits of a type or of the kernel, and sizes of tables, aren't in the table, nor what "
            "no scenario comes to: that", "is at the end.", "",
            "| constant | value | half: time | n | harm | dup | double: time | n | harm | dup | |",
            "|---|---|---|---|---|---|---|---|---|---|---|"]
    table = ["| " + " | ".join(
        [f"`{line['name']}`" if line["name"].isupper() else line["name"],
         f"`{value_shown(line['value'])}`", *_cells(line["half"]), *_cells(line["double"]),
         verdict(line["half"], line["double"])]) + " |" for line in lines]
    reasons = ["", "## Why", ""]
    for line in lines:
        where = f"`{SOURCES}/{line['file']}`"
        whose = "" if line["sched"] == "minfct" else f", measured with `{line['sched']}`"
        reasons.append(f"- **{line['name']}** ({where}{whose}): {line['why']}")
    for other in others:
        reasons.append(f"- **{other.name}** (`{SOURCES}/{other.file}`, not measured, see "
                       f"selftests/mptcp_pams/{other.case}): {other.why}")
    return "\n".join(head + table + reasons) + "\n"


def _line(constant, builder, swept, bases):
    if constant.sched not in bases:
        bases[constant.sched] = swept.rows(builder.build(), constant.sched)
    found = {"name": constant.name, "file": constant.file, "sched": constant.sched,
             "value": constant.value(builder.source(constant)), "why": constant.why}
    for side in SIDES:
        found[side] = compare(swept.rows(builder.build(constant, side), constant.sched),
                              bases[constant.sched], constant.sched)
    return found


def command(args, means):
    """Build, run, print, write; 1 if a transfer failed."""
    several = [constant for constant in constants(args.only) if args.only or not constant.case]
    others = [constant for constant in constants() if constant not in several and constant.case]
    builder, swept = Builder(means.kernel), Swept(args, means)
    for constant in several:
        constant.value(builder.source(constant))    # before anything takes long
    lines, bases = [], {}
    for number, constant in enumerate(several, 1):
        lines.append(_line(constant, builder, swept, bases))
        if not args.quiet:
            print(f"lab: {number}/{len(several)} {constant.name}: "
                  f"half {' '.join(_cells(lines[-1]['half']))}, "
                  f"double {' '.join(_cells(lines[-1]['double']))}", file=sys.stderr, flush=True)
        if args.json:
            with open(args.json, "w", encoding="utf-8") as out:
                json.dump(lines, out, indent=1)
    if args.out:
        with open(args.out, "w", encoding="utf-8") as out:
            out.write(page(lines, args, bases, others))
    rows = [["", "half: time", "n", "harm", "dup", "double: time", "n", "harm", "dup", ""]]
    rows += [[line["name"], *_cells(line["half"]), *_cells(line["double"]),
              verdict(line["half"], line["double"])] for line in lines]
    print("\n".join(report.aligned(rows)))
    return 1 if any(line[side]["failed"] for line in lines for side in SIDES) else 0
