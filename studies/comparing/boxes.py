"""Boxes of distributions, published medians, and panels of what methods lose to ForestPrune."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from formulations.arrays import FloatArray
from studies.contests.methods import method_name
from studies.drawing.style import COLOURS, INK, STRIDES, decades, plain, set_ticks

# Rises below this many percent are drawn on a linear scale, others on a logarithmic one.
_LINEAR = 10.0

# Quartiles of fewer values say less than the values.
FEW = 5

# Points between a panel and its titles.
_ABOVE_LEGEND, _ABOVE_PANEL = 24.0, 6.0

# Unlike all other marks, in no colour that has a meaning.
_PUBLISHED: dict[str, Any] = {
    "linestyle": "none",
    "marker": "D",
    "markersize": 5.5,
    "markerfacecolor": "white",
    "markeredgecolor": INK,
    "markeredgewidth": 1.3,
    "zorder": 5,
}

TITLE: dict[str, Any] = {"color": INK, "fontsize": 10, "fontweight": "bold"}


def draw_boxes(
    panel: Axes,
    values: Sequence[npt.ArrayLike],
    positions: npt.ArrayLike,
    width: float,
    colour: str,
) -> None:
    """Draw quartiles, whiskers to the 5th and 95th percent, and points beyond.

    Of fewer than five values all are points, with a line at their median. Values that are not
    finite are left out.
    """
    for series, position in zip(map(_finite, values), np.asarray(positions), strict=True):
        if len(series) >= FEW:
            _draw_box(panel, series, position, width, colour)
        elif len(series):
            panel.plot(
                np.full(len(series), position),
                series,
                linestyle="none",
                marker="o",
                markersize=4.5,
                markerfacecolor=colour,
                markeredgecolor="white",
                markeredgewidth=0.5,
            )
            ends = position - 0.5 * width, position + 0.5 * width
            panel.hlines(np.median(series), *ends, color=colour, linewidth=1.6)


def draw_published(panel: Axes, positions: npt.ArrayLike, values: npt.ArrayLike) -> None:
    """Mark published values at these positions."""
    panel.plot(positions, values, **_PUBLISHED)


def published_handle(label: str) -> Line2D:
    """Return the entry of a legend for what `draw_published` draws."""
    return Line2D([], [], label=label, **_PUBLISHED)


def _finite(values: npt.ArrayLike) -> FloatArray:
    series = np.asarray(values, dtype=np.float64)
    return series[np.isfinite(series)]


def _draw_box(panel: Axes, series: FloatArray, position: float, width: float, colour: str) -> None:
    panel.boxplot(
        [series],
        positions=[position],
        widths=width,
        whis=(5, 95),
        manage_ticks=False,
        patch_artist=True,
        boxprops={"facecolor": colour, "alpha": 0.45, "edgecolor": colour},
        medianprops={"color": INK, "linewidth": 1.6},
        whiskerprops={"color": colour},
        capprops={"color": colour},
        flierprops={"marker": ".", "markersize": 3, "markeredgecolor": colour},
    )


def explain_boxes(panel: Axes, values: Sequence[npt.ArrayLike]) -> None:
    """Say at the upper right of a panel what `draw_boxes` has drawn of these values."""
    counts = [len(_finite(series)) for series in values]
    if all(count < FEW for count in counts):
        said = "dots: single values, line: median"
    else:
        few = any(0 < count < FEW for count in counts)
        said = "boxes: quartiles, whiskers: 5–95 %, dots: beyond"
        said += f", or all of fewer than {FEW} values" if few else ""
    panel.set_title(said, loc="right", color=INK, fontsize=8, pad=_pad(panel))


def _pad(panel: Axes) -> float:
    """Return the points between a panel and its titles, one number for all three of them."""
    return _ABOVE_LEGEND if panel.get_legend() is not None else _ABOVE_PANEL


def draw_rises(
    panel: Axes,
    methods: Sequence[str],
    levels: Mapping[str, Callable[[str], pd.Series[float]]],
    title: str,
    published: Mapping[str, Callable[[str], float | None]],
    label: str,
) -> None:
    """Draw what methods' errors are above ForestPrune's, in percent.

    Parameters
    ----------
    methods
        Labels.
    levels
        By name, such as ``φ = 0.01``, the ratios less 1 of a method over data sets.
    title
        Of the panel.
    published, label
        By the same names the published ratio less 1 of a method, or None where there is none;
        what these are, for the legend. There may be no names.
    """
    if not methods:
        panel.set_axis_off()
        return
    width = 0.8 / len(levels)
    colours = [COLOURS[place % len(COLOURS)] for place in range(len(levels))]
    drawn: list[npt.ArrayLike] = []
    marked = False
    for place, (level, rises) in enumerate(levels.items()):
        values = [100.0 * rises(method).to_numpy() for method in methods]
        positions = np.arange(len(methods)) + (place - (len(levels) - 1) / 2.0) * width
        draw_boxes(panel, values, positions, 0.85 * width, colours[place])
        drawn += values
        if level in published:
            told = [published[level](method) for method in methods]
            marks = [math.nan if rise is None else 100.0 * rise for rise in told]
            # Beside the middle, where single values and medians are.
            draw_published(panel, positions + 0.3 * width, marks)
            marked |= any(map(math.isfinite, marks))
    panel.set_ylabel("test MSE over ForestPrune, %", color=INK, fontsize=9)
    percent_axis(panel)
    name_methods(panel, methods)
    patches = [
        Patch(facecolor=to_rgba(colour, 0.6), edgecolor=colour, label=name)
        for name, colour in zip(levels, colours, strict=True)
    ]
    legend_above(panel, [*patches, *([published_handle(label)] if marked else [])])
    panel.set_title(title, loc="left", pad=_pad(panel), **TITLE)
    explain_boxes(panel, drawn)
    panel.tick_params(labelsize=8)
    plain(panel)


def percent_axis(panel: Axes) -> None:
    """Give a panel of changes a line at 0, ticks, and a logarithmic scale for large ones.

    Everything has been drawn on it, and its axis has a label, which tells of such a scale.
    """
    panel.axhline(0.0, color=INK, linewidth=1.0)
    if max(map(abs, panel.get_ylim())) > _LINEAR:
        panel.set_yscale("symlog", linthresh=_LINEAR)
        panel.autoscale_view()  # its margins are those of the linear scale
        panel.set_ylabel(f"{panel.get_ylabel()}\n(logarithmic beyond ±{_LINEAR:g} %)")
    set_ticks(panel.yaxis, _rise_ticks(*panel.get_ylim()), 0.04)


def legend_above(panel: Axes, handles: Sequence[Patch | Line2D]) -> None:
    """Put a legend of one line between a panel and its titles."""
    panel.legend(
        handles=handles,
        frameon=False,
        fontsize=8,
        labelcolor=INK,
        loc="lower left",
        bbox_to_anchor=(0.0, 1.0),
        borderaxespad=0.0,
        ncols=len(handles),
    )


def _rise_ticks(low: float, high: float) -> list[list[float]]:
    """Return ticks of an axis that is linear about 0, the finest first."""
    most = max(-low, high, _LINEAR)
    fine = decades(_LINEAR, most, (1.0, 2.0, 5.0))
    sizes = [[2.0, 5.0, *fine], [5.0, *fine]]
    sizes += [decades(_LINEAR, most, every=every) for every in STRIDES]
    return [[*(-size for size in reversed(choice)), 0.0, *choice] for choice in sizes]


def name_methods(panel: Axes, methods: Sequence[str]) -> None:
    """Write the methods' names below a panel, long ones in two lines."""
    names = [method_name(method).replace(", ", ",\n") for method in methods]
    panel.set_xticks(range(len(methods)), names)
