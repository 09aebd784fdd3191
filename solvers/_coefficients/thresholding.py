"""Proximal steps on all blocks at once, with a step length found by trying (FP §2.4).

Let r be the residual and δ_i what a step adds to the prediction of block i. With n blocks and
any curvature κ that is large enough for the step, at most n,

    (1/m) ‖r − Σ_i δ_i‖²  ≤  (1/m) ( ‖r‖² − 2 Σ_i ⟨r, δ_i⟩ + κ Σ_i ‖δ_i‖² )

and the right side falls apart into one small problem a block, which is solved by trying all its
columns. With κ = 1 these are the updates of coordinate descent, made all at once; a larger κ
makes shorter steps of fewer blocks. So 1 / κ is the step length of a projected gradient method
whose metric is that of the predictions.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

import numpy as np

from formulations.arrays import FloatArray
from solvers._core.base import Control
from solvers._core.result import Termination

# Curvatures nearer than this to each other make the same steps.
_NEAR = 1.0001


class Iterate(Protocol):
    """A point with its objective."""

    @property
    def objective(self) -> float:
        """The objective, in units of y²."""


T = TypeVar("T", bound=Iterate)


class Steps(ABC, Generic[T]):
    """How to step on one kind of problem.

    Attributes
    ----------
    blocks
        Number of blocks n: the curvature at which no step fails.
    tolerance
        Differences of the objective below this are rounding.
    """

    blocks: int
    tolerance: float

    @abstractmethod
    def step(self, at: T, curvature: float) -> T | None:
        """Return the minimum of the right side above, or None when it is where it was."""

    @abstractmethod
    def disturbed(self, at: T, generator: np.random.Generator) -> T:
        """Return a point without about half of the trees of the given one."""

    @abstractmethod
    def relaxed(self, at: T) -> FloatArray:
        """Return the point as one of the relaxation."""


def descend(steps: Steps[T], at: T, control: Control) -> T:
    """Step until no curvature gives a step that lowers the objective."""
    curvature = 1.0
    while True:
        found = _longest_step(steps, at, curvature, control)
        if found is None:
            return at
        at, curvature = found
        curvature = max(1.0, 0.5 * curvature)


def _longest_step(
    steps: Steps[T], at: T, curvature: float, control: Control
) -> tuple[T, float] | None:
    """Return a step that lowers the objective, with its curvature; None when there is none.

    A step that fails was too long; where nothing moves it was too short. Between two such
    curvatures, fewer and fewer blocks move.
    """
    failed, still = 0.0, np.inf
    while control.stop() is None:
        tried = steps.step(at, curvature)
        if tried is None:
            still = curvature
        elif tried.objective < at.objective - steps.tolerance:
            return tried, curvature
        else:
            failed = curvature
        if still <= 1.0 or failed >= steps.blocks or still < _NEAR * failed:
            return None
        if failed == 0.0:
            curvature = max(1.0, 0.5 * curvature)
        elif still == np.inf:
            curvature = min(2.0 * curvature, max(float(steps.blocks), 1.0))
        else:
            curvature = float(np.sqrt(failed * still))
    return None


def search(
    steps: Steps[T],
    start: T,
    restarts: int,
    control: Control,
    bound: Callable[[FloatArray], float],
) -> tuple[T, FloatArray, Termination]:
    """Descend from the start, and from disturbed copies of the best point so far.

    Parameters
    ----------
    steps
        How to step.
    start
        The first point.
    restarts
        How often to start again.
    control
        Limits, and where progress is reported.
    bound
        The problem's bound at a point of the relaxation.

    Returns
    -------
    best, relaxed, termination
        The best point, the point with the best bound, and why it ended.
    """
    generator = np.random.default_rng(control.seed)
    best = descend(steps, start, control)
    relaxed = steps.relaxed(best)
    proven = bound(relaxed)
    control.report(best.objective, proven)
    for _ in range(restarts):
        if control.close_enough(best.objective, proven):
            return best, relaxed, Termination.GAP_REACHED
        if (reason := control.stop()) is not None:
            return best, relaxed, reason
        found = descend(steps, steps.disturbed(best, generator), control)
        if found.objective < best.objective - steps.tolerance:
            best = found
            point = steps.relaxed(best)
            value = bound(point)
            if value > proven:
                relaxed, proven = point, value
            control.report(best.objective, proven)
    return best, relaxed, control.stop() or Termination.CONVERGED
