"""How every exact solver opens: incumbent, relaxation, and what can be better."""

from __future__ import annotations

from dataclasses import dataclass

from formulations import ChoiceColumns, ChoiceFormulation
from formulations.arrays import FloatArray, IntArray
from formulations.errors import TooManyChoices
from solvers._choices.columns import compile_columns
from solvers._choices.descent import Descent, compile_descent
from solvers._choices.relaxed import Relaxed, compile_relaxed
from solvers._choices.swaps import CBCDOptions, descend_and_search
from solvers._core.base import Answer, Control
from solvers._core.result import Termination


@dataclass(frozen=True)
class Incumbent:
    """A choice, its objective, and whether no single block can improve it."""

    choice: IntArray
    objective: float
    local: bool

    @classmethod
    def from_rounding(
        cls, problem: ChoiceFormulation, start: Descent, point: FloatArray, control: Control
    ) -> Incumbent:
        """Return the better of two descents: from a relaxed point's rounding, and of ``start``.

        The second one is gone on with only where it is ahead.
        """
        descent = Descent(problem, problem.rounded(point))
        local = descent.run(control)
        if start.objective < descent.objective:
            descent, local = start, start.run(control)
        return cls(descent.state.choice.copy(), descent.objective, local)


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
    def of(cls, problem: ChoiceFormulation, control: Control) -> Opening:
        """Descend hastily, relax, round, and search from there.

        Descent from the rounding of the relaxed point arrives where descent from the empty
        model crawls to, so that need not come to its end.
        """
        start = problem.zero() if control.warm_start is None else control.warm_start
        descent = Descent(problem, start)
        descent.beats(descent.objective, control)
        control.report(descent.objective)
        relaxed = Relaxed(problem, problem.point(descent.state.choice))
        bound = relaxed.run(min(0.1 * control.gap, 1e-4), control)
        incumbent = Incumbent.from_rounding(problem, descent, relaxed.point, control)
        control.report(incumbent.objective, bound)
        if not control.close_enough(incumbent.objective, bound) and control.stop() is None:
            search = Descent(problem, incumbent.choice)
            _, local, _ = descend_and_search(search, CBCDOptions(), control)
            incumbent = Incumbent(search.state.choice.copy(), search.objective, local)
        return cls(incumbent, relaxed, bound)

    def columns(self, presolve: bool, control: Control) -> ChoiceColumns | Answer:
        """Return the choices a better solution may have; without presolve all there are.

        The answer, instead, where there is nothing to search, no time for it, or more choices
        than can be listed.
        """
        reason = control.stop()
        if reason is not None or control.close_enough(self.incumbent.objective, self.bound):
            return self._ended(reason or Termination.GAP_REACHED)
        try:
            if presolve:
                return self.relaxed.surviving(self.incumbent.objective)
            return ChoiceColumns.every(self.relaxed.problem)
        except TooManyChoices:
            return self._ended(Termination.TOO_LARGE)

    def _ended(self, termination: Termination) -> Answer:
        return Answer(
            termination,
            choice=self.incumbent.choice,
            local=self.incumbent.local,
            relaxed=self.relaxed.point,
        )


def compile_opening(problem: ChoiceFormulation) -> None:
    """Compile every kernel of the opening and of a search on columns."""
    compile_descent(problem)
    compile_relaxed(problem)
    compile_columns()
