"""Models without trees of our own, in two forms: by batches, and row by row as river's are."""

from __future__ import annotations

from collections import Counter
from typing import Any, Protocol

import numpy as np

from formulations.arrays import FloatArray, IntArray
from studies.streams.optional import river

# A row as river takes it: a value for each feature.
Row = dict[int, float]


class BatchModel(Protocol):
    """Learns and predicts rows in batches; classes are numbers."""

    def learn(self, X: FloatArray, y: IntArray) -> None:
        """Learn rows (b, features) of classes (b,)."""

    def predict(self, X: FloatArray) -> IntArray:
        """Return the classes (b,) of rows."""

    def held(self) -> int | None:
        """Return how many rows are remembered; None where rows are not kept."""


class RowModel(Protocol):
    """Learns and predicts rows one by one."""

    def learn_one(self, x: Row, y: int) -> None:
        """Learn a row."""

    def predict_one(self, x: Row) -> int | None:
        """Return the class of a row; None where nothing is known yet."""


class NoChange:
    """Predicts the last class that was learnt."""

    def __init__(self) -> None:
        self.last: int | None = None

    def learn_one(self, x: Row, y: int) -> None:
        """Remember the class."""
        self.last = y

    def predict_one(self, x: Row) -> int | None:
        """Return the last class."""
        return self.last


class Majority:
    """Predicts the most frequent class so far."""

    def __init__(self) -> None:
        self.counts: Counter[int] = Counter()

    def learn_one(self, x: Row, y: int) -> None:
        """Count the class."""
        self.counts[y] += 1

    def predict_one(self, x: Row) -> int | None:
        """Return the most frequent class, of equals the one that came first."""
        return max(self.counts, key=self.counts.__getitem__, default=None)


class ByBatch:
    """A model without features in batches: it knows no class of the batch it predicts."""

    def __init__(self, model: NoChange | Majority) -> None:
        self._model = model

    def learn(self, X: FloatArray, y: IntArray) -> None:
        """Learn the classes in their order."""
        for label in y.tolist():
            self._model.learn_one({}, label)

    def predict(self, X: FloatArray) -> IntArray:
        """Return one class for all rows."""
        return np.full(len(X), self._model.predict_one({}), dtype=np.int64)

    def held(self) -> int | None:
        """Return None: no rows are kept."""
        return None


class Window:
    """A scikit-learn classifier that is fitted anew to the last rows, after every batch."""

    def __init__(self, model: Any, rows: int) -> None:
        self._model = model
        self._rows = rows
        self._X: FloatArray | None = None
        self._y: IntArray = np.empty(0, dtype=np.int64)

    def learn(self, X: FloatArray, y: IntArray) -> None:
        """Fit to the last rows, these included."""
        before = X[:0] if self._X is None else self._X
        self._X = np.concatenate([before, X])[-self._rows :]
        self._y = np.concatenate([self._y, y])[-self._rows :]
        self._model.fit(self._X, self._y)

    def predict(self, X: FloatArray) -> IntArray:
        """Return the classes of rows."""
        return np.asarray(self._model.predict(X), dtype=np.int64)

    def held(self) -> int | None:
        """Return how many rows are kept."""
        return len(self._y)


class OneHotTargets:
    """River's iSOUP tree on one target a class, 1 for the class of a row and 0 for others."""

    def __init__(self, classes: int) -> None:
        self._tree = river("tree", "iSOUP").ISOUPTreeRegressor()
        self._targets = [{k: float(k == label) for k in range(classes)} for label in range(classes)]

    def learn_one(self, x: Row, y: int) -> None:
        """Learn a row."""
        self._tree.learn_one(x, self._targets[y])

    def predict_one(self, x: Row) -> int | None:
        """Return the class of the largest target."""
        found = self._tree.predict_one(x)
        return int(max(found, key=found.__getitem__)) if found else None
