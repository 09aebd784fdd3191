"""What is proven of a problem with free coefficients at a point.

In the unit-free form of `rewritings.perspective`, let σ = v − G w° at any w°. By Taylor, and
with any price μ ≥ 0 of a tree,

    f = 1 − w°ᵀ G w° − μ k + Σ_c ( λ_c w_c² − 2 σ_c w_c + (p_c + μ count_c) s_c )
        + ‖F (w − w°)‖² + μ (k − Σ_c count_c s_c)               with FᵀF = G

A used column's term is at least p_c + μ count_c − σ_c² / λ_c; let m_g ≤ 0 be the least of a
group, 0 for none used. Then L = 1 − w°ᵀ G w° − μ k + Σ_g m_g is a lower bound (that of
`CoefficientFormulation.linear_bound`), and f − L is a sum of terms that are all at least 0:

    Σ_c ( r_c s_c + λ_c (w_c − s_c σ_c / λ_c)² / s_c ) + Σ_g |m_g| (1 − Σ_{c in g} s_c)
        + ‖F (w − w°)‖² + μ (k − Σ_c count_c s_c)               with r_c = … − m_g

So what is better than U has every term below U − L. A column of r_c > U − L is not in it, a
group of |m_g| > U − L is, and |w_c − σ_c / λ_c| ≤ √((U − L − r_c) / λ_c).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from formulations.arrays import FloatArray
from formulations.rewritings.perspective import UnitFree

# Relative to a known value: what rounding may add to a range.
_MARGIN = 1e-9

# What sums of terms of the size of the target may be off by, in units of the constant.
_ROUNDING = 1e-10


@dataclass(frozen=True, eq=False)
class DualPrices:
    """What is proven at a point w°, see the module.

    Attributes
    ----------
    form
        The problem.
    w
        (columns,) w°.
    product
        (columns,) σ; 0 without a ridge, where w° must be the least squares solution.
    tree
        μ, the price of a tree.
    used
        (columns,) r, how far using a column lifts the objective above the bound at least.
    unused
        (groups,) |m|, how far using none of a group does.
    bound
        L, in units of the regression's constant.
    """

    form: UnitFree
    w: FloatArray
    product: FloatArray
    tree: float
    used: FloatArray
    unused: FloatArray
    bound: float

    @classmethod
    def at(cls, form: UnitFree, w: FloatArray) -> DualPrices:
        """Compute the prices at a point."""
        moved = form.gram @ w
        rests = bool(form.ridge[0] > 0.0)  # λ > 0 holds for all columns or for none
        product = form.vector - moved if rests else np.zeros_like(w)
        if form.nonnegative:
            product = np.maximum(product, 0.0)
        gain = np.divide(product**2, form.ridge, out=np.zeros_like(w), where=form.ridge > 0.0)
        begin = form.start[:-1]
        tree = 0.0
        if form.most is not None:
            each = np.maximum.reduceat((gain - form.cost) / form.count, begin)
            units = np.sort(np.repeat(each, np.maximum.reduceat(form.count, begin)))[::-1]
            tree = max(float(units[form.most - 1]), 0.0) if form.most <= len(units) else 0.0
        term = form.cost + tree * form.count - gain
        least = np.minimum(np.minimum.reduceat(term, begin), 0.0)
        bound = 1.0 - float(w @ moved) + float(least.sum()) - tree * (form.most or 0)
        return cls(form, w, product, tree, term - least[form.group], -least, bound)

    def ranges(self, value: float) -> tuple[FloatArray, FloatArray]:
        """Return low and high (columns,) of w where a solution better than ``value`` uses it.

        From the prices and from least squares over all columns: with f* its value, a solution
        that uses column c has a value of at least f* + (w_c − w*_c)² / h_c + p_c. Infinite
        where neither says anything; low > high where the column cannot be used.
        """
        form = self.form
        w, h = form.least_squares()
        value = value * (1.0 + _MARGIN) + _ROUNDING
        above = value - (1.0 - float(form.vector @ w)) - form.cost
        radius = np.full(form.n_columns, np.inf)
        known = np.isfinite(h)
        radius[known] = np.sqrt(np.maximum(above[known], 0.0) * h[known])
        middle = w[form.widest]
        low, high = middle - radius, middle + radius
        if form.ridge[0] > 0.0:
            room = value - self.bound - self.used
            radius = np.sqrt(np.maximum(room, 0.0) / form.ridge)
            middle = self.product / form.ridge
            low, high = np.maximum(low, middle - radius), np.minimum(high, middle + radius)
            high = np.where(room < 0.0, -np.inf, high)
        if form.nonnegative:
            low = np.maximum(low, 0.0)
        return low, np.where(above < 0.0, -np.inf, high)
