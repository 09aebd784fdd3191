"""Forgetful trees and forests against other models on streams that drift."""

from __future__ import annotations

from dataclasses import dataclass

from solvers import close_matches
from studies.drift.cell import DriftCell
from studies.drift.figure import draw
from studies.drift.kind import STREAMS, DriftRun
from studies.drift.notes import brief_caption, caption, conclusion, notes
from studies.drift.systems import NAIVE, SYSTEMS
from studies.drift.tables import BRIEF, accuracy_table, entries_of
from studies.errors import StudyError
from studies.reporting.report import Report
from studies.reporting.tables import Table, columns_of
from studies.spec import Request
from studies.streams.choosing import ALL_ROWS, chosen_streams
from studies.streams.stream import Stream
from studies.study import Study

BATCH = 100
MARGIN = 0.02


@dataclass(frozen=True)
class Size:
    """What is measured.

    Attributes
    ----------
    streams
        Without seeds.
    seeds
        How many.
    cold, window
        As in `DriftCell`.
    time_limit
        Seconds for a model on a stream, where the user does not say otherwise.
    """

    streams: tuple[Stream, ...]
    seeds: int
    cold: int
    window: int
    time_limit: float


_SIZES = {
    "small": Size(
        (
            Stream("sea", 4000, "abrupt"),
            Stream("agrawal", 4000, "abrupt"),
            Stream("mixed", 4000, "gradual", 400),
        ),
        seeds=1,
        cold=300,
        window=300,
        time_limit=60.0,
    ),
    "medium": Size(
        (
            Stream("sea", 10_000, "abrupt"),
            Stream("agrawal", 10_000, "abrupt"),
            Stream("agrawal", 10_000, "gradual", 1000),
            Stream("mixed", 10_000, "gradual", 1000),
            Stream("rbf", 10_000, "abrupt"),
            Stream("hyperplane", 10_000, "incremental"),
            Stream("phishing", ALL_ROWS),
        ),
        seeds=1,
        cold=500,
        window=500,
        time_limit=120.0,
    ),
    "full": Size(
        (
            *(
                Stream(source, 50_000, drift, 2500 if drift == "gradual" else 0)
                for source in ("sea", "agrawal", "stagger", "led", "hyperplane", "rbf", "mixed")
                for drift in ("abrupt", "gradual")
            ),
            Stream("hyperplane", 50_000, "incremental"),
            Stream("rbf", 50_000, "incremental"),
            Stream("phishing", ALL_ROWS),
            Stream("image_segments", ALL_ROWS),
        ),
        seeds=3,
        cold=500,
        window=500,
        time_limit=1800.0,
    ),
}


def _models(asked: tuple[str, ...]) -> list[str]:
    """Return the models that run: no model without those that need no features, in its form."""
    if not asked:
        return list(SYSTEMS)
    forms = {SYSTEMS[name].rowwise for name in asked}
    always = [name for name in NAIVE if SYSTEMS[name].rowwise in forms]
    return [name for name in SYSTEMS if name in asked or name in always]


def size_cells(size: Size, request: Request) -> list[DriftCell]:
    """Return the cells of a size: every model on every stream with every seed.

    With every model that is asked for come no change and majority in the same form.

    Raises
    ------
    StudyError
        When a model is unknown, or river is needed and not there.
    """
    for name in request.models:
        if name not in SYSTEMS:
            raise StudyError(f"--model: unknown model {name!r}; {close_matches(name, SYSTEMS)}")
    limit = size.time_limit if request.time_limit is None else request.time_limit
    return [
        DriftCell(stream, model, BATCH, size.cold, size.window, MARGIN, limit, request.threads)
        for stream in chosen_streams(request, size.streams, size.seeds)
        for model in _models(request.models)
    ]


def report(run: DriftRun) -> Report:
    """Return the table, the figure and the conclusion."""
    entries = entries_of(run)
    if not entries:
        return Report((), (), tuple(notes(run, None)))
    cell = entries[0].cells[0][0]
    table = accuracy_table(entries, caption(cell, entries))
    brief = columns_of(table, BRIEF)
    return Report(
        tables=(table,),
        shown=(Table(brief_caption(cell), brief.header, brief.groups),),
        notes=tuple(notes(run, cell)),
        figures={"drift": draw(run, entries)},
        conclusion=conclusion(entries),
    )


DRIFT = Study(
    name="drift",
    title="Forgetful trees and forests on streams that drift",
    sizes=tuple(_SIZES),
    cells=lambda request: size_cells(_SIZES[request.size], request),
    report=report,
    kind=STREAMS,
    without=("solvers", "alpha", "ensemble", "repeats", "data_dir", "protocol"),
)
