"""The relaxation by pairwise steps, its bound, and a choice rounded from it."""

from __future__ import annotations

from formulations import ChoiceColumns, ChoiceFormulation
from formulations.arrays import FloatArray, IntArray
from formulations.errors import TooManyChoices
from solvers._choices.columns import relax_all
from solvers._choices.descent import Descent
from solvers._choices.opening import Incumbent, compile_opening
from solvers._choices.relaxed import Relaxed
from solvers._coefficients.relaxation import CoefficientRelaxation
from solvers._core.base import Answer, Control, Solver
from solvers._core.errors import UnsupportedProblem
from solvers._core.options import RelaxationOptions
from solvers._core.result import Termination

# What one row of a tree costs in a sweep, and one multiplication in a Gram matrix, in ns; and
# how many sweeps a relaxation takes. Only for choosing between the forms.
_VISIT = 1.5
_PRODUCT = 0.05
_SWEEPS = 20


class Relaxation(Solver[ChoiceFormulation]):
    """Minimise over the relaxed choices of one block after the other.

    The relaxation gives each block weights on its choices, at least 0 and of sum 1. Sweeps
    over the rows start from a hasty descent: inside a block weight moves from the worst used
    choice to the best with exact line search. In between, the choices that the sweeps have
    found to have weight are weighed against each other on their Gram matrix, all blocks at
    once; both end by the Frank–Wolfe gap. The rounded choice is the nearest to the relaxed
    point, improved by descent; the better of it and the starting point is returned.
    """

    summary = "own first-order relaxation, rounded and improved by descent"
    method = "relaxation"
    proof = "Frank–Wolfe bound at the relaxed point"
    for_coefficients = CoefficientRelaxation
    Options = RelaxationOptions
    options: RelaxationOptions

    def prepare(self, problem: ChoiceFormulation) -> None:
        """Compile the kernels."""
        compile_opening(problem)

    def build(self, problem: ChoiceFormulation) -> ChoiceColumns | None:
        """Return all choices as columns, for the Gram form."""
        if self._form(problem) == "rows":
            return None
        try:
            return ChoiceColumns.every(problem)
        except TooManyChoices as error:
            raise UnsupportedProblem(
                f"relaxation[form=gram] works on all choices, but {error}; "
                "relaxation[form=rows] can take the problem"
            ) from None

    def run(
        self, problem: ChoiceFormulation, model: ChoiceColumns | None, control: Control
    ) -> Answer:
        """Descend, relax, round, descend."""
        start = problem.zero() if control.warm_start is None else control.warm_start
        descent = Descent(problem, start)
        descent.beats(descent.objective, control)
        control.report(descent.objective)
        if model is None:
            relaxed = Relaxed(problem, problem.point(descent.state.choice))
            bound = relaxed.run(self.options.tolerance, control)
            point = relaxed.point
        else:
            point = self._relax_columns(model, descent.state.choice)
            bound = problem.linear_bound(point)
        found = Incumbent.from_rounding(problem, descent, point, control)
        control.report(found.objective, bound)
        return Answer(
            control.stop() or Termination.CONVERGED,
            choice=found.choice,
            local=found.local,
            relaxed=point,
            extra={"form": "rows" if model is None else "gram"},
        )

    def _form(self, problem: ChoiceFormulation) -> str:
        if self.options.form != "auto":
            return self.options.form
        data = problem.data
        entries = data.n_rows * data.n_outputs
        columns = sum(problem.count_block_choices(i) for i in range(data.n_trees))
        by_gram = _PRODUCT * entries * columns**2
        by_rows = _SWEEPS * _VISIT * entries * data.n_trees
        return "gram" if by_gram < by_rows else "rows"

    def _relax_columns(self, model: ChoiceColumns, choice: IntArray) -> FloatArray:
        weights = model.weights(model.selected(choice))
        scale = max(abs(model.value(weights)), model.problem.tolerance)
        relax_all(model, weights, self.options.tolerance * scale)
        return model.point(weights)
