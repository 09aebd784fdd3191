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

from studies.kinds import AnyCell, Kind, Subject
from studies.planning import Plan
from studies.reporting.formats import plural
from studies.running.child import Outcome


class ProgressReporter:
    """Shows a run on a console; a context manager around it.

    A cell is described by what differs between the cells of the plan.
    """

    def __init__(self, console: Console, plan: Plan) -> None:
        self._console = console
        self._show_kind = len({cell.instance.kind for cell in plan.cells}) > 1
        self._show_setting = len({cell.setting for cell in plan.cells}) > 1
        self._kind = plan.kind
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

    def preparing(self, instance: Subject) -> None:
        """Show that an instance is being prepared."""
        if self._show_kind:
            self._print(Text(f"{instance.kind}, {instance.grid}", style="bold"))
        self._progress.update(self._bar, description=f"{instance.grid}: {instance.preparation}")

    def running(self, cell: AnyCell) -> None:
        """Show the cell in flight."""
        self._progress.update(self._bar, description=self._description(cell))

    def in_flight(self, instances: int) -> None:
        """Show how many instances are being measured at once."""
        self._progress.update(self._bar, description=f"{plural(instances, 'instance')} in flight")

    def finished(self, cell: AnyCell, outcome: Outcome) -> None:
        """Print the cell's line and move the bar."""
        line = Text(f"{self._description(cell):<{self._width}}  ")
        line.append(*_ending(self._kind, cell, outcome))
        self._print(line)
        self._progress.advance(self._bar)

    def _description(self, cell: AnyCell) -> str:
        setting = cell.setting if self._show_setting else ""
        return f"{cell.instance.grid:>14}  {setting}{cell.name}"

    def _print(self, line: Text) -> None:
        self._console.print(line, soft_wrap=True)


def _ending(kind: Kind, cell: AnyCell, outcome: Outcome) -> tuple[str, str]:
    """Return what became of a cell, and the style to print it in."""
    style = {"ok": "green", "over_limit": "yellow"}.get(outcome["status"])
    if style is not None:
        return kind.ending(cell, outcome), style
    return f"{outcome['status']}: {outcome['reason']}", "red"
