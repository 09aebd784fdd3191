"""The figures of `boosting`, after the paper's Figure 5."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from itertools import cycle, product

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from formulations.arrays import FloatArray
from studies.boosting.outcomes import Outcomes
from studies.boosting.tables import published_rise_of, published_size_of
from studies.comparing.boxes import (
    TITLE,
    draw_boxes,
    draw_published,
    draw_rises,
    explain_boxes,
    legend_above,
    name_methods,
    published_handle,
)
from studies.contests.methods import JOINT, PLAIN, POLISHED, SUBTREES, TUNED, method_name
from studies.drawing.style import COLOURS, INK, log_ticks, new_figure, plain

_COLUMNS = 3

# How the methods are drawn, where they were run: colour, line; one without a line has marks.
_LINES = {
    TUNED: (COLOURS[0], "-"),
    POLISHED: (COLOURS[0], "-"),
    PLAIN: (COLOURS[0], "--"),
    SUBTREES: (COLOURS[2], "-"),
    JOINT: (COLOURS[1], "-"),
    "first_k": (COLOURS[4], ":"),
    "lasso": (COLOURS[3], "-."),
    "rule_lasso": (COLOURS[6], "--"),
    "bsts": (COLOURS[5], ""),
}

_STYLES = ("--", "-.", ":", "-")


def draw_paths(found: Outcomes) -> Figure:
    """Draw the test error against nodes, means over folds, a panel for each data set."""
    lines = math.ceil(len(found.data) / _COLUMNS)
    columns = min(_COLUMNS, max(len(found.data), 1))
    figure = new_figure(max(3.5 * columns, 5.0), 2.5 * max(lines, 1) + 0.9)
    if not found.data:
        return figure
    panels = figure.subplots(lines, columns, squeeze=False).ravel()
    for data, panel in zip(found.data, panels, strict=False):
        _draw_data(panel, found, data)
    for panel in panels[len(found.data) :]:
        panel.set_axis_off()
    # By name, since a method may have failed on some data sets.
    shown = {
        label: handle
        for panel in panels
        for handle, label in zip(*panel.get_legend_handles_labels(), strict=True)
    }
    figure.legend(
        shown.values(),
        shown.keys(),
        loc="outside lower center",
        ncols=4 if columns > 1 else 2,
        frameon=False,
        fontsize=8,
        labelcolor=INK,
    )
    return figure


def _lines(methods: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Return how methods are drawn; those that were asked for have what others leave."""
    taken = {*_LINES.values(), (COLOURS[6], ":")}  # the last looks like the full model
    pairs = ((colour, style) for style, colour in product(_STYLES, COLOURS))
    left = cycle(pair for pair in pairs if pair not in taken)
    others = [method for method in methods if method not in _LINES]
    return {
        **_LINES,
        **{
            # Searches within budgets have models of these sizes only.
            method: (colour, "" if method.startswith("bsts[") else style)
            for method, (colour, style) in zip(others, left, strict=False)
        },
    }


def _draw_data(panel: Axes, found: Outcomes, data: str) -> None:
    points = found.points[found.points["data"] == data]
    most = float(points["nodes"].max())
    nodes = np.geomspace(20.0, max(most, 40.0), 120)
    for method, (colour, style) in _lines(found.methods).items():
        own = points[points["method"] == method]
        # With several ridges the published one is a part of the first line.
        if len(own) == 0 or (method == POLISHED and found.own != POLISHED):
            continue
        at = nodes if style else np.array([b for b in found.budgets if b <= nodes[-1]])
        panel.plot(
            at,
            _errors(own, at, found.protocol == "sound"),
            color=colour,
            linestyle=style or "none",
            marker=None if style else "D",
            markersize=4.5,
            linewidth=1.4,
            label=method_name(method),
        )
    panel.axhline(
        points.groupby("fold")["full_test"].first().mean(),
        color=INK,
        linestyle=(0, (1, 1)),
        linewidth=1.2,
        label="full model",
    )
    panel.set_xscale("log")
    panel.set_yscale("log")
    log_ticks(panel.xaxis, 0.12)
    log_ticks(panel.yaxis)
    # A file may be named anything, which is not to be read as a formula.
    panel.set_title(data, loc="left", color=INK, fontsize=9, fontweight="bold", parse_math=False)
    panel.set_xlabel("nodes", color=INK, fontsize=8)
    panel.set_ylabel("test MSE", color=INK, fontsize=8)
    panel.tick_params(labelsize=7)
    plain(panel)


def _errors(points: pd.DataFrame, nodes: FloatArray, by_validation: bool) -> FloatArray:
    """Return (nodes,) the mean over folds of the test error of the model within so many nodes.

    Models are taken as `studies.comparing.found.within` does.
    """
    folds = []
    for _, path in points.groupby("fold"):
        fits = path["nodes"].to_numpy() <= nodes[:, None]
        if by_validation:
            taken = np.where(fits, path["validation"].to_numpy(), np.inf).argmin(axis=1)
        else:
            taken = fits.shape[1] - 1 - fits[:, ::-1].argmax(axis=1)
        folds.append(path["test"].to_numpy()[taken])
    return np.asarray(np.mean(folds, axis=0))


def draw_budgets(found: Outcomes) -> Figure:
    """Draw what other methods lose to ForestPrune within budgets, and the best models' sizes."""
    figure = new_figure(10.5, 8.0)
    if not found.data:
        return figure
    top, bottom = figure.subplots(2, 1, height_ratios=(1.35, 1.0))
    levels = {
        f"{budget:,g} nodes": partial(found.rises, found.within[budget]) for budget in found.budgets
    }
    title = "Other methods within budgets of nodes, over data sets"
    published = {
        level: partial(published_rise_of, found.comparable, budget=budget)
        for level, budget in zip(levels, found.budgets, strict=True)
    }
    draw_rises(top, found.methods[1:], levels, title, published, found.published_label)
    sizes = [
        found.best[found.best["method"] == name]["nodes"].clip(lower=1).to_numpy()
        for name in found.methods
    ]
    draw_boxes(bottom, sizes, np.arange(len(sizes)), 0.55, COLOURS[0])
    told = [published_size_of(found.comparable, method) for method in found.methods]
    if any(told):
        beside = np.arange(len(told)) + 0.18  # where no median is
        draw_published(bottom, beside, [math.nan if size is None else size for size in told])
        legend_above(bottom, [published_handle(found.published_label)])
    bottom.set_yscale("log")
    log_ticks(bottom.yaxis)
    name_methods(bottom, found.methods)
    bottom.set_ylabel("nodes", color=INK, fontsize=9)
    title = "Size of the best model on each path, folds of all data sets"
    bottom.set_title(title, loc="left", **TITLE)
    explain_boxes(bottom, sizes)
    bottom.tick_params(labelsize=8)
    plain(bottom)
    return figure
