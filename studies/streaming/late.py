"""Labels that come after their rows: by a delay, or never."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from formulations import InvalidInput
from formulations.arrays import FloatArray, IntArray


@dataclass(frozen=True)
class Lateness:
    """When labels come.

    Attributes
    ----------
    delay
        The label of row r is there once row r + delay has been read.
    random_delay
        So many rows at most on top of that, drawn uniformly for each label.
    unlabelled
        Share of labels, drawn at random, that never come.
    seed
        Of the draws.
    """

    delay: int = 0
    random_delay: int = 0
    unlabelled: float = 0.0
    seed: int = 0

    def __post_init__(self) -> None:
        if not 0.0 <= self.unlabelled < 1.0:
            raise InvalidInput(f"unlabelled must be at least 0 and below 1, not {self.unlabelled}")


class Waiting:
    """Rows whose labels have not come yet.

    What is drawn for a row depends on the rows before it alone, not on the batches.
    """

    def __init__(self, lateness: Lateness, features: int) -> None:
        self._lateness = lateness
        self._generator = np.random.default_rng(lateness.seed)
        self._due = np.empty(0, dtype=np.int64)
        self._X = np.empty((0, features))
        self._y = np.empty(0)

    def __len__(self) -> int:
        return len(self._due)

    def add(self, places: IntArray, X: FloatArray, y: FloatArray) -> None:
        """Add rows by their places in the stream; NaN in y is a label that never comes."""
        draws = self._generator.random((len(y), 2))
        most = self._lateness.random_delay + 1
        late = self._lateness.delay + np.minimum((draws[:, 0] * most).astype(np.int64), most - 1)
        comes = (draws[:, 1] >= self._lateness.unlabelled) & ~np.isnan(y)
        self._due = np.concatenate([self._due, (places + late)[comes]])
        self._X = np.concatenate([self._X, X[comes]])
        self._y = np.concatenate([self._y, y[comes]])

    def come(self, rows: int) -> tuple[FloatArray, FloatArray]:
        """Take out the rows whose labels are there once so many rows have been read.

        They are in the order in which the labels came, of equals in that of the rows.
        """
        there = self._due < rows
        order = np.argsort(self._due[there], kind="stable")
        found = self._X[there][order], self._y[there][order]
        self._due, self._X, self._y = self._due[~there], self._X[~there], self._y[~there]
        return found

    def arrays(self) -> dict[str, Any]:
        """Return what waits, as arrays."""
        return {"due": self._due, "X": self._X, "y": self._y}

    def draws(self) -> dict[str, Any]:
        """Return the state of the draws, as plain values."""
        return dict(self._generator.bit_generator.state)

    def restore(self, arrays: dict[str, Any], draws: dict[str, Any]) -> None:
        """Go back to what `arrays` and `draws` said."""
        self._due, self._X, self._y = arrays["due"], arrays["X"], arrays["y"]
        self._generator.bit_generator.state = draws
