"""Cells of the study, as the machinery of studies must know them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from studies.case.cell import CaseCell
from studies.reporting.report import RunOf
from studies.running.child import Outcome
from studies.solver_kind import SOLVERS
from studies.spec import Instance

CaseRun = RunOf[CaseCell, Instance]


def _settings(cells: Sequence[CaseCell]) -> dict[str, Any]:
    first = cells[0]
    return {
        "trees": first.trees,
        "most_nodes": first.most_nodes,
        "alpha": first.alpha,
        "values": first.values,
        "span": first.span,
        "time_limit": first.time_limit,
        "threads": first.threads,
        "calls": [],
    }


def _ending(cell: CaseCell, outcome: Outcome) -> str:
    if outcome["status"] != "ok":
        return f"> {cell.time_limit:g} s"
    models = outcome["models"]
    return f"test RMSE {models['few']['test_rmse']:.4g}, full {models['full']['test_rmse']:.4g}"


def _files(run: CaseRun) -> dict[str, list[dict[str, Any]]]:
    """Return a line for each model, and one for each α."""
    lines, points = [], []
    for cell, row in run.cells:
        asked = cell.as_dict()
        asked = {**asked.pop("instance"), **asked}
        asked["alpha"] = row.get("alpha")
        lines += [asked | {"model": name} | one for name, one in row.get("models", {}).items()]
        points += [
            asked | {"point": place, "chosen": place == row["chosen"]} | one
            for place, one in enumerate(row.get("points", ()))
        ]
    return {"table.csv": lines, "points.csv": points}


FOREST = replace(
    SOLVERS,
    prepare="studies.case.prepare:prepare",
    measure="studies.case.measure:measure",
    read_cell=CaseCell.from_dict,
    settings=_settings,
    ending=_ending,
    files=_files,
)
