"""Incumbent and bound of an engine's search on a problem with free coefficients."""

from __future__ import annotations

from typing import Any

import numpy as np

from formulations import NormalEquations
from formulations.arrays import FloatArray
from formulations.rewritings.perspective import UnitFree
from formulations.rewritings.ranges import Ranges
from formulations.rewritings.semicontinuous import SemicontinuousForm
from solvers._choices.mip import EngineRun
from solvers._coefficients.relaxing.alternation import relax
from solvers._core.base import Answer, Control
from solvers._core.errors import EngineFailure, UnsupportedProblem
from solvers._core.result import BoundSource, Termination
from solvers._engines.pyomo import FEASIBILITY, EngineAnswer

# What an engine's tolerances may add to its bound, as a part of the gap that is left, must be
# below this: else ranges are too wide for it.
_MOST_ADDED = 0.1

# Relative gap to which the relaxation is solved.
_RELAXED = 1e-4

_WAYS_OUT = "state a limit by beta_bound, or give the problem a ridge"


def require_bounded(ranges: Ranges) -> None:
    """Raise UnsupportedProblem when a coefficient may be of any size."""
    if ranges.unbounded:
        raise UnsupportedProblem(
            f"{ranges.unbounded} of {len(ranges.low)} columns depend on others, so that their "
            f"coefficients may be of any size; {_WAYS_OUT}"
        )


class CoefficientSearch(EngineRun):
    """A search on the semicontinuous form.

    Parameters
    ----------
    regression, unit_free
        The problem, and the same without units.
    b
        Coefficients of the incumbent.
    control, late
        As for `EngineRun`.
    """

    form: SemicontinuousForm

    def __init__(
        self,
        regression: NormalEquations,
        unit_free: UnitFree,
        b: FloatArray,
        control: Control,
        late: float,
    ) -> None:
        super().__init__(regression.problem, regression.value(b), -np.inf, control, late)
        self.regression = regression
        self.unit_free = unit_free
        self.b = b
        self.began_at = self.objective
        self.within = -np.inf
        self.ranges: Ranges | None = None
        self.prices = relax(unit_free, _RELAXED, control)
        shifted = unit_free.shifted()
        if shifted is not unit_free:
            more = relax(shifted, _RELAXED, control)
            self.prices = max(self.prices, more, key=lambda prices: prices.bound)
        self.raise_bound(self.prices.bound * regression.constant)

    def set_up(self, beta_bound: float | None, presolve: bool) -> None:
        """Find the ranges of the coefficients, and centre the problem.

        Raises
        ------
        UnsupportedProblem
            When nothing bounds a coefficient, or only so far that an engine's tolerances
            would cover the gap.
        """
        value = self.objective / self.regression.constant
        self.ranges = Ranges.of(self.prices, value, beta_bound)
        require_bounded(self.ranges)
        self.form = SemicontinuousForm.at(self.prices, self.objective, self.ranges, presolve)
        if not self.form.possible or self.form.n_columns == 0:
            self._offer(np.zeros(self.regression.n_columns))
            self.raise_bound(self.objective)
        elif self.added > _MOST_ADDED:
            widest = float((self.form.size * self.unit_free.unit[self.form.place]).max())
            raise UnsupportedProblem(
                f"coefficients up to {widest:.3g} cannot be excluded, too wide a range for an "
                f"engine's tolerances; {_WAYS_OUT}"
            )

    @property
    def start(self) -> tuple[FloatArray, FloatArray]:
        """Return s and e of the incumbent, or of nothing where it is outside the ranges."""
        s, e = self.form.at_coefficients(self.b)
        within = np.all((e >= self.form.low - 1e-6) & (e <= self.form.high + 1e-6) | (s == 0.0))
        return (s, e) if within else (np.zeros_like(s), np.zeros_like(e))

    @property
    def added(self) -> float:
        """By how much tolerances ε may raise a bound, in the engine's units.

        Each residual and each tangent, with slopes of at most 2, may be off by ε; so may
        every s and e, and reduced costs on variables of ranges 1 and 2.
        """
        form = self.form
        return FEASIBILITY * (8.0 * form.n_columns + 6.0 * form.n_rows + form.sensitivity)

    def accept(self, answer: EngineAnswer) -> FloatArray | None:
        """Take over what an engine found; return the refitted coefficients of its columns.

        Raises
        ------
        EngineFailure
            When the bound is above a solution within the ranges.
        """
        b = None
        if answer.x is not None:
            b = self.regression.refit(self.form.columns_of(answer.x[: self.form.n_columns]))
            self._offer(b)
        assert self.ranges is not None
        bound = self.form.bound + self.form.scale * (answer.bound - self.added)
        within = self.ranges.contain(self.unit_free.of_coefficients(self.b))
        if within and np.isfinite(answer.bound) and bound > self.objective + self.problem.tolerance:
            raise EngineFailure(
                f"the engine's bound {bound!r} is above a feasible objective {self.objective!r}"
            )
        self.within = max(self.within, bound)
        self.raise_bound(min(bound, self.ranges.outside * self.regression.constant))
        return b

    def reason(self, timed_out: bool) -> Termination | None:
        """Return why the search ends after an engine's answer, or None."""
        if self.finished:
            return Termination.GAP_REACHED
        if self.objective - self.within <= self.allowance:
            return Termination.CONVERGED  # within the stated ranges
        return self.control.stop() or (Termination.TIME_LIMIT if timed_out else None)

    def answer(self, termination: Termination, first: Answer) -> Answer:
        """Return what is known at the end; ``first`` is the incumbent it began with."""
        choice, beta = self.regression.solution(self.b)
        extra: dict[str, Any] = {"merged_trees": self.regression.merged, "engine_calls": self.calls}
        source = BoundSource.ENGINE if self.calls else BoundSource.CLOSED_FORM
        if self.ranges is not None:
            extra["columns"] = self.form.n_columns
            if np.isfinite(self.ranges.outside):
                w = self.unit_free.of_coefficients(self.b)
                extra["touches_bound"] = self.ranges.touched_by(w)
                extra["bound_within"] = min(self.within, self.objective)
        point = self.unit_free.coefficients(self.prices.w)
        return Answer(
            termination,
            choice=choice,
            beta=beta,
            local=first.local and self.objective == self.began_at,
            relaxed=self.regression.point(point),
            bound=self.bound,
            bound_source=source,
            log=self.log,
            extra=extra,
        )

    def _offer(self, b: FloatArray) -> None:
        objective = self.regression.value(b)
        if objective < self.objective:
            self.b, self.objective = b, objective
