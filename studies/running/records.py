"""A run's folder: its configuration, and its rows as JSON lines that survive a kill."""

from __future__ import annotations

import contextlib
import json
import os
import statistics
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from studies.errors import StudyError
from studies.running.lock import locked
from studies.spec import Cell

Row = dict[str, Any]
ReadCell = Callable[[dict[str, Any]], Any]

_FIELDS = {
    "environment": ("versions",),
    "instance": ("instance", "status"),
    "cell": ("cell", "status"),
}


class RunFolder:
    """Where a run keeps what it found.

    ``rows.jsonl`` has one JSON object a line, of three kinds: ``environment`` (at the start
    of a run; it holds for the rows after it), ``instance`` and ``cell``. A row is written
    whole and flushed to the disk when the runner learns of it, so a killed run loses at
    most the cell in flight, or the instances where several are.

    Parameters
    ----------
    path
        The folder.
    read_cell
        Reads a cell from plain values: what a row's cell is to be.
    """

    def __init__(self, path: Path, read_cell: ReadCell = Cell.from_dict) -> None:
        self.path = path
        self._read_cell = read_cell
        self.rows_path = path / "rows.jsonl"
        self.config_path = path / "config.json"

    @contextlib.contextmanager
    def held(self) -> Iterator[str | None]:
        """Make the folder, and keep other runs out of it; yield a notice where that cannot be.

        Raises
        ------
        StudyError
            When another run writes into the folder, or it cannot be written.
        """
        with contextlib.ExitStack() as stack:
            try:
                self.path.mkdir(parents=True, exist_ok=True)
                notice = stack.enter_context(locked(self.path))
            except OSError as error:
                raise self._unwritable(error) from None
            yield notice

    def open(self, config: dict[str, Any], *, fresh: bool = False) -> str | None:
        """Make the folder, write the configuration and mend a row that was cut short.

        Parameters
        ----------
        config
            Plain values.
        fresh
            Whether to begin anew: the files of earlier runs are renamed to ``….old``.

        Returns
        -------
        str or None
            A notice for the user about a row that was cut short.

        Raises
        ------
        StudyError
            When the folder cannot be written, holds the results of a run with other
            settings, or its rows are not such rows.
        """
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            if fresh:
                for path in (self.rows_path, self.config_path):
                    if path.exists():
                        path.replace(path.with_name(f"{path.name}.old"))
            elif self.config_path.exists():
                self._require_same(config)
            text = json.dumps(config, indent=2, ensure_ascii=False) + "\n"
            written = self.config_path.with_suffix(".part")  # a kill never leaves half of it
            written.write_text(text, encoding="utf-8")
            written.replace(self.config_path)
            with self.rows_path.open("ab"):
                pass
        except OSError as error:
            raise self._unwritable(error) from None
        rows, whole = _parse(self.rows_path, self._read_cell)
        if whole == self.rows_path.stat().st_size:
            return None
        with self.rows_path.open("r+b") as file:
            file.truncate(whole)
        cells = sum(row["kind"] == "cell" for row in rows)
        return (
            f"the last row of {self.rows_path} was cut short and is dropped; "
            f"{cells} finished {'cell is' if cells == 1 else 'cells are'} kept"
        )

    def _unwritable(self, error: OSError) -> StudyError:
        return StudyError(
            f"cannot write to the output folder {self.path}: {error.strerror or error}"
        )

    def config(self) -> dict[str, Any]:
        """Return the configuration.

        Raises
        ------
        StudyError
            When the file cannot be read or is not a configuration.
        """
        try:
            config: dict[str, Any] = json.loads(self.config_path.read_text(encoding="utf-8"))
            config["title"], config["study"], config["calls"]
        except (OSError, ValueError, TypeError, KeyError):
            raise StudyError(
                f"{self.config_path} is not the configuration of a study; choose another --out, "
                "or begin anew with --fresh"
            ) from None
        return config

    def _require_same(self, config: dict[str, Any]) -> None:
        """Refuse to mix runs; only what is called on the instances may differ."""
        before = self.config()
        for name in config:
            if name not in ("title", "cells", "calls") and before.get(name) != config[name]:
                here = "" if name == "instances" else f": {before.get(name)}, not {config[name]}"
                raise StudyError(
                    f"{self.path} has the results of a run with other {name}{here}; "
                    "choose another --out, or begin anew with --fresh"
                )

    def append(self, row: Row) -> None:
        """Write a row and flush it to the disk."""
        line = json.dumps(row, allow_nan=False, ensure_ascii=False) + "\n"
        with self.rows_path.open("ab") as file:
            file.write(line.encode())
            file.flush()
            os.fsync(file.fileno())

    def rows(self) -> list[Row]:
        """Return all whole rows, oldest first.

        Raises
        ------
        StudyError
            When there is no file, or a line is not a row; one without its end is left out.
        """
        return _parse(self.rows_path, self._read_cell)[0]


def cell_key(cell: dict[str, Any]) -> str:
    """Return what makes two measurements the same."""
    return json.dumps(cell, sort_keys=True)


def done_keys(rows: list[Row]) -> set[str]:
    """Return the keys of cells that need not run again: all but those that failed."""
    return {
        cell_key(row["cell"])
        for row in rows
        if row["kind"] == "cell" and row["status"] in ("ok", "over_limit")
    }


def latest_cells(rows: list[Row], read_cell: ReadCell = Cell.from_dict) -> list[tuple[Any, Row]]:
    """Return the last row of each cell, by its identity, in the order of running."""
    latest: dict[tuple[Any, ...], tuple[Any, Row]] = {}
    for row in rows:
        if row["kind"] == "cell":
            cell = read_cell(row["cell"])
            latest[cell.identity] = cell, row
    return list(latest.values())


class Spread(NamedTuple):
    """Median and range of the warm calls, or of the only call where there was no other."""

    median: float
    low: float
    high: float
    calls: int


def solve_times(outcome: dict[str, Any]) -> Spread:
    """Return the solve seconds of a cell that has a first call."""
    return _spread(outcome, "solve")


def build_times(outcome: dict[str, Any]) -> Spread:
    """Return the build seconds of a cell that has a first call."""
    return _spread(outcome, "build")


def _parse(path: Path, read_cell: ReadCell) -> tuple[list[Row], int]:
    """Return the rows of a file and the length in bytes of what is whole."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise StudyError(f"cannot read {path}: {error.strerror or error}") from None
    rows: list[Row] = []
    whole = 0
    # Only a line feed ends a row: a damaged one may hold other ends of lines.
    *lines, _cut_short = content.split(b"\n")
    for number, line in enumerate(lines, 1):
        row = _row(line, read_cell)
        if row is None:
            raise StudyError(
                f"{path}, line {number} is not a row of results; mend or remove the line, or "
                "begin anew with --fresh"
            )
        rows.append(row)
        whole += len(line) + 1
    return rows, whole


def _row(line: bytes, read_cell: ReadCell) -> Row | None:
    """Return a line as a row, or None when it is not one."""
    try:
        row: Row = json.loads(line)
        if not all(name in row for name in _FIELDS[row["kind"]]):
            return None
        if row["kind"] == "cell":
            read_cell(row["cell"])
    except (ValueError, TypeError, KeyError):
        return None
    return row


def _spread(outcome: dict[str, Any], name: str) -> Spread:
    calls = outcome["warm"] or [outcome["cold"]]
    times = [call[name] for call in calls]
    return Spread(statistics.median(times), min(times), max(times), len(outcome["warm"]))
