"""The perspective relaxation by alternation: a point with good dual prices, without an engine."""

from __future__ import annotations

import numpy as np
from scipy import linalg

from formulations.arrays import FloatArray
from formulations.rewritings.dual_prices import DualPrices
from formulations.rewritings.perspective import UnitFree
from solvers._core.base import Control

_MOST_ROUNDS = 200

# Weights do not fall below this, from where they could not rise again.
_LEAST_WEIGHT = 1e-10

# Halvings of an interval when a multiplier is sought.
_HALVINGS = 50


def relax(form: UnitFree, tolerance: float, control: Control) -> DualPrices:
    """Return the best dual prices found on the way to the perspective relaxation's optimum.

        minimise over w, s   1 − 2⟨v, w⟩ + wᵀGw + Σ_c ( λ_c w_c² / s_c + p_c s_c )

    is convex in both together. For given s, w solves a linear system; for given w, the best
    s_c is |w_c| √(λ_c / (p_c + ν)) with ν ≥ 0 the price of the limits it must keep. Without
    a ridge the relaxation is least squares.

    Parameters
    ----------
    form
        The problem.
    tolerance
        Relative gap between the relaxation's value and its bound at which to stop.
    control
        Ends the rounds early.
    """
    if form.ridge[0] == 0.0:
        return DualPrices.at(form, form.least_squares()[0])
    place = form.distinct
    gram, vector = form.gram[np.ix_(place, place)], form.vector[place]
    ridge, cost = form.ridge[place], form.cost[place]
    s = np.ones(len(place))
    best: DualPrices | None = None
    for _ in range(_MOST_ROUNDS):
        root = np.sqrt(s / ridge)
        system = np.eye(len(place)) + root[:, None] * gram * root
        w = root * linalg.cho_solve(linalg.cho_factor(system), root * vector)
        if form.nonnegative:
            w = np.maximum(w, 0.0)
        everywhere = np.zeros(form.n_columns)
        everywhere[place] = w
        prices = DualPrices.at(form, everywhere)
        if best is None or prices.bound > best.bound:
            best = prices
        s = _weights(form, ridge * w**2, cost)
        value = 1.0 - 2.0 * vector @ w + w @ gram @ w + ridge @ (w**2 / s) + cost @ s
        if value - best.bound <= tolerance * value or control.stop() is not None:
            break
    assert best is not None
    return best


def _weights(form: UnitFree, square: FloatArray, cost: FloatArray) -> FloatArray:
    """Return the s in [0, 1] of least Σ square_c / s_c + cost_c s_c that keeps the limits."""
    count = form.count[form.distinct]
    group = form.group[form.distinct]
    begin = np.unique(group, return_index=True)[1]
    several = len(begin) < len(group)

    def at(tree: float) -> FloatArray:
        price = cost + tree * count
        if not several:
            return _root(square, price)
        low, high = np.zeros(len(begin)), np.full(len(begin), float(np.sqrt(square).sum() ** 2))
        owner = np.repeat(np.arange(len(begin)), np.diff(np.append(begin, len(group))))
        for _ in range(_HALVINGS):
            middle = 0.5 * (low + high)
            full = np.add.reduceat(_root(square, price + middle[owner]), begin) > 1.0
            low, high = np.where(full, middle, low), np.where(full, high, middle)
        return _root(square, price + high[owner])

    s = at(0.0)
    if form.most is not None and count @ s > form.most:
        least, most = 0.0, float((np.sqrt(square).sum() / form.most) ** 2) + 1e-300
        while count @ at(most) > form.most:
            most *= 4.0
        for _ in range(_HALVINGS):
            middle = 0.5 * (least + most)
            least, most = (middle, most) if count @ at(middle) > form.most else (least, middle)
        s = at(most)
    return np.maximum(s, _LEAST_WEIGHT)


def _root(square: FloatArray, price: FloatArray) -> FloatArray:
    """Return min(1, √(square / price)); 1 where the price is 0."""
    ratio = np.divide(square, price, out=np.ones_like(square), where=price > 0.0)
    return np.sqrt(np.minimum(ratio, 1.0))
