"""Load a stream by what it says of itself."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from formulations import InvalidInput
from studies.streams.columns import Codes, Columns, is_missing
from studies.streams.csv_rows import open_csv
from studies.streams.optional import river
from studies.streams.stream import Rows, Stream
from studies.streams.synthetic import CONCEPTS, draw

BUNDLED = {"phishing": "Phishing", "image_segments": "ImageSegments"}

# Rows of a file that decide what its columns hold.
DECIDING = 1000


def load(stream: Stream) -> Rows:
    """Return the rows of a stream.

    Raises
    ------
    InvalidInput
        When a file cannot be read or has cells without a value.
    StudyError
        When river is needed and not installed.
    """
    if stream.source in CONCEPTS:
        return draw(stream)
    every = _real(stream.source, stream.target)
    n = stream.rows
    return Rows(
        every.X[:n], every.y[:n], every.features, every.classes, every.drifts, every.concept[:n]
    )


def rows_of(stream: Stream) -> int:
    """Return how many rows there are; a synthetic stream has as many as are asked for."""
    if stream.source in CONCEPTS:
        return stream.rows
    return _rows_there(stream.source, stream.target)


@cache
def _rows_there(source: str, target: str | None) -> int:
    return len(_real(source, target).y)


def _real(source: str, target: str | None) -> Rows:
    return _bundled(source) if source in BUNDLED else _read(source, target)


def _bundled(source: str) -> Rows:
    """Return a real stream that comes with river."""
    found = list(getattr(river("datasets", "a bundled stream"), BUNDLED[source])())
    names = tuple(str(name) for name in found[0][0])
    X = np.array([[row[name] for name in found[0][0]] for row, _ in found], dtype=np.float64)
    return _known(X, [str(label) for _, label in found], names)


def _read(source: str, target: str | None) -> Rows:
    if target is None:
        raise InvalidInput(f"target must name the column of {source} to predict")
    with open_csv(source) as rows:
        first = rows.take(DECIDING)
        columns = Columns.decide(rows.header, target, first)
        cells = first
        while more := rows.take(DECIDING):
            cells += more
    if not cells:
        raise InvalidInput(f"data file {source!r} has no rows")
    labels = [row[columns.target] for row in cells]
    for number, label in enumerate(labels, 1):
        if is_missing(label):
            raise InvalidInput(f"target {target!r} has no value in data row {number}")
    return _known(columns.encode(cells, range(1, len(cells) + 1)), labels, tuple(columns.names))


def _known(X: Any, labels: list[str], names: tuple[str, ...]) -> Rows:
    codes = Codes()
    y = codes.of(labels)
    return Rows(X, y, names, tuple(codes.names), (), np.zeros(len(y), dtype=np.int64))
