"""What a run of methods has found: the part that is the same for both studies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import pandas as pd

from studies.comparing.published import Told, told_of
from studies.contests.kind import ContestRun
from studies.reporting.formats import plural
from studies.spec import Protocol

# Of these there is one model at a time.
_KEYS = ["data", "fold", "method"]


def within(points: pd.DataFrame, nodes: float, protocol: Protocol) -> pd.DataFrame:
    """Return the model that is taken within a number of nodes, by data set, fold and method.

    Of those that fit it is that of least validation error or, under the published protocol, that
    of the smallest penalty.

    Parameters
    ----------
    points
        Lines with ``data``, ``fold``, ``method``, ``nodes`` and ``validation`` error, by falling
        penalty.
    nodes
        The largest number.

    Returns
    -------
    DataFrame
        None of the lines of a path on which nothing fits.
    """
    fitting = points[points["nodes"] <= nodes]
    if protocol == "sound":
        return least(fitting, "validation")
    return fitting.groupby(_KEYS, sort=False).tail(1)


def least(points: pd.DataFrame, by: str) -> pd.DataFrame:
    """Return the line of least value by data set, fold and method; of equal ones the first."""
    return points.loc[points.groupby(_KEYS, sort=False)[by].idxmin()]


@dataclass(frozen=True)
class Found:
    """What a run has found.

    Attributes
    ----------
    points
        A line for each model: ``data``, ``fold``, ``method``, and what a study tells of it.
    methods
        Labels in their order, ForestPrune first.
    levels
        What models are compared at, ascending.
    protocol
        Of the run.
    told
        By data set, what the published tables tell of it.
    search_limit
        Seconds that a search of another method had.
    """

    points: pd.DataFrame
    methods: tuple[str, ...]
    levels: tuple[float, ...]
    protocol: Protocol
    told: Mapping[str, Told]
    search_limit: float

    @classmethod
    def of_run(
        cls,
        run: ContestRun,
        lines: Sequence[Mapping[str, Any]],
        columns: Sequence[str],
        levels: set[float],
        table: str,
        trees: int,
    ) -> Self:
        """Return what a run has found so far.

        Parameters
        ----------
        lines, columns
            The models, and what is told of each; there may be none yet.
        levels
            What models are compared at.
        table
            Of published figures, by its name.
        trees
            Of the published ensembles.
        """
        first = run.cells[0][0] if run.cells else None
        return cls(
            pd.DataFrame(lines, columns=list(columns)),
            tuple(dict.fromkeys(line["method"] for line in lines)),
            tuple(sorted(levels)),
            "sound" if first is None else first.instance.protocol,
            told_of(run, table, trees),
            0.0 if first is None else first.search_limit,
        )

    @property
    def own(self) -> str:
        """The label of ForestPrune, which others are compared with."""
        return self.methods[0]

    @property
    def data(self) -> list[str]:
        """The data sets, sorted."""
        return sorted(set(self.points["data"]), key=str.lower)

    @property
    def extent(self) -> str:
        """How many folds of how many data sets there are, for people."""
        folds = len(self.points.drop_duplicates(["data", "fold"]))
        return f"{plural(folds, 'fold')} of {plural(len(self.data), 'data set')}"

    @property
    def comparable(self) -> list[Told]:
        """What is told of data sets on which ours is of the published size."""
        return [one for one in self.told.values() if one.name is not None and one.judged]

    @property
    def published_label(self) -> str:
        """What published medians in a figure are over, for its legend."""
        count, every = len(self.comparable), len(self.data)
        which = "these" if count == every else f"{count} of these"
        return f"published, median over {which} data sets"

    @property
    def is_published(self) -> bool:
        """Whether the published tables have something on a data set."""
        return any(one.name for one in self.told.values())
