"""A run as the user sees it: a line for each finished cell above a bar with the time left."""

from __future__ import annotations

from datetime import timedelta
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    SpinnerColumn,
    Task,
)
from rich.table import Column
from rich.text import Text

from studies.kinds import AnyCell, Kind, Plan, Subject
from studies.reporting.formats import plural
from studies.running.child import Outcome


def seconds_left(done: int, todo: int, at_last: float, now: float) -> float | None:
    """Return what cells will take that are to do, as long on average as those that are done.

    It ticks down between two ends of cells. Once those to do take longer than that, it is what
    a cell would take on average if all of them ended now, for there is no end in sight.

    Parameters
    ----------
    done, todo
        Numbers of cells of this run.
    at_last, now
        Seconds from its start to the end of the last cell that is done, and until now.

    Returns
    -------
    float or None
        Seconds; None before a cell is done and after the last one.
    """
    if done == 0 or todo == 0:
        return None
    return max(at_last / done * todo - (now - at_last), now / (done + todo))


class DescriptionColumn(ProgressColumn):
    """What is going on, cut where the terminal is too narrow for all columns."""

    def render(self, task: Task) -> Text:
        """Return the description; brackets in it are those of a solver's options."""
        return Text(task.description.strip(), no_wrap=True, overflow="ellipsis")


class TimesColumn(ProgressColumn):
    """How long a run has taken and, once a cell is done, about how long it will take."""

    def render(self, task: Task) -> Text:
        """Return the times in words; ``at_last`` is a field of the task."""
        now = task.elapsed or 0.0
        text = f"{clock(now)} so far"
        if task.total is not None:
            done = int(task.completed)
            left = seconds_left(done, int(task.total) - done, task.fields["at_last"], now)
            text += "" if left is None else f", about {clock(left)} left"
        return Text(text, style="progress.elapsed")


def clock(seconds: float) -> str:
    """Write a time as hours, minutes and whole seconds."""
    return str(timedelta(seconds=int(seconds)))


class ProgressReporter:
    """Shows a run on a console; a context manager around it.

    A cell is described by what differs between the cells of the plan. Its line begins with how
    many are done and with the time since the run began.
    """

    def __init__(self, console: Console, plan: Plan) -> None:
        self._console = console
        self._show_kind = len({cell.instance.kind for cell in plan.cells}) > 1
        self._show_setting = len({cell.setting for cell in plan.cells}) > 1
        self._kind = plan.kind
        self._width = max(len(self._description(cell)) for cell in plan.cells)
        self._progress = Progress(
            SpinnerColumn(),
            DescriptionColumn(),
            BarColumn(bar_width=12),
            MofNCompleteColumn(table_column=Column(no_wrap=True)),
            TimesColumn(table_column=Column(no_wrap=True)),
            console=console,
            transient=True,
        )
        self._bar = self._progress.add_task("starting", total=None, at_last=0.0)
        self._todo = len(plan.cells)

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
        self._todo = cells - done
        self._progress.reset(self._bar, total=self._todo)

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
        task = self._progress.tasks[0]
        now = task.elapsed or 0.0
        self._progress.update(self._bar, advance=1, at_last=now)
        count = f"[{int(task.completed):>{len(str(self._todo))}}/{self._todo}]"
        line = Text(f"{count} {clock(now)}  {self._description(cell):<{self._width}}  ")
        line.append(*_ending(self._kind, cell, outcome))
        self._print(line)

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
