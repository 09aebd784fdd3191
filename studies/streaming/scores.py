"""How good predictions are, kept up to date row by row in little memory."""

from __future__ import annotations

import math
from collections import Counter, deque
from typing import Any, Protocol

import numpy as np

from formulations.arrays import FloatArray

# Rows of the rolling score.
WINDOW = 1000


class Score(Protocol):
    """Scores the predictions so far."""

    def add(self, y: FloatArray, predicted: FloatArray) -> None:
        """Take rows (b,) and what was predicted for them; NaN in y is not scored."""

    def values(self) -> dict[str, float]:
        """Return the scores by name; NaN before there are rows."""

    def as_dict(self) -> dict[str, Any]:
        """Return plain values."""

    def restore(self, given: dict[str, Any]) -> None:
        """Go back to what `as_dict` said."""


class ClassScore:
    """Accuracy, that of the last rows, and the mean F1 over the classes that occurred."""

    def __init__(self) -> None:
        self._there: Counter[int] = Counter()
        self._said: Counter[int] = Counter()
        self._right: Counter[int] = Counter()
        self._last: deque[bool] = deque(maxlen=WINDOW)

    def add(self, y: FloatArray, predicted: FloatArray) -> None:
        """Take rows and what was predicted for them."""
        known = ~np.isnan(y)
        truth, said = y[known].astype(int).tolist(), predicted[known].astype(int).tolist()
        self._there.update(truth)
        self._said.update(said)
        self._right.update(a for a, b in zip(truth, said, strict=True) if a == b)
        self._last.extend(a == b for a, b in zip(truth, said, strict=True))

    def values(self) -> dict[str, float]:
        """Return the scores by name."""
        rows = self._there.total()
        f1 = [2.0 * self._right[k] / (n + self._said[k]) for k, n in self._there.items()]
        return {
            "accuracy": self._right.total() / rows if rows else math.nan,
            "last": sum(self._last) / len(self._last) if self._last else math.nan,
            "macro F1": sum(f1) / len(f1) if f1 else math.nan,
        }

    def as_dict(self) -> dict[str, Any]:
        """Return plain values."""
        counts = (self._there, self._said, self._right)
        return {"counts": [list(c.items()) for c in counts], "last": list(map(int, self._last))}

    def restore(self, given: dict[str, Any]) -> None:
        """Go back to what `as_dict` said."""
        self._there, self._said, self._right = (Counter(dict(c)) for c in given["counts"])
        self._last = deque(map(bool, given["last"]), maxlen=WINDOW)


class NumberScore:
    """R², that of the last rows, and the root of the mean squared error."""

    def __init__(self) -> None:
        self._rows, self._mean, self._spread, self._error = 0, 0.0, 0.0, 0.0
        self._last: deque[tuple[float, float]] = deque(maxlen=WINDOW)

    def add(self, y: FloatArray, predicted: FloatArray) -> None:
        """Take rows and what was predicted for them."""
        known = ~np.isnan(y)
        for truth, said in zip(y[known].tolist(), predicted[known].tolist(), strict=True):
            # Welford's update: sums of squares alone would lose all digits far from 0.
            self._rows += 1
            before = truth - self._mean
            self._mean += before / self._rows
            self._spread += before * (truth - self._mean)
            self._error += (truth - said) ** 2
            self._last.append((truth, said))

    def values(self) -> dict[str, float]:
        """Return the scores by name."""
        if not self._rows:
            return {"R²": math.nan, "last": math.nan, "RMSE": math.nan}
        truth, said = np.array(self._last).T
        return {
            "R²": _explained(self._error, self._spread),
            "last": _explained(
                float(np.sum((truth - said) ** 2)), float(np.sum((truth - truth.mean()) ** 2))
            ),
            "RMSE": math.sqrt(self._error / self._rows),
        }

    def as_dict(self) -> dict[str, Any]:
        """Return plain values."""
        sums = [self._rows, self._mean, self._spread, self._error]
        return {"sums": sums, "last": list(map(list, self._last))}

    def restore(self, given: dict[str, Any]) -> None:
        """Go back to what `as_dict` said."""
        self._rows, self._mean, self._spread, self._error = given["sums"]
        self._last = deque(((a, b) for a, b in given["last"]), maxlen=WINDOW)


def _explained(error: float, spread: float) -> float:
    """Return 1 − error / spread, NaN where the truth does not vary."""
    return 1.0 - error / spread if spread > 0.0 else math.nan


class Naive:
    """What can be predicted without features: the last value learnt, and the usual one.

    The usual one is the most frequent class, or the mean of numbers.
    """

    def __init__(self, numbers: bool) -> None:
        self._numbers = numbers
        self._last = math.nan
        self._counts: Counter[float] = Counter()
        self._sum, self._rows = 0.0, 0

    def learn(self, y: FloatArray) -> None:
        """Learn values."""
        if len(y):
            self._last = float(y[-1])
            if self._numbers:
                self._sum, self._rows = self._sum + float(y.sum()), self._rows + len(y)
            else:
                self._counts.update(y.tolist())

    def predict(self, rows: int) -> dict[str, FloatArray]:
        """Return the same prediction for so many rows, by name."""
        if self._numbers:
            usual = self._sum / self._rows
        else:
            usual = max(self._counts, key=self._counts.__getitem__)
        name = "mean" if self._numbers else "majority"
        return {"no change": np.full(rows, self._last), name: np.full(rows, usual)}

    def as_dict(self) -> dict[str, Any]:
        """Return plain values."""
        counts = list(self._counts.items())
        return {"last": self._last, "counts": counts, "sums": [self._sum, self._rows]}

    def restore(self, given: dict[str, Any]) -> None:
        """Go back to what `as_dict` said."""
        self._last, self._counts = given["last"], Counter(dict(given["counts"]))
        self._sum, self._rows = given["sums"]
