"""The perspective relaxation of problems with free coefficients, and its dual bounds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy import linalg

from formulations.arrays import BoolArray, FloatArray, IntArray
from formulations.rewritings.perspective import UnitFree
from solvers._coefficients.relaxing.kernels import Terms, best_price, relax_coefficients

# Sweeps of coordinate descent between two bounds, and at most.
_SWEEPS = 25
_MOST_SWEEPS = 2000

# Where descent has settled at so many prices in a row and none has gained this part of what
# is missing, the price is good enough; likewise for rounds of alternation.
_IDLE = 3
_WORTH = 1e-3

# Rounds of alternation at most; use does not fall below this, from where it could not rise.
_ROUNDS = 30
_LEAST_USE = 1e-10

# Halvings of an interval when a price is sought.
_HALVINGS = 50

# Without a ridge, columns whose Gram matrix of diagonal 1 has a smaller least eigenvalue
# depend on each other: then nothing of it can go into perspective terms.
_DEPENDENT = 1e-9


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
        start, idle = self.start, 0
        best = replace(self.bound_at(depth, b, residual), b=b.copy())
        for _ in range(_MOST_SWEEPS // _SWEEPS):
            terms = Terms(start, depth, self.cost + price * self.count, self.nonnegative)
            done = relax_coefficients(terms, matrix, b, residual, _SWEEPS, accuracy)
            found = self.bound_at(depth, b, residual)
            if found.bound > best.bound + _WORTH * (enough - best.bound):
                idle = 0
            elif done:
                idle += 1
            if found.bound > best.bound:
                best = replace(found, b=b.copy())
            if best.bound >= enough or idle == _IDLE or (done and price == found.tree_price):
                break
            price = found.tree_price if price == 0.0 else 0.5 * (price + found.tree_price)
        return best

    def alternate(
        self, matrix: FloatArray, depth: FloatArray, enough: float, stop: Callable[[], bool]
    ) -> Bounded:
        """Solve for coefficients and for their use in turn; return the best bound seen.

        For given use z, b solves a linear system; for given b, z has a closed form. Each round
        factors a matrix, but columns that depend on each other slow it down less than descent.

        Parameters
        ----------
        matrix, depth
            Q and the diagonal of Δ.
        enough
            A bound that ends it.
        stop
            Ends it after a round.
        """
        identity = np.eye(len(self.vector))
        within = np.bincount(self.group)[self.group]
        use = np.minimum(1.0, self.room / len(self.start)) / within
        best: Bounded | None = None
        idle = 0
        for _ in range(_ROUNDS):
            root = np.sqrt(use / depth)
            factor = linalg.cho_factor(identity + root[:, None] * matrix * root)
            b = root * linalg.cho_solve(factor, root * self.vector)
            if self.nonnegative:
                b = np.maximum(b, 0.0)
            found = self.bound_at(depth, b, self.vector - matrix @ b)
            gains = best is None or found.bound > best.bound + _WORTH * (enough - best.bound)
            idle = 0 if gains else idle + 1
            if best is None or found.bound > best.bound:
                best = found
            if best.bound >= enough or idle == _IDLE or stop():
                break
            use = np.maximum(self._use(depth, b, self._fitting_price(depth, b)), _LEAST_USE)
        assert best is not None
        return best

    def _fitting_price(self, depth: FloatArray, b: FloatArray) -> float:
        """Return the least price of a tree at which coefficients use no more than there is."""
        if self.count @ self._use(depth, b, 0.0) <= self.room:
            return 0.0
        # No column is used more than |b| √(depth / price), as counts are at least 1.
        low, high = 0.0, float(self.count @ (np.abs(b) * np.sqrt(depth)) / self.room) ** 2
        for _ in range(_HALVINGS):
            price = 0.5 * (low + high)
            if self.count @ self._use(depth, b, price) > self.room:
                low = price
            else:
                high = price
        return high

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
