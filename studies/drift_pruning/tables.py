"""The tables of the study: accuracy and size, proofs and times, and both through a drift."""

from __future__ import annotations

import statistics
from collections.abc import Callable

from studies.drift_pruning.entries import Entry, Point, by_stream, compared, median_of, ratio
from studies.reporting import formats
from studies.reporting.tables import NOT_RUN, Group, Table

MODELS = ("reference", "live", "full", "pruned")
MODEL_NAMES = {
    "reference": "no drift",
    "live": "forest",
    "full": "whole",
    "pruned": "pruned",
}


# Those of the table of accuracies that fit a terminal.
BRIEF = (
    "pruned to",
    *(f"{MODEL_NAMES[name]} %" for name in MODELS),
    "kept nodes %",
    *(f"{MODEL_NAMES[name]} back after" for name in MODELS[2:]),
)

BRIEF_TIMES = (
    "pruned to",
    "build s",
    "descent s",
    "warm s",
    "ratio",
    "ratio, plain",
    "lower/same/higher",
    "gap %",
    "largest gap %",
)


def accuracy_table(entries: list[Entry], caption: str) -> Table:
    """Return what the forest and what is left of it reach, and how fast they recover."""
    header = (
        "pruned to",
        *(f"{MODEL_NAMES[name]} %" for name in MODELS),
        "nodes",
        "kept nodes %",
        "kept trees",
        *(f"{MODEL_NAMES[name]} back after" for name in MODELS[1:]),
    )
    return _grouped(caption, header, entries, _accuracy_row)


def _accuracy_row(entry: Entry) -> tuple[str, ...]:
    points = entry.prunings
    accuracies = [entry.accuracy(name) for name in MODELS]
    share = statistics.median(p["kept_nodes"] / p["nodes"] for p in points)
    return (
        entry.size,
        *(NOT_RUN if a is None else f"{100 * a:.1f}" for a in accuracies),
        f"{median_of(points, 'nodes'):,.0f}",
        formats.percent(share),
        f"{median_of(points, 'kept_trees'):,.0f}",
        *(_recovered(entry.recoveries(name)) for name in MODELS[1:]),
    )


def _recovered(found: list[int | None]) -> str:
    """Return the median rows of a recovery, and from how many of the drifts there was one."""
    back = [one for one in found if one is not None]
    if not found:
        return NOT_RUN
    median = f"{statistics.median(back):,.0f}" if back else NOT_RUN
    return f"{median} ({len(back)}/{len(found)})"


def time_table(entries: list[Entry]) -> Table:
    """Return what a pruning takes, what a warm start saves, and what is proven."""
    header = (
        "pruned to",
        "learn s",
        "build s",
        "descent s",
        "warm s",
        "ratio",
        "ratio, plain",
        "lower/same/higher",
        "bound s",
        "gap %",
        "largest gap %",
    )
    return _grouped(
        "A pruning: medians over the stream; learning is the CPU time of the batches between "
        "two prunings, warm that of a descent from the last choice, whose objective is lower than "
        "without, the same or higher; plain without local search; bound that of the relaxation",
        header,
        entries,
        _time_row,
    )


def _time_row(entry: Entry) -> tuple[str, ...]:
    points = entry.prunings
    changes = compared(points)
    return (
        entry.size,
        *(
            formats.seconds(median_of(points, f"{name}_seconds"))
            for name in ("learn", "build", "cold", "warm")
        ),
        _ratio(points),
        _times(median_of(points, "plain_ratio")),
        " / ".join(map(str, changes)) if sum(changes) else NOT_RUN,
        formats.seconds(median_of(points, "bound_seconds")),
        formats.percent(median_of(points, "gap")),
        formats.percent(max(point["gap"] for point in points)),
    )


def _ratio(points: list[Point]) -> str:
    known = [found for point in points if (found := ratio(point)) is not None]
    return _times(statistics.median(known) if known else None)


def _times(value: float | None) -> str:
    return NOT_RUN if value is None else f"{value:.2f}×"


def phase_table(entries: list[Entry]) -> Table:
    """Return how size, gap, time and accuracy change from before a drift to before the next."""
    header = (
        "pruned to, and when",
        "nodes",
        "kept nodes %",
        "gap %",
        "descent s",
        "warm ratio",
        "whole %",
        "pruned %",
        "difference",
    )
    groups = []
    for stream, own in by_stream(entries):
        rows = [
            _phase_row(entry.size, phase, points)
            for entry in own
            for phase, points in entry.phases().items()
            if points
        ]
        if rows:
            groups.append(Group(stream, tuple(rows)))
    return Table(
        "Through a drift: medians over the drifts of the prunings around them; accuracies of the "
        "whole and the pruned forest until the next pruning, as means",
        header,
        tuple(groups),
    )


def _phase_row(size: str, phase: str, points: list[Point]) -> tuple[str, ...]:
    whole, pruned = (
        statistics.mean(point[name] for point in points)
        for name in ("full_accuracy", "pruned_accuracy")
    )
    change = 100 * (pruned - whole)
    return (
        f"{size}, {phase}",
        f"{median_of(points, 'nodes'):,.0f}",
        formats.percent(statistics.median(p["kept_nodes"] / p["nodes"] for p in points)),
        formats.percent(median_of(points, "gap")),
        formats.seconds(median_of(points, "cold_seconds")),
        _ratio(points),
        f"{100 * whole:.1f}",
        f"{100 * pruned:.1f}",
        f"{change:+.1f}".replace("-", "−"),
    )


def _grouped(
    caption: str,
    header: tuple[str, ...],
    entries: list[Entry],
    row: Callable[[Entry], tuple[str, ...]],
) -> Table:
    groups = tuple(Group(stream, tuple(map(row, own))) for stream, own in by_stream(entries))
    return Table(caption, header, groups)
