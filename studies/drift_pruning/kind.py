"""Cells of the study, as the machinery of studies must know them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from studies.drift_pruning.cell import PruneCell
from studies.kinds import Kind
from studies.reporting.formats import percent
from studies.reporting.report import RunOf
from studies.running.child import Outcome
from studies.streams.load import rows_of
from studies.streams.stream import Stream, read_stream

PruneRun = RunOf[PruneCell, Stream]


def _settings(cells: Sequence[PruneCell]) -> dict[str, Any]:
    first = cells[0]
    common = ("trees", "batch", "every", "cold", "window", "margin", "repeats")
    return {
        **{name: getattr(first, name) for name in (*common, "time_limit", "threads")},
        "calls": list(dict.fromkeys(cell.name for cell in cells)),
    }


def _ending(cell: PruneCell, outcome: Outcome) -> str:
    if outcome["status"] != "ok":
        return f"> {cell.time_limit:g} s"
    pruned, full = (outcome["models"][name]["accuracy"] for name in ("pruned", "full"))
    gap = max(one["gap"] for one in outcome["prunings"])
    return f"{100 * pruned:5.1f} %, unpruned {100 * full:.1f} %   gap ≤ {percent(gap)} %"


def _files(run: PruneRun) -> dict[str, list[dict[str, Any]]]:
    """Return a line for each cell, one for each pruning, and one for each point of a curve."""
    lines, prunings, curves = [], [], []
    for cell, row in run.cells:
        asked = cell.as_dict()
        asked = {**asked.pop("instance"), **asked}
        models = row.get("models", {})
        reached = {f"{name}_accuracy": model["accuracy"] for name, model in models.items()}
        last = {name: row.get(name) for name in ("peak_mb", "finished", "reason")}
        lines.append({**asked, "status": row["status"], **reached, **last})
        where = {"stream": cell.instance.kind, "seed": cell.instance.seed, "size": cell.name}
        prunings += [where | one for one in row.get("prunings", ())]
        curves += [
            {**where, "model": name, "row": at, "accuracy": value}
            for name, model in models.items()
            for at, value in model["rolling"]
        ]
    return {"table.csv": lines, "prunings.csv": prunings, "curves.csv": curves}


PRUNINGS = Kind(
    prepare="studies.streams.prepare:prepare",
    measure="studies.drift_pruning.measure:measure",
    read_cell=PruneCell.from_dict,
    read_instance=read_stream,
    rows=rows_of,
    data_name=lambda stream: stream.short,
    settings=_settings,
    ending=_ending,
    files=_files,
)
