"""The caption, what a reader must know, and the run in a few sentences."""

from __future__ import annotations

import statistics

from studies.drift_pruning.cell import REFERENCE_ROWS, PruneCell
from studies.drift_pruning.entries import Entry, by_stream, compared, median_of, ratio
from studies.drift_pruning.kind import PruneRun
from studies.reporting import formats
from studies.reporting.report import machine_note, reasons


def caption(cell: PruneCell, entries: list[Entry]) -> str:
    """Return the caption of the table of accuracies."""
    seeds = sorted({one.instance.seed for entry in entries for one, _ in entry.cells})
    return (
        f"A forgetful forest of {cell.trees} trees in batches of {cell.batch}, pruned every "
        f"{cell.every} batches from row {cell.cold:,} on by cbcd. Accuracy of a forest without "
        "drift, of the forest, of the whole forest as it was when last pruned, and of what is "
        "left of that; rows after which they are back where they were before a drift. Seeds of "
        f"streams and forests: {', '.join(map(str, seeds))}"
    )


def notes(run: PruneRun, cell: PruneCell | None) -> list[str]:
    """Return a sentence or so for each thing to know."""
    if cell is None:
        return ["No cell has finished yet.", *reasons(run)]
    return [
        "Forest: goes on learning, batch by batch. Whole: the forest as it was "
        "at the last pruning, so that it and what is left of it know the same rows. Every batch "
        "is predicted by all three before it is learnt; rows before the first pruning are not "
        "scored.",
        f"No drift: for each concept a forest of its own that has learnt {REFERENCE_ROWS:,} other "
        "rows of it before and sees only its rows; every row is predicted by that of its "
        "concept.",
        "Pruning: Problem (1) on the rows that the trees remember, α in units of the variance of "
        "the response; within a budget, the largest model that bisection on α finds. No weights "
        "are changed.",
        "Gap: of the choice of descent without a warm start, by the best bound of all solves, "
        "that of the relaxation among them.",
        "A warm start is the depth of each tree in the last choice, at most its depth now. It is "
        f"for one α, so not for budgets. Every solve is timed {cell.repeats} times on data "
        "without caches, build and solve; the median counts.",
        f"Recovery: rows from the beginning of a drift to the first row from which on the next "
        f"{cell.window:,} rows are predicted at most {100 * cell.margin:g} points worse than the "
        f"last {cell.window:,} before the drift; the median of those that were recovered from "
        "before the next drift.",
        machine_note(run, "cell"),
        *reasons(run),
    ]


def conclusion(entries: list[Entry]) -> str:
    """Return in a few sentences what came out."""
    return " ".join(filter(None, (_sizes(entries), _recovery(entries), _warm(entries))))


def _sizes(entries: list[Entry]) -> str:
    """Say what accuracy and which share of the nodes are left, and what is proven."""
    parts = []
    for size in dict.fromkeys(entry.size for entry in entries):
        own = [entry for entry in entries if entry.size == size]
        points = [point for entry in own for point in entry.prunings]
        change = statistics.mean(
            (entry.accuracy("pruned") or 0.0) - (entry.accuracy("full") or 0.0) for entry in own
        )
        share = statistics.median(p["kept_nodes"] / p["nodes"] for p in points)
        gap = formats.percent(max(p["gap"] for p in points))
        parts.append(
            f"{size}: {formats.percent(share)} % of the nodes, "
            f"{100 * change:+.1f} points, gap at most {gap} %".replace("-", "−")
        )
    streams = formats.plural(len(by_stream(entries)), "stream")
    return f"Pruned against whole, over {streams}: {'; '.join(parts)}." if parts else ""


def _recovery(entries: list[Entry]) -> str:
    """Say how often the pruned forest recovers sooner than the whole one."""
    pairs = [
        [float("inf") if rows is None else float(rows) for rows in pair]
        for entry in entries
        for pair in zip(entry.recoveries("full"), entry.recoveries("pruned"), strict=True)
    ]
    sooner = sum(pruned < whole for whole, pruned in pairs)
    later = sum(pruned > whole for whole, pruned in pairs)
    if not pairs:
        return ""
    same = len(pairs) - sooner - later
    return (
        f"Of {len(pairs)} recoveries from a drift, the pruned forest is back sooner than the "
        f"whole one in {sooner}, as soon in {same}, later in {later}."
    )


def _warm(entries: list[Entry]) -> str:
    """Say what a warm start saves."""
    points = [point for entry in entries for point in entry.prunings]
    ratios = [found for point in points if (found := ratio(point)) is not None]
    if not ratios:
        return ""
    lower, same, higher = compared(points)
    plain = median_of(points, "plain_ratio") or 0.0
    return (
        f"A warm start takes {statistics.median(ratios):.2f}× the time of a cold one (median of "
        f"{len(ratios)}; {plain:.2f}× without local search) and ends at a lower objective "
        f"{lower} times, at the same {same} times, at a higher one {higher} times."
    )
