"""The figure of `weights`: error, trees and their depth against nodes, for either weights."""

from __future__ import annotations

from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator

from studies.drawing.style import COLOURS, INK, new_figure, number, plain
from studies.reporting.curves import Curve
from studies.weights.chosen import NAMES, Family, chosen

# The models that are marked: validation error at most φ above the full model's.
MARKED = 0.01

# An axis that spans less than this ratio has evenly spaced numbers: 1, 2, 5, … would be too few.
_NARROW = 5.0

_PANELS = {
    "test_mse": "test MSE / full model's",
    "trees": "trees",
    "mean_depth": "mean depth of kept trees",
}
_COLOURS = dict(zip(NAMES, COLOURS, strict=False))
_MARKERS = dict(zip(NAMES, "os", strict=True))


def draw_weights(found: list[Family]) -> Figure:
    """Draw three panels a family; models at one allowed rise of the error are marked."""
    figure = new_figure(10.0, 3.1 * max(len(found), 1) + 0.6)
    if not found:
        return figure
    panels = figure.subplots(len(found), len(_PANELS), squeeze=False)
    for family, line in zip(found, panels, strict=True):
        for (what, label), panel in zip(_PANELS.items(), line, strict=True):
            for curve in family.curves:
                _draw_curve(panel, curve, what, family.instance.seed)
            _dress(panel, label)
        title = f"{family.instance.kind}, {family.instance.grid}"
        line[0].set_title(title, loc="left", color=INK, fontsize=10, fontweight="bold")
        line[0].axhline(1.0, color=INK, linestyle=":", linewidth=1.3, zorder=1)
        line[0].set_yscale("log")
        low, high = line[0].get_ylim()
        line[0].yaxis.set_major_locator(
            MaxNLocator(nbins=6, steps=[1, 2, 5, 10])
            if high < _NARROW * low
            else LogLocator(subs=(1.0, 2.0, 5.0))
        )
        line[0].yaxis.set_minor_locator(NullLocator())
        line[0].yaxis.set_major_formatter(FuncFormatter(number))
    figure.legend(
        handles=_legend(), loc="outside lower center", ncols=4, frameon=False, labelcolor=INK
    )
    return figure


def _draw_curve(panel: Axes, curve: Curve, what: str, first_seed: int) -> None:
    weights = curve.cell.method.weights
    colour = _COLOURS[weights]
    # A logarithmic axis has no place for the model without nodes.
    points = sorted((p for p in curve.points if p["nodes"]), key=lambda p: p["nodes"])
    first = curve.instance.seed == first_seed
    unit = curve.full["full"]["test_mse"] if what == "test_mse" else 1.0
    panel.plot(
        [p["nodes"] for p in points],
        [p[what] / unit for p in points],
        color=colour,
        marker=_MARKERS[weights] if first else None,
        markersize=3.5,
        linewidth=1.5 if first else 1.0,
        alpha=0.9 if first else 0.35,
    )
    mark: dict[str, Any] | None = chosen(curve, MARKED) if first else None
    if mark is not None:
        panel.plot(
            [mark["nodes"]],
            [mark[what] / unit],
            marker=_MARKERS[weights],
            markersize=11,
            markerfacecolor="none",
            markeredgecolor=colour,
            markeredgewidth=2.0,
            zorder=4,
        )


def _dress(panel: Axes, label: str) -> None:
    panel.set_xscale("log")
    panel.xaxis.set_major_locator(LogLocator(numticks=5))
    panel.xaxis.set_minor_locator(NullLocator())
    panel.yaxis.set_major_locator(MaxNLocator(nbins=5, integer=True))
    for axis in (panel.xaxis, panel.yaxis):
        axis.set_major_formatter(FuncFormatter(number))
    panel.set_xlabel("nodes", color=INK, fontsize=9)
    panel.set_ylabel(label, color=INK, fontsize=9)
    panel.tick_params(labelsize=8)
    panel.tick_params(axis="x", labelsize=7)
    plain(panel)


def _legend() -> list[Line2D]:
    handles = [
        Line2D([], [], color=_COLOURS[key], marker=_MARKERS[key], markersize=4, label=name)
        for key, name in NAMES.items()
    ]
    mark = Line2D([], [], color=INK, linestyle="", marker="o", markersize=9, markeredgewidth=1.8)
    mark.set_markerfacecolor("none")
    mark.set_label(f"smallest with validation MSE ≤ full model's + {MARKED:g}")
    full = Line2D([], [], color=INK, linestyle=":", linewidth=1.3, label="full model")
    return [*handles, mark, full]
