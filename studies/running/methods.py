"""How the methods of a study are run, at one α and along a path of α."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from formulations import Formulation, JointPruning, LayerPruning, Polishing, PruningData
from formulations.arrays import FloatArray
from solvers import Result, solve, solve_path
from studies.spec import Cell, Method

# A path ends at this part of the α that it begins with, as those of `solve_path` do.
_SPAN = 1e-4


@dataclass(frozen=True)
class Solved:
    """A problem with what a solver made of it, and the same for its polishing.

    Attributes
    ----------
    alpha
        In units of y².
    polishing, polished
        None without polishing, or where no tree was left to polish.
    """

    problem: LayerPruning | JointPruning
    result: Result
    alpha: float
    polishing: Polishing | None = None
    polished: Result | None = None

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


def first_problem(data: PruningData, method: Method, alpha: float) -> LayerPruning | JointPruning:
    """Return the problem that a method begins with.

    Parameters
    ----------
    alpha
        In units of y².
    """
    if not method.joint:
        return LayerPruning(data, alpha)
    price = method.alpha2 * data.y_variance
    return JointPruning(data, alpha, price, rho=2 if method.polish == "ridge" else 0)


def solve_one(problem: LayerPruning | JointPruning, cell: Cell) -> list[Solved]:
    """Solve a problem, and polish as the method says."""
    result = solve(problem, cell.solver, time_limit=cell.time_limit, threads=cell.threads)
    return list(_polished([Solved(problem, result, problem.alpha)], cell))


def solve_along(problem: LayerPruning | JointPruning, cell: Cell) -> list[Solved]:
    """Solve a problem along a path of α, and polish as the method says.

    The α are those of `solve_path` for Problem (1), for Problem (5) too, so that points can be
    compared one by one. The time limit is for all of it; what it does not reach is left out.
    """
    path = solve_path(
        problem,
        over="alpha",
        values=_alphas(problem.data, cell.values) if cell.method.joint else cell.values,
        solver=cell.solver,
        time_limit=cell.time_limit,
        threads=cell.threads,
    )
    along = [
        Solved(problem.with_alpha(float(alpha)), result, float(alpha))
        for alpha, result in zip(path.values, path.results, strict=True)
    ]
    return list(_polished(along, cell))


def _alphas(data: PruningData, count: int) -> FloatArray:
    top = LayerPruning(data, 1.0).alpha_max_certified()
    return np.geomspace(top, _SPAN * top, count) if top > 0.0 else np.zeros(1)


def _polished(along: Iterable[Solved], cell: Cell) -> Iterator[Solved]:
    """Yield points as the method leaves them, as long as the cell has time."""
    along = list(along)
    if cell.method.joint or cell.method.polish is None:
        yield from along
        return
    left = cell.time_limit - sum(map(_seconds, (point.result for point in along)))
    for point in along:
        problem = _polishing(point, cell.method)
        if problem is None:
            yield point
            continue
        if left <= 0.0:
            return
        polished = solve(problem, cell.solver, time_limit=left, threads=cell.threads)
        left -= _seconds(polished)
        yield replace(point, polishing=problem, polished=polished)


def _polishing(point: Solved, method: Method) -> Polishing | None:
    """Return the problem of polishing what is left, or None where no tree is."""
    depths = point.result.choice
    if depths is None or not depths.any():
        return None
    data = point.problem.data
    price = method.alpha2 * data.y_variance
    if method.polish == "ridge":
        return Polishing(data, depths, price)
    most = None if method.n_trees is None else min(method.n_trees, int((depths > 0).sum()))
    return Polishing(data, depths, price, rho=0, n_trees=most)


def _seconds(result: Result) -> float:
    return result.build_seconds + result.solve_seconds
