# SPDX-License-Identifier: GPL-2.0
"""A picture of a run: payload bytes of each path over time, a panel a scheduler.

SVG by python3-matplotlib. Curves keep at most POINTS points, so that a file
stays small however long the transfer was.
"""

import os
import textwrap

import capture
from host import LabError, cache_folder

POINTS = 150
LEGEND = 42         # characters a line
COLOURS = ("#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#ff7f0e", "#8c564b",
           "#17becf", "#7f7f7f")


def available():
    """Refuse before anything runs where the library is missing."""
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


def _panel(axes, scenario, result, packets):
    down = scenario.direction != "up"
    total_times, total_sums = capture.cumulative(packets, down)
    axes.plot(*thin(total_times, total_sums), color="black", linewidth=1.2,
              label="all", drawstyle="steps-post")
    for i, path in enumerate(scenario.paths):
        times, sums = capture.cumulative(packets, down, i)
        axes.plot(*thin(times + total_times[-1:], sums + sums[-1:]),
                  color=COLOURS[i % len(COLOURS)], linewidth=1.2,
                  label=textwrap.fill(f"path {i}: {path.text()}", LEGEND),
                  drawstyle="steps-post")
    for request in result["requests"]:
        begin, end = request["start_s"], request["start_s"] + request["fct_s"]
        axes.axvspan(begin, end, color="#e8e8e8", linewidth=0)
    for change in scenario.changes:
        axes.axvline(change.at_us / 1e6, color="#999999", linestyle=":", linewidth=1)
    mean = result["mean_s"]
    axes.set_title(f"{result['name']}: mean {mean:.3f} s" if mean else result["name"],
                   loc="left", fontsize=10)
    axes.set_ylabel("bytes received")
    axes.grid(True, linewidth=0.3)
    axes.margins(x=0.01)


def draw(file, sections, form="svg"):
    """sections: a list of (scenario, [(result, packets), ...]), a column each."""
    import matplotlib.pyplot as plt     # pylint: disable=import-outside-toplevel
    from matplotlib.ticker import EngFormatter  # pylint: disable=import-outside-toplevel

    rows = max(len(runs) for _, runs in sections)
    figure, grid = plt.subplots(rows, len(sections), squeeze=False,
                                figsize=(7.5 * len(sections), 0.6 + 2.4 * rows))
    for column, (scenario, runs) in enumerate(sections):
        last_s = max((packets[-1].time_s for _, packets in runs if packets), default=1)
        top = max((capture.cumulative(packets, scenario.direction != "up")[1][-1]
                   for _, packets in runs), default=1)
        for row in range(rows):
            axes = grid[row][column]
            if row >= len(runs):
                axes.axis("off")
                continue
            _panel(axes, scenario, *runs[row])
            axes.set_xlim(0, last_s * 1.01)
            axes.set_ylim(0, top * 1.05 or 1)
            axes.yaxis.set_major_formatter(EngFormatter(unit="B", sep=""))
        grid[0][column].legend(fontsize=8, loc="upper left")
        grid[len(runs) - 1][column].set_xlabel(
            "s of virtual time; grey: a request under way")
    figure.tight_layout()
    try:
        figure.savefig(file, format=form, metadata={"Date": None} if form == "svg" else None)
    except OSError as error:
        raise LabError(f"cannot write the plot {file}: {error.strerror}") from None
    plt.close(figure)
