"""The answer of a solver, recomputed from the data and judged."""

from __future__ import annotations

import contextlib
import importlib.metadata
import platform
from functools import cache
from typing import Any

import numpy as np

from formulations import ChoiceFormulation, Formulation, InvalidInput
from solvers._core.base import Answer, Control, Solver
from solvers._core.errors import EngineFailure
from solvers._core.result import BoundSource, Guarantee, Result

# Relative to the target's mean square: two values closer than this are the same to rounding.
_ROUNDING = 1e-9


def judged(
    problem: Formulation,
    label: str,
    solver: Solver[Any],
    answer: Answer,
    control: Control,
    build_seconds: float,
    solve_seconds: float,
) -> Result:
    """Recompute what the solver says, and turn it into a result."""
    choice, beta, objective = None, None, np.inf
    if answer.choice is not None:
        try:
            choice = problem.checked(answer.choice)
            beta = problem.checked_beta(choice, answer.beta)
        except InvalidInput as error:
            raise EngineFailure(f"{label} returned an infeasible choice: {error}") from None
        objective = problem.objective(choice, beta)
    local = answer.local
    if control.warm_start is not None:
        started_at = problem.objective(control.warm_start, control.warm_beta)
        if started_at < objective:
            choice, objective, local = control.warm_start, started_at, False
            beta = problem.checked_beta(choice, control.warm_beta)
    bound, source = answer.bound, answer.bound_source
    if answer.relaxed is not None:
        recomputed = problem.linear_bound(answer.relaxed)
        if recomputed > bound:
            fixed = isinstance(problem, ChoiceFormulation)
            bound, source = recomputed, BoundSource.FRANK_WOLFE if fixed else BoundSource.DUAL
    rounding = _ROUNDING * problem.data.target_square
    if bound > objective + rounding:
        raise EngineFailure(
            f"{label} returned a bound {bound!r} above a feasible objective {objective!r}"
        )
    bound = min(bound, objective)
    if choice is None:
        guarantee = Guarantee.NONE if bound == -np.inf else Guarantee.BOUND_ONLY
    elif control.close_enough(objective, bound) or objective - bound <= problem.tolerance:
        guarantee = Guarantee.OPTIMAL
    else:
        guarantee = Guarantee.LOCAL if local else Guarantee.FEASIBLE
    return Result(
        solver=label,
        choice=choice,
        beta=beta,
        objective=objective,
        bound=bound,
        bound_source=source,
        relaxed=answer.relaxed,
        termination=answer.termination,
        guarantee=guarantee,
        build_seconds=build_seconds,
        solve_seconds=solve_seconds,
        trace=tuple(control.trace),
        versions=_versions(solver.engines),
        log=answer.log,
        extra=answer.extra,
    )


def _versions(engines: tuple[str, ...]) -> dict[str, str]:
    versions = {"python": platform.python_version()}
    for package in ("forestprune", "numpy", "numba", *engines):
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            versions[package] = _version(package)
    return versions


@cache
def _version(package: str) -> str:
    # Looking it up takes longer than a small problem.
    return importlib.metadata.version(package)
