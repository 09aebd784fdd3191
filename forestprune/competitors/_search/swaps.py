"""Local search for subsets with free coefficients: columns come, go and change places."""

from __future__ import annotations

from time import perf_counter

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, pinvh

from forestprune.competitors._search.subsets import Products
from formulations.arrays import BoolArray, FloatArray

# A column of which the others leave this part of its square unexplained depends on them.
DEPENDENT = 1e-9

# Rounds without a better subset after which the search ends, and columns dropped for a round.
_PATIENCE = 30
_KICK = 3


def fitted(problem: Products, chosen: BoolArray) -> tuple[FloatArray, float]:
    """Return the coefficients (n,) of least squares on a subset, and the loss."""
    coefficients = np.zeros(problem.count)
    kept = np.flatnonzero(chosen)
    if len(kept) == 0:
        return coefficients, problem.square
    gram, slopes = problem.gram[np.ix_(kept, kept)], problem.slopes[kept]
    weights = _inverse(gram) @ slopes
    coefficients[kept] = weights
    return coefficients, max(problem.square + float((gram @ weights - 2.0 * slopes) @ weights), 0.0)


def _inverse(gram: FloatArray) -> FloatArray:
    """Return (s, s) the inverse of the products of a subset's columns.

    Where each column depends but little on those before, all may still do so together: then the
    part in which they do not is inverted.
    """
    try:
        return np.asarray(cho_solve(cho_factor(gram), np.eye(len(gram))), dtype=np.float64)
    except LinAlgError:
        return np.asarray(pinvh(gram), dtype=np.float64)


def searched(problem: Products, ends: float) -> BoolArray:
    """Return a good subset within the limits.

    Columns are added as long as they fit, exchanged as long as that lowers the loss; then some
    are dropped at random and it starts again, from the best subset.

    Parameters
    ----------
    problem
        What is searched.
    ends
        Time of `time.perf_counter` at which the search ends.
    """
    generator = np.random.default_rng(0)
    best = np.zeros(problem.count, dtype=np.bool_)
    if problem.count == 0:
        return best
    best_loss = problem.square
    for by_cost in (False, True):
        chosen, loss = _descended(problem, np.zeros_like(best), by_cost, ends)
        if loss < best_loss:
            best, best_loss = chosen, loss
    failures = 0
    while failures < _PATIENCE and perf_counter() < ends and 0 < best.sum() < problem.count:
        start = best.copy()
        kept = np.flatnonzero(best)
        start[generator.choice(kept, min(_KICK, len(kept)), replace=False)] = False
        # One that is forced in leads elsewhere.
        allowed = np.flatnonzero(_Rest(problem, start).addable & ~best)
        if len(allowed):
            start[generator.choice(allowed)] = True
        chosen, loss = _descended(problem, start, bool(failures % 2), ends)
        failures += 1
        if loss < best_loss - problem.tolerance:
            best, best_loss, failures = chosen, loss, 0
    return best


class _Rest:
    """What least squares on a subset S leaves of the loss, of the columns and of their slopes.

    With A = (G_SS)⁻¹ and M = A G_S·, a column j has d_j = G_jj − G_jS M_·j left beside S and
    the slope r_j. Without column i of S these are d_j + M_ij² / A_ii and
    r_j + b_i M_ij / A_ii, at a loss that is higher by b_i² / A_ii.
    """

    def __init__(self, problem: Products, chosen: BoolArray) -> None:
        self.problem = problem
        self.outside = ~chosen
        self.kept = np.flatnonzero(chosen)
        rows = problem.gram[self.kept]
        self.square = problem.gram.diagonal()
        self.room = problem.most_cost - float(problem.cost[self.kept].sum())
        inverse = np.empty((0, 0))
        if len(self.kept):
            inverse = _inverse(rows[:, self.kept])
        self.own = inverse.diagonal()[:, None]
        self.share = inverse @ rows
        self.weight = inverse @ problem.slopes[self.kept]
        self.slope = problem.slopes - self.weight @ rows
        self.left = self.square - np.einsum("kj,kj->j", self.share, rows)
        self.loss = max(problem.square - float(self.weight @ problem.slopes[self.kept]), 0.0)

    @property
    def addable(self) -> BoolArray:
        """(n,) which columns may be added: they fit, and do not depend on the subset."""
        fits = self.outside & (self.problem.cost <= self.room)
        if len(self.kept) >= self.problem.most:
            return np.zeros_like(fits)
        return np.asarray(fits & (self.left > DEPENDENT * self.square))

    def gains(self) -> FloatArray:
        """Return (n,) what each column takes off the loss when it is added."""
        addable = self.addable
        return np.where(addable, self.slope**2 / np.where(addable, self.left, 1.0), 0.0)

    def exchanges(self) -> FloatArray:
        """Return (s, n) what the exchange of a column of the subset for another takes off."""
        left = self.left + self.share**2 / self.own
        usable = self.outside & (left > DEPENDENT * self.square)
        usable &= self.problem.cost <= self.room + self.problem.cost[self.kept][:, None]
        slope = self.slope + self.weight[:, None] * self.share / self.own
        change = slope**2 / np.where(usable, left, 1.0) - self.weight[:, None] ** 2 / self.own
        return np.where(usable, change, -np.inf)


def _descended(
    problem: Products, start: BoolArray, by_cost: bool, ends: float
) -> tuple[BoolArray, float]:
    """Return the subset that the best additions and exchanges lead to, and its loss."""
    best, loss = start, np.inf
    chosen = start.copy()
    while True:
        move, found = _best_move(problem, chosen, by_cost)
        # Among columns that nearly depend on each other, what a move promises may be rounding.
        if not found < loss - problem.tolerance:
            return best, loss
        best, loss = chosen.copy(), found
        if move is None or perf_counter() >= ends:
            return best, loss
        out, into = move
        if out >= 0:
            chosen[out] = False
        chosen[into] = True


def _best_move(
    problem: Products, chosen: BoolArray, by_cost: bool
) -> tuple[tuple[int, int] | None, float]:
    """Return which column leaves (−1 for none) for which, and the loss before."""
    rest = _Rest(problem, chosen)
    gain = rest.gains()
    into = int((gain / problem.cost if by_cost else gain).argmax())
    if gain[into] > problem.tolerance:
        return (-1, into), rest.loss
    if len(rest.kept) == 0:
        return None, rest.loss
    change = rest.exchanges()
    out, into = divmod(int(change.argmax()), problem.count)
    if change[out, into] <= problem.tolerance:
        return None, rest.loss
    return (int(rest.kept[out]), into), rest.loss
