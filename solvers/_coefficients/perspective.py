"""The perspective relaxation of problems with free coefficients, and its dual bounds."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy import linalg

from formulations.arrays import BoolArray, FloatArray, IntArray
from formulations.kernels.compiled import kernel
from formulations.rewritings.perspective import UnitFree

# Sweeps of coordinate descent between two bounds, and at most.
_SWEEPS = 25
_MOST_SWEEPS = 2000

# Descent ends when so many bounds in a row have not gained this part of what is missing.
_IDLE = 3
_WORTH = 1e-3

# Without a ridge, columns whose Gram matrix of diagonal 1 has a smaller least eigenvalue
# depend on each other: then nothing of it can go into perspective terms.
_DEPENDENT = 1e-9


class Terms(NamedTuple):
    """Perspective terms: min over z of Σ depth b² / z + cost z, with Σ z ≤ 1 in a group."""

    start: IntArray
    depth: FloatArray
    cost: FloatArray
    nonnegative: bool


@kernel
def group_use(terms: Terms, g: int, skip: int, b: FloatArray, price: float) -> float:
    """Return Σ z of a group at a price of use added to the costs, without column ``skip``."""
    total = 0.0
    for c in range(terms.start[g], terms.start[g + 1]):
        if c != skip and b[c] != 0.0:
            total += abs(b[c]) * np.sqrt(terms.depth[c] / (terms.cost[c] + price))
    return total


@kernel
def best_coefficient(
    terms: Terms, g: int, c: int, b: FloatArray, product: float, length: float
) -> float:
    """Return the best coefficient of column c of group g, given the group's others.

    Where more than one column's worth would be used, the price at which the sum is 1 is
    found by bisection; the coefficient falls with the price, and is 0 at the highest.
    """
    size = product if terms.nonnegative else abs(product)
    depth, cost = terms.depth[c], terms.cost[c]
    if size <= 0.0 or size * size <= depth * cost:
        return 0.0
    low, high = 0.0, size * size / depth - cost
    found = (size - np.sqrt(depth * cost)) / length
    use = group_use(terms, g, c, b, 0.0) + found * np.sqrt(depth / cost)
    if not use <= 1.0:
        for _ in range(60):
            price = 0.5 * (low + high)
            found = (size - np.sqrt(depth * (cost + price))) / length
            use = group_use(terms, g, c, b, price) + found * np.sqrt(depth / (cost + price))
            if use > 1.0:
                low = price
            else:
                high = price
            if high - low <= 1e-13 * high:
                break
        found = max(0.0, (size - np.sqrt(depth * (cost + high))) / length)
    return float(found) if product > 0.0 else -float(found)


@kernel
def relax_coefficients(
    terms: Terms, matrix: FloatArray, b: FloatArray, residual: FloatArray, sweeps: int, least: float
) -> bool:
    """Descend on bᵀ matrix b − 2 ⟨vector, b⟩ plus the terms; ``residual`` is vector − matrix b.

    Coordinate by coordinate: the terms of a group are differentiable but for a kink where a
    coefficient is 0, so a point that no coordinate improves is optimal. Returns whether no
    step of the last sweep was worth ``least``.
    """
    columns = b.shape[0]
    for _ in range(sweeps):
        largest = 0.0
        for g in range(terms.start.shape[0] - 1):
            for c in range(terms.start[g], terms.start[g + 1]):
                length = matrix[c, c]
                moved = best_coefficient(terms, g, c, b, residual[c] + length * b[c], length)
                step = moved - b[c]
                if step != 0.0:
                    largest = max(largest, step * step * (length + terms.depth[c]))
                    b[c] = moved
                    for j in range(columns):
                        residual[j] -= matrix[c, j] * step
        if largest <= least:
            return True
    return False


@kernel
def least_terms(
    start: IntArray, cost: FloatArray, gain: FloatArray, count: FloatArray, price: float
) -> tuple[float, float]:
    """Return Σ_g min(0, min_c cost + price count − gain), and the trees used by it."""
    value, trees = 0.0, 0.0
    for g in range(start.shape[0] - 1):
        best, used = 0.0, 0.0
        for c in range(start[g], start[g + 1]):
            term = cost[c] + price * count[c] - gain[c]
            if term < best:
                best, used = term, count[c]
        value += best
        trees += used
    return value, trees


@kernel
def best_price(
    start: IntArray, cost: FloatArray, gain: FloatArray, count: FloatArray, room: float
) -> float:
    """Return the price of a tree at which the bound with a limit on trees is largest."""
    if least_terms(start, cost, gain, count, 0.0)[1] <= room:
        return 0.0
    low, high = 0.0, 0.0
    for c in range(gain.shape[0]):
        high = max(high, (gain[c] - cost[c]) / count[c])
    for _ in range(60):
        price = 0.5 * (low + high)
        if least_terms(start, cost, gain, count, price)[1] > room:
            low = price
        else:
            high = price
    return high


@dataclass
class Bounded:
    """A lower bound and the point behind it.

    Attributes
    ----------
    bound
        The lower bound.
    b
        (columns,) coefficients of the relaxation.
    out
        (columns,) the bound if a column must be used.
    tree_price
        ν, what the limit on trees adds to the price of each.
    use
        (columns,) z, between 0 and 1.
    """

    bound: float
    b: FloatArray
    out: FloatArray
    tree_price: float
    use: FloatArray


@dataclass(frozen=True, eq=False)
class Part:
    """What is left of a problem when some columns are used, and some are excluded.

    Used columns have been minimised out: with F the used ones, the others keep the Schur
    complement of their Gram matrix. The units are those of `UnitFree`.

    Attributes
    ----------
    columns
        Which columns of the whole problem are left.
    constant, vector, gram, cost, count, group
        As in `UnitFree`, with the ridge in ``gram``; groups are numbered anew.
    room
        Number of trees that may still be used, or inf.
    nonnegative
        Whether coefficients must not be negative; those of used columns are free here.
    """

    columns: IntArray
    constant: float
    vector: FloatArray
    gram: FloatArray
    cost: FloatArray
    count: FloatArray
    group: IntArray
    room: float
    nonnegative: bool

    @classmethod
    def whole(cls, form: UnitFree) -> Part:
        """Return all of a problem in unit-free form."""
        gram = form.gram + np.diag(form.ridge)
        return cls(
            columns=np.arange(form.n_columns),
            constant=1.0,
            vector=form.vector,
            gram=0.5 * (gram + gram.T),
            cost=form.cost,
            count=form.count.astype(np.float64),
            group=form.group,
            room=np.inf if form.most is None else float(form.most),
            nonnegative=form.nonnegative,
        )

    @cached_property
    def start(self) -> IntArray:
        """(g + 1,) where the groups begin."""
        return np.append(np.flatnonzero(np.diff(self.group, prepend=-1)), len(self.group))

    def without(self, kept: BoolArray) -> Part:
        """Return what is left when only some columns may be used."""
        return self.given([], np.flatnonzero(kept))

    def given(self, used: list[int], others: IntArray) -> Part:
        """Return what is left of ``others`` when columns ``used`` are used; all positions."""
        vector, constant = self.vector[others], self.constant
        gram = self.gram[np.ix_(others, others)]
        if used:
            chosen = np.array(used)
            beside = self.gram[np.ix_(chosen, others)]
            solved = _solve(
                self.gram[np.ix_(chosen, chosen)], np.column_stack([beside, self.vector[chosen]])
            )
            constant += float(self.cost[chosen].sum() - self.vector[chosen] @ solved[:, -1])
            vector = vector - beside.T @ solved[:, -1]
            gram = gram - beside.T @ solved[:, :-1]
            gram = 0.5 * (gram + gram.T)
        return Part(
            columns=self.columns[others],
            constant=constant,
            vector=vector,
            gram=gram,
            cost=self.cost[others],
            count=self.count[others],
            group=np.unique(self.group[others], return_inverse=True)[1].astype(np.int64),
            room=self.room - float(self.count[used].sum()),
            nonnegative=self.nonnegative,
        )

    def least_squares(self) -> float:
        """Return the bound when all columns may be used for nothing."""
        return self.constant - float(self.vector @ _solve(self.gram, self.vector[:, None])[:, 0])

    def bound_at(
        self, depth: FloatArray, b: FloatArray, residual: FloatArray, price: float | None = None
    ) -> Bounded:
        """Return the dual bound at coefficients.

        For every w, bᵀQb ≥ 2wᵀQb − wᵀQw. So with u = v − Qw

            constant − wᵀQw + Σ_g min(0, min_c cost_c + ν count_c − u_c² / depth_c) − ν k

        is a lower bound for every price ν ≥ 0, the best of which is taken; here w = b and
        ``residual`` = u. A column must pay its own term in place of its group's best.
        """
        start = self.start
        u = np.maximum(residual, 0.0) if self.nonnegative else residual
        gain = u**2 / depth
        if price is None:
            limited = np.isfinite(self.room)
            price = best_price(start, self.cost, gain, self.count, self.room) if limited else 0.0
        term = self.cost + price * self.count - gain
        best = np.minimum(np.minimum.reduceat(term, start[:-1]), 0.0)
        bound = self.constant - float(b @ (self.vector - residual)) + float(best.sum())
        bound -= price * self.room if price > 0.0 else 0.0
        out = bound - best[self.group] + term
        return Bounded(bound, b, out, price, self._use(depth, b, price))

    def relax(
        self,
        matrix: FloatArray,
        depth: FloatArray,
        b: FloatArray,
        price: float,
        accuracy: float,
        enough: float,
    ) -> Bounded:
        """Minimise the relaxation with a price for each tree; return the best bound seen.

        Parameters
        ----------
        matrix, depth
            Q and the diagonal of Δ.
        b
            Where to start.
        price
            A guess of ν.
        accuracy
            Steps below this are too small.
        enough
            A bound that ends it.
        """
        b = b.copy()
        residual = self.vector - matrix @ b
        start, best, idle = self.start, None, 0
        for _ in range(_MOST_SWEEPS // _SWEEPS):
            terms = Terms(start, depth, self.cost + price * self.count, self.nonnegative)
            done = relax_coefficients(terms, matrix, b, residual, _SWEEPS, accuracy)
            found = self.bound_at(depth, b, residual)
            if best is None or found.bound > best.bound + _WORTH * (enough - best.bound):
                idle = 0
            else:
                idle += 1
            if best is None or found.bound > best.bound:
                best = replace(found, b=b.copy())
            if best.bound >= enough or idle == _IDLE or (done and price == found.tree_price):
                break
            price = found.tree_price if price == 0.0 else 0.5 * (price + found.tree_price)
        assert best is not None
        return best

    def _use(self, depth: FloatArray, b: FloatArray, price: float) -> FloatArray:
        paid = np.maximum(self.cost + price * self.count, 1e-300)
        use = np.abs(b) * np.sqrt(depth / paid)
        total = np.add.reduceat(use, self.start[:-1])
        return np.asarray(use / np.maximum(total, 1.0)[self.group])


def plain_depth(form: UnitFree) -> FloatArray | None:
    """Return the diagonal that can go into perspective terms of all columns, or None.

    The ridge, or, without one, the least eigenvalue.
    """
    if form.ridge.min() > 0.0:
        return form.ridge
    least = float(linalg.eigvalsh(form.gram, subset_by_index=(0, 0))[0])
    return np.full(form.n_columns, 0.9 * least) if least > _DEPENDENT else None


def _solve(matrix: FloatArray, right: FloatArray) -> FloatArray:
    """Solve a positive semidefinite system; what depends on other columns is left out."""
    try:
        factor = linalg.cho_factor(matrix)
        diagonal = np.abs(np.diag(factor[0]))
        if diagonal.min() > 1e-6 * diagonal.max():
            return np.asarray(linalg.cho_solve(factor, right))
    except linalg.LinAlgError:
        pass
    values, vectors = linalg.eigh(matrix)
    kept = values > np.finfo(float).eps * len(values) * max(float(values[-1]), 0.0)
    return np.asarray(vectors[:, kept] @ ((vectors[:, kept].T @ right) / values[kept, None]))
