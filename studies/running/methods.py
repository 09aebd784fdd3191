"""How the methods of a study are run, at one α and along a path of α."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from time import perf_counter

import numpy as np

from formulations import (
    Formulation,
    JointPruning,
    LayerPruning,
    Polishing,
    PruningData,
    SubtreePruning,
    cut_trees,
)
from formulations.arrays import FloatArray, IntArray
from solvers import Result, solve, solve_path
from studies.spec import Cell, Method

FirstProblem = LayerPruning | SubtreePruning | JointPruning


@dataclass(frozen=True)
class Solved:
    """A problem with what a solver made of it, and the same for its polishing.

    Attributes
    ----------
    alpha
        In units of y².
    polishing, polished
        None without polishing, or where no tree was left to polish.
    cut_seconds
        What it took to cut the trees for polishing.
    """

    problem: FirstProblem
    result: Result
    alpha: float
    polishing: Polishing | None = None
    polished: Result | None = None
    cut_seconds: float = 0.0

    @property
    def seconds(self) -> float:
        """Time of all steps."""
        steps = (result.build_seconds + result.solve_seconds for result in self.results)
        return sum(steps) + self.cut_seconds

    @property
    def results(self) -> list[Result]:
        """The results of all steps."""
        return [self.result] if self.polished is None else [self.result, self.polished]

    @property
    def last(self) -> tuple[Formulation, Result]:
        """The last problem and its result."""
        if self.polishing is None or self.polished is None:
            return self.problem, self.result
        return self.polishing, self.polished


def first_problem(data: PruningData, method: Method, alpha: float) -> FirstProblem:
    """Return the problem that a method begins with.

    Parameters
    ----------
    alpha
        In units of y².
    """
    if not method.joint:
        if method.shape == "subtree":
            return SubtreePruning(data, alpha)
        return LayerPruning(data, alpha, method.weights)
    price = method.alpha2 * data.y_variance
    return JointPruning(data, alpha, price, rho=2 if method.polish == "ridge" else 0)


def solve_one(problem: FirstProblem, cell: Cell) -> list[Solved]:
    """Solve a problem, and polish as the method says."""
    result = solve(problem, cell.solver, time_limit=cell.time_limit, threads=cell.threads)
    return list(_polished([Solved(problem, result, problem.alpha)], cell))


def solve_along(problem: FirstProblem, cell: Cell) -> list[Solved]:
    """Solve a problem along a path of α, and polish as the method says.

    All methods of the same weights follow the α of Problem (1), from where its empty model is
    proven optimal, so that points can be compared one by one. The time limit is for all of it;
    what it does not reach is left out.
    """
    path = solve_path(
        problem,
        over="alpha",
        values=_alphas(problem.data, cell),
        solver=cell.solver,
        time_limit=cell.time_limit,
        threads=cell.threads,
    )
    along = [
        Solved(problem.with_alpha(float(alpha)), result, float(alpha))
        for alpha, result in zip(path.values, path.results, strict=True)
    ]
    return list(_polished(along, cell))


def _alphas(data: PruningData, cell: Cell) -> FloatArray:
    # On data of its own: what is computed for it must not be missing from the build time.
    top = LayerPruning(replace(data), 1.0, cell.method.weights).alpha_max_certified()
    return np.geomspace(top, cell.span * top, cell.values) if top > 0.0 else np.zeros(1)


def _polished(along: Iterable[Solved], cell: Cell) -> Iterator[Solved]:
    """Yield points as the method leaves them, as long as the cell has time."""
    along = list(along)
    if cell.method.joint or cell.method.polish is None:
        yield from along
        return
    left = cell.time_limit - sum(point.seconds for point in along)
    for point in along:
        choice = point.result.choice
        if choice is None or not choice.any():
            yield point
            continue
        if left <= 0.0:
            return
        begin = perf_counter()
        data, depths = _left(point.problem, choice)
        cut_seconds = perf_counter() - begin
        problem = _polishing(data, depths, cell.method)
        limit = max(left - cut_seconds, 0.0)
        polished = solve(problem, cell.solver, time_limit=limit, threads=cell.threads)
        done = replace(point, polishing=problem, polished=polished, cut_seconds=cut_seconds)
        left += point.seconds - done.seconds
        yield done


def _left(problem: FirstProblem, choice: IntArray) -> tuple[PruningData, IntArray]:
    """Return data on which what a choice leaves of the trees is a depth of each."""
    if not isinstance(problem, SubtreePruning):
        return problem.data, choice
    data = cut_trees(problem.data, choice)
    return data, data.depths


def _polishing(data: PruningData, depths: IntArray, method: Method) -> Polishing:
    """Return the problem of polishing what is left; there must be a tree."""
    price = method.alpha2 * data.y_variance
    if method.polish == "ridge":
        return Polishing(data, depths, price)
    most = None if method.n_trees is None else min(method.n_trees, int((depths > 0).sum()))
    return Polishing(data, depths, price, rho=0, n_trees=most)
