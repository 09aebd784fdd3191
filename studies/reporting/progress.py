"""A run as the user sees it: a line for each finished cell above a bar with the time left."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from studies.reporting.formats import grid_cell, percent, plural, seconds
from studies.running.child import Outcome
from studies.running.records import solve_times
from studies.spec import ENSEMBLE_NAMES, Cell, Instance, call_name


class ProgressReporter:
    """Shows a run on a console; a context manager around it."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._progress = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            console=console,
            transient=True,
        )
        self._bar = self._progress.add_task("starting", total=None)

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._progress.stop()

    def notice(self, text: str) -> None:
        """Print a line."""
        self._print(Text(f"note: {text}", style="yellow"))

    def begin(self, cells: int, done: int) -> None:
        """Set the bar up for the cells that are left."""
        if done:
            self.notice(f"{done} of {plural(cells, 'cell')} done in an earlier run")
        self._progress.update(self._bar, total=cells - done)

    def preparing(self, instance: Instance) -> None:
        """Show that an instance is being fitted."""
        size = grid_cell(instance.rows, instance.trees)
        name = ENSEMBLE_NAMES[instance.ensemble]
        self._progress.update(self._bar, description=f"{size}: fitting a {name}")

    def running(self, cell: Cell) -> None:
        """Show the cell in flight."""
        self._progress.update(self._bar, description=_description(cell))

    def finished(self, cell: Cell, outcome: Outcome) -> None:
        """Print the cell's line and move the bar."""
        line = Text(f"{_description(cell):<52} ")
        line.append(*_ending(cell, outcome))
        self._print(line)
        self._progress.advance(self._bar)

    def _print(self, line: Text) -> None:
        self._console.print(line, soft_wrap=True)


def _description(cell: Cell) -> str:
    size = grid_cell(cell.instance.rows, cell.instance.trees)
    return f"{size:>14}  {call_name(cell.solver, cell.task)}"


def _ending(cell: Cell, outcome: Outcome) -> tuple[str, str]:
    """Return what became of a cell, and the style to print it in."""
    if outcome["status"] == "ok":
        time = f"{seconds(solve_times(outcome).median):>7} s"
        gap = outcome["gap"]
        return (time if gap is None else f"{time}   gap {percent(gap)} %"), "green"
    if outcome["status"] == "over_limit":
        return f"> {seconds(cell.time_limit)} s", "yellow"
    return f"{outcome['status']}: {outcome['reason']}", "red"
