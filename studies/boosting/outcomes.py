"""What a run has found: every method's path, and the models that are taken from it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import pandas as pd

from studies.boosting.measure import SHAPES
from studies.comparing.found import Found, least, within
from studies.comparing.rises import rises_over
from studies.contests.candidates import PUBLISHED_RIDGE
from studies.contests.fold import Fold
from studies.contests.kind import ContestRun
from studies.contests.methods import PLAIN, POLISHED, TUNED
from studies.running.records import Row
from studies.spec import Protocol

# Of the published ensembles.
TREES = 250

_COLUMNS = ["data", "fold", "method", "nodes", "trees", "validation", "test", "full_test"]


class Outcomes(Found):
    """What a run has found, within several budgets.

    Each line of ``points`` is a point of a path, from the smallest model to the largest:
    ``nodes``, ``trees``, ``validation`` and ``test`` error, and ``full_test`` of the full model.
    The first point of a path is the model without trees.
    """

    @property
    def budgets(self) -> tuple[float, ...]:
        """Budgets of nodes, ascending."""
        return self.levels

    @cached_property
    def best(self) -> pd.DataFrame:
        """A line for each data set, fold and method: the model of least error on its path.

        By the validation error or, under the published protocol, by the test error itself.
        """
        by = "validation" if self.protocol == "sound" else "test"
        return least(self.points, by)

    @cached_property
    def within(self) -> dict[float, pd.DataFrame]:
        """By budget, a line for each data set, fold and method: the model that is taken."""
        return {budget: within(self.points, budget, self.protocol) for budget in self.budgets}

    def rises(self, lines: pd.DataFrame, method: str) -> pd.Series[float]:
        """Return what a method's mean error is above ForestPrune's, as `rises_over` does.

        Parameters
        ----------
        lines
            `best`, or those of one budget.
        """
        return rises_over(lines, method, self.own)


def outcomes(run: ContestRun) -> Outcomes:
    """Return what a run has found so far."""
    lines: list[dict[str, Any]] = []
    for cell, row in run.cells:
        for method, points in methods_of(row, cell.instance.protocol):
            lines += [_line(cell.instance, row, method, point) for point in points]
    budgets = {mark for cell, _ in run.cells for mark in cell.marks}
    return Outcomes.of_run(run, lines, _COLUMNS, budgets, "boosting_path", TREES)


def methods_of(row: Row, protocol: Protocol) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Yield methods with the points of their paths, the model without trees first.

    Where several ridges are known, all of them are one method; what the published experiments
    know are methods of their own, and the only ones under the published protocol. Where
    ForestPrune itself has failed there is nothing to compare others with.
    """
    if row.get("paths", {}).get("forestprune", {}).get("points") is None:
        return
    for name, path in row["paths"].items():
        points = path.get("points")
        if points is None:
            continue
        if name not in SHAPES or protocol == "sound":
            yield name, [row["empty"], *points]
        if name == TUNED:
            for part, ridge in ((POLISHED, PUBLISHED_RIDGE), (PLAIN, None)):
                yield part, [row["empty"], *(p for p in points if p["alpha2"] == ridge)]


def _line(fold: Fold, row: Row, method: str, point: dict[str, Any]) -> dict[str, Any]:
    found = {name: point[name] for name in ("nodes", "trees", "validation", "test")}
    own = {"data": fold.name, "fold": fold.fold, "method": method}
    return {**own, **found, "full_test": row["full"]["test"]}


def point_lines(row: Row) -> list[dict[str, Any]]:
    """Return all points of all paths of a row, with the method as ``model``."""
    return [
        {"model": name, **point}
        for name, path in row.get("paths", {}).items()
        for point in path.get("points", ())
    ]
