# SPDX-License-Identifier: GPL-2.0
"""The results page, Markdown, from what was measured: never typed."""

import calls
import cost
import drawn
import firsts
import oracle
import pairs
import report
import sweep

GENERATED = "<!-- Written by `make bench` (tools/lab/page.py); changes here are lost. -->"
DUPLICATES_MAX = 0.08   # goal: of one run, at most
SHOWN = 3               # of the worst, over recorded links and of choices
HARMED_SHOWN = 6


def _cell(value, digits=2):
    return "-" if value is None else f"{value:.{digits}f}"


def _rows(head, body):
    return ["| " + " | ".join(head) + " |", "|" + "---|" * len(head),
            *("| " + " | ".join(row) + " |" for row in body)]


def _odd(row):
    return row["name"][-1] in "13579"


def _transfers(data):
    return [row for row in data["rows"] if not row["part"]]


def _reported(data, part=""):
    """Rows of the half that nobody tunes on."""
    return [row for row in data["rows"] if row["part"] == part and _odd(row)]


def _parts(data):
    """(title, rows) of the transfers that are reported, of all, and of some kinds."""
    reported, every = _reported(data), _transfers(data)
    found = [("the half that is reported, odd numbers", reported)]
    if len(reported) < len(every):
        found.append(("all", every))
    for title, counts in (("warm connections", lambda scenario: not scenario.cold),
                          ("cold connections", lambda scenario: scenario.cold),
                          ("BBR", lambda scenario: scenario.congestion == "bbr")):
        found.append((title, [row for row in every
                              if counts(drawn.named(row["name"]).scenario)]))
    return [(title, rows) for title, rows in found if rows]


def _table(table):
    """One of the seeds' tables; the best figure of a row is bold."""
    schedulers, rows = table["columns"], table["rows"]
    papers = {row["paper"] for row in rows}
    said = "" if len(papers) > 1 or papers == {""} else f"; the paper: {papers.pop()}"
    head = ["", *(["paper"] if len(papers) > 1 else []), *schedulers]
    body = []
    for row in rows:
        known = [row["cells"].get(name) for name in schedulers
                 if name not in ("bound", "sum", "path 0", "path 1")]
        known = [value for value in known if value is not None]
        best = (min if table["better"] == "less" else max)(known) if known else None
        cells = []
        for name in schedulers:
            value = row["cells"].get(name)
            text = _cell(value, table["digits"])
            cells.append(f"**{text}**" if value is not None and value == best else text)
        body.append([row["label"], *([row["paper"]] if "paper" in head else []), *cells])
    return [f"### {table['title']}", "", table["source"] + ".", *([table["note"]] if
            table["note"] else []), "", f"In {table['unit']}; {table['better']} is better{said}.", "",
            *_rows(head, body), ""]


def _published(names):
    """A sentence on the one whose name the literature doesn't know, if it is among them."""
    return (" `everywhere` is the published scheduler that the literature calls redundant "
            "(tools/bench/peers), not the module's `redundant`." if "everywhere" in names else "")


def _seeds(data):
    lines = ["## The seeds' tables", "",
             "The tables of the papers that the project starts from (tools/lab/mpbond.py, seeds.py); "
             "the best of a row is bold.", ""]
    for table in data["tables"]:
        lines += _table(table)
    return lines


COLUMNS = [             # heading, what of sweep.summary_of(), its form
    ("/default", "default_mean", ".3f"), ("/single", "single_mean", ".3f"),
    ("> 1.05", "single_harmed", "d"), ("worst", "single_worst", ".2f"),
    ("/joined", "joined_mean", ".3f"), ("> 1.05", "joined_harmed", "d"),
    ("p90", "joined_p90", ".2f"), ("worst", "joined_worst", ".2f"),
    ("/bound", "bound_median", ".3f"), ("of", "bound_scenarios", "d"),
    ("/p99", "tail_mean", ".3f"), ("duplicates mean", "duplicates_mean", ".1%"),
    ("max", "duplicates_max", ".1%"), ("failed", "failed", "d")]
OF_A_PART = [COLUMNS[0], *COLUMNS[4:6], COLUMNS[7]]


def _figures(rows, name, columns):
    line = sweep.summary_of(rows, name)
    return ["-" if line[key] is None else format(line[key], form).replace("%", " %")
            for _, key, form in columns]


def _summary(rows):
    return _rows(["", *(heading for heading, *_ in COLUMNS)],
                 [[name, *_figures(rows, name, COLUMNS)] for name in sweep.names_of(rows)])


def _side_by_side(parts):
    """[(title, rows)]: a few figures of each part."""
    head = [f"{title} ({len(rows)}): {heading}" if heading == OF_A_PART[0][0] else heading
            for title, rows in parts for heading, *_ in OF_A_PART]
    return _rows(["", *head],
                 [[name, *(cell for _, rows in parts for cell in _figures(rows, name, OF_A_PART))]
                  for name in sweep.names_of(parts[0][1])])


def _worst(rows):
    """A scheduler's worst, from the best path's join on."""
    return _rows(["name", "scenario", "/joined"],
                 [[row["name"], row["text"], _cell(ratio)]
                  for ratio, row in sweep.ratios(rows, MINE, sweep.against_joined)[:sweep.WORST_SHOWN]])


def _sweep(data):
    (title, first), *parts = _parts(data)
    lines = ["## The sweep", "",
             f"{len(_transfers(data))} of {data['count']} scenarios drawn with seed {data['seed']}, and "
             "pages. lab.md says what is drawn, and what each column means (\"The sweep\")."
             + _published(sweep.names_of(first)), "",
             f"### {title[0].upper()}{title[1:]}: {len(first)} scenarios", "", *_summary(first), ""]
    if parts:
        lines += ["### Parts of it", "", *_side_by_side(parts), ""]
    lines += ["![time against the best single path](results/harm.svg)", "",
              "![time against default](results/default.svg)", ""]
    if "minfct" in data["schedulers"]:
        lines += _harmed(data, "minfct")
    return lines + _pages(data)


def _pages(data):
    """First pages and later ones, side by side."""
    parts = [(title, _reported(data, part))
             for part, title in (("first", "first pages"), ("later", "later pages"))]
    lines = ["## Pages", "",
             "Three pages of 10 to 60 objects, each object over a new connection, six at a time.", ""]
    parts = [(title, rows) for title, rows in parts if rows]
    if parts:
        lines += [*_side_by_side(parts), "", f"The {sweep.WORST_SHOWN} worst of {MINE}:", "",
                  *_worst([row for _, rows in parts for row in rows]), ""]
    return lines


def _first_path(rows, name):
    """How much of the harm is the first path's: a sentence."""
    parts = []
    for best_first, which in ((True, "begins on the best path"), (False, "begins on another one")):
        of_these = [row for row in rows if (row["alone_s"][0] == row["single_s"]) == best_first]
        line = sweep.summary_of(of_these, name) if of_these else None
        if line:
            parts.append(f"where a connection {which}, {line['joined_harmed']} of {len(of_these)} "
                         f"are over {sweep.HARM}, mean {_cell(line['joined_mean'], 3)}, worst "
                         f"{_cell(line['joined_worst'])}")
    return f"The first path decides most of it: {'; '.join(parts)} (/joined)." if parts else ""


def _harmed(data, name):
    """Where a scheduler is slower than the best path alone, and what was possible."""
    others = [other for other in sweep.names_of(_reported(data)) if other != name]
    body, never, blind, none = [], 0, 0, 0
    for ratio, row in sweep.ratios(_reported(data), name, sweep.against_joined):
        if ratio <= sweep.HARM:
            break
        scenario = drawn.named(row["name"])
        least_s = oracle.cold_s(scenario)
        blind_s = oracle.unforeseen_s(scenario, DUPLICATES_MAX)
        times = {other: row["time_s"][other] for other in others if row["time_s"][other]}
        best = min(times, key=times.get)
        joined_s = row["joined_s"]
        never += bool(least_s and least_s > sweep.HARM * joined_s)
        blind += bool(blind_s and blind_s > sweep.HARM * joined_s)
        none += times[best] > sweep.HARM * joined_s
        body.append([row["name"], row["text"], _cell(ratio),
                     _cell(row["time_s"][name] / row["single_s"]),
                     _cell(least_s and least_s / joined_s),
                     _cell(blind_s and blind_s / joined_s),
                     f"{_cell(times[best] / joined_s)} ({best})"])
    return [f"### Where {name} is slower than the best path alone", "",
            _first_path(_reported(data), name), "",
            f"The worst of {len(body)} scenarios, paths in Mbit/s / one-way ms / loss. Possible: the least time of a cold "
            "connection whose scheduler knows every path (tools/lab/oracle.py), over "
            f"{sweep.HARM} itself in {never} of them. Unforeseen: "
            "the same if the first path gets its first window, since no other has joined yet, and "
            f"at most {DUPLICATES_MAX * 100:.0f} % is sent twice: over {sweep.HARM} in {blind}. Best other: of "
            f"all other schedulers; in {none} of the scenarios none is within {sweep.HARM}.", "",
            *_rows(["name", "scenario", "/joined", "/single", "possible", "unforeseen",
                    "best other"], body[:HARMED_SHOWN]), ""]


def _recorded(data):
    """Pairs of recorded links, and of drawn ones in that form."""
    rows, names = data["rows"], sweep.names_of(data["rows"])
    lines = ["## Recorded links", "",
             ("No recordings were given (`--traces DIR`), so that they are left out. Their source: "
              f"{pairs.SOURCE}." if data["left_out"] else
              "Two links, either first: cold connections, and pages of 40 objects (lab.md, \"Pairs of "
              f"recorded links\"). The recordings: {pairs.SOURCE}."), "",
             "steps, blocked: drawn links as over satellites and millimetre waves, beside a steady one. "
             "/better: against the better of pams and minfct.", "",
             *_rows(["", "rows", *(f"{name} /single" for name in names if name != MINE),
                     *(f"{MINE} {heading}" for heading in pairs.HEAD)], pairs.folded(rows, MINE)), "",
             f"Where {MINE} is slowest against the best link alone; times in s.", "",
             *_rows(["", "/single", *names, "first alone", "second alone"], pairs.worst(rows, SHOWN)), ""]
    return lines


def _first(data):
    """New connections, by who chooses where they begin."""
    rows = data["rows"]
    shown = [[row["name"], row["text"], f"{ratio:.2f}",
              *(report.cell(row["time_s"].get(name), ".3f") for name in
                ("minfct", "minfct+learned", "minfct+oracle")), report.cell(row["single_s"], ".3f")]
             for ratio, row in firsts.worst(rows, "minfct+learned", SHOWN)]
    return ["## Where connections begin", "",
            "New connections over drawn pairs of links, either first (`lab sweep "
            f"--kind first --seed {data['seed']} --count {data['count']} --half report --sched "
            "default,minfct --first given,learned,oracle`; lab.md says what these are): from a scenario's "
            "second connection on, and its second page. Times in those of the best path alone, given, learned "
            "and by the oracle; then learned alone, /given against the same scheduler without a choice.", "",
            *_rows(*firsts.folded(rows)), "",
            "Where minfct is slowest against the default route's choice; times in s.", "",
            *_rows(["name", "scenario", "/given", "given", "learned", "oracle", "best path alone"],
                   shown), ""]


def _video(data):
    """Bitrates, and stalls where there are any: a line for each setting."""
    names = [row[0] for row in data["tables"][0]["rows"]]
    body = []
    for table in data["tables"]:
        cells = {row[0]: f"{row[1]}, stalls: {row[2]}" if int(row[2]) else str(row[1])
                 for row in table["rows"]}
        body.append([table["title"], *(cells.get(name, "-") for name in names)])
    return ["## Video", "", data["text"], "", "Bitrate in Mbit/s:", "", *_rows(["", *names], body), ""]


def _calls(data):
    body = [[title, *(f"{late * 1e3:.0f}" if late else "-" for late in
                      (data["alone_s"][i], *(mine[i] for mine in data["late_s"].values())))]
            for i, title in enumerate(data["cases"])]
    return ["## Calls", "", f"{calls.CALL_BPS / 1e6:g} Mbit/s for {calls.CALL_S} s: how late the "
            "latest byte arrived, in ms, the request's way and the paths' delay included.", "",
            *_rows(["", "best path alone", *data["late_s"]], body), ""]


def _cost(data):
    decisions, names = data["decision_ns"], data["schedulers"]
    body = [[f"{count} subflows", *(f"{times[name]:.0f} ns ({times[name] / times['default']:.2f})"
                                    for name in names)] for count, times in decisions.items()]
    times = data["decision_among_paths_ns"]
    body.append([f"2 subflows, {cost.PATHS:,} reported paths",
                 *(f"{times[name]:.0f} ns ({times[name] / times['default']:.2f})"
                   for name in names)])
    rates = data["throughput_byteps"]
    body.append(["throughput", *(f"{max(rates[name]) / 1e6:.0f} MB/s "
                                 f"({max(rates[name]) / max(rates['default']):.2f})"
                                 for name in names)])
    conn, subflow = data["memory_bytes"]
    return ["## Cost", "", "In real time, so these figures vary with the machine: time per "
            "decision and unshaped throughput (in brackets: times the default's). A connection "
            f"takes {conn} bytes, a subflow {subflow} more.", "", *_rows(["", *names], body), ""]


def _collapse(data):
    """{scheduler: seconds} of the transfer during which a path collapses"""
    return next(row["cells"] for table in data["seeds"]["tables"] for row in table["rows"]
                if row["label"].endswith("one to 1 Mbit/s"))


def goals(data):
    """[(what, goal, [(scheduler, value as text, met)])] of the figures to reach."""
    def lines_of(part):
        rows = _reported(data["sweep"], part)
        return {name: sweep.summary_of(rows, name) for name in sweep.names_of(rows)}

    line, first, pages = lines_of(""), lines_of("first"), lines_of("later")
    fall = _collapse(data)
    two = next(iter(data["cost"]["decision_ns"].values()))
    found = []

    def goal(what, limits, value, form):
        cells = [(name, limit, value(name), form) for name, limit in limits.items()]
        found.append((what, [(name, limit, number, number is not None and number <= limit, form)
                             for name, limit, number, form in cells]))

    def of(lines, key):
        return lambda name: lines[name][key] if name in lines else None

    goal("collapse, 4 MB over 5/25 + 5/25, s", {"pams": 4.6, "minfct": 4.45}, fall.get, ".2f")
    goal("geometric mean against default", {"pams": 0.78, "minfct": 0.50},
         of(line, "default_mean"), ".3f")
    goal("scenarios over 1.05 of the best path from its join on", {"minfct": 5},
         of(line, "joined_harmed"), "d")
    goal("worst of the sweep against the best path from its join on", {"minfct": 1.5},
         of(line, "joined_worst"), ".2f")
    goal("p99 of the completion times against the best single path's", {"minfct": 0.80},
         of(line, "tail_mean"), ".3f")
    for title, lines in (("first pages", first), ("later pages", pages)):
        goal(f"{title}, worst against default", {"minfct": 1.03}, of(lines, "default_worst"), ".2f")
    goal("median against the bound, where over 1 s and loss-free", {"minfct": 1.03},
         of(line, "bound_median"), ".3f")
    goal("duplicates, mean share", {"minfct": 0.015, "pams": 0.04}, of(line, "duplicates_mean"), ".3f")
    goal("duplicates, largest share", {"minfct": 0.08, "pams": 0.20}, of(line, "duplicates_max"), ".3f")
    goal("first page, worst against the best path from its join on", {"minfct": 1.5},
         of(first, "joined_worst"), ".2f")
    goal("later pages, worst against the best path from its join on", {"minfct": 1.05},
         of(pages, "joined_worst"), ".2f")
    goal("later pages, geometric mean against the best path from its join on", {"minfct": 0.80},
         of(pages, "joined_mean"), ".3f")
    goal("time per decision against default, 2 subflows", {"pams": 2.0, "minfct": 3.0},
         lambda name: two[name] / two["default"] if name in two else None, ".2f")
    return found


BULK_BYTES = 1_000_000
MINE = "minfct"         # what README says to begin with


def _user_of_rows(title, rows):
    """[user, times, where it loses] of a part of the sweep."""
    if MINE not in sweep.names_of(rows):
        return None
    line, worst = sweep.summary_of(rows, MINE), sweep.ratios(rows, MINE, sweep.against_joined)
    over = [f"{row['name']}, {_cell(ratio)}" for ratio, row in worst[:1]]
    return [title, f"{_cell(line['default_mean'])} of the time",
            f"{_cell(line['joined_mean'])}; p99 {_cell(line['tail_mean'])}",
            f"{line['joined_harmed']} of {len(rows)} over 1.05; worst {over[0]}" if over else "-"]


def _bitrates(table):
    """{name: (Mbit/s, stalls)} of one of video's tables."""
    return {row[0]: (float(row[1]), int(row[2])) for row in table["rows"]}


def _user_of_video(tables):
    ratios, defaults, stalls = [], [], 0
    for table in tables:
        seen = _bitrates(table)
        alone = max((rate for name, (rate, _) in seen.items() if name.startswith("path")),
                    default=None)
        if MINE not in seen or not alone or "default" not in seen:
            return None
        ratios.append((seen[MINE][0] / alone, table["title"]))
        defaults.append(seen[MINE][0] / seen["default"][0])
        stalls += seen[MINE][1]
    if not ratios:
        return None
    least, where = min(ratios)
    return ["video", f"{_cell(sweep.geometric_mean(defaults))} of the bitrate",
            f"{_cell(sweep.geometric_mean([ratio for ratio, _ in ratios]))} of the bitrate; "
            f"{stalls} stalls", f"least {_cell(least)}: {where}"]


def _user_of_calls(data):
    cells = list(zip(data["late_s"].get(MINE, []), data["late_s"].get("default", []),
                     data["alone_s"], data["cases"]))
    if not cells or not all(all(times) for *times, _ in cells):
        return None
    worst, where = max((mine / alone, title) for mine, _, alone, title in cells)
    over = sum(mine > sweep.HARM * alone for mine, _, alone, _ in cells)
    default, alone = (sweep.geometric_mean([cell[0] / cell[i] for cell in cells]) for i in (1, 2))
    return ["calls", f"{_cell(default)} of the latest byte's lateness", _cell(alone),
            f"{over} of {len(cells)} over 1.05; worst {_cell(worst)}: {where}"]


def _users(data):
    """A line for each of four users."""
    rows = _reported(data["sweep"])
    bulk = [row for row in rows
            if drawn.named(row["name"]).scenario.bytes_max >= BULK_BYTES]
    pages = _reported(data["sweep"], "first") + _reported(data["sweep"], "later")
    lines = [_user_of_rows("bulk, 1 MB and more", bulk), _user_of_rows("web pages", pages),
             _user_of_video(data["video"]["tables"]), _user_of_calls(data["calls"])]
    return ["## For whom", "", "`minfct` as it is delivered. Links: the best one alone; one that a "
            "connection has yet to join counts from its join on.", "",
            *_rows(["user", "against the kernel's own", "against the best link", "where it loses"],
                   [line for line in lines if line]), ""]


def _goal_rows(data):
    for what, cells in goals(data):
        for name, limit, value, met, form in cells:
            yield [what, name, format(limit, form), "-" if value is None else
                   format(value, form), "met" if met else "not met"]


def goals_text(data):
    """For the terminal."""
    return "\n".join(f"{what}: {name} {value} (goal {limit}): {met}"
                     for what, name, limit, value, met in _goal_rows(data))


def text(data, release):
    """The page."""
    lines = ["<!-- SPDX-License-Identifier: GPL-2.0 -->", GENERATED, "# Results", "",
             f"Linux {release} in the laboratory (lab.md), virtual time but for the cost. "
             "`make bench` measures all of it, writes this page, and prints which goals (figures.md) are met.", "",
             *_users(data),
             *_sweep(data["sweep"]), *_seeds(data["seeds"]), *_recorded(data["recorded"]),
             *_first(data["first"]),
             *_video(data["video"]), *_calls(data["calls"]), *_cost(data["cost"])]
    return "\n".join(lines).rstrip() + "\n"
