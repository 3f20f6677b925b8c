# SPDX-License-Identifier: GPL-2.0
"""A picture of a run: payload bytes of each path over time, a panel a scheduler.

SVG, written here: it needs no library. Curves keep at most POINTS points, so that a file
stays small however long the transfer was. The other pictures are python3-matplotlib's.
"""

import os
import textwrap
from xml.sax.saxutils import escape

import capture
from host import LabError, cache_folder

POINTS = 150
LEGEND = 42         # characters a line
COLOURS = ("#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#ff7f0e", "#8c564b",
           "#17becf", "#7f7f7f")
# pixels: of a panel with what is around it, and of the margins at its left, right, top and bottom
WIDTH, HEIGHT = 620, 230
LEFT, RIGHT, TOP, BOTTOM = 80, 15, 26, 24
FOOT = 26           # the time axis's title
LINE = 17           # from one line of text to the next


def available():
    """Refuse before anything runs where matplotlib is missing."""
    os.environ.setdefault("MPLCONFIGDIR", os.path.join(cache_folder(), "matplotlib"))
    try:
        import matplotlib   # pylint: disable=import-outside-toplevel
    except ImportError:
        raise LabError("no plot without python3-matplotlib: "
                       "'apt-get install python3-matplotlib'") from None
    matplotlib.use("svg")
    matplotlib.rcParams["figure.max_open_warning"] = 0
    matplotlib.rcParams["svg.hashsalt"] = "lab"     # the same run, the same file
    matplotlib.rcParams["svg.fonttype"] = "none"    # text stays text


def thin(times, sums):
    """At most POINTS points, the last one always among them."""
    step = max(1, -(-len(times) // POINTS))
    return times[::step] + times[-1:], sums[::step] + sums[-1:]


def ticks(top):
    """At most 6 round numbers from 0 to top."""
    step = 10.0 ** -6
    while top / step > 5:
        step *= 2.5 if f"{step:e}".startswith("2") else 2
    return [step * number for number in range(int(top / step) + 1)]


def amount(value):
    """Bytes in words."""
    for unit, factor in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if value >= factor:
            return f"{value / factor:g} {unit}"
    return f"{value:g} B"


class _Panel:
    """Where a point of a panel is, and what is drawn."""

    def __init__(self, column, row, last_s, top):
        self.left, self.upper = column * WIDTH + LEFT, row * HEIGHT + TOP
        self.wide, self.high = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM
        self.last_s, self.top = last_s or 1, top or 1
        self.out = []

    def x(self, time_s):
        return self.left + self.wide * min(time_s / self.last_s, 1)

    def y(self, value):
        return self.upper + self.high * (1 - value / self.top)

    def text(self, x, y, words, anchor="start", colour="black"):
        self.out.append(f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{colour}">{escape(words)}</text>')

    def line(self, x, colour, style=""):
        self.out.append(f'<path d="M{x:.1f} {self.upper}v{self.high}" stroke="{colour}" {style}/>')

    def axes(self, value_ticks, time_ticks):
        for value in value_ticks:
            self.out.append(f'<path d="M{self.left} {self.y(value):.1f}h{self.wide}" stroke="#dddddd"/>')
            self.text(self.left - 6, self.y(value) + 5, amount(value), "end")
        for time_s in time_ticks:
            self.line(self.x(time_s), "#dddddd")
            self.text(self.x(time_s), self.upper + self.high + LINE, f"{time_s:g}", "middle")
        self.out.append(f'<rect x="{self.left}" y="{self.upper}" width="{self.wide}" height="{self.high}" fill="none" stroke="black"/>')

    def band(self, begin_s, end_s):
        self.out.append(f'<rect x="{self.x(begin_s):.1f}" y="{self.upper}" width="{self.x(end_s) - self.x(begin_s):.1f}" '
                        f'height="{self.high}" fill="#e8e8e8"/>')

    def curve(self, times, sums, colour):
        """Each value holds until the next."""
        steps = "".join(f"H{self.x(time_s):.1f}V{self.y(value):.1f}" for time_s, value in zip(*thin(times, sums)))
        self.out.append(f'<path d="M{self.x(0):.1f} {self.y(0):.1f}{steps}" fill="none" stroke="{colour}" stroke-width="2"/>')

    def legend(self, scenario):
        lines = [("all", "black")]
        for i, path in enumerate(scenario.paths):
            lines += [(line, COLOURS[i % len(COLOURS)]) for line in textwrap.wrap(f"path {i}: {path.text()}", LEGEND)]
        for number, (line, colour) in enumerate(lines, 1):
            self.text(self.left + 8, self.upper + LINE * number, line, colour=colour)


def _fill(panel, scenario, result, packets):
    down = scenario.direction != "up"
    for request in result["requests"]:
        panel.band(request["start_s"], request["start_s"] + request["fct_s"])
    panel.axes(ticks(panel.top), ticks(panel.last_s))
    for change in scenario.changes:
        panel.line(panel.x(change.at_us / 1e6), "#777777", 'stroke-dasharray="2 3"')
    times, sums = capture.cumulative(packets, down)
    panel.curve(times, sums, "black")
    last = times[-1:]
    for i in range(len(scenario.paths)):
        times, sums = capture.cumulative(packets, down, i)
        panel.curve(times + last, sums + sums[-1:], COLOURS[i % len(COLOURS)])
    mean = result["mean_s"]
    panel.text(panel.left, panel.upper - 8, f"{result['name']}: mean {mean:.3f} s" if mean else result["name"])


def _column(column, scenario, runs):
    last_s = max((packets[-1].time_s for _, packets in runs if packets), default=1) * 1.01
    top = max((capture.cumulative(packets, scenario.direction != "up")[1][-1]
               for _, packets in runs if packets), default=1) * 1.05
    out = []
    for row, (result, packets) in enumerate(runs):
        panel = _Panel(column, row, last_s, top)
        _fill(panel, scenario, result, packets)
        if row == 0:
            panel.legend(scenario)
        if row == len(runs) - 1:
            panel.text(panel.left + panel.wide / 2, panel.upper + panel.high + LINE + FOOT - 4,
                       "s of virtual time; grey: a request under way", "middle")
        out += panel.out
    return out


def draw(file, sections):
    """sections: a list of (scenario, [(result, packets), ...]), a column each."""
    width = WIDTH * len(sections)
    height = HEIGHT * max(len(runs) for _, runs in sections) + FOOT
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
           'font-family="sans-serif" font-size="14">', f'<rect width="{width}" height="{height}" fill="white"/>']
    for column, (scenario, runs) in enumerate(sections):
        out += _column(column, scenario, runs)
    try:
        with open(file, "w", encoding="utf-8") as picture:
            picture.write("\n".join([*out, "</svg>", ""]))
    except OSError as error:
        raise LabError(f"cannot write the plot {file}: {error.strerror}") from None
