"""Iterative hard thresholding: all trees step at once (Blumensath and Davies 2009)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from formulations import ChoiceFormulation
from formulations.arrays import FloatArray, IntArray
from formulations.kernels.blocks import fill_all_leaves, respond, widest
from formulations.kernels.compiled import kernel
from formulations.kernels.trees import Trees, squared_norm, subtract_all, sum_leaves, sum_nodes
from solvers._coefficients.iht import IHTCoefficients
from solvers._coefficients.thresholding import Steps, search
from solvers._core.base import Answer, Control, Solver, require_count
from solvers._core.compiling import compile_by


@dataclass(frozen=True)
class IHTOptions:
    """Options of `IHT`.

    Attributes
    ----------
    restarts
        How often to start again from the best point without half of its trees.
    """

    restarts: int = 5

    def __post_init__(self) -> None:
        require_count("restarts", self.restarts)


@kernel
def sum_all_leaves(trees: Trees, residual: FloatArray, leaf_sum: FloatArray) -> None:
    """Set ``leaf_sum`` (leaves, q) to the sums of the residual over each leaf of each tree."""
    for i in range(trees.codes.shape[0]):
        sum_leaves(
            trees.codes[i], residual, leaf_sum[trees.leaf_start[i] : trees.leaf_start[i + 1]]
        )


@kernel
def respond_all(
    rule: Any,
    trees: Trees,
    leaf_sum: FloatArray,
    leaf_value: FloatArray,
    curvature: float,
    choice: IntArray,
    tolerance: float,
) -> None:
    """Write the step of every block over ``choice``.

    The problem of block i in `solvers._coefficients.thresholding`, divided by κ, is its update by
    coordinate descent with the residual r / κ + t_i, t_i its present prediction, and all costs
    divided by κ: those of ``rule``. A step depends on no other block's.
    """
    node_sum = np.empty((widest(trees.node_start), leaf_sum.shape[1]))
    sums = np.empty((widest(trees.leaf_start), leaf_sum.shape[1]))
    beta = np.ones(1)
    for i in range(trees.codes.shape[0]):
        begin, end = trees.leaf_start[i], trees.leaf_start[i + 1]
        for leaf in range(begin, end):
            for o in range(leaf_sum.shape[1]):
                own = trees.leaf_weight[leaf] * leaf_value[leaf, o]
                sums[leaf - begin, o] = leaf_sum[leaf, o] / curvature + own
        sum_nodes(trees, i, sums[: end - begin], node_sum)
        part = choice[rule.choice_start[i] : rule.choice_start[i + 1]]
        respond(rule, trees, i, node_sum, part, beta, tolerance)


@dataclass(frozen=True, eq=False)
class _Choice:
    """A choice, what its leaves predict, its residual and objective."""

    problem: ChoiceFormulation
    choice: IntArray
    leaf_value: FloatArray
    residual: FloatArray
    objective: float

    @cached_property
    def leaf_sum(self) -> FloatArray:
        """(leaves, q) sums of the residual: the pass over the rows that all steps share."""
        sums = np.empty_like(self.leaf_value)
        sum_all_leaves(self.problem.data.trees, self.residual, sums)
        return sums


class _ChoiceSteps(Steps[_Choice]):
    """Steps of problems with fixed coefficients, in the block view."""

    def __init__(self, problem: ChoiceFormulation) -> None:
        self.problem = problem
        self.blocks = problem.data.n_trees
        self.tolerance = problem.tolerance
        self._rules: dict[float, Any] = {}

    def at(self, choice: IntArray) -> _Choice:
        """Return a choice as a point to step from."""
        values = self.problem.leaf_values(choice)
        return self._moved(choice, values, self.problem.residual(values))

    def step(self, at: _Choice, curvature: float) -> _Choice | None:
        """Return the choice after a step of all blocks, or None when it stays."""
        if curvature not in self._rules:
            self._rules[curvature] = self.problem.with_alpha(self.problem.alpha / curvature).rule
        rule, trees = self._rules[curvature], self.problem.data.trees
        choice = at.choice.copy()
        respond_all(
            rule, trees, at.leaf_sum, at.leaf_value, curvature, choice, self.tolerance / curvature
        )
        if np.array_equal(choice, at.choice):
            return None
        values = np.empty_like(at.leaf_value)
        fill_all_leaves(rule, trees, choice, values)
        residual = at.residual.copy()
        subtract_all(trees, values - at.leaf_value, residual)
        return self._moved(choice, values, residual)

    def disturbed(self, at: _Choice, generator: np.random.Generator) -> _Choice:
        """Return a choice that keeps about half of the kept trees, and another one whole."""
        start = self.problem.rule.choice_start
        kept = np.logical_or.reduceat(at.choice != 0, start[:-1])
        dropped = kept & (generator.random(len(kept)) < 0.5)
        sizes = np.diff(start)
        choice = np.where(np.repeat(dropped, sizes), self.problem.zero(), at.choice)
        if not kept.all():
            i = int(generator.choice(np.flatnonzero(~kept)))
            choice[start[i] : start[i + 1]] = self.problem.full()[start[i] : start[i + 1]]
        return self.at(choice)

    def relaxed(self, at: _Choice) -> FloatArray:
        """Return the choice as a point of the relaxation."""
        return self.problem.point(at.choice)

    def _moved(self, choice: IntArray, values: FloatArray, residual: FloatArray) -> _Choice:
        data = self.problem.data
        loss = squared_norm(data.trees, residual) / data.total_weight
        objective = loss + self.problem.penalty(choice)
        return _Choice(self.problem, choice, values, residual, objective)


class IHT(Solver[ChoiceFormulation]):
    """Proximal gradient steps of all blocks, by enumeration, with restarts.

    The choice is called locally optimal when no block would move alone.
    """

    for_coefficients = IHTCoefficients
    summary = "iterative hard thresholding with restarts"
    method = "heuristic"
    proof = "Frank–Wolfe bound at the choice"
    Options = IHTOptions
    options: IHTOptions

    def prepare(self, problem: ChoiceFormulation) -> None:
        """Compile the kernels."""
        compile_by(_use_steps, problem)

    def build(self, problem: ChoiceFormulation) -> _ChoiceSteps:
        """Compute the products inside each tree, once for the data."""
        problem.rule, problem.data.trees  # noqa: B018
        return _ChoiceSteps(problem)

    def run(self, problem: ChoiceFormulation, model: _ChoiceSteps, control: Control) -> Answer:
        """Descend from the warm start or the empty model, then start again."""
        start = model.at(problem.zero() if control.warm_start is None else control.warm_start)
        best, relaxed, termination = search(
            model, start, self.options.restarts, control, problem.linear_bound
        )
        local = model.step(best, 1.0) is None
        return Answer(termination, choice=best.choice, local=local, relaxed=relaxed)


def _use_steps(problem: ChoiceFormulation) -> None:
    steps = _ChoiceSteps(problem)
    steps.step(steps.at(problem.full()), 2.0)
    problem.linear_bound(problem.point(problem.zero()))
