"""What a run has found: every method's path, and the models that are taken from it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pandas as pd

from studies.boosting.measure import SHAPES
from studies.comparing.candidates import PUBLISHED_RIDGE
from studies.comparing.fold import Fold, Protocol
from studies.comparing.kind import ContestRun
from studies.comparing.methods import PLAIN, POLISHED, TUNED
from studies.comparing.published import Told, told_of
from studies.comparing.rises import rises_over
from studies.running.records import Row

# Of the published ensembles.
TREES = 250

_COLUMNS = ["data", "fold", "method", "nodes", "trees", "validation", "test", "full_test"]


@dataclass(frozen=True)
class Outcomes:
    """What a run has found.

    Attributes
    ----------
    points
        A line for each ``data``, ``fold``, ``method`` and point of its path, from the smallest
        model to the largest: ``nodes``, ``trees``, ``validation`` and ``test`` error, and
        ``full_test`` of the full model. The first is the model without trees.
    methods
        Labels in their order, ForestPrune first.
    budgets
        Ascending, in nodes.
    protocol
        Of the run.
    told
        By data set, what the published tables tell of it.
    search_limit
        Seconds that a search of another method had.
    """

    points: pd.DataFrame
    methods: tuple[str, ...]
    budgets: tuple[float, ...]
    protocol: Protocol
    told: Mapping[str, Told]
    search_limit: float

    @property
    def own(self) -> str:
        """The label of ForestPrune, which others are compared with."""
        return self.methods[0]

    @property
    def data(self) -> list[str]:
        """The data sets, sorted."""
        return sorted(set(self.points["data"]), key=str.lower)

    @cached_property
    def best(self) -> pd.DataFrame:
        """A line for each data set, fold and method: the model of least error on its path.

        By the validation error or, under the published protocol, by the test error itself.
        """
        by = "validation" if self.protocol == "sound" else "test"
        return self._least(self.points, by)

    @cached_property
    def within(self) -> dict[float, pd.DataFrame]:
        """By budget, a line for each data set, fold and method: the model that is taken.

        Of those within the budget that of least validation error or, under the published
        protocol, that of the smallest penalty.
        """
        return {budget: self._within(budget) for budget in self.budgets}

    def rises(self, lines: pd.DataFrame, method: str) -> pd.Series[float]:
        """Return what a method's mean error is above ForestPrune's, as `rises_over` does.

        Parameters
        ----------
        lines
            `best`, or those of one budget.
        """
        return rises_over(lines, method, self.own)

    def _within(self, budget: float) -> pd.DataFrame:
        fitting = self.points[self.points["nodes"] <= budget]
        if self.protocol == "sound":
            return self._least(fitting, "validation")
        return fitting.groupby(["data", "fold", "method"], sort=False).tail(1)

    @staticmethod
    def _least(points: pd.DataFrame, by: str) -> pd.DataFrame:
        at = points.groupby(["data", "fold", "method"], sort=False)[by].idxmin()
        return points.loc[at]


def outcomes(run: ContestRun) -> Outcomes:
    """Return what a run has found so far."""
    lines: list[dict[str, Any]] = []
    for cell, row in run.cells:
        for method, points in methods_of(row, cell.instance.protocol):
            lines += [_line(cell.instance, row, method, point) for point in points]
    first = run.cells[0][0] if run.cells else None
    return Outcomes(
        pd.DataFrame(lines, columns=_COLUMNS),
        tuple(dict.fromkeys(line["method"] for line in lines)),
        () if first is None else tuple(sorted(first.marks)),
        "sound" if first is None else first.instance.protocol,
        told_of(run, TREES),
        0.0 if first is None else first.search_limit,
    )


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
