"""The figure of a timing study: seconds against rows, one panel for each number of trees."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from studies.drawing.style import COLOURS, INK, MARKERS, for_text, new_figure, number, plain
from studies.running.records import solve_times
from studies.spec import ENSEMBLE_NAMES, call_name, solver_name
from studies.table1.tables import Grid

_LINE_POINTS = 13.0

# Solvers that passed the time limit are drawn above it, each in a lane of its own.
_LANE = 1.6


@dataclass(frozen=True)
class Point:
    """A measurement: rows, seconds, and whether the solver passed the limit there."""

    trees: int
    rows: int
    seconds: float
    over_limit: bool


@dataclass(frozen=True)
class Series:
    """The measurements of one call, with how they are drawn."""

    name: str
    colour: str
    marker: str
    dashes: str
    points: tuple[Point, ...]


def draw_times(grid: Grid) -> Figure:
    """Draw a run's solve times on logarithmic axes."""
    series = _series(grid)
    trees = sorted({point.trees for item in series for point in item.points}) or [0]
    figure = new_figure(4.6 + 3.4 * len(trees), 4.8)
    panels = figure.subplots(1, len(trees), sharey=True, squeeze=False)[0]
    for panel, count in zip(panels, trees, strict=True):
        _draw_panel(panel, count, series)
    panels[0].set_ylabel("seconds to solve", color=INK)
    figure.suptitle(_title(grid), x=0.01, ha="left", color=INK, fontsize=11)
    _draw_limit(panels, grid, series)
    if len(trees) == 1:
        figure.draw_without_rendering()  # so that the axes know where their points lie
        _name_beside_points(panels[0], series)
    else:
        _name_in_legend(figure, series)
    return figure


def _title(grid: Grid) -> str:
    if not grid.instances:
        return "no cell has finished yet"
    first, alpha = grid.instances[0], grid.run.config["alphas"][0]
    return f"{ENSEMBLE_NAMES[first.ensemble]} of depth {first.depth}, {first.data}, α = {alpha:g}"


def _name_in_legend(figure: Figure, series: list[Series]) -> None:
    """Write the names of series to the right of all panels, the slowest first."""
    lines = {line.get_label(): line for panel in figure.axes for line in panel.get_lines()}
    ordered = sorted(series, key=lambda item: item.points[-1].seconds, reverse=True)
    ordered.sort(key=lambda item: item.points[-1].trees, reverse=True)
    figure.legend(
        [lines[item.name] for item in ordered],
        [item.name for item in ordered],
        loc="outside right center",
        frameon=False,
        labelcolor=INK,
        fontsize=10,
        handlelength=2.8,
        labelspacing=0.9,
    )


def _name_beside_points(panel: Axes, series: list[Series]) -> None:
    """Write the names of series beside their last points, moved apart where they meet."""
    scale = 72.0 / panel.figure.dpi
    by_rows: dict[int, list[Series]] = {}
    for item in series:
        by_rows.setdefault(item.points[-1].rows, []).append(item)
    for group in by_rows.values():
        ends = [(item.points[-1].rows, item.points[-1].seconds) for item in group]
        heights = panel.transData.transform(ends)[:, 1] * scale
        for item, end, shift in zip(group, ends, _apart(heights) - heights, strict=True):
            panel.annotate(
                item.name,
                end,
                xytext=(9, shift),
                textcoords="offset points",
                va="center",
                color=for_text(item.colour),
                fontsize=9.5,
                bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 0.5},
                annotation_clip=False,
                zorder=3,
            )


def _apart(heights: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Move heights apart until neighbours are a line of text away, as little as possible."""
    placed = np.array(heights, dtype=np.float64)
    order = np.argsort(placed, kind="stable")
    for _ in range(200):
        for lower, upper in pairwise(order):
            lacking = _LINE_POINTS - (placed[upper] - placed[lower])
            if lacking > 0.0:
                placed[lower] -= lacking / 2.0
                placed[upper] += lacking / 2.0
    return placed


def _series(grid: Grid) -> list[Series]:
    """Return what can be drawn: colours go with solvers, markers and dashes with variants."""
    names = list(dict.fromkeys(solver_name(solver) for solver, _ in grid.calls))
    variants: dict[str, int] = {}
    found: list[Series] = []
    lanes = 0
    for solver, task in grid.calls:
        name = solver_name(solver)
        variant = variants[name] = variants.get(name, -1) + 1
        points = tuple(_points(grid, solver, task, _LANE ** (lanes + 1)))
        if points:
            lanes += any(point.over_limit for point in points)
            found.append(
                Series(
                    name=call_name(solver, task),
                    colour=COLOURS[names.index(name) % len(COLOURS)],
                    marker=MARKERS[variant % len(MARKERS)],
                    dashes="--" if task == "path" else ("-", ":", "-.")[min(variant, 2)],
                    points=points,
                )
            )
    return found


def _points(grid: Grid, solver: str, task: str, beyond: float) -> Iterable[Point]:
    """Yield measurements; one past the limit stands at this factor above it."""
    for instance in grid.instances:
        cell, row = grid.cells.get((instance, solver, task), (None, {"status": "absent"}))
        if cell is not None and row["status"] == "over_limit":
            yield Point(instance.trees, instance.rows, beyond * cell.time_limit, over_limit=True)
        elif row["status"] == "ok":
            time = max(solve_times(row).median, 1e-7)  # a logarithmic axis has no zero
            yield Point(instance.trees, instance.rows, time, over_limit=False)


def _draw_panel(panel: Axes, trees: int, series: list[Series]) -> None:
    rows = sorted({p.rows for item in series for p in item.points if p.trees == trees})
    for item in series:
        points = [point for point in item.points if point.trees == trees]
        panel.plot(
            [point.rows for point in points],
            [point.seconds for point in points],
            color=item.colour,
            linestyle=item.dashes,
            linewidth=1.8,
            marker=item.marker,
            markersize=6,
            markeredgecolor="white",
            markeredgewidth=0.8,
            label=item.name,
        )
        beyond = [point for point in points if point.over_limit]
        panel.plot(
            [point.rows for point in beyond],
            [point.seconds for point in beyond],
            linestyle="none",
            marker="^",
            markersize=9,
            markerfacecolor="white",
            markeredgecolor=item.colour,
            markeredgewidth=1.6,
        )
    panel.set_xscale("log")
    panel.set_yscale("log")
    panel.xaxis.set_major_locator(FixedLocator(rows))
    panel.xaxis.set_minor_locator(NullLocator())
    panel.xaxis.set_major_formatter(FuncFormatter(number))
    panel.yaxis.set_major_formatter(FuncFormatter(number))
    panel.margins(x=0.12, y=0.08)
    panel.set_xlabel("rows", color=INK)
    panel.set_title(f"{trees:,} trees", color=INK, fontsize=11, fontweight="bold")
    plain(panel)


def _draw_limit(panels: Iterable[Axes], grid: Grid, series: list[Series]) -> None:
    """Draw the time limit, and shade what is beyond, where a solver passed it."""
    beyond = [p.seconds for item in series for p in item.points if p.over_limit]
    if not beyond:
        return
    top = _LANE * max(beyond)
    for limit in {cell.time_limit for cell, _ in grid.cells.values()}:
        for panel in panels:
            # Heights beyond the limit mean nothing, so they have no numbers.
            panel.yaxis.set_major_formatter(
                FuncFormatter(lambda value, _, limit=limit: number(value) if value <= limit else "")
            )
            panel.axhspan(limit, top, color="#F3F3F3", linewidth=0.0, zorder=0)
            panel.axhline(limit, color=INK, linewidth=0.9, linestyle=(0, (1, 2)), zorder=0)
            panel.annotate(
                f"over {limit:g} s",
                (1.0, top),
                xycoords=("axes fraction", "data"),
                xytext=(-3, 2),
                textcoords="offset points",
                ha="right",
                fontsize=8.5,
                color=INK,
            )
