# SPDX-License-Identifier: GPL-2.0
"""`lab demo`: default against pams and minfct where two paths hurt, help, and change.

Prints a table, says in words what it shows, and draws each path's bytes. Then four
transfers untold, and while pamsd tells the server's kernel what TCP can't see: how fast
the pipe behind a helper device is, and when a path will be lost. One helper's pipe loses
packets; it is a plain router, or runs pamsplit. A second picture shows these two.
"""

import os
import statistics
from dataclasses import dataclass, replace
from functools import partial

import fed
import host
import plot
import report
import runs
from progress import Progress
from scenario import Scenario, helped, parse_change, parse_helper, parse_path

REPEATS = 3
SCHEDULERS = ("default", "pams", "minfct")
LEVEL = 0.02        # a smaller difference is called none


@dataclass(frozen=True)
class Case:
    """One row."""
    title: str
    scenario: Scenario


def _case(title, paths, size, requests=5, change="", helper=""):
    paths = tuple(parse_path(path) for path in paths)
    if helper:
        paths = (*paths, parse_helper(helper))
    changes = (parse_change(change, len(paths), helped(paths)),) if change else ()
    return Case(title, Scenario(paths=paths, changes=changes, bytes_min=size,
                                bytes_max=size, requests=requests, gap_ms=300))


CASES = (
    _case("256 KB, 50 Mbit/s 5 ms + 10 Mbit/s 50 ms",
          ("50mbit,5ms", "10mbit,50ms"), 256_000),
    _case("1 MB, 8 Mbit/s 10 ms + 5 Mbit/s 40 ms",
          ("8mbit,10ms", "5mbit,40ms"), 1_000_000),
    _case("4 MB, 5 + 5 Mbit/s 25 ms, one falls to 1 Mbit/s",
          ("5mbit,25ms", "5mbit,25ms"), 4_000_000, 1, "2s,1,rate=1mbit"),
)


@dataclass(frozen=True)
class Fed:
    """A case in which pamsd reports."""
    title: str
    scenario: Scenario
    guest: object           # of all that a guest needs, and pamsd=FILE
    look_s: float           # when to show what the kernel was told


FED_NAMES = ("default", "minfct", "minfct told")
LOSS_MS = 1000


def _helper(pipe, kind, change=""):
    return _case("", ("5mbit,25ms",), 4_000_000, 1, change, f"10mbit:20ms,{pipe},{kind}").scenario


LOSSY_PIPE = "5mbit:5ms:loss=2%"

FED = (
    Fed("4 MB, 5 Mbit/s 25 ms + a helper whose pipe falls from 5 to 1 Mbit/s",
        _helper("5mbit:5ms:700", "router", "2s,1.pipe,rate=1mbit"), fed.HelperGuest, 2.5),
    Fed("the same, but the pipe loses 2 % of the packets instead",
        _helper(LOSSY_PIPE, "router"), fed.HelperGuest, 2.5),
    Fed("the same, and pamsplit runs on the helper", _helper(LOSSY_PIPE, "pays"), fed.HelperGuest, 2.5),
    Fed("5 MB, 25 Mbit/s 5 ms + 5 Mbit/s 25 ms, the first is lost at 1 s",
        _case("", ("25mbit,5ms", "5mbit,25ms"), 5_000_000, 1, "1s,0,link=down").scenario,
        partial(fed.LossGuest, loss_ms=LOSS_MS), 0.1),
)


def _drawn(case, job):
    """Is it in the second picture?"""
    return case in FED[1:3] and job.scheduler == "minfct" and job.repeat == 0


def _fed_jobs(case, pamsd, draws):
    jobs = []
    for name in FED_NAMES:
        scheduler, _, told = name.partition(" ")
        daemon = pamsd if told else ""
        jobs += [replace(job, name=name, of=case.title, trace=draws and _drawn(case, job),
                         guest=partial(case.guest, pamsd=daemon, looks=job.repeat == 0))
                 for job in runs.jobs_of(case.scenario, [scheduler], False, REPEATS, False)]
    return jobs


def _fed_row(title, results, value, digits):
    means = [statistics.fmean(value(result) for result in results if result["name"] == name)
             for name in FED_NAMES]
    return title, [f"{mean:.{digits}f}" for mean in means]


def _fed_rows(case, results):
    first = [lambda result: result["requests"][0]["fct_s"],
             lambda result: sum(path["down_lost"] for path in result["paths"]),
             lambda result: result["requests"][0]["gap_s"] * 1000]
    rows = [_fed_row(case.title, results, first[0], 3)]
    if case is FED[-1]:
        rows += [_fed_row("  packets lost", results, first[1], 0),
                 _fed_row("  longest stall, ms", results, first[2], 0)]
    return rows


def _fed_words(rows):
    """What the rows mean, in words."""
    falls, router, split, _, lost, _ = [dict(zip(FED_NAMES, map(float, cells))) for _, cells in rows]
    return "\n".join((
        f"A pipe that falls: minfct that is told is {_than(falls['minfct told'], falls['minfct'])} one that isn't.",
        f"A pipe that loses packets: with pamsplit default is {_than(split['default'], router['default'])} over a "
        f"router, minfct {_than(split['minfct'], router['minfct'])} over one.",
        f"A link that is lost at a foretold time: {lost['minfct told']:.0f} packets are lost, "
        f"{lost['minfct']:.0f} untold."))


def _told_text(path, at_s):
    pipe, loss = path.get("pipe"), path.get("loss")
    said = []
    if pipe:
        said.append(f"its pipe carries {pipe['rate_byteps'] * 8 / 1e6:.2f} Mbit/s, "
                    f"{pipe['backlog_bytes'] / 1e3:.0f} KB wait before it")
    if loss:
        said.append(f"it will be lost in {loss['time_ms']} ms")
    return f"At {at_s:.2f} s the server's kernel knows of {path['address']}: {'; '.join(said)}."


def _told(case, results):
    """What pamsd had told the kernel by look_s of an address, as a sentence."""
    looks = [(path, look["at_s"]) for result in results for look in result.get("told", ())
             if look["at_s"] >= case.look_s for path in look["paths"] if "address" in path]
    return _told_text(*looks[0]) if looks else \
        "The server's kernel was told nothing: pamsd failed."


def _fed_text(rows):
    width = max(len(title) for title, _ in rows)
    lines = ["  ".join([" " * width, *FED_NAMES])]
    lines += [title.ljust(width) + "  " + "  ".join(
        cell.rjust(len(name)) for cell, name in zip(cells, FED_NAMES)) for title, cells in rows]
    return "\n".join(lines)


def _than(value, other):
    """'12 % faster than', for times."""
    part = value / other - 1
    if abs(part) < LEVEL:
        return "as fast as"
    if part > 1:
        return f"{part + 1:.1f} times as long as"
    return f"{abs(part) * 100:.0f} % {'slower' if part > 0 else 'faster'} than"


def _row(case, results):
    lines = {line["name"]: line for line in report.summary(results)}
    return {"title": case.title, "bound": report.bound_s(case.scenario),
            "single": report.best_single_s(list(lines.values())),
            "failed": sum(line["failed"] for line in lines.values()),
            **{name: lines[name]["mean_s"] for name in SCHEDULERS}}


def _text(rows):
    heads = ("fluid bound", "best path alone", *SCHEDULERS)
    keys = ("bound", "single", *SCHEDULERS)
    width = max(len(row["title"]) for row in rows)
    out = ["mean completion time in s".ljust(width) + "  " + "  ".join(head.rjust(5) for head in heads)]
    for row in rows:
        out.append(row["title"].ljust(width) + "  " + "  ".join(
            f"{row[key]:.3f}".rjust(max(len(head), 5)) for key, head in zip(keys, heads)))
    out.append("")
    for row in rows:
        out.append(f"{row['title']}: minfct is {_than(row['minfct'], row['default'])} default, "
                   f"{_than(row['minfct'], row['single'])} the best path alone.")
    return "\n".join(out)


def _section(case, done):
    """A column of a picture."""
    return case.scenario, [(result, packets) for result, packets in done if packets]


def _no_picture():
    """Why there is none, or "": pictures are an extra, for which nothing is installed."""
    try:
        plot.available()
        host.need_programs(["tcpdump"], "draw")
    except host.LabError:
        return "no picture: 'sudo apt-get install python3-matplotlib tcpdump', then make demo again"
    return ""


def _draw(file, sections, what):
    """Where packets were recorded."""
    if all(recorded for _, recorded in sections):
        plot.draw(file, sections)
        print(f"\n{what}: {os.path.relpath(file)}")


def _print_fed(done, fed_jobs, plot_file):
    """Whether the kernel was told, and everything arrived."""
    rows, said, sections = [], [], []
    for case, jobs in zip(FED, fed_jobs):
        mine, done = done[:len(jobs)], done[len(jobs):]
        results = [result for result, _ in mine]
        if any(result["failed"] for result in results):
            print(f"FAILED: {case.title}")
            return False
        rows += _fed_rows(case, results)
        said.append(_told(case, results))
        if any(_drawn(case, job) for job in jobs):
            sections.append(_section(case, mine))
    print("\nAnd if pamsd reports (mean completion time in s):\n")
    print(f"{_fed_text(rows)}\n\n{_fed_words(rows)}\n")
    print("\n".join(said))
    _draw(plot_file, sections, "A helper as a router, and with pamsplit, minfct untold and told")
    return not any("nothing" in line for line in said)


def command(args, means, pamsd):
    """Run all cases, print, draw."""
    no_picture = _no_picture()
    jobs, spans = [], []
    for case in CASES:
        mine = runs.jobs_of(case.scenario, SCHEDULERS, True, REPEATS, False)
        mine = [replace(job, of=case.title, trace=not no_picture and job.repeat == 0 and job.path < 0)
                for job in mine]
        spans.append((len(jobs), len(jobs) + len(mine)))
        jobs += mine
    fed_jobs = [_fed_jobs(case, pamsd, not no_picture) for case in FED]
    with Progress(args.quiet) as progress:
        done = runs.run_all(means, jobs + sum(fed_jobs, []), args.jobs, progress)
    rows, sections = [], []
    for case, (begin, end) in zip(CASES, spans):
        part = done[begin:end]
        rows.append(_row(case, [result for result, _ in part]))
        sections.append(_section(case, part))
    os.makedirs(os.path.dirname(os.path.abspath(args.plot)), exist_ok=True)
    print(f"Linux {means.kernel.release}, {REPEATS} runs of each in virtual time\n")
    print(_text(rows))
    _draw(args.plot, sections, "Each path's bytes over time")
    base, ending = os.path.splitext(args.plot)
    good = _print_fed(done[spans[-1][1]:], fed_jobs, f"{base}-helper{ending}")
    if no_picture:
        print(f"\n{no_picture}")
    return 0 if good and not any(row["failed"] for row in rows) else 1
