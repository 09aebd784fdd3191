"""`branch_and_bound` where coefficients are free."""

from __future__ import annotations

from typing import TYPE_CHECKING

from formulations import FreeFormulation, NormalEquations
from formulations.rewritings.perspective import UnitFree
from solvers._coefficients.branching import CoefficientBranching
from solvers._coefficients.cbcd import solve_linear
from solvers._coefficients.gram_solver import GramSolver, first_incumbent, nothing_helps
from solvers._core.base import Answer, Control
from solvers._core.result import BoundSource

if TYPE_CHECKING:
    from solvers._core.options import BranchAndBoundOptions


class CoefficientBranchAndBound(GramSolver):
    """Best-first search on the columns, with perspective bounds from a split Gram matrix.

    The incumbent is that of coordinate descent with local search, and of rounding and descent
    at the nodes. ``presolve=False`` leaves the Gram matrix whole but for the ridge.
    """

    summary = "exact: best-first branch and bound on own relaxations"
    method = "exact"
    proof = "exhaustion, by perspective bounds at the nodes"
    options: BranchAndBoundOptions

    def run(self, problem: FreeFormulation, model: NormalEquations, control: Control) -> Answer:
        """Find an incumbent, bound the root, drop what cannot be better, search."""
        if problem.convex:
            return solve_linear(model)
        first, b = first_incumbent(model, control)
        form = UnitFree.of(model)
        if form is None:
            return nothing_helps(model, first)
        search = CoefficientBranching(form, b, control, self.options.presolve)
        left = len(search.open().others)
        termination = search.run(self.options.node_limit)
        choice, beta = model.solution(search.best)
        return Answer(
            termination,
            choice=choice,
            beta=beta,
            local=first.local and search.objective >= model.value(b),
            relaxed=model.point(search.best),
            bound=search.bound,
            bound_source=BoundSource.EXHAUSTION,
            extra={"nodes": search.nodes, "columns": left, "splits": search.splits},
        )
