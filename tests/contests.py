"""What the tests of `bagging` and `boosting` share: tiny tables, folds, and rows made by hand."""

from __future__ import annotations

import importlib
import json
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from io import StringIO
from pathlib import Path
from typing import Any

from rich.console import Console

from studies.contests.cell import Contest
from studies.contests.fold import Fold
from studies.contests.prepare import prepare
from studies.reporting.report import RunOf
from studies.reporting.tables import Table
from studies.running.prepared import Prepared

FULL = {"nodes": 1000, "trees": 50, "mean_depth": 9.0, "validation": 0.3, "test": 0.4}
EMPTY = {"nodes": 0, "trees": 0, "mean_depth": 0.0, "validation": 1.0, "test": 1.0}


def response(row: int) -> float:
    """What `write_table` writes as the response of a row."""
    by_class = row % 5 if row % 3 == 0 else -row % 5
    return round(3.0 * math.sin(4.0 * math.sin(row)) + by_class + 0.3 * math.cos(37.0 * row), 4)


def write_table(path: Path, rows: int = 130, empty: Iterable[int] = ()) -> None:
    """Write a table whose ``class`` follows its features; ``row`` numbers its rows.

    In ``b`` every ninth cell is missing; rows that are to be empty have no response.
    """
    left_out = set(empty)
    lines = ["row,a,b,c,class"]
    for k in range(rows):
        y = "" if k in left_out else response(k)
        lines.append(f"{k},{math.sin(k):.5f},{'' if k % 9 == 0 else k % 5},{'uvw'[k % 3]},{y}")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def fold_of(path: Path | str, **more: Any) -> Fold:
    """A fold of a table, with a small ensemble."""
    own: dict[str, Any] = {
        "data": str(path),
        "rows": 100,
        "ensemble": "forest",
        "trees": 8,
        "depth": 4,
        "fold": 0,
        "target": "class",
    }
    return Fold(**{**own, **more})


def prepared(fold: Fold, path: Path) -> tuple[Prepared, dict[str, Any]]:
    """Prepare a fold in a file of this path; return what is in it, and what is saved beside."""
    saved: dict[str, Any] = {}
    prepare({"instance": asdict(fold), "path": str(path)}, saved.update)
    return Prepared.read(path), saved


def run_here(function: str, request: dict[str, Any], *_args: Any, **_more: Any) -> dict[str, Any]:
    """Run what a process of its own would, which takes longer to start than to run."""
    module, _, name = function.partition(":")
    return saved_by(getattr(importlib.import_module(module), name), request)[-1]


def saved_by(work: Callable[..., None], request: dict[str, Any]) -> list[dict[str, Any]]:
    """Return what is saved one after the other, as it would be read back from its file."""
    saved: list[dict[str, Any]] = []
    work(request, lambda outcome: saved.append(json.loads(json.dumps(outcome, allow_nan=False))))
    return saved


def run_of(rows: Sequence[tuple[Contest, dict[str, Any]]], **preparation: Any) -> Any:
    """A run of cells with their rows; all folds were prepared alike."""
    return RunOf(
        {"title": "made by hand"},
        tuple(rows),
        {"versions": {}},
        {cell.instance: {"dropped": 0, "rows_there": 100, **preparation} for cell, _ in rows},
    )


def column(table: Table, name: str) -> dict[str, str]:
    """Return a column of a table by the names of its rows; later groups count."""
    place = table.header.index(name)
    return {row[0]: row[place] for group in table.groups for row in group.rows}


def terminal() -> tuple[Console, StringIO]:
    """A wide terminal, and what is written on it."""
    text = StringIO()
    return Console(width=200, file=text), text
