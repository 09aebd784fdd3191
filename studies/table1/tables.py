"""The tables of `table1`: seconds by size, and all that was measured."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from studies.reporting.formats import (
    change,
    factor,
    megabytes,
    objective,
    percent,
    seconds,
)
from studies.reporting.report import Run, machine_note
from studies.reporting.tables import NOT_RUN, Group, Table
from studies.running.records import Row, build_times, solve_times
from studies.spec import ENSEMBLE_NAMES, Cell, Instance, call_name

# The solver that others are compared with.
REFERENCE = "cbcd"
ON_TERMINAL = ("solver", "solve s", f"× {REFERENCE}", "objective", "± %", "gap %", "optimal")


@dataclass(frozen=True)
class Grid:
    """The rows of a run, sorted for tables.

    Attributes
    ----------
    instances
        Smallest first.
    calls
        (solver, task) in the order of running.
    cells
        The measurement of each.
    """

    run: Run
    instances: tuple[Instance, ...]
    calls: tuple[tuple[str, str], ...]
    cells: dict[tuple[Instance, str, str], tuple[Cell, Row]]

    @classmethod
    def of(cls, run: Run) -> Grid:
        """Sort the rows of a run."""
        return cls(
            run=run,
            instances=tuple(sorted({cell.instance for cell, _ in run.cells}, key=_order)),
            calls=tuple(dict.fromkeys((cell.solver, cell.task) for cell, _ in run.cells)),
            cells={(cell.instance, cell.solver, cell.task): (cell, row) for cell, row in run.cells},
        )


def summary_table(grid: Grid) -> Table:
    """Return seconds to solve: solvers down, instances across."""
    rows = []
    for solver, task in grid.calls:
        row = [call_name(solver, task)]
        for instance in grid.instances:
            found = grid.cells.get((instance, solver, task))
            row.append(NOT_RUN if found is None else _summary_entry(grid, *found))
        rows.append(tuple(row))
    header = ("seconds", *(i.grid for i in grid.instances))
    return Table("Seconds to solve (rows × trees)", header, (Group("", tuple(rows)),))


DETAILS = (
    "solver",
    "solve s",
    f"× {REFERENCE}",
    "objective",
    "± %",
    "lower bound",
    "bound ± %",
    "gap %",
    "optimal",
    "trees",
    "build s",
    "first call s",
    "MB",
)


def detail_table(grid: Grid) -> Table:
    """Return everything measured: one row for each cell, grouped by instance."""
    groups = []
    for instance in grid.instances:
        rows = [
            _detail_row(grid, *grid.cells[instance, solver, task])
            for solver, task in grid.calls
            if (instance, solver, task) in grid.cells
        ]
        groups.append(Group(instance.grid, tuple(rows)))
    return Table("All measurements (rows × trees)", DETAILS, tuple(groups))


def notes(grid: Grid) -> list[str]:
    """Return what a reader of the tables must know, one sentence or so each."""
    cells = [cell for cell, _ in grid.cells.values()]
    if not cells:
        return ["No cell has finished yet."]
    said = [_problem_note(cells), _measure_note(cells), machine_note(grid.run)]
    said += [
        f"{instance.grid}: fitted in "
        f"{seconds(row['fit_seconds'])} s, data built in {seconds(row['build_seconds'])} s, "
        f"{row['nodes']:,} nodes."
        for instance in grid.instances
        if (row := grid.run.preparations.get(instance)) is not None
    ]
    said += [
        f"{cell.instance.grid}, "
        f"{call_name(cell.solver, cell.task)}: {row['status'].replace('_', ' ')}: {row['reason']}."
        for cell, row in grid.cells.values()
        if row.get("reason")
    ]
    return said


def _order(instance: Instance) -> tuple[Any, ...]:
    return instance.trees, instance.rows, instance.data, instance.ensemble, instance.seed


def _summary_entry(grid: Grid, cell: Cell, row: Row) -> str:
    if row["status"] == "over_limit":
        return f"> {seconds(cell.time_limit)}"
    if row["status"] != "ok":
        return str(row["status"])
    time = solve_times(row).median
    compared = _slower(_reference(grid, cell), cell, row)
    return seconds(time) if compared in (NOT_RUN, "1×") else f"{seconds(time)} ({compared})"


def _reference(grid: Grid, cell: Cell) -> Row | None:
    """Return the row that a cell is compared with, if there is one."""
    _, row = grid.cells.get((cell.instance, REFERENCE, "solve"), (None, None))
    return row if row is not None and row["status"] == "ok" else None


def _slower(reference: Row | None, cell: Cell, row: Row) -> str:
    """Return how many times as long as the reference a single solve takes."""
    if reference is None or cell.task != "solve":
        return NOT_RUN
    if cell.solver == REFERENCE:
        return "1×"
    return factor(solve_times(row).median / max(solve_times(reference).median, 1e-9))


def _detail_row(grid: Grid, cell: Cell, row: Row) -> tuple[str, ...]:
    name = call_name(cell.solver, cell.task)
    over = row["status"] == "over_limit"
    if row.get("cold") is None:
        said = f"> {seconds(cell.time_limit)}" if over else str(row["status"])
        return (name, said, *[NOT_RUN] * (len(DETAILS) - 2))
    reference, gap = _reference(grid, cell), percent(row["gap"])
    unit = None if reference is None else reference["objective"]
    return (
        name,
        f"> {seconds(cell.time_limit)}" if over else seconds(solve_times(row).median),
        NOT_RUN if over else _slower(reference, cell, row),
        objective(row["objective"]),
        change(_ratio(row["objective"], unit)),
        objective(row["bound"]),
        change(_ratio(row["bound"], unit)),
        f"≤ {gap}" if row["points"] > 1 and row["gap"] else gap,
        "✓" if row["guarantee"] == "optimal" else "",
        NOT_RUN if row["kept_trees"] is None else f"{row['kept_trees']:,}",
        seconds(build_times(row).median),
        seconds(row["cold"]["wall"]),
        megabytes(row["peak_mb"]),
    )


def _ratio(value: float | None, unit: float | None) -> float | None:
    return value / unit if value is not None and unit else None


def _problem_note(cells: list[Cell]) -> str:
    first = cells[0]
    depths = sorted({cell.instance.depth for cell in cells})
    kinds = dict.fromkeys(ENSEMBLE_NAMES[cell.instance.ensemble] for cell in cells)
    data = dict.fromkeys(cell.instance.data for cell in cells)
    return (
        f"{' and '.join(kinds).capitalize()} of depth {', '.join(map(str, depths))} on "
        f"{', '.join(data)}, y standardised, node weights, α = {first.alpha:g}; "
        "objectives in units of the variance of y."
    )


def _measure_note(cells: list[Cell]) -> str:
    repeats = max(cell.repeats for cell in cells)
    return (
        f"Solve and build: median of up to {repeats} warm calls in a process of its own (their "
        "range is in table.csv), fewer where they would take long; imports and compilation are "
        "not counted, but in the first call they are. A path's time is the sum over its α, its "
        f"gap the largest. × {REFERENCE}: time compared with {REFERENCE}; ± %: objective, and "
        f"lower bound, compared with the objective of {REFERENCE}. Relaxations are rounded. "
        "Optimal: proven, gap at most 0.0001 %. MB: peak memory of the process."
    )
