"""How large the coefficients of a better solution can be, or are said to be."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from formulations.arrays import FloatArray
from formulations.rewritings.dual_prices import DualPrices

# Relative to a stated range: what counts as reaching it.
_TOUCHING = 1e-6

# How far coefficients are tried that may be of any size.
_FAR = 10.0


@dataclass(frozen=True, eq=False)
class Ranges:
    """Ranges of unit-free coefficients.

    Attributes
    ----------
    low, high
        (columns,) where a used column's w may lie; low > high where it cannot be used.
    stated
        (columns,) the stated limit of |w| where it says more than what follows from the known
        solution, else inf.
    outside
        No solution that goes beyond a stated limit has a value below this, in units of the
        regression's constant; inf where none is stated.
    """

    low: FloatArray
    high: FloatArray
    stated: FloatArray
    outside: float

    @classmethod
    def of(cls, prices: DualPrices, value: float, beta_bound: float | None) -> Ranges:
        """Derive ranges from a known value, and narrow them to a stated limit.

        Outside a limit M, column c has |w_c| > M. So by least squares over all columns its
        solution has a value of at least f* + (M − |w*_c|)² / h_c + p_c, and by the dual prices
        one of at least L + r_c + λ_c (M − |σ_c| / λ_c)², where |·| is below M.

        Parameters
        ----------
        prices
            Dual prices.
        value
            Value of a known solution, in units of the regression's constant.
        beta_bound
            Limit of the coefficient of every tree, in its own unit, or None.
        """
        form = prices.form
        low, high = prices.ranges(value)
        if beta_bound is None:
            return cls(low, high, np.full(form.n_columns, np.inf), np.inf)
        limit = beta_bound * form.count / form.unit
        says_more = (low <= high) & ((low < -limit) | (high > limit))
        stated = np.where(says_more, limit, np.inf)
        w, h = form.least_squares()
        beyond = np.maximum(limit - np.abs(w[form.widest]), 0.0)
        values = 1.0 - float(form.vector @ w) + form.cost + beyond**2 / h
        if form.ridge[0] > 0.0:
            beyond = np.maximum(limit - np.abs(prices.product) / form.ridge, 0.0)
            values = np.maximum(values, prices.bound + prices.used + form.ridge * beyond**2)
        return cls(
            np.maximum(low, -stated),
            np.minimum(high, stated),
            stated,
            float(values[says_more].min(initial=np.inf)),
        )

    @property
    def unbounded(self) -> int:
        """Number of columns whose coefficients may be of any size."""
        usable = (self.low <= self.high) & (self.high > -np.inf)  # else both may be −∞
        return int((usable & (np.isinf(self.low) | np.isinf(self.high))).sum())

    def tried(self) -> tuple[FloatArray, FloatArray]:
        """Return low and high without infinite ends, for looking for solutions: not exact.

        A column that cannot be used has 0; one that may be of any size goes as far as ten
        columns of the target's length.
        """
        used = self.low <= self.high
        low = np.where(used, np.maximum(self.low, -_FAR), 0.0)
        return low, np.where(used, np.minimum(self.high, _FAR), 0.0)

    def contain(self, w: FloatArray) -> bool:
        """Return whether coefficients keep to what is stated."""
        return bool(np.all(np.abs(w) <= self.stated))

    def touched_by(self, w: FloatArray) -> bool:
        """Return whether coefficients reach a stated limit, or go beyond it."""
        return bool(np.any(np.abs(w) >= (1.0 - _TOUCHING) * self.stated))
