"""Problems with free coefficients against dense arithmetic."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from conftest import TINY, random_layers
from free_problems import DATA, VARIANTS, dense, make_free, optimum
from sklearn.linear_model import Ridge

from forestprune import InvalidInput, JointPruning, LayerPruning, Polishing, PruningData, solve
from formulations import Regression

CASES = [(data, variant) for data in DATA for variant in sorted(VARIANTS)]


@pytest.fixture(params=CASES, ids=["-".join(case) for case in CASES])
def free(request: pytest.FixtureRequest) -> Any:
    """Every variant on the data of several tiny problems."""
    return make_free(*request.param)


def some_point(problem: Any, seed: int = 0) -> Any:
    """Coefficients of one random column of some trees."""
    generator = np.random.default_rng(seed)
    starts = problem.rule.point_start
    b = np.zeros(problem.n_columns)
    blocks = [i for i in range(problem.data.n_trees) if starts[i] < starts[i + 1]]
    for i in generator.permutation(blocks)[: problem.most_trees or 3]:
        b[generator.integers(starts[i], starts[i + 1])] = abs(generator.normal())
    return b


def test_the_objective_is_what_the_formula_says(free: Any) -> None:
    b = some_point(free)
    columns, target = dense(free)
    weight = free.data.total_weight
    expected = (((target - columns @ b) ** 2).sum() + free.rule.ridge * b @ b) / weight
    expected += free.rule.cost[b != 0.0].sum()
    choice, beta = free.solution(b)
    assert free.objective(choice, beta) == pytest.approx(expected, rel=1e-10)
    np.testing.assert_array_equal(free.point(choice, beta), b)


def test_explicit_columns_have_the_same_value(free: Any) -> None:
    model = Regression.of(free)
    for seed in range(5):
        support = np.flatnonzero(model.coefficients(*free.solution(some_point(free, seed))))
        b = model.refit(support)
        assert free.objective(*model.solution(b)) == pytest.approx(model.value(b), rel=1e-9)
        np.testing.assert_allclose(model.coefficients(*model.solution(b)), b)


def test_no_bound_is_above_the_optimum(free: Any) -> None:
    least = optimum(free)
    for seed in range(10):
        assert free.linear_bound(some_point(free, seed)) <= least * (1 + 1e-12) + free.tolerance
    assert free.linear_bound(np.zeros(free.n_columns)) <= least * (1 + 1e-12)


def test_the_residual_of_a_relaxed_point_is_linear_in_it(free: Any) -> None:
    generator = np.random.default_rng(1)
    b = np.abs(generator.normal(size=free.n_columns))
    columns, target = dense(free)
    residual = free.residual(free.relaxed_leaf_values(b))
    root = np.sqrt(free.data.row_weight)[:, None]
    np.testing.assert_allclose((residual / root).ravel(), target - columns @ b, atol=1e-10)


@pytest.mark.parametrize("intercept", [False, True])
def test_ridge_polishing_equals_scikit_learn(intercept: bool) -> None:
    layers, y = random_layers(21, 400, [3] * 12)
    weight = np.random.default_rng(2).uniform(0.5, 2.0, 400)
    data = PruningData.from_layers(layers, y, 0.6, weight)
    choice = np.array([0, 1, 2, 3] * 3)
    problem = Polishing(data, choice, 0.01, intercept=intercept)
    result = solve(problem)
    T = 0.6 * np.stack([D[:, :k].sum(axis=1) for D, k in zip(layers, choice, strict=True)], axis=1)
    model = Ridge(alpha=0.01, fit_intercept=intercept).fit(T, y, sample_weight=weight)
    kept = choice > 0
    np.testing.assert_allclose(result.beta[kept], model.coef_[kept], rtol=1e-10, atol=1e-12)
    assert problem.intercept_of(result.choice, result.beta)[0] == pytest.approx(
        float(model.intercept_), abs=1e-12
    )
    assert result.guarantee == "optimal"
    assert result.gap <= 1e-12


def test_identical_trees_are_one_group() -> None:
    problem = make_free("duplicates", "priced")
    model = Regression.of(problem)
    assert model.merged == 2
    assert model.start.tolist() == [0, 2, 4]
    assert model.count.tolist() == [1, 2, 1, 2]
    b = model.refit([1])
    choice, beta = model.solution(b)
    assert (beta != 0.0).sum() == 2
    assert len(set(beta[beta != 0.0])) == 1
    assert problem.objective(choice, beta) == pytest.approx(model.value(b), rel=1e-12)


def test_trees_of_other_cost_are_not_merged() -> None:
    layers, y = random_layers(5, 10, [1])
    data = PruningData.from_layers([layers[0], layers[0]], y)
    same = JointPruning(data, 1.0, weights=[[1.0], [1.0]])
    other = JointPruning(data, 1.0, weights=[[1.0], [2.0]])
    assert (Regression.of(same).merged, Regression.of(other).merged) == (1, 0)


@pytest.mark.parametrize("rho", [0, 2])
def test_alpha_max_is_where_descent_leaves_zero(rho: int) -> None:
    data = TINY["random"]().data
    alpha2 = 0.01 * data.target_square if rho == 0 else 0.5
    problem = JointPruning(data, 1.0, alpha2, rho, "depth")
    top = problem.alpha_max()
    label = "cbcd[local_search=False]"
    above, below = (solve(problem.with_alpha(f * top), label) for f in (1.001, 0.99))
    assert not above.beta.any()
    assert below.beta.any()


def test_what_is_not_accepted() -> None:
    data = TINY["random"]().data
    for wrong, message in [
        ({"alpha": -1.0}, "alpha must be"),
        ({"alpha2": -1.0}, "alpha2 must be"),
        ({"rho": 1}, "rho must be 2"),
        ({"ridge": 0.1}, "ridge is for rho=0"),
        ({"weights": "nodes"}, 'weights="nodes" needs the trees'),
    ]:
        with pytest.raises(InvalidInput, match=message):
            JointPruning(data, **{"alpha": 1.0, "weights": "depth", **wrong})
    for wrong, message in [
        ({"choice": [0, 0, 0, 0]}, "nothing to polish"),
        ({"choice": [9, 0, 0, 0]}, r"choice\[0\] must lie"),
        ({"n_trees": 2}, "n_trees is for rho=0"),
        ({"n_trees": 0, "rho": 0}, "n_trees must be an integer of at least 1"),
        ({"nonnegative": 1}, "nonnegative must be True or False"),
    ]:
        with pytest.raises(InvalidInput, match=message):
            Polishing(data, **{"choice": data.depths, **wrong})
    with pytest.warns(UserWarning, match="all 4 may be used"):
        Polishing(data, data.depths, rho=0, n_trees=9)


def test_solutions_that_do_not_fit_are_refused() -> None:
    problem = make_free("random", "two_trees")
    depths = problem.data.depths
    for beta, message in [
        (None, "beta is needed"),
        ([1.0], "beta must have shape"),
        ([1.0, np.nan, 0.0, 0.0], "beta must be finite"),
        ([1.0, 1.0, 1.0, 0.0], "uses 3 trees"),
    ]:
        with pytest.raises(InvalidInput, match=message):
            problem.objective(depths, beta)
    with pytest.raises(InvalidInput, match="made for"):
        problem.objective(depths - 1, [0.0] * 4)
    joint = make_free("random", "joint")
    with pytest.raises(InvalidInput, match=r"beta\[0\] must be 0"):
        joint.objective([0, 1, 1, 1], np.ones(4))
    with pytest.raises(InvalidInput, match="more than one column"):
        joint.solution(np.ones(joint.n_columns))
    with pytest.raises(InvalidInput, match="must not be negative"):
        make_free("random", "positive_ridge").objective(depths, -np.ones(4))


def test_joint_pruning_is_never_worse_than_pruning_and_polishing() -> None:
    layers, y = random_layers(22, 300, [3] * 30, signal=0.2)
    data = PruningData.from_layers(layers, y, 0.3)
    for alpha in (0.1, 1.0, 10.0):
        pruned = solve(LayerPruning(data, alpha, "depth"))
        joint = JointPruning(data, alpha, 0.5, weights="depth")
        result = solve(joint)
        if pruned.choice.any():
            polished = solve(Polishing(data, pruned.choice, 0.5))
            start = joint.objective(pruned.choice, polished.beta)
            assert result.objective <= start + joint.tolerance
        assert result.objective <= joint.objective(joint.zero(), np.zeros(30))
