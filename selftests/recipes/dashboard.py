# SPDX-License-Identifier: GPL-2.0
"""Does the dashboard show something? As text; the exit status is 1 if not.

    dashboard.py URL        of a Prometheus that collects from two machines

Each panel has the fields that Grafana documents for a dashboard's JSON model, and each
of its queries has an answer from that Prometheus, as has the variable's.
"""
import json
import re
import sys
import urllib.parse
import urllib.request
from pathlib import Path

DASHBOARD = Path(__file__).resolve().parent.parent.parent / "tools/grafana/mptcp-pams.json"
COLUMNS = 24
TOP_FIELDS = {"title": str, "uid": str, "schemaVersion": int, "editable": bool, "time": dict,
              "refresh": str, "tags": list, "templating": dict, "panels": list}
PANEL_FIELDS = {"id": int, "type": str, "title": str, "gridPos": dict, "datasource": dict,
                "targets": list, "fieldConfig": dict}
PANEL_TYPES = {"stat", "timeseries"}


def wrong_fields(where, thing, fields):
    """what is missing, or has another type"""
    return [f"{where}: {name} is no {kind.__name__}" for name, kind in fields.items()
            if not isinstance(thing.get(name), kind)]


def check_panel(panel):
    where = panel.get("title", "a panel")
    bad = wrong_fields(where, panel, PANEL_FIELDS)
    if bad:
        return bad
    if panel["type"] not in PANEL_TYPES:
        bad.append(f"{where}: type {panel['type']}")
    grid = panel["gridPos"]
    bad += wrong_fields(where, grid, dict.fromkeys("xywh", int))
    if not bad and not 0 < grid["x"] + grid["w"] <= COLUMNS:
        bad.append(f"{where}: wider than the page")
    bad += [f"{where}: two queries {target['refId']}" for number, target in enumerate(panel["targets"])
            if target["refId"] in [other["refId"] for other in panel["targets"][:number]]]
    return bad


def check_model(model):
    """what isn't as documented"""
    bad = wrong_fields("the dashboard", model, TOP_FIELDS)
    for panel in model["panels"]:
        bad += check_panel(panel)
    ids = [panel["id"] for panel in model["panels"]]
    if len(set(ids)) != len(ids):
        bad.append("two panels with one id")
    return bad


def ask(url, expression):
    """how many time series answer"""
    query = urllib.parse.urlencode({"query": expression})
    with urllib.request.urlopen(f"{url}/api/v1/query?{query}", timeout=60) as answer:
        said = json.load(answer)
    return len(said["data"]["result"]) if said["status"] == "success" else 0


def expressions(model):
    """every query, for all machines"""
    for panel in model["panels"]:
        for target in panel["targets"]:
            yield target["expr"].replace("$instance", ".+")
    for variable in model["templating"]["list"]:
        found = re.match(r"label_values\((.*), (\w+)\)$", variable["query"])
        if found:
            yield f'{found[1]}{{{found[2]}!=""}}'


def main():
    model = json.loads(DASHBOARD.read_text(encoding="utf-8"))
    bad = check_model(model)
    for expression in expressions(model):
        count = ask(sys.argv[1], expression)
        print(f"{count} series: {expression}")
        if not count:
            bad.append(f"no answer: {expression}")
    for line in bad:
        print(line)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
