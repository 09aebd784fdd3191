"""Rows to prune on, to choose the size by, and to test on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.model_selection import train_test_split

from formulations import InvalidInput
from formulations.arrays import IntArray


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows of a table as numbers, with what is to be predicted.

    Attributes
    ----------
    X
        (m, features)
    y
        (m,)
    """

    X: pd.DataFrame
    y: npt.NDArray[Any]

    def __len__(self) -> int:
        return len(self.y)

    def at(self, places: IntArray) -> Rows:
        """Return the rows at some places."""
        return Rows(self.X.iloc[places], self.y[places])


def split(rows: Rows, share: float, classes: bool, seed: int, what: str) -> tuple[Rows, Rows]:
    """Return all other rows, and a share of them, drawn at random, in their order.

    Of classes, each has its share, as far as each has two rows.

    Raises
    ------
    InvalidInput
        When one of the two would be empty.
    """
    count = round(share * len(rows))
    if not 0 < count < len(rows):
        raise InvalidInput(
            f"{what} must leave rows on both sides: a share of {share:g} of {len(rows)} rows is "
            f"{count}"
        )
    kinds: Any = None
    if classes:
        _, sizes = np.unique(rows.y, return_counts=True)
        enough = min(count, len(rows) - count) >= len(sizes)
        kinds = rows.y if sizes.min() > 1 and enough else None
    others, part = train_test_split(
        np.arange(len(rows)), test_size=count, random_state=seed, stratify=kinds
    )
    return rows.at(np.sort(others)), rows.at(np.sort(part))
