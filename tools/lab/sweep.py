# SPDX-License-Identifier: GPL-2.0
"""`lab sweep`: many drawn scenarios (drawn.py) under every scheduler.

The time of a run is the mean over the requests that count; of a stream it is how late its
latest byte came. It is compared with

  default      the kernel's scheduler: geometric mean of the ratios
  single       the best of the paths alone, each with the default scheduler: harm
  joined       the same, but a path that a cold connection has yet to join is counted
               as that much later as the join takes: what a scheduler can be blamed for
  bound        the fluid lower bound, where nothing is lost at random, one connection
               has the paths for itself, and the bound is over 1 s
  peers        the best of all other schedulers and the best single path

What is lost at random decides a short transfer: one packet may cost as much as all the
rest. A scenario with loss is run several times, each time with other losses, until
LOSSES packets are expected to be lost at most REPEATS_MAX times; its times are the
means. The n-th packet into a path has the same fate under every scheduler. A path that
a rival has its share of is a matter of luck, too: RIVAL_REPEATS.

Of pages the first and the mean of the later ones are scenarios of their own: rows with
the part "first" or "later", each against the same pages over the best single path.

A connection whose first segments were lost falls back to TCP (RFC 8684, section 3.7) and
has one path to its end, under any scheduler: "fell back" counts them.

The tail is the 99th percentile of the completion times of a scenario's requests, or of a page's
objects, in times of the best single path's. XLINK sets it against the duplicates: it is what
they buy.

Duplicates are payload bytes that arrived on any path beyond those of the transfers,
less what TCP itself sent twice on one path, as a share of the transfers' bytes.
"""

import json
import math
import statistics
from dataclasses import dataclass, replace

import begins
import drawn as drawing
import report
import runs
from progress import Progress

FORMAT = 2
HARM = 1.05             # slower than the best single path by more: harmed
PEERS = 1.10
TAIL = 0.99             # of the completion times, as XLINK (SIGCOMM 2021) tells them
BOUND_FROM_S = 1
WORST_SHOWN = 3
LOSSES, REPEATS_MAX = 10, 4
RIVAL_REPEATS = 2
# A full frame on the wire: Ethernet, IPv4, TCP with time stamps and a full DSS.
HEADER_BYTES = 14 + 20 + 20 + 12 + 28
SEGMENT_BYTES = 1514 - HEADER_BYTES


@dataclass(frozen=True)
class Outcome:
    """What the sweep keeps of a run."""
    mean_s: float       # None: a transfer failed
    bound_s: float
    duplicates: float   # share
    fell_back: int      # connections that are plain TCP since their first packets got lost
    times_s: tuple = () # of each request that counts, or of each object of a page


def _result_s(request):
    """What is compared: a stream's lateness, or a transfer's time."""
    return request.get("late_s", request["fct_s"])


def duplicate_share(drawn, result):
    """Of the transfers' bytes. What this host transfers beside them can't be told from them."""
    if drawn.scenario.beside and not drawn.scenario.neighbour:
        return 0.0
    way, receiver = (("down", "client") if drawn.scenario.direction == "down"
                     else ("up", "server"))
    arrived = sum(path[f"{way}_bytes"] - HEADER_BYTES * path[f"{way}_packets"]
                  for path in result["paths"])
    counters = result["mib"][receiver]
    twice = SEGMENT_BYTES * (counters.get("TcpExtTCPDSACKOldSent", 0)
                             + counters.get("TcpExtTCPDSACKOfoSent", 0))
    payload = sum(request["bytes"] for request in result["requests"]) or 1
    return max(0, arrived - twice - payload) / payload


def outcome(drawn, result, counts, fallen=True):
    """Of one run: of those requests that count; fallen: also what went over plain TCP."""
    fell_back = len({request["conn"] for request in result["requests"] if request["fallback"]})
    counted = [request for request in result["requests"]
               if counts(request) and (fallen or not request["fallback"])]
    if result["failed"] or not counted:
        return Outcome(None, None, duplicate_share(drawn, result), fell_back)
    bounds = [request["bound_s"] for request in counted]
    return Outcome(statistics.fmean(map(_result_s, counted)),
                   None if None in bounds else statistics.fmean(bounds),
                   duplicate_share(drawn, result), fell_back,
                   tuple(time for request in counted
                         for time in request.get("objects_s", [_result_s(request)])))


def repeats(drawn):
    """How often it is run."""
    loss = max(path.loss for path in drawn.scenario.paths)
    lost = loss * drawn.payload_bytes() / SEGMENT_BYTES
    return max(min(REPEATS_MAX, math.ceil(LOSSES / lost)) if lost else 1,
               RIVAL_REPEATS if drawn.contended() else 1)


def jobs_of(drawn, schedulers):
    """Each path alone and each scheduler, as often as it has to be."""
    return [replace(job, of=drawn.name) for job in
            runs.jobs_of(drawn.scenario, schedulers, True, repeats(drawn), False)]


def mean_outcome(outcomes):
    """Of the runs of one scenario; failed if one did."""
    times = [outcome.mean_s for outcome in outcomes]
    return Outcome(None if None in times else statistics.fmean(times),
                   outcomes[0].bound_s,
                   statistics.fmean(outcome.duplicates for outcome in outcomes),
                   sum(outcome.fell_back for outcome in outcomes),
                   tuple(time for outcome in outcomes for time in outcome.times_s))


def _row(drawn, part, found, jobs):
    """Of one part of a scenario, from the outcomes of each name."""
    means = {name: mean_outcome(outcomes) for name, outcomes in found.items()}
    alone = [means[job.name].mean_s for job in jobs if job.path >= 0 and not job.repeat]
    under = {job.name: means[job.name] for job in jobs if job.path < 0 and not job.repeat}
    tails = [percentile(means[job.name].times_s, TAIL) for job in jobs
             if job.path >= 0 and not job.repeat]
    bounds = {name: mine.bound_s for name, mine in under.items()}
    known = [bound_s for bound_s in bounds.values() if bound_s]
    some = next(iter(under.values()))
    return {
        "name": drawn.name, "part": part,
        "text": drawing.text(drawn) + (f": {part}" if part else ""),
        "single_s": min((time for time in alone if time), default=None),
        "joined_s": min((time + drawn.join_s(i) for i, time in enumerate(alone) if time),
                        default=None),
        "alone_s": alone, "bound_s": some.bound_s, "bounds_s": bounds,
        "bound_counts": drawn.bounded() and min(known, default=0) > BOUND_FROM_S,
        "time_s": {name: mine.mean_s for name, mine in under.items()},
        "single_tail_s": min((time for time in tails if time), default=None),
        "tail_s": {name: percentile(mine.times_s, TAIL) for name, mine in under.items()},
        "duplicates": {name: mine.duplicates for name, mine in under.items()},
        "fell_back": {name: mine.fell_back for name, mine in under.items()},
        "again": f"lab sweep --only {drawn.name}",
        "run": drawing.command(drawn, [name for name in under if "+" not in name])}


def rows_of(several, results, fallen=True):
    """One dict per part of a scenario, from the runs' results in the jobs' order; fallen: also
    what connections did that fell back to TCP."""
    left = iter(results)
    rows = []
    for drawn, jobs in several:
        mine = [(job, next(left)) for job in jobs]
        for part, counts in drawn.parts().items():
            found = {}      # name of a job: its runs
            for job, result in mine:
                found.setdefault(job.name, []).append(outcome(drawn, result, counts, fallen))
            rows.append(_row(drawn, part, found, jobs))
    return rows


def parts_of(rows):
    """[(title, rows)]: transfers, first pages, later pages, as far as there are any."""
    found = [(title, [row for row in rows if row["part"] == part]) for title, part in
             (("transfers", ""), ("first pages", "first"), ("later pages", "later"))]
    return [(title, mine) for title, mine in found if mine]


def names_of(rows):
    """The schedulers that ran in any of them, in that order."""
    return list(dict.fromkeys(name for row in rows for name in row["time_s"]))


def ratios(rows, name, against):
    """[(ratio, row)] of the rows where both are known, the worst first."""
    found = []
    for row in rows:
        mine, other = row["time_s"].get(name), against(row, name)
        if mine and other:
            found.append((mine / other, row))
    return sorted(found, key=lambda pair: -pair[0])


def against_default(row, _):
    """The kernel's scheduler."""
    return row["time_s"].get("default")


def against_single(row, _):
    """The best path alone."""
    return row["single_s"]


def against_joined(row, _):
    """The best path alone, where it is one that has to be joined first."""
    return row["joined_s"]


def against_bound(row, name):
    """The fluid bound, where it says something. Of links that vary it depends on when requests began;
    rows that were measured before that was seen have one for all."""
    return row.get("bounds_s", {}).get(name, row["bound_s"]) if row["bound_counts"] else None


def against_peers(row, name):
    """The best of all others."""
    times = [time for other, time in row["time_s"].items() if other != name and time]
    return min(times + [row["single_s"]] if row["single_s"] else times, default=None)


def against_given(row, name):
    """The same scheduler where connections begin on the default route's path."""
    scheduler, plus, _ = name.partition("+")
    return row["time_s"].get(scheduler) if plus else None


def tail_ratios(rows, name):
    """The scheduler's tail in times of the best single path's, for each row."""
    pairs = [(row["tail_s"].get(name), row["single_tail_s"]) for row in rows]
    return [mine / single for mine, single in pairs if mine and single]


def geometric_mean(values):
    """Geometric mean of the values; None if there are none."""
    return math.exp(statistics.fmean(map(math.log, values))) if values else None


def error_of(ratios):
    """Standard error of their geometric mean, as a share."""
    if len(ratios) < 2:
        return 0
    return statistics.stdev(map(math.log, ratios)) / math.sqrt(len(ratios))


def percentile(values, part):
    """The value that this part of them does not exceed."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(part * len(ordered)) - 1)] if ordered else None


def summary_of(rows, name):
    """All figures of one scheduler."""
    default, single, joined, bound, peers = (
        [ratio for ratio, _ in ratios(rows, name, against)] for against in
        (against_default, against_single, against_joined, against_bound, against_peers))
    duplicates = [row["duplicates"][name] for row in rows]
    return {
        "scheduler": name, "scenarios": len(rows),
        "failed": sum(row["time_s"][name] is None for row in rows),
        "default_mean": geometric_mean(default), "default_worst": max(default, default=None),
        "single_mean": geometric_mean(single),
        "tail_mean": geometric_mean(tail_ratios(rows, name)),
        "single_harmed": sum(ratio > HARM for ratio in single),
        "single_p90": percentile(single, 0.9), "single_worst": max(single, default=None),
        "joined_mean": geometric_mean(joined),
        "joined_harm": geometric_mean([max(1, ratio) for ratio in joined]),
        "joined_harmed": sum(ratio > HARM for ratio in joined),
        "joined_p90": percentile(joined, 0.9), "joined_worst": max(joined, default=None),
        "bound_scenarios": len(bound),
        "bound_median": statistics.median(bound) if bound else None,
        "peers_over": sum(ratio > PEERS for ratio in peers),
        "peers_worst": max(peers, default=None),
        "duplicates_mean": statistics.fmean(duplicates) if duplicates else None,
        "duplicates_max": max(duplicates, default=None),
        "fell_back": sum(row["fell_back"][name] for row in rows)}


def best_of_all(rows):
    """Geometric mean against default of the best there is in each scenario."""
    return geometric_mean([against_peers(row, None) / row["time_s"]["default"] for row in rows
                           if row["time_s"].get("default")])


def table(lines):
    """Text of the summaries."""
    rows = [["", "/default", "/single", f"> {HARM}", "p90", "worst", "/joined", f"> {HARM}",
             "worst", "/bound", "/peers worst", f"> {PEERS:.2f}", "/p99", "dup mean", "max", "fell back", "failed"]]
    for line in lines:
        rows.append([
            line["scheduler"], report.cell(line["default_mean"], ".3f"),
            report.cell(line["single_mean"], ".3f"), str(line["single_harmed"]),
            report.cell(line["single_p90"], ".2f"), report.cell(line["single_worst"], ".2f"),
            report.cell(line["joined_mean"], ".3f"), str(line["joined_harmed"]),
            report.cell(line["joined_worst"], ".2f"),
            report.cell(line["bound_median"], ".3f"), report.cell(line["peers_worst"], ".2f"),
            str(line["peers_over"]), report.cell(line["tail_mean"], ".3f"), report.cell(line["duplicates_mean"], ".1%"),
            report.cell(line["duplicates_max"], ".1%"), str(line["fell_back"]),
            str(line["failed"])])
    return "\n".join(report.aligned(rows))


def worst(rows, name):
    """Lines that name the worst scenarios of a scheduler."""
    lines = []
    for title, against in (("best single path", against_single),
                           ("best path once joined", against_joined), ("peers", against_peers),
                           ("the default route first", against_given)):
        for ratio, row in ratios(rows, name, against)[:WORST_SHOWN]:
            lines.append(f"  {name} {ratio:.2f} x {title}: {row['name']}  {row['text']}")
    return lines


def _print(rows, half):
    """Tables of each kind; all summaries."""
    lines = []
    for title, part in parts_of(rows):
        names = names_of(part)
        mine = [{**summary_of(part, name), "kind": title} for name in names]
        print(f"{len(part)} {title} ({half}), mean times; /default, /single: geometric means; "
              f"/bound: median of {max(line['bound_scenarios'] for line in mine)}\n")
        print(table(mine))
        if "default" in names:
            print(f"\nbest of all in each scenario: {best_of_all(part):.3f} of default's time")
        print("\nworst cases (paths in Mbit/s / one-way ms / loss); again with "
              "lab sweep --only NAME")
        for name in names:
            print("\n".join(worst(part, name)))
        print()
        lines += mine
    for row in rows:
        for name, time_s in row["time_s"].items():
            if time_s is None:
                print(f"FAILED: {name} in {row['name']}: {row['run']}")
    return lines


def run(means, several, schedulers, at_once, quiet, fallen=True, firsts=("given",)):
    """rows_of() of the scenarios under each scheduler and each path alone."""
    pairs = [(drawn, begins.jobs_of(jobs_of(drawn, schedulers), firsts)) for drawn in several]
    jobs = [job for _, mine in pairs for job in mine]
    with Progress(quiet) as progress:
        done = runs.run_all(means, jobs, at_once, progress)
    return rows_of(pairs, [result for result, _ in done], fallen), [result for result, _ in done]


def _write(args, means, rows, summary):
    with open(args.json, "w", encoding="utf-8") as out:
        json.dump({"format": FORMAT, "kernel": means.kernel.release, "seed": args.seed,
                   "half": args.half, "summary": summary, "scenarios": rows}, out, indent=1)
        out.write("\n")


def command(args, means, schedulers):
    """Run, print, write; 1 if a transfer failed."""
    several = ([drawing.named(args.only)] if args.only else
               drawing.several(args.seed, args.count, args.half, args.kind))
    rows, results = run(means, several, schedulers, args.jobs, args.quiet,
                        firsts=args.first)
    if args.only:
        print(f"{args.only}: {drawing.text(several[0])}; "
              f"the first {several[0].warm_up} of each connection's requests not counted\n")
        print(report.table(several[0].scenario, results))
        print(f"\n{rows[0]['run']}\n")
    lines = _print(rows, args.only or f"seed {args.seed}, {args.half}")
    if args.kind == "first":
        import firsts   # pylint: disable=import-outside-toplevel
        print(firsts.table(rows))
    if args.json:
        _write(args, means, rows, lines)
    return 1 if any(line["failed"] for line in lines) else 0
