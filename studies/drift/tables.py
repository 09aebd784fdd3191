"""The tables of the study: every model on every stream, over its seeds."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import groupby

from studies.drift.cell import DriftCell
from studies.drift.kind import DriftRun
from studies.drift.systems import SYSTEMS, System
from studies.reporting.tables import NOT_RUN, Group, Table
from studies.running.records import Row

HEADER = (
    "model",
    "by",
    "accuracy %",
    "macro F1 %",
    "recovery, rows",
    "recovered",
    "learn, rows/s",
    "predict, rows/s",
    "held rows",
    "pickle kB",
)
BRIEF = HEADER[:3] + HEADER[4:6] + HEADER[6:9]


@dataclass(frozen=True)
class Entry:
    """A model on a stream, with its finished cells over all seeds."""

    cells: tuple[tuple[DriftCell, Row], ...]

    @property
    def stream(self) -> str:
        """The stream's name."""
        instance = self.cells[0][0].instance
        return f"{instance.kind}, {instance.grid}"

    @property
    def model(self) -> str:
        """The model's name."""
        return self.cells[0][0].model

    @property
    def system(self) -> System:
        """The model."""
        return SYSTEMS[self.model]

    @property
    def rows(self) -> list[Row]:
        """What was measured, by seed."""
        return [row for _, row in self.cells]

    @property
    def accuracy(self) -> float:
        """The mean accuracy over seeds."""
        return float(statistics.mean(row["accuracy"] for row in self.rows))


def entries_of(run: DriftRun) -> list[Entry]:
    """Return the models by streams; batch models come before those that work row by row."""
    done = [(cell, row) for cell, row in run.cells if row["status"] == "ok"]
    streams = {
        (cell.instance.kind, cell.instance.rows): k for k, (cell, _) in enumerate(done[::-1])
    }
    models = list(SYSTEMS)

    def key(pair: tuple[DriftCell, Row]) -> tuple[int, bool, int]:
        cell, _ = pair
        place = -streams[cell.instance.kind, cell.instance.rows]
        return place, SYSTEMS[cell.model].rowwise, models.index(cell.model)

    return [Entry(tuple(members)) for _, members in groupby(sorted(done, key=key), key=key)]


def by_stream(entries: list[Entry]) -> list[tuple[str, list[Entry]]]:
    """Return the entries of each stream under its name."""
    return [(s, list(own)) for s, own in groupby(entries, key=lambda entry: entry.stream)]


def accuracy_table(entries: list[Entry], caption: str) -> Table:
    """Return what each model reaches on each stream, how fast and with what memory."""
    groups = [
        Group(stream, tuple(_line(entry) for entry in own)) for stream, own in by_stream(entries)
    ]
    return Table(caption, HEADER, tuple(groups))


def _line(entry: Entry) -> tuple[str, ...]:
    rows = entry.rows
    drifts = [one for row in rows for one in row["recovery"]]
    back = [one for one in drifts if one is not None]
    held = [row["held_most"] for row in rows if row["held_most"] is not None]
    return (
        entry.system.title,
        "rows" if entry.system.rowwise else "batches",
        _percent(row["accuracy"] for row in rows),
        _percent(row["f1"] for row in rows),
        f"{statistics.median(back):,.0f}" if back else NOT_RUN,
        f"{len(back)} of {len(drifts)}" if drifts else NOT_RUN,
        speed(rows, lambda row: row["learn_seconds"]),
        speed(rows, lambda row: row["predict_seconds"]),
        f"{statistics.median(held):,.0f}" if held else NOT_RUN,
        f"{statistics.median(row['pickle_bytes'] for row in rows) / 1000:,.0f}",
    )


def speed(rows: list[Row], seconds: Callable[[Row], float]) -> str:
    """Return the median of rows per second, to three digits."""
    median = statistics.median(row["rows"] / max(seconds(row), 1e-9) for row in rows)
    return f"{float(f'{median:.3g}'):,.0f}"


def _percent(shares: Iterable[float]) -> str:
    """Return the mean in percent, with the standard deviation over seeds where there are some."""
    found = [100.0 * share for share in shares]
    mean = f"{statistics.mean(found):.1f}"
    return mean if len(found) == 1 else f"{mean} ± {statistics.stdev(found):.1f}"
