"""Cells of solvers, as the machinery of studies must know them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from functools import cache
from typing import Any, NamedTuple

from studies import datasets
from studies.kinds import Kind
from studies.reporting.formats import percent, seconds
from studies.reporting.report import Run
from studies.running.child import Outcome
from studies.running.records import build_times, solve_times
from studies.spec import Cell, Instance


class _Told(NamedTuple):
    """What is kept of a data set."""

    name: str
    rows: int


def _told(instance: Instance) -> _Told:
    return _read_once(instance.data, instance.target, instance.data_dir)


@cache
def _read_once(data: str, target: str | None, data_dir: str | None) -> _Told:
    dataset = datasets.load(data, target=target, data_dir=data_dir)
    return _Told(dataset.name, len(dataset.y))


def _settings(cells: Sequence[Cell]) -> dict[str, Any]:
    first = cells[0]
    return {
        "alphas": list(dict.fromkeys(cell.alpha for cell in cells)),
        "repeats": first.repeats,
        "time_limit": first.time_limit,
        "threads": first.threads,
        "path_values": sorted({cell.values for cell in cells if cell.task == "path"}),
        "calls": [
            {"solver": solver, "task": task, "method": asdict(method)}
            for solver, task, method in dict.fromkeys((c.solver, c.task, c.method) for c in cells)
        ],
    }


def _ending(cell: Cell, outcome: Outcome) -> str:
    gap = "" if outcome.get("gap") is None else f"   gap {percent(outcome['gap'])} %"
    if outcome["status"] == "ok":
        return f"{seconds(solve_times(outcome).median):>7} s{gap}"
    return f"> {seconds(cell.time_limit)} s{gap}"


def _files(run: Run) -> dict[str, list[dict[str, Any]]]:
    """Return a line for each cell and, where there are paths, one for each of their points."""
    files = {"table.csv": [_flat(cell, row) for cell, row in run.cells]}
    points = _points(run)
    return files | ({"points.csv": points} if points else {})


def _points(run: Run) -> list[dict[str, Any]]:
    """Return a line for each α of each path."""
    return [
        _asked(cell) | {"point": place} | point
        for cell, row in run.cells
        for place, point in enumerate(row.get("path", ()))
    ]


def _asked(cell: Cell) -> dict[str, Any]:
    """Return a cell with its instance, and its method by name."""
    asked = cell.as_dict()
    return {**asked.pop("instance"), **asked, "method": cell.method.name}


def _flat(cell: Cell, row: dict[str, Any]) -> dict[str, Any]:
    measured = row.get("cold") is not None
    solve = solve_times(row) if measured else None
    return {
        **_asked(cell),
        "status": row["status"],
        "solve_seconds": solve and solve.median,
        "solve_seconds_min": solve and solve.low,
        "solve_seconds_max": solve and solve.high,
        "warm_calls": solve and solve.calls,
        "build_seconds": build_times(row).median if measured else None,
        "first_call_seconds": row["cold"]["wall"] if measured else None,
        **{
            name: row.get(name)
            for name in (
                "points",
                "objective",
                "bound",
                "gap",
                "bound_source",
                "guarantee",
                "termination",
                "search_nodes",
                "kept_trees",
                "kept_nodes",
                "peak_mb",
                "finished",
                "reason",
            )
        },
    }


SOLVERS = Kind(
    prepare="studies.running.prepare:prepare",
    measure="studies.running.cell:measure",
    read_cell=Cell.from_dict,
    read_instance=lambda given: Instance(**given),
    rows=lambda instance: _told(instance).rows,
    data_name=lambda instance: _told(instance).name,
    settings=_settings,
    ending=_ending,
    files=_files,
)
