"""Fixing keeps what can be optimal, explicit columns agree, and the search is exact."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from sklearn.ensemble import GradientBoostingRegressor

from forestprune import Guarantee, LayerPruning, pruning_data, solve, verify
from formulations import ChoiceColumns
from solvers._choices.columns import gradient_at, step_on_face
from solvers._choices.relaxed import Relaxed
from solvers._core.base import Control


def test_columns_have_the_objective_of_their_choices(tiny: LayerPruning) -> None:
    columns = ChoiceColumns.every(tiny)
    generator = np.random.default_rng(0)
    for _ in range(20):
        depths = generator.integers(0, tiny.data.depths + 1)
        selected = columns.selected(depths)
        np.testing.assert_array_equal(columns.choice(selected), depths)
        weights = columns.weights(selected)
        assert columns.value(weights) == pytest.approx(tiny.objective(depths), rel=1e-10, abs=1e-12)
        np.testing.assert_allclose(columns.point(weights), tiny.point(depths))


def test_mixtures_of_columns_are_relaxed_points(tiny: LayerPruning) -> None:
    columns = ChoiceColumns.every(tiny)
    generator = np.random.default_rng(1)
    weights = generator.uniform(size=columns.n_columns)
    for begin, end in zip(columns.start[:-1], columns.start[1:], strict=True):
        weights[begin:end] /= weights[begin:end].sum()
    relaxed = tiny.relaxed_objective(columns.point(weights))
    assert columns.value(weights) == pytest.approx(relaxed, rel=1e-10, abs=1e-12)


def test_parts_and_mixtures_undo_each_other(tiny: LayerPruning) -> None:
    generator = np.random.default_rng(2)
    for _ in range(20):
        point = tiny.repaired(generator.uniform(-0.3, 1.3, size=len(tiny.point(tiny.full()))))
        tree, choices, weights = tiny.parts(point)
        assert (weights > 0.0).all()
        np.testing.assert_allclose(np.bincount(tree, weights), 1.0)
        np.testing.assert_allclose(tiny.mixture(tree, choices, weights), point, atol=1e-14)


def test_fixing_never_drops_an_optimum(make_random: Callable[[int], LayerPruning]) -> None:
    dropped = 0
    for seed in range(150):
        problem = make_random(seed)
        best = solve(problem, "brute_force")
        assert best.choice is not None
        relaxed = Relaxed(problem, problem.point(problem.zero()))
        relaxed.run(1e-6, Control())
        for point in (relaxed.point, problem.point(best.choice)):
            surviving = problem.surviving_choices(point, best.objective)
            for depth, listed in zip(best.choice, surviving, strict=True):
                assert depth in listed[:, 0]
            dropped += problem.data.depths.sum() + len(surviving) - sum(map(len, surviving))
    assert dropped > 0


def test_a_settled_problem_keeps_its_value(problem: LayerPruning) -> None:
    best = solve(problem, "brute_force")
    relaxed = Relaxed(problem, problem.point(problem.zero()))
    relaxed.run(1e-8, Control())
    columns = relaxed.surviving(best.objective)
    assert best.choice is not None
    selected = columns.selected(best.choice)
    np.testing.assert_array_equal(columns.choice(selected), best.choice)
    assert columns.value(columns.weights(selected)) == pytest.approx(best.objective, rel=1e-12)


def test_random_problems_against_brute_force(make_random: Callable[[int], LayerPruning]) -> None:
    for seed in range(300):
        problem = make_random(seed)
        optimum = solve(problem, "brute_force").objective
        for label in ("branch_and_bound", "branch_and_bound[presolve=False]"):
            result = solve(problem, label, gap=0.0)
            assert result.guarantee is Guarantee.OPTIMAL, (seed, label, result)
            assert abs(result.objective - optimum) <= problem.tolerance
        relaxed = solve(problem, "relaxation")
        assert relaxed.bound <= optimum + problem.tolerance


@pytest.mark.parametrize("form", ["rows", "gram"])
def test_both_forms_of_the_relaxation_agree_with_an_engine(tiny: LayerPruning, form: str) -> None:
    own = solve(tiny, f"relaxation[form={form}]")
    assert own.extra["form"] == form
    assert own.bound == pytest.approx(
        solve(tiny, "clarabel").bound, abs=1e-5 * tiny.data.target_square
    )
    assert own.relaxed is not None
    value = tiny.relaxed_objective(own.relaxed)
    assert value - own.bound <= 1e-6 * abs(value) + tiny.tolerance


@pytest.fixture(scope="module")
def boosting() -> LayerPruning:
    """Forty boosted trees on real features' kind of data, too many to enumerate."""
    generator = np.random.default_rng(0)
    X = generator.uniform(size=(400, 6))
    y = 10 * np.sin(3 * X[:, 0] * X[:, 1]) + 5 * X[:, 2] + generator.normal(size=400)
    model = GradientBoostingRegressor(n_estimators=40, max_depth=4, random_state=0).fit(X, y)
    data = pruning_data(model, X, y)
    return LayerPruning(data, 0.1 * data.y_variance)


def test_the_search_proves_a_larger_problem(boosting: LayerPruning) -> None:
    result = solve(boosting, "branch_and_bound", gap=1e-6)
    assert result.guarantee is Guarantee.OPTIMAL
    assert result.gap <= 1e-6
    assert verify(boosting, result).sound
    assert result.objective <= solve(boosting, "cbcd").objective + boosting.tolerance
    assert result.bound <= solve(boosting, "relaxation").objective + boosting.tolerance


@pytest.mark.parametrize("tolerance", [1e-3, 1e-5, 1e-9])
def test_the_relaxation_reaches_its_tolerance(boosting: LayerPruning, tolerance: float) -> None:
    relaxed = Relaxed(boosting, boosting.point(boosting.zero()))
    bound = relaxed.run(tolerance, Control())
    value = boosting.relaxed_objective(relaxed.point)
    assert value - bound <= tolerance * value
    assert bound == pytest.approx(boosting.linear_bound(relaxed.point), rel=1e-10)
    np.testing.assert_array_equal(boosting.repaired(relaxed.point), relaxed.point)


def test_weighing_never_raises_the_relaxation_and_keeps_its_residual(
    boosting: LayerPruning,
) -> None:
    relaxed = Relaxed(boosting, boosting.point(boosting.zero()))
    before = relaxed.point.copy()
    falls = []
    for _ in range(4):
        relaxed.sweep(0.0)
        swept = relaxed.objective
        relaxed.weigh(before, 1e-12)
        falls.append(swept - relaxed.objective)
        assert relaxed.objective == pytest.approx(boosting.relaxed_objective(relaxed.point))
        before = relaxed.point.copy()
    assert min(falls) >= -boosting.tolerance
    assert max(falls) > 1e-6 * relaxed.objective


def test_a_pass_over_all_blocks_finds_no_move_that_a_sweep_left_out(
    boosting: LayerPruning,
) -> None:
    relaxed = Relaxed(boosting, boosting.point(boosting.full()))
    relaxed.run(1e-10, Control())
    relaxed.state.slack[:] = -1.0
    gaps, visits = relaxed.sweep(0.0)
    assert visits == boosting.data.n_trees
    assert gaps <= 1e-9 * relaxed.objective


def test_steps_on_a_face_reach_its_minimum() -> None:
    generator = np.random.default_rng(3)
    factor = generator.normal(size=(30, 9))
    gram, linear = factor.T @ factor, generator.normal(size=9)
    start = np.array([0, 3, 6, 9])
    inner = generator.uniform(1.0, 2.0, size=9)
    linear -= linear + 2.0 * gram @ (inner / np.repeat(np.add.reduceat(inner, start[:-1]), 3))
    weights = np.full(9, 1.0 / 3.0)
    gradient = gradient_at(gram, linear, weights)
    step_on_face(start, gram, gradient, weights)
    np.testing.assert_allclose(np.add.reduceat(weights, start[:-1]), 1.0)
    np.testing.assert_allclose(gradient, gradient_at(gram, linear, weights), atol=1e-9)
    np.testing.assert_allclose(gradient, 0.0, atol=1e-6)


def test_limits_keep_incumbent_and_bound(boosting: LayerPruning) -> None:
    start = solve(boosting, "cbcd")
    result = solve(boosting, "branch_and_bound[node_limit=1]", gap=0.0)
    assert result.termination == "node_limit"
    assert result.objective <= start.objective
    assert -np.inf < result.bound < result.objective
    bounds = [entry.bound for entry in result.trace]
    assert bounds == sorted(bounds)
    assert verify(boosting, result).sound
