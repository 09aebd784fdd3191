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

from studies.planning import Plan
from studies.reporting.formats import percent, plural, seconds
from studies.running.child import Outcome
from studies.running.records import solve_times
from studies.spec import ENSEMBLE_NAMES, Cell, Instance


class ProgressReporter:
    """Shows a run on a console; a context manager around it.

    A cell is described by what differs between the cells of the plan.
    """

    def __init__(self, console: Console, plan: Plan) -> None:
        self._console = console
        self._show_kind = len({cell.instance.kind for cell in plan.cells}) > 1
        self._show_alpha = len({cell.alpha for cell in plan.cells}) > 1
        self._width = max(len(self._description(cell)) for cell in plan.cells)
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
        if self._show_kind:
            self._print(Text(f"{instance.kind}, {instance.grid}", style="bold"))
        name = ENSEMBLE_NAMES[instance.ensemble]
        self._progress.update(self._bar, description=f"{instance.grid}: fitting a {name}")

    def running(self, cell: Cell) -> None:
        """Show the cell in flight."""
        self._progress.update(self._bar, description=self._description(cell))

    def finished(self, cell: Cell, outcome: Outcome) -> None:
        """Print the cell's line and move the bar."""
        line = Text(f"{self._description(cell):<{self._width}}  ")
        line.append(*_ending(cell, outcome))
        self._print(line)
        self._progress.advance(self._bar)

    def _description(self, cell: Cell) -> str:
        alpha = f"α = {cell.alpha:<6g}" if self._show_alpha else ""
        return f"{cell.instance.grid:>14}  {alpha}{cell.name}"

    def _print(self, line: Text) -> None:
        self._console.print(line, soft_wrap=True)


def _ending(cell: Cell, outcome: Outcome) -> tuple[str, str]:
    """Return what became of a cell, and the style to print it in."""
    gap = "" if outcome.get("gap") is None else f"   gap {percent(outcome['gap'])} %"
    if outcome["status"] == "ok":
        return f"{seconds(solve_times(outcome).median):>7} s{gap}", "green"
    if outcome["status"] == "over_limit":
        return f"> {seconds(cell.time_limit)} s{gap}", "yellow"
    return f"{outcome['status']}: {outcome['reason']}", "red"
