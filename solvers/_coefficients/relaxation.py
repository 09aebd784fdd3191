"""`relaxation` where coefficients are free."""

from __future__ import annotations

from typing import TYPE_CHECKING

from formulations import FreeFormulation, JointSubtreePruning, NormalEquations
from formulations.rewritings.perspective import UnitFree
from solvers._coefficients.branching import CoefficientBranching
from solvers._coefficients.cbcd import solve_linear
from solvers._coefficients.gram_solver import (
    GramSolver,
    first_answer,
    first_incumbent,
    nothing_helps,
)
from solvers._coefficients.listing import every_column, unlistable
from solvers._coefficients.relaxing.column_generation import ColumnGeneration
from solvers._core.base import Answer, Control
from solvers._core.errors import InvalidOption
from solvers._core.result import BoundSource, Termination

if TYPE_CHECKING:
    from solvers._core.options import RelaxationOptions


class CoefficientRelaxation(GramSolver):
    """The perspective relaxation by coordinate descent, on a split of the Gram matrix.

    Part of the Gram matrix is moved into the perspective terms: the ridge first, and then
    as much as raises the bound (`splitting`). The relaxation is rounded and improved
    by descent; the better of that and what coordinate descent finds is returned.

    Where subtrees are too many to be listed, those that are needed are generated, and only the
    ridge is moved. Without a ridge, the bound is then that of the point.
    """

    summary = "own perspective relaxation, rounded and improved by descent"
    method = "relaxation"
    proof = "dual bound of the perspective relaxation"
    options: RelaxationOptions

    def __init__(self, options: RelaxationOptions) -> None:
        super().__init__(options)
        if options.form == "rows":
            raise InvalidOption(
                "form='rows' is for problems whose coefficients are fixed: with free ones the "
                "relaxation works on the Gram matrix, form='gram'"
            )

    @classmethod
    def unsupported(cls, problem: FreeFormulation) -> str | None:
        """Take all problems."""
        del problem
        return None

    def predicted_bytes(self, problem: FreeFormulation) -> int | None:
        """Return the memory of the Gram matrix and its copies, where all columns are listed."""
        return super().predicted_bytes(problem) if unlistable(problem) is None else None

    def build(self, problem: FreeFormulation) -> NormalEquations | None:
        """Compute the products of all columns, where they can be listed."""
        return None if unlistable(problem) else every_column(problem)

    def run(
        self, problem: FreeFormulation, model: NormalEquations | None, control: Control
    ) -> Answer:
        """Find an incumbent, relax, round."""
        if model is None:
            assert isinstance(problem, JointSubtreePruning)
            return self._generate(problem, control)
        if problem.convex:
            return solve_linear(model)
        first, b = first_incumbent(model, control)
        form = UnitFree.of(model)
        if form is None:
            return nothing_helps(model, first)
        search = CoefficientBranching(form, b, control, tolerance=self.options.tolerance)
        root = search.open()
        choice, beta = model.solution(search.best)
        return Answer(
            control.stop() or Termination.CONVERGED,
            choice=choice,
            beta=beta,
            local=first.local and search.objective >= model.value(b),
            relaxed=model.point(form.coefficients(root.everywhere(form.n_columns))),
            bound=search.bound,
            bound_source=BoundSource.SPLIT,
            extra={"form": "gram", "columns": len(root.others)},
        )

    def _generate(self, problem: JointSubtreePruning, control: Control) -> Answer:
        first = first_answer(problem, control)
        search = ColumnGeneration(problem, first)
        local = first.local
        if problem.rule.ridge > 0.0:
            search.run(self.options.tolerance, control)
            local = search.round(control) or local
        choice, beta = search.solution
        return Answer(
            control.stop() or Termination.CONVERGED,
            choice=choice,
            beta=beta,
            local=local,
            relaxed=search.point,
            extra={"form": "generated", "rounds": search.rounds},
        )
