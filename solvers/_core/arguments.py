"""Arguments of `solve`, checked before anything runs."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from formulations import ChoiceFormulation, Formulation, InvalidInput
from formulations.arrays import FloatArray, IntArray
from solvers._core.base import Callback
from solvers._core.result import Result


def checked_limit(given: float | None) -> float:
    if given is None:
        return np.inf
    limit = at_least_zero("time_limit", given)
    if limit == 0.0:
        raise InvalidInput("time_limit must be above 0 seconds, or None for no limit")
    return limit


def at_least_zero(name: str, given: object) -> float:
    if isinstance(given, bool) or not isinstance(given, int | float | np.number) or not given >= 0:
        raise InvalidInput(f"{name} must be a number of at least 0, not {given!r}")
    return float(given)


def checked_count(name: str, given: object, least: int) -> int:
    if isinstance(given, bool) or not isinstance(given, int | np.integer) or given < least:
        raise InvalidInput(f"{name} must be an integer of at least {least}, not {given!r}")
    return int(given)


def checked_callback(callback: Callback | None) -> Callback | None:
    if callback is not None and not callable(callback):
        raise InvalidInput(f"callback must be a function of a TraceEntry, not {callback!r}")
    return callback


def checked_start(
    problem: Formulation, given: Result | npt.ArrayLike | None
) -> tuple[IntArray | None, FloatArray | None]:
    """Return a choice and its coefficients to start from, or None twice."""
    if given is None:
        return None, None
    beta: FloatArray | None = None
    start: npt.ArrayLike
    if isinstance(given, Result):
        if given.choice is None:
            raise InvalidInput("warm_start is a result without a choice")
        start, beta = given.choice, given.beta
    else:
        start = given
    try:
        choice = problem.checked(start)
        if isinstance(problem, ChoiceFormulation):
            return choice, problem.checked_beta(choice, None)
        # A result of a problem with fixed coefficients has ones for removed trees too.
        beta = None if beta is None else np.where(problem.keeps(choice), beta, 0.0)
        return choice, problem.checked_beta(choice, beta)
    except InvalidInput as error:
        raise InvalidInput(f"warm_start is not feasible: {error}") from None
