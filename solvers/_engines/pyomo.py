# mypy: disable-error-code="import-untyped"
"""Mixed-integer programs through Pyomo, as they are solved in the engines' process.

Functions here take arrays, build a Pyomo model, solve it and return plain values, so that
they can be called in another process. Everything is in the units of
`formulations.rewritings.linearised`: the incumbent has an objective of 1, the relaxation one of 0.
"""

from __future__ import annotations

import io
import logging
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from formulations.arrays import FloatArray, IntArray
from formulations.rewritings.linearised import CentredForm

HIGHS = "highs"
SCIP = "scip_direct"
GUROBI = "gurobi_persistent"

# Absolute tolerance asked of the engines, for rows, bounds, integrality and reduced costs.
FEASIBILITY = 1e-9

# Residuals may go this far beyond ±1, so that the incumbent itself is never cut off.
_SLACK = 1e-6


@dataclass(frozen=True)
class Limits:
    """What an engine is asked to keep to: ``gap`` is absolute, ``seconds`` may be inf."""

    gap: float
    seconds: float
    threads: int
    seed: int
    verbose: int


@dataclass(frozen=True)
class EngineAnswer:
    """What an engine says: a solution x (columns,) or None, a bound, and figures."""

    x: FloatArray | None
    bound: float
    timed_out: bool
    log: str


@cache
def warm_up(engine: str) -> None:
    """Solve two columns with an engine, so that its imports are not timed."""
    form = CentredForm(
        start=np.array([0, 2]),
        cost=np.zeros(2),
        factor=np.array([[0.25, -0.25]]),
        centre=np.array([0.125]),
        bound=0.0,
        scale=1.0,
    )
    selected = np.array([0])
    limits = Limits(gap=1e-3, seconds=np.inf, threads=1, seed=0, verbose=0)
    if engine == HIGHS:
        solve_outer(form, np.array([0]), np.array([0.0]), selected, limits)
    else:
        solve_quadratic(form, selected, engine, limits)


def solve_outer(
    form: CentredForm, rows: IntArray, points: FloatArray, selected: IntArray, limits: Limits
) -> EngineAnswer:
    """Solve the MILP in which t_j ≥ v_j² is cut at ``points`` (c,) of ``rows`` (c,)."""
    import pyomo.environ as pyo

    model = _residual_model(form, selected)
    model.cuts = pyo.ConstraintList()
    for j, point in zip(rows.tolist(), points.tolist(), strict=True):
        slope = linear([1.0, -2.0 * point], [model.t[j], model.v[j]])
        model.cuts.add((-(point**2), slope, None))
    model.objective = pyo.Objective(
        expr=linear(
            [*form.cost.tolist(), *[1.0] * form.n_rows], [*model.x.values(), *model.t.values()]
        )
    )
    return solve_highs(model, 0.0, limits)


def solve_products(form: CentredForm, selected: IntArray, limits: Limits) -> EngineAnswer:
    """Solve the MILP with a variable for every product of columns of two blocks."""
    import pyomo.environ as pyo

    products = form.products()
    model = _one_hot_model(form.start, selected)
    chosen = np.zeros(form.n_columns)
    chosen[selected] = 1.0
    both = chosen[products.left] * chosen[products.right]
    model.y = pyo.Var(range(len(both)), bounds=(0.0, 1.0), initialize=dict(enumerate(both)))
    block = np.repeat(np.arange(len(form.start) - 1), np.diff(form.start))
    model.sums = pyo.ConstraintList()
    # One row for each column and each other block: the products of the two add up to it.
    for near, far in ((products.left, products.right), (products.right, products.left)):
        key = near * len(form.start) + block[far]
        order = np.argsort(key, kind="stable")
        for group in np.split(order, np.flatnonzero(np.diff(key[order])) + 1):
            if len(group):
                column = model.x[int(near[group[0]])]
                parts = [model.y[k] for k in group.tolist()]
                model.sums.add((0.0, linear([*[1.0] * len(parts), -1.0], [*parts, column]), 0.0))
    model.objective = pyo.Objective(
        expr=linear(
            [*products.linear.tolist(), *products.coefficient.tolist()],
            [*model.x.values(), *model.y.values()],
        )
    )
    return solve_highs(model, products.constant, limits)


def solve_quadratic(
    form: CentredForm, selected: IntArray, engine: str, limits: Limits
) -> EngineAnswer:
    """Solve the problem with the constraints t_j ≥ v_j² as they are.

    ``engine`` is the name of one of Pyomo's own interfaces that keep a MIP start.
    """
    import pyomo.environ as pyo

    model = _residual_model(form, selected)
    model.squares = pyo.Constraint(
        range(form.n_rows), rule=lambda model, j: model.v[j] ** 2 <= model.t[j]
    )
    model.objective = pyo.Objective(
        expr=linear(
            [*form.cost.tolist(), *[1.0] * form.n_rows], [*model.x.values(), *model.t.values()]
        )
    )
    return solve_directly(model, 0.0, engine, limits)


def solve_directly(model: Any, constant: float, engine: str, limits: Limits) -> EngineAnswer:
    """Solve a program with one of Pyomo's own interfaces, from the variables' values."""
    from pyomo.contrib.solver.common.factory import SolverFactory

    results = SolverFactory(engine).solve(
        model,
        load_solutions=False,
        raise_exception_on_nonoptimal_result=False,
        warmstart_discrete_vars=True,
        threads=limits.threads,
        time_limit=limits.seconds if np.isfinite(limits.seconds) else None,
        rel_gap=0.0,
        abs_gap=limits.gap,
        tee=limits.verbose > 0,
        solver_options=own_settings(engine, limits.seed),
    )
    x = None
    if results.incumbent_objective is not None:
        values = results.solution_loader.get_vars(list(model.x.values()))
        x = np.array([values[column] for column in model.x.values()])
    reason = results.termination_condition.name
    bound = np.inf if reason == "provenInfeasible" else results.objective_bound
    return EngineAnswer(
        x,
        -np.inf if bound is None else bound + constant,
        reason == "maxTimeLimit",
        results.solver_log,
    )


def own_settings(engine: str, seed: int) -> dict[str, Any]:
    """Return tolerances and seed under the names that an engine has for them."""
    if engine == SCIP:
        return {
            "numerics/feastol": FEASIBILITY,
            "numerics/dualfeastol": FEASIBILITY,
            "randomization/randomseedshift": seed % 2**31,
        }
    return {
        "FeasibilityTol": FEASIBILITY,
        "IntFeasTol": FEASIBILITY,
        "OptimalityTol": FEASIBILITY,
        "Seed": seed % 2**31,
    }


def _one_hot_model(start: IntArray, selected: IntArray) -> Any:
    """Return a model with binaries x, one of each block 1; they start at ``selected``."""
    import pyomo.environ as pyo

    model = pyo.ConcreteModel()
    chosen = np.zeros(int(start[-1]))
    chosen[selected] = 1.0
    model.x = pyo.Var(
        range(len(chosen)), domain=pyo.Binary, initialize=dict(enumerate(chosen.tolist()))
    )
    model.one = pyo.ConstraintList()
    for begin, end in zip(start[:-1].tolist(), start[1:].tolist(), strict=True):
        columns = [model.x[c] for c in range(begin, end)]
        model.one.add((1.0, linear([1.0] * len(columns), columns), 1.0))
    return model


def _residual_model(form: CentredForm, selected: IntArray) -> Any:
    """Return a one-hot model with v = F x − centre, and t for their squares."""
    import pyomo.environ as pyo

    model = _one_hot_model(form.start, selected)
    low, high = form.ranges()
    now = form.residuals(selected)
    rows = range(form.n_rows)
    model.v = pyo.Var(
        rows,
        bounds=lambda model, j: (float(low[j]) - _SLACK, float(high[j]) + _SLACK),
        initialize=dict(enumerate(now.tolist())),
    )
    model.t = pyo.Var(rows, bounds=(0.0, None), initialize=dict(enumerate((now**2).tolist())))
    model.residual = pyo.ConstraintList()
    columns = list(model.x.values())
    for j in rows:
        terms = linear([*form.factor[j].tolist(), -1.0], [*columns, model.v[j]])
        model.residual.add((float(form.centre[j]), terms, float(form.centre[j])))
    return model


def linear(coefficients: list[float], variables: list[Any]) -> Any:
    from pyomo.core.expr.numeric_expr import LinearExpression

    return LinearExpression(constant=0.0, linear_coefs=coefficients, linear_vars=variables)


def make_highs(limits: Limits) -> tuple[Any, io.StringIO]:
    """Return Pyomo's interface to HiGHS with its settings, and where it will print."""
    import highspy
    from pyomo.contrib.appsi.solvers.highs import Highs

    log = io.StringIO()
    logger = logging.Logger("HiGHS", logging.INFO)
    logger.addHandler(logging.StreamHandler(log))
    highspy.Highs.resetGlobalScheduler(True)  # else the number of threads could not change
    highs = Highs()
    highs.config.load_solution = False
    highs.config.warmstart = True
    highs.config.stream_solver = limits.verbose > 0
    highs.config.solver_output_logger = logger
    if np.isfinite(limits.seconds):
        highs.config.time_limit = limits.seconds
    highs.highs_options = {
        "threads": limits.threads,
        "random_seed": limits.seed % 2**31,
        "mip_rel_gap": 0.0,
        "mip_abs_gap": limits.gap,
        "mip_feasibility_tolerance": FEASIBILITY,
        "primal_feasibility_tolerance": FEASIBILITY,
        "dual_feasibility_tolerance": FEASIBILITY,
    }
    return highs, log


def solve_highs(model: Any, constant: float, limits: Limits) -> EngineAnswer:
    """Solve a MILP with HiGHS from the variables' values; ``constant`` is added to its bound."""
    from pyomo.contrib.appsi.base import TerminationCondition

    highs, log = make_highs(limits)
    results = highs.solve(model)
    x = None
    if results.best_feasible_objective is not None:
        values = highs.get_primals(list(model.x.values()))
        x = np.array([values[column] for column in model.x.values()])
    bound = results.best_objective_bound
    if results.termination_condition is TerminationCondition.infeasible:
        bound = np.inf
    return EngineAnswer(
        x,
        -np.inf if bound is None else bound + constant,
        results.termination_condition is TerminationCondition.maxTimeLimit,
        log.getvalue(),
    )
