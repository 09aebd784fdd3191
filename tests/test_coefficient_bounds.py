"""Bounds of problems with free coefficients: never above an optimum, and tight where proven."""

from __future__ import annotations

import signal
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from formulations import CoefficientFormulation, JointPruning, Polishing, PruningData, Regression
from formulations.rewritings.perspective import UnitFree
from solvers import Guarantee, InvalidOption, Termination, solve
from solvers._coefficients.relaxing.perspective import Part, plain_depth
from solvers._coefficients.relaxing.splitting import Splitter

# What recomputing a value may change, relative to the target's mean square.
ROUNDING = 1e-9


def random_data(seed: int, *, unit: float = 1.0) -> PruningData:
    """Return up to four small trees; some are alike, some are copies of others."""
    generator = np.random.default_rng(seed)
    rows = int(generator.integers(3, 12))
    steps: list[np.ndarray[Any, Any]] = []
    for _ in range(int(generator.integers(1, 5))):
        if steps and generator.random() < 0.3:
            steps.append(steps[-1].copy())
            continue
        tree = generator.normal(size=(rows, int(generator.integers(1, 4))))
        if steps and generator.random() < 0.5:
            tree += 3.0 * steps[0][:, :1]
        steps.append(tree)
    target = generator.normal(size=rows) + generator.integers(0, 3) * steps[0].sum(axis=1)
    return PruningData.from_layers(steps, unit * target, gamma=1.0)


def random_problem(seed: int, unit: float = 1.0) -> CoefficientFormulation:
    """Return a joint problem or a best subset, with and without ridge, limit and β ≥ 0."""
    generator = np.random.default_rng(1000 + seed)
    data = random_data(seed, unit=unit)
    variance = data.target_square
    ridge = float(generator.choice([0.0, 0.01, 1.0]))
    nonnegative = bool(generator.random() < 0.3)
    kind = seed % 4
    if kind == 0:
        alpha, alpha2 = generator.choice([0.0, 0.03, 0.5]), generator.choice([0.001, 0.1, 3.0])
        return JointPruning(data, alpha * variance, alpha2, weights="depth")
    if kind == 1:
        return JointPruning(
            data, 0.1 * variance, 0.05 * variance, rho=0, ridge=ridge, weights="depth"
        )
    full = data.depths
    if kind == 2:
        alpha2 = float(generator.choice([0.0, 0.05, 0.2])) * variance
        intercept = bool(generator.random() < 0.3)
        return Polishing(
            data, full, alpha2, 0, ridge=ridge, nonnegative=nonnegative, intercept=intercept
        )
    most = int(generator.integers(1, data.n_trees + 1))
    return Polishing(data, full, rho=0, n_trees=most, ridge=ridge, nonnegative=nonnegative)


def collinear_data(trees: int = 8, rows: int = 60) -> PruningData:
    """Return trees that all predict nearly the same, as boosted ones do."""
    generator = np.random.default_rng(3)
    signal = np.sort(generator.normal(size=rows))
    steps = []
    for _ in range(trees):
        coarse = np.where(signal > generator.normal(scale=0.5), 1.0, -1.0)
        fine = 0.5 * np.where(signal * np.sign(coarse) > generator.uniform(0.2, 1.2), 1.0, -1.0)
        steps.append(np.column_stack([coarse, fine, 0.2 * generator.normal(size=rows)]))
    return PruningData.from_layers(steps, signal + 0.1 * generator.normal(size=rows), gamma=0.3)


@pytest.mark.parametrize("seed", range(60))
@pytest.mark.parametrize("presolve", [True, False])
def test_branch_and_bound_proves_the_optimum(seed: int, presolve: bool) -> None:
    problem = random_problem(seed)
    rounding = ROUNDING * problem.data.target_square
    optimum = solve(problem, "brute_force").objective
    result = solve(problem, "branch_and_bound", gap=1e-9, presolve=presolve)
    assert abs(result.objective - optimum) <= rounding
    assert result.guarantee is Guarantee.OPTIMAL
    assert all(entry.bound <= optimum + rounding for entry in result.trace)


@pytest.mark.parametrize("seed", range(60))
def test_relaxation_is_below_the_optimum_and_not_below_the_plain_bound(seed: int) -> None:
    problem = random_problem(seed)
    rounding = ROUNDING * problem.data.target_square
    optimum = solve(problem, "brute_force").objective
    result = solve(problem, "relaxation")
    assert result.bound <= optimum + rounding
    assert result.objective >= optimum - rounding
    assert result.relaxed is not None
    assert result.bound >= problem.linear_bound(result.relaxed) - rounding


@pytest.mark.parametrize("unit", [1e-6, 1e8])
@pytest.mark.parametrize("seed", range(8))
def test_units_of_the_target_change_nothing(seed: int, unit: float) -> None:
    one, other = random_problem(seed), random_problem(seed, unit)
    first = solve(one, "branch_and_bound")
    second = solve(other, "branch_and_bound")
    assert first.beta is not None
    assert second.beta is not None
    assert np.array_equal(first.beta != 0.0, second.beta != 0.0)
    assert second.objective == pytest.approx(unit**2 * first.objective, rel=1e-9)
    assert first.extra["nodes"] == second.extra["nodes"]


@pytest.mark.parametrize("seed", range(0, 60, 3))
def test_any_point_of_any_split_is_a_bound(seed: int) -> None:
    """Before the barrier has converged, and at a point that is not the relaxation's."""
    problem = random_problem(seed)
    optimum = solve(problem, "brute_force").objective
    form = UnitFree.of(Regression.of(problem))
    if form is None or (depth := plain_depth(form)) is None:
        return
    part = Part.whole(form)
    splitter = Splitter(part.gram, part.vector, part.cost, part.count, part.group, part.room)
    blocks = np.zeros(len(splitter.first))
    blocks[splitter.diagonal] = 0.5 * depth
    b = np.random.default_rng(seed).normal(size=form.n_columns)
    split = splitter.near(blocks, b, 0.0, 0.1)
    allowed = optimum / form.regression.constant + ROUNDING
    values = []
    for gap in (1.0, 0.01, 1e-5):
        split = splitter.run(split, gap, gap, np.inf, lambda: False)
        values.append(part.constant + splitter.bound(split))
    assert values == sorted(values)
    assert values[-1] <= allowed
    # The dual bound of the plain split at any coefficients, and what it says of each column.
    found = part.bound_at(depth, b, part.vector - (part.gram - np.diag(depth)) @ b)
    assert found.bound <= allowed


def test_reduced_costs_drop_no_column_of_the_optimum() -> None:
    dropped = 0
    for seed in range(0, 60, 4):
        problem = random_problem(seed)
        exact = solve(problem, "brute_force")
        form = UnitFree.of(Regression.of(problem))
        assert exact.choice is not None
        assert exact.beta is not None
        if form is None or (depth := plain_depth(form)) is None:
            continue
        part = Part.whole(form)
        matrix = part.gram - np.diag(depth)
        target = exact.objective / form.regression.constant
        found = part.relax(matrix, depth, np.zeros(form.n_columns), 0.0, 1e-12, np.inf)
        b = form.of_coefficients(form.regression.coefficients(exact.choice, exact.beta))
        assert np.all(found.out[b != 0.0] <= target + ROUNDING)
        dropped += int((found.out > target + ROUNDING).sum())
    assert dropped > 0


def test_split_closes_most_of_the_gap_of_collinear_trees() -> None:
    problem = JointPruning(collinear_data(), alpha=0.3, alpha2=0.001, weights="depth")
    exact = solve(problem, "branch_and_bound", presolve=False)
    assert exact.guarantee is Guarantee.OPTIMAL
    relaxed = solve(problem, "relaxation")
    assert relaxed.relaxed is not None
    plain = solve(problem, "branch_and_bound", presolve=False, node_limit=1)
    assert relaxed.bound <= exact.objective * (1.0 + ROUNDING)
    assert exact.objective - relaxed.bound < 0.5 * (exact.objective - plain.bound)


def test_node_limit_and_callback_keep_incumbent_and_bound() -> None:
    problem = Polishing(collinear_data(14), np.full(14, 3), rho=0, n_trees=5)
    full = solve(problem, "branch_and_bound")
    limited = solve(problem, "branch_and_bound", node_limit=3)
    assert full.guarantee is Guarantee.OPTIMAL
    assert limited.termination is Termination.NODE_LIMIT
    assert -np.inf < limited.bound <= full.objective <= limited.objective
    called = solve(problem, "branch_and_bound", callback=lambda entry: entry.bound > -np.inf)
    assert called.termination is Termination.CALLBACK
    assert called.choice is not None
    assert called.bound <= full.objective


def test_interruption_while_looking_for_an_incumbent_ends_the_search() -> None:
    problem = Polishing(collinear_data(14), np.full(14, 3), rho=0, n_trees=5)
    began = [signal.raise_signal]
    result = solve(
        problem,
        "branch_and_bound",
        callback=lambda entry: began and began.pop()(signal.SIGINT),
    )
    assert result.termination is Termination.INTERRUPTED
    assert result.choice is not None


def test_ridge_polishing_is_a_linear_system() -> None:
    data = collinear_data()
    problem = Polishing(data, data.depths, alpha2=0.3)
    for name in ("relaxation", "branch_and_bound"):
        result = solve(problem, name)
        assert result.guarantee is Guarantee.OPTIMAL
        assert result.objective == pytest.approx(solve(problem, "cbcd").objective, rel=1e-12)


def test_constant_target_needs_no_column() -> None:
    data = replace_target(collinear_data(), 0.0)
    problem = JointPruning(data, alpha=0.1, alpha2=0.1, weights="depth")
    for name in ("relaxation", "branch_and_bound"):
        result = solve(problem, name)
        assert result.objective == result.bound == 0.0
        assert result.guarantee is Guarantee.OPTIMAL


def test_relaxation_has_no_form_on_rows() -> None:
    problem = JointPruning(collinear_data(), alpha=0.3, alpha2=0.1, weights="depth")
    with pytest.raises(InvalidOption, match="form='gram'"):
        solve(problem, "relaxation", form="rows")


def replace_target(data: PruningData, value: float) -> PruningData:
    """Return data with a constant target."""
    return replace(data, target=np.full_like(data.target, value))
