"""`cbcd` on the joint problem of subtrees and coefficients."""

from __future__ import annotations

import numpy as np

from formulations import JointSubtreePruning, SubtreeColumns
from formulations.arrays import FloatArray, IntArray
from formulations.kernels.joint_subtrees import list_best
from solvers._choices.descent import Descent, compile_descent
from solvers._choices.swaps import CBCDOptions, descend_and_search
from solvers._coefficients.descending.best_subset import SubsetSearch
from solvers._coefficients.descending.descent import CoefficientDescent, compile_coefficient_descent
from solvers._coefficients.descending.joint_layers import compile_layers, solve_layers
from solvers._core.base import Answer, Control
from solvers._core.compiling import compile_by
from solvers._core.result import Termination

# Columns on which a search begins, and how many are added before each round of it, at most so
# many of a tree from one point.
_FIRST = 300
_MORE = 100
_EACH = 6

# Points without half of the trees that promise columns besides the best one.
_HALVES = 2


def compile_subtrees(problem: JointSubtreePruning) -> None:
    """Compile the kernels."""
    compile_coefficient_descent(problem)
    compile_by(_use_columns, problem)
    compile_descent(problem.unweighted)
    compile_layers(problem.by_layers)


def _use_columns(problem: JointSubtreePruning) -> None:
    nothing = CoefficientDescent(problem, problem.zero(), np.zeros(problem.data.n_trees))
    listed: list[dict[bytes, IntArray]] = [{} for _ in range(problem.data.n_trees)]
    add_promising(problem, [nothing], listed, 1)
    SubtreeColumns.of(problem, [list(given.values()) for given in listed])


def solve_subtrees(problem: JointSubtreePruning, options: CBCDOptions, control: Control) -> Answer:
    """Descend from several starts, then search."""
    starts = [
        (problem.zero(), np.zeros(problem.data.n_trees)),
        pruned_first(problem, options, control),
        cut_by_layers(problem, options, control),
    ]
    if control.warm_start is not None and control.warm_beta is not None:
        starts.append((control.warm_start, control.warm_beta))
    descents = []
    for choice, beta in starts:
        descents.append(CoefficientDescent(problem, choice, beta))
        descents[-1].run(control)
    best = min(descents, key=lambda descent: descent.objective)
    control.report(best.objective)
    termination = control.stop() or Termination.CONVERGED
    if options.local_search and termination is Termination.CONVERGED:
        best = search(problem, descents, options.patience, control)
        termination = control.stop() or Termination.PATIENCE
    return Answer(
        termination,
        choice=best.state.choice.copy(),
        beta=best.state.beta.copy(),
        local=termination in (Termination.CONVERGED, Termination.PATIENCE),
        relaxed=best.point,
    )


def search(
    problem: JointSubtreePruning,
    descents: list[CoefficientDescent],
    patience: int,
    control: Control,
) -> CoefficientDescent:
    """Search the best subset of promising columns and descend from it, while that helps.

    Returns the best point, at which no tree can be improved unless the run was stopped.
    """
    best = min(descents, key=lambda descent: descent.objective)
    listed: list[dict[bytes, IntArray]] = [{} for _ in range(problem.data.n_trees)]
    generator = np.random.default_rng(control.seed)
    add_promising(problem, descents, listed, _FIRST)
    while control.stop() is None:
        halves = [half_of(problem, best, generator) for _ in range(_HALVES)]
        add_promising(problem, [best, *halves], listed, _MORE)
        model = SubtreeColumns.of(problem, [list(given.values()) for given in listed])
        search = SubsetSearch(model)
        for descent in descents:
            search.descend(
                model.coefficients(descent.state.choice, descent.state.beta) != 0.0, control
            )
        search.descend(np.zeros(model.n_columns, dtype=np.bool_), control)
        search.backward(control)
        search.search(patience, control)
        found = CoefficientDescent(problem, *model.solution(search.best))
        found.run(control)
        if not found.objective < best.objective - problem.tolerance:
            break
        best = found
        descents = [*descents, found]
        control.report(best.objective)
    return best


def half_of(
    problem: JointSubtreePruning, descent: CoefficientDescent, generator: np.random.Generator
) -> CoefficientDescent:
    """Return a point without a random half of the trees, refitted."""
    beta = descent.state.beta.copy()
    used = np.flatnonzero(beta)
    beta[generator.choice(used, (len(used) + 1) // 2, replace=False)] = 0.0
    kept = np.repeat(beta != 0.0, np.diff(problem.rule.choice_start))
    half = CoefficientDescent(problem, np.where(kept, descent.state.choice, 0), beta)
    half.refit()
    return half


def add_promising(
    problem: JointSubtreePruning,
    descents: list[CoefficientDescent],
    listed: list[dict[bytes, IntArray]],
    room: int,
) -> None:
    """Add the subtrees that some points use, and up to ``room`` that gain most there alone.

    ``listed`` has a dictionary for each tree, from the bytes of a subtree's marks to these.
    """
    starts = problem.rule.choice_start
    for descent in descents:
        state = descent.state
        found = []
        for i, given in enumerate(listed):
            marks = state.choice[starts[i] : starts[i + 1]].copy()
            if state.beta[i] != 0.0:
                given[marks.tobytes()] = marks
            choices, values = list_best(
                problem.rule, problem.data.trees, i, state.residual, state.leaf_value, _EACH
            )
            found += [(value, i, one) for value, one in zip(values, choices, strict=True)]
        found.sort(key=lambda entry: entry[0])
        for _, i, one in found[: room // len(descents)]:
            listed[i].setdefault(one.tobytes(), one)


def cut_by_layers(
    problem: JointSubtreePruning, options: CBCDOptions, control: Control
) -> tuple[IntArray, FloatArray]:
    """Return what `cbcd` finds when every tree is cut at one depth."""
    part = Control(time_limit=control.time_limit - control.elapsed, seed=control.seed)
    answer = solve_layers(problem.by_layers, options, part)
    assert answer.choice is not None
    assert answer.beta is not None
    return problem.of_depths(answer.choice), answer.beta


def pruned_first(
    problem: JointSubtreePruning, options: CBCDOptions, control: Control
) -> tuple[IntArray, FloatArray]:
    """Return the solution with coefficients of 1 at the same α, polished."""
    first = problem.unweighted
    descent = Descent(first, first.zero())
    descend_and_search(descent, options, Control(time_limit=control.time_limit - control.elapsed))
    choice = descent.state.choice.copy()
    beta = problem.keeps(choice).astype(np.float64)
    polished = CoefficientDescent(problem, choice, beta)
    polished.refit()
    return choice, polished.state.beta.copy()
