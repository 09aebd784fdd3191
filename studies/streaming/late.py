"""Labels that come after their rows: by a delay, or never."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from formulations import InvalidInput
from formulations.arrays import BoolArray, FloatArray, IntArray

# When labels come, (rows,), features and targets of rows that were added together.
_Block = tuple[IntArray, FloatArray, FloatArray]


# Far more rows than come, and far fewer than overflow a place in the stream.
LONGEST_DELAY = 10**15


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
        for name in ("delay", "random_delay"):
            given = getattr(self, name)
            if not 0 <= given <= LONGEST_DELAY:
                raise InvalidInput(
                    f"{name} must be at least 0 and at most {LONGEST_DELAY} rows, not {given}"
                )
        if not 0.0 <= self.unlabelled < 1.0:
            raise InvalidInput(f"unlabelled must be at least 0 and below 1, not {self.unlabelled}")


class Waiting:
    """Rows whose labels have not come yet.

    What is drawn for a row depends on the rows before it alone, not on the batches.
    """

    def __init__(self, lateness: Lateness, features: int) -> None:
        self._lateness = lateness
        self._generator = np.random.default_rng(lateness.seed)
        # What was added together, by when the first label of it comes: rows that wait long are
        # not touched before.
        self._blocks: list[tuple[int, _Block]] = []
        self._none: _Block = (np.empty(0, dtype=np.int64), np.empty((0, features)), np.empty(0))

    def __len__(self) -> int:
        return sum(len(y) for _, (_, _, y) in self._blocks)

    def add(self, places: IntArray, X: FloatArray, y: FloatArray) -> None:
        """Add rows by their places in the stream; NaN in y is a label that never comes."""
        draws = self._generator.random((len(y), 2))
        most = self._lateness.random_delay + 1
        late = self._lateness.delay + np.minimum((draws[:, 0] * most).astype(np.int64), most - 1)
        comes = (draws[:, 1] >= self._lateness.unlabelled) & ~np.isnan(y)
        self._keep(((places + late)[comes], X[comes], y[comes]))

    def come(self, rows: int) -> tuple[FloatArray, FloatArray]:
        """Take out the rows whose labels are there once so many rows have been read.

        They are in the order in which the labels came, of equals in that of the rows.
        """
        blocks, self._blocks = self._blocks, []
        found = [self._none]
        for first, block in blocks:
            if first >= rows:
                self._blocks.append((first, block))
                continue
            there = block[0] < rows
            found.append(_rows(block, there))
            self._keep(_rows(block, ~there))
        due, X, y = _joined(found)
        order = np.argsort(due, kind="stable")
        return X[order], y[order]

    def arrays(self) -> dict[str, Any]:
        """Return what waits, as arrays."""
        due, X, y = _joined([self._none, *(block for _, block in self._blocks)])
        return {"due": due, "X": X, "y": y}

    def draws(self) -> dict[str, Any]:
        """Return the state of the draws, as plain values."""
        return dict(self._generator.bit_generator.state)

    def restore(self, arrays: dict[str, Any], draws: dict[str, Any]) -> None:
        """Go back to what `arrays` and `draws` said."""
        self._blocks = []
        self._keep((arrays["due"], arrays["X"], arrays["y"]))
        self._generator.bit_generator.state = draws

    def _keep(self, block: _Block) -> None:
        if len(block[0]):
            self._blocks.append((int(block[0].min()), block))


def _rows(block: _Block, which: BoolArray) -> _Block:
    due, X, y = block
    return due[which], X[which], y[which]


def _joined(blocks: list[_Block]) -> _Block:
    due, X, y = zip(*blocks, strict=True)
    return np.concatenate(due), np.concatenate(X), np.concatenate(y)
