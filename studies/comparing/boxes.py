"""Boxes of distributions, and panels of what methods lose beside ForestPrune."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, SymmetricalLogLocator

from studies.comparing.methods import method_name
from studies.reporting.style import COLOURS, INK, number, plain

# Rises below this many percent are drawn on a linear scale, others on a logarithmic one.
_LINEAR = 10.0

TITLE: dict[str, Any] = {"color": INK, "fontsize": 10, "fontweight": "bold"}


def draw_boxes(
    panel: Axes,
    values: Sequence[npt.ArrayLike],
    positions: npt.ArrayLike,
    width: float,
    colour: str,
    label: str | None = None,
) -> None:
    """Draw quartiles, whiskers to the 5th and 95th percent, and points beyond."""
    panel.boxplot(
        values,
        positions=positions,
        widths=width,
        whis=(5, 95),
        manage_ticks=False,
        patch_artist=True,
        label=label,
        boxprops={"facecolor": colour, "alpha": 0.45, "edgecolor": colour},
        medianprops={"color": INK, "linewidth": 1.6},
        whiskerprops={"color": colour},
        capprops={"color": colour},
        flierprops={"marker": ".", "markersize": 3, "markeredgecolor": colour},
    )


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
    for place, (name, rises) in enumerate(levels.items()):
        values = [100.0 * rises(method).to_numpy() for method in methods]
        positions = np.arange(len(methods)) + (place - (len(levels) - 1) / 2.0) * width
        draw_boxes(panel, values, positions, 0.85 * width, COLOURS[place % len(COLOURS)], name)
    panel.axhline(0.0, color=INK, linewidth=1.0)
    panel.set_yscale("symlog", linthresh=_LINEAR)
    panel.yaxis.set_major_locator(SymmetricalLogLocator(base=10.0, linthresh=_LINEAR))
    panel.yaxis.set_major_formatter(FuncFormatter(number))
    name_methods(panel, methods)
    panel.set_ylabel("test MSE over ForestPrune, %", color=INK, fontsize=9)
    panel.set_title(title, loc="left", pad=24, **TITLE)
    panel.legend(
        frameon=False,
        fontsize=8,
        labelcolor=INK,
        loc="lower left",
        bbox_to_anchor=(0.0, 1.0),
        borderaxespad=0.0,
        ncols=len(levels),
    )
    panel.tick_params(labelsize=8)
    plain(panel)


def name_methods(panel: Axes, methods: Sequence[str]) -> None:
    """Write the methods' names below a panel, long ones in two lines."""
    names = [method_name(method).replace(", ", ",\n") for method in methods]
    panel.set_xticks(range(len(methods)), names)
