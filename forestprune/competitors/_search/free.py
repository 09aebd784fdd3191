"""Exact search for best subsets with free coefficients."""

from __future__ import annotations

from time import perf_counter

import numpy as np

from forestprune.competitors._search.subsets import Found, Products
from forestprune.competitors._search.swaps import DEPENDENT, fitted, searched
from formulations.arrays import FloatArray, IntArray
from formulations.kernels.compiled import kernel
from solvers import Termination

# Part of the time that the local search before it may take.
_BEFORE = 0.3


def best_free(problem: Products, time_limit: float, gap: float = 1e-6) -> Found:
    """Return the subset of least loss, its coefficients free, or what is known in time.

    Parameters
    ----------
    problem
        What is searched.
    time_limit
        Seconds.
    gap
        Relative gap at which the search may end.
    """
    began = perf_counter()
    chosen = searched(problem, began + _BEFORE * time_limit)
    search = _Search(problem, chosen.nonzero()[0], began + time_limit, gap)
    bound = search.run()
    best = np.zeros(problem.count, dtype=np.bool_)
    best[search.best] = True
    coefficients, loss = fitted(problem, best)
    ended = Termination.TIME_LIMIT if search.out_of_time else Termination.EXHAUSTED
    return Found(search.best, coefficients, loss, min(bound, loss), ended)


class _Search:
    """Subsets in lexicographic order, strong columns first; a suffix is cut off as a whole.

    At a node some columns are in. The columns behind, from one on to the last, cannot do better
    than least squares on all of them (the bound of leaps and bounds, Furnival and Wilson 1974);
    of all suffixes these losses come from one factorisation, last column first. Where no more
    than two columns fit, all pairs are looked at.
    """

    def __init__(self, problem: Products, best: IntArray, ends: float, gap: float) -> None:
        self.problem = problem
        self.best = best
        chosen = np.zeros(problem.count, dtype=np.bool_)
        chosen[best] = True
        self.loss = fitted(problem, chosen)[1]
        self.out_of_time = False
        self._ends = ends
        self._gap = gap

    def run(self) -> float:
        """Search; return a bound of the least loss."""
        problem = self.problem
        columns = np.arange(problem.count)
        unseen = self._below(columns, problem.gram, problem.slopes.copy(), problem.square, [], 0.0)
        # What was cut off is no better than the best by more than the gap and rounding.
        return min(unseen, self._enough)

    def _below(
        self,
        columns: IntArray,
        gram: FloatArray,
        slope: FloatArray,
        loss: float,
        inside: list[int],
        spent: float,
    ) -> float:
        """Search the subsets of some columns beside those inside; bound what was not looked at.

        Parameters
        ----------
        columns
            (c,) those that may be added.
        gram, slope, loss
            (c, c), (c,) and a number: products of what the columns inside leave of these.
        inside, spent
            Columns inside, and their costs.
        """
        problem = self.problem
        square = problem.gram.diagonal()[columns]
        usable = gram.diagonal() > DEPENDENT * square
        usable &= problem.cost[columns] <= problem.most_cost - spent
        room = problem.room(problem.cost[columns[usable]], spent, len(inside))
        if room == 0:
            return np.inf
        gain = slope**2 / np.where(usable, gram.diagonal(), np.inf)
        order = np.argsort(-gain)[: int(usable.sum())]
        columns, slope = columns[order], slope[order]
        gram = np.ascontiguousarray(gram[np.ix_(order, order)])
        cost = problem.cost[columns]
        if room <= 2:
            pair, least = _best_pair(
                gram, slope, cost, problem.most_cost - spent, room, DEPENDENT * square[order]
            )
            self._offer([*inside, *columns[pair[: 1 + (pair[1] >= 0)]].tolist()], loss - least)
            return np.inf
        self._offer([*inside, int(columns[0])], loss - gain[order[0]])
        bounds = loss - _suffix_gains(gram, slope, DEPENDENT * square[order])
        unseen = np.inf
        for place in range(len(columns)):
            if bounds[place] >= self._enough:
                break
            if self.out_of_time or perf_counter() > self._ends:
                self.out_of_time = True
                return float(min(unseen, bounds[place]))
            behind = slice(place + 1, None)
            row = gram[place, behind] / gram[place, place]
            unseen = min(
                unseen,
                self._below(
                    columns[behind],
                    gram[behind, behind] - np.outer(row, gram[place, behind]),
                    slope[behind] - slope[place] * row,
                    loss - slope[place] ** 2 / gram[place, place],
                    [*inside, int(columns[place])],
                    spent + float(cost[place]),
                ),
            )
        return unseen

    @property
    def _enough(self) -> float:
        return self.problem.enough(self.loss, self._gap)

    def _offer(self, columns: list[int], loss: float) -> None:
        if loss < self.loss - self.problem.tolerance:
            self.best, self.loss = np.array(sorted(columns)), float(loss)


@kernel
def _suffix_gains(gram: FloatArray, slope: FloatArray, least: FloatArray) -> FloatArray:
    """Return what least squares on the columns from each on to the last takes off the loss."""
    count = slope.shape[0]
    rows = np.zeros((count, count))
    parts = np.zeros(count)
    gains = np.zeros(count)
    total = 0.0
    used = np.zeros(count, dtype=np.int64)
    number = 0
    for place in range(count - 1, -1, -1):
        # Row ``place`` of the factor, against the columns used so far.
        left, part = gram[place, place], slope[place]
        for k in range(number):
            entry = gram[place, used[k]]
            for other in range(k):
                entry -= rows[place, other] * rows[used[k], other]
            entry /= rows[used[k], k]
            rows[place, k] = entry
            left -= entry * entry
            part -= entry * parts[k]
        if left > least[place]:
            rows[place, number] = np.sqrt(left)
            parts[number] = part / rows[place, number]
            total += parts[number] ** 2
            used[number] = place
            number += 1
        gains[place] = total
    return gains


@kernel
def _best_pair(
    gram: FloatArray,
    slope: FloatArray,
    cost: FloatArray,
    budget: float,
    most: int,
    least: FloatArray,
) -> tuple[IntArray, float]:
    """Return the one or two columns that take most off the loss, −1 for none, and how much."""
    count = slope.shape[0]
    pair = np.array([0, -1])
    best = slope[0] ** 2 / gram[0, 0]  # the strongest is first
    if most == 1:
        return pair, best
    for i in range(count):
        own = slope[i] ** 2 / gram[i, i]
        factor = slope[i] / gram[i, i]
        for j in range(i + 1, count):
            if cost[i] + cost[j] > budget:
                continue
            left = gram[j, j] - gram[i, j] ** 2 / gram[i, i]
            if left <= least[j]:
                continue
            gain = own + (slope[j] - factor * gram[i, j]) ** 2 / left
            if gain > best:
                best = gain
                pair[0], pair[1] = i, j
    return pair, best
