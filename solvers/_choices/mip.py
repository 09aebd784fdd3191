"""What the solvers that rest on an engine of mixed-integer programming share.

Descent, relaxation and fixing run here; only the engine runs in a process of its own, which
is ended at the limit. So a limit or Ctrl-C costs what the engine is doing, but neither the
incumbent nor the bound.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import Any, ClassVar

import numpy as np

from formulations import ChoiceColumns, ChoiceFormulation, Formulation
from formulations.arrays import IntArray
from formulations.rewritings.linearised import CentredForm
from solvers._choices.columns import largest_weights, relax_all
from solvers._choices.opening import Opening, compile_opening
from solvers._core.base import Answer, Control, Solver, require_bool, require_positive
from solvers._core.errors import EngineFailure, InvalidOption
from solvers._core.result import BoundSource, Termination
from solvers._engines.process import STARTING_SECONDS, ProcessEnded, engine_process
from solvers._engines.pyomo import FEASIBILITY, EngineAnswer, Limits, solve_quadratic, warm_up

# Gap to which the engine solves, as a part of the gap asked for.
_ENGINE_PART = 0.1

# An engine is asked to end this long before its process is ended: at least the first number
# of seconds, or the second as a part of what is left, up to the third.
_EARLIER = (0.01, 0.1, 0.5)


@dataclass(frozen=True)
class MIPOptions:
    """Options of an engine of mixed-integer programming.

    Attributes
    ----------
    presolve
        Whether to drop choices that no better solution can have, before the engine starts.
    beta_bound
        For problems with free coefficients: a limit of the coefficient of every tree, above 0,
        in its own unit. By default limits follow from the incumbent.
    """

    presolve: bool = True
    beta_bound: float | None = None

    def __post_init__(self) -> None:
        require_bool("presolve", self.presolve)
        if self.beta_bound is not None:
            require_positive("beta_bound", self.beta_bound)


class MIPSolver(Solver[ChoiceFormulation]):
    """Coordinate descent, relaxation, reduced-cost fixing, then an engine on what survives.

    The engine gets the problem centred at its relaxed point and divided by the gap that is
    left (`rewritings.linearised`), starts at the incumbent, and is believed only as far as
    its tolerances go: its solutions are evaluated anew from the data, and its bound is
    lowered by what its tolerances may have added.
    """

    method = "exact"
    proof = "the engine's bound, lowered by its tolerances"
    Options = MIPOptions
    options: MIPOptions

    engine: ClassVar[str]
    _late = 0.0

    def prepare(self, problem: ChoiceFormulation) -> None:
        """Compile the kernels and let the engine solve something in its process."""
        if self.options.beta_bound is not None:
            raise InvalidOption("beta_bound is for free coefficients: here they are 1")
        compile_opening(problem)
        began = perf_counter()
        engine_process(1).call(warm_up, self.engine, limit=np.inf, stopped=lambda: False)
        self._late = max(perf_counter() - began - STARTING_SECONDS, 0.0)

    def run(self, problem: ChoiceFormulation, model: None, control: Control) -> Answer:
        """Find an incumbent, solve the relaxation, drop what cannot be better, ask the engine."""
        opening = Opening.of(problem, control)
        columns = opening.columns(self.options.presolve, control)
        if isinstance(columns, Answer):
            return columns
        incumbent = opening.incumbent
        search = EngineSearch(
            columns, incumbent.choice, incumbent.objective, opening.bound, control, self._late
        )
        termination = Termination.GAP_REACHED
        if not search.finished:
            termination = self.search(search)
        return Answer(
            termination,
            choice=search.choice,
            local=incumbent.local and search.objective == incumbent.objective,
            relaxed=opening.relaxed.point,
            bound=search.bound,
            bound_source=BoundSource.ENGINE if search.calls else BoundSource.EXHAUSTION,
            log=search.log,
            extra={"columns": columns.n_columns, "engine_calls": search.calls},
        )

    @abstractmethod
    def search(self, search: EngineSearch) -> Termination:
        """Call the engine until the gap is closed or a limit is met."""


class QuadraticMIP(MIPSolver):
    """One mixed-integer program with a convex quadratic row t ≥ v² for each residual."""

    def search(self, search: EngineSearch) -> Termination:
        """Solve one program."""
        answer = search.call(solve_quadratic, search.selected, self.engine)
        if answer is None:
            return search.control.stop() or Termination.TIME_LIMIT
        search.accept(answer, search.residual_error())
        if search.finished:
            return Termination.GAP_REACHED
        reason = search.control.stop() or (Termination.TIME_LIMIT if answer.timed_out else None)
        return reason or Termination.INACCURATE


class EngineRun:
    """Objective and bound of a search by an engine, and calls of it within the limits.

    Parameters
    ----------
    problem
        What is solved.
    objective
        That of the incumbent.
    bound
        A lower bound of the optimum.
    control
        Limits, and where progress is reported.
    late
        Seconds to take off the time limit.
    """

    form: Any

    def __init__(
        self, problem: Formulation, objective: float, bound: float, control: Control, late: float
    ) -> None:
        self.problem = problem
        self.objective = objective
        self.bound = bound
        self.control = control
        self._late = late
        self.log = ""
        self.calls = 0

    @property
    def allowance(self) -> float:
        """How far below the incumbent the bound may stay, in units of y²."""
        return max(self.control.gap * abs(self.objective), self.problem.tolerance)

    @property
    def finished(self) -> bool:
        """Whether the gap asked for is reached."""
        return self.objective - self.bound <= self.allowance

    def call(self, function: Callable[..., EngineAnswer], *arguments: Any) -> EngineAnswer | None:
        """Return ``function(*arguments, limits)`` from the engine's process, or None if ended.

        Raises
        ------
        EngineFailure
            When the function raised or its process died.
        """
        self.calls += 1
        control = self.control
        left = max(control.time_limit - self._late - control.elapsed, 0.0)
        least, part, most = _EARLIER
        limits = Limits(
            gap=_ENGINE_PART * self.allowance / self.form.scale,
            seconds=max(left - min(max(part * left, least), most), 0.0),
            threads=control.threads,
            seed=control.seed,
            verbose=control.verbose,
        )
        try:
            answer: EngineAnswer = engine_process(1).call(
                function,
                self.form,
                *arguments,
                limits,
                limit=left,
                stopped=lambda: control.stop() is not None,
            )
        except ProcessEnded:
            return None
        self.log += answer.log
        return answer

    def raise_bound(self, bound: float) -> None:
        """Report a bound; one above the incumbent says that nothing is better than it."""
        self.bound = max(self.bound, min(bound, self.objective))
        self.control.report(self.objective, self.bound)


class EngineSearch(EngineRun):
    """A search on explicit columns.

    Parameters
    ----------
    columns
        The problem; a solution better than ``objective`` uses only these.
    choice, objective
        The incumbent.
    bound, control, late
        As for `EngineRun`.
    """

    form: CentredForm

    def __init__(
        self,
        columns: ChoiceColumns,
        choice: IntArray,
        objective: float,
        bound: float,
        control: Control,
        late: float,
    ) -> None:
        super().__init__(columns.problem, objective, bound, control, late)
        self.columns = columns
        self.choice = choice
        self.selected = columns.selected(choice)
        if columns.n_columns == 0:
            # One choice is left beside the incumbent.
            self._offer(columns.choice(self.selected))
            self.raise_bound(columns.constant)
            return
        weights = columns.weights(self.selected)
        relax_all(columns, weights, 0.01 * self.allowance)
        self.form = CentredForm.at(columns, weights, objective)
        self.raise_bound(self.form.bound)

    def accept(self, answer: EngineAnswer, added: float) -> IntArray | None:
        """Take over what an engine found, and return its solution as one column a block.

        Parameters
        ----------
        answer
            Solution and bound of the engine.
        added
            By how much its tolerances may have raised its bound, in its own units.

        Raises
        ------
        EngineFailure
            When the bound is above the objective of a known solution.
        """
        selected = None
        if answer.x is not None:
            selected = np.empty(len(self.form.start) - 1, dtype=np.int64)
            largest_weights(self.form.start, answer.x, selected)
            self._offer(self.columns.choice(selected))
        bound = self.form.bound + self.form.scale * (answer.bound - added)
        if bound > self.objective + self.problem.tolerance:
            raise EngineFailure(
                f"the engine's bound {bound!r} is above a feasible objective {self.objective!r}"
            )
        self.raise_bound(bound)
        return selected

    def residual_error(self) -> float:
        """Return what tolerances ε may add to a bound where rows t ≥ v² stand for the loss.

        Each residual, and each tangent with a slope of at most 2, may be off by ε: 3 ε a row.
        Reduced costs may be off by ε on columns of range 1, v of range 2 and t of range 1.
        """
        return FEASIBILITY * (self.form.n_columns + 6 * self.form.n_rows)

    def _offer(self, choice: IntArray) -> None:
        objective = self.problem.objective(choice)
        if objective < self.objective:
            self.choice, self.objective = choice, objective
            self.selected = self.columns.selected(choice)
