"""What a run has found, by data set, allowed rise φ and method."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import pandas as pd

from studies.comparing.found import Found, within
from studies.comparing.rises import rises_over
from studies.contests.kind import ContestRun
from studies.running.records import Row
from studies.spec import Protocol

# Of the published ensembles.
TREES = 100

_COLUMNS = [
    "data",
    "fold",
    "phi",
    "method",
    "alpha",
    "gap",
    "nodes",
    "trees",
    "mean_depth",
    "test",
    "full_nodes",
    "full_test",
    "termination",
]

_ON_PATH = ["data", "fold", "method", "nodes", "validation", "test"]


@dataclass(frozen=True)
class Outcomes(Found):
    """What a run has found, at several φ.

    Each line of ``points`` has ``phi``, ``nodes``, ``trees``, ``mean_depth`` and ``test`` error,
    none of the last four where the method failed; ``alpha`` and ``gap`` of ForestPrune, or the
    ``termination`` of another method; ``full_nodes`` and ``full_test`` of the full model.

    Attributes
    ----------
    paths
        ForestPrune's models, from that without trees to the largest: ``nodes``, ``validation`` and
        ``test`` error. Rows of versions that kept none have no lines.
    """

    paths: pd.DataFrame = field(default_factory=lambda: pd.DataFrame(columns=_ON_PATH))

    @property
    def phis(self) -> tuple[float, ...]:
        """Allowed rises of the validation error, ascending."""
        return self.levels

    @property
    def variants(self) -> list[str]:
        """ForestPrune and its variants, which choose their sizes themselves."""
        chose = set(self.points[self.points["alpha"].notna()]["method"])
        return [name for name in self.methods if name in chose]

    @property
    def rivals(self) -> list[str]:
        """The methods that have ForestPrune's number of nodes as their limit."""
        return [name for name in self.methods if name not in self.variants]

    def of(self, **at: Any) -> pd.DataFrame:
        """Return the lines with these entries."""
        lines = self.points
        for name, value in at.items():
            lines = lines[lines[name] == value]
        return lines

    def rises(self, method: str, phi: float) -> pd.Series[float]:
        """Return what a method's mean error is above ForestPrune's, as `rises_over` does."""
        return rises_over(self.of(phi=phi), method, self.own)

    def at_nodes(self, data: str, nodes: float) -> pd.DataFrame:
        """Return ForestPrune's models within a number of nodes on a data set, one a fold.

        None where the path of a fold is missing, since means over other folds are no match.
        """
        lines = self.paths[self.paths["data"] == data]
        folds = self.of(data=data, method=self.own)["fold"].nunique()
        if lines["fold"].nunique() < folds:
            return lines.iloc[:0]
        return within(lines, nodes, self.protocol)


def outcomes(run: ContestRun) -> Outcomes:
    """Return what a run has found so far."""
    lines: list[dict[str, Any]] = []
    for cell, row in run.cells:
        lines += [
            {
                "data": cell.instance.name,
                "fold": cell.instance.fold,
                "full_nodes": row["full"]["nodes"],
                "full_test": row["full"]["test"],
                **entry,
                "method": entry["name"],
            }
            for entry in row.get("entries", ())
        ]
    found = Outcomes.of_run(run, lines, _COLUMNS, {line["phi"] for line in lines}, "bagging", TREES)
    along = [
        {"data": cell.instance.name, "fold": cell.instance.fold, "method": found.own, **point}
        for cell, row in run.cells
        for point in _path_of(row, found.protocol)
    ]
    return replace(found, paths=pd.DataFrame(along, columns=_ON_PATH))


def _path_of(row: Row, protocol: Protocol) -> Iterator[dict[str, Any]]:
    """Yield the models of a row that may be taken, the smallest penalty last.

    Where nothing fits that is the model without trees; the whole ensemble is no model of the
    published search.
    """
    if "path" in row:
        yield row["empty"]
        yield from row["path"]
        if protocol == "sound":
            yield row["full"]


def entry_lines(row: Row) -> list[dict[str, Any]]:
    """Return the models of a row, with the method as ``model``."""
    return [
        {"model" if key == "name" else key: value for key, value in entry.items()}
        for entry in row.get("entries", ())
    ]
