"""From cells of text to numbers, learning categories on the way."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from forestprune.forgetful.kinds import LARGEST_TARGET
from formulations import InvalidInput
from formulations.arrays import FloatArray, IntArray
from solvers import close_matches
from studies.streams.csv_rows import Cells

# Trees compare features in single precision.
_LARGEST = float(np.finfo(np.float32).max)

# What stands for a cell without a value.
MISSING = frozenset({"", "na", "n/a", "nan", "null", "none", "?"})


def is_missing(cell: str) -> bool:
    """Return whether a cell holds no value."""
    return cell.strip().lower() in MISSING


@dataclass
class Codes:
    """Numbers for words, counted in the order of their first appearance."""

    words: dict[str, int] = field(default_factory=dict)

    def of(self, cells: Iterable[str]) -> IntArray:
        """Return the numbers of words; new words get the next ones."""
        words = self.words
        return np.array([words.setdefault(c.strip(), len(words)) for c in cells], dtype=np.int64)

    @property
    def names(self) -> list[str]:
        """The words by their numbers."""
        return list(self.words)


@dataclass
class Columns:
    """What each column of a stream holds: numbers, or categories that get numbers.

    The first rows decide: a column with a cell that is no number is one of categories.

    Attributes
    ----------
    header
        Names of all columns.
    features
        Places of the features in the header.
    target
        Place of the target.
    categories
        By feature, its categories; None for a column of numbers.
    """

    header: list[str]
    features: list[int]
    target: int
    categories: list[Codes | None]

    @classmethod
    def decide(
        cls, header: list[str], target: str, first: Cells, categorical: Sequence[str] = ()
    ) -> Columns:
        """Decide by the first rows what the columns hold.

        Parameters
        ----------
        categorical
            Names of features that are categories though they look like numbers.

        Raises
        ------
        InvalidInput
            When a name is not one of a column, or there is nothing to learn from.
        """
        for what, name in (("target", target), *(("categorical", c) for c in categorical)):
            if name not in header:
                raise InvalidInput(
                    f"{what} {name!r} is not a column; {close_matches(name, header)}"
                )
        if target in categorical:
            raise InvalidInput(f"categorical must name features, but {target!r} is the target")
        place = header.index(target)
        features = [k for k in range(len(header)) if k != place]
        if not features:
            raise InvalidInput(f"there are no feature columns beside the target {target!r}")
        words = [
            header[k] in categorical
            or any(_number(row[k]) is None and not is_missing(row[k]) for row in first)
            for k in features
        ]
        return cls(header, features, place, [Codes() if word else None for word in words])

    @property
    def names(self) -> list[str]:
        """Names of the features."""
        return [self.header[k] for k in self.features]

    def incomplete(self, row: list[str]) -> bool:
        """Return whether a feature's cell has no value."""
        return any(is_missing(row[k]) for k in self.features)

    def encode(self, rows: Cells, numbers: Sequence[int]) -> FloatArray:
        """Return the features as numbers, (rows, features).

        Parameters
        ----------
        numbers
            Of the rows, counted from 1, for messages.

        Raises
        ------
        InvalidInput
            When a cell is empty, or no finite number in a column of numbers. Then no category
            of these rows has been learnt.
        """
        X = np.empty((len(rows), len(self.features)))
        for j, (k, codes) in enumerate(zip(self.features, self.categories, strict=True)):
            if codes is None:
                X[:, j] = self._numbers([row[k] for row in rows], self.header[k], numbers)
            else:
                for number, row in zip(numbers, rows, strict=True):
                    if is_missing(row[k]):
                        raise _empty(self.header[k], number)
        for j, (k, codes) in enumerate(zip(self.features, self.categories, strict=True)):
            if codes is not None:
                X[:, j] = codes.of(row[k] for row in rows)
        return X

    def _numbers(self, cells: list[str], name: str, numbers: Sequence[int]) -> FloatArray:
        try:
            found = np.fromiter(map(float, cells), np.float64, len(cells))
        except ValueError:
            found = np.array([math.nan])
        if (np.abs(found) <= _LARGEST).all():  # NaN compares as false
            return found
        for number, cell in zip(numbers, cells, strict=True):
            if is_missing(cell):
                raise _empty(name, number)
            if _number(cell) is None:
                raise InvalidInput(
                    f"column {name!r} must hold finite numbers, as in the first rows; data row "
                    f"{number} has {cell!r}; give --categorical {name} where these are names"
                )
        place = int(np.argmax(np.abs(found)))
        raise InvalidInput(
            f"column {name!r} must hold numbers of single precision, as trees do; data row "
            f"{numbers[place]} has {cells[place]!r}"
        )

    def as_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return {
            "header": self.header,
            "target": self.header[self.target],
            "categories": [None if c is None else c.names for c in self.categories],
        }

    @classmethod
    def from_dict(cls, given: dict[str, Any]) -> Columns:
        """Return what `as_dict` wrote."""
        columns = cls.decide(given["header"], given["target"], [])
        columns.categories = [
            None if names is None else Codes({name: k for k, name in enumerate(names)})
            for names in given["categories"]
        ]
        return columns


def finite(cells: list[str], name: str, numbers: Sequence[int]) -> FloatArray:
    """Return a numeric target; rows without one are NaN.

    Raises
    ------
    InvalidInput
        When a cell has a value that is no finite number, or too large a one to be learnt.
    """
    found = np.empty(len(cells))
    for place, cell in enumerate(cells):
        number = math.nan if is_missing(cell) else _number(cell)
        if number is None or abs(number) > LARGEST_TARGET:
            raise InvalidInput(
                f"target {name!r} must be a finite number for a regression, between "
                f"±{LARGEST_TARGET:g}; data row {numbers[place]} has {cell!r}"
            )
        found[place] = number
    return found


def _number(cell: str) -> float | None:
    """Return a finite number, None for anything else."""
    try:
        number = float(cell)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _empty(name: str, row: int) -> InvalidInput:
    return InvalidInput(
        f"column {name!r} has no value in data row {row}; forgetful models take no missing "
        "values: fill them in, or leave such rows out with --skip-incomplete"
    )
