"""`cbcd` where coefficients are free: the joint problem, best subsets and ridge polishing."""

from __future__ import annotations

import numpy as np

from formulations import (
    FreeFormulation,
    JointPruning,
    JointSubtreePruning,
    NormalEquations,
    Polishing,
    Regression,
)
from solvers._choices.swaps import CBCDOptions
from solvers._coefficients.descending.best_subset import SubsetSearch
from solvers._coefficients.descending.joint_layers import compile_layers, solve_layers
from solvers._coefficients.descending.joint_subtrees import compile_subtrees, solve_subtrees
from solvers._core.base import Answer, Control, Solver
from solvers._core.errors import InvalidOption
from solvers._core.result import BoundSource, Termination


class CoefficientCBCD(Solver[FreeFormulation]):
    """Descent on depths and coefficients together, or on subsets of columns.

    - *Ridge polishing* is a linear system.
    - *Best subset*: the best of all additions, removals and exchanges of one tree, until none
      helps, from the empty subset and from the one that is left when all trees are dropped
      one by one; then local search by removing a random half.
    - *Joint problem*: exact updates of one tree's depth and coefficient, with refits of all
      coefficients, from the empty model and from the solution of Problem (1) at the same α,
      refitted: so the answer is never worse than pruning first and polishing then. Local
      search is that of the best subset, on the most promising columns of all trees, and ends
      with a descent over all columns.
    - *Joint problem of subtrees*: the same with exact updates of one tree's subtree and
      coefficient, and from what is found on depths besides: so the answer is never worse than
      that. Local search lists the most promising subtrees as columns, and is repeated with
      more of them so long as the descent from what it finds is better.
    """

    takes = FreeFormulation
    summary = "block coordinate descent with local search"
    method = "heuristic"
    proof = "dual bound at the point"
    Options = CBCDOptions
    options: CBCDOptions

    def __init__(self, options: CBCDOptions) -> None:
        super().__init__(options)
        if options.swap != CBCDOptions().swap:
            raise InvalidOption(
                "swap is for problems whose coefficients are fixed: with free ones all swaps "
                f"are tried, got swap={options.swap!r}"
            )

    def prepare(self, problem: FreeFormulation) -> None:
        """Compile the kernels."""
        if isinstance(problem, JointPruning):
            compile_layers(problem)
        elif isinstance(problem, JointSubtreePruning):
            compile_subtrees(problem)

    def build(self, problem: FreeFormulation) -> Regression | None:
        """Compute the products of all columns, where they are few."""
        return Regression.of(problem) if isinstance(problem, Polishing) else None

    def run(self, problem: FreeFormulation, model: Regression | None, control: Control) -> Answer:
        """Solve as the kind of the problem allows."""
        if isinstance(problem, JointPruning):
            return solve_layers(problem, self.options, control)
        if isinstance(problem, JointSubtreePruning):
            return solve_subtrees(problem, self.options, control)
        assert model is not None
        if problem.convex:
            return solve_linear(model)
        return self._subset(model, control)

    def _subset(self, model: Regression, control: Control) -> Answer:
        search = SubsetSearch(model)
        if control.warm_start is not None and control.warm_beta is not None:
            search.descend(model.coefficients(control.warm_start, control.warm_beta) != 0, control)
        search.descend(np.zeros(model.n_columns, dtype=np.bool_), control)
        search.backward(control)
        control.report(search.objective)
        termination = control.stop() or Termination.CONVERGED
        if self.options.local_search and termination is Termination.CONVERGED:
            done = search.search(self.options.patience, control)
            termination = Termination.PATIENCE if done else control.stop() or termination
        choice, beta = model.solution(search.best)
        local = termination in (Termination.CONVERGED, Termination.PATIENCE)
        return Answer(
            termination,
            choice=choice,
            beta=beta,
            local=local,
            relaxed=model.point(search.best),
            extra={"merged_trees": model.merged},
        )


def solve_linear(model: NormalEquations) -> Answer:
    """Solve a problem without prices and limits: all columns, with their best coefficients."""
    b = model.refit(model.everything)
    choice, beta = model.solution(b)
    return Answer(
        Termination.CONVERGED,
        choice=choice,
        beta=beta,
        local=True,
        relaxed=model.point(b),
        bound=model.value(b),
        bound_source=BoundSource.CLOSED_FORM,
        extra={"merged_trees": model.merged},
    )
