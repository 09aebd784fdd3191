"""Cyclic block coordinate descent on the block view (FP §3.1)."""

from __future__ import annotations

import numpy as np

from formulations import ChoiceFormulation, Formulation
from formulations.arrays import BoolArray, FloatArray, IntArray
from formulations.kernels.blocks import total_linear_gap
from formulations.kernels.trees import squared_norm
from solvers._choices.sweeps import State, copy_changed, full_correlations, put, sweep
from solvers._core.base import Control
from solvers._core.compiling import compile_by

# How much hastier than √n sweeps are at first, and by how much the haste falls after a quiet one.
_HASTE = 4.0


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
            changed=np.zeros(data.n_trees, dtype=np.int64),
        )
        self._zero, self._full = problem.zero(), problem.full()
        self._hasty = max(1.0, float(np.sqrt(data.n_trees)))
        self.sweeps = 0
        for i in np.flatnonzero(self.kept_of(choice)):
            self.give(int(i), choice, 1.0 if beta is None else float(beta[i]))
        self.objective = self._objective()

    @property
    def kept(self) -> BoolArray:
        """(n,) whether anything is kept of each block."""
        return self.kept_of(self.state.choice)

    @property
    def can_be_kept(self) -> BoolArray:
        """(n,) whether there is anything to keep of each block."""
        return self.kept_of(self._full)

    def kept_of(self, choice: IntArray) -> BoolArray:
        """Return (n,) whether a choice keeps anything of each block.

        The first entry of a block says so: a depth, or the mark of the root.
        """
        return np.asarray(choice[self.rule.choice_start[:-1]] != 0)

    def give(self, i: int, choice: IntArray, beta: float = 1.0) -> None:
        """Give block i its part of a choice, and a coefficient."""
        part = slice(self.rule.choice_start[i], self.rule.choice_start[i + 1])
        put(self.rule, self.trees, self.state, i, choice[part], beta)
        self.state.slack[i] = -1.0

    def exchange(self, out: int | None, into: int | None) -> None:
        """Remove one block and keep another one whole; either may be None."""
        before = self._loss()
        rise = 0.0
        for i, choice in ((out, self._zero), (into, self._full)):
            if i is not None:
                price = self._price_of(i)
                self.give(i, choice)
                rise += self._price_of(i) - price
        self.objective += self._loss() - before + rise

    def run(self, control: Control) -> bool:
        """Sweep to a fixed point; return False when stopped before that.

        The haste falls as sweeps become quiet. Only one that leaves nothing out shows a fixed
        point; when that finds a move, all over again.
        """
        haste = 1.0
        while True:
            moves = self._sweep(haste)
            if moves == 0 and haste == 1.0:
                self.objective = self._objective()
                return True
            haste = _HASTE * self._hasty if moves else max(haste / _HASTE, 1.0)
            if control.stop() is not None:
                return False

    def settle(self, control: Control) -> None:
        """Sweep hastily until a sweep is quiet: near a fixed point, which is not shown."""
        while self._sweep(self._hasty) > 0 and control.stop() is None:
            pass
        self.objective = self._objective()

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
                if short < self.problem.tolerance:  # else rounding cannot make it true
                    self.objective = self._objective()
                return self.objective < target

    @property
    def point(self) -> FloatArray:
        """The present choice as a point of the relaxation."""
        return self.problem.point(self.state.choice, self.state.beta)

    def bound(self, point: FloatArray) -> float:
        """Return the Frank–Wolfe bound at the present choice, ``point``: a pass over the rows."""
        gaps = np.empty(self.problem.data.n_trees)
        return self.objective - total_linear_gap(
            self.rule, self.trees, self.state.residual, point, gaps
        )

    def correlations(self, blocks: IntArray, of_target: bool) -> FloatArray:
        """Return ⟨r, t_i⟩ / ‖t_i‖ of some whole trees with the residual or the target."""
        data = self.problem.data
        residual = data.row_weight[:, None] * data.target if of_target else self.state.residual
        correlations = np.empty(len(blocks))
        full_correlations(self.rule, self.trees, residual, self._full, blocks, correlations)
        return correlations

    def saved(self) -> State:
        """Return a copy of the state, to `restore` later."""
        self.state.changed[:] = 0
        return State._make(array.copy() for array in self.state)

    def save(self, saved: State) -> None:
        """Bring the last copy of the state up to date."""
        copy_changed(self.rule, self.trees, self.state, self.state, saved)

    def restore(self, saved: State, objective: float) -> None:
        """Go back to the last copy of the state and its objective."""
        copy_changed(self.rule, self.trees, self.state, saved, self.state)
        self.objective = objective

    def _sweep(self, haste: float, tolerance: float | None = None) -> int:
        allowed = self.problem.tolerance if tolerance is None else tolerance
        moves, gain = sweep(self.rule, self.trees, self.state, allowed, haste)
        self.sweeps += 1
        self.objective -= gain
        return moves

    def _objective(self) -> float:
        return self._loss() + self.problem.price(self.state.choice, self.state.beta)

    def _loss(self) -> float:
        return squared_norm(self.trees, self.state.residual) / self.trees.total_weight

    def _price_of(self, i: int) -> float:
        """Return what block i's choice costs, without a look at the others."""
        assert isinstance(self.problem, ChoiceFormulation)
        part = self.state.choice[self.rule.choice_start[i] : self.rule.choice_start[i + 1]]
        return float(self.problem.block_costs(i, part[None])[0])


def compile_descent(problem: Formulation) -> None:
    """Compile the kernels for problems of this kind."""
    compile_by(_use_descent, problem)


def _use_descent(problem: Formulation) -> None:
    descent = Descent(problem, problem.zero())
    descent.run(Control())
    saved = descent.saved()
    if isinstance(problem, ChoiceFormulation):
        descent.exchange(None, 0)
    descent.save(saved)
    descent.bound(descent.point)
    descent.correlations(np.arange(1), of_target=False)
