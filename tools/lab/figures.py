# SPDX-License-Identifier: GPL-2.0
"""The pictures of the results page, as SVG and as PNG."""

import plot
import runs
import seeds as tables
import sweep as sweeping

FIGURE_IN = (7.5, 4.2)
PNG_DPI = 90
CURVES = ("default", "minrtt", "minpad", "pams", "minfct", "blest", "ecf", "everywhere",
          "single", "redundant")


def save(figure, path):
    """Both forms, the same ones for the same data."""
    figure.tight_layout()
    figure.savefig(f"{path}.svg", format="svg", metadata={"Date": None})
    figure.savefig(f"{path}.png", format="png", dpi=PNG_DPI, metadata={"Software": None})


def _axes():
    plot.available()
    import matplotlib.pyplot as plt     # pylint: disable=import-outside-toplevel
    figure, axes = plt.subplots(figsize=FIGURE_IN)
    axes.grid(True, linewidth=0.3)
    return figure, axes


def _colour(name):
    return plot.COLOURS[CURVES.index(name) % len(plot.COLOURS)] if name in CURVES else "black"


def _distribution(data, against, title, path):
    """What part of the scenarios takes at most so many times the other's time."""
    figure, axes = _axes()
    for name in sweeping.names_of(data["rows"]):
        ratios = sorted(ratio for ratio, _ in sweeping.ratios(data["rows"], name, against))
        part = [(number + 1) / len(ratios) for number in range(len(ratios))]
        axes.plot(ratios, part, label=name, linewidth=1.3, drawstyle="steps-post",
                  color=_colour(name))
    axes.axvline(1, color="#999999", linestyle=":", linewidth=1)
    axes.set_xscale("log")
    axes.set_xlim(0.1, 20)
    axes.set_xticks([0.1, 0.2, 0.5, 1, 2, 5, 10, 20])
    axes.get_xaxis().set_major_formatter("{x:g}")
    axes.get_xaxis().set_minor_formatter("")
    axes.set_xlabel(title)
    axes.set_ylabel("share of the scenarios")
    axes.legend(fontsize=8, loc="lower right")
    save(figure, path)


def sweep(data, folder):
    """Distributions over all transfers."""
    data = {"rows": [row for row in data["rows"] if not row["part"]]}
    _distribution(data, sweeping.against_single, "time / the best single path's",
                  f"{folder}/harm")
    _distribution(data, sweeping.against_default, "time / default's", f"{folder}/default")


def collapse(lab, path):
    """Bytes over time while one of two equal paths collapses."""
    scenario = tables.collapse_scenario()
    shown = [name for name in ("default", "pams", "minfct") if name in lab.schedulers]
    done = lab.traced([runs.Job(name, name, scenario) for name in shown])
    plot.available()
    plot.draw(f"{path}.svg", [(scenario, done)])
    plot.draw(f"{path}.png", [(scenario, done)], "png")
