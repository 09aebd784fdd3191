"""How much of a Gram matrix may go into the perspective terms: an interior-point method."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import linalg

from formulations.arrays import FloatArray, IntArray
from formulations.kernels.compiled import kernel

# The barrier's parameter falls by this factor once a Newton step is full and its squared length,
# in the norm of the barrier, is below the other number.
_SHRINK = 0.2
_CENTRED = 20.0

# Off the central path, Newton's method creeps. After so many steps at the first parameter it
# starts again from a point that is near the path for one so many times larger; at a later
# parameter it ends, for then it is rounding that stops it.
_PATIENCE = 12
_FAR = 30.0
_MOST_STEPS = 100


@kernel
def fill_curvature(
    first: IntArray,
    second: IntArray,
    inverse: FloatArray,
    y: FloatArray,
    mu: float,
    out: FloatArray,
) -> None:
    """Fill the lower triangle of the negative Hessian over block entries and u.

    Entry p of the blocks stands for E_p = e_i e_jᵀ + e_j e_iᵀ, or e_i e_iᵀ where i = j. With
    y = Q⁻¹(v − u), the barrier gives tr(Q⁻¹ E_p Q⁻¹ E_q) and the quadratic term, over μ,
    2 (E_p y)ᵀ Q⁻¹ (E_q y).
    """
    pairs = first.shape[0]
    columns = y.shape[0]
    for p in range(pairs):
        i, j = first[p], second[p]
        size_p = 1.0 if i == j else 2.0
        for q in range(p + 1):
            k, m = first[q], second[q]
            scale = size_p * (1.0 if k == m else 2.0)
            a, b, c, d = inverse[i, k], inverse[i, m], inverse[j, k], inverse[j, m]
            along = y[j] * (y[m] * a + y[k] * b) + y[i] * (y[m] * c + y[k] * d)
            out[p, q] = scale * (0.5 * (a * d + b * c) + 0.5 * along / mu)
    for c in range(columns):
        row = pairs + c
        for p in range(pairs):
            i, j = first[p], second[p]
            size_p = 1.0 if i == j else 2.0
            out[row, p] = -size_p * (y[j] * inverse[i, c] + y[i] * inverse[j, c]) / mu
        for e in range(c + 1):
            out[row, pairs + e] = 2.0 * inverse[c, e] / mu


@dataclass
class Split:
    """A feasible point of the dual.

    Attributes
    ----------
    blocks
        (pairs,) entries of Δ.
    u
        (columns,) what the perspective terms take of the vector.
    group_price, tree_price
        π ≥ 0 per group, for using more than one column of it; ν ≥ 0 for each tree.
    """

    blocks: FloatArray
    u: FloatArray
    group_price: FloatArray
    tree_price: float


class Splitter:
    """Maximises the perspective bound over the split of the Gram matrix.

        max over Δ, u, π, ν   −(v − u)ᵀ (G − Δ)⁻¹ (v − u) − Σ_g π_g − k ν
        G − Δ ⪰ 0,   u_c² ≤ Δ_cc ( cost_c + π_g + ν count_c ),   π, ν ≥ 0

    Δ has entries only within groups. As at most one column of a group is used, bᵀΔb is
    Σ Δ_cc b_c² at every solution, whatever is off the diagonal; and Δ_cc b_c² can be paid in
    full for the use of a column. So with any feasible point, the constant plus the value is a
    lower bound. The best is that of the semidefinite relaxation (Dong, Chen and Linderoth
    2015, there with a diagonal Δ). Found by Newton's method on the logarithmic barrier; all
    points on the way are feasible.

    Parameters
    ----------
    gram
        (columns, columns) with ridge, ideally of diagonal 1.
    vector, cost, count
        (columns,).
    group
        (columns,) 0…g−1 ascending.
    room
        Number of trees that may be used, or inf.
    """

    def __init__(
        self,
        gram: FloatArray,
        vector: FloatArray,
        cost: FloatArray,
        count: FloatArray,
        group: IntArray,
        room: float,
    ) -> None:
        self.gram, self.vector, self.cost, self.count = gram, vector, cost, count
        self.group, self.room = group, room
        self.first, self.second = pairs_of(group)
        self.diagonal = np.flatnonzero(self.first == self.second)
        self.n_groups = int(group[-1]) + 1
        self.limited = bool(np.isfinite(room))

    @property
    def degree(self) -> float:
        """The gap at a point of the central path is this times μ."""
        return 3.0 * len(self.vector) + self.n_groups + float(self.limited)

    def bound(self, split: Split) -> float:
        """Return the value at a feasible point; −inf where rounding has made it infeasible."""
        factor = self._factor(split)
        return -np.inf if factor is None else self._value(self._solution(factor, split), split)

    def far(self, blocks: FloatArray, gap: float) -> Split:
        """Return an interior point with given blocks, near the central path if ``gap`` is large."""
        price = gap / self.n_groups
        return Split(
            blocks.copy(),
            np.zeros(len(self.vector)),
            np.full(self.n_groups, price),
            price if self.limited else 0.0,
        )

    def near(self, blocks: FloatArray, b: FloatArray, tree_price: float, gap: float) -> Split:
        """Return an interior point with given blocks that fits coefficients and a price ν."""
        residual = self.vector - self._matrix(blocks) @ b
        unit = gap / self.n_groups
        tree_price = tree_price + unit if self.limited else 0.0
        needed = residual**2 / blocks[self.diagonal] - self.cost - tree_price * self.count
        price = np.full(self.n_groups, unit)
        np.maximum.at(price, self.group, 1.05 * needed + unit)
        return Split(blocks.copy(), residual, price, tree_price)

    def run(
        self, split: Split, gap: float, accuracy: float, enough: float, stop: Callable[[], bool]
    ) -> Split:
        """Follow the central path; return the best point on the way.

        Parameters
        ----------
        split
            Where to start.
        gap, accuracy
            The gap of the first point aimed at, and of the last.
        enough
            A value that ends it.
        stop
            Ends it after a step.
        """
        best, best_value = split, self.bound(split)
        mu, steps, settled, again = gap / self.degree, 0, False, False
        for _ in range(_MOST_STEPS):
            if stop() or best_value >= enough:
                break
            split, step, decrement = self._newton(split, mu)
            steps += 1
            value = self.bound(split)
            if value > best_value:
                best, best_value = split, value
            if step > 0.5 and decrement < _CENTRED:
                if self.degree * mu < accuracy:
                    break
                mu, steps, settled = mu * _SHRINK, 0, True
            elif step == 0.0 or steps >= _PATIENCE:
                if settled or again:
                    break
                mu, steps, again = _FAR * gap / self.degree, 0, True
                split = self.far(best.blocks, _FAR * gap)
        return best

    def coefficients(self, split: Split) -> FloatArray:
        """Return the coefficients (columns,) that belong to an interior point."""
        factor = self._factor(split)
        assert factor is not None
        return self._solution(factor, split)

    def _matrix(self, blocks: FloatArray) -> FloatArray:
        matrix = self.gram.copy()
        matrix[self.first, self.second] -= blocks
        off = self.first != self.second
        matrix[self.second[off], self.first[off]] -= blocks[off]
        return matrix

    def _factor(self, split: Split) -> FloatArray | None:
        """Return the lower Cholesky factor of Q, or None where Q is not positive."""
        factor, wrong = linalg.lapack.dpotrf(self._matrix(split.blocks), lower=1, clean=1)
        return None if wrong else factor

    def _solution(self, factor: FloatArray, split: Split) -> FloatArray:
        """Return y = Q⁻¹(v − u)."""
        return np.asarray(linalg.lapack.dpotrs(factor, self.vector - split.u, lower=1)[0])

    def _price(self, split: Split) -> FloatArray:
        return self.cost + split.group_price[self.group] + split.tree_price * self.count

    def _value(self, y: FloatArray, split: Split) -> float:
        paid = float(split.group_price.sum())
        if self.limited:
            paid += self.room * split.tree_price
        return -float(y @ (self.vector - split.u)) - paid

    def _merit(self, split: Split, mu: float) -> float:
        depth, price = split.blocks[self.diagonal], self._price(split)
        slack = depth * price - split.u**2
        if min(depth.min(), slack.min(), split.group_price.min()) <= 0.0:
            return -np.inf
        if self.limited and split.tree_price <= 0.0:
            return -np.inf
        factor = self._factor(split)
        if factor is None:
            return -np.inf
        merit = self._value(self._solution(factor, split), split) / mu
        merit += 2.0 * float(np.log(factor.diagonal()).sum())
        merit += float(np.log(slack).sum() + np.log(split.group_price).sum())
        return merit + (float(np.log(split.tree_price)) if self.limited else 0.0)

    def _newton(self, split: Split, mu: float) -> tuple[Split, float, float]:
        """Return the point after a damped Newton step, the step and the decrement."""
        factor = self._factor(split)
        if factor is None:
            return split, 0.0, 0.0
        y = self._solution(factor, split)
        inverse = linalg.lapack.dpotri(factor, lower=1)[0]
        inverse = np.tril(inverse) + np.tril(inverse, -1).T
        pairs, columns, groups = len(self.first), len(self.vector), self.n_groups
        size = pairs + columns + groups + int(self.limited)
        hessian = np.zeros((size, size))
        fill_curvature(self.first, self.second, inverse, y, mu, hessian)
        gradient = np.zeros(size)
        depth, price, u = split.blocks[self.diagonal], self._price(split), split.u
        slack = depth * price - u**2
        at_depth, at_u = self.diagonal, pairs + np.arange(columns)
        at_group = pairs + columns + self.group
        weight = np.where(self.first == self.second, 1.0, 2.0)
        gradient[:pairs] = -weight * (
            y[self.first] * y[self.second] / mu + inverse[self.first, self.second]
        )
        gradient[at_depth] += price / slack
        gradient[at_u] = 2.0 * y / mu - 2.0 * u / slack
        by_price = depth / slack
        np.add.at(gradient, at_group, by_price)
        gradient[pairs + columns : pairs + columns + groups] += 1.0 / split.group_price - 1.0 / mu
        hessian[at_depth, at_depth] += (price / slack) ** 2
        hessian[at_u, at_u] += 4.0 * (u / slack) ** 2 + 2.0 / slack
        hessian[at_u, at_depth] += -2.0 * u * price / slack**2
        depth_price = depth * price / slack**2 - 1.0 / slack
        u_price = -2.0 * u * depth / slack**2
        hessian[at_group, at_depth] += depth_price
        hessian[at_group, at_u] += u_price
        np.add.at(hessian, (at_group, at_group), by_price**2)
        groups_here = pairs + columns + np.arange(groups)
        hessian[groups_here, groups_here] += split.group_price**-2.0
        if self.limited:
            count, last = self.count, size - 1
            gradient[last] = float(count @ by_price) + 1.0 / split.tree_price - self.room / mu
            hessian[last, at_depth] += count * depth_price
            hessian[last, at_u] += count * u_price
            np.add.at(hessian[last], at_group, count * by_price**2)
            hessian[last, last] += float(count**2 @ by_price**2) + split.tree_price**-2.0
        scale = 1.0 / np.sqrt(hessian.diagonal())
        hessian *= scale
        hessian *= scale[:, None]
        hessian[np.arange(size), np.arange(size)] += 1e-13
        try:
            factor = linalg.cholesky(hessian, lower=True, check_finite=False, overwrite_a=True)
        except linalg.LinAlgError:
            return split, 0.0, 0.0
        direction = scale * linalg.cho_solve((factor, True), scale * gradient)
        decrement = float(direction @ gradient)
        return self._search(split, direction, decrement, mu)

    def _search(
        self, split: Split, direction: FloatArray, decrement: float, mu: float
    ) -> tuple[Split, float, float]:
        """Search along a Newton direction: back while it is too long, on while it helps."""
        pairs, columns = len(self.first), len(self.vector)
        parts = np.split(direction, [pairs, pairs + columns, pairs + columns + self.n_groups])

        def moved(step: float) -> Split:
            return Split(
                split.blocks + step * parts[0],
                split.u + step * parts[1],
                split.group_price + step * parts[2],
                split.tree_price + (step * float(parts[3][0]) if self.limited else 0.0),
            )

        before = self._merit(split, mu)
        step = 1.0
        there = moved(step)
        merit = self._merit(there, mu)
        if merit >= before + 0.01 * decrement:
            while decrement > 1.0:
                beyond = moved(2.0 * step)
                found = self._merit(beyond, mu)
                if found <= merit:
                    break
                there, merit, step = beyond, found, 2.0 * step
            return there, step, decrement
        while step > 1e-4:
            step *= 0.6
            there = moved(step)
            if self._merit(there, mu) >= before + 0.01 * step * decrement:
                return there, step, decrement
        return split, 0.0, decrement


def pairs_of(group: IntArray) -> tuple[IntArray, IntArray]:
    """Return positions (i, j), i ≥ j, of all entries within groups, column by column."""
    starts = np.searchsorted(group, group)
    first = [np.full(i - int(s) + 1, i) for i, s in enumerate(starts)]
    second = [np.arange(int(s), i + 1) for i, s in enumerate(starts)]
    return np.concatenate(first), np.concatenate(second)
