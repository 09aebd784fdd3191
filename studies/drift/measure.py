"""Measure one cell of the study in a process of its own."""

from __future__ import annotations

import math
import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from studies.drift.baselines import BatchModel, RowModel
from studies.drift.cell import DriftCell
from studies.drift.prequential import OutOfTime, Trace, by_batches, row_by_row
from studies.drift.systems import SYSTEMS, System
from studies.errors import StudyError
from studies.running.child import Save
from studies.running.machine import now, peak_megabytes
from studies.streams.measures import accuracy, curve, macro_f1, recoveries, rolling, thinned
from studies.streams.stream import Rows

# Batches on which a model that is thrown away compiles and imports what it needs.
WARM_BATCHES = 4


def measure(request: dict[str, Any], save: Save) -> None:
    """Run a model along a stream; save what it predicted right, its times and its memory.

    Parameters
    ----------
    request
        ``cell``: the cell as plain values; ``path``: the file with the rows.
    save
        Takes the outcome.
    """
    cell = DriftCell.from_dict(request["cell"])
    rows = Rows.read(Path(request["path"]))
    system = SYSTEMS[cell.model]
    try:
        model = system.make(cell.instance.seed, len(rows.classes))
        _warm_up(system, cell, rows)
        trace = _run(system, model, rows, cell)
    except StudyError as refusal:
        save({"status": "skipped", "reason": str(refusal)})
    except OutOfTime:
        reason = f"not at the end of the stream within {cell.time_limit:g} s"
        save({"status": "over_limit", "reason": reason})
    else:
        save({**outcome(trace, rows, cell), "pickle_bytes": len(pickle.dumps(model))})


def outcome(trace: Trace, rows: Rows, cell: DriftCell) -> dict[str, Any]:
    """Return what a run says, as plain values."""
    right = trace.predicted == rows.y
    scored = slice(cell.cold, None)
    scored_right = right[scored]
    window = min(cell.window, len(scored_right))
    return {
        "status": "ok",
        "rows": len(rows.y),
        "accuracy": accuracy(rows.y[scored], trace.predicted[scored]),
        "f1": macro_f1(rows.y[scored], trace.predicted[scored]),
        # A window's accuracy stands at its last row.
        "rolling": curve(rolling(scored_right, window), cell.cold + window),
        "recovery": recoveries(right, rows.drifts, cell.window, cell.margin, cell.cold),
        "held": [list(pair) for pair in thinned(trace.held)],
        "held_most": max((held for _, held in trace.held), default=None),
        "predict_seconds": trace.predict_seconds,
        "learn_seconds": trace.learn_seconds,
        "peak_mb": peak_megabytes(),
        "finished": now(),
    }


def _warm_up(system: System, cell: DriftCell, rows: Rows) -> None:
    few = cell.batch * WARM_BATCHES
    first = Rows(rows.X[:few], rows.y[:few], rows.features, rows.classes, (), rows.concept[:few])
    model = system.make(cell.instance.seed, len(rows.classes))
    _run(system, model, first, replace(cell, time_limit=math.inf))
    pickle.loads(pickle.dumps(model))  # trees that are built anew need what compiles here


def _run(system: System, model: BatchModel | RowModel, rows: Rows, cell: DriftCell) -> Trace:
    if system.rowwise:
        return row_by_row(cast(RowModel, model), rows, cell.batch, cell.time_limit)
    return by_batches(cast(BatchModel, model), rows, cell.batch, cell.time_limit)
