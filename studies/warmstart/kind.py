"""Cells of the study, as the machinery of studies must know them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from studies.reporting.formats import seconds
from studies.reporting.report import RunOf
from studies.running.child import Outcome
from studies.solver_kind import SOLVERS
from studies.spec import Instance
from studies.warmstart.cell import StartCell

StartRun = RunOf[StartCell, Instance]


def _settings(cells: Sequence[StartCell]) -> dict[str, Any]:
    first = cells[0]
    return {
        "values": first.values,
        "span": first.span,
        "repeats": first.repeats,
        "time_limit": first.time_limit,
        "threads": first.threads,
        "calls": list(dict.fromkeys(cell.start for cell in cells)),
    }


def _ending(cell: StartCell, outcome: Outcome) -> str:
    if outcome["status"] != "ok":
        return f"> {cell.time_limit:g} s"
    return f"{seconds(outcome['seconds']):>7} s"


def _files(run: StartRun) -> dict[str, list[dict[str, Any]]]:
    """Return a line for each path, and one for each of its points."""
    lines, points = [], []
    for cell, row in run.cells:
        asked = cell.as_dict()
        asked = {**asked.pop("instance"), **asked}
        said = ("status", "seconds", "followed", "peak_mb", "finished", "reason")
        lines.append(asked | {name: row.get(name) for name in said})
        points += [
            asked | {"point": place} | point for place, point in enumerate(row.get("path", ()))
        ]
    return {"table.csv": lines, "points.csv": points}


STARTING = replace(
    SOLVERS,
    measure="studies.warmstart.measure:measure",
    read_cell=StartCell.from_dict,
    settings=_settings,
    ending=_ending,
    files=_files,
)
