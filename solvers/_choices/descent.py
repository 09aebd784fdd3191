"""Cyclic block coordinate descent on the block view (FP §3.1)."""

from __future__ import annotations

import numpy as np

from formulations import Formulation
from formulations.arrays import FloatArray, IntArray
from formulations.kernels.blocks import State, full_correlations, put, sweep, total_linear_gap
from formulations.kernels.trees import squared_norm
from solvers._core.base import Control
from solvers._core.compiling import compile_by


class Descent:
    """A choice with its residual, and moves on it.

    Parameters
    ----------
    problem
        The problem to descend on.
    choice, beta
        Where to start; ``beta`` may be left out where coefficients are fixed.
    """

    def __init__(
        self, problem: Formulation, choice: IntArray, beta: FloatArray | None = None
    ) -> None:
        data = problem.data
        self.problem = problem
        self.rule = problem.rule
        self.trees = data.trees
        self.state = State(
            residual=data.row_weight[:, None] * data.target,
            choice=np.zeros_like(choice),
            beta=np.full(data.n_trees, 1.0 if beta is None else 0.0),
            leaf_value=np.zeros((len(data.leaf_node), data.n_outputs)),
            slack=np.full(data.n_trees, -1.0),
            seen_at=np.zeros(data.n_trees),
            travelled=np.zeros(1),
        )
        self._hasty = max(1.0, float(np.sqrt(data.n_trees)))
        for i in np.flatnonzero(self.kept_of(choice)):
            self.give(int(i), choice, 1.0 if beta is None else float(beta[i]))
        self.objective = self._objective()

    def kept_of(self, choice: IntArray) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """Return (n,) whether a choice keeps anything of each block."""
        return np.logical_or.reduceat(choice != 0, self.rule.choice_start[:-1])

    def give(self, i: int, choice: IntArray, beta: float = 1.0) -> None:
        """Give block i its part of a choice, and a coefficient."""
        part = slice(self.rule.choice_start[i], self.rule.choice_start[i + 1])
        put(self.rule, self.trees, self.state, i, choice[part], beta)
        self.state.slack[i] = -1.0

    def exchange(self, out: int | None, into: int | None) -> None:
        """Remove one block and keep another one whole; either may be None."""
        if out is not None:
            self.give(out, self.problem.zero())
        if into is not None:
            self.give(into, self.problem.full())
        self.objective = self._objective()

    def run(self, control: Control) -> bool:
        """Sweep to a fixed point; return False when stopped before that.

        Hasty sweeps until one is quiet, then one that leaves nothing out; when that finds a
        move, all over again.
        """
        haste = 1.0
        while True:
            moves = self._sweep(haste)
            if moves == 0 and haste == 1.0:
                self.objective = self._objective()
                return True
            haste = self._hasty if moves else 1.0
            if control.stop() is not None:
                return False

    def beats(self, target: float, control: Control) -> bool:
        """Sweep hastily while the objective may still fall below ``target``; say if it did.

        The gains of a descent shrink from sweep to sweep: once the distance to the target is
        ten times the last gain, it is given up. Moves that even together could not bring it
        nearer by a tenth of that distance are left out.
        """
        n_trees = self.problem.data.n_trees
        while True:
            before = self.objective
            short = max(before - target, 0.0)
            least = max(0.1 * short / n_trees, self.problem.tolerance)
            quiet = self._sweep(self._hasty, least) == 0
            short = self.objective - target
            if quiet or short > 10.0 * (before - self.objective) or control.stop() is not None:
                self.objective = self._objective()
                return self.objective < target

    @property
    def point(self) -> FloatArray:
        """The present choice as a point of the relaxation."""
        return self.problem.point(self.state.choice, self.state.beta)

    def bound(self) -> float:
        """Return the Frank–Wolfe bound at the present choice: one pass over the rows."""
        gaps = np.empty(self.problem.data.n_trees)
        return self.objective - total_linear_gap(
            self.rule, self.trees, self.state.residual, self.point, gaps
        )

    def correlations(self, of_target: bool) -> FloatArray:
        """Return (n,) ⟨r, t_i⟩ / ‖t_i‖ of each whole tree with the residual or the target."""
        data = self.problem.data
        residual = data.row_weight[:, None] * data.target if of_target else self.state.residual
        correlations = np.empty(data.n_trees)
        full_correlations(self.rule, self.trees, residual, self.problem.full(), correlations)
        return correlations

    def saved(self) -> State:
        """Return a copy of the state, to `restore` later."""
        return State._make(array.copy() for array in self.state)

    def restore(self, saved: State, objective: float) -> None:
        """Go back to a saved state and its objective."""
        for array, before in zip(self.state, saved, strict=True):
            array[...] = before
        self.objective = objective

    def _sweep(self, haste: float, tolerance: float | None = None) -> int:
        allowed = self.problem.tolerance if tolerance is None else tolerance
        moves, gain = sweep(self.rule, self.trees, self.state, allowed, haste)
        self.objective -= gain
        return moves

    def _objective(self) -> float:
        loss = squared_norm(self.trees, self.state.residual) / self.trees.total_weight
        return loss + self.problem.price(self.state.choice, self.state.beta)


def compile_descent(problem: Formulation) -> None:
    """Compile the kernels for problems of this kind."""
    compile_by(_use_descent, problem)


def _use_descent(problem: Formulation) -> None:
    descent = Descent(problem, problem.zero())
    descent.exchange(None, 0)
    descent.run(Control())
    descent.bound()
    descent.correlations(of_target=False)
