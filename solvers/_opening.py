"""How every exact solver opens: incumbent, relaxation, and what can be better."""

from __future__ import annotations

from dataclasses import dataclass

from formulations import ChoiceColumns, Formulation
from formulations.arrays import FloatArray, IntArray
from solvers._base import Answer, Control
from solvers._columns import compile_columns
from solvers._descent import Descent, compile_descent
from solvers._relaxed import Relaxed, compile_relaxed
from solvers._result import Termination
from solvers.cbcd import CBCD, CBCDOptions


@dataclass(frozen=True)
class Incumbent:
    """A choice, its objective, and whether no single block can improve it."""

    choice: IntArray
    objective: float
    local: bool

    def or_rounded(self, problem: Formulation, point: FloatArray, control: Control) -> Incumbent:
        """Return the better of this and the rounding of a relaxed point after descent."""
        rounded = Descent(problem, problem.rounded(point))
        finished = rounded.run(control)
        if rounded.objective < self.objective:
            return Incumbent(rounded.state.choice.copy(), rounded.objective, finished)
        return self


@dataclass(frozen=True)
class Opening:
    """Where a search begins.

    Attributes
    ----------
    incumbent
        From coordinate descent with local search, or from rounding.
    relaxed
        The relaxation, solved.
    bound
        Its bound.
    """

    incumbent: Incumbent
    relaxed: Relaxed
    bound: float

    @classmethod
    def of(cls, problem: Formulation, control: Control) -> Opening:
        """Descend, search, relax and round."""
        first = CBCD(CBCDOptions()).run(problem, None, control)
        assert first.choice is not None
        relaxed = Relaxed(problem, problem.point(first.choice))
        bound = relaxed.run(min(0.1 * control.gap, 1e-4), control)
        incumbent = Incumbent(first.choice, problem.objective(first.choice), first.local)
        incumbent = incumbent.or_rounded(problem, relaxed.point, control)
        control.report(incumbent.objective, bound)
        return cls(incumbent, relaxed, bound)

    def answer(self, control: Control) -> Answer | None:
        """Return the answer when there is nothing to search or no time for it, else None."""
        reason = control.stop()
        if reason is None and not control.close_enough(self.incumbent.objective, self.bound):
            return None
        return Answer(
            reason or Termination.GAP_REACHED,
            choice=self.incumbent.choice,
            local=self.incumbent.local,
            relaxed=self.relaxed.point,
        )

    def columns(self, presolve: bool) -> ChoiceColumns:
        """Return the choices a better solution may have; without presolve all there are."""
        if presolve:
            return self.relaxed.surviving(self.incumbent.objective)
        return ChoiceColumns.every(self.relaxed.problem)


def compile_opening(problem: Formulation) -> None:
    """Compile every kernel of the opening and of a search on columns."""
    compile_descent(problem)
    compile_relaxed(problem)
    compile_columns()
