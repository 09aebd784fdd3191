"""What all solvers together know of a problem: its best choice, and its best bound."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby

from studies.reporting.report import Run
from studies.running.records import Row, build_times, solve_times
from studies.spec import Cell, Instance

# Values closer than this are the same to rounding, in units of the variance of y; `solve`
# allows a bound as much above the objective of its own choice.
ROUNDING = 1e-9


@dataclass(frozen=True)
class Attempt:
    """What a solver made of a problem.

    Attributes
    ----------
    objective
        inf without a choice.
    bound
        −inf without a bound.
    """

    cell: Cell
    row: Row

    @property
    def solver(self) -> str:
        """The solver's label."""
        return self.cell.solver

    @property
    def answered(self) -> bool:
        """Whether there is a choice or a bound."""
        return math.isfinite(self.objective) or math.isfinite(self.bound)

    @property
    def objective(self) -> float:
        """Objective of the choice, in units of the variance of y."""
        return _number(self.row.get("objective"), math.inf)

    @property
    def bound(self) -> float:
        """The solver's own lower bound."""
        return _number(self.row.get("bound"), -math.inf)

    @property
    def gap(self) -> float:
        """Relative gap by the solver's own bound; inf where it has none."""
        return relative_gap(self.objective, self.bound)

    @property
    def proven(self) -> bool:
        """Whether the solver itself has proven its choice to be optimal."""
        return bool(self.row.get("guarantee") == "optimal")

    @property
    def seconds(self) -> float:
        """Build and solve time, the median of the warm calls; inf without a call."""
        if self.row.get("cold") is None:
            return math.inf
        return build_times(self.row).median + solve_times(self.row).median

    @property
    def trace(self) -> list[tuple[float, float]]:
        """(seconds, relative gap by the solver's own bound) of one call."""
        return [
            (seconds, relative_gap(_number(objective, math.inf), _number(bound, -math.inf)))
            for seconds, objective, bound in self.row.get("trace", [])
        ]


@dataclass(frozen=True)
class Problem:
    """An instance at one α, with what each solver made of it."""

    instance: Instance
    alpha: float
    attempts: tuple[Attempt, ...]

    @property
    def name(self) -> str:
        """Instance and α for people."""
        return f"{self.instance.kind}, {self.instance.grid}, α = {self.alpha:g}"

    @property
    def objective(self) -> float:
        """The lowest objective of all solvers."""
        return min(attempt.objective for attempt in self.attempts)

    @property
    def bound(self) -> float:
        """The highest bound of all solvers."""
        return max(attempt.bound for attempt in self.attempts)

    @property
    def proofs(self) -> list[Attempt]:
        """Attempts that have proven an optimum, the fastest first."""
        return sorted((a for a in self.attempts if a.proven), key=lambda a: a.seconds)

    def gap_of(self, attempt: Attempt) -> float:
        """Return how far above the best bound an attempt's objective is, relatively."""
        return relative_gap(attempt.objective, self.bound)

    def excess_of(self, attempt: Attempt) -> float:
        """Return how far above the best objective an attempt's is, relatively."""
        return relative_gap(attempt.objective, self.objective)


def problems_of(run: Run) -> list[Problem]:
    """Group the cells of a run by instance and α."""
    attempts = [Attempt(cell, row) for cell, row in run.cells]
    order = {key: k for k, key in enumerate(dict.fromkeys(map(_key, attempts)))}
    attempts.sort(key=lambda attempt: order[_key(attempt)])  # a later run may have added some
    return [Problem(*key, tuple(group)) for key, group in groupby(attempts, key=_key)]


def relative_gap(objective: float, bound: float) -> float:
    """Return (objective − bound) / |objective|, at least 0; inf when either is missing."""
    if math.isinf(objective) or math.isinf(bound):
        return math.inf
    return max(objective - bound, 0.0) / max(abs(objective), 1e-12)


def contradictions(problems: list[Problem]) -> Iterator[str]:
    """Yield each bound that is above the objective of a choice for the same problem."""
    for problem in problems:
        for above in problem.attempts:
            for below in problem.attempts:
                excess = above.bound - below.objective
                if excess > ROUNDING:
                    yield (
                        f"{problem.name}: the bound {above.bound!r} of {above.solver} is "
                        f"{excess:.2g} above the objective {below.objective!r} of {below.solver}"
                    )


def _key(attempt: Attempt) -> tuple[Instance, float]:
    return attempt.cell.instance, attempt.cell.alpha


def _number(value: float | None, missing: float) -> float:
    return missing if value is None else value
