"""What the engines of mixed-integer programming do on problems with free coefficients.

As on the others (`_choices.mip`): an incumbent, a relaxation, what is left after fixing, and
only the engine in a process of its own.
"""

from __future__ import annotations

from abc import abstractmethod
from time import perf_counter
from typing import ClassVar

import numpy as np

from formulations import FreeFormulation, NormalEquations
from formulations.rewritings.perspective import UnitFree
from solvers._choices.mip import MIPOptions
from solvers._choices.swaps import CBCDOptions
from solvers._coefficients.cbcd import CoefficientCBCD
from solvers._coefficients.engine_search import CoefficientSearch
from solvers._coefficients.listing import compile_listing, every_column, unlistable
from solvers._core.base import Answer, Control, Solver
from solvers._core.errors import InvalidOption
from solvers._core.result import BoundSource, Termination
from solvers._engines.process import STARTING_SECONDS, engine_process
from solvers._engines.pyomo import GUROBI, HIGHS, SCIP, warm_up
from solvers._engines.pyomo_coefficients import Tightened, solve_outer, solve_quadratic, tighten


class CoefficientMIP(Solver[FreeFormulation]):
    """Descent, the perspective relaxation, fixing, then an engine on what is left.

    The engine gets a semicontinuous program (`rewritings.semicontinuous`) with ranges of the
    coefficients that follow from the incumbent, from ``beta_bound``, or from both. Its sets of
    columns are refitted, and its bound is lowered by what its tolerances may have added.

    With ``beta_bound``, nothing says that the optimum is within: where the stated range is
    smaller than the one that follows from the incumbent, the bound is at most the least value
    that a solution outside may have. ``extra["bound_within"]`` is the engine's bound inside,
    ``extra["touches_bound"]`` whether the best coefficients reach the stated range.
    """

    takes = FreeFormulation
    method = "exact"
    proof = "the engine's bound, lowered by its tolerances"
    options: MIPOptions

    engine: ClassVar[str]
    _late = 0.0

    @classmethod
    def unsupported(cls, problem: FreeFormulation) -> str | None:
        """Refuse subtrees that are too many to be listed."""
        return unlistable(problem)

    def prepare(self, problem: FreeFormulation) -> None:
        """Compile the kernels and let the engine solve something in its process."""
        CoefficientCBCD(CBCDOptions()).prepare(problem)
        compile_listing(problem)
        began = perf_counter()
        engine_process(1).call(warm_up, self.engine, limit=np.inf, stopped=lambda: False)
        self._late = max(perf_counter() - began - STARTING_SECONDS, 0.0)

    def build(self, problem: FreeFormulation) -> NormalEquations:
        """Compute the products of all columns."""
        return every_column(problem)

    def run(self, problem: FreeFormulation, model: NormalEquations, control: Control) -> Answer:
        """Find an incumbent, relax, drop what cannot be better, ask the engine."""
        descent = CoefficientCBCD(CBCDOptions())
        first = descent.run(problem, descent.build(problem), control)
        reason = control.stop()
        if reason is not None:
            first.termination = reason
            return first
        form = UnitFree.of(model)
        assert first.choice is not None
        assert first.beta is not None
        b = model.coefficients(first.choice, first.beta)
        if form is None:  # no column can lower the objective
            first.bound = model.value(np.zeros(model.n_columns))
            first.bound_source = BoundSource.EXHAUSTION
            first.termination = Termination.EXHAUSTED
            return first
        if problem.convex:
            return first  # a linear system
        search = CoefficientSearch(model, form, b, control, self._late)
        termination = Termination.GAP_REACHED
        if not search.finished:
            termination = control.stop() or self._ask(search)
        return search.answer(termination, first)

    def _ask(self, search: CoefficientSearch) -> Termination:
        search.set_up(self.options.beta_bound, self.options.presolve)
        return Termination.GAP_REACHED if search.finished else self.search(search)

    @abstractmethod
    def search(self, search: CoefficientSearch) -> Termination:
        """Call the engine until the gap is closed or a limit is met."""


class CoefficientHiGHS(CoefficientMIP):
    """Outer approximation: linear programs first, then MILPs, each with the cuts of the last."""

    summary = "mixed-integer linear programs by HiGHS: outer approximation"
    engines = ("pyomo", "highspy")
    engine = HIGHS

    def __init__(self, options: MIPOptions) -> None:
        super().__init__(options)
        if getattr(options, "form", "outer") != "outer":
            raise InvalidOption("form=products is for problems whose coefficients are fixed")

    def search(self, search: CoefficientSearch) -> Termination:
        """Cut at each solution until its objective is the MILP's, within the gap."""
        tightened = search.call(tighten)
        if tightened is None:
            return search.control.stop() or Termination.TIME_LIMIT
        assert isinstance(tightened, Tightened)
        cuts = tightened.cuts
        form, before = search.form, set[bytes]()
        while True:
            answer = search.call(solve_outer, cuts, *search.start)
            if answer is None:
                return search.control.stop() or Termination.TIME_LIMIT
            bound = search.within
            b = search.accept(answer)
            reason = search.reason(answer.timed_out)
            if reason is not None:
                return reason
            if b is None or answer.x is None:
                return Termination.INACCURATE
            used = answer.x[: form.n_columns].round()
            seen = used.tobytes() in before
            if seen and search.within - bound < 0.01 * search.allowance:
                return Termination.INACCURATE  # its cuts are there: tolerances are met
            before.add(used.tobytes())
            cuts = cuts.with_point(form, used, answer.x[form.n_columns :])
            s, e = form.at_coefficients(b)
            cuts = cuts.with_point(form, s, np.clip(e, form.low, form.high) * s)


class CoefficientQuadratic(CoefficientMIP):
    """One program with the squares as they are."""

    def search(self, search: CoefficientSearch) -> Termination:
        """Solve one program."""
        answer = search.call(solve_quadratic, *search.start, self.engine)
        if answer is None:
            return search.control.stop() or Termination.TIME_LIMIT
        search.accept(answer)
        return search.reason(answer.timed_out) or Termination.INACCURATE


class CoefficientSCIP(CoefficientQuadratic):
    """SCIP on problems with free coefficients."""

    summary = "mixed-integer quadratic program by SCIP, in factor form"
    engines = ("pyomo", "pyscipopt")
    engine = SCIP


class CoefficientGurobi(CoefficientQuadratic):
    """Gurobi on problems with free coefficients."""

    summary = "mixed-integer quadratic program by Gurobi, in factor form"
    engines = ("pyomo", "gurobipy")
    engine = GUROBI
