"""`cbcd` on the joint problem of depths and coefficients."""

from __future__ import annotations

import numpy as np

from formulations import JointPruning, LayerPruning, Regression
from formulations.arrays import FloatArray, IntArray
from solvers._choices.descent import Descent, compile_descent
from solvers._choices.swaps import CBCDOptions, descend_and_search
from solvers._coefficients.descending.best_subset import SubsetSearch
from solvers._coefficients.descending.descent import (
    CoefficientDescent,
    column_gains,
    compile_coefficient_descent,
)
from solvers._core.base import Answer, Control
from solvers._core.result import Termination

# Columns on which the joint problem is searched: all of them, where there are no more.
_CANDIDATES = 600


def compile_layers(problem: JointPruning) -> None:
    """Compile the kernels."""
    compile_coefficient_descent(problem)
    compile_descent(_first(problem))


def solve_layers(problem: JointPruning, options: CBCDOptions, control: Control) -> Answer:
    """Descend from several starts, then search."""
    nothing = (problem.zero(), np.zeros(problem.data.n_trees))
    starts = [nothing, pruned_first(problem, options, control)]
    if control.warm_start is not None and control.warm_beta is not None:
        starts.append((control.warm_start, control.warm_beta))
    descents = []
    for choice, beta in starts:
        descents.append(CoefficientDescent(problem, choice, beta))
        local = descents[-1].run(control)
    best = min(descents, key=lambda descent: descent.objective)
    control.report(best.objective)
    termination = control.stop() or Termination.CONVERGED
    if options.local_search and termination is Termination.CONVERGED:
        found = _search(problem, descents, options.patience, control)
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
    problem: JointPruning, descents: list[CoefficientDescent], patience: int, control: Control
) -> CoefficientDescent:
    """Search for the best subset of promising columns, from where the descents ended."""
    model = Regression.of(problem, promising(problem, descents))
    search = SubsetSearch(model)
    for descent in descents:
        used = model.coefficients(descent.state.choice, descent.state.beta) != 0.0
        search.descend(used, control)
    search.descend(np.zeros(model.n_columns, dtype=np.bool_), control)
    search.backward(control)
    search.search(patience, control)
    return CoefficientDescent(problem, *model.solution(search.best))


def promising(problem: JointPruning, descents: list[CoefficientDescent]) -> IntArray:
    """Return the columns that are used, and those that alone gain most at some of the points."""
    everything = problem.n_columns
    if everything <= _CANDIDATES:
        return np.arange(everything)
    used = [np.flatnonzero(descent.point) for descent in descents]
    room = max(_CANDIDATES - sum(map(len, used)), 0) // len(descents)
    best = [
        np.argsort(-column_gains(problem, descent.state.residual), kind="stable")[:room]
        for descent in descents
    ]
    return np.unique(np.concatenate([*used, *best]))


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
