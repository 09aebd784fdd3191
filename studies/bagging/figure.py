"""The figure of `bagging`, after the paper's Figure 4."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from studies.bagging.outcomes import Outcomes
from studies.comparing.boxes import TITLE, draw_boxes, draw_rises, explain_boxes
from studies.drawing.style import COLOURS, INK, log_ticks, new_figure, number, plain


def draw_bagging(found: Outcomes) -> Figure:
    """Draw what ForestPrune costs and saves, by φ, and what other methods lose beside it."""
    figure = new_figure(10.5, 8.0)
    if not found.phis:
        return figure
    grid = figure.add_gridspec(2, 1, height_ratios=(1.0, 1.35))
    top, bottom = figure.add_subfigure(grid[0]), figure.add_subfigure(grid[1])
    panels = top.subplots(1, 3)
    own = [found.of(method=found.own, phi=phi) for phi in found.phis]
    labels = [f"φ = {phi:g}" for phi in found.phis]
    _boxes(
        panels[0],
        [100.0 * (lines["test"] / lines["full_test"] - 1.0) for lines in own],
        labels,
        "test MSE over full model, %",
    )
    panels[0].axhline(0.0, color=INK, linewidth=0.8)
    _boxes(
        panels[1],
        [lines["full_nodes"] / lines["nodes"].clip(lower=1) for lines in own],
        labels,
        "full nodes ÷ nodes",
    )
    panels[1].set_yscale("log")
    log_ticks(panels[1].yaxis)
    depths = [lines["mean_depth"] for lines in own]
    _boxes(panels[2], depths, labels, "mean depth of kept trees")
    explain_boxes(panels[2], depths)
    panels[2].set_ylim(bottom=0.0)
    panels[0].set_title("ForestPrune, folds of all data sets", loc="left", **TITLE)
    levels = {f"φ = {phi:g}": partial(found.rises, phi=phi) for phi in found.phis}
    title = "Other methods within as many nodes, over data sets"
    draw_rises(bottom.subplots(), found.rivals, levels, title)
    return figure


def _boxes(panel: Axes, values: Sequence[Any], labels: list[str], label: str) -> None:
    for place, series in enumerate(values):
        colour = COLOURS[place % len(COLOURS)]
        draw_boxes(panel, [series.to_numpy()], np.array([place]), 0.6, colour)
    panel.set_xticks(range(len(labels)), labels)
    panel.yaxis.set_major_locator(MaxNLocator(nbins=6, steps=[1, 2, 5, 10]))
    panel.yaxis.set_major_formatter(FuncFormatter(number))
    panel.tick_params(labelsize=8)
    panel.set_ylabel(label, color=INK, fontsize=9)
    plain(panel)
