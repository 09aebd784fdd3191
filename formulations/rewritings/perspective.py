"""Rewritings of a problem with free coefficients for engines of conic and integer programming.

**Unit-free form.** With w_c = b_c √(G_cc / constant), the objective of a `Regression` is
``constant`` times

    1 − 2 ⟨v, w⟩ + wᵀ G w + Σ_c λ_c w_c² + Σ_c p_c [w_c ≠ 0]

where G has ones on its diagonal. Scaling the target or a tree changes nothing in it, so that
an engine's absolute tolerances mean the same for all data.

**Big-M form.** A binary s_c says whether w_c is used: Σ s_c ≤ 1 in a group, Σ count_c s_c ≤ k,
and low_c s_c ≤ w_c ≤ high_c s_c. It is exact if no solution that is better than a known one
leaves the ranges. Relaxed, a column pays only the part w_c / high_c of its price: the wider
the range, the less.

**Perspective form.** At s_c ∈ {0, 1}, λ_c w_c² is the least λ_c t_c with w_c² ≤ s_c t_c, s_c,
t_c ≥ 0: for s_c = 1 this reads t_c ≥ w_c², for s_c = 0 it leaves w_c = 0 only. So it needs no
ranges. Relaxed it is the convex hull of one column's term, and loses only what comes from
columns together; but it rests on λ: without a ridge, w_c is free as soon as s_c > 0.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy import linalg

from formulations.arrays import FloatArray, IntArray
from formulations.rewritings.regression import NormalEquations

# A column is but rounding when centring leaves less than this part of its square.
_ROUNDING = 1e-10

# Eigenvalues below this part of the largest one are rounding.
_NULL = 1e-11

# Columns that differ from a multiple by less than this part are that multiple.
_ALIKE = 1e-12

# The least part of the Gram diagonal that is worth moving.
_LEAST_SHIFT = 1e-6


@dataclass(frozen=True, eq=False)
class UnitFree:
    """A regression in unit-free coefficients w, see the module.

    Copies of a column that stand for several identical trees serve only to spread a ridge;
    without one they are left out, and so are multiples of other trees' only column.

    Attributes
    ----------
    regression
        Where it comes from.
    place
        (columns,) the regression's column of each column.
    start
        (g + 1,) where the columns of each group begin.
    gram, vector, ridge, cost
        G, v, λ and p.
    count
        (columns,) number of trees.
    unit
        (columns,) b = unit · w.
    """

    regression: NormalEquations
    place: IntArray
    start: IntArray
    gram: FloatArray
    vector: FloatArray
    ridge: FloatArray
    cost: FloatArray
    count: IntArray
    unit: FloatArray

    @classmethod
    def of(cls, regression: NormalEquations) -> UnitFree | None:
        """Rewrite a regression; None when no column can lower its objective."""
        problem = regression.problem
        if regression.n_columns == 0 or regression.constant <= problem.tolerance:
            return None
        length = regression.gram.diagonal()
        spreads = problem.rule.ridge > 0.0
        place: IntArray = np.flatnonzero(
            (length > _ROUNDING * regression.uncentred) & (spreads | (regression.count == 1))
        )
        if not spreads and len(np.unique(regression.groups[place])) == len(place):
            place = _without_multiples(regression, place)
        if len(place) == 0:
            return None
        groups = regression.groups[place]
        unit = np.sqrt(regression.constant / length[place])
        scale = unit / regression.constant
        return cls(
            regression=regression,
            place=place,
            start=np.append(np.unique(groups, return_index=True)[1], len(groups)),
            gram=regression.gram[np.ix_(place, place)] * np.outer(unit, scale),
            vector=regression.vector[place] * scale,
            ridge=regression.ridge[place] * unit * scale,
            cost=regression.cost[place] / regression.constant,
            count=regression.count[place],
            unit=unit,
        )

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return len(self.vector)

    @property
    def most(self) -> int | None:
        """Number of trees that may be used, or None for any number."""
        return self.regression.problem.most_trees

    @property
    def nonnegative(self) -> bool:
        """Whether w ≥ 0."""
        return self.regression.problem.nonnegative

    @cached_property
    def group(self) -> IntArray:
        """(columns,) the group of each column."""
        return np.repeat(np.arange(len(self.start) - 1), np.diff(self.start))

    @cached_property
    def widest(self) -> IntArray:
        """(columns,) the column that stands for the most copies of each column, or itself.

        In a relaxation it can do what all copies can: j of C copies are j / C of it.
        """
        last = self.start[self.group + 1] - 1
        return np.where(self.count[last] > 1, last, np.arange(self.n_columns))

    @cached_property
    def distinct(self) -> IntArray:
        """Columns that predict differently: the widest ones."""
        return np.unique(self.widest)

    def relaxable(self) -> UnitFree:
        """Return the problem on the distinct columns, which is enough for a relaxation."""
        place = self.distinct
        return replace(
            self,
            place=self.place[place],
            start=np.append(np.unique(self.group[place], return_index=True)[1], len(place)),
            gram=self.gram[np.ix_(place, place)],
            vector=self.vector[place],
            ridge=self.ridge[place],
            cost=self.cost[place],
            count=self.count[place],
            unit=self.unit[place],
        )

    def coefficients(self, w: FloatArray) -> FloatArray:
        """Return w as coefficients of the regression's columns."""
        b = np.zeros(self.regression.n_columns)
        b[self.place] = w * self.unit
        return b

    def of_coefficients(self, b: FloatArray) -> FloatArray:
        """Return w of coefficients of the regression's columns."""
        return np.asarray(b[self.place] / self.unit)

    def rows(self) -> tuple[FloatArray, FloatArray]:
        """Return A (rows × outputs, columns) and a: ‖A w − a‖² is 1 − 2 ⟨v, w⟩ + wᵀ G w."""
        problem = self.regression.problem
        weight = problem.data.row_weight[:, None] / problem.data.total_weight

        def flat(column: FloatArray) -> FloatArray:
            if problem.centred:
                column = column - (weight * column).sum(axis=0)
            return np.asarray((np.sqrt(weight / self.regression.constant) * column).ravel())

        columns = [flat(self.regression.column(c)) for c in self.place.tolist()]
        return np.stack(columns, axis=1) * self.unit, flat(np.array(problem.data.target))

    def shifted(self) -> UnitFree:
        """Return the same problem with part of the Gram diagonal moved to the ridge.

        At most one column of a group is used, so wᵀ G w = wᵀ (G − δ I) w + δ Σ_c w_c², where I
        also joins copies of a column. With δ the least eigenvalue of the distinct columns'
        G the first term stays convex, and the perspective form has more to rest on. With copies
        it may also lose: j of C of them are then no longer j / C of all.
        """
        part = np.ix_(self.distinct, self.distinct)
        least = float(linalg.eigvalsh(self.gram[part], subset_by_index=[0, 0])[0])
        if least < _LEAST_SHIFT:
            return self
        delta = (1.0 - 1e-6) * least
        same = self.widest[:, None] == self.widest
        return replace(self, gram=self.gram - delta * same, ridge=self.ridge + delta)

    def least_squares(self) -> tuple[FloatArray, FloatArray]:
        """Return the least of 1 − 2 ⟨v, w⟩ + wᵀ (G + diag λ) w, and how it fixes each column.

        Returns
        -------
        tuple
            w* (columns,), on the distinct columns, and h (columns,): the diagonal of
            (G + diag λ)⁻¹, so that a value of f* + d needs |w_c − w*_c| ≤ √(h_c d). It is inf
            for columns that the others can replace.
        """
        part = np.ix_(self.distinct, self.distinct)
        values, vectors = np.linalg.eigh(self.gram[part] + np.diag(self.ridge[self.distinct]))
        kept = values > _NULL * values[-1]
        w, h = np.zeros(self.n_columns), np.empty(self.n_columns)
        along = vectors[:, kept].T @ self.vector[self.distinct]
        w[self.distinct] = vectors[:, kept] @ (along / values[kept])
        h[self.distinct] = (vectors[:, kept] ** 2) @ (1.0 / values[kept])
        free = (vectors[:, ~kept] ** 2).sum(axis=1) > _NULL
        h[self.distinct[free]] = np.inf
        return w, h[self.widest]


def _without_multiples(regression: NormalEquations, place: IntArray) -> IntArray:
    """Return the columns of ``place`` that are no multiple of a cheaper one or an earlier one.

    Boosted stumps with the same split are multiples of each other. Without a ridge one of them
    does for all; with β ≥ 0 only if the factor is positive.
    """
    order = place[np.argsort(regression.cost[place], kind="stable")]
    length = np.sqrt(regression.gram.diagonal()[order])
    cosine = regression.gram[np.ix_(order, order)] / np.outer(length, length)
    near = np.triu((cosine if regression.problem.nonnegative else np.abs(cosine)) > 1.0 - _ALIKE, 1)
    dropped = np.zeros(len(order), dtype=np.bool_)
    for c, d in np.argwhere(near).tolist():
        if not dropped[c] and not dropped[d]:
            one, other = (regression.column(int(order[i])) for i in (c, d))
            factor = float(np.vdot(one, other) / np.vdot(one, one))
            dropped[d] = np.abs(other - factor * one).max() <= _ALIKE * np.abs(other).max()
    return np.sort(order[~dropped])
