"""Zero start, warm start, and local search along a path (FP §3.2, Algorithm 3, Figure 3)."""

from __future__ import annotations

from dataclasses import dataclass, replace

from studies.errors import StudyError
from studies.reporting.report import Report
from studies.spec import Instance, Request
from studies.study import Study
from studies.warmstart.cell import STARTS, StartCell
from studies.warmstart.figure import draw_starts
from studies.warmstart.kind import STARTING, StartRun
from studies.warmstart.notes import conclusion, notes
from studies.warmstart.paths import contradictions, paths_of
from studies.warmstart.tables import point_table, start_table

SPAN = 1e-4


@dataclass(frozen=True)
class Size:
    """What is measured.

    Attributes
    ----------
    grid
        Rows, trees and depth of each kind of ensemble.
    data
        Data sets, where the user names none.
    values
        Number of α of each path.
    repeats, time_limit
        As in `StartCell`, where the user does not say otherwise.
    """

    data: tuple[str, ...]
    grid: dict[str, tuple[int, int, int]]
    values: int
    repeats: int
    time_limit: float


_SIZES = {
    "small": Size(
        ("diamonds",), {"forest": (1145, 100, 6), "boosting": (1145, 100, 6)}, 30, 2, 60.0
    ),
    "medium": Size(
        ("diamonds", "abalone"),
        {"forest": (4000, 250, 8), "boosting": (4000, 250, 5)},
        50,
        2,
        120.0,
    ),
    "full": Size(
        ("diamonds", "abalone"),
        {"forest": (15437, 500, 20), "boosting": (15437, 500, 6)},
        50,
        4,
        1800.0,
    ),
}


def size_cells(size: Size, request: Request) -> list[StartCell]:
    """Return the cells of a size: every way to start on every instance.

    Raises
    ------
    StudyError
        When a target comes without the data set that has it.
    """
    if request.target is not None and request.data is None:
        raise StudyError("--target goes with --data: the study's own data sets have theirs")
    repeats = size.repeats if request.repeats is None else request.repeats
    limit = size.time_limit if request.time_limit is None else request.time_limit
    own = Instance("", 0, 0, target=request.target, data_dir=request.data_dir, seed=request.seed)
    instances = [
        replace(own, data=name, rows=rows, trees=trees, depth=depth, ensemble=ensemble)
        for name in (size.data if request.data is None else (request.data,))
        for ensemble, (rows, trees, depth) in size.grid.items()
        if request.ensemble in (None, ensemble)
    ]
    return [
        StartCell(instance, start, size.values, SPAN, repeats, limit, request.threads)
        for instance in instances
        for start in STARTS
    ]


def report(run: StartRun) -> Report:
    """Return the tables, the figure, the conclusion, and bounds that cannot be."""
    found = paths_of(run)
    table = start_table(found)
    return Report(
        tables=(table, point_table(found)),
        shown=(table,),
        notes=tuple(notes(run, found)),
        figures={"warmstart": draw_starts(found)},
        conclusion=conclusion(found),
        violations=tuple(contradictions(found)),
    )


WARMSTART = Study(
    name="warmstart",
    title="Zero start, warm start and local search along a path of α",
    sizes=tuple(_SIZES),
    cells=lambda request: size_cells(_SIZES[request.size], request),
    report=report,
    kind=STARTING,
    without=("solvers", "models", "alpha", "protocol"),
)
