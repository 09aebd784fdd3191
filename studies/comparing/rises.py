"""Errors of methods over ForestPrune's, by data set, and how tables and pages tell them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import pandas as pd

from studies.comparing.published import Told
from studies.contests.methods import method_name
from studies.reporting.formats import change
from studies.reporting.published import Compared
from studies.reporting.tables import NOT_RUN

# What published medians are over, as a rule.
SAME = "Medians over the data sets at hand that have published figures."


def rises_over(lines: pd.DataFrame, method: str, own: str) -> pd.Series[float]:
    """Return what a method's mean test error is above another's, by data set, as a ratio less 1.

    Parameters
    ----------
    lines
        At most one for each ``data``, ``fold`` and ``method``, with the ``test`` error. Of folds
        those count in which both have one.
    method, own
        Labels; that of ``own`` is compared with.
    """
    errors = lines.pivot(index=["data", "fold"], columns="method", values="test")
    if method not in errors:
        return pd.Series(dtype=float)
    both = errors[[own, method]].dropna().groupby("data").mean()
    return both[method] / both[own] - 1.0


def median_rise(rises: pd.Series[float]) -> str:
    """Return the median over data sets in percent, or a dash where there is none."""
    return change(1.0 + float(rises.median())) if len(rises) else NOT_RUN


def better_on(rises: Sequence[pd.Series[float]]) -> str:
    """Return on how many data sets, counted once for each size, a method has the lower error.

    Equal errors are not lower.
    """
    return f"{sum(int((one < 0.0).sum()) for one in rises)} of {sum(len(one) for one in rises)}"


def over_folds(
    name: str,
    told: Told,
    published: float | None,
    values: pd.Series[float],
    spread: float | None = None,
    better: Literal["lower"] | None = "lower",
) -> Compared:
    """Return a published mean over folds beside ours.

    Parameters
    ----------
    name
        Of the data set.
    told
        What the published tables tell of it.
    published, spread
        Mean and standard deviation, None where there is none.
    values
        One a fold. Their deviation is that of the folds themselves (``ddof=0``), and None for a
        single one.
    better
        Whether lower is better, or neither direction is.
    """
    mean = float(values.mean()) if len(values) else None
    deviation = float(values.std(ddof=0)) if len(values) > 1 else None
    judged = better if told.judged else None
    return Compared(name, published, mean, spread, deviation, better=judged, note=told.note)


def rise_beside(
    method: str, published: float, rises: pd.Series[float], note: str = SAME
) -> Compared:
    """Return the published median of a method's rise over ForestPrune beside ours, in percent.

    Parameters
    ----------
    published
        As a ratio less 1.
    rises
        Ours, by data set, as `rises_over` returns them.
    note
        What the published median is over.
    """
    ours = 100.0 * float(rises.median()) if len(rises) else None
    return Compared(method_name(method), 100.0 * published, ours, unit="%", better=None, note=note)
