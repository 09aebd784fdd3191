"""What solvers on the Gram matrix of all columns share, and the incumbent they start from."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from formulations import FreeFormulation, NormalEquations
from formulations.arrays import FloatArray
from solvers._choices.swaps import CBCDOptions
from solvers._coefficients.branching import compile_branching
from solvers._coefficients.cbcd import CoefficientCBCD
from solvers._coefficients.listing import (
    compile_listing,
    count_columns,
    every_column,
    unlistable,
)
from solvers._core.base import Answer, Control, Solver
from solvers._core.result import BoundSource, Termination

# Of the time that is left, this part may go to looking for the first incumbent.
_FIRST = 0.3

# Matrices of the size of the Gram matrix that are held at a time.
_MATRICES = 8


class GramSolver(Solver[FreeFormulation]):
    """What works on the Gram matrix of all columns, from an incumbent of coordinate descent."""

    takes = FreeFormulation

    @classmethod
    def unsupported(cls, problem: FreeFormulation) -> str | None:
        """Refuse subtrees that are too many to be listed."""
        return unlistable(problem)

    def prepare(self, problem: FreeFormulation) -> None:
        """Compile the kernels."""
        CoefficientCBCD(CBCDOptions()).prepare(problem)
        compile_listing(problem)
        compile_branching()

    def predicted_bytes(self, problem: FreeFormulation) -> int | None:
        """Return the memory of the Gram matrix and its copies."""
        return _MATRICES * 8 * int(count_columns(problem).sum()) ** 2

    def build(self, problem: FreeFormulation) -> NormalEquations | None:
        """Compute the products of all columns."""
        return every_column(problem)


def first_incumbent(model: NormalEquations, control: Control) -> tuple[Answer, FloatArray]:
    """Return what coordinate descent with local search finds, and its coefficients."""
    answer = first_answer(model.problem, control)
    assert answer.choice is not None
    assert answer.beta is not None
    b = model.coefficients(answer.choice, answer.beta)
    control.report(model.value(b))
    return answer, b


def first_answer(problem: FreeFormulation, control: Control) -> Answer:
    """Return what coordinate descent with local search finds in part of the time."""
    solver = CoefficientCBCD(CBCDOptions())
    limit = control.time_limit
    control.time_limit = control.elapsed + _FIRST * (limit - control.elapsed)
    try:
        answer = solver.run(problem, solver.build(problem), control)
    finally:
        control.time_limit = limit
    return replace(answer, termination=control.stop() or Termination.CONVERGED)


def nothing_helps(model: NormalEquations, first: Answer) -> Answer:
    """Return the answer where no column can lower the objective: the empty model is best."""
    choice, beta = model.solution(np.zeros(model.n_columns))
    return replace(
        first,
        choice=choice,
        beta=beta,
        local=True,
        bound=model.constant,
        bound_source=BoundSource.CLOSED_FORM,
    )
