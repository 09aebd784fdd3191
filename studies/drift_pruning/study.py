"""What pruning does to a forgetful forest while its stream drifts."""

from __future__ import annotations

from dataclasses import dataclass

from studies.drift_pruning.cell import PruneCell
from studies.drift_pruning.entries import entries_of
from studies.drift_pruning.figure import draw
from studies.drift_pruning.kind import PRUNINGS, PruneRun
from studies.drift_pruning.notes import caption, conclusion, notes
from studies.drift_pruning.tables import BRIEF, BRIEF_TIMES, accuracy_table, phase_table, time_table
from studies.reporting.report import Report
from studies.reporting.tables import columns_of
from studies.spec import Request
from studies.streams.choosing import chosen_streams
from studies.streams.stream import Stream
from studies.study import Study

BATCH = 100
MARGIN = 0.02

# α, in units of the variance of the response, and shares of the nodes.
ALPHAS, BUDGETS = (1.0, 0.1), (0.1,)


@dataclass(frozen=True)
class Size:
    """What is measured.

    Attributes
    ----------
    streams
        Without seeds.
    seeds
        How many.
    trees, every, cold, window, repeats
        As in `PruneCell`.
    time_limit
        Seconds for a cell, where the user does not say otherwise.
    """

    streams: tuple[Stream, ...]
    seeds: int
    trees: int
    every: int
    cold: int
    window: int
    repeats: int
    time_limit: float


_SIZES = {
    "small": Size(
        (Stream("sea", 4000, "abrupt"), Stream("agrawal", 4000, "abrupt")),
        seeds=1,
        trees=20,
        every=2,
        cold=400,
        window=300,
        repeats=3,
        time_limit=120.0,
    ),
    "medium": Size(
        (
            Stream("sea", 12_000, "abrupt"),
            Stream("agrawal", 12_000, "abrupt"),
            Stream("mixed", 12_000, "gradual", 1000),
            Stream("rbf", 12_000, "abrupt"),
        ),
        seeds=1,
        trees=20,
        every=5,
        cold=500,
        window=500,
        repeats=3,
        time_limit=300.0,
    ),
    "full": Size(
        tuple(
            Stream(source, 50_000, drift, 2500 if drift == "gradual" else 0)
            for source in ("sea", "agrawal", "hyperplane", "rbf", "mixed")
            for drift in ("abrupt", "gradual")
        ),
        seeds=3,
        trees=100,
        every=10,
        cold=1000,
        window=500,
        repeats=3,
        time_limit=3600.0,
    ),
}


def size_cells(size: Size, request: Request) -> list[PruneCell]:
    """Return the cells of a size: every stream and seed, pruned to every size.

    An α that is asked for takes the place of all sizes.

    Raises
    ------
    StudyError
        When river is needed and not there.
    """
    asked: list[tuple[float | None, float | None]] = [(alpha, None) for alpha in ALPHAS]
    asked += [(None, budget) for budget in BUDGETS]
    if request.alpha is not None:
        asked = [(request.alpha, None)]
    return [
        PruneCell(
            instance=stream,
            alpha=alpha,
            budget=budget,
            trees=size.trees,
            batch=BATCH,
            every=size.every,
            cold=size.cold,
            window=size.window,
            margin=MARGIN,
            repeats=size.repeats if request.repeats is None else request.repeats + 1,
            time_limit=size.time_limit if request.time_limit is None else request.time_limit,
            threads=request.threads,
        )
        for stream in chosen_streams(request, size.streams, size.seeds)
        for alpha, budget in asked
    ]


def report(run: PruneRun) -> Report:
    """Return the tables, the figure and the conclusion."""
    entries = entries_of(run)
    if not entries:
        return Report((), (), tuple(notes(run, None)))
    cell = entries[0].cells[0][0]
    tables = (
        accuracy_table(entries, caption(cell, entries)),
        time_table(entries),
        phase_table(entries),
    )
    return Report(
        tables=tables,
        shown=(
            columns_of(tables[0], BRIEF),
            columns_of(tables[1], BRIEF_TIMES),
            tables[2],
        ),
        notes=tuple(notes(run, cell)),
        figures={"drift-pruning": draw(entries)},
        conclusion=conclusion(entries),
    )


DRIFT_PRUNING = Study(
    name="drift-pruning",
    title="Pruning a forgetful forest while its stream drifts",
    sizes=tuple(_SIZES),
    cells=lambda request: size_cells(_SIZES[request.size], request),
    report=report,
    kind=PRUNINGS,
    without=("solvers", "models", "ensemble", "data_dir", "protocol"),
)
