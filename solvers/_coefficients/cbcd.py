"""`cbcd` where coefficients are free: the joint problem, best subsets and ridge polishing."""

from __future__ import annotations

import numpy as np

from formulations import (
    CoefficientFormulation,
    JointPruning,
    LayerPruning,
    Regression,
)
from formulations.arrays import FloatArray, IntArray
from solvers._choices.descent import Descent, compile_descent
from solvers._choices.swaps import CBCDOptions, descend_and_search
from solvers._coefficients.best_subset import SubsetSearch
from solvers._coefficients.descent import CoefficientDescent, compile_coefficient_descent
from solvers._core.base import Answer, Control, Solver
from solvers._core.errors import InvalidOption
from solvers._core.result import BoundSource, Termination

# Columns on which the joint problem is searched: all of them, where there are no more.
_CANDIDATES = 600


class CoefficientCBCD(Solver[CoefficientFormulation]):
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
    """

    takes = CoefficientFormulation
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

    def prepare(self, problem: CoefficientFormulation) -> None:
        """Compile the kernels."""
        if isinstance(problem, JointPruning):
            compile_coefficient_descent(problem)
            compile_descent(_first(problem))

    def build(self, problem: CoefficientFormulation) -> Regression | None:
        """Compute the products of all columns, where they are few."""
        return None if isinstance(problem, JointPruning) else Regression.of(problem)

    def run(
        self, problem: CoefficientFormulation, model: Regression | None, control: Control
    ) -> Answer:
        """Solve as the kind of the problem allows."""
        if isinstance(problem, JointPruning):
            return self._joint(problem, control)
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

    def _joint(self, problem: JointPruning, control: Control) -> Answer:
        nothing = (problem.zero(), np.zeros(problem.data.n_trees))
        starts = [nothing, pruned_first(problem, self.options, control)]
        if control.warm_start is not None and control.warm_beta is not None:
            starts.append((control.warm_start, control.warm_beta))
        descents = []
        for choice, beta in starts:
            descents.append(CoefficientDescent(problem, choice, beta))
            local = descents[-1].run(control)
        best = min(descents, key=lambda descent: descent.objective)
        control.report(best.objective)
        termination = control.stop() or Termination.CONVERGED
        if self.options.local_search and termination is Termination.CONVERGED:
            found = self._search(problem, descents, control)
            local = found.run(control)
            if found.objective < best.objective:
                best = found
            termination = control.stop() or Termination.PATIENCE
            control.report(best.objective)
        return Answer(
            termination,
            choice=best.state.choice.copy(),
            beta=best.state.beta.copy(),
            local=local,
            relaxed=best.point,
        )

    def _search(
        self, problem: JointPruning, descents: list[CoefficientDescent], control: Control
    ) -> CoefficientDescent:
        """Search for the best subset of promising columns, from where the descents ended."""
        model = Regression.of(problem, promising(descents))
        search = SubsetSearch(model)
        for descent in descents:
            used = model.coefficients(descent.state.choice, descent.state.beta) != 0.0
            search.descend(used, control)
        search.descend(np.zeros(model.n_columns, dtype=np.bool_), control)
        search.backward(control)
        search.search(self.options.patience, control)
        return CoefficientDescent(problem, *model.solution(search.best))


def promising(descents: list[CoefficientDescent]) -> IntArray:
    """Return the columns that are used, and those that alone gain most at some of the points."""
    everything = descents[0].problem.n_columns
    if everything <= _CANDIDATES:
        return np.arange(everything)
    used = [np.flatnonzero(descent.point) for descent in descents]
    room = max(_CANDIDATES - sum(map(len, used)), 0) // len(descents)
    best = [np.argsort(-descent.gains(), kind="stable")[:room] for descent in descents]
    return np.unique(np.concatenate([*used, *best]))


def solve_linear(model: Regression) -> Answer:
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


def pruned_first(
    problem: JointPruning, options: CBCDOptions, control: Control
) -> tuple[IntArray, FloatArray]:
    """Return the solution of Problem (1) at the same α, polished."""
    descent = Descent(_first(problem), problem.zero())
    descend_and_search(descent, options, Control(time_limit=control.time_limit - control.elapsed))
    choice = descent.state.choice.copy()
    kept = np.flatnonzero(choice)
    columns = (problem.rule.point_start[kept] + choice[kept] - 1).astype(np.int64)
    model = Regression.of(problem, columns)
    search = SubsetSearch(model)
    search.offer(model.refit(model.everything))
    if problem.rho == 0:
        search.descend(search.best != 0.0, control)
    return model.solution(search.best)


def _first(problem: JointPruning) -> LayerPruning:
    return LayerPruning(problem.data, problem.alpha, problem.weights)
