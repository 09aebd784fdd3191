"""A limit on the number of nodes, met by a search for α."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from formulations import Formulation, InvalidInput, PruningData
from formulations.arrays import non_negative_number
from solvers import Guarantee, Result, Termination

# α rises and falls by this factor until one model meets the limit and the next does not.
_STEP = 10.0
_MOST_STEPS = 9

# Ratio of two values of α that are not told apart, and the part of the limit that is enough.
_SAME = 1.001
_ENOUGH = 0.999

# A guess is at least this part of the way, in logs, from both α between which it is made.
_LEAST_SHARE = 0.05

# Relative gap that a rough solution may have.
_ANY_GAP = 1e9

_ENDED = (Termination.TIME_LIMIT, Termination.INTERRUPTED, Termination.CALLBACK)


class _Tried(NamedTuple):
    """An α and the number of nodes of the model there."""

    alpha: float
    nodes: int


class BudgetSearch:
    """Search over α for the largest model of at most so many nodes.

    As α rises the optimum gets smaller, in steps: sizes between two steps belong to no α. So
    what is found may have fewer nodes than allowed. It is a solution for its own α, and what
    is proven of it is proven there. The search ends within 0.1 % of the limit, or where α
    is known to 0.1 %.

    Where the limit lies is found with rough solutions, for which any gap is good enough; only
    from there on is it solved as asked.

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
        if self._options.get("callback") is not None:
            self._options["callback"] = self._heard(self._options["callback"])
        self._rough: Result | None = None

    def run(self) -> tuple[float, Result]:
        """Search; return α in units of y² and the result there.

        Raises
        ------
        InvalidInput
            When no α tried is large enough, since nodes of weight 0 cost nothing.
        """
        if self.max_nodes >= _all_nodes(self.problem.data):
            self._tried(0.0)
        else:
            self._search()
        if self.result is None:
            raise InvalidInput(
                f"max_nodes={self.max_nodes} is not met by raising alpha: "
                "nodes of weight 0 are free"
            )
        return self.alpha, self.result

    def _search(self) -> None:
        found = self._bracket()
        if found is None:
            return
        low, high = self._narrow(*found, rough=True)
        rough = (self.alpha, self.result, self.nodes)
        self._forget()
        alpha, step = high.alpha, _SAME
        for _ in range(_MOST_STEPS):
            if self._ended:
                break
            high = self._tried(alpha)
            if high.nodes <= self.max_nodes:
                break
            low, alpha, step = high, alpha * step, step**2
        if self.result is not None:
            self._narrow(low, high, rough=False)
        elif rough[1] is not None:
            # No solution as asked meets the limit, or there was no time for one. What there is
            # has been called optimal at any gap.
            self.alpha, _, self.nodes = rough
            self.result = replace(rough[1], guarantee=Guarantee.FEASIBLE)

    def _forget(self) -> None:
        """Start anew, from the rough solution."""
        self.alpha, self.result, self.nodes = np.inf, None, -1

    def _bracket(self) -> tuple[_Tried, _Tried] | None:
        """Return an α too small for the limit and one that meets it, roughly solved.

        None when there is no such pair; then the result is what there is.
        """
        alpha = top = self.problem.alpha_max()
        for _ in range(_MOST_STEPS):
            high = self._tried(alpha, rough=True)
            if self._ended or high.nodes <= self.max_nodes:
                break
            alpha *= _STEP
        if self.result is None:
            return None
        if high.alpha == 0.0 or self.max_nodes < smallest_tree(self.problem.data):
            self._tried(high.alpha)
            return None
        low = high
        while not self._ended and low.nodes <= self.max_nodes:
            if low.alpha == 0.0:
                self._tried(0.0)
                return None
            high, alpha = low, low.alpha / _STEP
            low = self._tried(alpha if alpha * _STEP**_MOST_STEPS > top else 0.0, rough=True)
        return low, high

    def _narrow(self, low: _Tried, high: _Tried, rough: bool) -> tuple[_Tried, _Tried]:
        """Move an α too small for the limit and one that meets it towards each other."""
        # Models between the smallest α tried and 0 hardly differ from that of 0.
        enough = _ENOUGH * self.max_nodes
        halve = False
        while not self._ended and self.nodes < enough and 0.0 < _SAME * low.alpha < high.alpha:
            width = high.alpha / low.alpha
            share = 0.5 if halve else self._share(low, high)
            middle = self._tried(low.alpha * width**share, rough)
            if middle.nodes <= self.max_nodes:
                high = middle
            else:
                low = middle
            # Sizes rise in steps: where guesses do not help, halving does.
            halve = not halve and (high.alpha / low.alpha) ** 2 > width
        return low, high

    def _share(self, low: _Tried, high: _Tried) -> float:
        """Return where between two α, in logs, the limit may be: sizes are about a power of α."""
        wanted = 0.5 * (1.0 + _ENOUGH) * self.max_nodes
        if high.nodes < 1:
            return 0.5
        share = np.log(low.nodes / wanted) / np.log(low.nodes / high.nodes)
        return float(np.clip(share, _LEAST_SHARE, 1.0 - _LEAST_SHARE))

    def _tried(self, alpha: float, rough: bool = False) -> _Tried:
        """Solve at an α; keep what is found if it is the largest that meets the limit."""
        problem = self.problem.with_alpha(alpha)
        options = self._options | ({"gap": _ANY_GAP} if rough else {})
        limit = None if np.isinf(self._left) else self._left
        start = self.result or self._rough
        result = self._solve(problem, time_limit=limit, warm_start=start, **options)
        self._left -= result.build_seconds + result.solve_seconds
        self._ended |= self._left <= 0.0 or result.termination in _ENDED
        assert result.choice is not None
        nodes = problem.kept_nodes(result.choice, result.beta)
        # Of equal sizes that of the smaller α fits better.
        if nodes <= self.max_nodes and (nodes, -alpha) > (self.nodes, -self.alpha):
            self.alpha, self.result, self.nodes = alpha, result, nodes
            self._rough = result if rough else self._rough
        return _Tried(alpha, nodes)

    def _heard(self, callback: Callable[[Any], Any]) -> Callable[[Any], bool]:
        """Return a callback that ends the search, too; a solution may be done at the same time."""

        def heard(entry: Any) -> bool:
            stop = bool(callback(entry))
            self._ended |= stop
            return stop

        return heard


def smallest_tree(data: PruningData) -> int:
    """Return the number of nodes of the smallest tree with a split, its root counted."""
    return min((int(sizes[0]) + 1 for sizes in data.layer_sizes if len(sizes)), default=1)


def _all_nodes(data: PruningData) -> int:
    return sum(int(sizes.sum()) + 1 for sizes in data.layer_sizes if len(sizes))
