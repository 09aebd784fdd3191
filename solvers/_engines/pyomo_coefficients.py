# mypy: disable-error-code="import-untyped"
"""Semicontinuous integer programs through Pyomo, as they are solved in the engines' process.

Everything is in the units of `rewritings.semicontinuous`: the incumbent has an objective of
1, the bound at the dual prices one of 0. Variables x are s (columns) and then e (columns).
"""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np

from formulations.arrays import FloatArray, IntArray
from formulations.rewritings.semicontinuous import SemicontinuousForm
from solvers._engines.pyomo import (
    EngineAnswer,
    Limits,
    linear,
    make_highs,
    solve_directly,
    solve_highs,
)

# Ranges are this much wider, so that the incumbent itself is never cut off.
_SLACK = 1e-6

# Distance of the first tangents, and what a cut must add to a square to be made.
_SPACING = 0.5
_VIOLATED = 1e-4

# Linear programs that tighten the cuts: at most so many, while the bound rises by at least a
# part of the gap that was left, and for at most a part of the time.
_MOST_ROUNDS = 40
_LEAST_RISE = 2e-3
_PART = 0.25


@dataclass(frozen=True)
class Cuts:
    """Where squares are cut by tangents: t ≥ v² of ``rows``, y ≥ e²/s of ``columns``."""

    rows: IntArray
    row_points: FloatArray
    columns: IntArray
    column_points: FloatArray

    @classmethod
    def first(cls, form: SemicontinuousForm) -> Cuts:
        """Return evenly spaced cuts of all squares."""
        points = form.first_tangents(_SPACING)
        columns = np.arange(form.n_columns if form.curved else 0)
        return cls(
            np.repeat(np.arange(form.n_rows), len(points)),
            np.tile(points, form.n_rows),
            np.repeat(columns, len(points)),
            np.tile(points, len(columns)),
        )

    def joined(self, more: Cuts) -> Cuts:
        """Return these and more."""
        return Cuts(
            np.append(self.rows, more.rows),
            np.append(self.row_points, more.row_points),
            np.append(self.columns, more.columns),
            np.append(self.column_points, more.column_points),
        )

    def with_point(self, form: SemicontinuousForm, s: FloatArray, e: FloatArray) -> Cuts:
        """Return these and the cuts at a solution: of all rows, and of the columns it uses."""
        used = np.flatnonzero(s) if form.curved else np.empty(0, dtype=np.int64)
        return self.joined(
            Cuts(np.arange(form.n_rows), form.residuals(s, e), used, np.asarray(e[used]))
        )


@dataclass(frozen=True)
class Tightened(EngineAnswer):
    """What linear programs say: their cuts, and the value of the last one."""

    cuts: Cuts
    value: float


def tighten(form: SemicontinuousForm, limits: Limits) -> Tightened:
    """Solve the program with s in [0, 1], and cut at its solutions, until that adds little."""
    began = perf_counter()
    cuts = Cuts.first(form)
    nothing = np.zeros(form.n_columns)
    model = _model(form, nothing, nothing, binary=False)
    _add(model, cuts)
    highs, log = make_highs(limits)
    variables = [*model.x.values(), *model.v.values(), *model.t.values(), *model.y.values()]
    n, rows, curved = form.n_columns, form.n_rows, len(model.y)
    bound = -np.inf
    for _ in range(_MOST_ROUNDS):
        results = highs.solve(model)
        if results.best_feasible_objective is None:
            break
        before, bound = bound, float(results.best_feasible_objective) + form.constant
        if bound - before < _LEAST_RISE or perf_counter() - began > _PART * limits.seconds:
            break
        values = highs.get_primals(variables)
        x = np.array([values[variable] for variable in variables])
        s, e, v, t, y = np.split(x, np.cumsum([n, n, rows, rows]))
        places = np.flatnonzero(v**2 > t + _VIOLATED)
        used = np.flatnonzero(s[:curved] > _SLACK)
        used = used[e[used] ** 2 / s[used] > y[used] + _VIOLATED]
        new = Cuts(places, v[places], used, np.clip(e[used] / s[used], -1.0, 1.0))
        if len(places) + len(used) == 0:
            break
        _add(model, new)
        cuts = cuts.joined(new)
    return Tightened(None, -np.inf, False, log.getvalue(), cuts, bound)


def solve_outer(
    form: SemicontinuousForm, cuts: Cuts, s: FloatArray, e: FloatArray, limits: Limits
) -> EngineAnswer:
    """Solve the MILP with some cuts, from a solution."""
    model = _model(form, s, e, binary=True)
    _add(model, cuts)
    return solve_highs(model, form.constant, limits)


def solve_quadratic(
    form: SemicontinuousForm,
    s: FloatArray,
    e: FloatArray,
    engine: str,
    limits: Limits,
) -> EngineAnswer:
    """Solve the program with t ≥ v² and y s ≥ e² as they are, from a solution."""
    import pyomo.environ as pyo

    model = _model(form, s, e, binary=True)
    n = form.n_columns
    model.squares = pyo.Constraint(
        range(form.n_rows), rule=lambda model, j: model.v[j] ** 2 <= model.t[j]
    )
    model.cones = pyo.Constraint(
        range(len(model.y)), rule=lambda model, c: model.x[n + c] ** 2 <= model.y[c]
    )
    return solve_directly(model, form.constant, engine, limits)


def _model(form: SemicontinuousForm, s: FloatArray, e: FloatArray, binary: bool) -> Any:
    """Return the program without its squares; it starts at s and e."""
    import pyomo.environ as pyo

    n, rows = form.n_columns, range(form.n_rows)
    low = np.append(np.zeros(n), np.minimum(form.low, 0.0) - _SLACK)
    high = np.append(np.ones(n), np.maximum(form.high, 0.0) + _SLACK)
    model = pyo.ConcreteModel()
    model.x = pyo.Var(
        range(2 * n),
        domain=lambda model, c: pyo.Binary if binary and c < n else pyo.Reals,
        bounds=lambda model, c: (float(low[c]), float(high[c])),
        initialize=dict(enumerate(np.append(s, e).tolist())),
    )
    now = np.clip(form.residuals(s, e), -1.0, 1.0)
    curved = range(n if form.curved else 0)
    model.v = pyo.Var(
        rows,
        bounds=(-1.0 - _SLACK, 1.0 + _SLACK),
        initialize=dict(enumerate(now.tolist())),
    )
    model.t = pyo.Var(rows, bounds=(0.0, None), initialize=dict(enumerate((now**2).tolist())))
    model.y = pyo.Var(curved, bounds=(0.0, None), initialize=lambda model, c: float(e[c] ** 2))
    model.rules = pyo.ConstraintList()
    x = [model.x[c] for c in range(2 * n)]
    for c in range(n):
        for side, end in ((1.0, form.high[c] + _SLACK), (-1.0, _SLACK - form.low[c])):
            model.rules.add((None, linear([side, -float(end)], [x[n + c], x[c]]), 0.0))
    bounds = zip(form.start[:-1].tolist(), form.start[1:].tolist(), form.must, strict=True)
    for begin, end, must in bounds:
        if must or end - begin > 1:
            used = linear([1.0] * (end - begin), x[begin:end])
            model.rules.add((1.0 if must else None, used, 1.0))
    if form.most is not None and n:
        least = float(form.most) if form.all_most else None
        model.rules.add((least, linear(form.count.astype(float).tolist(), x[:n]), form.most))
    both = np.hstack([form.factor * form.offset, form.factor * form.reach])
    for j in rows:
        places = np.flatnonzero(both[j])
        terms = linear(
            [*both[j, places].tolist(), -1.0], [*(x[c] for c in places.tolist()), model.v[j]]
        )
        model.rules.add((float(form.centre[j]), terms, float(form.centre[j])))
    model.cuts = pyo.ConstraintList()
    squares = [*model.t.values(), *model.y.values()]
    model.objective = pyo.Objective(
        expr=linear([*form.price.tolist(), *[1.0] * len(squares)], [*x[:n], *squares])
    )
    return model


def _add(model: Any, cuts: Cuts) -> None:
    """Cut squares at points: t ≥ 2 p v − p² and y ≥ 2 p e − p² s."""
    n = len(model.x) // 2
    for j, point in zip(cuts.rows.tolist(), cuts.row_points.tolist(), strict=True):
        model.cuts.add((-(point**2), linear([1.0, -2.0 * point], [model.t[j], model.v[j]]), None))
    for c, point in zip(cuts.columns.tolist(), cuts.column_points.tolist(), strict=True):
        slopes = linear([1.0, -2.0 * point, point**2], [model.y[c], model.x[n + c], model.x[c]])
        model.cuts.add((0.0, slopes, None))
