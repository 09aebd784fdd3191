"""What a run has found, by data set, allowed rise φ and method."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from studies.comparing.fold import Protocol
from studies.comparing.kind import ContestRun
from studies.comparing.published import Told, told_of
from studies.comparing.rises import rises_over
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


@dataclass(frozen=True)
class Outcomes:
    """What a run has found.

    Attributes
    ----------
    points
        A line for each ``data``, ``fold``, ``phi`` and ``method``: ``nodes``, ``trees``,
        ``mean_depth`` and ``test`` error, none of them where the method failed; ``alpha`` and
        ``gap`` of ForestPrune; ``full_nodes`` and ``full_test`` of the full model.
    methods
        Labels in their order, ForestPrune first.
    phis
        Ascending.
    protocol
        Of the run.
    told
        By data set, what the published tables tell of it.
    search_limit
        Seconds that a search of another method had.
    """

    points: pd.DataFrame
    methods: tuple[str, ...]
    phis: tuple[float, ...]
    protocol: Protocol
    told: Mapping[str, Told]
    search_limit: float

    @property
    def own(self) -> str:
        """The label of ForestPrune, which others are compared with."""
        return self.methods[0]

    @property
    def variants(self) -> list[str]:
        """ForestPrune and its variants, which choose their sizes themselves."""
        chose = set(self.points[self.points["alpha"].notna()]["method"])
        return [name for name in self.methods if name in chose]

    @property
    def rivals(self) -> list[str]:
        """The methods that have ForestPrune's number of nodes as their limit."""
        return [name for name in self.methods if name not in self.variants]

    @property
    def data(self) -> list[str]:
        """The data sets, sorted."""
        return sorted(set(self.points["data"]), key=str.lower)

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
    first = run.cells[0][0] if run.cells else None
    return Outcomes(
        pd.DataFrame(lines, columns=_COLUMNS),
        tuple(dict.fromkeys(line["method"] for line in lines)),
        tuple(sorted({line["phi"] for line in lines})),
        "sound" if first is None else first.instance.protocol,
        told_of(run, TREES),
        0.0 if first is None else first.search_limit,
    )


def entry_lines(row: Row) -> list[dict[str, Any]]:
    """Return the models of a row, with the method as ``model``."""
    return [
        {"model" if key == "name" else key: value for key, value in entry.items()}
        for entry in row.get("entries", ())
    ]
