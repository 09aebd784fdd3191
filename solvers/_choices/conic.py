"""The relaxation by a conic engine through cvxpy, shared by the engines' files.

The engine works on a problem divided by the mean square of the target, since its tolerances
are absolute; x is free of units.
"""

from __future__ import annotations

import contextlib
import io
from dataclasses import dataclass
from typing import Any

import numpy as np

from formulations import ChoiceFormulation
from formulations.arrays import FloatArray
from solvers._core.base import (
    Answer,
    Control,
    Solver,
    require_bool,
    require_one_of,
    require_positive,
)
from solvers._core.errors import EngineFailure, InvalidOption
from solvers._core.result import Termination

FORMS = ("gram", "rows")
BOUNDS = ("auto", "perspective", "big_m")


@dataclass(frozen=True)
class ConicOptions:
    """Options of the conic engines.

    Attributes
    ----------
    form
        ``"gram"``: the loss on the p × p Gram matrix. ``"rows"``: on the raw rows, as in the
        ForestPrune paper.
    rounding
        Whether to round the relaxed point to the nearest choice. Without it there is a bound
        but no choice.
    bound
        For problems with free coefficients, what ties a coefficient to whether its column is
        used: ``"perspective"``, which needs a ridge; ``"big_m"``, which needs ranges of the
        coefficients; ``"auto"``: perspective where there is a ridge.
        ``extra["relaxation"]`` says which it was.
    beta_bound
        For the big-M form: a limit of the coefficient of every tree, above 0, in its own unit.
        By default limits follow from a solution found by descent.
    """

    form: str = "gram"
    rounding: bool = True
    bound: str = "auto"
    beta_bound: float | None = None

    def __post_init__(self) -> None:
        require_one_of("form", self.form, FORMS)
        require_bool("rounding", self.rounding)
        require_one_of("bound", self.bound, BOUNDS)
        if self.beta_bound is not None:
            require_positive("beta_bound", self.beta_bound)
            if self.bound != "big_m":
                raise InvalidOption(f"beta_bound needs bound=big_m, got bound={self.bound}")


class ConicSolver(Solver[ChoiceFormulation]):
    """Relax z ∈ {0, 1} to [0, 1], solve by an interior-point method, round to the nearest.

    The bound is not the engine's word: it is the Frank–Wolfe bound at the engine's point,
    recomputed from the data. The engine's own value is in ``extra["engine_objective"]``.
    """

    method = "relaxation"
    proof = "Frank–Wolfe bound at the relaxed point"
    own_process = True
    Options = ConicOptions
    options: ConicOptions

    engine: str
    settings: dict[str, Any]

    def predicted_bytes(self, problem: ChoiceFormulation) -> int:
        """Return about the memory of the engine's matrices.

        In row form the columns are held about ten times (dense, as triplets and as sparse
        matrices by cvxpy, in the engine's system); in Gram form the p × p matrix likewise,
        with its factors.
        """
        data = problem.data
        variables = len(problem.point(problem.zero()))
        rows = data.n_rows * data.n_outputs if self.options.form == "rows" else variables
        return 300_000_000 + 80 * rows * variables + 40 * variables**2

    def prepare(self, problem: ChoiceFormulation) -> None:
        """Import cvxpy and the engine, and solve something."""
        if self.options.bound != "auto":
            raise InvalidOption(
                f"bound={self.options.bound} is for problems with free coefficients: here they "
                "are 1, and the relaxation needs neither ranges nor a ridge"
            )
        warm_up(self.engine)
        problem.canonical()

    def build(self, problem: ChoiceFormulation) -> Any:
        """Return the engine's problem, compiled by cvxpy, and what belongs to it."""
        import cvxpy as cp

        form = problem.canonical()
        scale = problem.data.target_square
        if form.n_variables == 0 or scale == 0.0:
            return None  # the empty model is optimal
        x = cp.Variable(form.n_variables)
        if self.options.form == "rows":
            columns, target = form.rows()
            loss = cp.sum_squares((columns / np.sqrt(scale)) @ x - target / np.sqrt(scale))
        else:
            gram, vector, constant = form.gram
            loss = cp.sum_squares(gram_factor(gram / scale) @ x) - (2.0 / scale) * vector @ x
            loss += constant / scale
        constraints = [x >= 0.0, x <= 1.0]
        if len(form.upper):
            constraints.append(x[form.upper] >= x[form.lower])
        model = cp.Problem(cp.Minimize(loss + (form.cost / scale) @ x), constraints)
        data, chain, inverse = model.get_problem_data(
            self.engine, ignore_dpp=True, solver_opts=self.settings
        )
        return model, x, data, chain, inverse, scale

    def run(self, problem: ChoiceFormulation, model: Any, control: Control) -> Answer:
        """Let the engine solve; keep its point."""
        if model is None:
            zero = problem.zero()
            choice = zero if self.options.rounding else None
            return Answer(Termination.CONVERGED, choice=choice, relaxed=problem.point(zero))
        relaxation, x, data, chain, inverse, scale = model
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            solution = chain.solve_via_data(
                relaxation,
                data,
                warm_start=False,
                verbose=control.verbose > 0,
                solver_opts=dict(self.settings),
            )
            relaxation.unpack_results(solution, chain, inverse)
        if x.value is None or relaxation.status not in ("optimal", "optimal_inaccurate"):
            raise EngineFailure(f"{self.engine} says {relaxation.status}: {printed.getvalue()}")
        point = problem.repaired(np.asarray(x.value, dtype=np.float64))
        exact = relaxation.status == "optimal"
        return Answer(
            Termination.CONVERGED if exact else Termination.INACCURATE,
            choice=problem.rounded(point) if self.options.rounding else None,
            relaxed=point,
            log=printed.getvalue(),
            extra={
                "engine_objective": float(relaxation.value) * scale,
                "engine_status": relaxation.status,
                "engine_iterations": relaxation.solver_stats.num_iters,
            },
        )


def warm_up(engine: str) -> None:
    """Import cvxpy and an engine, and solve something."""
    import cvxpy as cp

    x = cp.Variable(1)
    cp.Problem(cp.Minimize(cp.sum_squares(x)), [x >= 1]).solve(solver=engine)


def gram_factor(gram: FloatArray) -> FloatArray:
    """Return R with RᵀR = G, of as many rows as G's numerical rank."""
    values, vectors = np.linalg.eigh(gram)
    kept = values > np.finfo(float).eps * len(values) * max(values[-1], 0.0)
    return np.asarray(np.sqrt(values[kept])[:, None] * vectors[:, kept].T)
