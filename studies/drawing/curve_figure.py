"""The figure of paths: test error against nodes, one panel an instance, one line a method."""

from __future__ import annotations

import math

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator

from studies.drawing.style import COLOURS, INK, MARKERS, new_figure, number, plain
from studies.reporting.curves import Curve

_COLUMNS = 2

# An axis that spans less than this ratio has evenly spaced numbers: 1, 2, 5, … would be too few.
_NARROW = 5.0


def draw_curves(curves: list[Curve]) -> Figure:
    """Draw test error against nodes on a logarithmic axis; the full model is dotted."""
    instances = list(dict.fromkeys(curve.instance for curve in curves))
    names = list(dict.fromkeys(curve.name for curve in curves))
    columns = min(_COLUMNS, max(len(instances), 1))
    lines = max(math.ceil(len(instances) / columns), 1)
    figure = new_figure(max(4.4 * columns, 6.0), 3.3 * lines + 0.7)
    panels = figure.subplots(lines, columns, squeeze=False).ravel()
    for instance, panel in zip(instances, panels, strict=False):
        own = [curve for curve in curves if curve.instance == instance]
        _draw_panel(panel, own, names)
        panel.set_title(
            f"{instance.kind}, {instance.grid}",
            color=INK,
            fontsize=10,
            fontweight="bold",
            parse_math=False,  # a file may be named anything
        )
    for panel in panels[len(instances) :]:
        panel.set_visible(False)
    handles = [
        Line2D([], [], color=_colour(k), marker=_marker(k), linewidth=1.6, label=name)
        for k, name in enumerate(names)
    ]
    handles.append(Line2D([], [], color=INK, linestyle=":", linewidth=1.4, label="full model"))
    figure.legend(
        handles=handles, loc="outside lower center", ncols=3, frameon=False, labelcolor=INK
    )
    return figure


def _draw_panel(panel: Axes, curves: list[Curve], names: list[str]) -> None:
    for curve in curves:
        # A logarithmic axis has no place for the model without nodes.
        points = sorted((p for p in curve.points if p["nodes"]), key=lambda p: p["nodes"])
        place = names.index(curve.name)
        panel.plot(
            [point["nodes"] for point in points],
            [point["test_mse"] for point in points],
            color=_colour(place),
            marker=_marker(place),
            linewidth=1.6,
            markersize=5.5,
            markeredgecolor="white",
            markeredgewidth=0.7,
            alpha=0.9,
        )
    full = curves[0].full
    panel.axhline(full["full"]["test_mse"], color=INK, linestyle=":", linewidth=1.4, zorder=1)
    panel.set_xscale("log")
    panel.set_yscale("log")
    panel.xaxis.set_major_locator(LogLocator(numticks=8))
    panel.xaxis.set_minor_locator(NullLocator())
    panel.xaxis.set_major_formatter(FuncFormatter(number))
    panel.set_xlabel("nodes", color=INK, fontsize=9)
    panel.set_ylabel("test MSE", color=INK, fontsize=9)
    low, high = panel.get_ylim()
    panel.yaxis.set_major_locator(
        MaxNLocator(nbins=6, steps=[1, 2, 5, 10])
        if high < _NARROW * low
        else LogLocator(subs=(1.0, 2.0, 5.0))
    )
    panel.yaxis.set_minor_locator(NullLocator())
    panel.yaxis.set_major_formatter(FuncFormatter(number))
    panel.tick_params(labelsize=8)
    plain(panel)


def _colour(place: int) -> str:
    return COLOURS[place % len(COLOURS)]


def _marker(place: int) -> str:
    return MARKERS[place % len(MARKERS)]
