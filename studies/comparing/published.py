"""The published figures of the ForestPrune paper's experiments, from its authors' result files."""

from __future__ import annotations

import csv
import statistics
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from studies.contests.fold import FOLDS, Fold
from studies.contests.kind import ContestRun
from studies.datasets import PUBLISHED, published_name

Line = dict[str, Any]


@cache
def published(name: str) -> tuple[Line, ...]:
    """Return the lines of a table of published figures.

    Parameters
    ----------
    name
        ``"bagging"``: by ``dataset`` and ``phi``. ``"boosting_path"``: by ``dataset``.
        ``"boosting_budget"``: by ``dataset`` and ``budget``.

    Returns
    -------
    tuple of dict
        Numbers but for the ``dataset``; means over five folds, ``…_sd`` their deviations. Errors
        are those of a response of variance 1.
    """
    text = (files("studies") / "published" / f"{name}.csv").read_text(encoding="utf-8")
    return tuple(
        {key: cell if key == "dataset" else float(cell) for key, cell in line.items()}
        for line in csv.DictReader(text.splitlines())
    )


@dataclass(frozen=True)
class Told:
    """What the tables tell of a data set.

    Attributes
    ----------
    name
        Its name there; None for a data set, or a target, that they have nothing on.
    note
        What differs between the published experiment and ours, as a sentence.
    judged
        Whether ours is of the published size, so that it may be said to be as good or not.
    """

    name: str | None
    note: str = ""
    judged: bool = True


def told_of(run: ContestRun, table: str, trees: int) -> dict[str, Told]:
    """Return what a table tells of each data set of a run.

    Parameters
    ----------
    table
        As in `published`.
    trees
        Of the published ensembles.
    """
    folds = len({cell.instance.fold for cell, _ in run.cells})
    return {
        cell.instance.name: _told(
            cell.instance, folds, run.preparations.get(cell.instance, {}), table, trees
        )
        for cell, _ in run.cells
    }


def published_as(fold: Fold) -> str | None:
    """Return the name of a fold's data set in the tables; None for another target than theirs."""
    name = published_name(fold.data)
    usual = name is None or fold.target is None or fold.target in PUBLISHED[name].targets
    return name if usual else None


def _told(fold: Fold, folds: int, made: Mapping[str, Any], table: str, trees: int) -> Told:
    name = published_as(fold)
    if name is None or published_line(table, dataset=name) is None:
        return Told(None)
    notes = []
    all_rows = made.get("rows_there", 0) <= fold.rows
    judged = folds == FOLDS and fold.trees == trees and all_rows
    if not judged:
        rows = "all rows" if all_rows else f"at most {fold.rows:,} rows"
        notes.append(
            f"Here {fold.trees} trees, {folds} of {FOLDS} folds and {rows}; "
            f"published: {trees} trees, {FOLDS} folds, all rows. So neither is said to be better."
        )
    others = PUBLISHED[name].outputs
    if others:
        notes.append(
            f"Here without {' and '.join(others)}, which are measured along with the response; the "
            "published errors are too low for models without them."
        )
    return Told(name, " ".join(notes), judged)


def published_line(table: str, **at: str | float | None) -> Line | None:
    """Return the line of a table with these entries, or None."""
    for line in published(table):
        if all(line[key] == value for key, value in at.items()):
            return line
    return None


def published_rise(
    table: str, told: Iterable[Told], method: str, **at: str | float
) -> float | None:
    """Return the median of a method's published errors over ForestPrune's, as a ratio less 1.

    Parameters
    ----------
    table
        As in `published`.
    told
        The data sets at hand: the median is over those that the table has.
    method
        Its name in the table.
    at
        The line of a data set.

    Returns
    -------
    float or None
        None where the table has nothing on the method or the data sets.
    """
    lines = _lines(table, told, f"{method}_mse", at)
    ratios = [line[f"{method}_mse"] / line["forestprune_mse"] for line in lines]
    return statistics.median(ratios) - 1.0 if ratios else None


def published_median(
    table: str, told: Iterable[Told], column: str, **at: str | float
) -> float | None:
    """Return the median over data sets of what a table has in a column; as `published_rise`."""
    lines = _lines(table, told, column, at)
    return statistics.median(line[column] for line in lines) if lines else None


def _lines(
    table: str, told: Iterable[Told], column: str, at: Mapping[str, str | float]
) -> list[Line]:
    """Return the lines of data sets that have such a column."""
    lines = [published_line(table, dataset=one.name, **at) for one in told]
    return [line for line in lines if line is not None and column in line]
