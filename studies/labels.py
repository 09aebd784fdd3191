"""Solver labels as users type them, checked before any work begins."""

from __future__ import annotations

from collections.abc import Iterable

from solvers import MissingEngine, available_solvers, capability_table
from solvers._registry import make_solver


def checked_labels(labels: Iterable[str]) -> list[str]:
    """Return labels in full, each once.

    Raises
    ------
    UnknownSolver, InvalidOption
        When a label does not name a solver, or an option is not accepted.
    MissingEngine
        When a solver's engine is not installed.
    """
    full = list(dict.fromkeys(make_solver(label)[0] for label in labels))
    ready = available_solvers()
    for label in full:
        name = label.partition("[")[0]
        if name not in ready:
            (status,) = (row["status"] for row in capability_table() if row["solver"] == name)
            raise MissingEngine(f"solver {name!r} cannot run here; {status}")
    return full
