"""Coordinate descent where coefficients are free: block updates, and refits of all at once."""

from __future__ import annotations

import numpy as np

from formulations import CoefficientFormulation, JointSubtreePruning
from formulations.arrays import BoolArray, FloatArray, IntArray
from formulations.kernels.coefficients import column_products
from solvers._choices.descent import Descent
from solvers._coefficients.descending.support import SupportGram
from solvers._core.base import Control
from solvers._core.compiling import compile_by

# Coefficients are refitted once a sweep gains less than this part of the objective; before
# that, gains below this part of the last sweep's, shared over the blocks, are left for later.
_COARSE = 0.01

FreeProblem = CoefficientFormulation | JointSubtreePruning


class CoefficientDescent(Descent):
    """A choice and coefficients with their residual, and moves on them.

    Block by block, coefficients of similar trees converge slowly. So once the sweeps gain
    little, the coefficients of all kept trees are computed at once, from the products of
    their columns, and between sweeps over all trees the kept ones alone are settled. At a
    fixed point no block can be improved and no coefficients are better.

    Parameters
    ----------
    problem
        A problem without an intercept and without a limit on the number of trees.
    choice, beta
        Where to start.
    """

    def __init__(self, problem: FreeProblem, choice: IntArray, beta: FloatArray) -> None:
        super().__init__(problem, choice, beta)
        self._gram = SupportGram(problem)

    def run(self, control: Control) -> bool:
        """Sweep and refit to a fixed point; return False when stopped before that."""
        gain = np.inf
        while gain > max(_COARSE * self.objective, self.problem.tolerance):
            if control.stop() is not None:
                return False
            before = self.objective
            self._visit(np.ones(len(self.state.beta), dtype=np.bool_), _COARSE * min(gain, before))
            gain = before - self.objective
        while True:
            self._settle(control)
            choice = self.state.choice.copy()
            self._visit(np.ones(len(self.state.beta), dtype=np.bool_), 0.0)
            if np.array_equal(choice, self.state.choice):
                self.refit()
                return True
            if control.stop() is not None:
                return False

    def _settle(self, control: Control) -> None:
        """Refit, and sweep over the kept trees only, until no choice changes."""
        while True:
            self.refit()
            if control.stop() is not None:
                return
            choice = self.state.choice.copy()
            self._visit(self.state.beta != 0.0, 0.0)
            if np.array_equal(choice, self.state.choice):
                return

    def _visit(self, blocks: BoolArray, tolerance: float) -> None:
        """Sweep over some blocks (n,); gains below ``tolerance`` in all are left for later."""
        self.state.slack[:] = np.where(blocks, -1.0, np.inf)
        self._sweep(1.0, max(self.problem.tolerance, tolerance / len(blocks)))

    def refit(self) -> None:
        """Give the kept trees the best coefficients for their choices."""
        kept = np.flatnonzero(self.state.beta)
        for i, beta in zip(kept, self._gram.refit(self.state.choice, kept), strict=True):
            self.give(int(i), self.state.choice, float(beta))
        self.objective = self._objective()


def column_gains(problem: CoefficientFormulation, residual: FloatArray) -> FloatArray:
    """Return by how much each column alone would lower the objective, (columns,)."""
    rule = problem.rule
    products = np.empty(problem.n_columns)
    column_products(rule, problem.data.trees, residual, products)
    length = rule.square + rule.ridge
    with_length = rule.square > 0.0
    shares = np.divide(products**2, length, out=np.zeros_like(length), where=with_length)
    return np.asarray(shares / problem.data.total_weight - rule.cost)


def compile_coefficient_descent(problem: FreeProblem) -> None:
    """Compile the kernels for problems of this kind."""
    compile_by(_use_descent, problem)


def _use_descent(problem: FreeProblem) -> None:
    descent = CoefficientDescent(problem, problem.zero(), np.zeros(problem.data.n_trees))
    descent.run(Control())
    if isinstance(problem, CoefficientFormulation):
        column_gains(problem, descent.state.residual)
    problem.linear_bound(descent.point)
