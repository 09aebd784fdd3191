"""Predict, then learn: by batches, or row by row, with the clock on nothing else."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from time import perf_counter, process_time

import numpy as np

from formulations.arrays import IntArray
from studies.drift.baselines import BatchModel, RowModel
from studies.streams.stream import Rows


class OutOfTime(Exception):
    """A model did not reach the end of its stream in time."""


@dataclass
class Trace:
    """What a model did on a stream.

    Attributes
    ----------
    predicted
        (rows,) classes; −1 where the model did not know any yet.
    predict_seconds, learn_seconds
        CPU time of this process.
    held
        After each batch: rows seen, and rows remembered; empty where none are kept.
    """

    predicted: IntArray
    predict_seconds: float = 0.0
    learn_seconds: float = 0.0
    held: list[tuple[int, int]] = field(default_factory=list)


def by_batches(model: BatchModel, rows: Rows, batch: int, time_limit: float) -> Trace:
    """Predict each batch and learn it then; the first is only learnt.

    Raises
    ------
    OutOfTime
        After so many seconds.
    """
    trace = Trace(np.full(len(rows.y), -1, dtype=np.int64))
    begun = perf_counter()
    for start in range(0, len(rows.y), batch):
        X, y = rows.X[start : start + batch], rows.y[start : start + batch]
        clock = process_time()
        if start:
            trace.predicted[start : start + batch] = model.predict(X)
        predicted = process_time()
        model.learn(X, y)
        learnt = process_time()
        trace.predict_seconds += predicted - clock
        trace.learn_seconds += learnt - predicted
        held = model.held()
        if held is not None:
            trace.held.append((start + len(y), held))
        _check(begun, time_limit)
    return trace


def row_by_row(model: RowModel, rows: Rows, batch: int, time_limit: float) -> Trace:
    """Predict each row and learn it then; what river takes is made with the clock stopped.

    Parameters
    ----------
    batch
        Rows between two looks at the time.

    Raises
    ------
    OutOfTime
        After so many seconds.
    """
    predicted: list[int] = []
    trace = Trace(np.empty(0, dtype=np.int64))
    begun = perf_counter()
    predict: Callable[[dict[int, float]], int | None] = model.predict_one
    learn = model.learn_one
    for start in range(0, len(rows.y), batch):
        given = [dict(enumerate(x)) for x in rows.X[start : start + batch].tolist()]
        labels = rows.y[start : start + batch].tolist()
        for x, y in zip(given, labels, strict=True):
            clock = process_time()
            said = predict(x)
            between = process_time()
            learn(x, y)
            learnt = process_time()
            trace.predict_seconds += between - clock
            trace.learn_seconds += learnt - between
            predicted.append(-1 if said is None else said)
        _check(begun, time_limit)
    trace.predicted = np.array(predicted, dtype=np.int64)
    return trace


def _check(begun: float, time_limit: float) -> None:
    if perf_counter() - begun > time_limit:
        raise OutOfTime
