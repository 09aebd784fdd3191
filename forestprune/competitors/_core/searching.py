"""A search along a penalty for the largest model within limits."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Generic, NamedTuple, TypeVar

import numpy as np

from forestprune.competitors._core.base import Limits, Size
from solvers import Termination

# Ratio of one penalty to the next on the way down, where it ends relative to the largest, and
# the ratio of two that are not told apart.
_STEP = 10.0**0.1
_END = 1e-4
_SAME = 1.001

# Sizes are not monotone in the penalty: the way down ends where a model is this much too large.
_TOO_LARGE = 1.5

_T = TypeVar("_T")


class Searched(NamedTuple, Generic[_T]):
    """The smallest penalty found whose model is within limits, the model, and why it ended.

    The model is None where no model but the empty one is within the limits.
    """

    penalty: float
    model: _T | None
    termination: Termination


def largest_within(
    at: Callable[[float, _T | None], tuple[Size, _T]],
    top: float,
    limits: Limits,
    time_limit: float,
) -> Searched[_T]:
    """Search for the largest model within limits.

    Penalties fall in steps from ``top``, where the model is empty, until one is far too
    large. Then the interval below the last one that fits is halved again and again.

    Parameters
    ----------
    at
        Called with a penalty and the model found before it, to start from; returns a model
        and its size.
    top
        The penalty from which on the model is empty.
    limits
        What must be met.
    time_limit
        Seconds after which the search ends with what it has found.
    """
    ends = perf_counter() + time_limit
    best: tuple[float, _T | None] = (top, None)
    before: _T | None = None
    penalty = low = top
    while penalty > _END * top and perf_counter() < ends:
        penalty /= _STEP
        size, before = at(penalty, before)
        if limits.allow(size):
            best = (penalty, before)
        elif not limits.allow(size, _TOO_LARGE):
            break
    low = best[0] / _STEP if penalty < best[0] else best[0]
    while best[0] > _SAME * low and perf_counter() < ends:
        middle = float(np.sqrt(low * best[0]))
        size, model = at(middle, best[1])
        if limits.allow(size):
            best = (middle, model)
        else:
            low = middle
    late = perf_counter() >= ends
    return Searched(*best, Termination.TIME_LIMIT if late else Termination.CONVERGED)
