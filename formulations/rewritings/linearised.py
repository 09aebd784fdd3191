"""Rewritings of a problem on explicit columns for engines of linear programming.

**Centred form.** Let s be relaxed weights of `ChoiceColumns`, g the gradient there and f̂ the
objective. For weights x that sum to 1 in each block,

    f̂(x) = f̂(s) + ⟨g, x − s⟩ + (x − s)ᵀ G (x − s) = L + ⟨h, x⟩ + ‖F (x − s)‖²

with h_c = g_c − (smallest g of c's block) ≥ 0, L = f̂(s) − ⟨h, s⟩ the Frank–Wolfe bound at s,
and F with FᵀF = G. The first equality is Taylor's for a quadratic; the second holds since x
and s both sum to 1 in a block, so that a constant in g cancels. For the same reason each
block's mean column may be subtracted from its columns before G is factored.

Divided by U − L, with U the objective of a known solution, every solution that is better than
U has ⟨h, x⟩ + ‖F (x − s)‖² < 1. So all terms of the sum are between 0 and 1, each residual
v = F (x − s) is between −1 and 1, and an engine's absolute tolerance of 1e-9 is 1e-9 of the
gap that is left to close, whatever the units of the problem.

**Tangent cuts.** t ≥ v² is equivalent to t ≥ 2 a v − a² for all real a. Finitely many a give
a lower bound; it is exact at an integer x when each v_j is among the a of its row. There are
finitely many x, so adding the v of every solution ends with the optimum.

**Products.** At integer x, x_c² = x_c and x_c x_d = 0 for two columns of one block. For
columns of two blocks, y_cd = x_c x_d follows from

    Σ_c y_cd = x_d,   Σ_d y_cd = x_c,   y ≥ 0

where c and d run over all columns of their block: y_cd = 0 if x_c or x_d is 0, and the only
entry that is left is 1. So the objective is linear in x and y.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from formulations.arrays import FloatArray, IntArray
from formulations.rewritings.columns import ChoiceColumns


@dataclass(frozen=True, eq=False)
class CentredForm:
    """A problem on explicit columns in centred form, see the module.

    For one-hot weights x (columns,) the objective is
    ``bound + scale * (cost @ x + ((factor @ x - centre) ** 2).sum())``.

    Attributes
    ----------
    start
        (b + 1,) where each block's columns begin.
    cost
        (columns,) linear terms, at least 0 and free of units.
    factor
        (rows, columns), at most as many rows as columns.
    centre
        (rows,) ``factor`` at the point around which it is centred.
    bound
        Frank–Wolfe bound at that point, in units of y².
    scale
        Objective of the known solution minus ``bound``, in units of y².
    """

    start: IntArray
    cost: FloatArray
    factor: FloatArray
    centre: FloatArray
    bound: float
    scale: float

    @classmethod
    def at(cls, columns: ChoiceColumns, weights: FloatArray, value: float) -> CentredForm:
        """Centre a problem at relaxed weights (columns,), given the value of a solution.

        ``value`` must be above the Frank–Wolfe bound at the weights.
        """
        start = columns.start
        counts = np.diff(start)
        gradient = columns.linear + 2.0 * columns.gram @ weights
        cost = gradient - np.repeat(np.minimum.reduceat(gradient, start[:-1]), counts)
        bound = columns.value(weights) - float(cost @ weights)
        scale = value - bound
        gram = _without_means(_without_means(columns.gram, start).T, start)
        values, vectors = np.linalg.eigh(gram / scale)
        kept = values > np.finfo(float).eps * len(values) * max(values[-1], 0.0)
        factor = np.sqrt(values[kept])[:, None] * vectors[:, kept].T
        return cls(start, cost / scale, factor, factor @ weights, bound, scale)

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return len(self.cost)

    @property
    def n_rows(self) -> int:
        """Number of residuals."""
        return len(self.centre)

    def residuals(self, selected: IntArray) -> FloatArray:
        """Return v (rows,) of the choice of one column (b,) of each block."""
        return np.asarray(self.factor[:, selected].sum(axis=1) - self.centre)

    def ranges(self) -> tuple[FloatArray, FloatArray]:
        """Return the smallest and the largest v (rows,) that a better solution can have."""
        lowest = np.minimum.reduceat(self.factor, self.start[:-1], axis=1).sum(axis=1)
        highest = np.maximum.reduceat(self.factor, self.start[:-1], axis=1).sum(axis=1)
        return np.maximum(lowest - self.centre, -1.0), np.minimum(highest - self.centre, 1.0)

    def first_tangents(self, spacing: float) -> tuple[IntArray, FloatArray]:
        """Return rows (c,) and points (c,) at which to cut, evenly spaced over the ranges.

        Between two points of distance h the cuts are at most h²/4 below v².
        """
        rows, points = [], []
        for j, (low, high) in enumerate(zip(*self.ranges(), strict=True)):
            inside = np.linspace(low, high, 2 + int((high - low) / spacing))
            rows.append(np.full(len(inside), j))
            points.append(inside)
        if not rows:
            return np.empty(0, dtype=np.int64), np.empty(0)
        return np.concatenate(rows), np.concatenate(points)

    def products(self) -> Products:
        """Return the objective linearised in the products of columns of different blocks."""
        block = np.repeat(np.arange(len(self.start) - 1), np.diff(self.start))
        left, right = np.nonzero(block[:, None] < block)
        gram = self.factor.T @ self.factor
        return Products(
            linear=self.cost + np.diag(gram) - 2.0 * self.factor.T @ self.centre,
            left=left,
            right=right,
            coefficient=2.0 * gram[left, right],
            constant=float(self.centre @ self.centre),
        )


@dataclass(frozen=True, eq=False)
class Products:
    """An objective linear in columns and products: constant + linear·x + Σ coefficient x_l x_r.

    Attributes
    ----------
    linear
        (columns,) coefficient of each column.
    left, right
        (p,) the columns of each product, ``left`` in the earlier block; all pairs.
    coefficient
        (p,) coefficient of each product.
    constant
        What is left.
    """

    linear: FloatArray
    left: IntArray
    right: IntArray
    coefficient: FloatArray
    constant: float


def count_products(start: IntArray) -> int:
    """Return the number of pairs of columns of different blocks."""
    counts = np.diff(start)
    return int((counts.sum() ** 2 - (counts**2).sum()) // 2)


def _without_means(matrix: FloatArray, start: IntArray) -> FloatArray:
    """Return the matrix with each block's mean column subtracted from its columns."""
    counts = np.diff(start)
    means = np.add.reduceat(matrix, start[:-1], axis=1) / counts
    return matrix - np.repeat(means, counts, axis=1)
