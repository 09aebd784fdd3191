"""Boxes of distributions, and panels of what methods lose beside ForestPrune."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
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
    """
    if not methods:
        panel.set_axis_off()
        return
    width = 0.8 / len(levels)
    colours = [COLOURS[place % len(COLOURS)] for place in range(len(levels))]
    drawn: list[npt.ArrayLike] = []
    for place, rises in enumerate(levels.values()):
        values = [100.0 * rises(method).to_numpy() for method in methods]
        positions = np.arange(len(methods)) + (place - (len(levels) - 1) / 2.0) * width
        draw_boxes(panel, values, positions, 0.85 * width, colours[place])
        drawn += values
    panel.axhline(0.0, color=INK, linewidth=1.0)
    label = "test MSE over ForestPrune, %"
    if max(map(abs, panel.get_ylim())) > _LINEAR:
        panel.set_yscale("symlog", linthresh=_LINEAR)
        panel.autoscale_view()  # its margins are those of the linear scale
        label += f"\n(logarithmic beyond ±{_LINEAR:g} %)"
    set_ticks(panel.yaxis, _rise_ticks(*panel.get_ylim()), 0.04)
    name_methods(panel, methods)
    panel.set_ylabel(label, color=INK, fontsize=9)
    panel.legend(
        handles=[
            Patch(facecolor=to_rgba(colour, 0.6), edgecolor=colour, label=name)
            for name, colour in zip(levels, colours, strict=True)
        ],
        frameon=False,
        fontsize=8,
        labelcolor=INK,
        loc="lower left",
        bbox_to_anchor=(0.0, 1.0),
        borderaxespad=0.0,
        ncols=len(levels),
    )
    panel.set_title(title, loc="left", pad=_pad(panel), **TITLE)
    explain_boxes(panel, drawn)
    panel.tick_params(labelsize=8)
    plain(panel)


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
