"""The course of a stream in bounded memory, for plots."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from formulations.arrays import FloatArray, IntArray

_POINTS = 512


class Course(NamedTuple):
    """What a model went through; a point stands for one batch or, in long streams, several.

    Attributes
    ----------
    rows
        (points,) rows learnt up to the end of the point.
    loss
        (points,) mean loss of a row before it was learnt: the share of rows classified wrongly,
        or the squared error.
    replaced
        (points,) stale trees that were replaced.
    r_size, max_height
        (points, trees) rows remembered and height limit after the last batch of the point.
    """

    rows: IntArray
    loss: FloatArray
    replaced: IntArray
    r_size: IntArray
    max_height: IntArray


class History:
    """Points of equal numbers of batches; when there are too many, two and two become one."""

    def __init__(self, n_trees: int) -> None:
        self._length = self._batches = 0
        self._stride = 1
        # Rows learnt, sum of losses, trees replaced.
        self._sums = np.zeros((_POINTS, 3))
        self._trees = np.zeros((_POINTS, 2, n_trees), dtype=np.int32)

    def add(
        self, rows: int, loss: float, replaced: int, r_size: IntArray, max_height: IntArray
    ) -> None:
        """Record a batch of ``rows`` rows with a mean loss."""
        if self._batches == self._stride:
            self._batches = 0
            self._length += 1
            if self._length == _POINTS:
                self._halve()
        sums = self._sums[self._length]
        sums[0] += rows
        sums[1] += rows * loss
        sums[2] += replaced
        trees = self._trees[self._length]
        trees[0] = r_size
        trees[1] = max_height
        self._batches += 1

    def course(self) -> Course:
        """Return all points."""
        points = self._length + (self._batches > 0)
        rows, losses, replaced = self._sums[:points].T
        return Course(
            rows=np.cumsum(rows).astype(np.int64),
            loss=losses / np.maximum(rows, 1.0),
            replaced=replaced.astype(np.int64),
            r_size=self._trees[:points, 0].astype(np.int64),
            max_height=self._trees[:points, 1].astype(np.int64),
        )

    def _halve(self) -> None:
        half = _POINTS // 2
        self._sums[:half] = self._sums[::2] + self._sums[1::2]
        self._sums[half:] = 0.0
        self._trees[:half] = self._trees[1::2]
        self._length = half
        self._stride *= 2

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the room that is not used yet."""
        used = self._length + 1
        return self.__dict__ | {
            "_sums": self._sums[:used].copy(),
            "_trees": self._trees[:used].copy(),
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        for name in ("_sums", "_trees"):
            short = state[name]
            full = np.zeros((_POINTS, *short.shape[1:]), dtype=short.dtype)
            full[: len(short)] = short
            self.__dict__[name] = full
