"""The relaxation of problems with free coefficients by a conic engine through cvxpy.

The engine works on the unit-free form (`rewritings.perspective`), since its tolerances are
absolute.
"""

from __future__ import annotations

import contextlib
import io
from dataclasses import dataclass
from typing import Any

import numpy as np

from formulations import CoefficientFormulation, Regression
from formulations.arrays import FloatArray
from formulations.rewritings.dual_prices import DualPrices
from formulations.rewritings.perspective import UnitFree
from formulations.rewritings.ranges import Ranges
from solvers._choices.conic import ConicOptions, gram_factor, warm_up
from solvers._choices.swaps import CBCDOptions
from solvers._coefficients.cbcd import CoefficientCBCD
from solvers._core.base import Answer, Control, Solver
from solvers._core.errors import EngineFailure, UnsupportedProblem
from solvers._core.result import BoundSource, Termination

# Columns of less weight in the relaxation are not tried in the rounding.
_LEAST_WEIGHT = 1e-3

# Numbers of columns that are tried in the rounding, at most.
_MOST_SIZES = 50


@dataclass(frozen=True)
class ConicModel:
    """A problem compiled by cvxpy: variables w and s, the engine's data, and the ranges."""

    regression: Regression
    unit_free: UnitFree
    problem: Any
    w: Any
    s: Any
    compiled: Any
    ranges: Ranges | None


class CoefficientConic(Solver[CoefficientFormulation]):
    """Relax which columns are used, solve by an interior-point method, round and refit.

    The bound is not the engine's word. That of the perspective form is the dual bound at the
    engine's point, recomputed from the data. That of the big-M form rests on the ranges of the
    coefficients too: it is the Frank–Wolfe bound at the point, on the products of the columns;
    with ``beta_bound`` it is at most the least value that a solution outside may have.
    ``extra["unbounded_columns"]`` counts those whose coefficients may be of any size: then the
    bound is only the least square over all columns.
    """

    takes = CoefficientFormulation
    summary = "convex relaxation in perspective or big-M form, rounded"
    method = "relaxation"
    proof = "dual bound at the relaxed point"
    own_process = True
    Options = ConicOptions
    options: ConicOptions

    engine: str
    settings: dict[str, Any]

    def predicted_bytes(self, problem: CoefficientFormulation) -> int:
        """Return about the memory of the engine's matrices, as for fixed coefficients."""
        data, columns = problem.data, problem.n_columns
        rows = data.n_rows * data.n_outputs if self.options.form == "rows" else columns
        return 300_000_000 + 80 * rows * columns + 200 * columns**2

    def prepare(self, problem: CoefficientFormulation) -> None:
        """Import cvxpy and the engine, and solve something; compile kernels."""
        warm_up(self.engine)
        CoefficientCBCD(CBCDOptions()).prepare(problem)
        Regression.of(problem, np.arange(min(1, problem.n_columns)))

    def build(self, problem: CoefficientFormulation) -> ConicModel | Regression:
        """Return the engine's problem, or the regression where nothing can be gained."""
        regression = Regression.of(problem)
        form = UnitFree.of(regression)
        perspective = self._takes_perspective(problem)
        if form is None:
            return regression
        form = form.relaxable()
        import cvxpy as cp

        w, s = cp.Variable(form.n_columns), cp.Variable(form.n_columns)
        constraints = [s >= 0.0, *_limits(form, s)]
        if form.nonnegative:
            constraints.append(w >= 0.0)
        if self.options.form == "rows":
            columns, target = form.rows()
            loss = cp.sum_squares(columns @ w - target)
        else:
            loss = cp.sum_squares(gram_factor(form.gram) @ w) - 2.0 * form.vector @ w + 1.0
        ranges = None
        if perspective:
            t = cp.Variable(form.n_columns)
            constraints.append(cp.SOC(s + t, cp.vstack([2.0 * w, s - t]), axis=0))
            ridge = form.ridge @ t
        else:
            ranges = self._ranges(problem, regression, form)
            low, high = ranges.tried()
            constraints += [w <= cp.multiply(high, s), w >= cp.multiply(low, s)]
            ridge = cp.sum_squares(cp.multiply(np.sqrt(form.ridge), w))
        model = cp.Problem(cp.Minimize(loss + ridge + form.cost @ s), constraints)
        compiled = model.get_problem_data(self.engine, ignore_dpp=True, solver_opts=self.settings)
        return ConicModel(regression, form, model, w, s, compiled, ranges)

    def run(
        self, problem: CoefficientFormulation, model: ConicModel | Regression, control: Control
    ) -> Answer:
        """Let the engine solve; bound and round its point."""
        if isinstance(model, Regression):
            b = np.zeros(model.n_columns)
            choice, beta = model.solution(b)
            return Answer(
                Termination.CONVERGED,
                choice=choice if self.options.rounding else None,
                beta=beta if self.options.rounding else None,
                bound=model.value(b),
                bound_source=BoundSource.EXHAUSTION,
            )
        data, chain, inverse = model.compiled
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            solution = chain.solve_via_data(
                model.problem,
                data,
                warm_start=False,
                verbose=control.verbose > 0,
                solver_opts=dict(self.settings),
            )
            model.problem.unpack_results(solution, chain, inverse)
        status = model.problem.status
        if model.w.value is None or status not in ("optimal", "optimal_inaccurate"):
            raise EngineFailure(f"{self.engine} says {status}: {printed.getvalue()}")
        w, s = np.asarray(model.w.value), np.clip(model.s.value, 0.0, 1.0)
        regression, form = model.regression, model.unit_free
        answer = Answer(
            Termination.CONVERGED if status == "optimal" else Termination.INACCURATE,
            log=printed.getvalue(),
            extra={
                "relaxation": "perspective" if model.ranges is None else "big_m",
                "engine_objective": float(model.problem.value) * regression.constant,
                "engine_status": status,
                "engine_iterations": model.problem.solver_stats.num_iters,
            },
        )
        if model.ranges is None:
            answer.relaxed = regression.point(form.coefficients(w))
        else:
            bound = min(big_m_bound(form, model.ranges, w), model.ranges.outside)
            answer.bound, answer.bound_source = bound * regression.constant, BoundSource.ENGINE
            answer.extra["unbounded_columns"] = model.ranges.unbounded
        if self.options.rounding:
            answer.choice, answer.beta = regression.solution(rounded(form, s))
        return answer

    def _takes_perspective(self, problem: CoefficientFormulation) -> bool:
        if self.options.bound == "auto":
            return problem.rule.ridge > 0.0
        if self.options.bound == "perspective" and problem.rule.ridge == 0.0:
            raise UnsupportedProblem(
                "bound=perspective needs a ridge, and the problem has none; bound=big_m does not"
            )
        return self.options.bound == "perspective"

    def _ranges(
        self, problem: CoefficientFormulation, regression: Regression, form: UnitFree
    ) -> Ranges:
        """Return the ranges that follow from descent, and from ``beta_bound``."""
        descent = CoefficientCBCD(CBCDOptions(local_search=False))
        first = descent.run(problem, descent.build(problem), Control())
        assert first.choice is not None
        assert first.beta is not None
        b = regression.coefficients(first.choice, first.beta)
        prices = DualPrices.at(form, form.least_squares()[0])
        value = regression.value(b) / regression.constant
        return Ranges.of(prices, value, self.options.beta_bound)


def big_m_bound(form: UnitFree, ranges: Ranges, w: FloatArray) -> float:
    """Return the Frank–Wolfe bound of the big-M form at a point, in the unit-free form.

        f(w) − ⟨∇f(w), w⟩ + least over the form's w', s' of ⟨∇f(w), w'⟩ + ⟨p, s'⟩

    The least is at a vertex: a column that is used is at an end of its range. Where a range has
    no end there is only the least square over all columns.
    """
    free = 1.0 - float(form.vector @ form.least_squares()[0])
    if ranges.unbounded:
        return free
    curved = form.gram @ w + form.ridge * w
    gradient = 2.0 * (curved - form.vector)
    low, high = ranges.tried()
    least = form.cost + np.minimum(gradient * low, gradient * high)
    gains = np.maximum.reduceat(-least / form.count, form.start[:-1])
    units = np.repeat(np.maximum(gains, 0.0), np.maximum.reduceat(form.count, form.start[:-1]))
    bound = 1.0 - float(w @ curved) - float(np.sort(units)[::-1][: form.most].sum())
    return max(bound, free)


def rounded(form: UnitFree, s: FloatArray) -> FloatArray:
    """Return the best refit of the columns of largest weight, of each group one at most.

    All numbers of columns are tried that the relaxation suggests, at most 50 of them. Of a
    column for several identical trees, so many are used as its weight says.
    """
    regression = form.regression
    ends = zip(form.start[:-1].tolist(), form.start[1:].tolist(), strict=True)
    first = np.array([begin + int(np.argmax(s[begin:end])) for begin, end in ends])
    order = first[np.argsort(-s[first], kind="stable")]
    order = order[: max(1, int((s[order] > _LEAST_WEIGHT).sum()))]
    trees = np.clip(np.rint(form.count[order] * s[order]), 1, None).astype(np.int64)
    place = form.place[order] - (form.count[order] - trees)  # copies 1…C follow each other
    if form.most is not None:
        place = place[np.cumsum(trees) <= form.most]
    best = np.zeros(regression.n_columns)
    sizes = np.linspace(1, len(place), min(len(place), _MOST_SIZES)).astype(int)
    for size in np.unique(sizes).tolist():
        best = min(best, regression.refit(place[:size]), key=regression.value)
    return best


def _limits(form: UnitFree, s: Any) -> list[Any]:
    """Return one column at most in a group, and at most so many trees."""
    from scipy import sparse

    groups = len(form.start) - 1
    each = sparse.csr_array(
        (np.ones(form.n_columns), np.arange(form.n_columns), form.start),
        shape=(groups, form.n_columns),
    )
    limits = [each @ s <= 1.0]
    if form.most is not None:
        limits.append(form.count @ s <= form.most)
    return limits


class CoefficientECOS(CoefficientConic):
    """ECOS has no time limit of its own."""

    engines = ("cvxpy", "ecos")
    engine = "ECOS"
    settings = {"abstol": 1e-9, "reltol": 1e-9, "feastol": 1e-9}  # noqa: RUF012


class CoefficientClarabel(CoefficientConic):
    """Clarabel takes the quadratic objective as it is."""

    engines = ("cvxpy", "clarabel")
    engine = "CLARABEL"
    settings = {"tol_gap_abs": 1e-9, "tol_gap_rel": 1e-9, "tol_feas": 1e-9}  # noqa: RUF012


class CoefficientMOSEK(CoefficientConic):
    """MOSEK, where it is licensed."""

    engines = ("cvxpy", "mosek")
    engine = "MOSEK"
    settings = {}  # noqa: RUF012
