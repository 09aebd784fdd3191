"""Cells of both studies, as the machinery of studies must know them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from typing import Any

from studies.contests.cell import Contest
from studies.contests.fold import Fold
from studies.kinds import Kind
from studies.reporting.report import RunOf
from studies.running.child import Outcome
from studies.running.records import Row
from studies.solver_kind import SOLVERS

ContestRun = RunOf[Contest, Fold]


def contests(measure: str, points: Callable[[Row], list[dict[str, Any]]]) -> Kind:
    """Return the kind of a study's cells.

    Parameters
    ----------
    measure
        ``"module:function"`` of what measures a cell.
    points
        The models of a row, for a CSV file.
    """

    def files(run: ContestRun) -> dict[str, list[dict[str, Any]]]:
        return {
            "table.csv": [
                _asked(cell.instance) | point
                for cell, row in run.cells
                if row.get("full")
                for point in ({"model": "full", **row["full"]}, *points(row))
            ]
        }

    return replace(
        SOLVERS,
        prepare="studies.contests.prepare:prepare",
        measure=measure,
        read_cell=Contest.from_dict,
        read_instance=lambda given: Fold(**given),
        settings=_settings,
        ending=_ending,
        files=files,
    )


def _asked(fold: Fold) -> dict[str, Any]:
    """Return a fold as plain values, in which ``trees`` are left to be those of a model."""
    return {"full_trees" if name == "trees" else name: v for name, v in asdict(fold).items()}


def _settings(cells: Sequence[Contest]) -> dict[str, Any]:
    first = cells[0]
    return {
        "protocol": first.instance.protocol,
        "marks": list(first.marks),
        "alphas": [first.top, first.end, first.values],
        "search_limit": first.search_limit,
        "threads": first.threads,
        "models": list(first.models),
        "calls": [],
    }


def _ending(cell: Contest, outcome: Outcome) -> str:
    full = outcome.get("full")
    if full is None:  # ended before anything was measured
        return str(outcome["reason"])
    return f"full model: test MSE {full['test']:.4g}, {full['nodes']:,} nodes"
