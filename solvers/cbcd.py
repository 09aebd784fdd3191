"""Cyclic block coordinate descent with local search (FP §3.1 and Algorithm 3)."""

from __future__ import annotations

from formulations import ChoiceFormulation
from solvers._choices.descent import Descent, compile_descent
from solvers._choices.swaps import CBCDOptions, descend_and_search
from solvers._coefficients.cbcd import CoefficientCBCD
from solvers._core.base import Answer, Control, Solver

__all__ = ["CBCD", "CBCDOptions"]


class CBCD(Solver[ChoiceFormulation]):
    """Exact block updates until a full sweep changes nothing, then swaps.

    A swap removes a random kept tree, makes a removed one whole and descends again; it is
    taken back unless the objective fell. After a failure the next removed tree in order is
    tried. The search ends early when the gap asked for is proven. The bound costs one pass
    over the rows at the final choice. ``Result.extra["sweeps"]`` counts the sweeps over all
    trees, those of the search included.
    """

    for_coefficients = CoefficientCBCD
    summary = "block coordinate descent with local search"
    method = "heuristic"
    proof = "Frank–Wolfe bound at the choice"
    Options = CBCDOptions
    options: CBCDOptions

    def prepare(self, problem: ChoiceFormulation) -> None:
        """Compile the kernels."""
        compile_descent(problem)

    def build(self, problem: ChoiceFormulation) -> None:
        """Compute the products inside each tree, once for the data."""
        problem.rule, problem.data.trees  # noqa: B018

    def run(self, problem: ChoiceFormulation, model: None, control: Control) -> Answer:
        """Descend from the warm start or from the empty model, then search."""
        start = problem.zero() if control.warm_start is None else control.warm_start
        descent = Descent(problem, start)
        termination, local, point = descend_and_search(descent, self.options, control)
        return Answer(
            termination,
            choice=descent.state.choice.copy(),
            local=local,
            relaxed=point,
            extra={"sweeps": descent.sweeps},
        )
