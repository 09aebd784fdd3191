"""What `solve` returns: the answer, what is proven of it, and how it came about."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import numpy as np
import numpy.typing as npt

from formulations.arrays import FloatArray


class Termination(StrEnum):
    """Why a solver stopped.

    CONVERGED: its own criterion is met. GAP_REACHED: the gap asked for is. EXHAUSTED: nothing is
    left to search. PATIENCE: the local search has found nothing for long enough. TIME_LIMIT,
    NODE_LIMIT, INTERRUPTED, CALLBACK: it was ended. INACCURATE: an engine's tolerances do not
    allow more. TOO_LARGE: the choices that may be better are too many to be searched.
    """

    CONVERGED = "converged"
    GAP_REACHED = "gap_reached"
    EXHAUSTED = "exhausted"
    PATIENCE = "patience"
    TIME_LIMIT = "time_limit"
    NODE_LIMIT = "node_limit"
    INTERRUPTED = "interrupted"
    CALLBACK = "callback"
    INACCURATE = "inaccurate"
    TOO_LARGE = "too_large"


class Guarantee(StrEnum):
    """What is proven of an answer.

    OPTIMAL: the gap is at most the one asked for, by a bound that was recomputed, comes
    from exhaustion or is an engine's. LOCAL: no single block can improve the choice.
    FEASIBLE: the choice is feasible. BOUND_ONLY: a bound but no choice. NONE: neither.
    """

    OPTIMAL = "optimal"
    LOCAL = "local"
    FEASIBLE = "feasible"
    BOUND_ONLY = "bound_only"
    NONE = "none"


class BoundSource(StrEnum):
    """Where a bound comes from, and so how far it can be trusted.

    FRANK_WOLFE, DUAL: recomputed by the formulation at `Result.relaxed`, for problems with
    fixed and with free coefficients. SPLIT: the perspective bound of a split Gram matrix, at
    the solver's own dual point. CLOSED_FORM: a linear system was solved. EXHAUSTION: the
    solver has covered every choice. ENGINE: an engine says so; what its tolerances may have
    added is taken off. NONE: there is no bound.
    """

    FRANK_WOLFE = "frank_wolfe"
    DUAL = "dual"
    SPLIT = "split"
    CLOSED_FORM = "closed_form"
    EXHAUSTION = "exhaustion"
    ENGINE = "engine"
    NONE = "none"


@dataclass(frozen=True)
class TraceEntry:
    """Best objective and bound known so many seconds into a solve."""

    seconds: float
    objective: float
    bound: float


@dataclass(frozen=True, eq=False, repr=False)
class Result:
    """Answer of a solver, checked by `solve`.

    Attributes
    ----------
    solver
        Label under which the solver ran, as `solve` takes it.
    choice
        The choice as the formulation defines it, or None.
    beta
        (n,) coefficients of the trees: ones where they are fixed, 0 for a removed tree where
        they are free; None without a choice.
    objective
        Recomputed by the formulation, in units of y²; +inf without a choice.
    bound
        Proven lower bound of the optimum, −inf if there is none.
    bound_source
        What proves the bound.
    relaxed
        The relaxed point at which the bound was computed, if any.
    termination, guarantee
        Why the solver stopped, and what is proven.
    build_seconds, solve_seconds
        Time to set the problem up for the solver, and to solve it. Imports and compilation
        come before either.
    trace
        How the incumbent and the bound developed.
    versions
        Versions of the packages that took part.
    log
        What the engine printed, if anything.
    extra
        Further figures of the solver, by name.
    """

    solver: str
    choice: npt.NDArray[Any] | None
    beta: FloatArray | None
    objective: float
    bound: float
    bound_source: BoundSource
    relaxed: FloatArray | None
    termination: Termination
    guarantee: Guarantee
    build_seconds: float
    solve_seconds: float
    trace: tuple[TraceEntry, ...] = ()
    versions: dict[str, str] = field(default_factory=dict)
    log: str = ""
    extra: dict[str, Any] = field(default_factory=dict)

    @property
    def absolute_gap(self) -> float:
        """Objective minus bound, at least 0; inf when either is missing."""
        if np.isinf(self.objective) or np.isinf(self.bound):
            return np.inf
        return max(self.objective - self.bound, 0.0)

    @property
    def gap(self) -> float:
        """(objective − bound) / max(|objective|, 1e-12); inf when either is missing."""
        if np.isinf(self.absolute_gap):
            return np.inf
        return self.absolute_gap / max(abs(self.objective), 1e-12)

    def __repr__(self) -> str:
        return (
            f"Result({self.solver}: {self.guarantee}, objective {self.objective:.6g}, "
            f"bound {self.bound:.6g}, gap {self.gap:.2%}, {self.termination} after "
            f"{self.solve_seconds:.3g} s)"
        )
