"""What a run has found, by data set, allowed rise φ and method."""

from __future__ import annotations

from typing import Any

import pandas as pd

from studies.comparing.found import Found
from studies.comparing.rises import rises_over
from studies.contests.kind import ContestRun
from studies.running.records import Row

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


class Outcomes(Found):
    """What a run has found, at several φ.

    Each line of ``points`` has ``phi``, ``nodes``, ``trees``, ``mean_depth`` and ``test`` error,
    none of the last four where the method failed; ``alpha`` and ``gap`` of ForestPrune, or the
    ``termination`` of another method; ``full_nodes`` and ``full_test`` of the full model.
    """

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
    return Outcomes.of_run(run, lines, _COLUMNS, {line["phi"] for line in lines}, TREES)


def entry_lines(row: Row) -> list[dict[str, Any]]:
    """Return the models of a row, with the method as ``model``."""
    return [
        {"model" if key == "name" else key: value for key, value in entry.items()}
        for entry in row.get("entries", ())
    ]
