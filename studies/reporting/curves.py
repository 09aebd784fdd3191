"""Paths with errors on held-out rows: what each method reaches with how many nodes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np

from studies.reporting import formats
from studies.reporting.report import Run
from studies.reporting.tables import NOT_RUN, Group, Table
from studies.running.records import Row
from studies.spec import Cell, Instance

Point = dict[str, Any]

# Objectives and errors that differ by less, relatively, are the same.
SAME = 1e-9

# A bound may be as much above an objective, in units of the variance of y; so does `solve`.
ROUNDING = 1e-9

BUDGET_NOTE = (
    "The table by budgets takes from each path the model with the least validation error among "
    "those with at most that share of the full model's nodes, and shows its error on the test "
    "rows, which had no say."
)

# An error of 0 has no logarithm.
_SMALLEST = float(np.finfo(np.float64).tiny)


@dataclass(frozen=True)
class Curve:
    """A path of one method on one instance.

    Attributes
    ----------
    full
        How the instance was prepared: the full model's size and its errors.
    points
        What is known at each α, the largest α first.
    name
        Method for people, and the solver where there are several.
    """

    cell: Cell
    full: Row
    points: tuple[Point, ...]
    name: str

    @property
    def instance(self) -> Instance:
        """The instance."""
        return self.cell.instance

    def share(self, point: Point) -> float:
        """Return the nodes of a point as a part of the full model's."""
        return float(point["nodes"] / self.full["nodes"])

    def error_at(self, nodes: int) -> float | None:
        """Return the test error at a size, on the straight lines of a figure with log axes.

        Of models of the same size the least error counts. None for a size that is smaller or
        larger than all models but the empty one.
        """
        least: dict[int, float] = {}
        for point in self.points:
            if point["nodes"]:
                known = least.get(point["nodes"], math.inf)
                least[point["nodes"]] = min(known, point["test_mse"])
        sizes = sorted(least)
        if not sizes or not sizes[0] <= nodes <= sizes[-1]:
            return None
        errors = np.array([max(least[size], _SMALLEST) for size in sizes])
        return float(np.exp(np.interp(np.log(nodes), np.log(sizes), np.log(errors))))

    def best_within(self, budget: float) -> Point | None:
        """Return the point with the least validation error among those small enough.

        The test rows have no say; of equals it is the smallest model.

        Parameters
        ----------
        budget
            Largest number of nodes, as a part of the full model's.
        """
        small = [point for point in self.points if self.share(point) <= budget]
        return min(small, key=lambda p: (p["validation_mse"], p["nodes"]), default=None)

    @property
    def seconds(self) -> float:
        """Build and solve time of the whole path."""
        return float(sum(point["seconds"] for point in self.points))


def curves_of(run: Run) -> list[Curve]:
    """Return the paths of a run that have points, grouped by instance."""
    several = len({cell.solver for cell, _ in run.cells}) > 1
    found = [
        Curve(
            cell=cell,
            full=run.preparations[cell.instance],
            points=tuple(row["path"]),
            name=f"{cell.method.name} ({cell.solver})" if several else cell.method.name,
        )
        for cell, row in run.cells
        if row.get("path")
    ]
    order = {instance: k for k, instance in enumerate(dict.fromkeys(c.instance for c in found))}
    return sorted(found, key=lambda curve: order[curve.instance])


def by_instance(curves: list[Curve]) -> Iterator[list[Curve]]:
    """Yield the paths of each instance."""
    for _, members in groupby(curves, key=lambda curve: curve.instance):
        yield list(members)


def couples(
    curves: list[Curve], first: Callable[[Curve], bool], second: Callable[[Curve], bool]
) -> Iterator[tuple[Curve, Curve]]:
    """Yield the paths of two methods on the same instance by the same solver."""
    for own in by_instance(curves):
        for one in filter(first, own):
            for other in filter(second, own):
                if one.cell.solver == other.cell.solver:
                    yield one, other


def matched(one: Curve, other: Curve) -> Iterator[tuple[Point, Point]]:
    """Yield the points of two paths at the same α."""
    by_alpha = {_key(point): point for point in other.points}
    for point in one.points:
        if _key(point) in by_alpha:
            yield point, by_alpha[_key(point)]


def _key(point: Point) -> str:
    """Return an α to nine digits: paths compute it on their own."""
    return f"{point['alpha']:.8e}"


def budget_table(curves: list[Curve], budgets: tuple[float, ...]) -> Table:
    """Return the test error of each method at budgets of nodes, with the size it takes."""
    header = ["method"]
    for budget in budgets:
        within = f"≤ {100 * budget:g} %"
        header += [within, f"trees {within}", f"nodes {within}"]
    header.append("path s")
    groups = []
    for own in by_instance(curves):
        instance, full = own[0].instance, own[0].full
        rows = [_budget_row(curve, budgets) for curve in own]
        last = (_error(full["full"]["test_mse"]), f"{full['trees']:,}", f"{full['nodes']:,}")
        blank = [NOT_RUN] * (3 * len(budgets) - 3)
        rows.append(("full model", *blank, *last, NOT_RUN))
        groups.append(Group(f"{instance.kind}, {instance.grid}", tuple(rows)))
    return Table(
        "Test MSE by share of the nodes (the model with the least validation error)",
        tuple(header),
        tuple(groups),
    )


def brief_columns(budgets: tuple[float, ...]) -> tuple[str, ...]:
    """Return the columns of the budget table that fit a terminal."""
    return ("method", *(f"≤ {100 * budget:g} %" for budget in budgets), "path s")


def _budget_row(curve: Curve, budgets: tuple[float, ...]) -> tuple[str, ...]:
    entries = []
    for budget in budgets:
        point = curve.best_within(budget)
        if point is None:
            entries += [NOT_RUN] * 3
        else:
            entries += [
                _error(point["test_mse"]),
                f"{point['trees']:,}",
                f"{point['nodes']:,}",
            ]
    return (curve.name, *entries, formats.seconds(curve.seconds))


def point_table(curves: list[Curve]) -> Table:
    """Return all points of all paths, grouped by instance and method."""
    header = (
        "α",
        "objective",
        "lower bound",
        "gap %",
        "bound from",
        "guarantee",
        "pruning gap %",
        "train MSE",
        "validation MSE",
        "test MSE",
        "test R²",
        "trees",
        "nodes",
        "nodes %",
        "build + solve s",
    )
    groups = [
        Group(
            f"{curve.instance.kind}, {curve.instance.grid}, {curve.name}",
            tuple(_point_row(curve, point) for point in curve.points),
        )
        for curve in curves
    ]
    return Table("All points of the paths (rows × trees)", header, tuple(groups))


def _point_row(curve: Curve, point: Point) -> tuple[str, ...]:
    return (
        f"{point['alpha']:.3g}",
        formats.objective(point["objective"]),
        formats.objective(point["bound"]),
        formats.percent(point["gap"]),
        str(point["bound_source"]).replace("_", " "),
        str(point["guarantee"]),
        formats.percent(point["pruning_gap"]),
        _error(point["train_mse"]),
        _error(point["validation_mse"]),
        _error(point["test_mse"]),
        f"{point['test_r2']:.4f}".replace("-", "−"),
        f"{point['trees']:,}",
        f"{point['nodes']:,}",
        formats.percent(curve.share(point)),
        formats.seconds(point["seconds"]),
    )


def _error(value: float) -> str:
    return f"{value:#.4g}"
