"""What the results of a path say about each other."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from formulations import Formulation
from formulations.arrays import FloatArray
from solvers._core.result import Guarantee, Result

Solution = tuple[npt.NDArray[Any], FloatArray]


def pooled(
    problem: Formulation, over: str, values: npt.NDArray[Any], results: list[Result], gap: float
) -> list[Result]:
    """Give every value of a path the best of all solutions of the path.

    Parameters
    ----------
    problem, over, values
        The problem, and the parameter with its values.
    results
        One a value.
    gap
        Relative gap that is called OPTIMAL.
    """
    found: list[Solution] = [
        (result.choice, result.beta)
        for result in results
        if result.choice is not None and result.beta is not None
    ]
    if not found:
        return results
    better = []
    for value, result, row in zip(
        values, results, _objectives(problem, over, values, found), strict=True
    ):
        if row.min() < result.objective - problem.tolerance:
            choice, beta = found[int(np.argmin(row))]
            # The row is but a comparison; objectives are always computed from the data.
            result = replace(
                result,
                choice=choice,
                beta=beta,
                objective=problem.with_value(over, value.item()).objective(choice, beta),
                guarantee=Guarantee.FEASIBLE,
                extra=result.extra | {"pooled": True},
            )
        better.append(_judged(problem, result, gap))
    return better


def with_later_bounds(problem: Formulation, results: list[Result], gap: float) -> list[Result]:
    """Give every result of a path the best bound of those after it.

    Every solution at a value is a solution at the later ones, of at most that objective: so
    no optimum is above the one before.

    Parameters
    ----------
    problem
        The problem of the path.
    results
        From the smallest model to the largest.
    gap
        Relative gap that is called OPTIMAL.
    """
    better: list[Result] = []
    best: Result | None = None
    for result in reversed(results):
        if best is not None and best.bound > result.bound + problem.tolerance:
            result = replace(
                result,
                bound=min(best.bound, result.objective),
                bound_source=best.bound_source,
                relaxed=best.relaxed,
                extra=result.extra | {"bound_of_a_later_value": True},
            )
        else:
            best = result
        better.append(_judged(problem, result, gap))
    return better[::-1]


def _objectives(
    problem: Formulation, over: str, values: npt.NDArray[Any], found: list[Solution]
) -> FloatArray:
    """Return the objective of each solution at each value, (values, solutions).

    It is affine in α and α₂, and does not depend on the number of trees that may be used.
    """
    free = problem.with_value(over, None if over == "n_trees" else 0.0)
    at_zero = np.array([free.objective(choice, beta) for choice, beta in found])
    if over == "n_trees":
        used = np.array([np.count_nonzero(beta) for _, beta in found])
        return np.where(used <= values[:, None], at_zero, np.inf)
    top = float(values.max())
    if top == 0.0:
        return np.tile(at_zero, (len(values), 1))
    most = problem.with_value(over, top)
    rise = np.array([most.penalty(*solution) - free.penalty(*solution) for solution in found])
    return np.asarray(at_zero + values[:, None] * (rise / top))


def _judged(problem: Formulation, result: Result, gap: float) -> Result:
    """Return a result with the guarantee that its objective and bound give."""
    if result.choice is None:
        known = result.bound > -np.inf
        return replace(result, guarantee=Guarantee.BOUND_ONLY if known else Guarantee.NONE)
    close = max(gap * abs(result.objective), problem.tolerance)
    if result.objective - result.bound <= close:
        return replace(result, guarantee=Guarantee.OPTIMAL)
    return result
