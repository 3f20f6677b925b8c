# SPDX-License-Identifier: GPL-2.0
"""New connections over drawn pairs of links, by who chooses where they begin: a part of
`lab bench`.

The scenarios are drawn.py's of the kind "first". The first connection of each, or its first page,
doesn't count: pamsd learns from it. Times are in those of the best single path; "learned" is also
held against "given" of the same scheduler, since its hint may never cost anything.
"""

import begins
import drawn
import report
import sweep
import units

SEED, COUNT = 30, 160       # half of them are reported
SCHEDULERS = ("default", "minfct")
FIRSTS = ("given", "learned", "oracle")
HEAD = ["", "connections begin", "", "rows", "/single", "> 1.05", "worst", "/given", "> 1.05",
        "worst", "failed"]


def groups_of(rows):
    """[(title, rows)] by what is transferred; all; without pages' first ones."""
    found = {}
    for row in rows:
        scenario = drawn.named(row["name"]).scenario
        if row["part"] == "first":
            continue
        title = (f"page of {scenario.objects} objects" if scenario.objects else
                 units.size_text(scenario.bytes_max))
        found.setdefault(title, []).append(row)
    return [*found.items(), ("all", [row for mine in found.values() for row in mine])]


def _cells(ratios):
    values = [ratio for ratio, _ in ratios]
    over = sum(value > sweep.HARM for value in values)
    return [report.cell(sweep.geometric_mean(values), ".3f"),
            report.cell(over / len(values) if values else None, ".0%"),
            report.cell(max(values, default=None), ".2f")]


def body(rows):
    """[row] of the table."""
    lines = []
    for title, mine in groups_of(rows):
        for name in sorted(sweep.names_of(mine), key=lambda name: name.partition("+")[0]):
            scheduler, _, first = name.partition("+")
            failed = sum(row["time_s"][name] is None for row in mine)
            lines.append([title, first or FIRSTS[0], scheduler, str(len(mine)),
                          *_cells(sweep.ratios(mine, name, sweep.against_single)),
                          *_cells(sweep.ratios(mine, name, sweep.against_given)), str(failed)])
    return lines


def folded(rows):
    """(head, [row]) of a shorter table, a row for each scheduler and size; the last columns are learned's."""
    found = []
    for title, mine in groups_of(rows):
        for scheduler in SCHEDULERS:
            learned = begins.name_of(scheduler, "learned")
            means = [_cells(sweep.ratios(mine, begins.name_of(scheduler, first), sweep.against_single))[0]
                     for first in FIRSTS]
            found.append([title, scheduler, str(len(mine)), *means,
                          *_cells(sweep.ratios(mine, learned, sweep.against_single))[1:],
                          *_cells(sweep.ratios(mine, learned, sweep.against_given))])
    return ["", "", "rows", *FIRSTS, "> 1.05", "worst", "/given", "> 1.05", "worst"], found


def worst(rows, name, count=8):
    """[(ratio, row)] where a choice costs most against that of the default route."""
    return sweep.ratios([row for _, mine in groups_of(rows)[:-1] for row in mine], name,
                        sweep.against_given)[:count]


def table(rows):
    """Text for people."""
    return "\n".join(report.aligned([HEAD, *body(rows)]))


def measure(means, at_once, quiet):
    """For the page."""
    several = drawn.several(SEED, COUNT, "report", "first")
    rows, _ = sweep.run(means, several, list(SCHEDULERS), at_once, quiet, firsts=FIRSTS)
    return {"seed": SEED, "count": COUNT, "rows": rows}
