"""A problem with free coefficients as an integer program whose numbers all lie within ±1.

With the dual prices of `rewritings.dual_prices`, a solution better than U is a sum of terms
that are all at least 0 and at most S = U − L. Divided by S, and with w_c = a_c s_c + h_c e_c,
where the binary s_c tells whether column c is used:

    f = L + S ( Σ_c price_c s_c + Σ_{c curved} e_c² / s_c + ‖F (a s + h e) − centre‖² + constant )
    low_c s_c ≤ e_c ≤ high_c s_c,   Σ_{c in g} s_c ≤ 1,   Σ_c count_c s_c ≤ k

With a ridge a_c = σ_c / λ_c, h_c = √(S / λ_c), and e_c² / s_c is what is left of the ridge: it
is at most 1. Without one a_c = 0, and h_c is the range of w_c. Residuals v = F (…) − centre lie
between −1 and 1. So a tolerance of 1e-9 of an engine is 1e-9 of the gap that is left to close.

Columns that a better solution cannot use are left out, and groups that it must use say so:
both need price or |m_g| above S. FᵀF is the Gram matrix of the columns that are left; what
it cannot reach of the centre is constant.

**Tangent cuts.** t ≥ v² is t ≥ 2 x v − x² for all real x, and y ≥ e² / s is y ≥ 2 x e − x² s: for
s = 1 the tangent of the square, for s = 0 (and e = 0) nothing. With the v and e of the best
coefficients of a set of columns among the x, the cuts are exact for that set: it is a convex
problem, and its linearisation at its optimum has the same least value. There are finitely
many sets, so adding those of every solution ends with the optimum.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from formulations.arrays import BoolArray, FloatArray, IntArray
from formulations.rewritings.dual_prices import DualPrices
from formulations.rewritings.ranges import Ranges

# Relative to S: what rounding may hide.
_MARGIN = 1e-9


@dataclass(frozen=True, eq=False)
class SemicontinuousForm:
    """See the module.

    Attributes
    ----------
    prices
        The dual prices that it rests on.
    place
        (columns,) the unit-free form's columns that are left.
    start
        (g + 1,) where the columns of each group begin; groups without one are left out.
    price
        (columns,) cost of s.
    must
        (g,) whether a group must be used.
    count, most, all_most
        (columns,) trees of each column, how many may be used (None: any number), and whether
        a better solution uses just so many.
    offset, reach
        (columns,) a and h.
    low, high
        (columns,) range of e where s = 1.
    curved
        Whether e² / s is part of the objective.
    factor, centre
        (rows, columns) F and (rows,) centre.
    constant
        What is left, without a unit.
    bound, scale
        L and S in units of y².
    possible
        Whether anything is left that may be better than U.
    """

    prices: DualPrices
    place: IntArray
    start: IntArray
    price: FloatArray
    must: BoolArray
    count: IntArray
    most: int | None
    all_most: bool
    offset: FloatArray
    reach: FloatArray
    low: FloatArray
    high: FloatArray
    curved: bool
    factor: FloatArray
    centre: FloatArray
    constant: float
    bound: float
    scale: float
    possible: bool

    @classmethod
    def at(
        cls, prices: DualPrices, value: float, ranges: Ranges, presolve: bool
    ) -> SemicontinuousForm:
        """Rewrite a problem.

        Parameters
        ----------
        prices
            Dual prices at a point.
        value
            The value U of a known solution, in y² and above the prices' bound.
        ranges
            Finite ranges of w.
        presolve
            Whether to leave out what a better solution cannot have.
        """
        form, unit = prices.form, prices.form.regression.constant
        low, high = ranges.low, ranges.high
        scale = value / unit - prices.bound
        limit = (1.0 + _MARGIN) * scale
        curved = bool(form.ridge[0] > 0.0)
        usable = (low <= high) & ((low != 0.0) | (high != 0.0))
        must = prices.unused > limit
        all_most = form.most is not None and prices.tree > limit
        if presolve:
            usable &= prices.used <= limit
        else:
            must[:] = all_most = False
        place = np.flatnonzero(usable)
        group = form.group[place]
        left, begin = np.unique(group, return_index=True)
        count = form.count[place]
        possible = bool(np.isin(np.flatnonzero(must), left).all())
        if form.most is not None:
            most_used = np.maximum.reduceat(count, begin).sum() if len(begin) else 0
            possible &= not all_most or bool(most_used >= form.most)
        absent = np.where(must, 0.0, prices.unused)
        tree = 0.0 if all_most else prices.tree
        price = prices.used[place] - absent[group] - tree * count
        gram = form.gram[np.ix_(place, place)] / scale
        values, vectors = np.linalg.eigh(gram)
        kept = values > np.finfo(float).eps * len(values) * max(values.max(initial=0.0), 0.0)
        root, vectors = np.sqrt(values[kept]), vectors[:, kept]
        moved = form.gram @ prices.w / scale
        centre = (vectors.T @ moved[place]) / root
        rest = max(float(prices.w @ moved) - float(centre @ centre), 0.0)
        if curved:
            offset = prices.product[place] / form.ridge[place]
            reach = np.sqrt(scale / form.ridge[place])
        else:
            offset = np.zeros(len(place))
            reach = np.maximum(np.abs(low[place]), np.abs(high[place]))
        return cls(
            prices=prices,
            place=place,
            start=np.append(begin, len(place)),
            price=price / scale,
            must=must[left],
            count=count,
            most=form.most,
            all_most=all_most,
            offset=offset,
            reach=reach,
            low=(low[place] - offset) / reach,
            high=(high[place] - offset) / reach,
            curved=curved,
            factor=root[:, None] * vectors.T,
            centre=centre,
            constant=rest + (float(absent.sum()) + tree * (form.most or 0)) / scale,
            bound=prices.bound * unit,
            scale=scale * unit,
            possible=possible,
        )

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return len(self.price)

    @property
    def n_rows(self) -> int:
        """Number of residuals."""
        return len(self.centre)

    def residuals(self, s: FloatArray, e: FloatArray) -> FloatArray:
        """Return v (rows,)."""
        return np.asarray(self.factor @ (self.offset * s + self.reach * e) - self.centre)

    def value(self, s: FloatArray, e: FloatArray) -> float:
        """Return the objective at binary s and e, in units of y²."""
        inside = self.price @ s + (self.residuals(s, e) ** 2).sum() + self.constant
        if self.curved:
            inside += (e[s > 0.0] ** 2).sum()
        return float(self.bound + self.scale * inside)

    def at_coefficients(self, b: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return (s, e) of coefficients of the regression, as far as its columns are here."""
        w = self.prices.form.of_coefficients(b)[self.place]
        s = (w != 0.0).astype(np.float64)
        return s, np.where(w != 0.0, (w - self.offset) / self.reach, 0.0)

    def columns_of(self, s: FloatArray) -> IntArray:
        """Return the regression's columns that binary s uses."""
        return self.prices.form.place[self.place[s > 0.5]]

    def first_tangents(self, spacing: float) -> FloatArray:
        """Return the x at which to cut every v² and e²/s first, evenly over [−1, 1].

        Between two of distance h the cuts are at most h²/4 below the square.
        """
        return np.linspace(-1.0, 1.0, 1 + 2 * round(1.0 / spacing))

    @property
    def size(self) -> FloatArray:
        """(columns,) the largest |w| of each column."""
        ends = self.offset + self.reach * np.stack([self.low, self.high])
        return np.asarray(np.abs(ends).max(axis=0))

    @property
    def sensitivity(self) -> float:
        """By how much ‖v‖² rises or falls per unit by which every s and e is off, at most."""
        length = np.sqrt((self.factor**2).sum(axis=0))
        return 2.0 * float(length @ (np.abs(self.offset) + self.reach))
