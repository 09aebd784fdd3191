"""A limit on the number of nodes, met by a search for α."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from formulations import Formulation, InvalidInput, PruningData
from formulations.arrays import non_negative_number
from solvers import Result, Termination

# α rises and falls by this factor until one model meets the limit and the next does not.
_STEP = 10.0
_MOST_STEPS = 9

# Ratio of two values of α that are not told apart, and the part of the limit that is enough.
_SAME = 1.001
_ENOUGH = 0.999

_ENDED = (Termination.TIME_LIMIT, Termination.INTERRUPTED, Termination.CALLBACK)


class BudgetSearch:
    """Bisection on α for the largest model of at most so many nodes.

    As α rises the optimum gets smaller, in steps: sizes between two steps belong to no α. So
    what is found may have fewer nodes than allowed. It is a solution for its own α, and what
    is proven of it is proven there. The search ends within 0.1 % of the limit.

    Parameters
    ----------
    problem
        A formulation with an α, whatever its value.
    max_nodes
        The limit, roots of kept trees counted.
    solve
        Called with a problem and options of `solvers.solve`; its result has a choice.
    options
        Options of `solvers.solve`. A time limit, 60 seconds by default, is that of the search.

    Attributes
    ----------
    alpha, result, nodes
        The largest model so far: its α in units of y², the solver's result, its size.
    """

    def __init__(
        self,
        problem: Formulation,
        max_nodes: int,
        solve: Callable[..., Result],
        options: dict[str, Any],
    ) -> None:
        self.problem = problem
        self.max_nodes = max_nodes
        self.alpha = np.inf
        self.result: Result | None = None
        self.nodes = -1
        self._solve = solve
        self._options = dict(options)
        limit = self._options.pop("time_limit", 60.0)
        self._left = np.inf if limit is None else non_negative_number("time_limit", limit)
        self._ended = False

    def run(self) -> tuple[float, Result]:
        """Search; return α in units of y² and the result there.

        Raises
        ------
        InvalidInput
            When no α tried is large enough, since nodes of weight 0 cost nothing.
        """
        if self.max_nodes >= _all_nodes(self.problem.data):
            self._fits(0.0)
        else:
            self._bisect()
        if self.result is None:
            raise InvalidInput(
                f"max_nodes={self.max_nodes} is not met by raising alpha: "
                "nodes of weight 0 are free"
            )
        return self.alpha, self.result

    def _bisect(self) -> None:
        top = high = self.problem.alpha_max()
        for _ in range(_MOST_STEPS):
            if self._fits(high) or self._ended:
                break
            high *= _STEP
        if self.result is None or high == 0.0 or self.max_nodes < smallest_tree(self.problem.data):
            return
        low = high / _STEP
        while not self._ended and self._fits(low):
            if low == 0.0:
                return
            high, low = low, low / _STEP if low * _STEP**_MOST_STEPS > top else 0.0
        # Models between the smallest α tried and 0 hardly differ from that of 0.
        enough = _ENOUGH * self.max_nodes
        while not self._ended and self.nodes < enough and 0.0 < _SAME * low < high:
            middle = float(np.sqrt(low * high))
            if self._fits(middle):
                high = middle
            else:
                low = middle

    def _fits(self, alpha: float) -> bool:
        """Solve at an α; return whether the limit is met, and keep the largest such model."""
        problem = self.problem.with_alpha(alpha)
        limit = None if np.isinf(self._left) else self._left
        result = self._solve(problem, time_limit=limit, warm_start=self.result, **self._options)
        self._left -= result.build_seconds + result.solve_seconds
        self._ended = self._left <= 0.0 or result.termination in _ENDED
        assert result.choice is not None
        nodes = problem.kept_nodes(result.choice, result.beta)
        # Of equal sizes that of the smaller α fits better.
        fits = nodes <= self.max_nodes
        if fits and (nodes, -alpha) > (self.nodes, -self.alpha):
            self.alpha, self.result, self.nodes = alpha, result, nodes
        return fits


def smallest_tree(data: PruningData) -> int:
    """Return the number of nodes of the smallest tree with a split, its root counted."""
    return min((int(sizes[0]) + 1 for sizes in data.layer_sizes if len(sizes)), default=1)


def _all_nodes(data: PruningData) -> int:
    return sum(int(sizes.sum()) + 1 for sizes in data.layer_sizes if len(sizes))
