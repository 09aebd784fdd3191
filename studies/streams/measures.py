"""What is measured of predictions on a stream."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from formulations.arrays import FloatArray, IntArray
from studies.streams.stream import Drift

# Points of a curve that are kept.
CURVE_POINTS = 250

BoolArray = npt.NDArray[np.bool_]


def accuracy(y: IntArray, predicted: IntArray) -> float:
    """Return the share of rows predicted right."""
    return float(np.mean(y == predicted))


def macro_f1(y: IntArray, predicted: IntArray) -> float:
    """Return the mean over the classes that occur in y of 2 TP / (2 TP + FP + FN)."""
    classes = np.unique(y)
    size = int(max(y.max(), predicted.max())) + 1
    right = np.bincount(y[y == predicted], minlength=size)
    there = np.bincount(y, minlength=size)
    said = np.bincount(predicted[predicted >= 0], minlength=size)
    return float(np.mean(2.0 * right[classes] / (there[classes] + said[classes])))


def rolling(right: BoolArray, window: int) -> FloatArray:
    """Return the accuracy over each run of so many rows, by the row at which it begins."""
    total = np.concatenate([[0], np.cumsum(right)])
    return np.asarray((total[window:] - total[:-window]) / window)


def recoveries(
    right: BoolArray, drifts: tuple[Drift, ...], window: int, margin: float, first: int
) -> list[int | None]:
    """Return how many rows after the beginning of each drift a model is as good as before.

    Before: its accuracy over the last ``window`` rows before the drift. It has recovered at
    the first row from which on it predicts the next ``window`` rows at most ``margin`` worse.
    The rows of two windows are never those before and after the beginning of a drift.

    Parameters
    ----------
    right
        (rows,) what was predicted right.
    first
        First row that counts; a drift with less than a window before it is left out.

    Returns
    -------
    list
        None where there was no recovery before the next drift or the end.
    """
    values = rolling(right, window)
    ends = [drift.begin for drift in drifts[1:]] + [len(right)]
    found: list[int | None] = []
    for drift, end in zip(drifts, ends, strict=False):
        before, last = drift.begin - window, end - window
        if before < first or last < drift.begin:
            continue
        good = values[drift.begin : last + 1] >= values[before] - margin
        found.append(int(np.argmax(good)) if good.any() else None)
    return found


def curve(values: FloatArray, first: int) -> list[list[float]]:
    """Return [row, accuracy] at evenly spaced rows.

    Parameters
    ----------
    values
        Accuracies at rows one after another.
    first
        The first of these rows.
    """
    places = np.unique(np.linspace(0, len(values) - 1, min(len(values), CURVE_POINTS)).astype(int))
    return [[int(first + k), round(float(values[k]), 4)] for k in places]


def thinned(pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return evenly spaced pairs of many."""
    places = np.linspace(0, len(pairs) - 1, min(len(pairs), CURVE_POINTS)).astype(int)
    return [pairs[k] for k in np.unique(places)]
