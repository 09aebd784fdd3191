"""The perspective relaxation over all subtrees, without listing them."""

from __future__ import annotations

import numpy as np

from formulations import JointSubtreePruning, SubtreeColumns
from formulations.arrays import FloatArray, IntArray
from formulations.kernels.joint_subtrees import list_best
from formulations.rewritings.perspective import UnitFree
from solvers._coefficients.descending.best_subset import SubsetSearch
from solvers._coefficients.descending.descent import CoefficientDescent
from solvers._coefficients.relaxing.alternation import relax
from solvers._core.base import Answer, Control

# Relative distance between the bound and the relaxation's value on the listed columns at which
# the rounds end.
_CLOSE = 1e-3

# The relaxation on the listed columns may be off by this at first, and then by this part of the
# distance that is left.
_LOOSE = 0.05
_PART = 0.2

# New subtrees of a tree in one round.
_EACH = 2


class ColumnGeneration:
    """Subtrees that may be used, and the relaxation on them.

    The relaxation on the listed subtrees has dual prices; the subtree of each tree that they
    promise most is found exactly, among all, in one pass (`JointSubtreePruning.dual_rule`). So
    every round gives a bound of the whole problem, and the subtrees to list next.

    Parameters
    ----------
    problem
        A problem with a ridge: without one the relaxation is least squares on all splits.
    first
        A solution.
    """

    def __init__(self, problem: JointSubtreePruning, first: Answer) -> None:
        assert first.choice is not None
        assert first.beta is not None
        self.problem = problem
        self.solution = (first.choice, first.beta)
        self.objective = problem.objective(*self.solution)
        self.point = problem.point(*self.solution)
        self.bound = problem.linear_bound(self.point)
        self.rounds = 0
        self._listed: list[dict[bytes, IntArray]] = [{} for _ in range(problem.data.n_trees)]
        starts = problem.rule.choice_start
        for i in np.flatnonzero(first.beta).tolist():
            self._list(i, first.choice[starts[i] : starts[i + 1]])

    @property
    def columns(self) -> SubtreeColumns:
        """The listed subtrees with their products."""
        return SubtreeColumns.of(self.problem, [list(given.values()) for given in self._listed])

    def run(self, tolerance: float, control: Control) -> None:
        """List subtrees until the bound is near the relaxation's value, or none is missing."""
        close = max(_CLOSE, tolerance)
        point, allowed, solved = self.point, _LOOSE, np.inf
        while control.stop() is None:
            if not self._price(point):
                if solved <= 0.5 * close:
                    return
                allowed = 0.0
            solved = max(allowed, 0.5 * close)
            self.rounds += 1
            columns = self.columns
            form = UnitFree.of(columns)
            if form is None:  # nothing that is listed can lower the objective
                return
            prices = relax(form, solved, control)
            point = columns.point(form.coefficients(prices.w))
            bound = self.problem.linear_bound(point)
            if bound > self.bound:
                self.point, self.bound = point, bound
            control.report(self.objective, self.bound)
            value = prices.bound * columns.constant
            apart = max(value - self.bound, 0.0) / max(value, self.problem.tolerance)
            if (solved <= 0.5 * close and apart <= close) or control.close_enough(
                self.objective, self.bound
            ):
                return
            allowed = min(allowed, _PART * apart)

    def round(self, control: Control) -> bool:
        """Search the best subset of what is listed, and descend; say if that was better."""
        columns = self.columns
        search = SubsetSearch(columns)
        search.descend(columns.coefficients(*self.solution) != 0.0, control)
        search.descend(np.zeros(columns.n_columns, dtype=np.bool_), control)
        descent = CoefficientDescent(self.problem, *columns.solution(search.best))
        descent.run(control)
        if not descent.objective < self.objective - self.problem.tolerance:
            return False
        self.solution = (descent.state.choice.copy(), descent.state.beta.copy())
        self.objective = descent.objective
        control.report(self.objective, self.bound)
        return True

    def _price(self, point: FloatArray) -> bool:
        """List the subtrees that the residual at a point promises; say if any was new."""
        problem, new = self.problem, False
        leaves = np.zeros((len(problem.data.leaf_node), problem.data.n_outputs))
        residual = problem.residual(problem.relaxed_leaf_values(point))
        for i in range(problem.data.n_trees):
            choices, values = list_best(
                problem.dual_rule, problem.data.trees, i, residual, leaves, _EACH
            )
            for choice in choices[values < 0.0]:
                new |= self._list(i, choice)
        return new

    def _list(self, i: int, marks: IntArray) -> bool:
        new = marks.tobytes() not in self._listed[i]
        self._listed[i][marks.tobytes()] = marks.copy()
        return new
