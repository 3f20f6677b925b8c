#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""What pams-predict reads and prints, as TAP: routes and access points in each
format, faults in them with file and line, recorded levels."""

import json
import math
import os
import subprocess
import sys
import tempfile
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent.parent
PROGRAM = TOP / "build" / "tools" / "pams-predict"
MARK = "\ufeff"             # a byte order mark
METRE = 1 / 111194.93       # degrees
FIRST = "06:30:00.000Z</time></trkpt>"     # how the first point ends
CASES = []


def case(function):
    """A test; it gets a folder for its files."""
    CASES.append(function)
    return function


def predict(*words, stdin=""):
    """(exit status, standard output, standard error)"""
    env = {key: value for key, value in os.environ.items() if key != "PAMSD_INTERFACE"}
    done = subprocess.run([PROGRAM, *map(str, words)], input=stdin, env=env, text=True,
                          capture_output=True, timeout=20, check=False)
    return done.returncode, done.stdout, done.stderr


def time_text(second):
    return f"2026-11-22T06:30:{second:06.3f}Z"


def written(folder, name, text):
    (folder / name).write_text(text, encoding="utf-8")
    return folder / name


WAY = [(-100, 10, 0), (0, 10, 10), (100, 10, 20), (300, 10, 40)]
CSV = "ssid,bssid,longitude,latitude,range_m,power_dbm\n" \
      "stop,,0,0,70,\n" \
      f"\"park, north\",02:00:00:00:00:01,{200 * METRE:.9f},0,,4.353\n"


def gpx(points, times=time_text):
    points = "\n".join(f'<trkpt lat="{y * METRE:.9f}" lon="{x * METRE:.9f}">'
                       f"<ele>3</ele><time>{times(s)}</time></trkpt>" for x, y, s in points)
    return ('<?xml version="1.0"?>\n<gpx xmlns="http://www.topografix.com/GPX/1/1">'
            f"<metadata><time>2000-01-01T00:00:00Z</time></metadata><trk><trkseg>\n{points}\n"
            "</trkseg></trk></gpx>\n")


def line_string(points):
    return json.dumps({"type": "FeatureCollection", "features": [{
        "type": "Feature", "properties": {"coordTimes": [time_text(s) for _, _, s in points]},
        "geometry": {"type": "LineString",
                     "coordinates": [[x * METRE, y * METRE] for x, y, _ in points]}}]})


def kml(points, in_turn):
    """A gx:Track, as GPS loggers write it: its times and places in turn, or the ones after the others."""
    whens = [f"<when>{time_text(s)}</when>\n" for _, _, s in points]
    coords = [f"<gx:coord>{x * METRE:.9f} {y * METRE:.9f} 3</gx:coord>\n" for x, y, _ in points]
    both = "".join(map(str.__add__, whens, coords)) if in_turn else "".join(whens + coords)
    return ('<?xml version="1.0"?>\n<kml xmlns="http://www.opengis.net/kml/2.2" '
            'xmlns:gx="http://www.google.com/kml/ext/2.2"><Document><Placemark><LineString>'
            f"<coordinates>0,0 1,1</coordinates></LineString></Placemark><Placemark>\n<gx:Track>\n{both}"
            "</gx:Track></Placemark></Document></kml>\n")


def multi_line(points, middle, place):
    """A MultiLineString, broken there; where its times are."""
    lines = points[:middle], points[middle:]
    times = [[time_text(s) for _, _, s in line] for line in lines]
    return json.dumps({"type": "Feature", "properties": place(times), "geometry": {
        "type": "MultiLineString",
        "coordinates": [[[x * METRE, y * METRE, 3] for x, y, _ in line] for line in lines]}})


def with_coordinate_properties(points):
    found = json.loads(line_string(points))
    properties = found["features"][0]["properties"]
    properties["coordinateProperties"] = {"times": properties.pop("coordTimes")}
    return json.dumps(found)


def check_timeline(text):
    """The way leads past two access points; see selftests/predict/numbers.c."""
    found = json.loads(text)["timeline"]
    assert [stay["ap"] for stay in found] == ["stop", "park, north"], found
    assert abs(found[0]["from_s"] - 3.072) < 0.01 and abs(found[0]["loss_s"] - 16.928) < 0.01
    assert abs(found[0]["nearest_m"] - 10) < 0.1
    assert abs(found[0]["spread_ms"] - math.hypot(869, 1000)) < 2, found
    assert abs(found[1]["range_m"] - 70) < 0.1 and abs(found[1]["loss_s"] - 36.93) < 0.01


@case
def route_in_each_format(folder):
    aps = written(folder, "aps.csv", CSV)
    for name, text in (
            ("a.gpx", gpx(WAY)), ("b.gpx", MARK + gpx(WAY)), ("c.txt", gpx(WAY)),
            ("a.geojson", line_string(WAY)), ("b.geojson", MARK + line_string(WAY)),
            ("c.geojson", with_coordinate_properties(WAY)),
            ("d.json", multi_line(WAY, 2, lambda times: {"coordTimes": times})),
            ("e.json", multi_line(WAY, 1, lambda times: {"coordinateProperties": {"times": times}})),
            ("a.kml", kml(WAY, True)), ("b.kml", kml(WAY, False)),
            ("tracks.gpx", gpx(WAY).replace(FIRST, FIRST + "</trkseg></trk><trk><trkseg>"))):
        status, out, err = predict("--route", written(folder, name, text), "--aps", aps, "--json")
        assert (status, err) == (0, ""), err
        check_timeline(out)


@case
def several_points_in_a_second(folder):
    """Times in whole seconds: the range, 70 m, ends between two points of one time, two thirds
    of the way from 60 m to 75 m. Those of the last time keep it."""
    aps = written(folder, "aps.csv", "ssid,longitude,latitude,range_m\nstop,0,0,70\n")
    for way, loss_s, speed, end_s in (
            ([(0, 0, 0), (50, 0, 5), (60, 0, 6), (75, 0, 6), (85, 0, 7)], 6.333, 30, 7),
            # then a stop
            ([(0, 0, 0), (50, 0, 5), (60, 0, 6), (75, 0, 6), (75, 0, 50)], 6.333, 30, 50),
            ([(0, 0, 0), (50, 0, 5), (60, 0, 6), (75, 0, 6)], 6, math.inf, 6)):
        status, out, err = predict("--route", written(folder, "a.gpx", gpx(way)), "--aps", aps,
                                   "--json", "--time-error", "10")
        assert status == 0, err
        found = json.loads(out)
        assert abs(found["timeline"][0]["loss_s"] - loss_s) < 0.002, out
        spread_ms = math.hypot(1000 * math.hypot(5, 7) / speed, 10)
        assert abs(found["timeline"][0]["spread_ms"] - spread_ms) < 3, (spread_ms, out)
        assert len(found["timeline"]) == 1 and found["end_s"] == end_s, out


@case
def points_with_times(folder):
    features = [{"type": "Feature", "properties": {"time": time_text(s)},
                 "geometry": {"type": "Point", "coordinates": [x * METRE, y * METRE]}}
                for x, y, s in WAY]
    route = written(folder, "a.json", json.dumps({"type": "FeatureCollection",
                                                  "features": features}))
    status, out, err = predict("--route", route, "--aps", written(folder, "aps.csv", CSV),
                               "--json")
    assert status == 0, err
    check_timeline(out)


@case
def access_points_as_geojson(folder):
    features = [{"type": "Feature", "properties": properties,
                 "geometry": {"type": "Point", "coordinates": [x * METRE, 0]}}
                for x, properties in ((0, {"ssid": "stop", "range_m": 70, "floors": [1, 2]}),
                                      (200, {"ssid": "park, north", "power_dbm": 4.353}))]
    aps = written(folder, "aps.json", json.dumps({"type": "FeatureCollection",
                                                  "features": features}))
    status, out, err = predict("--route", written(folder, "a.gpx", gpx(WAY)), "--aps", aps,
                               "--json")
    assert status == 0, err
    check_timeline(out)


@case
def byte_order_mark(folder):
    """Of a CSV: the first column isn't lost."""
    status, out, err = predict("--route", written(folder, "a.gpx", gpx(WAY)),
                               "--aps", written(folder, "aps.csv", MARK + CSV), "--json")
    assert status == 0, err
    check_timeline(out)


def refused(route, aps, says):
    """In one line, which names the file and what is wrong."""
    status, out, err = predict("--route", route, "--aps", aps)
    assert status == 1 and not out and err.count("\n") == 1 and says in err, (says, err)


def of_day(day):
    return lambda s: time_text(s).replace("-22T", f"-{day}T")


@case
def what_devices_write(folder):
    """Faults that are read as something else if nobody looks, and what only tells half."""
    aps = written(folder, "aps.csv", CSV)
    two_days = gpx(WAY).split("</trkseg>")[0] + "</trkseg>{}<trkseg>\n" + \
        gpx(WAY, of_day(23)).split("<trkseg>\n")[1]
    plain = kml(WAY, True).split("</Placemark>")[0] + "</Placemark></Document></kml>\n"
    for number, (text, says) in enumerate((
            # a comma in a number, which strtod() takes for its end
            (gpx(WAY).replace('lat="0.0', 'lat="0,0'), ":3: lat or lon is not a number"),
            (gpx(WAY).replace('lat="0.0', 'lat="0x0'), ":3: lat or lon is not a number"),
            (gpx(WAY).replace('lat="0.0', 'lat="nan" a="'), ":3: lat or lon is not a number"),
            # local time or UTC?
            (gpx(WAY, lambda s: time_text(s)[:-1]), ":3: a time has neither Z nor an offset"),
            (kml(WAY, True).replace("Z<", "<"), ":5: a time has neither Z nor an offset"),
            (line_string(WAY).replace("Z\"", "\""), "feature 1: a time has neither Z"),
            # two days, in two tracks or in two segments of one
            (two_days.format("</trk><trk>"), ":8: another drive begins"),
            (two_days.format(""), ":8: another drive begins"),
            (multi_line(WAY, 2, lambda times: {"times": [times[0], [
                text.replace("-22T", "-23T") for text in times[1]]]}), "feature 1: another drive"),
            (plain, ":2: a LineString of KML has no times"),
            (kml(WAY, True).replace("<when>", "<w>", 1).replace("</when>", "</w>", 1),
             ":5: a gx:coord has no when"),
            (kml(WAY, True).replace("<gx:coord>", "<gx:coord>,"), ":5: a gx:coord is not like"),
            (kml(WAY, True).replace("coord>", "angles>", 2), ":12: a gx:Track has fewer gx:coord"),
            (multi_line(WAY, 2, lambda times: {"times": times[0]}), "feature 1: a point has no time"),
            (multi_line(WAY, 2, lambda times: {"times": [times[0] * 2, times[1]]}),
             "feature 1: a line has more times"),
            (line_string(WAY).replace('"2026-11-22T06:30:00.000Z"', "1795328400000"),
             "feature 1: a time is not a text"),
            (CSV, ":1: a route is GPX, KML or GeoJSON"),
            ("PK\3\4", ":1: this is an archive"), ("", ":1: there is nothing in it"))):
        name = f"{number}.{'gpx' if '<gpx' in text else 'kml' if '<kml' in text else 'json'}"
        refused(written(folder, name, text), aps, f"{name}{says if says[0] == ':' else ': ' + says}")
    route = written(folder, "a.gpx", gpx(WAY))
    for number, (text, says) in enumerate((
            ("WigleWifi-1.4,appRelease=2.26,model=x\nMAC,SSID,AuthMode,FirstSeen,Channel,RSSI,"
             "CurrentLatitude,CurrentLongitude,AltitudeMeters,AccuracyMeters,Type\n"
             "02:00:00:00:00:01,stop,[ESS],2026-11-22 06:30:00,1,-60,0,0,3,5,WIFI\n",
             ":1: this is WiGLE's log"),
            ("MAC,SSID,CurrentLatitude,CurrentLongitude\n", ":1: this is WiGLE's log"),
            (CSV.replace(",", ";"), ":1: no column is called latitude"),
            (kml(WAY, True), ":1: access points are read from CSV or GeoJSON"))):
        refused(route, written(folder, f"{number}.csv", text), f"{number}.csv{says}")


@case
def timeline_as_text(folder):
    status, out, _ = predict("--route", written(folder, "a.gpx", gpx(WAY)),
                             "--aps", written(folder, "aps.csv", CSV), "--time-error", "0")
    assert status == 0
    lines = out.splitlines()
    assert len(lines) == 3 and max(map(len, lines)) < 80
    assert lines[1].split() == ["3.1", "16.9", "0.9", "10", "70", "stop"], lines[1]


@case
def faults_are_named(folder):
    good_aps, good_route = written(folder, "aps.csv", CSV), written(folder, "a.gpx", gpx(WAY))
    for name, text, says in (
            ("a.gpx", gpx(WAY)[:-20], ":8: "),
            ("b.gpx", gpx(WAY, lambda _: "noon"), ":3: a time is not like"),
            ("c.gpx", gpx(WAY[:1]), "two points"),
            ("d.gpx", gpx(WAY[::-1]), ":4: the times of the points do not ascend"),
            ("e.gpx", gpx(WAY).replace("lon=", "lo="), ":3: a point has no lat or no lon"),
            ("o.gpx", gpx(WAY).replace('lat="', 'lat="9'), ":3: a position is not on the earth"),
            ("f.json", "{", ":1: "),
            ("g.json", "[]", "FeatureCollection"),
            ("h.json", line_string(WAY).replace("coordTimes", "x"), "has no time"),
            ("nothing.gpx", None, "No such file")):
        route = written(folder, "bad-" + name, text) if text is not None else folder / name
        status, out, err = predict("--route", route, "--aps", good_aps)
        assert status == 1 and not out and says in err and name in err, (name, err)
    for number, (text, says) in enumerate((
            (CSV.replace("70", "far"), ":2: a value is not a number"),
            (CSV.replace("02:00", "02-00"), ":3: a BSSID"),
            (CSV.replace(",0,0,70", ",0,91,70"), ":2: the position"),
            (CSV.replace("stop", ""), ":2: bssid and ssid"),
            (CSV.replace("70", ""), ":2: range_m and power_dbm"),
            (CSV.replace(",70,", ","), ":2: the line hasn't"),
            (CSV.replace("north\"", "north"), ":3: the line hasn't"),
            (CSV.replace("stop", "s" * 33), ":2: an SSID"),
            ("ssid\n", ":1: no column is called latitude"),
            ("ssid,latitude,longitude\n", "no access point"))):
        aps = written(folder, f"bad{number}.csv", text)
        status, out, err = predict("--route", good_route, "--aps", aps)
        assert status == 1 and not out and says in err, (text, err)


@case
def options_that_are_wrong(folder):
    good_aps = written(folder, "aps.csv", CSV)
    for words in ([], ["--threshold", "weak"], ["--exponent", "0"], ["here"], ["--sooner"],
                  ["--route", "a"], ["--interface", "w", "--gpsd", "localhost"],
                  ["--depart", "later"], ["--aps", good_aps]):
        status, out, err = predict(*words)
        assert status == 2 and not out and err.startswith("pams-predict: ") or \
            "pams-predict: " in err, (words, status, err)


def levels(share_of, end_s, step_ms=50):
    """The levels at shares of the range, a function of the time in s."""
    return "".join(f"{ms} {-91 - 30 * math.log10(share_of(ms / 1000)):.2f}\n"
                   for ms in range(0, round(end_s * 1000), step_ms))


@case
def levels_of_a_drive(_):
    """Lost at 4 s; until the last second that is put off by a second, so that nothing stops."""
    status, out, err = predict("--levels", "-", stdin=levels(lambda s: 0.2 + 0.2 * s, 6))
    assert status == 0, err
    lines = [json.loads(line) for line in out.splitlines()]
    assert 1 <= len(lines) <= 8, out
    assert all(abs(line["at_ms"] + line["loss_ms"] - 4000) < 500 for line in lines), out
    assert all(line["at_ms"] > 3400 for line in lines if line["loss_ms"] < 1000), out
    assert lines[-1]["loss_ms"] == 0 and "no_loss" not in lines[-1]


@case
def levels_that_are_avoided(_):
    """As above, past the end of the range: 7/4 of the spread before no time is there anything but use."""
    status, out, err = predict("--avoid", "--levels", "-", stdin=levels(lambda s: 0.2 + 0.2 * s, 6))
    assert status == 0, err
    lines = [json.loads(line) for line in out.splitlines()]
    assert all(line["loss_ms"] >= 7 / 4 * line["spread_ms"] + 700 for line in lines), lines
    assert all(after["at_ms"] <= line["at_ms"] + line["loss_ms"] - 7 / 4 * line["spread_ms"]
               for line, after in zip(lines, lines[1:])), lines
    assert (lines[-1]["loss_ms"], lines[-1]["spread_ms"]) == (2500, 1000) and lines[-1]["at_ms"] >= 5500, lines


@case
def levels_of_a_turn(_):
    """To 80 % of the range and back: said, and taken back."""
    status, out, err = predict("--levels", "-", stdin=levels(
        lambda s: 0.2 + 0.2 * s if s < 3 else max(0.1, 0.8 - 0.2 * (s - 3)), 8))
    assert status == 0, err
    lines = [json.loads(line) for line in out.splitlines()]
    assert "loss_ms" in lines[0] and lines[-1].get("no_loss") is True, out
    assert sum("no_loss" in line for line in lines) == 1
    assert lines[-1]["at_ms"] < 5000


@case
def levels_that_are_wrong(_):
    for text in ("0\n", "0 -50 1\n", "then -50\n", "0 nan\n", "-5 -50\n"):
        status, out, err = predict("--levels", "-", stdin="# comment\n" + text)
        assert status == 1 and not out and ":2: this is not 'MS DBM'" in err, (text, err)


def main():
    failed = 0
    for number, function in enumerate(CASES, 1):
        with tempfile.TemporaryDirectory() as folder:
            try:
                function(Path(folder))
                print(f"ok {number} - {function.__name__}")
            except (AssertionError, ValueError, KeyError, IndexError) as error:
                failed += 1
                print(f"# {type(error).__name__}: {error}\nnot ok {number} - {function.__name__}")
    print(f"1..{len(CASES)}")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
