"""The published figures of the ForestPrune paper's experiments, from its authors' result files."""

from __future__ import annotations

import csv
from functools import cache
from importlib.resources import files
from typing import Any

from studies.comparing.fold import Fold
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


def published_as(fold: Fold) -> str | None:
    """Return the name of a fold's data set in the tables; None for another target than theirs."""
    name = published_name(fold.data)
    usual = name is None or fold.target is None or fold.target in PUBLISHED[name].targets
    return name if usual else None


def published_line(table: str, **at: str | float | None) -> Line | None:
    """Return the line of a table with these entries, or None."""
    for line in published(table):
        if all(line[key] == value for key, value in at.items()):
            return line
    return None
