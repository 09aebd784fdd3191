"""What the paper's Table 1 reports beside what was measured, at the sizes it has."""

from __future__ import annotations

from dataclasses import dataclass

from studies.reporting.published import Compared, Comparison
from studies.running.records import Row, solve_times
from studies.spec import Cell
from studies.table1.tables import Grid

_NOTE = "Other data, another machine, and α of its own; here {data}."
_BOUND_NOTE = (
    "Published is that MOSEK takes longer than this; here Clarabel solves the same relaxation from "
    "the Gram matrix, {data}."
)


@dataclass(frozen=True)
class _Time:
    """Published seconds of a call, and which call is the same here."""

    rows: int
    trees: int
    name: str
    seconds: float
    solver: str
    task: str
    note: str

    def is_of(self, cell: Cell) -> bool:
        """Return whether a cell is such a call on an instance of that size."""
        size = cell.instance.rows, cell.instance.trees
        return (*size, cell.solver, cell.task) == (self.rows, self.trees, self.solver, self.task)


_TIMES = (
    _Time(1145, 100, "CBCD, path", 0.2, "cbcd", "path", _NOTE),
    _Time(
        1145,
        100,
        "relaxation by an interior-point method, path",
        660.0,
        "clarabel",
        "path",
        _BOUND_NOTE,
    ),
    _Time(
        50164,
        100,
        "relaxation by an interior-point method",
        1800.0,
        "clarabel",
        "solve",
        _BOUND_NOTE,
    ),
)


def comparisons(grid: Grid) -> tuple[Comparison, ...]:
    """Return the seconds of calls that the paper reports, too, on instances of the same size."""
    rows = [
        _compared(time, cell, row)
        for time in _TIMES
        for cell, row in grid.cells.values()
        if time.is_of(cell) and row["status"] == "ok"
    ]
    return (Comparison("table1, Table 1: time", tuple(rows)),)


def _compared(time: _Time, cell: Cell, row: Row) -> Compared:
    alphas = f", {cell.values} α" if cell.task == "path" else ""
    return Compared(
        f"{time.name}, {cell.instance.grid}",
        time.seconds,
        solve_times(row).median,
        unit="s",
        better=None,  # of two machines
        note=time.note.format(data=f"{cell.instance.kind}{alphas}"),
    )
