"""What the calls of one cell say together."""

from __future__ import annotations

import statistics
from typing import Any, NamedTuple


class Spread(NamedTuple):
    """Median and range of the warm calls, or of the only call where there was no other."""

    median: float
    low: float
    high: float
    calls: int


def solve_times(outcome: dict[str, Any]) -> Spread:
    """Return the solve seconds of a cell that has a first call."""
    return _spread(outcome, "solve")


def build_times(outcome: dict[str, Any]) -> Spread:
    """Return the build seconds of a cell that has a first call."""
    return _spread(outcome, "build")


def _spread(outcome: dict[str, Any], name: str) -> Spread:
    calls = outcome["warm"] or [outcome["cold"]]
    times = [call[name] for call in calls]
    return Spread(statistics.median(times), min(times), max(times), len(outcome["warm"]))
