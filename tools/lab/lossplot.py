# SPDX-License-Identifier: GPL-2.0
"""The curve of `lab loss`: what a wrong prediction costs, one column a set-up.

Solid: told, with that error. Dashed: not told. Dotted: the default scheduler.
"""

from host import LabError

ROWS = (("lost", "packets lost", 1), ("fct_s", "time, s", 1),
        ("goodput_bps", "goodput, Mbit/s", 1e-6), ("stall_s", "longest stall, ms", 1e3))
COLOUR, GREY = "#d62728", "#555555"


def curve(sched, case, by_name):
    """([error_ms], [row]) of the runs that all arrived."""
    start = f"{case.name} {sched} "
    found = [(int(name[len(start):].split()[0]), row) for name, row in by_name.items()
             if name.startswith(start) and name.endswith(" ms") and not row["failed"]]
    found.sort(key=lambda pair: pair[0])
    return [error for error, _ in found], [row for _, row in found]


def draw(file, sched, cases, by_name):
    """SVG by python3-matplotlib, which was made available before."""
    import matplotlib.pyplot as plt     # pylint: disable=import-outside-toplevel

    figure, grid = plt.subplots(len(ROWS), len(cases), squeeze=False, sharex=True,
                                figsize=(1 + 3.6 * len(cases), 0.8 + 1.9 * len(ROWS)))
    for column, case in enumerate(cases):
        errors, rows = curve(sched, case, by_name)
        for axes, (key, label, scale) in zip(grid[:, column], ROWS):
            axes.plot(errors, [row[key] * scale for row in rows], color=COLOUR,
                      marker="o", markersize=3, label=f"{sched}, told")
            for name, style, text in ((f"{case.name} {sched}", "--", f"{sched}, not told"),
                                      (f"{case.name} default", ":", "default")):
                if not by_name[name]["failed"]:
                    axes.axhline(by_name[name][key] * scale, color=GREY, linestyle=style,
                                 linewidth=1, label=text)
            axes.set_ylim(bottom=0)
            axes.grid(True, linewidth=0.3)
            if not column:
                axes.set_ylabel(label)
        grid[0][column].set_title(case.name, loc="left", fontsize=10)
        grid[-1][column].set_xlabel("ms told too late (before 0: too early)")
    grid[0][0].legend(fontsize=8)
    figure.tight_layout()
    try:
        figure.savefig(file, format="svg", metadata={"Date": None})
    except OSError as error:
        raise LabError(f"cannot write the plot {file}: {error.strerror}") from None
    plt.close(figure)
