# SPDX-License-Identifier: GPL-2.0
"""Results as a table for people and as JSON for programs.

The JSON form is described in Documentation/lab.md; FORMAT counts its
incompatible changes.
"""

import json

import bound
from guest import describe

FORMAT = 1


def _mean(values):
    return sum(values) / len(values) if values else None


def bound_s(scenario):
    """Mean of the requests' fluid bounds in s, None where there is none."""
    bounds = bound.requests_us(scenario)
    return _mean(bounds) / 1e6 if bounds and bounds[-1] != float("inf") else None


def summary(results):
    """One line per scheduler or single path, over all repeats, in first-seen order."""
    lines = []
    for name in dict.fromkeys(result["name"] for result in results):
        same = [result for result in results if result["name"] == name]
        done = [request for result in same for request in result["requests"]
                if request["ok"]]
        times = [request["fct_s"] for request in done]
        payload = sum(request["bytes"] for request in done) or 1
        count = len(same[0]["paths"])
        down = sum(r["bytes"] for r in done if r["direction"] == "down")
        key = "down_bytes" if 2 * down >= payload else "up_bytes"
        moved = [sum(result["paths"][i][key] for result in same) for i in range(count)]
        receiver, sender = ("client", "server") if key == "down_bytes" else \
            ("server", "client")
        lines.append({
            "name": name, "path_alone": same[0]["path_alone"],
            "mean_s": _mean(times), "min_s": min(times, default=None),
            "max_s": max(times, default=None),
            "bound_s": _mean([request["bound_s"] for request in done
                              if request["bound_s"] is not None]),
            "gap_s": max((request["gap_s"] for request in done), default=None),
            "lost": sum(path["down_lost"] + path["up_lost"]
                        for result in same for path in result["paths"]),
            "first_s": _mean([r["fct_s"] for r in done if r["request"] == 0]),
            "path_share": [part / (sum(moved) or 1) for part in moved],
            "duplicates": sum(r["mib"][receiver].get("MPTcpExtDuplicateData", 0)
                              for r in same),
            "retransmitted": sum(r["mib"][sender].get("TcpRetransSegs", 0) for r in same),
            **_radios(same),
            "failed": sum(result["failed"] for result in same),
            "requests": len(done) + sum(result["failed"] for result in same),
        })
    return lines


def _radios(results):
    """Means of the time each path's radio is on and what all of them take, where counted."""
    if not all("radios" in result for result in results):
        return {}
    return {"radio_s": [_mean(values) for values in zip(*(
                [radio["on_s"] for radio in result["radios"]] for result in results))],
            "energy_j": _mean([sum(radio["energy_j"] for radio in result["radios"])
                               for result in results])}


def best_single_s(lines):
    """Mean of the best path alone, None where none was run."""
    alone = [line["mean_s"] for line in lines
             if line["path_alone"] >= 0 and line["mean_s"] is not None]
    return min(alone, default=None)


def as_json(scenario, results, kernel):
    """The document."""
    lines = summary(results)
    document = {
        "format": FORMAT, "kernel": kernel.release,
        "scenario": scenario.as_dict(),
        "bound_s": bound_s(scenario), "best_single_s": best_single_s(lines),
        "summary": lines, "runs": results,
    }
    return json.dumps(document, indent=1)


def cell(value, form):
    """In a table."""
    return "-" if value is None else format(value, form)


def aligned(rows):
    """Lines: the first column to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(*rows)]
    return ["  ".join([row[0].ljust(widths[0])] + [
        cell.rjust(width) for cell, width in zip(row[1:], widths[1:])]).rstrip()
        for row in rows]


def table(scenario, results):
    """Text, one row for the bound and one per scheduler or single path."""
    lines = summary(results)
    limit, single = bound_s(scenario), best_single_s(lines)
    head = [describe(scenario)]
    head += [f"  path {i}: {path.text()}" for i, path in enumerate(scenario.paths)]
    head += [f"  {change.text()}" for change in scenario.changes]
    rows = [["", "mean s", "first", "least", "most", "/bound", "/single",
             "gap s", "bytes by path", "duplicates", "retrans", "lost"]]
    counted = any("radio_s" in line for line in lines)
    if counted:
        rows[0] += ["radio on s", "J"]
    if limit is not None:
        rows.append(["fluid bound", f"{limit:.4f}"] + [""] * (len(rows[0]) - 2))
    for line in lines:
        mean = line["mean_s"]
        alone = line["path_alone"] >= 0
        rows.append([
            line["name"], cell(mean, ".4f"), cell(line["first_s"], ".4f"),
            cell(line["min_s"], ".4f"), cell(line["max_s"], ".4f"),
            cell(mean / line["bound_s"] if mean and line["bound_s"] else None, ".2f"),
            cell(mean / single if mean and single else None, ".2f"),
            cell(line["gap_s"], ".4f"),
            "" if alone else " ".join(f"{part * 100:.0f}%" for part in line["path_share"]),
            str(line["duplicates"]), str(line["retransmitted"]), str(line["lost"]),
            *([" ".join(f"{on_s:.2f}" for on_s in line["radio_s"]), f"{line['energy_j']:.1f}"]
              if counted else [])])
    return "\n".join(head + [""] + aligned(rows) + failures(lines))


def failures(lines):
    """A line for each that did not bring everything."""
    return [f"FAILED: {line['name']}: {line['failed']} of {line['requests']} transfers"
            for line in lines if line["failed"]]
