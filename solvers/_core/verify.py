"""`verify`: what of a result can be checked from the data alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from formulations import Formulation, InvalidInput
from solvers._core.result import BoundSource, Result

_TOLERANCE = 1e-9


@dataclass(frozen=True)
class Verification:
    """Figures of a result, computed anew from the data.

    Attributes
    ----------
    feasible
        Whether the choice is one of the problem; None without a choice.
    objective
        The objective of the choice; +inf without one.
    bound
        The formulation's bound at the result's relaxed point or, without one, at its choice;
        −inf without either. A bound of the optimum whoever found the point.
    claims
        One sentence for each figure of the result: whether it is verified here, or only the
        solver's claim.
    sound
        Whether nothing in the result contradicts what was computed here.
    """

    feasible: bool | None
    objective: float
    bound: float
    claims: tuple[str, ...]
    sound: bool

    @property
    def gap(self) -> float:
        """(objective − bound) / max(|objective|, 1e-12) of the verified figures."""
        if np.isinf(self.objective) or np.isinf(self.bound):
            return np.inf
        return max(self.objective - self.bound, 0.0) / max(abs(self.objective), 1e-12)

    def __str__(self) -> str:
        verdict = "sound" if self.sound else "NOT sound"
        return "\n".join([f"{verdict}, verified gap {self.gap:.4%}", *self.claims])


def verify(problem: Formulation, result: Result) -> Verification:
    """Recompute feasibility, objective and bound of a result.

    Parameters
    ----------
    problem
        The problem that the result is said to solve.
    result
        A result of `solve`, from this or another process.

    Returns
    -------
    Verification
        What holds, and what is only claimed.
    """
    if not isinstance(problem, Formulation):
        raise InvalidInput(f"problem must be a formulation, not {type(problem).__name__}")
    if not isinstance(result, Result):
        raise InvalidInput(f"result must be a Result of solve, not {type(result).__name__}")
    claims: list[str] = []
    sound = True
    feasible: bool | None = None
    objective = np.inf
    close = _TOLERANCE * problem.data.target_square
    if result.choice is None:
        claims.append("there is no choice")
    else:
        try:
            objective = problem.objective(result.choice, result.beta)
            feasible = True
            claims.append("the choice is feasible: verified")
        except InvalidInput as error:
            feasible = sound = False
            claims.append(f"the choice is not feasible: {error}")
    if feasible:
        same = abs(objective - result.objective) <= close
        sound &= same
        claims.append(
            f"objective {result.objective:.10g}: "
            + ("verified" if same else f"wrong, it is {objective:.10g}")
        )
    bound = -np.inf
    point = result.relaxed
    if point is None and feasible and result.choice is not None:
        point = problem.point(result.choice, result.beta)
    if point is not None:
        try:
            bound = problem.linear_bound(point)
        except InvalidInput as error:
            sound = False
            claims.append(f"the relaxed point does not belong to the problem: {error}")
    if result.bound == -np.inf:
        claims.append(
            "no bound is claimed" + (f"; {bound:.10g} holds" if point is not None else "")
        )
    elif result.bound <= bound + close:
        claims.append(f"bound {result.bound:.10g}: verified, {bound:.10g} holds at its point")
    elif result.bound > objective + close:
        sound = False
        claims.append(f"bound {result.bound:.10g}: wrong, a choice has objective {objective:.10g}")
    else:
        reason = {
            BoundSource.EXHAUSTION: "rests on the solver's enumeration",
            BoundSource.SPLIT: "rests on the solver's split of the Gram matrix",
            BoundSource.CLOSED_FORM: "rests on a linear system",
            BoundSource.ENGINE: "is the engine's claim",
        }.get(result.bound_source, "is the solver's claim")
        claims.append(f"bound {result.bound:.10g}: {reason}; verified is {bound:.10g}")
    return Verification(feasible, objective, bound, tuple(claims), sound)
