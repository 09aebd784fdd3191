"""Cells of the study, as the machinery of studies must know them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from studies.drift.cell import DriftCell
from studies.kinds import Kind
from studies.reporting.report import RunOf
from studies.running.child import Outcome
from studies.streams.load import rows_of
from studies.streams.stream import Stream, read_stream

DriftRun = RunOf[DriftCell, Stream]

_SAID = (
    "accuracy",
    "f1",
    "predict_seconds",
    "learn_seconds",
    "held_most",
    "pickle_bytes",
    "peak_mb",
    "finished",
    "reason",
)


def _settings(cells: Sequence[DriftCell]) -> dict[str, Any]:
    first = cells[0]
    return {
        "batch": first.batch,
        "cold": first.cold,
        "window": first.window,
        "margin": first.margin,
        "time_limit": first.time_limit,
        "threads": first.threads,
        "calls": list(dict.fromkeys(cell.model for cell in cells)),
    }


def _ending(cell: DriftCell, outcome: Outcome) -> str:
    if outcome["status"] != "ok":
        return f"> {cell.time_limit:g} s"
    return f"{100 * outcome['accuracy']:5.1f} %   {_speed(outcome):>9,.0f} rows/s"


def _speed(outcome: Outcome) -> float:
    seconds = outcome["predict_seconds"] + outcome["learn_seconds"]
    return float(outcome["rows"] / max(seconds, 1e-9))


def _files(run: DriftRun) -> dict[str, list[dict[str, Any]]]:
    """Return a line for each cell, and one for each point of its curves."""
    lines, curves = [], []
    for cell, row in run.cells:
        asked = cell.as_dict()
        asked = {**asked.pop("instance"), **asked}
        lines.append({**asked, "status": row["status"], **{name: row.get(name) for name in _SAID}})
        where = {"stream": cell.instance.kind, "seed": cell.instance.seed, "model": cell.model}
        for what in ("rolling", "held"):
            curves += [
                {**where, "what": what, "row": at, "value": value}
                for at, value in row.get(what, ())
            ]
    return {"table.csv": lines, "curves.csv": curves}


STREAMS = Kind(
    prepare="studies.streams.prepare:prepare",
    measure="studies.drift.measure:measure",
    read_cell=DriftCell.from_dict,
    read_instance=read_stream,
    rows=rows_of,
    data_name=lambda stream: stream.short,
    settings=_settings,
    ending=_ending,
    files=_files,
)
