"""Measure one cell of the study in a process of its own."""

from __future__ import annotations

import math
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from formulations.arrays import IntArray
from studies.drift_pruning.cell import REFERENCE_ROWS, PruneCell
from studies.drift_pruning.course import Course, Out, run_course, without_drift
from studies.running.child import Save
from studies.running.machine import now, peak_megabytes
from studies.streams.forgetful import classifier
from studies.streams.measures import accuracy, curve, recoveries, rolling
from studies.streams.stream import Rows
from studies.streams.synthetic import CONCEPTS, draw_concept


def measure(request: dict[str, Any], save: Save) -> None:
    """Run a forest along a stream, pruned again and again; save what came of it.

    Parameters
    ----------
    request
        ``cell``: the cell as plain values; ``path``: the file with the rows.
    save
        Takes the outcome.
    """
    cell = PruneCell.from_dict(request["cell"])
    rows = Rows.read(Path(request["path"]))

    def forest() -> Any:
        return classifier("forest", n_trees=cell.trees, random_state=cell.instance.seed)

    try:
        _warm_up(cell, forest(), rows)
        course = run_course(cell, forest(), rows)
    except Out:
        reason = f"not at the end of the stream within {cell.time_limit:g} s"
        save({"status": "over_limit", "reason": reason})
        return
    reference = None
    if cell.instance.source in CONCEPTS and rows.drifts:
        concepts = {
            int(place): draw_concept(cell.instance, int(place), REFERENCE_ROWS)
            for place in np.unique(rows.concept)
        }
        reference = without_drift(forest, rows, concepts, cell.batch)
    save(outcome(cell, rows, course, reference))


def outcome(
    cell: PruneCell, rows: Rows, course: Course, reference: IntArray | None
) -> dict[str, Any]:
    """Return what a run says, as plain values."""
    models = {"live": course.live, "full": course.full, "pruned": course.pruned}
    if reference is not None:
        models["reference"] = reference
    first = course.prunings[0].row
    scored = {}
    for name, predicted in models.items():
        right = predicted == rows.y
        window = min(cell.window, len(right) - first)
        scored[name] = {
            "accuracy": accuracy(rows.y[first:], predicted[first:]),
            "rolling": curve(rolling(right[first:], window), first + window),
            "recovery": recoveries(right, rows.drifts, cell.window, cell.margin, first),
        }
    return {
        "status": "ok",
        "rows": len(rows.y),
        "first": first,
        "models": scored,
        "prunings": _spans(rows, course),
        "peak_mb": peak_megabytes(),
        "finished": now(),
    }


def _spans(rows: Rows, course: Course) -> list[dict[str, Any]]:
    """Return the prunings, each with the accuracies until the next one."""
    ends = [*(one.row for one in course.prunings[1:]), len(rows.y)]
    found = []
    for one, end in zip(course.prunings, ends, strict=True):
        part = slice(one.row, end)
        accuracies = {
            "full_accuracy": accuracy(rows.y[part], course.full[part]),
            "pruned_accuracy": accuracy(rows.y[part], course.pruned[part]),
        }
        found.append(asdict(one) | accuracies)
    return found


def _warm_up(cell: PruneCell, forest: Any, rows: Rows) -> None:
    """Have everything compiled before the clock, by a forest that is thrown away."""
    few = (max(cell.cold // cell.batch, 1) + cell.every + 1) * cell.batch
    part = Rows(rows.X[:few], rows.y[:few], rows.features, rows.classes, (), rows.concept[:few])
    run_course(replace(cell, time_limit=math.inf), forest, part)
