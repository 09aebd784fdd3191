"""Subsets of columns under limits, and what is known when a search ends."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from formulations.arrays import BoolArray, FloatArray, IntArray
from solvers import Termination


@dataclass(frozen=True, eq=False)
class Products:
    """A least-squares problem in products of columns, and what each column costs.

        ‖y − X b‖² = square − 2 slopesᵀ b + bᵀ gram b

    Attributes
    ----------
    gram, slopes, square
        XᵀX (n, n), Xᵀy (n,) and yᵀy.
    cost
        (n,) nodes of each tree.
    most_cost, most
        How much may be spent, and on how many columns; inf where there is no limit.
    """

    gram: FloatArray
    slopes: FloatArray
    square: float
    cost: FloatArray
    most_cost: float
    most: float

    @property
    def count(self) -> int:
        """Number of columns."""
        return len(self.slopes)

    @property
    def tolerance(self) -> float:
        """Differences of the loss below this are rounding.

        Trees for what is left below that would get weights as large as rounding is small.
        """
        return 1e-9 * self.square

    def enough(self, loss: float, gap: float) -> float:
        """Return the bound from which on a loss is as good as the least one."""
        return max((1.0 - gap) * loss - self.tolerance, 0.0)

    def fits(self, chosen: BoolArray) -> bool:
        """Return whether a subset is within the limits."""
        return bool(self.cost[chosen].sum() <= self.most_cost and chosen.sum() <= self.most)

    def room(self, cost: FloatArray, spent: float, used: int) -> int:
        """Return how many of the columns of some costs fit at most beside what is used."""
        fitting = np.searchsorted(np.cumsum(np.sort(cost)), self.most_cost - spent, side="right")
        return int(min(float(fitting), self.most - used))


class Found(NamedTuple):
    """A subset, its coefficients, its loss and a bound of the least loss of all subsets."""

    chosen: IntArray
    coefficients: FloatArray
    loss: float
    bound: float
    termination: Termination
