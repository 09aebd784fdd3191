"""Sentences that the studies of methods share."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import pandas as pd

from studies.contests.candidates import RIDGES
from studies.contests.fold import FOLDS
from studies.contests.kind import ContestRun
from studies.contests.methods import method_name
from studies.reporting.formats import plural
from studies.reporting.published import Comparison, counts
from studies.reporting.tables import Table, columns_of


def fold_notes(run: ContestRun) -> list[str]:
    """Return how rows are divided, scaled and chosen by."""
    cells = [cell for cell, _ in run.cells]
    folds = len({cell.instance.fold for cell in cells})
    instance = cells[0].instance
    rows_used = {cell.instance.name: cell.instance.rows for cell in cells}
    scaled = (
        "the response has mean 0 and variance 1 on the training rows, and other rows are scaled "
        "by the same numbers; models are chosen on validation rows and reported on test rows"
        if instance.protocol == "sound"
        else "as in the published experiments every part is scaled by its own mean and variance"
    )
    lines = [
        f"{plural(folds, 'fold')} of {FOLDS}: three fifths of the rows train, one validates, one "
        f"tests; {scaled}."
    ]
    made = {cell.instance: run.preparations.get(cell.instance, {}) for cell in cells}
    there = {fold.name: one.get("rows_there", 0) for fold, one in made.items()}
    cut = [name for name, rows in there.items() if rows > rows_used[name]]
    if cut:
        lines.append(
            f"Of {', '.join(cut)} only {max(rows_used.values()):,} rows, drawn at random, are used."
        )
    dropped = {fold.name: one["dropped"] for fold, one in made.items() if one.get("dropped")}
    lines += [
        f"{name}: {plural(count, 'row')} without a response left out."
        for name, count in dropped.items()
    ]
    return lines


def ridge_words() -> str:
    """Return the α₂ of the ridges that are tried: ``0.01, 0.1 and 1``."""
    *others, last = (f"{ridge:g}" for ridge in RIDGES if ridge is not None)
    return f"{', '.join(others)} and {last}"


def failures(measured: Iterable[tuple[str, Mapping[str, Any]]]) -> list[str]:
    """Return a sentence for each method that failed, and how often, from methods and points."""
    times = Counter((name, one["reason"]) for name, one in measured if one.get("reason"))
    return [
        f"{method_name(name)} failed {plural(count, 'time')}: {reason}"
        for (name, reason), count in times.items()
    ]


def agreement(kinds: Mapping[str, Iterable[Comparison]]) -> list[str]:
    """Return how far our figures agree with the published ones, where there are some.

    Parameters
    ----------
    kinds
        By what the figures are, such as ``test errors``.
    """
    told = []
    for kind, comparisons in kinds.items():
        within, of = counts(comparisons)
        if of:
            told.append(f"{within} of {of} {kind}")
    if not told:
        return []
    return [
        f"As good as published: {'; '.join(told)}. An error is where it is at most the published "
        "mean and one deviation, where there is one."
    ]


def differences(comparisons: Iterable[Comparison]) -> list[str]:
    """Return what differs between published figures and ours, after the names of the data sets."""
    names: dict[str, dict[str, None]] = {}
    for row in (row for one in comparisons for row in one.rows if row.note):
        names.setdefault(row.note, {})[row.name] = None
    return [f"{', '.join(every)}: {note}" for note, every in names.items()]


def without_published(table: Table) -> Table:
    """Return a table without its columns of published figures, so that a terminal can show it."""
    return columns_of(table, tuple(n for n in table.header if not n.startswith("published")))


def order_note(
    level: str,
    methods: Iterable[str],
    published: Callable[[str], float | None],
    rises: Callable[[str], pd.Series[float]],
) -> str:
    """Return whether methods come in the published order, as a sentence.

    Parameters
    ----------
    level
        Where, such as ``φ = 0.01``.
    methods
        Labels; those count that have both figures.
    published
        Of a method, the median rise over ForestPrune, or None.
    rises
        Of a method, ours by data set, as `rises_over` returns them.
    """
    both = {}
    for method in methods:
        rise, own = published(method), float(rises(method).median())
        if rise is not None and math.isfinite(own):
            both[method] = rise, own
    told, found = (sorted(both, key=lambda method: both[method][of]) for of in (0, 1))
    if len(both) < 2:
        return ""
    if told == found:
        return f"{level}: {_listed(told)} come in the published order."
    return f"{level}: the published order is {_listed(told)}; here it is {_listed(found)}."


def _listed(methods: Iterable[str]) -> str:
    return ", ".join(map(method_name, methods))
