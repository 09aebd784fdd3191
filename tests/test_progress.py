"""What a run shows: the lines of finished cells, and the time that is left."""

from __future__ import annotations

from dataclasses import replace
from io import StringIO
from itertools import pairwise
from typing import Any

import pytest
from rich.console import Console
from rich.progress import Progress

from studies.kinds import Plan
from studies.reporting.progress import ProgressReporter, TimesColumn, seconds_left
from studies.solver_kind import SOLVERS
from studies.spec import Cell, Instance

KIND = replace(SOLVERS, ending=lambda cell, outcome: "as good as new")


class Clock:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    begin = Progress.__init__

    def with_clock(progress: Progress, *columns: Any, **options: Any) -> None:
        begin(progress, *columns, get_time=clock, **options)

    monkeypatch.setattr(Progress, "__init__", with_clock)
    return clock


def plan_of(count: int) -> Plan:
    cells = tuple(
        Cell(
            instance=Instance("trial", 10, 5, name=f"{place}"),
            alpha=1.0,
            solver="a" * (1 + place % 3),
            task="solve",
            repeats=0,
            time_limit=5.0,
            threads=1,
        )
        for place in range(count)
    )
    return Plan("trial", "only", "A trial", cells, KIND)


def shown(clock: Clock, count: int, ends: dict[float, int], at: float, earlier: int = 0) -> str:
    """Return the times of the bar after so many seconds, when cells ended as given."""
    plan = plan_of(count)
    reporter = ProgressReporter(Console(file=StringIO()), plan)
    clock.now += 7.0  # before the run begins
    reporter.begin(count, earlier)
    begin = clock.now
    for seconds, cells in ends.items():
        clock.now = begin + seconds
        for cell in plan.cells[:cells]:
            reporter.finished(cell, {"status": "ok"})
    clock.now = begin + at
    (task,) = reporter._progress.tasks
    return TimesColumn().render(task).plain


@pytest.mark.parametrize(
    ("ends", "at", "expected"),
    [
        ({}, 0.0, "0:00:00 so far"),
        ({}, 50.0, "0:00:50 so far"),
        ({60.0: 2}, 60.0, "0:01:00 so far, about 0:03:00 left"),
        ({60.0: 2}, 70.0, "0:01:10 so far, about 0:02:50 left"),
        # A burst, as of an instance whose cells arrive at once; no end in sight after that.
        ({90.0: 6}, 90.0, "0:01:30 so far, about 0:00:30 left"),
        ({90.0: 6}, 100.0, "0:01:40 so far, about 0:00:20 left"),
        ({90.0: 6}, 160.0, "0:02:40 so far, about 0:00:20 left"),
        ({10.0: 1, 40.0: 3}, 40.0, "0:00:40 so far, about 0:00:40 left"),
        ({80.0: 8}, 80.0, "0:01:20 so far"),
    ],
)
def test_what_is_left_is_what_is_done_per_cell(
    clock: Clock, ends: dict[float, int], at: float, expected: str
) -> None:
    assert shown(clock, 8, ends, at) == expected


def test_one_of_two_cells_is_enough(clock: Clock) -> None:
    assert shown(clock, 2, {30.0: 1}, 30.0) == "0:00:30 so far, about 0:00:30 left"


def test_cells_of_earlier_runs_took_no_time_of_this_one(clock: Clock) -> None:
    assert shown(clock, 8, {30.0: 1}, 30.0, earlier=5) == "0:00:30 so far, about 0:01:00 left"


def test_the_time_left_ticks_down_until_there_is_no_end_in_sight() -> None:
    lefts = [seconds_left(2, 6, 60.0, 60.0 + after) or 0.0 for after in range(130)]
    assert all(later < former for former, later in pairwise(lefts))
    assert all((seconds_left(2, 6, 60.0, float(now)) or 0.0) > 0.0 for now in range(60, 9999))


def test_a_run_that_has_not_begun_has_no_time_left() -> None:
    reporter = ProgressReporter(Console(file=StringIO()), plan_of(2))
    (task,) = reporter._progress.tasks
    assert TimesColumn().render(task).plain == "0:00:00 so far"


@pytest.mark.parametrize("terminal", [False, True])
def test_lines_of_cells_have_their_number_and_the_time(clock: Clock, terminal: bool) -> None:
    text, plan = StringIO(), plan_of(12)
    console = Console(file=text, width=120, force_terminal=terminal, color_system=None)
    with ProgressReporter(console, plan) as reporter:
        reporter.begin(12, 2)
        for cell in plan.cells[2:]:
            clock.now += 61.0
            reporter.finished(cell, {"status": "ok"})
    lines = [line for line in text.getvalue().replace("\r", "\n").split("\n") if "good" in line]
    assert len(lines) == 10
    assert "[ 1/10] 0:01:01  " in lines[0]
    assert "[10/10] 0:10:10  " in lines[-1]
    if not terminal:
        assert len({line.index("as good as new") for line in lines}) == 1
        assert lines[0].startswith("[ 1/10]")


@pytest.mark.parametrize("width", [72, 80, 140])
def test_the_bar_is_one_line_with_all_times(width: int) -> None:
    text = StringIO()
    console = Console(file=text, width=width, color_system=None)
    reporter = ProgressReporter(console, plan_of(8))
    reporter.begin(8, 0)
    reporter.finished(plan_of(8).cells[0], {"status": "ok"})
    bar = "   1,145 × 100  cbcd[local_search=False] and what is long"
    reporter._progress.update(reporter._bar, description=bar)
    text.truncate(0)
    console.print(reporter._progress.get_renderable())
    (line,) = text.getvalue().replace("\0", "").splitlines()
    assert line.rstrip().endswith("1/8 0:00:00 so far, about 0:00:00 left")
    assert "1,145 × 100" in line
    assert width < 140 or bar.strip() in line
