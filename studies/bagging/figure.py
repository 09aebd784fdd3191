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
from studies.bagging.published import (
    TEXT_DEPTH,
    TEXT_PHI,
    TEXT_RISE_PERCENT,
    TEXT_TIMES_SMALLER,
    published_rise_of,
)
from studies.comparing.boxes import (
    TITLE,
    draw_boxes,
    draw_published,
    draw_rises,
    explain_boxes,
    legend_above,
    percent_axis,
    published_handle,
)
from studies.drawing.style import COLOURS, INK, log_ticks, new_figure, number, plain


def draw_bagging(found: Outcomes) -> Figure:
    """Draw what ForestPrune costs and saves, by φ, and what other methods lose beside it."""
    figure = new_figure(10.5, 8.0)
    if not found.phis:
        return figure
    grid = figure.add_gridspec(2, 1, height_ratios=(1.0, 1.35))
    top, bottom = figure.add_subfigure(grid[0]), figure.add_subfigure(grid[1])
    _draw_own(top.subplots(1, 3, gridspec_kw={"wspace": 0.08}), found)
    levels = {f"φ = {phi:g}": partial(found.rises, phi=phi) for phi in found.phis}
    published = {
        level: partial(published_rise_of, found.comparable, phi=phi)
        for level, phi in zip(levels, found.phis, strict=True)
    }
    title = "Other methods within as many nodes, over data sets"
    label = found.published_label + (", CCP over the paper's" if "ccp" in found.rivals else "")
    draw_rises(bottom.subplots(), found.rivals, levels, title, published, label)
    return figure


def _draw_own(panels: Sequence[Axes], found: Outcomes) -> None:
    """Draw how much worse than the full models ForestPrune's are, how much smaller, how deep."""
    own = [found.of(method=found.own, phi=phi) for phi in found.phis]
    rises = [100.0 * (lines["test"] / lines["full_test"] - 1.0) for lines in own]
    ratios = [lines["full_nodes"] / lines["nodes"].clip(lower=1) for lines in own]
    depths = [lines["mean_depth"] for lines in own]
    for panel, values, label in zip(
        panels,
        (rises, ratios, depths),
        ("test MSE over full model, %", "full nodes ÷ nodes", "mean depth of kept trees"),
        strict=True,
    ):
        _boxes(panel, values, [f"φ = {phi:g}" for phi in found.phis], label)
    if found.comparable and TEXT_PHI in found.phis:
        texts = (TEXT_RISE_PERCENT, TEXT_TIMES_SMALLER, TEXT_DEPTH)
        for panel, ends in zip(panels, texts, strict=True):
            _draw_range(panel, found.phis.index(TEXT_PHI), ends)
        legend_above(panels[1], [published_handle("published, over the paper's data sets")])
    percent_axis(panels[0])
    panels[1].set_yscale("log")
    log_ticks(panels[1].yaxis)
    panels[2].set_ylim(bottom=0.0)
    explain_boxes(panels[2], depths)
    panels[0].set_title("ForestPrune, folds of all data sets", loc="left", **TITLE)


def _draw_range(panel: Axes, place: int, ends: Sequence[float]) -> None:
    """Mark a published number or range beside a box."""
    at = np.full(len(ends), place + 0.4)
    panel.plot(at, ends, color=INK, linewidth=1.3)
    draw_published(panel, at, ends)


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
