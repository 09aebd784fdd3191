"""The relaxation by block minimisation on the leaf codes, and what survives fixing."""

from __future__ import annotations

import numpy as np

from formulations import ChoiceColumns, ChoiceFormulation
from formulations.arrays import FloatArray
from formulations.kernels.blocks import total_linear_gap
from formulations.kernels.trees import squared_norm, subtract_all
from solvers._choices.columns import relax_all
from solvers._choices.sweeps import RelaxedState, relaxed_sweep
from solvers._core.base import Control
from solvers._core.compiling import compile_by

# Sweeps after which a relaxation that converges slowly is left as it is.
_MOST_SWEEPS = 2000

# Weights below this are rounding.
_LEAST_WEIGHT = 1e-12

# About what things cost, in ns. A visit of a block: the call, each row. Weighing: the calls,
# each tree, each open block, each row of a column, each row of a product of two columns.
_VISIT = (2_000.0, 0.7)
_WEIGHING = (3e6, 3_000.0, 40_000.0, 2.0, 0.025)


class Relaxed:
    """A point of the relaxation with its residual, and moves on it.

    Parameters
    ----------
    problem
        The problem to relax.
    point
        Where to start.
    """

    def __init__(self, problem: ChoiceFormulation, point: FloatArray) -> None:
        self.problem = problem
        feasible = problem.repaired(point)
        leaf_value = problem.relaxed_leaf_values(feasible)
        self.state = RelaxedState(
            residual=problem.residual(leaf_value),
            point=feasible,
            leaf_value=leaf_value,
            slack=np.full(problem.data.n_trees, -1.0),
            seen_at=np.zeros(problem.data.n_trees),
            travelled=np.zeros(1),
        )
        lengths = np.diff(problem.rule.point_start)
        self._block = np.repeat(np.arange(problem.data.n_trees), lengths)
        self._hasty = max(1.0, float(np.sqrt(problem.data.n_trees)))

    def run(self, tolerance: float, control: Control) -> float:
        """Solve the relaxation to a relative gap; return its bound.

        Sweeps find which choices have weight, but they crawl towards how much: that takes
        trees that are alike to move together. So from time to time the choices that the last
        sweep has found are weighed against each other on their Gram matrix, all others kept;
        the more that costs, the more sweeps come before it.

        Sweeps are hasty, and a block's gap within a sweep is known at another point. Only when
        their sum is small is the bound computed, which takes a pass over all blocks and shows
        which were left too early. When the sum has misled, choices are weighed before it is
        trusted again.

        Parameters
        ----------
        tolerance
            Relative gap between the relaxation's objective and the bound.
        control
            Ends the sweeps early; the bound is one all the same.
        """
        objective = self.objective
        n_trees = self.problem.data.n_trees
        spent, misled = 0.0, False
        for last in range(_MOST_SWEEPS, -1, -1):
            allowed = max(tolerance * abs(objective), self.problem.tolerance)
            before = self.point.copy()
            gaps, visits = self.sweep(0.01 * allowed / n_trees)
            spent += visits * self._visit_cost
            ended = last == 0 or control.stop() is not None
            if ended or (gaps <= allowed and not misled):
                objective = self.objective
                allowed = max(tolerance * abs(objective), self.problem.tolerance)
                left = self.gaps()
                if left.sum() <= allowed or ended:
                    break
                self.state.slack[left > 0.1 * allowed / n_trees] = -1.0
                misled = True
            elif misled or self._weighing_cost(before) <= spent:
                self.weigh(before, 0.01 * allowed)
                spent, misled = 0.0, False
        return objective - float(left.sum())

    def sweep(self, tolerance: float) -> tuple[float, int]:
        """Minimise over one block after the other; return the sum of their gaps, and visits."""
        return relaxed_sweep(
            self.problem.rule, self.problem.data.trees, self.state, tolerance, self._hasty
        )

    def weigh(self, before: FloatArray, tolerance: float) -> None:
        """Minimise over the weights of the choices that the point or ``before`` mixes."""
        problem, state = self.problem, self.state
        data, trees = problem.data, problem.data.trees
        tree, choices, weights = problem.parts(state.point)
        more_tree, more_choices, _ = problem.parts(before)
        rows, origin = np.unique(
            np.column_stack(
                [np.concatenate([tree, more_tree]), np.concatenate([choices, more_choices])]
            ),
            axis=0,
            return_inverse=True,
        )
        mixed = np.zeros(len(rows))
        mixed[origin[: len(tree)]] = weights
        counts = np.bincount(rows[:, 0], minlength=data.n_trees)
        listed = np.split(rows[:, 1:], np.cumsum(counts)[:-1])
        moving = counts > 1
        of_leaves = np.repeat(moving, np.diff(data.leaf_start))[:, None]
        without = state.residual.copy()
        subtract_all(trees, np.where(of_leaves, -state.leaf_value, 0.0), without)
        columns = ChoiceColumns.of(problem, listed, without)
        weights = mixed[moving[rows[:, 0]]]
        relax_all(columns, weights, tolerance)
        weights[weights < _LEAST_WEIGHT] = 0.0
        of_point = np.repeat(moving, np.diff(problem.rule.point_start))
        np.copyto(state.point, columns.point(weights), where=of_point)
        np.copyto(state.leaf_value, problem.relaxed_leaf_values(state.point), where=of_leaves)
        subtract_all(trees, np.where(of_leaves, state.leaf_value, 0.0), without)
        state.travelled[0] += np.sqrt(squared_norm(trees, without - state.residual))
        state.slack[moving] = -1.0
        state.residual[...] = without

    @property
    def point(self) -> FloatArray:
        """The relaxed point."""
        return self.state.point

    @property
    def objective(self) -> float:
        """Objective of the relaxation at the point."""
        data = self.problem.data
        loss = squared_norm(data.trees, self.state.residual) / data.total_weight
        return loss + self.problem.relaxed_penalty(self.point)

    @property
    def bound(self) -> float:
        """The Frank–Wolfe bound at the point: one pass over the rows."""
        return self.objective - float(self.gaps().sum())

    def gaps(self) -> FloatArray:
        """Return (n,) the linear gap of every block at the point."""
        gaps = np.empty(self.problem.data.n_trees)
        trees, state = self.problem.data.trees, self.state
        total_linear_gap(self.problem.rule, trees, state.residual, state.point, gaps)
        return gaps

    def surviving(self, value: float) -> ChoiceColumns:
        """Return the problem on the choices that may be in a solution better than ``value``."""
        return ChoiceColumns.of(self.problem, self.problem.surviving_choices(self.point, value))

    @property
    def _visit_cost(self) -> float:
        call, row = _VISIT
        return call + row * self.problem.data.n_rows * self.problem.data.n_outputs

    def _weighing_cost(self, before: FloatArray) -> float:
        """About how long `weigh` takes, in ns."""
        data = self.problem.data
        free = (self.point != before) | ((self.point > 0.0) & (self.point < 1.0))
        if not free.any():  # there is nothing to weigh
            return np.inf
        blocks = int(np.count_nonzero(np.bincount(self._block[free])))
        columns = float(blocks + free.sum())
        rows = data.n_rows * data.n_outputs
        call, per_tree, block, write, product = _WEIGHING
        matrix = rows * columns * (write + product * columns)
        return call + per_tree * data.n_trees + block * blocks + matrix


def compile_relaxed(problem: ChoiceFormulation) -> None:
    """Compile the kernels for problems of this kind."""
    compile_by(_use_relaxed, problem)


def _use_relaxed(problem: ChoiceFormulation) -> None:
    relaxed = Relaxed(problem, problem.point(problem.zero()))
    relaxed.sweep(0.0)
    relaxed.weigh(problem.point(problem.full()), 0.0)
    relaxed.surviving(relaxed.bound)
