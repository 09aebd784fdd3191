"""The relaxation by block minimisation on the leaf codes, and what survives fixing."""

from __future__ import annotations

import numpy as np

from formulations import ChoiceColumns, Formulation
from formulations.arrays import FloatArray
from formulations.blocks import relaxed_sweep, total_linear_gap
from formulations.tree_kernels import squared_norm
from solvers._base import Control
from solvers._compiling import compile_by

# Sweeps after which a relaxation that converges slowly is left as it is.
_MOST_SWEEPS = 2000


class Relaxed:
    """A point of the relaxation with its residual, and sweeps on it.

    Parameters
    ----------
    problem
        The problem to relax.
    point
        Where to start.
    """

    def __init__(self, problem: Formulation, point: FloatArray) -> None:
        self.problem = problem
        self.point = problem.repaired(point)
        self.leaf_values = problem.relaxed_leaf_values(self.point)
        self.residual = problem.residual(self.leaf_values)
        self.sweeps = 0

    def run(self, tolerance: float, control: Control) -> float:
        """Sweep until the relaxation is solved to a relative gap; return its bound.

        Within a sweep each block's gap is known at another point. Only when their sum is
        small is the bound computed, which takes another pass.

        Parameters
        ----------
        tolerance
            Relative gap between the relaxation's objective and the bound.
        control
            Ends the sweeps early; the bound is one all the same.
        """
        objective = self.objective
        for last in range(_MOST_SWEEPS, -1, -1):
            allowed = max(tolerance * abs(objective), self.problem.tolerance)
            gaps = self.sweep(0.01 * allowed / self.problem.data.n_trees)
            ended = last == 0 or control.stop() is not None
            if gaps <= allowed or ended:
                objective, bound = self.objective, self.bound
                if objective - bound <= allowed or ended:
                    break
        return bound

    def sweep(self, tolerance: float) -> float:
        """Minimise over one block after the other; return the sum of their gaps before."""
        self.sweeps += 1
        return relaxed_sweep(
            self.problem.rule,
            self.problem.data.trees,
            self.residual,
            self.point,
            self.leaf_values,
            tolerance,
        )

    @property
    def objective(self) -> float:
        """Objective of the relaxation at the point."""
        data = self.problem.data
        loss = squared_norm(data.trees, self.residual) / data.total_weight
        return loss + self.problem.relaxed_penalty(self.point)

    @property
    def bound(self) -> float:
        """The Frank–Wolfe bound at the point: one pass over the rows."""
        gaps = np.empty(self.problem.data.n_trees)
        return self.objective - total_linear_gap(
            self.problem.rule, self.problem.data.trees, self.residual, self.point, gaps
        )

    def surviving(self, value: float) -> ChoiceColumns:
        """Return the problem on the choices that may be in a solution better than ``value``."""
        return ChoiceColumns.of(self.problem, self.problem.surviving_choices(self.point, value))


def compile_relaxed(problem: Formulation) -> None:
    """Compile the kernels for problems of this kind."""
    compile_by(_use_relaxed, problem)


def _use_relaxed(problem: Formulation) -> None:
    relaxed = Relaxed(problem, problem.point(problem.zero()))
    relaxed.sweep(0.0)
    relaxed.surviving(relaxed.bound)
